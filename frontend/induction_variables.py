"""Which variables of a SCoP count along with its loops, or are iterators that are used elsewhere, too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence, Set
from typing import Any

from pycparser import c_ast

from polytile.frontend.node_index import NodeIndex
from polytile.frontend.parse import nodes_below
from polytile.frontend.scope import Scope
from polytile.frontend.trees import variables_in, written_name
from polytile.frontend.trip_counts import count_of, increment


def induction_variables(body: Sequence[c_ast.Node], scope: Scope, live_after: Callable[[str], bool]) -> list[str]:
    """Scalars that are set, and are used in subscripts, bounds or conditions, or as iterators and elsewhere, too; those
    that turn around as remainders of themselves, `k = (k + 1) % m`, whatever uses them."""
    index = NodeIndex.of(body)
    loops = index.all(c_ast.For)
    counters = {c.name for loop in loops if (c := count_of(loop)) is not None and not c.declared}
    changed = set(index.written)
    changed -= {c.name for loop in loops if (c := count_of(loop)) is not None and c.declared}
    deciding = [p for n in index.all(c_ast.ArrayRef, c_ast.For, c_ast.If) for p in deciding_parts(n)]
    used = {str(use.name) for part in deciding for use in variables_in(part)} | _turning(index)
    candidates = (changed - counters) & used
    declared = {str(n.name) for n in index.all(c_ast.Decl) if n.name and n.init is not None}
    nodes = index.all(c_ast.Assignment, c_ast.UnaryOp, c_ast.Decl)  # what sets variables
    behind = _set_to(nodes, candidates) & ((changed | declared) - counters)
    values = _values_of(nodes)
    varying = (candidates | behind) & (_changing(loops) | {name for name, count in values.items() if count > 1})
    varying |= {name for name in candidates if _set_to(nodes, {name}) & varying}
    found = sorted(varying | (_set_to(nodes, varying) & behind))
    for name in sorted(counters):
        binding = scope.lookup(name)
        after = binding is not None and binding.level != "global" and live_after(name)
        if after or any(outside_own_loops(node, name) for node in body):
            found.append(name)
    return found


def _turning(index: NodeIndex) -> set[str]:
    """The variables that are set to remainders of themselves."""
    found = set()
    for node in index.all(c_ast.Assignment):
        name, value = written_name(node), node.rvalue
        own = isinstance(value, c_ast.BinaryOp) and any(use.name == name for use in variables_in(value))
        if name is not None and (node.op in ("%=", "&=") or (node.op == "=" and own and value.op in ("%", "&"))):
            found.add(name)
    return found


def _set_to(nodes: Sequence[c_ast.Node], names: Set[str]) -> set[str]:
    """The variables that others are set to, or are added to them, directly or not: `j = 1; ..; k += j;`"""
    found: set[str] = set()
    while True:
        known = {*names, *found}
        values = [n.rvalue for n in nodes if isinstance(n, c_ast.Assignment) and written_name(n) in known]
        values += [n.init for n in nodes if isinstance(n, c_ast.Decl) and n.name in known and n.init is not None]
        more = {str(use.name) for value in values for use in variables_in(value)} - known
        if not more:
            return found
        found |= more


def deciding_parts(node: Any) -> list[c_ast.Node]:
    """What decides which elements a statement accesses, or whether it runs."""
    match node:
        case c_ast.ArrayRef():
            return [node.subscript]
        case c_ast.For():
            return [part for part in (node.init, node.cond) if part is not None]
        case c_ast.If():
            return [node.cond]
    return []


def _changing(loops: Sequence[Any]) -> set[str]:
    """The variables that count in a loop, or of which iterations use what the one before has left."""
    inner = {id(n) for loop in loops for n in nodes_below(loop.stmt) if isinstance(n, c_ast.For)}
    found: set[str] = set()
    for loop in loops:
        if id(loop) not in inner:  # its nodes are those of the loops in it, too
            found |= {name for n in nodes_below(loop) if (name := written_name(n)) is not None and _counts(n, name)}
        found |= _handed_on(loop)
    return found


def _counts(node: Any, name: str) -> bool:
    """Whether a statement adds a number, or a size, to a variable."""
    return bool(increment(node, name)) or (isinstance(node, c_ast.Assignment) and node.op == "+=")


def _values_of(nodes: Iterable[Any]) -> Counter[str]:
    """How many values each variable gets, more than one in int end = i + 16; if (end > n) end = n;"""
    found = Counter(str(n.name) for n in nodes if isinstance(n, c_ast.Decl) and n.name and n.init is not None)
    found.update(name for n in nodes if (name := written_name(n)) is not None)
    return found


def _handed_on(loop: Any) -> set[str]:
    """The variables that the body of a loop reads before it sets them: a[i] = b[last]; last = i;"""
    nodes = list(nodes_below(loop.stmt))
    targets = {id(n.lvalue) for n in nodes if isinstance(n, c_ast.Assignment) and n.op == "="}
    read_first: dict[str, bool] = {}
    changed: set[str] = set()
    for n in nodes:
        if isinstance(n, c_ast.ID | c_ast.Decl) and n.name:
            read_first.setdefault(n.name, id(n) not in targets)
            if id(n) in targets:
                changed.add(n.name)
    return {name for name in changed if read_first[name]}


def outside_own_loops(node: c_ast.Node, name: str) -> bool:
    """Whether a variable is mentioned elsewhere than in loops that count with it."""
    if isinstance(node, c_ast.For):
        count = count_of(node)
        if count is not None and count.name == name:
            return any(use.name == name for use in variables_in(count.first))
    if isinstance(node, c_ast.ID):
        return bool(node.name == name)
    if isinstance(node, c_ast.StructRef):
        return outside_own_loops(node.name, name)
    return any(outside_own_loops(child, name) for _, child in node.children())
