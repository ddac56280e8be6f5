"""Scop -> schedules with blocks and threads. `STRATEGIES` of polytile/options.py is the list of them."""

from __future__ import annotations

from importlib import import_module

from polytile.options import STRATEGIES
from polytile.scheduling.candidate import Strategy


def strategy(name: str) -> Strategy:
    """The strategy of a name, whose module is loaded when it is asked for."""
    found: Strategy = import_module(STRATEGIES[name]).propose
    return found
