"""The contracts of a challenge: types, bounds, rules, keys and containers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from tests.challenge_files import SMALL, STROKE, changed, write

from medcontract import Challenge
from medcontract.challenges.patterns import is_fast
from medcontract.contracts import registry

TYPES: dict[str, tuple[str, list[Any], list[Any]]] = {
    "text": ("{ type = 'text' }", ["", "a", " "], [1, None, ["a"]]),
    "str": ("{ type = 'str' }", ["a"], ["", " ", 1, None]),
    "short": ("{ type = 'text', min_length = 1, max_length = 3 }", ["a", "éàü", " "], ["", "abcd"]),
    "short_str": ("{ type = 'str', min_length = 2 }", ["ab"], ["a", "  ", ""]),
    "code": ("{ type = 'text', pattern = '[A-Z]{2,3}-[0-9]+' }", ["AB-1", "ABC-123"],
        ["A-1", "AB-1 ", "AB-1\n", "ab-1"]),
    "blank": ("{ type = 'str', pattern = '[a ]*', max_length = 3 }", ["a", " a "], ["", " ", "aaaa", "b"]),
    "slow": ("{ type = 'text', pattern = '(a+)+' }", ["a", "aaa"], ["", "b"]),
    "integer": ("{ type = 'integer', min = -1, max = 3 }", [-1, 0, 3, 2.0], [-2, 4, 1.5, True, "1", None]),
    "number": ("{ type = 'number', min = 0.1 }", [0.1, 1, 1e300], [0.09, -1, True, "1", None]),
    "boolean": ("{ type = 'boolean' }", [True, False], [0, 1, "true", None]),
    "date": ("{ type = 'date' }", ["2024-02-29", "2024-02-29T10:00:00Z"], ["2024-2-29", "x", 20240229]),
    "labels": ("{ type = 'set', of = { one_of = ['a', 'b'] } }", [[], ["a"], ["a", "b"]], [["c"], "a", None, [1]]),
    "numbers": ("{ type = 'list', of = { type = 'number', min = 0 }, min_length = 1, max_length = 2 }", [[0], [1, 1]],
        [[], [1, 1, 1], [-1]]),
    "one_of": ("{ one_of = ['yes', 'no'] }", ["yes", "no"], ["Yes", "", None, True]),
    "class": ("{ one_of = ['a', 'b c', 'é'] }", ["a", "b c", "é"], ["b"]),
    "optional": ("{ type = 'number', optional = true }", [1, None], ["x"]),
}  # fmt: skip


def with_field(name: str, field: str) -> Challenge:
    """A challenge whose prediction and truth have this field, too."""
    text = SMALL.replace("[prediction]\n", f"[prediction]\n{name} = {field}\n")
    return Challenge.load(text.replace("[truth]\n", f"[truth]\n{name} = {field}\n").encode())


def as_line(record: dict[str, Any]) -> bytes:
    return json.dumps(record).encode()


@pytest.mark.parametrize("name", TYPES)
def test_type(name: str) -> None:
    """Each type accepts the same values in the fast path, in the models and in the published schema."""
    field, good, bad = TYPES[name]
    challenge = with_field(name, field)
    schema = Draft202012Validator(challenge.json_schema("risk/truth", record=True))
    adapter = challenge.get_contract("risk/truth").record_adapter()
    for values, valid in ((good, True), (bad, False)):
        for value in values:
            record = {"case_id": "1", "label": "yes", name: value}
            report = challenge.validate(as_line(record), "risk/truth", name="x.jsonl")
            assert bool(report) is valid, value
            assert schema.is_valid(record) is valid, value
            assert len(report.problems) == (not valid), value
            if valid:
                adapter.validate_python(record)


def test_absent_and_null() -> None:
    """An optional field may be absent or null; another one may not."""
    challenge = with_field("x", "{ type = 'text', optional = true }")
    for record in ({}, {"x": None}, {"x": "a"}):
        assert challenge.validate(as_line({"case_id": "1", "label": "no", **record}), "risk/truth", name="x.jsonl")
    report = challenge.validate(as_line({"case_id": "1"}), "risk/truth", name="x.jsonl")
    assert [(problem.code, problem.message) for problem in report.problems] == [("MC101", "'label' is missing")]


def test_dates_and_sets_have_rules() -> None:
    """Dates exist in the calendar, and items of a set are not repeated; null is neither."""
    text = changed(
        SMALL, "[truth]\n", "[truth]\nday = { type = 'date' }\ntags = { type = 'set', of = { type = 'integer' } }\n"
    )
    challenge = Challenge.load(text.encode())
    record = {"case_id": "1", "label": "no", "day": "2023-02-29", "tags": [1, 2, 1, 1.0]}
    report = challenge.validate(as_line(record), "risk/truth", name="x.jsonl")
    found = [(problem.code, problem.pointer) for problem in report.problems]
    assert found == [("MC204", "/day"), ("MC228", "/tags/2"), ("MC228", "/tags/3")]


@pytest.mark.parametrize("kind", ["set", "list"])
def test_dates_of_a_list_are_checked(kind: str) -> None:
    challenge = with_field("days", f"{{ type = '{kind}', of = {{ type = 'date' }}, optional = true }}")
    record = {"case_id": "1", "label": "no", "days": ["2024-02-29", "2023-02-29", "2024-01-01T10:00:00Z"]}
    (problem,) = challenge.validate(as_line(record), "risk/truth", name="x.jsonl").problems
    assert (problem.code, problem.pointer) == ("MC204", "/days/1")
    assert problem.message == "an item of 'days' is not a date of the calendar"
    for days in ([], None, ["2024-02-29"]):
        assert challenge.validate(as_line({**record, "days": days}), "risk/truth", name="x.jsonl")


def test_fast_path() -> None:
    """Valid records are decoded without the models, also with a pattern that cannot be slow."""
    challenge = with_field("code", "{ type = 'str', pattern = '[A-Z]{2}[0-9]+', min_length = 3 }")
    compiled = challenge._scope.contracts["risk/predictions"]
    line = as_line({"case_id": "1", "label": "no", "code": "AB1"})
    assert compiled.decode_record(line).code == "AB1"
    assert compiled.decode_record(line.replace(b"AB1", b"A1")) is None


@pytest.mark.parametrize(
    ("pattern", "fast"),
    [
        ("[0-9]+", True), ("[A-Z]{2,3}-[0-9]{1,4}", True), ("(?:a|b)c*", True), ("(ab)?c+", True), ("(abc)*", True),
        ("(a+)+", False), ("a*a*", False), ("(a|ab)*", False), ("(a?){30}a{30}", False), ("(?:a{1,9}){1,9}", False),
    ],
)  # fmt: skip
def test_fast_patterns(pattern: str, fast: bool) -> None:
    """Only patterns without nested or several open repetitions are given to an engine that backtracks."""
    assert is_fast(pattern) is fast


@pytest.mark.parametrize("pattern", ["(a+)+b", "(a|a)*b", "a*a*a*a*a*a*b", "(a?){30}a{30}b"])
def test_catastrophic_pattern(pattern: str) -> None:
    """A pattern that takes forever in a backtracking engine takes no time here."""
    challenge = with_field("x", f"{{ type = 'text', pattern = '{pattern}' }}")
    text = b"".join(as_line({"case_id": str(n), "label": "no", "x": "a" * (60 + n)}) + b"\n" for n in range(50))
    report = challenge.validate(text, "risk/predictions", name="x.jsonl", max_problems=5)
    assert report.errors == 50


RULES: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "order": ('kind = "order"\nfields = ["low", "high"]', {"low": 2, "high": 1}, "/high", "'high' is less than 'low'"),
    "limit": ('kind = "limit"\nfield = "low"\nminimum = 5', {"low": 5}, "/low", "'low' exceeds the limit"),
    "requires": ('kind = "requires"\nfield = "note"\nrequires = "low"', {"note": "x"}, "/note",
        "'note' requires 'low'"),
    "sum": ('kind = "sum"\nfield = "shares"\nminimum = 0.9\nmaximum = 1.1', {"shares": [0.5]}, "/shares",
        "the sum of 'shares'"),
    "distinct": ('kind = "distinct"\nfield = "shares"', {"shares": [0.5, 0.5]}, "/shares/1", "an item of 'shares'"),
}  # fmt: skip
FIELDS = """\
low = { type = "number", optional = true }
high = { type = "integer", optional = true }
note = { type = "text", optional = true }
shares = { type = "list", of = { type = "number", min = 0 }, optional = true }
"""


def with_rule(rule: str) -> Challenge:
    text = SMALL.replace("[prediction]\n", f"[prediction]\n{FIELDS}").replace("[truth]\n", f"[truth]\n{FIELDS}")
    return Challenge.load(changed(text, "[[metric]]", f"[[rule]]\n{rule}\n[[metric]]").encode())


@pytest.mark.parametrize("kind", RULES)
def test_rule_about_a_record(kind: str) -> None:
    """A rule applies to predictions and truth; null and failed predictions satisfy it; it is published."""
    rule, wrong, pointer, message = RULES[kind]
    challenge = with_rule(rule)
    for contract in ("risk/predictions", "risk/truth"):
        line = as_line({"case_id": "1", "label": "no", **wrong})
        (problem,) = challenge.validate(line, contract, name="x.jsonl").problems
        assert (problem.code, problem.pointer) == ("MC227", pointer)
        assert problem.message.startswith(message)
        assert challenge.validate(as_line({"case_id": "1", "label": "no"}), contract, name="x.jsonl")
        published = challenge.json_schema(contract, record=True)["x-medcontract-rules"]
        assert kind in [each["kind"] for each in published]
    assert challenge.validate(as_line({"case_id": "1", "error": "x"}), "risk/predictions", name="x.jsonl")


@pytest.mark.parametrize(
    ("rule", "records", "found"),
    [
        ('kind = "constant"\nfield = "note"', [{"note": None}, {"note": "a"}, {"note": "A"}, {"note": "b"}], [3]),
        ('kind = "monotonic"\nfield = "low"\nby = "high"', [{}, {"low": 2, "high": 1}, {"low": 1, "high": 2}], [2]),
        ('kind = "unique"\nfields = ["label"]\nwithin = "truth"', [{"label": "yes"}, {"label": "yes"}], [1]),
    ],
)
def test_rule_about_a_list(rule: str, records: list[dict[str, Any]], found: list[int]) -> None:
    """A rule about all records of the truth."""
    records = [{"case_id": str(n), "label": "no", **record} for n, record in enumerate(records)]
    content = b"\n".join(map(as_line, records))
    report = with_rule(f'{rule}\nseverity = "warning"\nmessage = "mine"').validate(
        content, "risk/truth", name="x.jsonl"
    )
    assert report.ok
    assert [(problem.code, problem.record, problem.message) for problem in report.problems] == [
        ("MC227", record, "mine") for record in found
    ]


@pytest.mark.parametrize("keys", [("site", "case_id"), ("site", "day", "case_id")])
def test_compound_key(keys: tuple[str, ...], tmp_path: Path) -> None:
    """Several fields identify a case: in rules, across files, in scores."""
    challenge = Challenge.load(changed(SMALL, 'key = "case_id"', f"key = {json.dumps(keys)}").encode())
    truth = [{**dict.fromkeys(keys, "x"), "site": site, "label": "yes"} for site in ("a", "b")]
    predictions = [{**record, "label": label} for record, label in zip(truth, ("yes", "no"), strict=True)]
    other = [*predictions[:1], {**predictions[1], "site": "c"}]
    files = {"truth": {"truth": truth}, "good": {"predictions": predictions}, "other": {"predictions": other}}
    for name, content in files.items():
        write(tmp_path / f"{name}.json", content if name == "truth" else {"team_name": "A", **content})
    result: Any = challenge.score(tmp_path / "truth.json", tmp_path / "good.json").result
    assert result["metrics"] == {"accuracy": 0.5}
    score = challenge.score(tmp_path / "truth.json", tmp_path / "other.json")
    assert sorted(problem.code for problem in score.problems) == ["MC302", "MC303"]
    assert not challenge.validate(as_line({"truth": [truth[0], truth[0]]}), name="x.json")
    board = challenge.leaderboard(tmp_path / "truth.json", tmp_path / "good.json")
    assert board.submissions[0].rank == 1


def test_containers() -> None:
    """Only flat records are stored in tables."""
    containers = {each.id: each.containers for each in Challenge.load(STROKE.encode()).list_contracts().contracts}
    assert containers["stroke/truth"] == ("json", "jsonl")
    flat = {each.id: each.containers for each in Challenge.load(SMALL.encode()).list_contracts().contracts}
    assert flat["risk/truth"] == flat["risk/predictions"] == flat["risk/cases"] == ("json", "jsonl", "csv", "parquet")


def test_cases_with_other_columns() -> None:
    """A list of cases may have other columns."""
    challenge = Challenge.load(SMALL.encode())
    report = challenge.validate(b"case_id,age,sex\n1,60,f\n2,70,m\n", name="cases.csv")
    assert (report.ok, report.contract, report.records) == (True, "risk/cases", 2)
    report = challenge.validate(b"case_id,age\n1,60\n1,70\n", name="cases.csv")
    assert [problem.code for problem in report.problems] == ["MC510", "MC201"]


def test_reserved_words_are_fields(tmp_path: Path) -> None:
    """A field may have the name of a Python keyword."""
    text = SMALL.replace("label", "class").replace('field = "class"', 'field = "class"')
    challenge = Challenge.load(text.encode())
    write(tmp_path / "truth.csv", [{"case_id": "1", "class": "yes"}])
    write(tmp_path / "p.jsonl", [{"case_id": "1", "class": "yes"}])
    result: Any = challenge.score(f"risk/truth={tmp_path / 'truth.csv'}", tmp_path / "p.jsonl").result
    assert result["headline"]["value"] == 1.0
    assert result["confusion_matrix"]["class"]["yes"]["yes"] == 1


@pytest.mark.parametrize(
    "name", ["copy", "dict", "json", "schema", "validate", "construct", "true", "team_name", "truth"]
)
def test_any_name(name: str, tmp_path: Path) -> None:
    """Fields, keys, metrics and sums may be called like a method of the models, or like something else in a file."""
    headline = changed(SMALL, 'headline = "accuracy"', f'headline = "{name}"')
    for text, key, field in (
        (SMALL.replace("label", name), "case_id", name),
        (SMALL.replace("case_id", name), name, "label"),
        (changed(headline, 'name = "accuracy"', f'name = "{name}"'), "case_id", "label"),
        (f"{headline}[score.sums]\n{name} = {{ accuracy = 1 }}\n", "case_id", "label"),
    ):
        challenge = Challenge.load(text.encode())
        write(tmp_path / "truth.csv", [{key: "1", field: "yes"}, {key: "2", field: "no"}])
        write(tmp_path / "p.csv", [{key: "1", field: "yes"}, {key: "2", "error": "x"}])
        files = (f"risk/truth={tmp_path / 'truth.csv'}", f"risk/predictions={tmp_path / 'p.csv'}")
        result: Any = challenge.score(*files, parameters={"min_processed": "0"}).result
        assert result["headline"]["value"] == 0.5
        challenge.frame_schema("risk/predictions")


MESSAGES = {
    "apostrophe": (
        """{ one_of = ["Crohn's disease", "none", "a, b"] }""", "Crohns disease",
        """'x' must be one of Crohn's disease, none, "a, b\"""", "did you mean 'Crohn's disease'?",
    ),
    "quotes": (r"""{ one_of = ["it's \"so\"", "b"] }""", "q", """'x' must be one of it's "so", b""", None),
    "backslash": (r"{ one_of = ['a\b', 'c'] }", "q", r"'x' must be one of a\b, c", None),
    "items": ("""{ type = "set", of = { one_of = ["Crohn's"] } }""", ["b"], "an item of 'x' must be Crohn's", None),
    "type": (
        """{ one_of = ["Crohn's", "none"] }""", 1, "'x' must be a string, not a number",
        "write the name, not its number: one of Crohn's, none",
    ),
    "pattern": ("{ type = 'str', pattern = 'A|[0-9]' }", "a", "'x' must be a string that matches A|[0-9]", None),
    "maximum": ("{ type = 'number', max = 1234567890 }", 1e10, "'x' must be at most 1234567890", None),
    "minimum": ("{ type = 'number', min = 0.1234567891 }", 0, "'x' must be at least 0.1234567891", None),
    "large": ("{ type = 'integer', max = 9007199254740991 }", 1e300, "'x' must be at most 9007199254740991", None),
    "short": ("{ type = 'text', min_length = 2 }", "a", "'x' must have at least 2 characters, not 1", None),
    "long": ("{ type = 'text', max_length = 1 }", "ab", "'x' must have at most 1 character, not 2", None),
}  # fmt: skip


