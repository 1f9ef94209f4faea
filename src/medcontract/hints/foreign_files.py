"""Files of other programs that are passed by mistake, recognized by their keys, and text around or between records."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from medcontract.lazy_patterns import lazy_pattern
from medcontract.problems import Finding

_MOST_LINES = 20


class _Format(NamedTuple):
    """A format, and the keys that all of its files have, in one of several variants."""

    name: str
    hint: str
    keys: tuple[frozenset[str], ...]


def _variants(*keys: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(each.split()) for each in keys)


_FORMATS = (
    _Format(
        "the output of an OpenAI batch",
        "write one record for each line: its custom_id, and the text in response.body.choices[0].message.content",
        _variants("custom_id response"),
    ),
    _Format(
        "the input of an OpenAI batch, which has no answers", "download the output file of the batch, and convert it",
        _variants("custom_id method url", "custom_id body"),
    ),
    _Format(
        "a response of a chat API", "write one record for each case: the text from choices[0].message.content",
        _variants("choices object", "choices model usage"),
    ),
    _Format(
        "a message of the Anthropic API", "write only the text in content[0].text",
        _variants("type role content", "role content stop_reason"),
    ),
    _Format("a message of a chat API", "write only the text in 'content'", _variants("role content")),
    _Format(
        "a file of samples of lm-evaluation-harness",
        "write one record for each: its id, and filtered_resps[0] as the answer",
        _variants("doc_id resps", "doc_id filtered_resps", "doc_id doc target"),
    ),
    _Format(
        "a file of results of lm-evaluation-harness, which has figures and no answers",
        "run it with --log_samples, and convert the samples",
        _variants("results configs", "results versions config", "results n-shot"),
    ),
    _Format(
        "a Jupyter notebook", "run it, and write the predictions with json.dump or df.to_csv(path, index=False)",
        _variants("cells nbformat"),
    ),
    _Format(
        "the output of vLLM", "write one record for each case: its id, and the text in outputs[0].text",
        _variants("request_id outputs", "prompt outputs"),
    ),
    _Format(
        "a list of messages of LangChain", "write one record for each case: the text in kwargs.content",
        _variants("lc type kwargs"),
    ),
    _Format("a file of COCO annotations", "write one record for each case", _variants("images annotations categories")),
    _Format("the state of a Hugging Face trainer", "write the predictions", _variants("log_history global_step")),
)  # fmt: skip


def by_keys(value: Any) -> tuple[str, str] | None:
    """Return what the file of a value is, and what to do, if it is of another program; of a list, by its first item."""
    if isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, dict):
        return None
    for each in _FORMATS:
        if any(keys <= value.keys() for keys in each.keys):
            return each.name, each.hint
    return None


def of_value(value: Any, offset: int) -> Finding | None:
    """Return the finding about a file of another program."""
    found = by_keys(value)
    return Finding("MC005", f"this is {found[0]}", found[1], offset=offset) if found else None


_PREFIX = lazy_pattern(rb"[^{\[\"]{2,200}(?:\[[^{\]]{0,80}\][^{\[\"]{0,80}){0,4}(\{.*\})\s*\Z")


def log_lines(lines: Sequence[bytes], offset: int) -> Finding | None:
    """Return the finding about lines that all have text before the record, as in a log."""
    if not lines or not all(map(_has_prefix, lines)):
        return None
    hint = "keep what starts with '{' in each line (sed 's/^[^{]*//' old.jsonl > new.jsonl)"
    return Finding("MC005", "each line has text before its record, as in a log", hint, offset=offset)


def _has_prefix(line: bytes) -> bool:
    match = _PREFIX.match(line)
    try:
        return match is not None and isinstance(msgspec.json.decode(match.group(1)), dict)
    except msgspec.DecodeError:
        return False


_FOOTER = lazy_pattern(r"\[[0-9]+ rows x [0-9]+ columns\]\s*\Z")
_DOTS = lazy_pattern(r"\s*\.\.\.?(?:\s+\.\.\.)+\s*\Z")
_INDEXED = lazy_pattern(r"[0-9]+ {2,}\S")


def printed_table(lines: Sequence[str]) -> tuple[str, str] | None:
    """Return what the lines of a table are, and what to do, if its columns are separated by blanks."""
    if "," in lines[0] or len(lines) < 2:
        return None
    cut = any(map(_FOOTER.match, lines)) or any(map(_DOTS.match, lines))
    if cut or (lines[0].startswith("  ") and all(map(_INDEXED.match, lines[1:_MOST_LINES]))):
        lost = ", without the rows and columns that do not fit" if cut else ""
        return f"this is a printed DataFrame{lost}", "write it with df.to_csv(path, index=False), not with print"
    rows = list(csv.reader((line.strip() for line in lines[:_MOST_LINES]), delimiter=" ", skipinitialspace=True))
    widths = [len(row) for row in rows]
    if len(set(widths[1:])) == 1 and widths[0] == widths[1] - 1 > 1:
        hint = "write it with write.csv(data, path, row.names = FALSE)"
        return "the columns are separated by blanks, and the rows have names, as write.table of R does it", hint
    if len(set(widths)) == 1 and widths[0] > 1:
        name = rows[0][0]
        if _NUMBER.fullmatch(name):
            hint = "write a table with ids and column names (in pandas: df.to_csv(path, index=False))"
            return "these are numbers without ids and column names", hint
        types = f", dtype={{{name!r}: str}}" if name.isidentifier() else ""
        hint = rf"in pandas: pd.read_csv(old, sep=r'\s+'{types}).to_csv(new, index=False)"
        return "the columns are separated by blanks, not by commas", hint
    return None


_NUMBER = lazy_pattern(r"[-+]?[0-9.]+(?:e[-+]?[0-9]+)?")
