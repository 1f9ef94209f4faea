"""The arguments of public functions: checked in one place, and the common ones carried as one object, `CallOptions`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar

from medcontract.addresses import require_local
from medcontract.errors import LOAD_PLUGIN, CallError, option, parameter, words
from medcontract.extras import TABLES, TableLike, is_table

if TYPE_CHECKING:
    from decimal import Decimal

    from medcontract.cache import ResultCache
    from medcontract.evaluation.files import GivenFiles
    from medcontract.evaluation.settings import Settings
    from medcontract.evaluation.subgroups import By, GroupTable
    from medcontract.parallel.pool import Pool
    from medcontract.reading.folders import Exclude
    from medcontract.reading.limits import Limits
    from medcontract.reading.source import Source
    from medcontract.results.base import Result
    from medcontract.results.reference import Protocol
    from medcontract.scoring.frozen_protocol import FrozenProtocol
    from medcontract.scoring.phases import PhaseKey
    from medcontract.scoring.track import Option

T = TypeVar("T")
FileName = str | os.PathLike[str]
FileNames: TypeAlias = FileName | Iterable[FileName]
Number: TypeAlias = "str | int | float | Decimal"
Progress = Callable[[str, int, int], None]
Notice = Callable[[str], None]

MAX_SCORE_PROBLEMS = 100
PROTOCOL, SCORE = "medcontract/protocol", "medcontract/score"
_RESULTS = {PROTOCOL: ("Protocol", "freeze_protocol"), SCORE: ("Score", "score")}
"""The class of the results of these contracts, and the function that returns them."""


@dataclass(frozen=True, kw_only=True)
class CallOptions:
    """The keyword arguments of a call, with the names of the public functions.

    A function that lacks one leaves it at its default.
    """

    contract: str | None = None
    parameters: Mapping[str, Number] | None = None
    protocol: FileName | Protocol | None = None
    header: Mapping[str, str] | None = None
    intervals: bool = False
    cluster: str | None = None
    by: str | Iterable[str] = ()
    groups: FileName | None = None
    phase: str | None = None
    phase_key: FileName | None = None
    breakdown: bool = False
    participant: bool = False
    show_values: bool = False
    plugin_errors: bool = False
    jobs: int | None = 1
    engine: str | None = None
    scheduler: str | None = None
    client: object = None
    max_problems: int = MAX_SCORE_PROBLEMS
    max_alike: int | None = None
    excerpts: bool = False
    max_record: int | None = None
    max_unpacked: int | None = None
    plugins: str | Sequence[str] = ()
    exclude: str | Iterable[str] = ()
    strict: bool = False
    cache: FileName | None = None
    notice: Notice | None = None
    progress: Progress | None = None
    track_options: Mapping[str, Any] = field(default_factory=dict)
    """Options of tracks, and files and tables by the name of their contract."""
    accepted: Iterable[str] = ()
    """The names of the function's arguments, to suggest one for a misspelled name."""

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Take the options from the arguments of a function, by name: its `locals()`. Raises `CallError`."""
        options = {each.name: given[each.name] for each in fields(cls) if each.name in given}
        return cls(**options, accepted=given.keys() - {"files", "submissions", "track_options"})

    def __post_init__(self) -> None:
        require_at_least(0, max_problems=self.max_problems, max_alike=self.max_alike)
        require_at_least(1, jobs=self.jobs, max_record=self.max_record, max_unpacked=self.max_unpacked)
        require_strings([] if self.contract is None else [self.contract])
        load_plugins(self.plugins)

    @cached_property
    def limits(self) -> Limits:
        from medcontract.reading.limits import Limits

        default = Limits()
        return Limits(self.max_record or default.record, self.max_unpacked or default.unpacked)

    @cached_property
    def excluded(self) -> Exclude | None:
        """The patterns of files to skip in folders, or None if there are none."""
        patterns = (self.exclude,) if isinstance(self.exclude, str) else tuple(self.exclude)
        require_strings(patterns)
        if not all(pattern.strip("/") for pattern in patterns):
            raise CallError("an exclude pattern is empty")
        if not patterns:
            return None
        import re

        from medcontract.reading.folders import Exclude

        try:
            return Exclude(patterns)
        except re.error as error:
            raise CallError(f"an exclude pattern is not valid: {error}") from None

    def files(self, given: Iterable[FileName | TableLike], schema: FileName | None = None) -> GivenFiles:
        """Find the files and tables of the call, and report patterns that match none: they may be misspelled."""
        from medcontract.evaluation.files import given_files
        from medcontract.evaluation.named_tables import given_tables

        given = list(given)
        tables = [file for file in given if not isinstance(file, str | os.PathLike) and is_table(file)]
        frames = {name: value for name, value in self._named.items() if is_table(value)}
        named = {name: value for name, value in self._named.items() if isinstance(value, str | os.PathLike)}
        paths = as_paths(file for file in given if not is_table(file)) if tables else as_paths(given)
        read = [*self._track_files, self.protocol]
        found = given_files(paths, self.contract, schema, read, self.limits, self.excluded, named)
        if self.excluded and self.notice:
            for pattern in self.excluded.unused:
                self.notice(f"--exclude {pattern}: matches no file in the given folders")
        if not tables and not frames:
            return found
        return found._replace(files=[*found.files, *given_tables(tables, frames)])

    @cached_property
    def settings(self) -> Settings:
        """How files are read and scored. Raises `CallError`, and `InvalidData` for a file of an option."""
        from medcontract.evaluation.settings import Settings
        from medcontract.scoring.scorer import ScoringOptions

        by, groups = self._grouping
        return Settings(
            keep=min(self.max_problems, MAX_SCORE_PROBLEMS), alike=self.max_alike, excerpts=self.excerpts,
            limits=self.limits, jobs=self.jobs, participant=self.participant, parameters=self.changes,
            intervals=self.intervals or self.cluster is not None, phase_key=self._phase_key,
            frozen=None if self.protocol is None else self.frozen(self.protocol),
            header=tuple(as_mapping(self.header, "header").items()), by=by, groups=groups,
            scoring=ScoringOptions(
                breakdown=self.breakdown, values=self.show_values,
                plugin_errors=self.plugin_errors and not self.participant, options=self._parsed[0],
            ),
        )  # fmt: skip

    @cached_property
    def _phase_key(self) -> PhaseKey | None:
        """The organizer's key. Raises `CallError` if it cannot be read or is too short."""
        if self.phase_key is None:
            return None
        from medcontract.scoring.phases import SHORTEST_KEY, PhaseKey

        try:
            with open(self.phase_key, "rb") as file:
                secret = file.read()
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise CallError(f"cannot read {os.fspath(self.phase_key)}: {why}", flag="--phase-key") from None
        if len(secret) < SHORTEST_KEY:
            raise CallError(f"the key has {len(secret)} bytes", f"use at least {SHORTEST_KEY}", flag="--phase-key")
        return PhaseKey(secret)

    @property
    def _phase_changes(self) -> dict[str, str]:
        """The parameters of the protocol that the phase sets. Raises `CallError` if the phase or its key is missing."""
        key = self._phase_key
        if self.phase is not None:
            if key is None:
                raise CallError(words(option("--phase"), " requires ", option("--phase-key", "FILE")))
            return {"phase": self.phase, "phase_key": key.sha256}
        if key is not None and self.protocol is None:
            raise CallError(words(option("--phase-key"), " requires ", option("--phase")), "public or private")
        return {}

    @cached_property
    def _grouping(self) -> tuple[tuple[By, ...], GroupTable | None]:
        """The fields to group cases by, and the table with some of them. Raises `CallError` and `InvalidData`."""
        texts = (self.by,) if isinstance(self.by, str) else tuple(self.by)
        if not texts and self.groups is not None:
            raise CallError(words(option("--groups"), " needs ", option("--by", "FIELD")), "name its columns")
        if not texts:
            return (), None
        from medcontract.evaluation.subgroups import GroupTable, parse_by

        require_strings(texts)
        table = None if self.groups is None else GroupTable.read(file_source(os.fspath(self.groups), self.limits))
        return parse_by(texts), table

    def frozen(self, protocol: FileName | Protocol) -> FrozenProtocol:
        """Read a frozen protocol. Raises `InvalidData` and `CallError`, also for a call that changes it."""
        from medcontract.scoring.frozen_protocol import FrozenProtocol
        from medcontract.validation.dispatch import load_source

        source = result_source(protocol, PROTOCOL, self.limits)
        frozen = FrozenProtocol.of(load_source(source, PROTOCOL).value.model_dump())
        frozen.check_not_changed(self.changes)
        return frozen

    # options of tracks

    @cached_property
    def _named(self) -> dict[str, FileName | TableLike]:
        """The files and tables that were given by the name of their contract, unless a track has such an option."""
        if not self.track_options:
            return {}
        from medcontract.evaluation.named_tables import contracts_named
        from medcontract.scoring import tracks

        options = {option.name for _, option in tracks.options().values()}
        files = {
            name: value for name, value in self.track_options.items()
            if is_table(value) or (isinstance(value, str | os.PathLike) and name not in options)
        }  # fmt: skip
        return {name: value for name, value in files.items() if contracts_named(name)}

    @cached_property
    def _known(self) -> dict[str, Option]:
        """The options of all tracks, if any is given: finding them loads all tracks."""
        if self.track_options.keys() <= self._named.keys():
            return {}
        from medcontract.scoring import tracks

        return {option.name: option for _, option in tracks.options().values()}

    @property
    def _track_files(self) -> list[object]:
        return [self.track_options.get(name) for name, option in self._known.items() if option.contract]

    @property
    def changes(self) -> tuple[tuple[str, str], ...]:
        """Parameters of the protocol that the call changes, also by options of tracks, as exact strings."""
        return self._parsed[1]

    @cached_property
    def _parsed(self) -> tuple[dict[str, object], tuple[tuple[str, str], ...]]:
        """The values of options of tracks, and the changed parameters. Raises `CallError`."""
        changed = as_mapping(self.parameters, "parameters")
        if self.cluster is not None:
            if "cluster" in changed:
                both = parameter("cluster"), " and as ", option("--cluster")
                raise CallError(words("'cluster' is given twice, as ", *both))
            changed["cluster"] = self.cluster
        changed |= self._phase_changes
        found: dict[str, object] = {}
        for name in self.track_options:
            if name not in self._known and name not in self._named:
                raise self._unknown(name)
        for name, each in self._known.items():
            value = self.track_options.get(name)
            if value is None or (each.sets and not value):
                continue
            if not each.parameter:
                found[name] = self._value_of(each, value)
            elif name in changed:
                raise CallError(words(f"'{name}' is given twice, as ", parameter(name), " and as ", each.wording))
            else:
                changed[name] = value
        if not changed:
            return found, ()
        from medcontract.scoring.protocol import exact_text

        return found, tuple((name, exact_text(name, value)) for name, value in changed.items())

    def _unknown(self, name: str) -> CallError:
        from medcontract.contracts.suggestions import did_you_mean
        from medcontract.evaluation.named_tables import contract_names, contracts_named

        if contracts_named(name):
            kind = type(self.track_options[name]).__name__
            return CallError(f"'{name}' must be a file or a table, not {kind}", TABLES)
        known = sorted({*self._known, *self.accepted, *contract_names()})
        return CallError(f"unknown option '{name}'", did_you_mean(name, known))

    def require_protocol_options(self) -> None:
        """Raise `CallError` for options of tracks that are not part of a protocol: freezing would ignore them."""
        for name, each in self._known.items():
            if self.track_options.get(name) is not None and not each.in_protocol:
                raise CallError(
                    words(each.wording, " is not part of a protocol"),
                    "pass it to the commands that score, together with the frozen protocol",
                )

    def _value_of(self, option: Option, value: object) -> object:
        """Parse the value of an option. Raises `InvalidData` or `CallError` for a file, like `load`."""
        if not option.contract:
            return option.parse(value) if option.parse else value
        from medcontract.validation.dispatch import load_source

        file = path_of_contract(value, option.contract)
        if isinstance(file, bytes):
            source = input_source(file, option.contract, None)
        elif isinstance(file, str | os.PathLike):
            source = file_source(os.fspath(file), self.limits)
        else:
            raise CallError(f"'{option.name}' must be a path, not {type(file).__name__}")
        return load_source(source, option.contract).value.model_dump(exclude_none=True)

    # what the call uses while it runs

    def stage(self, name: str) -> Callable[[int, int], None] | None:
        """Return the function that gets the progress of a step."""
        return None if self.progress is None else partial(self.progress, name)

    @contextmanager
    def running(self, stage: str, settings: Settings | None = None) -> Iterator[Settings]:
        """Settings with the engine and the progress of a step."""
        with self.pool() as pool:
            yield (settings or self.settings)._replace(progress=self.stage(stage), pool=pool)

    @contextmanager
    def pool(self) -> Iterator[Pool | None]:
        """Provide what reads large files, if the caller chose it. Raises `CallError`."""
        if self.engine is None and self.client is None and self.scheduler is None:
            yield None
            return
        from medcontract.parallel.dask_pool import chosen_pool

        with chosen_pool(self.engine, self.scheduler, self.client, self.jobs) as found:
            yield found

    @contextmanager
    def kept_results(self, inputs: Iterable[FileName], beside: bool = False) -> Iterator[ResultCache | None]:
        """Open the cache. Raises `CallError` if it would become an input of this call or of the next one.

        `beside`: whether it must not be in the same folder as an input.
        """
        if self.cache is None:
            yield None
            return
        from medcontract.atomic_write import refuse_input_folder
        from medcontract.cache import ResultCache
        from medcontract.evaluation.files import split

        if not isinstance(self.cache, str | os.PathLike):
            raise CallError(f"'cache' must be a path, not {type(self.cache).__name__}")
        paths = [split(name)[0] for name in inputs]
        refuse_input_folder(self.cache, paths, "--cache", beside=paths if beside else ())
        yield ResultCache(self.cache, self.notice)