@pytest.mark.parametrize("name", MESSAGES)
def test_messages(name: str) -> None:
    """Messages show values, bounds and patterns as they are in the challenge file."""
    field, value, message, hint = MESSAGES[name]
    line = as_line({"case_id": "1", "label": "yes", "x": value})
    (problem,) = with_field("x", field).validate(line, "risk/predictions", name="x.jsonl").problems
    assert message in problem.message
    assert problem.hint == hint


def test_messages_of_huge_enumerations() -> None:
    """Of thousands of values, the message lists the first ones."""
    values = [f"v{number}" for number in range(10_000)]
    challenge = with_field("x", f"{{ one_of = {json.dumps(values)} }}")
    line = as_line({"case_id": "1", "label": "yes", "x": "v9999x"})
    (problem,) = challenge.validate(line, "risk/predictions", name="x.jsonl").problems
    assert problem.message == f"'x' must be one of {', '.join(values[:50])}, … (10,000 values)"
    assert problem.hint == "did you mean 'v9999'?"


def test_examples_are_valid(tmp_path: Path) -> None:
    """The example files satisfy types, bounds, patterns and rules, whatever the challenge."""
    fields = "".join(f"{name} = {field}\n" for name, (field, _, _) in TYPES.items())
    rules = "".join(f"[[rule]]\n{rule}\n" for rule, _, _, _ in RULES.values())
    text = SMALL.replace("[prediction]\n", f"[prediction]\n{FIELDS}{fields}")
    text = text.replace("[truth]\n", f"[truth]\n{FIELDS}{fields}")
    challenge = Challenge.load(changed(text, "[[metric]]", f"{rules}[[metric]]").encode())
    challenge.init(tmp_path)
    report = challenge.validate_files(tmp_path)
    assert [problem.message for problem in report.problems] == []
    assert {file.contract for file in report.files} == {"risk/truth", "risk/predictions", "risk/cases"}
    assert challenge.score(tmp_path)


