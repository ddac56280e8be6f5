"""What a loop carries: from the distances of the dependences still active, whether each statement in it may run in any
order, as a reduction, or in order only [Shirako, Hayashi, Sarkar 2017, section 5.3].
"""

from __future__ import annotations

from collections.abc import Iterable

from polytile.diagnostics import InternalError
from polytile.ir.scop import Scop
from polytile.scheduling.strategies.superposed.distances import Edge, among, together
from polytile.scheduling.strategies.superposed.loop_tree import Kind, Leaf, Loop, Row, Sequence, Tree, statements_of


def kinds_of(rows: Iterable[Row], edges: Iterable[Edge]) -> dict[str, Kind] | None:
    """Classify a loop for each statement in it, from the edges between them that no loop around it has carried.

    FORALL: no dependence of the statement crosses iterations. REDUCTION: only between instances of its own reduction.
    SEQUENTIAL: others do, all of them forward. None: some dependence runs backward, and the loop is illegal.
    """
    by_name = {row.statement: row for row in rows}
    kinds = dict.fromkeys(by_name, Kind.FORALL)
    for edge in edges:
        least, most = edge.distance(by_name)
        if (least, most) == (0, 0):
            continue
        if not edge.relaxed:
            if least is None or least < 0:
                return None
            kinds[edge.source] = kinds[edge.sink] = Kind.SEQUENTIAL
        elif kinds[edge.source] is Kind.FORALL:
            kinds[edge.source] = Kind.REDUCTION
    return kinds


def loop_over(scop: Scop, rows: Iterable[Row], edges: Iterable[Edge], body: Tree) -> Loop | None:
    """Build a loop with these rows and their kinds; None where it is illegal."""
    rows = tuple(rows)
    kinds = kinds_of(rows, edges)
    if kinds is None:
        return None
    position = {s.name: i for i, s in enumerate(scop.statements)}
    ordered = tuple(sorted(rows, key=lambda row: position[row.statement]))
    return Loop(ordered, tuple(kinds[row.statement] for row in ordered), body)


def labelled(scop: Scop, tree: Tree, edges: list[Edge]) -> Tree:
    """Label the tree's loops with their kinds, given the edges that nothing around it has carried.

    Raises InternalError where the tree runs a dependence backward, or leaves it open.
    """
    match tree:
        case Leaf():
            if any(not edge.relaxed for edge in edges):
                raise InternalError(f"{scop.name}: a loop tree leaves the order of {tree.statement} open")
            return tree
        case Sequence(children):
            place = {name: i for i, child in enumerate(children) for name in statements_of(child)}
            if any(not edge.relaxed and place[edge.source] > place[edge.sink] for edge in edges):
                raise InternalError(f"{scop.name}: a loop tree runs {statements_of(tree)} in another order")
            return Sequence(tuple(labelled(scop, child, among(edges, statements_of(child))) for child in children))
        case Loop():
            # A sum over a is one over b, too, in `for (a) for (b) if (a == b) s += x[a];`: each block has some of both.
            sums = [edge for edge in edges if edge.relaxed]
            kept = [edge for edge in together(edges, tree.rows) if not edge.relaxed]
            body = labelled(scop, tree.body, [*kept, *sums])
            found = loop_over(scop, tree.rows, edges, body)
            if found is None:
                raise InternalError(f"{scop.name}: a loop of {statements_of(tree)} runs a dependence backward")
            return found
