"""A submission that is read before its truth: the same result, and read again only where a place is needed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.scoring_files import answer, case, document, guess, image, report, response, run, telemetry, write

import medcontract
from medcontract.contracts.rules import OtherFile, Reference
from medcontract.evaluation import ahead
from medcontract.evaluation.ahead import Ahead, Noted
from medcontract.evaluation.chunk_work import find_repeats
from medcontract.evaluation.engine import EngineFailed, ProcessEngine, SerialEngine
from medcontract.reading import chunks
from medcontract.scoring.lesions import LesionsScorer
from medcontract.scoring.pairing import Pairing

COUNT = 400
Record = dict[str, Any]


@pytest.fixture
def outcomes(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Files are read in small chunks. For each submission that was read before its truth: whether that was enough."""
    found: list[bool] = []
    real = Ahead.pair

    def noted(self: Ahead, *arguments: Any) -> Pairing[Any, Any] | None:
        found.append(False)
        paired = real(self, *arguments)
        found[-1] = paired is not None
        return paired

    monkeypatch.setattr(chunks, "SMALLEST", 1000)
    monkeypatch.setattr(ahead, "_is_shorter", lambda *arguments: True)
    monkeypatch.setattr(Ahead, "pair", noted)
    return found


def lesions(folder: Path, sent: Sequence[Record], ending: str = "jsonl") -> list[Path]:
    truth = [image(f"I-{number:04}", "NV" if number % 3 else "MEL") for number in range(COUNT)]
    return [
        write(folder, "lesions/truth", truth, "csv", "truth"),
        write(folder, "lesions/predictions", sent, ending, "sent"),
    ]


def right() -> list[Record]:
    return [guess(f"I-{number:04}", "NV") for number in range(COUNT)]


def same(files: Sequence[Path], **options: Any) -> medcontract.Score:
    """The score with two processes, which is that of one."""
    alone, together = (medcontract.score(*files, jobs=jobs, **options) for jobs in (1, 2))
    assert together.to_json(show_values=True) == alone.to_json(show_values=True)
    return together


SPOILED: dict[str, tuple[Callable[[list[Record]], object], bool]] = {
    "nothing": (lambda sent: None, True),
    "the order": (lambda sent: sent.reverse(), True),
    "a failed record": (lambda sent: sent.__setitem__(7, {"image_id": "I-0007", "error": "time out"}), True),
    "an invalid record": (lambda sent: sent[9].update(probabilities=[0.5]), True),
    "a missing record": (lambda sent: sent.pop(30), True),
    "a repeated record": (lambda sent: sent.append(dict(sent[3])), True),
    "an unknown id": (lambda sent: sent[200].update(image_id="other"), False),
    "an invalid and a valid record of an image": (lambda sent: sent[90].update(image_id="I-0003", error="x"), False),
}


@pytest.mark.parametrize("ending", ["jsonl", "json", "csv"])
@pytest.mark.parametrize("name", SPOILED)
def test_faults(name: str, ending: str, tmp_path: Path, outcomes: list[bool]) -> None:
    """Only a problem that depends on the truth, and has a place, makes it necessary to read the submission again."""
    spoil, enough = SPOILED[name]
    sent = right()
    spoil(sent)
    same(lesions(tmp_path, sent, ending))
    assert outcomes == [enough]


def test_fields_of_rules(tmp_path: Path, outcomes: list[bool]) -> None:
    """Fields that are compared with the truth are kept, too."""
    truth = [
        segment
        for number in range(60)
        for segment in case(f"C-{number:02}", *((f"S-{number:02}-{n}", n * 9.0, n * 9.0 + 9, ()) for n in range(4)))
    ]
    sent = [response(segment, "airway") for segment in truth]
    folders = [tmp_path / "right", tmp_path / "wrong"]
    for folder, records in zip(folders, (sent, [*sent[:-1], {**sent[-1], "case_id": "C-00"}]), strict=True):
        folder.mkdir()
        same(
            [
                write(folder, "triage/ground-truth", truth, "jsonl", "truth"),
                write(folder, "triage/response", records, "jsonl", "sent"),
            ],
            header={"team_name": "Heron", "event": "e", "evaluation_date": "2026-01-01"},
        )
    assert outcomes == [True, False]


def test_runs(tmp_path: Path, outcomes: list[bool]) -> None:
    """Records belong to runs, and those of an unknown run are reported."""
    truth = [report(f"R-{number:03}") for number in range(COUNT)]
    sent = [answer(true, run=name) for name in ("1", "2") for true in truth]
    files = [
        write(tmp_path, "reports/truth", truth, "csv", "truth"),
        write(tmp_path, "reports/predictions", sent, "jsonl", "sent"),
    ]
    same(files)
    same([*files, *document(tmp_path, "telemetry", telemetry(run("1"), run("2")))])
    same([*files, *document(tmp_path, "telemetry", telemetry(run("1")))])
    assert outcomes == [True, True, False]


