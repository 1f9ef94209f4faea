"""Validate and score the files of medical-AI evaluations.

>>> import medcontract
>>> report = medcontract.validate(b'{"image_id": "I-1", "label": "MEL"}', name="truth.jsonl")
>>> bool(report), report.contract, report.records
(True, 'lesions/truth', 1)
"""

TYPE_CHECKING = False
"""Defined here instead of imported: with `python -m medcontract` the current folder is first on `sys.path`, so a
`typing.py` in a data folder would run. For the same reason, and because the command line does not handle Ctrl-C yet,
this module imports nothing."""
if TYPE_CHECKING:
    from typing import Any

    from medcontract._version import __version__
    from medcontract.api import (
        bundle,
        cache_info,
        check_challenge,
        check_protocol,
        check_schemas,
        clear_cache,
        compare,
        data_dictionary,
        diff_schemas,
        explain,
        export_schemas,
        fix,
        frame_schema,
        freeze_protocol,
        get_contract,
        get_protocol,
        init,
        json_schema,
        leaderboard,
        list_contracts,
        list_protocols,
        load,
        load_plugin,
        new_challenge,
        normalize,
        preflight,
        read_score,
        score,
        template,
        validate,
        validate_files,
        validate_frame,
    )
    from medcontract.challenge import Challenge
    from medcontract.contracts.contract import Contract, Validated
    from medcontract.errors import CallError, InvalidData, MedcontractError, NotRecognized, UnknownContract
    from medcontract.results.comparison import Comparison
    from medcontract.results.leaderboard import Leaderboard
    from medcontract.results.preflight import Preflight
    from medcontract.results.score import Score
    from medcontract.results.validation import FileReport, Problem, Validation

__all__ = [
    "CallError",
    "Challenge",
    "Comparison",
    "Contract",
    "FileReport",
    "InvalidData",
    "Leaderboard",
    "MedcontractError",
    "NotRecognized",
    "Preflight",
    "Problem",
    "Score",
    "UnknownContract",
    "Validated",
    "Validation",
    "__version__",
    "bundle",
    "cache_info",
    "check_challenge",
    "check_protocol",
    "check_schemas",
    "clear_cache",
    "compare",
    "data_dictionary",
    "diff_schemas",
    "explain",
    "export_schemas",
    "fix",
    "frame_schema",
    "freeze_protocol",
    "get_contract",
    "get_protocol",
    "init",
    "json_schema",
    "leaderboard",
    "list_contracts",
    "list_protocols",
    "load",
    "load_plugin",
    "new_challenge",
    "normalize",
    "preflight",
    "read_score",
    "score",
    "template",
    "validate",
    "validate_files",
    "validate_frame",
]

_MODULES = {
    "CallError": "errors",
    "Challenge": "challenge",
    "Comparison": "results.comparison",
    "Contract": "contracts.contract",
    "FileReport": "results.validation",
    "InvalidData": "errors",
    "Leaderboard": "results.leaderboard",
    "MedcontractError": "errors",
    "NotRecognized": "errors",
    "Preflight": "results.preflight",
    "Problem": "results.validation",
    "Score": "results.score",
    "UnknownContract": "errors",
    "Validated": "contracts.contract",
    "Validation": "results.validation",
    "__version__": "_version",
}
"""The modules of the classes and of the version; all functions are in `api`. They are imported on first use, to keep
imports fast."""


def __getattr__(name: str) -> "Any":
    if name not in __all__:
        raise AttributeError(f"module 'medcontract' has no attribute '{name}'")
    from importlib import import_module

    module = import_module(f"medcontract.{_MODULES.get(name, 'api')}")
    if name != "__version__":
        from medcontract import signatures

        for type_name in signatures.__all__:
            vars(module).setdefault(type_name, getattr(signatures, type_name))
    value = globals()[name] = getattr(module, name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
