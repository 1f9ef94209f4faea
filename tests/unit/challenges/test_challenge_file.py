"""Every mistake in a challenge file is a problem with its dotted path, and the line of the key."""

from __future__ import annotations

import json
import re

import pytest
from tests.challenge_files import REGRESSION, SMALL, STROKE, changed

import medcontract
from medcontract import Challenge

F1 = 'kind = "f1"\nfield = "label"\naverage = "macro"\n'


def metric(lines: str) -> tuple[str, str]:
    """Replaces the first metric."""
    return f'name = "macro_f1"\n{F1}', f'name = "macro_f1"\n{lines}\n'


def f1(line: str) -> tuple[str, str]:
    """Replaces the first metric by an F1 score."""
    return metric(f'kind = "f1"\nfield = "label"\n{line}')


def field(line: str) -> tuple[str, str]:
    """Adds a field to the prediction."""
    return "[prediction]\n", f"[prediction]\n{line}\n"


def rule(*lines: str) -> tuple[str, str]:
    """Adds a rule."""
    return "[[metric]]\n", "\n".join(("[[rule]]", *lines, "[[metric]]\n"))


POSITIVE = 'positive = { field = "label", is = "none" }'


def cost(costs: str) -> tuple[str, str]:
    """Replaces the first metric by a cost."""
    return metric(f'kind = "cost"\nfield = "label"\ncosts = {costs}')


def survival(line: str) -> tuple[str, str]:
    """Replaces the first metric by a concordance."""
    return metric(f'kind = "concordance"\nfield = "probability"\nevent = {{ field = "label", is = "none" }}\n{line}')


def template(field: str, name: str) -> tuple[str, str]:
    """Replaces the first metric by one for each of some names."""
    return metric(f'kind = "accuracy"\nfield = "{field}"\nfor = ["{name}"]')


def grade(line: str) -> tuple[str, str]:
    """Adds an integer to the truth, which is 1 for positive cases."""
    old = '\n[[metric]]\nname = "macro_f1"'
    return old, (
        'grade = { type = "integer", min = 0, max = 1 }\n[[metric]]\nname = "auroc"\nkind = "auroc"\n'
        f'field = "probability"\npositive = {{ field = "grade", {line} }}\n[[metric]]\nname = "macro_f1"'
    )


