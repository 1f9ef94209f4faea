"""A complete track in a plugin module: words are right or wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from medcontract.modeling import (
    MIN_PROCESSED,
    Answers,
    Change,
    Comparison,
    Contract,
    Covers,
    Document,
    Figure,
    Finished,
    Imitation,
    ListOf,
    Option,
    Pair,
    Parameter,
    Protocol,
    Reference,
    Remark,
    Roles,
    Rows,
    Scorer,
    Str,
    StrictModel,
    Tally,
    Track,
    Unique,
    Unit,
    Vocabulary,
    marks,
    processed_counts,
)

HERE = Path(__file__).parent / "toy"


class TrueWord(StrictModel):
    """The correct label of one item."""

    item: Str
    """The id of the item."""
    word: Str
    """The correct word."""


class Truth(Document):
    """The correct words."""

    truth: ListOf[TrueWord]
    """One record per item."""


class Answer(StrictModel):
    """The answer of a team for one item."""

    item: Str
    """The id of the item."""
    said: Str
    """The answer."""


class AnswerFile(Document):
    """The answers of a team."""

    team_name: Str | None = None
    """Name of the team."""
    answers: ListOf[Answer]
    """One record per item."""


class ItemResult(StrictModel):
    """The result for one item."""

    item: Str
    """The id of the item."""
    right: Unit
    """1 if the answer is correct, otherwise 0."""


class Score(Document):
    """The score of a team."""

    share_right: Unit
    """Correct items / expected items."""
    items: ListOf[ItemResult]
    """The result for each item."""


CONTRACTS = (
    Contract(
        id="toy/truth", model=Truth, record=TrueWord, list_key="truth", title="Correct words",
        examples=(HERE / "truth.json",),
        rules=(Unique(within="truth", fields=("item",), code="MC201", message="'item' is repeated", hint="once each"),),
    ),
    Contract(
        id="toy/answers", model=AnswerFile, record=Answer, list_key="answers", title="Words of a team",
        examples=(HERE / "answers.json",),
        rules=(
            Unique(within="answers", fields=("item",), code="MC201", message="'item' is repeated", hint="once each"),
            Reference(other="toy/truth", field="item", code="MC303", message="no such item", hint="check the id"),
            Covers(other="toy/truth", field="item", code="MC302", message="an item has no record", hint="answer it"),
        ),
    ),
    Contract(id="toy/score", model=Score, title="Score of a team", output=True),
)  # fmt: skip


def _word(record: Any) -> tuple[str, str]:
    return record.item, record.word


def _said(item: tuple[str, str], record: Any) -> str:
    return str(record.said)


def _words(item: tuple[str, str]) -> list[str]:
    return [item[1]]


def _said_words(record: Any) -> list[str]:
    return [record.said]


def _right_answers(records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"said": record["word"]} for record in records]


class ToyScorer(Scorer):
    pairs = (
        Pair(
            truth="toy/truth", submission="toy/answers", key=("item",), item=_word, measure=_said, can_fail=False,
            vocabularies=(Vocabulary(name="words", expected=_words, predicted=_said_words),),
        ),
    )  # fmt: skip

    def remarks(self, pairings: Mapping[str, Any], documents: Mapping[str, Any]) -> Iterator[Remark]:
        (pairing,) = pairings.values()
        if len(pairing.expected.items) == 1:
            yield Remark(contract="toy/answers", message="there is only one item", hint="play with more")

    def tally(self, answers: Answers) -> Tally:
        pairing = answers.pairing()
        items = list(zip(pairing.expected.items, marks(pairing, ""), strict=True))
        return Tally(expected=len(items), processed=processed_counts(pairing), data=items)

    def figures(self, tally: Tally) -> Finished:
        fold = str.casefold if self.protocol.word("case") == "ignored" else str
        rows = [
            {"item": name, "right": 0.0 if said is None else float(fold(said) == fold(word))}
            for (name, word), said in sorted(tally.data)
        ]
        share = Fraction(sum(int(row["right"]) for row in rows), tally.expected)
        return Finished(result={"share_right": float(share), "items": rows}, headline=share)


TRACK = Track(
    id="toy",
    roles=Roles(truths=("toy/truth",), submissions=("toy/answers",), result="toy/score"),
    protocol=Protocol(
        id="toy", version=1, changes=(Change(1, "first version"),),
        parameters=(
            MIN_PROCESSED,
            Parameter(name="case", value="kept", choices=("kept", "ignored"), about="of letters", source="the toy"),
        ),
    ),
    figures=(Figure(name="share_right", about="right items / expected items", perfect=1),),
    headline="share_right",
    scorer=ToyScorer,
    imitations=(Imitation(truth="toy/truth", submission="toy/answers", answers=_right_answers, failed={}),),
    comparison=Comparison(rows=(Rows(name="items", id="item", decides="right"),)),
    options=(Option(name="case", choices=("kept", "ignored"), parameter=True, help="Whether case matters."),),
)  # fmt: skip
TRACKS = (TRACK,)
