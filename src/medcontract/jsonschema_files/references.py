"""All files that a schema refers to, in one `referencing.Registry`. Nothing is fetched.

References are followed when the schema is loaded, not by `Registry(retrieve=...)` when a value happens to lead there: a
reference that leads nowhere is reported at its line, and no file is opened afterwards. Each file is identified by its
own URI in place of its `$id`, under which it is registered too, so that a relative reference is a file next to it.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from graphlib import CycleError, TopologicalSorter
from typing import Any, NamedTuple
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from jsonschema_specifications import REGISTRY as BUNDLED  # type: ignore[import-untyped]  # comes with jsonschema
from referencing import Registry
from referencing.exceptions import Unresolvable

from medcontract.errors import CallError
from medcontract.jsonschema_files.documents import SchemaFile, draft_of, read_schema
from medcontract.jsonschema_files.drafts import SAME_VALUE, Draft
from medcontract.problems import Path, shorten
from medcontract.reading.folders import leads_out_of
from medcontract.schemas.regex import NoPattern, read_pattern

_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_KEEPS_BOOLEAN = ("additionalProperties", "unevaluatedProperties", "additionalItems", "unevaluatedItems")
"""Where jsonschema itself handles true and false. Elsewhere it loses the path of the value."""
Check = Callable[[Draft, SchemaFile, Any, Path], None]


class Node(NamedTuple):
    """A schema, and where it was found."""

    schema: Any
    file: SchemaFile
    path: Path
    base: str
    """The URI that references in it are relative to."""

    def error(self, path: Path, message: str, hint: str | None = None) -> CallError:
        return self.file.error((*self.path, *path), message, hint)

    def unusable(self, keyword: str, message: str, hint: str | None = None) -> CallError:
        """What is wrong with the reference at this keyword."""
        return self.error((keyword,), f"reference to '{shorten(self.schema[keyword])}': {message}", hint)


@cache
def meta_schemas(draft: Draft) -> Registry[Any]:
    """The meta-schemas of a draft, without `$schema`, which would make jsonschema use its own validator for them."""
    contents = (BUNDLED.contents(uri) for uri in BUNDLED if draft.uri.rpartition("/")[0] in uri)
    resources = ({k: v for k, v in each.items() if k != "$schema"} for each in contents)
    return Registry().with_resources((r["$id"], draft.specification.create_resource(r)) for r in resources).crawl()


class SchemaSet:
    """The schema files of one draft, and where each reference in them leads."""

    def __init__(self, draft: Draft, check: Check, folders: Sequence[str]) -> None:
        self.draft = draft
        self.registry = meta_schemas(draft)
        self.targets: dict[int, list[Any]] = {}
        """From the id of a schema to the schemas that its references lead to."""
        self.dynamic = False
        self._check, self._folders = check, folders
        self._files: dict[str, SchemaFile] = {}
        self._nodes: dict[int, Node] = {}
        self._open: deque[tuple[Node, str]] = deque()
        self._known_keys: dict[int, set[str]] = {}

    def load(self, file: SchemaFile) -> None:
        """Add a file and all that it refers to. Raises `CallError` where something is wrong."""
        self._add(file)
        while self._open:
            self._resolve(*self._open.popleft())
        graph = {key: [id(s) for s in self._same_value(node.schema)] for key, node in self._nodes.items()}
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            node = next(node for key, node in self._nodes.items() if key in error.args[1])
            hint = "a schema may be recursive only through values inside values, such as 'properties' or 'items'"
            raise node.error((), "this schema refers to itself without end", hint) from None

    def known_keys(self, schema: Any) -> set[str]:
        """The keys that a schema names for its object, also through references and alternatives."""
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

    def _same_value(self, schema: dict[str, Any]) -> Iterator[Any]:
        """The schemas that a schema applies to the value that it is applied to itself."""
        yield from self.targets.get(id(schema), ())
        if not (self.draft.ignores_beside_ref and "$ref" in schema):
            yield from (inner.schema for inner in self.draft.subschemas(schema) if inner.path[0] in SAME_VALUE)

    # --- files

    def _add(self, file: SchemaFile) -> None:
        root = Node(file.contents, file, (), file.uri)
        self._check_draft(root)
        self._check(self.draft, file, file.contents, ())
        file = file._replace(id=_joined(root, "$id", file.id).rstrip("#"))
        self._files[file.uri] = file
        if isinstance(file.contents, dict):
            file.contents["$id"] = file.uri
        self._walk(root._replace(file=file))
        resource = self.draft.specification.create_resource(file.contents)
        self.registry = self.registry.with_resources((uri, resource) for uri in (file.uri, file.id)).crawl()

    def _walk(self, root: Node) -> None:
        """Go through a schema and all inside it."""
        stack = [root]
        while stack:
            node = stack.pop()
            if not isinstance(node.schema, dict) or id(node.schema) in self._nodes:
                continue
            self._check_draft(node)
            node.schema.pop("$schema", None)  # or jsonschema would use a validator without our keywords for this part
            identity = self.draft.specification.id_of(node.schema)
            node = node._replace(base=_joined(node, "$id", identity) if identity else node.base)
            self._nodes[id(node.schema)] = node
            self._check_patterns(node)
            for keyword in _REFERENCES:
                if keyword in self.draft.validator.VALIDATORS and isinstance(node.schema.get(keyword), str):
                    self._open.append((node, keyword))
            for inner in self.draft.subschemas(node.schema):
                if isinstance(inner.schema, bool) and not self._keeps_boolean(str(inner.path[0])):
                    inner.holder[inner.key] = {} if inner.schema else {"not": {}}
                stack.append(Node(inner.schema, node.file, (*node.path, *inner.path), node.base))

    def _keeps_boolean(self, keyword: str) -> bool:
        return keyword in _KEEPS_BOOLEAN or (keyword == "items" and "prefixItems" in self.draft.validator.VALIDATORS)

    def _check_draft(self, node: Node) -> None:
        draft = draft_of(node.file, node.schema, node.path, self.draft)
        if draft is not self.draft:
            message = f"this is {draft.name}, but the schema that refers to it is {self.draft.name}"
            raise node.error(("$schema",), message, "use one draft for schemas that refer to each other")

    def _check_patterns(self, node: Node) -> None:
        patterns: list[tuple[Path, str]] = [(("pattern",), node.schema["pattern"])] if "pattern" in node.schema else []
        patterns += [(("patternProperties", each), each) for each in node.schema.get("patternProperties", ())]
        for place, pattern in patterns:
            try:
                read_pattern(pattern)
            except NoPattern as reason:
                message, hint = f"not a regular expression: {reason}", "patterns are read by Python's re module"
                raise node.error(place, message, hint) from None

    # --- references

    def _resolve(self, node: Node, keyword: str) -> None:
        text = node.schema[keyword]
        inside = text.startswith("#")
        uri, fragment = (node.base, text[1:]) if inside else urldefrag(_joined(node, keyword, text))
        if uri not in self.registry:
            uri = self._local(uri, node, keyword)
        if uri not in self.registry:
            uri = self._read(_file_path(uri), node, keyword)
        try:
            target: Any = self.registry.resolver().lookup(f"{uri}#{fragment}").contents
        except (Unresolvable, LookupError, ValueError, TypeError):
            raise node.unusable(keyword, "it leads nowhere", "check the spelling of what follows '#'") from None
        if not isinstance(target, dict | bool):
            raise node.unusable(keyword, "it leads to something that is not a schema")
        if not inside:
            node.schema[keyword] = f"{uri}#{fragment}"
        self.targets.setdefault(id(node.schema), []).append(target)
        is_meta = uri in meta_schemas(self.draft)
        self.dynamic |= keyword != "$ref" or is_meta
        if isinstance(target, dict) and id(target) not in self._nodes and not is_meta:
            file = self._files.get(uri, node.file)  # it is the value of an unknown keyword, so not walked yet
            path = _path(file.contents, fragment)
            self._check(self.draft, file, target, path)
            self._walk(Node(target, file, path, uri))

    def _read(self, path: str, node: Node, keyword: str) -> str:
        """Read the file that a reference leads to. Returns its URI."""
        if all(leads_out_of(folder, path) for folder in self._folders):
            hint = "allow it, if you trust the schema: --allow-refs DIR (in Python: allow_refs)"
            raise node.unusable(keyword, "it leads out of the schema's folder", hint)
        if not os.path.isfile(path):
            raise node.unusable(keyword, f"no such file: {path}", "only local files are read, nothing is fetched")
        file = read_schema(path)
        if file.uri not in self._files:
            self._add(file)
        return file.uri

    def _local(self, uri: str, node: Node, keyword: str) -> str:
        """The URI in terms of local files. Raises `CallError` where that is not possible."""
        parts, text = urlsplit(uri), urlsplit(str(node.schema[keyword]))
        declared = urljoin(node.file.id, text.path)
        if not text.scheme and declared in self.registry:
            return declared
        if parts.scheme == "file" and parts.netloc in ("", "localhost"):
            return uri
        if not text.scheme and not text.netloc:  # relative to a `$id` inside the file: to the file, then
            return urljoin(node.file.uri, text.path)
        for file in self._files.values():  # a file may be to a schema file what this URI is to the `$id` of the schema
            folder = file.id.rpartition("/")[0] + "/"
            local = urljoin(file.uri, uri.removeprefix(folder))
            if uri.startswith(folder) and (local in self.registry or os.path.isfile(_file_path(local))):
                return local
        if parts.scheme in ("http", "https"):
            hint = "save that schema as a file next to this one, and refer to the file"
            raise node.unusable(keyword, "it is on the network, and nothing is fetched", hint)
        raise node.unusable(keyword, "no schema here has this $id", "only schemas in local files can be referred to")


def _joined(node: Node, keyword: str, text: str) -> str:
    """A reference as an absolute URI. A base such as urn:… has no folder, but the file has."""
    try:
        joined = urljoin(node.base, text)
        return joined if urlsplit(joined).scheme else urljoin(node.file.uri, text)
    except ValueError:
        raise node.error((keyword,), f"'{keyword}' is not a URI reference") from None


def _file_path(uri: str) -> str:
    path = unquote(urlsplit(uri).path)
    return path.removeprefix("/") if os.name == "nt" else path


def _path(contents: Any, fragment: str) -> Path:
    """The path of a JSON pointer in a fragment, as far as it goes."""
    path: Path = ()
    with suppress(LookupError, TypeError, ValueError):
        for part in unquote(fragment).split("/")[1:]:
            token = int(part) if isinstance(contents, list) else part.replace("~1", "/").replace("~0", "~")
            contents = contents[token]
            path = (*path, token)
    return path
