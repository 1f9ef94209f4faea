"""Results that describe medcontract itself: contracts, codes, protocols, normalization, and the cache."""

from __future__ import annotations

from typing import Any, Literal

from medcontract.problems import plural
from medcontract.results.base import Code, Count, Position, Result, ResultItem, ResultList, Row, Sha256, Str
from medcontract.results.score import Environment


class ContractInfo(ResultItem, frozen=True, kw_only=True):
    """A contract."""

    id: Str
    """`<track>/<name>`."""
    version: Position
    """The major version."""
    kind: Literal["collection", "document"]
    """A list of records, or one object."""
    containers: tuple[Str, ...]
    """The file formats that it can be stored in."""
    title: Str
    """A short description."""
    source: Str | None
    """The document that defines it."""

    def _summary(self) -> str:
        return self.id


class ContractList(ResultList[ContractInfo], frozen=True, kw_only=True):
    """The output of `medcontract schema list`."""

    contracts: tuple[ContractInfo, ...]
    """All contracts, sorted by id."""

    _listed = "contracts"

    def _summary(self) -> str:
        return plural(len(self.contracts), "contract")


class ExplainedCode(ResultItem, frozen=True, kw_only=True):
    """The explanation of a code."""

    code: Code
    """The code; its meaning never changes."""
    title: Str
    """A short description."""
    meaning: Str
    """What the code means."""
    mistake: Str
    """An example of the mistake."""
    fix: Str
    """The same example without the mistake."""

    def _summary(self) -> str:
        return self.code


class Explanation(ResultList[ExplainedCode], frozen=True, kw_only=True):
    """The output of `medcontract explain`."""

    codes: tuple[ExplainedCode, ...]
    """The codes, sorted."""

    _all: bool = False
    """No code was given, so all are listed."""

    _listed = "codes"

    def _summary(self) -> str:
        return plural(len(self.codes), "code")


class Parameter(ResultItem, frozen=True, kw_only=True):
    """A parameter of a protocol."""

    name: Str
    """Its name, as for `--parameter`."""
    value: float | str | None
    """Its value; numbers are exact decimals."""
    about: Str
    """What it is used for."""
    source: Str
    """The source of the value."""

    _text: str = ""
    """The value as a decimal, with all digits."""


class Formula(ResultItem, frozen=True, kw_only=True):
    """The formula of a figure."""

    name: Str
    """The name of the figure in the result."""
    about: Str
    """The formula, in words."""


class ProtocolClass(ResultItem, frozen=True, kw_only=True):
    """One class of a classification."""

    number: Position
    """Its position in the model output, from 1."""
    symbol: Str
    """As in truths and results."""
    name: Str
    """Its full name."""
    type: Str
    """The group of classes that it belongs to."""


class ProtocolChange(ResultItem, frozen=True, kw_only=True):
    """A change of a protocol."""

    version: Position
    """The first version with the change."""
    reason: Str
    """What changed, and why."""


class FrozenTruth(ResultItem, frozen=True, kw_only=True):
    """A truth that a protocol was frozen with."""

    contract: Str
    """The contract of its files."""
    content_sha256: Sha256
    """Of the sorted canonical records of all its files, whatever their order, container or split."""
    records: Count
    """Its number of records."""


class Protocol(Result, frozen=True, kw_only=True):
    """The output of `medcontract protocol show` and `medcontract protocol freeze`."""

    id: Str
    """The track."""
    version: Position
    """The version; incremented when a formula changes."""
    fingerprint: Sha256
    """SHA-256 of the canonical JSON (RFC 8785) of id, version and parameters."""
    pinned_sha256: Sha256 | None = None
    """SHA-256 of the canonical JSON (RFC 8785) of fingerprint and truth, an object of content hashes by contract."""
    parameters: tuple[Parameter, ...]
    """The parameters, in the order in which they are used."""
    figures: tuple[Formula, ...]
    """The figures, in the order of the result."""
    classes: tuple[ProtocolClass, ...] | None = None
    """The classes, in the order of the model output. Absent if the track has none."""
    changes: tuple[ProtocolChange, ...]
    """Changes of the protocol, newest last."""
    versions: dict[str, str] | None = None
    """If frozen: the versions of the steps that change a score, and the hashes of the lists that they use."""
    truth: tuple[FrozenTruth, ...] | None = None
    """If frozen: what it was frozen with; empty if scores with any truth are allowed."""
    note: Str | None = None
    """If frozen: why."""
    medcontract_version: Str | None = None
    """If frozen: the medcontract that froze it."""
    environment: Environment | None = None
    """If frozen: what it ran with."""

    _optional = frozenset({
        "pinned_sha256", "classes", "versions", "truth", "note", "medcontract_version", "environment",
    })  # fmt: skip

    def _rows(self, show_values: bool) -> list[Row]:
        return [parameter.to_dict() for parameter in self.parameters]

    def _summary(self) -> str:
        return f"{self.id} v{self.version}, {plural(len(self.parameters), 'parameter')}"


