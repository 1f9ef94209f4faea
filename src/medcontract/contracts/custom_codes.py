"""Problem codes of plugins: like those of the catalogue, with a prefix of their own."""

from __future__ import annotations

import re
from typing import Any

from medcontract.catalog import CATALOGUE
from medcontract.catalog import Entry as ProblemCode
from medcontract.errors import CallError

__all__ = ["ProblemCode", "register_codes", "require_code"]

_CODE = re.compile(r"([A-Z]{2,12})[1-5][0-9]{2}")
_OURS = "MC"


def register_codes(*codes: ProblemCode) -> None:
    """Register problem codes, for rules and checks, `explain` and all formats. Raises `CallError`."""
    for each in codes:
        _check(each)
        if CATALOGUE.setdefault(each.code, each) != each:
            raise CallError(f"the problem code {each.code} is already registered", "choose another number or prefix")


def _check(found: Any) -> None:
    if not isinstance(found, ProblemCode):
        raise CallError(
            f"a problem code must be a ProblemCode, not {type(found).__name__}",
            "write ProblemCode(code=…, title=…, meaning=…, mistake=…, fix=…)",
        )
    code: Any = found.code
    match = _CODE.fullmatch(code) if isinstance(code, str) else None
    if match is None:
        raise CallError(
            f"invalid problem code '{found.code}'",
            "write 2 to 12 capital letters and a number from 100 to 599, such as 'STROKE301'",
        )
    if match[1] == _OURS:
        raise CallError(f"{found.code}: the prefix {_OURS} is reserved", "choose another prefix, such as 'STROKE'")
    for name, text in found._asdict().items():
        if not isinstance(text, str) or not text.strip():
            raise CallError(f"the problem code {found.code} has no {name}", f"write {name}='…'")


def require_code(code: Any, where: str) -> None:
    """Raises `CallError` if the code of a rule or check of a plugin is unknown. `where` describes the rule or check."""
    if not isinstance(code, str) or code not in CATALOGUE:
        raise CallError(
            f"{where} has the unknown code {code}", "see: medcontract explain, or define it in CODES of the plugin"
        )
