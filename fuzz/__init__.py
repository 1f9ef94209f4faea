"""Hostile input for every entrance of medcontract: `python -m fuzz.run`."""

import os

os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"
"""Set before pyarrow is imported: its own pool takes a gigabyte of addresses at once, of which there are few."""
