"""Clinical terms in text: folding, matching, the shipped lexicon, and lexicons of users."""

from __future__ import annotations

import copy
import json
import pickle
import random
import sys
import time
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import property_settings

import medcontract
from medcontract.definitions import recognition
from medcontract.definitions.benchmark import Entities, Lexicon
from medcontract.layout import Outline
from medcontract.normalizers import terms
from medcontract.normalizers.terms import CATEGORIES, LEXICON, Terms, UnsoundTerms, fold, shipped

DATA: dict[str, Any] = json.loads(LEXICON.read_text(encoding="utf-8"))
ENTITIES = {name: kind for kind, names in DATA["entities"].items() for name in names}
NAMES = {*ENTITIES, *DATA["synonyms"]}


def _entities(text: str, of: Terms | None = None) -> dict[str, set[str]]:
    """What is found in a text, without the categories that are empty."""
    of = of or shipped()
    return {kind: set(names) for kind, names in of.entities(of.normalize(text)).items() if names}


# --- folding -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("", ""), (" . ", ""), ("Crohn's disease", "crohn s disease"), ("X-ray", "x ray"), ("COVID-19", "covid 19"),
        ("Neumonía, ¡NIÑO!", "neumonia nino"), ("HbA1c 6.5 %", "hba1c 6.5 %"), ("6,5", "6 5"), ("v1.2.3.", "v1.2.3"),
        (".5 5. a.b 1.a", "5 5 a b 1 a"), ("1.\u03015", "1.5"), ("1 .5", "1 5"), ("m² ½", "m² ½"),
        ("CO₂, B₁₂", "co2 b12"), ("10⁶", "10⁶"), ("10₂ ₂ ²₂", "10₂ ₂ ²₂"), ("pCO₂.5", "pco2.5"), ("é₂", "e2"),
        ("Ⅳ ①", "ⅳ ①"), ("5 µg", "5 μg"), ("5 μg", "5 μg"), ("a₁\u0301₂", "a12"), ("ΑΣ", "ας"),
        ("İ", "i"), ("ǅ", "ǆ"), ("Å ﬁ", "a ﬁ"), ("٣.٤", "٣.٤"), ("a_b", "a b"), ("e\u0301", "e"), ("\ud800x", "x"),
    ],
)  # fmt: skip
def test_fold(text: str, folded: str) -> None:
    """Letters, digits and % stay, in lower case and without marks; a dot stays between digits."""
    assert fold(text) == folded


def test_fold_is_idempotent_on_every_character() -> None:
    """Alone, between letters and around a dot between digits, every code point is folded once and for all."""
    for char in map(chr, range(sys.maxunicode + 1)):
        once = fold(f"{char} a{char}B 1{char}.{char}2 {char}₂ a{char}₂.{char}₂{char}b")
        assert fold(once) == once, hex(ord(char))


@property_settings(300)
@given(st.text())
def test_fold_is_idempotent(text: str) -> None:
    """A second time changes nothing, nor do case of ASCII and blanks around."""
    once = fold(text)
    assert fold(once) == once == " ".join(once.split()) == fold(f" {text}\n")


# --- what is found, by hand ----------------------------------------------------------------------

