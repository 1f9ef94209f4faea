"""The page of a rehearsal: what an organizer shows before an evaluation opens."""

from __future__ import annotations

from collections.abc import Iterator

from medcontract.problems import plain_name, plural
from medcontract.rendering.page import Fact, FigureName, Outcome, Outcomes, Page, Role, Section, Styled, View
from medcontract.rendering.pages.score import inputs, protocol, versions, with_direction
from medcontract.results.rehearsal import Rehearsal, RehearsalCheck
from medcontract.results.tables import Table, number

_ROLES: dict[str, Role] = {"passed": "good", "warning": "warning", "failed": "bad", "skipped": "neutral"}
_MOST_FIGURES = 4


def rehearsal(found: Rehearsal, view: View) -> Page:
    """Show the verdict, the checks, and the figures of all submissions as baselines."""
    failed, warned = found.count("failed"), found.count("warning")
    verdict = "Ready to open" if found.ok else "Not ready to open"
    units = {figure.name: figure.unit for figure in found._figures}
    by_name = {each.name: each for each in found.submissions}
    name = with_direction(plain_name(found.headline), found._lower_is_better)
    facts = [Fact("checks passed", f"{found.count('passed')} of {len(found.checks) - found.count('skipped')}")]
    unit = units.get(found.headline, "")
    facts += [Fact(f"{name}: {k}", number(by_name[k].headline, unit)) for k in ("perfect", "prior") if k in by_name]
    if found.detectable is not None:
        facts.append(Fact("smallest difference", number(found.detectable, unit), "that this truth can show"))
    outcome = f"{verdict.upper()}  {found.track}"
    counted = [plural(failed, "check") + " failed"] * bool(failed) + [plural(warned, "warning")] * bool(warned)
    shown = (check for check in found.checks if not view.quiet or check.status in ("failed", "warning"))
    return Page(
        title=f"Rehearsal: {found._title or found.track}",
        verdict=verdict,
        role="good" if found.ok else "bad",
        lines=[[Styled(outcome, "good" if found.ok else "error"), f": {', '.join(counted) or 'all checks passed'}"]],
        last=True,
        about=[f"{plural(len(found.submissions), 'submission')} made from the truth"
               + (f", also scored with the bundle for {found.platform}." if found.platform else ".")],
        facts=facts,
        reasons=[f"{check.title}: {check.detail}" for check in found.checks if check.status == "failed"],
        sections=[
            Section("Checks", [Outcomes(("check", "what was found"), list(map(_item, shown)))], outcome=True),
            Section("Baselines", [_baselines(found, units)]),
            Section("Refused", [Outcomes(("submission", "why"), list(_refused(found)))]),
            *inputs("Truth", found.truth),
            *protocol(found.protocol),
        ],
        version=versions(found),
    )  # fmt: skip


def _item(check: RehearsalCheck) -> Outcome:
    return Outcome(check.status, _ROLES[check.status], check.title, check.detail)


def _baselines(found: Rehearsal, units: dict[str, str]) -> Table:
    """Return the submissions that are valid, the best first."""
    there = {name for each in found.submissions for name in each.figures} - {found.headline}
    others = [figure.name for figure in found._figures if figure.name in there][:_MOST_FIGURES]
    valid = [each for each in found.submissions if each.valid and each.headline is not None]
    valid.sort(key=lambda each: (each.headline or 0) * (1 if found._lower_is_better else -1))
    rows = [
        (each.name, each.about, number(each.headline, units.get(found.headline, "")),
         *(number(each.figures.get(name), units.get(name, "")) for name in others))
        for each in valid
    ]  # fmt: skip
    head = ("submission", "how it was made", *(FigureName(plain_name(name)) for name in (found.headline, *others)))
    note = "Baselines need no model: a submission that is not better has learned nothing."
    return Table("Baselines", head, rows, note, text_columns=2)


def _refused(found: Rehearsal) -> Iterator[Outcome]:
    for each in found.submissions:
        if not each.valid or each.headline is None:
            reasons = [*each.reasons, *([f"on the platform: {each.platform}"] if each.platform else [])]
            yield Outcome("refused", "neutral", f"{each.name}: {each.about}", ", ".join(each.codes), reasons)
