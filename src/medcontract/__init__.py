"""Validate and score the files of medical-AI evaluations.

>>> import medcontract
>>> report = medcontract.validate(b'{"image_id": "I-1", "label": "MEL"}', name="truth.jsonl")
>>> bool(report), report.contract, report.records
(True, 'lesions/truth', 1)
"""
# ruff: noqa: F403, F405

TYPE_CHECKING = False
"""Defined here instead of imported: with `python -m medcontract` the current folder is first on `sys.path`, so a
`typing.py` in a data folder would run. For the same reason, and because the command line does not handle Ctrl-C yet,
this module imports nothing."""
if TYPE_CHECKING:
    from typing import Any

    from medcontract._version import __version__
    from medcontract.api import *
    from medcontract.challenge import Challenge
    from medcontract.signatures import *

__all__ = [
    "CallError", "Challenge", "Comparison", "Contract", "FileReport", "InvalidData", "Leaderboard", "MedcontractError",
    "NotRecognized", "Preflight", "Problem", "Rehearsal", "Score", "UnknownContract", "Validated", "Validation",
    "Verification", "__version__",
    "bundle", "cache_info", "check_challenge", "check_page", "check_protocol", "check_schemas", "clear_cache",
    "compare", "data_dictionary", "diff_schemas", "explain", "export_schemas", "fix", "frame_schema", "freeze_protocol",
    "get_contract", "get_protocol", "init", "json_schema", "leaderboard", "list_contracts", "list_protocols", "load",
    "load_plugin", "new_challenge", "normalize", "preflight", "rehearse", "score", "template",
    "validate", "validate_files", "validate_frame", "verify",
]  # fmt: skip
"""Functions are in `api`, classes in `signatures` and `challenge`, which are imported on first use."""


def __getattr__(name: str) -> "Any":
    if name not in __all__:
        raise AttributeError(f"module 'medcontract' has no attribute '{name}'")
    import sys
    from importlib import import_module

    if name == "__version__":
        value = import_module("medcontract._version").__version__
    else:
        from medcontract import api, signatures

        home = api if name.islower() else signatures
        value = getattr(home if hasattr(home, name) else import_module("medcontract.challenge"), name)
        functions = [module for name, module in sys.modules.items() if name.startswith("medcontract.api")]
        for module in (*functions, import_module(value.__module__)):
            for type_name in signatures.__all__:
                vars(module).setdefault(type_name, getattr(signatures, type_name))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
