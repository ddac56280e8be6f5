"""Scop -> schedules with blocks and threads. `STRATEGIES` of polytile/options.py is the list of them."""

from __future__ import annotations

from importlib import import_module

from polytile.options import STRATEGIES
from polytile.scheduling.candidate import Strategy


def strategy(name: str) -> Strategy:
    """Return the `propose` function of a strategy by its name, importing its module on demand."""
    found: Strategy = import_module(STRATEGIES[name]).propose
    return found
