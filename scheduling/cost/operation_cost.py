"""What the arithmetic of a statement counts for: a sum or a product for one operation, a division or a function for as
many as its instructions take the place of.

Instructions were counted in the machine code of nvcc 13.0 for sm_90, on the way without special cases (overflow,
denormal numbers): a double division 18, of which 8 are for the units of double precision, that take two cycles for
each; a square root 19 and 8, its reciprocal 9 and 5; in single precision 13, 10 and 4. Functions differ: exp 58,
log 81, sin 48; 7, 23, 95 of pow.
"""

from __future__ import annotations

from collections.abc import Iterator

from polytile.ir.expr import Access, Assign, Binary, Call, Expr, Literal, Stmt
from polytile.ir.expr_trees import walk
from polytile.ir.identity_key import remembered
from polytile.ir.scop import Statement

# In cycles in which a scheduler starts a product with a sum: two of a scheduler in double precision, one in single.
_DIVISION = {"double": 9.0, "float": 13.0}
_ROOT = {"double": 9.5, "float": 10.0}
_RECIPROCAL_ROOT = {"double": 7.0, "float": 4.0}
_FUNCTION = {"double": 40.0, "float": 30.0}
_ROOTS = ("sqrt", "sqrtf")
_RECIPROCAL_ROOTS = ("rsqrt", "rsqrtf")
_PLAIN = ("fabs", "fabsf", "fma", "fmaf", "fmin", "fminf", "fmax", "fmaxf")
_OF_INTEGERS = ("min", "max", "floord", "pmod()")
_PARTS = 2  # operations of a product that goes into a sum


@remembered
def operations(statement: Statement) -> float:
    """Compute the floating-point operations of one instance; a product that goes into a sum is one of two."""
    return sum(map(operation, _nodes(statement)))


def operation(node: Expr | Stmt) -> float:
    """Return how many operations a node counts for beside what it is made of."""
    slow = _slow(node)
    return _PARTS * slow if slow else _simple(node)


@remembered
def fused_operations(statement: Statement) -> float:
    """Count a statement's operations, where a product and the sum that it goes into are one operation."""
    nodes = list(_nodes(statement))
    sums = [n for n in nodes if isinstance(n, Binary) and n.op in ("+", "-")]
    products = sum(any(_is_product(n) for n in (one.left, one.right)) for one in sums)
    return sum(_slow(n) or _simple(n) for n in nodes) - products


@remembered
def slow_operations(statement: Statement) -> float:
    """Count those of `fused_operations` that are for divisions and functions.

    Branches to special cases keep a compiler from computing several of them at a time.
    """
    return sum(map(_slow, _nodes(statement)))


@remembered
def is_double(statement: Statement) -> bool:
    """Return whether a statement computes in double precision."""
    nodes = (n for part in statement.body for n in walk(part))
    return any(isinstance(n, Binary | Call | Access) and n.type.name == "double" for n in nodes)


def _nodes(statement: Statement) -> Iterator[Expr | Stmt]:
    return (node for part in statement.body for node in walk(part))


def _is_constant(node: Expr | Stmt) -> bool:
    """Return whether compilers compute it; level by level, as sums of hundreds of terms are deep on one side only."""
    waiting = [node]
    for one in waiting:
        if isinstance(one, Binary):
            waiting += [one.left, one.right]
        elif not isinstance(one, Literal):
            return False
    return True


def _is_product(node: Expr) -> bool:
    return isinstance(node, Binary) and node.op == "*" and node.type.kind == "float"


def _simple(node: Expr | Stmt) -> float:
    """Return one for an operation that is one instruction, or a part of one."""
    match node:
        case Assign(op=op):
            return 1.0 if op else 0.0
        case Binary():
            return 1.0 if node.type.kind == "float" and not _is_constant(node) else 0.0
        case Call(function=name):
            return 1.0 if name in _PLAIN else 0.0
    return 0.0


def _slow(node: Expr | Stmt) -> float:
    """Return the cycles of a division or a function; none of other nodes."""
    match node:
        case Assign(op="/", target=target):
            return _of(_DIVISION, target.type.name)
        case Binary(op="/") if node.type.kind == "float" and not _is_constant(node):
            return _of(_DIVISION, node.type.name)
        case Call(function=name) if name in _ROOTS:
            return _of(_ROOT, node.type.name)
        case Call(function=name) if name in _RECIPROCAL_ROOTS:
            return _of(_RECIPROCAL_ROOT, node.type.name)
        case Call(function=name) if name not in (*_OF_INTEGERS, *_PLAIN):
            return _of(_FUNCTION, node.type.name)
    return 0.0


def _of(cycles: dict[str, float], kind: str) -> float:
    return cycles.get(kind, cycles["double"])