@pytest.mark.parametrize(("name", "content"), [
    ("x.jsonl", b'{"case_id": "1", "label": "yes", "age": 3}'), ("x.csv", b"case_id,label,age\n1,yes,3\n"),
])  # fmt: skip
def test_error_is_not_required(name: str, content: bytes) -> None:
    """A file without `error` is never a list of failed predictions: otherwise, predictions would match equally well."""
    fields = "a = { type = 'str' }\nb = { type = 'str' }\n"
    text = changed(SMALL, "[prediction]\n", f"[prediction]\n{fields}")
    text = changed(text, "[truth]\n", f"[truth]\n{fields}age = {{ type = 'integer' }}\n")
    (problem,) = Challenge.load(text.encode()).validate(content, name=name).problems
    assert problem.message.endswith(" match risk/cases and risk/truth equally well")


def test_schema_key() -> None:
    """`$schema` names a contract of the challenge, with its version."""
    challenge = Challenge.load(changed(SMALL, 'id = "risk"', 'id = "risk"\nversion = 3').encode())
    schema = challenge.json_schema("risk/truth")["$id"]
    assert schema == "urn:medcontract:risk:truth:v3"
    assert challenge.validate(as_line({"$schema": schema, "truth": []}), name="x.json").contract == "risk/truth"
    assert challenge.validate(as_line({"$schema": schema, "x": []}), name="x.json").contract == "risk/truth"
    other = as_line({"$schema": schema.replace("v3", "v2"), "x": []})
    assert challenge.validate(other, name="x.json").contract is None


def test_nothing_is_left_behind() -> None:
    """Loading a challenge registers nothing."""
    before = dict(registry.registered())
    Challenge.load(STROKE.encode())
    assert registry.scope() is None
    assert registry.registered() == before
