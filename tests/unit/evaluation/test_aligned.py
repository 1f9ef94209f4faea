"""A truth and a submission that are read together: the same result, and read again only where that is needed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from tests.scoring_files import drug, listed, read_rx, reference, rx, says, write
from tests.support import property_settings

import medcontract
from medcontract.evaluation import aligned
from medcontract.evaluation.aligned import Aligned, ChunkPairing
from medcontract.evaluation.chunk_work import find_repeats
from medcontract.evaluation.engine import EngineFailed, ProcessEngine, SerialEngine
from medcontract.reading import chunks
from medcontract.reading.archive_paths import open_source
from medcontract.reading.limits import Limits
from medcontract.reading.source import Source
from medcontract.scoring.canonical import ContentHash
from medcontract.scoring.expected import Expected, ExpectedState
from medcontract.scoring.lesions import LesionsScorer
from medcontract.scoring.marks import Marks, Unscored

COUNT = 300
Record = dict[str, Any]


@pytest.fixture
def outcomes(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Files are read in small chunks. For each two files that were divided at the same records: whether they fit."""
    found: list[bool] = []
    real = Aligned.read

    def noted(self: Aligned, *arguments: Any) -> Expected[Any] | None:
        expected = real(self, *arguments)
        found.append(expected is not None)
        return expected

    monkeypatch.setattr(chunks, "SMALLEST", 2000)
    monkeypatch.setattr(chunks, "_WINDOW", 20_000)
    monkeypatch.setattr(Aligned, "read", noted)
    return found


NAMES = ("Metformina", "Losartán", "Enalapril", "Omeprazol")


def drugs(number: int) -> list[Record]:
    return [drug(NAMES[(number + place) % 4], f"{number} mg", "cada 8 horas", "7 días", "") for place in range(2)]


def labels() -> list[Record]:
    return [rx(f"RX-{number:04}", *drugs(number)) for number in range(COUNT)]


