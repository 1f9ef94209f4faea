"""Makes sinks for the chunks of a file, also in other processes."""

from __future__ import annotations

import pickle
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from medcontract.contracts.rules import CrossFileRule, OtherFile, Unique
from medcontract.scoring import tracks
from medcontract.scoring.expected import Expected, ExpectedItems
from medcontract.scoring.pairing import Pair, Pairing
from medcontract.scoring.protocol import Protocol
from medcontract.scoring.scorer import Scorer, ScoringOptions
from medcontract.scoring.track import Track


class NoSink:
    """For files that are only checked."""

    def fresh(self) -> None:
        return None


class Recipe(Struct, frozen=True):
    """What another process needs to make the scorer, and with it the functions of a pair."""

    track: str
    contracts: tuple[str, str]
    """Those of the truth and of the submission."""
    protocol: Protocol
    options: ScoringOptions

    @classmethod
    def of(cls, track: Track, scorer: Scorer, pair: Pair) -> Recipe:
        return cls(track.id, (pair.truth, pair.submission), scorer.protocol, scorer.options)

    def check(self) -> None:
        """Raises `PicklingError` if another process cannot know the track."""
        if not tracks.is_known_elsewhere(self.track):
            raise pickle.PicklingError(f"the track {self.track} was registered by a call")

    def find_pair(self) -> Pair:
        scorer = tracks.track(self.track).scorer(self.protocol, self.options, self.contracts)
        return next(pair for pair in scorer.pairs if (pair.truth, pair.submission) == self.contracts)


def _without_headers(others: dict[str, OtherFile]) -> dict[str, OtherFile]:
    """Headers are compared by the process that merges the chunks."""
    return {name: replace(other, header=None) for name, other in others.items()}


class PairingSinks:
    """For the records of a submission, which are paired with a truth that was read before."""

    def __init__(self, track: Track, scorer: Scorer, pairing: Pairing) -> None:
        self._recipe = Recipe.of(track, scorer, pairing.pair)
        self._pairing = pairing.fresh()

    def __getstate__(self) -> tuple[Any, ...]:
        self._recipe.check()
        pairing = self._pairing
        own = pairing.pair.truth
        others = {rule.other: pairing.others[rule.other] for rule in pairing.rules if rule.other != own}
        return (
            self._recipe, pairing.expected.export(), pairing.rules, _without_headers(others), pairing.unique,
        )  # fmt: skip

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        truth: ExpectedItems
        rules: tuple[CrossFileRule, ...]
        others: dict[str, OtherFile]
        unique: tuple[Unique, ...]
        self._recipe, truth, rules, others, unique = state
        pair = self._recipe.find_pair()
        expected: Expected = Expected.of(pair, truth)
        self._pairing = Pairing(pair, expected, rules, {**others, pair.truth: expected.as_other_file()}, unique)

    def fresh(self) -> Pairing:
        return self._pairing.fresh()


def can_send(pairing: Pairing) -> bool:
    """Whether the marks of a submission can be sent between processes: not if they refer to complete records."""
    try:
        pickle.dumps(pairing.expected.items[:1])
    except (pickle.PicklingError, TypeError, AttributeError):
        return False
    return True
