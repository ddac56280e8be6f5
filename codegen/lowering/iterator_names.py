"""Loops take the names of the source's iterators where they run through them.

before: for (int c2 = 0; c2 < nk; c2 += 1) S1(i, j, c2)        S1's iterators are i, j, k
after:  for (int k = 0; k < nk; k += 1) S1(i, j, k)
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from polytile.codegen.lowering.isl_ast import Instance, Marked, substitute
from polytile.dataclass import dataclass
from polytile.ir.expr import Expr, For, If, Name, Stmt
from polytile.ir.plan import IDENTIFIER
from polytile.ir.schedule import KERNEL
from polytile.ir.scop import Scop
from polytile.ir.substitute import with_values


def rename_loops(
    body: tuple[Stmt, ...], scop: Scop, taken: frozenset[str], tiled: Collection[int] = ()
) -> tuple[Stmt, ...]:
    """Rename every loop of a generated tree for which that is safe; `taken` names are in use around it. Other loops of
    the kernels in `tiled` are called like their labels."""
    return _Renaming(scop, frozenset(f"{KERNEL}:{number}" for number in tiled)).block(body, taken, False)


@dataclass(frozen=True, slots=True)
class _Renaming:
    scop: Scop
    tiled: frozenset[str]  # the marks of kernels

    def block(self, body: tuple[Stmt, ...], taken: frozenset[str], tiled: bool) -> tuple[Stmt, ...]:
        return tuple(self._statement(stmt, taken, tiled) for stmt in body)

    def _statement(self, stmt: Stmt, taken: frozenset[str], tiled: bool) -> Stmt:
        match stmt:
            case For():
                name = self._name_for(stmt, taken, tiled)
                if name != stmt.iterator:
                    new = Name(name, stmt.type)
                    body = tuple(substitute(s, stmt.iterator, new) for s in stmt.body)
                    condition = with_values(stmt.condition, {stmt.iterator: new})
                    stmt = replace(stmt, iterator=name, condition=condition, body=body)
                return replace(stmt, body=self.block(stmt.body, taken | {name}, tiled))
            case If():
                then, otherwise = (self.block(b, taken, tiled) for b in (stmt.then, stmt.otherwise))
                return If(stmt.condition, then, otherwise, stmt.location)
            case Marked():
                inside = self.block(stmt.body, taken, tiled or stmt.name in self.tiled)
                return Marked(stmt.name, stmt.grid, inside)
        return stmt

    def _name_for(self, loop: For, taken: frozenset[str], tiled: bool) -> str:
        """Return an iterator that every instance below binds to this loop alone, in all statements that have it."""
        bound: dict[str, list[Expr]] = {}
        for found in instances(loop.body):
            if any(s.name == found.statement for s in self.scop.statements):
                for iterator, value in zip(self.scop.statement(found.statement).iterators, found.values, strict=True):
                    bound.setdefault(iterator, []).append(value)
        for iterator, values in bound.items():
            if iterator not in taken and all(isinstance(v, Name) and v.name == loop.iterator for v in values):
                return iterator
        return self._labelled(loop, taken) if tiled else loop.iterator

    def _labelled(self, loop: For, taken: frozenset[str]) -> str:
        """Return `k0` for the loop over tiles of k, and `kk` for the one inside a tile, which is not k itself."""
        used = {name for s in self.scop.statements for name in s.iterators}
        used |= {a.name for a in self.scop.arrays} | {p.name for p in self.scop.parameters} | taken
        label = loop.label.partition("#")[0]
        names = [label, label + label]
        return next((n for n in names if IDENTIFIER.fullmatch(n) and n not in used), loop.iterator)


def instances(body: Iterable[Stmt]) -> Iterator[Instance]:
    """Yield all statement instances of a generated tree, barriers' included."""
    for stmt in body:
        match stmt:
            case Instance():
                yield stmt
            case For() | Marked():
                yield from instances(stmt.body)
            case If():
                yield from instances((*stmt.then, *stmt.otherwise))
