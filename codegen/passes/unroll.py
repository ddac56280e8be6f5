"""Unrolling: registers get constant subscripts, and rotations become other names instead of moves.

before: for (int v = 0; v < 2; ++v) x[v] = v == 0 ? l : y[v - 1];                      unroll = 0
after:  x[0] = l; x[1] = y[0];

before: for (int i = 0; i < n; ++i) { use(i, a, b); Rotate(a, b); }                    unroll = 2
after:  for (int i = 0; i < n - 1; i += 2) { use(i, a, b); use(i + 1, b, a); }
        for (int i = max(n, 0) / 2 * 2; i < n; ++i) { use(i, a, b); { double moved = a; a = b; b = moved; } }

A rotation anywhere else is renaming as far as the statements are straight, and moves at the end of a loop or branch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from polytile.codegen.passes.register_rotation import START, Movable, Roles, movables, moves, renamed
from polytile.dataclass import dataclass
from polytile.diagnostics import InternalError
from polytile.ir import arith
from polytile.ir.def_use import names_of, written_names
from polytile.ir.expr import Declare, Expr, For, If, Name, Scope, Stmt
from polytile.ir.fold import constant, folded
from polytile.ir.gpu_ops import Pointer, PrivateArray, Rotate
from polytile.ir.kernel import Kernel
from polytile.ir.name_supply import fresh
from polytile.ir.substitute import Body, block, braces, count_nodes, substituted
from polytile.ir.trip_count import Trips, trip_values, trips

LIMIT = 200_000  # nodes of one unrolled loop


def unroll(kernel: Kernel, limit: int = LIMIT) -> Kernel:
    """Unroll a kernel's `unroll = 0` loops of constant trips, and remove every `Rotate`.

    Raises InternalError where that takes more than `limit` nodes, where a factor is no multiple of the rotation's
    period, and where moves would be needed of what cannot be moved.
    """
    unroller = _Unroller(movables(kernel.body, kernel.storage), _temporary(kernel.body), limit)
    return replace(kernel, body=unroller.block(kernel.body, START)[0])


def unrolled(body: Body, limit: int = LIMIT) -> Body:
    """Unroll statements alone, as `unroll` does kernels."""
    return _Unroller(movables(body), _temporary(body), limit).block(body, START)[0]


def _temporary(body: Body) -> str:
    return fresh("moved", names_of(body))


@dataclass(frozen=True, slots=True)
class _Unroller:
    movable: Mapping[str, Movable]
    temporary: str
    limit: int

    def block(self, body: Body, roles: Roles) -> tuple[Body, Roles]:
        """Return the statements one after another, and the roles after the last."""
        out: list[Stmt] = []
        for stmt in body:
            part, roles = self._statement(stmt, roles)
            out += part
        return tuple(out), roles

    def _statement(self, stmt: Stmt, roles: Roles) -> tuple[Body, Roles]:
        match stmt:
            case Rotate(names=names):
                return (), roles.rotated(names)
            case For():
                return self._loop(stmt, roles)
            case If():
                return self._branch(stmt, roles)
            case Scope(body=body):
                inside, after = self._scope(body, roles)
                return braces(inside), after
        return (renamed(stmt, roles),), roles

    def _scope(self, body: Body, roles: Roles) -> tuple[Body, Roles]:
        """Unroll a block with declarations of its own: what they stand for does not outlive it."""
        inside, after = self.block(body, roles)
        local = {s.name for s in body if isinstance(s, Declare | PrivateArray | Pointer)}
        if any(storage in local for name, storage in after.of.items() if name not in local):
            return (*inside, *self._moves(after, roles)), roles
        return inside, after.without(local)

    def _moves(self, now: Roles, wanted: Roles) -> Body:
        return moves(now, wanted, self.movable, self.temporary)

    def _branch(self, stmt: If, roles: Roles) -> tuple[Body, Roles]:
        then, after = self._scope(stmt.then, roles)
        otherwise, other = self._scope(stmt.otherwise, roles)
        if after != other:
            then, otherwise = (*then, *self._moves(after, roles)), (*otherwise, *self._moves(other, roles))
            after = roles
        return (replace(stmt, condition=renamed(stmt.condition, roles), then=then, otherwise=otherwise),), after

    # Loops -------------------------------------------------------------------------------------------
    def _loop(self, stmt: For, roles: Roles) -> tuple[Body, Roles]:
        stmt = replace(stmt, lower=renamed(stmt.lower, roles), condition=renamed(stmt.condition, roles))
        values = trip_values(stmt, self.limit) if stmt.unroll == 0 else None
        if values is not None:
            return self._iterations(stmt, values, roles)
        body, after = self._scope(stmt.body, roles)
        if after == roles:
            return (replace(stmt, body=body),), roles
        if stmt.unroll is not None and stmt.unroll > 1:
            return self._by_factor(stmt, stmt.unroll, roles)
        return (replace(stmt, body=(*body, *self._moves(after, roles))),), roles

    def _iterations(self, stmt: For, values: tuple[int, ...], roles: Roles) -> tuple[Body, Roles]:
        """Copy the body for each value of the iterator."""
        out: list[Stmt] = []
        size = 0
        for value in values:
            copy, roles = self._copy(stmt, constant(value, stmt.type), roles)
            size += count_nodes(copy)
            if size > self.limit:
                raise InternalError(f"unrolling the loop over {stmt.iterator} takes more than {self.limit} nodes")
            out += copy
        return tuple(out), roles

    def _copy(self, stmt: For, value: Expr, roles: Roles) -> tuple[Body, Roles]:
        body, after = self._scope(substituted(stmt.body, {stmt.iterator: value}), roles)
        return block(body), after

    def _by_factor(self, stmt: For, factor: int, roles: Roles) -> tuple[Body, Roles]:
        """Build a loop of `factor` iterations at a time, and what remains."""
        run = trips(stmt)
        if run is None or set(written_names(*stmt.body)) & names_of((stmt.lower, stmt.condition)):
            raise InternalError(f"the bounds of the loop over {stmt.iterator} do not allow unrolling by {factor}")
        main = self._main(stmt, factor, run, roles)
        values = trip_values(stmt, self.limit)
        if values is None:
            rest = replace(stmt, lower=run.start_of_rest(factor), unroll=None)
            return (*main, *self._loop(rest, roles)[0]), roles
        peeled, after = self._iterations(stmt, values[len(values) // factor * factor :], roles)
        return (*(main if len(values) >= factor else ()), *peeled), after

    def _main(self, stmt: For, factor: int, run: Trips, roles: Roles) -> Body:
        iterator = Name(stmt.iterator, stmt.type)
        out: list[Stmt] = []
        after = roles
        for k in range(factor):
            value = iterator if k == 0 else arith.add(iterator, k * run.step)
            copy, after = self._copy(stmt, value, after)
            out += copy
        if after != roles:
            raise InternalError(f"a loop unrolled by {factor} rotates with another period")
        if count_nodes(out) > self.limit:
            raise InternalError(f"unrolling the loop over {stmt.iterator} takes more than {self.limit} nodes")
        condition = folded(run.condition_of(factor))
        return (replace(stmt, condition=condition, step=factor * run.step, body=tuple(out), unroll=None),)
