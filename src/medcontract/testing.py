"""Assertions for tests, such as of a program that writes predictions.

>>> from medcontract.testing import assert_valid
>>> assert_valid(b"image_id,label\\ni1,NV\\n", "lesions/truth", name="truth.csv")
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from medcontract.extras import TableLike
    from medcontract.options import FileName
    from medcontract.results.base import Result

__all__ = ["assert_ready", "assert_valid"]

_ALIKE = 3
"""How many similar problems a message lists before it counts them."""


def assert_valid(
    data: FileName | bytes | TableLike,
    contract: str | None = None,
    *,
    name: str | None = None,
    warnings: bool = True,
    show_values: bool = False,
) -> None:
    """Raise `AssertionError`, with the problems and their places, if data violates its contract.

    `data` is a file, a folder or an archive, which means all data files in it, bytes, or a table. The contract is
    recognized if it is not given. With `warnings=False`, warnings fail, too. Values of records are part of the message
    only if `show_values` is set: the output of tests is often public. Similar problems are counted. Raises `CallError`
    if the data cannot be checked at all.
    """
    __tracebackhide__ = True  # pytest shows the line that calls this function
    from medcontract.api import validate, validate_files
    from medcontract.errors import CallError
    from medcontract.results.validation import Validation

    if isinstance(data, str | os.PathLike) and name is None:
        report = validate_files(data, contract, max_alike=_ALIKE)
    else:
        report = Validation.of((validate(data, contract, name=name),))
    for file in report.files:
        if file.usage_error:
            raise CallError(file.problems[0].message, file.problems[0].hint)
    if not report or (not warnings and any(file.warnings for file in report.files)):
        contracts = ", ".join(sorted({file.contract for file in report.files if file.contract and file.problems}))
        raise AssertionError(_message(f"the data violates {contracts or 'its contract'}", report, show_values))


def assert_ready(*files: FileName | TableLike, show_values: bool = False, **options: Any) -> None:
    """Raise `AssertionError`, with the checks that failed, if a submission would not be accepted.

    Files and options: as in `medcontract.preflight`; with `strict=True`, warnings fail, too.
    """
    __tracebackhide__ = True
    from medcontract.api import preflight

    checklist = preflight(*files, max_alike=_ALIKE, **options)
    if not checklist:
        raise AssertionError(_message("the submission is not ready", checklist, show_values))


def _message(title: str, result: Result, show_values: bool) -> str:
    return f"{title}\n\n{result.to_text(show_values)}"
