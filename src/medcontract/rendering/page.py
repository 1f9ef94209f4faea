"""What a result says to people, the most important facts first, and how it is shown. Text, Markdown and HTML are
writers of a `Page`.

`pages` describes each kind of result as a page, once; a writer decides how a block looks and knows no result.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from medcontract.problems import printable
from medcontract.results.tables import Table
from medcontract.results.validation import Problem

Style = Callable[[str, str], str]
"""Colors a text by its role: error, warning, hint, dim, strong or good."""


def plain(text: str, role: str) -> str:
    return text


class View(NamedTuple):
    """Settings of the caller. Formats ignore settings that do not apply."""

    style: Style = plain
    show_values: bool = False
    """Whether values of records may be shown."""
    max_problems: int = 50
    """The maximum number of different problems of a file, a score or a check."""
    quiet: bool = False
    """Whether text shows only the outcome."""
    width: int | None = None
    """The width of the terminal: text is wrapped, and tables that are too wide lose columns. None: no terminal."""


_COMMAND = re.compile(r"^ *(?=::)|##(?=\[)", re.MULTILINE)


def without_commands(text: str) -> str:
    """Keep GitHub Actions from running a name as a command: `::` at the start of a line, or `##[` anywhere in it."""
    return _COMMAND.sub(r"\g<0>·", text)


def clean(text: str) -> str:
    """Make text from a file safe for a terminal or a log: on one line, without control characters and commands."""
    return without_commands("".join(c if c.isprintable() else "·" for c in printable(text)))


# --- pages


Role = Literal["good", "bad", "warning", "neutral"]


class Styled(NamedTuple):
    """A part of a line: strong, dim, good, error, warning, hint, code (a name) or digest (a hash)."""

    text: str
    role: str


Line = Sequence[str | Styled]


class Code(str):
    """A cell of a table that is a name, such as of a field."""

    __slots__ = ()


class Link(str):
    """A text that links to another file, for formats with links."""

    __slots__ = ("target",)
    target: str

    @classmethod
    def to(cls, target: str, text: str) -> str:
        """Return the text with a link, or as it is if there is none."""
        found = cls(text)
        found.target = target
        return found if target else text


_WORDS = {
    "f1": "F1", "auroc": "AUROC", "mae": "MAE", "mse": "MSE", "rmse": "RMSE", "mcc": "MCC", "r2": "R²", "cpu": "CPU",
    "avg": "average", "brier": "Brier", "rouge": "ROUGE", "max": "maximum",
}  # fmt: skip


class FigureName(str):
    """The name of a figure. Pages show it as words, next to the name of the field."""

    __slots__ = ()

    @property
    def words(self) -> str:
        words = " ".join(_WORDS.get(word, word) for word in self.split("_"))
        return words[:1].upper() + words[1:]


class Gauge(NamedTuple):
    """A share, and the minimum that it has to reach."""

    share: float
    minimum: float
    passed: bool


class Fact(NamedTuple):
    """An important figure. It is shown at the top of a page."""

    name: str
    value: str
    note: str = ""
    gauge: Gauge | None = None


class Paragraph(NamedTuple):
    line: Line
    note: bool = False


class Bullets(NamedTuple):
    lines: Sequence[Line]
    label: str = ""
    """What each of them is, for a terminal: a warning or a hint."""


class Preformatted(NamedTuple):
    """Lines that are aligned already, or code."""

    lines: Sequence[Line]
    language: str = ""
    """The language of code, whose lines are not wrapped."""


class Pairs(NamedTuple):
    """Names with values."""

    head: tuple[str, str]
    rows: Sequence[tuple[str, str]]


class ShownChange(NamedTuple):
    """The first change in a row of a table. `scale`: the values before and after, if they are between 0 and 1."""

    role: Role
    scale: tuple[float, float] | None = None


class ChangeTable(NamedTuple):
    """A table with the columns name, before, after and change."""

    table: Table
    changes: Sequence[ShownChange]


class FileProblems(NamedTuple):
    """The problems of a file, or of several."""

    problems: Sequence[tuple[str, Problem]]
    """The listed ones, each with the name of its file."""
    found: int
    """How many there are, listed or not."""
    file: str = ""
    """The path, if all of them are of one file."""
    outcome: Line = ()
    """The outcome for the file."""
    unreadable: bool = False
    """The file could not be checked, so that the problems are the outcome."""
    records: int | None = None
    """How many records the file has."""


class Problems(NamedTuple):
    parts: Sequence[FileProblems]
    totals: Sequence[str] = ()
    """How often each rule across files was violated, listed or not."""


class Outcome(NamedTuple):
    """Something with an outcome, such as a check."""

    word: str
    """The outcome."""
    role: Role
    title: str
    detail: str = ""
    """What was found."""
    reasons: Sequence[str] = ()
    problems: FileProblems = FileProblems((), 0)


class Outcomes(NamedTuple):
    head: tuple[str, str]
    """What the items are, and what the details are, as the head of a table."""
    items: Sequence[Outcome]


Block = Paragraph | Bullets | Preformatted | Pairs | Table | ChangeTable | Problems | Outcomes


class Section(NamedTuple):
    title: str
    blocks: Sequence[Block]
    on: Literal["everything", "terminal", "pages"] = "everything"
    """Where it is shown. Pages are Markdown and HTML."""
    outcome: bool = False
    """Shown on a terminal even with `--quiet`."""
    most: int | None = None
    """The number of rows of its tables, if it differs from the default of the format."""
    folded: bool = False
    """It is needed to verify the page, not to read it: HTML folds it."""


class Page(NamedTuple):
    title: str
    subtitle: str = ""
    """The event and the date, if they are known."""
    verdict: str = ""
    role: Role = "neutral"
    lines: Sequence[Line] = ()
    """The outcome on a terminal."""
    last: bool = False
    """The lines are the last ones on a terminal, not the first."""
    advice: str = ""
    """What to do next, on a terminal."""
    about: Sequence[str] = ()
    """What the verdict refers to, such as the team."""
    facts: Sequence[Fact] = ()
    reasons: Sequence[str] = ()
    sections: Sequence[Section] = ()
    contracts: str = ""
    """With `--quiet`: the contracts of the files."""
    version: str = ""


_LONGEST_NAME, LONGEST_CELL = 80, 1000


def clipped(cells: Sequence[str], longest: int = _LONGEST_NAME) -> list[str]:
    """Truncate long cells, except the last, so that a hostile name cannot pad every row of a table."""
    limits = [longest] * (len(cells) - 1) + [LONGEST_CELL]
    return [text if len(text) <= most else f"{text[: most - 1]}…" for text, most in zip(cells, limits, strict=True)]
