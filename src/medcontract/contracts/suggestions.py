"""Finds what a misspelled word or name probably means: "did you mean …?", "rename 'x' to 'y'".

A field name may also be a translation or have words added to it. All of this is needed only if something is wrong with
a file, so the translations and the edit distance are loaded when they are first used.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache, lru_cache

import msgspec

from medcontract.contracts.messages import HINTS
from medcontract.contracts.wrong_values import unit_of
from medcontract.lazy_patterns import lazy_pattern
from medcontract.problems import is_plain

NEAR, ALMOST_EQUAL = 60, 80
"""Similarity out of 100: NEAR is enough for a suggestion; ALMOST_EQUAL allows for case, punctuation or one letter."""
_FEW = 500
"""Larger vocabularies are not cached: thousands of cache entries would take too much memory."""
_DATA = os.path.join(os.path.dirname(__file__), "field_names.json")
LONGEST_NAME = 200
"""The number of characters of a name or word that are compared."""
_MOST_NAMES = 1000
"""The number of names of a file that are compared at all."""
_MOST_COMPARED = 100
"""The number of names of a file for which the edit distance is computed."""
_SEPARATORS = frozenset("._/:[")
_MOST_RENAMES = 12
_WORD = lazy_pattern(r"[^\W_]+")
_CAMEL = lazy_pattern(r"(?<=[a-z])(?=[A-Z])")
_DIGITS = lazy_pattern(r"[0-9]+")


def nearest(word: str, known: Iterable[str], cutoff: int = NEAR) -> str | None:
    """Return the known word most similar to this one, if any is similar enough."""
    words = tuple(known)
    search = _cached if len(words) <= _FEW else _nearest
    return search(word[:LONGEST_NAME], words, cutoff)


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """Return a hint with the known word most similar to this one, if any is similar enough."""
    guess = nearest(word, known)
    return HINTS["did you mean"].format(name=guess) if guess else None


def _nearest(word: str, known: tuple[str, ...], cutoff: int) -> str | None:
    from rapidfuzz import fuzz, process, utils

    found = process.extractOne(word, known, scorer=fuzz.ratio, processor=utils.default_process, score_cutoff=cutoff)
    return found[0] if found else None


_cached = lru_cache(4096)(_nearest)  # the same mistake tends to occur many times


class _FieldNames(msgspec.Struct):
    affixes: tuple[str, ...]
    names: dict[str, tuple[str, ...]]


@cache
def _field_names() -> _FieldNames:
    with open(_DATA, "rb") as file:
        return msgspec.json.decode(file.read(), type=_FieldNames)


@cache
def _affixes() -> frozenset[str]:
    return frozenset(_field_names().affixes)


def folded(name: str) -> str:
    """Return the name without case, accents and separators."""
    return _folded(name[:LONGEST_NAME])


@lru_cache(4096)
def _folded(name: str) -> str:
    import unicodedata  # not needed for a valid file

    plain = unicodedata.normalize("NFKD", name.casefold())
    return "".join(char for char in plain if char.isalnum())


@lru_cache(4096)
def _other_names(field: str) -> frozenset[str]:
    """Return the folded translations of a field."""
    return frozenset(map(folded, _field_names().names.get(field, ())))


@lru_cache(4096)
def _without_affixes(name: str) -> tuple[str, ...]:
    """Return the folded name without words that people add to it, at either end: `pred_specialty`, `prob_MEL`."""
    words = [folded(word) for word in _WORD.findall(name)]
    found = []
    for start in range(1, len(words)):
        if words[start - 1] not in _affixes():
            break
        found.append("".join(words[start:]))
    for end in range(len(words) - 1, 0, -1):
        if words[end] not in _affixes():
            break
        found.append("".join(words[:end]))
    return tuple(found)


@lru_cache(1 << 14)
def _is_near(name: str, field: str) -> bool:
    """Return whether two folded names differ by one typo, or by two if they are long. Short names must be equal."""
    shorter, longer = sorted((len(name), len(field)))
    limit = 0 if shorter < 4 else 1 if shorter < 8 else 2
    if not limit or longer - shorter > limit or len(set(name) ^ set(field)) > 2 * limit:
        return False
    from rapidfuzz.distance import OSA

    return OSA.distance(name, field, score_cutoff=limit) <= limit


def pair_similar(names: Iterable[str], fields: Collection[str]) -> dict[str, str]:
    """Pair unknown names of a file with the fields that they most likely mean, each at most once.

    The best evidence takes precedence: another spelling, then a translation, an affix, a typo.
    """
    left, free = sorted(names)[:_MOST_NAMES], sorted(fields)
    if not left or not free:
        return {}
    spellings = _by_name((folded(field), field) for field in free)
    translations = _by_name((other, field) for field in free for other in _other_names(field))
    pairs: dict[str, str] = {}

    def pair(candidates: Callable[[str], Iterable[str]], names: list[str]) -> None:
        for name in names:
            unit = unit_of(name)
            fits = (field for field in candidates(name) if field in free and unit in (None, unit_of(field)))
            field = next(fits, None)
            if field is not None:
                pairs[name] = field
                free.remove(field)
        left[:] = [name for name in left if name not in pairs]

    pair(lambda name: spellings.get(folded(name), ()), left)
    pair(lambda name: translations.get(folded(name), ()), left)
    either = translations | spellings
    pair(lambda name: [field for rest in _without_affixes(name[:LONGEST_NAME]) for field in either.get(rest, ())], left)
    pair(lambda name: [field for field in free if _is_near(folded(name), folded(field))], left[:_MOST_COMPARED])
    return pairs


def certain_renames(names: Iterable[str], fields: Collection[str]) -> dict[str, str]:
    """Pair unknown names with the only field that each can mean, for repairs: another spelling, a translation, a typo.

    Words that are added or missing may change the meaning: a label is not a probability, and a time without a unit, or
    with another one, not a number of seconds. A field that two names mean is none of theirs.
    """
    found = {name: field for name in names if (field := _only_field(name, fields)) is not None}
    meant = list(found.values())
    return {name: field for name, field in found.items() if meant.count(field) == 1}


def _only_field(name: str, fields: Collection[str]) -> str | None:
    plain = folded(name)
    spelled = [field for field in fields if folded(field) == plain]
    unit = unit_of(name)
    others = [field for field in fields if unit_of(field) == unit]
    translated = [field for field in others if plain in _other_names(field)]
    found = spelled or translated or [field for field in others if _is_typo(name, field)]
    return found[0] if plain and len(found) == 1 else None


def _is_typo(name: str, field: str) -> bool:
    """Return whether the names have the same words, of which one or more is misspelled. Digits are not a typos."""
    mine, true = ([folded(word) for word in _WORD.findall(_CAMEL.sub("_", each))] for each in (name, field))
    return len(mine) == len(true) and all(
        a == b or (_is_near(a, b) and _DIGITS.findall(a) == _DIGITS.findall(b)) for a, b in zip(mine, true, strict=True)
    )


def pair_renamed(unknown: Iterable[str], missing: Collection[str]) -> dict[str, str]:
    """Pair unknown names of a file of a known contract with its missing fields, for hints.

    Here `id` means the only field that is an id, which is too weak to recognize a contract.
    """
    names = frozenset(unknown)
    unknown = sorted(name for name in names if not names.issuperset((f"{name[:-2]}_x", f"{name[:-2]}_y")))
    pairs = pair_similar(unknown, missing)
    ids = [field for field in missing if field.endswith("_id") and field not in pairs.values()]
    name = next((name for name in unknown if folded(name) == "id"), None)
    return {**pairs, name: ids[0]} if name is not None and name not in pairs and len(ids) == 1 else pairs


def _by_name(named: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the fields by name. A name without letters and digits means nothing."""
    found: dict[str, list[str]] = {}
    for name, field in named:
        if name:
            found.setdefault(name, []).append(field)
    return found


def is_part_of(column: str, field: str) -> bool:
    """Return whether a column is part of a nested field, as in a flat export: `prediction.answer`, `scores/bleu`."""
    rest = column[len(field) :]
    return column.startswith(field) and rest[:1] in _SEPARATORS and len(rest) > 1


def renames_text(renames: Mapping[str, str], most: int = _MOST_RENAMES) -> str:
    """Say which names to change. Names that may be data are only counted."""
    shown = [f"'{name}' to '{field}'" for name, field in sorted(renames.items()) if is_plain(name)][:most]
    left = len(renames) - len(shown)
    more = f"{left} more" if shown else f"{left} of them"
    return join_names([*shown, more] if left else shown)


def join_names(names: Iterable[str]) -> str:
    """Return a list of names as a phrase: `a, b and c`."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