def test_compound_keys(tmp_path: Path, outcomes: list[bool]) -> None:
    """The ids of a challenge may consist of several fields, one of them called like a mark."""
    (tmp_path / "challenge.toml").write_text(
        'id = "pairs"\ntitle = "t"\nversion = 1\nkey = ["mark", "site"]\n'
        '[prediction]\nlabel = { one_of = ["a", "b"] }\n[truth]\nlabel = { one_of = ["a", "b"] }\n'
        '[[metric]]\nname = "right"\nkind = "accuracy"\nfield = "label"\n[score]\nheadline = "right"\n',
        encoding="utf-8",
    )
    rows = [f"m{number % 50},s{number // 50},{'ab'[number % 2]}" for number in range(COUNT)]
    truth, sent = tmp_path / "truth.csv", tmp_path / "sent.csv"
    for path, lines in ((truth, rows), (sent, [*rows[::-1][:-1], "m0,s0,b"])):
        path.write_text("\n".join(["mark,site,label", *lines, ""]), encoding="utf-8")
    challenge = medcontract.Challenge.load(tmp_path / "challenge.toml")
    found = [
        challenge.score(f"pairs/truth={truth}", f"pairs/predictions={sent}", header={"team_name": "x"}, jobs=jobs)
        for jobs in (1, 2)
    ]
    assert found[0].to_json() == found[1].to_json()
    assert found[0].result is not None
    assert found[0].result["metrics"] == {"right": (COUNT - 1) / COUNT}
    assert outcomes == [True]


@pytest.mark.parametrize("sizes", [(100, 99, 2), (100, 200, 4)])
def test_large_truth(sizes: tuple[int, int, int]) -> None:
    """One process would not keep up with the workers."""
    truth, sent, workers = sizes
    assert not ahead._is_shorter([_of_size(truth)], [_of_size(sent)], workers)
    assert ahead._is_shorter([_of_size(truth)], [_of_size(sent + 100)], workers)


def _of_size(size: int) -> Any:
    class Sized:
        source = type("Source", (), {"size": size})

    return Sized


def test_failing_workers(tmp_path: Path, outcomes: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    """The submission is read as usual, and nothing is lost."""

    def fail(self: SerialEngine, *arguments: Any) -> Any:
        raise EngineFailed

    files = lesions(tmp_path, right())
    alone = medcontract.score(*files, jobs=1).to_json()
    monkeypatch.setattr(ahead._Started, "map", fail)
    assert medcontract.score(*files, jobs=2).to_json() == alone
    assert outcomes == [False]


def test_what_workers_send(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, outcomes: list[bool]) -> None:
    """Of each record, its id in one text and its mark: no records, no probabilities."""
    sent: list[Noted] = []
    real = ahead.NotedPairing.absorb

    def absorb(self: ahead.NotedPairing, state: Any) -> None:
        sent.append(state)
        real(self, state)

    monkeypatch.setattr(ahead.NotedPairing, "absorb", absorb)
    same(lesions(tmp_path, right()))
    assert len(sent) > 2
    assert "\n".join(noted.columns[0] for noted in sent).split("\n") == [f"I-{number:04}" for number in range(COUNT)]
    assert {mark for noted in sent for mark in noted.marks} == {6}


def test_small_files_start_quickly(tmp_path: Path) -> None:
    """What only large files need is not imported."""
    truth, sent = lesions(tmp_path, right())
    code = f"import sys, medcontract; medcontract.score({str(truth)!r}, {str(sent)!r}, jobs=None); print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names = ran.stdout.split()
    assert "medcontract.evaluation.score" in names
    assert {"medcontract.evaluation.ahead", "multiprocessing", "concurrent.futures"}.isdisjoint(names)


class Custom(Reference, frozen=True, kw_only=True):
    """A rule of a plugin that reads other fields than the built-in one."""

    def record_check(self, other: OtherFile) -> Any:
        return lambda record: None if record.error is None else self.finding(("error",))


class Described(Custom, frozen=True, kw_only=True):
    @property
    def record_fields(self) -> tuple[str, ...]:
        return "image_id", "error"


@pytest.mark.parametrize(
    ("kind", "fields"), [(Reference, ("image_id",)), (Custom, None), (Described, ("image_id", "error"))]
)
def test_fields_of_a_rule(kind: type[Reference], fields: tuple[str, ...] | None) -> None:
    """A subclass that checks something else has to say what it reads."""
    rule = kind(other="lesions/truth", field="image_id", code="X301", message="m")
    assert ahead._fields_read_by(rule) == fields


def test_values_of_invalid_records_are_not_kept(tmp_path: Path, outcomes: list[bool]) -> None:
    """They may be large: only texts can be ids."""
    notes = ahead.Notes(LesionsScorer.pairs[0], ("image_id",))
    for value in ([1.0] * 1000, 7, None, "I-0001"):
        notes.reject({"image_id": value, "probabilities": [1.0] * 1000})
    assert [fields["image_id"] for _, fields in notes.export().invalid] == [list, int, None, "I-0001"]
    sent = right()
    sent[5]["image_id"] = [1, 2, 3]
    same(lesions(tmp_path, sent))
    assert outcomes == [True]


def test_repeated_ids_are_found_by_workers(
    tmp_path: Path, outcomes: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is left to do is not done by this process alone."""
    done: list[Any] = []
    real = ProcessEngine.map

    def noted(self: ProcessEngine, work: Any, *arguments: Any) -> Any:
        done.append(work)
        return real(self, work, *arguments)

    monkeypatch.setattr(ProcessEngine, "map", noted)
    same(lesions(tmp_path, [*right(), right()[3]]))
    assert outcomes == [True]
    assert done == [find_repeats]
