"""Placements of a matrix product, right and wrong: what is proven is what a run of the tree, one execution after the
other, computes right and in an order that the GPU keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import islpy as isl
import pytest

from polytile.ir.copy_tree import with_copies
from polytile.ir.isl_util import band_members, mark_name
from polytile.ir.memory import Space
from polytile.ir.plan import WHOLE_KERNEL, Copy, KernelPlan, Owner, Placement
from polytile.ir.scop import Scop
from polytile.scheduling.proof.placements import wrong_placements

Point = tuple[int, ...]
Execution = tuple[str, Point]
ROWS, COLUMNS, DEPTH = 3, 2, 9
SIZES = f"[n, m, d] -> {{ : n = {ROWS} and m = {COLUMNS} and d = {DEPTH} }}"
TREE = """domain: "[n, m, d] -> {{ S0[i, j, k] : 0 <= i < n and 0 <= j < m and 0 <= k < d }}"
child:
  mark: "kernel"
  child:
    mark: "block"
    child:
      schedule: "[{{ S0[i, j, k] -> [floor(i/4)] }}, {{ S0[i, j, k] -> [floor(j/4)] }}]"
      child:
        mark: "loop[k0]"
        child:
{sync}          schedule: "[{{ S0[i, j, k] -> [floor(k/2)] }}]"
          child:
            mark: "thread[2,2]"
            child:
              schedule: "[{{ S0[i, j, k] -> [floor((i mod 4)/2)] }}, {{ S0[i, j, k] -> [floor((j mod 4)/2)] }}]"
              child:
                schedule: "[{{ S0[i, j, k] -> [k] }}, {{ S0[i, j, k] -> [i] }}, {{ S0[i, j, k] -> [j] }}]"
