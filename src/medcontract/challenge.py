"""`Challenge`: a challenge of your own, with the functions of the API as methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from medcontract import api
from medcontract.arguments import FileName, FileNames
from medcontract.challenges.loading import load as load_scope
from medcontract.contracts import registry
from medcontract.contracts.registry import Scope
from medcontract.extras import DataFrame, DataFrameSchema

if TYPE_CHECKING:
    from medcontract.signatures import (
        Bundle,
        Comparison,
        Contract,
        ContractList,
        DataDictionary,
        FileReport,
        Fix,
        Leaderboard,
        Path,
        Preflight,
        Protocol,
        ProtocolCheck,
        ProtocolList,
        SchemaCheck,
        SchemaDiff,
        SchemaExport,
        Score,
        Validated,
        Validation,
    )

P = ParamSpec("P")
T = TypeVar("T")


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
        return str(self._scope.track.definition.title)

    @property
    def version(self) -> int:
        """The version."""
        return int(self._scope.track.protocol.version)

    @property
    def fingerprint(self) -> str:
        """The fingerprint of its protocol."""
        return str(self._scope.track.protocol.fingerprint)

    def _call(self, function: Callable[P, T], /, *arguments: P.args, **named: P.kwargs) -> T:
        with registry.using(self._scope):
            return function(*arguments, **named)

    def _load_file(self, file: FileName | bytes, contract: str | None = None, **named: Any) -> Validated[Any]:
        return self._call(api.load, file, contract, **named)

    def validate(self, file: FileName | bytes | DataFrame, contract: str | None = None, **named: Any) -> FileReport:
        """Check one file."""
        return self._call(api.validate, file, contract, **named)

    def validate_files(self, files: FileNames, contract: str | None = None, **named: Any) -> Validation:
        """Check files and folders."""
        return self._call(api.validate_files, files, contract, **named)

    def validate_frame(self, frame: DataFrame, contract: str, **named: Any) -> FileReport:
        """Check the rows of a DataFrame."""
        return self._call(api.validate_frame, frame, contract, **named)

    def frame_schema(self, contract: str) -> DataFrameSchema:
        """The pandera schema of a contract."""
        return self._call(api.frame_schema, contract)

    def score(self, *files: FileName | DataFrame, **named: Any) -> Score:
        """Score a submission against its truth."""
        return self._call(api.score, *files, **named)

    def preflight(self, *files: FileName | DataFrame, **named: Any) -> Preflight:
        """Check a submission."""
        return self._call(api.preflight, *files, **named)

    def leaderboard(self, truth: FileName, *submissions: FileName, **named: Any) -> Leaderboard:
        """Score and rank submissions."""
        return self._call(api.leaderboard, truth, *submissions, **named)

    def compare(self, baseline: FileName | Score, rerun: FileName | Score, **named: Any) -> Comparison:
        """Compare two scores."""
        return self._call(api.compare, baseline, rerun, **named)

    def template(self, contract_id: str, cases: FileName, **named: Any) -> str:
        """The text of an empty submission for given cases."""
        return self._call(api.template, contract_id, cases, **named)

    def fix(self, file: FileName, contract: str | None = None, **named: Any) -> Fix:
        """Repair what has exactly one right repair in a file."""
        return self._call(api.fix, file, contract, **named)

    def list_contracts(self) -> ContractList:
        """The contracts of the challenge."""
        return self._call(api.list_contracts)

    def get_contract(self, contract_id: str) -> Contract[Any]:
        """A contract with its models and rules."""
        return self._call(api.get_contract, contract_id)

    def list_protocols(self) -> ProtocolList:
        """The protocol of the challenge, with version and fingerprint."""
        return self._call(api.list_protocols)

    def get_protocol(self, track: str | None = None, **named: Any) -> Protocol:
        """The protocol of the challenge."""
        return self._call(api.get_protocol, self.id if track is None else track, **named)

    def freeze_protocol(self, track: str | None = None, **named: Any) -> Protocol:
        """The protocol of the challenge, to be kept as a file."""
        return self._call(api.freeze_protocol, self.id if track is None else track, **named)

    def check_protocol(self, protocol: FileName | Protocol, **named: Any) -> ProtocolCheck:
        """Whether the challenge is scored under a frozen protocol."""
        return self._call(api.check_protocol, protocol, **named)

    def json_schema(self, contract_id: str, **named: Any) -> dict[str, Any]:
        """The JSON Schema of a contract."""
        return self._call(api.json_schema, contract_id, **named)

    def data_dictionary(self, contract_id: str, **named: Any) -> DataDictionary:
        """A contract as tables: fields, types, allowed values, rules and examples."""
        return self._call(api.data_dictionary, contract_id, **named)

    def export_schemas(self, folder: FileName, *contract_ids: str, **named: Any) -> SchemaExport:
        """Write the schemas of the challenge to a folder."""
        return self._call(api.export_schemas, folder, *contract_ids, **named)

    def check_schemas(self, folder: FileName, **named: Any) -> SchemaCheck:
        """Check that the schemas in a folder are up to date."""
        return self._call(api.check_schemas, folder, **named)

    def diff_schemas(self, old: FileName, new: FileName, **named: Any) -> SchemaDiff:
        """Compare two schemas."""
        return self._call(api.diff_schemas, old, new, **named)

    def bundle(self, platform: str, truth: FileNames, out: FileName, **named: Any) -> Bundle:
        """Write a scoring bundle for a challenge platform."""
        return self._call(api.bundle, platform, truth, out, **named)

    def init(self, folder: FileName, **named: Any) -> tuple[Path, ...]:
        """Create example files in a folder."""
        return self._call(api.init, self.id, folder, **named)
