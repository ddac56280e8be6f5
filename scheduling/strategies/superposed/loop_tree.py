"""Loop trees: a schedule whose every loop runs through one iterator of each statement in it.

A statement below a loop runs at time `sign * iterator + shift` of that loop: permutation, reversal, retiming, fusion
and distribution can be written so, skewing and tiling cannot. Invariants: a loop has one row and one kind for each
statement below it, in the order of the Scop; each statement is in exactly one leaf; the loops around a statement run
through all its iterators, each once.

The source's own order as a loop tree, for what no other order was found for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from enum import Enum

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.isl_util import band_members, constant_value, sets
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


class NoLoopTreeError(Exception):
    """The order of the source is no loop tree: some loop runs through no single iterator of a statement."""


def original_tree(scop: Scop) -> Tree:
    """Return the loops of the source, all SEQUENTIAL, nothing being known of their dependences.

    Raises NoLoopTreeError, for example for a skewed schedule that came as isl text.
    """
    return _tree(scop, scop.schedule.get_root(), scop.domain)


def _tree(scop: Scop, node: isl.ScheduleNode, within: isl.UnionSet) -> Tree:
    kind = node.get_type()
    if kind == isl.schedule_node_type.leaf:
        names = [s.get_tuple_name() for s in sets(within)]
        if len(names) != 1:
            raise NoLoopTreeError(f"{scop.name}: {names} run at once")
        return Leaf(names[0])
    if kind == isl.schedule_node_type.band:
        body = _tree(scop, node.child(0), within)
        for member in reversed(band_members(node)):
            rows = tuple(_row(scop, name, member) for name in _names(scop, within))
            body = Loop(rows, (Kind.SEQUENTIAL,) * len(rows), body)
        return body
    if kind in (isl.schedule_node_type.sequence, isl.schedule_node_type.set):
        return _children(scop, node, within)
    return _tree(scop, node.child(0), within)


def _children(scop: Scop, node: isl.ScheduleNode, within: isl.UnionSet) -> Tree:
    trees, seen = [], isl.UnionSet.empty(within.get_space())
    for i in range(node.n_children()):
        own = within.intersect(node.child(i).filter_get_filter())
        if any(name in set(_names(scop, seen)) for name in _names(scop, own)):
            raise NoLoopTreeError(f"{scop.name}: a statement runs in pieces")
        seen = seen.union(own)
        if _names(scop, own):
            trees.append(_tree(scop, node.child(i).child(0), own))
    return in_sequence(trees)


def _names(scop: Scop, domain: isl.UnionSet) -> list[str]:
    found = {s.get_tuple_name() for s in sets(domain)}
    return [s.name for s in scop.statements if s.name in found]


def _row(scop: Scop, name: str, member: isl.UnionPwAff) -> Row:
    values: list[isl.PwAff] = []
    member.foreach_pw_aff(values.append)
    (value,) = (v for v in values if v.get_domain_space().get_tuple_name(isl.dim_type.set) == name)
    constant = constant_value(value)
    if constant is not None:
        return Row(name, CONSTANT, 1, constant)
    pieces: list[isl.Aff] = []
    value.foreach_piece(lambda _domain, aff: pieces.append(aff))
    for iterator in range(len(scop.statement(name).iterators)):
        for sign in (1, -1):
            rest = pieces[0].add_coefficient_val(isl.dim_type.in_, iterator, isl.Val(-sign))
            if len(pieces) == 1 and rest.is_cst():
                return Row(name, iterator, sign, int(rest.get_constant_val().to_python()))
    raise NoLoopTreeError(f"{scop.name}: {name} runs along {value}")
