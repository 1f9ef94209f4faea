"""Contracts that users bring: registered by a call, named as a module, or found among installed packages."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import msgspec

from medcontract.definitions import registry
from medcontract.definitions.contract import Contract
from medcontract.definitions.rules import FilesRule, ListRule, ObjectRule, Rule
from medcontract.errors import CallError

GROUP = "medcontract.contracts"
broken: list[str] = []
"""Installed plugins that could not be loaded: they are told of, and the others stand."""
_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*/[a-z0-9]+(?:-[a-z0-9]+)*")


def register(*contracts: Contract[Any]) -> None:
    """Make contracts known: to recognition, `validate`, `load`, `schema` and the command line.

    Raises `CallError` when one is not sound or its id is taken.
    """
    for contract in contracts:
        try:
            _check(contract)
            compiled = _compile(contract)
        except CallError:
            raise
        except Exception as error:  # noqa: BLE001  # whatever stands where something else should
            raise CallError(f"{contract.id}: it cannot be used as a contract: {words(error)}") from None
        known = registry.compiled().setdefault(contract.id, compiled)
        if known.contract is not contract:
            raise CallError(f"{contract.id}: another contract has this id", "choose another track or name")


def _compile(contract: Contract[Any]) -> registry.Compiled:
    from medcontract.definitions.keys import compile_contract
    from medcontract.definitions.sound import tells_all

    complete = tells_all(contract)
    data = msgspec.to_builtins(compile_contract(contract, contract.model.__module__))
    compiled = msgspec.convert(data, registry.Compiled)
    compiled.contract, compiled.tells_all = contract, complete
    nested = [column.name for column in compiled.columns if len(column.path) == 1 and _is_nested(compiled, column.name)]
    if nested:
        raise CallError(
            f"{contract.id}: flat, but '{nested[0]}' does not fit a cell", "leave flat=True out, or spread it"
        )
    return compiled


def _is_nested(compiled: registry.Compiled, name: str) -> bool:
    from medcontract.definitions.keys import forms_of

    schema = compiled.record_schema
    nodes = [form["properties"][name] for form in forms_of(schema) if name in form["properties"]]
    return any(choice.get("type") in ("array", "object") for node in nodes for choice in forms_of(node, schema))


def _check(contract: Any) -> None:
    """A contract that would break our promises is refused at once, with the reason."""
    from medcontract.definitions.base import Document, Strictest

    if not isinstance(contract, Contract):
        raise CallError(f"{contract!r} is not a Contract", "make one: medcontract.modeling.Contract(id=…, model=…)")
    name: Any = contract.id
    examples: Any = contract.examples
    if not isinstance(name, str) or not _ID.fullmatch(name):
        raise CallError(f"'{name}' is no id of a contract", "write track/name in lower case, such as 'sepsis/truth'")
    model: Any = contract.model
    if not (isinstance(model, type) and issubclass(model, Document)):
        raise CallError(f"{name}: the model must derive from medcontract.modeling.Document")
    if contract.list_key is not None and contract.list_key not in contract.model.model_fields:
        raise CallError(f"{name}: the model has no field '{contract.list_key}', its list key")
    if (contract.list_key is None) != (contract.record is None):
        raise CallError(f"{name}: a collection has both list_key and record, a document neither")
    if isinstance(contract.record, type) and not issubclass(contract.record, Strictest):
        raise CallError(f"{name}: records must derive from medcontract.modeling.Strictest or Open")
    if not isinstance(examples, tuple) or not all(isinstance(file, Path) for file in examples):
        raise CallError(f"{name}: examples must be a tuple of paths", "examples=(Path(__file__).with_name('x.json'),)")
    _check_list(contract)
    _check_rules(contract)


def _check_list(contract: Contract[Any]) -> None:
    """The list holds the records, and nothing is asked of it: it is never there as a whole."""
    from pydantic import Strict

    if contract.list_key is None:
        return
    contract.model.model_rebuild(raise_errors=False)
    field = contract.model.model_fields[contract.list_key]
    record = getattr(contract.record, "__name__", "its record")
    if get_args(field.annotation) not in ((contract.record, ...), (contract.record,)):
        raise CallError(
            f"{contract.id}: the items of '{contract.list_key}' are not the record, {record}",
            f"write {contract.list_key}: Many[{record}] in {contract.model.__name__}",
        )
    if field.alias or any(constraint != Strict(False) for constraint in field.metadata):
        raise CallError(
            f"{contract.id}: '{contract.list_key}' has more than a type, but the list is read record by record",
            f"write {contract.list_key}: Many[{record}] and no more; rules say what is asked of a list",
        )


def _check_rules(contract: Contract[Any]) -> None:
    """Rules name fields that are there, codes that are known, and stand where they are run."""
    from medcontract.catalogue import CATALOGUE

    for rule in (*contract.rules, *contract.record_rules):
        where = f"{contract.id}: the rule '{rule.kind}'"
        if rule.code not in CATALOGUE:
            raise CallError(f"{where} has an unknown code, {rule.code}", "medcontract explain lists the codes")
        if rule.severity not in ("error", "warning"):
            raise CallError(f"{where} has the severity '{rule.severity}'", "error or warning")
        if rule in contract.record_rules and not isinstance(rule, ObjectRule):
            raise CallError(f"{where} is about the whole list", "put it into rules, not into record_rules")
        if isinstance(rule, ListRule) and rule.within not in (_rule_names(contract.model) or ()):
            raise CallError(f"{where} is about a list '{rule.within}' that the model does not have")
        known = _fields_for(rule, contract)
        missing = [name for name in _named_fields(rule) if known is not None and name not in known]
        if missing:
            raise CallError(f"{where} names '{missing[0]}', which is no field")


def _fields_for(rule: Rule, contract: Contract[Any]) -> set[str] | None:
    """The fields that the rule may name; None where that cannot be told."""
    record, header = _rule_names(contract.record), _rule_names(contract.model)
    if rule in contract.record_rules:
        return record
    if isinstance(rule, ListRule):
        return record if rule.within == contract.list_key else None
    if isinstance(rule, FilesRule) and (contract.record is not None or getattr(rule, "within", None)):
        return None if record is None or header is None else record | header
    return header


def _rule_names(model: Any) -> set[str] | None:
    """The fields that rules may name, by their key in the file; None for records in two forms."""
    fields = getattr(model, "model_fields", None)
    return None if fields is None else {name for name, field in fields.items() if field.alias in (None, name)}


def _named_fields(rule: Any) -> list[str]:
    """The fields that a rule is about, as far as they stand at the top."""
    if isinstance(rule, FilesRule):  # what it groups and sorts by stands in the other file
        names = [getattr(rule, name, None) for name in ("field", "with_field", "key")]
        return [name for name in names if name is not None]
    names = [getattr(rule, name, None) for name in ("field", "requires", "flag", "text", "by", "group", "items")]
    names = [name for name in names if isinstance(name, str)]
    if hasattr(rule, "items"):
        names = [rule.items]
    return names + list(getattr(rule, "fields", ()))


_INSTEAD = ("METRICS", "TRACKS")
"""What a plugin without contracts has (`scoring.tracks.load_plugin`)."""


def load_module(name: str) -> ModuleType:
    """Import a module, given by its name or as a `.py` file, and register its `CONTRACTS`.

    Modules beside the file are found too; those in the current folder only where `sys.path` names it.
    """
    try:
        module = _from_file(name) if _is_path(name) else _from_name(name)
    except CallError:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001  # whatever a user's module does
        raise CallError(f"the plugin '{name}' cannot be imported: {words(error)}") from None
    contracts = getattr(module, "CONTRACTS", None)
    contracts = (contracts,) if isinstance(contracts, Contract) else contracts
    if not isinstance(contracts, Iterable):
        if contracts is None and any(getattr(module, name, None) is not None for name in _INSTEAD):
            return module
        raise CallError(
            f"the plugin '{name}' has no CONTRACTS",
            "put its contracts into a tuple of that name, or metrics for benchmark into a dict METRICS",
        )
    register(*contracts)
    return module


def _is_path(name: str) -> bool:
    return name.endswith(".py") or any(mark in name for mark in ("/", "\\", "~"))


def _from_name(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        place = Path(*name.split("."))
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # it is there, but what it imports is not
        hint = "install it, or give it as a path: ./NAME.py"
        if place.with_suffix(".py").is_file():
            hint = f"modules in the current folder are not looked for: give it as a path, ./{place}.py"
        elif Path(place.parts[0]).is_dir():
            hint = "packages in the current folder are not looked for: install it, or say PYTHONPATH=."
        raise CallError(f"the plugin '{name}' cannot be imported: there is no module '{error.name}'", hint) from None


def _from_file(name: str) -> ModuleType:
    """The module that a file holds, under the name that it would have beside it: so it is one module to all."""
    path = Path(name).expanduser().resolve()
    if not path.is_file() or path.suffix != ".py":
        instead = path.with_name(path.name + ".py")
        hint = f"did you mean {name}.py?" if instead.is_file() else "give a .py file, or the name of a module"
        raise CallError(f"the plugin '{name}' is no Python file", hint)
    known = sys.modules.get(path.stem)
    if known is not None:
        if Path(getattr(known, "__file__", None) or "").resolve() == path:
            return known
        raise CallError(f"the plugin '{name}' has the name of another module, {path.stem}", "rename the file")
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    spec = spec_from_file_location(path.stem, path)
    assert spec and spec.loader  # noqa: S101, PT018  # there is one for .py
    module = sys.modules[path.stem] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[path.stem]
        raise
    return module


@cache
def load_installed() -> bool:
    """Register the contracts of installed packages (entry points of the group `medcontract.contracts`), once.

    An entry point names a Contract, several, or a module with `CONTRACTS`. Whether there were any.
    """
    from importlib.metadata import entry_points

    found = False
    for entry in sorted(entry_points(group=GROUP)):
        try:
            value = entry.load()
            value = getattr(value, "CONTRACTS", value)
            register(*(value if isinstance(value, tuple | list) else (value,)))
        except (Exception, SystemExit) as error:  # noqa: BLE001  # whatever a user's module does
            broken.append(f"the plugin '{entry.value}' cannot be loaded: {words(error)}")
        found = True
    return found


def words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
