"""Field names that are alike: the same name in another spelling, with a typo, or in another language.

Used where a file matches no contract exactly, so the data and the edit distance are only loaded then.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable
from functools import cache, lru_cache

import msgspec

_DATA = os.path.join(os.path.dirname(__file__), "field_names.json")
_LONGEST_NAME = 200
_MOST_NAMES = 1000
"""The number of names of a file that are compared at all."""
_MOST_COMPARED = 100
"""The number of names of a file for which the edit distance is computed."""


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
    """The name without case, accents and separators."""
    return _folded(name[:_LONGEST_NAME])


@lru_cache(4096)
def _folded(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name.casefold())
    return "".join(char for char in plain if char.isalnum())


@cache
def _other_names(field: str) -> frozenset[str]:
    """The folded translations of a field."""
    return frozenset(map(folded, _field_names().names.get(field, ())))


_WORD = re.compile(r"[^\W_]+")


@lru_cache(4096)
def _without_affixes(name: str) -> tuple[str, ...]:
    """The folded name without words that people add to it, at either end: `pred_specialty`, `prob_MEL`."""
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
    """Whether two folded names differ by one typo, or by two if they are long. Short names must be equal."""
    shorter, longer = sorted((len(name), len(field)))
    limit = 0 if shorter < 4 else 1 if shorter < 8 else 2
    if not limit or longer - shorter > limit or len(set(name) ^ set(field)) > 2 * limit:
        return False
    from rapidfuzz.distance import OSA

    return OSA.distance(name, field, score_cutoff=limit) <= limit


def pair_alike(names: Iterable[str], fields: Collection[str]) -> dict[str, str]:
    """Pairs unknown names of a file with the fields that they most likely mean, each at most once.

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
            field = next((field for field in candidates(name) if field in free), None)
            if field is not None:
                pairs[name] = field
                free.remove(field)
        left[:] = [name for name in left if name not in pairs]

    pair(lambda name: spellings.get(folded(name), ()), left)
    pair(lambda name: translations.get(folded(name), ()), left)
    either = translations | spellings
    pair(
        lambda name: [field for rest in _without_affixes(name[:_LONGEST_NAME]) for field in either.get(rest, ())], left
    )
    pair(lambda name: [field for field in free if _is_near(folded(name), folded(field))], left[:_MOST_COMPARED])
    return pairs


def pair_renamed(unknown: Iterable[str], missing: Collection[str]) -> dict[str, str]:
    """Pairs unknown names of a file of a known contract with its missing fields, for hints.

    Here `id` means the only field that is an id. To recognize a contract, it says too little.
    """
    unknown = list(unknown)
    pairs = pair_alike(unknown, missing)
    ids = [field for field in missing if field.endswith("_id") and field not in pairs.values()]
    name = next((name for name in unknown if folded(name) == "id"), None)
    return {**pairs, name: ids[0]} if name is not None and name not in pairs and len(ids) == 1 else pairs


def _by_name(named: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """The fields by name. A name without letters and digits means nothing."""
    found: dict[str, list[str]] = {}
    for name, field in named:
        if name:
            found.setdefault(name, []).append(field)
    return found


def stands_for(column: str, field: str) -> bool:
    """Whether a column is part of a nested field, as in a flattened export: `prediction.answer`, `scores/bleu`."""
    rest = column[len(field) :]
    return column.startswith(field) and rest[:1] in _JOINTS and len(rest) > 1


_JOINTS = frozenset("._/:[")
