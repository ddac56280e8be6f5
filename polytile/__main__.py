"""`python -m polytile`."""

from __future__ import annotations

import sys

from polytile.cli.watchdog import guarded_main as main

if __name__ == "__main__":
    sys.exit(main())
