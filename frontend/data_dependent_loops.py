"""Loops that run as often as data say: `while` and `do` loops, `for` loops that `break` ends or whose bounds are read.

Where such a loop has no header that analysis could use, it becomes the `while` loop that C says it is:

before: for (p = head; next[p] > 0; p = next[p]) S;
after:  { p = head; while (next[p] > 0) { S; p = next[p]; } }
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.diagnostics import Location
from polytile.frontend.callees import called_name
from polytile.frontend.induction_variables import outside_own_loops
from polytile.frontend.jump_elimination import has_break
from polytile.frontend.math_functions import is_known
from polytile.frontend.name_binding import loop_iterator
from polytile.frontend.parse import location_of, nodes_below
from polytile.frontend.trees import block_items, map_statements, variables_in, written_name

_Asked = Callable[[str], bool]


def with_data_loops(
    body: Sequence[c_ast.Node], live_after: _Asked, whiles: Collection[Location] = ()
) -> tuple[c_ast.Node, ...]:
    """The statements of a SCoP, changed in place; `live_after` says whether a variable may be read after them, `whiles`
    are the places of loops that were `while` or `do` loops."""
    varying = frozenset(name for node in body for name in _set_by_statements(node))
    loops = _Loops(tuple(body), live_after, varying, frozenset(whiles))
    return tuple(map(loops.changed, body))


@dataclass(frozen=True, slots=True)
class _Loops:
    """The loops of a SCoP, some statements of which set the variables in `varying`."""

    body: tuple[c_ast.Node, ...]
    live_after: _Asked
    varying: frozenset[str]
    whiles: frozenset[Location]

    def changed(self, node: Any) -> Any:
        node = map_statements(node, self.changed)
        return _as_while(node) if isinstance(node, c_ast.For) and self._is_while(node) else node

    def _is_while(self, loop: c_ast.For) -> bool:
        """Whether data decide when a loop ends, while it does not count as analysis asks for, or its iterator lives
        on behind it."""
        counter = loop_iterator(loop)
        name = "" if counter is None else str(counter.name)
        parts = (loop.init, loop.cond, loop.next)
        if not (has_break(loop) or any(self._depends(part, name) for part in parts)):
            return location_of(loop) in self.whiles and not isinstance(counter, c_ast.Decl) and self._used_outside(name)
        if counter is None or loop.cond is None or self._depends(loop.next, name):
            return True
        if written_name(loop.next) != name or any(written_name(n) == name for n in nodes_below(loop.stmt)):
            return True
        return not isinstance(counter, c_ast.Decl) and self._used_outside(name)

    def _depends(self, part: c_ast.Node | None, own: str) -> bool:
        """Whether a part of a header reads elements, or other variables that statements of the SCoP set, or asks a
        function of which analysis knows nothing."""
        if part is None:
            return False
        nodes = list(nodes_below(part))
        if any(isinstance(n, c_ast.ArrayRef | c_ast.StructRef) or _is_unknown(n) for n in nodes):
            return True
        return any(use.name in self.varying and use.name != own for use in variables_in(part))

    def _used_outside(self, name: str) -> bool:
        return self.live_after(name) or any(outside_own_loops(node, name) for node in self.body)


def _is_unknown(node: c_ast.Node) -> bool:
    return isinstance(node, c_ast.FuncCall) and not is_known(called_name(node))


def _set_by_statements(node: c_ast.Node) -> Iterator[str]:
    """The variables that something else than the header of a loop sets."""
    stack = [node]
    while stack:
        top = stack.pop()
        if isinstance(top, c_ast.For):
            stack += [] if top.stmt is None else [top.stmt]
            continue
        if (name := written_name(top)) is not None:
            yield name
        kind = type(top)
        if kind is c_ast.BinaryOp:  # most nodes
            stack += (top.left, top.right)
        elif kind is c_ast.ArrayRef:
            stack += (top.name, top.subscript)
        elif kind is not c_ast.ID:
            stack += list(top)


def _as_while(node: c_ast.For) -> c_ast.Node:
    """`{ first; while (condition) { ...; next; } }`."""
    step = [] if node.next is None else [node.next]
    items = block_items(node.stmt)
    if any(isinstance(item, c_ast.Decl) for item in items):  # the step stands outside their scope
        items = [c_ast.Compound(items, node.coord)]
    condition = node.cond if node.cond is not None else c_ast.Constant("int", "1", node.coord)
    loop = c_ast.While(condition, c_ast.Compound([*items, *step], node.coord), node.coord)
    first = node.init.decls if isinstance(node.init, c_ast.DeclList) else [] if node.init is None else [node.init]
    return c_ast.Compound([*first, loop], node.coord) if first else loop
