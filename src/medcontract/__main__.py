"""`python -m medcontract`."""

import sys

from medcontract.cli.main import main

sys.exit(main())
