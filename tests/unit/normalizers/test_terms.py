"""Clinical terms in text: folding, matching, the shipped lexicon, and lexicons of users."""

from __future__ import annotations

import copy
import json
import pickle
import random
import re
import sys
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import property_settings, sample

import medcontract
from medcontract.contracts import recognition
from medcontract.contracts.benchmark import Entities, Lexicon
from medcontract.normalizers.folding import Phrases, fold, fold_spaced, spaced
from medcontract.normalizers.terms import (
    CATEGORIES,
    LEXICON,
    InvalidTerms,
    Terms,
    built_in_terms,
    line_kinds,
)
from medcontract.types import Outline

DATA: dict[str, Any] = json.loads(LEXICON.read_text(encoding="utf-8"))
ENTITIES = {name: kind for kind, names in DATA["entities"].items() for name in names}
NAMES = {*ENTITIES, *DATA["synonyms"]}
SAID: dict[str, Any] = json.loads(Path(__file__).with_name("terms.json").read_text(encoding="utf-8"))
"""Texts in English and Spanish, read by hand. Negation is not understood, and longer names hide what stands in them.

`entities`, `structure` and `evidence`: what is found in each text. `different`: pairs of different things; `same`:
spellings of one thing, its name first. `sound` and `unsound`: reasoning. `without markers`: neither of the two.
"""
GOLDEN: dict[str, dict[str, list[str]]] = SAID["entities"]


def _entities(text: str, of: Terms | None = None) -> dict[str, set[str]]:
    """What is found in a text, without the categories that are empty."""
    of = of or built_in_terms()
    return {kind: set(names) for kind, names in of.entities(of.normalize(text)).items() if names}


# --- folding -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "folded"), [
    ("", ""), (" . ", ""), ("Crohn's disease", "crohn s disease"), ("X-ray", "x ray"), ("COVID-19", "covid 19"),
    ("Neumonía, ¡NIÑO!", "neumonia nino"), ("HbA1c 6.5 %", "hba1c 6.5 %"), ("6,5", "6 5"), ("v1.2.3.", "v1.2.3"),
    (".5 5. a.b 1.a", "5 5 a b 1 a"), ("1.\u03015", "1.5"), ("1 .5", "1 5"), ("m² ½", "m² ½"),
    ("CO₂, B₁₂", "co2 b12"), ("10⁶", "10⁶"), ("10₂ ₂ ²₂", "10₂ ₂ ²₂"), ("pCO₂.5", "pco2.5"), ("é₂", "e2"),
    ("Ⅳ ①", "ⅳ ①"), ("5 µg", "5 μg"), ("5 μg", "5 μg"), ("a₁\u0301₂", "a12"), ("ΑΣ", "ας"),
    ("İ", "i"), ("ǅ", "ǆ"), ("Å ﬁ", "a ﬁ"), ("٣.٤", "٣.٤"), ("a_b", "a b"), ("e\u0301", "e"), ("\ud800x", "x"),
])  # fmt: skip
def test_fold(text: str, folded: str) -> None:
    """Letters, digits and % stay, in lower case and without marks; a dot stays between digits."""
    assert fold(text) == folded


def test_fold_is_idempotent_on_every_character() -> None:
    """Alone, between letters and around a dot between digits, every code point is folded once and for all."""
    for char in map(chr, sample(range(sys.maxunicode + 1), 32)):
        once = fold(f"{char} a{char}B 1{char}.{char}2 {char}₂ a{char}₂.{char}₂{char}b")
        assert fold(once) == once, hex(ord(char))


@property_settings(300)
@given(st.text())
def test_fold_is_idempotent(text: str) -> None:
    """A second time changes nothing, nor do case of ASCII and blanks around."""
    once = fold(text)
    assert fold(once) == once == " ".join(once.split()) == fold(f" {text}\n")


# --- what is found, by hand ----------------------------------------------------------------------


@pytest.mark.parametrize("text", GOLDEN)
def test_golden(text: str) -> None:
    """Entities of English and Spanish texts, as read by hand."""
    assert _entities(text) == {kind: set(names) for kind, names in GOLDEN[text].items()}


def test_every_category_is_there() -> None:
    """What is found has all five categories, even if they are empty."""
    assert built_in_terms().entities("") == dict.fromkeys(CATEGORIES, frozenset())


