"""Stores of what has left the cache before another kernel comes to it.

before: bool aligned = ...;
        if (aligned) *(float4 *)&A[i][j] = make_float4(...);
after:  bool aligned = ..., leaving = i < n / 2 && (long long)n * m > 12582912;
        if (aligned) { if (leaving) __stcs((float4 *)&A[i][j], make_float4(...)); else *(float4 *)&A[i][j] = ...; }

A kernel runs through its arrays in one direction, and the next one in the other (`block_order.py`): of an array larger
than the cache, what is stored first is not found there again. Stored as what leaves the cache first it makes room for
what is stored last, and less is waited for: gemver at EXTRALARGE in single precision takes 50.9 us in place of 52.0
with half of A stored so (H200). In double precision half gains nothing, and 81% cost 0.9 us.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from polytile.codegen.passes.block_order import runs_backwards
from polytile.codegen.passes.plan import LoweredPlan
from polytile.ir.arith import both
from polytile.ir.def_use import names_of
from polytile.ir.expr import BOOL, INT, LLONG, Access, Binary, Cast, Declare, Expr, If, Literal, Name, Stmt
from polytile.ir.expr_trees import rewrite, statements, walk, with_bodies
from polytile.ir.fold import folded
from polytile.ir.gpu_ops import Aligned, Store
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Kernel
from polytile.ir.memory import Space
from polytile.ir.name_supply import fresh
from polytile.machine import Machine


def kernel_cache_hints(program: HostProgram, _: Sequence[LoweredPlan], machine: Machine) -> HostProgram:
    """Store what has left the cache before the next kernel comes to it so that it leaves first."""
    return leaving(program, machine.tuning.resident_bytes)


def leaving(program: HostProgram, resident_bytes: int) -> HostProgram:
    """Let kernels store vectors of the first half of large arrays so that they leave the cache first.

    Large are arrays of more than `resident_bytes`: L2 does not have all of them when the next kernel comes to them.
    """
    return replace(program, kernels=tuple(_changed(kernel, resident_bytes) for kernel in program.kernels))


def _changed(kernel: Kernel, resident_bytes: int) -> Kernel:
    if not any(isinstance(node, Store) for node in kernel.nodes):
        return kernel
    return replace(kernel, body=tuple(s for stmt in kernel.body for s in _in_bodies((stmt,), kernel, resident_bytes)))


def _in_bodies(body: tuple[Stmt, ...], kernel: Kernel, resident_bytes: int) -> tuple[Stmt, ...]:
    """Change the stores in the bodies of batches, which begin by asking whether their vectors are aligned."""
    place = next((k for k, s in enumerate(body) if isinstance(s, Declare) and _asks(s)), None)
    if place is None:
        return tuple(with_bodies(s, lambda inner: _in_bodies(inner, kernel, resident_bytes)) for s in body)
    names: dict[str, Name] = {}
    start: list[Stmt] = []
    for store in _stores(body, kernel):
        known = store.target.array in names
        early = None if known else _is_early(store.target, kernel, resident_bytes)
        if early is not None:
            names[store.target.array] = Name(fresh(f"leaving{len(names) or ''}", kernel.names), BOOL)
            start.append(Declare(names[store.target.array].name, BOOL, early))
    rest = tuple(_leaving(s, names) for s in body[place + 1 :]) if names else body[place + 1 :]
    return (*body[: place + 1], *start, *rest)


def _asks(stmt: Declare) -> bool:
    return stmt.value is not None and any(isinstance(n, Aligned) for n in walk(stmt.value))


def _stores(body: tuple[Stmt, ...], kernel: Kernel) -> Iterator[Store]:
    """Yield the vectors that a batch stores to arrays in memory, at places that are known where it begins."""
    inside = {n.name for n in statements(*body) if isinstance(n, Declare)}
    for node in walk(*body):
        if isinstance(node, Store) and not node.cache and kernel.storage_of(node.target.array).space is Space.GLOBAL:
            parts = [n for s in node.target.subscripts for n in walk(s)]
            if not any(isinstance(n, Access) or (isinstance(n, Name) and n.name in inside) for n in parts):
                yield node


def _is_early(target: Access, kernel: Kernel, resident_bytes: int) -> Expr | None:
    """Build the test that an array is large, and an element in the half that the kernel comes to first.

    None where the array's size is unknown.
    """
    outermost, *inner = kernel.storage_of(target.array).extents
    first, known = target.subscripts[0], {p.name for p in kernel.parameters}
    extents = [e for e in (outermost, *inner) if e is not None and names_of((e,)) <= known]
    if len(extents) != len(target.subscripts):
        return None
    before = Binary("-", extents[0], first, first.type) if runs_backwards(kernel) else first
    count: Expr = Cast(LLONG, extents[0])
    for extent in extents[1:]:
        count = Binary("*", count, extent, LLONG)
    large = Binary(">", count, Literal(str(resident_bytes // target.type.size), LLONG), BOOL)
    half = Binary("/", extents[0], Literal("2", INT), extents[0].type)
    return both(Binary("<", folded(before), half, BOOL), large)


def _leaving(stmt: Stmt, names: Mapping[str, Name]) -> Stmt:
    """Return the statement with its stores in both ways."""

    def change(node: object) -> object:
        name = names.get(node.target.array) if isinstance(node, Store) and not node.cache else None
        if name is None or not isinstance(node, Store):
            return node
        return If(name, (replace(node, cache="streaming"),), (node,))

    result: Stmt = rewrite(stmt, change)
    return result