MISTAKES: list[tuple[str, str, str, str]] = [
    # old, new, code, start of the message
    ('id = "stroke"', 'id = "lesions"', "MC225", "id: 'lesions' is a built-in track"),
    ('id = "stroke"', 'id = "Stroke"', "MC107", "id: invalid id"),
    ('id = "stroke"', "id = 3", "MC103", "id: must be a string, not a number"),
    ('id = "stroke"\n', "", "MC101", "id: missing"),
    ('title = "', 'titel = "', "MC102", "titel: unknown key"),
    ("version = 1", "version = 0", "MC105", "version: must be at least 1"),
    ('title = "', "title = 2026-01-01 # ", "MC103", "title: must be a string, not a date or time"),
    ("version = 1", "version = true", "MC103", "version: must be an integer, not true"),
    ('key = "case_id"', 'key = "_case"', "MC107", "key: invalid name"),
    ('key = "case_id"', 'key = "2nd"', "MC107", "key: invalid name"),
    ('key = "case_id"', "key = []", "MC108", "key: must have at least 1 item, not 0"),
    ('key = "case_id"', 'key = ["a", "a"]', "MC225", "key[1]: repeats an earlier value"),
    ('key = "case_id"', 'key = "label"', "MC225", "prediction.label: this is a key field"),
    ('key = "case_id"\n', "", "MC101", "key: missing"),
    (*field("error = { type = 'text' }"), "MC225", "prediction.error: 'error' is a reserved"),
    (*field("model_dump = { type = 'text' }"), "MC225", "prediction.model_dump: 'model_dump'"),
    (*field('"a b" = { type = "text" }'), "MC107", 'prediction."a b": invalid name'),
    (*field("x = 'text'"), "MC103", "prediction.x: must be a table, not a string"),
    (*field("x = { }"), "MC224", "prediction.x: expected type or one_of"),
    (*field("x = { type = 'text', one_of = ['a'] }"), "MC224", "prediction.x: type and one_of"),
    (*field("x = { type = 'float' }"), "MC104", "prediction.x.type: must be one of text, str"),
    (*field("x = { type = 'text', mx = 1 }"), "MC102", "prediction.x.mx: unknown key"),
    (*field("x = { type = 'text', max = 1 }"), "MC109", "prediction.x.max: not allowed"),
    (*field("x = { type = 'number', min = 2, max = 1 }"), "MC105", "prediction.x.min: is larger"),
    (*field("x = { type = 'number', min = nan }"), "MC105", "prediction.x.min: must be a finite"),
    (*field("x = { type = 'number', max = -inf }"), "MC105", "prediction.x.max: must be a finite"),
    (*field("x = { type = 'number', max = 1e999999999 }"), "MC105", "prediction.x.max: must be"),
    (*field("x = { type = 'number', max = 1e-999999999 }"), "MC105", "prediction.x.max: is too close to 0"),
    (*field("x = { type = 'number', max = 0.123456789012345678 }"), "MC105", "prediction.x.max: has more than 17"),
    (*field("x = { type = 'number', max = 1e17 }"), "MC105", "prediction.x.max: must be below"),
    (*field("x = { type = 'integer', max = 1.5 }"), "MC105", "prediction.x.max: the bound of an"),
    (*field("x = { type = 'text', min_length = -1 }"), "MC105", "prediction.x.min_length: must"),
    (*field("x = { type = 'set' }"), "MC101", "prediction.x.of: missing"),
    (*field("x = { type = 'set', of = { type = 'set' } }"), "MC104", "prediction.x.of.type: must be one of"),
    (*field(f"x = {{ one_of = {json.dumps([f'v{n}' for n in range(10_001)])} }}"), "MC108",
     "prediction.x.one_of: must have at most 10,000 items"),
    (*field("x = { one_of = [] }"), "MC108", "prediction.x.one_of: must have at least 1"),
    (*field("x = { one_of = ['a', ' '] }"), "MC106", "prediction.x.one_of[1]: must not be blank"),
    (*field("x = { one_of = ['a', 'a'] }"), "MC225", "prediction.x.one_of[1]: repeats"),
    (*field("x = { one_of = ['a', 1] }"), "MC103", "prediction.x.one_of[1]: must be a string"),
    (*field("x = { type = 'text', pattern = '^^a$' }"), "MC107", "prediction.x.pattern: the pat"),
    (*field("x = { type = 'text', pattern = 'a$b' }"), "MC107", "prediction.x.pattern: the pat"),
    (*field("x = { type = 'text', pattern = '\\d' }"), "MC107", "prediction.x.pattern: the pat"),
    (*field("x = { type = 'text', pattern = '\\p{L}' }"), "MC107", "prediction.x.pattern: the pat"),
    (*field("x = { type = 'text', pattern = '(a' }"), "MC107", "prediction.x.pattern: the pat"),
    (*field("x = { type = 'text', pattern = '(((a{999}){999}){999})' }"), "MC107",
     "prediction.x.pattern: the compiled pattern is too large"),
    (*field("x = { type = 'text', optional = 1 }"), "MC103", "prediction.x.optional: must be true or false"),
    ("[gate]\nmin_processed", "[gate]\nmin_proccesed", "MC102", "gate.min_proccesed: unknown key"),
    ("min_processed = 0.95", "min_processed = 1.5", "MC105", "gate.min_processed: must be at most 1"),
    ("min_processed = 0.95", "min_processed = 0.12345678901234567890", "MC105", "gate.min_processed: has more than 17"),
    ("[gate]\nmin_processed = 0.95", "[gates]\nx = 1", "MC102", "gates: unknown key"),
    ('headline = "total"', 'headline = "totl"', "MC221", "score.headline: no metric and no sum is named 'totl'"),
    ('headline = "total"\n', "", "MC101", "score.headline: missing"),
    ("macro_f1 = 0.7,", "macro_f2 = 0.7,", "MC221", "score.sums.total.macro_f2: no metric has this name"),
    ("total = { macro_f1 = 0.7, auroc = 0.3 }", "total = { macro_f1 = 0 }", "MC217",
     "score.sums.total: all weights are 0"),
    ("total = { macro_f1 = 0.7, auroc = 0.3 }", "total = 3", "MC103", "score.sums.total: must be a table"),
    ("[score.sums]\n", "[score.sums]\nauroc = { macro_f1 = 1 }\n", "MC225",
     "score.sums.auroc: a metric is named auroc"),
    ("[score.sums]\n", '[score.means]\nboth = ["auroc", "x"]\n[score.sums]\n', "MC221",
     "score.means.both[1]: no metric is named 'x'"),
    ("[score.sums]\n", '[score.means]\nboth = ["both"]\n[score.sums]\n', "MC221",
     "score.means.both[0]: no metric is named 'both'"),
    ("[score.sums]\n", '[score.means]\nboth = ["auroc", "auroc"]\n[score.sums]\n', "MC225",
     "score.means.both[1]: repeats an earlier value"),
    ("[score.sums]\n", '[score.means]\nauroc = ["macro_f1"]\n[score.sums]\n', "MC225",
     "score.means.auroc: a metric is named auroc, too"),
    ("[score.sums]\n", '[score.means]\ntotal = ["macro_f1"]\n[score.sums]\n', "MC225",
     "score.sums.total: a mean is named total, too"),
    ("[score.sums]\n", "[score.means]\nboth = []\n[score.sums]\n", "MC108", "score.means.both: must have at least 1"),
    (*template("label", "x"), "MC221", "metric.macro_f1.for: no field contains {}"),
    (*template("{}", "lable"), "MC221", "metric.macro_f1.field: the prediction has no field 'lable'"),
    (*metric('kind = "accuracy"\nfield = "{}"'), "MC101", "metric.macro_f1.for: missing"),
    (*metric('kind = "accuracy"\nfield = "{}"\nfor = []'), "MC108", "metric.macro_f1.for: must have at least 1 item"),
    (*metric('kind = "accuracy"\nfield = "{}"\nfor = ["label", "label"]'), "MC225", "metric.macro_f1.for[1]: repeats"),
    ('name = "auroc"', 'name = "macro_f1"', "MC225", "metric[1].name: another metric is named macro_f1"),
    ('name = "auroc"', 'name = "AUROC"', "MC107", "metric[1].name: invalid name"),
    (*metric('kind = "f2"\nfield = "label"'), "MC104", "metric.macro_f1.kind: must be one of accuracy, "),
    (*metric('field = "label"'), "MC101", "metric.macro_f1.kind: missing"),
    (*metric('kind = "accuracy"'), "MC101", "metric.macro_f1.field: missing"),
    (*metric('kind = "accuracy"\nfield = "lable"'), "MC221",
     "metric.macro_f1.field: the prediction has no field 'lable'"),
    (*metric('kind = "within"\nfield = "probability"\nabsolute = 1'), "MC221",
     "metric.macro_f1.field: the truth has no field 'probability'"),
    (*metric('kind = "accuracy"\nfield = "findings"'), "MC223",
     "metric.macro_f1.field: 'accuracy' needs a field of type"),
    (*metric('kind = "f1"\nfield = "label"'), "MC224", "metric.macro_f1: expected exactly one of average, weights and"),
    (*f1('average = "macro"\npositive = "none"'), "MC224",
     "metric.macro_f1: expected exactly one of average, weights and positive, got average and positive"),
    (*f1('average = "makro"'), "MC104", "metric.macro_f1.average: must be one of macro, micro, support"),
    (*f1('positive = "nune"'), "MC221", "metric.macro_f1.positive: not one of the values"),
    (*f1("positive = true"), "MC103", "metric.macro_f1.positive: must be a string"),
    (*f1('positive = { field = "label", is = "none" }'), "MC103", "metric.macro_f1.positive: must be a string"),
    (*f1("weights = { none = 0 }"), "MC217", "metric.macro_f1.weights: all weights are 0"),
    (*f1("weights = { nune = 1 }"), "MC221", "metric.macro_f1.weights.nune: not one"),
    (*f1("weights = { none = -1 }"), "MC105", "metric.macro_f1.weights.none: must be"),
    (*f1('weights = "linear"'), "MC103", "metric.macro_f1.weights: must be a table, not a string"),
    (*metric(f'{F1}avrage = "x"'), "MC102", "metric.macro_f1.avrage: unknown key"),
    ('is = "hemorrhagic" }', 'is = "hemorragic" }', "MC221",
     "metric.auroc.positive.is: not one of the values of 'label'"),
    ('positive = { field = "label"', 'positive = { field = "lable"', "MC221",
     "metric.auroc.positive.field: the truth has"),
    ('positive = { field = "label"', 'positive = { field = "findings"', "MC223",
     "metric.auroc.positive.field: needs a"),
    (', is = "hemorrhagic" }', " }", "MC101", "metric.auroc.positive.is: missing"),
    ('positive = { field = "label", is = "hemorrhagic" }\n', "", "MC101", "metric.auroc.positive: missing"),
    ('[truth]\nlabel = { one_of = ["ischemic", "hemorrhagic", "none"] }',
     '[truth]\nlabel = { one_of = ["ischemic", "none", "hemorrhagic"] }', "MC222",
     "metric.macro_f1.field: 'label' is one_of (3 values) in the prediction and one_of (3 values) in the truth"),
    (*metric('kind = "fbeta"\nfield = "label"\naverage = "macro"'), "MC101", "metric.macro_f1.beta: missing"),
    (*metric('kind = "fbeta"\nfield = "label"\naverage = "macro"\nbeta = 0'), "MC105",
     "metric.macro_f1.beta: must be above 0"),
    (*metric(f'kind = "net_benefit"\nfield = "probability"\nthreshold = 1\n{POSITIVE}'), "MC105",
     "metric.macro_f1.threshold: must be below 1"),
    (*metric(f'kind = "log_loss"\nfield = "probability"\nclip = 0.5\n{POSITIVE}'), "MC105",
     "metric.macro_f1.clip: must be below 0.5"),
    (*metric(f'kind = "sensitivity_at_specificity"\nfield = "probability"\n{POSITIVE}'), "MC101",
     "metric.macro_f1.at: missing"),
    (*cost("{ none = { none = 1 }, ischemic = { none = 1 } }"), "MC109",
     "metric.macro_f1.costs.none.none: a right answer costs nothing"),
    (*cost("{ nune = { none = 1 } }"), "MC221", "metric.macro_f1.costs.nune: not one of the values"),
    (*cost("{ none = { schemic = 1 } }"), "MC221", "metric.macro_f1.costs.none.schemic: not one of the values"),
    (*cost("{ none = { ischemic = 0 } }"), "MC217", "metric.macro_f1.costs: all costs are 0"),
    (*cost("{ none = { ischemic = -1 } }"), "MC105", "metric.macro_f1.costs.none.ischemic: must be at least 0"),
    (*cost("3"), "MC103", "metric.macro_f1.costs: must be a table, not a number"),
    (*metric('kind = "cost"\nfield = "label"'), "MC101", "metric.macro_f1.costs: missing"),
    (*survival('time = "label"'), "MC223", "metric.macro_f1.time: needs a field of type number or integer"),
    (*survival('time = "moths"'), "MC221", "metric.macro_f1.time: the truth has no field 'moths'"),
    (*survival(""), "MC101", "metric.macro_f1.time: missing"),
    ('positive = { field = "label", is = "hemorrhagic" }', 'positive = { field = "label", is = 1 }', "MC103",
     "metric.auroc.positive.is: must be a string"),
    (*grade("is = true"), "MC103", "metric.auroc.positive.is: must be an integer"),
    (*grade('is = "1"'), "MC103", "metric.auroc.positive.is: must be an integer"),
    (*grade("is = 2"), "MC105", "metric.auroc.positive.is: not between the min and max of 'grade'"),
    ('id = "stroke"', 'id = "stroke"\nrule = "x"', "MC103", "rule: must be a list, not a string"),
    (*rule('kind = "ordr"'), "MC104", "rule[0].kind: must be one of sum, order"),
    (*rule('field = "label"'), "MC101", "rule[0].kind: missing"),
    (*rule('kind = "distinct"'), "MC101", "rule[0].field: missing"),
    (*rule('kind = "requires"', 'field = "lable"', 'requires = "findings"'), "MC221",
     "rule[0]: there is no field 'lable'"),
    (*rule('kind = "order"', 'fields = ["label", "probability"]'), "MC223",
     "rule[0].fields: 'order' needs a field of type number or integer"),
    (*rule('kind = "order"', 'fields = ["probability"]'), "MC108", "rule[0].fields: must have at least 2 items, not 1"),
    (*rule('kind = "constant"', 'field = "label"', 'within = "x"'), "MC104",
     "rule[0].within: must be one of predictions, truth"),
    (*rule('kind = "constant"', 'field = "label"', 'code = "MC999"'), "MC104", "rule[0].code: unknown code"),
    (*rule('kind = "unique"', 'fields = ["case_id", "case_id"]'), "MC225", "rule[0].fields[1]: repeats an"),
    (*rule('kind = "unique"', 'fields = ["probability"]'), "MC223",
     "rule[0].fields: 'probability' is not in every record"),
]  # fmt: skip


