"""Random iterated stencils on random grids of ranks: each owned element has the value that the program gives it."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from polytile.diagnostics import UsageError, UserError
from polytile.distribution.plan import DistributionPlan
from polytile.distribution.process_grid import ProcessGrid, factorisations
from polytile.distribution.transfers import ExchangeMode
from polytile.ir.evaluate import evaluate
from polytile.ir.scop import Origin, Scop
from tests.property.ranks_by_values import Memory, Ranks, run, whole_memory
from tests.unit.distribution.programs import NAMED, STAR, distribute, named, scop_of


class StencilWriter:
    """Draws programs: one to three dimensions, sweeps over arrays of their own or in turns, sources and receivers."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.rank = self.random.choice((1, 1, 2, 2, 2, 3))
        self.names = "ijk"[: self.rank]
        self.planes = self.random.choice((0, 0, 2, 3))
        self.arrays = [] if self.planes else ["A", "B", "C"][: self.random.choice((2, 2, 3))]

    def text(self) -> str:
        """Return the C of one program."""
        sizes = ", ".join(f"int n{name}" for name in self.names)
        extents = "".join(f"[n{name}]" for name in self.names)
        held = [f"double u[{self.planes}]{extents}"] if self.planes else [f"double {a}{extents}" for a in self.arrays]
        held += [f"double w{extents}", "double rec[steps]"]
        body = "\n".join(self.sweeps())
        return (
            f"void f(int steps, {sizes}, int at, {', '.join(held)})\n{{\n#pragma scop\n"
            f"for (int t = 0; t < steps; t++) {{\n{body}\n}}\n#pragma endscop\n}}\n"
        )

    def sweeps(self) -> list[str]:
        """Return the statements of a step."""
        if self.planes:
            found = [self.sweep(f"u[(t + {self.planes - 1}) % {self.planes}]", [self.plane() for _ in range(2)])]
            target = f"u[(t + {self.planes - 1}) % {self.planes}]"
        else:
            found = [
                self.sweep(self.arrays[k], [self.arrays[k - 1], *self.random.sample(self.arrays, 1)])
                for k in range(len(self.arrays))
            ]
            target = self.arrays[-1]
        at = "".join("[at]" for _ in self.names)
        if self.random.random() < 0.4:
            found.append(f"{target}{at} += 1.5;")
        if self.random.random() < 0.4:
            found.append(f"rec[t] = {target}{at};")
        return found

    def plane(self) -> str:
        return f"u[(t + {self.random.randrange(self.planes - 1)}) % {self.planes}]"

    def sweep(self, target: str, sources: list[str]) -> str:
        """Return a nest that sets a target from sources at other positions, and from itself at its own."""
        low, high = self.random.choice((1, 2, 2)), self.random.choice((1, 2, 2))
        loops = "".join(f"for (int {v} = {low}; {v} < n{v} - {high}; {v}++) " for v in self.names)
        own = "".join(f"[{v}]" for v in self.names)
        terms = [f"w{own}"]
        for source in sources:
            for _ in range(self.random.choice((1, 2))):
                same = source == target
                terms.append(source + (own if same else "".join(self.place(v, low, high) for v in self.names)))
        return f"{loops}{target}{own} = {' + '.join(terms)};"

    def place(self, name: str, low: int, high: int) -> str:
        away = self.random.choice((0, 0, 0, *range(-low, high + 1)))
        return f"[{name} + {away}]" if away >= 0 else f"[{name} - {-away}]"


def _compare(scop: Scop, steps: int, sizes: dict[str, int], shape: tuple[int, ...], mode: ExchangeMode) -> bool:
    """Compare a program on ranks with itself; False where parts are too thin."""
    plan = distribute(scop, steps)
    extents = tuple(evaluate(axis.extent, sizes) for axis in plan.axes)
    grid = ProcessGrid(shape, extents)
    try:
        grid.check(plan.halo, [axis.name for axis in plan.axes])
    except UsageError:
        return False
    whole = whole_memory(plan, sizes)
    expected = dict(whole)
    run(plan.scop, sizes, expected)
    for at_once in {False, plan.lead is not None}:
        ranks = Ranks(plan, grid, sizes, mode, at_once, whole)
        ranks.run()
        assert seen(plan, ranks.gathered()) == seen(plan, expected)
    return True


def seen(plan: DistributionPlan, memory: Memory) -> Memory:
    """Return the arrays that the caller sees."""
    return {key: value for key, value in memory.items() if plan.scop.array(key[0]).origin is Origin.EXTERNAL}


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=[pytest.mark.quick] if seed < 4 else []) for seed in range(20)]
)
def test_random_stencils(seed: int) -> None:
    drawn = random.Random(seed)
    writer = StencilWriter(seed)
    text = writer.text()
    scop = scop_of(text, f"random-{seed}.c")
    steps = drawn.choice((1, 2, 3))
    size = {1: (17, 23), 2: (9, 12), 3: (6, 8)}[writer.rank]
    sizes = {"steps": drawn.choice((1, 4, 5)), "at": 3} | {f"n{v}": drawn.randint(*size) for v in writer.names}
    try:
        axes = len(distribute(scop, steps).axes)
    except UserError as refused:
        assert refused.location is not None and refused.location.line, text
        return
    shapes = [s for ranks in (2, 3, 4, 6) for s in factorisations(ranks, axes)]
    drawn.shuffle(shapes)
    mode = drawn.choice(list(ExchangeMode))
    compared = (shape for shape in shapes if _compare(scop, steps, sizes, shape, mode))
    assert next(compared, None) or steps > 1


@pytest.mark.parametrize(
    ("steps", "mode"),
    [(1, ExchangeMode.BASIC), (1, ExchangeMode.OVERLAP), (2, ExchangeMode.DIAGONAL), (3, ExchangeMode.OVERLAP)],
)
@pytest.mark.parametrize("program", [*NAMED, "polybench/jacobi-2d.c", "polybench/fdtd-2d.c"])
def test_programs(program: str, steps: int, mode: ExchangeMode) -> None:
    scop = named(program)
    size = dict.fromkeys((p.name for p in scop.parameters), 13)
    known = {**size, "steps": 4, "tsteps": 4, "tmax": 4, "sx": 6, "sy": 5, "rx": 7, "ry": 6, "m": 14, "ny": 15}
    sizes = {name: known[name] for name in size}
    axes = len(distribute(scop, steps).axes)
    shapes = [(1,), (2,), (3,)] if axes == 1 else [(1, 1), (2, 1), (1, 2), (2, 2)]
    compared = [_compare(scop, steps, sizes, shape, mode) for shape in shapes]
    assert compared[0] and (any(compared[1:]) or steps == 3)


def test_what_is_not_exchanged_is_noticed() -> None:
    """The comparison itself: a plan with a halo that is one position too narrow gives other values."""
    plan = distribute(scop_of(STAR))
    (first,) = plan.between
    narrow = replace(plan, between=(replace(first, reach=((0, 1), (2, 2))),))
    sizes = {"steps": 3, "n": 12, "m": 13}
    whole = whole_memory(plan, sizes)
    expected = dict(whole)
    run(plan.scop, sizes, expected)
    for one, same in ((plan, True), (narrow, False)):
        ranks = Ranks(one, ProcessGrid((2, 1), (12, 13)), sizes, ExchangeMode.DIAGONAL, False, whole)
        ranks.run()
        assert (ranks.gathered() == expected) == same
