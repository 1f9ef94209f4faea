"""The page that checks files in the browser, in headless Chromium. Skipped where it or playwright is not installed."""

from __future__ import annotations

import base64
import csv
import gzip
import hashlib
import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.test_browser import _CONTRAST, _OVERFLOW, browser
from tests.challenge_files import STROKE, stroke_predictions, stroke_truth, write
from tests.html_pages import EXAMPLES, HOSTILE, Parsed
from tests.support import ROOT

import medcontract
from medcontract.cli.main import main

__all__ = ["browser"]
LESIONS = EXAMPLES / "lesions"
_DROP = """([name, data]) => {
  const bytes = Uint8Array.from(atob(data), (char) => char.charCodeAt(0));
  const transfer = new DataTransfer();
  transfer.items.add(new File([bytes], name));
  const settings = { dataTransfer: transfer, bubbles: true, cancelable: true };
  document.getElementById("drop").dispatchEvent(new DragEvent("drop", settings));
}"""


class Opened:
    """The page in a browser: what it shows, and what it did."""

    def __init__(self, browser: Any, file: Path, **settings: Any) -> None:
        self.page = browser.new_page(**settings)
        self.messages: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.messages.append(message.text))
        self.page.on("pageerror", lambda error: self.messages.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url.partition(":")[0]))
        self.page.goto(file.as_uri())

    def choose(self, *files: Path | dict[str, Any]) -> str:
        """Choose files. Returns the text of the result."""
        self.page.evaluate("document.getElementById('result').replaceChildren()")
        given = [file if isinstance(file, dict) else str(file) for file in files]
        self.page.set_input_files("#files", given)
        return self.result()

    def drop(self, name: str, content: bytes) -> str:
        self.page.evaluate("document.getElementById('result').replaceChildren()")
        self.page.evaluate(_DROP, [name, base64.b64encode(content).decode()])
        return self.result()

    def result(self, seconds: int = 20) -> str:
        self.page.wait_for_selector(".verdict", timeout=1000 * seconds)
        text: str = self.page.inner_text("#result")
        return text


@pytest.fixture(scope="module")
def lesions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "check.html"
    ids = ("lesions/predictions", "lesions/model")
    path.write_text(medcontract.check_page(*ids, cases=LESIONS / "cases.csv"), encoding="utf-8")
    return path


@pytest.fixture
def opened(browser: Any, lesions: Path) -> Iterator[Opened]:
    page = Opened(browser, lesions)
    yield page
    assert page.messages == []
    assert set(page.requests) <= {"file", "blob"}
    page.page.close()


def _file(name: str, content: str | bytes) -> dict[str, Any]:
    data = content.encode() if isinstance(content, str) else content
    return {"name": name, "mimeType": "application/octet-stream", "buffer": data}


# --- in the browser ------------------------------------------------------------------------------


def test_a_good_submission_is_ready(opened: Opened) -> None:
    result = opened.choose(LESIONS / "predictions.csv", LESIONS / "model.json")
    assert result.startswith("READY")
    assert "12 of 12" in result
    unchecked = opened.page.inner_text(".verdict p:last-child")
    assert unchecked.startswith("Not checked here: images, limits such as size and time, what needs the truth, ")
    assert "The inference script exists" in unchecked  # beside the file, but the browser does not show it


def test_drop_and_a_second_file(opened: Opened) -> None:
    """A dropped file with problems, and then a good one: only the result of the last one is shown."""
    rows = (LESIONS / "predictions.csv").read_text().splitlines(keepends=True)
    result = opened.drop("predictions.csv", "".join([*rows[:-1], rows[-1].replace("0.", "7.", 1)]).encode())
    assert result.startswith("NOT READY")
    assert "MC105" in result
    assert f"line {len(rows)}" in result
    assert opened.drop("predictions.csv", "".join(rows).encode()).startswith("READY")
    assert opened.page.locator(".verdict").count() == 1


