"""Registers custom contracts, after checking that they can be what they claim."""

from __future__ import annotations

import re
from typing import Any, get_args

import msgspec

from medcontract.catalog import ProblemCode, problem_codes
from medcontract.contracts import registry
from medcontract.contracts.contract import AnyContract, Contract
from medcontract.contracts.registry import schemas_at
from medcontract.contracts.rules import CollectionRule, Covers, CrossFileRule, RecordRule, Rule, built_in_kinds
from medcontract.contracts.suggestions import did_you_mean
from medcontract.errors import LOAD_PLUGIN, CallError, name_plugin, words
from medcontract.lazy_patterns import lazy_pattern
from medcontract.problems import CODES_OF_MISSING_VALUES, is_cross_file

_KIND = lazy_pattern(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_ID = lazy_pattern(r"[a-z0-9]+(?:-[a-z0-9]+)*/[a-z0-9]+(?:-[a-z0-9]+)*")


def register(*contracts: AnyContract) -> None:
    """Register contracts for recognition, `validate`, `load`, `schema` and the command line.

    Raises `CallError` if a contract is not valid or its id is taken.
    """
    for contract in contracts:
        try:
            _check(contract)
            compiled = compiled_form(contract)
        except CallError:
            raise
        except Exception as error:  # noqa: BLE001  # any value in the wrong place
            raise CallError(f"{contract.id}: not a valid contract: {error_text(error)}") from None
        rules = (*contract.rules, *contract.record_rules)
        name_plugin(contract.model.__module__, *(type(rule).__module__ for rule in rules))
        CODES_OF_MISSING_VALUES.update(rule.code for rule in rules if isinstance(rule, Covers))
        known = registry.registered().setdefault(contract.id, compiled)
        if known.contract is not contract:
            raise CallError(f"{contract.id}: this id is already taken", "choose another track or name")


def compiled_form(contract: AnyContract) -> registry.CompiledContract:
    """Return a contract that is made at run time, in the form that files are checked with. Raises `CallError`."""
    from medcontract.plugins.schema_parity import schema_is_complete
    from medcontract.schemas.json_schema import compile_contract

    complete = schema_is_complete(contract)
    data = msgspec.to_builtins(compile_contract(contract, contract.model.__module__))
    compiled = msgspec.convert(data, registry.CompiledContract)
    compiled.contract, compiled.schema_is_complete = contract, complete
    separators = dict(contract.separators)
    compiled.columns = tuple(
        each._replace(separator=separators.get(each.name), filled=each.name in {*separators, *contract.texts})
        for each in compiled.columns
    )
    for column in compiled.columns:
        types = {node.get("type") for node in schemas_at(compiled.record_schema, column.path[:1])}
        if len(column.path) == 1 and column.separator is None and types & {"array", "object"}:
            raise CallError(
                f"{contract.id}: '{column.name}' does not fit into a table cell, but flat=True",
                "remove flat=True, or spread the field over columns",
            )
    return compiled


def _check(contract: Any) -> None:
    """Refuse an invalid contract at registration, with the reason."""
    from pathlib import Path

    from medcontract.contracts.base import Document, StrictModel

    if not isinstance(contract, Contract):
        raise CallError(f"{contract!r} is not a Contract", "use medcontract.modeling.Contract(id=…, model=…)")
    name: Any = contract.id
    examples: Any = contract.examples
    if not isinstance(name, str) or not _ID.fullmatch(name):
        raise CallError(f"invalid contract id '{name}'", "write track/name in lower case, such as 'sepsis/truth'")
    model: Any = contract.model
    if not (isinstance(model, type) and issubclass(model, Document)):
        raise CallError(f"{name}: the model must derive from medcontract.modeling.Document")
    if contract.list_key is not None and contract.list_key not in contract.model.model_fields:
        raise CallError(f"{name}: the model has no field '{contract.list_key}', its list key")
    if (contract.list_key is None) != (contract.record is None):
        raise CallError(f"{name}: a collection needs both list_key and record, a document neither")
    if isinstance(contract.record, type) and not issubclass(contract.record, StrictModel):
        raise CallError(f"{name}: records must derive from medcontract.modeling.StrictModel or OpenModel")
    if not isinstance(examples, tuple) or not all(isinstance(file, Path) for file in examples):
        raise CallError(f"{name}: examples must be a tuple of paths", "examples=(Path(__file__).with_name('x.json'),)")
    _check_list(contract)
    _check_rules(contract)


def _check_list(contract: AnyContract) -> None:
    """The list has no constraints besides the type of its records: it is streamed and never in memory at once."""
    from pydantic import Strict

    if contract.list_key is None:
        return
    contract.model.model_rebuild(raise_errors=False)
    field = contract.model.model_fields[contract.list_key]
    record = getattr(contract.record, "__name__", "its record")
    if get_args(field.annotation) not in ((contract.record, ...), (contract.record,)):
        raise CallError(
            f"{contract.id}: the item type of '{contract.list_key}' differs from the record type {record}",
            f"write {contract.list_key}: ListOf[{record}] in {contract.model.__name__}",
        )
    if field.alias or any(constraint != Strict(False) for constraint in field.metadata):
        raise CallError(
            f"{contract.id}: '{contract.list_key}' has constraints, but the list is read record by record",
            f"write {contract.list_key}: ListOf[{record}], and use rules for constraints on the list",
        )


def _check_rules(contract: AnyContract) -> None:
    """Rules must refer to existing fields and codes, and be in the right tuple (`rules` or `record_rules`)."""
    for rule in (*contract.rules, *contract.record_rules):
        where = _described(rule, contract)
        require_code(rule.code, where)
        if isinstance(rule, CrossFileRule) and not is_cross_file(rule.code):
            raise CallError(
                f"{where} has the code {rule.code}, but rules across files have 3xx codes",
                "choose another one: participants do not see the details of 3xx problems, which reveal the truth",
            )
        if rule.severity not in ("error", "warning"):
            raise CallError(f"{where} has the unknown severity '{rule.severity}'", "use 'error' or 'warning'")
        if rule in contract.record_rules and not isinstance(rule, RecordRule):
            raise CallError(f"{where} applies to the list", "move it from record_rules to rules")
        if isinstance(rule, CollectionRule) and rule.within not in (_rule_names(contract.model) or ()):
            raise CallError(f"{where} refers to the unknown list '{rule.within}'")
        known = _fields_for(rule, contract)
        missing = [name for name in _named_fields(rule) if known is not None and name not in known]
        if missing:
            raise CallError(f"{where} refers to the unknown field '{missing[0]}'")


def _described(rule: Any, contract: AnyContract) -> str:
    """Return the name of a rule in messages. Raises `CallError` if it is none, or its kind cannot be published."""
    if not isinstance(rule, RecordRule | CollectionRule | CrossFileRule):
        raise CallError(
            f"{contract.id}: expected a rule, got {type(rule).__name__}", "use the rules of medcontract.modeling"
        )
    kind: Any = getattr(rule, "kind", None)
    name = type(rule).__name__
    if not isinstance(kind, str) or not _KIND.fullmatch(kind):
        raise CallError(f"{contract.id}: the rule {name} has no kind", f'write kind: ClassVar = "…" in {name}')
    if built_in_kinds().get(kind, type(rule)) is not type(rule):
        raise CallError(f"{contract.id}: {name} has the kind of a built-in rule, '{kind}'", "choose another kind")
    return f"{contract.id}: the rule '{kind}'"


def _fields_for(rule: Rule, contract: AnyContract) -> set[str] | None:
    """Return the fields that the rule may refer to; None if they cannot be determined."""
    record, header = _rule_names(contract.record), _rule_names(contract.model)
    if rule in contract.record_rules:
        return record
    if isinstance(rule, CollectionRule):
        return record if rule.within == contract.list_key else None
    if isinstance(rule, CrossFileRule) and (contract.record is not None or getattr(rule, "within", None)):
        return None if record is None or header is None else record | header
    return header


def _rule_names(model: object) -> set[str] | None:
    """Return the fields that rules may refer to, by their key in the file; None for records with two variants."""
    fields = getattr(model, "model_fields", None)
    return None if fields is None else {name for name, field in fields.items() if field.alias in (None, name)}


def _named_fields(rule: Any) -> list[str]:
    """Return the top-level fields that a rule refers to."""
    if isinstance(rule, CrossFileRule):  # the fields to group and sort by are in the other file
        names = [getattr(rule, name, None) for name in ("field", "with_field", "key")]
        return [name for name in names if name is not None]
    names = [getattr(rule, name, None) for name in ("field", "requires", "flag", "text", "by", "group", "items")]
    names = [name for name in names if isinstance(name, str)]
    if getattr(rule, "items", None) is not None:
        names = [rule.items]
    return names + list(getattr(rule, "fields", ()))


def error_text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


# --- problem codes ----------------------------------------------------------------------------------------------------

_CODE = re.compile(r"([A-Z]{2,12})[1-5][0-9]{2}")
_LETTERS = re.compile(r"[A-Z]{2,12}(?=[0-9])")
_OURS = "MC"


def register_codes(*codes: ProblemCode) -> None:
    """Register problem codes, for rules and checks, `explain` and all formats. Raises `CallError`."""
    for each in codes:
        _check_code(each)
        if problem_codes().setdefault(each.code, each) != each:
            raise CallError(f"the problem code {each.code} is already registered", "choose another number or prefix")


def _check_code(found: object) -> None:
    if not isinstance(found, ProblemCode):
        raise CallError(
            f"a problem code must be a ProblemCode, not {type(found).__name__}",
            "write ProblemCode(code=…, title=…, meaning=…, mistake=…, fix=…)",
        )
    code: Any = found.code
    match = _CODE.fullmatch(code) if isinstance(code, str) else None
    if match is None:
        raise CallError(
            f"invalid problem code '{found.code}'",
            "write 2 to 12 capital letters and a number from 100 to 599, such as 'STROKE301'",
        )
    if match[1] == _OURS:
        raise CallError(f"{found.code}: the prefix {_OURS} is reserved", "choose another prefix, such as 'STROKE'")
    for name, text in found._asdict().items():
        if not isinstance(text, str) or not text.strip():
            raise CallError(f"the problem code {found.code} has no {name}", f"write {name}='…'")


def unknown_code(given: str, name: str) -> CallError:
    """Return the error about a code that does not exist, given by a user as it is and as a complete name."""
    prefix = _LETTERS.match(name)
    known = [code for code in problem_codes() if prefix and code.startswith(prefix[0])]
    hint = did_you_mean(name, known or problem_codes())
    if prefix and not known:
        hint = words(f"codes with the prefix {prefix[0]} may belong to a plugin: pass ", LOAD_PLUGIN)
    return CallError(f"unknown problem code '{given}'", hint)


def require_code(code: object, where: str) -> None:
    """Raises `CallError` if the code of a rule or check of a plugin is unknown. `where` describes the rule or check."""
    if not isinstance(code, str) or code not in problem_codes():
        raise CallError(
            f"{where} has the unknown code {code}", "see: medcontract explain, or define it in CODES of the plugin"
        )
