"""The parameters and figures of the track `extraction`."""

from __future__ import annotations

from medcontract.normalizers import names, text
from medcontract.scoring.extraction.decision import remote_words_sha256
from medcontract.scoring.protocol import MIN_PROCESSED, Change, Parameter, Protocol, parameters, version_parameter
from medcontract.scoring.track import Figure
from medcontract.types import JsonObject

PROTOCOL = Protocol(
    id="extraction",
    version=3,
    changes=(
        Change(1, "first version"),
        Change(
            2, "the source ignores differences of punctuation only, so texts are also equal if their tight forms are "
            "(T.S.H. and TSH), and names are paired by them in a second pass; reliability runs are sorted by start "
            "time also if none has an offset, and a date is its midnight; a Greek capital mu before a Latin letter is "
            "a micro sign",
        ),
        Change(
            3, "fields of predicted items may be absent or null, which means the empty text; items of a name that "
            "occurs several times are paired for the most correct fields, so that another order loses nothing; "
            "offline runs with a remote or hosted backend do not count; only identical proofs are counted once",
        ),
    ),
    parameters=(
        MIN_PROCESSED,
        *parameters(
            "docs/tracks/extraction.md#prescriptions",
            weight_name_recall=("0.70", "share of name_recall in a prescription's score"),
            weight_attribute_accuracy=("0.30", "share of attribute_accuracy in a prescription's score"),
            goal_prescription_accuracy=("85", "minimum prescription_accuracy for GO", {"high": 100}),
        ),
        *parameters(
            "docs/tracks/extraction.md#laboratory-reports",
            weight_test_recall=("0.60", "share of test_recall in a laboratory report's score"),
            weight_lab_field_accuracy=("0.40", "share of lab_field_accuracy in a laboratory report's score"),
            value_tolerance=("0.02", "tolerance of a number, as a share of the label", {"high": 1}),
            goal_lab_accuracy=("75", "minimum lab_accuracy for GO", {"high": 100}),
        ),
        *parameters(
            "docs/tracks/extraction.md#gates",
            goal_pipeline_success_rate=("90", "minimum pipeline_success_rate for GO", {"high": 100}),
            goal_reliability=("5", "successes among the last five reliability runs: all of them", {"fixed": True}),
            goal_offline_evidence=("1", "minimum number of offline runs"),
            goal_standout_proofs=("2", "minimum number of proofs about documents of the manifest"),
        ),
        version_parameter("normalization", text.VERSION, "version of text normalization", "docs/normalization.md"),
        version_parameter("pairing", names.VERSION, "version of the pairing of names", "docs/normalization.md#names"),
        Parameter(
            name="match", value="exact", about="how names are paired: exact or fuzzy (--match)",
            source="docs/normalization.md#names", choices=("exact", "fuzzy"),
        ),
        *parameters(
            "docs/normalization.md#names",
            fuzzy_threshold=("90", "minimum token_sort_ratio of a fuzzy pair", {"high": 100}),
        ),
        Parameter(
            name="remote_backends", value=remote_words_sha256(), about="SHA-256 of the words for remote backends",
            source="docs/tracks/extraction.md#our-choices", fixed=True,
        ),
        Parameter(
            name="gates_on", value="point", silent_at="point", choices=("point", "bound"),
            about="what has to reach the goal of a gate: the measured value or, with bound, the lower bound of its "
            "interval; part of the protocol only if it is bound", source="docs/uncertainty.md#gates",
        ),
        Parameter(
            name="look_alikes", value=None, about="SHA-256 of the list of look-alike drugs, for fuzzy names",
            source="docs/normalization.md#the-list-of-look-alikes", fixed=True,
        ),
    ),
)  # fmt: skip

_RATE: JsonObject = {"high": 100, "unit": "%"}
FIGURES = (
    Figure(
        name="prescription_accuracy", about="mean over labeled prescriptions of weight_name_recall·name_recall + "
        "weight_attribute_accuracy·attribute_accuracy, times 100", perfect=100, leaving_out="never helps", **_RATE,
    ),
    Figure(
        name="lab_accuracy", about="mean over labeled laboratory reports of weight_test_recall·test_recall + "
        "weight_lab_field_accuracy·lab_field_accuracy, times 100", perfect=100, leaving_out="never helps", **_RATE,
    ),
    Figure(
        name="pipeline_success_rate", about="successes / evaluation runs · 100; without such runs, over the labeled "
        "documents", measured_in="extraction/runs", **_RATE,
    ),
    Figure(
        name="mean_accuracy", about="mean of prescription_accuracy and lab_accuracy; submissions are ranked by it",
        perfect=100, leaving_out="never helps", **_RATE,
    ),
    Figure(name="score", about="score of one document", perfect=1, by="document"),
    Figure(name="recall", about="paired / labeled items of a document", perfect=1, by="document"),
    Figure(
        name="field_accuracy", about="correct / counted fields of the pairs; 0 without any", perfect=1, by="document"
    ),
    Figure(name="matched", about="labeled items that were paired", high=None, by="document"),
    Figure(name="labeled", about="labeled items", high=None, by="document"),
    Figure(name="correct_fields", about="correct fields of the pairs", high=None, by="document"),
    Figure(name="total_fields", about="fields of the pairs that count", high=None, by="document"),
    Figure(name="goal", about="the value that a gate requires", high=None),
    Figure(name="measured", about="the measured value; null without input", high=None),
)  # fmt: skip
