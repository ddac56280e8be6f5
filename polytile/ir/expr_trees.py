"""Trees of expressions and statements: their nodes one after the other, and the same tree with other nodes.

before: Binary("+", Name("i"), Literal("1")), rewritten by {Name("i") -> Name("c0")}
after:  Binary("+", Name("c0"), Literal("1"))
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from operator import attrgetter, is_not
from typing import Any, TypeVar

from polytile.ir.expr import Execution, Expr, For, If, Name, Node, Scope, Stmt, While

_Stmt = TypeVar("_Stmt", bound=Stmt)
_NODES = (Expr, Stmt)  # a tuple: tests against a union, which is made anew each time, take twice as long
_ONE = {"Expr", "Access", "Access | Name"}  # annotations
_EXPRESSIONS = {"tuple[Expr, ...]", "tuple[Access, ...]"}
_MORE = {"tuple[Stmt, ...]", *_EXPRESSIONS}
_PLAIN = ("str", "int", "bool", "CType", "Location", "str | None", "int | None")  # of what holds no node
_Children = Callable[[Any], tuple[Any, ...]]
_PARTS: dict[type, tuple[tuple[str, str], ...]] = {}  # by class of node: fields that may hold nodes, with annotations
_FIELDS: dict[type, tuple[str, ...]] = {}  # of classes that are made of them
_CHILDREN: dict[type, _Children | None] = {}
_BLOCKS: dict[type, tuple[str, ...]] = {}  # fields that may hold statements


def _parts(kind: Any) -> tuple[tuple[str, str], ...]:
    """Return the fields of a class of nodes that may hold other nodes, with their annotations."""
    if kind not in _PARTS:
        own = (f for f in fields(kind) if f.type not in _PLAIN and f.metadata.get("nodes", True))
        _PARTS[kind] = tuple((f.name, str(f.type)) for f in own)
    return _PARTS[kind]


def children(node: Node) -> tuple[Any, ...]:
    """Return the direct sub-nodes of an expression or statement, in source order."""
    below = _children_of(type(node))
    return () if below is None else below(node)


def _children_of(kind: Any) -> _Children | None:
    """Return the function that finds the direct sub-nodes of such nodes; None for those that have none."""
    if kind not in _CHILDREN:
        _CHILDREN[kind] = _finder(_parts(kind))
    return _CHILDREN[kind]


def _finder(parts: tuple[tuple[str, str], ...]) -> _Children | None:
    if not parts:
        return None
    names = [name for name, _ in parts]
    if len(parts) == 1 and parts[0][1] in _MORE:
        return attrgetter(*names)
    if len(parts) > 1 and all(annotation in _ONE for _, annotation in parts):
        return attrgetter(*names)

    def found(node: Any) -> tuple[Any, ...]:
        below: list[Any] = []
        for name, annotation in parts:
            value = getattr(node, name)
            if annotation in _MORE:
                below += value
            elif isinstance(value, _NODES):
                below.append(value)
            elif type(value) is tuple:
                below += [item for item in value if isinstance(item, _NODES)]
        return tuple(below)

    return found


def expressions(stmt: Stmt) -> tuple[Expr, ...]:
    """Return the expressions of a statement itself, not those of the statements inside it."""
    step = (stmt.step,) if isinstance(stmt, For) and isinstance(stmt.step, Name) else ()
    return (*(part for part in children(stmt) if isinstance(part, Expr)), *step)


def bodies(stmt: Stmt) -> tuple[tuple[Stmt, ...], ...]:
    """Return the blocks of statements that a loop, branch or scope holds."""
    match stmt:
        case For(body=body) | While(body=body) | Scope(body=body) | Execution(body=body):
            return (body,)
        case If(then=then, otherwise=otherwise):
            return then, otherwise
    return ()


def with_bodies(stmt: _Stmt, change: Callable[[tuple[Stmt, ...]], tuple[Stmt, ...]]) -> _Stmt:
    """Return the statement with every block that it holds changed."""
    match stmt:
        case For(body=body) | While(body=body) | Scope(body=body) | Execution(body=body):
            return replace(stmt, body=change(body))
        case If(then=then, otherwise=otherwise):
            return replace(stmt, then=change(then), otherwise=change(otherwise))
    return stmt


def walk(*nodes: Node) -> Iterator[Node]:
    """Yield the nodes and all below them, parents first."""
    waiting: list[Any] = list(reversed(nodes))
    while waiting:
        yield (node := waiting.pop())
        try:
            below = _CHILDREN[type(node)]
        except KeyError:
            below = _children_of(type(node))
        if below is not None:
            waiting += below(node)[::-1]


def statements(*nodes: Stmt) -> Iterator[Stmt]:
    """Yield the statements and all inside of them, outer ones first: most nodes of a body are expressions."""
    waiting: list[Any] = list(reversed(nodes))
    while waiting:
        yield (node := waiting.pop())
        for name in _blocks(type(node)):
            value = getattr(node, name)
            if type(value) is tuple:
                waiting += [item for item in value[::-1] if isinstance(item, Stmt)]
            elif isinstance(value, Stmt):
                waiting.append(value)


def _blocks(kind: Any) -> tuple[str, ...]:
    """Return the fields of a class of nodes that may hold statements, the last one first."""
    if kind not in _BLOCKS:
        others = _ONE | _EXPRESSIONS | {"Expr | None"}
        _BLOCKS[kind] = tuple(name for name, annotation in _parts(kind)[::-1] if annotation not in others)
    return _BLOCKS[kind]


def with_children(node: Any, change: Callable[[Any], Any]) -> Any:
    """Return the node with each of its direct sub-nodes n replaced by change(n)."""
    changed = {}
    for name, annotation in _parts(type(node)):
        value = getattr(node, name)
        if annotation in _MORE:
            items = tuple(map(change, value))
            if any(map(is_not, items, value)):
                changed[name] = items
        elif isinstance(value, _NODES):
            new = change(value)
            if new is not value:
                changed[name] = new
        elif type(value) is tuple and value:
            items = tuple([change(i) if isinstance(i, _NODES) else i for i in value])
            if any(map(is_not, items, value)):
                changed[name] = items
    return _replaced(node, changed) if changed else node


def rewrite(node: Any, change: Callable[[Any], Any]) -> Any:
    """Rebuild a tree bottom-up, replacing each node n by change(n).

    before: Binary("+", Name("i"), Literal("1")), change = {Name("i") -> Name("c0")}
    after:  Binary("+", Name("c0"), Literal("1"))
    """

    def rewritten(node: Any) -> Any:
        return change(with_children(node, rewritten))

    return rewritten(node)


def _replaced(node: Any, changed: Mapping[str, Any]) -> Any:
    """Return what `dataclasses.replace` gives, in half of its time."""
    kind = type(node)
    if kind not in _FIELDS:
        plain = all(f.init and not f.kw_only for f in fields(kind)) and kind.__dataclass_params__.init
        _FIELDS[kind] = tuple(f.name for f in fields(kind)) if plain else ()
    names = _FIELDS[kind]
    if not names:
        return replace(node, **changed)
    return kind(*[changed[name] if name in changed else getattr(node, name) for name in names])
