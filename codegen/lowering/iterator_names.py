"""Loops take the names of the source's iterators where they run through them.

before: for (int c2 = 0; c2 < nk; c2 += 1) S1(i, j, c2)        S1's iterators are i, j, k
after:  for (int k = 0; k < nk; k += 1) S1(i, j, k)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from polytile.codegen.lowering.isl_ast import Instance, Marked, substitute
from polytile.ir.expr import Expr, For, If, Name, Stmt
from polytile.ir.scop import Scop
from polytile.ir.substitute import with_values


def rename_loops(body: tuple[Stmt, ...], scop: Scop, taken: frozenset[str]) -> tuple[Stmt, ...]:
    """Rename every loop of a generated tree for which that is safe; `taken` names are in use around it."""
    return tuple(_rename(stmt, scop, taken) for stmt in body)


def _rename(stmt: Stmt, scop: Scop, taken: frozenset[str]) -> Stmt:
    match stmt:
        case For():
            name = _name_for(stmt, scop, taken)
            if name != stmt.iterator:
                new = Name(name, stmt.type)
                body = tuple(substitute(s, stmt.iterator, new) for s in stmt.body)
                condition = with_values(stmt.condition, {stmt.iterator: new})
                stmt = replace(stmt, iterator=name, condition=condition, body=body)
            return replace(stmt, body=rename_loops(stmt.body, scop, taken | {name}))
        case If():
            then, otherwise = (rename_loops(b, scop, taken) for b in (stmt.then, stmt.otherwise))
            return If(stmt.condition, then, otherwise, stmt.location)
        case Marked():
            return Marked(stmt.name, stmt.grid, rename_loops(stmt.body, scop, taken))
    return stmt


def _name_for(loop: For, scop: Scop, taken: frozenset[str]) -> str:
    """An iterator that every instance below binds to this loop alone, in all statements that have it."""
    bound: dict[str, list[Expr]] = {}
    for found in instances(loop.body):
        if any(s.name == found.statement for s in scop.statements):
            for iterator, value in zip(scop.statement(found.statement).iterators, found.values, strict=True):
                bound.setdefault(iterator, []).append(value)
    for iterator, values in bound.items():
        if iterator not in taken and all(isinstance(v, Name) and v.name == loop.iterator for v in values):
            return iterator
    return loop.iterator


def instances(body: Iterable[Stmt]) -> Iterator[Instance]:
    """All statement instances of a generated tree, barriers' included."""
    for stmt in body:
        match stmt:
            case Instance():
                yield stmt
            case For() | Marked():
                yield from instances(stmt.body)
            case If():
                yield from instances((*stmt.then, *stmt.otherwise))
