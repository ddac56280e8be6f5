"""Command lines whose errors are UsageErrors, and name the options that were probably meant."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import NoReturn

from polytile.diagnostics import UsageError

UNKNOWN = "unrecognized arguments: "  # as argparse says it
LIKE = 0.7  # of 1 for equal words: --shedule is like --schedule, --frobnicate like nothing


class OptionParser(argparse.ArgumentParser):
    """Reports what argparse finds in polytile's style."""

    def error(self, message: str) -> NoReturn:
        listed = f"{self.prog} --help lists the options"
        meant = list(self._meant(message.removeprefix(UNKNOWN).split())) if message.startswith(UNKNOWN) else []
        raise UsageError(message, hint=f"did you mean {' and '.join(meant)}? {listed}" if meant else listed)

    def _meant(self, words: Sequence[str]) -> Iterator[str]:
        """Yield the options that are most like words that are no options."""
        from difflib import get_close_matches  # for what ends the run alone

        options = [option for action in self._actions for option in action.option_strings if option.startswith("--")]
        for word in words:
            if word.startswith("-"):
                yield from get_close_matches(f"--{word.partition('=')[0].lstrip('-')}", options, 1, LIKE)
