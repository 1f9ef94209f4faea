"""Contracts of users: the example in `examples/sepsis`, and what can go wrong with one."""

from __future__ import annotations

import datetime
import decimal
import enum
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import pytest
from jsonschema import Draft7Validator, Draft202012Validator
from msgspec.structs import replace
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
    create_model,
    field_validator,
    model_validator,
)  # fmt: skip
from tests.support import ROOT

import medcontract
from medcontract import modeling
from medcontract.cli.main import main
from medcontract.contracts import registry
from medcontract.contracts.rules import Covers, CrossFileRule, Equal, Reference, SameOrder, SameValue
from medcontract.modeling import (
    AcceptIntegral,
    AlwaysTrue,
    Contract,
    Count,
    Date,
    Document,
    Either,
    Flag,
    Guid,
    Limit,
    ListOf,
    Matching,
    Monotonic,
    NonNegative,
    OpenModel,
    Order,
    Position,
    ProblemCode,
    RelativePath,
    Str,
    StrictModel,
    Text,
    Unique,
    Unit,
    ZeroOrOne,
    register,
    register_codes,
)  # fmt: skip
from medcontract.plugins import loading, registration, schema_parity
from medcontract.plugins.schema_parity import schema_is_complete
from medcontract.results.validation import Problem
from medcontract.schemas import publishing

SEPSIS = ROOT / "examples" / "sepsis"


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    """What a test registers is gone after it."""
    known = dict(registry.compiled())
    yield
    registry.registered().clear()
    registry.registered().update(known)
    sys.modules.pop("sepsis_challenge", None)


@pytest.fixture
def sepsis(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SEPSIS)
    monkeypatch.syspath_prepend(SEPSIS)
    loading.load_module("sepsis_challenge")


def test_the_example_from_the_command_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The commands of the documentation work, and the bad file is refused with its three problems."""
    monkeypatch.chdir(SEPSIS)
    assert main(["validate", "--plugin", "./sepsis_challenge.py", "sepsis_data/"]) == 0
    assert main(["validate", "--plugin", "./sepsis_challenge.py", "--format", "json", "bad-alarms.csv"]) == 1
    output = capsys.readouterr().out
    report = json.loads(output[output.index("{") :])
    found = [(p["code"], p["line"], p["field"]) for p in report["files"][0]["problems"]]
    assert found == [("MC105", 2, "risk"), ("MC203", 3, "cleared_hour"), ("MC201", 4, "stay_id")]


@pytest.mark.usefixtures("sepsis")
def test_everything_that_built_in_contracts_have(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Recognition, load, schemas and tables work for a registered contract."""
    loaded = medcontract.load("sepsis_data/truth.json")
    assert (loaded.contract, loaded.value.stays[2].onset_hour) == ("sepsis/truth", 0)
    assert medcontract.load("sepsis_data/alarms.csv").value[0].risk == 0.83
    assert medcontract.json_schema("sepsis/alarms")["x-medcontract-rules"][0]["kind"] == "unique"
    described = medcontract.json_schema("sepsis/alarms", record=True)["properties"]["risk"]["description"]
    assert described == "The highest risk that the model predicted."
    assert main(["schema", "show", "sepsis/truth"]) == 0
    assert main(["schema", "export", str(tmp_path), "sepsis/truth"]) == 0
    assert (tmp_path / "sepsis" / "truth" / "v1.record.json").is_file()
    assert main(["schema", "list"]) == 0
    assert "sepsis/alarms" in capsys.readouterr().out
    import pandas as pd

    frame = pd.DataFrame([{"stay_id": "a", "risk": 2, "raised_hour": 1, "cleared_hour": 2}])
    assert [p.code for p in medcontract.validate_frame(frame, "sepsis/alarms").problems] == ["MC105"]


