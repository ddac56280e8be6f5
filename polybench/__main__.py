"""`python -m polybench`: list, run, export, import and report the benchmark programs."""

from __future__ import annotations

import sys

from polybench.runner.cli import main

if __name__ == "__main__":
    sys.exit(main())
