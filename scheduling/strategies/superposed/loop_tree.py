"""Loop trees: a schedule whose every loop runs through one iterator of each statement in it.

A statement below a loop runs at time `sign * iterator + shift` of that loop: permutation, reversal, retiming, fusion
and distribution can be written so, skewing and tiling cannot. Invariants: a loop has one row and one kind for each
statement below it, in the order of the Scop; each statement is in exactly one leaf; the loops around a statement run
through all its iterators, each once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from enum import Enum

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.scop import Scop, Statement

CONSTANT = -1  # the iterator of a row whose time is its shift


class Kind(Enum):
    """What one loop carries of one statement: nothing, only the statement's own reduction, or dependences."""

    FORALL = "forall"
    REDUCTION = "reduction"
    SEQUENTIAL = "sequential"


@dataclass(frozen=True, slots=True)
class Row:
    """The time of a statement in a loop: `sign * iterator + shift`, or the shift alone when `iterator` is CONSTANT."""

    statement: str
    iterator: int
    sign: int = 1
    shift: int = 0

    @property
    def is_plain(self) -> bool:
        """Return whether the time is the iterator."""
        return self.iterator != CONSTANT and (self.sign, self.shift) == (1, 0)


@dataclass(frozen=True, slots=True)
class Loop:
    """One loop over `body`, with a row and a kind for each statement below, in the order of the Scop."""

    rows: tuple[Row, ...]
    kinds: tuple[Kind, ...]
    body: Tree

    def row(self, statement: str) -> Row:
        return next(r for r in self.rows if r.statement == statement)

    def kind(self, statement: str) -> Kind:
        return next(k for r, k in zip(self.rows, self.kinds, strict=True) if r.statement == statement)

    @property
    def parallel(self) -> bool:
        """Return whether the loop carries nothing of any statement."""
        return all(k is Kind.FORALL for k in self.kinds)


@dataclass(frozen=True, slots=True)
class Sequence:
    """Subtrees one after the other, in each iteration of the loops around."""

    children: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Leaf:
    """One instance of a statement, in each iteration of the loops around."""

    statement: str


Tree = Loop | Sequence | Leaf


def statements_of(tree: Tree) -> tuple[str, ...]:
    """Return the statements of a tree, in the order of its leaves."""
    match tree:
        case Leaf(statement):
            return (statement,)
        case Sequence(children):
            return tuple(s for child in children for s in statements_of(child))
        case Loop():
            return statements_of(tree.body)


def has_loops(tree: Tree) -> bool:
    """Return whether a tree has a loop."""
    return isinstance(tree, Loop) or (isinstance(tree, Sequence) and any(has_loops(child) for child in tree.children))


def rows_of(tree: Tree, statement: str) -> tuple[tuple[Row, Kind], ...]:
    """Return the rows and kinds of the loops around a statement, outermost first."""
    return tuple((loop.row(statement), loop.kind(statement)) for loop in loops_around(tree, statement))


def loops_around(tree: Tree, statement: str) -> Iterator[Loop]:
    """Yield the loops around a statement, outermost first."""
    while not isinstance(tree, Leaf):
        if isinstance(tree, Loop):
            yield tree
            tree = tree.body
        else:
            tree = next(child for child in tree.children if statement in statements_of(child))


def in_sequence(children: Collection[Tree]) -> Tree:
    """Join the trees into a sequence; sequences in it become a part of it, and one tree stays as it is."""
    flat: list[Tree] = []
    for child in children:
        flat += child.children if isinstance(child, Sequence) else (child,)
    return flat[0] if len(flat) == 1 else Sequence(tuple(flat))


def restrict(tree: Tree, statements: Collection[str]) -> Tree:
    """Remove all other statements from the tree; returns an empty sequence when nothing is left.

    before: i [ j [S] j [T] ], for S alone
    after:  i [ j [S] ]
    """
    match tree:
        case Leaf(statement):
            return tree if statement in statements else Sequence(())
        case Sequence(children):
            return in_sequence([restrict(child, statements) for child in children])
        case Loop():
            body = restrict(tree.body, statements)
            kept = [(r, k) for r, k in zip(tree.rows, tree.kinds, strict=True) if r.statement in statements]
            if all(r.iterator == CONSTANT for r, _ in kept) and len({r.shift for r, _ in kept}) < 2:
                return body
            return Loop(tuple(r for r, _ in kept), tuple(k for _, k in kept), body)


