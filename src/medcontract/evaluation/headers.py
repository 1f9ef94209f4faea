"""The headers of files, the header fields that a caller sets, and those that a result needs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from medcontract.contracts import registry
from medcontract.contracts.registry import CompiledContract
from medcontract.errors import CallError, Wording, command, words
from medcontract.evaluation.files import Files
from medcontract.problems import Finding
from medcontract.scoring.scorer import Scorer
from medcontract.scoring.track import Track
from medcontract.validation.dispatch import Part, container_for

Header = dict[str, Any]


def header_fields(contract: CompiledContract) -> frozenset[str]:
    return contract.header - {contract.list_key, "$schema"}


def header_of(parts: Sequence[Part]) -> Header:
    """Return the header of the parts. Raises `CallError` if they differ: then they are not one collection."""
    fields = sorted(header_fields(parts[0].contract))
    found = [(part, part.header) for part in parts if part.header is not None]
    headers = [(part, {name: getattr(header, name, None) for name in fields}) for part, header in found]
    first, known = headers[0] if headers else (None, dict.fromkeys(fields))
    for part, header in headers:
        if first and header != known:
            field = next(name for name in fields if header[name] != known[name])
            raise CallError(
                f"'{field}' differs between two files of {part.contract.id}: {first.name}, {part.name}",
                "the parts of a collection must have equal headers; pass the files of one team or model only",
            )
    return known


class HeaderOverrides:
    """Header fields set by the caller (`--set name=value`), for containers that lack them."""

    def __init__(self, values: Iterable[tuple[str, str]] = (), strict: bool = True) -> None:
        self.values = dict(values)
        self._strict = strict
        """Setting a field that the files contain is an error."""
        self._used: set[str] = set()
        self._known: set[str] = set()

    def complete(self, header: Header, contract: CompiledContract, known: Collection[str] | None = None) -> Header:
        """Return the header with missing fields filled in, if the caller set them."""
        self._known |= header_fields(contract) if known is None else set(known)
        lacking = {n: v for n, v in self.values.items() if n in header and header[n] is None}
        for name, value in lacking.items():
            _check_field(contract, name, value)
        self._used |= set(lacking)
        return {**header, **lacking}

    def result_fields(self, track: Track, known: Mapping[str, Any] | None = None) -> dict[str, str]:
        """Return the fields of the result that the caller may set; `known` are values that a result already has."""
        settable = track.result_fields.settable
        if not settable:
            return {}
        fields = {**dict.fromkeys(settable), **(known or {})}
        completed = self.complete(fields, registry.find(track.roles.result), settable)
        return {name: value for name, value in completed.items() if value is not None}

    def check_names(self, contracts: Iterable[CompiledContract]) -> None:
        """Raise `CallError` for a field that no contract has, or whose value its contract does not allow."""
        for name, value in self.values.items():
            having = [contract for contract in contracts if name in header_fields(contract)]
            if not having:
                raise _no_such_field(name, {f for contract in contracts for f in header_fields(contract)})
            for contract in having:
                _check_field(contract, name, value)

    def check(self) -> None:
        """Raise `CallError` for a field that was not used."""
        for name in self.values:
            if name not in self._known:
                raise _no_such_field(name, self._known)
            if name not in self._used and self._strict:
                raise CallError(f"'{name}' cannot be set: the files already contain it", "change it in the file")


def _no_such_field(name: str, known: Collection[str]) -> CallError:
    from medcontract.contracts.suggestions import did_you_mean

    hint = did_you_mean(name, known) or f"these can be set: {', '.join(sorted(known))}"
    return CallError(f"no file has a header field '{name}'", hint)


def _check_field(contract: CompiledContract, name: str, value: str) -> None:
    from typing import Annotated

    from pydantic import TypeAdapter, ValidationError

    field = contract.definition.model.model_fields[name]
    kind: Any = Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
    findings: list[Finding] = []
    try:
        TypeAdapter(kind).validate_python(value)
        for rule in contract.header_rules:
            findings += rule.check(SimpleNamespace(**{**dict.fromkeys(header_fields(contract)), name: value}))
    except ValidationError:
        findings.append(Finding("MC107", "the value is not valid"))
    if findings:
        one = Wording(f"--set {name}", f'header={{"{name}": …}}')
        schema = command(f"schema show {contract.id}", f'json_schema("{contract.id}")')
        raise CallError(words(one, f": {findings[0].message}"), words("see: ", schema))


def set_options(names: Iterable[str]) -> Wording:
    """Say how to set header fields that the files lack, for hints."""
    fields = ", ".join(f'"{name}": …' for name in names)
    return Wording(" ".join(f"--set {name}=…" for name in names), f"header={{{fields}}}")


def require_possible_fields(
    track: Track, scorer: Scorer, files: Files, given: HeaderOverrides, headers: Iterable[Header] = ()
) -> None:
    """Raise `CallError`, before a submission is read, if the result needs a header field that no file can contain.

    `headers`: those of a truth that was already read.
    """
    if not track.result_fields.needed or not any(pair.submission in files.groups for pair in scorer.pairs):
        return
    parts = files.take(name for pair in scorer.pairs for name in (pair.truth, pair.submission)).parts()
    with_header = (part for part in parts if container_for(part.source, part.contract).documents)
    possible = {name: "" for part in with_header for name in header_fields(part.contract)}
    require_fields(track, [possible, given.values, *headers])


def require_fields(track: Track, headers: Iterable[Mapping[str, Any]]) -> None:
    """Raise `CallError` if the result needs a header field that no header has."""
    lacking = lacking_fields(track, headers)
    if lacking:
        message = f"the result needs {', '.join(lacking)}, which the files do not contain"
        raise CallError(message, words("pass ", set_options(lacking)))


def lacking_fields(track: Track, headers: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the header fields that the result needs and that no header has."""
    known = {name for header in headers for name, value in header.items() if value is not None}
    return [name for name in track.result_fields.needed if name not in known]
