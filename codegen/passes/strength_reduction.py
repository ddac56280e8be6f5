"""Running pointers: 64-bit addresses are computed once, before a loop, and then move with it.

before: for (int i = l; i < n; ++i)
            ... A[(long long)(i + 1) * m + j] ... A[(long long)i * m + j - 1] ...
after:  const double *p_A = &A[(long long)l * m + j];
        for (int i = l; i < n; ++i) {
            ... p_A[m] ... p_A[-1] ...
            p_A += m;
        }
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import field, replace
from typing import Any

from polytile.codegen.passes.index_width import intervals, widened
from polytile.codegen.passes.plan import Context, LoweredPlan
from polytile.dataclass import dataclass
from polytile.ir.arith import lift
from polytile.ir.def_use import targets, written_names
from polytile.ir.expr import Access, CType, Expr, For, Name, Node, Stmt
from polytile.ir.expr_trees import rewrite, walk, with_bodies
from polytile.ir.gpu_ops import Advance, Pointer
from polytile.ir.kernel import Kernel
from polytile.ir.memory import Space
from polytile.ir.name_supply import fresh
from polytile.ir.polynomial import (
    Polynomial,
    degree,
    difference,
    expression,
    index_polynomial,
    size,
    slope,
    times,
    without,
)
from polytile.ir.ranges import Intervals
from polytile.ir.substitute import Body, substituted_expr


def strength_reduction(kernel: Kernel, _: LoweredPlan, __: Context) -> Kernel:
    """Address elements in loops by running pointers."""
    return point(kernel)


def point(kernel: Kernel, arrays: Collection[str] | None = None) -> Kernel:
    """Use running pointers into a kernel's global arrays (those of `arrays`), from inner loops to outer ones.

    An offset is a sum of multiples of names, in 32 bits where the ranges of the kernel show that they do.
    """
    roots: list[Node] = [*kernel.body, *(e for s in kernel.storage for e in s.extents if e is not None)]
    types = {n.name: n.type for n in walk(*roots) if isinstance(n, Name)}
    pointing = _Pointing(kernel, arrays, intervals(kernel), types, set(kernel.names))
    return replace(kernel, body=pointing.block(kernel.body))


@dataclass(frozen=True, slots=True)
class _Group:
    """Accesses of one array that a single pointer serves, the pointer being where `base` is."""

    base: Access
    at: Polynomial
    offsets: dict[Access, Polynomial] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Pointing:
    kernel: Kernel
    arrays: Collection[str] | None
    known: Intervals
    types: Mapping[str, CType]
    names: set[str]

    def block(self, body: Body) -> Body:
        inside = (with_bodies(stmt, self.block) for stmt in body)
        return tuple(done for stmt in inside for done in (self._loop(stmt) if isinstance(stmt, For) else (stmt,)))

    def _loop(self, loop: For) -> Body:
        """Return the loop after the pointers that it moves."""
        inside = frozenset(written_names(*loop.body))
        if loop.iterator in inside or loop.unroll == 0 or isinstance(loop.step, Name):
            return (loop,)
        before: list[Stmt] = []
        behind: list[Stmt] = []
        for group in self._groups(loop, inside):
            stride = self._stride(loop, group.at)
            if stride is None:
                continue
            pointer = self._pointer(loop, group, inside)
            loop = replace(loop, body=_through(loop.body, group, pointer.name, self))
            before.append(pointer)
            behind.append(Advance(pointer.name, widened(stride, self.known)))
        return (*before, replace(loop, body=(*loop.body, *behind)))

    def _stride(self, loop: For, at: Polynomial) -> Expr | None:
        """Return how far the pointer moves in an iteration; None where it does not, or not evenly."""
        by = slope(at, loop.iterator)
        return expression(times(by, {(): loop.step}), self.types) if by and isinstance(loop.step, int) else None

    def _pointer(self, loop: For, group: _Group, inside: frozenset[str]) -> Pointer:
        name = fresh(f"p_{group.base.array}", self.names)
        self.names.add(name)
        start = {loop.iterator: loop.lower, **dict.fromkeys(inside, lift(0))}
        subscripts = tuple(widened(substituted_expr(s, start), self.known) for s in group.base.subscripts)
        nodes = list(walk(*loop.body))
        written = {t for n in nodes for t in targets(n)}
        written |= {n.target for n in nodes if isinstance(n, Pointer) and not n.const}
        const = written.isdisjoint(group.offsets)
        return Pointer(name, replace(group.base, subscripts=subscripts), const, loop.location)

    # What one pointer can serve -------------------------------------------------------------------
    def _groups(self, loop: For, inside: frozenset[str]) -> list[_Group]:
        """Group accesses that differ by 32-bit offsets; each group's base is where its offsets are shortest."""
        found = list(self._accesses(loop.body))
        groups: list[_Group] = []
        for access, at in found:
            group = next((g for g in groups if self._offset(access, at, g, loop.iterator) is not None), None)
            if group is None:
                fixed = without(at, inside)
                group = _Group(access, fixed)
                if slope(fixed, loop.iterator) is None or self._offset(access, at, group, loop.iterator) is None:
                    continue
                groups.append(group)
            group.offsets[access] = at
        return [self._centred(g, inside, loop.iterator) for g in groups]

    def _centred(self, group: _Group, inside: frozenset[str], iterator: str) -> _Group:
        """Return the group with the base among its accesses that makes the offsets shortest."""

        def cost(base: Polynomial) -> int:
            return sum(size(difference(at, base)) for at in group.offsets.values())

        base = min(group.offsets, key=lambda access: cost(without(group.offsets[access], inside)))
        fixed = without(group.offsets[base], inside)
        offsets: dict[Access, Polynomial] = {access: difference(at, fixed) for access, at in group.offsets.items()}
        return _Group(base, fixed, offsets)

    def _offset(self, access: Access, at: Polynomial, group: _Group, iterator: str) -> Polynomial | None:
        """Return how far an access is from where the group's pointer is, if 32 bits may say it; else None."""
        if access.array != group.base.array:
            return None
        offset = difference(at, group.at)
        if any(iterator in key for key in offset):
            return None
        short = degree(offset) <= 1 or self.known.fits_int(expression(offset, self.types))
        return offset if short else None

    def _accesses(self, body: Body) -> Iterable[tuple[Access, Polynomial]]:
        """Return the global elements in the body whose index is a polynomial, each once."""
        seen: dict[Access, Polynomial] = {}
        for node in walk(*body):
            if not isinstance(node, Access) or node in seen or node.field is not None or not self._wanted(node.array):
                continue
            at = index_polynomial(self.kernel, node)
            if at is not None:
                seen[node] = at
        return seen.items()

    def _wanted(self, array: str) -> bool:
        if self.arrays is not None and array not in self.arrays:
            return False
        return array in {s.array for s in self.kernel.storage} and self.kernel.storage_of(array).space is Space.GLOBAL

    def offset(self, at: Polynomial) -> Expr:
        return widened(expression(at, self.types), self.known)


def _through(body: Body, group: _Group, pointer: str, pointing: _Pointing) -> Body:
    """Address the group's accesses in a body through the pointer."""

    def change(node: Any) -> Any:
        if isinstance(node, Access) and node in group.offsets:
            return replace(node, array=pointer, subscripts=(pointing.offset(group.offsets[node]),))
        return node

    return tuple(rewrite(stmt, change) for stmt in body)