def test_missing_cases_are_named(opened: Opened) -> None:
    rows = (LESIONS / "predictions.csv").read_text().splitlines(keepends=True)
    result = opened.choose(_file("p.csv", "".join(rows[:-1])))
    assert "11 of 12" in result
    assert "an expected image has no record" in result
    assert rows[-1].split(",")[0] in result


def test_the_same_problem_in_several_columns_is_shown_once(opened: Opened) -> None:
    """As on the command line; and what an invalid record answers is not reported as missing."""
    header, *rows = (LESIONS / "predictions.csv").read_text().splitlines()
    bad = [f"{row.partition(',')[0]}{',7' * 10}," for row in rows]
    result = opened.choose(_file("pct.csv", "\n".join([header, *bad]) + "\n"))
    assert result.startswith("NOT READY")
    assert "pct.csv is not valid" in result
    assert result.count("MC105") == 1
    assert "… the same for 'BCC', 'SK', 'SCC', 'VASC', 'DF', 'NV', 'NON', 'MEL', 'ON': 120 problems in all" in result
    assert "not possible until pct.csv is fixed" in result
    assert "an expected image has no record" not in result  # as in the test above, where one is missing
    result = opened.choose(_file("pct.csv", "\n".join([header, *bad[:1], *rows[1:]]) + "\n"))
    assert "12 of 12" in result
    assert "91.7 % processed (11 of 12), at least 95 % required: 1 more record needed (MC401)" in result
    assert "an expected image has no record" not in result


