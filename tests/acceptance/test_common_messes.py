"""The commonest wrong habits get one kind of problem, with one hint that says the cause and what to do."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.commands import KEYS, SENT, TRACKS, TRUTH, Call, all_files, on_a_terminal, sent_file, truth_file
from tests.scoring_files import CLASSES
from tests.support import vectors

import medcontract
from medcontract.contracts.registry import compiled
from medcontract.contracts.rules.cross_file import lost_zeros_hint
from medcontract.reading.diagnosis import MOST_BYTES, encoding_of

SYNTAX = {vector.path.name: vector.path for vector in vectors() if vector.folder == "syntax"}
_PANDAS = "df.to_dict('records')"
_ONE_PER_LINE = "df.to_json(path, orient='records', lines=True)"
_PYTHON = "json.dump(data, file), not with str(data)"
_INDEX = "it looks like the index of a DataFrame"
HINTS = {
    # text around the data
    "markdown-fence.json": "remove the ``` lines",
    "markdown-fence-and-prose.json": "remove the ``` lines and all other text around it",
    "markdown-fence-at-the-end.json": "remove the ``` lines",
    "markdown-fence.jsonl": "remove this line",
    "markdown-fence.csv": "remove the line above and the ``` at the end",
    "prose-before.json": "remove the text before it",
    "prose-after.json": "remove the text after it",
    "prose-around.jsonl": "remove this line",
    "prose-before.csv": "remove the lines above",
    "title-row.csv": "remove the line above",
    "python-assignment.json": "remove the text before the first '{'",
    "javascript-assignment.json": "remove the text before the first '{'",
    "jsonp.json": "remove the text before the first '{'",
    # delimiters
    "semicolons.csv": "pd.read_csv(old, sep=';', dtype={'report_id': str})",
    "semicolons-decimal-commas-spanish.csv": (
        "separate the columns by commas, write decimal numbers with a dot, write true and false instead of "
        "FALSO and VERDADERO (in pandas: pd.read_csv(old, sep=';', decimal=',', true_values=['VERDADERO'], "
        "false_values=['FALSO'], dtype={'report_id': str}).to_csv(new, index=False))"
    ),
    "semicolons-windows-1252.csv": "save it as UTF-8 instead of Windows-1252",
    "semicolons-after-sep-line.csv": "remove the first line",
    "sep-line.csv": "remove the line",
    "tabs.csv": "sep='\\t'",
    "vertical-bars.csv": "sep='|'",
    "lines-in-quotes.csv": "remove the quotes around each line",
    "rows-in-quotes.csv": "remove the quotes around the row",
    "decimal-commas-unquoted.csv": "write decimal numbers with a dot",
    # encodings
    "windows-1252.json": "seems to be in Windows-1252: save it as UTF-8",
    "windows-1252.jsonl": "encoding='cp1252'",
    "windows-1252.csv": "in Excel: Save As, CSV UTF-8",
    "mac-roman.csv": "Mac Roman",
    "utf-16-le-bom-semicolons.csv": "save it as UTF-8",
    "bom-twice.csv": "remove it",
    "bom-twice.json": "remove it",
    "bom-twice.jsonl": "remove it",
    # other formats
    "tar-gz.json.gz": "tar -xzf",
    "tar.json": "extract the files",
    "zip.json": "extract the files",
    "7z.json": "extract the files",
    "rar.csv": "extract the files",
    "xlsx.csv": "Save As, CSV UTF-8",
    "xls.csv": "Save As, CSV UTF-8",
    "ods.csv": "export the sheet as CSV",
    "pdf.json": "export the data",
    "bzip2.json": "bunzip2",
    "xz.json": "unxz",
    "zstd.json": "unzstd",
    "pickle.json": "json.dump or df.to_csv",
    "numpy.csv": "df.to_csv(path, index=False)",
    "hdf5.csv": "df.to_csv(path, index=False)",
    "feather.csv": "df.to_csv(path, index=False)",
    "rtf.csv": "plain text",
    "git-lfs-pointer.json": "git lfs pull",
    "web-table.csv": "error page",
    "yaml.json": "yaml.safe_load",
    "holds-csv.json": "name the file .csv",
    "holds-json.jsonl": "name the file .json",
    "holds-json-on-one-line.jsonl": "name the file .json",
    "holds-a-list.jsonl": _ONE_PER_LINE,
    "lists.jsonl": _ONE_PER_LINE,
    "holds-a-list-over-lines.jsonl": "name the file .json",
    "holds-json-lines.json": "name the file .jsonl",
    "concatenated-documents.json": "keep one JSON value",
    "comma-after-each-record.jsonl": "remove the comma at the end of each line",
    "comment-line.json": "remove all comments",
    # truncated files
    "truncated-last-line-no-newline.jsonl": "the last line is truncated",
    "truncated-only-line.jsonl": "the last line is truncated",
    "truncated-middle-line.jsonl": "write each record on one line",
    "truncated-in-string.json": "the file may be truncated",
    # the arrangement of the records
    "pandas-columns.json": '{"team_name": "…", "predictions": ' + _PANDAS,
    "pandas-index.json": "list(data.values())",
    "pandas-split.json": _PANDAS,
    "pandas-values.json": _PANDAS,
    "pandas-table.json": _PANDAS,
    "pandas-list.json": _PANDAS,
    "pandas-records.json": 'wrap it: {"team_name": "…", "predictions": […]}',
    "pandas-columns.jsonl": _ONE_PER_LINE,
    "pandas-columns-under-list-key.json": _PANDAS,
    "records-by-id.json": "[{'report_id': key, **record} for key, record in data.items()]",
    "json-in-a-string.json": "not json.dump(json.dumps(data), file)",
    "list-in-a-string.json": "write the list itself",
    "single-record.json": '"predictions": [record]',
    "single-record-under-list-key.json": "[record]",
    "document-in-a-list.json": "remove the outer brackets",
    # the index of a DataFrame, and headers
    "pandas-records-with-index.jsonl": _INDEX,
    "unnamed-column.csv": _INDEX,
    "unnamed-0-column.csv": _INDEX,
    "index-column.csv": _INDEX,
    "empty-columns-at-the-end.csv": "remove the commas at the end of each line",
    "no-header.csv": "add a first line with the column names",
    # Python
    "python-repr.json": _PYTHON,
    "python-repr.jsonl": _PYTHON,
    "python-true.json": _PYTHON,
    "python-none.json": _PYTHON,
    "typographic-quotes.json": "straight quotes",
}
"""Vectors in `syntax`, and a part of the hint of each of their problems."""


@pytest.mark.parametrize("name", HINTS)
def test_hint(name: str) -> None:
    """All problems of the file are of one kind, and have the hint; no cell of the file is quoted in it."""
    report = medcontract.validate_files([SYNTAX[name]]).files[0]
    assert {HINTS[name] in (problem.hint or "") for problem in report.problems} == {True}, report.problems
    assert len({(problem.code, problem.message) for problem in report.problems}) == 1
    assert not report.usage_error
    assert not any(word in report.to_json() for word in ("Cardiology", "R-001", "Andes"))


@pytest.mark.parametrize("name", [name for name in HINTS if name.endswith(".csv")])
def test_tables_with_their_contract(name: str) -> None:
    """Specifying the contract does not turn one problem into one for each column."""
    found, named = (
        medcontract.validate_files([SYNTAX[name]], contract).files[0] for contract in (None, "reports/predictions")
    )
    assert [problem.code for problem in named.problems] == [problem.code for problem in found.problems]


@pytest.mark.parametrize("name", [name for name in HINTS if name.startswith(("pandas", "single", "records", "holds"))])
def test_records_with_their_contract(name: str) -> None:
    """Specifying the contract does not turn one problem into one for each key."""
    report = medcontract.validate_files([SYNTAX[name]], "reports/predictions").files[0]
    assert len({(problem.code, problem.message) for problem in report.problems}) == 1


def test_the_missing_header_is_listed() -> None:
    """If the contract is known, the hint has the line to add; lists are spread over columns."""
    row = ",".join(["I-1", *["0.1"] * 10])
    (problem,) = medcontract.validate(row.encode(), "lesions/predictions", name="x.csv").problems
    assert f": image_id,{','.join(CLASSES)} (in pandas" in str(problem.hint)


def test_names_of_columns_are_not_values() -> None:
    """A header that is merely unknown is not taken for data, nor for another format."""
    report = medcontract.validate(b"id,especialidad\nR-1,Cardiology\n", "reports/truth", name="x.csv")
    assert {problem.code for problem in report.problems} == {"MC101", "MC102"}


@pytest.mark.parametrize(("name", "content"), [
    ("ORC_id.csv", b"ORC_id,report_id\n1,R-1\n"),
    ("BZh.csv", b"BZh,report_id\n1,R-1\n"),
    ("semicolon-in-a-name.csv", b"report_id,a;b;c;d\nR-1,x\n"),
    ("bom-twice.csv", "\ufeff\ufeffnotes,report_id\nx,R-1\n".encode()),
    ("one-line.jsonl", b'{"report_id": "R-1", "cases": [{"report_id": "R-1"}]}\n'),
])  # fmt: skip
def test_no_false_alarm(name: str, content: bytes) -> None:
    """What only resembles such a file is read as usual."""
    assert medcontract.validate(content, "reports/cases", name=name).ok


@pytest.mark.parametrize(
    "content",
    [{"a": {"0": 1}}, [[1, 2], [3, 4]], {"x": {"y": 1}}, "text", {"cases": "all"}, {"report_id": "1", "a": 1, "b": 2}],
)
def test_other_json_is_not_explained(content: Any) -> None:
    """JSON that has nothing to do with any contract is not recognized, as before."""
    report = medcontract.validate(json.dumps(content).encode(), name="x.json")
    assert [problem.code for problem in report.problems] == ["MC009"]


_RECORD = b'{"report_id": "R-1", "specialty": "Other", "urgency": "Routine", "follow_up": true}\n'


@pytest.mark.parametrize(
    "first", [b"{\n", b"[\n", b'["R-1", "Other"]\n', b'[{"report_id": "R-1"}]\n', b'{"report_id":\n']
)
def test_one_bad_line_does_not_spoil_the_others(first: bytes) -> None:
    """Only a file that is one JSON value is rejected as such; otherwise, each bad line is one invalid record."""
    report = medcontract.validate(first + _RECORD, "reports/truth", name="x.jsonl")
    assert (report.records, report.errors) == (2, 1)


def test_a_long_list_on_one_line() -> None:
    """It is recognized by its start."""
    content = json.dumps([json.loads(_RECORD)] * 2000).encode()
    (problem,) = medcontract.validate(content, name="x.jsonl").problems
    assert problem.message == "this is a JSON list, not JSON Lines"


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
def test_csv_in_a_jsonl(ending: bytes) -> None:
    """One problem says so, instead of one for each line."""
    content = ending.join([b"report_id,urgency", b"R-1,Urgent", b"R-2,Routine", b""])
    report = medcontract.validate(content, name="x.jsonl")
    (problem,) = report.problems
    assert (problem.code, problem.line, problem.column) == ("MC005", 1, 1)
    assert problem.hint == "name the file .csv, or convert it to JSON"


def test_large_files_are_explained_by_their_start() -> None:
    """Of a large file only the start is parsed; its brackets need not be closed there."""
    column = {str(number): f"R-{number}" for number in range(MOST_BYTES // 10)}
    content = json.dumps({"report_id": column, "specialty": column}).encode()
    assert len(content) > 2 * MOST_BYTES
    (problem,) = medcontract.validate(content, name="x.json").problems
    assert "as df.to_json() writes it" in problem.message


@pytest.mark.parametrize(("given", "wanted", "hint"), [
    (7, "report_id", "write it in quotes, as the id was given, with its prefix and leading zeros"),
    (7.0, "report_id", "dtype=str"),
    ("0.93", "processing_time_sec", "without quotes"),
    ("1,5", "processing_time_sec", "with a dot"),
    ("1,234.5", "processing_time_sec", "without thousands separators"),
    ("93 %", "processing_time_sec", "without %"),
    ("1.5 s", "processing_time_sec", "without the unit"),
    ("NaN", "processing_time_sec", "write the reason into 'error'"),
    ("N/A", "processing_time_sec", "write the reason into 'error'"),
        ("#N/A", "processing_time_sec", "a spreadsheet found no value for the cell"),
    ("Sí", "follow_up", "write true without quotes"),
    ("FALSO", "follow_up", "write false without quotes"),
    ("WAHR", "follow_up", "write true without quotes"),
    (0, "follow_up", "write false"),
])  # fmt: skip
def test_wrong_types(given: Any, wanted: str, hint: str) -> None:
    """A value of another type gets the way to write it, and the hint does not quote it."""
    record = {"report_id": "R-1", "specialty": "Other", "urgency": "Routine", "follow_up": True}
    line = json.dumps({**record, "processing_time_sec": 1.0, wanted: given}).encode()
    (problem,) = medcontract.validate(line, "reports/predictions", name="x.jsonl").problems
    assert problem.code == "MC103"
    assert hint in str(problem.hint)


@pytest.mark.parametrize(("contract", "header", "row"), [
    ("reports/predictions", "report_id,specialty,urgency,follow_up,processing_time_sec", "1,Other,Routine,true,{}"),
    ("lesions/predictions", f"image_id,{','.join(CLASSES)}", "1,{},0,0,0,0,0,0,0,0,0"),
    ("lesions/cases", "image_id,image_path,age,gender,location", "1,a.png,{},f,1"),
    (
        "extraction/runs",
        "run_id,kind,parse_success,valid_items,restarted,code_version,latency_sec",
        "1,evaluation,true,1,false,v1,{}",
    ),
])  # fmt: skip
def test_percent_cells(contract: str, header: str, row: str) -> None:
    """In every table with numbers, a percentage is explained."""
    content = f"{header}\n{row.format('25%')}\n".encode()
    (problem,) = medcontract.validate(content, contract, name="x.csv").problems
    rest = "number without %; where 0 to 1 is expected, 25 % is 0.25"
    rest = "share as a number from 0 to 1: 25 % is 0.25" if contract == "lesions/predictions" else rest
    assert problem.hint == f"write the {rest}"


def test_percentages_as_numbers() -> None:
    """Numbers that add up to 100 where at most 1 is allowed are percentages."""
    record = {"image_id": "I-1", "probabilities": [100.0, *[0.0] * 9]}
    (problem,) = medcontract.validate(json.dumps(record).encode(), "lesions/predictions", name="x.jsonl").problems
    assert (problem.code, problem.hint) == ("MC105", "these are percentages: divide them by 100")


def test_a_row_without_an_id_may_have_nan() -> None:
    """It is an invalid record like others, not an error of ours."""
    report = medcontract.validate(f"image_id,{','.join(CLASSES)}\n,nan{',0' * 9}\n".encode(), name="x.csv")
    assert {problem.code for problem in report.problems} == {"MC106", "MC016"}


def test_columns_of_a_list_are_one_kind(call: Call, tmp_path: Path) -> None:
    """The same mistake in all ten columns of the classes is shown once and counted."""
    path = tmp_path / "x.csv"
    path.write_text(f"image_id,{','.join(CLASSES)}\n" + f"I-1,{','.join(['10%'] * 10)}\n" * 4)
    ran = call("validate", path)
    assert ran.out.count("error MC103") == 1
    assert ": 40 problems in all\n" in ran.out


def test_columns_as_in_a_spreadsheet(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A problem in a cell names the field and the letter of its column, also for wide tables and on a terminal."""
    names = ["report_id", *(f"extra_{number}" for number in range(27)), "specialty"]
    path = tmp_path / "x.csv"
    path.write_text(f"{','.join(names)},urgency,follow_up\n" + "R-1," + "," * 27 + "Cardio,Urgent,maybe\n")
    text = call("validate", "--contract", "reports/truth", path, "--max-problems", 100).out
    assert "x.csv:2: error MC104 'specialty' must be one of" in text
    assert "Emergency Medicine, Other (column AC)\n" in text
    assert "'follow_up' must be true or false, not a string (column AE)\n" in text
    assert "column 'extra_0' is not in this contract (column B)\n" in text
    on_a_terminal(monkeypatch)
    assert "(column AE)" in call("validate", "--contract", "reports/truth", path, "--max-problems", 100).out