GOLDEN: dict[str, dict[str, set[str]]] = {
    "Paciente con HTA y DM2, en tto con losartán 50 mg y metformina 850 mg. Refiere cefalea.": {
        "diagnoses": {"hypertension", "type 2 diabetes mellitus"}, "medications": {"losartan", "metformin"},
        "symptoms": {"headache"},
    },
    "Patient with HTN and T2DM on losartan 50 mg and metformin 850 mg; complains of headaches.": {
        "diagnoses": {"hypertension", "type 2 diabetes mellitus"}, "medications": {"losartan", "metformin"},
        "symptoms": {"headache"},
    },
    "IAM con elevación del ST: troponina elevada, ECG alterado. AAS, clopidogrel y angioplastia coronaria.": {
        "diagnoses": {"myocardial infarction"}, "labs": {"troponin", "electrocardiogram"},
        "medications": {"acetylsalicylic acid", "clopidogrel"}, "treatments": {"percutaneous coronary intervention"},
    },
    "Infarto agudo de miocardio con elevación del segmento ST": {"diagnoses": {"st elevation myocardial infarction"}},
    "STEMI; aspirin given, PCI planned": {
        "diagnoses": {"st elevation myocardial infarction"}, "medications": {"acetylsalicylic acid"},
        "treatments": {"percutaneous coronary intervention"},
    },
    "Type 2 diabetes mellitus": {"diagnoses": {"type 2 diabetes mellitus"}},
    "diabetes mellitus, type unknown": {"diagnoses": {"diabetes mellitus"}},
    "diabetes insípida central": {},
    "Pulmonary hypertension": {},
    "Niño con asma; sibilancias y tos nocturna. Se indica salbutamol inhalado.": {
        "diagnoses": {"asthma"}, "symptoms": {"wheezing", "cough"}, "medications": {"salbutamol"},
    },
    "IVU no complicada: disuria y polaquiuria, nitritos positivos. Nitrofurantoína por 5 días.": {
        "diagnoses": {"urinary tract infection"}, "symptoms": {"dysuria", "urinary frequency"}, "labs": {"nitrite"},
        "medications": {"nitrofurantoin"},
    },
    "Traslado a la UTI tras la ITU": {"diagnoses": {"urinary tract infection"}},
    "admitted to ITU with a UTI": {"diagnoses": {"urinary tract infection"}},
    "Crohn's disease or Crohns disease": {"diagnoses": {"crohn disease"}},
    "chest painful": {},
    "painful chest pain": {"symptoms": {"chest pain"}},
    "Wolff-Parkinson-White syndrome": {},
    "mal de Parkinson": {"diagnoses": {"parkinson disease"}},
    "stroke volume 70 ml, LDH 300, lactated Ringer's 1 l": {},
    "lactate 4.2 after the stroke": {"labs": {"lactate"}, "diagnoses": {"stroke"}},
    "HbA1c 9 %, LDL-C 160, eGFR 48, D-dimer 900, NT-proBNP 2000": {
        "labs": {"hemoglobin a1c", "ldl cholesterol", "glomerular filtration rate", "d dimer",
                 "b type natriuretic peptide"},
    },
    "Mi tía está en casa; he has no pain, si no mejora vuelve. GPT answered, EGO too.": {},
    "no chest pain": {"symptoms": {"chest pain"}},
    "una gota en cada ojo; ST depression": {},
    "": {},
}  # fmt: skip
"""Texts, and the entities in them: negation is not understood, and longer names hide what stands in them."""


@pytest.mark.parametrize("text", GOLDEN)
def test_golden(text: str) -> None:
    """Entities of English and Spanish texts, as read by hand."""
    assert _entities(text) == GOLDEN[text]


def test_every_category_is_there() -> None:
    """What is found has all five categories, even if they are empty."""
    assert shipped().entities("") == dict.fromkeys(CATEGORIES, frozenset())


def test_languages_meet() -> None:
    """A Spanish answer and an English reference are the same after normalization."""
    normalize = shipped().normalize
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
    text = shipped().normalize(
        "Because of fever, and because the guideline says so; because of fever. EN PRIMER LUGAR…"
    )
    assert shipped().evidence(text) == {"because of", "because", "guideline"}
    assert shipped().structure(text) == {"en primer lugar"}
    assert shipped().evidence("because of fever") == {"because of"}


def test_facts_and_found() -> None:
    """Facts are those of the diagnoses that a text names; each is sought on its own, as whole words."""
    of = Terms.of({
        "entities": {"diagnoses": ["flu", "bird flu"]}, "synonyms": {"fever": ["fiebre"], "cough": ["tos"]},
        "facts": {"Flu": ["fiebre", "dry cough"], "gripe x": ["cough"]},
    })  # fmt: skip
    assert of.facts("flu") == of.facts("severe flu") == {"fever", "dry cough"}
    assert of.facts("bird flu") == of.facts("") == frozenset()
    assert of.facts("flu and gripe x") == {"fever", "dry cough", "cough"}
    assert of.found(["cough", "dry cough", "fever", "over"], "dry cough feverish") == {"cough", "dry cough"}
    assert of.found(["", "a"], "") == frozenset()


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
    phrases = terms._Phrases(values)
    assert phrases.replace(text.split()) == " ".join(value or piece for piece, value in pieces)
    assert phrases.values(text) == {value for _, value in pieces if value}


