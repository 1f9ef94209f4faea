"""Frozen protocols: what must stay the same for scores to be comparable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from msgspec import Struct

from medcontract.errors import PARAMETERS, CallError, words
from medcontract.results.score import Environment
from medcontract.scoring.canonical import canonical, sha256
from medcontract.scoring.protocol import Change, Protocol, fingerprint_of
from medcontract.scoring.track import Track

Value = float | str | None


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
    """Its fingerprint or its versions do not follow from its parameters, or its truth is not what was frozen."""

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> FrozenProtocol:
        """Read a valid document of `medcontract/protocol`."""
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
        """Return the parameters that differ from the track, and can be changed. Raises `CallError`.

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
            with suppress(CallError):
                track.protocol.changed(name, text)
                found.append((name, text))
        return found

    def differences(
        self, version: int, parameters: Mapping[str, Value], changes: Sequence[Change] = ()
    ) -> Iterator[str]:
        """Say how a protocol of the same track differs from the frozen one, and why it was changed since."""
        if self.edited:
            yield "the file was edited: its hashes or versions do not match its parameters and truth"
        if version != self.version:
            yield f"version {self.version} is frozen, this is version {version}"
            later = (change for change in changes if self.version < change.version <= version)
            yield from (f"version {change.version}: {change.reason}" for change in later)
        for name in [*self.parameters, *(name for name in parameters if name not in self.parameters)]:
            frozen, used = self.parameters.get(name, "absent"), parameters.get(name, "absent")
            if frozen != used:
                yield f"{name}: {_shown(frozen)} is frozen, this is {_shown(used)}"

    def truth_differences(self, content: Mapping[str, str]) -> Iterator[str]:
        """Name truths whose content is not the frozen one. Without hashes: participants may read this."""
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
        """Say why nothing can be scored under it: differences of the protocol and, if it was read, of the truth."""
        protocols = "; ".join(self.differences(protocol.version, protocol.values, protocol.changes))
        truths = "; ".join(self.truth_differences(content)) if content is not None else ""
        found = [f"the protocol is not the frozen one: {protocols}"] if protocols else []
        return (*found, *([f"the truth is not the frozen one: {truths}"] if truths else []))

    def warnings(self, environment: Environment) -> tuple[str, ...]:
        """Warn about versions of Unicode data or Unidecode that differ, which is not refused."""
        return tuple(
            f"frozen with {name} {frozen}, this is {used}: texts may be compared differently"
            for name, used in (("unicode", environment.unicode), ("unidecode", environment.unidecode))
            if (frozen := self.environment.get(name)) is not None and frozen != used
        )

    def check_not_changed(self, changes: Sequence[tuple[str, str]]) -> None:
        """Raise `CallError` for a call that changes parameters."""
        if changes:
            raise CallError(
                f"'{changes[0][0]}' cannot be changed: the protocol is frozen",
                words("remove ", PARAMETERS, " and options that change the protocol, or freeze another one"),
            )


def pinned_sha256(fingerprint: str, truth: Mapping[str, str]) -> str:
    """Hash a frozen protocol and its truths, so that none of these can be removed from a file unnoticed."""
    return sha256(canonical({"fingerprint": fingerprint, "truth": dict(truth)}))


def _shown(value: Value) -> str:
    if value is None:
        return "null"
    return value if isinstance(value, str) else f"{value:.17g}" if float(value).is_integer() else repr(value)