@pytest.mark.parametrize("track", TRACKS)
@pytest.mark.parametrize("suffix", ["", ".0"])
def test_lost_zeros(track: str, suffix: str, tmp_path: Path, call: Call) -> None:
    """Ids that lost their leading zeros are explained in every track, but not to participants."""
    key = KEYS[track]

    def changed(records: list[Any], text: str) -> list[Any]:
        return [{**record, key: text.format(number)} for number, record in enumerate(records)]

    truth = truth_file(tmp_path, track, changed(TRUTH[track], "{:03}"))
    sent = sent_file(tmp_path, track, changed(SENT[track], "{}" + suffix))
    problems = call("score", truth, sent, "--format", "json").json["problems"]
    hints = {problem["hint"] for problem in problems if problem["code"] == "MC303"}
    assert len(hints) == 1
    assert "an expected id differs only in leading zeros; keep ids as text (in pandas: dtype=str" in hints.pop()
    assert "leading zeros" not in call("score", truth, sent, "--participant").out


@pytest.mark.parametrize(
    ("key", "ids", "found"),
    [
        ("7", {"007"}, True), ("007", {"7"}, True), ("R-7", {"R-0007"}, True), ("7.0", {"7"}, True),
        ("7.0", {"007"}, True), ("7-a-1", {"007-a-1"}, True), (("qa", "7"), {("qa", "07")}, True),
        (("1", "x"), {("01", "x")}, True), ("70", {"7"}, False), ("R-7", {"S-7"}, False), (None, {"7"}, False),
        ("x", {"y"}, False),
    ],
)  # fmt: skip
def test_lost_zeros_of_ids(key: Any, ids: set[Any], found: bool) -> None:
    """Only leading zeros and '.0' are explained."""
    assert (lost_zeros_hint(key, ids) is not None) == found


