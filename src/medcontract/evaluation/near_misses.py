"""Ids and labels that differ only in how they are written: in case, accents, whitespace or leading zeros, in their
separators, or in a prefix or suffix that all of them have or lack."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from medcontract.contracts.rules import Key
from medcontract.problems import plural
from medcontract.scoring.pairing import Pairing

_EXAMPLES = 3
_MOST_SAMPLES = 3
_MOST_AFFIXES = 50
_LONGEST = 100
_LEADING_ZEROS = re.compile(r"(?<![0-9])0+(?=[0-9])")
_SPACE = re.compile(r"[^\S\n]+")
_AROUND = re.compile(r"^[^\S\n]+|[^\S\n]+$", re.MULTILINE)
_SEPARATOR = re.compile(r"(?:[-_.]|[^\S\n])+")
_IGNORED = dict.fromkeys(map(ord, "-_.0 \t\r\f\v"))
_AFFIXES = ("a prefix", "a suffix")
_ORDER = "the order of their parts"
_Steps = Mapping[str, Callable[[str], str]]


def _without_accents(text: str) -> str:
    if text.isascii():
        return text
    return "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))


_DASHES = dict.fromkeys((0x2010, 0x2011, 0x2012, 0x2013, 0x2014, 0x2015, 0x2212, 0xFE63, 0xFF0D), "-")
_FLOAT = re.compile(r"(?<=[0-9])\.0+$", re.MULTILINE)


def _with_hyphens(text: str) -> str:
    return text if text.isascii() else text.translate(_DASHES)


def _steps(name: str, step: Callable[[str], str]) -> _Steps:
    return {
        "dashes": _with_hyphens,
        "a '.0' at the end": lambda text: _FLOAT.sub("", text),
        "case": str.casefold,
        "accents": _without_accents,
        name: step,
        "leading zeros": lambda text: _LEADING_ZEROS.sub("", text),
    }


_STEPS = _steps("whitespace", lambda text: _SPACE.sub("", text))
"""What is ignored, by name, in this order. All steps treat the lines of a text separately."""
_WITH_SEPARATORS = _steps("separators", lambda text: _SEPARATOR.sub("-", _AROUND.sub("", text)))
"""The same for ids that also differ in separators, such as `case_1` and `CASE-1`."""


def folded(key: Any, but: str = "", steps: _Steps = _STEPS) -> Any:
    """Return the id or label without these differences, except one (`but`)."""
    if isinstance(key, tuple):
        return tuple(folded(part, but, steps) for part in key)
    key = key.replace("\n", " ")
    for name, step in steps.items():
        key = key if name == but else step(key)
    return key


def _signatures(keys: Sequence[Any]) -> list[Any]:
    """Return a text for each key that is equal for similar keys: without what is ignored, and without any zero.

    Strings are treated as one text, which takes a fraction of the time of `folded`.
    """
    if keys and isinstance(keys[0], tuple):
        return list(zip(*map(_signatures, zip(*keys, strict=True)), strict=True))
    text = "\n".join(keys)
    if text.count("\n") != len(keys) - 1:
        return _signatures([key.replace("\n", "") for key in keys])
    text = _without_accents(_with_hyphens(_FLOAT.sub("", text)).casefold())
    text = text if text.isascii() else _SPACE.sub("", text)
    return text.translate(_IGNORED).split("\n")


def near_pairs(unknown: Iterable[Any], known: Collection[Any]) -> list[tuple[Any, Any]]:
    """Return the unknown ids or labels that are similar to a known one, with that one."""
    unknown, keys = list(unknown), list(known)
    if not unknown or not keys:
        return []
    if isinstance(unknown[0], tuple) and (swapped := _swapped(unknown, keys)):
        return swapped
    signatures = _signatures(keys)
    wanted = set(_signatures(unknown))
    similar = [key for key, signature in zip(keys, signatures, strict=True) if signature in wanted]
    pairs: dict[Any, Any] = {}
    for steps in (_STEPS, _WITH_SEPARATORS):
        originals = {folded(key, steps=steps): key for key in similar}
        left = [key for key in unknown if key not in pairs]
        forms = ((key, folded(key, steps=steps)) for key in left)
        found = {key: originals[form] for key, form in forms if form in originals}
        pairs |= found
    left = [key for key in left if isinstance(key, str)]
    if not found and len(left) > 1:
        pairs |= _with_affixes(left, keys, signatures)
    return [(key, pairs[key]) for key in unknown if key in pairs]


def _swapped(unknown: Sequence[Any], known: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Pairs of ids whose parts are in the other order: all of them, since one may be a coincidence."""
    others = set(known)
    pairs = [(key, key[::-1]) for key in unknown if key[::-1] in others]
    return pairs if len(pairs) == len(unknown) else []