CODES = {code for _, _, code, _ in MISTAKES} | {"MC035", "MC226", "MC227", "MC228", "MC313", "MC505", "MC512"}
"""The codes that tests of challenges show."""


@pytest.mark.parametrize(("old", "new", "code", "message"), MISTAKES, ids=[m[3][:40] for m in MISTAKES])
def test_mistake(old: str, new: str, code: str, message: str) -> None:
    """A mistake is an error with its code. Its message starts in lower case with the dotted path."""
    report = medcontract.check_challenge(changed(STROKE, old, new).encode(), name="challenge.toml")
    found = [(problem.code, problem.message) for problem in report.problems]
    assert any(each == code and text.startswith(message) for each, text in found), found
    assert len(found) <= 2
    assert not report
    for _, text in found:
        assert re.match(r'[a-z][a-z0-9_."\[\] ]*: \S', text)
        assert not text.endswith(".")


@pytest.mark.parametrize(("kind", "days", "code", "message"), [
    ('kind = "kappa"', 'type = "integer", min = 0', "MC223", "field: 'kappa' of an integer needs its min and max"),
    ('kind = "kappa"', 'type = "number", min = 0', "MC223", "field: 'kappa' needs a field of type one_of or integer"),
    ('kind = "brier"\npositive = { field = "days", is = 1 }', 'type = "number", min = 0, max = 9', "MC223",
     "field: 'brier' needs a field with min and max within 0 and 1"),
    ('kind = "mae"', 'type = "number"', "MC101", "unprocessed: missing"),
    ('kind = "mae"\nunprocessed = 1\nabsolute = 1', 'type = "number"', "MC102", "absolute: unknown key"),
    ('kind = "within"\nabsolute = 1\nrelative = 1', 'type = "number"', "MC224", "got absolute and relative"),
    ('kind = "within"\nabsolute = "1"', 'type = "number"', "MC103", "absolute: must be a number, not a string"),
    ('kind = "within"\nabsolute = -1', 'type = "number"', "MC105", "absolute: must be at least 0"),
])  # fmt: skip
def test_wrong_metrics_of_numbers(kind: str, days: str, code: str, message: str) -> None:
    """What a kind of metric needs of its field and parameters."""
    text = REGRESSION.replace('type = "number", min = 0, max = 100', days)
    text = changed(text, 'kind = "mae"\n', f"{kind}\n").replace("unprocessed = 100\n", "")
    found = [(each.code, each.message) for each in medcontract.check_challenge(text.encode()).problems]
    assert any(each == code and message in text for each, text in found), found


