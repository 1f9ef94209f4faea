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

LIMIT, TWICE = "limit", "limit twice"
"""The labels of the library calls alone: in one process, and in two that do the same at the same time."""


class Target(NamedTuple):
    """Ratios to the baseline, and memory, that should not be exceeded. None: there is no target."""

    one: float | None
    two: float | None
    memory_mb: float | None


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
    """A script in peers/ or `validate`."""
    instead: tuple[str, ...]
    """What a user would write: a script in peers/ and its arguments before the files."""
    instead_with: str
    """The packages that it uses."""
    target: Target
    success: tuple[int, ...] = (0,)
    limit: str | None = None
    """What peers/limits.py does with the same files, if it can."""

    def needed(self, data: Path) -> list[Path]:
        """All files that it reads."""
        names = [self.submission, *([self.truth] if self.truth else [])]
        options = [Path(each.format(data=data)) for each in self.options if "{data}" in each]
        return [*(data / name for name in names), *options]

    def submissions(self, data: Path) -> list[Path]:
        path = data / self.submission
        return sorted(path.iterdir()) if path.is_dir() else [path]

    def commands(self, data: Path, scheduler: str) -> list[Command]:
        """The commands to compare, labeled as in the results."""
        sent = [str(path) for path in self.submissions(data)]
        files = [str(data / self.truth), *sent] if self.truth else sent
        options = [each.format(data=data) for each in self.options]
        ours = (*MEDCONTRACT, self.command, *files, *options)
        on_cluster = ("--engine", "dask", "--scheduler", scheduler)
        script, *arguments = self.instead
        return [
            Command("baseline", self._baseline(sent)),
            Command("one", (*ours, "--jobs", "1"), self.success),
            Command("two", (*ours, "--jobs", "2"), self.success),
            Command("default", ours, self.success),
            Command(CLUSTER, (*ours, *on_cluster), self.success),
            Command("instead", python_peer(script, *arguments, *files), patience=PATIENCE, most=PEER_RUNS),
            *(self._limits(self.limit, files) if self.limit else ()),
        ]

    def _limits(self, kind: str, files: Sequence[str]) -> Iterator[Command]:
        """The library calls alone, once and twice at the same time."""
        argv = python_peer("limits.py", kind, *files)
        yield Command(LIMIT, argv)
        yield Command(TWICE, python_peer("twice.py", *argv[1:]))

    def _baseline(self, sent: Sequence[str]) -> tuple[str, ...]:
        if self.baseline == "validate":
            return (*MEDCONTRACT, "validate", *sent, "--jobs", "1")
        return python_peer(self.baseline, *sent)


OURS = ("one", "two", "default", CLUSTER)
"""The labels of the commands that must print the same bytes."""
_ORJSON = "orjson_script.py"
_SKLEARN = "orjson, pandas, scikit-learn"

ROWS = (
    Row(
        "score-lesions", "`score`, {records} lesions", "lesions_1m", "score", "lesions_1m.jsonl",
        "lesions_1m_truth.csv", (), _ORJSON, ("score_lesions.py",), _SKLEARN, Target(4.0, 2.5, 350), limit="lesions",
    ),
    Row(
        "score-triage", "`score`, {records} triage responses with embeddings", "triage_100mb", "score",
        "triage_100mb.json", "triage_100mb_gt.json", (), _ORJSON, ("score_triage.py",), "orjson",
        Target(1.2, 0.9, 120),
    ),
    Row(
        "score-prescriptions", "`score`, {records} prescriptions", "prescriptions_100k", "score",
        "prescriptions_100k.jsonl", "prescriptions_100k_labels.jsonl", (), _ORJSON, ("score_prescriptions.py",),
        "orjson", Target(6.0, 3.5, 250), (0, 1),  # without evidence it is NO-GO
        limit="prescriptions",
    ),
    Row(
        "score-answers", "`score`, {records} answers with rationales", "answers_20k", "score", "answers_20k.jsonl",
        "answers_20k_references.jsonl", ("--set", "model_id=m"), _ORJSON, ("score_answers.py",), "orjson, rapidfuzz",
        Target(15, 9, 250), limit="answers",
    ),
    Row(
        "leaderboard", "`leaderboard`, {files} submissions of {each} lesions", "leaderboard_100", "leaderboard",
        "leaderboard_100", "leaderboard_100_truth.csv", (), "validate", ("score_lesions.py",), _SKLEARN,
        Target(1.2, 0.7, 200), limit="lesions",
    ),
    Row(
        "score-challenge", "`score --challenge`, {records} predictions", "challenge_1m", "score", "challenge_1m.jsonl",
        "challenge_1m_truth.csv", ("--challenge", "{data}/challenge_1m.toml"), _ORJSON, ("score_challenge.py",),
        _SKLEARN, Target(None, None, None),
    ),
    Row(
        "validate-lesions", "`validate`, {records} lesions", "lesions_1m", "validate", "lesions_1m.jsonl", None, (),
        _ORJSON, ("pydantic_script.py", "lesions"), "pydantic", Target(2.0, 1.2, 150),
    ),
    Row(
        "validate-csv", "`validate`, {records} rows of CSV", "lesions_100k.csv", "validate", "lesions_100k.csv", None,
        (), "csv_script.py", ("check_lesions.py",), "pandas", Target(3.0, None, 80),
    ),
)  # fmt: skip
BY_ID = {row.id: row for row in ROWS}


def count_records(row: Row, data: Path) -> int:
    """The number of records: one per line, apart from what surrounds them."""
    around = {".json": 2, ".csv": 1}.get(Path(row.submission).suffix, 0)
    return sum(_lines(path) - around for path in row.submissions(data))


def _lines(path: Path) -> int:
    with path.open("rb") as stream:
        return sum(block.count(b"\n") for block in iter(lambda: stream.read(1 << 20), b""))
