"""All documents that a schema refers to, read from local files and tied together. Nothing is ever fetched.

References are followed once, when the schema is loaded: afterwards no file is opened. So that they mean the same
wherever the validator meets them, `$id` and references to other documents are made absolute first.
"""

from __future__ import annotations

import copy
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import urldefrag

from jsonschema_specifications import REGISTRY as BUNDLED  # type: ignore[import-untyped]  # comes with jsonschema
from referencing import Registry
from referencing.exceptions import Unresolvable

from medcontract.definitions.patterns import NoPattern, read_pattern
from medcontract.errors import CallError
from medcontract.foreign.checker import Checker
from medcontract.foreign.documents import Document, draft_of, read_document, wrong_schema
from medcontract.foreign.drafts import IN_PLACE, Draft, inner_schemas
from medcontract.foreign.keywords import Memory, TooMuchWork, extended
from medcontract.foreign.loops import endless, on_loop
from medcontract.foreign.references import Reference, absolute, local_path, tokens
from medcontract.problems import Path
from medcontract.reading.folders import leads_out_of

_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


class Visit(NamedTuple):
    """A schema that was read, and where it stands."""

    schema: dict[str, Any]
    document: Document
    path: Path


class Library:
    """The documents of one draft, and what each reference in them leads to."""

    def __init__(self, draft: Draft, folders: Sequence[str] = ()) -> None:
        self.draft = draft
        self._folders = folders
        """Where the files that are referred to may be."""
        self._registry: Registry[Any] = Registry()
        self._documents: dict[str, Document] = {}
        self._visited: dict[int, Visit] = {}
        self._targets: dict[int, list[Any]] = {}
        self._open: deque[Reference] = deque()
        self._memory = Memory()
        self._keys: dict[int, tuple[Any, set[str]]] = {}
        """From the id of a schema to the schema, lest the id be given to another one, and to the keys that it names."""
        self._dynamic = False

    def build(self, document: Document) -> Checker:
        """The checker of a document and all that it refers to. Raises `CallError` where something is wrong."""
        self._add(document, document.uri)
        while self._open:
            self._tie(self._open.popleft())
        self._refuse_loops()
        self._remember_recursive()
        root = {"not": {}} if document.contents is False else document.contents
        validator = extended(self.draft.base, self._memory)(root, registry=self._registry)
        return Checker(validator, self._memory, self._known_keys)

    def _known_keys(self, schema: Any) -> set[str]:
        """The keys that a schema names for its object, also through references and alternatives."""
        if id(schema) in self._keys:
            return self._keys[id(schema)][1]
        keys: set[str] = set()
        stack, seen = [schema], set[int]()
        while stack:
            node = stack.pop()
            if isinstance(node, dict) and id(node) not in seen:
                seen.add(id(node))
                keys.update(node.get("properties", ()))
                stack += self._same_value(node)
        self._keys[id(schema)] = schema, keys
        return keys

    # --- documents

    def _add(self, document: Document, uri: str) -> None:
        self._documents[document.uri] = self._documents[uri] = document
        draft = draft_of(document, document.contents, default=self.draft)
        if draft is not self.draft:
            raise _mixed(document, ("$schema",), draft, self.draft)
        self._check(document, document.contents, ())
        self._read(document, document.contents, document.uri, ())
        if isinstance(document.contents, dict):
            document.contents.setdefault("$id", document.uri)
        self._register(document, uri)

    def _register(self, document: Document, *more: str) -> None:
        resource = self.draft.specification.create_resource(document.contents)
        pairs = [(uri, resource) for uri in (document.uri, *more)]
        self._registry = self._registry.with_resources(pairs).crawl()

    def _check(self, document: Document, schema: Any, path: Path) -> None:
        """Whether a schema keeps the meta-schema of its draft."""
        if document.source is None:
            return
        try:
            findings = _meta(self.draft).findings(schema)
        except TooMuchWork:
            raise wrong_schema(document, path, "this schema is too large to be checked") from None
        if findings:
            first = findings[0]
            more = f", and {len(findings) - 1} more such problems" if len(findings) > 1 else ""
            hint = first.hint
            if "$schema" not in (document.contents if isinstance(document.contents, dict) else {}):
                hint = hint or f"without '$schema' a schema is read as {self.draft.name}"
            message = f"not a valid schema of {self.draft.name}: {first.message}{more}"
            raise wrong_schema(document, (*path, *first.path), message, hint)

    # --- schemas

    def _read(self, document: Document, schema: Any, base: str, path: Path) -> None:
        """Go through a schema and all inside it: make references absolute, and note them for later."""
        stack = [(schema, base, path)]
        while stack:
            node, base, path = stack.pop()
            if not isinstance(node, dict) or id(node) in self._visited:
                continue
            self._visited[id(node)] = Visit(node, document, path)
            self._same_draft(document, node, path)
            base = self._identify(document, node, base, path)
            self._check_patterns(document, node, path)
            self._note_references(document, node, base, path)
            for inner in inner_schemas(node, self.draft):
                if isinstance(inner.schema, bool) and not self.draft.keeps_boolean(inner.keyword):
                    inner.holder[inner.key] = {} if inner.schema else {"not": {}}
                stack.append((inner.schema, base, (*path, *inner.path)))

    def _same_draft(self, document: Document, node: dict[str, Any], path: Path) -> None:
        draft = draft_of(document, node, path, self.draft)
        if draft is not self.draft:
            raise _mixed(document, (*path, "$schema"), draft, self.draft)
        node.pop("$schema", None)  # or jsonschema would take a validator of its own for this part

    def _identify(self, document: Document, node: dict[str, Any], base: str, path: Path) -> str:
        """The base of the references in a schema, which its `$id` may change."""
        identity = node.get("$id")
        if not isinstance(identity, str) or (self.draft.lonely_ref and (identity.startswith("#") or "$ref" in node)):
            return base
        try:
            node["$id"] = absolute(base, identity, document).rstrip("#")
        except ValueError:
            raise wrong_schema(document, (*path, "$id"), "'$id' is not a URI reference") from None
        return str(node["$id"])

    def _check_patterns(self, document: Document, node: dict[str, Any], path: Path) -> None:
        places = {(*path, "patternProperties", pattern): pattern for pattern in node.get("patternProperties", ())}
        if "pattern" in node:
            places[*path, "pattern"] = node["pattern"]
        for place, pattern in places.items():
            try:
                read_pattern(pattern)
            except NoPattern as reason:
                hint = "patterns are read by Python's re module"
                raise wrong_schema(document, place, f"this pattern is no regular expression: {reason}", hint) from None

    def _note_references(self, document: Document, node: dict[str, Any], base: str, path: Path) -> None:
        for keyword in _REFERENCES:
            text = node.get(keyword)
            if not isinstance(text, str) or keyword not in self.draft.base.VALIDATORS:
                continue
            place = (*path, keyword)
            try:
                uri = base + text if text.startswith("#") else absolute(base, text, document)
            except ValueError:
                raise wrong_schema(document, place, f"'{keyword}' is not a URI reference") from None
            if not text.startswith("#"):
                node[keyword] = uri
            self._dynamic = self._dynamic or keyword != "$ref"
            self._open.append(Reference(document, node, place, text, uri))

    # --- references

    def _tie(self, reference: Reference) -> None:
        uri, fragment = urldefrag(reference.uri)
        if uri not in self._registry:
            self._fetch(uri, reference)
        target = self._look_up(reference)
        self._targets.setdefault(id(reference.schema), []).append(target)
        if isinstance(target, dict) and id(target) not in self._visited:
            # it stands where the draft knows of no schema, so it was not looked at yet
            document = self._documents.get(uri, reference.document)
            path = tokens(document.contents, fragment)
            self._check(document, target, path)
            self._read(document, target, uri, path)

    def _look_up(self, reference: Reference) -> Any:
        try:
            target = self._registry.resolver().lookup(reference.uri).contents
        except (Unresolvable, LookupError, ValueError, TypeError):
            raise reference.wrong("it leads to nothing", "check the spelling of what follows '#'") from None
        if not isinstance(target, dict | bool):
            raise reference.wrong("it leads to something that is no schema")
        return target

    def _fetch(self, uri: str, reference: Reference) -> None:
        """Read the document that a reference is to, which is a local file or a meta-schema."""
        if uri in BUNDLED:
            self._add(Document(uri, uri, copy.deepcopy(BUNDLED.contents(uri))), uri)
            return
        path = local_path(uri, reference, self._documents.values())
        if all(leads_out_of(folder, path) for folder in self._folders):
            hint = "allow it, if you trust the schema: --allow-refs DIR (in Python: allow_refs)"
            raise reference.wrong("it leads out of the schema's folder", hint)
        if not os.path.isfile(path):
            raise reference.wrong(f"no such file: {path}", "only local files are read, nothing is fetched")
        document = read_document(path)
        known = self._documents.get(document.uri)
        if known is None:
            self._add(document, uri)
        else:
            self._documents[uri] = known
            self._register(known, uri)

    # --- loops

    def _same_value(self, node: dict[str, Any]) -> Iterator[Any]:
        """The schemas that a schema applies to the very value that it is applied to itself."""
        yield from self._targets.get(id(node), ())
        if not (self.draft.lonely_ref and "$ref" in node):
            yield from (i.schema for i in inner_schemas(node, self.draft) if i.keyword in IN_PLACE)

    def _inside(self, node: dict[str, Any]) -> Iterator[Any]:
        yield from self._targets.get(id(node), ())
        yield from (inner.schema for inner in inner_schemas(node, self.draft))

    def _graph(self, following: Callable[[dict[str, Any]], Iterator[Any]]) -> dict[int, list[int]]:
        visits = self._visited.items()
        return {node: [id(s) for s in following(visit.schema) if id(s) in self._visited] for node, visit in visits}

    def _refuse_loops(self) -> None:
        """A schema that applies itself to the same value again would never come to an end."""
        graph = self._graph(self._same_value)
        nodes = endless(graph)
        if nodes:
            visit = self._visited[on_loop(graph, nodes)]
            raise wrong_schema(visit.document, visit.path, "this schema refers to itself without end", _LOOP)

    def _remember_recursive(self) -> None:
        """Have the validator remember what recursive schemas say. With dynamic references that depends on the way."""
        if self._dynamic:
            return
        self._memory.targets = {source: id(targets[0]) for source, targets in self._targets.items()}
        nodes = endless(self._graph(self._inside))
        for source, targets in self._targets.items():
            if id(targets[0]) in nodes:
                self._memory.recursive[source] = id(targets[0])


_LOOP = "a schema may be recursive only through values inside values, such as 'properties' or 'items'"


@cache
def _meta(draft: Draft) -> Checker:
    """Checks schemas of a draft."""
    uri = next(uri for uri in BUNDLED if uri.rpartition("//")[2] == draft.uri)
    return Library(draft).build(Document(uri, uri, copy.deepcopy(BUNDLED.contents(uri))))


def _mixed(document: Document, path: Path, found: Draft, wanted: Draft) -> CallError:
    message = f"this is {found.name}, but the schema that was asked for is {wanted.name}"
    return wrong_schema(document, path, message, "bring schemas that refer to each other to one draft")
