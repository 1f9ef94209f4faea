"""The classes of the track `lesions`, as in the source document: the only table of them."""

from __future__ import annotations

from typing import NamedTuple


class LesionClass(NamedTuple):
    """A class of skin lesions."""

    number: int
    """Its position in the model output, from 1."""
    symbol: str
    name: str
    type: str
    """The clinical type: malignant, medium risk or benign."""

    @property
    def text(self) -> str:
        return f"{self.symbol} ({self.number}: {self.name}, {self.type})"


LESION_CLASSES = (
    LesionClass(1, "AK", "actinic keratosis", "benign"),
    LesionClass(2, "BCC", "basal cell carcinoma", "malignant"),
    LesionClass(3, "SK", "seborrheic keratosis", "medium risk"),
    LesionClass(4, "SCC", "squamous cell carcinoma", "malignant"),
    LesionClass(5, "VASC", "vascular lesion", "medium risk"),
    LesionClass(6, "DF", "dermatofibroma", "benign"),
    LesionClass(7, "NV", "benign nevus", "benign"),
    LesionClass(8, "NON", "other non-neoplastic", "benign"),
    LesionClass(9, "MEL", "melanoma", "malignant"),
    LesionClass(10, "ON", "other neoplastic / benign", "benign"),
)
"""In the order of the model output."""

CLASSES = tuple(each.symbol for each in LESION_CLASSES)


def class_named(symbol: str) -> LesionClass:
    return LESION_CLASSES[CLASSES.index(symbol)]


def symbols_of(clinical_type: str) -> tuple[str, ...]:
    """Return the symbols of all classes of a clinical type."""
    return tuple(each.symbol for each in LESION_CLASSES if each.type == clinical_type)