def test_archives(opened: Opened) -> None:
    """A .zip with folders and other files, and a .gz."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(LESIONS / "predictions.csv", "sent/predictions.csv")
        archive.write(LESIONS / "model.json", "sent/model.json")
        archive.writestr("__MACOSX/._model.json", "x")
        archive.write(LESIONS / "toy.model", "sent/toy.model")
    result = opened.drop("sent.zip", packed.getvalue())
    assert result.startswith("NOT READY")
    assert "sent/model.json refers to run_inference.py, which does not exist (MC311)" in result
    assert "1 other file" in result
    with zipfile.ZipFile(packed, "a") as archive:
        archive.write(LESIONS / "run_inference.py", "sent/run_inference.py")
    result = opened.drop("sent.zip", packed.getvalue())
    assert result.startswith("READY")
    assert "2 files not checked" in result
    content = gzip.compress((LESIONS / "predictions.csv").read_bytes())
    assert opened.drop("predictions.csv.gz", content).startswith("READY")


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.zip", b"PK no zip", "it is not a .zip"),
        ("a.csv.gz", b"no gzip", "The check failed"),
        ("a.json", b'{"predictions": [{"image_id": "I-1",', "MC011"),
        ("a.csv", b"", "MC004"),
        ("a.csv", b"epoch,loss\n1,2\n", "cannot be recognized"),
        (
            "a.csv",
            b"image_id;AK;BCC;SK;SCC;VASC;DF;NV;NON;MEL;ON\n",
            "the columns are separated by semicolons, not by commas",
        ),
        ("a.csv", b'"image_id"\t"AK"\t"BCC"\t"SK"\t"SCC"\t"VASC"\t"DF"\t"NV"\n', "separated by tabs"),
        ("a.jsonl", b"\xff\xfe{\x00", "MC006"),
        ("a.txt", b"hello", "Nothing to check"),
    ],
)
def test_broken_files(opened: Opened, name: str, content: bytes, expected: str) -> None:
    """Each is a result, and the next file can be checked."""
    assert expected in opened.drop(name, content)
    assert opened.choose(LESIONS / "predictions.csv").startswith("READY")


def test_hostile_names_and_contents(opened: Opened) -> None:
    """Markup in the name of a file, of a column or in a value is shown, not run."""
    name = HOSTILE.replace("/", "∕")
    result = opened.choose(_file(f"{name}.csv", f'"{HOSTILE.replace(chr(34), chr(34) * 2)}",image_id\n<b>x</b>,1\n'))
    assert name in result
    assert "run" not in opened.page.title().split()
    assert opened.page.locator("#result img, #result script, #result b").count() == 0


@pytest.mark.slow
def test_a_file_of_100_megabytes(opened: Opened, tmp_path: Path) -> None:
    """It is checked in a worker: the page answers meanwhile, and shows how far it is."""
    row = (LESIONS / "predictions.csv").read_text().splitlines()[1].partition(",")[2]
    header = (LESIONS / "predictions.csv").read_text().splitlines()[0]
    file = tmp_path / "large.csv"
    count = 100_000_000 // (len(row) + 10)
    file.write_text(header + "\n" + "".join(f"L{n:07},{row}\n" for n in range(count)))
    opened.page.set_input_files("#files", str(file))
    opened.page.wait_for_selector("progress[value]", timeout=60_000)
    assert "large.csv" in opened.page.inner_text("#doing")
    result = opened.result(300)
    assert f"{count:,} records" in result
    assert "0 of 12" in result


def test_an_archive_that_cannot_be_read_does_not_stop_the_check(opened: Opened) -> None:
    good = (LESIONS / "predictions.csv").read_bytes()
    result = opened.choose(_file("predictions.csv", good), _file("sent.zip", "PK no zip"))
    assert result.startswith("NOT READY")
    assert "sent.zip can be read" in result
    assert "12 of 12" in result


@pytest.mark.parametrize("width", [390, 1200])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation(browser: Any, lesions: Path, scheme: str, width: int) -> None:
    """The page before a check, after a good one, and after one with problems of all kinds."""
    axe = ROOT / "tests" / "node" / "node_modules" / "axe-core" / "axe.min.js"
    if not axe.is_file():
        pytest.skip("axe-core is not installed (npm install --no-save --prefix tests/node axe-core@4)")
    opened = Opened(browser, lesions, viewport={"width": width, "height": 900}, color_scheme=scheme)
    opened.page.evaluate(axe.read_text(encoding="utf-8"))
    rows = (LESIONS / "predictions.csv").read_text().splitlines()
    bad = "\n".join([rows[0], *(f"{row.partition(',')[0]},7{row[row.index('.') :]}" for row in rows[1:]), rows[1]])
    broken = [_file("p.csv", bad), _file("a.zip", "PK"), _file("a.txt", "a")]
    submissions: list[list[Any]] = [[], [LESIONS / "predictions.csv"], broken]
    for files in submissions:
        result = opened.choose(*files) if files else "start"
        found = opened.page.evaluate("axe.run().then(({ violations }) => violations)")
        assert [(each["id"], [node["html"] for node in each["nodes"]]) for each in found] == [], result
    assert result.startswith("NOT READY")
    opened.page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_looks(browser: Any, lesions: Path, scheme: str) -> None:
    """Contrast, nothing outside of a phone, and names for what can be operated."""
    opened = Opened(browser, lesions, viewport={"width": 360, "height": 740}, color_scheme=scheme)
    opened.choose(ROOT / "examples" / "bad" / "predictions.json", LESIONS / "predictions.csv")
    assert opened.page.evaluate(_CONTRAST) == []
    assert opened.page.evaluate(_OVERFLOW) <= 0
    for role in ("banner", "main", "contentinfo", "combobox"):
        assert opened.page.get_by_role(role).count() == 1, role
    unnamed = "[...document.querySelectorAll('input,select,progress')].filter(e => !e.labels?.length && !e.ariaLabel)"
    assert opened.page.evaluate(f"{unnamed}.map(e => e.id)") == []
    opened.page.keyboard.press("Tab")
    assert opened.page.evaluate("document.activeElement.id") == "files"
    opened.page.close()


# --- the verdict ---------------------------------------------------------------------------------

_ERROR = {"error": "out of memory"}
_CASES = {"triage": "inventory.csv", "extraction": "manifest.csv"}
_SUBMISSIONS: dict[str, tuple[dict[str, str], Callable[[Any], Any]]] = {
    "lesions": ({"predictions.jsonl": ""}, lambda record: {"image_id": record["image_id"], **_ERROR}),
    "reports": (
        {"predictions.json": "predictions"},
        lambda record: {"report_id": record["report_id"], "run_id": record["run_id"], **_ERROR},
    ),
    "triage": ({"response.json": "responses"}, lambda record: {**record, "model_predictions": [], **_ERROR}),
    "benchmark": ({"predictions.json": "predictions"}, lambda record: {**record, "prediction": {}, **_ERROR}),
    "extraction": (
        {"predictions/prescriptions.jsonl": "", "predictions/labs.jsonl": ""},
        lambda record: (
            {"doc_id": record["doc_id"], "parse_success": False, "exception": "out of memory"}
            | {name: [] for name in ("medicamentos", "resultados") if name in record}
        ),
    ),
}
"""By track: the files of a submission with the key of their list, and what makes a record a failed one."""
_CHANGES: dict[str, Callable[[list[Any], Callable[[Any], Any]], list[Any]]] = {
    "good": lambda records, fail: records,
    "one failed": lambda records, fail: [fail(records[0]), *records[1:]],
    "two failed": lambda records, fail: [*map(fail, records[:2]), *records[2:]],
    "all failed": lambda records, fail: list(map(fail, records)),
    "missing": lambda records, fail: records[1:],
    "unknown": lambda records, fail: [*records, {**records[0], _key(records[0]): "X-999"}],
    "repeated": lambda records, fail: [*records, records[0]],
    "repeated and failed": lambda records, fail: [*records, fail(records[0])],
    "one invalid": lambda records, fail: [{**records[0], "surprise": 1}, *records[1:]],
    "all invalid": lambda records, fail: [{**record, "surprise": 1} for record in records],
    "most invalid": lambda records, fail: [records[0], *({**record, "surprise": 1} for record in records[1:])],
    "empty": lambda records, fail: [],
    "only another run": lambda records, fail: [{**records[0], "run_id": "2"}, *records[1:]],
}


def _key(record: Any) -> str:
    return next(name for name in ("sample_id", "segment_id", "report_id", "image_id", "doc_id") if name in record)


def _texts(track: str, change: Callable[[list[Any], Callable[[Any], Any]], list[Any]]) -> dict[str, str]:
    """The files of the example's submission, in which the list of records is changed."""
    found = {}
    names, fail = _SUBMISSIONS[track]
    for name, key in names.items():
        if track == "lesions":
            rows = list(csv.DictReader((LESIONS / "predictions.csv").read_text().splitlines()))
            numbers = [{n: float(v) if n != "image_id" else v for n, v in row.items() if n != "error"} for row in rows]
            found[name] = "".join(f"{json.dumps(record)}\n" for record in change(numbers, fail))
        elif key:
            whole = json.loads((EXAMPLES / track / name).read_bytes())
            found[name] = json.dumps({**whole, key: change(whole[key], fail)})
        else:
            lines = (EXAMPLES / track / name).read_text().splitlines()
            found[name] = "".join(f"{json.dumps(record)}\n" for record in change(list(map(json.loads, lines)), fail))
    return found


