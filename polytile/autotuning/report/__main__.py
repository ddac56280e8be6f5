"""`python -m polytile.autotuning.report RECORD.tune.jsonl F.html`: the page of all searches that a record has."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from polytile.autotuning.report.of_record import histories
from polytile.autotuning.report.page import page
from polytile.cli.option_parser import OptionParser
from polytile.diagnostics import EXIT_DONE, PolytileError
from polytile.runtime.output import check_targets, write_outputs


def main(words: Sequence[str]) -> int:
    """Write the page; returns the exit status."""
    parser = OptionParser(prog="python -m polytile.autotuning.report", description=__doc__, allow_abbrev=False)
    parser.add_argument("record", metavar="RECORD", type=Path, help="a file that polytile tune has written")
    parser.add_argument("page", metavar="F.html", type=Path, help="the file to write")
    try:
        found = parser.parse_args(list(words))
        check_targets([found.page], found.record)
        write_outputs({found.page: page(list(histories(found.record)))})
    except PolytileError as error:
        print(error, file=sys.stderr)
        return error.exit_status
    return EXIT_DONE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
