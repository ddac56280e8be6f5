"""`python -m polytile`."""

from __future__ import annotations

from typing import NoReturn

from polytile.cli.watchdog import end_process, guarded_main


def main() -> NoReturn:
    """Run the command and end its process, as taking all modules apart would take longer than `--version`."""
    end_process(guarded_main())


if __name__ == "__main__":
    main()
