"""Problem codes of plugins: like those of the catalogue, with a prefix of their own."""

from __future__ import annotations

import re
from typing import Any

from medcontract.catalog import ProblemCode, problem_codes
from medcontract.contracts.suggestions import did_you_mean
from medcontract.errors import LOAD_PLUGIN, CallError, words

__all__ = ["ProblemCode", "register_codes", "require_code", "unknown_code"]

_CODE = re.compile(r"([A-Z]{2,12})[1-5][0-9]{2}")
_LETTERS = re.compile(r"[A-Z]{2,12}(?=[0-9])")
_OURS = "MC"


def register_codes(*codes: ProblemCode) -> None:
    """Register problem codes, for rules and checks, `explain` and all formats. Raises `CallError`."""
    for each in codes:
        _check(each)
        if problem_codes().setdefault(each.code, each) != each:
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


def unknown_code(given: str, name: str) -> CallError:
    """The error about a code that does not exist, given by a user as it is and as a complete name."""
    prefix = _LETTERS.match(name)
    known = [code for code in problem_codes() if prefix and code.startswith(prefix[0])]
    hint = did_you_mean(name, known or problem_codes())
    if prefix and not known:
        hint = words(f"codes with the prefix {prefix[0]} may be those of a plugin: pass ", LOAD_PLUGIN)
    return CallError(f"unknown problem code '{given}'", hint)


def require_code(code: Any, where: str) -> None:
    """Raises `CallError` if the code of a rule or check of a plugin is unknown. `where` describes the rule or check."""
    if not isinstance(code, str) or code not in problem_codes():
        raise CallError(
            f"{where} has the unknown code {code}", "see: medcontract explain, or define it in CODES of the plugin"
        )
