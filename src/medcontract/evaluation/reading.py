"""A truth and a submission, read side by side: what is expected, and what was made of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Struct

from medcontract.definitions.between import Located, OrderCheck, covers, equal
from medcontract.definitions.contract import Validated
from medcontract.definitions.rules import Agrees, Apart, Covers, Equal, FilesRule, Reference, Rule, SameOrder, Unique
from medcontract.errors import CallError
from medcontract.evaluation.inputs import Files, Given, Header, Part, Settings, header_of, read
from medcontract.problems import Finding, Ref
from medcontract.scoring.engine import Track
from medcontract.scoring.gate import Chosen, Expected, Pair, Pairing, validated
from medcontract.scoring.protocol import Protocol
from medcontract.tally import Tally


class Truth(Struct, kw_only=True):
    """What submissions are scored against."""

    track: Track
    parts: list[Part]
    expected: dict[str, Expected[Any]]
    """By contract."""
    headers: dict[str, Header]
    content: dict[str, str]
    """The hash of the records, by contract."""
    reasons: tuple[str, ...] = ()
    """Why nothing can be scored against it."""
    pairs: tuple[Pair[Any, Any], ...] = ()
    """Where these are not to be those of the track."""
    documents: dict[str, Any] = {}
    """Auxiliary files that its own rules refer to."""
    protocol: Protocol | None = None
    """What records are measured by; None where they are only probed."""


def read_truth(track: Track, files: Files, given: Given | None = None) -> Truth:
    """Read the truth among the files. Raises `CallError` where there is none."""
    wanted = [pair for pair in track.pairs if pair.truth in files.groups]
    if not wanted:
        raise no_truth(track, files)
    truth = Truth(track=track, parts=[], expected={}, headers={}, content={})
    reasons: list[str] = []
    known = {pair.truth for pair in wanted}
    for name in track.auxiliary:  # what rules of the truth refer to
        if name in files.groups and any(r.other == name for c in known for r in files.groups[c][0].contract.file_rules):
            truth.documents[name] = _read_one(track, files.groups[name], ())
            reasons += _errors(name, files.groups[name])
    for name in track.organizers:
        if name in files.groups and name not in truth.documents:
            truth.documents[name] = _read_one(track, files.groups[name], ())
            reasons += _errors(name, files.groups[name])
    for pair in wanted:
        parts = files.groups[pair.truth]
        if pair.own:
            _read_own(pair, parts, truth)
            continue
        expected = Expected(pair.key, pair.item, _checks_of_truth(parts[0], truth))
        read(parts, expected)
        truth.parts += parts
        truth.expected[pair.truth] = expected
        truth.content[pair.truth] = expected.content_sha256()
        expected.forget_texts()
        truth.headers[pair.truth] = header_of(parts)
        if given:
            truth.headers[pair.truth] = given.complete(truth.headers[pair.truth], parts[0].contract)
        reasons += _errors("the truth", parts)
        if not reasons and not expected.items:
            reasons.append(f"the truth is empty: {', '.join(part.name for part in parts)}")
    truth.reasons += tuple(reasons)
    return truth


def _read_own(pair: Pair[Any, Any], parts: Sequence[Part], truth: Truth) -> None:
    """A submission that is its own truth: read once for what is expected, its mistakes left to the second time."""
    expected = Chosen(pair)
    read([Part(part.source, part.contract, Tally(0)) for part in parts], expected)
    truth.expected[pair.truth] = expected
    truth.content[pair.truth] = expected.content_sha256()
    expected.forget_texts()
    truth.headers[pair.truth] = {}
    if not expected.items:
        truth.reasons += (f"there is no sample: {', '.join(part.name for part in parts)}",)


def no_truth(track: Track, files: Files) -> CallError:
    names = " or ".join(track.truths)
    return CallError("there is no truth among these files", f"a file of {names} is asked for; {_there_is(files)}")


def _there_is(files: Files) -> str:
    return ", ".join(f"{part.name} is {part.contract.id}" for part in files.parts()) or "there is none"


def _errors(what: str, parts: Sequence[Part]) -> list[str]:
    return [
        f"{what} has {part.tally.errors:,} error{'s' * (part.tally.errors != 1)} ({part.name})"
        for part in parts
        if part.tally.errors
    ]


def _checks_of_truth(part: Part, truth: Truth) -> list[Callable[[Any], Finding | None]]:
    """Rules of a truth about files that were read before it."""
    checks: list[Callable[[Any], Finding | None]] = []
    for rule in part.contract.file_rules:
        if isinstance(rule, Reference) and rule.other in truth.documents:
            checks.append(partial(_unless, rule, frozenset(truth.documents[rule.other]), False))
        if isinstance(rule, Apart) and rule.other in truth.expected:
            checks.append(partial(_unless, rule, frozenset(truth.expected[rule.other].index), True))
    return checks


def _unless(rule: Reference | Apart, ids: frozenset[Any], there: bool, record: Any) -> Finding | None:
    return rule.finding((rule.field,)) if (getattr(record, rule.field) in ids) == there else None


class _Beside:
    """An auxiliary collection as it streams by: its rules about other files, and what is kept of it."""

    def __init__(self, checks: Sequence[OrderCheck], keep: Callable[[Any], Any] | None) -> None:
        self._checks = checks
        self._keep = keep
        self.kept: list[Any] = []

    def begin(self) -> None:
        """Nothing to do."""

    def take(self, records: Validated[Sequence[Any]]) -> Sequence[tuple[int, Finding]]:
        rows = validated(records)
        if self._keep:
            self.kept += map(self._keep, rows)
        found = ((i, check.see(record)) for i, record in enumerate(rows) for check in self._checks)
        return [(i, finding) for i, finding in found if finding]

    def lose(self, parsed: Any) -> Sequence[Finding]:
        return ()

    def end(self, whole: bool) -> None:
        """Nothing to do."""


def read_auxiliary(truth: Truth, files: Files) -> tuple[dict[str, Any], list[str]]:
    documents: dict[str, Any] = dict(truth.documents)
    reasons: list[str] = []
    for name in truth.track.auxiliary:
        parts = files.groups.get(name)
        if not parts:
            continue
        rules = [rule for rule in parts[0].contract.file_rules if isinstance(rule, SameOrder)]
        rules = [rule for rule in rules if rule.other in truth.content]
        checks = [OrderCheck(rule, _items_by_key(truth.expected[rule.other])) for rule in rules]
        if not parts[0].judge:  # it may have said which ids are expected
            documents[name] = _read_one(truth.track, parts, checks)
            reasons += _errors(name, parts)
    for name, parts in files.groups.items():
        if documents.get(name) is not None:
            _check_references(name, parts, documents)
    return documents, reasons


def _read_one(track: Track, parts: Sequence[Part], checks: Sequence[OrderCheck]) -> Any:
    """An auxiliary file: a document as it is, of a collection what the track keeps."""
    keep = track.keeps.get(parts[0].contract.id)
    sink = _Beside(checks, keep)
    read(parts, sink)
    if keep:
        return sink.kept
    return parts[0].judge.header if parts[0].judge else None


def _check_references(name: str, parts: Sequence[Part], documents: Mapping[str, Any]) -> None:
    """References from inside a document to another file: a proof names a document of the manifest."""
    for rule in parts[0].contract.file_rules:
        if isinstance(rule, Reference) and rule.within and rule.other in documents:
            known = frozenset(documents[rule.other])
            for number, item in enumerate(getattr(documents[name], rule.within)):
                if getattr(item, rule.field) not in known:
                    whole = Ref(parts[0].source.start, parts[0].source.size)
                    parts[0].tally.defer(rule.finding((rule.within, number, rule.field), whole))


def _items_by_key(expected: Expected[Any]) -> dict[Any, Any]:
    return {key: expected.items[number] for key, number in expected.index.items()}


def no_submission(track: Track, files: Files) -> CallError:
    names = " or ".join(track.submissions)
    return CallError("there is no submission among these files", f"a file of {names} is asked for; {_there_is(files)}")


def read_submission(
    truth: Truth, files: Files, documents: Mapping[str, Any], settings: Settings, given: Given
) -> tuple[dict[str, Pairing[Any, Any]], dict[str, Header], list[str]]:
    """Stream the submission past the truth. Also: its headers, and what is wrong with them."""
    pairings: dict[str, Pairing[Any, Any]] = {}
    headers: dict[str, Header] = {}
    reasons: list[str] = []
    for pair in truth.pairs or truth.track.pairs:
        parts = files.groups.get(pair.submission, [])
        if pair.truth not in truth.expected:
            if parts:
                read(parts)
                names = ", ".join(part.name for part in parts)
                files.notes.append(f"{names}: not scored, for there is no truth of {pair.truth}")
            continue
        contract_rules = parts[0].contract.file_rules if parts else ()
        rules = [r for r in contract_rules if isinstance(r, Reference | Agrees) and _there(r, truth, documents)]
        unique = [rule for rule in parts[0].contract.list_rules if isinstance(rule, Unique)] if parts else []
        pairing = Pairing(pair, truth.expected[pair.truth], (*rules, *unique), truth.track.runs(dict(documents)))
        pairings[pair.truth] = pairing
        headers[pair.submission] = {}
        if parts:
            _read_pair(parts, pairing, (*rules, *unique), truth.protocol, settings)
            headers[pair.submission] = given.complete(header_of(parts), parts[0].contract)
            reasons += [f"the header is wrong ({p.name})" for p in parts if p.judge and p.judge.bad_header]
            reasons += _compare_headers(pair.truth, parts, headers[pair.submission], truth)
            if truth.parts:
                _tell_missing(parts, pairing)
        elif any(name in files.groups for name in truth.track.submissions) and truth.content:
            files.notes.append(f"there is no file of {pair.submission}: nothing of it is processed")
    return pairings, headers, reasons


def _read_pair(
    parts: Sequence[Part],
    pairing: Pairing[Any, Any],
    rules: Sequence[Rule],
    protocol: Protocol | None,
    settings: Settings,
) -> None:
    """Stream the records past their truth, in workers where that pays."""
    if settings.jobs > 1 and protocol is not None:
        from medcontract.evaluation.parallel import read_in_workers, worth_while

        quick = worth_while(parts, settings.jobs)
        if quick and read_in_workers(parts, pairing, rules, protocol, settings):
            return
    read(parts, pairing, settings.progress)


def _there(rule: FilesRule, truth: Truth, documents: Mapping[str, Any]) -> bool:
    """Whether the rule can be checked. A list of expected ids stands in for the truth where only ids are compared."""
    if rule.other in truth.content or rule.other in documents:
        return True
    return bool(truth.parts) and rule.other in truth.expected and isinstance(rule, Reference)


def _compare_headers(truth_id: str, parts: Sequence[Part], header: Header, truth: Truth) -> list[str]:
    """Rules between headers, where both sides have the field."""
    reasons: list[str] = []
    for rule in parts[0].contract.file_rules:
        if isinstance(rule, Equal) and rule.other == truth_id:
            mine = Located(_Fields(header), Ref(0, 0))
            for finding in equal(rule, mine, _Fields(truth.headers[truth_id])):
                reasons.append(rule.message)
                _tell(parts[0], finding)
    return reasons


class _Fields:
    """A header, by attribute."""

    def __init__(self, header: Header) -> None:
        self.__dict__.update(header)


def _tell(part: Part, finding: Finding) -> None:
    """A finding about the header, at its place in the file where there is one."""
    part.tally.new_room()
    placed = part.judge.in_header(finding) if part.judge else finding
    part.tally.defer(placed)


def _tell_missing(parts: Sequence[Part], pairing: Pairing[Any, Any]) -> None:
    """Expected ids without any record; they are problems of the first part, without a place."""
    parts[0].tally.new_room()
    for rule in parts[0].contract.file_rules:
        if isinstance(rule, Covers) and rule.other == pairing.pair.truth:
            for finding in covers(rule, (), pairing.missing()):
                parts[0].tally.defer(finding)
