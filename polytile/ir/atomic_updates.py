"""Updates of elements that data choose, `h[p[i]] += e`: which may come in any order, and how they are indivisible.

Instances of one commutative and associative operation on the elements of an array commute, whichever elements they
are, where each is indivisible and nothing else in them uses the array. Integers are added modulo 2^n, so that any order
gives the same bits; sums of floating point numbers depend on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from polytile.diagnostics import InternalError
from polytile.ir.def_use import declared_names
from polytile.ir.expr import Access, Assign, Binary, Cast, Expr, If, Literal, Name, Stmt, Unary
from polytile.ir.expr_trees import bodies, walk, with_bodies
from polytile.ir.gpu_ops import Atomic
from polytile.ir.reductions import Accumulation, accumulation, partial_type
from polytile.ir.scop import AccessKind, Reduction, Scop, Statement

_SIZES = (4, 8)  # bytes of the elements that GPUs update indivisibly
_OF_INTEGERS = ("+", "min", "max", "&", "|", "^")
_OF_FLOATS = ("+",)


def with_updates(scop: Scop, *, floating: bool) -> Scop:
    """Return the Scop whose statements list the arrays that they update in any order.

    Sums of floating-point numbers are among these where their order may change (`floating`).
    """
    statements = tuple(replace(s, updates=tuple(_updates(scop, s, floating=floating))) for s in scop.statements)
    return scop if statements == scop.statements else replace(scop, statements=statements)


def _updates(scop: Scop, statement: Statement, *, floating: bool) -> Iterator[Reduction]:
    if statement.combine is not None:
        return
    for name in dict.fromkeys(a.array for a in statement.accesses if a.kind is AccessKind.MAY_WRITE):
        op = operation(statement.body, name)
        sure = any(a.array == name and a.kind in (AccessKind.WRITE, AccessKind.KILL) for a in statement.accesses)
        if op is None or sure or not _is_chosen_at_run_time(statement, name):
            continue
        element = scop.array(name).element
        if element.kind == "int" or floating:
            yield Reduction(op, name)


def _is_chosen_at_run_time(statement: Statement, array: str) -> bool:
    """Return whether data or unknown sizes choose the elements of an array that a statement accesses.

    So it is where a subscript reads data, counts with a loop that data end, or is a quotient or remainder by a size of
    which nothing else is known.
    """
    inside = set(declared_names(*statement.body))
    unknown = any(a.array == array and not a.relation.is_single_valued() for a in statement.accesses)
    for access in (n for s in statement.body for n in walk(s) if isinstance(n, Access) and n.array == array):
        for node in walk(*access.subscripts):
            if isinstance(node, Access) or (isinstance(node, Name) and node.name in inside):
                return True
            if unknown and isinstance(node, Binary) and node.op in "/%" and not isinstance(node.right, Literal):
                return True
    return False


def operation(body: Sequence[Stmt], array: str) -> str | None:
    """Return the one operation by which statements update an array, if they do nothing else with it."""
    found = [_update(stmt, array) for stmt in _units(body, array)]
    operations = {update.op for update in found if update is not None}
    if None in found or len(operations) != 1:
        return None
    uses = sum(_uses(stmt, array) for stmt in body)
    inside = sum(_uses(stmt, array) for stmt in _units(body, array))
    return operations.pop() if uses == inside else None


def atomically(body: Sequence[Stmt], array: str) -> tuple[Stmt, ...]:
    """Return the statements with atomic (indivisible) updates of an array.

    before: if (c) h[p[i]] -= e;
    after:  if (c) atomicAdd(&h[p[i]], -e);

    Raises InternalError where they do something else with it.
    """
    if operation(body, array) is None:
        raise InternalError(f"{array} is not updated by one operation alone")
    return _changed(body, array)


def _changed(body: Sequence[Stmt], array: str) -> tuple[Stmt, ...]:
    return tuple(
        _atomic(stmt, array) if _is_unit(stmt, array) else with_bodies(stmt, lambda inner: _changed(inner, array))
        for stmt in body
    )


def _units(body: Sequence[Stmt], array: str) -> Iterator[Stmt]:
    """Yield the statements that use an array themselves, and not only in the blocks that they hold."""
    for stmt in body:
        if _is_unit(stmt, array):
            yield stmt
        else:
            for inner in bodies(stmt):
                yield from _units(inner, array)


def _is_unit(stmt: Stmt, array: str) -> bool:
    inside = sum(_uses(s, array) for block in bodies(stmt) for s in block)
    return _uses(stmt, array) > inside


def _uses(stmt: Stmt, array: str) -> int:
    return sum(isinstance(n, Access) and n.array == array for n in walk(stmt))


def _update(stmt: Stmt, array: str) -> Accumulation | None:
    """Return the update of an element of `array` that a statement is, if a GPU can do it atomically, else None."""
    found = accumulation(stmt) if isinstance(stmt, Assign | If) else None
    if found is None or found.target.array != array or partial_type(found) is None:
        return None
    ctype = found.target.type
    known = _OF_INTEGERS if ctype.kind == "int" else _OF_FLOATS
    plain = all(not isinstance(n, Access) or n.array != array for s in found.target.subscripts for n in walk(s))
    return found if found.op in known and ctype.size in _SIZES and plain and found.target.field is None else None


def _atomic(stmt: Stmt, array: str) -> Atomic:
    found = _update(stmt, array)
    assert found is not None
    assert isinstance(stmt, Assign | If)
    return Atomic(found.op, found.target, _added(found), location=stmt.location)


def _added(found: Accumulation) -> Expr:
    """Return the value that is added, in the target's type; integers are negated where that cannot overflow."""
    ctype, value = partial_type(found), found.value
    assert ctype is not None
    if found.inverse and value.type != ctype:
        value = Cast(ctype, value)
    if found.inverse:
        value = Unary("-", value, ctype)
    return value if value.type == found.target.type else Cast(found.target.type, value)
