"""Loads plugins: modules given by name or as files, and the entry points of installed packages."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from types import ModuleType
from typing import TYPE_CHECKING, cast

from medcontract.contracts.contract import Contract
from medcontract.errors import FILE_PLUGIN, CallError, broken_plugins, name_plugin
from medcontract.plugins.registration import error_text, register, register_codes

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "medcontract.contracts"
TRACKS_GROUP = "medcontract.tracks"
_INSTEAD = ("CODES", "METRICS", "TRACKS")
"""What a plugin without contracts has (`scoring.tracks.load_plugin`)."""


def load_module(name: str) -> ModuleType:
    """Import a module, given by its name or as a `.py` file, and register its `CONTRACTS`.

    Modules in the folder of the file can be imported; those in the current folder only if it is in `sys.path`.
    """
    try:
        module = _from_file(name) if _is_path(name) else _from_name(name)
    except CallError:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001  # a plugin may raise anything
        raise CallError(f"the plugin '{name}' cannot be imported: {error_text(error)}") from None
    name_plugin(module.__name__)
    load_codes(module)
    contracts = getattr(module, "CONTRACTS", None)
    contracts = (contracts,) if isinstance(contracts, Contract) else contracts
    if not isinstance(contracts, Iterable):
        if contracts is not None:
            raise CallError(
                f"the plugin '{name}': CONTRACTS is not a tuple of contracts", "write CONTRACTS = (Contract(…),)"
            )
        if any(getattr(module, attribute, None) is not None for attribute in _INSTEAD):
            return module
        raise CallError(
            f"the plugin '{name}' has no CONTRACTS",
            "define a tuple CONTRACTS, a tuple TRACKS, or a dict METRICS with metrics for benchmark",
        )
    register(*contracts)
    return module


def load_codes(module: ModuleType) -> None:
    """Register the `CODES` of a module. Raises `CallError`."""
    codes: object = getattr(module, "CODES", ())
    if not isinstance(codes, tuple | list) or hasattr(codes, "_fields"):
        raise CallError(
            f"the plugin '{module.__name__.removeprefix(FILE_PLUGIN)}': CODES is not a tuple of codes",
            "write CODES = (ProblemCode(…),)",
        )
    register_codes(*codes)


def load_codes_of_entry(entry: EntryPoint) -> None:
    """Register the codes of the module that an entry point refers to, before its contracts or tracks."""
    load_codes(import_module(entry.module))


def absolute(name: str) -> str:
    """Return the name of a plugin for other processes, independent of the current folder."""
    from pathlib import Path

    return str(Path(name).expanduser().resolve()) if _is_path(name) else name


def digest(module: ModuleType) -> str:
    """Return the hash of the file of a module; empty if it has none."""
    import hashlib
    from pathlib import Path

    try:
        return hashlib.sha256(Path(module.__file__ or "").read_bytes()).hexdigest()
    except (OSError, AttributeError):
        return ""


def _is_path(name: str) -> bool:
    return name.endswith(".py") or any(mark in name for mark in ("/", "\\", "~"))


def _from_name(name: str) -> ModuleType:
    from pathlib import Path

    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        place = Path(*name.split("."))
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # the plugin exists, but not a module that it imports
        hint = "install it, or pass a path: ./NAME.py"
        if place.with_suffix(".py").is_file():
            hint = f"modules in the current folder are not imported: pass a path, ./{place}.py"
        elif Path(place.parts[0]).is_dir():
            hint = "packages in the current folder are not imported: install it, or set PYTHONPATH=."
        raise CallError(f"the plugin '{name}' cannot be imported: no module named '{error.name}'", hint) from None


def _from_file(name: str) -> ModuleType:
    """Import a file as a module under a name that no other module has: `statistics.py` must not hide the standard one.

    If no other module has its usual name, other imports of it get the same module.
    """
    from pathlib import Path

    path = Path(name).expanduser().resolve()
    if not path.is_file() or path.suffix != ".py" or not name.endswith(".py"):  # x.json may be a link to x.py
        instead = path.with_name(path.name + ".py")
        hint = f"did you mean {name}.py?" if instead.is_file() else "pass a .py file or a module name"
        raise CallError(f"the plugin '{name}' is not a Python file", hint)
    private = f"{FILE_PLUGIN}{path.stem}"
    for known in (sys.modules.get(private), sys.modules.get(path.stem)):
        if Path(getattr(known, "__file__", None) or "").resolve() == path:
            return cast(ModuleType, known)
    if private in sys.modules:
        raise CallError(f"the plugin '{name}' has the same name as another plugin", "rename the file")
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    names = [private]
    if path.stem.isidentifier() and path.stem not in sys.modules:
        usual = find_spec(path.stem)
        names += [path.stem] if usual is None or Path(usual.origin or "").resolve() == path else []
    spec = spec_from_file_location(private, path)
    assert spec and spec.loader  # noqa: S101, PT018  # always exists for .py
    module = module_from_spec(spec)
    sys.modules.update(dict.fromkeys(names, module))
    try:
        spec.loader.exec_module(module)
    except BaseException:
        for each in names:
            del sys.modules[each]
        raise
    return module


@cache
def load_installed() -> bool:
    """Register the contracts of installed packages (entry points of the group `medcontract.contracts`), once.

    An entry point refers to a Contract, several of them, or a module with `CONTRACTS`. One of the group
    `medcontract.tracks` also brings the `CONTRACTS` of its module. Returns whether there were any.
    """
    from importlib.metadata import entry_points

    entries = [*sorted(entry_points(group=GROUP)), *sorted(entry_points(group=TRACKS_GROUP))]
    for entry in entries:
        try:
            load_codes_of_entry(entry)
            value = import_module(entry.module) if entry.group == TRACKS_GROUP else entry.load()
            value = getattr(value, "CONTRACTS", () if entry.group == TRACKS_GROUP else value)
            register(*(value if isinstance(value, tuple | list) else (value,)))
        except (Exception, SystemExit) as error:  # noqa: BLE001  # a plugin may raise anything
            report_broken(entry, error)
    return bool(entries)


def report_broken(entry: EntryPoint, error: BaseException) -> None:
    """Keep a warning about an installed plugin that cannot be loaded, once."""
    message = f"the plugin '{entry.value}' cannot be loaded: {error_text(error)}"
    if message not in broken_plugins:
        broken_plugins.append(message)
