"""Greedy fusion of the fields of a DAG of stencils to macro-nodes, each a kernel.

before: {S0} B from A; {S1} C from B; {S2} D from C and A            three kernels: 6 arrays are read or written
after:  {S0 S1 S2}                                                   one kernel: A is read and D written

Two macro-nodes become one where that saves data movement: values that both read, or that one makes and the other reads;
what nobody else reads and is not live behind the DAG need not be stored. The pair that saves most comes first, of these
the one whose kernel takes least. Limits are those of the machine: registers of a thread, shared memory of a block, half
of a tile as halo, and a redundancy with which one kernel is not slower than two. Macro-nodes stay convex: no path leads
out of one and back into it, so that they have an order.

Rawat, Vaidya, Sukumaran-Rajam, Ravishankar, Grover, Rountev, Pouchet, Sadayappan: Domain-specific optimization and
generation of high-performance GPU code for stencil computations (Proc. IEEE 2018), section VI.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import combinations
from math import prod

from polytile.dataclass import dataclass
from polytile.ir.digraph import Graph, graph_of, in_order, reached
from polytile.ir.isl_util import OverBudgetError, budget
from polytile.ir.scop import Scop
from polytile.ir.statement_names import in_source_words
from polytile.machine import MAX_THREAD_REGISTERS, Machine
from polytile.options import CODE_OPERATIONS
from polytile.scheduling.analysis.stencil_dag import StencilDag, iteration_dag, stencil_dag
from polytile.scheduling.analysis.stencil_form import NotAStencilError, iterated_stencil
from polytile.scheduling.analysis.stencil_values import stencil_values
from polytile.scheduling.candidate import Problem
from polytile.scheduling.strategies.overlapped.macro_nodes import MacroNode, Tile, tiles
from polytile.scheduling.strategies.overlapped.plane_schedule import MOST_DIMENSIONS

Group = tuple[int, ...]  # fields


@dataclass(frozen=True, slots=True)
class Limits:
    """What a kernel may take. A tile's halo is at most one part in `halo` of it."""

    registers: int  # of a thread
    block_registers: int
    shared_bytes: int  # of a block
    halo: int = 2

    def lines(self) -> Iterator[str]:
        yield f"at most {self.registers} registers a thread, {self.block_registers} registers and "
        yield f"{self.shared_bytes} bytes of shared memory a block, 1/{self.halo} of a tile as halo"


def limits_of(machine: Machine, shared_bytes: int | None = None) -> Limits:
    """Return the limits of a machine; shared memory can be bounded."""
    shared = machine.shared_per_block if shared_bytes is None else shared_bytes
    return Limits(MAX_THREAD_REGISTERS, machine.registers_per_sm, shared)


@dataclass(frozen=True, slots=True)
class FusedKernel:
    """A macro-node with its tile, or (`stopped`) the limit for which no tile will do."""

    node: MacroNode
    tile: Tile | None
    stopped: str = ""


@dataclass(frozen=True, slots=True)
class Fusion:
    """The macro-nodes, in an order in which they can run, and why no further two of them are one: by their numbers."""

    kernels: tuple[FusedKernel, ...]
    stopped: tuple[tuple[int, int, str], ...]
    limits: Limits
    unfused_bytes: int  # moved for a cell, by a kernel for each field

    @property
    def moved_bytes(self) -> int:
        return sum(k.node.moved_bytes for k in self.kernels)

    def lines(self) -> Iterator[str]:
        """Yield the lines of --explain."""
        count, fields = len(self.kernels), sum(len(k.node.fields) for k in self.kernels)
        moved = f"{self.moved_bytes} bytes moved for a cell, {self.unfused_bytes} by a kernel for each"
        yield f"{fields} field{'s' * (fields != 1)} in {count} macro-node{'s' * (count != 1)}: {moved}"
        yield "".join(self.limits.lines())
        for kernel in self.kernels:
            yield from _kernel_lines(kernel)
        for first, then, reason in self.stopped:
            yield f"{self.kernels[first].node.names} and {self.kernels[then].node.names} stay apart: {reason}"


def _kernel_lines(kernel: FusedKernel) -> Iterator[str]:
    node, tile = kernel.node, kernel.tile
    if tile is None:
        yield f"{node.names} in no tile: {kernel.stopped}"
        return
    shape = f"tiles of {_by(tile.cells)} cells that own {_by(node.owned(tile))}"
    takes = f"{node.registers(tile)} registers, {node.shared_bytes(tile)} bytes of shared memory"
    planes = f"{node.exchanged_planes} planes that threads share"
    yield f"{node.names}: {shape}, {takes}, {planes}, order {node.order}, redundancy {node.redundancy(tile):.2f}"
    inside = [node.dag.fields[k].array for k in node.fields if k not in node.stored]
    if inside:
        yield f"  {', '.join(inside)}: never stored"
    for step in node.steps:
        what = "loaded" if step.is_input else f"by {', '.join(step.statements)}"
        box = ", ".join(f"{a}..{b:+d}" for a, b in zip(step.lower, step.upper, strict=True))
        yield f"  {step.array} {what}: box [{box}], lag {step.lag}, {step.slots} plane{'s' * (step.slots != 1)}"


