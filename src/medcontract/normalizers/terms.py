"""Clinical terms in text: the normalization of the track `benchmark`, and phrases in normalized text.

Words are compared after `fold`. Known spellings, English and Spanish, are mapped to one name each. Sentences are not
interpreted: "no chest pain" contains chest pain.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Mapping
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from medcontract.normalizers.folding import Phrases, fold, fold_spaced, spaced
from medcontract.normalizers.text import TextCache

VERSION = 3
"""Incremented when `fold` or the matching changes; part of the protocols that use it.

2: numbered and bulleted lines; abbreviations of whole diagnoses. 3: abbreviations in answers.
"""
LEXICON = Path(__file__).parent / "data" / "lexicon.json"
CATEGORIES = ("diagnoses", "treatments", "medications", "symptoms", "labs")

_LINE_BREAK = re.compile("[\n\r\v\f\x85\u2028\u2029]")
_OTHER_SEPARATORS = "\x1c\x1d\x1e"
"""Not line breaks, except for `str.splitlines`, which is much faster than a pattern."""
_LINE_START = r"[ \t\u00a0]*+"
"""Repetitions are possessive, so that long runs of spaces take linear time."""
_LINE_KINDS = {
    "numbered lines": re.compile(_LINE_START + r"[*_#>(]*+[ \t]*+[0-9]{1,2}(?:\.\)|\.-|[.)])[*_]*[ \t\u00a0]+\S"),
    "bulleted lines": re.compile(_LINE_START + r"[-*+\u00b7\u2013\u2014\u2022\u2023\u25aa\u25cf\u25e6][ \t\u00a0]+\S"),
}

_MARKERS = ("structure_markers", "evidence_markers", "fallacies")
_LONGEST_KEPT = 200
"""Normalizations of texts up to this length are cached: names, diagnoses, short answers."""
_MAX_QUOTED = 40
_CAPITALS = re.compile(r"[A-Z][A-Z0-9\s]")
"""What an answer with an abbreviation in capitals has: most have none, which is found much faster."""


def line_kinds(text: str) -> frozenset[str]:
    """Return the kinds of lists in a text as written, each once: lines that start with a number or with a bullet.

    A number has one or two digits and `.`, `)`, `.)` or `.-` after it, then a space: "38.5 °C" is not numbered.
    """
    exact = any([char in text for char in _OTHER_SEPARATORS])  # noqa: C419  # faster than a generator
    lines = _LINE_BREAK.split(text) if exact else text.splitlines()
    return frozenset([kind for kind, pattern in _LINE_KINDS.items() if any(map(pattern.match, lines))])


class Markers(NamedTuple):
    """The distinct markers in a text, by kind."""

    structure: frozenset[str] = frozenset()
    evidence: frozenset[str] = frozenset()
    fallacies: frozenset[str] = frozenset()


class InvalidTerms(ValueError):
    """Terms that contradict each other."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}"


class _Said(NamedTuple):
    """The content of a lexicon, folded."""

    names: dict[str, str]
    """The name of each spelling; a name is a spelling of itself."""
    entities: dict[str, str]
    """The category of each name that is extracted."""
    markers: dict[str, frozenset[str]]
    facts: dict[str, frozenset[str]]
    abbreviations: dict[str, str]
    """The name of each ambiguous abbreviation."""


