"""What every versioned step makes of a fixed corpus, and the hashes of that for each version.

A change of behavior under an old version changes a hash, and a test fails: scores with the same fingerprint would not
be comparable. After a change, raise the version of the step (`VERSION` of its module, or the version of the track's
protocol, with the reason), and run `python -m tests.pinned.behavior`: it adds hashes of new versions and never changes
one. The corpus is never changed either, since the hashes are about it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import medcontract
from medcontract.normalizers import folding, names, terms, text
from medcontract.scoring import tracks

HERE = Path(__file__).parent
HASHES = HERE / "hashes.json"
CORPUS: dict[str, Any] = json.loads((HERE / "corpus.json").read_text(encoding="utf-8"))
FILES = HERE / "files"


class Step(NamedTuple):
    """Something that changes scores, and its version."""

    name: str
    version: str
    """With the hash of its data, where it has some: it is part of the fingerprint, like the version."""
    outputs: Callable[[], Iterator[Any]]


def _normalization() -> Iterator[Any]:
    texts = CORPUS["texts"]
    yield from ((text.normalize(each), text.tight(each)) for each in texts)
    found = [each for each in texts if text.number(each) is not None]
    for one, other in pairwise(found):
        yield text.close(one, other, Fraction(2, 100)), text.equal(one, other)


def _pairing() -> Iterator[Any]:
    for raw_labels, raw_predictions in CORPUS["names"]:
        labels, predictions = ([text.normalize(name) for name in side] for side in (raw_labels, raw_predictions))
        exact = names.pair_exact(labels, predictions)
        equal = names.pair_rest(
            [text.tight(name) for name in raw_labels], [text.tight(name) for name in raw_predictions], exact
        )
        yield equal, names.pair_fuzzy(labels, predictions, 90, equal)


def _terms() -> Iterator[Any]:
    known = terms.built_in_terms()
    for each in (*CORPUS["clinical"], *CORPUS["texts"]):
        normalized = known.normalize(each)
        answer = " ".join(known.with_long_forms(each, known.normalize_spaced(each)).split())
        found = {kind: sorted(values) for kind, values in known.entities(normalized).items()}
        lists = (*known.markers(normalized), known.facts(normalized))
        yield folding.fold(each), normalized, answer, found, list(map(sorted, lists))


def _score(track: str, **options: Any) -> Iterator[Any]:
    """Everything in the result but the wording of reasons."""
    yield _without_wording(medcontract.score(FILES / track, **options).result)


def _without_wording(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_wording(each) for name, each in value.items() if name != "reason"}
    return [_without_wording(each) for each in value] if isinstance(value, list | tuple) else value


def steps() -> list[Step]:
    found = [
        Step("normalization", str(text.VERSION), _normalization),
        Step("pairing", f"{names.VERSION} {names.look_alikes_sha256()[:16]}", _pairing),
        Step("terms", f"{terms.VERSION} {terms.built_in_terms().sha256[:16]}", _terms),
    ]
    for folder in sorted(FILES.iterdir()):
        protocol = tracks.track(folder.name).protocol
        key = f"{protocol.version} {protocol.fingerprint[:16]}"
        found.append(Step(folder.name, key, lambda track=folder.name: _score(track)))  # type: ignore[misc]
    return found


def digest(step: Step) -> str:
    listed = json.dumps(list(step.outputs()), sort_keys=True, ensure_ascii=True)
    return sha256(listed.encode()).hexdigest()


def pinned() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads(HASHES.read_text(encoding="utf-8")) if HASHES.exists() else {}
    return found


def add_new_versions() -> None:
    """Add the hashes of versions that have none."""
    known = pinned()
    for step in steps():
        known.setdefault(step.name, {}).setdefault(step.version, digest(step))
    HASHES.write_text(json.dumps(known, indent=2, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    add_new_versions()