@property_settings(200)
@given(st.lists(st.sampled_from([*sorted(NAMES), *sorted(GOLDEN), "no", "de", "pain", "type", "2"]), max_size=8))
def test_shipped_entities_as_a_naive_matcher(pieces: list[str]) -> None:
    """The same of the shipped terms."""
    text = shipped().normalize(" ".join(pieces))
    found = {name for name, value in _naive({name: name for name in NAMES}, text) if value}
    assert shipped().entities(text) == {
        kind: {name for name in found if ENTITIES.get(name) == kind} for kind in CATEGORIES
    }


def test_hostile_text_takes_linear_time() -> None:
    """A million words that all start a long phrase are done in seconds."""
    text = "infarto agudo de miocardio con elevacion del segmento " * 125_000
    start = time.perf_counter()
    assert _entities(text) == {"diagnoses": {"myocardial infarction"}}
    assert time.perf_counter() - start < 20


# --- the shipped terms ---------------------------------------------------------------------------

SAME_IN_SPANISH = {
    "apixaban", "clopidogrel", "diazepam", "enalapril", "levodopa", "losartan", "metoprolol", "oseltamivir",
    "sumatriptan",
}  # fmt: skip
"""Entities that need no other spelling: without accents, both languages write the same word."""


def test_shipped_file_keeps_its_contract() -> None:
    """The shipped terms are a `benchmark/lexicon`, recognised as such, and say how they were chosen."""
    report = medcontract.validate(LEXICON)
    assert (report.contract, report.problems) == ("benchmark/lexicon", ())
    assert DATA["about"].strip()
    assert DATA["how_chosen"].strip()
    assert set(DATA) == set(Lexicon.model_fields) - {"schema_", "replace"}
    assert tuple(Entities.model_fields) == CATEGORIES


def test_shipped_counts() -> None:
    """150 to 250 entities, in sorted lists without repetition."""
    counts = {kind: len(names) for kind, names in DATA["entities"].items()}
    assert counts == {"diagnoses": 86, "treatments": 27, "medications": 53, "symptoms": 41, "labs": 42}
    assert 150 <= sum(counts.values()) == len(ENTITIES) <= 250
    for names in [*DATA["entities"].values(), DATA["synonyms"]]:
        assert list(names) == sorted(set(names))


def test_shipped_names_are_fixed() -> None:
    """A name is in lower case, as normalization leaves it; so is what a lexicon made of the file says of it."""
    assert [name for name in NAMES if shipped().normalize(name) != name or not name.isascii()] == []
    for name, kind in ENTITIES.items():
        assert _entities(name) == {kind: {name}}


def test_shipped_spellings() -> None:
    """Every spelling is mapped to its name, stands once, and is another than the name."""
    for name, spellings in DATA["synonyms"].items():
        folded = [fold(spelling) for spelling in spellings]
        assert len({*folded, name}) == len(folded) + 1, name
        assert {shipped().normalize(spelling) for spelling in spellings} == {name}


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
        assert shipped().facts(diagnosis) == set(facts)


def test_shipped_markers() -> None:
    """Markers are distinct, none is in two lists, and normalization leaves them."""
    lists = [[fold(m) for m in DATA[key]] for key in ("structure_markers", "evidence_markers", "fallacies")]
    everything = [marker for each in lists for marker in each]
    assert len(everything) == len(set(everything))
    assert [marker for marker in everything if shipped().normalize(marker) != marker] == []


LEFT_OUT = (
    "MI", "PE", "MS", "RA", "CAD", "TIA", "ACE", "ICC", "ERC", "IRA", "CVA", "AF", "FA", "HF", "PCR", "ANA", "EGO",
    "GPT", "LES", "SOP", "OSA", "CT", "CAP", "NAC", "HSA", "RCP", "ASA", "SOB", "DM", "gota", "infarto", "depression",
    "depresión",
)  # fmt: skip


