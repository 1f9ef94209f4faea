"""Documentation pages that are generated from the code."""

from __future__ import annotations

from medcontract.catalog import CATALOGUE

_GROUPS = {
    "0": "MC0xx: file and syntax",
    "1": "MC1xx: structure",
    "2": "MC2xx: rules within a file",
    "3": "MC3xx: rules across files",
    "4": "MC4xx: gates",
    "5": "MC5xx: advice",
}


def codes_page() -> str:
    """`docs/codes.md`: the catalogue."""
    lines = [
        "# Problem codes",
        "",
        "Generated from `src/medcontract/catalog/`; `medcontract explain CODE` shows the same. Codes are stable:",
        "they do not change their meaning and are never reused. Plugins can define codes with another prefix and the",
        "same ranges, which `medcontract explain --plugin MODULE CODE` explains.",
        "",
    ]
    group = ""
    for entry in CATALOGUE.values():
        if entry.code[2] != group:
            group = entry.code[2]
            lines += [f"## {_GROUPS[group]}", ""]
        lines += [f"### {entry.code} {entry.title}", "", entry.meaning, ""]
        lines += ["Wrong:", "", *_block(entry.mistake), "", "Right:", "", *_block(entry.fix), ""]
    return "\n".join(lines)


def _block(text: str) -> list[str]:
    return ["```", *text.splitlines(), "```"]
