"""Loop bodies without `continue`, and blocks without `goto` forwards: what is skipped stands under the opposite
condition. A `goto` from a loop to what follows it is `break`; labels that no `goto` names go.

before: for (..) { S0; if (c || d) continue; S1; if (e) { S2; continue; } S3; }
after:  for (..) { S0; if (!c && !d) { S1; if (e) { S2; } else { S3; } } }

before: if (c) goto L; S0; goto M; L: S1; M: S2;
after:  if (c) { S1; } else { S0; } S2;
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from pycparser import c_ast

from polytile.frontend.trees import (
    alike,
    block_items,
    copied,
    map_statements,
    statements_below,
    statements_in,
    variables_in,
)

LOOPS = (c_ast.For, c_ast.While, c_ast.DoWhile)
MOST_COPIES = 64  # of statements behind branches that end in either way


def without_continue(node: c_ast.Node) -> c_ast.Node:
    """Rewrite all loops below a node, in place, `goto` in them too. A jump stays where a declaration around it would be
    seen by what it skips, or where what it skips would be written down too often; it is refused there."""
    for loop in reversed([n for n in statements_below(node) if isinstance(n, LOOPS)]):  # inner loops first
        body = block_items(loop.stmt)
        if any(map(jumps, body)):
            room = [MOST_COPIES]
            made = rewritten(body, room)
            if room[0] >= 0:
                loop.stmt = c_ast.Compound(made, loop.stmt.coord)
    return node


def without_goto(body: Sequence[c_ast.Node], targets: Collection[str]) -> tuple[c_ast.Node, ...]:
    """The statements of a SCoP, whose loops have no `goto` any more that could go; `targets` are the labels that the
    rest of the function jumps to."""
    items = list(body)
    if any(map(jumps, items)) and not any(_continues(node) for node in items):
        room = [MOST_COPIES]
        made = rewritten(items, room)
        items = made if room[0] >= 0 else items
    left = {*targets, *(name for node in items for name in goto_targets(node))}
    return tuple(without_labels(node, left) for node in items)


def with_breaks(body: Sequence[c_ast.Node]) -> list[c_ast.Node]:
    """The statements of a block, changed in place: labels stand apart from what they label, and a `goto` in a loop to
    a label right behind it is a `break`.

    before: for (..) { if (c) { S; goto L; } } L: T;    after: for (..) { if (c) { S; break; } } L: ; T;
    """
    items = _labels_apart([_with_breaks_below(node) for node in body])
    for k, node in enumerate(items):
        labels = []
        for other in items[k + 1 :]:
            if not isinstance(other, c_ast.Label):
                break
            labels.append(other.name)
        if labels and isinstance(node, LOOPS):
            node.stmt = _with_break(node.stmt, labels)
    return items


def _with_breaks_below(node: Any) -> Any:
    if isinstance(node, c_ast.Compound):
        node.block_items = with_breaks(node.block_items or [])
        return node
    return map_statements(node, _with_breaks_below)


def _with_break(node: Any, labels: Collection[str]) -> Any:
    """A part of a loop's body in which a `goto` to one of the labels ends this loop."""
    if isinstance(node, c_ast.Goto) and node.name in labels:
        return c_ast.Break(node.coord)
    return node if isinstance(node, (*LOOPS, c_ast.Switch)) else map_statements(node, lambda c: _with_break(c, labels))


def _labels_apart(items: Sequence[c_ast.Node]) -> list[c_ast.Node]:
    """`L: S;` as `L: ;` and `S;`."""
    found: list[c_ast.Node] = []
    for node in items:
        while isinstance(node, c_ast.Label) and not isinstance(node.stmt, c_ast.EmptyStatement):
            found.append(c_ast.Label(node.name, c_ast.EmptyStatement(node.coord), node.coord))
            node = node.stmt
        found.append(node)
    return found


def without_labels(node: Any, named: Collection[str]) -> Any:
    """The statement without labels but those that a `goto` names."""
    node = map_statements(node, lambda child: without_labels(child, named))
    return node.stmt if isinstance(node, c_ast.Label) and node.name not in named else node


def goto_targets(node: c_ast.Node, but: Sequence[c_ast.Node] = ()) -> frozenset[str]:
    """The labels that some `goto` below a node names, but for those below others."""
    own = {id(n) for other in but for n in statements_below(other)}
    return frozenset(str(n.name) for n in statements_below(node) if isinstance(n, c_ast.Goto) and id(n) not in own)


def has_break(loop: Any) -> bool:
    """Whether a `break` in the body of a loop ends this loop."""
    return _breaks(loop.stmt)


def _breaks(node: c_ast.Node | None) -> bool:
    if node is None or isinstance(node, (*LOOPS, c_ast.Switch)):
        return False
    return isinstance(node, c_ast.Break) or any(map(_breaks, statements_in(node)))


def jumps(node: c_ast.Node) -> bool:
    """Whether a `continue` of the loop at hand, or a `goto`, is in a statement."""
    if isinstance(node, c_ast.Continue | c_ast.Goto):
        return True
    return not isinstance(node, LOOPS) and any(map(jumps, statements_in(node)))


def _continues(node: c_ast.Node) -> bool:
    if isinstance(node, c_ast.Continue):
        return True
    return not isinstance(node, LOOPS) and any(map(_continues, statements_in(node)))


def rewritten(body: list[c_ast.Node], room: list[int]) -> list[c_ast.Node]:
    """The statements up to the end of a loop's body; `room` counts down what is copied, below 0 where that fails."""
    for k, node in enumerate(body):
        if isinstance(node, c_ast.Break):
            return body[: k + 1]
        if not jumps(node):
            continue
        before, rest = body[:k], body[k + 1 :]
        match node:
            case c_ast.Continue():
                return before
            case c_ast.Goto(name=name):
                return [*before, *rewritten(_from_label(name, rest, room), room)]
            case c_ast.Compound() if not any(isinstance(n, c_ast.Decl | c_ast.Typedef) for n in block_items(node)):
                return [*before, *rewritten([*block_items(node), *rest], room)]
            case c_ast.If():
                return [*before, *_branches(node, rest, room)]
        return body
    return body


def _from_label(name: str, rest: list[c_ast.Node], room: list[int]) -> list[c_ast.Node]:
    """What runs after a jump forwards, which may not skip a declaration; nothing where it is no such jump."""
    for k, node in enumerate(rest):
        if isinstance(node, c_ast.Decl):
            break
        if isinstance(node, c_ast.Label) and node.name == name:
            return rest[k:]
    room[0] = -1
    return []


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
    shared = _shared_end(first, second)
    last = first[len(first) - shared :]
    first, second = first[: len(first) - shared], second[: len(second) - shared]
    if first:
        made = c_ast.Compound(first, node.coord)
        yield c_ast.If(node.cond, made, c_ast.Compound(second, node.coord) if second else None, node.coord)
    elif second:
        yield c_ast.If(_opposite(node.cond), c_ast.Compound(second, node.coord), None, node.coord)
    yield from last


def _shared_end(first: Sequence[c_ast.Node], second: Sequence[c_ast.Node]) -> int:
    """How many statements both branches end in, none of which is a declaration that the ones before use."""
    pairs = enumerate(zip(reversed(first), reversed(second), strict=False))
    differs = (k for k, (a, b) in pairs if isinstance(a, c_ast.Decl) or not alike(a, b))
    return next(differs, min(len(first), len(second)))


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
