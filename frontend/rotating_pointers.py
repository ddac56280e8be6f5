"""Pointers that change places at the start or the end of a time loop: iterations take turns.

before: for (t = 0; t < T; t++) { S(a, b); tmp = a; a = b; b = tmp; }
after:  for (t = 0; t < T; t++) if (t % 2 == 0) S(a, b); else S(b, a);
        and behind the SCoP, where T > 0 and T % 2 is 1, the function's a and b change places

Also among three and four: `tmp = a; a = b; b = c; c = tmp;`. What follows in the SCoP has a case for each remainder.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.ast_builders import integer, is_plain
from polytile.frontend.jump_elimination import jumps
from polytile.frontend.parse import nodes_below
from polytile.frontend.scope import Scope
from polytile.frontend.trees import block_items, copied, substituted, text_of, variables_in, written_name
from polytile.frontend.type_shapes import Shape
from polytile.ir.pointer_rotation import PointerRotation

_MOST = 4  # copies of a loop body
_ONE = ("++", "p++")


@dataclass(frozen=True, slots=True)
class Rotated:
    """Statements in which no pointers rotate, what the function does to them behind the SCoP, and its variables that
    only helped."""

    body: tuple[c_ast.Node, ...]
    rotations: tuple[PointerRotation, ...] = ()
    helpers: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is known of the variables around a SCoP: which are read behind it, and which others may change that it
    calls."""

    scope: Scope
    live_after: Callable[[str], bool]
    shared: Collection[str]


def with_rotating_pointers(body: Sequence[c_ast.Node], around: Surroundings) -> Rotated:
    """Replace the rotation in the one loop of a SCoP, outside all others, that has one; others stay, and are refused.
    `body` is changed in place."""
    nodes = [n for item in body for n in nodes_below(item)]
    if not any(_copy_of(n) for n in nodes):
        return Rotated(tuple(body))
    return _in_block(list(body), (), nodes, around) or Rotated(tuple(body))


def _in_block(
    items: list[c_ast.Node], outside: Sequence[c_ast.Node], nodes: Sequence[c_ast.Node], around: Surroundings
) -> Rotated | None:
    """`outside` is what stands behind the block, `nodes` is all of the SCoP."""
    for k, item in enumerate(items):
        behind = items[k + 1 :]
        if isinstance(item, c_ast.Compound):
            inner = _in_block(block_items(item), (*behind, *outside), nodes, around)
            if inner is not None:
                item.block_items = list(inner.body)
                return replace(inner, body=tuple(items))
        elif isinstance(item, c_ast.For) and (turn := _turn(item, nodes, around)) is not None:
            if any(_mentions(n, turn.order) for n in outside):
                return None
            rest = any(_mentions(n, turn.order) for n in behind)
            rotations = turn.rotations() if any(map(around.live_after, turn.order)) else ()
            if (rest or rotations) and not turn.ends_known(nodes):
                return None
            turn.take_turns()
            made = turn.remainder(behind) if rest else behind
            return Rotated((*items[: k + 1], *made), tuple(rotations), turn.helpers)
    return None


