"""Protocols as documents: shown, frozen, and checked against this medcontract."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from medcontract.errors import CallError, InvalidData, MedcontractError, report_plugin_errors
from medcontract.evaluation.files import GivenFile, gather
from medcontract.evaluation.loading import read_truth
from medcontract.evaluation.score import changed_protocol, protocol_for, track_of, versions
from medcontract.evaluation.settings import Settings
from medcontract.results import reference
from medcontract.results.score import Environment
from medcontract.scoring import tracks
from medcontract.scoring.canonical import canonical, sha256
from medcontract.scoring.protocol import Protocol, fingerprint_of
from medcontract.scoring.track import Track

Value = float | str | None
_TEXT_DEPENDS_ON = ("unicode", "unidecode")
"""The parts of the environment that can change how texts are compared."""


class FrozenProtocol(Struct, frozen=True, kw_only=True):
    """The content of a frozen protocol (`medcontract/protocol`)."""

    id: str
    version: int
    fingerprint: str
    parameters: dict[str, Value]
    truth: dict[str, str]
    """The content hash of each truth, by contract; empty if no truth was frozen."""
    environment: dict[str, str]
    edited: bool
    """Its fingerprint or its versions are not those of its parameters, or its truth is not what was frozen."""

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> FrozenProtocol:
        """From a valid document of `medcontract/protocol`."""
        listed, truths = document["parameters"], document.get("truth") or ()
        parameters = {each["name"]: each["value"] for each in listed}
        truth = {each["contract"]: each["content_sha256"] for each in truths}
        hashes = (
            fingerprint_of(document["id"], document["version"], parameters),
            pinned_sha256(document["fingerprint"], truth),
        )
        wrong = any(parameters.get(name) != version for name, version in (document.get("versions") or {}).items())
        return cls(
            id=document["id"],
            version=document["version"],
            fingerprint=document["fingerprint"],
            parameters=parameters,
            truth=truth,
            environment=document.get("environment") or {},
            edited=wrong
            or len(listed) > len(parameters)
            or len(truths) > len(truth)
            or hashes != (document["fingerprint"], document.get("pinned_sha256")),
        )

    def changes(self, track: Track) -> list[tuple[str, str]]:
        """The parameters that differ from those of the track and can be changed. Raises `CallError` for another track.

        What cannot be changed is left to `differences`.
        """
        if track.id != self.id:
            raise CallError(f"the protocol is frozen for the track {self.id}, but the files are of {track.id}")
        known = {parameter.name: parameter for parameter in track.protocol.parameters}
        found = []
        for name, value in self.parameters.items():
            if value is None or name not in known or known[name].number == value:
                continue
            text = value if isinstance(value, str) else repr(value)
            if _can_be_changed(track.protocol, name, text):
                found.append((name, text))
        return found

    def differences(self, version: int, parameters: Mapping[str, Value]) -> Iterator[str]:
        """How a protocol of the same track differs from the frozen one."""
        if self.edited:
            yield "the file was edited: its hashes or versions do not match its parameters and truth"
        if version != self.version:
            yield f"version {self.version} is frozen, this is version {version}"
        for name in [*self.parameters, *(name for name in parameters if name not in self.parameters)]:
            frozen, used = self.parameters.get(name, _ABSENT), parameters.get(name, _ABSENT)
            if frozen != used:
                yield f"{name}: {_shown(frozen)} is frozen, this is {_shown(used)}"

    def truth_differences(self, content: Mapping[str, str]) -> Iterator[str]:
        """The truths whose content is not the frozen one. Without hashes: participants may read this."""
        if not self.truth:
            return
        for contract in sorted({*self.truth, *content}):
            if contract not in content:
                yield f"{contract} is missing"
            elif contract not in self.truth:
                yield f"{contract} was not frozen"
            elif content[contract] != self.truth[contract]:
                yield f"the content of {contract} differs"

    def reasons(self, protocol: Protocol, content: Mapping[str, str] | None = None) -> tuple[str, ...]:
        """Why nothing can be scored under it: differences of the protocol and, if it was read, of the truth."""
        protocols = "; ".join(self.differences(protocol.version, protocol.values))
        truths = "; ".join(self.truth_differences(content)) if content is not None else ""
        found = [f"the protocol is not the frozen one: {protocols}"] if protocols else []
        return (*found, *([f"the truth is not the frozen one: {truths}"] if truths else []))

    def warnings(self) -> tuple[str, ...]:
        """Versions of Unicode data or Unidecode that differ, which is not refused."""
        now: Environment = versions()["environment"]
        pairs = ((name, self.environment.get(name), getattr(now, name)) for name in _TEXT_DEPENDS_ON)
        return tuple(
            f"frozen with {name} {frozen}, this is {used}: texts may be compared differently"
            for name, frozen, used in pairs
            if frozen is not None and frozen != used
        )


def pinned_sha256(fingerprint: str, truth: Mapping[str, str]) -> str:
    """The hash of a frozen protocol and its truths, so that none of these can be removed from a file unnoticed."""
    return sha256(canonical({"fingerprint": fingerprint, "truth": dict(truth)}))


_ABSENT = "absent"


def _can_be_changed(protocol: Protocol, name: str, text: str) -> bool:
    try:
        protocol.changed(name, text)
    except CallError:
        return False
    return True


def _shown(value: Value) -> str:
    if value is None:
        return "null"
    return value if isinstance(value, str) else f"{value:.17g}" if float(value).is_integer() else repr(value)


def check_not_changed(frozen: FrozenProtocol | None, changes: Sequence[tuple[str, str]]) -> None:
    """Raises `CallError` for a call that changes parameters of a frozen protocol."""
    if frozen is not None and changes:
        raise CallError(
            f"'{changes[0][0]}' cannot be changed: the protocol is frozen",
            "remove --parameter and options that change the protocol, or freeze another one",
        )


def document(track: Track, protocol: Protocol) -> reference.Protocol:
    """The parameters, the formulas in words, and the history."""
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
    """The protocol with everything that must stay the same. Raises `MedcontractError` for a truth with errors."""
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
    """Whether scores of this medcontract are made under the frozen protocol."""
    track = tracks.find(frozen.id)
    if track is None:
        differences = [f"this medcontract has no track {frozen.id}"]
    else:
        protocol = protocol_for(track, (), settings._replace(frozen=frozen))
        differences = list(frozen.differences(protocol.version, protocol.values))
    return reference.ProtocolCheck(
        id=frozen.id, version=frozen.version, fingerprint=frozen.fingerprint, ok=not differences,
        differences=tuple(differences), warnings=frozen.warnings(), **versions(),
    )  # fmt: skip
