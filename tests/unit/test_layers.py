"""Who may import whom. The listing of the package is its architecture; an upward import fails here."""

from __future__ import annotations

import ast
import inspect
import pydoc
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.challenge_files import SMALL
from tests.support import ROOT

import medcontract
from medcontract import api
from medcontract.contracts.contract import Validated

PACKAGE = ROOT / "src" / "medcontract"

MAY_IMPORT: dict[str, set[str]] = {
    "_version": set(),
    "addresses": {"containers", "errors", "lazy_patterns"},
    "catalog": set(),
    "containers": set(),
    "errors": set(),
    "extras": {"errors"},
    "isolated": {"errors", "reading"},
    "lazy_patterns": set(),
    "problems": set(),
    "types": {"problems"},
    "reading": {"addresses", "containers", "errors", "extras", "isolated", "lazy_patterns", "problems", "reading",
        "types"},
    "contracts": {"containers", "contracts", "errors", "extras", "lazy_patterns", "normalizers", "problems", "types"},
    "plugins": {"catalog", "contracts", "errors", "lazy_patterns", "plugins", "problems", "schemas"},
    "schemas": {"_version", "addresses", "atomic_write", "contracts", "errors", "jsonschema_files", "problems",
        "reading", "results", "schemas", "types"},
    "cache": {"_version", "addresses", "atomic_write", "errors"},
    "atomic_write": {"addresses", "errors"},
    "report_files": {"addresses", "atomic_write", "errors"},
    "example_files": {"atomic_write", "contracts", "errors"},
    "results": {"errors", "extras", "problems", "rendering", "results"},  # rendering: to_html, to_markdown, notebooks
    "rendering": {"_version", "catalog", "problems", "rendering", "results"},
    "images": {"errors", "images", "isolated", "parallel", "problems"},
    "parallel": {"_version", "challenges", "containers", "contracts", "errors", "extras", "parallel", "problems",
        "reading", "scoring", "validation"},
    "hints": {"containers", "contracts", "errors", "hints", "lazy_patterns", "problems", "reading", "types"},
    "validation": {"containers", "contracts", "errors", "extras", "hints", "lazy_patterns", "problems", "reading",
        "results", "types", "validation"},
    "jsonschema_files": {"containers", "contracts", "errors", "hints", "jsonschema_files", "problems", "reading",
        "results", "schemas", "types", "validation"},
    "normalizers": {"normalizers"},
    "scoring": {"contracts", "errors", "lazy_patterns", "normalizers", "plugins", "problems", "results", "scoring",
        "types", "uncertainty"},
    "challenges": {"atomic_write", "catalog", "challenges", "containers", "contracts", "errors", "normalizers",
        "plugins", "problems", "reading", "results", "scoring", "types", "uncertainty", "validation"},
    "evaluation": {"_version", "addresses", "cache", "catalog", "challenges", "containers", "contracts", "errors",
        "evaluation", "extras", "images", "parallel", "problems", "reading", "results", "scoring", "uncertainty",
        "validation"},
    "fixing": {"addresses", "containers", "contracts", "errors", "evaluation", "fixing", "problems", "reading",
        "results", "types", "validation"},
    "options": {"addresses", "atomic_write", "cache", "contracts", "errors", "evaluation", "extras", "parallel",
        "reading", "results", "schemas", "scoring", "validation"},
    "platforms": {"_version", "atomic_write", "challenges", "contracts", "errors", "evaluation", "options", "parallel",
        "platforms", "problems", "reading", "rendering", "results", "schemas", "scoring"},
    "api": {"addresses", "api", "atomic_write", "cache", "catalog", "challenges", "contracts", "errors",
        "evaluation", "example_files", "extras", "fixing", "jsonschema_files", "normalizers", "options", "parallel",
        "platforms", "plugins", "problems", "reading", "report_files", "results", "schemas", "scoring", "signatures",
        "validation"},
    "uncertainty": {"uncertainty"},
    "signatures": {"contracts", "errors", "platforms", "results"},
    "benchmark": {"api", "contracts", "errors", "options", "rendering", "results", "scoring", "types"},
    "challenge": {"api", "challenges", "contracts", "options"},
    "conformance": {"api", "challenge", "errors", "normalizers"},
    "testing": {"api", "errors", "extras", "options", "results"},
    "modeling": {"catalog", "contracts", "plugins", "problems", "results", "scoring"},
    "docs": {"catalog", "contracts", "errors", "problems"},
    "cli": {"_version", "addresses", "api", "atomic_write", "cli", "conformance", "contracts", "errors", "rendering"},
    "__init__": {"_version", "api", "challenge", "contracts", "errors", "results", "signatures"},
    "__main__": {"cli"},
}  # fmt: skip
"""At run time. A module or folder of the package that is not here has no place yet: give it one."""
MAY_NAME: dict[str, set[str]] = {
    "errors": {"results"}, "rendering": {"scoring"}, "cli": {"results", "scoring"},
}  # fmt: skip
"""For annotations only (`if TYPE_CHECKING`)."""


