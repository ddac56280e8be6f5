"""Full and partial tiles: where a whole tile lies inside the domain, nothing is tested in it.

before: for (int v = 0; v < 4; ++v) if (32 * b + t < n && 4 * c + v < m) A[32 * b + t][4 * c + v] = x;     t in 0 .. 31
after:  if (32 * b + 32 <= n && 4 * c + 4 <= m) {
            for (int v = 0; v < 4; ++v) A[32 * b + t][4 * c + v] = x;
        } else {
            ... as before ...
        }
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce

from polytile.codegen.passes.simplify import simplify
from polytile.ir.affine_facts import Facts, implied
from polytile.ir.def_use import written_names
from polytile.ir.expr import BOOL, Binary, CType, Declare, Expr, For, If, Name, Scope, Stmt, Ternary, bodies, walk
from polytile.ir.gpu_ops import AsyncCopy, AwaitLaunches, Leave, Load, Store
from polytile.ir.kernel import Comment, Kernel
from polytile.ir.polynomial import Linear, expression
from polytile.ir.substitute import Body
from polytile.ir.verify.uniform import differing_names


def separate(kernel: Kernel, iterator: str | None = None) -> Kernel:
    """The kernel with its loops over `iterator` (or all that follows its first declarations) with and without guards.

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
        """The tile behind its test, and as it is."""
        varying = self.differing.union(written_names(*tile))
        forms: list[Linear] = []
        for form, known in _guards(tile, facts):
            least = known.least(form, varying) if varying.intersection(form) else None
            if least is not None and set(least) - {""} and least not in forms and not facts.not_negative(least):
                forms.append(least)
        if not forms:
            return tile
        test = reduce(lambda a, b: Binary("&&", a, b, BOOL), (self._bound(form) for form in forms))
        return (If(test, tile, tile),)

    def _bound(self, form: Linear) -> Expr:
        """`form >= 0`, without minus signs."""
        terms = [((name,) if name else (), factor) for name, factor in form.items()]
        left = expression({key: -factor for key, factor in terms if factor < 0}, self.types)
        return Binary("<=", left, expression({key: factor for key, factor in terms if factor > 0}, self.types), BOOL)


def _leading(stmt: Stmt) -> bool:
    """What comes before a tile: names, the wait for other kernels, and threads that leave."""
    return isinstance(stmt, AwaitLaunches | Declare | Comment) or (
        isinstance(stmt, If) and bool(stmt.then) and isinstance(stmt.then[-1], Leave)
    )


def _guards(body: Body, facts: Facts) -> Iterator[tuple[Linear, Facts]]:
    """The bounds that guards of the statements test, with what is known there."""
    for stmt in body:
        for expr, holds in _tests(stmt):
            yield from ((form, facts) for form in implied(expr, holds))
        for block in bodies(stmt):
            yield from _guards(block, facts.within(stmt) if isinstance(stmt, For) else facts)
        facts = facts.after(stmt)


def _tests(stmt: Stmt) -> Iterator[tuple[Expr, bool]]:
    """The conditions of a statement, and what each is inside the domain: an alternative of several never holds."""
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
