"""Reductions in the branches of a condition on data, each as a statement under its own condition.

before: for (i) { if (x[i] > 0) { double t = x[i] * y[i]; s += t; z[i] = t; } else n++; }
after:  for (i) {
            if (x[i] > 0) s += (double)(x[i] * y[i]);
            if (!(x[i] > 0)) n++;
            if (x[i] > 0) { double t = x[i] * y[i]; z[i] = t; }
        }

Each is then found to be a reduction, and loops can be distributed over them. They come first: nothing else in the
branches, nor the condition, uses what they change, and what they add is not changed by statements in front of them.
Where it is, the last ones come last:

before: for (i) { if (x[i] > 0) { x[i] = x[i] / 2; s += x[i]; } }
after:  for (i) { int holds = (x[i] > 0) != 0; if (holds) x[i] = x[i] / 2; if (holds) s += x[i]; }
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.ast_builders import block, declared, names_in, unused
from polytile.frontend.block_values import BlockValues
from polytile.frontend.jump_elimination import LOOPS
from polytile.frontend.node_index import NodeIndex
from polytile.frontend.parse import nodes_below
from polytile.frontend.reduction_statements import (
    calls_others,
    changed_variables,
    changes_nothing_else,
    reduced_variable,
    reduced_variables,
    scattered_variables,
)
from polytile.frontend.trees import block_items, copied, statements_in, variables_in

_MOST = 8  # reductions of one condition, each of which asks it again
_JUMPS = (c_ast.Break, c_ast.Continue, c_ast.Goto, c_ast.Label, c_ast.Return, c_ast.Switch, *LOOPS)


def with_guarded_reductions(body: Sequence[c_ast.Node]) -> tuple[c_ast.Node, ...]:
    """Take the conditions in the loops of a SCoP apart, in place."""
    taken = names_in(body)
    for node in body:
        if isinstance(node, c_ast.For):
            index = NodeIndex.of([node])
            if index.all(c_ast.If):
                reduced = reduced_variables(node) | scattered_variables(node)
                _take_apart(node, reduced, frozenset(index.declared), taken)
    return tuple(body)


def _take_apart(loop: c_ast.For, reduced: frozenset[str], local: frozenset[str], taken: set[str]) -> None:
    """The conditions of a loop, of which the loops around reduce some variables: those that are `local` to an iteration
    of theirs are reduced in this one."""
    for node in _outside_counted(loop.stmt):
        if isinstance(node, c_ast.For):
            _take_apart(node, reduced | (reduced_variables(node) & local), local, taken)
        elif reduced and isinstance(node, c_ast.Compound):
            node.block_items = [part for item in node.block_items or [] for part in _apart(item, reduced, taken)]
    if reduced and isinstance(loop.stmt, c_ast.If):
        parts = _apart(loop.stmt, reduced, taken)
        loop.stmt = parts[0] if len(parts) == 1 else block(parts, loop.stmt.coord)


def _outside_counted(node: c_ast.Node) -> Iterator[c_ast.Node]:
    """The statement and those in it, without those of loops that count; these loops themselves."""
    yield node
    for inner in () if isinstance(node, c_ast.For) else statements_in(node):
        yield from _outside_counted(inner)


@dataclass(frozen=True, slots=True)
class _Branch:
    """The reductions of a branch with all that they add, what is left of it, and the reductions behind that."""

    reductions: tuple[c_ast.Node, ...]
    rest: tuple[c_ast.Node, ...]
    last: tuple[c_ast.Node, ...]


def _apart(node: c_ast.Node, reduced: frozenset[str], taken: set[str]) -> list[c_ast.Node]:
    """Return a statement, or those that it becomes."""
    if not isinstance(node, c_ast.If) or not changes_nothing_else(node.cond):
        return [node]
    if calls_others(node) or any(isinstance(n, _JUMPS) for n in nodes_below(node)):
        return [node]
    then, other = (_branch(part, reduced, taken) for part in (node.iftrue, node.iffalse))
    found = [*then.reductions, *then.last, *other.reductions, *other.last]
    if not found or len(found) > _MOST or (len(found) == 1 and not then.rest and node.iffalse is None):
        return [node]
    changed = {str(reduced_variable(n)) for n in found}
    if _uses(node.cond) & changed or any(_uses(n) & changed for n in (*then.rest, *other.rest)):
        return [node]
    if any((_uses(n) - {str(reduced_variable(n))}) & changed for n in found):
        return [node]
    first: list[c_ast.Node] = []
    condition = node.cond
    if then.last or other.last:
        holds = unused("holds", taken)
        first.append(declared(holds, "int", c_ast.BinaryOp("!=", node.cond, c_ast.Constant("int", "0"))))
        condition = c_ast.ID(holds, node.coord)
    made = [*first, *_guarded(condition, then.reductions, other.reductions)]
    if all(_is_of_no_effect(n) for n in (*then.rest, *other.rest)):
        return made
    left = block([*other.rest], node.coord) if other.rest else None
    rest = c_ast.If(copied(condition), block([*then.rest], node.coord), left, node.coord)
    return [*made, rest, *_guarded(condition, then.last, other.last)]


def _guarded(
    condition: c_ast.Node, then: Sequence[c_ast.Node], other: Sequence[c_ast.Node]
) -> Iterator[c_ast.Node]:
    for n in then:
        yield c_ast.If(copied(condition), n, None, condition.coord)
    for n in other:
        yield c_ast.If(c_ast.UnaryOp("!", copied(condition), condition.coord), n, None, condition.coord)


def _is_of_no_effect(node: c_ast.Node) -> bool:
    return isinstance(node, c_ast.Decl) and (node.init is None or changes_nothing_else(node.init))


def _branch(node: c_ast.Node | None, reduced: frozenset[str], taken: set[str]) -> _Branch:
    known = BlockValues()
    written: set[str] = set()
    reductions: list[c_ast.Node] = []
    rest: list[c_ast.Node] = []
    for item in (part for inner in _flat(node) for part in _apart(inner, reduced, taken)):
        if _is_reduction(item, reduced, known):
            made = known.used_in(item)
            if not _uses(made) & (written | known.types.keys()):
                reductions.append(made)
                continue
        if not known.follow(item):
            written |= changed_variables(item)
        rest.append(item)
    last: list[c_ast.Node] = []
    while rest and _is_reduction(rest[-1], reduced, known) and not _uses(rest[-1]) & known.types.keys():
        last.insert(0, rest.pop())
    return _Branch(tuple(reductions), tuple(rest), tuple(last))


def _is_reduction(node: c_ast.Node, reduced: frozenset[str], known: BlockValues) -> bool:
    name = reduced_variable(node)
    return name in reduced and name not in known.types and changes_nothing_else(node)


def _flat(node: c_ast.Node | None) -> list[c_ast.Node]:
    """The statements of a branch; those of blocks without variables of their own among them."""
    found: list[c_ast.Node] = []
    for item in block_items(node):
        own = isinstance(item, c_ast.Compound) and not any(isinstance(n, c_ast.Decl) for n in block_items(item))
        found += _flat(item) if own else [item]
    return [item for item in found if not isinstance(item, c_ast.EmptyStatement)]


def _uses(node: c_ast.Node) -> set[str]:
    return {str(use.name) for use in variables_in(node)}