def test_languages_meet() -> None:
    """A Spanish answer and an English reference are the same after normalization."""
    normalize = built_in_terms().normalize
    assert normalize("Insuficiencia cardíaca congestiva") == normalize("heart failure") == "heart failure"
    assert normalize("Neumonía grave") == "pneumonia grave"


def test_one_pass() -> None:
    """Longest first, from the left, and what was mapped is not mapped again."""
    of = Terms.of({"synonyms": {"x": ["a b", "c"], "y z": ["b c d", "x1"], "a": ["y"]}, "entities": {"labs": ["b"]}})
    assert of.normalize("a b c d") == "x x d"
    assert of.normalize("b c d a") == "y z a"
    assert of.normalize("b c e") == "b x e"
    assert of.normalize("y z") == "y z"
    assert of.normalize("y a b") == "a x"


def test_markers_do_not_overlap() -> None:
    """Of "because" and "because of" the longer counts where it stands; each distinct marker counts once."""
    text = built_in_terms().normalize(
        "Because of fever, and because the guideline says so; because of fever. EN PRIMER LUGAR…"
    )
    assert built_in_terms().markers(text).structure == {"because of", "because", "en primer lugar"}
    assert built_in_terms().markers(text).evidence == {"guideline", "fever"}
    assert built_in_terms().markers("because of fever").structure == {"because of"}


def test_facts_and_found() -> None:
    """Facts belong to the diagnoses that a text names; each is searched on its own, as whole words."""
    of = Terms.of({
        "entities": {"diagnoses": ["flu", "bird flu"]}, "synonyms": {"fever": ["fiebre"], "cough": ["tos"]},
        "facts": {"Flu": ["fiebre", "dry cough"], "gripe x": ["cough"]},
    })  # fmt: skip
    assert of.facts("flu") == of.facts("severe flu") == {"fever", "dry cough"}
    assert of.facts("bird flu") == of.facts("") == frozenset()
    assert of.facts("flu and gripe x") == {"fever", "dry cough", "cough"}
    assert of.found(["cough", "dry cough", "fever", "over"], "dry cough feverish") == {"cough", "dry cough"}
    assert of.found(["", "a"], "") == frozenset()


# --- what must not meet, and what must -----------------------------------------------------------


@pytest.mark.parametrize(("one", "other"), SAID["different"])
def test_different_things_do_not_meet(one: str, other: str) -> None:
    """Neither as entities, nor as texts."""
    assert _entities(one) != _entities(other)
    assert built_in_terms().normalize(one) != built_in_terms().normalize(other)


@pytest.mark.parametrize("spellings", SAID["same"], ids=lambda spellings: spellings[0])
def test_spellings_meet(spellings: list[str]) -> None:
    """All of them are normalized to the name."""
    assert {built_in_terms().normalize(spelling) for spelling in spellings} == {spellings[0]}


def test_qualifiers_are_not_swallowed() -> None:
    """Where a spelling has a qualifier more than its name, the one that would make another diagnosis is known, too."""
    qualified = re.compile(
        r"\b(acute|agud[ao]|chronic|cronic[ao]|viral|bacterial?|bacteriana|primary|primari[ao]|secondary|secundari[ao])\b"
    )
    opposite = {
        "appendicitis": "chronic appendicitis", "cholecystitis": "chronic cholecystitis",
        "diverticulitis": "chronic diverticulitis", "gastroenteritis": "chronic gastroenteritis",
        "otitis media": "chronic otitis media", "pancreatitis": "chronic pancreatitis",
        "pyelonephritis": "chronic pyelonephritis", "hepatitis c": "acute hepatitis c",
        "hypertension": "secondary hypertension", "infective endocarditis": "fungal endocarditis",
        "gout": "pseudogout",
    }  # fmt: skip
    always_acute = {"ischemic stroke", "myocardial infarction"}
    swallowing = {
        name for name in ENTITIES for spelling in DATA["synonyms"].get(name, ())
        if qualified.search(fold(spelling)) and not qualified.search(name) and "elevation" not in name
    }  # fmt: skip
    assert swallowing == opposite.keys() | always_acute
    for name, other in opposite.items():
        assert other in NAMES
        assert name not in _entities(other).get("diagnoses", set())


# --- against a fold that looks at each character -------------------------------------------------