def path_of_contract(given: T, wanted: str, contract: str | None = None) -> T | str:
    """Return the path of a file that can have one contract only, which may be specified. Keep other values."""
    from medcontract.evaluation.files import split_known

    if not isinstance(given, str | os.PathLike):
        return given
    path, specified = split_known(given, contract)
    if specified not in (None, wanted):
        raise CallError(f"{path}: expected a file of {wanted}, not of {specified}")
    return path


# --- single arguments


def result_source(given: FileName | Result, contract: str, limits: Limits | None) -> Source:
    """Open a file of a result, or the result itself. Raises `CallError` for anything else."""
    path = path_of_contract(given, contract)
    if isinstance(path, str | os.PathLike):
        return file_source(os.fspath(path), limits)
    kind, function = _RESULTS[contract]
    if type(path).__name__ != kind:
        raise CallError(f"expected a path or a result of {function}, got {type(path).__name__}")
    return input_source(path.to_json().encode(), contract, f"{kind.lower()}.json")


def as_paths(given: object) -> tuple[FileName, ...]:
    """Return a path, or an iterable of paths, as a tuple. Raises `CallError`."""
    if isinstance(given, str | os.PathLike):
        return (given,)
    if isinstance(given, bytes) or not isinstance(given, Iterable):
        raise CallError(f"expected a path or a list of paths, got {type(given).__name__}", TABLES)
    found = tuple(given)
    for each in found:
        if not isinstance(each, str | os.PathLike):
            hint = "pass each path as a separate argument" if isinstance(each, list | tuple) else TABLES
            raise CallError(f"expected a path, got {type(each).__name__}", hint)
    return found


