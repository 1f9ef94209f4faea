"""`medcontract bundle`, and the entry points of bundles in the folder layout of each platform."""

from __future__ import annotations

import ast
import html
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest
from tests.archive_files import pack
from tests.challenge_files import REGRESSION, STROKE, stroke_predictions, stroke_truth, write
from tests.commands import HEADLINES, SENT, TRACKS, TRUTH, Call, beside_files, caller, put, sent_file, truth_file
from tests.platform_runs import RUNS, Files, Outcome, unzip
from tests.support import ROOT

import medcontract
from medcontract import CallError, __version__
from medcontract.example_files import copy_examples

PLATFORMS = tuple(RUNS)
SECRET = [{**record, "report_id": f"SECRET-{n}"} for n, record in enumerate(TRUTH["reports"])]
"""A truth whose ids are not in the submissions."""


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    return caller(capsys)


def good(folder: Path, track: str) -> Files:
    """The files of a perfect submission, by name."""
    sent = folder / "good"
    paths = [sent_file(sent, track), *beside_files(sent, track)]
    return {path.name: path.read_bytes() for path in paths if path.suffix == ".json"}


def changed(files: Files, count: int = 20, **changes: object) -> Files:
    """A submission of the track reports with its first answers only, all of them changed."""
    document = json.loads(files["sent.json"])
    document["predictions"] = [{**record, **changes} for record in document["predictions"][:count]]
    return {**files, "sent.json": json.dumps(document).encode()}


Platform = tuple[str, Callable[[Files], Outcome]]