def _naive_fold(text: str) -> str:
    """For texts without subscripts."""
    chars = [char for char in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(char)[0] != "M"]
    folded = []
    for at, char in enumerate(chars):
        around = [*chars[max(0, at - 1) : at], *chars[at + 1 : at + 2]]
        if char == ".":
            folded.append("." if len(around) == 2 and all(map(str.isdecimal, around)) else " ")
        elif char == "%" or unicodedata.category(char)[0] in "LN":
            folded.append("\u03bc" if char == "\u00b5" else char)
        else:
            folded.append(" ")
    return " ".join("".join(folded).split())


_BEYOND_LATIN_1 = (
    "\u2018\u2019\u201c\u201d\u2013\u2014\u2026\u2022\u2264\u2265\u2192\u0301\u0303\u03a3\u0130\u2028\u0660\u212b"
)
_SIGNS = [*map(chr, range(256)), *_BEYOND_LATIN_1]
_sign_texts = st.lists(st.sampled_from([*_SIGNS, *"ab1.2 %. ", "1.5", "a.b", "\u00e9", "38.5\u00b0"]))


@property_settings(400)
@given(_sign_texts.map("".join))
def test_as_a_naive_fold(text: str) -> None:
    """Most texts are folded by a table, the others character by character, with the same result."""
    assert fold(text) == _naive_fold(text)
    assert fold_spaced(text) == spaced(fold(text))


def test_each_character_of_latin_1_as_a_naive_fold() -> None:
    """Alone, and between letters and digits."""
    for sign in _SIGNS:
        for text in (sign, f"a{sign}b", f"1{sign}2", f"{sign}.{sign}", f"1.{sign}", f"\u2019{sign}"):
            assert fold(text) == _naive_fold(text)
    assert fold_spaced(text) == spaced(fold(text))


# --- against a matcher that loops over words and terms -------------------------------------------

_phrases = st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(" ".join)
_texts = st.lists(st.sampled_from("abcd"), max_size=14).map(" ".join)


def _naive(values: Mapping[str, str], text: str) -> list[tuple[str, str | None]]:
    """The words of a text in pieces: a phrase and its value, or a word and None."""
    words, pieces = text.split(), []
    while words:
        fitting = [phrase for phrase in values if words[: len(phrase.split())] == phrase.split()]
        longest = max(fitting, key=lambda phrase: len(phrase.split()), default=None)
        piece = longest or words[0]
        pieces.append((piece, values[longest] if longest else None))
        words = words[len(piece.split()) :]
    return pieces


@property_settings(300)
@given(st.dictionaries(_phrases, st.sampled_from(["x", "y", "a b"])), _texts)
def test_as_a_naive_matcher(values: dict[str, str], text: str) -> None:
    """Leftmost, longest, without overlap: as a loop over all phrases at all words says."""
    pieces = _naive(values, text)
    phrases = Phrases(values)
    assert phrases.replace(spaced(text)) == spaced(" ".join(value or piece for piece, value in pieces))
    assert phrases.values(text) == {value for _, value in pieces if value}


@property_settings(200)
@given(st.lists(st.sampled_from([*sorted(NAMES), *sorted(GOLDEN), "no", "de", "pain", "type", "2"]), max_size=8))
def test_shipped_entities_as_a_naive_matcher(pieces: list[str]) -> None:
    """The same of the shipped terms."""
    text = built_in_terms().normalize(" ".join(pieces))
    found = {name for name, value in _naive({name: name for name in NAMES}, text) if value}
    assert built_in_terms().entities(text) == {
        kind: {name for name in found if ENTITIES.get(name) == kind} for kind in CATEGORIES
    }


@property_settings(200)
@given(st.lists(st.sampled_from([*sorted(NAMES), *sorted(GOLDEN), "no", "de", "unstable", "chronic", "2"]), max_size=8))
def test_names_are_those_of_the_normalized_text(pieces: list[str]) -> None:
    """Spaced or not."""
    of, text = built_in_terms(), " ".join(pieces)
    assert of.names(of.normalize_spaced(text)) == of.names(of.normalize(text))


def test_the_start_of_a_long_phrase() -> None:
    """Words that all start a long phrase, which never ends, are the short phrase again and again."""
    text = "infarto agudo de miocardio con elevacion del segmento " * 1_000
    assert _entities(text) == {"diagnoses": {"myocardial infarction"}}


