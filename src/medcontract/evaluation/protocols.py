"""Protocols as documents: shown, frozen, and checked against this medcontract."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from medcontract.errors import CallError, InvalidData, MedcontractError, option, report_plugin_errors, words
from medcontract.evaluation.files import GivenFile, gather
from medcontract.evaluation.loading import read_truth
from medcontract.evaluation.result import environment, versions
from medcontract.evaluation.score import protocol_for, track_of
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
            if not p.is_silent
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
    given: Sequence[GivenFile],
    settings: Settings,
    note: str | None = None,
) -> reference.Protocol:
    """Freeze a protocol with everything that must stay the same. Raises `MedcontractError` for a truth with errors."""
    if note is not None and not note.strip():
        raise CallError("the note is blank", words("say why the protocol is frozen, or remove ", option("--note")))
    protocol = tracks.changed_protocol(track, changes, settings.scoring)
    files, content = gather(given, settings, role="truth"), dict[str, str]()
    if files.unread:
        raise InvalidData(files.unread[0])
    if given:
        found = track_of(files)
        if found.id != track.id:
            raise CallError(f"the truth is of the track {found.id}, not of {track.id}")
        of_all = [(name, value) for name, value in changes if name not in ("phase", "phase_key")]
        whole = tracks.changed_protocol(track, of_all, settings.scoring)
        truth = read_truth(track, track.scorer(whole, settings.scoring, files.groups), files, settings)
        if truth.reasons:
            raise MedcontractError(f"{'; '.join(truth.reasons)}: the protocol cannot be frozen with it")
        content = truth.content
    records = {name: sum(part.report.records or 0 for part in files.groups[name]) for name in content}
    return replace(
        document(track, protocol),
        pinned_sha256=pinned_sha256(protocol.fingerprint, content),
        versions=protocol.versions,
        truth=tuple(
            reference.FrozenTruth(contract=name, content_sha256=content[name], records=records[name])
            for name in sorted(content)
        ),
        note=note,
        **versions(),
    )


def check(frozen: FrozenProtocol, settings: Settings) -> reference.ProtocolCheck:
    """Check whether scores of this medcontract are made under the frozen protocol."""
    track = tracks.find(frozen.id)
    differences = [f"this medcontract has no track {frozen.id}"]
    if track is not None:
        protocol = protocol_for(track, settings._replace(frozen=frozen))
        differences = list(frozen.differences(protocol.version, protocol.values, protocol.changes))
    return reference.ProtocolCheck(
        id=frozen.id, version=frozen.version, fingerprint=frozen.fingerprint, ok=not differences,
        differences=tuple(differences), warnings=frozen.warnings(environment()), **versions(),
    )  # fmt: skip
