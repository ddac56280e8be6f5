"""What each iteration of a serial loop runs, with its accesses in terms of the loop's iterator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace

from polytile.dataclass import dataclass
from polytile.ir.expr import Access, Assign, Binary, Declare, Expr, If, Name, Scope, Stmt, Ternary
from polytile.ir.expr_trees import children, rewrite, walk
from polytile.ir.fold import folded
from polytile.ir.polynomial import Linear, linear
from polytile.ir.substitute import with_values

Known = Mapping[str, Expr]  # names declared in the loop's body, in terms of those outside and of the iterator
Element = tuple[Linear, ...]  # the subscripts of an access
Form = tuple[frozenset[tuple[str, int]], ...]  # the same, to be compared


@dataclass(frozen=True, slots=True)
class Step:
    """A statement that each iteration runs once, and what is declared before it."""

    stmt: Assign | Declare
    known: Known


def steps(body: tuple[Stmt, ...], known: Known) -> Iterator[Step]:
    """Yield the statements of a loop's body that no loop or condition inside guards, in order."""
    for stmt in body:
        match stmt:
            case Scope():
                yield from steps(stmt.body, known)
            case Declare() | Assign():
                yield Step(stmt, known)
                known = behind(known, stmt)


def branches(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """Yield the other statements of a loop's body: loops, conditions and whatever is no declaration or assignment."""
    for stmt in body:
        if isinstance(stmt, Scope):
            yield from branches(stmt.body)
        elif not isinstance(stmt, (Declare, Assign)):
            yield stmt


def behind(known: Known, stmt: Stmt) -> Known:
    """Return the known declarations after a statement."""
    if not isinstance(stmt, Declare) or stmt.value is None:
        return known
    return {**known, stmt.name: expanded(stmt.value, known)}


def expanded(expr: Expr, known: Known) -> Expr:
    """Return an expression in terms of names outside the loop and of its iterator."""
    return with_values(expr, known)


def element(access: Access, known: Known) -> Element | None:
    """Return the subscripts as linear forms; None where one is something else, and for members of structs."""
    forms = [linear(expanded(s, known)) for s in access.subscripts]
    found = tuple(f for f in forms if f is not None)
    return found if len(found) == len(forms) and access.field is None else None


def as_key(form: Element) -> Form:
    return tuple(frozenset(f.items()) for f in form)


def elements(body: tuple[Stmt, ...], known: Known, arrays: AbstractSet[str]) -> Iterator[tuple[str, Form | None]]:
    """Yield every access to the arrays, as its array and its subscripts; None for what is not linear."""
    for stmt in body:
        match stmt:
            case Scope():
                yield from elements(stmt.body, known, arrays)
            case If():
                yield from elements((Assign(Name("_"), "", stmt.condition),), known, arrays)
                yield from elements((*stmt.then, *stmt.otherwise), known, arrays)
            case _:
                for node in walk(stmt):
                    if isinstance(node, Access) and node.array in arrays:
                        form = element(node, known)
                        yield node.array, None if form is None else as_key(form)
        known = behind(known, stmt)


def evaluated(value: Expr) -> Iterator[Expr]:
    """Yield the parts of a value that are evaluated whatever its conditions say."""
    yield value
    match value:
        case Ternary():
            parts: tuple[Expr, ...] = (value.condition,)
        case Binary(op="&&" | "||"):
            parts = (value.left,)
        case _:
            parts = tuple(p for p in children(value) if isinstance(p, Expr))
    for part in parts:
        yield from evaluated(part)


def at(access: Access, known: Known, iterator: str, value: Expr) -> Access:
    """Return the element of an access in the iteration `value`, in terms of names outside the loop."""
    here = {iterator: value}
    return replace(access, subscripts=tuple(folded(with_values(expanded(s, known), here)) for s in access.subscripts))


Registers = Mapping[str, list[tuple[Element, Name]]]  # by array: elements, and the names that hold their values


def with_registers(body: tuple[Stmt, ...], known: Known, registers: Registers) -> tuple[Stmt, ...]:
    """Return a loop's body that reads registers in place of memory, outside of the loops and conditions in it."""
    found: list[Stmt] = []
    for stmt in body:
        match stmt:
            case Scope():
                found.append(Scope(with_registers(stmt.body, known, registers)))
            case Assign():
                found.append(replace(stmt, value=_with_registers(stmt.value, known, registers)))
            case Declare() if stmt.value is not None:
                found.append(replace(stmt, value=_with_registers(stmt.value, known, registers)))
                known = behind(known, stmt)
            case _:
                found.append(stmt)
    return tuple(found)


def _with_registers(value: Expr, known: Known, registers: Registers) -> Expr:
    def change(node: Expr) -> Expr:
        if not isinstance(node, Access) or node.array not in registers:
            return node
        here = element(node, known)
        return next((name for form, name in registers[node.array] if form == here), node)

    result: Expr = rewrite(value, change)
    return result