# --- the shipped terms ---------------------------------------------------------------------------

SAME_IN_SPANISH = {
    "apixaban", "clopidogrel", "diazepam", "enalapril", "levodopa", "losartan", "metoprolol", "oseltamivir",
    "osteoporosis", "sumatriptan",
}  # fmt: skip
"""Entities that need no other spelling: without accents, both languages write the same word."""


def test_shipped_file_keeps_its_contract() -> None:
    """The shipped terms are a `benchmark/lexicon`, recognized as such, and say how they were chosen."""
    report = medcontract.validate(LEXICON)
    assert (report.contract, report.problems) == ("benchmark/lexicon", ())
    assert DATA["about"].strip()
    assert DATA["how_chosen"].strip()
    assert set(DATA) == set(Lexicon.model_fields) - {"schema_", "replace"}
    assert tuple(Entities.model_fields) == CATEGORIES


def test_shipped_counts() -> None:
    """150 to 260 entities, in sorted lists without repetition."""
    counts = {kind: len(names) for kind, names in DATA["entities"].items()}
    assert counts == {"diagnoses": 91, "treatments": 28, "medications": 52, "symptoms": 40, "labs": 40}
    assert 150 <= sum(counts.values()) == len(ENTITIES) <= 260
    for names in [*DATA["entities"].values(), DATA["synonyms"]]:
        assert list(names) == sorted(set(names))


def test_documented_counts() -> None:
    """The documentation says how many there are."""
    text = (LEXICON.parents[4] / "docs" / "terms.md").read_text(encoding="utf-8")
    for kind, names in DATA["entities"].items():
        assert f"| `{kind}` | {len(names)} |" in text
    spellings = sum(map(len, DATA["synonyms"].values()))
    counts = [len(DATA[key]) for key in ("structure_markers", "evidence_markers", "fallacies")]
    assert (
        f"{sum(map(len, DATA['abbreviations'].values()))} ambiguous abbreviations of {len(DATA['abbreviations'])} terms"
        in text
    )
    assert (
        "{} spellings of {} names, {} markers of structure, {} of evidence, {} phrases of bad reasoning".format(
            spellings, len(NAMES), *counts
        )
        in text
    )


def test_shipped_names_are_fixed() -> None:
    """A name is in lower case, as normalization leaves it; so is what a lexicon made of the file says of it."""
    assert [name for name in NAMES if built_in_terms().normalize(name) != name or not name.isascii()] == []
    for name, kind in ENTITIES.items():
        assert _entities(name) == {kind: {name}}


def test_shipped_spellings() -> None:
    """Every spelling is mapped to its name, stands once, and is another than the name."""
    for name, spellings in DATA["synonyms"].items():
        folded = [fold(spelling) for spelling in spellings]
        assert len({*folded, name}) == len(folded) + 1, name
        assert spellings or (name not in ENTITIES and _hides(name)), name
        assert {built_in_terms().normalize(spelling) for spelling in [*spellings, name]} == {name}


def _hides(name: str) -> bool:
    """Whether a marker stands in a name, which is not found for that."""
    lists = ("structure_markers", "evidence_markers", "fallacies")
    hidden = any(built_in_terms().found(map(fold, DATA[key]), name) for key in lists)
    return hidden and not any(built_in_terms().markers(name))


def test_every_entity_has_another_spelling() -> None:
    """Entities have their Spanish spelling, unless it is the same word."""
    assert ENTITIES.keys() - DATA["synonyms"].keys() == SAME_IN_SPANISH


def test_shipped_facts() -> None:
    """Facts are of diagnoses, at least two each, and are names, so that both languages have them."""
    assert set(DATA["facts"]) == set(DATA["entities"]["diagnoses"])
    for diagnosis, facts in DATA["facts"].items():
        assert 2 <= len(facts) == len(set(facts)) <= 8
        assert NAMES.issuperset(facts), diagnosis
        assert diagnosis not in facts
        assert built_in_terms().facts(diagnosis) == set(facts)


def test_shipped_markers() -> None:
    """Markers are distinct, none is in two lists, and normalization leaves them."""
    lists = [[fold(m) for m in DATA[key]] for key in ("structure_markers", "evidence_markers", "fallacies")]
    everything = [marker for each in lists for marker in each]
    assert len(everything) == len(set(everything))
    assert [marker for marker in everything if built_in_terms().normalize(marker) != marker] == []


