"""How the files of a call are read and scored, and the header fields that its caller sets."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

from medcontract.contracts import registry
from medcontract.contracts.registry import CompiledContract
from medcontract.errors import CallError, Wording, command, words
from medcontract.extras import require
from medcontract.parallel import cpus
from medcontract.problems import Finding
from medcontract.reading import chunks
from medcontract.reading.limits import Limits
from medcontract.scoring.frozen_protocol import FrozenProtocol
from medcontract.scoring.phases import PhaseKey
from medcontract.scoring.protocol import INTERVAL_PARAMETERS, Protocol
from medcontract.scoring.scorer import NO_OPTIONS, Scorer, ScoringOptions
from medcontract.scoring.track import Track
from medcontract.validation.dispatch import Part, container_for
from medcontract.validation.records import Progress
from medcontract.validation.report import ProblemCollector

if TYPE_CHECKING:
    from medcontract.evaluation.files import Files
    from medcontract.evaluation.subgroups import By, GroupTable
    from medcontract.parallel.pool import Pool


class Settings(NamedTuple):
    """How files are read, and how many problems are kept for each."""

    keep: int = 100
    alike: int | None = None
    excerpts: bool = False
    limits: Limits | None = None
    progress: Progress | None = None
    """Gets the bytes that were read of all files, and their total (`report_progress`)."""
    jobs: int | None = 1
    """Worker processes for large files, or for the submissions of a ranking. None: as many as pay off."""
    pool: Pool | None = None
    """Reads large files, instead of worker processes."""
    participant: bool = False
    """The output must not reveal the truth."""
    scoring: ScoringOptions = NO_OPTIONS
    """The caller's options for scoring."""
    parameters: tuple[tuple[str, str], ...] = ()
    """Changed parameters of the protocol."""
    phase_key: PhaseKey | None = None
    """Divides the cases into phases."""
    intervals: bool = False
    """Figures have intervals."""
    frozen: FrozenProtocol | None = None
    """The protocol to score under, if it is frozen."""
    complete: bool = True
    """Compute everything that a score shows, not only what a ranking without feedback needs."""
    header: tuple[tuple[str, str], ...] = ()
    """Header fields that the caller sets."""
    by: tuple[By, ...] = ()
    """The fields to group cases by."""
    groups: GroupTable | None = None
    """A table with fields to group by."""
    header_if_absent: bool = False
    """Ignore fields that the files contain."""

    def collector(self) -> ProblemCollector:
        return ProblemCollector(self.keep, self.alike, self.excerpts, self.participant)

    def wants_intervals(self, track: Track, protocol: Protocol) -> bool:
        """Return whether figures have intervals: if the caller, the challenge or a parameter asks for them.

        Raises `CallError` if NumPy is not installed.
        """
        own = track.protocol.values  # a cluster that the challenge defines may also be there for phases
        wanted = self.intervals or track.intervals
        wanted = wanted or any(protocol.values.get(name) != own.get(name) for name in INTERVAL_PARAMETERS)
        if wanted:
            require("numpy", "stats")
        return wanted

    def pool_for(self, parts: Sequence[Part]) -> Pool | None:
        """Choose what reads these files in chunks. None: it is not worth it."""
        if self.pool:
            return self.pool
        size = sum(part.source.size for part in parts)
        if size < 2 * chunks.SMALLEST or cpus.workers_for(self.jobs, size) < 2:
            return None
        from medcontract.parallel.processes import pool_for  # slow to import

        return pool_for(self.jobs, size)


DEFAULT = Settings()


# --- header fields

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

    def result_fields(self, track: Track, known: Mapping[str, object] | None = None) -> dict[str, str]:
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

    `headers`: of a truth that was already read.
    """
    if not track.result_fields.needed or not any(pair.submission in files.groups for pair in scorer.pairs):
        return
    parts = files.take(name for pair in scorer.pairs for name in (pair.truth, pair.submission)).parts()
    with_header = (part for part in parts if container_for(part.source, part.contract).documents)
    possible = {name: "" for part in with_header for name in header_fields(part.contract)}
    require_fields(track, [possible, given.values, *headers])


def require_fields(track: Track, headers: Iterable[Mapping[str, object]]) -> None:
    """Raise `CallError` if the result needs a header field that no header has."""
    lacking = lacking_fields(track, headers)
    if lacking:
        message = f"the result needs {', '.join(lacking)}, which the files do not contain"
        raise CallError(message, words("pass ", set_options(lacking)))


def lacking_fields(track: Track, headers: Iterable[Mapping[str, object]]) -> list[str]:
    """Return the header fields that the result needs and that no header has."""
    known = {name for header in headers for name, value in header.items() if value is not None}
    return [name for name in track.result_fields.needed if name not in known]
