"""Which names and elements statements read, write and declare."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from polytile.ir.expr import Access, Address, Assign, Binary, Declare, Expr, For, Invoke, Name, Node, Scope, Stmt
from polytile.ir.expr_trees import children, statements, walk
from polytile.ir.gpu_ops import Advance, AsyncCopy, Atomic, Load, Pointer, PrivateArray, Store


def targets(node: Node) -> tuple[Access | Name, ...]:
    """Return the elements and names that a statement itself writes."""
    match node:
        case Assign(target=target) | Store(target=target) | AsyncCopy(target=target) | Atomic(target=target, old=None):
            return (target,)
        case Atomic(target=target, old=Name() as old):
            return target, old
        case Load(targets=targets):
            return targets
        case Invoke(arguments=arguments, target=result):
            places = tuple(a.target for a in arguments if isinstance(a, Address) and a.written)
            return places if result is None else (*places, result)
    return ()


def straight(body: Iterable[Stmt]) -> tuple[Stmt, ...]:
    """Return the statements of a body with its scopes flattened."""
    return tuple(inner for s in body for inner in (straight(s.body) if isinstance(s, Scope) else (s,)))


def only_store(body: Iterable[Stmt]) -> Assign | None:
    """Return the first assignment to the one element that a body changes, or None.

    The body is declarations, assignments to names, and those to this element.
    """
    declared = [s.name for s in straight(body) if isinstance(s, Declare)]
    parts = [s for s in straight(body) if not isinstance(s, Declare)]
    stores = [s for s in parts if isinstance(s, Assign) and isinstance(s.target, Access)]
    plain = all(isinstance(s, Assign) for s in parts) and len(set(declared)) == len(declared)
    return stores[0] if plain and len({s.target for s in stores}) == 1 else None


def elements(node: Node) -> int:
    """Return the number of neighbouring elements that an access takes at once."""
    match node:
        case Load(targets=parts) | Store(values=parts):
            return len(parts)
        case AsyncCopy(elements=count):
            return count
    return 1


def written_arrays(*nodes: Node) -> set[str]:
    """Return the arrays, and the pointers into them, whose elements the statements may write."""
    return {t.array for node in walk(*nodes) for t in targets(node) if isinstance(t, Access)}


def assigned_names(*nodes: Stmt) -> Iterator[str]:
    """Yield the scalars and pointers that get another value after their declaration."""
    for node in statements(*nodes):
        yield from _assigned(node)


def _assigned(node: Stmt) -> Iterator[str]:
    match node:
        case Advance(pointer=name):
            yield name
        case _:
            yield from (t.name for t in targets(node) if isinstance(t, Name))


def declared_names(*nodes: Stmt) -> Iterator[str]:
    """Yield the names that the statements declare or iterate over."""
    for node in statements(*nodes):
        yield from _declared(node)


def _declared(node: Stmt) -> Iterator[str]:
    match node:
        case For(iterator=name) | Declare(name=name) | PrivateArray(name=name) | Pointer(name=name):
            yield name


def written_names(*nodes: Stmt) -> Iterator[str]:
    """Yield the scalars that the statements write, declare or iterate over."""
    yield from assigned_names(*nodes)
    yield from declared_names(*nodes)


def mentioned_names(*nodes: Node) -> Iterator[str]:
    """Yield the names of values and arrays that occur, read or written."""
    for node in walk(*nodes):
        if isinstance(node, Name):
            yield node.name
        elif isinstance(node, Access):
            yield node.array


def value_names(*nodes: Node) -> set[str]:
    """Return the names of values that occur, not of arrays."""
    return {node.name for node in walk(*nodes) if isinstance(node, Name)}


def names_of(nodes: Iterable[Node]) -> frozenset[str]:
    """Return every name that occurs in the nodes: of values, arrays and pointers, used or declared."""
    return names_among(walk(*nodes))


def names_among(nodes: Iterable[Node]) -> frozenset[str]:
    """Return the names of the nodes themselves, not of those below."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, Name):
            found.add(node.name)
        elif isinstance(node, Access):
            found.add(node.array)
        elif isinstance(node, Stmt):
            found.update(_assigned(node), _declared(node))
    return frozenset(found)


def reads(node: Node) -> Iterator[str]:
    """Yield the names of arrays and variables whose values `node` uses; a plain assignment only writes its target."""
    waiting = [node]
    while waiting:
        match node := waiting.pop():
            case Advance(pointer=name) | Access(array=name) | Name(name=name):
                yield name
        waiting += reversed(_read_parts(node) if isinstance(node, Stmt) else children(node))


def _read_parts(node: Stmt) -> tuple[Node, ...]:
    """Return the direct sub-nodes whose values a statement uses."""
    parts = children(node)
    match node:
        case Atomic(target=target, value=value):
            return target, value
        case Invoke(arguments=arguments, target=result):
            return (*arguments, *(() if result is None else children(result)))
        case _ if not (isinstance(node, Assign) and node.op):
            written = len(targets(node))  # they come first
            return *(place for target in parts[:written] for place in children(target)), *parts[written:]
    return parts


def declares(body: Iterable[Stmt]) -> bool:
    """Return whether some of the statements declare names of the block that they stand in."""
    return any(isinstance(stmt, Declare | PrivateArray | Pointer) for stmt in body)


def reads_memory(*values: Expr) -> bool:
    """Return whether a value reads an element of an array."""
    return any(isinstance(n, Access) for n in walk(*values))


def integer_divisors(*body: Node) -> Iterator[Expr]:
    """Yield the divisors of integers: 0 ends a program there, while it is a value like others elsewhere."""
    for node in walk(*body):
        if isinstance(node, Binary) and node.op in ("/", "%") and node.type.kind == "int":
            yield node.right