LEFT_OUT = (
    "MI", "PE", "MS", "RA", "CAD", "TIA", "ACE", "ICC", "ERC", "IRA", "CVA", "AF", "FA", "HF", "PCR", "ANA", "EGO",
    "GPT", "LES", "SOP", "OSA", "CT", "CAP", "NAC", "HSA", "RCP", "ASA", "SOB", "DM", "IVU", "gota", "infarto",
    "depression", "depresión", "tomografía", "gasometría", "transfusión", "fibrinolysis",
)  # fmt: skip


@pytest.mark.parametrize("spelling", LEFT_OUT)
def test_ambiguous_spellings_are_left_out(spelling: str) -> None:
    """What is an ordinary word, or common for two things, is not mapped; the documentation names it."""
    assert _entities(spelling) == {}
    assert f"`{spelling}`" in (LEXICON.parents[4] / "docs" / "terms.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("diagnosis", "normalized"), [
    ("MI", "myocardial infarction"), (" mi. ", "myocardial infarction"), ("HF", "heart failure"),
    ("IAM", "myocardial infarction"), ("ICC", "heart failure"), ("FA", "atrial fibrillation"),
    ("TIA", "transient ischemic attack"), ("LES", "systemic lupus erythematosus"), ("M.I.", "m i"),
    ("acute MI", "acute mi"), ("MI, HF", "mi hf"), ("mi tía", "mi tia"), ("", ""),
    ("MI " * 200, "mi " * 199 + "mi"),
])  # fmt: skip
def test_abbreviations_of_whole_diagnoses(diagnosis: str, normalized: str) -> None:
    """An abbreviation means its long form only if it is the whole diagnosis, and never elsewhere."""
    assert built_in_terms().normalize_diagnosis(diagnosis) == normalized
    if diagnosis != "IAM":  # also a spelling
        assert built_in_terms().normalize(diagnosis) == fold(diagnosis)


@pytest.mark.parametrize(("answer", "names"), [
    ("MI", {"myocardial infarction"}), (" mi. ", {"myocardial infarction"}), ("sob", {"dyspnea"}), ("M.I.", set()),
    ("Acute MI with SOB", {"myocardial infarction", "dyspnea"}), ("en mi opinión", set()), ("to sob", set()),
    ("ARF, CAD, HLD; PNA?", {"acute kidney injury", "coronary artery disease", "dyslipidemia", "pneumonia"}),
    ("MI-related", {"myocardial infarction"}), ("_MI_", {"myocardial infarction"}), ("a MI\u0301 b", set()),
    ("xMI MIx MI2", set()), ("Mi", {"myocardial infarction"}), ("no Mi", set()),
    ("STEMI", {"st elevation myocardial infarction"}),
    ("PE and PE", {"pulmonary embolism"}), ("T.S.H. and MS.", {"multiple sclerosis"}), ("", set()),
])  # fmt: skip
def test_abbreviations_in_answers(answer: str, names: set[str]) -> None:
    """An ambiguous abbreviation is found if it is in capitals, as a whole word, or if it is the whole answer."""
    terms = built_in_terms()
    searched = terms.with_long_forms(answer, terms.normalize_spaced(answer))
    found = terms.entities(" ".join(searched.split()))
    assert set().union(*found.values()) == names & ENTITIES.keys() or names == set().union(*found.values())
    assert terms.entities_of(terms.names(searched)) == found


def test_abbreviations_of_a_custom_lexicon_in_answers() -> None:
    """They are found in the same way, of several words, too; without any, nothing is replaced."""
    of = Terms.of(
        {"entities": {"diagnoses": ["frozen shoulder"]}, "abbreviations": {"frozen shoulder": ["f s", "FSS"]}}
    )
    for answer in ("an F  S", "FSS", "f s", "an FSS."):
        assert "frozen shoulder" in of.names(of.with_long_forms(answer, of.normalize_spaced(answer)))
    assert not of.names(of.with_long_forms("an f s", " an  f  s "))
    assert Terms.of({}).with_long_forms("MI and SOB", " mi  and  sob ") == " mi  and  sob "