def outline(scop: Scop, tree: Tree) -> str:
    """Format a tree in one line: a loop is its rows, each with * (forall), + (reduction) or nothing, and its body.

    Example: `S0.i* S1.i* { S0; S1.j+ S1 }`
    """
    match tree:
        case Leaf(statement):
            return statement
        case Sequence(children):
            return "{ " + "; ".join(outline(scop, child) for child in children) + " }"
        case Loop():
            rows = (_row_text(scop, r, k) for r, k in zip(tree.rows, tree.kinds, strict=True))
            return f"({' '.join(rows)}) {outline(scop, tree.body)}"


_MARKS = {Kind.FORALL: "*", Kind.REDUCTION: "+", Kind.SEQUENTIAL: ""}


def _row_text(scop: Scop, row: Row, kind: Kind) -> str:
    statement = scop.statement(row.statement)
    name = "" if row.iterator == CONSTANT else statement.iterators[row.iterator]
    shift = f"{row.shift:+d}" if row.shift or not name else ""
    return f"{'-' if row.sign < 0 else ''}{row.statement}.{name}{shift}{_MARKS[kind]}"


def time_of(statement: Statement, row: Row) -> isl.PwAff:
    """Return the time of a row, `{ S[i, j] -> [sign * iterator + shift] }`."""
    space = isl.LocalSpace.from_space(statement.domain.get_space())
    value = isl.Aff.zero_on_domain(space).set_constant_val(isl.Val(row.shift))
    if row.iterator != CONSTANT:
        value = value.set_coefficient_val(isl.dim_type.in_, row.iterator, isl.Val(row.sign))
    return isl.PwAff.from_aff(value)


def member_of(scop: Scop, rows: Collection[Row]) -> isl.UnionPwAff:
    """Return the times of all rows, as a member of a band."""
    first, *others = (isl.UnionPwAff.from_pw_aff(time_of(scop.statement(r.statement), r)) for r in rows)
    for other in others:
        first = first.union_add(other)
    return first


def to_schedule(scop: Scop, tree: Tree) -> isl.Schedule:
    """Convert the loops to an isl schedule tree without marks.

    There is a band for each loop, nests of forall loops are one permutable band, and members are coincident where the
    loop is forall for all its statements.
    """
    domain = scop.domain.intersect_params(scop.context)
    root = isl.Schedule.from_domain(domain).get_root()
    return _insert(scop, root.child(0), tree).get_schedule()


def _insert(scop: Scop, node: isl.ScheduleNode, tree: Tree) -> isl.ScheduleNode:
    """Insert the tree below `node`'s position; the result is at the same position."""
    match tree:
        case Leaf():
            return node
        case Sequence(children):
            return _insert_sequence(scop, node, children)
        case Loop():
            nest = [tree]
            while tree.parallel and isinstance(nest[-1].body, Loop) and nest[-1].body.parallel:
                nest.append(nest[-1].body)
            partial = isl.MultiUnionPwAff.from_union_pw_aff(member_of(scop, nest[0].rows))
            for loop in nest[1:]:
                partial = partial.flat_range_product(isl.MultiUnionPwAff.from_union_pw_aff(member_of(scop, loop.rows)))
            node = node.insert_partial_schedule(partial).band_set_permutable(int(len(nest) > 1 or tree.parallel))
            for i, loop in enumerate(nest):
                node = node.band_member_set_coincident(i, int(loop.parallel))
            return _insert(scop, node.child(0), nest[-1].body).parent()


def _insert_sequence(scop: Scop, node: isl.ScheduleNode, children: tuple[Tree, ...]) -> isl.ScheduleNode:
    filters = isl.UnionSetList.alloc(node.get_ctx(), len(children))
    for child in children:
        own = isl.UnionSet.empty(scop.context.get_space().params())
        for name in statements_of(child):
            own = own.union(isl.UnionSet.from_set(isl.Set.universe(scop.statement(name).domain.get_space())))
        filters = filters.add(own)
    node = node.insert_sequence(filters)
    for i, child in enumerate(children):
        node = _insert(scop, node.child(i).child(0), child).parent().parent()
    return node
