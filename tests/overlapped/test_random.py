"""Random iterated stencils in overlapped tiles compute bit by bit what C computes, or are told why not."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from polytile.diagnostics import UsageError
from tests.bitwise import same_as_c
from tests.random_examples import drawn, examples

from .checks import compiled, counts, extents, plan_of, refusal

EXAMPLES = examples(8)
ITERATORS, EXTENTS = ("i", "j"), ("N", "M")
Offset = tuple[int, ...]


pytestmark = pytest.mark.usefixtures("emulator")


@st.composite
def offsets(draw: st.DrawFn, dims: int) -> list[Offset]:
    """A star, a box or a few points to any side."""
    radius = draw(st.integers(1, 4 if dims == 1 else 2))
    around = list(product(range(-radius, radius + 1), repeat=dims))
    match draw(st.sampled_from(("star", "box", "any", "any"))):
        case "star":
            return [p for p in around if sum(map(bool, p)) <= 1]
        case "box":
            return around[:9]
    return draw(st.lists(st.sampled_from(around), min_size=1, max_size=3))


def at(array: str, offset: Offset, front: str = "") -> str:
    subscripts = (f"{i} + {o}" if o > 0 else f"{i} - {-o}" if o else i for i, o in zip(ITERATORS, offset, strict=False))
    return f"{array}{front}{''.join(f'[{s}]' for s in subscripts)}"


@st.composite
def values(draw: st.DrawFn, reads: list[str], constants: str, floats: bool) -> str:
    """A sum of elements; with coefficients from arrays or of the iteration, scalars, or a choice."""
    if not floats:
        return f"({' + '.join(f'{k + 1} * {r}' for k, r in enumerate(reads))} - {constants}) % 101"
    total = " + ".join(f"{0.9 / len(reads):.4f} * {r}" for r in reads)
    kind = draw(st.sampled_from(("plain", "field", "time", "scalar", "choice", "iteration")))
    match kind:
        case "field":
            return f"{constants} * ({total})"
        case "time":
            return f"c[t] * ({total})"
        case "scalar":
            return f"alpha * ({total}) + {constants}"
        case "choice":
            return f"{reads[0]} > {reads[-1]} ? {total} : {constants}"
        case "iteration":
            return f"{total} + 0.01 * t"
    return total


@st.composite
def programs(draw: st.DrawFn, dims: int) -> str:
    kept = draw(st.sampled_from(("pair", "pair", "copy", "planes", "rotating", "chain")))
    element = draw(st.sampled_from(("double", "double", "float", "int")))
    names = {"pair": "AB", "copy": "AB", "planes": "A", "rotating": "A", "chain": "ABD"}[kept]
    count = {"planes": 2, "rotating": 3}.get(kept, 0)
    nests = []
    for target, source in zip(names[1:] + names[:1] if len(names) > 1 else names, names, strict=True):
        points = draw(offsets(dims))
        front = {"planes": ("[t % 2]", "[(t + 1) % 2]"), "rotating": ("[(t + 1) % 3]", "[(t + 2) % 3]")}.get(
            kept, ("", "")
        )
        reads = [at(source, p, front[0]) for p in points]
        centre = (0,) * dims
        if kept == "rotating" and draw(st.booleans()):
            reads.append(at("A", centre, "[t % 3]"))
        if kept == "chain" and draw(st.booleans()):
            reads.append(at(draw(st.sampled_from(names)), centre))
        if kept == "copy" and target == "A":
            value, points = at("B", centre), [centre]
        else:
            value = draw(values(reads, at("K", draw(st.sampled_from(points))), element != "int"))
        low = [max(0, *(-p[k] for p in points)) + draw(st.sampled_from((0, 0, 1))) for k in range(dims)]
        high = [max(0, *(p[k] for p in points)) + draw(st.sampled_from((0, 0, 1))) for k in range(dims)]
        loops = "".join(
            f"for (int {i} = {lo}; {i} < {n} - {hi}; {i}++) "
            for i, n, lo, hi in zip(ITERATORS, EXTENTS, low, high, strict=False)
        )
        nests.append(f"        {loops}\n            {at(target, centre, front[1])} = {value};\n")
    known = draw(st.sampled_from((False, False, True)))
    inner = "".join(f"[{n}]" for n in EXTENTS[:dims])
    sizes = [f"int {n}" for n in ("T", *EXTENTS[:dims])]
    defines = ""
    if known:
        extent = draw(st.sampled_from((37, 75)))
        sizes, defines = sizes[:1], "".join(f"#define {n} {extent + k}\n" for k, n in enumerate(EXTENTS[:dims]))
    arrays = [f"{element} {n}{f'[{count}]' if count else ''}{inner}" for n in (*names,)]
    more = [f"{element} K{inner}", f"{element} c[T]", f"{element} alpha"]
    start = draw(st.sampled_from((0, 0, 1)))
    head = f"{defines}void f({', '.join([*sizes, *arrays, *more])})\n{{\n#pragma scop\n"
    loop = f"    for (int t = {start}; t < T; t++) {{\n{''.join(nests)}    }}\n"
    return f"{head}{loop}#pragma endscop\n}}\n"


def check(text: str, iterations: int, chunk: int, width: int) -> bool:
    """Whether there were tiles, which then compute what C computes."""
    note(text)
    dims = 2 if "[j]" in text else 1
    try:
        scop = compiled(text, time_tile=iterations, tile=(chunk, width)[-dims:])
    except UsageError as error:
        assert "too narrow" in error.message
        return False
    reason = refusal(scop)
    if reason is not None:
        assert not reason.startswith("no reason"), reason
        return False
    steps, widths = counts(iterations)[1:], list(extents(plan_of(scop)))
    pairs = [
        (steps[-1], widths[-1]),
        (steps[-2], widths[2]),
        (steps[len(steps) // 2], widths[1]),
        (steps[0], widths[3]),
    ]
    same_as_c(scop, ({"T": n + 1} | dict(zip(EXTENTS, width, strict=False)) for n, width in pairs))
    return True


@pytest.mark.slow
@pytest.mark.parametrize("dims", [1, 2])
def test_random_stencils(dims: int) -> None:
    tiled: list[bool] = []

    @drawn(EXAMPLES)
    @given(programs(dims), st.integers(1, 4), st.sampled_from((1, 3, 8)), st.sampled_from((32, 64)))
    def each(text: str, iterations: int, chunk: int, width: int) -> None:
        tiled.append(check(text, iterations, chunk, width))

    each()
    assert sum(tiled) > len(tiled) // 3


@pytest.mark.slow
@pytest.mark.parametrize("dims", [1, 2])
def test_random_stencils_with_split_tiles_behind(dims: int) -> None:
    """What overlapped tiles leave runs in split tiles, or one iteration a kernel."""
    both: list[bool] = []

    @drawn(EXAMPLES)
    @given(programs(dims), st.integers(1, 4), st.integers(1, 3))
    def each(text: str, iterations: int, fewest: int) -> None:
        note(text)
        tiles = (compiled(text, time_tile=iterations), compiled(text, schedule="split"))
        both.append(all(one.compilation.time_tile is not None for one in tiles))
        if not both[-1]:
            return
        bound = f"# for grids of fewer than 1 cells, and {fewest} or more iterations behind tiles:\n"
        saved = bound.join(one.compilation.schedule_with_plans() for one in tiles)
        scop = compiled(text, schedule="auto", load_schedule=saved)
        assert scop.compilation.versions
        sizes = ({"T": n + 1, "N": 9, "M": 40} for n in (0, fewest, 2 * iterations, 2 * iterations + fewest))
        same_as_c(scop, (*sizes, {"T": 6 * iterations, "N": 41, "M": 7}))

    each()
    assert sum(both) > len(both) // 3, both


def test_an_array_without_touched_elements_has_no_tiles() -> None:
    """With two rows of three, the second nest alone has cells: no statement touches A, which then has no memory."""
    text = """
void f(int T, int N, int M, float A[N][M], float B[N][M], float D[N][M])
{
#pragma scop
    for (int t = 0; t < T; t++) {
        for (int i = 0; i < N; i++) for (int j = 2; j < M - 2; j++)
            B[i][j] = 0.3f * A[i][j - 2] + 0.3f * A[i][j + 1] + 0.3f * B[i][j];
        for (int i = 0; i < N - 1; i++) for (int j = 0; j < M - 2; j++)
            D[i][j] = 0.3f * B[i + 1][j] + 0.6f * B[i + 1][j + 2];
        for (int i = 1; i < N - 1; i++) for (int j = 1; j < M; j++)
            A[i][j] = 0.5f * D[i - 1][j - 1] + 0.5f * B[i][j];
    }
#pragma endscop
}
"""
    scop = compiled(text, time_tile=1, tile=(1, 32))
    assert plan_of(scop)
    sizes = [(4, 2, 3), (4, 2, 2), (4, 1, 3), (0, 2, 3), (4, 3, 2), (5, 3, 5)]
    same_as_c(scop, (dict(zip(("T", "N", "M"), size, strict=True)) for size in sizes))