def _with_affixes(unknown: Sequence[str], keys: Sequence[str], signatures: Sequence[str]) -> dict[str, Any]:
    """Find ids that are known if the same prefix and suffix is removed from all, or added: `images/r1.jpg` for `r1`.

    At least two, and at least half of the unknown ids: a single one may be a coincidence.
    """
    forms = {key: folded(key) for key in unknown}
    everything = "\n".join(signatures)
    for key, form in islice(forms.items(), _MOST_SAMPLES):
        if not form or len(form) > _LONGEST:
            continue
        for change in islice(_changes(form, _signatures([key])[0], keys, signatures, everything), _MOST_AFFIXES):
            changed = {key: text for key, each in forms.items() if (text := _changed(each, *change)) is not None}
            wanted = set(_signatures(list(changed.values())))
            similar = [key for key, signature in zip(keys, signatures, strict=True) if signature in wanted]
            originals = {folded(key): key for key in similar}
            found = {key: originals[text] for key, text in changed.items() if text in originals}
            if len(found) >= max(2, len(forms) / 2):
                return found
    return {}


def _changes(
    form: str, signature: str, keys: Sequence[str], signatures: Sequence[str], everything: str
) -> Iterator[tuple[bool, str, str]]:
    """Find a prefix and a suffix to remove (True) or add, such that this id is known; the shortest first."""
    starts = range(len(signature) + 1)
    parts = {signature[start:end] for start in starts for end in starts[start:]}
    inside = parts.intersection(signatures)
    known = {folded(key) for key, each in zip(keys, signatures, strict=True) if each in inside} if inside else set()
    for length in range(len(form) - 1, 0, -1) if known else ():
        for start in range(len(form) - length + 1):
            if form[start : start + length] in known:
                yield True, form[:start], form[start + length :]
    if signature in everything:
        others = (folded(key) for key, each in zip(keys, signatures, strict=True) if signature in each)
        yield from ((False, *other.split(form, 1)) for other in others if form in other)


def _changed(text: str, removing: bool, prefix: str, suffix: str) -> str | None:
    if not removing:
        return f"{prefix}{text}{suffix}"
    fits = text.startswith(prefix) and text.endswith(suffix) and len(text) > len(prefix) + len(suffix)
    return text[len(prefix) : len(text) - len(suffix)] if fits else None


def differences(pairs: Sequence[tuple[Key, Key]]) -> str:
    """Say in what the pairs differ, such as "case or leading zeros"."""
    found = {name for mine, true in pairs for name in _differences(mine, true)}
    *most, last = [name for name in (*_STEPS, "separators", *_AFFIXES, _ORDER) if name in found] or ["spelling"]
    return f"{', '.join(most)} or {last}" if most else last


def _differences(mine: Any, true: Any) -> Iterator[str]:
    if isinstance(mine, tuple) and mine == true[::-1]:
        yield _ORDER
        return
    for steps in (_STEPS, _WITH_SEPARATORS):
        if folded(mine, steps=steps) == folded(true, steps=steps):
            yield from (name for name in steps if folded(mine, name, steps) != folded(true, name, steps))
            return
    shorter, longer = sorted((mine, true), key=lambda key: len(folded(key)))
    affixes = folded(longer).split(folded(shorter), 1)
    yield from (name for name, affix in zip(_AFFIXES, affixes, strict=True) if affix)
    if shorter not in longer:
        yield from (name for name, step in _STEPS.items() if step(shorter) in step(longer))


def meant_ids(pairings: Iterable[Pairing]) -> list[tuple[Any, Any]]:
    """Return the unknown ids with the ones that they are meant for, if that explains all of them."""
    found = []
    for pairing in pairings:
        if pairing.unknown:
            near = near_pairs(pairing.unknown, pairing.similar_to())
            if len(near) < len(pairing.unknown):
                return []
            found += near
    return found


def misspelled(pairings: Sequence[Pairing]) -> str:
    """Say what explains all unknown ids, if no id is right; otherwise nothing."""
    if any(marks.processed for pairing in pairings for marks in pairing.marks_by_run.values()):
        return ""
    near = meant_ids(pairings)
    return f"write the ids as in the truth: all unknown ids differ from it only in {differences(near)}" if near else ""


def only_in_spelling(near: Sequence[tuple[Key, Key]], other: str) -> str:
    """Say that ids or labels differ from another only in spelling, as the rest of a sentence."""
    return f"{'differ' if len(near) > 1 else 'differs'} from {other} only in {differences(near)}"


def near_misses(pairings: Iterable[Pairing]) -> tuple[list[str], list[str]]:
    """Count unknown ids that differ from one of the truth only in spelling, and show some of them (as hints).

    Each of the pairings has unknown ids.
    """
    warnings: list[str] = []
    hints: list[str] = []
    for pairing in pairings:
        near = near_pairs(pairing.unknown, pairing.similar_to())
        if near:
            warnings.append(f"{plural(len(near), 'unknown id')} {only_in_spelling(near, 'an id of the truth')}")
            pairs = "; ".join(f"{shown_key(mine)} (truth: {shown_key(true)})" for mine, true in near[:_EXAMPLES])
            hints.append(f"ids that differ only in {differences(near)}: {pairs}")
        if not any(pairing.marks_by_run.values()):
            mine, true = (
                ", ".join(map(shown_key, keys[:_EXAMPLES])) for keys in (pairing.unknown, pairing.expected.keys)
            )
            hints.append(f"ids of the submission: {mine}; of the truth: {true}")
    return warnings, hints


def shown_key(key: Any) -> str:
    return " ".join(repr(part) for part in key) if isinstance(key, tuple) else repr(key)
