"""Protocols as documents: shown, frozen, and checked against this medcontract."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from medcontract.errors import CallError, InvalidData, MedcontractError, report_plugin_errors
from medcontract.evaluation.files import GivenFile, gather
from medcontract.evaluation.loading import read_truth
from medcontract.evaluation.score import changed_protocol, environment, protocol_for, track_of, versions
from medcontract.evaluation.settings import Settings
from medcontract.results import reference
from medcontract.scoring import tracks
from medcontract.scoring.frozen_protocol import FrozenProtocol, pinned_sha256
from medcontract.scoring.protocol import Protocol
from medcontract.scoring.track import Track


def document(track: Track, protocol: Protocol) -> reference.Protocol:
    """Describe a protocol: its parameters, the formulas in words, and the history."""
    return reference.Protocol(
        id=protocol.id,
        version=protocol.version,
        fingerprint=protocol.fingerprint,
        pinned_sha256=pinned_sha256(protocol.fingerprint, {}),
        parameters=tuple(
            reference.Parameter(name=p.name, value=p.number, about=p.about, source=p.source, _text=p.text)
            for p in protocol.parameters
        ),
        figures=tuple(reference.Formula(name=figure.name, about=figure.about) for figure in track.figures),
        classes=tuple(
            reference.ProtocolClass(number=number, symbol=symbol, name=name, type=kind)
            for number, symbol, name, kind in track.classes
        )
        or None,
        changes=tuple(reference.ProtocolChange(version=each.version, reason=each.reason) for each in protocol.changes),
    )


@report_plugin_errors()
def freeze(
    track: Track,
    changes: Sequence[tuple[str, str]],
    truth: Sequence[GivenFile],
    settings: Settings,
    note: str | None = None,
) -> reference.Protocol:
    """Freeze a protocol with everything that must stay the same. Raises `MedcontractError` for a truth with errors."""
    if note is not None and not note.strip():
        raise CallError("the note is blank", "say why the protocol is frozen, or remove --note")
    protocol = changed_protocol(track, changes, settings.scoring)
    contents = tuple(_contents(track, protocol, truth, settings)) if truth else ()
    return replace(
        document(track, protocol),
        pinned_sha256=pinned_sha256(protocol.fingerprint, {each.contract: each.content_sha256 for each in contents}),
        versions=protocol.versions,
        truth=contents,
        note=note,
        **versions(),
    )


def _contents(
    track: Track, protocol: Protocol, given: Sequence[GivenFile], settings: Settings
) -> Iterator[reference.FrozenTruth]:
    files = gather(given, settings, role="truth")
    if files.unread:
        raise InvalidData(files.unread[0])
    found = track_of(files)
    if found.id != track.id:
        raise CallError(f"the truth is of the track {found.id}, not of {track.id}")
    truth = read_truth(track, track.scorer(protocol, settings.scoring, files.groups), files)
    if truth.reasons:
        raise MedcontractError(f"{'; '.join(truth.reasons)}: the protocol cannot be frozen with it")
    for contract, content in sorted(truth.content.items()):
        records = sum(part.report.records or 0 for part in files.groups[contract])
        yield reference.FrozenTruth(contract=contract, content_sha256=content, records=records)


def check(frozen: FrozenProtocol, settings: Settings) -> reference.ProtocolCheck:
    """Check whether scores of this medcontract are made under the frozen protocol."""
    track = tracks.find(frozen.id)
    differences = [f"this medcontract has no track {frozen.id}"]
    if track is not None:
        protocol = protocol_for(track, settings._replace(frozen=frozen))
        differences = list(frozen.differences(protocol.version, protocol.values))
    return reference.ProtocolCheck(
        id=frozen.id, version=frozen.version, fingerprint=frozen.fingerprint, ok=not differences,
        differences=tuple(differences), warnings=frozen.warnings(environment()), **versions(),
    )  # fmt: skip
