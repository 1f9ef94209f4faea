"""pandera schemas of the flat contracts, derived from their record schemas.

For pipelines that already use pandera. `medcontract.validate_frame` reports more: every problem, with its row,
column, code and hint.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from medcontract.contracts import registry
from medcontract.contracts.registry import variants_of
from medcontract.contracts.rules import RecordRule, Unique, has_content
from medcontract.errors import CallError
from medcontract.extras import require
from medcontract.types import BOOLEANS, Column, JsonObject

if TYPE_CHECKING:
    import pandas as pd
    import pandera.pandas as pa


def frame_schema(contract: str) -> pa.DataFrameSchema:
    """Return the pandera schema of a flat contract. Raises `CallError` without the extra `pandas`."""
    require("pandas", "pandas")
    require("pandera", "pandas")
    import pandera.pandas as pa

    compiled = registry.find(contract)
    if not compiled.columns:
        raise CallError(f"{contract} has no table form")
    return pa.DataFrameSchema(
        {column.name: _column(compiled, column) for column in compiled.columns},
        checks=_wide_checks(compiled),
        strict=not compiled.open,
        unique_column_names=True,
        name=contract,
    )


def _column(compiled: registry.CompiledContract, column: Column) -> pa.Column:
    import pandera.pandas as pa

    variants = variants_of(compiled.record_schema)
    choices = [
        choice.get("items", choice)
        for variant in variants
        if column.path[0] in variant["properties"]
        for choice in variants_of(variant["properties"][column.path[0]], compiled.record_schema)
    ]
    wanted = [_test(choice) for choice in choices if choice.get("type") != "null"]

    def fits(value: object) -> bool:
        items = [value] if column.separator is None else _items(value, column)
        return not isinstance(items, dict) and all(any(test(item) for test in wanted) for item in items)

    return pa.Column(
        checks=pa.Check(fits, element_wise=True, name=column.kind),
        nullable=column.nullable,
        required=not column.nullable,
    )


def _items(value: object, column: Column) -> Any:
    """Return the items of a list that is one cell, and any other value as it is."""
    if column.separator is None or not isinstance(value, str):
        return value
    return value.split(column.separator) if value else []


def _test(schema: JsonObject) -> Callable[[object], bool]:
    """Return whether a cell is valid under a scalar schema, according to jsonschema."""
    from jsonschema import Draft202012Validator

    validator = Draft202012Validator(schema)

    def test(value: object) -> bool:
        plain = value.item() if hasattr(value, "item") else value
        if isinstance(plain, datetime.date):
            plain = plain.isoformat()
        if isinstance(plain, float) and math.isinf(plain):
            return False
        if schema.get("type") == "boolean" and isinstance(plain, str | int | float):
            cell = plain.lower() if isinstance(plain, str) else str(int(plain)) if plain in (0, 1) else ""
            plain = BOOLEANS[cell] == "true" if cell in BOOLEANS else plain
        return bool(validator.is_valid(plain))

    return test


def _wide_checks(compiled: registry.CompiledContract) -> list[pa.Check]:
    """Return the variants of a record and the rules, as checks of rows."""
    import pandera.pandas as pa

    checks = [pa.Check(_whole_text, name="MC018")]
    checks += [
        pa.Check(partial(_unique, rule), name=rule.code) for rule in compiled.list_rules if isinstance(rule, Unique)
    ]
    if len(compiled.forms) > 1:
        checks.append(pa.Check(partial(_is_one_variant, compiled), name="form"))
    errors = [rule for rule in compiled.record_rules if rule.severity == "error"]
    return checks + [pa.Check(partial(_rows_keep, rule, compiled), name=rule.code) for rule in errors]


def _whole_text(frame: pd.DataFrame) -> pd.Series[bool]:
    """Return whether each row is free of lone surrogates, also in columns that are not in the contract."""
    return frame.map(_has_utf8).astype(bool).all(axis=1)


def _has_utf8(value: object) -> bool:
    try:
        return not isinstance(value, str) or value.encode() is not None
    except UnicodeEncodeError:
        return False


def _unique(rule: Unique, frame: pd.DataFrame) -> pd.Series[bool]:
    defaults = dict(rule.defaults)
    keys = frame.reindex(columns=list(rule.fields)).astype(object)
    for name in rule.fields:
        keys[name] = keys[name].where(keys[name].notna(), defaults.get(name))
    return ~keys.duplicated()


def _is_one_variant(compiled: registry.CompiledContract, frame: pd.DataFrame) -> pd.Series[bool]:
    """A row has either an `error` and none of the fields of an answered record, or no `error` and all of them."""
    answered, failed = compiled.column_forms
    nulls = [name for name, node in variants_of(compiled.record_schema)[1]["properties"].items() if node == _NULL]
    refused = [column for name in nulls for column in compiled.spread.get(name, (name,))]
    error = frame.reindex(columns=["error"])["error"].map(has_content).astype(bool)
    complete = frame.reindex(columns=sorted(answered - failed)).notna().all(axis=1)
    clean = frame.reindex(columns=refused).isna().all(axis=1)
    return (~error & complete) | (error & clean)


def _rows_keep(rule: RecordRule, compiled: registry.CompiledContract, frame: pd.DataFrame) -> pd.Series[bool]:
    """Return whether each row satisfies a rule. Rows with the wrong structure are skipped."""

    def keeps(row: pd.Series[Any]) -> bool:
        cells = {name: None if value is None or value != value else value for name, value in row.items()}  # noqa: PLR0124
        record = {column.path[0]: _items(cells.get(column.name), column) for column in compiled.columns}
        for name, columns in compiled.spread.items():
            values = [cells.get(column) for column in columns]
            record[name] = None if None in values else values
        try:
            return not rule.check(SimpleNamespace(**{str(name): value for name, value in record.items()}))
        except (TypeError, AttributeError, ValueError):
            return True

    return frame.apply(keeps, axis=1).astype(bool) if len(frame) else frame.reindex(columns=["x"])["x"].isna()


_NULL = {"type": "null"}
