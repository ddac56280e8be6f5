"""Variables that a SCoP declares and that outlive it: `static int k = 3;` in the body of a loop is one variable for all
iterations and calls, which the host cannot name where it calls the kernels.

before: static double w[3];            x[i] = w[i % 3];
after:  static double w[3] = {0};      x[i] = w[i % 3];

Those that nothing changes are as good as new ones with the same value each time; others are refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pycparser import c_ast

from polytile.diagnostics import UserError
from polytile.frontend.parse import location_of, nodes_below
from polytile.frontend.trees import WRITING, possible_bases


def with_known_values(body: Sequence[c_ast.Node]) -> tuple[c_ast.Node, ...]:
    """The normalised statements of a SCoP, changed in place: `static` variables have the value that C gives them.

    Raises UserError for one that the SCoP may change, and for one that is declared `extern`.
    """
    declared = [n for item in body for n in nodes_below(item) if isinstance(n, c_ast.Decl) and _kept(n)]
    if declared:
        changed = {use.name for item in body for use in _changed(item)}
        whole = {name for item in body for name in _arrays_as_a_whole(item, declared)}
        for node in declared:
            node.init = _zero(node) if node.init is None else node.init
            _check(node, changed | whole)
    return tuple(body)


def _kept(node: c_ast.Decl) -> bool:
    return not isinstance(node.type, c_ast.FuncDecl) and bool({"static", "extern"} & set(node.storage or ()))


def _check(node: c_ast.Decl, changed: set[str]) -> None:
    if "extern" in node.storage:
        raise UserError(
            f"'{node.name}' is declared inside the SCoP and defined elsewhere",
            location=location_of(node),
            hint="declare it in front of the SCoP",
        )
    if node.init is None or (node.name in changed and not _constant(node)):
        raise UserError(
            f"the static variable '{node.name}' of the SCoP's own block keeps its value from one iteration to the next",
            location=location_of(node),
            hint="declare it in front of the SCoP, where the call of the kernels can name it; "
            "without `static` if each iteration starts anew",
        )


def _changed(item: c_ast.Node) -> Iterator[c_ast.ID]:
    """The variables that a statement changes, or whose address it takes."""
    for node in nodes_below(item):
        if isinstance(node, c_ast.Assignment):
            yield from possible_bases(node.lvalue)
        elif isinstance(node, c_ast.UnaryOp) and node.op in (*WRITING, "&"):
            yield from possible_bases(node.expr)


def _arrays_as_a_whole(item: c_ast.Node, declared: Sequence[c_ast.Decl]) -> Iterator[str]:
    """The arrays of which a statement uses more than an element, as in a call that takes a pointer."""
    ranks = {str(d.name): _rank(d) for d in declared}
    elements = set()
    for node in nodes_below(item):
        inner, subscripts = node, 0
        while isinstance(inner, c_ast.ArrayRef):
            inner, subscripts = inner.name, subscripts + 1
        if isinstance(inner, c_ast.ID) and subscripts == ranks.get(inner.name):
            elements.add(id(inner))
    yield from (
        n.name for n in nodes_below(item) if isinstance(n, c_ast.ID) and n.name in ranks and id(n) not in elements
    )


def _rank(node: c_ast.Decl) -> int:
    rank, inner = 0, node.type
    while isinstance(inner, c_ast.ArrayDecl):
        rank, inner = rank + 1, inner.type
    return rank


def _constant(node: c_ast.Decl) -> bool:
    inner = node.type
    while isinstance(inner, c_ast.ArrayDecl):
        inner = inner.type
    return "const" in (inner.quals or ())


def _zero(node: c_ast.Decl) -> c_ast.Node | None:
    """What C sets a number, or an array of them, to that has no initial value."""
    inner = node.type
    while isinstance(inner, c_ast.ArrayDecl):
        inner = inner.type
    if not isinstance(inner, c_ast.TypeDecl) or not isinstance(inner.type, c_ast.IdentifierType):
        return None
    zero = c_ast.Constant("int", "0", node.coord)
    return zero if inner is node.type else c_ast.InitList([zero], node.coord)
