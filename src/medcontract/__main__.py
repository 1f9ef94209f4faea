"""`python -m medcontract`."""

import os
import sys

if not sys.flags.safe_path and sys.path[:1] in ([""], [os.path.realpath("")]):
    del sys.path[0]  # Python puts the current folder first: it contains data, and nothing may be imported from it

from medcontract.cli.main import main

sys.exit(main())
