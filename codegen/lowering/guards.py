"""Which executions of a padded tile need a guard.

An execution outside of its statement's domain does no harm where it reads and writes cells alone, and where the
elements that it writes are none that the kernel has: nobody reads their cells for another element, nor stores them.

before: for (u < 4) if (64 * bi + 16 * u + ti < ni && 16 * k0 + k < nk) C_acc[u] += A_tile[16 * u + ti][k] * x_tile[k];
after:  for (u < 4) if (16 * k0 + k < nk) C_acc[u] += A_tile[16 * u + ti][k] * x_tile[k];
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.expr import Access, Assign, Binary, Expr, Stmt
from polytile.ir.expr_trees import walk
from polytile.ir.plan import Placement
from polytile.ir.scop import Scop, Statement


@dataclass(frozen=True, slots=True)
class Use:
    """An access of a statement that goes to cells: where its owner is, and its element, as formulas of the instance."""

    placement: Placement
    place: isl.Map = field(compare=False)
    element: isl.Map = field(compare=False)
    cell: isl.Map = field(compare=False)


def guard_domain(
    scop: Scop, statement: Statement, padded: isl.Set, uses: Mapping[int, Use], used: Mapping[str, isl.Set]
) -> isl.Set:
    """Return a set that holds of an instance of a padded tile only if that has to run, or does no harm.

    `uses` are the accesses that go to cells, `used` the elements that the kernel really uses through each placement, or
    stores from it.
    """
    exact = statement.domain.intersect_params(scop.context)
    if not _cells_alone(scop, statement, uses) or not _is_harmless(statement.body):
        return exact
    written = [uses[k] for k, a in enumerate(statement.accesses) if a.writes]
    around = isl.Set.from_basic_set(padded.simple_hull())  # sooner looked at than several pieces
    if not written or any(not _one_to_one(use, around) and not _one_to_one(use, padded) for use in uses.values()):
        return exact
    needed = isl.Set.empty(exact.get_space())
    for use in written:
        real = use.element.intersect_range(used[use.placement.name]).domain()
        needed = needed.union(real.intersect_params(scop.context))
    return exact.gist(needed.coalesce())


def _cells_alone(scop: Scop, statement: Statement, uses: Mapping[int, Use]) -> bool:
    """Return whether all that a statement touches is in cells, but scalars that travel by value."""
    free = (a.array for k, a in enumerate(statement.accesses) if k not in uses)
    return all(scop.by_value(scop.array(array)) for array in free)


def _is_harmless(body: Sequence[Stmt]) -> bool:
    """Return whether any values may be computed with: assignments of floating-point expressions."""
    for stmt in body:
        if not isinstance(stmt, Assign) or not isinstance(stmt.target, Access) or stmt.target.type.kind != "float":
            return False
    inside = (n for n in walk(*body) if isinstance(n, Expr))
    return not any(isinstance(n, Binary) and n.op in ("/", "%") and n.type.kind == "int" for n in inside)


def _one_to_one(use: Use, padded: isl.Set) -> bool:
    """Return whether all instances of padded tiles have cells within the extents, one for each element of an owner."""
    cells = use.cell.intersect_domain(padded)
    box = isl.Set.universe(cells.range().get_space())
    for k, extent in enumerate(use.placement.extents):
        box = box.lower_bound_val(isl.dim_type.set, k, isl.Val(0))
        box = box.upper_bound_val(isl.dim_type.set, k, isl.Val(extent - 1))
    if not cells.range().is_subset(box):
        return False
    owned = use.place.range_product(use.cell).intersect_domain(padded)
    return bool(owned.reverse().apply_range(use.element).is_single_valued())