@pytest.mark.parametrize(
    ("data", "name"),
    [
        ("año".encode("cp1252"), "Windows-1252"), ("“quoted” text".encode("cp1252"), "Windows-1252"),
        ("días más áridos".encode("mac_roman"), "Mac Roman"),
        ("días más áridos".encode("cp850"), "the DOS code page 850"),
        ("30 días".encode("mac_roman"), None), ("don’t".encode("cp1252"), "Windows-1252"),
        (b"\xff\xff\xff", None), (b"\xed\xa0\x80", None), (b"caf\xc3", None),
    ],
)  # fmt: skip
def test_encodings(data: bytes, name: str | None) -> None:
    """The encoding in which most of the unusual bytes are letters; none if the text is just damaged."""
    with pytest.raises(UnicodeDecodeError) as error:
        data.decode()
    found = encoding_of(data, error.value.start)
    assert (found and found.name) == name


def test_all_contracts_can_be_written_from_the_hint() -> None:
    """The hint how to wrap a list has the header that the contract requires."""
    for contract in compiled().values():
        if contract.list_key and contract.forms:
            content = [dict.fromkeys(contract.forms[0])]
            (problem,) = medcontract.validate(json.dumps(content).encode(), contract.id, name="x.json").problems
            assert all(f'"{name}": ' in str(problem.hint) for name in contract.header_required), contract.id


