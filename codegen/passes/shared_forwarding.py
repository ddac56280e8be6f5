"""Values that threads of a block forward to one another through a copy in shared memory; scheduling/promotion decides
which (shared_forwarding.py).

before: t[i] = t_held; barrier; y_part += A[i][j] * t[i];
after:  t[i] = t_held; t_here[i & 15] = t_held; barrier; y_part += A[i][j] * t_here[i & 15];
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from polytile.codegen.passes.plan import Context, LoweredPlan
from polytile.dataclass import dataclass
from polytile.ir.expr import Access, Assign, Binary, Declare, Expr, For, If, Literal, Name, Scope, Stmt
from polytile.ir.expr_trees import rewrite, walk
from polytile.ir.gpu_ops import Aligned, Load, Store
from polytile.ir.kernel import Kernel
from polytile.ir.memory import Space, Storage
from polytile.ir.name_supply import Names


def forward_shared(kernel: Kernel, plan: LoweredPlan, context: Context) -> Kernel:
    """Forward values from thread to thread of a block through copies in shared memory."""
    body, copies = forward(kernel.body, plan.forwarded, context.names)
    return replace(kernel, body=body, storage=(*kernel.storage, *copies))


def forward(
    body: tuple[Stmt, ...], copies: Mapping[str, Storage], names: Names
) -> tuple[tuple[Stmt, ...], tuple[Storage, ...]]:
    """Return a kernel's body with the copies of its arrays, and where these live.

    Arrays of which it loads or stores vectors have none.
    """
    if not copies:
        return body, ()
    whole = {a.array for n in walk(*body) if isinstance(n, Aligned | Load | Store) for a in _accesses(n)}
    copies = {array: copy for array, copy in copies.items() if array not in whole}
    here = {array: names.shared(f"{array}_here") for array in copies}
    homes = (Storage(here[array], Space.SHARED, c.element, c.extents, here[array]) for array, c in copies.items())
    return _Copied(copies, here, names).block(body), tuple(homes)


def _accesses(node: Any) -> Iterator[Access]:
    return (n for n in walk(node) if isinstance(n, Access))


@dataclass(frozen=True, slots=True)
class _Copied:
    copies: Mapping[str, Storage]
    here: Mapping[str, str]  # their names
    names: Names

    def block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(made for stmt in body for made in self._statement(stmt))

    def _statement(self, stmt: Stmt) -> Iterator[Stmt]:
        match stmt:
            case Assign(target=Access() as target) if target.array in self.copies:
                yield from self._stored(stmt, target)
            case For():
                bounds = {"lower": self._read(stmt.lower), "condition": self._read(stmt.condition)}
                yield replace(stmt, body=self.block(stmt.body), **bounds)
            case If():
                then, otherwise = self.block(stmt.then), self.block(stmt.otherwise)
                yield replace(stmt, condition=self._read(stmt.condition), then=then, otherwise=otherwise)
            case Scope():
                yield Scope(self.block(stmt.body))
            case _:
                yield self._read(stmt)

    def _stored(self, stmt: Assign, target: Access) -> Iterator[Stmt]:
        """Yield the assignment, to the copy too."""
        where, here = replace(target, subscripts=tuple(map(self._read, target.subscripts))), self._read(target)
        value = self._read(stmt.value)
        if stmt.op:
            yield replace(stmt, target=where, value=value)
            yield Assign(here, "", where)
        elif isinstance(value, Name | Literal):
            yield replace(stmt, target=where, value=value)
            yield Assign(here, "", value)
        else:
            new = Name(self.names.shared(f"{target.array}_new"), target.type)
            stores = (replace(stmt, target=where, value=new), Assign(here, "", new))
            yield Scope((Declare(new.name, new.type, value, stmt.location), *stores))

    def _read(self, node: Any) -> Any:
        """Let an expression, or a statement that stores to no array with a copy, read from the copies."""
        return rewrite(node, lambda n: self._copied(n) if isinstance(n, Access) else n)

    def _copied(self, access: Access) -> Access:
        copy = self.copies.get(access.array)
        if copy is None:
            return access
        subscripts = (access.subscripts[k] for k in copy.keeps or ())
        cell = tuple(_remainder(s, by) for s, by in zip(subscripts, copy.moduli, strict=True))
        return replace(access, array=self.here[access.array], subscripts=cell)


def _remainder(subscript: Expr, modulus: int) -> Expr:
    """Return the remainder of a subscript, which is not negative, by a power of two."""
    if modulus == 1:
        return Literal("0")
    return Binary("&", subscript, Literal(str(modulus - 1), subscript.type), subscript.type)
