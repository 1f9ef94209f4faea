"""The names that the published schemas give to types, and what generators of types make of them.

`tests/type-names.json` lists the names, schema by schema. A name that changes there is a changed type for everybody who
generated code from the schema, although `schema diff` calls it harmless.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema.validators import validator_for
from pydantic import BaseModel, TypeAdapter
from tests.support import ROOT

import medcontract
from medcontract.contracts import registry
from medcontract.contracts.contract import Contract
from medcontract.contracts.registry import subschemas
from medcontract.results.schemas import Draft
from medcontract.schemas import publishing
from medcontract.schemas.json_schema import bare, type_names

Schema = dict[str, Any]
NODE = ROOT / "tests" / "node"
TOOLS = ("json-schema-to-typescript", "quicktype-core", "typescript")

CASES = [
    (contract, record) for contract in registry.contracts() for record in (False, True)[: 1 + bool(contract.list_key)]
]
DRAFTS: tuple[Draft, ...] = publishing.DRAFTS

each_schema = pytest.mark.parametrize(
    ("contract", "record"), CASES, ids=[f"{c.id}{':record' * record}" for c, record in CASES]
)
needs_node = pytest.mark.skipif(
    shutil.which("node") is None or not all((NODE / "node_modules" / tool).is_dir() for tool in TOOLS),
    reason="no node, or no generators: npm install --no-save --no-package-lock --prefix tests/node " + " ".join(TOOLS),
)
needs_datamodel = pytest.mark.skipif(
    importlib.util.find_spec("datamodel_code_generator") is None, reason="no datamodel-code-generator"
)


@cache
def schemas(draft: Draft = "2020-12") -> dict[str, Schema]:
    """All schemas, by the path of their file in `schemas/`."""
    return {publishing.file_name(c, record): publishing.schema_of(c, record, draft) for c, record in CASES}


def validator(schema: Schema) -> Any:
    draft: Any = validator_for(schema)
    return draft(schema)


@cache
def names_of_results() -> frozenset[str]:
    """The names of types of results. A score has them under `if` and `then`, which generators leave out."""
    found = [publishing.schema_of(contract) for contract in registry.results().values()]
    return frozenset(name for schema in found for name in type_names(schema))


def generated_names(name: str, schema: Schema) -> set[str]:
    """The names of the types that generators are to declare for the schema in this file."""
    return set(type_names(schema)) - (names_of_results() if name.startswith("medcontract/") else set())


def definitions(schema: Schema) -> dict[str, Schema]:
    return dict(schema.get("$defs") or schema.get("definitions") or {})


# --- names ---------------------------------------------------------------------------------------


def test_the_list_of_names() -> None:
    """The names of types are in `tests/type-names.json`; `script/generate` writes it: read what changed there."""
    listed = json.loads((ROOT / "tests" / "type-names.json").read_bytes())
    assert {name: type_names(schema) for name, schema in schemas().items()} == listed


@each_schema
@pytest.mark.parametrize("draft", DRAFTS)
def test_titles_are_names(contract: Contract[Any], record: bool, draft: Draft) -> None:
    """A title is the name of a type, with the track before it, and the key of a definition is its title."""
    schema = publishing.schema_of(contract, record, draft)
    track = contract.id.partition("/")[0].capitalize()
    assert schema["title"]
    names = generated_names(contract.id, schema)
    assert [name for name in sorted(names) if not re.fullmatch(rf"{track}([A-Z][a-z0-9]*)+", name)] == []
    assert {key: node.get("title") for key, node in definitions(schema).items()} == {
        key: key for key in definitions(schema)
    }


def test_no_name_tells_of_the_code() -> None:
    """A type is named after what it holds, not `…Model`; some hold a model, or a type."""
    names = {name for path, schema in schemas().items() for name in type_names(schema)}
    assert {name for name in names if name.endswith(("Model", "Struct", "Schema", "Type"))} == {
        "ExtractionDocType", "LesionsModel", "MedcontractIndexColumnType",
    }  # fmt: skip


def test_a_name_has_one_meaning() -> None:
    """Schemas that have the same title, in whichever file, say the same."""
    meanings: dict[str, set[str]] = {}
    for schema in schemas().values():
        for node in subschemas(schema):
            if "title" in node:
                said = bare({word: value for word, value in node.items() if word != "$defs"})
                meanings.setdefault(node["title"], set()).add(json.dumps(said, sort_keys=True))
    assert len(meanings) > 90
    assert {name for name, found in meanings.items() if len(found) > 1} == set()


@each_schema
def test_description_begins_with_the_title_for_people(contract: Contract[Any], record: bool) -> None:
    """What `schema list` and the index call a contract is the first sentence of its schema's description."""
    description = publishing.schema_of(contract, record)["description"]
    assert description.startswith(contract.title + (" (one record)." if record else "."))