def test_missing_id_without_a_title() -> None:
    """The title, whose default is the id, is no second problem."""
    (problem,) = medcontract.check_challenge(changed(SMALL, 'id = "risk"\n', "").encode()).problems
    assert (problem.code, problem.message) == ("MC101", "id: missing")


def test_no_problem() -> None:
    """The example of the specification, and smaller challenges; a description may have several lines."""
    described = changed(STROKE, "version = 1", 'about = """\nA\n\tB\n"""')
    for text in (STROKE, SMALL, REGRESSION, described):
        assert list(medcontract.check_challenge(text.encode()).problems) == []


@pytest.mark.parametrize(
    ("old", "new", "line", "column"),
    [
        ('average = "macro"', 'average = "makro"', 19, 1),
        ('is = "hemorrhagic"', 'is = "x"', 25, 31),
        ("min = 0, max = 1", "min = 0, maximum = 1", 8, 43),
        ("auroc = 0.3", "aurok = 0.3", 30, 27),
        ('one_of = ["edema", "shift", "midline"] }, optional', 'one_of = ["edema", 1] }, optional', 9, 54),
        ("version = 1\n", 'version = 1\nabout = """\nid = "x"\n"""\ntitel = 1\n', 7, 1),
        ("version = 1\n", "version = 1 # titel\ntitel = [\n 'average', # x\n]\n", 4, 1),
        ('headline = "total"', 'headline = "x"', 28, 1),
    ],
)
def test_line_of_the_key(old: str, new: str, line: int, column: int) -> None:
    """Line and column are where the key is."""
    problems = medcontract.check_challenge(changed(STROKE, old, new).encode()).problems
    assert (problems[0].line, problems[0].column) == (line, column)