def test_all_files_of_all_tracks_have_no_hints(tmp_path: Path) -> None:
    """Valid files of all tracks are not taken for anything else."""
    for track in TRACKS:
        folder = tmp_path / track
        folder.mkdir()
        for report in medcontract.validate_files([str(path) for path in all_files(folder, track)]).files:
            assert report.ok, report.problems


_ROWS = [("R-1", "Oncology", "Urgent", "true", "0.5"), ("R-2", "Other", "Routine", "false", "0.7")]
_NAMES = ("report_id", "specialty", "urgency", "follow_up", "processing_time_sec")
_PROBABILITIES = [("I-1", *(["1"] + ["0"] * 9)), ("I-2", *(["0"] * 9 + ["1"]))]


def _long(key: str, names: Sequence[str], rows: Sequence[Sequence[str]], *columns: str) -> bytes:
    """One row per value, as `df.melt()` writes them."""
    lines = [",".join((key, *columns))]
    lines += [f"{row[0]},{name},{cell}" for row in rows for name, cell in zip(names, row[1:], strict=True)]
    return "\n".join(lines).encode()


def _transposed(names: Sequence[str], rows: Sequence[Sequence[str]]) -> bytes:
    return "\n".join(",".join((name, *cells)) for name, *cells in zip(names, *rows, strict=True)).encode()


