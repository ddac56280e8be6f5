"""Random contractions, triangles, convolutions and stencils with tiles in shared memory and registers.

Bitwise what C computes under all checks of the emulator, at sizes around those of tiles; and what their definitions in
NumPy say. tests/contractions has the programs, and a few of these tests for the quick suite.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from polytile.fuzz.draw import Draw
from tests.contractions.c_text import c_text
from tests.contractions.checks import MOST_WORK, accepted, as_defined, compiled, same_as_c
from tests.contractions.export import has_tiles
from tests.contractions.generate import draw_program, program_of, sizes_of
from tests.random_examples import drawn, examples

EXAMPLES = examples(10)


@pytest.mark.usefixtures("emulator")
@drawn(EXAMPLES)
@given(st.randoms(use_true_random=False))
def test_tiles_compute_what_c_computes(source: random.Random) -> None:
    draw = Draw(source)
    program = draw_program(draw)
    note(c_text(program))
    scop = compiled(program)
    same_as_c(scop, program, draw)
    as_defined(scop, program, sizes_of(program, draw, MOST_WORK)[-1])


def test_most_programs_have_tiles() -> None:
    tiled = [has_tiles(compiled(program_of(1, index))) for index in range(EXAMPLES)]
    assert tiled.count(True) >= 0.7 * EXAMPLES


@pytest.mark.quick
@pytest.mark.parametrize("index", range(8))
def test_certificates_are_accepted(index: int) -> None:
    assert accepted(program_of(1, index)) == []