_JUDGED = ("header", "answers", "coverage", "gate")


@pytest.mark.parametrize("track", _SUBMISSIONS)
def test_the_verdict_is_that_of_preflight(browser: Any, tmp_path: Path, track: str) -> None:
    names, _ = _SUBMISSIONS[track]
    cases = EXAMPLES / track / _CASES.get(track, "cases.csv")
    out = tmp_path / "check.html"
    page = medcontract.check_page(*_contracts(track), cases=cases)
    out.write_text(page, encoding="utf-8")
    opened = Opened(browser, out)
    submissions = {name: _texts(track, how) for name, how in _CHANGES.items()}
    good = submissions["good"]
    submissions["broken off"] = {name: text[: len(text) // 2] for name, text in good.items()}
    submissions["without header"] = {
        f"{name}l": "".join(f"{json.dumps(record)}\n" for record in json.loads(text)[key])
        for (name, text), key in zip(good.items(), names.values(), strict=True)
        if key
    }
    for what, texts in submissions.items():
        if not texts:
            continue
        folder = tmp_path / what
        folder.mkdir()
        for name, text in texts.items():
            (folder / name.rpartition("/")[2]).write_text(text, encoding="utf-8")
        files = sorted(folder.iterdir())
        expected = medcontract.preflight(*files, cases)
        shown = opened.choose(*files)
        assert shown.startswith("READY") == expected.ready, (track, what, shown)
        titles = {check.title: check.status for check in expected.checks if check.id in _JUDGED}
        found = opened.page.eval_on_selector_all(
            ".checks li", "all => all.map(e => [e.querySelector('strong').textContent, e.className])"
        )
        assert {title: dict(found).get(title, "skipped") for title in titles} == titles, (track, what, shown)
    assert opened.messages == []
    opened.page.close()


def _contracts(track: str) -> list[str]:
    known = {each["id"]: each for each in json.loads((ROOT / "conformance" / "tracks.json").read_bytes())["tracks"]}
    return [each["submission"] for each in known[track]["pairs"] if each["truth"]]


# --- its text ------------------------------------------------------------------------------------


def test_the_page_of_the_documentation_is_up_to_date() -> None:
    assert (ROOT / "docs" / "check.html").read_text(encoding="utf-8") == medcontract.check_page(), "script/generate"


def test_nothing_is_loaded_and_scripts_have_hashes() -> None:
    text = medcontract.check_page()
    page = Parsed(text)
    (policy,) = [attrs["content"] for tag, attrs in page.tags if attrs.get("http-equiv") == "Content-Security-Policy"]
    assert policy
    assert policy.startswith("default-src 'none'; ")
    for tag, directive in (("script", "script-src"), ("style", "style-src")):
        content = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        hashes = [base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in content]
        assert [f"'sha256-{each}'" for each in hashes] == re.findall(rf"{directive} ([^;]+)", policy)
    assert not {tag for tag, _ in page.tags} & {"link", "img", "iframe", "object"}
    assert "src" not in {name for _, attrs in page.tags for name in attrs}
    assert len(text) < 400_000


def test_the_page_of_a_challenge(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "challenge.toml").write_text(STROKE)
    truth = write(tmp_path / "truth.jsonl", stroke_truth())
    out = tmp_path / "check.html"
    call = [
        "bundle",
        "page",
        "--challenge",
        tmp_path / "challenge.toml",
        "--cases",
        f"stroke/truth={truth}",
        "--out",
        out,
    ]
    assert main([str(each) for each in call]) == 0
    opened = Opened(browser, out)
    assert opened.choose(write(tmp_path / "sent.jsonl", stroke_predictions())).startswith("READY")
    first, *others = stroke_predictions()
    failed = [{"case_id": first["case_id"], "error": "out of memory"}, *others]
    sent = write(tmp_path / "sent.jsonl", failed)
    assert "75 % processed (3 of 4), at least 95 % required: 1 more record needed" in opened.choose(sent)
    lenient = STROKE.replace("min_processed = 0.95", "min_processed = 0.75")
    (tmp_path / "challenge.toml").write_text(lenient)
    out.unlink()
    assert main([str(each) for each in call]) == 0
    again = Opened(browser, out)
    assert "At least 75 % are processed" in again.choose(sent)
    assert again.result().startswith("READY")
    again.page.close()
    settings = json.loads(re.findall(r"const settings = (.*);", out.read_text(encoding="utf-8"))[0])
    assert "stroke/truth" not in settings["contracts"], "of the truth it contains only ids"
    assert {name for each in settings["cases"] for record in each["records"] for name in record} == {"case_id"}
    opened.page.close()