@pytest.mark.usefixtures("sepsis")
def test_same_verdict_as_its_schema() -> None:
    """The exported schema of a registered contract judges as the contract does."""
    validator = Draft202012Validator(medcontract.json_schema("sepsis/alarms", record=True))
    good = {"stay_id": "a", "risk": 0.5, "raised_hour": 1, "cleared_hour": 2}
    for change in (
        {},
        {"risk": 2},
        {"risk": "x"},
        {"stay_id": ""},
        {"extra": 1},
        {"raised_hour": None},
        {"risk": True},
    ):
        record = good | change
        report = medcontract.validate(json.dumps(record).encode(), "sepsis/alarms", name="x.jsonl")
        assert report.ok == validator.is_valid(record)


def test_an_installed_package(tmp_path: Path) -> None:
    """An entry point makes contracts known without a word on the command line."""
    info = tmp_path / "sepsis_challenge-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sepsis-challenge\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[medcontract.contracts]\nsepsis = sepsis_challenge\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(SEPSIS)])}
    command = [sys.executable, "-m", "medcontract", "validate", str(SEPSIS / "sepsis_data")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "sepsis/truth" in done.stdout


class _Record(StrictModel):
    """One."""

    name: Str
    """Its name."""
    share: Unit
    """Its share."""

    @field_validator("name")
    @classmethod
    def _no_shouting(cls, value: str) -> str:
        if value.isupper():
            raise ValueError("no shouting")
        return value


class _File(Document):
    """All."""

    records: ListOf[_Record]
    """One each."""


class _Other(StrictModel):
    """Not what the list holds."""

    name: Str
    share: Unit


class _Bounded(Document):
    """A list that is asked to be what it never is while it is read: there as a whole."""

    records: Annotated[ListOf[_Record], Field(min_length=1)]


class _Watched(Document):
    """A list that is looked at as a whole."""

    records: ListOf[_Record]

    @field_validator("records")
    @classmethod
    def _some(cls, value: tuple[_Record, ...]) -> tuple[_Record, ...]:
        return value


def _contract(**changes: Any) -> Contract[Any]:
    settings: dict[str, Any] = {"id": "my/file", "model": _File, "record": _Record, "list_key": "records",
                                "title": "Mine"}  # fmt: skip
    return Contract(**{**settings, **changes})


def test_a_validator_of_the_users_own() -> None:
    """What a user's validator refuses is a problem at its place, with the user's words."""
    register(_contract())
    report = medcontract.validate(b'{"name": "LOUD", "share": 0.5}\n', "my/file", name="x.jsonl")
    assert [(p.code, p.message, p.column) for p in report.problems] == [("MC110", "'name': no shouting", 10)]
    assert medcontract.validate(b'{"name": "soft", "share": 0.5}\n', "my/file", name="x.jsonl").ok


@pytest.mark.parametrize(("changes", "words"), [
    ({"id": "My File"}, "invalid contract id"),
    ({"id": "reports/truth"}, "this id is already taken"),
    ({"list_key": "rows"}, "has no field 'rows'"),
    ({"list_key": None}, "both list_key and record"),
    ({"model": _Record}, "must derive from medcontract.modeling.Document"),
    ({"record": _Other}, "the item type of 'records' differs from the record type _Other.*ListOf"),
    ({"model": _Bounded}, "'records' has constraints"),
    ({"model": _Watched}, "'records' of _Watched has a validator"),
    ({"examples": "x.json"}, "examples must be a tuple of paths"),
    ({"rules": 5}, "not a valid contract: TypeError"),
    ({"id": 5}, "invalid contract id"),
])  # fmt: skip
def test_unsound_contracts_are_refused(changes: dict[str, Any], words: str) -> None:
    """A contract that would break our promises is refused when it is registered, with the reason."""
    with pytest.raises(medcontract.CallError, match=words):
        register(_contract(**changes))


# --- the same verdict everywhere ----------------------------------------------------------------


class _Inner(StrictModel):
    """An object in a record."""

    unit: Unit
    note: Text | None = None


_TwoForms: TypeAlias = Either[_Inner, _Other]


class _Color(enum.Enum):
    RED = "red"


class _Plain(BaseModel):
    x: float


class _Lax(StrictModel):
    model_config = ConfigDict(strict=False)
    x: float


class _Reshaping(StrictModel):
    x: float

    @model_validator(mode="before")
    @classmethod
    def _reshape(cls, data: Any) -> Any:
        return data


class _WithInit(StrictModel):
    x: float

    def __init__(self, **data: Any) -> None:
        super().__init__(**data)


class _Tree(StrictModel):
    """A model that holds itself."""

    name: Str
    children: ListOf[_Tree] = ()


SOUND: dict[str, Any] = {
    "str": Str, "text": Text, "date": Date, "guid": Guid, "path": RelativePath, "unit": Unit, "float": float,
    "count": Count, "position": Position, "bool": bool, "yes": AlwaysTrue, "zero or one": ZeroOrOne, "none": None,
    "any": Any,
    "bounds": Annotated[float, Field(gt=0, lt=2400)], "whole": Annotated[int, Field(gt=1, le=9), AcceptIntegral],
    "matching": Annotated[str, Matching(r"[A-Z]{2}(?:-[0-9]+|\.x)?")], "short": Annotated[Str, Field(max_length=3)],
    "long": Annotated[str, Field(min_length=3)], "literal": Literal["a", "b"], "one": Literal["a"],
    "optional": Unit | None, "many": ListOf[Str], "some": Annotated[ListOf[Unit], Field(min_length=1, max_length=2)],
    "list": list[Count], "dict": dict[str, Unit], "full dict": Annotated[dict[str, Text], Field(min_length=1)],
    "object": _Inner, "objects": ListOf[_Inner], "tree": _Tree, "bare list": list, "bare dict": dict[str, Any],
}  # fmt: skip
VALUES: list[Any] = [
    None, True, False, 0, 1, 2, 9, 10, -1, 0.0, 1.0, 2.0, 2.5, -0.0, 1e2, 1e300, 2**53, 2**53 + 1, 2**63, 2**64,
    10**30, 5e-324, 2400,
    "", " ", "\u00a0", "\u2003", "a", "b", "c", "abc", "abcd", "1", "true", "AB", "AB\n", "AB-12", "AB.x", "AB-12\n",
    "\nAB",
    "2026-05-31", "2026-05-31\n", "2026-02-31", "2026-05-31T10:00:00Z", "31.05.2026", "a/b", "/a", "a/../b", "a\\b",
    "a\n",
    "0a0a0a0a-0a0a-0a0a-0a0a-0a0a0a0a0a0a", "0a0a0a0a-0a0a-0a0a-0a0a-0a0a0a0a0a0a\n", "\U0001f600\U0001f600\U0001f600",
    [], ["a"], [""], [0.5], [0.5, 1], [0.5, 1, 0], [2.0, 1], [None], [[]], [True], {}, {"a": 0.5}, {"a": "x"}, {"": 1},
    {"a": None},
    {"unit": 1}, {"unit": 0.5, "note": None}, {"unit": 0.5, "note": ""}, {"unit": 0.5, "more": 1}, {"note": "x"},
    [{"unit": 1}], [{"unit": 1}, {}], {"name": "a", "children": [{"name": "b"}]},
    {"name": "a", "children": [{"name": ""}]},
]  # fmt: skip


def _with_field(annotation: Any, default: Any = ...) -> Contract[Any]:
    """A contract whose records have one field, `x`, of this type."""
    record: Any = create_model("Rec", __base__=StrictModel, x=(annotation, default))
    model: Any = create_model("File", __base__=Document, records=(ListOf[record], ...))
    return _contract(model=model, record=record)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", SOUND)
@pytest.mark.parametrize("default", [..., None], ids=["required", "optional"])
def test_a_type_that_is_accepted_has_one_verdict(name: str, default: Any) -> None:
    """Pydantic, both drafts of the schema, the fast path and `validate` agree on every value of every type."""
    annotation = SOUND[name] if default is ... else SOUND[name] | None if SOUND[name] is not None else None
    contract = _with_field(annotation, default)
    register(contract)
    adapter = contract.record_adapter()
    validators = [
        Draft202012Validator(publishing.schema_of(contract, record=True)),
        Draft7Validator(publishing.schema_of(contract, record=True, draft="draft-07")),
    ]
    for record in ({}, *({"x": value} for value in VALUES)):
        try:
            adapter.validate_python(record)
            good = True
        except ValidationError:
            good = False
        assert [validator.is_valid(record) for validator in validators] == [good, good], record
        raw = json.dumps(record, ensure_ascii=False).encode()
        assert medcontract.validate(raw, "my/file", name="x.jsonl").ok == good, record
        if registry.find("my/file").decode_record(raw) is not None:
            assert good, record


def test_a_valid_record_is_not_taken_for_a_table_by_column() -> None:
    """A record of objects with numbers as keys looks like the output of a DataFrame, and is valid nevertheless."""
    register(_with_field(dict[str, float]))
    assert medcontract.validate(b'{"x": {"0": 1.5, "1": 2.5}}\n', "my/file", name="x.jsonl").ok


@pytest.mark.parametrize("name", [name for name in SOUND if name not in ("whole", "long", "full dict", "tree")])
def test_a_registered_contract_is_as_fast_as_a_built_in_one(name: str) -> None:
    """What the schema tells in full takes the fast path, where that knows its keywords."""
    register(_with_field(SOUND[name]))
    compiled = registry.find("my/file")
    assert compiled.schema_is_complete
    assert any(compiled.decode_record(json.dumps({"x": value}, ensure_ascii=False).encode()) for value in VALUES)


@pytest.mark.parametrize(("annotation", "words"), [
    (int, "'x' of Rec is a plain int.*Count, Position"),
    (int | None, "'x' of Rec is a plain int"),
    (ListOf[int], "'x' of Rec is a plain int"),
    (dict[str, int], "'x' of Rec is a plain int"),
    (datetime.date, "a Python date.*use Date"),
    (datetime.datetime, "a Python datetime.*use Date"),
    (datetime.time, "a Python time"),
    (datetime.timedelta, "a Python timedelta"),
    (decimal.Decimal, "a Decimal.*use float"),
    (bytes, "is bytes.*use Text"),
    (uuid.UUID, "a Python UUID.*use Guid"),
    (Path, "a Python class.*RelativePath"),
    (_Color, "an Enum.*Literal"),
    (set[str], "a set.*ListOf"),
    (tuple[str, ...], "a tuple.*ListOf"),
    (tuple[float, float], "a tuple.*ListOf"),
    (complex, "complex"),
    (Literal[1, 2], "Literal that is not a string"),
    (Literal[True], "Literal that is not a string"),
    (float | str, "is a union, "),
    (_TwoForms, "a union of models"),
    (dict[Str, float], "keys that are not plain str"),
    (Annotated[Count, Field(le=9)], "bound in the wrong place.*put AcceptIntegral last"),
    (Annotated[float, Field(multiple_of=0.1)], "'multiple_of'"),
    (Annotated[int, Field(multiple_of=2), AcceptIntegral], "'multiple_of'"),
    (Annotated[float, Field(strict=False)], "'strict'"),
    (Annotated[float, Field(le=2**60)], "below 2"),
    (Annotated[str, Field(pattern="^a$")], "pattern.*Matching"),
    (Annotated[str, Field(json_schema_extra={"maxLength": 3})], "not derived from its type"),
    (Annotated[str, WithJsonSchema({"type": "integer"})], "not derived from its type"),
    (Annotated[str, BeforeValidator(str)], "changed before it is checked"),
    (_Plain, "_Plain is not a medcontract model"),
    (_Lax, "_Lax changes 'strict'"),
    (_Reshaping, "changed before it is checked"),
    (_WithInit, "a custom __init__"),
    (list["Nowhere"], "cannot be built"),  # type: ignore[name-defined]  # noqa: F821
])  # fmt: skip
def test_a_type_that_could_have_two_verdicts_is_refused(annotation: Any, words: str) -> None:
    """The refusal names the field and what to use instead."""
    with pytest.raises(medcontract.CallError) as caught:
        register(_with_field(annotation))
    assert re.search(words, f"{caught.value} {caught.value.hint}")
    assert "my/file" not in registry.compiled()
    assert _unknown_names(caught.value.hint) == set()


def _unknown_names(hint: str | None) -> set[str]:
    """The capitalised names in a hint that can be imported from neither modeling nor typing or pydantic."""
    elsewhere = {"Annotated", "Field", "Literal", "None", "WithJsonSchema"}
    return set(re.findall(r"\b[A-Z]\w+", hint or "")) - set(modeling.__all__) - elsewhere


@pytest.mark.parametrize("kind", schema_parity._INSTEAD)
def test_hints_name_types_of_modeling(kind: str) -> None:
    assert _unknown_names(schema_parity._INSTEAD[kind][1]) == set()


@pytest.mark.parametrize("pattern", ["a.b", r"\d", r"\w", "^a", "a$", "a**", "a++", "(?i)a", "(?=a)", "(a", "a{3,1}",
                                     "[a&&b]", "[[:alpha:]]", r"(a)\1", "a|*", r"\p{L}"])  # fmt: skip
def test_a_pattern_that_languages_read_differently_is_refused(pattern: str) -> None:
    """Anchors, dots, classes by letter and lookaround have no place in `Matching`."""
    with pytest.raises(medcontract.CallError, match="pattern"):
        Matching(pattern)


def test_a_pattern_says_it_all() -> None:
    """`Matching` and another constraint on one string would be half in the schema: refused."""
    with pytest.raises(medcontract.CallError, match="can only annotate plain str"):
        register(_with_field(Annotated[str, Field(max_length=3), Matching("a+")]))
    register(_with_field(Annotated[str, Matching("a+")]))
    report = medcontract.validate(b'{"x": "b"}', "my/file", name="x.jsonl")
    assert [problem.message for problem in report.problems] == ["'x' must be a string that matches a+"]


def test_validators_and_defaults_keep_off_the_fast_path() -> None:
    """A model that checks or fills in more than its schema tells of is judged by Pydantic alone."""
    register(_contract())
    assert not registry.find("my/file").schema_is_complete
    registry.registered().pop("my/file")
    register(_with_field(Unit, 0.5))
    assert not registry.find("my/file").schema_is_complete


def test_a_key_that_is_no_name_in_python() -> None:
    """An alias gives a field the key `class`; rules, which know keys, cannot name the field."""

    class Finding(StrictModel):
        class_: Annotated[Str, Field(alias="class")]

    class Findings(Document):
        findings: ListOf[Finding]

    settings: dict[str, Any] = {"model": Findings, "record": Finding, "list_key": "findings", "flat": True}
    with pytest.raises(medcontract.CallError, match="refers to the unknown field 'class_'"):
        register(_contract(**settings, rules=(_rule(Unique, within="findings", fields=("class_",)),)))
    register(_contract(**settings))
    assert medcontract.validate(b"class\nnevus\n", "my/file", name="x.csv").ok
    assert not medcontract.validate(b"class_\nnevus\n", "my/file", name="x.csv").ok


def test_records_in_two_forms_and_open_ones() -> None:
    """A plugin may have answered and failed records, and records with other keys."""

    class Answered(StrictModel):
        x: Unit
        error: None = None

    class Failed(StrictModel):
        error: Str

    AnyAnswer: TypeAlias = Either[Answered, Failed]

    class Answers(Document):
        answers: ListOf[AnyAnswer]

    register(_contract(model=Answers, record=AnyAnswer, list_key="answers"))
    assert medcontract.validate(b'{"x": 1}\n{"error": "none"}', "my/file", name="x.jsonl").ok
    registry.registered().pop("my/file")

    class Loose(OpenModel):
        x: NonNegative

    class Looses(Document):
        rows: ListOf[Loose]

    register(_contract(model=Looses, record=Loose, list_key="rows", flat=True))
    assert medcontract.validate(b"x,y\n1,z\n", "my/file", name="x.csv").ok


def test_all_optional() -> None:
    """A document that requires nothing can be registered; its contract has to be named."""

    class Settings(Document):
        note: Text | None = None

    register(_contract(model=Settings, record=None, list_key=None))
    assert medcontract.validate(b"{}", "my/file", name="x.json").ok


def test_without_source() -> None:
    """Models made in a notebook, whose source is not at hand, can be registered; they have no descriptions."""
    code = (
        "from medcontract.modeling import *\n"
        "class R(StrictModel):\n    a: Str\nclass F(Document):\n    rs: ListOf[R]\n"
        "register(Contract(id='my/r', model=F, record=R, list_key='rs', title='t'))\n"
        "import medcontract\nprint(medcontract.validate(b'{\"a\": \"x\"}', 'my/r', name='x.jsonl').ok)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_built_in_contracts_would_pass_too() -> None:
    """What is asked of plugins is true of our own tracks."""
    for contract in registry.contracts():
        if not contract.id.startswith("medcontract/"):
            assert schema_is_complete(contract), contract.id
            between = tuple(rule for rule in contract.rules if isinstance(rule, CrossFileRule))
            registration._check_rules(replace(contract, rules=between, record_rules=()))


def test_a_rule_between_files_names_fields_of_the_record_or_of_the_header() -> None:
    """A field that neither has is refused; what stands in the other file is not looked for here."""

    def ask(rule: CrossFileRule) -> None:
        registration._check_rules(replace(registry.contract("triage/response"), rules=(rule,)))

    words: dict[str, Any] = {"other": "triage/ground-truth", "code": "MC303", "message": "wrong"}
    ask(Reference(field="segment_id", **words))
    ask(Equal(field="event", **words))
    ask(SameOrder(key="segment_id", group="elsewhere", by=("elsewhere",), **words))
    record = registry.contract("triage/inventory")
    for rule in (Reference(field="nope", **words), SameValue(key="nope", field="case_id", **words)):
        with pytest.raises(medcontract.CallError, match="refers to the unknown field 'nope'"):
            registration._check_rules(replace(record, rules=(rule,)))


def test_the_value_of_a_missing_id() -> None:
    """A rule of kind `covers` reports a value that the file lacks, also with a code of a plugin."""
    register_codes(ProblemCode(code="MY301", title="No answer", meaning="b", mistake="c", fix="d"))
    problem = Problem(code="MY301", severity="error", message="an item has no record", _value="S-1")
    assert problem.message_with_value == "an item has no record (got S-1)"
    register(_contract(rules=(_rule(Covers, other="my/truth", field="name", code="MY301"),)))
    assert problem.message_with_value == "an item has no record (S-1)"


# --- what can be wrong --------------------------------------------------------------------------


def _rule(kind: type[Any], **settings: Any) -> Any:
    return kind(**{"code": "MC201", "message": "wrong", **settings})


@pytest.mark.parametrize(("changes", "words"), [
    ({"record_rules": (_rule(Order, fields=("nope", "share")),)}, "refers to the unknown field 'nope'"),
    ({"rules": (_rule(Unique, within="records", fields=("nope",)),)}, "refers to the unknown field 'nope'"),
    ({"rules": (_rule(Unique, within="nope", fields=("name",)),)}, "the unknown list 'nope'"),
    ({"record_rules": (_rule(Unique, within="records", fields=("name",)),)}, "applies to the list"),
    ({"record_rules": (_rule(Limit, field="share", minimum=1, code="XX1"),)}, "unknown code"),
    ({"record_rules": (_rule(Limit, field="share", minimum=1, severity="fatal"),)}, "severity 'fatal'"),
])  # fmt: skip
def test_unsound_rules_are_refused(changes: dict[str, Any], words: str) -> None:
    """A rule that could not be run, or not as it is meant, is refused when it is registered."""
    with pytest.raises(medcontract.CallError, match=words):
        register(_contract(**changes))


def test_a_validator_that_crashes() -> None:
    """A user's validator that raises anything is a problem of the record, not a traceback."""

    class Crashing(StrictModel):
        name: Str

        @field_validator("name")
        @classmethod
        def _crash(cls, value: str) -> str:
            return value[1000]

    class Crashes(Document):
        records: ListOf[Crashing]

    register(_contract(model=Crashes, record=Crashing))
    report = medcontract.validate(b'{"name": "x"}', "my/file", name="x.jsonl")
    assert [problem.code for problem in report.problems] == ["MC110"]


def test_a_built_in_contract_is_preferred() -> None:
    """Where a registered contract fits as well as a built-in one, the built-in one is meant."""

    class Twin(StrictModel):
        image_id: Str
        label: Str

    class Twins(Document):
        labels: ListOf[Twin]

    register(_contract(model=Twins, record=Twin, list_key="labels"))
    assert medcontract.validate(b'{"image_id": "a", "label": "MEL"}', name="x.jsonl").contract == "lesions/truth"


def test_the_page_leads_there(tmp_path: Path) -> None:
    """The blocks of the documentation, put into one file, are a plugin that works."""
    page = (ROOT / "docs" / "your-own-contract.md").read_text(encoding="utf-8")
    steps = re.split(r"^## ", page, flags=re.MULTILINE)
    blocks = [block for step in steps[1:4] for block in re.findall(r"```python\n(.*?)```", step, re.DOTALL)]
    assert len(blocks) == 3
    (tmp_path / "from_the_page.py").write_text("".join(blocks), encoding="utf-8")
    loading.load_module(str(tmp_path / "from_the_page.py"))
    assert medcontract.validate(str(SEPSIS / "sepsis_data" / "alarms.csv")).contract == "sepsis/alarms"
    del sys.modules["medcontract_plugin_from_the_page"], sys.modules["from_the_page"]
    registry.registered().pop("sepsis/alarms")


def test_what_is_no_contract() -> None:
    """Anything else than a Contract is refused."""
    with pytest.raises(medcontract.CallError, match="not a Contract"):
        register(_File)  # type: ignore[arg-type]


@pytest.mark.parametrize(("source", "words"), [
    ("raise RuntimeError('boom')", "cannot be imported: RuntimeError: boom"),
    ("import no_such_module_anywhere", "cannot be imported: ModuleNotFoundError"),
    ("x = 1", "has no CONTRACTS"),
    ("x = 1", "a tuple TRACKS"),
    ("CONTRACTS = 5", "CONTRACTS is not a tuple of contracts"),
    ("import sys; sys.exit(3)", "cannot be imported: SystemExit: 3"),
    ("def f(:", "cannot be imported: SyntaxError"),
])  # fmt: skip
def test_bad_plugins(
    source: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A plugin that does not work is a usage error with a clear message, never a traceback."""
    (tmp_path / "bad_plugin.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    assert main(["validate", "--plugin", "bad_plugin", "x.json"]) == 2
    sys.modules.pop("bad_plugin", None)
    assert words in capsys.readouterr().err


def test_rules_about_a_list_in_a_table() -> None:
    """What only the end of a table shows is told at the line of its row."""

    class Step(StrictModel):
        case: Str
        first: bool
        at: Unit
        cost: Unit

    class Steps(Document):
        steps: ListOf[Step]

    register(
        Contract(
            id="x/steps", model=Steps, record=Step, list_key="steps", flat=True, title="steps",
            rules=(
                Flag(within="steps", field="first", group="case", code="MC205", message="no first step"),
                Monotonic(within="steps", field="cost", by="at", code="MC208", message="the cost fell"),
            ),
        )
    )  # fmt: skip
    rows = b"case,first,at,cost\nA,true,0,0.5\n\nA,true,0.1,0.4\nA,false,0.2,0.9\nB,true,0.3,1\n"
    report = medcontract.validate(rows, "x/steps", name="x.csv")
    found = [(p.code, p.line, p.record, p.field) for p in report.problems]
    assert found == [("MC205", 4, 1, "first"), ("MC208", 4, 1, "cost")]


# --- where a plugin comes from ------------------------------------------------------------------


@pytest.mark.parametrize("given", ["./sepsis_challenge.py", "sepsis_challenge.py", "../sepsis/sepsis_challenge.py"])
def test_a_plugin_by_its_file(given: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """`--plugin` takes a file, from any folder, and twice, too."""
    monkeypatch.chdir(SEPSIS)
    assert main(["validate", "--plugin", given, "sepsis_data"]) == 0
    assert main(["validate", "--plugin", given, "--plugin", str(SEPSIS / "sepsis_challenge.py"), "sepsis_data"]) == 0
    assert "sepsis/alarms" in capsys.readouterr().out


def test_a_plugin_file_imports_its_neighbors(tmp_path: Path) -> None:
    """Modules beside the file are found, as when it is run."""
    shutil.copy(SEPSIS / "sepsis_challenge.py", tmp_path / "neighbor_of_plugin.py")
    (tmp_path / "my-plugin.py").write_text("from neighbor_of_plugin import CONTRACTS\n")
    loading.load_module(str(tmp_path / "my-plugin.py"))
    assert "sepsis/truth" in registry.compiled()
    del sys.modules["neighbor_of_plugin"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("./nowhere.py", "is not a Python file"),
        ("../sepsis/sepsis_challenge", r"did you mean ../sepsis/sepsis_challenge.py\?"),
        ("../sepsis", "pass a .py file"),
        ("sepsis_data/truth.json", "is not a Python file"),
    ],
)
def test_what_is_no_plugin_file(
    given: str, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A path that leads to no Python file is a usage error that says so."""
    monkeypatch.chdir(SEPSIS)
    assert main(["validate", "--plugin", given, "sepsis_data"]) == 2
    assert re.search(words, capsys.readouterr().err)


@pytest.mark.parametrize("name", ["json", "statistics", "pandera"])
def test_a_plugin_file_with_a_taken_name(name: str, tmp_path: Path) -> None:
    """A file with the name of another module, imported or not, is loaded without replacing that module."""
    plugin = tmp_path / f"{name}.py"
    plugin.write_text("CONTRACTS = ()")
    code = (
        f"import medcontract, sys; medcontract.load_plugin({str(plugin)!r}); import {name}; "
        f"print(sys.modules['medcontract_plugin_{name}'].__file__, {name}.__file__, sep='\\n')"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded, imported = ran.stdout.splitlines()
    assert (loaded, Path(imported).parent == tmp_path) == (str(plugin), False)


def test_a_plugin_file_is_imported_once(tmp_path: Path) -> None:
    """An import of the file by its usual name returns the plugin; another plugin of the same name is refused."""
    (tmp_path / "other").mkdir()
    for folder in (tmp_path, tmp_path / "other"):
        (folder / "plugin_to_import.py").write_text("CONTRACTS = ()")
    loaded = loading.load_module(str(tmp_path / "plugin_to_import.py"))
    assert importlib.import_module("plugin_to_import") is loaded
    with pytest.raises(medcontract.CallError, match="the same name as another plugin"):
        loading.load_module(str(tmp_path / "other" / "plugin_to_import.py"))


def test_init_of_a_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """`init` writes the examples that a plugin brings, and they are valid; the next command is told whole."""
    monkeypatch.chdir(tmp_path)
    plugin = str(SEPSIS / "sepsis_challenge.py")
    assert main(["init", "--plugin", plugin, "sepsis", "demo"]) == 0
    assert {path.name for path in Path("demo").iterdir()} == {"truth.json", "alarms.csv"}
    assert capsys.readouterr().err == f"Next: medcontract validate --plugin {plugin} demo\n"
    assert main(["validate", "--plugin", plugin, "demo"]) == 0
    assert main(["init", "--plugin", plugin, "sepsis", "demo"]) == 0  # they are what would be written
    Path("demo/truth.json").write_text("{}")
    assert main(["init", "--plugin", plugin, "sepsis", "demo"]) == 2
    assert main(["init", "--plugin", plugin, "sepsis", "demo", "--force"]) == 0
    assert main(["validate", "--plugin", plugin, "demo"]) == 0


def test_init_without_examples(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A track without examples, one whose examples are gone, and one that is not there are told apart."""
    register(_contract())
    assert main(["init", "my", str(tmp_path)]) == 2
    assert "the track 'my' has no example files" in capsys.readouterr().err
    registry.registered().pop("my/file")
    register(_contract(examples=(tmp_path / "gone.json",)))
    assert main(["init", "my", str(tmp_path / "out")]) == 2
    assert "gone.json: no such file" in capsys.readouterr().err
    assert main(["init", "lesion", str(tmp_path)]) == 2
    assert "did you mean 'lesions'?" in capsys.readouterr().err