def test_shipped_abbreviations() -> None:
    """Each belongs to one term, is not a spelling, and is documented."""
    text = (LEXICON.parents[4] / "docs" / "terms.md").read_text(encoding="utf-8")
    assert list(DATA["abbreviations"]) == sorted(DATA["abbreviations"])
    assert ENTITIES.keys() >= DATA["abbreviations"].keys()
    for name, shorts in DATA["abbreviations"].items():
        for short in shorts:
            assert built_in_terms().normalize_diagnosis(short) == name
            assert built_in_terms().normalize(short) == fold(short)
            assert f"`{short}`" in text


def test_abbreviations_of_a_custom_lexicon() -> None:
    """They are added and take precedence, follow a renamed diagnosis, and change the hash."""
    of = built_in_terms().extended({"abbreviations": {"frozen shoulder": ["FS", "MS"]}})
    assert [of.normalize_diagnosis(short) for short in ("fs", "MS", "MI")] == [
        "frozen shoulder", "frozen shoulder", "myocardial infarction",
    ]  # fmt: skip
    assert of.sha256 != built_in_terms().sha256
    renamed = built_in_terms().extended({"synonyms": {"heart attack": ["myocardial infarction"]}})
    assert renamed.normalize_diagnosis("MI") == "heart attack"
    assert (
        built_in_terms().extended({"abbreviations": {"Myocardial Infarction": ["mi"]}}).sha256
        == built_in_terms().sha256
    )
    assert Terms.of({}).normalize_diagnosis("MI") == "mi"
    with pytest.raises(InvalidTerms, match="'x' is an abbreviation of 'a' and of 'b'"):
        Terms.of({"abbreviations": {"a": ["X"], "b": ["x."]}})


NUMBERED, BULLETED = "numbered lines", "bulleted lines"


@pytest.mark.parametrize(("text", "kinds"), [
    ("1. Fever\n2. Cough", {NUMBERED}), ("1) a", {NUMBERED}), ("(2) a", {NUMBERED}), ("1.- a", {NUMBERED}),
    ("So:\r\n  3.) a", {NUMBERED}), ("**1.** a", {NUMBERED}), ("### 12. a", {NUMBERED}),
    ("x\u20281. a", {NUMBERED}),
    ("- a\n- b", {BULLETED}), ("* a", {BULLETED}), ("• a", {BULLETED}), ("x\n\t– a", {BULLETED}),
    ("+ a", {BULLETED}),
    ("1. a\n- b\n2. c", {NUMBERED, BULLETED}),
    ("", set()), ("38.5 °C", set()), ("1.5 mg", set()), ("120. a", set()), ("1.", set()), ("-", set()),
    ("a 1. b", set()),
    ("-5 mmol", set()), ("**bold** a", set()), ("1 a", set()), ("a - b", set()), ("90/60 mmHg", set()),
])  # fmt: skip
def test_line_kinds(text: str, kinds: set[str]) -> None:
    """Lines that start with a number or a bullet, each kind once; numbers and signs elsewhere are none."""
    assert line_kinds(text) == kinds


@pytest.mark.parametrize("text", [" " * 1000, "\n" + "> " * 1000, "*" * 1000, "\n" * 1000, "1. " + " " * 1000])
def test_lines_without_an_item(text: str) -> None:
    assert line_kinds(text) == frozenset()


# --- prose: bad reasoning, structure, evidence ---------------------------------------------------


def _normal(text: str) -> str:
    return built_in_terms().normalize(text)


@pytest.mark.parametrize("text", SAID["sound"])
def test_good_prose_holds_no_fallacy(text: str) -> None:
    """What sound texts say is not taken for bad reasoning, not even in part."""
    assert built_in_terms().markers(_normal(text)).fallacies == frozenset()


@pytest.mark.parametrize("text", SAID["unsound"])
def test_bad_reasoning_is_found(text: str) -> None:
    """Claims of certainty, appeals to everyone, anecdotes."""
    assert len(built_in_terms().markers(_normal(text)).fallacies) == 1


@pytest.mark.parametrize("text", SAID["without markers"])
def test_plain_prose_holds_no_marker(text: str) -> None:
    """Ordinals of medicine, studies of a patient and the like mark neither structure nor evidence."""
    assert (
        built_in_terms().markers(_normal(text)).structure
        == built_in_terms().markers(_normal(text)).evidence
        == frozenset()
    )


