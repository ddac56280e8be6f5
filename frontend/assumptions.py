"""What the user promises: `#pragma polytile assume(n >= 4)` and `__builtin_assume(n >= 4)`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import copy

from pycparser import CParser, c_ast
from pycparser.c_parser import ParseError

from polytile.diagnostics import UserError
from polytile.frontend.builtin_functions import PROMISES, WITHOUT_EFFECT, calls
from polytile.frontend.find_scops import ScopPlace, polytile_pragma
from polytile.frontend.node_index import NodeIndex
from polytile.frontend.normalise import normalised
from polytile.frontend.parse import ParsedFile, location_of, nodes_below
from polytile.frontend.scope import Scope
from polytile.frontend.trees import block_items, variables_in

_LOOPS = (c_ast.For, c_ast.While, c_ast.DoWhile)


def is_assumption(node: c_ast.Node) -> bool:
    """Whether a statement only promises something (pragmas of polytile included)."""
    return isinstance(node, c_ast.Pragma) or calls(node, WITHOUT_EFFECT)


def assumptions_of(file: ParsedFile, place: ScopPlace, body: NodeIndex) -> tuple[c_ast.Node, ...]:
    """The conditions that hold throughout a SCoP; `body` is that of its function.

    They stand at the top of the SCoP, before it in one of the blocks around it, or in a pragma outside functions;
    one that names a variable which changes on the way, or an iterator, is left out.
    """
    found: list[c_ast.Node] = []
    for item in file.tree.ext:
        condition = _condition(item, place.scope)
        if condition is not None and _known(condition, place.scope):
            found += normalised((condition,), place.scope)
    changed = NodeIndex.of(place.items).written
    for item in (*statements_before(place, body), *place.items):
        condition = _condition(item, place.scope)
        if not isinstance(item, c_ast.Pragma) and condition is not None and _names(condition) & changed:
            continue  # true at its place only
        if condition is not None and _known(condition, place.scope) and _stable(condition, item, place, body):
            found += normalised((condition,), place.scope)
    return tuple(found)


def is_linear(node: c_ast.Node, scope: Scope) -> bool:
    """Whether a condition compares sums of integers: a promise by a builtin may say anything, and is of use then."""
    match node:
        case c_ast.Constant():
            return True
        case c_ast.ID():
            binding = scope.lookup(node.name)
            base = binding.shape.base if binding is not None and not binding.shape.layers else None
            return binding is not None and (binding.constant is not None or (base is not None and base.kind == "int"))
        case c_ast.UnaryOp(op="-" | "+" | "!"):
            return is_linear(node.expr, scope)
        case c_ast.BinaryOp(op="*" | "/" | "%"):
            plain = [side for side in (node.left, node.right) if scope.constant(side) is None]
            product = node.op == "*" or node.left in plain
            return len(plain) < 2 and product and all(is_linear(side, scope) for side in plain)
        case c_ast.TernaryOp(cond=condition, iftrue=then, iffalse=otherwise):
            return all(is_linear(part, scope) for part in (condition, then, otherwise))
        case c_ast.BinaryOp(op=op) if op not in ("<<", ">>", "&", "|", "^"):
            return is_linear(node.left, scope) and is_linear(node.right, scope)
    return False


def _condition(node: c_ast.Node, scope: Scope) -> c_ast.Node | None:
    if isinstance(node, c_ast.Pragma):
        return _parsed_condition(node)
    if isinstance(node, c_ast.FuncCall) and calls(node, PROMISES) and node.args is not None:
        condition = node.args.exprs[0]
        return condition if is_linear(condition, scope) else None
    return None


def _parsed_condition(pragma: c_ast.Pragma) -> c_ast.Node | None:
    text = polytile_pragma(pragma)
    found = re.fullmatch(r"assume\s*\((.*)\)", text or "", re.DOTALL)
    if found is None:
        return None
    try:
        tree = CParser().parse(f"int f(void) {{ return ({found[1]}); }}")
    except ParseError:
        raise UserError(
            "the condition of this assumption is not a C expression",
            location=location_of(pragma),
            hint="write, for instance, '#pragma polytile assume(n >= 4 && m >= n)'",
        ) from None
    condition = tree.ext[0].body.block_items[0].expr
    for node in nodes_below(condition):
        node.coord = copy(pragma.coord)
    return condition


def _names(condition: c_ast.Node) -> set[str]:
    return {str(use.name) for use in variables_in(condition)}


def _known(condition: c_ast.Node, scope: Scope) -> bool:
    return all(scope.lookup(use.name) is not None for use in variables_in(condition))


def statements_before(place: ScopPlace, body: NodeIndex) -> Iterator[c_ast.Node]:
    """The statements that run whenever the SCoP does, before it: earlier ones of the blocks around it."""
    start = body.order[id(place.items[0])]
    for block in place.path:
        for item in block_items(block) if isinstance(block, c_ast.Compound) else ():
            if body.order[id(item)] < start:
                yield item


def _stable(condition: c_ast.Node, item: c_ast.Node, place: ScopPlace, body: NodeIndex) -> bool:
    """Whether the condition's variables keep their values from `item` to the end of the SCoP."""
    return keeps_values({str(u.name) for u in variables_in(condition)}, item, place, body)


def keeps_values(
    names: set[str], item: c_ast.Node, place: ScopPlace, body: NodeIndex, *, to_start: bool = False
) -> bool:
    """Whether variables that no pointer leads to keep the values that they have after `item`, a statement of the
    function `body`, to the end of the SCoP, or to its start."""
    start = body.span(item)[1] + 1
    end = body.order[id(place.items[0])] - 1 if to_start else body.span(place.items[-1])[1]
    loops = [body.span(loop) for loop in place.path if isinstance(loop, _LOOPS)]
    spans = [(start, end), *(span for span in loops if span[0] >= start)]
    return not any(name in names and low <= at <= high for at, name in body.changes for low, high in spans)
