"""Scalars that a branch, or an iteration, sets before it reads them, as variables of its own.

before: double t; for (i) { if (x[i] > 0) { t = x[i] * x[i]; s += t; } else { t = 1; s -= t; } }
after:  for (i) { if (x[i] > 0) { double t = x[i] * x[i]; s += t; } else { double t = 1; s -= t; } }

A loop behind which the last value is read keeps it in its last iteration:

before: for (i) { t = x[i] * 2; y[i] = t; }     z = t;
after:  for (i) { double t_ = x[i] * 2; y[i] = t_; if (i + 1 >= n) t = t_; }     z = t;

Who reads a value then is what its place says, wherever the variable was declared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.conversions import declared
from polytile.frontend.live_ranges import JUMPS, Effect, Live, LiveRangeWalk, first_effect, is_used, one_scalar
from polytile.frontend.node_index import NodeIndex
from polytile.frontend.parse import nodes_below
from polytile.frontend.scalar_value import changes
from polytile.frontend.scope import Scope
from polytile.frontend.trees import (
    block_items,
    copied,
    free_variables_in,
    substituted,
    variables_in,
    written_name,
)
from polytile.frontend.trip_counts import bound, count_of, plus
from polytile.frontend.type_shapes import Shape
from polytile.ir.name_supply import fresh

_Asked = Callable[[str], bool]
_PLAIN = (c_ast.ID, c_ast.Constant, c_ast.BinaryOp)
_ENDED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "!=": "=="}


@dataclass(frozen=True, slots=True)
class Private:
    """Hold statements that do not use the variables in `names` any more, which may be declared around them."""

    body: tuple[c_ast.Node, ...]
    names: frozenset[str]


def with_private_scalars(body: Sequence[c_ast.Node], scope: Scope, live_after: _Asked, has_address: _Asked) -> Private:
    """The statements of a SCoP, changed in place. `live_after` says whether a variable may be read after them,
    `has_address` whether pointers may lead to it."""
    items = list(body)
    index = NodeIndex.of(items)
    if index.all(c_ast.Goto, c_ast.Label):
        return Private(tuple(items), frozenset())
    taken = {*index.names, *(b.name for b in scope.bindings())}
    gone: set[str] = set()
    for name in _candidates(index, live_after):
        shape = one_scalar(name, index.nodes, scope)
        if shape is None or has_address(name):
            continue
        walk = _Privatization(name, shape, taken)
        items = walk.block(items, partial(live_after, name))
        if walk.places and not any(use.name == name for use in free_variables_in(items)):
            gone.add(name)
    return Private(tuple(items), frozenset(gone))


def _candidates(index: NodeIndex, live_after: _Asked) -> list[str]:
    """The variables that conditions set, or that a loop sets and something else may read."""
    loops = index.all(c_ast.For)
    counters = {count.name for loop in loops if (count := count_of(loop)) is not None}
    found = dict.fromkeys(name for node in index.all(c_ast.If) for name in _set_in(node.iftrue, node.iffalse))
    uses = Counter(str(n.name) for n in index.all(c_ast.ID))
    for loop in loops:
        own = Counter(str(n.name) for n in nodes_below(loop) if isinstance(n, c_ast.ID))
        names = [name for name in _set_in(*block_items(loop.stmt)) if name not in found]
        found |= dict.fromkeys(name for name in names if own[name] < uses[name] or live_after(name))
    return [name for name in found if name not in counters]


def _set_in(*nodes: c_ast.Node | None) -> dict[str, None]:
    """The variables that assignments set among statements, and in blocks, but not further inside."""
    items = (item for node in nodes for item in block_items(node) if isinstance(item, c_ast.Assignment))
    return {name: None for item in items if item.op == "=" and (name := written_name(item)) is not None}


@dataclass(slots=True)
class _Privatization(LiveRangeWalk):
    shape: Shape
    taken: set[str]
    places: int = 0  # where the variable has become another one

    def changed(self, node: Any, live: Live) -> list[c_ast.Node] | None:
        match node:
            case c_ast.If() if not is_used(node.cond, self.name) and is_used(node, self.name) and not live():
                for slot in ("iftrue", "iffalse"):
                    self._own(node, slot)
                return [node]
            case c_ast.For() if first_effect(block_items(node.stmt), self.name) is Effect.SETS and live():
                return self._last_kept(node)
        return None

    def _own(self, node: Any, slot: str) -> None:
        """A branch behind which nothing reads the variable, with one of its own where it sets it first."""
        items = block_items(getattr(node, slot))
        users = [item for item in items if is_used(item, self.name)]
        inside = len(users) == 1 and not isinstance(users[0], c_ast.Assignment)
        inside = inside or any(isinstance(item, c_ast.Decl) and item.name == self.name for item in users)
        if inside or first_effect(items, self.name) is Effect.READS:
            self._inside(node, slot, lambda: False)
        elif any(_is_read(item, self.name) for item in users):  # what nothing reads is left out later
            setattr(node, slot, c_ast.Compound(self._declared(items, self.name), node.coord))

    def _declared(self, items: Sequence[c_ast.Node], name: str) -> list[c_ast.Node]:
        """`{ double t = 1; .. }` of `{ t = 1; .. }`"""
        self.places += 1
        at = next(k for k, item in enumerate(items) if is_used(item, name))
        first = items[at]
        if isinstance(first, c_ast.Assignment) and written_name(first) == name:
            return [*items[:at], declared(name, first.rvalue, self.shape, first.coord), *items[at + 1 :]]
        return [*items[:at], declared(name, None, self.shape, first.coord), *items[at:]]

    def _last_kept(self, loop: Any) -> list[c_ast.Node] | None:
        """A loop whose iterations have a variable each, of which the last one is kept."""
        last = _is_last(loop)
        if last is None or any(is_used(part, self.name) for part in (loop.init, loop.cond, loop.next)):
            return None
        name = fresh(self.name, self.taken)
        self.taken.add(name)
        items = [substituted(item, {self.name: c_ast.ID(name)}) for item in block_items(loop.stmt)]
        kept = c_ast.Assignment("=", c_ast.ID(self.name, loop.coord), c_ast.ID(name, loop.coord), loop.coord)
        items = [*self._declared(items, name), c_ast.If(last, kept, None, loop.coord)]
        loop.stmt = c_ast.Compound(items, loop.stmt.coord)
        return [loop]


def _is_read(node: c_ast.Node, name: str) -> bool:
    """Whether a statement uses the value of a variable."""
    nodes = list(nodes_below(node))
    targets = {id(n.lvalue) for n in nodes if isinstance(n, c_ast.Assignment) and n.op == "="}
    return any(isinstance(n, c_ast.ID) and n.name == name and id(n) not in targets for n in nodes)


def _is_last(loop: Any) -> c_ast.Node | None:
    """Whether an iteration is the last one, of what no iteration changes; None where that is not known."""
    count = count_of(loop)
    limit = None if count is None else bound(count)
    if count is None or limit is None or any(isinstance(n, JUMPS) for n in nodes_below(loop.stmt)):
        return None
    if not all(isinstance(n, _PLAIN) for n in nodes_below(limit[1])) or changes(loop.stmt, count.name):
        return None
    if any(changes(loop.stmt, str(use.name)) for use in variables_in(limit[1])):
        return None
    following = plus(c_ast.ID(count.name, loop.coord), count.step)
    return c_ast.BinaryOp(_ENDED[limit[0]], following, copied(limit[1]), loop.coord)