@pytest.mark.parametrize("text", SAID["structure"])
def test_structure_is_found(text: str) -> None:
    """What orders a text; ordinals, too, where no longer name hides them."""
    assert built_in_terms().markers(_normal(text)).structure == set(SAID["structure"][text])


@pytest.mark.parametrize("text", SAID["evidence"])
def test_evidence_is_found(text: str) -> None:
    """What gives a reason or a source."""
    assert built_in_terms().markers(_normal(text)).evidence == set(SAID["evidence"][text])


def test_names_hide_markers() -> None:
    """A name that holds a marker hides it there and only there; a marker that is a name is found."""
    of = Terms.of({
        "structure_markers": ["first", "first of all", "line", "x"], "evidence_markers": ["line of"],
        "synonyms": {"first line": ["primera línea"], "second x": []}, "entities": {"labs": ["line"]},
    })  # fmt: skip
    assert of.markers(of.normalize("primera línea")).structure == frozenset()
    assert of.markers("first line first of all second x").structure == {"first of all"}
    assert of.markers("first first line line x").structure == {"first", "line", "x"}
    assert of.markers("first line of").evidence == {"line of"}  # no name holds it


def test_fallacies_are_found() -> None:
    """In both languages, distinct ones."""
    text = "Everyone knows that. Everyone knows that! Todo el mundo sabe que es gripe: no puede ser otra cosa."
    expected = {"everyone knows that", "todo el mundo sabe que", "no puede ser otra cosa"}
    assert built_in_terms().markers(built_in_terms().normalize(text)).fallacies == expected


# --- lexicons of users ---------------------------------------------------------------------------


@pytest.mark.parametrize(("keys", "contract"), [
    ({"synonyms"}, "benchmark/lexicon"),
    ({"about", "entities", "negations"}, "benchmark/lexicon"),
    ({"about", "weights"}, "benchmark/weights"),
    ({"about", "facts", "model_id", "overall_scores", "task_scores"}, "benchmark/report"),
    ({"about", "title"}, None),
    (set(), None),
])  # fmt: skip
def test_recognition(keys: set[str], contract: str | None) -> None:
    """A lexicon needs no key, and is recognized where most keys are its own and no other contract is as near."""
    outline = Outline(frozenset(keys), {}, None, "object")
    assert not recognition.certain(outline) or contract != "benchmark/lexicon"
    if contract is None:
        assert isinstance(recognition.of_outline(outline), medcontract.NotRecognized)
    else:
        found = recognition.of_outline(outline)
        assert isinstance(found, recognition.Recognized)
        assert found.contract_id == contract


@pytest.mark.parametrize(("data", "message"), [
    ({"entities": {"diagnoses": ["Edema"], "symptoms": ["edéma"]}},
     "'edema' is in two categories, 'entities.diagnoses' and 'entities.symptoms'"),
    ({"synonyms": {"a": ["X-y"], "b": ["x y"]}}, "'x y' is a spelling of 'a' and of 'b' in 'synonyms'"),
    ({"synonyms": {"a": ["b"]}, "entities": {"labs": ["B"]}},
     "'b' is a name in 'entities.labs', and a spelling of 'a' in"),
    ({"synonyms": {"a": ["b"], "b": ["c"]}}, "'b' is a name in 'synonyms'"),
    ({"entities": {"labs": ["—"]}}, "'—', in 'entities.labs', contains no letter or digit"),
    ({"synonyms": {"": ["b"]}}, "'', in the names of 'synonyms', contains no letter or digit"),
    ({"synonyms": {"B": ["c", "\x1b"]}}, r"'\\x1b', in the spellings of 'b' in 'synonyms', contains no"),
    ({"fallacies": ["?!" * 99]}, r"'(\?!){20}', in 'fallacies', contains no letter or digit"),
    ({"facts": {".": ["b"]}}, "'.', in the names of 'facts', contains no letter or digit"),
    ({"facts": {"b": ["."]}}, "'.', in the facts of 'b' in 'facts', contains no letter or digit"),
    ({"synonyms": {"ache": ["fever", "asthma"]}},
     "'ache', in 'synonyms', is now a name for terms of two categories"),
])  # fmt: skip
def test_unsound(data: dict[str, Any], message: str) -> None:
    """Terms that contradict each other are refused, with a hint."""
    with pytest.raises(InvalidTerms, match=message) as caught:
        built_in_terms().extended(data)
    assert isinstance(caught.value, ValueError)
    assert caught.value.hint in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)  # noqa: S301  # our own


