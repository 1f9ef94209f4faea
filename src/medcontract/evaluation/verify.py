"""Computes a score again from its files, and says whether they give what it states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from medcontract._version import __version__
from medcontract.contracts.contract import Validated
from medcontract.errors import CallError, option, report_plugin_errors, words
from medcontract.evaluation.compare import protocol_changes
from medcontract.evaluation.files import GivenFiles, gather, once
from medcontract.evaluation.result import environment, score_result, stated_score, versions
from medcontract.evaluation.score import protocol_for, score_files
from medcontract.evaluation.settings import Settings
from medcontract.evaluation.subgroups import CONTRACT as GROUPS
from medcontract.evaluation.subgroups import GroupTable, parse_by
from medcontract.problems import Token, pointer
from medcontract.reading.source import Source, Unreadable, open_source
from medcontract.results.score import InputFile, ProtocolUsed, Score, failing_warnings
from medcontract.results.verification import Difference, Verification, VerifiedFile
from medcontract.scoring import tracks
from medcontract.scoring.frozen_protocol import FrozenProtocol
from medcontract.scoring.protocol import fingerprint_of
from medcontract.scoring.track import Track
from medcontract.validation.dispatch import base_name, load_source

MOST_DIFFERENCES = 100
_COMPARED = ("processing", "valid", "result", "intervals", "by", "subgroups")
"""The fields of a score that follow from its files. Texts such as warnings may depend on how these are passed."""


class _Given(Struct, eq=False):
    """A file of the call."""

    source: Source
    contract: str | None
    sha256: str | None
    """None if it cannot be read."""


@report_plugin_errors()
def verify(score: Validated[Any], given: GivenFiles, settings: Settings) -> Verification:
    """Compute a score again with the protocol and the options that it states. Raises `CallError` for a usage error."""
    stated = stated_score(score)
    track = tracks.find(stated.track)
    if track is None:
        hint = words("pass ", option("--challenge", "FILE"), " or ", option("--plugin", "MODULE"))
        raise CallError(f"the score is of an unknown track: {stated.track}", hint)
    opened = list(_opened(given, settings))
    files, used, others = _matched(stated.inputs, opened, given, settings)
    listed = {each.contract: each.name for each in track.options if each.contract}
    options = {
        listed[each.contract]: load_source(each.source, each.contract).value.model_dump(exclude_none=True)
        for each in others
        if each.contract in listed
    }
    if stated.participant:  # its truth is not stated
        used += [each for each in others if each.contract in track.roles.truths]
    ignored = [each for each in others if each not in used and each.contract not in listed]
    groups = next((GroupTable.read(each.source) for each in used if each.contract == GROUPS), None)
    used = [each for each in used if each.contract != GROUPS]
    settings = _as_stated(stated, track, options, settings)
    settings = settings._replace(by=parse_by(stated.by or ()), groups=groups)
    reasons = [*_protocol_reasons(stated, track, settings)]
    missing = [file.name for file in files if file.state == "missing"]
    reasons += [f"these files are missing: {', '.join(missing)}"] if missing else []
    differences = [] if reasons else _closest(stated, track, files, used, settings)
    return Verification(
        ok=not reasons and not differences and all(file.state == "same" for file in files),
        track=track.id, files=tuple(files),
        ignored=tuple(base_name(each.source.name) for each in ignored),
        computed=not reasons, reasons=tuple(reasons), differences=tuple(differences[:MOST_DIFFERENCES]),
        omitted=len(differences[MOST_DIFFERENCES:]), warnings=tuple(_warnings(stated)), **versions(),
    )  # fmt: skip


# --- files


def _opened(given: GivenFiles, settings: Settings) -> Iterator[_Given]:
    for path, contract in once(given.files):
        source = path if isinstance(path, Source) else open_source(path, settings.limits)
        try:
            yield _Given(source, contract, source.sha256())
        except (OSError, ValueError, Unreadable):
            yield _Given(source, contract, None)


def _matched(
    inputs: Sequence[InputFile], opened: Sequence[_Given], given: GivenFiles, settings: Settings
) -> tuple[list[VerifiedFile], list[_Given], list[_Given]]:
    """Find the file of each stated input: the one with its hash, else another one of its contract or with its name.

    Also returns the files to use, and the others.
    """
    left, found = list(opened), dict[int, _Given]()
    for number, file in enumerate(inputs):
        same = next((each for each in left if each.sha256 == file.sha256), None)
        if same is not None:
            same.contract = file.contract
            left.remove(same)
            found[number] = same
    if left:
        _recognize(opened, given, settings)
    for number, file in enumerate(inputs):
        alike = [each for each in left if each.contract in (None, file.contract)]
        named = [each for each in alike if base_name(each.source.name) == file.name]
        other = next(iter([*named, *(each for each in alike if each.contract)]), None)
        if number not in found and other is not None:
            other.contract = file.contract
            left.remove(other)
            found[number] = other
    files = [
        VerifiedFile(
            contract=file.contract, name=file.name, stated=file.sha256, given=its.sha256 if its else None,
            state="missing" if its is None else "same" if its.sha256 == file.sha256 else "differs",
        )
        for file, its in zip(inputs, map(found.get, range(len(inputs))), strict=True)
    ]  # fmt: skip
    return files, list(found.values()), left


def _recognize(opened: Sequence[_Given], given: GivenFiles, settings: Settings) -> None:
    """Recognize the contracts of files that no input states. Raises `CallError` for a named file without one."""
    files = gather([(each.source, each.contract) for each in opened if each.contract != GROUPS], settings, given.found)
    contracts = {id(part.source): part.contract.id for part in files.parts()}
    for each in opened:
        each.contract = contracts.get(id(each.source), each.contract)


# --- protocol and options


def _as_stated(stated: Score, track: Track, options: Mapping[str, object], settings: Settings) -> Settings:
    """Return the settings that the score was made with, as far as it states them."""
    result, used = stated.result or {}, stated.protocol
    frozen = FrozenProtocol(
        id=stated.track, version=used.version, fingerprint=used.fingerprint, parameters=used.parameters, truth={},
        environment={}, edited=False,
    )  # fmt: skip
    contracts = {file.contract for file in stated.inputs}
    said = {} if track.result_fields.options is None else dict(track.result_fields.options(result))
    for each in track.options:
        if each.stands_for in contracts:
            said.pop(each.name, None)
    needed = track.result_fields.needed if track.roles.result not in contracts else ()
    return settings._replace(
        participant=bool(stated.participant), parameters=(), intervals=stated.intervals is not None, frozen=frozen,
        header=tuple((name, result[name]) for name in (*needed, *track.result_fields.settable)
                     if isinstance(result.get(name), str)),
        header_if_absent=True, scoring=replace(settings.scoring, options={**said, **options}),
    )  # fmt: skip


def _protocol_reasons(stated: Score, track: Track, settings: Settings) -> Iterator[str]:
    """Say why the score cannot be computed again under its protocol."""
    used = stated.protocol
    if used.id != stated.track or used.fingerprint != fingerprint_of(used.id, used.version, used.parameters):
        yield "the fingerprint does not follow from the parameters: the score was edited"
        return
    protocol = ProtocolUsed(**protocol_for(track, settings).describe())
    found = "; ".join(protocol_changes(used, protocol, track))
    if found:
        yield f"its protocol differs from the protocol of this call: {found}"


def _warnings(stated: Score) -> Iterator[str]:
    if stated.medcontract_version != __version__:
        yield f"made with medcontract {stated.medcontract_version}, verified with {__version__}"
    here = environment()
    for name in ("unicode", "unidecode"):
        old, new = getattr(stated.environment, name), getattr(here, name)
        if old != new:
            yield f"made with {name} {old}, verified with {new}: texts may be compared differently"


# --- the score


def _closest(
    stated: Score, track: Track, files: Sequence[VerifiedFile], used: Sequence[_Given], settings: Settings
) -> list[Difference]:
    """Compute the score, and compare it. A result does not say whether it was made with a breakdown, and values."""
    given = GivenFiles([(each.source, each.contract) for each in used])

    def compute(breakdown: bool = False, values: bool = False) -> tuple[Score, list[Difference]]:
        scoring = replace(settings.scoring, breakdown=breakdown, values=values)
        score = score_result(score_files(given, settings._replace(scoring=scoring)))
        return score, list(_of_score(stated, score, files))

    score, found = compute()
    if found and track.explains and (stated.result or {}).keys() - (score.result or {}).keys():
        found = min((compute(True, values)[1] for values in (False, True)), key=len)
    return found


def _of_score(stated: Score, score: Score, files: Sequence[VerifiedFile]) -> Iterator[Difference]:
    if stated.reasons and stated.reasons[-1] == _strict_reason(stated.reasons[-1]):
        score = score._failing_on_warnings()
    old, new = stated.to_dict(), score.to_dict()
    computed = {(each["contract"], each["sha256"]): each for each in new["inputs"]}
    for number, (file, state) in enumerate(zip(old["inputs"], files, strict=True)):
        if state.state == "same":
            other = computed.get((file["contract"], file["sha256"]), {})
            yield from _differences({**file, "name": None}, {**other, "name": None}, ("inputs", number))
    for name in _COMPARED:
        yield from _differences(old.get(name), new.get(name), (name,))


def _strict_reason(reason: str) -> str:
    """Return what `strict` adds for as many warnings as the reason starts with."""
    count = reason.partition(" ")[0].replace(",", "")
    return failing_warnings(int(count)) if count.isascii() and count.isdigit() else ""


def _differences(stated: object, computed: object, path: tuple[Token, ...]) -> Iterator[Difference]:
    """Compare JSON values. Numbers are compared as values, so that `1` and `1.0` are the same."""
    if isinstance(stated, dict) and isinstance(computed, dict):
        for key in dict.fromkeys((*stated, *computed)):
            if stated.get(key) is None and computed.get(key) is None:
                continue  # absent and null mean the same
            if key not in stated or key not in computed:
                yield _difference(stated.get(key), computed.get(key), (*path, key), one_side=key in stated)
            else:
                yield from _differences(stated[key], computed[key], (*path, key))
    elif isinstance(stated, list | tuple) and isinstance(computed, list | tuple):
        for number in range(max(len(stated), len(computed))):
            there = number < len(stated), number < len(computed)
            values = stated[number] if there[0] else None, computed[number] if there[1] else None
            if all(there):
                yield from _differences(*values, (*path, number))
            else:
                yield _difference(*values, (*path, number), one_side=there[0])
    elif stated != computed or isinstance(stated, bool) != isinstance(computed, bool):
        yield _difference(stated, computed, path)


def _difference(stated: object, computed: object, path: tuple[Token, ...], one_side: bool | None = None) -> Difference:
    """Without texts, which may be values of records."""
    shown = [value if isinstance(value, bool | int | float) else None for value in (stated, computed)]
    return Difference(
        pointer=pointer(path, plain=True), stated=shown[0], computed=shown[1],
        kind="value" if one_side is None else "not computed" if one_side else "not stated",
    )  # fmt: skip
