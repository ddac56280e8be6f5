"""Loops that a `break` ends, where what it depends on is known before the loop runs: the first iteration that ends the
loop is looked for by a reduction, and the others run up to it.

before: for (i) { S0; if (c[i] > b[i]) { k = i; break; } S1; }
after:  at = largest; for (i) if (c[i] > b[i]) at = i < at ? i : at;
        for (i) { if (i <= at) S0; if (i < at) S1; }      if (at < largest) k = at;

S0 and S1 set nothing that the condition reads. All iterations are asked, those behind the first one, too, so that all
have to stay in their arrays: `for (i < n)` for c[n], and not `for (i < m)`, in which the `break` may be what keeps i
below n.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.ast_builders import (
    LARGEST,
    block,
    counted_up,
    declared,
    integer,
    is_plain,
    loops_around,
    mentions,
    names_in,
    place,
    there,
    unused,
)
from polytile.frontend.jump_elimination import LOOPS, has_break
from polytile.frontend.parse import nodes_below
from polytile.frontend.scope import Scope
from polytile.frontend.sums import linear
from polytile.frontend.trees import address_taken, block_items, copied

_JUMPS = (c_ast.Goto, c_ast.Label, c_ast.Return, c_ast.Continue, c_ast.Break)


def without_early_exits(body: Sequence[c_ast.Node], scope: Scope) -> Iterator[c_ast.Node]:
    """The statements of a SCoP, with such loops among them replaced."""
    for node in body:
        found = _exit(node, scope)
        yield node if found is None else found.replaced(names_in(body))


@dataclass(frozen=True, slots=True)
class _Exit:
    """`for (i) { before; if (condition) { last; break; } after; }`."""

    loop: c_ast.For
    iterator: str
    before: tuple[c_ast.Node, ...]
    condition: c_ast.Node
    last: tuple[c_ast.Node, ...]
    after: tuple[c_ast.Node, ...]

    def replaced(self, taken: set[str]) -> c_ast.Node:
        at = unused(f"{self.iterator}_at", taken)
        items: list[c_ast.Node] = [declared(at, "int", integer(LARGEST))]
        items.append(place([self.loop], copied(self.condition), self.iterator, at, first=True))
        guarded = [self._until(at, "<=", node) for node in self.before]
        guarded += [self._until(at, "<", node) for node in self.after]
        if guarded:
            items.append(loops_around([self.loop], c_ast.Compound(guarded)))
        if self.last:
            found = c_ast.BinaryOp("<", c_ast.ID(at), integer(LARGEST))
            items.append(c_ast.If(found, c_ast.Compound(there(self.last, {self.iterator: at})), None))
        return block(items, self.loop.coord)

    def _until(self, at: str, op: str, node: c_ast.Node) -> c_ast.Node:
        reached = c_ast.BinaryOp(op, c_ast.ID(self.iterator), c_ast.ID(at))
        return c_ast.If(reached, c_ast.Compound([copied(node)]), None)


def _exit(node: c_ast.Node, scope: Scope) -> _Exit | None:
    iterator = counted_up(node)
    if iterator is None or not has_break(node) or not _has_sizes(node, scope):
        return None
    if not _stays_inside(node, iterator, scope):
        return None
    items = block_items(node.stmt)
    tests = [k for k, item in enumerate(items) if isinstance(item, c_ast.If) and _ends_in_break(item)]
    if len(tests) != 1 or any(isinstance(item, c_ast.Decl) for item in items):
        return None
    test = items[tests[0]]
    before, after = tuple(items[: tests[0]]), tuple(items[tests[0] + 1 :])
    found = _Exit(node, iterator, before, test.cond, tuple(block_items(test.iftrue)[:-1]), after)
    return found if _is_known_before(found) else None


def _has_sizes(node: c_ast.Node, scope: Scope) -> bool:
    """Whether all arrays in a loop have declared extents."""
    for name in {str(n.name.name) for n in nodes_below(node) if isinstance(n, c_ast.ArrayRef) and _is_name(n.name)}:
        binding = scope.lookup(name)
        layers = () if binding is None else binding.shape.layers
        if not layers or any(layer.pointer or layer.extent is None for layer in layers):
            return False
    return not any(isinstance(n, c_ast.StructRef) or _dereferences(n) for n in nodes_below(node))


def _stays_inside(loop: c_ast.For, iterator: str, scope: Scope) -> bool:
    """Whether the last iteration, too, uses elements that arrays have, as far as sums of one size and a constant say;
    of other subscripts, whether the size is one of the array's."""
    end = _end(loop.cond, iterator)
    if end is None:
        return False
    for subscript, extent in _subscripts(loop, scope):
        form, size = linear(subscript), linear(extent)
        if form is not None and form[0] == iterator:
            if size is None or size[0] != end[0] or form[1] + end[1] > size[1]:
                return False
        elif mentions(subscript, iterator) and end[0] and not mentions(extent, end[0]):
            return False
    return True