# --- what helps people and generators ------------------------------------------------------------


@each_schema
def test_everything_is_described(contract: Contract[Any], record: bool) -> None:
    """Every object and every property of it has a description that ends with a full stop."""
    schema = publishing.schema_of(contract, record)
    for node in subschemas(schema):
        fields = node.get("properties", {})
        silent = [key for key, field in fields.items() if not field.get("description", "").strip().endswith(".")]
        assert silent == []
        assert not fields or node["description"].strip().endswith(".")


@each_schema
@pytest.mark.parametrize("draft", DRAFTS)
def test_examples(contract: Contract[Any], record: bool, draft: Draft) -> None:
    """Every schema has an example, which it accepts itself, and so does the model."""
    schema = publishing.schema_of(contract, record, draft)
    adapter = contract.record_adapter() if record else TypeAdapter(contract.model)
    assert schema["examples"]
    for example in schema["examples"]:
        validator(schema).validate(example)
        adapter.validate_python(example)


@pytest.mark.parametrize("contract_id", sorted(c.id for c, record in CASES if not record))
def test_examples_break_no_rule(contract_id: str) -> None:
    """An example is a valid file: `validate` finds nothing in it."""
    (example,) = schemas()[f"{contract_id}/v1.json"]["examples"]
    report = medcontract.validate(json.dumps(example).encode(), contract_id, name="example.json")
    assert report.problems == ()


@each_schema
@pytest.mark.parametrize("draft", DRAFTS)
def test_defaults_are_valid(contract: Contract[Any], record: bool, draft: Draft) -> None:
    """No default is refused by the schema that it stands in."""
    schema = publishing.schema_of(contract, record, draft)
    around: Schema = {word: schema[word] for word in ("$schema", "$defs", "definitions") if word in schema}
    for node in subschemas(schema):
        if "default" in node:
            validator({**node, **around}).validate(node["default"])


# --- generators ----------------------------------------------------------------------------------

DECLARED = {
    "csharp": r"^ *public (?:partial )?(?:class|enum|struct) (\w+)",
    "go": r"^type (\w+) ",
    "java": r"^public (?:class|enum|interface) (\w+)",
    "rust": r"^pub (?:struct|enum) (\w+)",
    "typescript": r"^export (?:interface|type) (\w+)",
}
"""How each language declares a type."""
MERGED = {"LesionsFailedPrediction", "LesionsPrediction", "ReportsFailedPrediction", "ReportsPrediction"}
"""quicktype makes one type of the two forms of a record: `ReportsPredictionsRecord`."""
LOST = {
    "csharp": MERGED,
    "go": {*MERGED, "TriageLsi"},  # TriageLSI
    "java": {*MERGED, "TriageLsi"},
    "rust": MERGED,
}
MADE_UP = re.compile(r"Element$|Class$|^(?:Purple|Fluffy|Tentacled|Sticky|Indigo)|[0-9]$")
"""Names that quicktype makes up where it finds none, or where one is taken."""


