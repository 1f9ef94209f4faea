"""Runs a script twice at the same time: what two processes that share nothing can do on this machine.

twice.py SCRIPT [ARGUMENT...]
"""

from __future__ import annotations

import subprocess
import sys


def main() -> int:
    both = [subprocess.Popen([sys.executable, *sys.argv[1:]], stdout=subprocess.DEVNULL) for _ in range(2)]
    return max([each.wait() for each in both])


if __name__ == "__main__":
    sys.exit(main())
