"""Reads a truth and a submission, and pairs their records."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import attrgetter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from medcontract.contracts import registry
from medcontract.contracts.contract import Validated
from medcontract.contracts.registry import variants_of
from medcontract.contracts.rules import OtherFile, RecordCheck, Unique, record_checks, run_checks
from medcontract.errors import CallError, option, words
from medcontract.evaluation.files import Files, Kept, read
from medcontract.evaluation.selection import describe_unused
from medcontract.evaluation.settings import Header, HeaderOverrides, Settings, header_of
from medcontract.problems import Finding, Ref, plural, shorten
from medcontract.scoring.expected import Expected, read_field, validated
from medcontract.scoring.pairing import Pair, Pairing
from medcontract.scoring.phases import PhaseKey
from medcontract.scoring.scorer import Answers, Scorer
from medcontract.scoring.track import Roles, Track
from medcontract.validation.dispatch import Part
from medcontract.validation.report import ProblemCollector

if TYPE_CHECKING:
    from medcontract.scoring.resampling import Samples


def no_truth(roles: Roles, files: Files) -> CallError:
    return _missing("truth", roles.truths, " or ", files)


def no_submission(roles: Roles, files: Files) -> CallError:
    """Say which fields a submission needs: the file that was meant may be one of another contract."""
    wanted = []
    for contract_id in roles.submissions:
        fields = variants_of(registry.find(contract_id).record_schema)[0].get("required")
        wanted.append(f"{contract_id} with {', '.join(fields)}" if fields else contract_id)
    return _missing("submission", wanted, ", or of ", files)


def _missing(what: str, wanted: Sequence[str], separator: str, files: Files) -> CallError:
    found = "; ".join([files.describe() or "found none", *describe_unused(files)])
    return CallError(f"there is no {what} among these files", f"expected a file of {separator.join(wanted)}; {found}")


class LoadedTruth(Struct, kw_only=True):
    """What submissions are scored against."""

    track: Track
    scorer: Scorer
    parts: list[Part] = []
    expected: dict[str, Expected] = {}
    """By contract: the cases of the phase, if there is one."""
    whole: dict[str, Expected] = {}
    """The cases of all phases, if there are any."""
    in_phase: dict[str, list[int]] = {}
    """The positions of the cases of the phase among all cases."""
    headers: dict[str, Header] = {}
    content: dict[str, str] = {}
    """The hash of the records, by contract."""
    reasons: tuple[str, ...] = ()
    """Why nothing can be scored against it."""
    pairs: tuple[Pair, ...] = ()
    """Used instead of the pairs of the scorer, if given."""
    documents: dict[str, object] = {}
    """Auxiliary files that rules of the truth refer to."""
    invalid_ids: dict[str, frozenset[str] | None] = {}
    """The ids of invalid records of auxiliary files, by contract: a reference to one is not wrong. None: not known."""
    samples: dict[tuple[object, ...], Samples] = {}
    """What is drawn for intervals, once it is needed."""

    def drawn(self) -> Samples:
        """Return what is drawn for intervals, which all submissions share."""
        from medcontract.scoring.resampling import samples_of

        values = self.scorer.protocol.values
        key = (tuple(self.expected), values.get("resamples"), values.get("cluster"))
        if key not in self.samples:
            self.samples[key] = samples_of(self.track, self.scorer.pairs, self.expected, self.scorer.protocol)
        return self.samples[key]

    def other_files(self, documents: Mapping[str, object]) -> dict[str, OtherFile]:
        """Return what rules across files can be checked against, by contract.

        Without a truth, a list of expected ids is used, for ids and for fields that it has in common with the truth.
        """
        others: dict[str, OtherFile] = {}
        for name, expected in (self.whole or self.expected).items():
            if name in self.content:
                others[name] = expected.as_other_file(SimpleNamespace(**self.headers[name]))
            elif self.parts:
                others[name] = expected.as_other_file()
        for name, document in documents.items():
            if document is not None:
                others[name] = OtherFile(ids=self._referenced_ids(name, document), header=document)
        return others

    def _referenced_ids(self, name: str, document: object) -> frozenset[str] | None:
        """Return the ids of an auxiliary file, also of invalid records. None if a part of it is unknown."""
        role = self.track.roles.find_auxiliary(name)
        if role is None or role.ids is None:
            return None
        invalid = self.invalid_ids.get(name, frozenset()) if role.id_field else frozenset()
        return None if invalid is None else invalid.union(role.ids(document))


def read_truth(
    track: Track, scorer: Scorer, files: Files, settings: Settings, given: HeaderOverrides | None = None
) -> LoadedTruth:
    """Read the truth among the files. Raises `CallError` if there is none.

    Values of fields to group by are kept, where the truth has them. Nothing can be scored against it if the frozen
    protocol is another one or was frozen with another truth. A protocol about a phase needs the key of the phases.
    """
    wanted = [pair for pair in scorer.pairs if pair.truth in files.groups]
    if not wanted:
        raise no_truth(track.roles, files)
    truth = LoadedTruth(track=track, scorer=scorer)
    rules = [rule for pair in wanted for rule in files.groups[pair.truth][0].contract.file_rules]
    competition = track.roles.auxiliaries("competition")
    later = {name for name in competition if any(r.other in track.roles.truths for r in registry.find(name).file_rules)}
    first = {*competition, *(rule.other for rule in rules)} - later
    reasons = _read_auxiliaries(truth, truth.documents, files, first)
    for pair in wanted:
        parts = files.groups[pair.truth]
        if pair.own_truth:
            expected = pair.own_truth()  # a second pass reports problems
            read([Part(part.source, part.contract, ProblemCollector(0)) for part in parts], expected)
            truth.headers[pair.truth] = {}
        else:
            others = truth.other_files(truth.documents)
            checks = record_checks(parts[0].contract.file_rules, others)
            wanted_fields = {*(by.field for by in settings.by), scorer.protocol.word("cluster") or ""}
            kept = wanted_fields.intersection(fields_of(pair.truth)) - {*pair.key}
            expected = Expected(pair.key, pair.item, checks, fields=sorted(kept))
            read(parts, expected)
            truth.parts += parts
            header = (given or HeaderOverrides()).complete(header_of(parts), parts[0].contract)
            truth.headers[pair.truth] = header
            _compare_headers(parts[0], SimpleNamespace(**header), others)
            reasons += errors_of("the truth", parts)
        truth.expected[pair.truth] = expected
        reasons += _read_clusters(truth, pair, files)
        truth.content[pair.truth] = expected.content_sha256()
        if not expected.total:
            empty = f"{expected.empty}: {', '.join(part.name for part in parts)}"
            if pair.own_truth:
                truth.reasons += (empty,)
            elif not reasons:
                reasons.append(empty)
    reasons += _read_auxiliaries(truth, truth.documents, files, later)
    if scorer.protocol.values.get("phase"):
        _restrict(truth, settings.phase_key)
        if not sum(each.total for each in truth.expected.values()):
            reasons.append("no case belongs to the phase")
    if settings.frozen and not reasons:
        reasons += settings.frozen.reasons(scorer.protocol, truth.content)
    truth.reasons += tuple(reasons)
    return truth


def _read_clusters(truth: LoadedTruth, pair: Pair, files: Files) -> list[str]:
    """Read which cases are drawn together for intervals, if the truth does not say so. Returns what is wrong.

    Raises `CallError` if no file does.
    """
    cluster, expected = truth.scorer.protocol.word("cluster"), truth.expected[pair.truth]
    if not cluster or cluster in pair.key or cluster in expected.fields:
        return []
    found = values_in_lists(cluster, pair, truth, files)
    if found is None:
        raise no_field("--cluster", cluster, truth, [pair])
    known, wrong = found
    expected.fields[cluster] = list(map(known.get, expected.keys))
    return wrong


def no_field(flag: str, field: str, truth: LoadedTruth, pairs: Sequence[Pair], others: Iterable[str] = ()) -> CallError:
    """Say that no file has a field: neither the truth, nor a list of cases, nor another file with fields `others`."""
    from medcontract.contracts.suggestions import did_you_mean

    truths = {pair.truth for pair in pairs}
    lists = dict.fromkeys(role.contract for role in truth.track.roles.expected_ids if role.truth in truths)
    lacking = [contract for contract in lists if field in fields_of(contract)]
    names = [*others, *(name for contract in (*sorted(truths), *lists) for name in fields_of(contract))]
    hint = f"pass the file of {lacking[0]} that has it" if lacking else did_you_mean(field, names)
    hint = hint or f"there are {', '.join(map(shorten, dict.fromkeys(names)))}"
    return CallError(words(option(flag), f": no file has a field '{field}'"), hint)


def values_in_lists(
    field: str, pair: Pair, truth: LoadedTruth, files: Files
) -> tuple[Mapping[Any, object], list[str]] | None:
    """Read a field of a list of cases, by their ids. Also returns what is wrong with the list. None: no list has it."""
    for role in truth.track.roles.expected_ids:
        parts = files.groups.get(role.contract)
        if role.truth == pair.truth and parts and field in fields_of(role.contract):
            cases = Expected(pair.key, attrgetter(field), wanted=role.only)
            again = role.contract in truth.track.roles.auxiliaries() or any(part.validator for part in parts)
            read([Part(part.source, part.contract, ProblemCollector(0)) for part in parts] if again else parts, cases)
            return dict(zip(cases.keys, cases.items, strict=True)), [] if again else errors_of(role.contract, parts)
    return None


def _restrict(truth: LoadedTruth, key: PhaseKey | None) -> None:
    """Keep the expected items of the phase of the protocol. Raises `CallError` without its key."""
    protocol = truth.scorer.protocol
    phase = protocol.word("phase")
    if key is None:
        raise CallError(f"the protocol is about the phase {phase}", words("pass its ", option("--phase-key", "FILE")))
    if key.sha256 != protocol.word("phase_key"):
        raise CallError(words("the key of ", option("--phase-key"), " differs from the key of the protocol"))
    truth.whole = dict(truth.expected)
    for name, expected in truth.whole.items():
        numbers = key.cases(expected, protocol.word("cluster"), phase or "", protocol["phases.public"])
        truth.in_phase[name], truth.expected[name] = numbers, expected.only(numbers)


def fields_of(contract: str) -> list[str]:
    """Return the fields of the records of a contract."""
    return list(variants_of(registry.find(contract).record_schema)[0].get("properties", ()))


def errors_of(what: str, parts: Sequence[Part]) -> list[str]:
    return [
        f"{what} has {plural(part.collector.errors, 'error')}{'' if part.alias else f' ({part.name})'}"
        for part in parts
        if part.collector.errors
    ]


def _compare_headers(part: Part, header: object, others: Mapping[str, OtherFile]) -> list[str]:
    """Check a header (its fields are attributes) against other files, and report problems. Returns the messages."""
    reasons: list[str] = []
    for rule in part.contract.file_rules:
        finding = rule.check_header(header, others[rule.other]) if rule.other in others else None
        if finding:
            reasons.append(finding.message)
            part.collector.new_series()
            part.collector.defer(part.validator.reader.in_header(finding) if part.validator else finding)
    return reasons


class _AuxiliarySink(Kept, kw_only=True):
    """A sink for an auxiliary collection: checks its rules across files, and keeps what the track needs."""

    checks: Sequence[RecordCheck]
    id_sinks: Sequence[Expected]
    id_field: str
    invalid: set[str] = field(default_factory=set)
    """The ids of invalid records."""
    identified: int = 0
    """The number of records whose id is known, valid or not."""

    def take(self, records: Validated[Sequence[Any]]) -> Sequence[tuple[int, Finding]]:
        super().take(records)
        rows = validated(records)
        self.identified += len(rows)
        for sink in self.id_sinks:
            sink.take(records)
        return [(i, finding) for i, record in enumerate(rows) for finding in run_checks(self.checks, record)]

    def reject(self, parsed: object) -> Sequence[Finding]:
        value = read_field(parsed, self.id_field) if self.id_field else None
        if isinstance(value, str):
            self.invalid.add(value)
            self.identified += 1
        for sink in self.id_sinks:
            sink.reject(parsed)
        return ()


def read_collection(
    parts: Sequence[Part], truth: LoadedTruth, checks: Sequence[RecordCheck] = (), id_sinks: Sequence[Expected] = ()
) -> list[Any] | None:
    """Read an auxiliary file, and return what the track keeps of its records, if anything.

    `id_sinks` get the records as well: one list of ids may replace several truths.
    """
    contract_id = parts[0].contract.id
    role = truth.track.roles.find_auxiliary(contract_id)
    keep, id_field = (role.keep, role.id_field) if role else (None, "")
    sink = _AuxiliarySink(keep, checks=checks, id_sinks=id_sinks, id_field=id_field)
    read(parts, sink)
    validators = [part.validator for part in parts if part.validator and not part.validator.broken]
    records = sum(validator.records or 0 for validator in validators)
    complete = len(validators) == len(parts) and records == sink.identified
    truth.invalid_ids[contract_id] = frozenset(sink.invalid) if complete else None
    return sink.found if keep else None


def _read_auxiliaries(
    truth: LoadedTruth, documents: dict[str, object], files: Files, wanted: Collection[str]
) -> list[str]:
    """Read auxiliary files: documents as they are, of collections what the track keeps. Returns what is wrong."""
    reasons: list[str] = []
    for name in truth.track.roles.auxiliaries():
        parts = files.groups.get(name)
        if not parts or name not in wanted:
            continue
        contract, others = parts[0].contract, truth.other_files(documents)
        kept = read_collection(parts, truth, record_checks(contract.file_rules, others))
        header = parts[0].header
        if contract.kind == "collection":
            _compare_headers(parts[0], header, others)
        documents[name] = header if kept is None else kept
        reasons += errors_of(name, parts)
    return reasons


def read_auxiliary(truth: LoadedTruth, files: Files) -> tuple[dict[str, object], list[str]]:
    """Read the auxiliary files that were not read with the truth. Also returns what is wrong with them."""
    documents: dict[str, object] = dict(truth.documents)
    unread = [name for name, parts in files.groups.items() if not parts[0].validator]
    reasons = _read_auxiliaries(truth, documents, files, unread)
    others = truth.other_files(documents)
    for name, parts in files.groups.items():
        part, document = parts[0], documents.get(name)
        if document is not None and part.contract.kind == "document":
            for rule in part.contract.file_rules:  # such as evidence that refers to a document of the manifest
                if rule.other in others:
                    for finding in rule.check_document(document, others[rule.other]):
                        part.collector.defer(finding._replace(ref=Ref(part.source.start, part.source.size)))
    return documents, reasons


class Readings(Struct, kw_only=True):
    """What was read for a score, before counting."""

    truth: LoadedTruth
    files: Files
    documents: dict[str, object]
    reasons: list[str]
    """Why the files of the submission cannot be scored."""
    pairings: dict[str, Pairing] = {}
    headers: dict[str, Header] = {}
    fields: dict[str, str] = {}
    """Fields of the result that the caller sets."""
    elsewhere: int | None = None
    """The number of cases of the other phase that have a record."""

    def set_fields(self, given: HeaderOverrides) -> None:
        """Set the caller's fields of the result. Raises `CallError` for a header field that is not used."""
        self.fields = given.result_fields(self.truth.track)
        given.check()

    @property
    def answers(self) -> Answers:
        """Everything that the scorer computes figures from."""
        files = {pair.submission: self.files.groups.get(pair.submission, []) for pair in self.truth.scorer.pairs}
        return Answers(
            pairings=self.pairings, documents=self.documents, headers={**self.truth.headers, **self.headers},
            names={name: tuple(sorted(part.name for part in parts)) for name, parts in files.items()},
            settings=self.fields,
        )  # fmt: skip

    def submissions(self) -> list[Part]:
        """Return the files with answers."""
        return self.files.take(pair.submission for pair in self.truth.scorer.pairs).parts()


