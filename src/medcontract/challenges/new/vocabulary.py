"""What the name of a column and its values suggest: a label, an id, data of a person, an ordered scale.

These are guesses, for a first draft that people read. Where a guess matters for privacy it is cautious: a column that
may contain names or ids never becomes an enumeration, so that none of its values reaches the challenge file.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split(" "))


LABELS = _words(
    "answer answers category class code codes condition diagnoses diagnosis disease effusion finding findings grade "
    "gt label labels los mortality outcome pathology positive present reference response result risk score severity "
    "specialty stage status survival target truth type urgency y"
)
METADATA = _words(
    "age bmi center centre country cohort dataset date day department ethnicity file filename fold frame gender "
    "height hospital id image index institution language manufacturer modality month number path race region row "
    "scanner session sex site source split study subset time timestamp url uri uuid uid vendor version view visit "
    "ward weight year"
)
PERSONS = _words(
    "address annotator author birth birthdate birthday city clinician comment comments contact dob doctor email "
    "family firstname insurance lastname mail mrn name names nhs note notes nurse operator pathologist patient person "
    "phone physician postcode radiologist rater reader remark remarks reviewer signed ssn street subject surname "
    "technician telephone text zip"
)
IDS = _words("accession case exam id identifier image key mrn record sample series study subject uid uuid")
PARTS = _words(
    "date day eye frame index laterality lesion level month no number part question region run segment session side "
    "slice time timepoint tooth view visit week year"
)
"""Columns that may be the second part of a compound key."""
_REMARKS = _words("comment comments note notes remark remarks")
_WEAK_LABELS = _words("code codes")
"""Not enough for a label if the column is also about a person: a patient code is an id."""
_RUN_TOGETHER = ("address", "birth", "email", "name", "phone", "surname")

_SCALES = tuple(
    tuple(line.split(" < "))
    for line in (
        "absent < none < no < normal < minimal < trace < slight < mild < moderate < marked < severe < critical < fatal",
        "very low < low < intermediate < medium < moderate < high < very high",
        "never < rarely < seldom < sometimes < often < always",
        "small < medium < large",
        "elective < routine < non-urgent < semi-urgent < urgent < emergent < emergency < immediate",
        "absent < unlikely < possible < probable < likely < definite < certain",
        "worse < same < unchanged < stable < better < improved",
        "poor < fair < good < very good < excellent",
        "i < ii < iii < iv < v < vi < vii < viii < ix < x",
    )
)
_NUMBERED = re.compile(r"([^0-9]*)([0-9]{1,3})([^0-9]*)")
_ROMAN = re.compile(r"(.*[ _-])(i{1,3}|iv|vi{0,3}|ix|x)")
_TITLE = re.compile(r"(?i)(?:dr|dra|prof|mr|mrs|ms|sr|sra|miss|herr|frau)\b\.?\s")
_CONTACT = re.compile(r"@|[0-9][0-9 .()/-]{4,}[0-9]")
_PERSON = re.compile(r"[^\W\d_][\w'’.-]*(?:,? [^\W\d_][\w'’.-]*){1,3}")
_LEAST_STEPS = 3


def words(name: str) -> frozenset[str]:
    return frozenset(name.split("_"))


def is_label(name: str) -> bool:
    return bool(words(name) & LABELS) and not is_personal(name)


def is_metadata(name: str) -> bool:
    """Whether a column describes a case or a person, rather than what is to be predicted."""
    return not is_label(name) and (bool(words(name) & METADATA) or is_personal(name))


def is_id(name: str) -> bool:
    if words(name) & {"id", "uid", "uuid", "identifier", "accession", "mrn"}:
        return True
    return name.endswith("id") and name[:-2] in IDS | PERSONS  # caseid, but not covid


def is_personal(name: str) -> bool:
    """Whether a column may contain names, contact data or remarks."""
    if not words(name) & PERSONS and not any(part in name for part in _RUN_TOGETHER):
        return False
    return bool(words(name) & _REMARKS) or not words(name) & (LABELS - _WEAK_LABELS)


def looks_like_persons(values: Collection[str], is_label: bool) -> bool:
    """Whether values may be names or contact data of people."""
    if any(_TITLE.match(value) or _CONTACT.search(value) for value in values):
        return True
    names = sum(bool(_PERSON.fullmatch(value)) and value.istitle() for value in values)
    return not is_label and 2 * names >= len(values)


def natural_order(values: Iterable[str]) -> list[str]:
    """By number and letter: stage 2 before stage 10."""

    def key(value: str) -> tuple[tuple[int, int, str], ...]:
        parts = re.split(r"([0-9]{1,18})", value.casefold())
        return tuple((0, int(part), "") if part.isdecimal() and part else (1, 0, part) for part in parts)

    return sorted(values, key=lambda value: (key(value), value))


def scale_order(values: Sequence[str]) -> list[str] | None:
    """The values from low to high, if they are the steps of a known scale, or numbered steps."""
    if len(values) < _LEAST_STEPS:
        return None
    by_word = {value.casefold().strip(): value for value in values}
    if len(by_word) < len(values):
        return None
    for scale in _SCALES:
        if by_word.keys() <= set(scale):
            return [by_word[word] for word in scale if word in by_word]
    return _numbered_order(by_word) or _roman_order(by_word)


def _numbered_order(by_word: dict[str, str]) -> list[str] | None:
    """Such as T1, T2, T3."""
    parts = {word: _NUMBERED.fullmatch(word) for word in by_word}
    if not all(parts.values()) or len({(each[1], each[3]) for each in parts.values() if each}) > 1:
        return None
    return [by_word[word] for word in sorted(by_word, key=lambda word: int(parts[word][2]))]  # type: ignore[index]


def _roman_order(by_word: dict[str, str]) -> list[str] | None:
    """Such as stage I, stage II, stage III."""
    parts = {word: _ROMAN.fullmatch(word) for word in by_word}
    if not all(parts.values()) or len({each[1] for each in parts.values() if each}) > 1:
        return None
    steps = _SCALES[-1]
    return [by_word[word] for word in sorted(by_word, key=lambda word: steps.index(parts[word][2]))]  # type: ignore[index]