def test_pointer_and_windows_line_ends() -> None:
    """Problems have a pointer, too; CRLF and a byte order mark do not change the line."""
    text = changed(STROKE, 'average = "macro"', 'average = "makro"').replace("\n", "\r\n")
    (problem,) = medcontract.check_challenge(b"\xef\xbb\xbf" + text.encode()).problems
    assert (problem.pointer, problem.line, problem.column) == ("/metric/0/average", 19, 1)
    assert problem.hint == "did you mean 'macro'?"


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("id = stroke\n", 1, 6), ('id = "x"\nid = "y"\n', 2, 9), ("a = [1,\n", 2, 1), ("é = 1", 1, 1),
        ('a = "é" b\r\n', 1, 9), ("x = 1\r\ny = \r\n", 2, 5), ("\x00", 1, 1),
    ],
)  # fmt: skip
def test_syntax_error(text: str, line: int, column: int) -> None:
    """A syntax error is one problem, at its place."""
    (problem,) = medcontract.check_challenge(text.encode()).problems
    assert (problem.code, problem.line, problem.column) == ("MC035", line, column)
    assert problem.message.startswith("TOML syntax error: ")


@pytest.mark.parametrize(("content", "code"), [
    (b"", "MC004"),
    (STROKE.encode("utf-16"), "MC006"),
    (STROKE.replace("title", "#é\ntitle").encode("latin-1"), "MC007"),
    (b"x = " + b"[" * 5000 + b"]" * 5000, "MC019"),
    (b"x = " + b"{a=" * 5000 + b"1" + b"}" * 5000, "MC019"),
    (b".".join([b"a"] * 200_000) + b" = 1", "MC019"),
    (b"x = { " + b" . ".join([b"'a'"] * 100_000) + b" = 1 }", "MC019"),
    (b"[" + b".".join([b"a"] * 200_000) + b"]", "MC019"),
    (b"#" * (1 << 20) + b"\n", "MC020"),
    (b"version = " + b"9" * 5000, "MC035"),
    (b"PK\x03\x04" + b"\0" * 100, "MC005"),
])  # fmt: skip
def test_hostile_file(content: bytes, code: str) -> None:
    """A file that is too large, too deep, or not text is one problem, found quickly."""
    (problem,) = medcontract.check_challenge(content, name="challenge.toml").problems
    assert problem.code == code


