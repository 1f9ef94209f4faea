"""Finds the changes between two JSON Schemas, and whom they break.

A schema defines the set of values that it accepts. A change that removes values breaks *writers*: what they write
for the old schema may be rejected. A change that adds values breaks *readers*: they may get values that the old
schema did not allow. A change that cannot be judged is reported as breaking both: a breaking change is never reported
as harmless, but a harmless one may be reported as breaking.
"""

from medcontract.schemas.diff.change import Change
from medcontract.schemas.diff.files import FileChange, compare_files, parse
from medcontract.schemas.diff.walk import compare

__all__ = ["Change", "FileChange", "compare", "compare_files", "parse"]
