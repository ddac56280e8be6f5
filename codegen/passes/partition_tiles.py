"""Full and partial tiles: where a whole tile lies inside the domain, nothing is tested in it.

before: for (int v = 0; v < 4; ++v) if (32 * b + t < n && 4 * c + v < m) A[32 * b + t][4 * c + v] = x;     t in 0 .. 31
after:  if (32 * b + 32 <= n && 4 * c + 4 <= m) {
            for (int v = 0; v < 4; ++v) A[32 * b + t][4 * c + v] = x;
        } else {
            ... as before ...
        }
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import reduce

from polytile.codegen.passes.plan import Context, LoweredPlan, iterator_of
from polytile.codegen.passes.simplify import simplify
from polytile.dataclass import dataclass
from polytile.ir.affine_facts import Facts, implied
from polytile.ir.def_use import names_of, written_names
from polytile.ir.expr import BOOL, Access, Binary, CType, Declare, Expr, For, If, Name, Node, Scope, Stmt, Ternary
from polytile.ir.expr_trees import bodies, walk, with_bodies
from polytile.ir.gpu_ops import AsyncCopy, AwaitLaunches, Leave, Load, Store
from polytile.ir.kernel import Barrier, Comment, Kernel
from polytile.ir.memory import Space
from polytile.ir.polynomial import Linear, expression
from polytile.ir.substitute import Body
from polytile.ir.verify.uniform import differing_names


def partition_tiles(kernel: Kernel, plan: LoweredPlan, _: Context) -> Kernel:
    """Run full tiles without guards, partial ones with them."""
    if plan.tiled:
        return separate_parts(kernel, plan.partitioned)
    for label in plan.partitioned:
        kernel = separate(kernel, iterator_of(kernel, label))
    return kernel


def separate_parts(kernel: Kernel, labels: Collection[str]) -> Kernel:
    """Run parts between barriers without guards where a block has a full tile.

    Loops around barriers, and those with these labels, are looked into.

    before: for (k0) { fill(k0) if i < n; barrier; for (k < 16) if (16 * k0 + k < m) S(k); barrier; }
    after:  for (k0) {
                if (32 * b + 32 <= n) fill(k0); else fill(k0) if i < n;
                barrier;
                if (16 * k0 + 16 <= m) for (k < 16) S(k); else for (k < 16) if (16 * k0 + k < m) S(k);
                barrier;
            }
    """
    facts = Facts.of(kernel.known_ranges, kernel.changing)
    types = {n.name: n.type for n in kernel.nodes if isinstance(n, Name)}
    registers = frozenset(s.array for s in kernel.storage if s.space is Space.PRIVATE)
    parts = _Parts(_Separator(None, differing_names(kernel), types), frozenset(labels), registers)
    return simplify(replace(kernel, body=parts.block(kernel.body, facts)))


@dataclass(frozen=True, slots=True)
class _Parts:
    """Full tiles apart, part after part."""

    tests: _Separator
    labels: frozenset[str]
    registers: frozenset[str]

    def block(self, body: Body, facts: Facts) -> Body:
        out: list[Stmt] = []
        part: list[Stmt] = []
        start = facts
        for stmt in (*body, None):
            if stmt is None or self._ends(stmt):
                out += self._both(tuple(part), start)
                if stmt is None:
                    break
                out.append(self._inside(stmt, facts))
                part, start = [], facts.after(stmt)
            else:
                part.append(stmt)
            facts = facts.after(stmt)
        return tuple(out)

    def _ends(self, stmt: Stmt) -> bool:
        """Return whether a statement is no part of a tile: names, barriers, and loops around these or over tiles."""
        return _leading(stmt) or any(isinstance(n, Barrier) or self._is_over_tiles(n) for n in walk(stmt))

    def _is_over_tiles(self, node: Node) -> bool:
        """Return whether a node is a loop with one of the labels, or strides over what is left of the grid."""
        return isinstance(node, For) and (node.label in self.labels or isinstance(node.step, Name))

    def _inside(self, stmt: Stmt, facts: Facts) -> Stmt:
        match stmt:
            case For(step=Name(), body=body):  # blocks stride over what is left of the grid
                within = facts.with_range(stmt.iterator, None, None).where(stmt.condition)
                return replace(stmt, body=self.block(body, within))
            case For(body=body):
                return replace(stmt, body=self.block(body, facts.within(stmt)))
            case If(condition=condition, then=then, otherwise=otherwise):
                then = self.block(then, facts.where(condition))
                return replace(stmt, then=then, otherwise=self.block(otherwise, facts.where(condition, False)))
            case Scope(body=body):
                return replace(stmt, body=self.block(body, facts))
        return stmt

    def _both(self, part: Body, facts: Facts) -> Body:
        test = self.tests.test(part, facts) if part else None
        return part if test is None else (If(test, part, tuple(self._rolled(stmt) for stmt in part)),)

    def _rolled(self, stmt: Stmt) -> Stmt:
        """Unroll only what a partial tile needs.

        These are its copies, so that loads wait at the same time, and of the schedule's loops those that registers
        need.
        """
        stmt = with_bodies(stmt, lambda body: tuple(self._rolled(inner) for inner in body))
        if isinstance(stmt, For) and stmt.unroll is not None and self._is_planned(stmt) and not self._selects(stmt):
            return replace(stmt, unroll=1)
        return stmt

    def _is_planned(self, loop: For) -> bool:
        """Return whether a loop is one of the schedule's, not of a copy: their labels have a colon."""
        return bool(loop.label) and ":" not in loop.label

    def _selects(self, loop: For) -> bool:
        """Return whether the iterator is in a subscript of an array of registers."""
        found = (n for n in walk(*loop.body) if isinstance(n, Access) and n.array in self.registers)
        return any(loop.iterator in names_of(access.subscripts) for access in found)