class Terms:
    """Names with their spellings and categories, markers and facts, ready for searching. Immutable."""

    def __init__(self, said: _Said) -> None:
        self._said = said
        self._spellings = Phrases(said.names)
        self._short = TextCache(lambda text: " ".join(self._spaced(text).split()), _LONGEST_KEPT)
        self._names = Phrases({name: name for name in said.names.values()})
        self._markers = [Phrases(self._hidden_in_names(said.markers[kind])) for kind in _MARKERS]
        self._facts: dict[str, frozenset[str]] = {}
        for name, facts in said.facts.items():
            key = self.normalize(name)
            self._facts[key] = self._facts.get(key, frozenset()) | frozenset(map(self.normalize, facts))

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Terms:
        """Return the terms of a lexicon (`benchmark/lexicon`). Raises `InvalidTerms`."""
        return cls(_read(data))

    def extended(self, data: Mapping[str, Any]) -> Terms:
        """Add the terms of a lexicon, which take precedence; or replace all, if it has `replace`."""
        return Terms.of(data) if data.get("replace") else Terms(_joined(self._said, _read(data)))

    def __reduce__(self) -> tuple[Any, ...]:
        return Terms, (self._said,)

    def normalize(self, text: str) -> str:
        """Return the folded text with known spellings mapped to names: whole words, leftmost and longest, in one pass.

        Names stay unchanged. Results for short texts are cached.
        """
        return self._short[text]

    def normalize_spaced(self, text: str) -> str:
        """Like `normalize`, but with a space on both sides of each word: faster for long texts that are searched."""
        return spaced(self._short[text]) if len(text) <= _LONGEST_KEPT else self._spaced(text)

    def _spaced(self, text: str) -> str:
        return self._spellings.replace(fold_spaced(text))

    def normalize_diagnosis(self, text: str) -> str:
        """Like `normalize`, for a whole diagnosis: a known abbreviation means its long form.

        Only if the text is nothing but the abbreviation: "MI" is an infarction, the "mi" of "en mi opinión" is not.
        """
        name = self._said.abbreviations.get(fold(text)) if len(text) <= _LONGEST_KEPT else None
        return self.normalize(text if name is None else name)

    def with_long_forms(self, text: str, normalized: str) -> str:
        """Return the normalized text of an answer, with the names of ambiguous abbreviations in place of them.

        Only if they are written in capitals, or are the whole answer: the "mi" of "en mi opinión" is a word.
        """
        name = self._said.abbreviations.get(" ".join(normalized.split())) if len(normalized) <= _LONGEST_KEPT else None
        if name is not None:
            return self.normalize(name)
        if not _CAPITALS.search(text):
            return normalized
        replaced, times = self._abbreviated.subn(lambda found: f" {self._said.abbreviations[fold(found[0])]} ", text)
        return self.normalize_spaced(replaced) if times else normalized

    @cached_property
    def _abbreviated(self) -> re.Pattern[str]:
        """Abbreviations in capitals, as whole words. A combining mark after one makes it another word."""
        phrases = sorted((short.upper() for short in self._said.abbreviations), key=len, reverse=True)
        words = "|".join(r"\s+".join(map(re.escape, phrase.split())) for phrase in phrases) or "(?!)"
        return re.compile(rf"(?<![^\W_])(?:{words})(?![^\W_]|[\u0300-\u036f])")

    def _hidden_in_names(self, markers: Iterable[str]) -> dict[str, str]:
        """Markers, and the names that contain and so hide one."""
        phrases = {phrase: phrase for phrase in map(self.normalize, markers)}
        plain = Phrases(phrases)
        names = set(self._said.names.values()) - phrases.keys()
        return phrases | {name: "" for name in names if plain.values(name)}

    def names(self, normalized: str) -> frozenset[str]:
        """Return the names in a normalized text: leftmost and longest first, no overlap."""
        return self._names.values(normalized)

    def entities(self, normalized: str) -> dict[str, frozenset[str]]:
        """Return the entities of each category in a normalized text: leftmost and longest first, no overlap.

        A longer name that is not an entity hides shorter ones in it: "stroke volume" does not contain a stroke.
        """
        return self.entities_of(self.names(normalized))

    def entities_of(self, names: Iterable[str]) -> dict[str, frozenset[str]]:
        """Return the entities of each category among the names in a text."""
        found: dict[str, set[str]] = {kind: set() for kind in CATEGORIES}
        for name in self.entity_names.intersection(names):
            found[self._said.entities[name]].add(name)
        return {kind: frozenset(names) for kind, names in found.items()}

    def markers(self, normalized: str) -> Markers:
        """Return the distinct markers of structure, evidence and faulty reasoning in a normalized text.

        Each kind is searched independently; of overlapping markers of a kind, the leftmost and longest counts. A longer
        name hides the marker in it: the "first" of "first degree" is not a marker.
        """
        text = spaced(normalized)
        return Markers(*[kind.values(text) for kind in self._markers])

    def facts(self, normalized: str, names: Iterable[str] | None = None) -> frozenset[str]:
        """Return the facts that a text about the diagnoses in a normalized text should mention, if any are known.

        `names` are the names in the text, if they are already known.
        """
        if names is None or not self.facts_are_about_names:
            names = self._diagnoses.values(normalized)
        return frozenset().union(*[self._facts[name] for name in names if name in self._facts])

    def found(self, phrases: Iterable[str], normalized: str, words: Container[str] | None = None) -> frozenset[str]:
        """Return the normalized phrases that occur in a normalized text as whole words, each searched by itself.

        `words`: of the text, if they are already known: most phrases need not be searched then.
        """
        text = spaced(normalized)
        words = frozenset(text.split()) if words is None else words
        first_words = self._first_words
        there = [phrase for phrase in phrases if (first_words.get(phrase) or phrase.partition(" ")[0]) in words]
        return frozenset([phrase for phrase in there if phrase in words or spaced(phrase) in text])

    @cached_property
    def _first_words(self) -> dict[str, str]:
        """Return the first word of each fact."""
        return {phrase: phrase.partition(" ")[0] for facts in self._facts.values() for phrase in facts}

    @cached_property
    def entity_names(self) -> frozenset[str]:
        """Return the names that are extracted."""
        return frozenset(self._said.entities)

    @property
    def categories(self) -> Mapping[str, str]:
        """Return the category of each name that is extracted."""
        return self._said.entities

    @cached_property
    def facts_are_about_names(self) -> bool:
        """Return whether `facts` only depends on the names in a text."""
        return self._facts.keys() <= set(self._said.names.values())

    @cached_property
    def _diagnoses(self) -> Phrases:
        return Phrases({name: name for name in (*self._said.names.values(), *self._facts)})

    @cached_property
    def sha256(self) -> str:
        """Return the hash of everything that affects the search, independent of the order in the lexicon."""
        said, facts = self._said, {name: sorted(facts) for name, facts in self._facts.items()}
        markers = {kind: sorted(set(map(self.normalize, phrases))) for kind, phrases in said.markers.items()}
        abbreviations = {short: self.normalize(name) for short, name in said.abbreviations.items()}
        everything = [said.names, said.entities, markers, facts, abbreviations]
        form = json.dumps(everything, sort_keys=True, ensure_ascii=True)
        return sha256(form.encode()).hexdigest()