@pytest.mark.parametrize(("old", "new"), [
    ("Stroke type", r"Stroke\u001b[31m type"),
    ('"none"]', r'"none", "\u001b[31m"]'),
    ("[gate]", r'"a\u001b[31m" = 1' + "\n[gate]"),
    ('headline = "total"', r'headline = "\u001b[31m"'),
    ('field = "label"', r'field = "\n\u001b"'),
    ("version = 1", r'about = "\u001b"'),
])  # fmt: skip
def test_control_characters(old: str, new: str) -> None:
    """Nothing from the file can control a terminal: names, texts and values are printable."""
    report = medcontract.check_challenge(changed(STROKE, old, new).encode())
    assert not report
    assert all(problem.message.isprintable() and (problem.hint or "").isprintable() for problem in report.problems)


@pytest.mark.parametrize(("old", "new", "hint"), [
    (*field("x = { type = 'numbr' }"), "did you mean 'number'?"),
    (*field("x = { type = 'enum' }"), "write one_of = […] instead of type"),
    (*field("x = 'text'"), 'write { type = "…" } or { one_of = […] }'),
    ('kind = "f1"', "", "use one of: accuracy, balanced_accuracy, "),
    ('kind = "f1"', 'kind = "acuracy"', "did you mean 'accuracy'?"),
    ('average = "macro"', 'avrage = "macro"', "did you mean 'average'?"),
    (*rule('field = "label"'), "use one of: sum, order, "),
    ("[truth]", "[truht]", "did you mean 'truth'?"),
    ("[score]", "[scores]", "did you mean 'score'?"),
    ("min_processed = 0.95", "min_processed = 95", "if it is a percentage, divide it by 100: 25 % is 0.25"),
])  # fmt: skip
def test_hints(old: str, new: str, hint: str) -> None:
    """Hints name what was probably meant, or what is known."""
    hints = [each.hint or "" for each in medcontract.check_challenge(changed(STROKE, old, new).encode()).problems]
    assert any(each.startswith(hint) for each in hints), hints