def generated(folder: Path, found: dict[str, Schema], *languages: str) -> dict[str, dict[str, str]]:
    """The sources that the generators write, by language and schema."""
    question = folder / "question.json"
    question.write_text(json.dumps({"schemas": found, "languages": languages}), encoding="utf-8")
    done = subprocess.run(
        ["node", str(NODE / "types.mjs"), str(question)], capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    sources: dict[str, dict[str, str]] = json.loads(done.stdout)
    return sources


def declared(language: str, source: str) -> set[str]:
    return set(re.findall(DECLARED[language], source, re.MULTILINE))


@pytest.mark.slow
@needs_node
def test_quicktype_keeps_names(tmp_path: Path) -> None:
    """quicktype gives the types of every schema their names, but for the few that it cannot, and makes up none."""
    sources = generated(tmp_path, schemas(), *LOST)  # one process for all languages: starting takes most of the time
    lost: dict[str, set[str]] = {language: set() for language in LOST}
    for language in LOST:
        for name, schema in schemas().items():
            wanted, got = generated_names(name, schema), declared(language, sources[language][name])
            lost[language] |= wanted - got
            assert {made for made in got - wanted if MADE_UP.search(made)} == set(), (language, name)
    assert lost == LOST


@pytest.mark.slow
@needs_node
@pytest.mark.parametrize("draft", DRAFTS)
def test_typescript(draft: Draft, tmp_path: Path) -> None:
    """json-schema-to-typescript keeps every name, `tsc --strict` accepts what it writes, and the examples fit it."""
    sources = generated(tmp_path, schemas(draft), "typescript")["typescript"]
    copies: set[str] = set()
    for name, schema in schemas(draft).items():
        got = declared("typescript", sources[name])
        wanted = generated_names(name, schema)
        assert got >= wanted, name
        copies |= got - wanted
        examples = "".join(
            f"export const example{number}: {schema['title']} = {json.dumps(example)};\n"
            for number, example in enumerate(schema["examples"])
        )
        file = tmp_path / (name.replace("/", "-") + ".ts")
        file.write_text(sources[name] + "\n" + examples, encoding="utf-8")
    assert copies == set()
    tsc = NODE / "node_modules" / ".bin" / "tsc"
    files = sorted(map(str, tmp_path.glob("*.ts")))
    done = subprocess.run([tsc, "--strict", "--noEmit", *files], capture_output=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.slow
@needs_datamodel
def test_datamodel_code_generator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """datamodel-code-generator keeps every name, and examples pass through the Pydantic models that it writes."""
    for schema in schemas().values():
        (tmp_path / f"{schema['title']}.json").write_text(json.dumps(schema), encoding="utf-8")
    command = [
        sys.executable, "-m", "datamodel_code_generator", "--input", str(tmp_path), "--input-file-type", "jsonschema",
        "--output", str(tmp_path / "generated_types"), "--output-model-type", "pydantic_v2.BaseModel",
        "--use-title-as-name", "--formatters", "builtin",
    ]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    monkeypatch.syspath_prepend(tmp_path)
    for name, schema in schemas().items():
        module = importlib.import_module(f"generated_types.{schema['title']}")
        assert set(type_names(schema)) - set(vars(module)) == set(), name
        model: type[BaseModel] = getattr(module, schema["title"])
        for example in schema["examples"]:
            read = model.model_validate(example)
            assert read.model_dump(mode="json", by_alias=True, exclude_unset=True) == example, name


def packages(folder: Path, language: str) -> dict[str, tuple[Path, str, str]]:
    """The folder of a package for each schema, the source of its types, and the name of the type of a whole file."""
    sources = generated(folder, schemas(), language)[language]
    found = {
        name: (folder / f"p{number}", sources[name], schemas()[name]["title"]) for number, name in enumerate(sources)
    }
    for package, _, _ in found.values():
        package.mkdir()
    return found


def compiled(*command: str | Path, cwd: Path, given: str = "") -> str:
    """What a command prints that must succeed."""
    done = subprocess.run(command, cwd=cwd, input=given, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


OTHER_COLUMNS = ("prompt", "received_at", "stop_time_sec")
"""Keys of examples that their schemas allow without naming them."""


def kept(value: Any) -> Any:
    """A value without what Go leaves out: other columns, null and empty objects."""
    if isinstance(value, list):
        return [kept(item) for item in value]
    if isinstance(value, dict):
        return {key: kept(item) for key, item in value.items() if item not in (None, {}) and key not in OTHER_COLUMNS}
    return value


GO_COPY = """package types
func Copy(raw []byte) ([]byte, error) {{
    value, err := Unmarshal{title}(raw)
    if err != nil {{ return nil, err }}
    return value.Marshal()
}}
"""
GO_MAIN = """package main
import ("encoding/json"; "os"; {imports})
func main() {{
    copies := map[string]func([]byte) ([]byte, error){{ {copies} }}
    var given map[string][]json.RawMessage
    if err := json.NewDecoder(os.Stdin).Decode(&given); err != nil {{ panic(err) }}
    for name, examples := range given {{
        for number, example := range examples {{
            copied, err := copies[name](example)
            if err != nil {{ panic(name + ": " + err.Error()) }}
            examples[number] = copied
        }}
    }}
    json.NewEncoder(os.Stdout).Encode(given)
}}
"""


@pytest.mark.slow
@needs_node
@pytest.mark.skipif(shutil.which("go") is None, reason="no go compiler (Debian: golang-go)")
def test_go(tmp_path: Path) -> None:
    """The types that quicktype writes compile, and examples that are read and written with them stay the same."""
    found = packages(tmp_path, "go")
    (tmp_path / "go.mod").write_text("module types\n", encoding="utf-8")
    for package, source, title in found.values():
        (package / "types.go").write_text(source, encoding="utf-8")
        (package / "copy.go").write_text(GO_COPY.format(title=title), encoding="utf-8")
    names = {name: package.name for name, (package, _, _) in found.items()}
    imports = "; ".join(f'{package} "types/{package}"' for package in names.values())
    copies = ", ".join(f'"{name}": {package}.Copy' for name, package in names.items())
    (tmp_path / "main.go").write_text(GO_MAIN.format(imports=imports, copies=copies), encoding="utf-8")
    examples = {name: schema["examples"] for name, schema in schemas().items()}
    copied = json.loads(compiled("go", "run", ".", cwd=tmp_path, given=json.dumps(examples)))
    assert kept(copied) == kept(examples)
    for name, values in copied.items():
        for value in values:
            validator(schemas()[name]).validate(value)


SERDE = """extern crate proc_macro;
use proc_macro::TokenStream;
#[proc_macro_derive(Serialize, attributes(serde))]
pub fn serialize(_: TokenStream) -> TokenStream { TokenStream::new() }
#[proc_macro_derive(Deserialize, attributes(serde))]
pub fn deserialize(_: TokenStream) -> TokenStream { TokenStream::new() }
"""
"""The macros that generated types name, without an effect: types compile with them where crates cannot be had."""


@pytest.mark.slow
@needs_node
@pytest.mark.skipif(shutil.which("rustc") is None, reason="no Rust compiler")
def test_rust(tmp_path: Path) -> None:
    """The types that quicktype writes compile, with a module per schema."""
    found = packages(tmp_path, "rust")
    for package, source, _ in found.values():
        (package / "mod.rs").write_text(source, encoding="utf-8")
    (tmp_path / "lib.rs").write_text("\n".join(f"pub mod {p.name};" for p, _, _ in found.values()), encoding="utf-8")
    (tmp_path / "serde.rs").write_text(SERDE, encoding="utf-8")
    (tmp_path / "serde_json.rs").write_text("#[derive(Debug, Clone)] pub struct Value;", encoding="utf-8")
    compiled("rustc", "--edition=2021", "--crate-type=proc-macro", "serde.rs", cwd=tmp_path)
    compiled("rustc", "--edition=2021", "--crate-type=lib", "--emit=metadata", "serde_json.rs", cwd=tmp_path)
    (macros,) = set(tmp_path.glob("*serde.*")) - {tmp_path / "serde.rs"}
    externs = ["--extern", f"serde={macros}", "--extern", "serde_json=libserde_json.rmeta"]
    compiled("rustc", "--edition=2021", "--crate-type=lib", "--emit=metadata", *externs, "lib.rs", cwd=tmp_path)


@pytest.mark.slow
@needs_node
@pytest.mark.skipif(shutil.which("javac") is None, reason="no Java compiler")
def test_java(tmp_path: Path) -> None:
    """The classes that quicktype writes compile, with a package per schema."""
    for package, source, title in packages(tmp_path, "java").values():
        files = re.split(r"^// (\w+\.java)$", source, flags=re.MULTILINE)[1:] or [f"{title}.java", source]
        for name, text in zip(files[::2], files[1::2], strict=True):
            named = text.replace("package io.quicktype;", f"package {package.name};")
            (package / name).write_text(named, encoding="utf-8")
    compiled("javac", "-d", "out", *sorted(tmp_path.glob("p*/*.java")), cwd=tmp_path)
