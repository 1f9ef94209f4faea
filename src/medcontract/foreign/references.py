"""What a reference means: as a URI, as a local file, as a path in a document."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, NamedTuple
from urllib.parse import unquote, urljoin, urlsplit

from medcontract.errors import CallError
from medcontract.foreign.documents import Document, wrong_schema
from medcontract.problems import Path, shorten

_LOCAL_HOSTS = ("", "localhost")


class Reference(NamedTuple):
    """One `$ref` (or like it), and where it stands."""

    document: Document
    schema: dict[str, Any]
    path: Path
    text: str
    uri: str

    def wrong(self, message: str, hint: str | None = None) -> CallError:
        return wrong_schema(self.document, self.path, f"reference to '{shorten(self.text)}': {message}", hint)


def local_path(uri: str, reference: Reference, documents: Iterable[Document]) -> str:
    """The local file that stands for a URI. Raises `CallError` where none can."""
    parts = urlsplit(uri)
    if parts.scheme == "file" and parts.netloc in _LOCAL_HOSTS:
        return _file_path(parts.path)
    text = urlsplit(reference.text)
    if not text.scheme and not text.netloc:  # relative: beside the file, whatever its $id says
        return _file_path(urlsplit(urljoin(reference.document.uri, text.path)).path)
    beside = _beside(uri, documents)
    if beside is not None:
        return beside
    if parts.scheme in ("http", "https"):
        hint = "save that schema as a file beside this one, and refer to the file"
        raise reference.wrong("it is on the network, and nothing is ever fetched", hint)
    raise reference.wrong("no schema here has this $id", "only schemas in local files can be referred to")


def _beside(uri: str, documents: Iterable[Document]) -> str | None:
    """A file that stands to a schema file as this URI stands to the schema's `$id`."""
    for document in documents:
        contents = document.contents
        folder = str(contents.get("$id", "") if isinstance(contents, dict) else "").rpartition("/")[0] + "/"
        if folder != "/" and uri.startswith(folder):
            path = _file_path(urlsplit(urljoin(document.uri, uri.removeprefix(folder))).path)
            if os.path.isfile(path):
                return path
    return None


def absolute(base: str, text: str, document: Document) -> str:
    """A reference as an absolute URI. A base such as urn:… has no folder: then the document's file has."""
    joined = urljoin(base, text)
    return joined if urlsplit(joined).scheme else urljoin(document.uri, text)


def _file_path(path: str) -> str:
    return unquote(path).removeprefix("/") if os.name == "nt" else unquote(path)


def tokens(contents: Any, fragment: str) -> Path:
    """The path that a JSON pointer in a fragment stands for."""
    path: Path = ()
    for segment in unquote(fragment).split("/")[1:]:
        token = int(segment) if isinstance(contents, list) else segment.replace("~1", "/").replace("~0", "~")
        try:
            contents = contents[token]
        except (LookupError, TypeError):
            break
        path = (*path, token)
    return path
