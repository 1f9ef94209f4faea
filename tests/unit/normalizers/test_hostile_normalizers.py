"""Normalizing takes time that grows with the text, not with its square, and is what it was before that was so."""

from __future__ import annotations

import gc
import json
import re
import tracemalloc
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from unicodedata import category
from unicodedata import normalize as unicode_form

import pytest
from fuzz.growth import NORMALIZERS, TEXTS, public_normalizers
from hypothesis import given
from hypothesis import strategies as st
from tests.commands import Call
from tests.scoring_files import CONTRACTS, drug, read_rx, rx, write
from tests.support import property_settings

import medcontract
from medcontract.contracts.rules.record import UniqueSpellings
from medcontract.normalizers import folding, names
from medcontract.normalizers.text import TextCache, normalize


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", NORMALIZERS)
def test_hostile_texts(name: str) -> None:
    """No normalizer fails, whatever the text is made of. Times are measured by `python -m fuzz.growth`."""
    for make in TEXTS.values():
        NORMALIZERS[name](make(500))


def test_every_normalizer_is_measured() -> None:
    """A new one has to be put into the table."""
    assert public_normalizers() <= NORMALIZERS.keys()


_MARKS = "\u0301\u0323\u0334\u0345\u093c\u3099"
_FOLDED_TEXTS = st.one_of(
    st.text(),
    st.text(st.sampled_from("eE\u00e9\u1e69\uac01\u0390\u03a3\u2082\u00b51.%, " + _MARKS), max_size=40),
    st.tuples(st.text(max_size=5), st.text(st.sampled_from(_MARKS), min_size=250, max_size=600), st.text()).map(
        "".join
    ),
)


@property_settings(300)
@given(_FOLDED_TEXTS)
def test_folded_as_before(text: str) -> None:
    """Decomposing piece by piece changes the order of marks only, and they are dropped."""
    assert folding.fold(text) == _fold_at_once(text)


def _fold_at_once(text: str) -> str:
    decomposed = unicode_form("NFD", text.lower())
    folded = "".join(map(_folded_char, decomposed))
    digits = str.maketrans({0x2080 + digit: str(digit) for digit in range(10)})
    indexed = re.sub(
        r"(?<=\w)[\u2080-\u2089]+",
        lambda m: m[0].translate(digits) if category(m.string[m.start() - 1])[0] == "L" else m[0],
        folded,
    )
    return " ".join(re.sub(r"\.(?:(?<!\d\.)|(?!\d))", " ", indexed).split())


def _folded_char(char: str) -> str:
    if char.isascii():
        return char if char.isalnum() or char in "%." else " "
    if char == "\u00b5":
        return "\u03bc"
    kind = category(char)[0]
    return "" if kind == "M" else char if kind in "LN" else " "


def test_only_marks_are_put_in_order() -> None:
    """Nothing that `fold` keeps has a combining class, so pieces may end anywhere."""
    from unicodedata import combining

    assert all(category(char).startswith("M") for char in map(chr, range(0x110000)) if combining(char))


_NAMES = st.text(st.sampled_from("0159./:^-<>= AMGCULD%"), max_size=30)


@property_settings(1000)
@given(_NAMES)
def test_digit_groups_as_before(name: str) -> None:
    assert names._digit_groups(name) == tuple(re.findall(r"[<>=-]*[0-9]+(?:[./:^-]+[0-9]+)*", name))


@property_settings(1000)
@given(_NAMES)
def test_doses_as_before(name: str) -> None:
    units = "MG|MCG|UG|NG|KG|G|ML|DL|L|UI|U|MEQ|MMOL|%"
    found = defaultdict(set)
    for number, unit in re.findall(rf"([0-9]+(?:[./][0-9]+)*)\s*({units})(?![A-Z])", name):
        found[number].add("MCG" if unit == "UG" else unit)
    assert names._doses(name) == found


