"""Bundles: what an organizer uploads to a challenge platform, so that it scores with medcontract.

The module of each platform says which files there are, and has the entry point. Texts are in `templates`.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from email import message_from_bytes
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from medcontract._version import __version__
from medcontract.atomic_write import is_free, refuse_input, write_new_files
from medcontract.contracts import registry
from medcontract.contracts.rules import Covers
from medcontract.errors import CallError
from medcontract.evaluation.contest import Contest
from medcontract.evaluation.ranking import rankable_figures
from medcontract.parallel.versions import result_versions
from medcontract.platforms.settings import (
    CHALLENGE,
    PLATFORMS,
    PROTOCOL,
    SETTINGS,
    BoardColumn,
    Bundle,
    BundleSettings,
    TruthFile,
)
from medcontract.rendering import markdown
from medcontract.rendering.page import Page
from medcontract.results.reference import Protocol

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
"""The Python of the organizer: its Unicode data can change how texts are compared."""
_TEMPLATES = Path(__file__).parent / "templates"
_LONGEST_KEY = 36
"""On Codabench; the other platforms allow more."""
_NOT_IN_KEYS = re.compile(r"[^A-Za-z0-9_]+")
_WHEEL = re.compile(rf"medcontract-{re.escape(__version__)}-[A-Za-z0-9_.]+-[A-Za-z0-9_.]+-[A-Za-z0-9_.]+\.whl")
_DATE = (1980, 1, 1, 0, 0, 0)
"""The earliest date of a .zip."""
_MODE = 0o644


class Plan(NamedTuple):
    """The content of a bundle, for any platform."""

    title: str
    settings: BundleSettings
    truth: dict[str, bytes]
    """The files of the truth, by name."""
    protocol: Protocol
    """The frozen one."""
    challenge: bytes | None
    optional: tuple[str, ...]
    """The contracts of other files that a submission may contain, such as measurements."""
    needed: tuple[str, ...]
    """The contracts without which there is no headline."""
    alternative: str
    """The figure that can rank submissions without these files."""
    warnings: tuple[str, ...]
    wheel: tuple[str, bytes] | None = None
    """The name and the content of the wheel of medcontract to install, if it was given."""

    def program(self) -> dict[str, bytes]:
        """Return the files next to the entry point. None of them contains the truth."""
        files = {SETTINGS: self.settings.to_json().encode(), PROTOCOL: f"{self.protocol.to_json()}\n".encode()}
        return files if self.challenge is None else {**files, CHALLENGE: self.challenge}

    @property
    def columns(self) -> tuple[BoardColumn, ...]:
        return self.settings.columns

    def text(self, template: str, **more: object) -> bytes:
        """Return the text of a template of this platform, or of one that all share."""
        names = [f"{self.settings.platform}/{template}.jinja", f"{template}.jinja"]
        values = {
            "title": self.title,
            "version": self.settings.medcontract_version,
            "python": PYTHON,
            "split": self.settings.split,
            "columns": self.columns,
            "headline": self.settings.headline,
            "required": " and ".join(f"`{name}`" for name in self.settings.submission),
            "optional": " and ".join(f"`{name}`" for name in self.optional),
            "needed": self.needed,
            "alternative": self.alternative,
            "secret": ", ".join(f"`{name}`" for name in sorted(self.truth)),
            "wheel": self.wheel and self.wheel[0],
            **more,
        }
        return _templates().select_template(names).render(values).encode()

    def guide(self, writer: Callable[[Page], str] = markdown.write) -> bytes:
        """Return the page for participants."""
        from medcontract.platforms.participants import participants_page

        return writer(participants_page(self)).encode()

    def wheels(self, folder: str) -> dict[str, bytes]:
        """Return the files of the folder with wheels, which pip prefers to the package index."""
        own = {} if self.wheel is None else {f"{folder}/{self.wheel[0]}": self.wheel[1]}
        return {f"{folder}/README.md": self.text("wheels.md"), **own}

    def requirements(self) -> bytes:
        """Return what pip installs: this medcontract, and the packages that can change a score, in these versions."""
        own = ("medcontract", "Python", "Unicode")
        packages = [
            f"{name}=={version}\n" for name, version in result_versions().items() if version and name not in own
        ]
        return f"medcontract[parquet,stats]=={self.settings.medcontract_version}\n{''.join(packages)}".encode()


def make_plan(
    platform: str,
    contest: Contest,
    *,
    protocol: Protocol,
    challenge: bytes | None = None,
    rank_by: str | None = None,
    title: str | None = None,
) -> Plan:
    """Raises `CallError` if the truth or the arguments cannot be used for a bundle."""
    track = contest.track
    headline = _headline(contest, rank_by)
    optional = tuple(name for name in track.roles.auxiliaries("submission") if name not in contest.truth.documents)
    settings = BundleSettings(
        platform=platform,
        medcontract_version=__version__,
        track=track.id,
        submission=_answering(contest) or track.roles.submissions,
        columns=tuple(_columns(contest, headline)),
        truth=tuple(TruthFile(name=part.name, contract=part.contract.id) for part in contest.parts),
        challenge=challenge is not None,
    )
    return Plan(
        title=_title(title, f"{track.id} challenge"),
        settings=settings,
        truth=_truth(contest),
        protocol=protocol,
        challenge=challenge,
        optional=optional,
        needed=optional if headline == track.headline and track.second else (),
        alternative=track.second,
        warnings=(*map(_without_measured, contest.notes), *_undefined_parameters(contest)),
    )


def _answering(contest: Contest) -> tuple[str, ...]:
    """Return the contracts of submissions that answer what is in this truth."""
    known = {part.contract.id for part in contest.parts}
    return tuple(
        name for name in contest.track.roles.submissions
        if any(isinstance(rule, Covers) and rule.other in known for rule in registry.find(name).file_rules)
    )  # fmt: skip


def read_wheel(path: str) -> tuple[str, bytes]:
    """Return the name and the content of a wheel. Raises `CallError` if it is not one of this medcontract."""
    wrong = CallError(
        f"{path} is not a wheel of medcontract {__version__}",
        "pip writes one, without its dependencies, from the source of this version (pip wheel)",
    )
    try:
        data = Path(path).read_bytes()
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            about = message_from_bytes(archive.read(f"medcontract-{__version__}.dist-info/METADATA"))
    except OSError as error:
        raise CallError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from None
    except (zipfile.BadZipFile, KeyError, ValueError, RuntimeError, NotImplementedError, zlib.error):
        raise wrong from None
    name = Path(path).name
    if (about["Name"], about["Version"]) != ("medcontract", __version__) or not _WHEEL.fullmatch(name):
        raise wrong
    return name, data


def _without_measured(note: str) -> str:
    """Return a note on a file, without the option that only `leaderboard` has."""
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


def _columns(contest: Contest, headline: str) -> Iterator[BoardColumn]:
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
        yield BoardColumn(key=_key(name, used), figure=name, lower_is_better=name in track.better_lower)


def _key(name: str, used: set[str]) -> str:
    """Return a name that every platform accepts, and that no other column has."""
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
    """Yield a warning about parameters that a ranking derives from all submissions."""
    if contest.track.ranking.protocol is None:
        return
    names = [name for name, value in contest.scorer.protocol.values.items() if value is None]
    if names:
        yield (
            f"{' and '.join(names)} cannot be derived from all submissions, since each one is scored alone: set them "
            "with --parameter, or they are not used"
        )


# --- files ------------------------------------------------------------------------------------------------------------


@cache
def _templates() -> Environment:
    environment = Environment(  # noqa: S701  # no HTML: YAML, Markdown and Python
        loader=FileSystemLoader(_TEMPLATES), undefined=StrictUndefined, keep_trailing_newline=True,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters["quoted"] = lambda text: json.dumps(text, ensure_ascii=False)  # a string in YAML
    return environment


def logo() -> bytes:
    """Return a plain image, since platforms require a logo; to be replaced."""
    return (_TEMPLATES / "logo.png").read_bytes()


def zip_of(files: Mapping[str, bytes]) -> bytes:
    """Return a .zip of these files, by path."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(files.items()):
            entry = zipfile.ZipInfo(name, _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix, on every system
            entry.external_attr = (0o100000 | _MODE) << 16
            archive.writestr(entry, data)
    return target.getvalue()


def tar_gz_of(files: Mapping[str, bytes]) -> bytes:
    """Return a .tar.gz of these files, by path."""
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, data in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), _MODE
            archive.addfile(entry, io.BytesIO(data))
    return gzip.compress(tar.getvalue(), mtime=0)


def files_of(plan: Plan) -> dict[str, bytes]:
    """Return the files of a bundle, by path, as the module of its platform says."""
    files: dict[str, bytes] = import_module(f"medcontract.platforms.{PLATFORMS[plan.settings.platform]}").files(plan)
    return files


def write_bundle(plan: Plan, folder: Path, inputs: Iterable[str], force: bool) -> Bundle:
    """Write the files. Raises `CallError`, before anything is written, for a file that would be replaced.

    `inputs`: files that the bundle is made from, which are not replaced with `force` either.
    """
    files = dict(sorted(files_of(plan).items()))
    for name, data in files.items():
        if not is_free(folder / name, data):
            refuse_input(folder / name, inputs)
    paths = write_new_files(folder, files, force)
    return Bundle(paths, tuple(column.key for column in plan.columns), plan.warnings)