def predictions() -> list[Record]:
    """Of a third, one of two names and all doses are wrong."""
    return [read_rx(f"RX-{number:04}", *drugs(number + number % 3 // 2)) for number in range(COUNT)]


def files(folder: Path, truth: Sequence[Record], sent: Sequence[Record], ending: str = "jsonl") -> list[Path]:
    return [
        write(folder, "extraction/prescription-labels", truth, ending, "truth"),
        write(folder, "extraction/prescription-predictions", sent, ending, "sent"),
    ]


def same(paths: Sequence[Path], **options: Any) -> medcontract.Score:
    """The score with two processes, which is that of one."""
    alone, together = (medcontract.score(*paths, jobs=jobs, **options) for jobs in (1, 2))
    assert together.to_json(show_values=True) == alone.to_json(show_values=True)
    return together


SPOILED: dict[str, tuple[Callable[[list[Record]], object], list[bool]]] = {
    "nothing": (lambda sent: None, [True]),
    "an invalid record": (lambda sent: sent[9].update(parse_success="yes"), [True]),
    "an invalid record without an id": (lambda sent: sent[9].update(doc_id=7), [True]),
    "a missing record": (lambda sent: sent.pop(30), [True]),
    "the records around a border": (lambda sent: sent.__delitem__(slice(100, 160)), []),
    "a record that is not JSON": (lambda sent: sent[30].update(doc_id="\ud800"), [True]),
    "an unknown id": (lambda sent: sent[200].update(doc_id="other"), [True]),
    "an invalid record with an unknown id": (lambda sent: sent[200].update(doc_id="other", medicamentos=1), [True]),
    "an id without its zeros": (lambda sent: sent[200].update(doc_id="RX-200"), [False]),
    "two records in exchanged places": (lambda sent: sent.insert(9, sent.pop(290)), [False]),
    "a repeated record in the same chunk": (lambda sent: sent.insert(4, dict(sent[3])), [True]),
    "a repeated record in another chunk": (lambda sent: sent.append(dict(sent[3])), [False]),
    "an invalid record in another chunk": (lambda sent: sent.append({**sent[3], "medicamentos": 1}), [False]),
    "the order": (lambda sent: sent.reverse(), []),
}


@pytest.mark.parametrize("name", SPOILED)
def test_faults(name: str, tmp_path: Path, outcomes: list[bool]) -> None:
    """Only what concerns another part of the truth makes it necessary to read the files again."""
    spoil, expected = SPOILED[name]
    sent = predictions()
    spoil(sent)
    same(files(tmp_path, labels(), sent))
    assert outcomes == expected


def test_texts_of_labels_are_sent_for_a_breakdown_only(
    tmp_path: Path, outcomes: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without one, only the numbers of items and fields are needed, also of a document without a prediction."""
    paths = files(tmp_path, labels(), predictions()[7:])
    found: list[Any] = []
    real = Aligned._run

    def noted(self: Aligned, *arguments: Any) -> Any:
        found.append(real(self, *arguments))
        return found[-1]

    monkeypatch.setattr(Aligned, "_run", noted)
    for breakdown in (False, True):
        same(paths, breakdown=breakdown)
        _, both = found.pop()
        assert ("Losartán" in repr([truth.sink.items for truth, _ in both])) == breakdown
    assert outcomes == [True, True]


@pytest.mark.parametrize("seed", range(5))
def test_random_order(seed: int, tmp_path: Path, outcomes: list[bool]) -> None:
    """The same records may be found where both files are divided, but not between them."""
    sent = predictions()
    random.Random(seed).shuffle(sent)
    same(files(tmp_path, labels(), sent))
    assert outcomes in ([], [False])


def test_score_of_aligned_files(tmp_path: Path, outcomes: list[bool]) -> None:
    """A third of the documents has half of the names, and of these three of four fields."""
    result = same(files(tmp_path, labels(), predictions())).result
    assert result is not None
    assert result["prescription_accuracy"] == pytest.approx(100 * (2 + 0.7 * 0.5 + 0.3 * 0.75) / 3)
    assert outcomes == [True]


def test_wrong_truth(tmp_path: Path, outcomes: list[bool]) -> None:
    """A truth with errors, or with repeated ids, is refused with the same problems."""
    truth = labels()
    truth[120]["medications"] = "none"
    assert not same(files(tmp_path, truth, predictions())).valid
    assert not same(files(tmp_path, [*labels(), labels()[2]], predictions())).valid
    assert outcomes == [True, False]


@pytest.mark.parametrize("ending", ["json", "jsonl.gz"])
def test_other_containers(ending: str, tmp_path: Path, outcomes: list[bool]) -> None:
    """Only lines can be searched for an id."""
    same(files(tmp_path, labels(), predictions(), ending))
    assert outcomes == []


def test_rules_about_other_files(tmp_path: Path, outcomes: list[bool]) -> None:
    """A record that is compared with a manifest, too, is read after it."""
    manifest = write(tmp_path, "extraction/manifest", [listed(label["doc_id"]) for label in labels()], "csv", "m")
    same([*files(tmp_path, labels(), predictions()), manifest])
    assert outcomes in ([], [True])


def answers(folder: Path) -> list[Path]:
    """References and predictions with compound keys, each of which occurs in both tasks."""
    said = [f"The patient {number} has pneumonia because of fever and cough {number % 7}." for number in range(COUNT)]
    ids = [(f"task-{number % 2}", f"S-{number // 2:03}") for number in range(COUNT)]
    truth = [
        reference(sample, task, answer=text, rationale=text) for (task, sample), text in zip(ids, said, strict=True)
    ]
    sent = [
        says(sample, task, answer=text.replace("fever", "a rash"), rationale=text[:40])
        for (task, sample), text in zip(ids, said, strict=True)
    ]
    return [
        write(folder, "benchmark/references", truth, "jsonl", "truth"),
        write(folder, "benchmark/predictions", sent, "jsonl", "sent"),
    ]


def test_compound_keys(tmp_path: Path, outcomes: list[bool]) -> None:
    """The texts of references are compared where they were read."""
    score = same(answers(tmp_path), header={"model_id": "m"}, breakdown=True)
    assert score.valid
    assert outcomes == [True]


def test_what_workers_send(tmp_path: Path, outcomes: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither texts of references nor those of predictions."""
    found: list[Any] = []
    real = Aligned._run

    def noted(self: Aligned, *arguments: Any) -> Any:
        hashes, both = real(self, *arguments)
        found.extend(both)
        return hashes, both

    monkeypatch.setattr(Aligned, "_run", noted)
    same(answers(tmp_path), header={"model_id": "m"})
    assert len(found) > 2
    for truth, sent in found:
        assert {(item.side, item.said) for item in truth.sink.items} == {(None, None)}
        assert "patient" not in repr(sent.sink.state.marks_by_run[""].values())


def test_failing_workers(tmp_path: Path, outcomes: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    """The files are read as usual, and nothing is reported twice."""

    def fail(self: SerialEngine, *arguments: Any) -> Any:
        raise EngineFailed

    sent = predictions()
    sent[5]["medicamentos"] = 1
    paths = files(tmp_path, labels(), sent)
    alone = medcontract.score(*paths, jobs=1).to_json()
    monkeypatch.setattr(ProcessEngine, "map", fail)
    assert medcontract.score(*paths, jobs=2).to_json() == alone
    assert outcomes == [False]


def test_reports_of_a_first_try_are_dropped(
    tmp_path: Path, outcomes: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the submission does not fit after the truth was merged, problems of the truth are still reported once."""
    truth = labels()
    truth[120]["medications"] = "none"
    sent = predictions()
    sent.append(dict(sent[3], medicamentos=1))
    score = same(files(tmp_path, truth, sent))
    assert sum(problem.file == "truth.jsonl" for problem in score.problems) == 1
    assert outcomes == [False]


def test_repeated_ids_are_found_by_workers(
    tmp_path: Path, outcomes: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[Any] = []
    real = ProcessEngine.map

    def noted(self: ProcessEngine, work: Any, *arguments: Any) -> Any:
        done.append(work)
        return real(self, work, *arguments)

    sent = predictions()
    sent.insert(4, dict(sent[3]))
    monkeypatch.setattr(ProcessEngine, "map", noted)
    same(files(tmp_path, labels(), sent))
    assert outcomes == [True]
    assert done == [aligned.do_aligned, find_repeats]


def test_a_file_that_changes_gives_no_score(
    tmp_path: Path, outcomes: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here: another label, after the files were divided and before they are read."""
    truth, sent = files(tmp_path, labels(), predictions())
    real = Aligned._run

    def change(self: Aligned, *arguments: Any) -> Any:
        text = truth.read_text(encoding="utf-8")
        truth.write_text(text.replace("Losartán", "Valsartán", 1), encoding="utf-8")
        return real(self, *arguments)

    monkeypatch.setattr(Aligned, "_run", change)
    with pytest.raises(medcontract.MedcontractError, match="changed"):
        medcontract.score(truth, sent, jobs=2)


def source_of(path: Path, content: bytes) -> Source:
    path.write_bytes(content)
    source = open_source(str(path), Limits())
    source.prepare()
    return source


def _lines(ids: Sequence[str], pad: int) -> bytes:
    records = [{"note": "x" * (len(name) * 37 % (pad + 1)), "id": name} for name in ids]
    return b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records)


@property_settings(60)
@given(
    ids=st.lists(st.text('abcdé"\\', min_size=2, max_size=4), min_size=12, max_size=60, unique=True),
    left_out=st.sets(st.integers(0, 59), max_size=6),
    pads=st.tuples(st.integers(0, 60), st.integers(0, 60)),
    shuffled=st.booleans(),
)
def test_aligned_spans(
    tmp_path_factory: pytest.TempPathFactory,
    ids: list[str],
    left_out: set[int],
    pads: tuple[int, int],
    shuffled: bool,
) -> None:
    """Both files are covered without gaps, and each pair of slices starts with the same record."""
    folder = tmp_path_factory.mktemp("spans")
    sent = [name for number, name in enumerate(ids) if number not in left_out]
    if shuffled:
        random.Random(5).shuffle(sent)
    texts = _lines(ids, pads[0]), _lines(sent, pads[1])
    one, two = (source_of(folder / name, text) for name, text in zip(("one.jsonl", "two.jsonl"), texts, strict=True))
    key_of = aligned._key_reader(["id"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "SMALLEST", 100)
        patch.setattr(chunks, "_WINDOW", 400)
        found = chunks.aligned_spans(one, two, 2, key_of)
    event("aligned" if found else "not aligned")
    for place, text in enumerate(texts if found else ()):
        slices = [text[pair[place].start : pair[place].end] for pair in found]
        assert b"".join(slices) == text
    for spans in found[1:]:
        keys = {key_of(text[span.start :].partition(b"\n")[0]) for text, span in zip(texts, spans, strict=True)}
        assert len(keys) == 1
        assert None not in keys


def test_long_lines_are_not_divided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A part of a line may look like a record."""
    record = b'{"id": "%d"}'
    lines = [b" " * (100 - len(record % number)) + record % number + b"\n" for number in range(40)]
    one, two = (source_of(tmp_path / name, b"".join(lines)) for name in ("one.jsonl", "two.jsonl"))
    monkeypatch.setattr(chunks, "SMALLEST", 500)
    assert chunks.aligned_spans(one, two, 2, aligned._key_reader(["id"]))
    monkeypatch.setattr(chunks, "_BLOCK", 92)
    assert chunks.aligned_spans(one, two, 2, aligned._key_reader(["id"])) == []


@pytest.mark.parametrize(
    "line", [b"", b"{", b"[1]", b'{"id": 1}', b'{"id": null}', b'{"other": "a"}', b'{"id": "\xff"}']
)
def test_lines_without_a_key(line: bytes) -> None:
    """They cannot be found in another file."""
    assert aligned._key_reader(["id"])(line) is None


def test_marks_that_are_moved() -> None:
    """Consecutive marks and others get the numbers that their items have in the whole truth."""
    marks = Marks()
    marks.add(range(2), ["a", "b"])
    marks[7] = Unscored("invalid")
    moved = marks.moved(10)
    assert dict(moved.items()) == {10: "a", 11: "b", 17: Unscored("invalid")}
    assert moved.may_be_unscored
    assert dict(marks.items()) == {0: "a", 1: "b", 7: Unscored("invalid")}


def lesions_pairing() -> ChunkPairing:
    """Of a truth with one image."""
    return ChunkPairing(LesionsScorer.pairs[0], ExpectedState(["a"], ["MEL"], True, ContentHash()), (), ())


def test_ids_of_invalid_records() -> None:
    """Those that the chunk of the truth does not have are noted; what is not text is no id."""
    pairing = lesions_pairing()
    for value in ("a", "b", "b", 7, None, ["c"]):
        pairing.reject({"image_id": value})
    assert pairing.export().other_ids == {"b"}


def test_many_unknown_ids() -> None:
    """They are not kept: a chunk with many of them is not aligned."""
    pairing = lesions_pairing()
    for number in range(aligned._MOST_OTHER_IDS):
        pairing.reject({"image_id": f"x{number}"})
    with pytest.raises(aligned.NotAligned):
        pairing.reject({"image_id": "one more"})