class ProtocolCheck(Result, frozen=True, kw_only=True):
    """The outcome of `medcontract protocol check`."""

    id: Str
    """The track."""
    version: Position
    """The frozen version."""
    fingerprint: Sha256
    """The frozen fingerprint."""
    ok: bool
    """Whether this medcontract scores under the frozen protocol."""
    differences: tuple[Str, ...]
    """Why it does not."""
    warnings: tuple[Str, ...]
    """Differences that are not refused."""
    medcontract_version: Str
    """The medcontract that checked it."""
    environment: Environment
    """What it ran with."""

    _columns = ("severity", "difference")

    def _rows(self, show_values: bool) -> list[Row]:
        found = [("error", each) for each in self.differences] + [("warning", each) for each in self.warnings]
        return [{"severity": severity, "difference": difference} for severity, difference in found]

    def __bool__(self) -> bool:
        return self.ok

    def _summary(self) -> str:
        return f"{self.id} v{self.version}, {plural(len(self.differences), 'difference')}"


class ProtocolInfo(ResultItem, frozen=True, kw_only=True):
    """The version of a protocol."""

    id: Str
    """The track."""
    version: Position
    """The version; incremented when a formula changes."""
    fingerprint: Sha256
    """SHA-256 of the canonical JSON (RFC 8785) of id, version and parameters."""

    def _summary(self) -> str:
        return f"{self.id} v{self.version}"


class ProtocolList(ResultList[ProtocolInfo], frozen=True, kw_only=True):
    """The output of `medcontract protocol list`."""

    protocols: tuple[ProtocolInfo, ...]
    """All protocols, sorted by id."""

    _listed = "protocols"

    def _summary(self) -> str:
        return plural(len(self.protocols), "protocol")


class NormalizationStep(ResultItem, frozen=True, kw_only=True):
    """The result of one step."""

    step: Str
    text: str

    _about: str = ""
    """The purpose of the step."""


class NormalizedText(ResultItem, frozen=True, kw_only=True):
    """A text, its normalized and tight forms, and the steps that changed it."""

    text: str
    normalized: str
    tight: str
    steps: tuple[NormalizationStep, ...]


class Normalization(ResultList[NormalizedText], frozen=True, kw_only=True):
    """The output of `medcontract normalize`. Its JSON is a list with one object per text."""

    texts: tuple[NormalizedText, ...]

    _listed = "texts"

    def _data(self, show_values: bool) -> list[Row]:
        return [text.to_dict(show_values) for text in self.texts]

    _columns = ("text", "normalized", "tight")

    def _rows(self, show_values: bool) -> list[Row]:
        return [{"text": each.text, "normalized": each.normalized, "tight": each.tight} for each in self.texts]

    def _summary(self) -> str:
        return plural(len(self.texts), "text")


class CachedResults(ResultItem, frozen=True, kw_only=True):
    """Results of one kind, made by one version of medcontract."""

    kind: Str
    """The command that kept them."""
    medcontract_version: Str
    """The version that made them."""
    count: Position
    """The number of results."""


class CacheInfo(Result, frozen=True, kw_only=True):
    """The output of `medcontract cache info`; for `cache clear`, what was removed."""

    folder: str
    """The folder as given."""
    count: Count
    """The number of results."""
    size: Count
    """The size of its files in bytes."""
    results: tuple[CachedResults, ...]
    """The results, by kind and version."""

    _cleared: bool = False
    """Whether they were removed."""

    @classmethod
    def of(cls, folder: str, content: Any, cleared: bool = False) -> CacheInfo:
        """From what `medcontract.cache` found."""
        counts = content.counts
        results = tuple(CachedResults(kind=kind, medcontract_version=v, count=count) for kind, v, count in counts)
        total = sum(each.count for each in results)
        return cls(folder=folder, count=total, size=content.size, results=results, _cleared=cleared)

    _columns = CachedResults.__struct_fields__

    def _rows(self, show_values: bool) -> list[Row]:
        return [each.to_dict(show_values) for each in self.results]

    def _summary(self) -> str:
        return plural(self.count, "result")
