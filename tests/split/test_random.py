"""Random iterated stencils under the split schedule: those that have tiles by a brute-force count of conflicts are
recognised, proven, free of races and bitwise what C computes; all others are told why not.
"""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from tests.bitwise import same_as_c
from tests.random_examples import drawn, examples

from .checks import compiled, cuts, refusal, split_into
from .program import EXTENTS, Array, Program, Read, Update, c_text, conflicts

EXAMPLES = examples(12)
BLOCKS = {1: ((32,), (64,), (24,)), 2: ((4, 32), (4, 8)), 3: ((2, 2, 8),)}  # warps have tiles in registers, if any do


pytestmark = pytest.mark.usefixtures("emulator")


@st.composite
def programs(draw: st.DrawFn, dims: int) -> Program:
    names = ("A", "B", "C")[: draw(st.integers(1, 3))]
    arrays = tuple(Array(name, draw(st.sampled_from(("plain", "plain", "planes", "rows")))) for name in names)
    updates = tuple(draw(_updates(dims, arrays)) for _ in range(draw(st.integers(1, 3))))
    known = draw(st.sampled_from((False, False, True)))
    sizes = {"T": draw(st.sampled_from((5, 9)))} | {n: draw(st.integers(12, 17)) for n in EXTENTS[:dims]}
    element = draw(st.sampled_from(("double", "float")))
    return Program(dims, arrays, updates, element, tuple(sizes.items()) if known else ())


@st.composite
def _updates(draw: st.DrawFn, dims: int, arrays: tuple[Array, ...]) -> Update:
    target = draw(st.sampled_from(arrays))
    reach = draw(st.sampled_from((1, 1, 2))) if dims > 1 else draw(st.integers(1, 3))
    offsets = st.tuples(*[st.integers(-reach, reach)] * dims)
    reads = []
    for _ in range(draw(st.integers(1, 3))):
        array = draw(st.sampled_from([*arrays, *(a for a in arrays if a is not target)]))
        back = {"plain": 0, "planes": draw(st.sampled_from((1, 1, 0))), "rows": draw(st.sampled_from((1, 1, 2, 0)))}
        reads.append(Read(array.name, back[array.kept], draw(offsets)))
    every = draw(st.sampled_from(("", "", "", "subscript", "condition")))
    more = [draw(st.sampled_from((0, 0, 1))) for _ in range(2 * dims)]
    low = tuple(max(0, *(-r.offset[k] for r in reads)) + more[k] for k in range(dims))
    high = tuple(max(0, *(r.offset[k] for r in reads)) + more[dims + k] for k in range(dims))
    return Update(target.name, tuple(reads), low, high, every, draw(st.integers(0, 1)))


def expected(program: Program) -> bool | None:
    """Whether the program has tiles: no updates depend on themselves within a step; None where it may do without, as no
    step reads what an earlier one wrote."""
    sizes = {"T": 4} | dict.fromkeys(EXTENTS[: program.dims], 13) | dict(program.sizes)
    within, between = conflicts(program, sizes)
    graph = nx.DiGraph(list(within))
    return (between or None) if nx.is_directed_acyclic_graph(graph) else False


def check(program: Program, height: int, top: int, threads: tuple[int, ...]) -> None:
    text = c_text(program)
    note(text)
    wanted = expected(program)
    if not wanted:
        reason = refusal(compiled(text))
        assert wanted is None or reason is not None
        assert reason is None or not reason.startswith("no reason")
        return
    found = cuts(text, height, (top,) * program.dims)
    scop = split_into(text, found, block=threads)
    periods = [min(cut.period, 14) for cut in found]
    wide = dict(zip(EXTENTS, (period + 3 for period in periods), strict=False))
    narrow = dict.fromkeys(EXTENTS, 4)
    same_as_c(scop, ({"T": steps} | extents for steps in (height, 2 * height + 1) for extents in (narrow, wide)))


@pytest.mark.slow(but="1")
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_random_stencils(dims: int) -> None:
    @drawn({1: EXAMPLES, 2: -(-EXAMPLES // 3), 3: -(-EXAMPLES // 12)}[dims])
    @given(programs(dims), st.integers(1, 3 if dims < 3 else 2), st.integers(1, 4), st.sampled_from(BLOCKS[dims]))
    def each(program: Program, height: int, top: int, threads: tuple[int, ...]) -> None:
        check(program, height, top, threads)

    each()