def test_a_long_name_has_equal_partners_only() -> None:
    """Comparing two of them letter by letter takes time that grows with the square of their length."""
    short, long = "A" * names.LONGEST_FUZZY, "A" * (names.LONGEST_FUZZY + 1)
    assert names.pair_fuzzy([short], ["B" + short[1:]], 90) == [0]
    assert names.pair_fuzzy([long, long], [long, "B" + long[1:]], 90) == [0, None]


def test_very_many_names_have_equal_partners_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only names that would be compared count: those with the same digits."""
    labels = [f"ACETAMINOFEN {letter}" for letter in "ABCDEF"] + ["IBUPROFENO"]
    predictions = [f"ACETAMINOFEM {letter}" for letter in "ABCDEF"] + ["IBUPROFENO"]
    assert None not in names.pair_fuzzy(labels, predictions, 90)
    monkeypatch.setattr(names, "MOST_COMPARISONS", 36)
    assert None not in names.pair_fuzzy(labels, predictions, 90)
    assert not names.too_many_to_compare(labels, predictions)
    monkeypatch.setattr(names, "MOST_COMPARISONS", 35)
    assert names.pair_fuzzy(labels, predictions, 90) == [None] * 6 + [6]
    assert names.too_many_to_compare(labels, predictions)
    numbered = [f"{name} {number}" for number, name in enumerate(labels)]
    assert not names.too_many_to_compare(numbered, [f"{name} {n}" for n, name in enumerate(predictions)])


def test_a_document_with_too_many_names_is_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, call: Call
) -> None:
    """Its names are paired where they are equal, and a warning says so."""
    label = rx("d1", *(drug(f"ACETAMINOFEN {letter}") for letter in "ABC"))
    wrong = read_rx("d1", *(drug(f"ACETAMINOFEM {letter}") for letter in "ABC"))
    truth, predictions, _ = CONTRACTS["extraction"]
    files = write(tmp_path, truth, [label]), write(tmp_path, predictions, [wrong])
    few = call("score", *files, "--match", "fuzzy", "--format", "json").json["warnings"]
    monkeypatch.setattr(names, "MOST_COMPARISONS", 8)
    warnings = call("score", *files, "--match", "fuzzy", "--format", "json").json["warnings"]
    message = "1 document has too many names to compare: only equal names were paired there"
    exact = call("score", *files, "--format", "json").json["warnings"]
    assert [message in found for found in (warnings, few, exact)] == [True, False, False]


def test_a_name_of_the_lexicon_is_folded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not once for each of its spellings: a name may be as long as they are many."""
    folded: Counter[str] = Counter()

    def counting(text: str) -> str:
        folded[text] += 1
        return text

    monkeypatch.setattr(folding, "fold", counting)
    rule = UniqueSpellings(field="synonyms", code="MC220", message="")
    assert rule.check(SimpleNamespace(synonyms={"name": [f"spelling {number}" for number in range(50)]})) == []
    assert folded["name"] <= 3


def _many_characters() -> None:
    for start in range(0, 0x20000, 0x200):
        normalize("".join(map(chr, range(start, start + 0x200))))


def _many_texts() -> None:
    for number in range(20_000):
        normalize(f"{number} {'x' * 900}")


def _many_keys() -> None:
    """Records with a long key instead of the label."""
    for number in range(60):
        record = json.dumps({"image_id": f"I-{number}", f"{number}{'x' * 500_000}": "NV"})
        assert not medcontract.validate(record.encode(), "lesions/truth", name="x.jsonl").ok


@pytest.mark.slow
@pytest.mark.parametrize("call", [_many_characters, _many_texts, _many_keys])
def test_caches_are_limited_by_size(call: Callable[[], None]) -> None:
    """Only a few megabytes of texts of patients stay in the process, however long or many they were."""
    tracemalloc.start()
    try:
        call()
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] < 24 << 20
    finally:
        tracemalloc.stop()


def test_caches_keep_what_fits() -> None:
    """A text that was normalized is not normalized again."""
    cache = TextCache(str.upper, longest=5)
    assert [cache[text] for text in ("a", "b", "a", "abcdef")] == ["A", "B", "A", "ABCDEF"]
    assert cache == {"a": "A", "b": "B"}