def test_lower_is_better_needs_a_negative_weight() -> None:
    """In a sum, a metric that is better when lower has a negative weight."""
    sums = '[score]\nheadline = "total"\n[score.sums]\ntotal = { mae = 0.5 }\n'
    text = changed(REGRESSION, '[score]\nheadline = "mae"\n', sums)
    (problem,) = medcontract.check_challenge(text.encode()).problems
    assert (problem.code, problem.line, problem.severity) == ("MC226", 15, "error")
    assert list(medcontract.check_challenge(text.replace("0.5", "-0.5").encode()).problems) == []


def test_negative_weight_of_another_metric() -> None:
    """A negative weight of a metric that is better when higher is only a warning."""
    report = medcontract.check_challenge(changed(STROKE, "auroc = 0.3", "auroc = -0.3").encode())
    assert report
    assert [(problem.code, problem.severity) for problem in report.problems] == [("MC226", "warning")]


@pytest.mark.parametrize(("old", "new", "says"), [
    ("unprocessed = 100", "unprocessed = 10", "would pay, unless it is at least 100"),
    ("min = 0, max = 100", "min = 0", "errors have no limit: leaving out the worst cases would pay"),
    ("min = 0, max = 100 }\n[[", "min = 0 }\n[[", "errors have no limit: leaving out the worst cases would pay"),
    ("max = 100 }\n[[", "max = 100.25 }\n[[", "would pay, unless it is at least 100.25"),
])  # fmt: skip
def test_leaving_out_would_pay(old: str, new: str, says: str) -> None:
    """A warning if an unprocessed case costs less than the largest error, with that value, or if there is no limit."""
    report = medcontract.check_challenge(REGRESSION.replace(old, new).encode())
    assert report
    (problem,) = report.problems
    assert (problem.code, problem.severity) == ("MC505", "warning")
    assert problem.message.startswith("metric.mae.unprocessed: ")
    assert problem.message.endswith(says)


def test_all_mistakes_are_reported() -> None:
    """One mistake does not hide another, and a field with an error is not reported as missing by a metric."""
    text = changed(STROKE, 'optional = true, about = "of hemorrhagic"', "optonal = true")
    text = changed(text, 'headline = "total"', 'headline = "x"')
    codes = [problem.code for problem in medcontract.check_challenge(text.encode()).problems]
    assert codes == ["MC102", "MC221"]


