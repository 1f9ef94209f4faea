"""Recognizes predictions that resemble a truth, but whose names say that they are predicted: `predicted_class`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from medcontract.contracts.alike import folded
from medcontract.contracts.registry import CompiledContract, scope

_WORD = re.compile(r"[^\W_]+")
_PREDICTED = frozenset((
    "pred", "preds", "predicted", "prediction", "predictions", "prob", "probs", "proba", "probability",
    "probabilities", "conf", "confidence", "predicho", "predicha", "prediccion", "predicciones", "probabilidad",
    "confianza",
))  # fmt: skip
_START = ("predicted", "prediction", "predicha", "predicho", "prediccion", "confidence")
_TRUTHS = {
    "truth": ("predictions", "response"),
    "ground-truth": ("response", "predictions"),
    "references": ("predictions",),
}
"""Names of contracts of truths, and of the submissions that are scored against them."""


def predicted_names(names: Iterable[str]) -> list[str]:
    """The names that say that something was predicted, unless all do: then it says nothing."""
    names = list(names)
    found = sorted(name for name in names if _is_predicted(name))
    return found if len(found) < len(names) else []


def _is_predicted(name: str) -> bool:
    return folded(name).startswith(_START) or not _PREDICTED.isdisjoint(map(folded, _WORD.findall(name[:100])))


def submissions_for(contract_id: str, entries: Sequence[CompiledContract]) -> list[CompiledContract]:
    """The contracts of submissions, if the contract is that of a truth."""
    challenge = scope()
    if challenge is not None:
        names = {challenge.submission} if contract_id == challenge.truth else set()
    else:
        track, _, name = contract_id.partition("/")
        kind, _, labels = name.rpartition("-")
        others = (f"{kind}-predictions",) if labels == "labels" else _TRUTHS.get(name, ())
        names = {f"{track}/{other}" for other in others}
    return [entry for entry in entries if entry.id in names]
