"""The reference of challenge files is up to date and complete."""

from __future__ import annotations

from script.doc_pages import reference_page
from tests.support import ROOT

from medcontract.challenges.model import TYPES, Definition, Field
from medcontract.challenges.rules import RULES
from medcontract.scoring.metrics import KINDS


def test_it_is_up_to_date() -> None:
    """`docs/challenge-reference.md` is what the tables give today; run `script/generate`."""
    assert (ROOT / "docs" / "challenge-reference.md").read_text(encoding="utf-8") == reference_page()


def test_it_is_complete() -> None:
    """Every key, type, rule, metric and parameter has a row, and no row has too few or too many cells."""
    page = reference_page()
    parameters = {parameter.name for kind in KINDS.values() for parameter in kind.parameters}
    for name in (
        *{field.alias or name for name, field in Definition.model_fields.items()},
        *Field.model_fields,
        *TYPES,
        *RULES,
        *KINDS,
    ):
        assert f"\n| `{name}` |" in page, name
    for name in parameters:
        assert f" | `{name}` | " in page, name
    for table in page.split("\n\n"):
        if table.startswith("|"):
            assert len({line.replace("\\|", "").count("|") for line in table.strip().splitlines()}) == 1
