"""Estimates whose processes end at some points; processes that are started import them by name."""

from __future__ import annotations

import os

from polytile.choices import Choices

ENDS = 64  # threads of a block, with which a process ends


def ends_at_some(choices: Choices) -> float | None:
    if choices.block == (ENDS,):
        os._exit(9)
    return float(choices.block[0])


def ends_always(choices: Choices) -> float | None:
    os._exit(9)
