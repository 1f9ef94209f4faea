"""The page of a bundle for participants: the files, examples, formulas, the gate, and how to check a submission."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from medcontract.challenges.examples import example_files
from medcontract.contracts import registry
from medcontract.rendering.page import Bullets, Code, Line, Page, Paragraph, Preformatted, Section, Styled
from medcontract.rendering.pages.reference import dictionary_sections
from medcontract.results.schemas import DataDictionary
from medcontract.results.tables import Table
from medcontract.schemas.dictionary import data_dictionary
from medcontract.scoring.protocol import MIN_PROCESSED
from medcontract.scoring.scorer import percent

if TYPE_CHECKING:
    from medcontract.platforms.bundle import Plan


def participants_page(plan: Plan) -> Page:
    """Return the page. It contains nothing of the truth."""
    sections = [
        Section("What you submit", [Bullets(list(_files(plan)))]),
        Section("How submissions are scored", list(_scoring(plan))),
        Section("Check before you submit", list(_checks(plan))),
    ]
    for contract_id in (*plan.settings.submission, *plan.optional):
        sections += dictionary_sections(_dictionary(contract_id))
    return Page(f"{plan.title}: how to take part", sections=sections)


def _dictionary(contract_id: str) -> DataDictionary:
    found, scope = data_dictionary(contract_id), registry.scope()
    if scope is None or found.examples:
        return found
    return replace(found, examples=(msgspec.json.decode(example_files(scope.definition)["predictions.json"]),))


def _files(plan: Plan) -> Iterator[Line]:
    required = [part for name in plan.settings.submission for part in (" and ", Styled(name, "code"))][1:]
    yield ["Required: files of ", *required, ". Their fields, columns and rules are below."]
    for name in plan.optional:
        yield [
            "A file of ", Styled(name, "code"), f": without it there is no {plan.settings.headline.figure}, and the "
            "submission is not scored. Submit both files together." if name in plan.needed
            else ": optional, some figures need it.",
        ]  # fmt: skip
    yield ["Several files are submitted in a .zip. Their names do not matter, only what is in them."]
    if plan.settings.platform == "grand-challenge":
        yield ["The platform accepts .csv and .zip only: submit a single file of another format in a .zip, too."]


def _scoring(plan: Plan) -> Iterator[Paragraph | Table | Bullets]:
    headline = plan.settings.headline
    order = "lower" if headline.lower_is_better else "higher"
    yield Paragraph(["Submissions are ranked by ", Styled(headline.figure, "code"), f": {order} is better."])
    minimum = next((each for each in plan.protocol.parameters if each.name == MIN_PROCESSED.name), None)
    share = Fraction(minimum._text) if minimum else Fraction(0)
    if share:
        text = (
            f"The processing gate: at least {percent(share)} of the expected items must be processed, in each run if "
            "there are several. A missing record and a record with an error are not processed. Below the gate there is "
            "no score."
        )
        yield Paragraph([text])
    yield Paragraph(["A submission that is not valid is not scored, and the platform shows the reason."])
    columns = [(Code(each.key), each.figure, "lower" if each.lower_is_better else "higher") for each in plan.columns]
    yield Table("", ("on the leaderboard", "figure", "better"), columns, numeric=False)
    yield Paragraph(["The formulas:"])
    formulas = [(Code(each.name), each.about) for each in plan.protocol.figures]
    yield Table("", ("figure", "formula"), formulas, numeric=False)
    yield Paragraph(["The parameters in them:"])
    parameters = [(Code(each.name), each._text, each.about) for each in plan.protocol.parameters]
    yield Table("", ("parameter", "value", "about"), parameters, numeric=False)


def _checks(plan: Plan) -> Iterator[Paragraph | Preformatted]:
    version, challenge = plan.settings.medcontract_version, plan.challenge is not None
    with_challenge = " --challenge challenge.toml" if challenge else ""
    yield Paragraph(["The folder with your files is checked, on your own computer, by"])
    yield Preformatted([[f"medcontract preflight{with_challenge} my-submission/"]])
    text = (
        f"It needs Python 3.11 or later and medcontract {version}. "
        f"{'The organizers publish challenge.toml. ' if challenge else ''}If they publish the list of cases, pass that "
        "file, too: then it names the cases without a record, and checks the processing gate. If you cannot install "
        "it, ask the organizers for the page that checks files in the browser ("
    )
    yield Paragraph([text, Styled("medcontract bundle page", "code"), "): it uploads nothing."])
