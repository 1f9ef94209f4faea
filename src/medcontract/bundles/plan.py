"""What all bundles have in common: the truth, the settings of the entry point, and the columns of the leaderboard."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from medcontract._version import __version__
from medcontract.bundles.settings import (
    CHALLENGE,
    PROTOCOL,
    SETTINGS,
    BundleSettings,
    Column,
    TruthFile,
)
from medcontract.contracts import registry
from medcontract.errors import CallError
from medcontract.evaluation.contest import Contest
from medcontract.evaluation.ranking import rankable_figures

_LONGEST_KEY = 36
"""On Codabench; the other platforms allow more."""
_NOT_IN_KEYS = re.compile(r"[^A-Za-z0-9_]+")


class Plan(NamedTuple):
    """The content of a bundle, for any platform."""

    title: str
    settings: BundleSettings
    truth: dict[str, bytes]
    """The files of the truth, by name."""
    protocol: bytes
    challenge: bytes | None
    optional: tuple[str, ...]
    """The contracts of other files that a submission may contain, such as measurements."""
    warnings: tuple[str, ...]

    def program(self) -> dict[str, bytes]:
        """The files next to the entry point. None of them contains the truth."""
        files = {SETTINGS: self.settings.to_json().encode(), PROTOCOL: self.protocol}
        return files if self.challenge is None else {**files, CHALLENGE: self.challenge}

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.settings.columns


def make_plan(
    platform: str,
    contest: Contest,
    *,
    protocol: bytes,
    challenge: bytes | None = None,
    rank_by: str | None = None,
    title: str | None = None,
) -> Plan:
    """Raises `CallError` if the truth or the arguments cannot be used for a bundle."""
    track = contest.track
    settings = BundleSettings(
        platform=platform,
        medcontract_version=__version__,
        track=track.id,
        submission=track.roles.submissions,
        columns=tuple(_columns(contest, _headline(contest, rank_by))),
        truth=tuple(TruthFile(name=part.name, contract=part.contract.id) for part in contest.parts),
        challenge=challenge is not None,
    )
    return Plan(
        title=_title(title, f"{track.id} challenge"),
        settings=settings,
        truth=_truth(contest),
        protocol=protocol,
        challenge=challenge,
        optional=tuple(name for name in track.roles.auxiliaries("submission") if name not in contest.truth.documents),
        warnings=(*map(_without_measured, contest.notes), *_undefined_parameters(contest)),
    )


def _without_measured(note: str) -> str:
    """A note on a file, without the option that only `leaderboard` has."""
    return note.removesuffix(" (see --measured)").removesuffix(" without one in --measured")


def _title(given: str | None, default: str) -> str:
    if given is None:
        return default
    title = " ".join(given.split())
    if not title or not title.isprintable():
        raise CallError("the title is blank or has control characters", "pass a title of one line")
    return title


def _headline(contest: Contest, given: str | None) -> str:
    known = rankable_figures(contest)
    if not known:
        raise CallError("there is no figure that submissions can be ranked by")
    if given is None or given in known:
        return given or known[0]
    raise CallError(f"submissions cannot be ranked by '{given}'", f"use one of: {', '.join(known)}")


def _columns(contest: Contest, headline: str) -> Iterator[Column]:
    track, known = contest.track, rankable_figures(contest)
    fields = registry.contract(track.roles.result).model.model_fields
    others = [
        figure.name
        for figure in track.figures
        if figure.by == "submission" and (track.comparison.figures or figure.name in fields)
    ]
    names = [name for name in dict.fromkeys((headline, *known, *others)) if name in known or name != track.headline]
    used: set[str] = set()
    for name in names:
        yield Column(key=_key(name, used), figure=name, lower_is_better=name in track.better_lower)


def _key(name: str, used: set[str]) -> str:
    """A name that every platform accepts, and that no other column has."""
    stem = _NOT_IN_KEYS.sub("_", name).strip("_")[:_LONGEST_KEY] or "figure"
    key, number = stem, 1
    while key in used:
        number += 1
        key = f"{stem[: _LONGEST_KEY - 4]}_{number}"
    used.add(key)
    return key


def _truth(contest: Contest) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for part in contest.parts:
        if part.name in files:
            raise CallError(f"two files of the truth are named {part.name}", "rename one of them")
        files[part.name] = part.source.content()
    return files


def _undefined_parameters(contest: Contest) -> Iterator[str]:
    """A warning about parameters that a ranking derives from all submissions."""
    if contest.track.ranking.protocol is None:
        return
    names = [name for name, value in contest.scorer.protocol.values.items() if value is None]
    if names:
        yield (
            f"{' and '.join(names)} cannot be derived from all submissions, since each one is scored alone: set them "
            "with --parameter, or they are not used"
        )


def quoted(text: str) -> str:
    """A text as a YAML string."""
    return json.dumps(text, ensure_ascii=False)


def yaml_list(texts: Sequence[str]) -> str:
    return f"[{', '.join(map(quoted, texts))}]"


def table(plan: Plan) -> str:
    """The columns as a Markdown table."""
    rows = [
        f"| `{column.key}` | {_shown(column.figure)} | {'lower' if column.lower_is_better else 'higher'} is better |"
        for column in plan.columns
    ]
    return "\n".join(["| name | figure | |", "|---|---|---|", *rows])


def _shown(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
