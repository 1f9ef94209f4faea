"""`challenge check --truth`: what would go wrong after the deadline is reported before a challenge opens."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.challenge_files import STROKE, changed
from tests.commands import Call, caller

import medcontract

CHALLENGE = """
id = "rare"
key = "case_id"
[prediction]
label = { one_of = ["a", "b", "c"] }
edema = { type = "number", min = 0, max = 1 }
nodule = { type = "number", min = 0, max = 1 }
[truth]
label = { one_of = ["a", "b", "c"] }
edema = { type = "integer", min = 0, max = 1 }
nodule = { type = "integer", min = 0, max = 1, optional = true }
patient = { type = "str", optional = true }
[[metric]]
name = "accuracy"
kind = "accuracy"
field = "label"
[[metric]]
name = "auroc"
kind = "auroc"
for = ["edema", "nodule"]
field = "{}"
positive = { field = "{}", is = 1 }
[score]
headline = "accuracy"
[score.sums]
total = { accuracy = 1, auroc = 1 }
"""


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    monkeypatch.chdir(tmp_path)
    return caller(capsys)


def check(text: str, rows: Sequence[tuple[object, ...]]) -> list[tuple[str, str, int | None, str]]:
    lines = [",".join(map(str, (f"C-{number}", *row))) for number, row in enumerate(rows)]
    Path("challenge.toml").write_text(text, encoding="utf-8")
    Path("truth.csv").write_text("\n".join(("case_id,label,edema,nodule,patient", *lines, "")), encoding="utf-8")
    report = medcontract.check_challenge("challenge.toml", truth="truth.csv")
    assert [file.path for file in report.files] == ["challenge.toml", "truth.csv"]
    return [(each.code, each.severity, each.line, each.message) for each in report.files[0].problems]


def good(number: int = 40) -> list[tuple[object, ...]]:
    return [("abc"[n % 3], n % 2, n % 2, f"P-{n}") for n in range(number)]


def test_a_good_truth(call: Call) -> None:
    assert check(CHALLENGE, good()) == []
    ran = call("challenge", "check", "challenge.toml", "--truth", "truth.csv")
    assert (ran.code, ran.out.count("ok")) == (0, 2)


@pytest.mark.parametrize(("headline", "severity"), [("accuracy", "warning"), ("auroc", "error"), ("total", "error")])
def test_undefined_metrics(call: Call, headline: str, severity: str) -> None:
    """An error if the headline needs it, also as a part of a mean in a sum."""
    rows = [(label, edema, "" if nodule else 0, patient) for label, edema, nodule, patient in good()]
    text = changed(CHALLENGE, 'headline = "accuracy"', f'headline = "{headline}"')
    rest, first = check(text, rows)
    assert first[:3] == ("MC313", severity, 17)
    assert first[3].startswith("metric.auroc_nodule: is undefined for every submission")
    assert first[3].endswith("the truth has no positive case")
    assert rest == ("MC512", "warning", 11, "truth.nodule: no case is 1")
    assert call("challenge", "check", "challenge.toml", "--truth", "truth.csv").code == int(severity == "error")


def test_few_cases(call: Call) -> None:
    """Classes that never occur, or in fewer than 10 cases, by field."""
    found = check(CHALLENGE, [("a" if n < 31 else "b", int(n < 9), n % 2, f"P-{n}") for n in range(40)])
    assert [(code, line, message) for code, _, line, message in found] == [
        ("MC512", 9, "truth.label: no case is c"),
        ("MC512", 9, "truth.label: fewer than 10 cases are b (9)"),
        ("MC512", 10, "truth.edema: fewer than 10 cases are 1 (9)"),
    ]


@pytest.mark.parametrize(("patients", "message"), [
    ([n // 2 for n in range(40)], "20 clusters with 2 to 2 of 40 cases (median 2): too few for reliable intervals"),
    ([max(n, 8) for n in range(40)], "32 clusters with 1 to 9 of 40 cases (median 1): too uneven for reliable"),
    (["" for _ in range(40)], None),
    ([max(n, 7) for n in range(40)], None),
])  # fmt: skip
def test_clusters(call: Call, patients: list[object], message: str | None) -> None:
    """A case without a cluster is one of its own."""
    rows = [(*row[:3], patient) for row, patient in zip(good(), patients, strict=True)]
    found = check(CHALLENGE + '[uncertainty]\ncluster = "patient"\n', rows)
    assert [each[3].startswith(f"uncertainty.cluster: {message}") for each in found] == [True] * (message is not None)


def test_wrong_files(call: Call) -> None:
    """Problems of the truth are reported as in any file; a wrong challenge is reported alone."""
    check(CHALLENGE, good())
    Path("truth.csv").write_text("case_id,label,edema,nodule,patient\nC-1,d,0,,\n")
    report = medcontract.check_challenge("challenge.toml", truth="truth.csv")
    assert [[each.code for each in file.problems] for file in report.files] == [[], ["MC104"]]
    Path("challenge.toml").write_text(changed(STROKE, 'kind = "f1"', 'kind = "f2"'))
    report = medcontract.check_challenge("challenge.toml", truth="truth.csv")
    assert [[each.code for each in file.problems] for file in report.files] == [["MC104"]]
    Path("challenge.toml").write_text(CHALLENGE)
    assert call("challenge", "check", "challenge.toml", "--truth", "no-such.csv").code == 2