def _by(sizes: Iterable[int]) -> str:
    return " x ".join(map(str, sizes))


def _more(count: int, most: int, what: str) -> str:
    return f"{count} {what} are more than {most}" if count > most else ""


def fuse(scop: Scop, dag: StencilDag, machine: Machine, limits: Limits | None = None) -> Fusion:
    """Fuse the fields of a stencil DAG into macro-nodes."""
    search = _Search(scop, dag, machine, limits or limits_of(machine))
    while search.step():
        pass
    return search.result()


def explained(problem: Problem) -> Iterator[str]:
    """Yield the lines of --explain: the macro-nodes of a SCoP, or of one iteration of a time loop around stencils."""
    try:
        with budget(CODE_OPERATIONS):
            dag = _dag_of(problem)
    except OverBudgetError:
        yield "fusion: finding where values come from takes too long"
    except NotAStencilError as error:
        yield f"fusion: no DAG of stencils: {in_source_words(str(error), problem.scop)}"
    else:
        limits = limits_of(problem.machine, problem.options.max_shared_memory)
        yield "fusion: macro-nodes that could be a kernel each; one is made where all is a single macro-node, as yet"
        yield from (f"fusion: {line}" for line in fuse(problem.scop, dag, problem.machine, limits).lines())


def _dag_of(problem: Problem) -> StencilDag:
    scop, dependences = problem.scop, problem.dependences
    try:
        values = stencil_values(scop, dependences, iterated_stencil(scop, dependences))
    except NotAStencilError:
        dag = stencil_dag(scop, dependences)
    else:
        dag = iteration_dag(scop, values, 1)
    if dag.dims > MOST_DIMENSIONS:
        raise NotAStencilError(f"space has {dag.dims} dimensions, more than {MOST_DIMENSIONS}", scop.location)
    return dag


