"""Loop trees of random programs are legal, and say rightly what their loops carry."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from polytile.diagnostics import UserError
from polytile.frontend.program import read_program
from polytile.fuzz.case import draw_case
from polytile.fuzz.draw import Draw
from polytile.fuzz.printing import c_text
from polytile.ir.isl_util import OverBudgetError, budget
from polytile.ir.scop import Scop
from polytile.scheduling.strategies.superposed.two_level_trees import loop_trees
from tests.random_examples import drawn, examples

EXAMPLES = examples(40)
OPERATIONS = 20_000_000  # for the tests' own check of one program


@pytest.mark.slow
@drawn(EXAMPLES)
@given(source=st.randoms(use_true_random=False), relax=st.booleans())
def test_random_programs(
    source: random.Random, relax: bool, stages: Callable[[Scop], Any], check: Callable[..., None]
) -> None:
    text = c_text(draw_case(Draw(source)).program)
    note(text)
    try:
        scops = read_program("fuzz.c", text, autodetect="#pragma scop" not in text).scops
    except UserError:
        return
    for scop in scops:
        try:
            with budget(OPERATIONS):
                found = stages(scop)
                trees = loop_trees(found.scop, found.dependences, relax=relax)
                check(found, trees.thread, relax=relax)
                if trees.block != trees.thread:
                    check(found, trees.block, relax=relax)
        except OverBudgetError:
            continue
