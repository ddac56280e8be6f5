"""Conditions on data around loops whose bodies cannot change them: each iteration asks, and the loops stay loops.

before: for (i) if (x[i] != 0) for (j) A[i][j] += x[i] * y[j];      one step of data-dependent length
after:  for (i) for (j) if (x[i] != 0) A[i][j] += x[i] * y[j];      two loops of which both may be parallel

So does each of a loop that only adds up where few iterations are left out, `if (i != p) for (j) s += A[i][j];`: sums
ask that in any case, as their iterations are easier to share out all together (domain_exclusions.py).

Statements beside the loops ask as well: `if (p != k) { for (j) S; T; }` is `for (j) if (p != k) S; if (p != k) T;`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.ast_builders import base_of, block, type_of
from polytile.frontend.induction_variables import outside_own_loops
from polytile.frontend.node_index import NodeIndex
from polytile.frontend.parse import nodes_below
from polytile.frontend.reduction_statements import (
    calls_others,
    changed_variables,
    changes_nothing_else,
    reduced_variable,
)
from polytile.frontend.scope import Scope
from polytile.frontend.trees import block_items, conjuncts, copied, statements_below, variables_in, written_name
from polytile.frontend.trip_counts import count_of

_CONTROL = (c_ast.While, c_ast.DoWhile, c_ast.Break, c_ast.Continue, c_ast.Goto, c_ast.Label, c_ast.Return)
_FLOATING = ("float", "double", "long double")


def with_conditions_in_loops(
    body: Sequence[c_ast.Node], scope: Scope, live_after: Callable[[str], bool]
) -> tuple[c_ast.Node, ...]:
    """Move such conditions of a SCoP into their loops, in place. `live_after` says whether the value of a variable may
    be read after the statements."""
    index = NodeIndex.of(body)
    if not index.all(c_ast.If):
        return tuple(body)
    conditions = _Conditions.of(body, index, scope, live_after)
    root = c_ast.Compound(list(body))
    for node in statements_below(root):
        if isinstance(node, c_ast.Compound):
            node.block_items = [part for item in node.block_items or [] for part in conditions.inside(item)]
        elif isinstance(node, c_ast.For) and isinstance(node.stmt, c_ast.If):
            parts = conditions.inside(node.stmt)
            node.stmt = parts[0] if len(parts) == 1 else block(parts, node.stmt.coord)
    return tuple(root.block_items or [])


@dataclass(frozen=True, slots=True)
class _Conditions:
    """`types` are those of scalars that the SCoP declares, `varying` scalars with several values, or with one that data
    decide, `shared` iterators of which the last value may be read."""

    scope: Scope
    types: Mapping[str, str]
    varying: frozenset[str]
    shared: frozenset[str]

    @classmethod
    def of(
        cls, body: Sequence[c_ast.Node], index: NodeIndex, scope: Scope, live_after: Callable[[str], bool]
    ) -> _Conditions:
        counts = [count for loop in index.all(c_ast.For) if (count := count_of(loop)) is not None]
        counters = {count.name for count in counts}
        outer = {count.name for count in counts if not count.declared}
        shared = {n for n in outer if live_after(n) or any(outside_own_loops(node, n) for node in body)}
        varying = _varying(index) - counters
        types = {str(n.name): type_of(n) for n in index.all(c_ast.Decl) if n.name}
        return cls(scope, types, frozenset(varying), frozenset(shared))

    def inside(self, node: c_ast.Node) -> list[c_ast.Node]:
        """Return a statement, or the loops that it becomes."""
        if not isinstance(node, c_ast.If) or not changes_nothing_else(node.cond):
            return [node]
        if not self._asks_data(node.cond) and not _leaves_few_out(node):
            return [node]
        branches = [(block_items(part), negated) for part, negated in ((node.iftrue, False), (node.iffalse, True))]
        items = [item for part, _ in branches for item in part]
        loops = any(isinstance(item, c_ast.For) for item in items)
        if not loops or not all(self._can_ask(item, node.cond) for item in items):
            return [node]
        return [_asking(group, node.cond, negated) for part, negated in branches for group in _groups(part)]

    def _asks_data(self, condition: c_ast.Node) -> bool:
        """Whether a condition is on elements, floating point numbers or varying scalars: others are those of a
        polyhedron."""
        if any(isinstance(n, c_ast.ArrayRef) for n in nodes_below(condition)):
            return True
        names = {str(use.name) for use in variables_in(condition)}
        return bool(names & self.varying) or any(self._type(name) in _FLOATING for name in names)

    def _type(self, name: str) -> str:
        return self.types[name] if name in self.types else base_of(name, self.scope, arrays=False)

    def _can_ask(self, node: c_ast.Node, condition: c_ast.Node) -> bool:
        """Whether a statement leaves the answer of a condition as it is, and may be a loop whose iterations ask it."""
        asked = {str(use.name) for use in variables_in(condition)}
        shadowed = {str(n.name) for n in nodes_below(node) if isinstance(n, c_ast.Decl)}
        if calls_others(node) or asked & (changed_variables(node) | shadowed):
            return False
        if isinstance(node, c_ast.For):
            return self._may_run(node)
        return not isinstance(node, c_ast.Decl) and not any(isinstance(n, _CONTROL) for n in nodes_below(node))

    def _may_run(self, loop: c_ast.For) -> bool:
        """Whether a loop may run where the condition around it does not hold."""
        count = count_of(loop)
        if count is None or count.name in self.shared or loop.cond is None:
            return False
        header = [*nodes_below(count.first), *nodes_below(loop.cond)]
        if any(isinstance(n, c_ast.ArrayRef | c_ast.StructRef | c_ast.FuncCall | c_ast.UnaryOp) for n in header):
            return False
        return not any(isinstance(n, c_ast.BinaryOp) and n.op in ("/", "%") for n in header)


def _varying(index: NodeIndex) -> set[str]:
    """The scalars that are set more than once, or under a condition, or to what is made of elements and of these."""
    conditional: set[int] = set()
    for branch in index.all(c_ast.If):  # parents first
        conditional |= set() if id(branch) in conditional else {id(n) for n in nodes_below(branch)}
    settings: dict[str, list[c_ast.Node]] = {}
    varying = set()
    for node in index.all(c_ast.Assignment, c_ast.UnaryOp, c_ast.Decl):
        declared = isinstance(node, c_ast.Decl) and node.init is not None and isinstance(node.type, c_ast.TypeDecl)
        name = str(node.name) if declared else written_name(node)
        if name is not None:
            settings.setdefault(name, []).append(node)
            varying |= {name} if id(node) in conditional else set()
    varying |= {name for name, nodes in settings.items() if len(nodes) > 1}
    while True:
        values = {name: nodes[0] for name, nodes in settings.items() if name not in varying}
        more = {name for name, node in values.items() if _reads_data(node, varying)}
        if not more:
            return varying
        varying |= more


def _reads_data(node: c_ast.Node, varying: set[str]) -> bool:
    """Whether a scalar is set to what is made of elements, or of varying scalars."""
    value = node.init if isinstance(node, c_ast.Decl) else getattr(node, "rvalue", None)
    if value is None:
        return False
    elements = any(isinstance(n, c_ast.ArrayRef) for n in nodes_below(value))
    return elements or any(use.name in varying for use in variables_in(value))


def _leaves_few_out(node: c_ast.If) -> bool:
    """Whether it is a sum but where numbers are equal."""
    if node.iffalse is not None or not all(_only_adds(item) for item in block_items(node.iftrue)):
        return False
    return all(_is_unequal(test) for test in conjuncts(node.cond))


def _is_unequal(test: c_ast.Node) -> bool:
    """Whether it is `a != b`, or `!(a == b)`."""
    if isinstance(test, c_ast.UnaryOp) and test.op == "!":
        return isinstance(test.expr, c_ast.BinaryOp) and test.expr.op == "=="
    return isinstance(test, c_ast.BinaryOp) and test.op == "!="


def _only_adds(node: c_ast.Node) -> bool:
    if isinstance(node, c_ast.For | c_ast.Compound):
        inner = node.stmt if isinstance(node, c_ast.For) else node
        return all(_only_adds(item) for item in block_items(inner))
    return reduced_variable(node) is not None


def _groups(items: Sequence[c_ast.Node]) -> list[list[c_ast.Node]]:
    """Each loop by itself, and the statements between loops together."""
    found: list[list[c_ast.Node]] = []
    for item in items:
        if found and not isinstance(item, c_ast.For) and not isinstance(found[-1][0], c_ast.For):
            found[-1].append(item)
        else:
            found.append([item])
    return found


def _asking(items: list[c_ast.Node], condition: c_ast.Node, negated: bool) -> c_ast.Node:
    test = copied(condition)
    test = c_ast.UnaryOp("!", test, condition.coord) if negated else test
    first = items[0]
    if not isinstance(first, c_ast.For):
        return c_ast.If(test, block(items, first.coord), None, first.coord)
    inner = first.stmt if isinstance(first.stmt, c_ast.Compound) else block([first.stmt], first.stmt.coord)
    return c_ast.For(first.init, first.cond, first.next, c_ast.If(test, inner, None, first.coord), first.coord)