class Import(NamedTuple):
    layer: str
    """The module or folder that imports."""
    target: str
    """The dotted name that is imported."""
    typing_only: bool
    place: str


def _modules() -> Iterator[tuple[Path, str, list[str]]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if parts[0] != "examples":
            yield path, parts[0], ["medcontract", *parts]


def _targets(node: ast.AST, name: list[str]) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    base = node.module or ""
    if node.level:
        base = ".".join([*name[: -node.level], *([node.module] if node.module else [])])
    if base == "medcontract":
        return [f"medcontract.{alias.name}" for alias in node.names]
    return [base]


def _typing_only(tree: ast.AST) -> set[ast.AST]:
    blocks = [n for n in ast.walk(tree) if isinstance(n, ast.If) and ast.unparse(n.test).endswith("TYPE_CHECKING")]
    return {inner for block in blocks for statement in block.body for inner in ast.walk(statement)}


def _imports() -> Iterator[Import]:
    for path, layer, name in _modules():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        quiet = _typing_only(tree)
        for node in ast.walk(tree):
            for target in _targets(node, name):
                yield Import(layer, target, node in quiet, f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}")


IMPORTS = list(_imports())


def test_every_module_has_a_place() -> None:
    """Each module or folder of the package stands in the table of layers."""
    assert {layer for _, layer, _ in _modules()} <= set(MAY_IMPORT)


@pytest.mark.parametrize("layer", MAY_IMPORT)
def test_layer(layer: str) -> None:
    """A layer imports those below it, and no other."""
    wrong = [
        f"{found.place} imports {found.target}"
        for found in IMPORTS
        if found.layer == layer and found.target.startswith("medcontract.")
        if (below := found.target.split(".")[1]) not in MAY_IMPORT[layer]
        and not (found.typing_only and below in MAY_NAME.get(layer, ()))
    ]
    assert wrong == []


@pytest.mark.parametrize("library", ["click", "rich"])
def test_command_line_libraries_stay_in_the_command_line(library: str) -> None:
    """What talks to a terminal is imported by `cli` only."""
    assert {found.place for found in IMPORTS if found.target.split(".")[0] == library and found.layer != "cli"} == set()


def test_the_walk_sees_imports() -> None:
    """The walk over imports finds known imports, inside functions and for annotations too."""
    seen = {(found.layer, found.target, found.typing_only) for found in IMPORTS}
    assert ("__main__", "medcontract.cli.main", False) in seen
    assert ("cli", "click", False) in seen
    assert ("cli", "medcontract.api", False) in seen
    assert ("errors", "medcontract.results.validation", True) in seen


def test_no_way_around_validation() -> None:
    """`model_construct` makes a model of what was not checked: it stands nowhere in the package."""
    assert [path for path, _, _ in _modules() if "model_construct" in path.read_text(encoding="utf-8")] == []


def test_validated_cannot_be_made_by_hand() -> None:
    """A caller cannot vouch for a value; only the contract layer can."""
    with pytest.raises(TypeError, match="load"):
        Validated(object(), {"label": "MEL"}, "lesions/truth")
    with pytest.raises(TypeError):
        Validated({"label": "MEL"})  # type: ignore[call-arg]


def test_validated_cannot_be_changed() -> None:
    """A validated value stays what it was when it was checked."""
    validated = medcontract.load(b'{"image_id": "I-1", "label": "MEL"}', name="x.jsonl")
    with pytest.raises(AttributeError):
        validated.value = ()  # type: ignore[misc]
    with pytest.raises(ValueError, match="frozen"):
        validated.value[0].label = "NV"
    assert isinstance(validated.value, tuple)


def test_public_names() -> None:
    """`__all__` is sorted, and each name in it can be imported from the package and is listed by `dir`."""
    assert medcontract.__all__ == sorted(medcontract.__all__)
    assert set(medcontract.__all__) <= set(dir(medcontract))
    for name in medcontract.__all__:
        assert getattr(medcontract, name) is not None


def test_public_names_have_types() -> None:
    """Type checkers know every public name, and at run time `help` and `typing.get_type_hints` resolve all types."""
    from medcontract import signatures

    assert set(medcontract.__all__) - set(signatures.__all__) == {*FUNCTIONS, "Challenge", "__version__"}
    code = """
import pydoc, typing, medcontract, medcontract.modeling
for module in (medcontract.modeling, medcontract):
    assert "class Contract" in pydoc.render_doc(module, renderer=pydoc.plaintext)
public = [getattr(medcontract, name) for name in medcontract.__all__ if name != "__version__"]
hints = [typing.get_type_hints(each) for each in public]
print(sum("return" in found for found in hints))
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.stderr == ""
    assert int(ran.stdout) == len(FUNCTIONS)


def test_methods_of_a_challenge_have_the_signatures_of_functions() -> None:
    """`help` and editors show the arguments of the function; only its track is left out."""
    challenge = medcontract.Challenge.load(SMALL.encode())
    for name in set(FUNCTIONS) - {"load"}:
        function = inspect.signature(getattr(medcontract, name)).parameters
        method = inspect.signature(getattr(challenge, name)).parameters
        left = ["track"] if name in ("init", "get_protocol", "freeze_protocol") else []
        assert [*left, *method] == [*function]
    assert "score(*files" in pydoc.plain(pydoc.render_doc(challenge.score))


FUNCTIONS = (
    "validate", "validate_files", "validate_frame", "frame_schema", "load", "preflight", "score", "leaderboard",
    "compare", "normalize", "explain", "init", "list_contracts", "get_contract", "json_schema", "export_schemas",
    "check_schemas", "diff_schemas", "list_protocols", "get_protocol", "freeze_protocol", "check_protocol",
    "load_plugin", "template", "data_dictionary", "fix", "check_challenge", "new_challenge", "bundle", "check_page",
    "cache_info", "clear_cache", "rehearse", "verify",
)  # fmt: skip


def test_the_one_door() -> None:
    """Every public function is one of `medcontract.api`; names that a package may have one day are none of them."""
    assert {name for name in medcontract.__all__ if name[0].islower()} == set(FUNCTIONS)
    for name in FUNCTIONS:
        assert getattr(medcontract, name) is getattr(api, name)
        assert (getattr(api, name).__doc__ or "").strip()
    for gone in ("contracts", "schema", "flow"):
        assert gone not in dir(medcontract)


def test_commands_go_through_the_door() -> None:
    """The command line imports the API, the renderers, itself, and modules for paths and words only."""
    mine = {found.target for found in IMPORTS if found.layer == "cli" and not found.typing_only}
    ours = {target.split(".", 1)[1] for target in mine if target.startswith("medcontract.")}
    ours = {name for name in ours if name.split(".")[0] not in {"_version", "api", "cli", "errors", "rendering"}}
    assert ours == {"addresses", "atomic_write", "conformance", "contracts.suggestions"}


def test_size() -> None:
    """The package stays small enough to hold: raising a bound needs a reason; lower it where possible."""
    lines = {path: path.read_bytes().count(b"\n") for path in PACKAGE.rglob("*.py")}
    assert 40_000 < sum(lines.values()) <= 57_500
    assert len(lines) <= 290
    assert max(lines.values()) <= 450
    assert sum(len(re.findall(r"\bAny\b", path.read_text(encoding="utf-8"))) for path in lines) <= 1_050
