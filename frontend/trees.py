"""Copying and rewriting pycparser's trees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from pycparser import c_ast
from pycparser.c_generator import CGenerator

WRITING = ("++", "--", "p++", "p--")
_SLOTS: dict[type, tuple[str, ...]] = {}  # by class of node
_CHILD_SLOTS: dict[type, tuple[str, ...]] = {}
_EXPRESSIONS = frozenset((
    c_ast.ID, c_ast.Constant, c_ast.UnaryOp, c_ast.BinaryOp, c_ast.TernaryOp, c_ast.Assignment, c_ast.ArrayRef,
    c_ast.StructRef, c_ast.FuncCall, c_ast.Cast, c_ast.ExprList,
))  # fmt: skip


def copied(node: Any) -> Any:
    """A copy in which no node is shared with the original or appears twice; coordinates are shared."""
    kind = type(node)
    if kind is c_ast.BinaryOp:
        return c_ast.BinaryOp(node.op, copied(node.left), copied(node.right), node.coord)
    if kind is c_ast.ArrayRef:
        return c_ast.ArrayRef(copied(node.name), copied(node.subscript), node.coord)
    if kind is c_ast.ID:
        return c_ast.ID(node.name, node.coord)
    if kind is c_ast.Constant:
        return c_ast.Constant(node.type, node.value, node.coord)
    return map_children(twin(node), copied)


def twin(node: Any) -> Any:
    """A node with the same children; `copy.copy` takes five times as long."""
    new = object.__new__(type(node))
    for slot in _slots(type(node)):
        setattr(new, slot, getattr(node, slot))
    new.coord = node.coord
    return new


def _slots(kind: Any) -> tuple[str, ...]:
    """The fields of a class of nodes that say what its nodes are."""
    if kind not in _SLOTS:
        _SLOTS[kind] = tuple(slot for slot in kind.__slots__ if slot not in ("coord", "__weakref__"))
    return _SLOTS[kind]


def _child_slots(kind: Any) -> tuple[str, ...]:
    """Those that may hold other nodes: attributes do not, but for alignments."""
    if kind not in _CHILD_SLOTS:
        _CHILD_SLOTS[kind] = tuple(s for s in _slots(kind) if s not in kind.attr_names or s == "align")
    return _CHILD_SLOTS[kind]


def map_children(node: Any, change: Callable[[Any], Any]) -> Any:
    """Replace each direct child c of `node` by change(c), in place."""
    kind = type(node)
    for slot in _CHILD_SLOTS[kind] if kind in _CHILD_SLOTS else _child_slots(kind):
        value = getattr(node, slot)
        if isinstance(value, c_ast.Node):
            changed = change(value)
            if changed is not value:
                setattr(node, slot, changed)
        elif isinstance(value, list):
            setattr(node, slot, [change(v) if isinstance(v, c_ast.Node) else v for v in value])
    return node


def map_statements(node: Any, change: Callable[[Any], Any]) -> Any:
    """The same for nodes that hold statements: what a rewriting of loops and jumps needs not look into is most of a
    tree."""
    for slot in _child_slots(type(node)):
        value = getattr(node, slot, None)
        if _holds_statements(value):
            setattr(node, slot, change(value))
        elif isinstance(value, list):
            setattr(node, slot, [change(v) if _holds_statements(v) else v for v in value])
    return node


def _holds_statements(part: Any) -> bool:
    return isinstance(part, c_ast.Node) and type(part) not in _EXPRESSIONS


def conjuncts(condition: c_ast.Node) -> list[c_ast.Node]:
    """What all has to hold: a, b and c of `a && b && c`."""
    if isinstance(condition, c_ast.BinaryOp) and condition.op == "&&":
        return conjuncts(condition.left) + conjuncts(condition.right)
    return [condition]


def statements_in(node: c_ast.Node) -> list[c_ast.Node]:
    """The direct children of a node that are no expressions."""
    return [] if type(node) in _EXPRESSIONS else [child for child in node if type(child) not in _EXPRESSIONS]


def statements_below(node: c_ast.Node | None) -> Iterator[c_ast.Node]:
    """The node and all below it that are no expressions, parents first, in source order."""
    stack = [] if node is None else [node]
    while stack:
        top = stack.pop()
        yield top
        stack += statements_in(top)[::-1]


def text_of(node: c_ast.Node) -> str:
    """Return the C of an expression or a statement, which is the same for what is alike."""
    return str(CGenerator().visit(node))


def block_items(statement: c_ast.Node | None) -> list[c_ast.Node]:
    """The statements of a block, or the one statement itself."""
    if isinstance(statement, c_ast.Compound):
        return list(statement.block_items or [])
    return [] if statement is None else [statement]


def written_name(node: c_ast.Node) -> str | None:
    """The variable that an assignment or an increment changes as a whole: x of `x = 1`, None for `a[0] = 1`."""
    target = None
    if isinstance(node, c_ast.Assignment):
        target = node.lvalue
    elif isinstance(node, c_ast.UnaryOp) and node.op in WRITING:
        target = node.expr
    return str(target.name) if isinstance(target, c_ast.ID) else None


def address_taken(node: c_ast.Node) -> str | None:
    """The variable whose address `&x`, `&x.f` or `&x[i]` takes."""
    if not (isinstance(node, c_ast.UnaryOp) and node.op == "&"):
        return None
    inner = node.expr
    while isinstance(inner, c_ast.ArrayRef) or (isinstance(inner, c_ast.StructRef) and inner.type == "."):
        inner = inner.name
    return str(inner.name) if isinstance(inner, c_ast.ID) else None


def possible_bases(node: c_ast.Node) -> list[c_ast.ID]:
    """The identifiers that an lvalue may belong to: A of `A[i][j]`, p of `p->x`; p and i of `*(p + i)`."""
    match node:
        case c_ast.ID():
            return [node]
        case c_ast.ArrayRef() | c_ast.StructRef():
            return possible_bases(node.name)
        case c_ast.UnaryOp(op="*" | "&") | c_ast.Cast():
            return possible_bases(node.expr)
        case c_ast.BinaryOp(op="+" | "-"):
            return possible_bases(node.left) + possible_bases(node.right)
    return []


def variables_in(node: c_ast.Node | None) -> Iterator[c_ast.ID]:
    """The identifiers of an expression or statement that stand for values: no field, label or called function."""
    stack = [] if node is None else [node]
    while stack:
        top = stack.pop()
        kind = type(top)
        if kind is c_ast.ID:
            yield top
        elif kind is c_ast.BinaryOp:
            stack += (top.right, top.left)
        elif kind is c_ast.ArrayRef:
            stack += (top.subscript, top.name)
        elif kind is not c_ast.Constant:
            stack += _value_children(top)[::-1]


def free_variables_in(nodes: Iterable[c_ast.Node]) -> Iterator[c_ast.ID]:
    """The identifiers of statements that follow one another which none of them declares.

    before: for (int f = 0; f < n; f++) a[f] = f;
    after:  n, a
    """
    declared: set[str] = set()
    for node in nodes:
        yield from (use for use in _free_in(node) if use.name not in declared)
        declared |= {str(d.name) for d in declarations_of(node)}


def _free_in(node: c_ast.Node) -> Iterator[c_ast.ID]:
    stack = [node]  # sums of hundreds of terms are as deep
    while stack:
        match top := stack.pop():
            case c_ast.ID():
                yield top
            case c_ast.Constant():
                pass
            case c_ast.ArrayRef(name=left, subscript=right) | c_ast.BinaryOp(left=left, right=right):
                stack += (right, left)
            case c_ast.Compound():
                yield from free_variables_in(top.block_items or ())
            case c_ast.For(init=init, cond=condition, next=step, stmt=body):
                yield from free_variables_in(n for n in (init, condition, step, body) if n is not None)
            case _:
                stack += _value_children(top)[::-1]


def declarations_of(node: c_ast.Node) -> list[c_ast.Decl]:
    """What one statement declares."""
    if isinstance(node, c_ast.DeclList):
        return list(node.decls)
    return [node] if isinstance(node, c_ast.Decl) else []


def _value_children(node: c_ast.Node) -> list[c_ast.Node]:
    match node:
        case c_ast.BinaryOp():
            return [node.left, node.right]
        case c_ast.StructRef(name=inner):
            return [inner]
        case c_ast.FuncCall(name=c_ast.ID(), args=arguments):
            return [] if arguments is None else [arguments]
        case c_ast.NamedInitializer(name=designators, expr=value):
            return [*(d for d in designators if not isinstance(d, c_ast.ID)), value]
    return list(node)


def alike(one: c_ast.Node, other: c_ast.Node) -> bool:
    """Whether two expressions are the same."""
    if type(one) is not type(other):
        return False
    if any(getattr(one, a) != getattr(other, a) for a in one.attr_names):
        return False
    mine, others = one.children(), other.children()
    return len(mine) == len(others) and all(alike(a[1], b[1]) for a, b in zip(mine, others, strict=True))


def substituted(node: Any, values: Mapping[str, c_ast.Node]) -> Any:
    """Replace variables by copies of expressions, in place; a declaration of the same name is renamed along.

    before: double t = x;    with x -> a[i], t -> t_1
    after:  double t_1 = a[i];
    """
    if not values:
        return node
    match node:
        case c_ast.ID():
            return _placed(copied(values[node.name]), node.coord) if node.name in values else node
        case c_ast.StructRef():
            node.name = substituted(node.name, values)
            return node
        case c_ast.FuncCall(name=c_ast.ID()):
            node.args = substituted(node.args, values)
            return node
        case c_ast.Decl():
            new = values.get(node.name)
            if isinstance(new, c_ast.ID):
                node.name = new.name
                _rename_declarator(node.type, new.name)
        case c_ast.NamedInitializer():
            node.expr = substituted(node.expr, values)
            return node
        case None:
            return None
    return map_children(node, lambda child: substituted(child, values))


def _placed(node: Any, coord: Any) -> Any:
    """An expression whose parts that stand nowhere in the file stand at `coord`, in place."""
    if node.coord is None:
        node.coord = coord
    return map_children(node, lambda child: _placed(child, coord))


def _rename_declarator(node: Any, name: str) -> None:
    while not isinstance(node, c_ast.TypeDecl):
        node = node.type
    node.declname = name
