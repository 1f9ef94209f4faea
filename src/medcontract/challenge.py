"""`Challenge`: a challenge of your own, with the functions of the API as methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, overload

from medcontract import api
from medcontract.challenges.loading import load as load_scope
from medcontract.contracts import registry
from medcontract.contracts.registry import Scope
from medcontract.options import FileName, FileNames, Number

if TYPE_CHECKING:
    from medcontract.signatures import Path, Protocol, Validated

P = ParamSpec("P")
T = TypeVar("T")


def _method(function: Callable[P, T]) -> Callable[Concatenate[Challenge, P], T]:
    """Make a function a method that calls it with the challenge in use."""

    @wraps(function)
    def method(self: Challenge, /, *arguments: P.args, **named: P.kwargs) -> T:
        with registry.using(self._scope):
            return function(*arguments, **named)

    own = signature(function)
    this = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)
    vars(method)["__signature__"] = own.replace(parameters=[this, *own.parameters.values()])
    return method


class _Load:
    """`Challenge.load(file)` loads a challenge; `challenge.load(file, contract)` is the function `load`."""

    @overload
    def __get__(self, challenge: None, owner: type[Challenge]) -> Callable[..., Challenge]: ...
    @overload
    def __get__(self, challenge: Challenge, owner: type[Challenge]) -> Callable[..., Validated[Any]]: ...
    def __get__(self, challenge: Challenge | None, owner: type[Challenge]) -> Callable[..., Any]:
        return owner._load if challenge is None else challenge._load_file


class Challenge:
    """A challenge that is defined by a file, `challenge.toml`.

    >>> challenge = Challenge.load("challenge.toml")  # doctest: +SKIP
    >>> challenge.score("truth.csv", "predictions.csv").result["headline"]  # doctest: +SKIP

    The methods are the functions of `medcontract` with the same names and arguments. They know only the contracts and
    the track of this challenge, and nothing outside of them changes: several challenges can be used side by side, even
    if they have the same id.
    """

    load = _Load()
    """Load a challenge file: a path, or bytes. Raises `CallError` if it cannot be read, `InvalidData` if it has
    errors. On a challenge, it is the function `load`: it reads a file of the challenge as a validated value."""

    def __init__(self, scope: Scope) -> None:
        """Use `Challenge.load`."""
        self._scope = scope

    @classmethod
    def _load(cls, file: FileName | bytes, *, name: str | None = None) -> Challenge:
        return cls(load_scope(file, name))

    def __repr__(self) -> str:
        return f"<Challenge {self.id} v{self.version}>"

    @property
    def id(self) -> str:
        """The id of the challenge and of its track."""
        return str(self._scope.track.id)

    @property
    def title(self) -> str:
        """The title."""
        return str(self._scope.definition.title)

    @property
    def version(self) -> int:
        """The version."""
        return int(self._scope.track.protocol.version)

    @property
    def fingerprint(self) -> str:
        """The fingerprint of its protocol."""
        return str(self._scope.track.protocol.fingerprint)

    _load_file = _method(api.load)
    validate = _method(api.validate)
    validate_files = _method(api.validate_files)
    validate_frame = _method(api.validate_frame)
    frame_schema = _method(api.frame_schema)
    score = _method(api.score)
    preflight = _method(api.preflight)
    leaderboard = _method(api.leaderboard)
    compare = _method(api.compare)
    verify = _method(api.verify)
    rehearse = _method(api.rehearse)
    template = _method(api.template)
    fix = _method(api.fix)
    list_contracts = _method(api.list_contracts)
    get_contract = _method(api.get_contract)
    list_protocols = _method(api.list_protocols)
    check_protocol = _method(api.check_protocol)
    json_schema = _method(api.json_schema)
    data_dictionary = _method(api.data_dictionary)
    export_schemas = _method(api.export_schemas)
    check_schemas = _method(api.check_schemas)
    diff_schemas = _method(api.diff_schemas)
    bundle = _method(api.bundle)
    check_page = _method(api.check_page)

    def get_protocol(self, track: str | None = None, *, parameters: Mapping[str, Number] | None = None) -> Protocol:
        """Return the protocol of the challenge."""
        with registry.using(self._scope):
            return api.get_protocol(track or self.id, parameters=parameters)

    def freeze_protocol(
        self, track: str | None = None, *, truth: FileNames = (), contract: str | None = None,
        parameters: Mapping[str, Number] | None = None, note: str | None = None, max_record: int | None = None,
        max_unpacked: int | None = None, **track_options: Any,
    ) -> Protocol:  # fmt: skip
        """Freeze the protocol of the challenge, to be kept as a file."""
        with registry.using(self._scope):
            return api.freeze_protocol(
                track or self.id, truth=truth, contract=contract, parameters=parameters, note=note,
                max_record=max_record, max_unpacked=max_unpacked, **track_options,
            )  # fmt: skip

    def init(self, folder: FileName, *, force: bool = False) -> tuple[Path, ...]:
        """Create example files in a folder."""
        with registry.using(self._scope):
            return api.init(self.id, folder, force=force)
