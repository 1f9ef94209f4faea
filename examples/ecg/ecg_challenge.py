"""A challenge as a plugin: the rhythm of an ECG recording, and when an arrhythmia starts.

A model is run several times, with different seeds, so that luck counts less: `robust_accuracy` combines the mean of
all runs with the worst one. A challenge file cannot express that; a track in Python can.

The organizer has `ecg/truth`, participants get `ecg/recordings`. They submit `ecg/predictions`, with the records of all
runs, and `ecg/hardware`, which says how long their model takes. `docs/your-own-track.md` explains every part. Try it:

    medcontract init --plugin ./ecg_challenge.py ecg demo
    medcontract score --plugin ./ecg_challenge.py demo
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias, get_args

from medcontract import Score as ScoreResult

from medcontract.modeling import (  # isort: skip
    MIN_PROCESSED, Answers, Auxiliary, Bars, Change, Comparison, Contract, Count, CrossFileRule, Document,
    Either, ExpectedIds, FailureMode, Figure, Finding, Finished, ListOf, Matrix, NonNegative, Option, OtherFile,
    Pair, Pairing, Parameter, Positive, ProblemCode, Protocol, RecordRule, Reference, Remark, Roles, Rows, Scorer,
    StandIn, Str, StrictModel, Table, Tally, Track, TrackLimit, Unique, Unit, failure_modes_table, figures_table, marks,
    number, processed_counts, rounded,
)  # fmt: skip

DATA = Path(__file__).with_name("ecg_data")
Rhythm = Literal["sinus", "fibrillation", "flutter", "other"]
RHYTHMS: tuple[str, ...] = get_args(Rhythm)

# --- codes: what `medcontract explain` shows -------------------------------------------------------------------------

CODES = (
    ProblemCode(
        code="ECG201", title="Sinus rhythm with an onset",
        meaning="`onset_s` is the start of an arrhythmia, but the rhythm is `sinus`.",
        mistake='{"recording_id": "E-1", "rhythm": "sinus", "onset_s": 3.5}',
        fix='{"recording_id": "E-1", "rhythm": "sinus"}',
    ),
    ProblemCode(
        code="ECG301", title="Onset after the end of the recording",
        meaning="The predicted `onset_s` is larger than `duration_s` of the recording. Often it is in milliseconds.",
        mistake='{"recording_id": "E-1", "rhythm": "flutter", "onset_s": 3500}      (a recording of 10 s)',
        fix='{"recording_id": "E-1", "rhythm": "flutter", "onset_s": 3.5}',
    ),
    ProblemCode(
        code="ECG401", title="Too few runs",
        meaning="The records belong to fewer runs than the protocol requires (`min_runs`). There is no score.",
        mistake='every record has "run": "seed-1"',
        fix='half of the records have "run": "seed-1", the others "run": "seed-2"',
    ),
    ProblemCode(
        code="ECG402", title="Too slow",
        meaning="The model takes longer than `max_seconds` for one recording. There is no score.",
        mistake='{"seconds_per_recording": 12}',
        fix='{"seconds_per_recording": 0.4}',
    ),
    ProblemCode(
        code="ECG501", title="The same answer for all recordings",
        meaning="All records of a run have the same rhythm. Probably the model was not loaded. A warning.",
        mistake='every record has "rhythm": "sinus"',
        fix='{"recording_id": "E-1", "rhythm": "sinus"}, {"recording_id": "E-2", "rhythm": "flutter"}, …',
    ),
)  # fmt: skip

# --- contracts: the files --------------------------------------------------------------------------------------------


class Recording(StrictModel):
    """A recording."""

    recording_id: Str
    """The id of the recording; unique in the file."""
    duration_s: Positive
    """Its length, in seconds."""


class Recordings(Document):
    """The recordings of the challenge, for participants."""

    recordings: ListOf[Recording]
    """One record per recording."""


class TrueRhythm(Recording):
    """The correct labels of one recording."""

    rhythm: Rhythm
    """The rhythm that two cardiologists agreed on."""
    onset_s: NonNegative | None = None
    """When the arrhythmia starts, in seconds; absent or null for sinus rhythm."""


class Truth(Document):
    """The ground truth."""

    truth: ListOf[TrueRhythm]
    """One record per recording."""


class Answered(StrictModel):
    """The prediction for one recording in one run."""

    run: Str
    """The id of the run, such as its seed."""
    recording_id: Str
    """The id of the recording."""
    rhythm: Rhythm
    """The predicted rhythm."""
    onset_s: NonNegative | None = None
    """When the arrhythmia starts, in seconds."""
    error: None = None
    """Null or absent: the recording was processed."""


class Failed(StrictModel):
    """A recording that the model could not process."""

    run: Str
    """The id of the run."""
    recording_id: Str
    """The id of the recording."""
    error: Str
    """Why it could not be processed."""


Prediction: TypeAlias = Either[Answered, Failed]


class Predictions(Document):
    """The predictions of a team: all runs in one file."""

    team_name: Str
    """Name of the team."""
    predictions: ListOf[Prediction]
    """One record per recording and run."""


class Hardware(Document):
    """What the model ran on."""

    device: Str
    """The processor or graphics card."""
    seconds_per_recording: Positive
    """The mean time for one recording."""


class RunResult(StrictModel):
    """The figures of one run."""

    run: Str
    """The id of the run."""
    processed: Count
    """The number of processed recordings."""
    balanced_accuracy: Unit
    """The mean recall over all rhythms that occur in the truth."""


class Score(Document):
    """The score of a team."""

    robust_accuracy: Unit
    """(1 − worst_weight)·mean_accuracy + worst_weight·worst_accuracy."""
    mean_accuracy: Unit
    """The mean of the balanced accuracy over all runs."""
    worst_accuracy: Unit
    """The balanced accuracy of the worst run."""
    consistency: Unit
    """Recordings with the same rhythm in all runs / expected recordings."""
    onset_error_s: NonNegative | None
    """The mean error of the onset over correctly recognized arrhythmias with an onset; null if there are none."""
    runs: ListOf[RunResult]
    """The figures of each run."""
    confusion: dict[str, dict[str, Count]]
    """The number of records by true and predicted rhythm, over all runs."""


class SinusHasNoOnset(RecordRule, frozen=True, kw_only=True):
    """`onset_s` is null if `rhythm` is sinus."""

    kind: ClassVar = "sinus-has-no-onset"

    def check(self, value: Any) -> Sequence[Finding]:
        if getattr(value, "rhythm", None) != "sinus" or value.onset_s is None:  # failed records have neither
            return ()
        return (self.finding(("onset_s",)),)


class OnsetInside(CrossFileRule, frozen=True, kw_only=True):
    """`onset_s` is not larger than `duration_s` of the recording with the same id in the other file."""

    kind: ClassVar = "onset-inside"

    def record_check(self, other: OtherFile) -> Any:
        find = other.find
        if find is None:
            return None

        def check(record: Any) -> Finding | None:
            recording = find(record.recording_id)
            onset = getattr(record, "onset_s", None)  # failed records have none
            if recording is None or onset is None or onset <= recording.duration_s:
                return None
            return self.finding(("onset_s",))

        return check


NO_ONSET = SinusHasNoOnset(code="ECG201", message="'onset_s' with rhythm 'sinus'", hint="remove it, or fix the rhythm")
CONTRACTS = (
    Contract(
        id="ecg/recordings", model=Recordings, record=Recording, list_key="recordings", flat=True,
        title="Recordings of the challenge", examples=(DATA / "recordings.csv",),
        stands_in_for=(StandIn("ecg/truth"),),
        rules=(
            Unique(within="recordings", fields=("recording_id",), code="MC201", message="'recording_id' is repeated"),
        ),
    ),
    Contract(
        id="ecg/truth", model=Truth, record=TrueRhythm, list_key="truth", flat=True, title="True rhythms",
        examples=(DATA / "truth.csv",), record_rules=(NO_ONSET,),
        rules=(Unique(within="truth", fields=("recording_id",), code="MC201", message="'recording_id' is repeated"),),
    ),
    Contract(
        id="ecg/predictions", model=Predictions, record=Prediction, list_key="predictions", flat=True,
        title="Predictions of all runs", examples=(DATA / "predictions.json",), record_rules=(NO_ONSET,),
        rules=(
            Unique(within="predictions", fields=("run", "recording_id"), code="MC201",
                   message="this recording is repeated in its run", hint="keep one record per recording and run"),
            Reference(other="ecg/truth", field="recording_id", code="MC303",
                      message="no such recording", hint="check the id"),
            OnsetInside(other="ecg/truth", code="ECG301", message="'onset_s' is after the end of the recording",
                        hint="write seconds, not milliseconds"),
        ),
    ),
    Contract(
        id="ecg/hardware", model=Hardware, title="Hardware of a submission", examples=(DATA / "hardware.json",),
    ),
    Contract(id="ecg/score", model=Score, title="Score of a team", output=True, result=True),
)  # fmt: skip

# --- scoring ---------------------------------------------------------------------------------------------------------


class Item(NamedTuple):
    """What is kept of a recording: for the score, and for the rule."""

    duration_s: float
    rhythm: str = ""
    onset_s: float | None = None


class Mark(NamedTuple):
    """What is kept of a prediction."""

    rhythm: str
    onset_s: float | None


class RunSums(NamedTuple):
    """The sums of one run: small, whatever the number of recordings."""

    confusion: Counter[tuple[str, str | None]]
    """How often each (true, predicted or None) occurs."""
    onset_error: Fraction
    """The sum of all errors, exact."""
    onsets: int


def _listed(record: Any) -> Item:
    return Item(record.duration_s)


def _expected(record: Any) -> Item:
    return Item(record.duration_s, record.rhythm, record.onset_s)


def _measure(item: Item, record: Any) -> Mark:
    return Mark(record.rhythm, record.onset_s)


def _run_sums(items: Sequence[Item], found: Sequence[Mark | None]) -> RunSums:
    pairs = [(item, mark) for item, mark in zip(items, found, strict=True) if mark and mark.rhythm == item.rhythm]
    errors = [
        abs(Fraction(mark.onset_s) - Fraction(item.onset_s))
        for item, mark in pairs
        if item.onset_s is not None and mark.onset_s is not None
    ]
    confusion = Counter((item.rhythm, mark and mark.rhythm) for item, mark in zip(items, found, strict=True))
    return RunSums(confusion, sum(errors, Fraction(0)), len(errors))


def _balanced_accuracy(confusion: Counter[tuple[str, str | None]]) -> Fraction:
    """The mean recall; a recording that was not processed is missed."""
    totals: Counter[str] = Counter()
    for (true, _), count in confusion.items():
        totals[true] += count
    recalls = [Fraction(confusion[rhythm, rhythm], total) for rhythm, total in totals.items()]
    return sum(recalls, Fraction(0)) / len(recalls)


class EcgScorer(Scorer):
    pairs = (
        Pair(
            truth="ecg/truth", submission="ecg/predictions", key=("recording_id",), run="run",
            item=_expected, measure=_measure,
        ),
    )  # fmt: skip

    def tally(self, answers: Answers) -> Tally:
        pairing = answers.pairing()
        items = pairing.expected.items
        found = {run: marks(pairing, run) for run in pairing.runs()}
        runs = {run: _run_sums(items, each) for run, each in found.items()}
        rhythms = [{mark and mark.rhythm for mark in each} for each in zip(*found.values(), strict=True)]
        same = sum(len(each) == 1 and None not in each for each in rhythms)
        data, seconds = (runs, same), _seconds(answers.documents)
        return Tally(expected=len(items), processed=processed_counts(pairing), data=data, context=seconds)

    def figures(self, tally: Tally) -> Finished:
        runs, same = tally.data
        accuracies = {run: _balanced_accuracy(each.confusion) for run, each in runs.items()}
        mean = sum(accuracies.values(), Fraction(0)) / len(accuracies)
        worst = min(accuracies.values())
        weight = self.protocol["worst_weight"]
        robust = (1 - weight) * mean + weight * worst
        onsets = sum(each.onsets for each in runs.values())
        error = sum((each.onset_error for each in runs.values()), Fraction(0)) / onsets if onsets else None
        total: Counter[tuple[str, str | None]] = sum((each.confusion for each in runs.values()), Counter())
        result = {
            "robust_accuracy": rounded(robust),
            "mean_accuracy": rounded(mean),
            "worst_accuracy": rounded(worst),
            "consistency": rounded(Fraction(same, tally.expected)),
            "onset_error_s": None if error is None else rounded(error),
            "runs": [
                {"run": run, "processed": tally.processed[run], "balanced_accuracy": rounded(accuracies[run])}
                for run in sorted(runs)
            ],
            "confusion": {
                true: {predicted: total[true, predicted] for predicted in RHYTHMS} | {"unprocessed": total[true, None]}
                for true in RHYTHMS
            },
        }
        return Finished(result=result, headline=robust, reasons=tuple(self._reasons(len(runs), tally.context)))

    def _reasons(self, runs: int, seconds: float | None) -> Iterator[str]:
        """Why there is no valid score, although enough recordings were processed."""
        if runs < self.protocol["min_runs"]:
            yield f"{runs} run, at least {self.protocol['min_runs']} required"
        if seconds is not None and seconds > self.protocol["max_seconds"]:
            yield f"{seconds:g} s per recording, at most {float(self.protocol['max_seconds']):g} allowed"

    def remediation(self, tally: Tally) -> Sequence[FailureMode]:
        """The most frequent confusions, for the table "What to fix first"."""
        runs, _ = tally.data
        total: Counter[tuple[str, str | None]] = sum((each.confusion for each in runs.values()), Counter())
        wrong = {pair: count for pair, count in total.items() if pair[0] != pair[1]}
        ordered = sorted(wrong.items(), key=lambda each: (-each[1], str(each[0])))
        return [
            FailureMode(field=true, difference=f"predicted {predicted}" if predicted else "not processed", count=count)
            for (true, predicted), count in ordered
        ]

    # What `preflight` checks, also without a truth. `probe` is what is kept of each record for it.

    def probe(self, record: Any) -> str:
        rhythm: str = record.rhythm
        return rhythm

    def limits(
        self, pairings: Mapping[str, Pairing], documents: Mapping[str, Any], result: Mapping[str, Any] | None
    ) -> Iterable[TrackLimit]:
        (pairing,) = pairings.values()
        runs, wanted = len(pairing.runs()), self.protocol["min_runs"]
        yield TrackLimit(
            id="runs", title=f"There are at least {wanted} runs", contract="ecg/predictions", passed=runs >= wanted,
            detail=f"{runs}", code="ECG401", failure=("too few runs", "run the model again with another seed"),
        )  # fmt: skip
        seconds, limit = _seconds(documents), self.protocol["max_seconds"]
        yield TrackLimit(
            id="speed", title=f"At most {float(limit):g} s per recording", contract="ecg/hardware",
            passed=None if seconds is None else seconds <= limit,
            detail="needs a file of ecg/hardware" if seconds is None else f"{seconds:g} s",
            code="ECG402", failure=("the model is too slow", "use a smaller model"),
        )  # fmt: skip

    def remarks(self, pairings: Mapping[str, Pairing], documents: Mapping[str, Any]) -> Iterator[Remark]:
        (pairing,) = pairings.values()
        for run in pairing.runs():
            rhythms = [rhythm for rhythm in marks(pairing, run) if rhythm is not None]
            if len(rhythms) > 1 and len(set(rhythms)) == 1:
                message = "all records of a run have the same rhythm"
                yield Remark(contract="ecg/predictions", message=message, hint="was the model loaded?", code="ECG501")


def _seconds(documents: Mapping[str, Any]) -> float | None:
    hardware = documents.get("ecg/hardware")
    return None if hardware is None else hardware.seconds_per_recording


def _parameter(name: str, value: str, about: str, **bounds: Any) -> Parameter:
    return Parameter(name=name, value=Decimal(value), about=about, source="rules of the ECG challenge", **bounds)


def _tables(score: ScoreResult) -> Iterator[Table]:
    """Everything in the result as tables and charts. For participants, `runs` and `confusion` are not in it."""
    result = score.result or {}
    yield figures_table(score)
    if "runs" in result:
        names = [row["run"] for row in result["runs"]]
        values = [row["balanced_accuracy"] for row in result["runs"]]
        rows = [(row["run"], str(row["processed"]), number(row["balanced_accuracy"])) for row in result["runs"]]
        yield Table("Runs", ("run", "processed", "balanced accuracy"), rows, chart=Bars(names, values))
    if "confusion" in result:
        columns = (*RHYTHMS, "unprocessed")
        counts = [[result["confusion"][true][predicted] for predicted in columns] for true in RHYTHMS]
        lines = [(true, *map(str, row)) for true, row in zip(RHYTHMS, counts, strict=True)]
        yield Table("Confusion", ("true", *columns), lines, chart=Matrix(RHYTHMS, columns, counts))
    yield from failure_modes_table(score)


ECG = Track(
    id="ecg",
    roles=Roles(
        truths=("ecg/truth",),
        submissions=("ecg/predictions",),
        result="ecg/score",
        auxiliary=(Auxiliary(contract="ecg/hardware", about="submission"),),
        expected_ids=(ExpectedIds(contract="ecg/recordings", truth="ecg/truth", item=_listed),),
    ),
    protocol=Protocol(
        id="ecg",
        version=1,
        changes=(Change(1, "first version"),),
        parameters=(
            MIN_PROCESSED,
            _parameter("min_runs", "2", "runs that a submission must have", low=Decimal(1)),
            _parameter("max_seconds", "5", "longest time for one recording"),
            _parameter("worst_weight", "0.5", "share of the worst run in robust_accuracy", high=Decimal(1)),
        ),
    ),
    figures=(
        Figure(
            name="robust_accuracy", about="(1 − worst_weight)·mean_accuracy + worst_weight·worst_accuracy",
            perfect=1, leaving_out="never helps",
        ),
        Figure(
            name="mean_accuracy", about="mean of balanced_accuracy over all runs", perfect=1, leaving_out="never helps",
        ),
        Figure(name="worst_accuracy", about="balanced_accuracy of the worst run", perfect=1, leaving_out="never helps"),
        Figure(name="consistency", about="recordings with the same rhythm in all runs / expected ones", perfect=1),
        Figure(
            name="onset_error_s", about="mean |predicted − true onset| over correctly recognized arrhythmias",
            high=None, perfect=0, unit="s", lower_is_better=True,
        ),
        Figure(name="runs", about="balanced_accuracy of each run: mean recall over the true rhythms", by="case"),
        Figure(name="confusion", about="records by true and predicted rhythm, over all runs", high=None, by="class"),
    ),
    headline="robust_accuracy",
    scorer=EcgScorer,
    options=(
        Option(
            name="worst_weight", parameter=True, metavar="W",
            help="Share of the worst run in robust_accuracy, from 0 to 1.",
        ),
    ),
    comparison=Comparison(rows=(Rows(name="runs", id="run", decides="balanced_accuracy"),)),
    tables=_tables,
)  # fmt: skip
TRACKS = (ECG,)
