"""Loop bodies without `continue`: what it skips stands under the opposite condition; labels that no `goto` names go.

before: for (..) { S0; if (c || d) continue; S1; if (e) { S2; continue; } S3; }
after:  for (..) { S0; if (!c && !d) { S1; if (e) { S2; } else { S3; } } }
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from pycparser import c_ast

from polytile.frontend.parse import nodes_below
from polytile.frontend.trees import block_items, copied, map_children, variables_in

LOOPS = (c_ast.For, c_ast.While, c_ast.DoWhile)
MOST_COPIES = 64  # of statements behind branches that end in either way


def without_continue(node: c_ast.Node) -> c_ast.Node:
    """Rewrite all loops below a node, in place. A `continue` stays where a declaration around it would be seen by what
    it skips, or where what it skips would be written down too often; it is refused there."""
    for loop in reversed([n for n in nodes_below(node) if isinstance(n, LOOPS)]):  # inner loops first
        body = block_items(loop.stmt)
        if any(map(jumps, body)):
            room = [MOST_COPIES]
            made = rewritten(body, room)
            if room[0] >= 0:
                loop.stmt = c_ast.Compound(made, loop.stmt.coord)
    return node


def without_labels(node: Any, named: Collection[str]) -> Any:
    """The statement without labels but those that a `goto` names."""
    node = map_children(node, lambda child: without_labels(child, named))
    return node.stmt if isinstance(node, c_ast.Label) and node.name not in named else node


def goto_targets(function: c_ast.Node) -> frozenset[str]:
    """The labels that some `goto` of a function names."""
    return frozenset(str(n.name) for n in nodes_below(function) if isinstance(n, c_ast.Goto))


def has_break(loop: Any) -> bool:
    """Whether a `break` in the body of a loop ends this loop."""
    return _breaks(loop.stmt)


def _breaks(node: c_ast.Node | None) -> bool:
    if node is None or isinstance(node, (*LOOPS, c_ast.Switch)):
        return False
    return isinstance(node, c_ast.Break) or any(_breaks(child) for _, child in node.children())


def jumps(node: c_ast.Node) -> bool:
    """Whether a `continue` of the loop at hand is in a statement."""
    if isinstance(node, c_ast.Continue):
        return True
    return not isinstance(node, LOOPS) and any(jumps(child) for _, child in node.children())


def rewritten(body: list[c_ast.Node], room: list[int]) -> list[c_ast.Node]:
    """The statements up to the end of a loop's body; `room` counts down what is copied."""
    for k, node in enumerate(body):
        if not jumps(node):
            continue
        before, rest = body[:k], body[k + 1 :]
        match node:
            case c_ast.Continue():
                return before
            case c_ast.Compound() if not any(isinstance(n, c_ast.Decl | c_ast.Typedef) for n in block_items(node)):
                return [*before, *rewritten([*block_items(node), *rest], room)]
            case c_ast.If():
                return [*before, *_branches(node, rest, room)]
        return body
    return body


def _branches(node: c_ast.If, rest: list[c_ast.Node], room: list[int]) -> Iterator[c_ast.Node]:
    """The two ways through a condition, each with what follows on it."""
    then, otherwise = block_items(node.iftrue), block_items(node.iffalse)
    if any(_hides(branch, rest) for branch in (then, otherwise)):
        room[0] = -1
    if not (_ends(then) or _ends(otherwise)):
        room[0] -= len(rest)
    if room[0] < 0:
        return
    again = [copied(n) for n in rest]
    first, second = rewritten([*then, *rest], room), rewritten([*otherwise, *again], room)
    if first:
        made = c_ast.Compound(first, node.coord)
        yield c_ast.If(node.cond, made, c_ast.Compound(second, node.coord) if second else None, node.coord)
    elif second:
        yield c_ast.If(_opposite(node.cond), c_ast.Compound(second, node.coord), None, node.coord)


def _ends(body: list[c_ast.Node]) -> bool:
    return any(isinstance(node, c_ast.Continue) for node in body)


def _hides(branch: list[c_ast.Node], rest: list[c_ast.Node]) -> bool:
    """Whether what follows on a branch would take a variable of the branch for another one of the same name."""
    own = {str(node.name) for node in branch if isinstance(node, c_ast.Decl)}
    return bool(own) and not _ends(branch) and any(i.name in own for node in rest for i in variables_in(node))


def _opposite(condition: c_ast.Node) -> c_ast.Node:
    """The condition's opposite; comparisons are negated as a whole, as both may fail with NaN."""
    match condition:
        case c_ast.BinaryOp(op="||" | "&&" as op, left=left, right=right):
            other = "&&" if op == "||" else "||"
            return c_ast.BinaryOp(other, _opposite(left), _opposite(right), condition.coord)
        case c_ast.UnaryOp(op="!", expr=inner):
            return inner
    return c_ast.UnaryOp("!", condition, condition.coord)
