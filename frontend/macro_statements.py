"""Macro-statements: statements of a loop body that become one, as they are too many to be scheduled apart.

before: for (i) { x = A[i - 1]; y = A[i + 1]; if (i == 0) { B[i] = y; ... } else { B[i] = x + y; ... } }   50 statements
after:  for (i) S0: { double x, y; x = A[i - 1]; ... if (i == 0) ... else ... }                            one

Each branch of a condition on iterators would cut the domains of its statements, and what all of them share would have
as many uses. Elements that are set and then used (eliminations in blocks of a matrix) keep statements apart otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from pycparser import c_ast

from polytile.frontend.callees import called_name
from polytile.frontend.jump_elimination import has_break
from polytile.frontend.parse import nodes_below
from polytile.frontend.trees import WRITING
from polytile.frontend.trip_counts import bound, count_of, integer

MOST_APART = 20  # assignments of a run with conditions that are statements of their own
MOST_UNDER = 8  # of these, those below one condition
MOST_REPEATED = 8  # iterations of a loop in a run
MOST_USED = 60  # assignments to elements of arrays that the run reads, too


def runs(items: Sequence[c_ast.Node], plain: Callable[[c_ast.Node], bool]) -> Iterator[tuple[list[c_ast.Node], bool]]:
    """The statements of a block in groups, and whether a group becomes one statement. `plain` says which may be part of
    one. No loop can be distributed over these then: whoever sees that none of their loops is parallel may extract the
    SCoP again with all of them apart (SourceProgram.apart)."""
    may = [plain(item) for item in items]
    rest = max((k + 1 for k, one in enumerate(may) if not one), default=0)  # from here on all are plain
    group: list[c_ast.Node] = []
    for k, item in enumerate(items):
        if may[k] and (k >= rest or not isinstance(item, c_ast.Decl | c_ast.DeclList)):
            group.append(item)
            continue
        if group:
            yield group, _are_many(group)
        group = []
        yield [item], False
    if group:
        yield group, _are_many(group)


def _are_many(group: Sequence[c_ast.Node]) -> bool:
    nodes = [node for item in group for node in nodes_below(item)]
    assigned = assignments(group)
    if len(assigned) <= MOST_APART or _adds_up(nodes):
        return False
    under = (n for n in nodes if isinstance(n, c_ast.If) and sum(map(_assigns, nodes_below(n))) > MOST_UNDER)
    return _used_again(nodes, assigned) > MOST_USED or any(True for _ in under)


def assignments(group: Sequence[c_ast.Node]) -> list[c_ast.Node]:
    """What assigns in statements, and below them."""
    return [node for item in group for node in nodes_below(item) if _assigns(node)]


def _adds_up(nodes: Sequence[c_ast.Node]) -> bool:
    """Whether a variable from outside is added to, which may be a sum over iterations."""
    own = {node.name for node in nodes if isinstance(node, c_ast.Decl)}
    changed = [n for n in nodes if isinstance(n, c_ast.Assignment) and isinstance(n.lvalue, c_ast.ID)]
    return any(n.lvalue.name not in own and (n.op != "=" or _mentions(n.rvalue, n.lvalue.name)) for n in changed)


def _mentions(node: c_ast.Node, name: str) -> bool:
    return any(isinstance(inner, c_ast.ID) and inner.name == name for inner in nodes_below(node))


def _assigns(node: c_ast.Node) -> bool:
    match node:
        case c_ast.Assignment():
            return True
        case c_ast.Decl(init=init):
            return init is not None
    return isinstance(node, c_ast.UnaryOp) and node.op in WRITING


def _used_again(nodes: Sequence[c_ast.Node], assigned: Sequence[c_ast.Node]) -> int:
    """How many assignments are to elements of arrays of which the nodes read elements, too."""
    targets = [node.lvalue for node in assigned if isinstance(node, c_ast.Assignment)]
    places = {id(node) for target in targets for node in _chain(target)}
    read = {_array(node) for node in nodes if isinstance(node, c_ast.ArrayRef) and id(node) not in places}
    return sum(isinstance(t, c_ast.ArrayRef) and _array(t) in read for t in targets)


def _chain(node: c_ast.Node) -> Iterator[c_ast.Node]:
    while isinstance(node, c_ast.ArrayRef):
        yield node
        node = node.name


def _array(node: c_ast.Node) -> str:
    *_, last = _chain(node)
    return str(last.name.name) if isinstance(last.name, c_ast.ID) else ""


def changed_names(node: c_ast.Node) -> Iterator[c_ast.Node]:
    """The declarations of variables, and the places where one is changed as a whole, but for iterators."""
    headers = (part for loop in nodes_below(node) if isinstance(loop, c_ast.For) for part in (loop.init, loop.next))
    counting = {id(n) for part in headers if part is not None for n in nodes_below(part)}
    for inner in (n for n in nodes_below(node) if id(n) not in counting):
        match inner:
            case c_ast.Decl():
                yield inner
            case c_ast.Assignment(lvalue=c_ast.ID() as target):
                yield target
            case c_ast.UnaryOp(op=op, expr=c_ast.ID() as target) if op in WRITING:
                yield target


def has_loop_or_call(node: c_ast.Node, called: Callable[[str], bool]) -> bool:
    """Whether a statement has a loop other than a short one, or calls a function of which `called` is true."""
    return any(_is_long(n) or called(called_name(n)) for n in nodes_below(node))


def _is_long(node: c_ast.Node) -> bool:
    """Whether it is a loop that has more than a few iterations, or an unknown number of them."""
    if not isinstance(node, c_ast.For):
        return isinstance(node, c_ast.While | c_ast.DoWhile)
    count = None if has_break(node) else count_of(node)
    limit = None if count is None else bound(count)
    if count is None or limit is None or limit[0] == "!=":
        return True
    first, last = integer(count.first), integer(limit[1])
    return first is None or last is None or abs(last - first) > MOST_REPEATED


def holds_data(node: c_ast.Node, name: str) -> bool:
    """Whether a variable is only set to values with elements of arrays in them."""
    values = [n.init for n in nodes_below(node) if isinstance(n, c_ast.Decl) and n.name == name and n.init is not None]
    values += [n.rvalue for n in nodes_below(node) if isinstance(n, c_ast.Assignment) and _is_variable(n.lvalue, name)]
    steps = (n for n in nodes_below(node) if isinstance(n, c_ast.UnaryOp) and n.op in WRITING)
    if any(_is_variable(n.expr, name) for n in steps):
        return False
    return bool(values) and all(any(isinstance(n, c_ast.ArrayRef) for n in nodes_below(v)) for v in values)


def _is_variable(node: c_ast.Node, name: str) -> bool:
    return isinstance(node, c_ast.ID) and node.name == name
