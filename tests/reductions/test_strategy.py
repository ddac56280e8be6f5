"""Reductions as the superposed strategy maps them by itself: right, free of races, the same bits twice, and held in
registers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import polytile
from polytile.ir.gpu_ops import WarpReduce
from polytile.ir.memory import Space
from polytile.ir.scop import Origin

from .cases import Data, Operator, expected, values
from .harness import Programs

pytestmark = pytest.mark.slow  # what they share is slow to make

ROWS = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++)"
OPERATORS = (
    Operator("sum", "X += E;", np.add),
    Operator("max", "if (E > X) X = E;", np.maximum),
    Operator("xor", "X ^= E;", np.bitwise_xor, floats=False),
)


@dataclass(frozen=True)
class Case:
    """A reduction of a matrix along an axis, of a type; `axis` None: of all of it."""

    operator: Operator
    element: str
    axis: int | None
    few: bool = False  # three rows, and the compiler knows it

    @property
    def name(self) -> str:
        kind = self.element.replace(' ', '_')
        results = "few_rows" if self.few else "all" if self.axis is None else ("columns", "rows")[self.axis]
        return f"{self.operator.name}_{kind}_{results}"

    @property
    def text(self) -> str:
        target = "x[0]" if self.axis is None else ("x[j]", "x[i]")[self.axis]
        body = self.operator.statement(target, "A[i][j]", self.element)
        arguments = f"int n, int m, {self.element} A[n][m], {self.element} x[n + m]"
        rows = ROWS.replace("i < n", "i < 3") if self.few else ROWS
        arguments = arguments.replace("n +", "3 +").replace("[n]", "[3]") if self.few else arguments
        return f"void {self.name}({arguments})\n{{\n#pragma scop\n{rows} {body}\n#pragma endscop\n}}\n"


CASES = [
    Case(operator, element, axis)
    for operator, element in zip(OPERATORS, ("double", "float", "long long"), strict=True)
    for axis in (0, 1, None)
]
FEW = [Case(case.operator, case.element, 1, few=True) for case in CASES if case.axis == 1]
SHAPES = ((1, 1), (1, 300), (300, 1), (31, 33), (64, 32), (65, 130))


@pytest.fixture(scope="module")
def programs(emulator: None) -> Programs:
    found = (polytile.compile(c.text, name="test.c", schedule="superposed").scops[0].compilation for c in CASES + FEW)
    return Programs({case.name: state for case, state in zip(CASES + FEW, found, strict=True)})


def run(programs: Programs, case: Case, a: Data, x: Data, *, checked: bool = True) -> Data:
    after = x.copy()
    sizes = {"n": a.shape[0], "m": a.shape[1]}
    programs.run(case.name, {"m": sizes["m"]} if case.few else sizes, {"A": a, "x": after}, checked=checked)
    return after


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("case", CASES, ids=[c.name for c in CASES])
def test_results(programs: Programs, case: Case, shape: tuple[int, int]) -> None:
    a, x = values(case.operator, case.element, shape, 1), values(case.operator, case.element, (sum(shape),), 2)
    elements = a if case.axis is not None else a.reshape(1, -1)
    count = elements.shape[1 - case.axis] if case.axis is not None else 1
    wanted = x.copy()
    wanted[:count] = expected(case.operator, x[:count], elements, 1 if case.axis is None else case.axis)
    assert np.array_equal(run(programs, case, a, x), wanted)


@pytest.mark.parametrize("columns", [1, 31, 255, 257, 8191, 8192, 8193, 20000])
@pytest.mark.parametrize("case", FEW, ids=[c.name for c in FEW])
def test_several_blocks_share_each_of_few_results(programs: Programs, case: Case, columns: int) -> None:
    """A row for each block would leave a GPU idle: blocks take chunks of rows, and a second kernel adds these up."""
    state = programs.states[case.name]
    assert state.program is not None
    assert len(state.program.kernels) == 2 and state.program.kernels[0].block == (256, 1, 1)
    a, x = values(case.operator, case.element, (3, columns), 1), values(case.operator, case.element, (3 + columns,), 2)
    wanted = x.copy()
    wanted[:3] = expected(case.operator, x[:3], a, 1)
    assert np.array_equal(run(programs, case, a, x), wanted)


@pytest.mark.parametrize(
    ("arguments", "body", "kernels"),
    [
        ("double A[3][m], double y[3][3]", "y[i][k] += A[i][j] * A[k][j];", 2),
        ("double A[3][40], double y[3][3]", "y[i][k] += A[i][j] * A[k][j];", 1),  # short sums
        ("double A[9][m], double y[9][9]", "y[i][k] += A[i][j] * A[k][j];", 1),  # 81 results
        ("double A[n][m], double y[n][n]", "y[i][k] += A[i][j] * A[k][j];", 1),
    ],
)
def test_results_of_two_iterators(emulator: None, arguments: str, body: str, kernels: int) -> None:
    size = arguments[len("double A[") : arguments.index("]")]
    length = arguments[arguments.index("][") + 2 : arguments.index("],")]
    loops = f"for (int i = 0; i < {size}; i++) for (int k = 0; k < {size}; k++) for (int j = 0; j < {length}; j++)"
    text = f"void f(int n, int m, {arguments})\n{{\n#pragma scop\n{loops} {body}\n#pragma endscop\n}}\n"
    (found,) = polytile.compile(text, name="test.c", schedule="superposed").scops
    assert found.program is not None
    assert len(found.program.kernels) == kernels
    for m in (0, 1, 40, 8200):
        given = {name: value for name, value in (("n", 5), ("m", m)) if name in (size, length)}
        found.validate(on="emulator", parameters=given, seed=1, sanitize=("address", "undefined", "race"))


@pytest.mark.parametrize(
    ("sizes", "kernels"),
    [({}, 1), ({"n": 3}, 2), ({"n": 3, "m": 9000}, 2), ({"n": 3, "m": 8000}, 1), ({"n": 65}, 1), ({"m": 9000}, 1)],
    ids=str,
)
def test_sizes_that_are_expected(emulator: None, sizes: dict[str, int], kernels: int) -> None:
    """Several blocks share each of few results where these are known to be few by `--param`: right for all sizes."""
    (case,) = (c for c in CASES if c.axis == 1 and c.element == "double")
    (found,) = polytile.compile(case.text, name="test.c", schedule="superposed", parameters=sizes).scops
    assert found.program is not None
    assert len(found.program.kernels) == kernels
    for n, m in ((3, 9000), (0, 5), (1, 1), (70, 33), (5, 8193)):
        found.validate(on="emulator", parameters={"n": n, "m": m}, seed=1, sanitize=("address", "undefined", "race"))


@pytest.mark.parametrize("case", [c for c in CASES + FEW if c.element == "double"], ids=lambda c: c.name)
def test_two_runs_give_the_same_bits(programs: Programs, case: Case) -> None:
    random = np.random.default_rng(3)
    shape = (3, 20000) if case.few else (65, 700)
    a, x = random.normal(size=shape), random.normal(size=sum(shape))
    first, then = (run(programs, case, a, x, checked=False) for _ in range(2))
    assert first.tobytes() == then.tobytes()


@pytest.mark.parametrize("case", CASES + FEW, ids=[c.name for c in CASES + FEW])
def test_partial_results_are_in_registers(programs: Programs, case: Case) -> None:
    """Each thread adds to a register of its own; rows are combined by shuffles."""
    state = programs.states[case.name]
    assert state.program is not None
    assert state.scop.privatised
    kernel = state.program.kernels[0]
    assert [s for s in kernel.storage if s.space is Space.PRIVATE]
    assert case.axis == 0 or any(isinstance(n, WarpReduce) for n in kernel.nodes)
    for kernel in state.program.kernels:
        inside = [s.array for s in kernel.storage if s.space is Space.SHARED]
        assert all(state.run.scop.array(name).origin is Origin.TEMPORARY for name in inside)
