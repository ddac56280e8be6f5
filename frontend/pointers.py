"""Which local pointers own their memory alone."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from pycparser import c_ast

from polytile.frontend.find_scops import ScopPlace
from polytile.frontend.parse import nodes_below
from polytile.frontend.scope import Binding
from polytile.frontend.trees import written_name

# The functions of ISO C and POSIX whose result points to memory that nothing else points to.
_ALLOCATORS = frozenset({"malloc", "calloc", "aligned_alloc", "memalign", "valloc"})


class Ownership(Enum):
    """What is known of the memory that a pointer points to."""

    SHARED = "shared"  # other names may reach it
    PASSED = "passed"  # allocated for this pointer, which was an argument of calls but is never copied
    OWNED = "owned"  # allocated for this pointer, and no other name ever reaches it


def ownership(binding: Binding, place: ScopPlace) -> Ownership:
    """Whether a local pointer gets its value once, from an allocator, and what happens to it then.

    before: double *a = malloc(n * sizeof *a); ... a[i] ... free(a);   owns its memory
            double *b = a + 1;                                         makes both of them share it
    """
    if binding.kind != "variable" or binding.static or not isinstance(binding.node, c_ast.Decl):
        return Ownership.SHARED
    body, name = place.function.body, binding.name
    if sum(isinstance(n, c_ast.Decl) and n.name == name for n in nodes_below(body)) != 1:
        return Ownership.SHARED
    values = [] if binding.node.init is None else [binding.node.init]
    values += [n.rvalue for n in nodes_below(body) if isinstance(n, c_ast.Assignment) and written_name(n) == name]
    counted = any(isinstance(n, c_ast.UnaryOp) and written_name(n) == name for n in nodes_below(body))
    if len(values) != 1 or counted or not _is_allocation(values[0]):
        return Ownership.SHARED
    fates = {_fate(use, chain, len(binding.shape.layers)) for use, chain in mentions(body, name, ())}
    return next((f for f in (Ownership.SHARED, Ownership.PASSED) if f in fates), Ownership.OWNED)


def _is_allocation(node: c_ast.Node) -> bool:
    while isinstance(node, c_ast.Cast):
        node = node.expr
    return isinstance(node, c_ast.FuncCall) and isinstance(node.name, c_ast.ID) and node.name.name in _ALLOCATORS


Chain = tuple[c_ast.Node, ...]


def mentions(node: c_ast.Node, name: str, parents: Chain) -> Iterator[tuple[c_ast.Node, Chain]]:
    """Each mention of a variable with the nodes above it, nearest first."""
    if isinstance(node, c_ast.ID) and node.name == name:
        yield node, parents
    for _, child in node.children():
        if not (isinstance(node, c_ast.StructRef) and child is node.field):
            yield from mentions(child, name, (node, *parents))


def _fate(use: c_ast.Node, parents: Chain, rank: int) -> Ownership:
    """What becomes of the address in one mention of a pointer: followed upwards until it is a plain value."""
    child, steps = use, 0
    for parent in parents:
        match parent:
            case c_ast.ArrayRef() if parent.name is child:
                steps += 1
            case c_ast.UnaryOp(op="*"):
                steps += 1
            case c_ast.StructRef():
                return Ownership.OWNED if not _under_address(parent, parents) else Ownership.SHARED
            case c_ast.UnaryOp(op="&"):
                steps -= 1
            case c_ast.BinaryOp(op="+" | "-") | c_ast.Cast() | c_ast.ExprList():
                pass
            case c_ast.FuncCall() if steps < rank:
                is_free = isinstance(parent.name, c_ast.ID) and parent.name.name == "free"
                return Ownership.OWNED if is_free else Ownership.PASSED
            case _ if steps >= rank or _only_tests(parent, child):
                return Ownership.OWNED
            case _:
                return Ownership.SHARED
        child = parent
    return Ownership.OWNED


def _under_address(node: c_ast.Node, parents: Chain) -> bool:
    above = parents[parents.index(node) + 1 :]
    first = next((p for p in above if not isinstance(p, c_ast.ArrayRef | c_ast.StructRef)), None)
    return isinstance(first, c_ast.UnaryOp) and first.op == "&"


def _only_tests(parent: c_ast.Node, child: c_ast.Node) -> bool:
    """Whether `parent` compares or overwrites the pointer `child` instead of keeping it."""
    match parent:
        case c_ast.UnaryOp(op="!" | "sizeof") | c_ast.BinaryOp(op="==" | "!=" | "&&" | "||" | "<" | ">" | "<=" | ">="):
            return True
        case c_ast.If(cond=condition) | c_ast.TernaryOp(cond=condition):
            return condition is child
        case c_ast.Assignment(lvalue=target):
            return target is child
        case c_ast.Compound():
            return True
    return False