@cache
def built_in_terms() -> Terms:
    """Return the built-in terms."""
    return Terms.of(json.loads(LEXICON.read_text(encoding="utf-8")))


def _read(data: Mapping[str, Any]) -> _Said:
    entities: dict[str, str] = {}
    for kind in CATEGORIES:
        for name in _folded((data.get("entities") or {}).get(kind), f"'entities.{kind}'"):
            if entities.setdefault(name, kind) != kind:
                message = f"'{name}' is in two categories, 'entities.{entities[name]}' and 'entities.{kind}'"
                raise InvalidTerms(message, "keep it in one of them")
    synonyms = data.get("synonyms") or {}
    names = {name: name for name in (*entities, *_folded(synonyms, "the names of 'synonyms'"))}
    own = {name: f"'entities.{entities[name]}'" if name in entities else "'synonyms'" for name in names}
    for key, spellings in synonyms.items():
        name = fold(key)
        for spelling in _folded(spellings, f"the spellings of '{name}' in 'synonyms'"):
            if names.setdefault(spelling, name) != name:
                raise _two_names(spelling, names[spelling], name, own.get(spelling))
    facts = _read_facts(data.get("facts") or {})
    markers = {kind: frozenset(_folded(data.get(kind), f"'{kind}'")) for kind in _MARKERS}
    return _Said(names, entities, markers, facts, _read_abbreviations(data.get("abbreviations") or {}))


def _read_facts(listed: Mapping[str, Iterable[str]]) -> dict[str, frozenset[str]]:
    facts: dict[str, frozenset[str]] = {}
    for key, phrases in listed.items():
        (name,) = _folded([key], "the names of 'facts'")
        facts[name] = facts.get(name, frozenset()).union(_folded(phrases, f"the facts of '{name}' in 'facts'"))
    return facts


def _read_abbreviations(listed: Mapping[str, Iterable[str]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, shorts in listed.items():
        (name,) = _folded([key], "the names of 'abbreviations'")
        for short in _folded(shorts, f"the abbreviations of '{name}' in 'abbreviations'"):
            if found.setdefault(short, name) != name:
                message = f"'{short}' is an abbreviation of '{found[short]}' and of '{name}' in 'abbreviations'"
                raise InvalidTerms(message, "keep it under one name")
    return found


def _two_names(spelling: str, first: str, second: str, name_of: str | None) -> InvalidTerms:
    if name_of is not None:
        return InvalidTerms(
            f"'{spelling}' is a name in {name_of}, and a spelling of '{second}' in 'synonyms'",
            "entities and the keys of 'synonyms' are names: list all spellings under one of them",
        )
    return InvalidTerms(
        f"'{spelling}' is a spelling of '{first}' and of '{second}' in 'synonyms'", "keep it under one name"
    )


def _folded(phrases: Iterable[str] | None, where: str) -> list[str]:
    phrases = list(phrases or ())
    folded = list(map(fold, phrases))
    if not all(folded):
        phrase = repr(phrases[folded.index("")][:_MAX_QUOTED])
        raise InvalidTerms(
            f"{phrase}, in {where}, contains no letter or digit", "only letters, digits and % are compared"
        )
    return folded


def _joined(ours: _Said, theirs: _Said) -> _Said:
    """`theirs` takes precedence. If it maps one of our names to another, what we know about the name moves along."""
    names = {spelling: theirs.names.get(name, name) for spelling, name in ours.names.items()} | theirs.names
    entities: dict[str, str] = {}
    for entity, kind in ours.entities.items():
        name = names[entity]
        if name not in theirs.entities and entities.setdefault(name, kind) != kind:
            kinds = f"'entities.{entities[name]}' and 'entities.{kind}'"
            message = f"'{name}', in 'synonyms', is now a name for terms of two categories, {kinds}"
            raise InvalidTerms(message, "list it in 'entities', in the intended category")
    known = Phrases(names)
    replaced = frozenset(known.replace(spaced(name)) for name in theirs.facts)
    facts = {name: facts for name, facts in ours.facts.items() if known.replace(spaced(name)) not in replaced}
    markers = {kind: phrases | theirs.markers[kind] for kind, phrases in ours.markers.items()}
    abbreviations = ours.abbreviations | theirs.abbreviations
    return _Said(names, entities | theirs.entities, markers, facts | theirs.facts, abbreviations)
