"""A page that checks files in the browser: one HTML file with the JavaScript implementation."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction
from pathlib import Path

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from medcontract._version import __version__
from medcontract.contracts import registry
from medcontract.contracts.messages import exported
from medcontract.contracts.registry import CompiledContract
from medcontract.contracts.rules import Covers
from medcontract.errors import CallError
from medcontract.evaluation.settings import header_fields
from medcontract.evaluation.template import expected_ids
from medcontract.problems import pointer
from medcontract.reading.source import Source
from medcontract.scoring import tracks
from medcontract.scoring.scorer import NO_OPTIONS, Scorer, percent
from medcontract.scoring.track import Track

_TEMPLATES = Path(__file__).parent / "templates" / "page"
_PACKAGE = Path(__file__).parents[1]
_MODULES = ("text", "messages", "json", "schema", "csv", "recognize", "rules", "check", "answers", "files")
"""Modules of `js/src`, each after what it imports."""
_IMPORT = re.compile(r"^import .*;\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=const|function|class|async)", re.MULTILINE)

Cases = dict[str, list[dict[str, str]]]
"""The expected ids, by the truth that lists them."""


def chosen_contracts(ids: Sequence[str]) -> list[CompiledContract]:
    """Return the given contracts, or all of the challenge in use except its truth, or all that people write."""
    scope = registry.scope()
    if ids:
        return [registry.find(contract_id) for contract_id in ids]
    known = registry.candidates().values()
    if scope is not None:
        return [entry for entry in known if entry.id != scope.truth]
    return [entry for entry in known if not entry.definition.output]


def page(contracts: Sequence[CompiledContract], cases: tuple[Source, str | None] | None, title: str | None) -> str:
    """Return the page. Of `cases` it contains only ids. Raises `CallError` if they belong to no contract."""
    covering = [entry for entry in contracts if any(isinstance(rule, Covers) for rule in entry.file_rules)]
    expected = _expected(covering, cases) if cases else {}
    scope = registry.scope()
    answering = [each for each in covering if set(expected) & {rule.other for rule in each.file_rules}]
    required = answering or (covering if scope is not None else [])
    settings = {
        "contracts": [entry.id for entry in contracts],
        "cases": [{"contract": truth, "records": records} for truth, records in expected.items()],
        "submission": [entry.id for entry in required],
    }
    style, script, worker = (_read(name) for name in ("style.css", "main.js", "worker.js"))
    program = "\n".join([*_constants(contracts, settings), *map(_module, _MODULES), worker])
    environment = Environment(loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined,
                              trim_blocks=True, lstrip_blocks=True)  # fmt: skip
    return environment.get_template("check.html.jinja").render(
        title=title or (scope.definition.title if scope is not None else "medcontract: check files"),
        contracts=[{"id": entry.id, "title": entry.definition.title} for entry in contracts],
        expected=f"{sum(map(len, expected.values())):,}" if expected else "",
        version=__version__,
        style=Markup(style), style_hash=_hash(style),  # noqa: S704  # files of this package
        script=Markup(script), script_hash=_hash(script),  # noqa: S704
        worker=Markup(_without_end_tag(program)),  # noqa: S704
    )  # fmt: skip


def _expected(covering: Iterable[CompiledContract], cases: tuple[Source, str | None]) -> Cases:
    found: Cases = {}
    refused: CallError | None = None
    for entry in covering:
        try:
            fields, ids = expected_ids(entry, *cases)
        except CallError as error:
            if not found:
                refused = error
            continue
        truths = [rule.other for rule in entry.file_rules if isinstance(rule, Covers)]
        found[truths[0]] = [dict(zip(fields, each, strict=True)) for each in ids]
    if not found:
        raise refused or CallError("none of the contracts has a record per case", "pass the ids of others")
    return found


def _constants(contracts: Sequence[CompiledContract], settings: dict[str, object]) -> list[str]:
    known = {entry.id: _published(entry) for entry in contracts}
    values = {"contracts": known, "texts": exported(), "tracks": exported_tracks(contracts), "settings": settings}
    return [f"const {name} = {msgspec.json.encode(value).decode()};" for name, value in values.items()]


def exported_tracks(contracts: Iterable[CompiledContract]) -> list[dict[str, object]]:
    """Return what `preflight` in other languages needs of the tracks of these contracts."""
    ids = {entry.id for entry in contracts}
    prefixes = {each.partition("/")[0] for each in ids}
    return [_exported_track(track, ids) for track in tracks.listed() if track.id in prefixes]


def _exported_track(track: Track, ids: Collection[str]) -> dict[str, object]:
    """Return how records are paired with expected ids, when enough of them are processed, and what else is checked."""
    calls = ((), *((name,) for name in track.roles.submissions))
    scorers = [track.scorer(track.protocol, NO_OPTIONS, call) for call in calls]
    pairs = {pair.submission: pair for scorer in scorers for pair in scorer.pairs}
    minimum = Fraction(track.protocol["min_processed"])
    in_truth = {name for truth in track.roles.truths for name in header_fields(registry.find(truth))}
    images = ["images"] if track.linked_files.images else []
    limits = ["limits such as size and time"] if type(scorers[0]).limits is not Scorer.limits else []
    return {
        "id": track.id,
        "pairs": [
            {"truth": None if pair.own_truth else pair.truth, "submission": pair.submission, "key": pair.key,
             "run": pair.run, "default_run": pair.default_run, "can_fail": pair.can_fail}
            for pair in pairs.values()
            if pair.submission in ids
        ],
        "minimum": [str(minimum.numerator), str(minimum.denominator)],
        "required": percent(minimum),
        "header": [name for name in track.result_fields.needed if name not in in_truth],
        "named": [
            {"contract": each.contract, "field": each.field, "title": each.title, "size_mb": each.size_mb,
             "required": each.required}
            for each in track.linked_files.named
        ],
        "unchecked": [*images, *limits],
    }  # fmt: skip


def _published(entry: CompiledContract) -> dict[str, object]:
    """Return what `build.js` writes of a contract."""
    definition = entry.definition
    return {
        **{key: getattr(entry, key) for key in ("id", "kind", "containers", "list_key", "open")},
        **{key: sorted(getattr(entry, key)) for key in ("header", "header_required", "record")},
        **{key: [sorted(form) for form in getattr(entry, key)] for key in ("forms", "column_forms")},
        "schema": entry.schema,
        "record_schema": entry.record_schema or None,
        "rules": entry.published_rules,
        "record_rules": entry.published_record_rules,
        "reference_list": definition.reference_list,
        "stands_in_for": [{"contract": each.contract, "where": dict(each.where)} for each in definition.stands_in_for],
        "columns": [
            {"column": each.name, "type": each.kind, "nullable": each.nullable, "pointer": pointer(each.path),
             "separator": each.separator, "filled": each.filled}
            for each in entry.columns
        ] or None,
    }  # fmt: skip


def _module(name: str) -> str:
    """Return a module of the JavaScript implementation as a part of one script."""
    folder = _PACKAGE / "js"
    text = ((folder if folder.is_dir() else _PACKAGE.parents[1] / "js" / "src") / f"{name}.js").read_text("utf-8")
    return _EXPORT.sub("", _IMPORT.sub("", text))


def _read(name: str) -> str:
    return (_TEMPLATES / name).read_text("utf-8")


def _without_end_tag(script: str) -> str:
    """Return a script in which no string can end the element that it is in."""
    return script.replace("</", "<\\/").replace("<!--", "<\\!--")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
