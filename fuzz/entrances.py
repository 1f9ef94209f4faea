"""The entry points of medcontract. Each function creates a random input, and a trial that runs it.

A trial returns a description of what went wrong, or None. Any exception is also a finding.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import random
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec
import pandas as pd
from PIL import Image

import medcontract
from fuzz import archives, growth, names, platforms, schemas, scoring, tables
from fuzz.calling import Entrance, Ran, Trial, call, published
from fuzz.material import PLUGIN, Text, a_text, a_value, as_json, changed_text, contract_ids, edited, seeds
from medcontract.catalog import problem_codes
from medcontract.contracts import registry
from medcontract.images import check_image


def contradiction(report: medcontract.FileReport) -> str | None:
    """Describe an inconsistency in a report, or return None."""
    problems = report.problems
    if len(problems) + report.omitted != report.errors + report.warnings or report.omitted < 0:
        return "the counts do not add up"
    if any((p.line is not None and p.line < 1) or (p.column is not None and p.column < 1) for p in problems):
        return "a position before the start of the file"
    places = [(p.line, p.column or 0) for p in problems if p.line is not None]
    if places != sorted(places):
        return "problems are not in file order"
    if not report.ok and not problems:
        return "invalid without a problem"
    return None


# --- from Python ---------------------------------------------------------------------------------


def _validated(text: Text) -> medcontract.FileReport:
    return medcontract.validate(text.data, text.contract, name=text.name)


def validate(source: random.Random) -> Trial:
    text = a_text(source)
    return Trial(lambda: contradiction(_validated(text)), {text.name: text.data})


def new_challenge(source: random.Random) -> Trial:
    """A challenge for any table: it is rejected with a report, or what is written is valid."""
    text = a_text(source)

    def run() -> str | None:
        Path(text.name).write_bytes(text.data)
        try:
            challenge, *examples = medcontract.new_challenge("new", truth=text.name, challenge_id="new", force=True)
        except medcontract.InvalidData as invalid:
            return contradiction(invalid.report)
        except medcontract.CallError:
            return None
        loaded = medcontract.Challenge.load(challenge)
        truth, predictions, _ = examples
        return None if loaded.validate_files(examples) and loaded.score(truth, predictions) else "examples are invalid"

    return Trial(run, {text.name: text.data}, passes=3)


def parquet(source: random.Random) -> Trial:
    text = tables.a_parquet(source)
    return Trial(lambda: _loaded(text), {text.name: text.data}, passes=2)


def plugin(source: random.Random) -> Trial:
    """Files of a plugin contract, which has no fast path."""
    seed = source.choice([seed for seed in seeds() if b"stay_id" in seed.data])
    contract = source.choice((None, "sepsis/truth", "sepsis/alarms"))
    text = changed_text(seed._replace(contract=contract), source)
    return Trial(lambda: _loaded(text), {text.name: text.data}, passes=2)


def load(source: random.Random) -> Trial:
    text = a_text(source)
    return Trial(lambda: _loaded(text), {text.name: text.data}, passes=2)


def _loaded(text: Text) -> str | None:
    """Check that a file can be loaded if and only if it is valid."""
    report = _validated(text)
    try:
        medcontract.load(text.data, text.contract, name=text.name)
    except medcontract.InvalidData:
        return "could not load a valid file" if report.ok else contradiction(report)
    except medcontract.CallError:
        return None if report.usage_error else "a wrong call for load, but not for validate"
    return contradiction(report) if report.ok else "loaded an invalid file"


def both_paths(source: random.Random) -> Trial:
    """The report is the same without the fast path."""
    text = a_text(source)

    def run() -> str | None:
        report = _validated(text)
        with _slow_path():
            slow = _validated(text)
        return None if report == slow else f"the slow path differs: {_difference(report, slow)}"

    return Trial(run, {text.name: text.data}, passes=2)


@contextlib.contextmanager
def _slow_path() -> Iterator[None]:
    """Disable the fast path of all contracts."""
    known = registry.registered()
    before = dict(known)
    known.update(_slow_contracts())
    try:
        yield
    finally:
        known.update(before)


@cache
def _slow_contracts() -> dict[str, registry.CompiledContract]:
    copies = {contract_id: msgspec.structs.replace(contract) for contract_id, contract in registry.compiled().items()}
    for contract in copies.values():
        contract.decode_record = contract.decode_lines = contract.decode_whole = lambda raw: None
    return copies


def _difference(one: medcontract.FileReport, other: medcontract.FileReport) -> str:
    fields = msgspec.structs.asdict(one)
    for name, left in fields.items():
        right = getattr(other, name)
        if left != right and name != "problems":
            return f"{name} {left}, {right}"
    pairs = zip(one.problems, other.problems, strict=False)
    different = (f"{left.to_dict(True)}, {right.to_dict(True)}" for left, right in pairs if left != right)
    return next(different, "the number of problems")


def frame(source: random.Random) -> Trial:
    contract = source.choice(tables.flat_contracts())
    made = tables.a_frame(source, contract)

    def run() -> str | None:
        report = medcontract.validate_frame(made, contract)
        return contradiction(report) or ("rows are lost" if report.records != len(made) else None)

    return Trial(run, {"frame.txt": _description(made)})


def _description(made: pd.DataFrame) -> bytes:
    columns = [made.iloc[:30, position].tolist() for position in range(min(50, made.shape[1]))]
    return f"{list(made.dtypes)}\n{list(made.columns)}\n{made.index}\n{columns}".encode(errors="backslashreplace")


def same_rows(source: random.Random) -> Trial:
    """The same rows have the same problems as CSV, JSON Lines, JSON, DataFrame and Parquet."""
    contract = source.choice(tables.flat_contracts())
    rows = tables.some_rows(contract, source, lambda column: tables.cell_for_all(column, source))
    quoting = csv.QUOTE_ALL if rows and len(rows[0]) == 1 else source.choice((csv.QUOTE_ALL, csv.QUOTE_MINIMAL))
    files = {"rows.json": json.dumps(rows).encode()}
    return Trial(lambda: tables.disagreement(contract, rows, quoting), files, passes=5)


def any_schema(source: random.Random) -> Trial:
    """A file with any schema; an invalid schema is a wrong call."""
    schema = schemas.a_schema(source)
    data = as_json(a_value(source), source) if source.random() < 0.6 else a_text(source).data
    name = f"x{source.choice(('.json', '.json', '.jsonl', ''))}"

    def run() -> str | None:
        try:
            report = medcontract.validate_files([name], schema="x.schema.json", excerpts=True)
        except medcontract.CallError:
            return None
        return contradiction(report.files[0])

    return Trial(run, {name: data, "x.schema.json": schema, "other.json": schemas.a_schema(source)})


@cache
def _images() -> tuple[bytes, ...]:
    """Small valid images."""
    found = []
    for kind, options in (("PNG", {}), ("JPEG", {}), ("JPEG", {"progressive": True})):
        stream = io.BytesIO()
        Image.linear_gradient("L").resize((512, 512)).convert("RGB").save(stream, kind, **options)
        found.append(stream.getvalue())
    return tuple(found)


def image(source: random.Random) -> Trial:
    """An image of `lesions/cases`, whose header may be wrong."""
    data = edited(source.choice(_images()), source)
    return Trial(lambda: (check_image("x.png"), None)[1], {"x.png": data})


def time_growth(source: random.Random) -> Trial:
    """Twice the input takes about twice as long: texts in normalizers, files in `validate` and `score`."""
    name, work, size = growth.some_work(source)
    return Trial(
        lambda: None if (ratio := growth.growth(work, size)) <= growth.MOST_GROWTH else f"{name}: {ratio:.1f} times",
        {"work.txt": f"{name}, {size} and {2 * size}".encode()}, passes=growth.PASSES,
    )  # fmt: skip


# --- the command line ----------------------------------------------------------------------------


def _wrong_end(ran: Ran, as_json: bool, contract: str) -> str | None:
    """Describe what is wrong with the result of a command. JSON output must be valid."""
    if ran.code not in (0, 1, 2):
        return f"exit code {ran.code}"
    if not as_json or (ran.code == 2 and not ran.out):
        return None
    result = json.loads(ran.out)
    wrong = next(iter(published(contract).iter_errors(result)), None) if len(ran.out) < 50_000 else None
    if wrong:
        return f"the output violates {contract}: {wrong.message}"
    if "ok" in result and (ran.code == 0) != result["ok"]:
        return f"exit code {ran.code}, but ok is {result['ok']}"
    return None


def _options(source: random.Random) -> list[str]:
    """Options of `validate`, most of them valid."""
    found: list[str] = []
    for option in (
        ["--format", "json"], ["--format", "text"], ["--show-values"],
        ["--max-problems", source.choice(("0", "1", "3", "x"))], ["--nonsense"], ["--contract", "x/y"],
        ["--max-record", source.choice(("1", "100", "1K", "64M", "x"))], ["--max-unpacked", "10K"], ["--no-color"],
        ["--contract", source.choice(contract_ids())], ["--out", source.choice(("out.json", "out.txt", "no/out.json"))],
        ["--plugin", source.choice(("sepsis_challenge", "sepsis_challenge", "nowhere"))], ["--schema", "x.schema.json"],
    ):  # fmt: skip
        if source.random() < 0.12:
            found += option
    return found


def _json_is_printed(options: list[str]) -> bool:
    """Whether the result is written to standard output as JSON: the last --format applies."""
    formats = [word for before, word in zip(["", *options], options, strict=False) if before == "--format"]
    return formats[-1:] == ["json"] and "--out" not in options


def command(source: random.Random) -> Trial:
    """`medcontract validate` of one or several files, as PATH, as CONTRACT=PATH or as a folder."""
    files: dict[str, bytes] = {"x.schema.json": schemas.a_schema(source)}
    arguments: list[str] = []
    for number in range(source.choice((1, 1, 1, 2, 3))):
        text = a_text(source)
        name = f"{source.choice(('', '', 'folder/'))}{number}{text.ending}"
        files[name] = text.data
        contract = text.contract or source.choice((*contract_ids(), "a/b"))
        arguments.append(source.choice((name, name, f"{contract}={name}", "folder", "nowhere.json", ".")))
    options = _options(source)
    return Trial(
        lambda: _wrong_end(
            call(["validate", *options, *arguments]), _json_is_printed(options), "medcontract/validation"
        ),
        {**files, "arguments.txt": repr([*options, *arguments]).encode()},
    )


def standard_input(source: random.Random) -> Trial:
    text = a_text(source)
    options = [*_options(source), "--contract", text.contract or source.choice(contract_ids())]
    files = {"x.schema.json": schemas.a_schema(source), "stdin": text.data, "arguments.txt": repr(options).encode()}
    return Trial(
        lambda: _wrong_end(
            call(["validate", *options, "-"], text.data), _json_is_printed(options), "medcontract/validation"
        ),
        files,
    )


def schema_diff(source: random.Random) -> Trial:
    """`medcontract schema diff` of two versions; a schema does not differ from itself."""
    old = schemas.a_schema(source)
    same = source.random() < 0.1
    new = old if same else schemas.other_version(old, source)
    options = ["--format", source.choice(("text", "json"))]
    pair = source.choice((["a/old.json", "b/old.json"], ["a", "b"], ["a/old.json", source.choice(contract_ids())]))

    def run() -> str | None:
        ran = call(["schema", "diff", *options, *pair])
        if same and pair[1] in ("b", "b/old.json") and ran.code == 1:
            return "a schema differs from itself"
        return _wrong_end(ran, "json" in options, "medcontract/schema-diff")

    return Trial(run, {"a/old.json": old, "b/old.json": new, "arguments.txt": repr(pair).encode()})


def explain(source: random.Random) -> Trial:
    words = [
        *problem_codes(),
        "104",
        "mc104",
        "",
        "MC",
        "\ud800",
        "x" * 5000,
        "--format",
        "json",
        "MC999",
        "É",
        "-h",
        "--x",
    ]
    arguments = ["explain", *source.choices(words, k=source.randrange(4))]
    return Trial(lambda: _wrong_end(call(arguments), False, ""), {"arguments.txt": repr(arguments).encode()})


ENTRANCES: dict[Entrance, int] = {
    validate: 36, both_paths: 10, load: 8, plugin: 4, parquet: 6, frame: 6, same_rows: 3, any_schema: 9, command: 6,
    new_challenge: 4,
    standard_input: 2, schema_diff: 5, explain: 1, image: 2, scoring.one_score: 12, scoring.ranking: 6,
    scoring.markers: 6, platforms.on_platform: 4, time_growth: 2, names.names: 4, archives.archive: 4,
}  # fmt: skip
"""The weights with which they are chosen."""


def prepare(folder: Path) -> None:
    """Load the plugin as if it were installed, and change to the folder."""
    sys.path.insert(0, str(PLUGIN))
    from medcontract.plugins.loading import load_module

    load_module("sepsis_challenge")
    os.chdir(folder)
