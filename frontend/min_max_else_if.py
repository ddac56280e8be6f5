"""A least and a greatest value, one of which is only looked at where the other is not changed, as two conditions.

before: lo = hi = x[0]; for (i) if (x[i] < lo) lo = x[i]; else if (x[i] > hi) hi = x[i];
after:  lo = hi = x[0]; for (i) { if (x[i] < lo) lo = x[i]; if (x[i] > hi) hi = x[i]; }

What is below lo is not above hi while lo <= hi, or one of them is no number. They start so, and stay so: lo only
becomes what is below it, hi what is above it. Where nothing says that lo <= hi before the loop, as for lo = 9 and
hi = -9, the two are different programs: of 3, 2, 1 the first one leaves hi = -9.

Where the function sets both before the SCoP, this does so again, `hi = lo;`: it may be called with others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.assumptions import keeps_values, statements_before
from polytile.frontend.ast_builders import base_of, block, mentions, type_of
from polytile.frontend.find_scops import ScopPlace
from polytile.frontend.node_index import NodeIndex
from polytile.frontend.parse import nodes_below
from polytile.frontend.reduction_statements import calls_others, changed_variables, changes_nothing_else, target
from polytile.frontend.trees import alike, block_items, copied, statements_below, variables_in, written_name
from polytile.frontend.trip_counts import integer

_FLOATING = {"float", "double"}
_INTEGERS = {"int", "long", "long long"}


@dataclass(frozen=True, slots=True)
class Apart:
    """Hold statements with conditions apart, and what they set to values that it has before them."""

    body: tuple[c_ast.Node, ...]
    initial: Mapping[str, c_ast.Node]


def with_min_max_apart(body: Sequence[c_ast.Node], place: ScopPlace, function: NodeIndex) -> Apart:
    """Take such conditions of a SCoP in its `function` apart, in place."""
    index = NodeIndex.of(body)
    if not index.all(c_ast.If):
        return Apart(tuple(body), {})
    found = _Blocks(place, function, {str(n.name): type_of(n) for n in index.all(c_ast.Decl)})
    for k, node in enumerate(body):
        if isinstance(node, c_ast.For):
            found.visit(node, body[:k], tuple(statements_before(place, function)))
    for block_ in [n for node in body for n in statements_below(node) if isinstance(n, c_ast.Compound)]:
        for k, item in enumerate(block_.block_items or []):
            if isinstance(item, c_ast.For):
                found.visit(item, (block_.block_items or [])[:k])
    first = [c_ast.Assignment("=", c_ast.ID(name), copied(value)) for name, value in found.initial.items()]
    return Apart((*block(first, body[0].coord).block_items, *body), found.initial)


@dataclass(frozen=True, slots=True)
class _Pair:
    """`if (value < low) low = value; else if (value > high) high = value;`, or the other way round."""

    low: str
    high: str
    value: c_ast.Node


@dataclass(frozen=True, slots=True)
class _Blocks:
    place: ScopPlace
    function: NodeIndex
    types: dict[str, str]  # of variables that the SCoP declares

    initial: dict[str, c_ast.Node] = field(default_factory=dict)

    def visit(self, loop: c_ast.For, before: Sequence[c_ast.Node], outside: Sequence[c_ast.Node] = ()) -> None:
        """Take the conditions in a loop apart, by the statements in front of it, and by those `outside` of the SCoP."""
        if calls_others(loop):
            return
        for node in list(statements_below(loop)):
            for slot in ("stmt", "iftrue", "iffalse"):
                inner = getattr(node, slot, None)
                if isinstance(inner, c_ast.If) and self._is_apart(inner, loop, before, outside):
                    setattr(node, slot, block([inner, _second(inner)], inner.coord))
            if isinstance(node, c_ast.Compound):
                items = node.block_items or []
                parts = [[n, _second(n)] if self._is_apart(n, loop, before, outside) else [n] for n in items]
                node.block_items = [part for item in parts for part in item]

    def _is_apart(
        self, node: c_ast.Node, loop: c_ast.For, before: Sequence[c_ast.Node], outside: Sequence[c_ast.Node]
    ) -> bool:
        pair = _pair(node)
        if pair is None or not self._is_monotonic(pair) or not _only_sets(loop, pair):
            return False
        if _ordered(before, pair, lambda *_: True) is not None:
            return True
        start = _ordered(outside, pair, self._is_sure)
        if start is None or any(
            {pair.low, pair.high} & (changed_variables(n) | {getattr(n, "name", "")}) for n in before
        ):
            return False
        self.initial.update(start)
        return True

    def _is_sure(self, name: str, item: c_ast.Node) -> bool:
        """Whether a variable has the value that a statement in front of the SCoP gives it when that starts."""
        jumps = self.function.all(c_ast.Goto, c_ast.Switch)
        own = self.function.declared.get(name, 0) <= 1 and name not in self.function.addressed
        return own and not jumps and keeps_values({name}, item, self.place, self.function, to_start=True)

    def _is_monotonic(self, pair: _Pair) -> bool:
        """Whether lo <= hi means the same in all comparisons, and conversions keep it."""
        leaves = list(_leaves(pair.value))
        kinds = {self._type(n) for n in (c_ast.ID(pair.low), c_ast.ID(pair.high), *leaves) if not _is_constant(n)}
        constants = {str(n.type) for n in leaves if _is_constant(n)}
        return kinds <= _FLOATING or (len(kinds) == 1 and kinds <= _INTEGERS and constants <= {"int"})

    def _type(self, node: c_ast.Node) -> str:
        elements, name = isinstance(node, c_ast.ArrayRef), str(target(node))
        if name in self.types:
            return "" if elements else self.types[name]
        binding = self.place.scope.lookup(name)
        if not elements and (binding is None or binding.static):
            return ""
        return base_of(name, self.place.scope, arrays=elements)


def _second(node: c_ast.If) -> c_ast.If:
    """Take what is asked where the condition does not hold off it."""
    (other,) = block_items(node.iffalse)
    node.iffalse = None
    return other


def _pair(node: c_ast.Node) -> _Pair | None:
    others = block_items(node.iffalse) if isinstance(node, c_ast.If) else []
    if len(others) != 1 or not isinstance(others[0], c_ast.If) or others[0].iffalse is not None:
        return None
    first, second = _extreme(node), _extreme(others[0])
    if first is None or second is None or {first[0], second[0]} != {"<", ">"} or not alike(first[2], second[2]):
        return None
    names = {first[0]: first[1], second[0]: second[1]}
    pair = _Pair(names["<"], names[">"], first[2])
    read = {str(use.name) for use in variables_in(pair.value)}
    apart = pair.low != pair.high and not read & {pair.low, pair.high} and changes_nothing_else(pair.value)
    return pair if apart and not changed_variables(node.iftrue) & {*read, second[1]} else None


def _extreme(node: c_ast.If) -> tuple[str, str, c_ast.Node] | None:
    """("<", "lo", e) of `if (e < lo) { lo = e; .. }` and of `if (lo > e) { lo = e; .. }`"""
    condition = node.cond
    if not isinstance(condition, c_ast.BinaryOp) or condition.op not in ("<", ">"):
        return None
    mirrored = "<" if condition.op == ">" else ">"
    sides = (condition.op, condition.right, condition.left), (mirrored, condition.left, condition.right)
    for op, kept, value in sides:
        for item in block_items(node.iftrue):
            plain = isinstance(kept, c_ast.ID) and isinstance(item, c_ast.Assignment) and item.op == "="
            if plain and written_name(item) == kept.name and alike(item.rvalue, value):
                return op, str(kept.name), value
    return None


def _only_sets(loop: c_ast.For, pair: _Pair) -> bool:
    """Whether a loop sets the two nowhere else."""
    nodes = list(nodes_below(loop))
    set_there = [n for n in nodes if isinstance(n, c_ast.Assignment | c_ast.UnaryOp) and changed_variables(n)]
    own = [n for n in set_there if mentions(_place(n), pair.low, pair.high)]
    declared = any(isinstance(n, c_ast.Decl) and n.name in (pair.low, pair.high) for n in nodes)
    return len(own) == 2 and not declared


def _place(node: c_ast.Node) -> c_ast.Node:
    found: c_ast.Node = node.lvalue if isinstance(node, c_ast.Assignment) else node.expr
    return found


def _leaves(node: c_ast.Node) -> Iterator[c_ast.Node]:
    """Return what decides the type of a value; the node itself where its type is not known from that."""
    match node:
        case c_ast.BinaryOp(op="+" | "-" | "*" | "/"):
            yield from (leaf for side in (node.left, node.right) for leaf in _leaves(side))
        case c_ast.UnaryOp(op="-" | "+"):
            yield from _leaves(node.expr)
        case _:
            yield node


def _is_constant(node: c_ast.Node) -> bool:
    return isinstance(node, c_ast.Constant)


# Before the loop ------------------------------------------------------------------------------------------------------
def _ordered(
    before: Sequence[c_ast.Node], pair: _Pair, is_sure: Callable[[str, c_ast.Node], bool]
) -> dict[str, c_ast.Node] | None:
    """Return what sets the two again, where low <= high, or one of them is no number, behind statements."""
    values: dict[str, c_ast.Node] = {}
    ordered: dict[str, c_ast.Node] | None = None
    for item in before:
        settings = dict(_settings(item))
        others = changed_variables(item) - settings.keys()
        if calls_others(item) or others:
            values, ordered = {}, None if calls_others(item) or others & {pair.low, pair.high} else ordered
            continue
        own = {n: v for n, v in settings.items() if n in (pair.low, pair.high) and is_sure(n, item)}
        changed = settings.keys() & {pair.low, pair.high}
        values = {n: v for n, v in values.items() if not mentions(v, *settings) and n not in changed} | own
        if changed:
            ordered = _is_ordered(values, pair)
    return ordered


def _settings(item: c_ast.Node) -> Iterator[tuple[str, c_ast.Node]]:
    """The scalars that `double lo = e;`, `lo = e` and `lo = hi = e` set, and no statement of another kind, with e."""
    if isinstance(item, c_ast.Decl) and item.init is not None and changes_nothing_else(item.init):
        yield str(item.name), item.init
    names = []
    while isinstance(item, c_ast.Assignment) and item.op == "=" and isinstance(item.lvalue, c_ast.ID):
        names.append(str(item.lvalue.name))
        item = item.rvalue
    if changes_nothing_else(item):
        yield from ((name, item) for name in names)


def _is_ordered(values: Mapping[str, c_ast.Node], pair: _Pair) -> dict[str, c_ast.Node] | None:
    low, high = values.get(pair.low), values.get(pair.high)
    copy = any(isinstance(v, c_ast.ID) and v.name in (pair.low, pair.high) for v in (low, high))
    if copy or (low is not None and high is not None and alike(low, high)):
        return {pair.high: c_ast.ID(pair.low)}
    numbers = [None if v is None else _number(v) for v in (low, high)]
    if low is None or high is None or numbers[0] is None or numbers[1] is None or numbers[0] > numbers[1]:
        return None
    return {pair.low: low, pair.high: high}


def _number(node: c_ast.Node) -> float | None:
    match node:
        case c_ast.UnaryOp(op="-", expr=c_ast.Constant() as inner):
            number = _number(inner)
            return None if number is None else -number
        case c_ast.Constant(type="float" | "double", value=text) if "x" not in text.lower():
            return float(text.rstrip("fF"))
    return integer(node)
