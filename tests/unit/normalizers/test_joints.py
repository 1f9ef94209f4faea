"""Names without a second search, and markers of all kinds in one search: the same as with the plain definition."""

from __future__ import annotations

from itertools import chain

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.support import property_settings

from medcontract.normalizers import joints, markers
from medcontract.normalizers.folding import fold_spaced
from medcontract.normalizers.markers import Markers
from medcontract.normalizers.phrases import Phrases, spaced
from medcontract.normalizers.terms import built_in_terms

_words = st.sampled_from("abcdxyz")
_phrases = st.lists(_words, min_size=1, max_size=4).map(" ".join)
_texts = st.lists(_words, max_size=20).map(" ".join)
_kinds = st.dictionaries(_phrases, st.sampled_from(["x", "y", ""]), max_size=6)

_TERMS = built_in_terms()
_MARKERS = sorted(chain.from_iterable(_TERMS._said.markers.values()))
_NAMES = sorted(_TERMS._said.names)
_PIECES = sorted({word for phrase in (*_MARKERS, *_NAMES) for word in phrase.split()})


@property_settings(500)
@given(_kinds, _kinds, _kinds, _texts)
@example({"a b": "x"}, {"b c": "y"}, {}, "a b c")  # both are there, but one search finds only the first
@example({"a b": "x"}, {"b c": "y"}, {"c d": "x"}, "a b c d")
@example({"a b c": "x"}, {"b": "y"}, {"a b": ""}, "a b c a b")
@example({"a b": "", "b": "x"}, {"b": "y"}, {}, "a b b")
@example({"a": "x"}, {"a a": "y"}, {}, "a a a")
def test_all_kinds_of_markers_at_once(
    structure: dict[str, str], evidence: dict[str, str], fallacies: dict[str, str], text: str
) -> None:
    """Each kind is found as if it were the only one, whatever phrases of other kinds it overlaps."""
    expected = tuple(Phrases(kind).values(text) for kind in (structure, evidence, fallacies))
    assert Markers(structure, evidence, fallacies).all(spaced(text)) == expected


@property_settings(300)
@given(st.lists(st.sampled_from(_MARKERS) | st.sampled_from(_NAMES) | st.sampled_from(_PIECES), max_size=12))
def test_all_kinds_of_built_in_markers_at_once(pieces: list[str]) -> None:
    text = _TERMS.normalize_spaced(" ".join(pieces))
    assert _TERMS.markers(text) == (_TERMS.structure(text), _TERMS.evidence(text), _TERMS.fallacies(text))


@property_settings(300)
@given(st.lists(st.sampled_from(_NAMES) | st.sampled_from(_PIECES), max_size=12))
def test_built_in_names_among_their_words(pieces: list[str]) -> None:
    """Spellings next to words of other names."""
    folded = fold_spaced(" ".join(pieces))
    assert _TERMS.names_folded(folded) == _TERMS.names(_TERMS.normalize_folded(folded))


@pytest.mark.parametrize("limit", ["_MOST_WORDS", "_MOST_FOLLOWING"])
def test_markers_of_a_large_lexicon(monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    """Phrases that are too long, or with too many others that overlap them, are searched kind by kind."""
    monkeypatch.setattr(markers, limit, 1)
    of = Markers({"a b": "x"}, {"b c": "y", "b d": "y"}, {"c": "z"})
    assert list(map(set, of.all(" a  b  c "))) == [{"x"}, {"y"}, {"z"}]
    assert list(map(set, of.all(" c  b "))) == [set(), set(), {"z"}]


def test_names_with_many_neighbors(monkeypatch: pytest.MonkeyPatch) -> None:
    """A spelling whose name may be a part of many others is not searched with each of their words."""
    monkeypatch.setattr(joints, "_MOST_NEIGHBORS", 1)
    spellings = {"a": "a", "x": "a", "a b": "a b", "a c": "a c", "d": "d", "y": "d"}
    of = joints.Joints(spellings)
    assert of.names(" x  b ") is of.names(" x ") is None
    assert of.names(" y  d  a ") == frozenset({"a", "d"})


@pytest.mark.parametrize("words", [10, 1000])
def test_joints_take_linear_memory(words: int) -> None:
    """However many names there are with a word before the first one of a name that has many spellings."""
    names = {f"w{number} a": f"w{number} a" for number in range(words)}
    spellings = {f"s{number}": "a" for number in range(words)}
    assert len(joints.Joints({"a": "a", **names, **spellings})._names) <= 32 * (2 * words + 1)