@pytest.fixture(params=PLATFORMS)
def reports(request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Platform:
    """A platform with a bundle of the track reports, and a function that scores a submission on it."""
    platform: str = request.param
    medcontract.bundle(platform, truth_file(tmp_path, "reports"), tmp_path / "bundle")
    numbers: Iterator[int] = iter(range(100))

    def run(files: Files) -> Outcome:
        return RUNS[platform](tmp_path / "bundle", tmp_path / f"run-{next(numbers)}", files, capsys)

    return platform, run


# --- the four submissions ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("track", TRACKS)
def test_good(platform: str, track: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A perfect submission gets its figures, flat numbers with the headline first, and nothing fails."""
    bundle = medcontract.bundle(platform, truth_file(tmp_path, track), tmp_path / "bundle")
    (tmp_path / "run").mkdir()
    found = RUNS[platform](tmp_path / "bundle", tmp_path / "run", good(tmp_path, track), capsys)
    assert (found.code, found.message) == (0, "")
    assert found.figures is not None
    assert all(type(value) in (int, float) for value in found.figures.values())
    assert next(iter(found.figures)) == bundle.figures[0] == HEADLINES[track][0].split()[0]
    assert found.figures[bundle.figures[0]] == HEADLINES[track][1]
    assert set(found.figures) <= set(bundle.figures)


def test_good_as_archive(reports: Platform, tmp_path: Path) -> None:
    """A .zip, also with a folder in it, is scored like its files, and so is a .tar.gz."""
    _, run = reports
    files = good(tmp_path, "reports")
    expected = run(files).figures
    inside = {f"my submission/{name}": data for name, data in files.items()}
    for name in ("predictions.zip", "predictions.tar.gz"):
        assert run({name: pack(tmp_path / name, inside).read_bytes()}).figures == expected


BROKEN = (
    "Submission not scored: run 1: 0 % processed (0 of 20), at least 95 % required: 19 more records needed; "
    "20 errors, the first in sent.json, line 1, column {column}: MC104 'urgency' must be one of Emergency, Urgent, "
    "Routine (did you mean 'Urgent'?)"
)
COLUMN = 119
NOTHING = (
    "Submission not scored: no data files in this {kind}: expected a file of reports/predictions (.json, .jsonl, .csv, "
    ".parquet; columns of a table: report_id, run_id, specialty, urgency, follow_up, processing_time_sec, error)"
)
ALONE = (
    "Submission not scored: it cannot be ranked, because it has no total_score (no telemetry (reports/telemetry), so "
    "no memory and CPU figures, performance_score and total_score); submit a file of reports/telemetry, too"
)
HALF = "Submission not scored: run 1: 50 % processed (10 of 20), at least 95 % required: 9 more records needed"


def refused(found: Outcome) -> str:
    """The message of a submission that is not scored."""
    assert found.code == 1
    assert found.figures is None
    assert "\n" not in found.message
    return found.message


def test_broken(reports: Platform, tmp_path: Path) -> None:
    """Invalid values: the reason names the first, with its place; also in a .zip."""
    _, run = reports
    files = changed(good(tmp_path, "reports"), urgency="urgent")
    assert files["sent.json"].decode().index('"urgent"') + 1 == COLUMN
    assert refused(run(files)) == BROKEN.format(column=COLUMN)
    assert refused(run({"a.zip": pack(tmp_path / "a.zip", files).read_bytes()})) == BROKEN.format(column=COLUMN)


def test_half_answered(reports: Platform, tmp_path: Path) -> None:
    """Half of the answers: the reason says how many are missing, not which; also in a .zip."""
    platform, run = reports
    files = changed(good(tmp_path, "reports"), count=10)
    for sent in (files, {"a.zip": pack(tmp_path / "a.zip", files).read_bytes()}):
        found = run(sent)
        assert refused(found) == HALF
        assert found.seen.count("9 more records needed") >= (2 if platform == "codabench" else 1)  # also on the page
        assert not any(record["report_id"] in found.seen for record in TRUTH["reports"][10:])


def test_hostile_truth(reports: Platform, tmp_path: Path) -> None:
    """A truth, scores and a bundle in a submission change nothing: everything is wrong, and scored as such."""
    _, run = reports
    files = changed(good(tmp_path, "reports"), specialty="Other")
    honest = run(files).figures
    assert honest is not None
    assert honest["specialty_accuracy"] == 0
    wrong = [{**record, "specialty": "Other"} for record in TRUTH["reports"]]
    own = put(tmp_path / "own.json", "reports/truth", wrong).read_bytes()
    score = json.dumps({"total_score": 100}).encode()
    hostile = {
        **files, "truth.json": own, "ref/truth.json": own, "scores.json": score, "metrics.json": score,
        "medcontract-bundle.json": b"{}", "protocol.json": b"{}", "scoring.py": b"raise SystemExit('hacked')",
        "medcontract.py": b"raise SystemExit('hacked')", "sitecustomize.py": b"raise SystemExit('hacked')",
    }  # fmt: skip
    assert run(hostile).figures == honest
    assert run({"a.zip": pack(tmp_path / "a.zip", hostile).read_bytes()}).figures == honest


HOSTILE_TEXT = 'x"</p><script>alert(1)</script>\u2028\x1b[31m\r\nSubmission scored: 100'


def test_hostile_texts(reports: Platform, tmp_path: Path) -> None:
    """Names in a submission cannot forge a line of the reason, and are not markup on the page."""
    _, run = reports
    document = json.loads(good(tmp_path, "reports")["sent.json"])
    files = {"sent.json": json.dumps({**document, "team_name": HOSTILE_TEXT, HOSTILE_TEXT: 1}).encode()}
    found = run({"</p><script>alert(2)<\\p>.json": files["sent.json"], "b.json": b"{}"})
    assert "\x1b" not in refused(found)
    assert "<script>alert" not in found.seen.replace(found.message, "")


def test_hostile_archive(reports: Platform, tmp_path: Path) -> None:
    """An archive that leads out of its folder, or that is not one, is refused with a reason."""
    _, run = reports
    outside = pack(tmp_path / "a.zip", {"../../../input/ref/truth.json": b"{}", "x.json": b"{}"}).read_bytes()
    assert "leads out of the archive" in refused(run({"a.zip": outside}))
    assert "not a zip archive" in refused(run({"a.zip": b"PK\3\4 no archive"}))


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"a.csv": b"x,y\n1,2\n"}, "a.csv: no contract matches its columns (expected a file of reports/predictions)"),
        ({"a.json": b""}, "the file is empty"),
        ({"a.json": b"\xff\xfe"}, "UTF-16"),
        ({"a.json": b"[" * 100_000}, "nested deeper than 100 levels"),
    ],
)  # fmt: skip
def test_other_files(reports: Platform, files: Files, reason: str) -> None:
    """What is not a submission at all gets a reason that helps."""
    assert reason in refused(reports[1](files))


def test_nothing(reports: Platform) -> None:
    """An empty submission gets a reason that says what is expected."""
    kind = "archive" if reports[0] == "evalai" else "folder"
    assert refused(reports[1]({})) == NOTHING.format(kind=kind)


# --- what must not happen ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("platform", PLATFORMS)
def test_no_leak(platform: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing that a participant sees has an id of the truth, or a figure by class."""
    truth = truth_file(tmp_path, "reports", [*TRUTH["reports"], *SECRET[:1]])
    medcontract.bundle(platform, truth, tmp_path / "bundle")
    files = good(tmp_path, "reports")
    for number, sent in enumerate((files, changed(files, count=3), changed(files, urgency="x"), {"a.json": b"{"})):
        (tmp_path / str(number)).mkdir()
        found = RUNS[platform](tmp_path / "bundle", tmp_path / str(number), sent, capsys)
        assert (found.figures is None) == (number > 0)
        assert "SECRET" not in found.seen
        assert "by_class" not in found.seen


@pytest.mark.parametrize("platform", PLATFORMS)
def test_no_rank_without_headline(platform: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A valid submission without the figure of the ranking gets a reason, not a rank; another figure can be chosen."""
    truth, sent = truth_file(tmp_path, "reports"), {"sent.json": good(tmp_path, "reports")["sent.json"]}
    medcontract.bundle(platform, truth, tmp_path / "bundle")
    (tmp_path / "a").mkdir()
    assert refused(RUNS[platform](tmp_path / "bundle", tmp_path / "a", sent, capsys)) == ALONE
    medcontract.bundle(platform, truth, tmp_path / "other", rank_by="accuracy_score")
    (tmp_path / "b").mkdir()
    found = RUNS[platform](tmp_path / "other", tmp_path / "b", sent, capsys)
    assert found.figures is not None
    assert next(iter(found.figures.items())) == ("accuracy_score", 70.0)
    assert "total_score" not in found.figures


@pytest.mark.parametrize("platform", PLATFORMS)
def test_misconfigured(platform: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A truth that does not match the bundle is a problem of the organizer: no details, no rank."""
    truth = truth_file(tmp_path, "reports", SECRET)
    medcontract.bundle(platform, truth, tmp_path / "bundle")
    damaged = {"truth.json": truth.read_bytes().replace(b"Routine", b"SECRET-LABEL")}
    other = {"other.json": truth.read_bytes()}
    for name, files in (("damaged", damaged), ("other", other)):
        folder = tmp_path / name
        folder.mkdir()
        bundle = _with_truth(tmp_path / "bundle", folder / "bundle", files)
        found = RUNS[platform](bundle, folder, good(tmp_path, "reports"), capsys)
        assert found.code == (1 if platform == "evalai" else 2)
        assert found.figures is None
        assert found.message == (
            "Submission not scored: the evaluation failed (the bundle, its protocol or its truth cannot be used); this "
            "is not a problem of the submission, please tell the organizers"
        )
        assert "SECRET" not in found.seen


def _with_truth(bundle: Path, copy: Path, files: Files) -> Path:
    """A copy of a bundle with another truth."""
    if (bundle / "ground_truth.tar.gz").exists():
        for path in (bundle / "evaluation").iterdir():
            if path.is_file():
                (copy / "evaluation").mkdir(parents=True, exist_ok=True)
                (copy / "evaluation" / path.name).write_bytes(path.read_bytes())
        pack(copy / "ground_truth.tar.gz", files)
        return copy
    name = "competition.zip" if (bundle / "competition.zip").exists() else "challenge_config.zip"
    inside = unzip(bundle / name, copy / "inside")
    pack(inside / ("reference_data.zip" if name == "competition.zip" else "annotations/truth.zip"), files)
    found = {str(path.relative_to(inside)): path.read_bytes() for path in inside.rglob("*") if path.is_file()}
    pack(copy / name, found)
    return copy


# --- as a process ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_as_a_process(tmp_path: Path) -> None:
    """The entry points of Codabench and Grand Challenge run as scripts: exit code, and one line on standard error."""
    truth = truth_file(tmp_path / "ref", "reports")
    sent = tmp_path / "res"
    sent_file(sent, "reports", SENT["reports"][:10])
    for platform in ("codabench", "grand-challenge"):
        medcontract.bundle(platform, truth, tmp_path / platform)
    scripts = (
        ["codabench/scoring_program/scoring.py", tmp_path, tmp_path / "out"],
        ["grand-challenge/evaluation/evaluate.py", "--input", sent, "--ground-truth", truth.parent, "--output", "out"],
    )
    for script, *arguments in scripts:
        ran = subprocess.run(
            [sys.executable, str(script), *map(str, arguments)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (ran.returncode, ran.stdout, ran.stderr) == (1, "", f"{HALF}\n")


# --- the files of a bundle ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("platform", PLATFORMS)
def test_truth_only_where_it_is_secret(platform: str, tmp_path: Path) -> None:
    """The truth is in the archive for it and in what contains that archive, which the README calls secret."""
    medcontract.bundle(platform, truth_file(tmp_path, "reports", SECRET), tmp_path / "bundle")
    having = {path.name for path in (tmp_path / "bundle").rglob("*") if path.is_file() and _contains(path.read_bytes())}
    secret = {
        "codabench": {"competition.zip", "reference_data.zip"},
        "grand-challenge": {"ground_truth.tar.gz"},
        "evalai": {"challenge_config.zip", "truth.zip"},
    }
    assert having == secret[platform]
    readme = (tmp_path / "bundle/README.md").read_text(encoding="utf-8")
    assert "**secret**" in readme
    assert all(name in readme for name in having)


def _contains(data: bytes) -> bool:
    """Whether a file, or a file in it, has an id of the truth."""
    import gzip
    import io

    if data.startswith(b"PK"):
        with ZipFile(io.BytesIO(data)) as archive:
            return any(_contains(archive.read(name)) for name in archive.namelist())
    return b"SECRET" in (gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data)


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("track", TRACKS)
def test_leaderboard_of_the_platform(platform: str, track: str, tmp_path: Path) -> None:
    """The configuration lists the figures of the bundle, in its order, with valid and different names."""
    yaml = pytest.importorskip("yaml")
    figures = medcontract.bundle(platform, truth_file(tmp_path, track), tmp_path / "bundle").figures
    assert len(set(figures)) == len(figures)
    assert all(len(name) <= 36 and name.isidentifier() for name in figures)
    if platform == "codabench":
        config = yaml.safe_load((tmp_path / "bundle/competition/competition.yaml").read_text(encoding="utf-8"))
        columns = config["leaderboards"][0]["columns"]
        assert [column["key"] for column in columns] == list(figures)
        assert [column["index"] for column in columns] == list(range(len(figures)))
        assert columns[0]["sorting"] == "desc"
        with ZipFile(tmp_path / "bundle/competition.zip") as archive:
            needed = {config["image"], config["terms"], *(page["file"] for page in config["pages"])}
            assert {*needed, *(config["tasks"][0][name] for name in ("scoring_program", "reference_data"))} <= set(
                archive.namelist()
            )
    elif platform == "evalai":
        config = yaml.safe_load((tmp_path / "bundle/challenge_config.yaml").read_text(encoding="utf-8"))
        schema = config["leaderboard"][0]["schema"]
        assert schema["labels"] == list(schema["metadata"]) == list(figures)
        assert schema["default_order_by"] == figures[0]
        assert config["challenge_phase_splits"][0]["is_leaderboard_order_descending"] is True
        phase = config["challenge_phases"][0]
        with ZipFile(tmp_path / "bundle/challenge_config.zip") as archive:
            named = [config["evaluation_script"], config["image"], phase["test_annotation_file"], phase["description"]]
            texts = [config[name] for name in ("description", "evaluation_details", "terms_and_conditions")]
            assert {*named, *texts, config["submission_guidelines"]} <= set(archive.namelist())
    else:
        readme = (tmp_path / "bundle/README.md").read_text(encoding="utf-8")
        assert f"`aggregates.{figures[0]}`, its default sort is descending" in readme


GUIDES = {
    "codabench": "competition/participate.md",
    "grand-challenge": "participate.md",
    "evalai": "templates/submission_guidelines.html",
}


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("track", TRACKS)
def test_page_for_participants(platform: str, track: str, tmp_path: Path) -> None:
    """It has all columns, valid examples, all formulas, the headline and the gate of this protocol."""
    parameters = {"min_processed": 0.875}
    bundle = medcontract.bundle(
        platform, truth_file(tmp_path, track), tmp_path / "bundle", parameters=parameters, title="<b>One</b> & two"
    )
    text = (tmp_path / "bundle" / GUIDES[platform]).read_text(encoding="utf-8")
    assert "<b>" not in text.replace("\\<b\\>", "")
    text = html.unescape(re.sub(r"<[^>]*>", "", text)) if platform == "evalai" else text.replace("\\", "")
    assert "at least 87.5 % of the expected items" in text
    assert bundle.figures[0] in text
    protocol = medcontract.get_protocol(track, parameters=parameters)
    assert all(figure.about in text for figure in protocol.figures)
    assert all(parameter.name in text and parameter.about in text for parameter in protocol.parameters)
    settings = json.loads(next((tmp_path / "bundle").rglob("medcontract-bundle.json")).read_text())
    for contract in settings["submission"]:
        schema = medcontract.json_schema(contract)
        assert all(name in text for name in schema["properties"] if name != "$schema")
        assert medcontract.validate(json.dumps(schema["examples"][0]).encode(), contract, name="x.json").ok
        assert json.dumps(schema["examples"][0], indent=2, ensure_ascii=False) in text
    assert "medcontract preflight my-submission/" in text
    assert "medcontract bundle page" in text


def test_page_of_lesions(tmp_path: Path) -> None:
    """Predictions alone are not scored: participants and organizers read what to do, unless they are ranked."""
    truth = truth_file(tmp_path, "lesions")
    medcontract.bundle("grand-challenge", truth, tmp_path / "a")
    assert "A file of `lesions/model`: without it there is no final" in (tmp_path / "a/participate.md").read_text(
        "utf-8"
    )
    assert "not scored, unless the bundle is written with `--rank-by prediction_score`" in (
        tmp_path / "a/README.md"
    ).read_text(encoding="utf-8")
    medcontract.bundle("grand-challenge", truth, tmp_path / "b", rank_by="prediction_score")
    assert "A file of `lesions/model`: optional" in (tmp_path / "b/participate.md").read_text(encoding="utf-8")


def test_page_of_one_kind(tmp_path: Path) -> None:
    """Only the files that the truth asks for are required."""
    copy_examples("extraction", tmp_path / "x")
    medcontract.bundle("grand-challenge", tmp_path / "x/labels/labs.jsonl", tmp_path / "b")
    text = (tmp_path / "b/participate.md").read_text(encoding="utf-8")
    assert "Required: files of `extraction/lab-predictions`." in text
    assert "prescription-predictions" not in text


def wheel(path: Path, version: str = __version__) -> Path:
    """A file with the description of a wheel of medcontract."""
    about = f"Metadata-Version: 2.4\nName: medcontract\nVersion: {version}\n"
    content = pack(path.with_suffix(".zip"), {f"medcontract-{version}.dist-info/METADATA": about.encode()})
    return content.rename(path)


@pytest.mark.parametrize(
    ("platform", "folder"),
    [("codabench", "image/wheels"), ("grand-challenge", "evaluation/wheels"), ("evalai", "wheels")],
)
def test_wheel(platform: str, folder: str, tmp_path: Path, call: Call) -> None:
    """A wheel is copied to where the image installs from, and the README names it; a wrong one is refused."""
    truth, name = truth_file(tmp_path, "reports"), f"medcontract-{__version__}-py3-none-any.whl"
    given, out = wheel(tmp_path / name), tmp_path / "bundle"
    assert call("bundle", platform, "--truth", truth, "--wheel", given, "--out", out).code == 0
    assert (out / folder / name).read_bytes() == given.read_bytes()
    readme = (out / "README.md").read_text(encoding="utf-8")
    assert name in readme
    assert "--wheel" not in readme
    medcontract.bundle(platform, truth, tmp_path / "without")
    assert "`--wheel FILE`" in (tmp_path / "without/README.md").read_text(encoding="utf-8")
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / name).write_text("no wheel")
    other = wheel(tmp_path / "medcontract-0.0.1-py3-none-any.whl", "0.0.1")
    renamed = wheel(tmp_path / "medcontract.whl")
    for wrong in (tmp_path / "text" / name, other, renamed):
        ran = call("bundle", platform, "--truth", truth, "--wheel", wrong, "--out", tmp_path / "c")
        assert (ran.code, f"is not a wheel of medcontract {__version__}" in ran.err) == (2, True)
    ran = call("bundle", platform, "--truth", truth, "--wheel", tmp_path / "no.whl", "--out", tmp_path / "c")
    assert (ran.code, "cannot read" in ran.err) == (2, True)
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("platform", PLATFORMS)
def test_same_bytes(platform: str, tmp_path: Path) -> None:
    """The same truth gives the same bytes, in another folder and at another time."""
    truth = truth_file(tmp_path, "lesions")
    found = []
    for name in ("a", "b"):
        bundle = medcontract.bundle(platform, truth, tmp_path / name)
        found.append({path.relative_to(tmp_path / name): path.read_bytes() for path in bundle.files})
        truth.touch()
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("platform", "script"),
    [
        ("codabench", "scoring_program/scoring.py"),
        ("grand-challenge", "evaluation/evaluate.py"),
        ("evalai", "evaluation_script/__init__.py"),
    ],
)
def test_entry_points_explain_an_old_python(platform: str, script: str, tmp_path: Path) -> None:
    """Entry points can be read by Python 3.7, which some platforms use, and say what is missing."""
    medcontract.bundle(platform, truth_file(tmp_path, "reports"), tmp_path / "bundle")
    text = (tmp_path / "bundle" / script).read_text(encoding="utf-8")
    ast.parse(text, feature_version=(3, 7))
    assert "it needs Python 3.11" in text


def test_measurements_in_the_truth(tmp_path: Path) -> None:
    """Measurements that are passed with the truth are reported without an option that only leaderboard has."""
    paths = [truth_file(tmp_path, "reports"), *beside_files(tmp_path, "reports")]
    [warning] = medcontract.bundle("evalai", paths, tmp_path / "bundle").warnings
    assert warning == (
        "telemetry.json (reports/telemetry) was passed with the truth: ignored, since it belongs to a submission"
    )


def test_documented_reasons() -> None:
    """The page about platforms shows what participants read."""
    page = (ROOT / "docs/platforms.md").read_text(encoding="utf-8")
    assert HALF in page
    assert BROKEN.format(column=COLUMN) in page
    assert NOTHING.format(kind="folder") in page
    assert ALONE in page


def test_direction(tmp_path: Path) -> None:
    """Times and penalties are better if they are lower."""
    yaml = pytest.importorskip("yaml")
    medcontract.bundle("codabench", truth_file(tmp_path, "reports"), tmp_path / "bundle")
    config = yaml.safe_load((tmp_path / "bundle/competition/competition.yaml").read_text(encoding="utf-8"))
    lower = {column["key"] for column in config["leaderboards"][0]["columns"] if column["sorting"] == "asc"}
    assert lower == {
        "avg_processing_time", "max_memory_usage", "avg_cpu_usage", "time_penalty", "memory_penalty", "cpu_penalty",
    }  # fmt: skip


def test_combined_score(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With weights, benchmark submissions are ranked by the combined score, under a name that platforms accept."""
    truth = truth_file(tmp_path, "benchmark")
    weights = tmp_path / "weights.json"
    weights.write_text(json.dumps({"metric_name": "My score (100 %)", "weights": {"clinical_accuracy": 1}}))
    bundle = medcontract.bundle("codabench", [truth, weights], tmp_path / "bundle")
    assert bundle.figures[:2] == ("My_score_100", "clinical_accuracy")
    assert "combined_score" not in bundle.figures
    (tmp_path / "run").mkdir()
    found = RUNS["codabench"](tmp_path / "bundle", tmp_path / "run", good(tmp_path, "benchmark"), capsys)
    assert found.figures is not None
    assert next(iter(found.figures.items())) == ("My_score_100", 1.0)


def test_parameters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a ranking derives from all submissions has to be set; without it there is a warning."""
    truth = truth_file(tmp_path, "lesions")
    [warning] = medcontract.bundle("grand-challenge", truth, tmp_path / "a").warnings
    assert warning.startswith("t_min_ms and t_max_ms cannot be derived from all submissions")
    times = {"t_min_ms": 18.25, "t_max_ms": 218.25}
    assert medcontract.bundle("grand-challenge", truth, tmp_path / "b", parameters=times).warnings == ()
    (tmp_path / "run").mkdir()
    found = RUNS["grand-challenge"](tmp_path / "b", tmp_path / "run", good(tmp_path, "lesions"), capsys)
    assert found.figures is not None
    assert found.figures["efficiency_score"] == 0.75  # 0.5 · 1 for 31.4 MB, 0.5 · 0.5 for 118.25 ms
    frozen = medcontract.freeze_protocol("lesions", truth=truth, parameters=times)
    medcontract.bundle("grand-challenge", truth, tmp_path / "c", protocol=frozen)
    assert (tmp_path / "b/evaluation/protocol.json").read_bytes() == (
        tmp_path / "c/evaluation/protocol.json"
    ).read_bytes()


# --- challenges --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("platform", PLATFORMS)
def test_challenge(platform: str, tmp_path: Path, call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    """A challenge is in the bundle, and used for its submissions only."""
    (tmp_path / "c.toml").write_text(STROKE, encoding="utf-8")
    truth = write(tmp_path / "truth.jsonl", stroke_truth())
    ran = call("bundle", platform, "--truth", truth, "--challenge", tmp_path / "c.toml", "--out", tmp_path / "bundle")
    assert ran.code == 0
    assert "ranked by total" in ran.err
    assert "Stroke type from CT reports" in (tmp_path / "bundle/README.md").read_text(encoding="utf-8")
    guide = (tmp_path / "bundle" / GUIDES[platform]).read_text(encoding="utf-8")
    assert "medcontract preflight --challenge challenge.toml my-submission/" in guide
    example = re.search(r"^\{$.*?^\}$", html.unescape(re.sub(r"<[^>]*>", "\n", guide)), re.DOTALL | re.MULTILINE)
    assert example
    assert medcontract.Challenge.load(tmp_path / "c.toml").validate(example[0].encode(), "stroke/predictions").ok
    sent = {"predictions.jsonl": write(tmp_path / "sent.jsonl", stroke_predictions()).read_bytes()}
    (tmp_path / "run").mkdir()
    found = RUNS[platform](tmp_path / "bundle", tmp_path / "run", sent, capsys)
    score = medcontract.Challenge.load(tmp_path / "c.toml").score(truth, tmp_path / "sent.jsonl", participant=True)
    assert found.figures is not None
    assert next(iter(found.figures.items())) == ("total", (score.result or {})["headline"]["value"])
    assert set(found.figures) == {"total", "macro_f1", "auroc"}
    assert not any(each.id.startswith("stroke/") for each in medcontract.list_contracts())


def test_lower_headline(tmp_path: Path) -> None:
    """A challenge whose headline is an error is sorted in ascending order."""
    yaml = pytest.importorskip("yaml")
    challenge = medcontract.Challenge.load(REGRESSION.encode(), name="c.toml")
    truth = write(tmp_path / "truth.csv", [{"case_id": "C-1", "days": 3}])
    for platform in PLATFORMS:
        challenge.bundle(platform, f"risk/truth={truth}", tmp_path / platform)
    config = yaml.safe_load((tmp_path / "codabench/competition/competition.yaml").read_text(encoding="utf-8"))
    assert config["leaderboards"][0]["columns"][0]["sorting"] == "asc"
    config = yaml.safe_load((tmp_path / "evalai/challenge_config.yaml").read_text(encoding="utf-8"))
    assert config["challenge_phase_splits"][0]["is_leaderboard_order_descending"] is False
    assert "`aggregates.mae`, its default sort is ascending" in (tmp_path / "grand-challenge/README.md").read_text()


# --- the command -------------------------------------------------------------------------------------------------


def test_command(tmp_path: Path, call: Call) -> None:
    """The paths are printed; several files may follow --truth; with --quiet nothing is."""
    truth = truth_file(tmp_path, "benchmark")
    weights = tmp_path / "weights.json"
    weights.write_text(json.dumps({"weights": {"clinical_accuracy": 1}}))
    ran = call("bundle", "evalai", "--truth", truth, weights, "--title", "My  title", "--out", tmp_path / "b")
    assert ran.code == 0
    assert all(Path(line).is_file() for line in ran.out.splitlines())
    assert ran.err.endswith(f"Submissions are ranked by combined_score. Next: read {tmp_path / 'b/README.md'}\n")
    assert (tmp_path / "b/README.md").read_text(encoding="utf-8").startswith("# My title: bundle for EvalAI\n")
    with ZipFile(tmp_path / "b/annotations/truth.zip") as archive:
        assert archive.namelist() == ["truth.json", "weights.json"]
    assert call("bundle", "evalai", "--truth", truth, "--out", tmp_path / "c", "--quiet") == (0, "", "")


def test_truth_in_archive(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A truth may be in a folder or in an archive: only its files are in the bundle."""
    truth = truth_file(tmp_path / "truth", "reports")
    sent_file(tmp_path / "truth", "reports")
    archive = pack(tmp_path / "t.zip", {"x/truth.json": truth.read_bytes()})
    for number, given in enumerate((tmp_path / "truth", archive)):
        bundle = medcontract.bundle("codabench", given, tmp_path / f"b-{number}")
        with ZipFile(tmp_path / f"b-{number}/competition/reference_data.zip") as found:
            assert found.namelist() == ["truth.json"]
            assert found.read("truth.json") == truth.read_bytes()
        assert bundle.warnings == (("sent.json (reports/predictions) was not used",) if number == 0 else ())


def test_other_files_stay(tmp_path: Path, call: Call) -> None:
    """A file with another content is replaced with --force only; the same bundle can be written again."""
    truth, out = truth_file(tmp_path, "reports"), tmp_path / "out"
    arguments = ("bundle", "codabench", "--truth", truth, "--out", out)
    assert call(*arguments).code == 0
    assert call(*arguments).code == 0
    readme = out / "README.md"
    readme.write_text("mine")
    (out / "notes.txt").write_text("mine")
    ran = call(*arguments)
    assert (ran.code, ran.err) == (
        2,
        f"medcontract: {out} already has README.md\n  hint: choose another folder, or pass --force to overwrite\n",
    )
    assert readme.read_text() == "mine"
    assert call(*arguments, "--force").code == 0
    assert readme.read_text() != "mine"
    assert (out / "notes.txt").read_text() == "mine"


def test_inputs_stay(tmp_path: Path, call: Call) -> None:
    """An input in the folder is not replaced by other content, also with --force."""
    out = tmp_path / "out"
    truth = put(out / "evaluation/protocol.json", "reports/truth", TRUTH["reports"])
    before = truth.read_bytes()
    ran = call("bundle", "grand-challenge", "--truth", truth, "--out", out, "--force")
    assert (ran.code, "an input of this call" in ran.err) == (2, True)
    assert [path.name for path in out.rglob("*") if path.is_file()] == ["protocol.json"]
    assert truth.read_bytes() == before


def test_usage_errors(tmp_path: Path, call: Call) -> None:
    """The folder is no part of the truth, and files of the truth have different names."""
    truth, out = truth_file(tmp_path / "truth", "reports"), tmp_path / "out"
    inside = call("bundle", "codabench", "--truth", truth.parent, "--out", truth.parent / "out")
    assert (inside.code, f"is in {truth.parent}, which is an input" in inside.err) == (2, True)
    same = truth_file(tmp_path / "other", "reports", SECRET)
    twice = call("bundle", "codabench", "--truth", truth, same, "--out", out)
    assert (twice.code, "two files of the truth are named truth.json" in twice.err) == (2, True)
    assert not out.exists()
    with pytest.raises(CallError, match=r"unknown platform 'codebench'.*codabench"):
        medcontract.bundle("codebench", truth, out)


def test_invalid_truth(tmp_path: Path, call: Call) -> None:
    """A truth with errors gives no bundle."""
    truth = truth_file(tmp_path, "reports", [{**TRUTH["reports"][0], "urgency": "x"}])
    ran = call("bundle", "codabench", "--truth", truth, "--out", tmp_path / "out")
    assert ran.code == 1
    assert "nothing can be scored against it" in ran.err
    assert not (tmp_path / "out").exists()