@pytest.mark.parametrize(("content", "contract", "hint"), [
    (_transposed(_NAMES, _ROWS), "reports/predictions", "the table is transposed"),
    (_transposed(("image_id", *CLASSES), _PROBABILITIES), "lesions/predictions", "the table is transposed"),
    (_long("report_id", _NAMES[1:], _ROWS, "variable", "value"), "reports/predictions",
     "df.pivot(index='report_id', columns='variable', values='value')"),
    (_long("image_id", CLASSES, _PROBABILITIES, "class", "p"), "lesions/predictions",
     "df.pivot(index='image_id', columns='class', values='p')"),
    (_long("image_id", ["x"], [], *(f"class_{n}" for n in range(10))), "lesions/predictions",
     "name each of them after its class: AK, BCC"),
])  # fmt: skip
def test_other_arrangements_of_a_table(content: bytes, contract: str, hint: str) -> None:
    """A transposed table, one row per value, classes with other names: never valid as an open contract."""
    (problem,) = medcontract.validate(content, name="x.csv").problems
    assert (problem.code, problem.line) == ("MC005", 1)
    assert contract in problem.message
    assert hint in (problem.hint or "")


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("char", ["", "\x0c", "\x85", "\u2028"])
def test_lines_above_the_header_are_counted_as_everywhere(line_end: str, char: str) -> None:
    """Lines end with LF, CRLF or CR, and nothing else."""
    text = line_end.join([f"Export{char} of June", "by us", "image_id,label", "I-1,NV", ""])
    (problem,) = medcontract.validate(text.encode(), name="x.csv").problems
    assert problem.message == "the column names are on line 3, not on the first line"


@pytest.mark.parametrize(
    ("content", "contract"),
    [
        (b"image_id,Label,site\nI-1,MEL,a\nI-2,NV,a\nI-3,BCC,b\nI-4,AK,b\nI-5,SK,b\n", "lesions/truth"),
        (b"report_id,ward\nR-1,specialty\nR-2,a\n", "reports/cases"),
        (b"image_id,label,site\nI-1,MEL,a\nI-1,NV,a\nI-1,BCC,b\nI-1,AK,b\nI-1,SK,b\n", "lesions/truth"),
    ],
)
def test_names_in_other_cells(content: bytes, contract: str) -> None:
    """Cells that are names of columns by chance do not matter."""
    assert medcontract.validate(content, name="x.csv").contract == contract


def test_a_header_row_alone() -> None:
    """It is valid, with a warning; an empty list in `.json` is written on purpose."""
    report = medcontract.validate(",".join(_NAMES).encode(), name="x.csv")
    (problem,) = report.problems
    assert (report.ok, problem.code, problem.severity, problem.line) == (True, "MC511", "warning", 1)
    assert medcontract.validate(b'{"team_name": "a", "predictions": []}', "reports/predictions").problems == ()
