"""Folded grids run each block of a triangle once, and few others; other kernels stay as they are."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import polytile
from polytile.codegen.passes import folded_grids as module
from polytile.codegen.passes.folded_grids import folded_grids
from polytile.codegen.passes.plan import LoweredPlan
from polytile.codegen.targets import templating
from polytile.ir.arith import add, compare, div, lift, mul, shifted, sub
from polytile.ir.evaluate import evaluate
from polytile.ir.expr import BOOL, DOUBLE, INT, Access, Assign, Binary, Declare, Expr, For, If, Literal, Name, Stmt
from polytile.ir.gpu_ops import BlockIndex, GridExtent
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Barrier, Comment, Coordinate, Kernel, KernelParameter, Launch
from polytile.ir.memory import Space, Storage
from polytile.ir.verify.kernel import check_kernel
from polytile.machine import machine_of
from tests.reading import shared

SUITE = Path(__file__).parents[3] / "polybench" / "polybench"
I, J, N = Name("bi"), Name("bj"), Name("n")  # noqa: E741
PUT = Assign(Access("A", (I, J)), "", Literal("0.0", DOUBLE))
TILED = LoweredPlan(tiled=True)


# Blocks that are run --------------------------------------------------------------------------------------------------
def tiles(size: int, of: Expr = N) -> Expr:
    """How many tiles of a size there are."""
    return add(div(sub(of, 1), size), 1)


def rectangle(
    condition: Expr, rows: Expr, columns: Expr, *, strided: bool = True, after: Sequence[Stmt] = ()
) -> Kernel:
    """A kernel of blocks `bi` along y and `bj` along x, which do something where a condition holds."""
    block: tuple[Stmt, ...] = (If(condition, (PUT,)), *after)
    sides = [Coordinate("bj", BlockIndex("x")), *([] if strided else [Coordinate("bi", BlockIndex("y"))])]
    if strided:
        at_most = Binary("<=", I, shifted(rows, -1))
        block = (For("bi", BlockIndex("y"), at_most, GridExtent("y"), (*block, Barrier("the next tile"))),)
    storage = (Storage("A", Space.GLOBAL, DOUBLE, (None, N), "A"),)
    parameters = (KernelParameter("n", INT), KernelParameter("A", DOUBLE, "A"))
    return Kernel("k", parameters, (32, 1, 1), tuple(sides), storage, block)


def launched(kernel: Kernel, *grids: tuple[Expr, Expr, Expr]) -> HostProgram:
    body = tuple(Launch(kernel.name, grid) for grid in grids)
    return HostProgram("f", (), (), frozenset(), (), (kernel,), body)


def fold(kernel: Kernel, *grids: tuple[Expr, Expr, Expr], plan: LoweredPlan = TILED) -> HostProgram:
    found = folded_grids(launched(kernel, *grids), [plan], machine_of("sm_90"))
    for one in found.kernels:
        check_kernel(one)
    return found


def blocks_run(program: HostProgram, n: int, most: int = 10**9) -> tuple[Counter[tuple[int, int]], int]:
    """The blocks (bi, bj) that do something, and how many are launched; a grid has at most so many along y and z."""
    (kernel,), (launch,) = program.kernels, program.body
    assert isinstance(launch, Launch)
    x, y, z = (evaluate(extent, {"n": n}) for extent in launch.grid)
    seen: Counter[tuple[int, int]] = Counter()
    if min(x, y, z) <= 0:
        return seen, 0
    y, z = min(y, most), min(z, most)
    for place in product(range(x), range(y), range(z)):
        values = {"n": n, "grid.x": x, "grid.y": y, "grid.z": z}
        values |= {f"block.{axis}": at for axis, at in zip("xyz", place, strict=True)}
        values |= {c.name: evaluate(c.source, values) for c in kernel.coordinates}
        seen.update(run(kernel.body, values))
    return seen, x * y * z


def run(body: Sequence[Stmt], values: dict[str, int]) -> Iterator[tuple[int, int]]:
    """Yield the blocks whose assignment the statements run."""
    values = dict(values)
    for stmt in body:
        match stmt:
            case Declare(name=name, value=Expr() as value):
                values[name] = evaluate(value, values)
            case If(condition=condition, then=then, otherwise=otherwise):
                yield from run(then if evaluate(condition, values) else otherwise, values)
            case For(iterator=name, lower=lower, condition=condition, step=Name(name=step)):
                values[name] = evaluate(lower, values)
                while evaluate(condition, values):
                    yield from run(stmt.body, values)
                    values[name] += values[step]
            case Assign():
                yield values["bi"], values["bj"]


LINES = [(1, 0, 1), (1, -1, 1), (3, 2, 4), (4, 3, 3), (2, 5, 3), (1, 3, 2), (2, -3, 1), (-1, 6, 1), (-2, 9, 3)]
SIZES = (0, 1, 2, 5, 9, 31, 44)


@pytest.mark.parametrize("strided", [True, False])
@pytest.mark.parametrize("below", [True, False])
@pytest.mark.parametrize(("a", "b", "c"), LINES)
def test_each_block_is_run_once(
    monkeypatch: pytest.MonkeyPatch, a: int, b: int, c: int, below: bool, strided: bool
) -> None:
    """`a bi + b >= c bj`, and its opposite, for grids of any shape: also those that folding saves nothing of."""
    monkeypatch.setattr(module, "MOST_FILLED", 1)
    left, right = add(mul(a, I), b), mul(c, J)
    condition = compare(">=" if below else "<", left, right)
    for rows, columns in ((tiles(3), tiles(4)), (tiles(8), tiles(2)), (tiles(4), lift(5)), (lift(7), tiles(5))):
        grid = columns, rows, lift(1)
        found = fold(rectangle(condition, rows, columns, strided=strided), grid)
        assert found.kernels[0].bounds
        for n in SIZES:
            height, across = (evaluate(e, {"n": n}) for e in (rows, columns))
            wanted = {at for at in product(range(height), range(across)) if (a * at[0] + b >= c * at[1]) == below}
            seen, count = blocks_run(found, n)
            assert seen == dict.fromkeys(wanted, 1)
            assert count <= 2 * across * ((height + 1) // 2)
            if strided and height and across:
                assert blocks_run(found, n, most=2)[0] == seen


@pytest.mark.parametrize(("a", "b", "c"), [(1, 0, 1), (3, 2, 4), (2, 1, 3)])
@pytest.mark.parametrize("op", [">=", "<", ">", "<="])
def test_few_others_are_launched(op: str, a: int, b: int, c: int) -> None:
    """A row of the grid has at most two blocks that do nothing, and the one in the middle half of its own."""
    rows, columns = tiles(4 * a), tiles(4 * c)
    found = fold(rectangle(compare(op, add(mul(a, I), b), mul(c, J)), rows, columns), (columns, rows, lift(1)))
    for n in (0, 1, 5, 100, 333):
        seen, count = blocks_run(found, n)
        height, across = (evaluate(e, {"n": n}) for e in (rows, columns))
        assert sum(seen.values()) <= count <= sum(seen.values()) + 3 * ((height + 1) // 2) + across


def test_sizes_in_the_condition() -> None:
    """16 bi + 16 bj < n"""
    condition = Binary("&&", compare("<", add(mul(16, I), mul(16, J)), N), compare("<", J, N), BOOL)
    found = fold(rectangle(condition, tiles(16), tiles(16)), (tiles(16), tiles(16), lift(1)))
    for n in (0, 1, 16, 17, 100, 160):
        seen, _ = blocks_run(found, n)
        wanted = [at for at in product(range(n), range(n)) if 16 * sum(at) < n]
        assert seen == dict.fromkeys(wanted, 1)


def test_other_dimensions() -> None:
    """A triangle of planes and rows, below whose rows are all columns."""
    block = (If(compare(">=", I, J), (PUT,)),)
    inner = For("bj", BlockIndex("y"), Binary("<=", J, lift(8)), GridExtent("y"), (*block, Barrier("the next tile")))
    outer = For("bi", BlockIndex("z"), Binary("<=", I, lift(8)), GridExtent("z"), (inner, Comment(""), Barrier("next")))
    plain = rectangle(lift(1), lift(9), lift(9))
    kernel = replace(plain, coordinates=(Coordinate("bk", BlockIndex("x")),), body=(outer,))
    found = fold(kernel, (lift(2), lift(9), lift(9)))
    wanted = dict.fromkeys((at for at in product(range(9), range(9)) if at[0] >= at[1]), 2)  # by both of x
    for most in (1, 3, 100):
        assert blocks_run(found, 1, most)[0] == wanted
    assert blocks_run(found, 1)[1] == 2 * 10 * 5


# Kernels that stay as they are ----------------------------------------------------------------------------------------
def test_others_stay_as_they_are() -> None:
    below, square = compare(">=", I, J), (tiles(8), tiles(8), lift(1))
    kernel = rectangle(below, tiles(8), tiles(8))
    assert fold(kernel, square).kernels != (kernel,)
    (loop,) = kernel.body
    assert isinstance(loop, For)
    first, barrier = loop.body
    assert isinstance(first, If)
    stays = {
        "short blocks": (kernel, [square], LoweredPlan()),
        "something else": (rectangle(below, tiles(8), tiles(8), after=(PUT,)), [square], TILED),
        "otherwise": (with_body(kernel, replace(first, otherwise=(PUT,)), barrier), [square], TILED),
        "its own index": (with_body(kernel, replace(first, then=(own_index(),)), barrier), [square], TILED),
        "from elsewhere": (replace(kernel, body=(replace(loop, lower=add(BlockIndex("y"), 1)),)), [square], TILED),
        "two grids": (kernel, [square, (tiles(8), tiles(4), lift(1))], TILED),
        "no parameter": (replace(kernel, parameters=kernel.parameters[1:]), [square], TILED),
        "most run": (rectangle(compare(">=", mul(4, I), J), tiles(8), tiles(8)), [square], TILED),
        "one dimension": (rectangle(compare(">=", N, mul(16, J)), tiles(8), tiles(8)), [square], TILED),
        "data": (rectangle(compare(">=", I, Access("A", (J,), INT)), tiles(8), tiles(8)), [square], TILED),
    }
    for name, (plain, grids, plan) in stays.items():
        program = launched(plain, *grids)
        assert folded_grids(program, [plan], machine_of("sm_90")) == program, name


def with_body(kernel: Kernel, *body: Stmt) -> Kernel:
    (loop,) = kernel.body
    assert isinstance(loop, For)
    return replace(kernel, body=(replace(loop, body=body),))


def own_index() -> Stmt:
    return Assign(Access("A", (BlockIndex("x"), J)), "", Literal("0.0", DOUBLE))


def test_several_sizes() -> None:
    """Where rows and columns have sizes of their own, nobody knows which part of the blocks is empty."""
    m = Name("m")
    plain = rectangle(compare(">=", I, J), tiles(8), tiles(8, m))
    kernel = replace(plain, parameters=(KernelParameter("m", INT), *plain.parameters))
    assert fold(kernel, (tiles(8, m), tiles(8), lift(1))).kernels == (kernel,)


def test_names_are_new() -> None:
    """A parameter and a function that are called as rows and columns are."""
    plain = rectangle(compare(">=", I, J), tiles(8), tiles(8))
    kernel = replace(plain, parameters=(KernelParameter("row", INT), *plain.parameters))
    program = replace(launched(kernel, (tiles(8), tiles(8), lift(1))), definitions="struct column { int width; };")
    (found,) = folded_grids(program, [TILED], machine_of("sm_90")).kernels
    assert {"row_", "column_", "width_", "rest"} <= found.names


# Programs -------------------------------------------------------------------------------------------------------------
TRIANGLE = """void f({size} n, {size} m, {type} A[n][m], {type} B[n][m], {type} C[n][n]) {{
#pragma scop
for ({size} i = 0; i < n; i++) for ({size} j = {columns}; j++) {{ C[i][j] *= 3;
  for ({size} k = 0; k < m; k++) C[i][j] += A[i][k] * B[j][k]; }}
#pragma endscop
}}
"""
SHAPES = {"lower": "0; j <= i", "upper": "i; j < n", "strict": "0; j < i", "opposite": "0; j < n - i"}


@shared
def compiled(shape: str, type: str = "double", size: str = "int") -> Any:
    text = TRIANGLE.format(columns=SHAPES[shape], type=type, size=size)
    (scop,) = polytile.compile(text, schedule="tiled", verify_passes=True, raise_bugs=True).scops
    return scop


def is_folded(scop: Any) -> bool:
    return any("width" in kernel.names for kernel in scop.program.kernels)


@pytest.mark.slow(but="double-lower")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("type", ["double", "float"])
def test_triangles_are_as_in_c(emulator: None, shape: str, type: str) -> None:
    scop = compiled(shape, type)
    assert is_folded(scop)
    for n, m in ((0, 3), (1, 1), (5, 0), (64, 16), (95, 3), (200, 17), (300, 1)):
        scop.validate(on="emulator", parameters={"n": n, "m": m}, seed=n)


@pytest.mark.slow
def test_no_two_blocks_write_an_element(checking_compiler: None) -> None:
    scop = compiled("lower")
    scop.validate(on="emulator", parameters={"n": 200, "m": 5}, sanitize=("address", "undefined", "race"))


@pytest.mark.slow
def test_wide_sizes(emulator: None) -> None:
    scop = compiled("upper", size="long")
    assert is_folded(scop)
    scop.validate(on="emulator", parameters={"n": 230, "m": 7})


@pytest.mark.slow
def test_grids_beyond_their_limit(emulator: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """With two blocks along y at most, a block strides over pairs of rows."""
    real = templating.render

    def limited(template: str, **values: Any) -> str:
        return real(template, **values).replace("65535", "2")

    for place in [name for name, one in sys.modules.items() if getattr(one, "render", None) is real]:
        monkeypatch.setattr(sys.modules[place], "render", limited)
    text = TRIANGLE.format(columns=SHAPES["lower"], type="double", size="int").replace("f(", "g(")
    (scop,) = polytile.compile(text, schedule="tiled").scops
    assert is_folded(scop) and "y < 2 ? y : 2" in scop.cuda
    scop.validate(on="emulator", parameters={"n": 700, "m": 3})


@pytest.mark.slow
@pytest.mark.parametrize("name", ["syrk", "syr2k", "covariance", "correlation", "trmm"])
@pytest.mark.parametrize("type", ["double", "float"])
def test_programs_of_the_suite(emulator: None, name: str, type: str) -> None:
    """Triangular products are folded; the blocks of trmm all do something."""
    program = polytile.compile(SUITE / f"{name}.c", defines=[f"DATA_TYPE={type}"], verify_passes=True)
    assert any(is_folded(scop) for scop in program.scops) == (name != "trmm")
    for scop in program.scops:
        names = [p.name for p in scop.scop.parameters]
        for size in (1, 40, 130):
            scop.validate(on="emulator", parameters=dict.fromkeys(names, size), seed=size)
