"""What changed between two JSON Schemas, and whom it breaks.

A schema stands for the set of values that it accepts. A change that takes values away breaks *writers*: what they
write by the old schema may be refused. One that adds values breaks *readers*: what they read may be something that the
old schema did not allow. Where a change cannot be judged, both are said to be broken: a change that breaks someone is
never called harmless, a harmless one may be called breaking.
"""

from medcontract.definitions.diff.change import Change
from medcontract.definitions.diff.files import FileChange, compare_files, parse
from medcontract.definitions.diff.walk import compare

__all__ = ["Change", "FileChange", "compare", "compare_files", "parse"]