def as_mapping(given: Mapping[str, T] | None, argument: str) -> dict[str, T]:
    if given is not None and not isinstance(given, Mapping):
        raise CallError(f"'{argument}' must be a mapping, not {type(given).__name__}")
    return dict(given or {})


def require_strings(values: Iterable[object]) -> None:
    for value in values:
        if not isinstance(value, str):
            hint = "pass each string as a separate argument" if isinstance(value, list | tuple) else None
            raise CallError(f"expected a string, got {type(value).__name__}", hint)


def require_at_least(minimum: int, **numbers: object) -> None:
    from numbers import Integral

    for name, number in numbers.items():
        if number is None:
            continue
        if isinstance(number, bool) or not isinstance(number, Integral):
            raise CallError(f"'{name}' must be an integer, not {type(number).__name__}")
        if number < minimum:
            raise CallError(f"'{name}' must be at least {minimum}, not {number}")


def input_source(file: FileName | bytes | TableLike, contract: str | None, name: str | None) -> Source:
    """Open a file, bytes or a table. Raises `CallError` for anything else."""
    if isinstance(file, str | os.PathLike | bytes):
        from medcontract.evaluation.files import input_file

        return input_file(file, name)
    if not is_table(file):
        raise CallError(f"expected a file or a table, got {type(file).__name__}", TABLES)
    from medcontract.evaluation.named_tables import require_table_form
    from medcontract.validation.frames import frame_source

    source = frame_source(file, name)
    require_table_form(source, contract)
    return source


def file_source(path: str | Source, limits: Limits | None) -> Source:
    from medcontract.reading.source import Source, open_source

    return path if isinstance(path, Source) else open_source(path, limits)


def load_plugins(names: str | Iterable[str]) -> None:
    """Load plugins, given as a name or several."""
    for name in (names,) if isinstance(names, str) else names:
        from medcontract.scoring import tracks

        require_local(name, LOAD_PLUGIN, "download the plugin first, and read it")
        tracks.load_plugin(name)
