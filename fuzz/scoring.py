"""Entry points of scoring: a score or preflight, a ranking with a hostile submission, and participant output."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from tests.commands import AUXILIARY, SENT, TRUTH
from tests.mutations import Path as Place
from tests.mutations import at, put
from tests.scoring_files import (
    CONTRACTS,
    HEADERS,
    LABS,
    LIST_KEYS,
    Record,
    as_csv,
    as_jsonl,
    evidence,
    image,
    lab,
    labs,
    listed,
    model,
    pipeline_run,
    read,
    reference,
    repeats,
    report,
    telemetry,
    weights,
)

import medcontract
from fuzz.calling import Trial, call, published
from fuzz.material import Text, changed_text, changed_value, edited

TRACKS = tuple(TRUTH)
MARKER = "QZXVW"


class Part(NamedTuple):
    """One file of a score."""

    contract: str
    value: Any
    """Its records, or the whole document."""

    @property
    def is_document(self) -> bool:
        return self.contract not in LIST_KEYS

    def data(self, ending: str = ".json") -> bytes:
        """The file as .json, .jsonl, or .csv if its records are flat."""
        if self.is_document:
            return json.dumps(self.value, ensure_ascii=False).encode(errors="surrogatepass")
        if ending == ".jsonl":
            return as_jsonl(self.contract, self.value)
        if ending == ".csv":
            return as_csv(self.contract, self.value)
        whole = {**HEADERS[self.contract], LIST_KEYS[self.contract]: self.value}
        return json.dumps(whole, ensure_ascii=False).encode(errors="surrogatepass")


_LAB_LABELS = [labs(f"L-{n:02}", lab("Glucosa", f"{90 + n}", "mg/dL", "70-110")) for n in range(10)]
_REFERENCES = [
    reference(f"B-{n:02}", "qa" if n % 2 else "notes", answer="Asthma with dyspnea", diagnosis="asthma",
              rationale="First, based on spirometry: wheezing. Therefore asthma.", entities={"diagnoses": ["asthma"]})
    for n in range(20)
]  # fmt: skip


@cache
def truth_of(track: str) -> tuple[Part, ...]:
    """The files of the organizer."""
    if track == "benchmark":
        return Part("benchmark/references", _REFERENCES), Part("benchmark/weights", weights(clinical_accuracy=1.0))
    if track == "extraction":
        manifest = [listed(f"P-{n:02}") for n in range(20)] + [listed(f"L-{n:02}", "lab") for n in range(10)]
        return (
            Part(CONTRACTS[track][0], TRUTH[track]),
            Part(LABS[0], _LAB_LABELS),
            Part("extraction/manifest", manifest),
        )
    return (Part(CONTRACTS[track][0], TRUTH[track]),)


@cache
def sent_of(track: str) -> tuple[Part, ...]:
    """A perfect submission."""
    if track == "benchmark":
        return (Part("benchmark/predictions", [repeats(record) for record in _REFERENCES]),)
    if track == "extraction":
        return (
            Part(CONTRACTS[track][1], SENT[track]),
            Part(LABS[1], [read(label) for label in _LAB_LABELS]),
            Part("extraction/runs", [pipeline_run(n, started_at=f"2026-01-0{n + 1}T10:00:00Z") for n in range(5)]),
            Part("extraction/evidence", evidence(1, ("P-00", "handwriting"), ("P-01", "layout"))),
        )
    referenced = {"reports": ("reports/telemetry", telemetry()), "lesions": ("lesions/model", model())}
    more = [Part(*referenced[track])] if AUXILIARY[track] is not None else []
    return (Part(CONTRACTS[track][1], SENT[track]), *more)


_FLAT = ("reports/truth", "reports/predictions", "lesions/truth", "lesions/predictions", "extraction/manifest",
         "extraction/runs")  # fmt: skip
_NAMES = {"extraction/lab-predictions": "labs", "extraction/lab-labels": "lab-labels"}


def written(part: Part, source: random.Random, damaged: bool) -> tuple[str, bytes]:
    """The extension and the bytes of a part, with wrong values, a damaged text, or both."""
    endings = [".json"] if part.is_document else [".json", ".json", ".jsonl", *[".csv"] * (part.contract in _FLAT)]
    ending = source.choice(endings)
    how = source.choice(("values", "values", "text", "both")) if damaged else ""
    if how in ("values", "both"):
        value = _damaged(part, source)
        if isinstance(value, list) and all(isinstance(record, dict) for record in value) and ending != ".csv":
            return ending, _edited(part._replace(value=value).data(ending), source, how)
        if part.is_document or ending == ".json":
            whole = value if part.is_document else {**HEADERS[part.contract], LIST_KEYS[part.contract]: value}
            return ".json", _edited(json.dumps(whole).encode(), source, how)
    data = part.data(ending)
    return ending, edited(data, source) if how else data


def _edited(data: bytes, source: random.Random, how: str) -> bytes:
    return changed_text(Text(data, ""), source).data if how == "both" else data


def _damaged(part: Part, source: random.Random) -> Any:
    """The part with some records changed, repeated or removed; for a document, some values changed."""
    if part.is_document:
        return changed_value(part.value, source)
    records: list[Any] = list(part.value)
    for _ in range(source.choice((1, 1, 1, 2, 4, len(records)))):
        number = source.randrange(len(records)) if records else 0
        edit = source.randrange(6)
        if not records or edit == 0:
            records.append(source.choice(part.value))
        elif edit == 1:
            del records[number]
        elif edit == 2:
            source.shuffle(records)
        else:
            records[number] = changed_value(records[number], source)
    return records


def folder_of(parts: tuple[Part, ...], folder: str, source: random.Random, damaged: int | None) -> dict[str, bytes]:
    """The files of some parts. `damaged` is the index of the damaged one, if any."""
    files = {}
    for number, part in enumerate(parts):
        ending, data = written(part, source, number == damaged)
        files[f"{folder}/{part.contract.partition('/')[2]}{ending}"] = data
    return files


# --- score and preflight -------------------------------------------------------------------------

_OPTIONS = (
    ["--participant"], ["--show-values"], ["--parameter", "min_processed=0"], ["--max-problems", "0"],
    ["--max-problems", "3"], ["--parameter", "min_processed=2"], ["--set", "team_name=Andes"], ["--max-record", "300"],
)  # fmt: skip
_OF_TRACK = {
    "extraction": (["--breakdown"], ["--match", "fuzzy"]), "lesions": (["--t-min-ms", "10", "--t-max-ms", "900"],),
    "benchmark": (["--breakdown"], ["--weights", "clinical_accuracy=0.5,reasoning_quality=0.5"], ["--keep-missing"]),
}  # fmt: skip


def _options(track: str, command: str, source: random.Random) -> list[str]:
    known = (*_OPTIONS, *(_OF_TRACK.get(track, ()) if command == "score" else ()))
    return [word for option in known if source.random() < 0.12 for word in option]


def one_score(source: random.Random) -> Trial:
    """`score` or `preflight` of a truth and a submission with one damaged file."""
    track = source.choice(TRACKS)
    command = source.choice(("score", "score", "preflight"))
    of_truth = source.random() < 0.25
    truth, sent = truth_of(track), sent_of(track)
    files = folder_of(truth, "truth", source, source.randrange(len(truth)) if of_truth else None)
    files |= folder_of(sent, "sent", source, None if of_truth else source.randrange(len(sent)))
    named = [*(name for name in files if name.startswith("truth/")), "sent"]
    chosen = source.choice(("json", "json", "json", "text", "markdown" if command == "score" else "text"))
    arguments = [command, *named, *_options(track, command, source), "--format", chosen]
    return Trial(
        lambda: _wrong_score(arguments, chosen == "json"), {**files, "arguments.txt": repr(arguments).encode()}
    )


def _wrong_score(arguments: list[str], as_json: bool) -> str | None:
    ran = call(arguments)
    if ran.code not in (0, 1, 2):
        return f"exit code {ran.code}"
    if "internal error" in ran.out + ran.err:
        return f"an internal error: {ran.out[-500:]}{ran.err[-500:]}"
    if not ran.out:
        return None if ran.code and ran.err else f"exit code {ran.code} without any output"
    if not as_json:
        return None
    result = json.loads(ran.out)
    name = arguments[0]
    wrong = next(iter(published(f"medcontract/{name}").iter_errors(result)), None)
    if wrong:
        return f"the output violates medcontract/{name}: {wrong.message[:300]}"
    good = result["ready"] if name == "preflight" else _is_good(result)
    return None if (ran.code == 0) == good else f"exit code {ran.code}, but the result is {good}"


def _is_good(score: Any) -> bool:
    decision = (score["result"] or {}).get("decision")
    return score["valid"] and decision in (None, "GO")


# --- a ranking -----------------------------------------------------------------------------------


def ranking(source: random.Random) -> Trial:
    """`leaderboard` of two valid submissions and a hostile one, which must not affect the others."""
    track = source.choice(TRACKS)
    truth, sent = truth_of(track), sent_of(track)
    files = {f"truth/{n}.json": part.data() for n, part in enumerate(truth)}
    worse = tuple(part if part.is_document else part._replace(value=part.value[:-1]) for part in sent)
    for name, parts in (("a", sent), ("b", worse)):
        files |= {f"{name}/{n}.json": part.data() for n, part in enumerate(parts)}
    files |= folder_of(sent, "h", source, source.randrange(len(sent)))
    fixed = ["--t-min-ms", "10", "--t-max-ms", "900"] if track == "lesions" and source.random() < 0.7 else []
    options = [*fixed, *(["--participant"] if source.random() < 0.3 else []), "--format", "json"]
    jobs = source.random() < 0.01
    folders = source.sample(["a", "b", "h"], 3)
    return Trial(
        lambda: _wrong_ranking(folders, options, track == "lesions" and not fixed, jobs),
        {**files, "arguments.txt": repr([*folders, *options, "jobs" if jobs else ""]).encode()},
        passes=3 if jobs else 2,
    )


_OF_TIME = ("efficiency_score", "final_score", "points")
"""Figures of lesions that depend on the shortest and the longest time of all submissions."""


def _wrong_ranking(folders: list[str], options: list[str], depends: bool, jobs: bool) -> str | None:
    ran = call(["leaderboard", "truth", *folders, *options])
    alone = call(["leaderboard", "truth", "a", "b", *options])
    if ran.code > 1 or alone.code > 1:  # 1: no submission is valid
        return f"exit code {ran.code}, without the hostile one {alone.code}: {ran.err[-500:]}"
    if "internal error" in ran.out:
        return "an internal error"
    board, before = json.loads(ran.out), json.loads(alone.out)
    wrong = next(iter(published("medcontract/leaderboard").iter_errors(board)), None)
    if wrong:
        return f"the output violates medcontract/leaderboard: {wrong.message[:300]}"
    if sorted(entry["name"] for entry in board["submissions"]) != ["a", "b", "h"]:
        return "a submission is lost"
    others = [entry for entry in board["submissions"] if entry["name"] != "h"]
    for now, then in zip(others, before["submissions"], strict=True):
        if _figures(now, depends) != _figures(then, depends):
            return f"the hostile submission changed another one: {_figures(then, depends)}, {_figures(now, depends)}"
    if jobs and call(["leaderboard", "truth", *folders, *options, "--jobs", "2"]).out != ran.out:
        return "the output differs with two processes"
    return None


def _figures(entry: Any, depends: bool) -> Any:
    kept = {name: entry[name] for name in ("name", "team_name", "valid", "processing", "reasons", "inputs")}
    figures = {name: value for name, value in entry["figures"].items() if not (depends and name in _OF_TIME)}
    return {**kept, "figures": figures, "headline": None if depends else entry["headline"]}


# --- what participants see -----------------------------------------------------------------------


def markers(source: random.Random) -> Trial:
    """--participant does not reveal the truth: its texts, and ids that the submission does not have, are markers."""
    track = source.choice(TRACKS)
    command = source.choice(("score", "score", "preflight", "leaderboard"))
    truth = tuple(marked(part) for part in truth_of(track))
    sent = sent_of(track)
    damage_truth = source.random() < 0.15
    files = folder_of(truth, "truth", source, source.randrange(len(truth)) if damage_truth else None)
    files |= folder_of(sent, "sent", source, source.randrange(len(sent)) if source.random() < 0.8 else None)
    named = ["truth"] if command == "leaderboard" else [name for name in files if name.startswith("truth/")]
    options = [word for option in _OPTIONS if source.random() < 0.12 for word in option]
    if command == "leaderboard":
        options = ["--parameter", "min_processed=0"] * (source.random() < 0.3)
    elif command == "score":
        options += ["--breakdown"] * (track in ("extraction", "benchmark") and source.random() < 0.3)
    options = [word for word in options if word != "--participant"]
    formats = ("text", "json") if command == "preflight" else ("text", "json", "markdown")
    arguments = [command, *named, "sent", "--participant", *options, "--format", source.choice(formats)]

    def run() -> str | None:
        ran = call(arguments)
        printed = ran.out + ran.err
        if MARKER in printed:
            place = printed.index(MARKER)
            return f"a value of the truth is printed: …{printed[max(0, place - 120) : place + 40]!r}"
        return None if ran.code in (0, 1, 2) else f"exit code {ran.code}"

    return Trial(run, {**files, "arguments.txt": repr(arguments).encode()})


_IDS = ("report_id", "case_id", "segment_id", "image_id", "doc_id", "task_id", "sample_id")


def marked(part: Part) -> Part:
    """The part with markers as free texts, and a record with a unique id."""
    if part.is_document or part.contract == "extraction/manifest":
        return part
    return part._replace(value=json.loads(_marked_records(part.contract)))


@cache
def _marked_records(contract: str) -> str:
    part = next(part for track in TRACKS for part in truth_of(track) if part.contract == contract)
    records = [_with_markers(contract, record, number) for number, record in enumerate(part.value)]
    records += [_unknown(contract, records[-1])]
    return json.dumps(records)


def _with_markers(contract: str, record: Record, number: int) -> Any:
    for place in _markable(contract):
        if _is_there(record, place):
            record = put(record, place, f"{MARKER}{number}-{'-'.join(map(str, place))}")
    return record


def _is_there(record: Any, place: Place) -> bool:
    try:
        return isinstance(at(record, place), str)
    except (KeyError, IndexError, TypeError):
        return False


@cache
def _markable(contract: str) -> tuple[Place, ...]:
    """The paths of free texts in a record, except ids."""
    part = next(part for track in TRACKS for part in truth_of(track) if part.contract == contract)
    return tuple(
        place
        for place in _texts(part.value[0])
        if place[-1] not in _IDS and _is_valid(contract, put(part.value[0], place, MARKER))
    )


def _is_valid(contract: str, record: Record) -> bool:
    report_of = medcontract.validate(as_jsonl(contract, [record]), contract, name="x.jsonl")
    return all(problem.code.startswith("MC2") for problem in report_of.problems)  # such as a case with one segment


def _texts(value: Any, here: Place = ()) -> Iterator[Place]:
    if isinstance(value, str):
        yield here
    elif isinstance(value, Mapping | list):
        items = value.items() if isinstance(value, Mapping) else enumerate(value)
        for key, item in items:
            yield from _texts(item, (*here, key))


def _unknown(contract: str, record: Record) -> Record:
    """A record that no submission has, with a marker as id."""
    if contract == "reports/truth":
        return report(f"{MARKER}-id")
    if contract == "lesions/truth":
        return image(f"{MARKER}-id", "NV")
    keys = [name for name in _IDS if name in record]
    changed = {name: f"{MARKER}-id" for name in keys if name != "task_id"}
    flags = {"start_of_case": True, "end_of_case": True} if contract.startswith("triage") else {}
    return {**record, **changed, **flags}