@dataclass(frozen=True, slots=True)
class _Turn:
    """A loop whose pointers rotate: `order` says which one's value each gets. `first` is where the iterator starts,
    `early` that they rotate before the rest of the body."""

    loop: c_ast.For
    iterator: str
    first: c_ast.Node
    order: Mapping[str, str]
    rest: list[c_ast.Node]
    early: bool
    helpers: frozenset[str]

    @property
    def period(self) -> int:
        return next(n for n in range(1, 100) if all(a == b for a, b in self.after(n).items()))

    def after(self, times: int) -> dict[str, str]:
        """The pointer whose value each has after so many rotations."""
        found = {name: name for name in self.order}
        for _ in range(times):
            found = {name: self.order[value] for name, value in found.items()}
        return found

    def take_turns(self) -> None:
        """Give the loop a body for each remainder of its iterator."""
        counted = _difference(c_ast.ID(self.iterator, self.loop.coord), self.first)
        cases = [_named(self.rest, self.after(k + self.early)) for k in range(self.period)]
        tests = [_is_remainder(counted, self.period, k) for k in range(self.period - 1)]
        self.loop.stmt = c_ast.Compound([_choice(tests, cases)], self.loop.coord)

    def remainder(self, behind: Sequence[c_ast.Node]) -> list[c_ast.Node]:
        """What follows the loop, for each remainder of the number of its iterations."""
        cases = [_named(behind, self.after(k)) for k in range(self.period)]
        return [_choice([self._ran(k) for k in range(1, self.period)], [*cases[1:], cases[0]])]

    def rotations(self) -> list[PointerRotation]:
        """What becomes of the function's variables."""
        return [
            PointerRotation(text_of(_in_64_bits(self._ran(k))), tuple(self.after(k).items()))
            for k in range(1, self.period)
        ]

    def ends_known(self, nodes: Sequence[c_ast.Node]) -> bool:
        """Whether the number of iterations is one of sums that the function can compute behind the SCoP."""
        ends = self._ends()
        if ends is None:
            return False
        changed = {written_name(n) for n in nodes} | {n.name for n in nodes if isinstance(n, c_ast.Decl)}
        parts = [n for end in (self.first, ends[1]) for n in nodes_below(end)]
        plain = all(isinstance(n, c_ast.ID | c_ast.Constant | c_ast.BinaryOp | c_ast.UnaryOp) for n in parts)
        return plain and is_plain(*parts) and not any(isinstance(n, c_ast.ID) and n.name in changed for n in parts)

    def _ends(self) -> tuple[str, c_ast.Node, bool] | None:
        """`<` or `<=`, the end, and whether the loop runs once in any case: `i == 0 || i < n` from 0 on."""
        match self.loop.cond:
            case c_ast.BinaryOp(op="<" | "<=" as op, left=c_ast.ID(name=name), right=end) if name == self.iterator:
                return op, end, False
            case c_ast.BinaryOp(
                op="||",
                left=c_ast.BinaryOp(op="==", left=c_ast.ID(name=once), right=first),
                right=c_ast.BinaryOp(op="<" | "<=" as op, left=c_ast.ID(name=name), right=end),
            ) if once == name == self.iterator and text_of(first) == text_of(self.first):
                return op, end, True
        return None

    def _ran(self, remainder: int) -> c_ast.Node:
        """Whether the number of iterations has this remainder, which is not 0."""
        ends = self._ends()
        assert ends is not None
        op, end, once = ends
        counted = _difference(end, self.first)
        if op == "<=":
            counted = c_ast.BinaryOp("+", counted, integer(1), self.loop.coord)
        runs = c_ast.BinaryOp(op, copied(self.first), copied(end), self.loop.coord)
        several = c_ast.BinaryOp("&&", runs, _is_remainder(counted, self.period, remainder), self.loop.coord)
        if not (once and remainder == 1):
            return several
        return c_ast.BinaryOp("||", c_ast.UnaryOp("!", copied(runs), self.loop.coord), several, self.loop.coord)


def _turn(loop: c_ast.For, nodes: Sequence[c_ast.Node], around: Surroundings) -> _Turn | None:
    start = loop.init.decls[0] if isinstance(loop.init, c_ast.DeclList) and len(loop.init.decls) == 1 else loop.init
    first = start.init if isinstance(start, c_ast.Decl) else getattr(start, "rvalue", None)
    iterator = start.name if isinstance(start, c_ast.Decl) else written_name(start) if start is not None else None
    step = loop.next
    if iterator is None or first is None or not (isinstance(step, c_ast.UnaryOp) and step.op in _ONE):
        return None
    items = block_items(loop.stmt)
    if (
        jumps(loop.stmt)
        or written_name(step) != iterator
        or any(written_name(n) == iterator for i in items for n in nodes_below(i))
    ):
        return None
    at_end, at_start = _copies(reversed(items), around.scope), _copies(items, around.scope)
    for run, rest, early in (
        (items[len(items) - at_end :], items[: len(items) - at_end], False),
        (items[:at_start], items[at_start:], True),
    ):
        order = _order(run, rest, nodes, around) if run and rest else None
        if order is not None:
            helpers = frozenset(name for n in run if (name := written_name(n)) is not None and name not in order)
            turn = _Turn(loop, str(iterator), first, order, rest, early, helpers)
            return turn if 1 < turn.period <= _MOST else None
    return None