@pytest.mark.parametrize(("truth", "message"), [
    ('label = { one_of = ["yes", "no", "?"] }', "and one_of (3 values) in the truth: the values of one_of differ"),
    ('label = { one_of = ["no", "yes"] }', "the values of one_of have another order"),
    ('label = { type = "boolean" }', "one_of (2 values) in the prediction and boolean in the truth: the types differ"),
])  # fmt: skip
def test_prediction_and_truth_differ(truth: str, message: str) -> None:
    """The message says whether types, values or their order differ."""
    text = changed(SMALL, '[truth]\nlabel = { one_of = ["yes", "no"] }', f"[truth]\n{truth}")
    (problem,) = medcontract.check_challenge(text.encode()).problems
    assert (problem.code, problem.line) == ("MC222", 10)
    assert problem.message.startswith("metric.accuracy.field: 'label' is ")
    assert problem.message.endswith(message)


@pytest.mark.parametrize(("prediction", "truth", "message"), [
    ('one_of = ["a", "b"]', 'one_of = ["a"]', "the values of one_of differ"),
    ('one_of = ["a", "b"]', 'one_of = ["b", "a"]', "the values of one_of have another order"),
    ('one_of = ["a"]', 'type = "str"', "the types differ"),
    ('type = "number"', 'type = "integer"', "the types differ"),
])  # fmt: skip
def test_items_of_prediction_and_truth_differ(prediction: str, truth: str, message: str) -> None:
    text = SMALL.replace(
        'label = { one_of = ["yes", "no"] }', f'label = {{ type = "set", of = {{ {prediction} }} }}', 1
    )
    text = changed(text, 'label = { one_of = ["yes", "no"] }', f'label = {{ type = "set", of = {{ {truth} }} }}')
    (problem,) = medcontract.check_challenge(changed(text, 'kind = "accuracy"', 'kind = "jaccard"').encode()).problems
    assert problem.message.endswith(message)


def test_a_mistake_in_a_name_is_reported_once() -> None:
    """A metric of a field with a wrong name is not reported, too."""
    for name in ("error", "schema_"):
        text = STROKE.replace("label =", f"{name} =").replace('"label"', f'"{name}"')
        paths = [problem.message.split(":")[0] for problem in medcontract.check_challenge(text.encode()).problems]
        assert {path.split(".")[0] for path in paths} == {"prediction", "truth"}


@pytest.mark.parametrize(("pattern", "value", "matches"), [
    ("^[A-Z][0-9]$", "A1", True),
    ("^[A-Z][0-9]$", "A12", False),
    ("^a|b$", "ac", False),  # the complete value, not its start
    ("^a|b$", "b", True),
    (r"a\\$", "a$", True),
    (r"a\\\\$", "a\\", True),
])  # fmt: skip
def test_anchors_mean_nothing_more(pattern: str, value: str, matches: bool) -> None:
    text = changed(STROKE, "[prediction]\n", f'[prediction]\ncode = {{ type = "str", pattern = "{pattern}" }}\n')
    challenge = Challenge.load(text.encode())
    record = {"case_id": "1", "label": "none", "code": value}
    report = challenge.validate(json.dumps({"team_name": "x", "predictions": [record]}).encode(), "stroke/predictions")
    assert bool(report) == matches
    if pattern.startswith("^["):
        plain = Challenge.load(changed(text, pattern, pattern.strip("^$")).encode())
        assert plain.fingerprint == challenge.fingerprint


def test_numbers_of_17_digits_are_the_nearest_doubles() -> None:
    """So that the fingerprint, which contains doubles, determines them."""
    third = changed(STROKE, "macro_f1 = 0.7", "macro_f1 = 0.33333333333333333")
    same = changed(STROKE, "macro_f1 = 0.7", "macro_f1 = 0.3333333333333333")
    assert Challenge.load(third.encode()).fingerprint == Challenge.load(same.encode()).fingerprint
    values = {each.name: each.value for each in Challenge.load(third.encode()).get_protocol().parameters}
    assert values["sums.total.macro_f1"] == 1 / 3


def test_missing_file(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A file that does not exist is a usage error."""
    report = medcontract.check_challenge(tmp_path_factory.getbasetemp() / "no-such.toml")
    assert report.files[0].usage_error
    assert [problem.code for problem in report.problems] == ["MC001"]
