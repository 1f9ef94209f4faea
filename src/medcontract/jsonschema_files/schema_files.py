"""The files of a schema, read with the same checks as data files, and all references in one `referencing.Registry`.

Nothing is fetched. References are resolved when the schema is loaded, not on demand by `Registry(retrieve=...)`: one
that cannot be resolved is reported at its line, and no file is opened later. Each file is identified by its file URI
instead of its `$id`, so that relative references are files next to it; it is also registered under its `$id`.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path as FilePath
from typing import Any, NamedTuple
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import attrs
import jsonschema
from jsonschema.protocols import Validator
from jsonschema_specifications import REGISTRY as BUNDLED  # type: ignore[import-untyped]  # comes with jsonschema
from referencing import Registry, Specification
from referencing import jsonschema as specifications
from referencing.exceptions import Unresolvable

from medcontract.contracts.registry import NAMED
from medcontract.errors import CallError, option, words
from medcontract.jsonschema_files.keywords import NoPattern, compile_pattern
from medcontract.problems import Path, Token, pointer, pointer_tokens, shorten
from medcontract.reading.excerpts import find_positions
from medcontract.reading.folders import leads_out_of
from medcontract.reading.json_scanner import Locator, scan
from medcontract.reading.limits import MAX_RECORD
from medcontract.reading.located_records import Broken
from medcontract.reading.source import Source, Unreadable
from medcontract.types import AnySchema, JsonObject

# --- drafts

_SAME_VALUE = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"})
"""Keywords whose schemas apply to the same value, not to one inside it."""
_BY_NAME = NAMED | {"dependencies"}
_EVERY = _SAME_VALUE - {"dependentSchemas", "dependencies"} | {
    "properties", "patternProperties", "additionalProperties", "propertyNames", "items", "contains", "definitions",
}  # fmt: skip
_SINCE_2019 = _EVERY | {"$defs", "dependentSchemas", "unevaluatedItems", "unevaluatedProperties", "contentSchema"}
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_KEEPS_BOOLEAN = ("additionalProperties", "unevaluatedProperties", "additionalItems", "unevaluatedItems")
"""Keywords whose schemas may stay true or false. For others, jsonschema would lose the path of the value."""


class Subschema(NamedTuple):
    """A schema inside a schema: `holder[key]`. The path starts with the keyword."""

    path: Path
    holder: Any
    key: Token

    @property
    def schema(self) -> Any:
        return self.holder[self.key]


class Draft:
    """A draft of JSON Schema."""

    def __init__(self, name: str, validator: type[Validator], specification: Any, keywords: frozenset[str]) -> None:
        self.name = name
        self.validator = validator
        self.uri = str(validator.META_SCHEMA["$id"])
        self.ignores_ref_siblings = name == "draft-07"
        self._keywords = keywords
        # the original raises AttributeError if draft-07's `dependencies` contain both schemas and lists
        self.specification: Specification[Any] = attrs.evolve(
            specification, subresources_of=lambda schema: (inner.schema for inner in self.subschemas(schema))
        )

    def subschemas(self, schema: object) -> Iterator[Subschema]:
        """Yield the schemas directly inside this one."""
        for keyword, value in schema.items() if isinstance(schema, dict) else ():
            if keyword not in self._keywords:
                continue
            found = [Subschema((keyword,), schema, keyword)]
            if isinstance(value, list) or (keyword in _BY_NAME and isinstance(value, dict)):
                keys = range(len(value)) if isinstance(value, list) else value
                found = [Subschema((keyword, key), value, key) for key in keys]
            yield from (inner for inner in found if isinstance(inner.schema, dict | bool))

    def applied_to_same_value(self, schema: JsonObject) -> Iterator[AnySchema]:
        """Yield the schemas directly inside this one that apply to the same value."""
        if not (self.ignores_ref_siblings and "$ref" in schema):
            yield from (inner.schema for inner in self.subschemas(schema) if inner.path[0] in _SAME_VALUE)

    def keeps_boolean(self, keyword: Token) -> bool:
        return keyword in _KEEPS_BOOLEAN or (keyword == "items" and "prefixItems" in self._keywords)


DRAFTS = (
    Draft("draft-07", jsonschema.Draft7Validator, specifications.DRAFT7, _EVERY | {"additionalItems", "dependencies"}),
    Draft(
        "2019-09", jsonschema.Draft201909Validator, specifications.DRAFT201909, _SINCE_2019 | {"additionalItems"}
    ),
    Draft("2020-12", jsonschema.Draft202012Validator, specifications.DRAFT202012, _SINCE_2019 | {"prefixItems"}),
)  # fmt: skip


def draft_of(file: SchemaFile, schema: AnySchema, path: Path = (), default: Draft = DRAFTS[-1]) -> Draft:
    """Return the draft of a schema, from its `$schema`. Raises `CallError` if it is not supported."""
    declared = schema.get("$schema") if isinstance(schema, dict) else None
    if declared is None:
        return default
    for draft in DRAFTS:  # http or https and an empty fragment make no difference
        if isinstance(declared, str) and _bare(draft.uri) == _bare(declared):
            return draft
    supported = f"supported: {', '.join(draft.name for draft in DRAFTS)}"
    raise file.error((*path, "$schema"), "'$schema' is not a supported draft", supported)


def _bare(uri: str) -> str:
    return uri.removesuffix("#").removeprefix("https://").removeprefix("http://")


@cache
def meta_schemas(draft: Draft) -> Registry[Any]:
    """Return the meta-schemas of a draft, without `$schema`, which would make jsonschema use its original validator."""
    contents = (BUNDLED.contents(uri) for uri in BUNDLED if draft.uri.rpartition("/")[0] in uri)
    resources = ({k: v for k, v in each.items() if k != "$schema"} for each in contents)
    return Registry().with_resources((r["$id"], draft.specification.create_resource(r)) for r in resources).crawl()


# --- one file


class SchemaFile(NamedTuple):
    """A schema file."""

    uri: str
    id: str
    """Its `$id`, or its URI."""
    contents: AnySchema
    source: Source

    def error(self, path: Path, message: str, hint: str | None = None) -> CallError:
        """Return an exception about the value at this path, with its line and column."""
        message += f" (at {pointer(path)})" if path else ""
        return _error_at(self.source, Locator(_bytes(self.source)).find(path)[0], message, hint)


def read_schema(path: str) -> SchemaFile:
    """Read a schema file. Raises `CallError` if it does not exist or is not JSON."""
    source = Source(path)
    try:
        source.prepare()
        raw = _bytes(source)
    except Unreadable as error:
        raise CallError(f"schema {path}: {error.finding.message}", error.finding.hint) from None
    if len(raw) > MAX_RECORD:
        message = f"schema {path}: larger than {MAX_RECORD >> 20} MiB"
        raise CallError(message, "split it into files that refer to each other")
    try:
        scanned = scan(raw)
    except Broken as broken:
        raise _error_at(source, broken.offset, f"not JSON: {broken.message}", broken.hint) from None
    for fault in scanned.faults:
        raise _error_at(source, fault.offset, fault.message, fault.hint)
    uri = FilePath(os.path.abspath(path)).as_uri()
    identity = scanned.value.get("$id") if isinstance(scanned.value, dict) else None
    file = SchemaFile(uri, identity if isinstance(identity, str) else uri, scanned.value, source)
    if not isinstance(scanned.value, dict | bool):
        raise file.error((), "expected an object, true or false")
    return file


def _bytes(source: Source) -> bytes:
    return source.read(source.start, MAX_RECORD + 1)


def _error_at(source: Source, offset: int, message: str, hint: str | None) -> CallError:
    ((line, column),) = find_positions(source, [source.start + offset])[0].values()
    return CallError(f"schema {source.name}:{line}:{column}: {message}", hint)


# --- all files


class LocatedSchema(NamedTuple):
    """A schema and its location."""

    schema: Any
    file: SchemaFile
    path: Path
    base: str
    """The URI that references in it are relative to."""

    def error(self, path: Path, message: str, hint: str | None = None) -> CallError:
        return self.file.error((*self.path, *path), message, hint)

    def unusable(self, keyword: str, message: str, hint: str | None = None) -> CallError:
        """Return an exception about the reference in this keyword."""
        return self.error((keyword,), f"reference to '{shorten(self.schema[keyword])}': {message}", hint)

    def absolute(self, keyword: str, text: str) -> str:
        """Return a reference as an absolute URI. If the base is a URN, it is relative to the file."""
        try:
            joined = urljoin(self.base, text)
            return joined if urlsplit(joined).scheme else urljoin(self.file.uri, text)
        except ValueError:
            raise self.error((keyword,), f"'{keyword}' is not a URI reference") from None


class SchemaSet:
    """The schema files of one draft, with the targets of all references."""

    def __init__(
        self, draft: Draft, check: Callable[[Draft, SchemaFile, AnySchema, Path], None], folders: Sequence[str]
    ) -> None:
        """`check` raises `CallError` for an invalid schema. Files are read from these folders only."""
        self.draft = draft
        self.registry = meta_schemas(draft)
        self.dynamic = False
        """Whether what a reference means may depend on the references before it."""
        self._check, self._folders = check, folders
        self._files: dict[str, SchemaFile] = {}
        self._nodes: dict[int, LocatedSchema] = {}
        self._targets: dict[int, list[AnySchema]] = {}
        """The targets of the references of each schema, by its id()."""
        self._open: deque[tuple[LocatedSchema, str]] = deque()
        self._known_keys: dict[int, set[str]] = {}

    def load(self, file: SchemaFile) -> None:
        """Add a file and everything that it refers to. Raises `CallError` if something is wrong."""
        self._add(file)
        while self._open:
            self._resolve(*self._open.popleft())
        graph = {key: [id(s) for s in self._same_value(node.schema)] for key, node in self._nodes.items()}
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            node = next(node for key, node in self._nodes.items() if key in error.args[1])
            hint = "a schema may only be recursive through keywords for inner values, such as 'properties' or 'items'"
            raise node.error((), "this schema refers to itself endlessly", hint) from None

    def known_keys(self, schema: object) -> set[str]:
        """Return the keys that a schema defines, also in references and alternatives."""
        if id(schema) not in self._known_keys:
            found = self._known_keys[id(schema)] = set()
            stack, seen = [schema], set[int]()
            while stack:
                node = stack.pop()
                if isinstance(node, dict) and id(node) not in seen:
                    seen.add(id(node))
                    found.update(node.get("properties", ()))
                    stack += self._same_value(node)
        return self._known_keys[id(schema)]

    def _same_value(self, schema: JsonObject) -> list[AnySchema]:
        """Return the schemas that a schema applies to the same value."""
        return [*self._targets.get(id(schema), ()), *self.draft.applied_to_same_value(schema)]

    def _add(self, file: SchemaFile) -> None:
        root = LocatedSchema(file.contents, file, (), file.uri)
        self._check_draft(root)
        self._check(self.draft, file, file.contents, ())
        file = file._replace(id=root.absolute("$id", file.id).rstrip("#"))
        self._files[file.uri] = file
        if isinstance(file.contents, dict):
            file.contents["$id"] = file.uri
        self._walk(root._replace(file=file))
        resource = self.draft.specification.create_resource(file.contents)
        self.registry = self.registry.with_resources((uri, resource) for uri in (file.uri, file.id)).crawl()

    def _walk(self, root: LocatedSchema) -> None:
        """Traverse a schema and all schemas inside it: note references, check patterns."""
        stack = [root]
        while stack:
            node = stack.pop()
            if not isinstance(node.schema, dict) or id(node.schema) in self._nodes:
                continue
            self._check_draft(node)
            node.schema.pop("$schema", None)  # otherwise jsonschema would use its original validator here
            identity = self.draft.specification.id_of(node.schema)
            node = node._replace(base=node.absolute("$id", identity) if identity else node.base)
            self._nodes[id(node.schema)] = node
            _check_patterns(node)
            for keyword in _REFERENCES:
                if keyword in self.draft.validator.VALIDATORS and isinstance(node.schema.get(keyword), str):
                    self._open.append((node, keyword))
            for inner in self.draft.subschemas(node.schema):
                if isinstance(inner.schema, bool) and not self.draft.keeps_boolean(inner.path[0]):
                    inner.holder[inner.key] = {} if inner.schema else {"not": {}}
                stack.append(LocatedSchema(inner.schema, node.file, (*node.path, *inner.path), node.base))

    def _check_draft(self, node: LocatedSchema) -> None:
        draft = draft_of(node.file, node.schema, node.path, self.draft)
        if draft is not self.draft:
            message = f"this schema is {draft.name}, but the one that refers to it is {self.draft.name}"
            raise node.error(("$schema",), message, "use the same draft for schemas that refer to each other")

    def _resolve(self, node: LocatedSchema, keyword: str) -> None:
        text = node.schema[keyword]
        inside = text.startswith("#")
        uri, fragment = (node.base, text[1:]) if inside else urldefrag(node.absolute(keyword, text))
        if uri not in self.registry:
            uri = self._local(uri, node, keyword)
        if uri not in self.registry:
            uri = self._read(_file_path(uri), node, keyword)
        try:
            target: object = self.registry.resolver().lookup(f"{uri}#{fragment}").contents
        except (Unresolvable, LookupError, ValueError, TypeError):
            raise node.unusable(keyword, "it does not exist", "check the spelling of the part after '#'") from None
        if not isinstance(target, dict | bool):
            raise node.unusable(keyword, "it is not a schema")
        if not inside:
            node.schema[keyword] = f"{uri}#{fragment}"
        self._targets.setdefault(id(node.schema), []).append(target)
        is_meta = uri in meta_schemas(self.draft)
        self.dynamic |= keyword != "$ref" or is_meta
        if isinstance(target, dict) and id(target) not in self._nodes and not is_meta:
            file = self._files.get(uri, node.file)  # inside an unknown keyword, so not traversed yet
            path = _path(file.contents, fragment)
            self._check(self.draft, file, target, path)
            self._walk(LocatedSchema(target, file, path, uri))

    def _read(self, path: str, node: LocatedSchema, keyword: str) -> str:
        """Read the file that a reference refers to. Returns its URI."""
        if all(leads_out_of(folder, path) for folder in self._folders):
            hint = words("if you trust the schema, allow it with ", option("--allow-refs", "DIR"))
            raise node.unusable(keyword, "it is outside the schema's folder", hint)
        if not os.path.isfile(path):
            raise node.unusable(keyword, f"no such file: {path}", "only local files are read; nothing is fetched")
        file = read_schema(path)
        if file.uri not in self._files:
            self._add(file)
        return file.uri

    def _local(self, uri: str, node: LocatedSchema, keyword: str) -> str:
        """Return the URI of the local file for this URI. Raises `CallError` if there is none."""
        parts, text = urlsplit(uri), urlsplit(str(node.schema[keyword]))
        declared = urljoin(node.file.id, text.path)
        if not text.scheme and declared in self.registry:
            return declared
        if parts.scheme == "file" and parts.netloc in ("", "localhost"):
            return uri
        if not text.scheme and not text.netloc:  # relative to a `$id` inside the file: use the file instead
            return urljoin(node.file.uri, text.path)
        for file in self._files.values():  # a file may be placed relative to it as this URI is to its `$id`
            folder = file.id.rpartition("/")[0] + "/"
            local = urljoin(file.uri, uri.removeprefix(folder))
            if uri.startswith(folder) and (local in self.registry or os.path.isfile(_file_path(local))):
                return local
        if parts.scheme in ("http", "https"):
            hint = "save that schema next to this one, and refer to the file"
            raise node.unusable(keyword, "it is a remote schema, and nothing is fetched", hint)
        raise node.unusable(keyword, "no schema has this $id", "only schemas in local files can be referred to")


def _check_patterns(node: LocatedSchema) -> None:
    patterns: list[tuple[Path, str]] = [(("pattern",), node.schema["pattern"])] if "pattern" in node.schema else []
    patterns += [(("patternProperties", each), each) for each in node.schema.get("patternProperties", ())]
    for place, pattern in patterns:
        try:
            compile_pattern(pattern)
        except NoPattern as reason:
            hint = "for the syntax see docs/any-schema.md"
            raise node.error(place, f"not a regular expression: {reason}", hint) from None


def _file_path(uri: str) -> str:
    path = unquote(urlsplit(uri).path)
    return path.removeprefix("/") if os.name == "nt" else path


def _path(contents: Any, fragment: str) -> Path:
    """Return the path of a JSON pointer in a fragment, as far as it exists."""
    path: Path = ()
    with suppress(LookupError, TypeError, ValueError):
        for part in pointer_tokens(unquote(fragment)):
            token = int(part) if isinstance(contents, list) else part
            contents = contents[token]
            path = (*path, token)
    return path