def read_submission(truth: LoadedTruth, files: Files, settings: Settings, given: HeaderOverrides) -> Readings:
    """Read auxiliary files, stream the submission, and pair it with the truth."""
    documents, reasons = read_auxiliary(truth, files)
    found = Readings(truth=truth, files=files, documents=documents, reasons=reasons)
    others = truth.other_files(documents)
    for pair in truth.pairs or truth.scorer.pairs:
        parts = files.groups.get(pair.submission, [])
        if pair.truth not in truth.expected:
            if parts:
                read(parts)
                names = ", ".join(part.name for part in parts)
                files.notes.append(f"{names}: not scored, because there is no file of {pair.truth}")
            continue
        contract = registry.find(pair.submission)
        unique = [rule for rule in contract.list_rules if isinstance(rule, Unique)]
        everything = (truth.whole or truth.expected)[pair.truth]
        pairing = Pairing(pair, everything, contract.file_rules, others, unique)
        found.pairings[pair.truth], found.headers[pair.submission] = pairing, {}
        if parts:
            _read_pair(parts, pairing, truth, settings)
            if truth.whole:  # ids of the other phase are known
                found.elsewhere = (found.elsewhere or 0) + _elsewhere(pairing, truth.in_phase[pair.truth])
                pairing = found.pairings[pair.truth] = pairing.only(truth.in_phase[pair.truth])
            header = found.headers[pair.submission] = given.complete(header_of(parts), contract)
            reasons += [f"the header is not valid ({p.name})" for p in parts if p.has_bad_header]
            reasons += _compare_headers(parts[0], SimpleNamespace(**header), others)
            if truth.parts:
                _report_missing(parts[0], pairing)
        elif any(name in files.groups for name in truth.track.roles.submissions) and truth.content:
            files.notes.append(f"there is no file of {pair.submission}: its items count as not processed")
    return found


def _elsewhere(pairing: Pairing, in_phase: Sequence[int]) -> int:
    """Count the items of the other phase that have a record."""
    others = set(range(pairing.expected.total)).difference(in_phase)
    runs = pairing.marks_by_run.values()
    return sum(any(number in marks for marks in runs) for number in others)


def _read_pair(parts: Sequence[Part], pairing: Pairing, truth: LoadedTruth, settings: Settings) -> None:
    """Pair the records with their truth, in chunks if that pays off."""
    pool = settings.pool_for(parts)
    if pool and not truth.pairs:
        from medcontract.parallel.chunk import PairingSinks, can_send
        from medcontract.parallel.merge import read_in_chunks

        if can_send(pairing) and read_in_chunks(parts, pairing, PairingSinks(truth.track, truth.scorer, pairing), pool):
            return
    read(parts, pairing)


def _report_missing(part: Part, pairing: Pairing) -> None:
    """Report expected ids without a record, as problems of the first part, without a place."""
    missing = pairing.missing()
    part.collector.new_series()
    for rule in part.contract.file_rules:
        if rule.other == pairing.pair.truth:
            for finding in rule.check_missing(missing):
                part.collector.defer(finding)
