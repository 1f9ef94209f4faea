"""Ids and labels that differ only in how they are written: in case, accents, whitespace or leading zeros, in their
separators, or in a prefix or suffix that all of them have or lack."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

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
_SEPARATOR = re.compile(r"(?:[-_.,/]|[^\S\n])+")
_IGNORED = dict.fromkeys(map(ord, "-_.,/0 \t\r\f\v"))
_AFFIXES = ("a prefix", "a suffix")
_MISSING = ("a missing prefix", "a missing suffix")
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
_WITHOUT_SEPARATORS = _steps("separators", lambda text: _SEPARATOR.sub("", text))
"""The same for ids that lack separators, if all of them do: `case1` alone is not `case-1`."""


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
    pairs: dict[Any, Any] = {}
    for steps in (_STEPS, _WITH_SEPARATORS):
        pairs |= _folded_pairs([key for key in unknown if key not in pairs], keys, signatures, steps)
    left = [key for key in dict.fromkeys(unknown) if key not in pairs]
    if len(left) > 1 and isinstance(left[0], str):
        same = _folded_pairs(left, keys, signatures, _WITHOUT_SEPARATORS)
        pairs |= same if len(same) == len(left) == len(set(same.values())) else {}
    if not pairs and len(left) > 1:
        pairs = _in_one_part(left, keys) if isinstance(left[0], tuple) else _changed_alike(left, keys, signatures)
    return [(key, pairs[key]) for key in unknown if key in pairs]


def _folded_pairs(
    unknown: Sequence[Any], keys: Sequence[Any], signatures: Sequence[Any], steps: _Steps
) -> dict[Any, Any]:
    wanted = set(_signatures(unknown)) if unknown else ()
    similar = [key for key, signature in zip(keys, signatures, strict=True) if signature in wanted] if wanted else []
    originals = {folded(key, steps=steps): key for key in similar}
    forms = ((key, folded(key, steps=steps)) for key in unknown) if originals else ()
    return {key: originals[form] for key, form in forms if form in originals}


def _swapped(unknown: Sequence[Any], known: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Pairs of ids whose parts are in the other order: all of them, since one may be a coincidence."""
    others = set(known)
    pairs = [(key, key[::-1]) for key in unknown if key[::-1] in others]
    return pairs if len(pairs) == len(unknown) else []


def _in_one_part(unknown: Sequence[Any], keys: Sequence[Any]) -> dict[Any, Any]:
    """Find pairs of ids of which one part is changed in the same way, among all or next to the same other parts."""
    known = set(keys)
    for at in range(len(keys[0])):
        groups: dict[Any, tuple[dict[str, None], dict[str, None]]] = {(): ({}, {})}
        for which, key in [*((0, key) for key in unknown), *((1, key) for key in keys)]:
            for others in ((), (*key[:at], *key[at + 1 :])):
                groups.setdefault(others, ({}, {}))[which][key[at]] = None
        meant: dict[Any, Any] = {}
        for others, (mine, true) in groups.items() if len(groups) <= _MOST_GROUPS else [((), groups[()])]:
            for part, right in near_pairs([part for part in mine if part not in true], true):
                meant[others, part] = right
        pairs: dict[Any, Any] = {}
        for key in unknown:
            others = (*key[:at], *key[at + 1 :])
            options = (meant.get((group, key[at])) for group in (others, ()))
            changed = ((*key[:at], part, *key[at + 1 :]) for part in options if part is not None)
            pairs.update((key, each) for each in changed if each in known)
        if len(pairs) == len(unknown):
            return pairs
    return {}


_MOST_GROUPS = 100


def _changed_alike(unknown: Sequence[str], keys: Sequence[str], signatures: Sequence[str]) -> dict[str, Any]:
    """Find ids that are known if the same prefix and suffix is removed from all, or added: `images/r1.jpg` for `r1`.

    At least two: a single one may be a coincidence.
    """
    everything = "\n".join(signatures)
    for steps in (_STEPS, _WITH_SEPARATORS):
        forms = {key: folded(key, steps=steps) for key in unknown}
        for key, form in islice(forms.items(), _MOST_SAMPLES):
            if not form or len(form) > _LONGEST:
                continue
            changes = _changes(form, _signatures([key])[0], keys, signatures, everything, steps)
            for change in islice(changes, _MOST_AFFIXES):
                found = _with_affixes(forms, change, keys, signatures, steps)
                if len(found) >= max(2, len(forms) if form.isdecimal() else len(forms) / 2):
                    return found
    return {}


class _Change(NamedTuple):
    """A prefix and a suffix to remove, or to add."""

    removing: bool
    prefix: str
    suffix: str

    def of(self, text: str) -> str | None:
        if not self.removing:
            return f"{self.prefix}{text}{self.suffix}"
        start, end = len(self.prefix), len(text) - len(self.suffix)
        fits = text.startswith(self.prefix) and text.endswith(self.suffix) and start < end
        return text[start:end] if fits else None


def _with_affixes(
    forms: Mapping[str, str], change: _Change, keys: Sequence[str], signatures: Sequence[str], steps: _Steps
) -> dict[str, str]:
    changed = {key: text for key, form in forms.items() if (text := change.of(form)) is not None}
    wanted = set(_signatures(list(changed.values())))
    similar = [key for key, signature in zip(keys, signatures, strict=True) if signature in wanted]
    originals = {folded(key, steps=steps): key for key in similar}
    return {key: originals[text] for key, text in changed.items() if text in originals}