def separate(kernel: Kernel, iterator: str | None = None) -> Kernel:
    """Split loops over `iterator` (or all after a kernel's first declarations) into full and partial tiles.

    The test is the same for all threads of a block. Guards that are no affine bounds, or bounds of what has no bound
    itself, stay. Where no guard goes, nothing changes but what `simplify` does.
    """
    facts = Facts.of(kernel.known_ranges, kernel.changing)
    types = {n.name: n.type for n in kernel.nodes if isinstance(n, Name)}
    separator = _Separator(iterator, differing_names(kernel), types)
    return simplify(replace(kernel, body=separator.block(kernel.body, facts)))


@dataclass(frozen=True, slots=True)
class _Separator:
    iterator: str | None
    differing: frozenset[str]
    types: dict[str, CType]

    def block(self, body: Body, facts: Facts) -> Body:
        out: list[Stmt] = []
        for position, stmt in enumerate(body):
            if self.iterator is None and not _leading(stmt):
                return (*out, *self._both(body[position:], facts))
            out += self._statement(stmt, facts)
            facts = facts.after(stmt)
        return tuple(out)

    def _statement(self, stmt: Stmt, facts: Facts) -> Body:
        match stmt:
            case For(iterator=iterator) if iterator == self.iterator:
                return self._both((stmt,), facts)
            case For(body=body):
                return (replace(stmt, body=self.block(body, facts.within(stmt))),)
            case If(condition=condition, then=then, otherwise=otherwise) if self.iterator is not None:
                then = self.block(then, facts.where(condition))
                return (replace(stmt, then=then, otherwise=self.block(otherwise, facts.where(condition, False))),)
            case Scope(body=body):
                return (replace(stmt, body=self.block(body, facts)),)
        return (stmt,)

    def _both(self, tile: Body, facts: Facts) -> Body:
        """Return the tile below its test, and as it is."""
        test = self.test(tile, facts)
        return tile if test is None else (If(test, tile, tile),)

    def test(self, tile: Body, facts: Facts) -> Expr | None:
        """Build the test that no guard of a tile is needed, for all threads of a block; None for no test."""
        varying = self.differing.union(written_names(*tile))
        forms: list[Linear] = []
        for form, known in _guards(tile, facts):
            least = known.least(form, varying) if varying.intersection(form) else None
            if least is not None and set(least) - {""} and least not in forms and not facts.not_negative(least):
                forms.append(least)
        if not forms:
            return None
        return reduce(lambda a, b: Binary("&&", a, b, BOOL), (self._bound(form) for form in forms))

    def _bound(self, form: Linear) -> Expr:
        """Build `form >= 0`, without minus signs."""
        terms = [((name,) if name else (), factor) for name, factor in form.items()]
        left = expression({key: -factor for key, factor in terms if factor < 0}, self.types)
        return Binary("<=", left, expression({key: factor for key, factor in terms if factor > 0}, self.types), BOOL)


def _leading(stmt: Stmt) -> bool:
    """Return whether a statement precedes a tile: names, the wait for other kernels, and threads that leave."""
    return isinstance(stmt, AwaitLaunches | Declare | Comment) or (
        isinstance(stmt, If) and bool(stmt.then) and isinstance(stmt.then[-1], Leave)
    )


def _guards(body: Body, facts: Facts) -> Iterator[tuple[Linear, Facts]]:
    """Yield the bounds that guards of the statements test, with what is known there."""
    for stmt in body:
        for expr, holds in _tests(stmt):
            yield from ((form, facts) for form in implied(expr, holds))
        for block in bodies(stmt):
            yield from _guards(block, facts.within(stmt) if isinstance(stmt, For) else facts)
        facts = facts.after(stmt)


def _tests(stmt: Stmt) -> Iterator[tuple[Expr, bool]]:
    """Yield the conditions of a statement, and what each is inside the domain.

    An alternative of several never holds.
    """
    match stmt:
        case If(condition=condition):
            yield condition, not _alternative(condition)
        case Load(guard=guard) | Store(guard=guard) | AsyncCopy(guard=guard) if guard is not None:
            yield guard, True
    for node in () if bodies(stmt) else walk(stmt):
        if (
            isinstance(node, Ternary)
            and isinstance(node.condition, Binary)
            and node.condition.op in ("&&", "||", "&", "|")
        ):
            yield node.condition, not _alternative(node.condition)


def _alternative(condition: Expr) -> bool:
    return isinstance(condition, Binary) and condition.op in ("||", "|")