@pytest.mark.parametrize("spelling", LEFT_OUT)
def test_ambiguous_spellings_are_left_out(spelling: str) -> None:
    """What is an ordinary word, or common for two things, is not mapped; the documentation names it."""
    assert _entities(spelling) == {}
    assert f"`{spelling}`" in (LEXICON.parents[4] / "docs" / "terms.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "text",
    [
        "This is not always the case, and other explanations remain possible.",
        "No siempre es así; no siempre se debe a una infección y debe ser confirmado.",
        "The diagnosis must be confirmed because treatment is not without risk.",
        "It is well known that aspirin reduces mortality; the most likely explanation is plaque rupture.",
        "Es seguro y eficaz; la explicación más probable es una infección, sin lugar a dudas frecuente.",
    ],
)
def test_good_prose_holds_no_fallacy(text: str) -> None:
    """What sound texts say is not taken for bad reasoning, not even in part."""
    assert shipped().fallacies(shipped().normalize(text)) == frozenset()


def test_fallacies_are_found() -> None:
    """In both languages, distinct ones."""
    text = "Everyone knows this. Everyone knows it! Todo el mundo sabe que es gripe: no puede ser otra cosa."
    expected = {"everyone knows", "todo el mundo sabe", "no puede ser otra cosa"}
    assert shipped().fallacies(shipped().normalize(text)) == expected


# --- lexicons of users ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "contract"),
    [
        ({"synonyms"}, "benchmark/lexicon"),
        ({"about", "entities", "negations"}, "benchmark/lexicon"),
        ({"about", "weights"}, "benchmark/weights"),
        ({"about", "facts", "model_id", "overall_scores", "task_scores"}, "benchmark/report"),
        ({"about", "title"}, None),
        (set(), None),
    ],
)
def test_recognition(keys: set[str], contract: str | None) -> None:
    """A lexicon needs no key, and is recognised where most keys are its own and no other contract is as near."""
    outline = Outline(frozenset(keys), {}, None, "object")
    assert not recognition.certain(outline) or contract != "benchmark/lexicon"
    if contract is None:
        with pytest.raises(medcontract.NotRecognised):
            recognition.of_outline(outline)
    else:
        assert recognition.of_outline(outline) == contract


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            {"entities": {"diagnoses": ["Edema"], "symptoms": ["edéma"]}},
            "'edema' stands in two categories, 'entities.diagnoses' and 'entities.symptoms'",
        ),
        ({"synonyms": {"a": ["X-y"], "b": ["x y"]}}, "'x y' is a spelling of 'a' and of 'b' in 'synonyms'"),
        (
            {"synonyms": {"a": ["b"]}, "entities": {"labs": ["B"]}},
            "'b' is a name in 'entities.labs', and a spelling of 'a' in",
        ),
        ({"synonyms": {"a": ["b"], "b": ["c"]}}, "'b' is a name in 'synonyms'"),
        ({"entities": {"labs": ["—"]}}, "'—', in 'entities.labs', has neither a letter nor a digit"),
        ({"synonyms": {"": ["b"]}}, "'', in the names of 'synonyms', has neither a letter nor a digit"),
        ({"synonyms": {"B": ["c", "\x1b"]}}, r"'\\x1b', in the spellings of 'b' in 'synonyms', has neither"),
        ({"fallacies": ["?!" * 99]}, r"'(\?!){20}', in 'fallacies', has neither a letter nor a digit"),
        ({"facts": {".": ["b"]}}, "'.', in the names of 'facts', has neither a letter nor a digit"),
        ({"facts": {"b": ["."]}}, "'.', in the facts of 'b' in 'facts', has neither a letter nor a digit"),
        (
            {"synonyms": {"ache": ["fever", "asthma"]}},
            "'ache', in 'synonyms', is now a name for terms of two categories",
        ),
    ],
)
def test_unsound(data: dict[str, Any], message: str) -> None:
    """Terms that contradict each other are refused, with a hint."""
    with pytest.raises(UnsoundTerms, match=message) as caught:
        shipped().extended(data)
    assert isinstance(caught.value, ValueError)
    assert caught.value.hint in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)  # noqa: S301  # our own


