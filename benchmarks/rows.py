"""The rows of the kept table: what is measured, against which baseline, and with which target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.measure import CLUSTER, MEDCONTRACT, Command, python_peer

PATIENCE = 60.0
"""Seconds: what a user would write instead is run only once if it takes longer."""
PEER_RUNS = 3
"""And otherwise at most this many times, to save time."""

REFERENCE, TWICE = "reference", "reference twice"
"""The labels of the library calls alone: in one process, and in two that do the same at the same time."""


LARGE = 60
"""Megabytes. Two processes should pay off for larger files."""
WITH_INTERVALS = {"score": 1.6, "leaderboard": 3.0}
"""Bounds of a command with intervals, relative to the same without them."""
TWO, SLOWER, ON_DASK, AS_CLEAN = 0.85, 1.05, 1.8, 1.3
"""Bounds, relative to one process: of two processes for large files, of two processes and the default for any, of Dask
with two workers; and of a file as people send it, relative to the clean one."""


class Row(NamedTuple):
    """One kind of work on one file, or on a folder of submissions."""

    id: str
    title: str
    """With `{records}`: all records, or `{files}` and `{each}`: submissions, and the records of each."""
    data: str
    """The name of the files for generate.py."""
    command: str
    submission: str
    truth: str | None
    options: tuple[str, ...]
    """Of the command; `{data}` is the folder of the files."""
    baseline: str
    """A script in peers/ or `validate`; for a file as people send it, the clean file of the same size. With intervals,
    nothing: it is the same command without them."""
    instead: tuple[str, ...]
    """What a user would write: a script in peers/ and its arguments before the files. None if it needs a clean file."""
    instead_with: str
    """The packages that it uses."""
    memory_mb: float | None
    """Memory that should not be exceeded with one or two processes."""
    success: tuple[int, ...] = (0,)
    reference: str | None = None
    """What peers/references.py does with the same files, if it can."""

    @property
    def as_sent(self) -> bool:
        """Whether the files are as people send them."""
        return "_as_sent" in self.submission

    @property
    def with_intervals(self) -> bool:
        return "--intervals" in self.options

    def needed(self, data: Path) -> list[Path]:
        """All files that it reads."""
        names = [self.submission, *([self.truth] if self.truth else []), *([self.baseline] if self.as_sent else [])]
        options = [Path(each.format(data=data)) for each in self.options if "{data}" in each]
        return [*(data / name for name in names), *options]

    def submissions(self, data: Path) -> list[Path]:
        return _files(data / self.submission)

    def commands(self, data: Path, scheduler: str) -> list[Command]:
        """The commands to compare, labeled as in the results."""
        sent = [str(path) for path in self.submissions(data)]
        files = [str(data / self.truth), *sent] if self.truth else sent
        options = [each.format(data=data) for each in self.options]
        ours = (*MEDCONTRACT, self.command, *files, *options)
        on_cluster = ("--engine", "dask", "--scheduler", scheduler)
        return [
            Command(
                "baseline", self._baseline(sent, data), self.success if self.as_sent or self.with_intervals else (0,)
            ),
            Command("one", (*ours, "--jobs", "1"), self.success),
            Command("two", (*ours, "--jobs", "2"), self.success),
            Command("default", ours, self.success),
            Command(CLUSTER, (*ours, *on_cluster), self.success),
            *(self._instead(files)),
            *(self._references(self.reference, files) if self.reference else ()),
        ]

    def _instead(self, files: Sequence[str]) -> Iterator[Command]:
        if self.instead:
            script, *arguments = self.instead
            yield Command("instead", python_peer(script, *arguments, *files), patience=PATIENCE, most=PEER_RUNS)

    def _references(self, kind: str, files: Sequence[str]) -> Iterator[Command]:
        """The library calls alone, once and twice at the same time."""
        argv = python_peer("references.py", kind, *files)
        yield Command(REFERENCE, argv)
        yield Command(TWICE, python_peer("twice.py", *argv[1:]))

    def _baseline(self, sent: Sequence[str], data: Path) -> tuple[str, ...]:
        if self.as_sent:
            clean = [str(path) for path in _files(data / self.baseline)]
            options = [each.format(data=data) for each in self.options]
            return (*MEDCONTRACT, self.command, str(data / (self.truth or "")), *clean, *options, "--jobs", "1")
        if self.with_intervals:
            options = [each.format(data=data) for each in self.options if each != "--intervals"]
            return (*MEDCONTRACT, self.command, str(data / (self.truth or "")), *sent, *options, "--jobs", "1")
        if self.baseline == "validate":
            return (*MEDCONTRACT, "validate", *sent, "--jobs", "1")
        return python_peer(self.baseline, *sent)


def _files(path: Path) -> list[Path]:
    return sorted(path.iterdir()) if path.is_dir() else [path]


OURS = ("one", "two", "default", CLUSTER)
"""The labels of the commands that must print the same bytes."""
_ORJSON = "orjson_script.py"
_SKLEARN = "orjson, pandas, scikit-learn"

_CLEAN_FILES: tuple[Row, ...] = (
    Row(
        "score-lesions", "`score`, {records} lesions", "lesions_1m", "score", "lesions_1m.jsonl",
        "lesions_1m_truth.csv", (), _ORJSON, ("score_lesions.py",), _SKLEARN, 350, reference="lesions",
    ),
    Row(
        "score-triage", "`score`, {records} triage responses with embeddings", "triage_100mb", "score",
        "triage_100mb.json", "triage_100mb_gt.json", (), _ORJSON, ("score_triage.py",), "orjson",
        120,
    ),
    Row(
        "score-prescriptions", "`score`, {records} prescriptions", "prescriptions_100k", "score",
        "prescriptions_100k.jsonl", "prescriptions_100k_labels.jsonl", (), _ORJSON, ("score_prescriptions.py",),
        "orjson", 250, (0, 1),  # without evidence it is NO-GO
        reference="prescriptions",
    ),
    Row(
        "score-answers", "`score`, {records} answers with rationales", "answers_20k", "score", "answers_20k.jsonl",
        "answers_20k_references.jsonl", ("--set", "model_id=m"), _ORJSON, ("score_answers.py",), "orjson, rapidfuzz",
        250, reference="answers",
    ),
    Row(
        "leaderboard", "`leaderboard`, {files} submissions of {each} lesions", "leaderboard_100", "leaderboard",
        "leaderboard_100", "leaderboard_100_truth.csv", (), "validate", ("score_lesions.py",), _SKLEARN,
        200, reference="lesions",
    ),
    Row(
        "score-challenge", "`score --challenge`, {records} predictions", "challenge_1m", "score", "challenge_1m.jsonl",
        "challenge_1m_truth.csv", ("--challenge", "{data}/challenge_1m.toml"), _ORJSON, ("score_challenge.py",),
        _SKLEARN, None,
    ),
    Row(
        "score-lesions-intervals", "`score --intervals`, {records} lesions", "lesions_1m", "score", "lesions_1m.jsonl",
        "lesions_1m_truth.csv", ("--intervals",), "", (), "", 650,
    ),
    Row(
        "score-challenge-intervals", "`score --challenge --intervals`, {records} predictions", "challenge_10k", "score",
        "challenge_10k.jsonl", "challenge_10k_truth.csv", ("--challenge", "{data}/challenge_10k.toml", "--intervals"),
        "", ("bootstrap_challenge.py",), _SKLEARN, 350,
    ),
    Row(
        "leaderboard-intervals", "`leaderboard --intervals`, {files} submissions of {each} lesions", "leaderboard_100",
        "leaderboard", "leaderboard_100", "leaderboard_100_truth.csv", ("--intervals",), "", (), "", 500,
    ),
    Row(
        "validate-lesions", "`validate`, {records} lesions", "lesions_1m", "validate", "lesions_1m.jsonl", None, (),
        _ORJSON, ("pydantic_script.py", "lesions"), "pydantic", 150,
    ),
    Row(
        "validate-csv", "`validate`, {records} rows of CSV", "lesions_100k.csv", "validate", "lesions_100k.csv", None,
        (), "csv_script.py", ("check_lesions.py",), "pandas", 80,
    ),
)  # fmt: skip
_AS_SENT = (
    ("score-lesions", "lesions_1m.jsonl"), ("score-lesions", "lesions_1m.json"),
    ("score-triage", "triage_100mb.json"),
    ("score-prescriptions", "prescriptions_100k.jsonl"), ("score-prescriptions", "prescriptions_100k.json"),
    ("score-challenge", "challenge_1m.jsonl"), ("score-challenge", "challenge_1m.json"),
    ("leaderboard", "leaderboard_100"),
)  # fmt: skip
"""The rows that are also measured with files as people send them, and their clean files."""


def _as_sent(row: Row, clean: str) -> Row:
    stem, dot, ending = clean.partition(".")
    return row._replace(
        id=f"{row.id}-as-sent{f'-{ending}' if ending == 'json' and row.submission != clean else ''}",
        title=f"{row.title}, as sent{f' ({dot}{ending})' if ending else ''}", submission=f"{stem}_as_sent{dot}{ending}",
        baseline=clean, instead=(), instead_with="", memory_mb=row.memory_mb, reference=None,
    )  # fmt: skip


_BY_ID = {row.id: row for row in _CLEAN_FILES}
ROWS = (*_CLEAN_FILES, *(_as_sent(_BY_ID[name], clean) for name, clean in _AS_SENT))
BY_ID = {row.id: row for row in ROWS}


def count_records(row: Row, data: Path) -> int:
    """The number of records: one per line, apart from what surrounds them."""
    around = {".json": 2, ".csv": 1}.get(Path(row.submission).suffix, 0)
    return sum(_lines(path) - around for path in row.submissions(data))


def _lines(path: Path) -> int:
    with path.open("rb") as stream:
        return sum(block.count(b"\n") for block in iter(lambda: stream.read(1 << 20), b""))
