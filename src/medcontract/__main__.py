"""`python -m medcontract`."""

import sys

try:
    import os

    if not sys.flags.safe_path and sys.path[:1] in ([""], [os.path.realpath("")]):
        del sys.path[0]  # the current folder, which may contain untrusted files
    from medcontract.cli.main import main
except KeyboardInterrupt:
    sys.stderr.write("Interrupted.\n")
    sys.exit(130)

sys.exit(main())
