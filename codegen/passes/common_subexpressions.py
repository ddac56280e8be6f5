"""Index arithmetic that is written often is named once, and what a loop does not change is computed before it.

before: for (int k = 0; k < n; ++k) { if (k < l) x += s[(i * 4 + j) * p + k]; y += s[(i * 4 + j) * p + k + 1]; }
after:  const int at = (i * 4 + j) * p;
        for (int k = 0; k < n; ++k) { if (k < l) x += s[at + k]; y += s[at + k + 1]; }

Compilers do most of this themselves; not where a guard stands before an address, and not across 64-bit casts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from polytile.dataclass import dataclass
from polytile.ir.def_use import names_of, written_names
from polytile.ir.expr import Access, Binary, Cast, Declare, Expr, For, If, Literal, Name, Scope, Stmt, Unary
from polytile.ir.expr_trees import bodies, walk, with_bodies
from polytile.ir.kernel import Kernel
from polytile.ir.name_supply import fresh
from polytile.ir.substitute import Body, with_part

OPERATIONS = 2  # at least, in what gets a name


def hoist(kernel: Kernel) -> Kernel:
    """Name integer expressions of several operations that two statements of a block share.

    Only additions, subtractions, multiplications and casts: they trap nowhere, so they may be computed where a guard
    around their uses does not hold. An expression is named in the outermost block that has all its names.
    """
    return replace(kernel, body=_Hoister(set(kernel.names)).block(kernel.body))


@dataclass(frozen=True, slots=True)
class _Hoister:
    taken: set[str]

    def block(self, body: Body) -> Body:
        """Name what the statements share, outer blocks first, so that inner blocks use their names."""
        return tuple(with_bodies(stmt, self.block) for stmt in self._named(body))

    def _named(self, body: Body) -> Body:
        while (shared := _best_shared(body)) is not None:
            expr, position = shared
            name = fresh("at", self.taken)
            self.taken.add(name)
            value = Name(name, expr.type)
            rest = tuple(with_part(stmt, expr, value) for stmt in body[position:])
            body = (*body[:position], Declare(name, expr.type, expr), *rest)
        return body


def _best_shared(body: Body) -> tuple[Expr, int] | None:
    """Return the expression whose name saves most in this block, and before which statement it goes."""
    counts: Counter[Expr] = Counter()
    for stmt in body:
        counts.update(_weighted(stmt))
    for expr, count in sorted(counts.items(), key=lambda item: (item[1] - 1) * _operations(item[0]), reverse=True):
        if count < 2 or any(isinstance(s, Declare) and s.value == expr for s in body):
            continue
        position = _first_place(body, expr)
        if position is not None:
            return expr, position
    return None


def _weighted(stmt: Stmt) -> Iterator[Expr]:
    """Yield the candidates in a statement, once for each simple statement in it, twice for each in a loop."""
    times = 2 if isinstance(stmt, For) else 1
    if isinstance(stmt, For | If | Scope):
        for expr in (found for body in bodies(stmt) for part in body for found in _weighted(part)):
            yield from [expr] * times
    else:
        yield from dict.fromkeys(_candidates(stmt))


def _candidates(stmt: Stmt) -> Iterator[Expr]:
    """Yield the subscripts and parts of subscripts that are long enough to name."""
    for node in walk(stmt):
        if isinstance(node, Access):
            for subscript in node.subscripts:
                yield from (n for n in walk(subscript) if isinstance(n, Expr) and _plain(n))


def _plain(expr: Expr) -> bool:
    """Return whether an expression is made of sums and products of integers, at least `OPERATIONS` of them."""
    parts = list(walk(expr))
    simple = all(
        isinstance(n, Literal | Name | Cast) or (isinstance(n, Unary) and n.op == "-") or _arithmetic(n) for n in parts
    )
    integers = all(n.type.kind == "int" for n in parts if isinstance(n, Expr))
    return simple and integers and _operations(expr) >= OPERATIONS


def _arithmetic(node: Any) -> bool:
    return isinstance(node, Binary) and node.op in ("+", "-", "*")


def _operations(expr: Expr) -> int:
    return sum(1 for n in walk(expr) if isinstance(n, Binary))


def _first_place(body: Body, expr: Expr) -> int | None:
    """Return the first statement that uses an expression.

    None where a name of it changes in the block, or is not there yet.
    """
    names = names_of((expr,))
    uses = [i for i, stmt in enumerate(body) if any(n == expr for n in walk(stmt))]
    written = [i for i, stmt in enumerate(body) if names.intersection(written_names(stmt))]
    return uses[0] if uses and all(i < uses[0] for i in written) else None