@pytest.mark.parametrize("data", [{}, {"entities": None, "synonyms": None, "facts": None, "replace": None}])
def test_nothing_said_changes_nothing(data: dict[str, Any]) -> None:
    """An empty lexicon leaves the terms, and their hash, as they are."""
    assert built_in_terms().extended(data).sha256 == built_in_terms().sha256


def test_extended() -> None:
    """What a lexicon says of a term wins; of all others, what was said before."""
    of = built_in_terms().extended({
        "entities": {"diagnoses": ["frozen shoulder", "Fever"], "medications": ["heparin"]},
        "synonyms": {"frozen shoulder": ["capsulitis"], "fatigue": ["flu"], "heart attack": ["myocardial infarction"]},
        "facts": {"asma": ["frozen shoulder"]}, "evidence_markers": ["as the scan shows"],
    })  # fmt: skip
    assert _entities("capsulitis, tos", of) == {"diagnoses": {"frozen shoulder"}, "symptoms": {"cough"}}
    assert _entities("fiebre", of) == {"diagnoses": {"fever"}}  # moved, with its spellings
    assert _entities("flu", of) == {"symptoms": {"fatigue"}}  # remapped
    assert _entities("gripe", of) == {"diagnoses": {"influenza"}}
    assert _entities("IAM", of) == {"diagnoses": {"heart attack"}}  # renamed: what was known of it goes along
    assert of.facts("heart attack") == built_in_terms().facts("myocardial infarction")
    assert of.facts("asthma") == {"frozen shoulder"}  # replaced
    assert of.facts("sepsis") == built_in_terms().facts("sepsis")
    assert of.markers("guideline as the scan shows").evidence == {"guideline", "as the scan shows"}
    assert built_in_terms().markers("as the scan shows").evidence == {"scan"}


def test_replaced() -> None:
    """With `replace`, nothing of the shipped terms is left."""
    data = {"replace": True, "entities": {"labs": ["glucose"]}}
    of = built_in_terms().extended(data)
    assert _entities("glucose, fever, glucosa", of) == {"labs": {"glucose"}}
    assert of.markers("first").structure == of.facts("asthma") == frozenset()
    assert of.sha256 == Terms.of({"entities": {"labs": ["Glucose"]}}).sha256


def test_hash_is_of_what_decides() -> None:
    """Order, repetition, case and prose do not change it; any term does."""
    rng = random.Random(6)
    data = copy.deepcopy(DATA)
    data["about"] = data["how_chosen"] = "other"
    for lists in (data["entities"], data["synonyms"], data["facts"], {"": data["fallacies"]}):
        for listed in lists.values():
            listed += [term.upper() for term in listed[:1]]
            rng.shuffle(listed)
    for key in ("entities", "synonyms", "facts"):
        data[key] = dict(rng.sample(sorted(data[key].items()), len(data[key])))
    assert Terms.of(data).sha256 == built_in_terms().sha256 == built_in_terms().extended(DATA).sha256
    others: tuple[dict[str, Any], ...] = (
        {"entities": {"labs": ["asthma"]}}, {"synonyms": {"asthma": ["asthmatic"]}}, {"synonyms": {"new name": []}},
        {"fallacies": ["a new one"]}, {"evidence_markers": ["first"]}, {"facts": {"asthma": ["cough"]}},
    )  # fmt: skip
    assert (
        len({built_in_terms().sha256, *(built_in_terms().extended(other).sha256 for other in others)})
        == len(others) + 1
    )


def test_pickle() -> None:
    """Terms go to worker processes."""
    again = pickle.loads(pickle.dumps(built_in_terms()))  # noqa: S301  # our own
    assert again.sha256 == built_in_terms().sha256
    assert again.normalize("HTA") == "hypertension"


def test_long_texts_are_not_kept() -> None:
    """A short text is worked out once, a long one is not remembered."""
    of = Terms.of({"synonyms": {"a": ["b"]}})
    before = len(of._short)
    for text in ("b c", "b c", "b " * 10_000, "b " * 10_000):
        of.normalize(text)
    assert len(of._short) == before + 1
    assert of.normalize("b c") is of.normalize("b c")
