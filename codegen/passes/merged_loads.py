"""Arrays of which compilers may merge loads lose `__restrict__`: what one branch reads of an array that the kernel only
reads, and another branch of one that it writes.

before: f(double *__restrict__ x, const double *__restrict__ y)    x[i] = c ? y[i] : x[i - 1];
after:  f(double *x, const double *y)                              (the same)

nvcc makes that one load from `c ? &y[i] : &x[i - 1]`, and takes the array that it meets first for that of the load: it
becomes `ld.global.nc`, of memory that is never written, and finds an old value of x (seen from CUDA 12.4 to 13.5, also
where `y` is read by `__ldg`, and where either pointer alone has no `__restrict__`). Pointers that may alias are no such
memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import combinations, product

from polytile.codegen.passes.plan import LoweredPlan
from polytile.dataclass import dataclass
from polytile.ir.def_use import names_of, targets
from polytile.ir.expr import Access, Assign, Declare, For, If, Name, Node, Stmt, Ternary, While
from polytile.ir.expr_trees import bodies, rewrite, statements, walk
from polytile.ir.gpu_ops import Load
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Kernel
from polytile.machine import Machine

Branch = tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class _Read:
    """Elements of a buffer, of so many bytes."""

    buffer: str
    size: int


def merged_loads(program: HostProgram, _: Sequence[LoweredPlan], __: Machine) -> HostProgram:
    """Drop the promises of `__restrict__` for arrays of which loads may be merged."""
    return replace(program, kernels=tuple(map(without_promises, program.kernels)))


def without_promises(kernel: Kernel) -> Kernel:
    """Drop `__restrict__`, and loads of the read-only cache, for such arrays of a kernel."""
    mixed = frozenset(_mixed(kernel))
    if not mixed:
        return kernel

    def change(node: Node) -> Node:
        if isinstance(node, Load) and node.cache == "read-only" and kernel.root(node.source.array).array in mixed:
            return replace(node, cache="")
        return node

    parameters = tuple(replace(p, restrict=False) if p.buffer in mixed else p for p in kernel.parameters)
    return replace(kernel, parameters=parameters, body=tuple(rewrite(stmt, change) for stmt in kernel.body))


def _mixed(kernel: Kernel) -> Iterator[str]:
    """Yield the buffers of which branches read elements of one size, one of them written and the other not."""
    constant = {p.buffer for p in kernel.parameters if p.buffer is not None and p.const}
    written = {p.buffer for p in kernel.parameters if p.buffer is not None and not p.const}
    if not constant or not written:
        return
    buffers = constant | written
    reads: dict[Branch, frozenset[_Read]] = {}
    for one, other in _alternatives(kernel):
        for branch in (one, other):
            if branch not in reads:
                reads[branch] = frozenset(_read(kernel, branch, buffers))
        for a, b in product(reads[one], reads[other]):
            if a.size == b.size and (a.buffer in constant) != (b.buffer in constant):
                yield from (a.buffer, b.buffer)


def _alternatives(kernel: Kernel) -> Iterator[tuple[Branch, Branch]]:
    """Yield pairs of branches of which one may run instead of the other.

    They are the branches of one choice, and those that follow one another in a block and set the same variable, as
    their conditions may exclude each other.
    """
    yield from (((n.then,), (n.otherwise,)) for n in kernel.nodes if isinstance(n, Ternary))
    yield from ((n.then, n.otherwise) for n in kernel.nodes if isinstance(n, If) and n.otherwise)
    blocks = [kernel.body, *(body for stmt in statements(*kernel.body) for body in bodies(stmt))]
    for block in blocks:
        found = [(s, _set(s)) for s in block if isinstance(s, If)]
        for (one, ones), (other, others) in combinations([(s, own) for s, own in found if own], 2):
            if not ones.isdisjoint(others):
                yield from product((one.then, one.otherwise), (other.then, other.otherwise))


def _set(stmt: If) -> frozenset[str]:
    """Return the variables of the block around it that a choice sets."""
    inner = tuple(statements(*stmt.then, *stmt.otherwise))
    own = {s.name for s in inner if isinstance(s, Declare)}
    return frozenset(t.name for s in inner for t in targets(s) if isinstance(t, Name)) - own


def _read(kernel: Kernel, branch: Branch, buffers: AbstractSet[str]) -> Iterator[_Read]:
    """Yield what a branch loads from buffers, outside of its loops: no load leaves these for the branch's end."""
    nodes = list(walk(*branch))
    looped = {id(n) for s in nodes if _stays_a_loop(s) for n in walk(s)}
    stored = {id(t) for n in nodes if isinstance(n, Stmt) and not _updates(n) for t in targets(n)}
    for node in nodes:
        if id(node) in looped:
            continue
        if isinstance(node, Access) and id(node) not in stored:
            buffer = kernel.root(node.array).array
            if buffer in buffers:
                yield _Read(buffer, node.type.size)


def _stays_a_loop(node: Node) -> bool:
    """Return whether a node is a loop that compilers cannot unroll to the end."""
    if isinstance(node, For):
        return bool(names_of((node.lower, node.condition)) - {node.iterator}) or isinstance(node.step, Name)
    return isinstance(node, While)


def _updates(stmt: Stmt) -> bool:
    """Return whether a statement loads what it writes."""
    return isinstance(stmt, Assign) and bool(stmt.op)
