"""Assertions for tests, such as those of a program that writes predictions.

>>> from medcontract.testing import assert_valid
>>> assert_valid(b"image_id,label\\ni1,NV\\n", "lesions/truth", name="truth.csv")
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from medcontract.options import FileName

__all__ = ["assert_valid"]


def assert_valid(
    data: FileName | bytes | pd.DataFrame,
    contract: str | None = None,
    *,
    name: str | None = None,
    warnings: bool = True,
    show_values: bool = False,
) -> None:
    """Raise `AssertionError`, with every problem and its location, if a file or a DataFrame violates its contract.

    The contract is recognized if it is not given. With `warnings=False`,
    warnings fail, too. Values of records are part of the message only if `show_values` is set: the output of tests is
    often public. Raises `CallError` if the data cannot be checked at all.
    """
    __tracebackhide__ = True  # pytest shows the line that calls this function
    from medcontract.api import validate
    from medcontract.errors import CallError
    from medcontract.rendering import render
    from medcontract.rendering.page import View
    from medcontract.results.validation import Validation

    report = validate(data, contract, name=name)
    if report.wrong_call:
        problem = report.problems[0]
        raise CallError(problem.message, problem.hint)
    if not report.ok or (report.warnings and not warnings):
        raise AssertionError(
            f"the data violates {report.contract or 'its contract'}\n\n"
            + render(Validation.of((report,)), "text", View(show_values=show_values))
        )
