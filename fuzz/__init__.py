"""Fuzzing of all entry points of medcontract: `python -m fuzz.run`."""

import os

os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"
"""Set before pyarrow is imported: its default pool reserves a gigabyte of the limited address space."""