def _order(
    run: Sequence[c_ast.Node], rest: Sequence[c_ast.Node], nodes: Sequence[c_ast.Node], around: Surroundings
) -> dict[str, str] | None:
    """The pointer whose value each gets of those that a run of copies changes, but for helpers that nobody else uses;
    None where it is no rotation."""
    values: dict[str, str] = {}
    own = {str(n.name) for n in run if isinstance(n, c_ast.Decl)}
    for node in run:
        name, value = _copy_of(node) or ("", "")
        values[name] = values.get(value, value)
    outside = [n for n in nodes if not any(n is m for item in run for m in nodes_below(item))]
    used = {str(n.name) for n in outside if isinstance(n, c_ast.ID | c_ast.Decl)}
    order = {n: v for n, v in values.items() if n not in own and (n in used or around.live_after(n))}
    if set(order) != set(order.values()) or own & used:
        return None
    set_outside = {written_name(n) for n in outside} | {n.name for n in outside if isinstance(n, c_ast.Decl)}
    if order.keys() & {*set_outside, *around.shared}:
        return None
    return order if _alike([*order], around.scope) else None


def _copies(items: Iterable[c_ast.Node], scope: Scope) -> int:
    """How many statements copy pointers, up to the first one that does not."""
    return sum(1 for _ in takewhile(lambda n: _copies_pointer(n, scope), items))


def _copies_pointer(node: c_ast.Node, scope: Scope) -> bool:
    copy = _copy_of(node)
    if copy is None or isinstance(node, c_ast.Decl):
        return copy is not None
    binding = scope.lookup(copy[0])
    return binding is not None and bool(binding.shape.layers)


def _copy_of(node: Any) -> tuple[str, str] | None:
    """(a, b) of `a = b;` and `T *a = b;`."""
    match node:
        case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=name), rvalue=c_ast.ID(name=value)):
            return str(name), str(value)
        case c_ast.Decl(name=name, type=c_ast.PtrDecl(), init=c_ast.ID(name=value)):
            return str(name), str(value)
    return None


def _alike(names: Sequence[str], scope: Scope) -> bool:
    """Whether variables are pointers of one type."""
    found = [scope.lookup(name) for name in names]
    kinds = {
        None
        if b is None or b.kind not in ("variable", "parameter") or not b.shape.layers
        else _type(b.shape, parameter=b.kind == "parameter")
        for b in found
    }
    return len(kinds) == 1 and None not in kinds


def _type(shape: Shape, *, parameter: bool) -> object:
    outer, *inner = shape.layers
    if not (outer.pointer or parameter):
        return None
    size = "" if outer.extent is None else text_of(outer.extent)
    rows = tuple((layer.pointer, "" if layer.extent is None else text_of(layer.extent)) for layer in inner)
    return shape.base, shape.const, size, rows


def _named(items: Sequence[c_ast.Node], names: Mapping[str, str]) -> c_ast.Compound:
    values = {name: c_ast.ID(value) for name, value in names.items() if name != value}
    return c_ast.Compound([substituted(copied(item), values) for item in items], items[0].coord)


def _choice(tests: Sequence[c_ast.Node], cases: Sequence[c_ast.Node]) -> c_ast.Node:
    """A chain of conditions; the last case has none."""
    *others, made = cases
    for test, case in reversed(list(zip(tests, others, strict=True))):
        made = c_ast.If(test, case, made, case.coord)
    return made


def _is_remainder(value: c_ast.Node, period: int, remainder: int) -> c_ast.Node:
    rest = c_ast.BinaryOp("%", copied(value), integer(period), value.coord)
    return c_ast.BinaryOp("==", rest, integer(remainder), value.coord)


def _difference(end: c_ast.Node, first: c_ast.Node) -> c_ast.Node:
    if isinstance(first, c_ast.Constant) and first.value == "0":
        return copied(end)
    return c_ast.BinaryOp("-", copied(end), copied(first), end.coord)


def _in_64_bits(node: Any) -> Any:
    """A condition, copied, whose variables are of a type that its sums do not leave."""
    wide = {use.name for use in variables_in(node)}
    kind = c_ast.Typename(None, [], None, c_ast.TypeDecl(None, [], None, c_ast.IdentifierType(["long", "long"])))
    return substituted(copied(node), {name: c_ast.Cast(kind, c_ast.ID(name)) for name in wide})


def _mentions(node: c_ast.Node, names: Collection[str]) -> bool:
    return any(isinstance(n, c_ast.ID | c_ast.Decl) and n.name in names for n in nodes_below(node))