@pytest.mark.parametrize("data", [{}, {"entities": None, "synonyms": None, "facts": None, "replace": None}])
def test_nothing_said_changes_nothing(data: dict[str, Any]) -> None:
    """An empty lexicon leaves the terms, and their hash, as they are."""
    assert shipped().extended(data).sha256 == shipped().sha256


def test_extended() -> None:
    """What a lexicon says of a term wins; of all others, what was said before."""
    of = shipped().extended({
        "entities": {"diagnoses": ["frozen shoulder", "Fever"], "medications": ["heparin"]},
        "synonyms": {"frozen shoulder": ["capsulitis"], "fatigue": ["flu"], "heart attack": ["myocardial infarction"]},
        "facts": {"asma": ["frozen shoulder"]}, "evidence_markers": ["as the scan shows"],
    })  # fmt: skip
    assert _entities("capsulitis, tos", of) == {"diagnoses": {"frozen shoulder"}, "symptoms": {"cough"}}
    assert _entities("fiebre", of) == {"diagnoses": {"fever"}}  # moved, with its spellings
    assert _entities("flu", of) == {"symptoms": {"fatigue"}}  # remapped
    assert _entities("gripe", of) == {"diagnoses": {"influenza"}}
    assert _entities("IAM", of) == {"diagnoses": {"heart attack"}}  # renamed: what was known of it goes along
    assert of.facts("heart attack") == shipped().facts("myocardial infarction")
    assert of.facts("asthma") == {"frozen shoulder"}  # replaced
    assert of.facts("sepsis") == shipped().facts("sepsis")
    assert of.evidence("because as the scan shows") == {"because", "as the scan shows"}
    assert shipped().evidence("as the scan shows") == frozenset()


def test_replaced() -> None:
    """With `replace`, nothing of the shipped terms is left."""
    data = {"replace": True, "entities": {"labs": ["glucose"]}}
    of = shipped().extended(data)
    assert _entities("glucose, fever, glucosa", of) == {"labs": {"glucose"}}
    assert of.structure("first") == of.facts("asthma") == frozenset()
    assert of.sha256 == Terms.of({"entities": {"labs": ["Glucose"]}}).sha256


def test_hash_is_of_what_decides() -> None:
    """Order, repetition, case and prose do not change it; any term does."""
    rng = random.Random(6)
    data = copy.deepcopy(DATA)
    data["about"] = data["how_chosen"] = "other"
    for lists in (data["entities"], data["synonyms"], data["facts"], {"": data["fallacies"]}):
        for listed in lists.values():
            listed += [listed[0].upper()]
            rng.shuffle(listed)
    for key in ("entities", "synonyms", "facts"):
        data[key] = dict(rng.sample(sorted(data[key].items()), len(data[key])))
    assert Terms.of(data).sha256 == shipped().sha256 == shipped().extended(DATA).sha256
    others: tuple[dict[str, Any], ...] = (
        {"entities": {"labs": ["asthma"]}}, {"synonyms": {"asthma": ["asthmatic"]}}, {"synonyms": {"new name": []}},
        {"fallacies": ["a new one"]}, {"evidence_markers": ["first"]}, {"facts": {"asthma": ["cough"]}},
    )  # fmt: skip
    assert len({shipped().sha256, *(shipped().extended(other).sha256 for other in others)}) == len(others) + 1


def test_pickle() -> None:
    """Terms go to worker processes."""
    again = pickle.loads(pickle.dumps(shipped()))  # noqa: S301  # our own
    assert again.sha256 == shipped().sha256
    assert again.normalize("HTA") == "hypertension"


def test_long_texts_are_not_kept() -> None:
    """A short text is worked out once, a long one is not remembered."""
    of = Terms.of({"synonyms": {"a": ["b"]}})
    for text in ("b", "b", "b " * 10_000, "b " * 10_000):
        of.normalize(text)
    assert (of._short.cache_info().hits, of._short.cache_info().misses) == (1, 1)
