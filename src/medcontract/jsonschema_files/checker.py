"""A schema with everything that it refers to, and the check of a file: `.json` as one value, `.jsonl` by record."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable
from functools import cache
from typing import Any

from msgspec import UNSET
from referencing.exceptions import Unresolvable

from medcontract.containers import CSV, JSON, JSONL
from medcontract.contracts.fast_decoder import quick_parse
from medcontract.errors import CallError, internal_error
from medcontract.hints.lines import explain_line
from medcontract.jsonschema_files.errors import explain
from medcontract.jsonschema_files.keywords import Checked, TooSlow, validator_class
from medcontract.jsonschema_files.schema_files import Draft, SchemaFile, SchemaSet, draft_of, read_schema
from medcontract.problems import Finding, Path, Ref, empty_file, plural
from medcontract.reading import jsonl
from medcontract.reading.json_scanner import Locator
from medcontract.reading.limits import MAX_DEPTH, MAX_DOCUMENT
from medcontract.reading.located_records import Broken, too_large
from medcontract.reading.source import Source, Unreadable
from medcontract.results.validation import FileReport
from medcontract.types import AnySchema
from medcontract.validation.dispatch import container_of
from medcontract.validation.records import Progress, broken_finding
from medcontract.validation.report import ProblemCollector, make_report
from medcontract.validation.slow_path import Rest, is_inside, parse


class SchemaChecker:
    """A checked schema with all references resolved. See `SchemaChecker.load`."""

    def __init__(self, draft: Draft, schema: AnySchema, schemas: SchemaSet) -> None:
        self.draft = draft.name
        self._schemas = schemas
        self._checked: Checked = {}
        root = {"not": {}} if schema is False else schema
        made = validator_class(draft.validator, None if schemas.dynamic else self._checked)
        self._validator = made(root, registry=schemas.registry)

    @classmethod
    def load(cls, path: str | os.PathLike[str], allow_refs: Iterable[str | os.PathLike[str]] = ()) -> SchemaChecker:
        """Read a schema file and all local files that it refers to. Raises `CallError` if something is wrong.

        These files must be in the schema's folder, or in one of the folders `allow_refs`.
        """
        folders = [os.path.dirname(os.path.abspath(path)), *(os.fspath(folder) for folder in allow_refs)]
        for folder in folders[1:]:
            if not os.path.isdir(folder):
                raise CallError(f"no such folder: {folder}", "check the spelling", flag="--allow-refs")
        file = read_schema(os.fspath(path))
        draft = draft_of(file, file.contents)
        schemas = SchemaSet(draft, _check_schema, folders)
        schemas.load(file)
        return cls(draft, file.contents, schemas)

    def findings(self, value: Any) -> list[Finding]:
        """Return the problems of a parsed value; empty if it matches the schema."""
        try:
            return explain(self._validator.iter_errors(value), self._schemas.known_keys)
        except TooSlow:
            hint = "simplify it, or split the file into records (.jsonl); see docs/any-schema.md"
            return [Finding("MC024", "a pattern of this schema would take too long to check", hint)]
        except RecursionError:
            hint = f"values may be nested {MAX_DEPTH} levels deep, but this schema recurses too often per level"
            return [Finding("MC019", "nested too deeply to be checked with this schema", hint)]
        except (Unresolvable, ArithmeticError, LookupError, TypeError, ValueError) as error:
            # a limit of jsonschema: the schema was checked, and all references were resolved
            message = f"this schema cannot be applied to this value ({type(error).__name__} in jsonschema)"
            return [Finding("MC029", message, internal_error(error))]
        finally:
            self._checked.clear()


@cache
def _meta_checker(draft: Draft) -> SchemaChecker:
    schemas = SchemaSet(draft, _check_schema, ())
    schemas.dynamic = True
    return SchemaChecker(draft, schemas.registry.contents(draft.uri.rstrip("#")), schemas)


def _check_schema(draft: Draft, file: SchemaFile, schema: AnySchema, path: Path) -> None:
    """Check a schema against the meta-schema of its draft. Raises `CallError`."""
    findings = _meta_checker(draft).findings(schema)
    if not findings:
        return
    first, more = findings[0], f" (and {plural(len(findings) - 1, 'more problem')})" * (len(findings) > 1)
    undeclared = not path and isinstance(schema, dict) and "$schema" not in schema
    hint = first.hint or (f"a schema without '$schema' is read as {draft.name}" if undeclared else None)
    raise file.error((*path, *first.path), f"not a valid schema of {draft.name}: {first.text}{more}", hint)


def validate_with_schema(
    source: Source, schema: SchemaChecker, collector: ProblemCollector, progress: Progress | None = None
) -> FileReport:  # fmt: skip
    """Check one file. Never raises because of its content."""
    try:
        source.prepare()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # from patterns in the schema
            records = _validate(source, schema, collector, progress)
    except Unreadable as unreadable:
        collector.add(unreadable.finding)
        return make_report(source, None, None, collector, usage_error=unreadable.usage_error)
    return make_report(source, None, records, collector)


def _validate(
    source: Source, schema: SchemaChecker, collector: ProblemCollector, progress: Progress | None
) -> int | None:
    container = container_of(source)
    if container is JSONL:
        return _validate_lines(source, schema, collector, progress)
    if container is JSON or (container is CSV and source.ending not in CSV.endings):  # any JSON value is a document
        _validate_document(source, schema, collector)
        return None
    message = f"a JSON Schema cannot be applied to .{container.name}: without a contract, a table has no JSON structure"
    hint = "write the rows as JSON Lines (.jsonl), or specify a contract"
    raise Unreadable(Finding("MC033", message, hint), usage_error=True)


def _validate_document(source: Source, schema: SchemaChecker, collector: ProblemCollector) -> None:
    raw = source.read(source.start, MAX_DOCUMENT + 1)
    if len(raw) > MAX_DOCUMENT:
        message = f"the document is larger than {MAX_DOCUMENT >> 20} MiB"
        collector.add(Finding("MC020", message, "write one record per line, as .jsonl", offset=0))
    elif not raw.strip(b" \t\r\n"):
        collector.add(empty_file(source.start))
    else:
        _validate_text(raw, Ref(source.start, len(raw)), schema, collector)


def _validate_lines(
    source: Source, schema: SchemaChecker, collector: ProblemCollector, progress: Progress | None
) -> int:
    count = 0
    for record in jsonl.records(source, lambda raw: None):
        raw, offset = record.raw, record.offset
        ref = Ref(offset, len(raw), count)
        if raw:
            _validate_text(raw, ref, schema, collector)
        else:
            collector.add(too_large(source.limits.record, None, ref))
        count += 1
        if collector.codes(lambda code: code == "MC024"):  # the next record would take just as long
            break
        if progress:
            progress(source.done(offset), source.size)
    if not count and not collector.errors:
        collector.add(empty_file(source.start))
    return count


def _validate_text(raw: bytes, ref: Ref, schema: SchemaChecker, collector: ProblemCollector) -> None:
    """Check one JSON text at `ref`; findings are added in the order of the text."""
    rest: Rest = []
    try:
        if quick_parse(raw, MAX_DEPTH) is not UNSET:
            findings = _located(raw, schema.findings(json.loads(raw)))  # msgspec makes floats of large integers
        else:
            value, findings, rest, is_whole = parse(raw)
            faulty = {fault.path for fault in findings if not fault.at_key and fault.path}
            found = schema.findings(value) if is_whole else []
            findings += _located(raw, [finding for finding in found if not is_inside(finding.path, faulty)])
    except Broken as broken:
        findings = [broken_finding(broken if ref.record is None else explain_line(broken, raw))]
    for finding in sorted(findings, key=lambda finding: finding.offset or 0):
        collector.add(finding._replace(ref=ref, offset=ref.offset + (finding.offset or 0)))
    collector.count_rest(rest, ref.record)


def _located(raw: bytes, findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings with offsets."""
    locator, located = Locator(raw), []
    for finding in findings:
        value_at, key_at = locator.find(finding.path)
        located.append(finding._replace(offset=key_at if finding.at_key else value_at))
    return located