def _changes(
    form: str, signature: str, keys: Sequence[str], signatures: Sequence[str], everything: str, steps: _Steps
) -> Iterator[_Change]:
    """Find a prefix and a suffix such that this id is known without them, or with them; the shortest first.

    A number is not cut: `512` is no part of `5120`.
    """
    starts = range(len(signature) + 1)
    parts = {signature[start:end] for start in starts for end in starts[start:]}
    inside = parts.intersection(signatures)
    pairs = [(folded(key, steps=steps), each) for key, each in zip(keys, signatures, strict=True)
             if each in inside or signature in each] if inside or signature in everything else []  # fmt: skip
    known = {true for true, each in pairs if each in inside}
    for length in range(len(form) - 1, 0, -1) if known else ():
        for start in range(len(form) - length + 1):
            end = start + length
            if form[start:end] in known and not _cuts_number(form, start, end):
                yield _Change(True, form[:start], form[end:])
    for true, _ in pairs:
        start = true.find(form)
        if start >= 0 and true != form and not _cuts_number(true, start, start + len(form)):
            yield _Change(False, true[:start], true[start + len(form) :])


def _cuts_number(text: str, start: int, end: int) -> bool:
    """Return whether a part of a text starts or ends within a number."""
    return any(text[max(0, at - 1) : at + 1].isdecimal() and 0 < at < len(text) for at in (start, end))


def differences(pairs: Sequence[tuple[Key, Key]]) -> str:
    """Say in what the pairs differ, such as "case or leading zeros"."""
    found = {name for mine, true in pairs for name in _differences(mine, true)}
    *most, last = [name for name in (*_STEPS, "separators", *_AFFIXES, *_MISSING, _ORDER) if name in found] or [
        "spelling"
    ]
    return f"{', '.join(most)} or {last}" if most else last


def _differences(mine: Any, true: Any) -> Iterator[str]:
    if isinstance(mine, tuple):
        if mine == true[::-1]:
            yield _ORDER
            return
        for part, right in zip(mine, true, strict=True):
            yield from _differences(part, right)
        return
    for steps in _ALL_STEPS:
        if folded(mine, steps=steps) == folded(true, steps=steps):
            yield from (name for name in steps if folded(mine, name, steps) != folded(true, name, steps))
            return
    for steps in _ALL_STEPS[:2]:
        shorter, longer = sorted((mine, true), key=lambda key: len(folded(key, steps=steps)))
        affixes = folded(longer, steps=steps).split(folded(shorter, steps=steps), 1)
        if len(affixes) > 1:
            names = _MISSING if shorter is mine else _AFFIXES
            yield from (name for name, affix in zip(names, affixes, strict=True) if affix)
            pairs = ((name, folded(shorter, name, steps), folded(longer, name, steps)) for name in steps)
            yield from (name for name, part, whole in pairs if part not in whole)
            return


_ALL_STEPS = (_STEPS, _WITH_SEPARATORS, _WITHOUT_SEPARATORS)


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
    if near := meant_ids(pairings):
        return f"write the ids as in the truth: all unknown ids differ from it only in {differences(near)}"
    lists = [pairing.unknown for pairing in pairings if pairing.unknown]
    found = [(damage_of(unknown), len(unknown)) for unknown in lists]
    damages = [damage[0] for damage, total in found if damage and damage[1] == total]
    return (
        f"{damages[0].hint}: the submission has ids {damages[0].says}" if damages and len(damages) == len(lists) else ""
    )


class Damage(NamedTuple):
    """What happened to ids, and what to do."""

    says: str
    hint: str


_ROW_NUMBERS = Damage("with the number of a row", "write the id of each case, not the number of its row")
_DAMAGED = (
    (r"[-+]?[0-9](?:[.,][0-9]+)?[eE][+-]?[0-9]{1,3}", Damage("in scientific notation, such as 1.2E+05",
     "a spreadsheet changed them: format the column as Text, and export it again")),
    (r"#(?:NAME\?|REF!|VALUE!|N/A|DIV/0!|NUM!|NULL!|SPILL!|NV|WERT!|BEZUG!)\s*",
     Damage("with an error of a spreadsheet, such as #NAME?", "paste the ids as text")),
    (r"[0-9a-fA-F]{32}(?:[0-9a-fA-F]{8}|[0-9a-fA-F]{32})?",
     Damage("with a hash instead of the id", "write the ids as they were given")),
    (r"=.*", Damage("with a formula", "export the values of the sheet")),
)  # fmt: skip
_LONGEST_NUMBER = 10
_FEWEST_ROWS = 5


def damage_of(unknown: Sequence[Any]) -> tuple[Damage, int] | None:
    """Return what happened to some of the unknown ids, and to how many, if that is clear without the expected ones."""
    parts = [*zip(*unknown, strict=True)] if unknown and isinstance(unknown[0], tuple) else [unknown]
    for ids in parts:
        counted = (
            (damage, sum(re.fullmatch(pattern, each) is not None for each in ids)) for pattern, damage in _DAMAGED
        )
        if found := next((each for each in counted if each[1]), None):
            return found
        if len(ids) < _FEWEST_ROWS or not all(each.isdecimal() and len(each) < _LONGEST_NUMBER for each in ids):
            continue
        numbers = set(map(int, ids))
        if min(numbers) < 2 and max(numbers) - min(numbers) == len(numbers) - 1:
            return _ROW_NUMBERS, len(ids)
    return None


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