class _Search:
    def __init__(self, scop: Scop, dag: StencilDag, machine: Machine, limits: Limits) -> None:
        self.scop, self.dag, self.machine, self.limits = scop, dag, machine, limits
        self.groups: list[Group] = [(k,) for k in range(len(dag.fields))]
        self._known: dict[Group, MacroNode] = {}
        self._fitting: dict[tuple[Group, Group], FusedKernel] = {}
        self._alone: dict[Group, FusedKernel] = {}

    def node(self, group: Group) -> MacroNode:
        if group not in self._known:
            self._known[group] = MacroNode(self.scop, self.dag, group)
        return self._known[group]

    # One fusion ----------------------------------------------------------------------------------------
    def step(self) -> bool:
        """Fuse the best pair; returns whether there was one."""
        best: tuple[tuple[float, ...], Group, Group] | None = None
        graph = self._graph()
        for saved, first, then in self._pairs():
            if best is not None and saved < best[0][0]:
                break
            if self._between(graph, first, then):
                continue
            kernel = self.together(first, then)
            if kernel.tile is None:
                continue
            key = (saved, *self._rank(kernel.node, kernel.tile), -first[0], -then[0])
            if best is None or key > best[0]:
                best = key, first, then
        if best is None:
            return False
        _, first, then = best
        self.groups = [g for g in self.groups if g not in (first, then)] + [_union(first, then)]
        return True

    def _pairs(self) -> Sequence[tuple[int, Group, Group]]:
        """Return the pairs whose fusion saves memory traffic, those that save most first."""
        found = ((self.saved(a, b), a, b) for a, b in combinations(sorted(self.groups), 2))
        return sorted((one for one in found if one[0] > 0), key=lambda one: (-one[0], one[1:]))

    def saved(self, first: Group, then: Group) -> int:
        """Count the bytes for a cell that fusing two groups saves."""
        apart = self.node(first).moved_bytes + self.node(then).moved_bytes
        return apart - self.node(_union(first, then)).moved_bytes

    def _rank(self, node: MacroNode, tile: Tile) -> tuple[float, ...]:
        """Rank kernels that save as much: those that take fewer planes and registers are better."""
        return (-node.exchanged_planes, -node.registers(tile), -node.shared_bytes(tile))

    # Convexity -----------------------------------------------------------------------------------------
    def _graph(self) -> Graph[int]:
        """Build the graph of the groups by first fields, with edges where one reads or overwrites another's values."""
        home = {k: group[0] for group in self.groups for k in group}
        edges = ((home[a], home[b]) for a, b in self.dag.edges if home[a] != home[b])
        return graph_of((g[0] for g in self.groups), edges)

    def _between(self, graph: Graph[int], first: Group, then: Group) -> bool:
        """Return whether a path leads from one to the other through a third."""
        ends = {first[0], then[0]}
        for a, b in ((first[0], then[0]), (then[0], first[0])):
            for other in graph[a]:
                if other not in ends and b in reached(graph, other):
                    return True
        return False

    # Limits --------------------------------------------------------------------------------------------
    @cached_property
    def _tiles(self) -> tuple[Tile, ...]:
        return tuple(tiles(self.machine, max(1, self.dag.dims - 1)))

    def alone(self, group: Group) -> FusedKernel:
        if group not in self._alone:
            self._alone[group] = self._best_tile(self.node(group), None)
        return self._alone[group]

    def together(self, first: Group, then: Group) -> FusedKernel:
        """Return the kernel of two groups; without a tile where it is slower than two or beyond the limits."""
        key = (first, then)
        if key not in self._fitting:
            node = self.node(_union(first, then))
            hazard = node.hazard()
            both = [self.alone(first), self.alone(then)]
            if hazard:
                self._fitting[key] = FusedKernel(node, None, hazard)
            elif any(k.tile is None for k in both):
                self._fitting[key] = FusedKernel(node, None, next(k.stopped for k in both if k.tile is None))
            else:
                apart = sum(k.node.seconds(k.tile, self.machine) for k in both if k.tile)
                self._fitting[key] = self._best_tile(node, apart)
        return self._fitting[key]

    def _best_tile(self, node: MacroNode, seconds: float | None) -> FusedKernel:
        """Find the fastest tile within the limits, the smallest of these, where a kernel may take `seconds`."""
        best: tuple[tuple[float, int, int], Tile] | None = None
        reasons: list[tuple[int, str]] = []
        for tile in self._tiles:
            stopped = self._stopped(node, tile, seconds)
            if stopped:
                reasons.append(stopped)
                continue
            key = (node.seconds(tile, self.machine), prod(tile.cells), prod(tile.threads))
            if best is None or key < best[0]:
                best = key, tile
        return FusedKernel(node, best[1]) if best else FusedKernel(node, None, max(reasons, key=lambda r: r[0])[1])

    def _stopped(self, node: MacroNode, tile: Tile, seconds: float | None) -> tuple[int, str] | None:
        """Return the first limit that a kernel with such tiles is beyond, as its number and text, or None."""
        return next(((k, text) for k, text in enumerate(self._beyond(node, tile, seconds)) if text), None)

    def _beyond(self, node: MacroNode, tile: Tile, seconds: float | None) -> Iterator[str]:
        """Yield for each limit how a kernel is beyond it; empty where it is not."""
        limits = self.limits
        sides = zip(tile.cells, node.overlap(tile), strict=True)
        wide = [(n, halo) for n, halo in sides if limits.halo * halo > n]
        yield f"a halo of {wide[0][1]} cells in {wide[0][0]} is more than 1/{limits.halo} of a tile" if wide else ""
        registers, threads = node.registers(tile), prod(tile.threads)
        yield _more(registers, limits.registers, "registers a thread")
        yield _more(registers * threads, limits.block_registers, "registers a block")
        yield _more(node.shared_bytes(tile), limits.shared_bytes, "bytes of shared memory a block")
        if seconds is not None:
            most, own = node.most_redundancy(seconds, self.machine), node.redundancy(tile)
            yield f"with redundancy {own:.2f}, beyond {most:.2f}, two kernels are faster" if own > most else ""

    # The result ----------------------------------------------------------------------------------------
    def result(self) -> Fusion:
        graph = self._graph()
        of_first = {g[0]: g for g in self.groups}
        ordered = [of_first[k] for k in in_order(graph, lambda k: k)]
        number = {g: n for n, g in enumerate(ordered)}
        stopped = [
            (min(number[a], number[b]), max(number[a], number[b]), self._why_apart(graph, a, b))
            for _, a, b in self._pairs()
        ]
        unfused = sum(self.node((k,)).moved_bytes for k in range(len(self.dag.fields)))
        return Fusion(tuple(map(self.alone, ordered)), tuple(stopped), self.limits, unfused)

    def _why_apart(self, graph: Graph[int], first: Group, then: Group) -> str:
        if self._between(graph, first, then):
            return "a path leads out of both and back"
        return self.together(first, then).stopped


def _union(first: Group, then: Group) -> Group:
    """Merge the fields of both groups, in the order of the DAG."""
    return tuple(sorted({*first, *then}))
