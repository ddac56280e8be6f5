"""Blocks under a condition on data as statements under it each, where one of them uses elements of an array that
another one sets in other iterations, and no cycle of these keeps iterations in order: loops can be distributed over
them then (if-conversion) [Allen, Kennedy, Porterfield and Warren 1983].

before: for (i) if (a[i] < 0) { if (b[i] < 0) a[i] += c[i]; b[i + 1] = c[i]; }
after:  for (i) { int p = a[i] < 0; if (p) { if (b[i] < 0) a[i] += c[i]; } if (p) b[i + 1] = c[i]; }

Of the two branches of a condition only one runs, so that either may come first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pycparser import c_ast

from polytile.frontend.ast_builders import block, declared, names_in, unused
from polytile.frontend.jump_elimination import LOOPS
from polytile.frontend.parse import nodes_below
from polytile.frontend.sums import linear
from polytile.frontend.trees import WRITING, address_taken, alike, block_items, copied, statements_below, written_name
from polytile.frontend.trip_counts import count_of
from polytile.ir.digraph import edge_of_a_cycle, graph_of

_STATEMENTS = (c_ast.Assignment, c_ast.If, c_ast.UnaryOp, c_ast.EmptyStatement, c_ast.Compound)


def with_distributed_conditions(body: Sequence[c_ast.Node]) -> tuple[c_ast.Node, ...]:
    """The statements of a SCoP, with such blocks in loops taken apart, in place."""
    taken = names_in(body)
    for loop in (n for node in body for n in statements_below(node) if isinstance(n, c_ast.For)):
        items = block_items(loop.stmt)
        count = count_of(loop)
        down = count.name if count is not None and count.step < 0 else ""
        made = [part for item in items for part in _apart(item, down, taken)]
        if len(made) > len(items):
            loop.stmt = block(made, loop.stmt.coord)
    return tuple(body)


def _apart(node: c_ast.Node, down: str, taken: set[str]) -> list[c_ast.Node]:
    """A statement of a loop, or what it becomes; `down` is the iterator of a loop that counts down."""
    if not isinstance(node, c_ast.If) or not _reads(node.cond) or _is_indivisible(node):
        return [node]
    branches = [(_flat(node.iftrue), False), (_flat(node.iffalse), True)]
    for order in (branches, branches[::-1]):
        parts = [node.cond, *(item for items, _ in order for item in items)]
        if len(parts) > 2 and _can_be_distributed(parts, down):
            return list(_guarded(node.cond, order, taken))
    return [node]


def _guarded(
    condition: c_ast.Node, branches: Sequence[tuple[list[c_ast.Node], bool]], taken: set[str]
) -> Iterator[c_ast.Node]:
    holds = unused("holds", taken)
    yield declared(holds, "int", c_ast.BinaryOp("!=", copied(condition), c_ast.Constant("int", "0")))
    for items, negated in branches:
        for item in items:
            test: c_ast.Node = c_ast.ID(holds)
            test = c_ast.UnaryOp("!", test) if negated else test
            yield c_ast.If(test, c_ast.Compound([item]), None)


def _flat(node: c_ast.Node | None) -> list[c_ast.Node]:
    """The statements of a branch, without blocks and empty statements."""
    items = block_items(node)
    return [
        part
        for item in items
        for part in (_flat(item) if isinstance(item, c_ast.Compound) else [item])
        if not isinstance(part, c_ast.EmptyStatement)
    ]


def _is_indivisible(node: c_ast.If) -> bool:
    """Whether something in a condition's block is more than assignments to elements, and conditions."""
    parts = [n for branch in (node.iftrue, node.iffalse) for n in nodes_below(branch)]
    others = (*LOOPS, c_ast.Switch, c_ast.Decl, c_ast.Break, c_ast.Continue, c_ast.Goto, c_ast.Label, c_ast.Return)
    if any(isinstance(n, others) or address_taken(n) or written_name(n) for n in (*parts, *nodes_below(node.cond))):
        return True
    items = [*_flat(node.iftrue), *_flat(node.iffalse)]
    return not all(isinstance(item, _STATEMENTS) for item in items)


def _reads(condition: c_ast.Node) -> bool:
    return any(isinstance(n, c_ast.ArrayRef) for n in nodes_below(condition))


# Elements ------------------------------------------------------------------------------------------------------------
def _can_be_distributed(parts: Sequence[c_ast.Node], down: str) -> bool:
    """Whether some of the parts, in this order, meet in elements of different iterations, and the order in which they
    do has no cycle, as far as constant distances tell."""
    edges: set[tuple[int, int]] = set()
    apart = False
    for k, part in enumerate(parts):
        for later, other in enumerate(parts[k:], k):
            for distance in _distances(part, other, down):
                if distance is None or (k == later and distance):
                    return False
                apart = apart or distance != 0
                if k != later:
                    edges.add((k, later) if distance >= 0 else (later, k))
    edges |= {(0, k) for k in range(1, len(parts))}
    return apart and edge_of_a_cycle(graph_of(range(len(parts)), edges)) is None


def _distances(one: c_ast.Node, other: c_ast.Node, down: str) -> Iterator[int | None]:
    """By how many iterations a part comes before another one where both use an element, and one of them sets it; None
    where that is not known."""
    for name, element, sets in _elements(one):
        for same, another, also in _elements(other):
            if name == same and (sets or also):
                yield 0 if alike(element, another) else _ahead(element, another, down)


def _ahead(one: c_ast.Node, other: c_ast.Node, down: str) -> int | None:
    """The distance of a[i + 3] from a[i] in the first subscript that is not the same, in the order of iterations."""
    if not isinstance(one, c_ast.ArrayRef) or not isinstance(other, c_ast.ArrayRef):
        return 0 if alike(one, other) else None
    outer = _ahead(one.name, other.name, down)
    if outer or outer is None:
        return outer
    first, second = linear(one.subscript), linear(other.subscript)
    if first is None or second is None or first[0] != second[0]:
        return 0 if alike(one.subscript, other.subscript) else None
    return second[1] - first[1] if first[0] == down else first[1] - second[1]


def _elements(node: c_ast.Node) -> Iterator[tuple[str, c_ast.Node, bool]]:
    """The elements that a statement uses, with their arrays, and whether it sets them."""
    targets = {id(t) for n in nodes_below(node) if (t := _target(n)) is not None}
    inner = {id(n.name) for n in nodes_below(node) if isinstance(n, c_ast.ArrayRef)}
    for n in nodes_below(node):
        if isinstance(n, c_ast.ArrayRef) and id(n) not in inner:
            base: Any = n
            while isinstance(base, c_ast.ArrayRef):
                base = base.name
            if isinstance(base, c_ast.ID):
                yield str(base.name), n, id(n) in targets


def _target(node: c_ast.Node) -> c_ast.Node | None:
    if isinstance(node, c_ast.Assignment):
        found: c_ast.Node = node.lvalue
        return found
    return node.expr if isinstance(node, c_ast.UnaryOp) and node.op in WRITING else None