"""


@dataclass(frozen=True)
class Case:
    """One choice of everything: of the tile of A, and of the accumulators in registers."""

    slots: int = 2
    ahead: int = 1
    mode: str = "plain"
    taken: int = 2  # of the two columns of a tile
    barrier: bool = True
    rows: int = 2  # of a thread's accumulators
    at: str = WHOLE_KERNEL  # where these are filled and drained
    filled: bool = True
    drained: bool = True

    def plan(self) -> KernelPlan:
        where = f"floor(i/4) = bi and 2k0 <= k < 2k0 + {self.taken} and 0 <= i < n and 0 <= k < d"
        tile = Placement(
            "A_tile",
            "A",
            (),
            "k0",
            Space.SHARED,
            Owner.BLOCK,
            f"{{ [[bi, bj, k0] -> A[i, k]] -> [k0 mod {self.slots}, i mod 4, k mod 2] }}",
            (self.slots, 4, 2),
            fill=Copy(f"[n, d] -> {{ [bi, bj, k0] -> A[i, k] : {where} }}", "k0", self.ahead, self.mode),
        )
        place = "bi, bj, k0, ty, tx" if self.at == "k0" else "bi, bj, ty, tx"
        mine = "floor(i/4) = bi and floor(j/4) = bj and floor((i mod 4)/2) = ty and floor((j mod 4)/2) = tx"
        copy = Copy(f"[n, m] -> {{ [{place}] -> C[i, j] : {mine} and 0 <= i < n and 0 <= j < m }}", self.at)
        acc = Placement(
            "C_acc",
            "C",
            (),
            self.at,
            Space.PRIVATE,
            Owner.THREAD,
            f"{{ [[{place}] -> C[i, j]] -> [i mod {self.rows}, j mod 2] }}",
            (self.rows, 2),
            fill=copy if self.filled else None,
            drain=copy if self.drained else None,
        )
        return KernelPlan(0, (tile, acc))


def tree(case: Case) -> isl.Schedule:
    text = TREE.format(sync='          mark: "sync"\n          child:\n' if case.barrier else "")
    head, sync, tail = text.partition('          mark: "sync"\n          child:\n')
    return isl.Schedule(head + sync + tail.replace("\n", "\n  ") if case.barrier else text)


def executions(tree: isl.Schedule) -> list[Execution]:
    """In the order in which they run."""
    return [execution for _, execution in sorted((time, each) for each, time in images(tree.get_map()))]


def images(union: isl.UnionMap) -> list[tuple[Execution, Point]]:
    found: list[tuple[Execution, Point]] = []

    def add(m: isl.Map) -> None:
        name, n = str(m.get_tuple_name(isl.dim_type.in_)), m.dim(isl.dim_type.in_)
        found.extend(((name, values[:n]), values[n:]) for values in points(m.wrap()))

    union.intersect_params(isl.Set(SIZES)).foreach_map(add)
    return found


def points(values: isl.Set) -> list[Point]:
    found: list[Point] = []
    n = values.dim(isl.dim_type.set)
    values.project_out_all_params().foreach_point(
        lambda p: found.append(tuple(p.get_coordinate_val(isl.dim_type.set, k).to_python() for k in range(n)))
    )
    return found


@dataclass
class Decisions:
    """What a mapped tree decides about each execution, from the root down: values, and whether they are those of
    blocks, or have barriers between them; and its thread, which is its own where it is dealt out."""

    steps: dict[Execution, list[tuple[int, bool, bool]]] = field(default_factory=dict)
    threads: dict[Execution, Any] = field(default_factory=dict)

    def walk(self, node: isl.ScheduleNode, role: str = "") -> None:
        if node.get_type() == isl.schedule_node_type.band:
            for member in band_members(node):
                values = isl.UnionMap.from_union_pw_aff(member).intersect_domain(node.get_domain())
                for execution, (value,) in images(values):
                    self.add(execution, value, role)
        for i in range(node.n_children()):
            child = node.child(i)
            if node.get_type() == isl.schedule_node_type.sequence:
                own = child.get_domain().intersect(child.filter_get_filter())
                for execution, _ in images(isl.UnionSet.identity(own)):
                    self.add(execution, i, role)
            self.walk(child, mark_name(node) or "")

    def add(self, execution: Execution, value: int, role: str) -> None:
        self.steps.setdefault(execution, []).append((value, role == "block", role == "sync"))
        if role.startswith("thread"):
            self.threads[execution] = (*self.threads.get(execution, ()), value)
        elif execution[0].startswith("A_tile"):
            self.threads[execution] = execution

    def ordered(self, one: Execution, other: Execution) -> bool:
        """Whether the first surely ends before the second starts."""
        for (a, block, barrier), (b, _, _) in zip(self.steps[one], self.steps[other], strict=False):
            if a != b:
                return not block and a < b and (barrier or self.threads[one] == self.threads[other])
        return False


@dataclass
class Run:
    """A run of the product. `late`: asynchronous copies move their value when they land, not when they start."""

    case: Case
    late: bool
    memory: dict[Any, int] = field(default_factory=dict)
    uses: list[tuple[int, Any, bool]] = field(default_factory=list)  # execution, location, whether it is written

    def execute(self, order: list[Execution]) -> bool:
        """Whether the result is right."""
        a = {(i, k): 3 * i + 5 * k + 1 for i in range(ROWS) for k in range(DEPTH)}
        self.memory = {("A", *at): value for at, value in a.items()}
        self.memory |= {("C", i, j): i - j for i in range(ROWS) for j in range(COLUMNS)}
        for number, (name, point) in enumerate(order):
            if not self.step(number, name, point):
                return False
        want = {(i, j): i - j + sum(a[i, k] * (k + j + 2) for k in range(DEPTH)) for i, j in self.results()}
        return all(self.memory["C", *at] == value for at, value in want.items())

    @staticmethod
    def results() -> Iterator[Point]:
        return ((i, j) for i in range(ROWS) for j in range(COLUMNS))

    def step(self, number: int, name: str, point: Point) -> bool:
        """One execution; False where it reads what nothing has set."""
        if name == "S0":
            i, j, k = point
            cell = self.accumulator(i, j)
            a, c = self.read(number, self.tile(k // 2, i, k)), self.read(number, cell)
            return a is not None and c is not None and self.write(number, cell, c + a * (k + j + 2))
        *place, row, column = point
        inner = self.tile(place[2], row, column) if name[0] == "A" else self.accumulator(row, column)
        outer = (name[0], row, column)
        source, target = (inner, outer) if name.endswith("drain") else (outer, inner)
        found = self.read(number, source)
        self.uses.append((number, target, True))
        moves = "A_tile_fill_landing" if self.late and self.case.ahead and self.case.mode == "async" else "A_tile_fill"
        if found is not None and (name == moves or name[0] == "C"):
            self.memory[target] = found
        return found is not None

    def tile(self, k0: int, i: int, k: int) -> Any:
        return "A_tile", k0 % self.case.slots, i % 4, k % 2

    def accumulator(self, i: int, j: int) -> Any:
        return "C_acc", i % 4 // 2, j % 4 // 2, i % self.case.rows, j % 2

    def read(self, number: int, location: Any) -> int | None:
        self.uses.append((number, location, False))
        return self.memory.get(location)

    def write(self, number: int, location: Any, value: int) -> bool:
        self.uses.append((number, location, True))
        self.memory[location] = value
        return True


def is_ordered(run: Run, tree: isl.Schedule, order: list[Execution]) -> bool:
    """Whether executions that meet in a cell of the tile, until it is written again, are in an order that is kept."""
    decisions = Decisions()
    by_cell: dict[Any, list[tuple[Execution, bool]]] = {}
    decisions.walk(tree.get_root())
    for number, location, written in run.uses:
        if location[0] == "A_tile":
            by_cell.setdefault(location, []).append((order[number], written))
    met = {pair for uses in by_cell.values() for pair in pairs(uses)}
    return all(one_copy(*pair) or decisions.ordered(*pair) for pair in met)


def pairs(uses: list[tuple[Execution, bool]]) -> Iterator[tuple[Execution, Execution]]:
    """Each use with those after it, up to the next write, if one of them writes."""
    for at, (one, writes) in enumerate(uses):
        for other, also in uses[at + 1 :]:
            if writes or also:
                yield one, other
            if also:
                break


def one_copy(one: Execution, other: Execution) -> bool:
    return one[1] == other[1] and other[0] == f"{one[0]}_landing"


CASES = [
    *(Case(s, a, m, barrier=b) for s in (1, 2, 3, 4) for a in (0, 1, 2, 3) for m in ("plain", "async") for b in (1, 0)),
    *(Case(taken=t, rows=r) for t, r in ((1, 2), (2, 1), (2, 4))),
    *(Case(at=at, filled=f, drained=d) for at in ("kernel", "k0") for f in (True, False) for d in (True, False)),
]


@pytest.fixture(scope="module")
def product(scop: Callable[..., Scop]) -> Scop:
    body = """for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) for (int k = 0; k < d; k++)
        C[i][j] += A[i][k] * (k + j + 2);"""
    return scop("int n, int m, int d, double A[n][d], double C[n][m]", body)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_is_proven_is_what_a_run_computes(case: Case, product: Scop) -> None:
    schedule, plan = tree(case), case.plan()
    grown = with_copies(schedule, [plan]).tree
    order = executions(grown)
    runs = [Run(case, late) for late in (False, True)]
    right = all(run.execute(order) for run in runs) and is_ordered(runs[0], grown, order)
    assert (wrong_placements(product, schedule, [plan]) == []) == right
