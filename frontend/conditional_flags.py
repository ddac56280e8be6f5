"""Flags that a loop sets under conditions, as reductions: whether any iteration has set one.

before: for (i) { y[i] = x[i] / 2; if (y[i] > 1) changed[0] = 1; }
after:  int sets = 0; for (i) { y[i] = x[i] / 2; if (y[i] > 1) sets |= 1; } if (sets) changed[0] = 1;
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pycparser import c_ast

from polytile.frontend.ast_builders import block, declared, integer, mentions, names_in, unused
from polytile.frontend.parse import nodes_below
from polytile.frontend.reduction_statements import calls_others, changed_variables, changes_nothing_else, target
from polytile.frontend.scope import Scope
from polytile.frontend.trees import alike, statements_below, variables_in

_UNSAFE = (c_ast.ArrayRef, c_ast.StructRef, c_ast.FuncCall)
_JUMPS = (c_ast.Break, c_ast.Goto, c_ast.Label, c_ast.Return)


def with_conditional_flags(body: Sequence[c_ast.Node], scope: Scope) -> tuple[c_ast.Node, ...]:
    """Set such flags of a SCoP behind the outermost loops that only set them, in place."""
    taken = names_in(body) | {b.name for b in scope.bindings()}
    root = c_ast.Compound(list(body))
    for node in statements_below(root):
        if isinstance(node, c_ast.Compound):
            items = node.block_items or []
            sure = [item.lvalue for item in items if isinstance(item, c_ast.Assignment)]
            node.block_items = [part for item in items for part in _behind(item, taken, sure)]
        elif isinstance(node, c_ast.For | c_ast.If):
            for slot in ("stmt",) if isinstance(node, c_ast.For) else ("iftrue", "iffalse"):
                parts = list(_behind(getattr(node, slot), taken, ()))
                if len(parts) > 1:
                    setattr(node, slot, block(parts, node.coord))
    return tuple(root.block_items or [])


def _behind(loop: c_ast.Node | None, taken: set[str], sure: Sequence[c_ast.Node]) -> Iterator[c_ast.Node]:
    """Yield a statement; a loop between what counts its flags and what sets them.

    Elements are such flags only where they are among those that are set in any case, `sure`: a pointer to others may
    be null where no iteration sets one.
    """
    if loop is None:
        return
    found = list(_flags(loop)) if isinstance(loop, c_ast.For) else []
    flags = [f for f in found if isinstance(f[0].lvalue, c_ast.ID) or any(alike(f[0].lvalue, s) for s in sure)]
    after: list[c_ast.Node] = []
    for places in flags:
        sets = unused("sets", taken)
        after.append(c_ast.If(c_ast.ID(sets), c_ast.Assignment("=", places[0].lvalue, places[0].rvalue), None))
        made = declared(sets, "int", integer(0))
        yield block([made], loop.coord).block_items[0]
        for place in places:
            place.op, place.lvalue, place.rvalue = "|=", c_ast.ID(sets, place.coord), integer(1)
    yield loop
    for item in after:
        yield block([item], loop.coord).block_items[0]


def _flags(loop: c_ast.For) -> Iterator[list[c_ast.Assignment]]:
    """Yield the assignments of one value to one place that a loop uses for nothing else."""
    if calls_others(loop) or any(isinstance(n, _JUMPS) for n in nodes_below(loop)):
        return
    found: dict[str, list[c_ast.Assignment]] = {}
    for node in _under_conditions(loop):
        found.setdefault(str(target(node.lvalue)), []).append(node)
    for name, places in found.items():
        first = places[0]
        same = all(alike(p.lvalue, first.lvalue) and alike(p.rvalue, first.rvalue) for p in places)
        uses = sum(use.name == name for use in variables_in(loop))
        if same and uses == len(places) and _is_invariant(first, loop):
            yield places


def _under_conditions(loop: c_ast.For) -> Iterator[c_ast.Assignment]:
    for test in (n for n in statements_below(loop) if isinstance(n, c_ast.If)):
        for branch in (test.iftrue, test.iffalse):
            items = branch.block_items or [] if isinstance(branch, c_ast.Compound) else [branch]
            for item in items:
                if isinstance(item, c_ast.Assignment) and item.op == "=" and target(item.lvalue) is not None:
                    yield item


def _is_invariant(flag: c_ast.Assignment, loop: c_ast.For) -> bool:
    """Whether an assignment outside of the loop sets the same place to the same value, which needs no condition."""
    own = {str(n.name) for n in nodes_below(loop) if isinstance(n, c_ast.Decl)}
    changed = changed_variables(loop) - {str(target(flag.lvalue))}
    unsafe = any(isinstance(n, _UNSAFE) for n in nodes_below(flag.rvalue))
    plain = not unsafe and changes_nothing_else(flag.lvalue) and changes_nothing_else(flag.rvalue)
    return plain and not mentions(flag, *own, *changed)
