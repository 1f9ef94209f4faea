"""A hook of MkDocs: pages of the site that are not in docs/, and links to files outside it.

The README is the home page. The references of commands, functions and contracts are generated with the site.
Files of the repository that a page links to become pages (Markdown) or files of the site, so that every link works
without a network.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import click
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import medcontract
from medcontract.cli.group import group
from medcontract.cli.main import main

ROOT = Path(__file__).parent.parent
_LINK = re.compile(r"(?<=\]\()[^)\s#]+(?=[)#])|(?<=<img src=\")[^\"]+")
_WIDTH = 100


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are generated, the README, and everything in the repository that pages link to."""
    pages = {
        "reference/commands.md": "\n".join(_commands()),
        "reference/python.md": "\n".join(_functions()),
        "reference/contracts.md": "\n".join(_contracts()),
    }
    for name, text in pages.items():
        files.append(File.generated(config, name, content=text))
    waiting = [ROOT / "README.md", *(ROOT.joinpath("docs", file.src_uri) for file in files.documentation_pages())]
    done: set[Path] = set()
    while waiting:
        path = waiting.pop()
        path = path / "README.md" if path.is_dir() else path
        if path in done or not path.is_file():
            continue
        done.add(path)
        place = _place(path)
        if files.get_file_from_path(place) is None:
            files.append(File.generated(config, place, abs_src_path=str(path)))
        if path.suffix == ".md":
            waiting += [path.parent.joinpath(link).resolve() for link in _links(path.read_text(encoding="utf-8"))]
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Let links lead to where the site has the files."""
    place, source = page.file.src_uri, page.file.abs_src_path
    if source is None:
        return markdown

    def moved(found: re.Match[str]) -> str:
        target = Path(os.path.normpath(Path(source).parent / found[0]))
        if "://" in found[0] or not target.is_relative_to(ROOT):
            return found[0]
        if target.is_dir():
            target = target / "README.md"
        return posixpath.relpath(_place(target), posixpath.dirname(place))

    return _LINK.sub(moved, markdown)


def _links(text: str) -> list[str]:
    return [link for link in _LINK.findall(text) if "://" not in link and not link.startswith("mailto:")]


def _place(path: Path) -> str:
    """Return where the site has a file of the repository."""
    if path == ROOT / "README.md":
        return "index.md"
    if path.is_relative_to(ROOT / "docs"):
        return path.relative_to(ROOT / "docs").as_posix()
    return f"repository/{path.relative_to(ROOT).as_posix()}"


def _commands() -> Iterator[str]:
    """Describe each command as its `--help` does."""
    yield "# Commands\n\nThe help of each command. [The command line](../command-line.md) explains what they share.\n"
    yield from _command(group, click.Context(group, info_name="medcontract", max_content_width=_WIDTH), 2)


def _command(command: click.Command, context: click.Context, level: int) -> Iterator[str]:
    context.terminal_width = _WIDTH
    yield f"{'#' * level} {context.command_path}\n\n```text\n{command.get_help(context)}\n```\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            sub = command.get_command(context, name)
            if sub is not None and not sub.hidden:
                below = click.Context(sub, info_name=name, parent=context, max_content_width=_WIDTH)
                yield from _command(sub, below, min(level + 1, 4))


def _functions() -> Iterator[str]:
    """List the public functions, then the classes; mkdocstrings fills in signatures and docstrings."""
    yield "# Python\n\nEverything in `medcontract.__all__`.\n"
    names = sorted(
        (name for name in medcontract.__all__ if not name.startswith("_")), key=lambda name: not name.islower()
    )
    heading = ""
    for name in names:
        kind = "Functions" if name.islower() else "Classes"
        if kind != heading:
            yield f"## {kind}\n"
            heading = kind
        value = getattr(medcontract, name)
        yield f"::: {value.__module__}.{value.__qualname__}\n"


def _contracts() -> Iterator[str]:
    """Write the data dictionary of each contract."""
    yield "# Contracts\n\nFields, values and rules of each file: `medcontract schema show ID --format markdown`.\n"
    for listed in medcontract.list_contracts().contracts:
        with redirect_stdout(StringIO()) as printed:
            main(["schema", "show", listed.id, "--format", "markdown"])
        yield re.sub(r"(?m)^(#+) ", r"#\1 ", printed.getvalue())