def _end(condition: c_ast.Node, iterator: str) -> tuple[str, int] | None:
    """The first value that the iterator does not take: n + 1 of `i <= n`."""
    if not isinstance(condition, c_ast.BinaryOp) or condition.op not in ("<", "<="):
        return None
    if not isinstance(condition.left, c_ast.ID) or condition.left.name != iterator:
        return None
    bound = linear(condition.right)
    return None if bound is None else (bound[0], bound[1] + (condition.op == "<="))


def _subscripts(loop: c_ast.For, scope: Scope) -> Iterator[tuple[c_ast.Node, c_ast.Node]]:
    """The subscripts of arrays that have extents, each with its extent."""
    for node in (n for n in nodes_below(loop) if isinstance(n, c_ast.ArrayRef)):
        base, depth = node.name, 0
        while isinstance(base, c_ast.ArrayRef):
            base, depth = base.name, depth + 1
        binding = scope.lookup(base.name) if isinstance(base, c_ast.ID) else None
        layers = () if binding is None else binding.shape.layers
        if depth < len(layers) and (extent := layers[depth].extent) is not None:
            yield node.subscript, extent


def _is_name(node: c_ast.Node) -> bool:
    return isinstance(node, c_ast.ID)


def _dereferences(node: c_ast.Node) -> bool:
    return isinstance(node, c_ast.UnaryOp) and node.op == "*"


def _ends_in_break(test: c_ast.If) -> bool:
    items = block_items(test.iftrue)
    return test.iffalse is None and bool(items) and isinstance(items[-1], c_ast.Break)


def _is_known_before(found: _Exit) -> bool:
    """Whether the condition can be asked of all iterations at once: what runs in the loop has no other way out, and
    changes nothing that the condition or the header reads."""
    inside = [n for node in (*found.before, *found.last, *found.after) for n in nodes_below(node)]
    if any(isinstance(n, (*_JUMPS, *LOOPS, c_ast.Switch, c_ast.FuncCall)) or address_taken(n) for n in inside):
        return False
    if not is_plain(found.condition) or not _is_safe(found.condition):
        return False
    names = {name for n in inside if (name := _changed(n)) is not None}
    return not any(mentions(part, *names) for part in (found.condition, found.loop.init, found.loop.cond))


def _is_safe(condition: c_ast.Node) -> bool:
    """Whether a condition reads elements that the iterator alone chooses, and divides nothing: behind the first
    iteration that ends the loop, data may be anything."""
    nodes = list(nodes_below(condition))
    if any(isinstance(n, c_ast.BinaryOp) and n.op in ("/", "%", "<<", ">>") for n in nodes):
        return False
    subscripts = [n.subscript for n in nodes if isinstance(n, c_ast.ArrayRef)]
    inside = (n for s in subscripts for n in nodes_below(s))
    return bool(subscripts) and not any(isinstance(n, c_ast.ArrayRef | c_ast.TernaryOp) for n in inside)


def _changed(node: c_ast.Node) -> str | None:
    """The variable or the array that an assignment or an increment changes."""
    target = None
    if isinstance(node, c_ast.Assignment):
        target = node.lvalue
    elif isinstance(node, c_ast.UnaryOp) and node.op in ("++", "--", "p++", "p--"):
        target = node.expr
    while isinstance(target, c_ast.ArrayRef):
        target = target.name
    return str(target.name) if isinstance(target, c_ast.ID) else None
