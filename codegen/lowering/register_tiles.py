"""The points of a thread: where all of them are there they are one block of straight code, elsewhere a loop.

before: thread[8,32] [floor(i/4) mod 8, j mod 32] { loop[register_tile] [i mod 4] { S } }
after:  if (all four are there) { S(i0); S(i0 + 1); S(i0 + 2); S(i0 + 3); } else for (i = ..) S(i);

Everything around the band is a coordinate, so that where a tile is full is a set of coordinates and parameters.
"""

from __future__ import annotations

from dataclasses import field, replace

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.expr import For, Stmt
from polytile.ir.expr_trees import with_bodies
from polytile.ir.isl_util import mark_name, sets
from polytile.ir.schedule import REGISTER_TILE, loop_mark, nodes

_BAND = isl.schedule_node_type.band
_SET = isl.dim_type.set


@dataclass(frozen=True, slots=True)
class FullTile:
    """Where all points of a thread are there, over coordinates and parameters, and the tree that has them unrolled."""

    where: isl.Set = field(compare=False)
    tree: isl.Schedule = field(compare=False)


def full_tile(tree: isl.Schedule) -> FullTile | None:
    """Return the full tiles of a kernel's tree, whose coordinates are parameters.

    None without a band of points, or where the points of a tile are not a constant number.
    """
    band = _band(tree)
    if band is None:
        return None
    where: isl.Set | None = None
    times = isl.UnionMap.from_multi_union_pw_aff(band.band_get_partial_schedule())
    box = _box(isl.Set.from_union_set(times.intersect_domain(band.get_domain()).range()))
    if box is None:
        return None
    for instances in sets(band.get_domain()):
        there = isl.Set.from_union_set(times.intersect_domain(isl.UnionSet.from_set(instances)).range())
        whole = box.align_params(there.get_space())
        full = whole.subtract(there).params().complement()
        where = full if where is None else where.intersect(full)
    return None if where is None else FullTile(where.coalesce(), _with_type(band, isl.ast_loop_type.unroll))


def in_loops(tree: isl.Schedule) -> isl.Schedule:
    """Return the tree with the points in loops, one after another."""
    band = _band(tree)
    return tree if band is None else _with_type(band, isl.ast_loop_type.default)


def point_by_point(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Keep compilers from unrolling the loops over points in statements."""

    def one(stmt: Stmt) -> Stmt:
        stmt = with_bodies(stmt, point_by_point)
        own = isinstance(stmt, For) and stmt.label.startswith(REGISTER_TILE)
        return replace(stmt, unroll=1) if own and isinstance(stmt, For) else stmt

    return tuple(map(one, body))


def _band(tree: isl.Schedule) -> isl.ScheduleNode | None:
    return next((n.child(0) for n in nodes(tree) if mark_name(n) == loop_mark(REGISTER_TILE)), None)


def _with_type(band: isl.ScheduleNode, kind: isl.ast_loop_type) -> isl.Schedule:
    for i in range(int(band.band_n_member())):
        band = band.band_member_set_ast_loop_type(i, kind)
    return band.get_schedule()


def _box(points: isl.Set) -> isl.Set | None:
    """Return the smallest box around points, whatever the parameters are, or None where they are not bounded."""
    box = isl.Set.universe(points.get_space().drop_all_params())
    for i in range(int(points.dim(_SET))):
        least, most = points.dim_min_val(i), points.dim_max_val(i)
        if not (least.is_int() and most.is_int()):
            return None
        box = box.lower_bound_val(_SET, i, least).upper_bound_val(_SET, i, most)
    return box
