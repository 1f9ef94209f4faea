"""The frozen parameters of `benchmark`, and its figures."""

from __future__ import annotations

from medcontract.normalizers.terms import CATEGORIES, VERSION, built_in_terms
from medcontract.scoring.benchmark.combining import COMBINED
from medcontract.scoring.benchmark.metrics import (
    ANSWER_METRICS,
    CLINICAL,
    DIAGNOSTIC,
    EXACT_MATCH,
    NO_ANSWER_METRICS,
    REASONING,
    ROUGE_L,
)
from medcontract.scoring.protocol import MIN_PROCESSED, Change, Parameter, Protocol, parameters
from medcontract.scoring.track import Figure

_CATEGORY_WEIGHTS = dict(zip(CATEGORIES, ("3", "2", "2", "1", "1"), strict=True))
_ALL_ANSWER_METRICS = "+".join(ANSWER_METRICS)
_REVERSED = "+".join(reversed(ANSWER_METRICS))

PROTOCOL = Protocol(
    id="benchmark",
    version=3,
    changes=(
        Change(1, "first version"),
        Change(
            2,
            "evidence also counts mentions of laboratory values, imaging, vital signs and examination findings; "
            "structure also counts connectives such as 'because', numbered lines and bulleted lines; abbreviations of "
            "whole diagnoses; exact_match and rouge_l (answer_metrics); an invalid record of samples scores 0 on what "
            "its own reference requires, if that is valid",
        ),
        Change(
            3,
            "abbreviations are also found in answers, in capitals or as the whole answer; ARF, CAD, HLD, PNA and SOB "
            "are among them, coronary artery disease among the diagnoses; 'correlation implies causation' and "
            "'circular reasoning' are among the fallacies",
        ),
    ),
    parameters=(
        MIN_PROCESSED,
        *parameters(
            "docs/tracks/benchmark.md#clinical-accuracy",
            **{f"weight_{name}": (value, f"weight of {name}") for name, value in _CATEGORY_WEIGHTS.items()},
        ),
        *parameters(
            "docs/tracks/benchmark.md#reasoning-quality",
            weight_overlap=("0.40", "weight of the words that both rationales have"),
            weight_structure=("0.15", "weight of markers of structure"),
            weight_evidence=("0.20", "weight of markers of evidence"),
            weight_factual=("0.25", "weight of facts about the diagnosis"),
            markers_for_full=("3", "number of distinct markers that is sufficient", {"above": True}),
            share_of_facts=("0.5", "share of the known facts that is sufficient", {"high": 1}),
            penalty=("0.15", "penalty for each distinct fallacy"),
            penalty_most=("0.40", "maximum penalty for all fallacies"),
        ),
        Parameter(
            name="answer_metrics", value=NO_ANSWER_METRICS,
            choices=(NO_ANSWER_METRICS, *ANSWER_METRICS, _ALL_ANSWER_METRICS, _REVERSED),
            about="metrics of answers that are also computed", source="docs/tracks/benchmark.md#other-metrics",
        ),
        Parameter(
            name="given_scores", value="taken", choices=("taken", "ignored"),
            about="whether metrics in a submission are used", source="docs/tracks/benchmark.md#other-metrics",
        ),
        Parameter(
            name="normalization", value=str(VERSION), about="version of the normalization of texts",
            source="docs/terms.md#how-a-text-is-processed", choices=(str(VERSION),),
        ),
        Parameter(
            name="lexicon", value=built_in_terms().sha256, about="SHA-256 of the terms (--lexicon)",
            source="docs/terms.md#how-entries-were-chosen", fixed=True,
        ),
        Parameter(
            name="own_metrics", value=None, about="names of custom metrics (--plugin)",
            source="docs/benchmark.md#custom-metrics", fixed=True,
        ),
    ),
)  # fmt: skip


def in_one_order(protocol: Protocol) -> Protocol:
    """Return the protocol with the names in `answer_metrics` in one order, so that each choice has one fingerprint."""
    given = protocol.word("answer_metrics")
    return protocol.following("answer_metrics", _ALL_ANSWER_METRICS) if given == _REVERSED else protocol


FIGURES = (
    Figure(name=COMBINED, about="weighted mean of metrics and categories; mean over tasks"),
    Figure(
        name=CLINICAL, about="weighted Jaccard index of entities, or equal answers; mean over samples, then over tasks",
        perfect=1, leaving_out="a right one never helps",
    ),
    Figure(
        name=REASONING, about="overlap, structure, evidence and facts of a rationale, minus a penalty for fallacies",
        leaving_out="a right one never helps",
    ),
    Figure(
        name=DIAGNOSTIC, about="share of equal diagnoses; mean over samples, then over tasks", perfect=1,
        leaving_out="a right one never helps",
    ),
    Figure(
        name=EXACT_MATCH, about="share of equal answers, if answer_metrics names it", perfect=1,
        leaving_out="a right one never helps",
    ),
    Figure(
        name=ROUGE_L, about="F-measure of the longest common subsequence of the answers' tokens, if answer_metrics "
        "names it", perfect=1, leaving_out="a right one never helps",
    ),
)  # fmt: skip
