"""Batches of a tile in registers: a loop that updates the elements that a thread keeps loads several iterations of what
they need at once.

A thread of a tile shares its multiprocessor with few others, as it has many registers, so that it is its own loads that
have to be in flight together: as many as these registers hold. For a tile of 4 x 2 doubles, eight iterations bring it
384 bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polytile.codegen.passes.alignment_versioning import Group, are_aligned, loaded, unguarded, vectors
from polytile.codegen.passes.iteration_loads import HeldLoad, Setting, iteration
from polytile.codegen.passes.loads_before_stores import lasting
from polytile.codegen.passes.strip_mine import in_batches, iterations
from polytile.ir.arith import both
from polytile.ir.expr import BOOL, Access, Assign, Binary, For, If, Literal, Name, Scope, Stmt
from polytile.ir.expr_trees import statements, walk
from polytile.ir.fold import folded
from polytile.ir.gpu_ops import PrivateArray
from polytile.ir.name_supply import Names
from polytile.ir.substitute import with_values


def of_tile(loop: For, last: Name, trips: int, setting: Setting, names: Names) -> tuple[Stmt, ...]:
    """Build the batches of a loop that updates the elements of a thread's tile.

    Where all of these are there, the batches use vectors where they are aligned; elsewhere what is not there counts as
    0, and is not stored after the loop.

    before: for (k = 0; k < n; ++k) { s += A[i][k] * B[k][j]; if (i + 1 < m) s1 += A[i + 1][k] * B[k][j]; }
    after:  if (i + 1 < m) for (k = 0; k <= k_last - 7; k += 8) {
                double A_at[8], A1_at[8], B_at[8];
                for (u = 0; u < 8; ++u) { A_at[u] = A[i][k + u]; A1_at[u] = A[i + 1][k + u]; B_at[u] = B[k + u][j]; }
                for (u = 0; u < 8; ++u) { s += A_at[u] * B_at[u]; s1 += A1_at[u] * B_at[u]; } }
            else for (k = 0; ...) { ...; A1_at[u] = i + 1 < m ? A[i + 1][k + u] : 0; ...; s1 += A1_at[u] * B_at[u]; }
    """
    free = unguarded(loop)
    plain = replace(loop, body=free.body)

    tuning = setting.tuning.loads

    def batches(one: For, loads: Sequence[HeldLoad], groups: Sequence[Group]) -> tuple[Stmt, ...]:
        def batch(first: Name, count: int, surely: int) -> tuple[Stmt, ...]:
            return _unrolled(one, loads, groups, first, count, surely, last, names)

        size = sum(load.access.type.size for load in loads)
        many = max(iterations(size, min(tuning.tile_iterations, trips), _room(loop, setting)), 1)
        return tuple(in_batches(one, batch, many, last, names, tuning))

    found = [load for load in lasting(plain, setting) if load.varies(loop.iterator) and not load.guard]
    groups = vectors(found, loop.iterator, setting.extents, setting.lanes)
    guarded = [load for load in lasting(loop, setting) if load.varies(loop.iterator)]
    whole = batches(plain, found, groups)
    second = folded(Binary("+", loop.lower, Literal("1"), loop.type))
    aligned = [are_aligned(found, groups, loop.iterator, loop.lower, second)] if groups else []
    there = free.hold(loop.iterator, loop.lower, last)
    conditions = [*([] if there is None else [there]), *aligned]
    return (If(both(*conditions), whole, batches(loop, guarded, ())),) if conditions else whole


def _room(loop: For, setting: Setting) -> int:
    """Return how many bytes of a thread's registers are left for what it loads."""
    kept = {n.target for n in statements(*loop.body) if isinstance(n, Assign) and isinstance(n.target, Name)}
    tuning = setting.tuning
    registers = min(tuning.registers.max_registers, setting.registers) - tuning.loads.tile_spare_registers
    return 4 * registers - sum(name.type.size for name in kept)


def _unrolled(
    loop: For,
    loads: Sequence[HeldLoad],
    groups: Sequence[Group],
    first: Name,
    count: int,
    surely: int,
    last: Name,
    names: Names,
) -> tuple[Stmt, ...]:
    """Build a batch as two loops that compilers unroll: what it loads, in private arrays, and what it runs."""
    u = Name(names.shared("u"), loop.type)
    part = iteration(loop, loads, first, u if count > 1 else 0, names, last if count > surely else None)
    made = loaded(part.declared, part.loads, groups)
    body = _anyway(part.body)
    if count == 1:
        return (*made.declared, *made.whole, Scope(body))
    held = {d.name: Access(d.name, (u,), d.type) for d in made.declared}
    arrays = [PrivateArray(d.name, d.type, (count,), location=d.location) for d in made.declared]
    load = [*(Assign(held[d.name], "", d.value, d.location) for d in made.declared if d.value is not None), *made.whole]
    runs = Binary("<=", folded(Binary("+", first, u, loop.type)), last)
    work = Scope(body) if count <= surely else If(runs, body)

    def unrolled(*stmts: Stmt) -> For:
        body = tuple(with_values(stmt, held) for stmt in stmts)
        return For(u.name, Literal("0"), Binary("<", u, Literal(str(count)), BOOL), 1, body, loop.type, unroll=0)

    return (*arrays, unrolled(*load), unrolled(work))


def _anyway(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Drop the conditions on what only changes floating-point names, by names.

    Nothing else depends on their values.
    """
    changing = (n.target.type for n in statements(*body) if isinstance(n, Assign))
    loads = any(isinstance(n, Access) and n.subscripts for n in walk(*body))
    if loads or any(ctype.kind != "float" for ctype in changing):
        return body
    return unguarded(For("_", Literal("0"), Literal("0"), 1, body)).body
