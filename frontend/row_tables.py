"""Pointers to rows, `float **w`: an array where its rows lie at equal distances, which the host asks when it runs.

before: for (i < n) for (j < m) w[i][j] = 0;     float **w, rows from wherever
after:  w is an array of rows of w_pitch elements where all w[i], 0 <= i < n, lie at equal distances of w_pitch
        elements, m <= w_pitch, and little is left between rows; elsewhere the user's C runs

Rows of one block of memory lie so, and mostly those that were allocated one after another. What little is left between
rows has no room for anything else, so that what lies from the first row to the last belongs to the table alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import islpy as isl
from pycparser import c_ast

from polytile.diagnostics import UserError
from polytile.frontend.accesses import RawAccess
from polytile.frontend.affine import Evaluator
from polytile.frontend.delinearise import in_range
from polytile.frontend.polynomial import Polynomial
from polytile.frontend.relations import without
from polytile.frontend.runtime_conditions import condition_for
from polytile.frontend.scop_region import Symbol
from polytile.frontend.scope import Shape
from polytile.ir.expr import LONG, CType
from polytile.ir.name_supply import fresh
from polytile.ir.scop import RowTable

_GAP = 64  # bytes between rows of which the SCoP uses nothing
_ROW = "polytile_row"
_PARAM = isl.dim_type.param


def is_row_table(shape: Shape) -> bool:
    """Whether a type is a pointer to, or an array of, pointers to elements."""
    return [layer.pointer for layer in shape.layers[1:]] == [True] and shape.base is not None


def pitch_symbol(table: str, taken: set[str], location: Symbol) -> Symbol:
    """The parameter that says how many elements lie from one row of `table` to the next."""
    name = fresh(f"{table}_pitch", taken)
    taken.add(name)
    return Symbol(name, LONG, live_after=False, location=location.location)


def pitch_extent(pitch: Symbol) -> c_ast.Node:
    """The extent of a row."""
    return c_ast.ID(pitch.name)


def table_of(
    array: str,
    source: str,
    element: CType,
    pitch: str,
    accesses: Sequence[RawAccess],
    evaluator: Evaluator,
    pitches: Collection[str],
) -> RowTable:
    """What the host asks of the rows that `accesses` use; the evaluator learns the condition on `pitch`.

    `pitches` are those of all tables. Raises UserError where subscripts are no sums of iterators and sizes.
    """
    size = Polynomial({(pitch,): 1})
    used: list[isl.Set] = []
    near: isl.Set | None = None
    for access in accesses:
        row, column = access.subscripts
        if row is None or column is None or row.degree > 1 or column.degree > 1:
            raise _unknown(source, access)
        points = access.points.intersect(evaluator.context)
        value, extent = (evaluator.of_polynomial(p, access.access) for p in (column, size))
        names = (*evaluator.iterators, *access.inner)
        _require(evaluator, condition_for(points, in_range(value, extent), names), source, access)
        last = extent.sub(isl.PwAff(f"{{ [({1 + _GAP // element.size})] }}"))
        close = without(points.intersect(value.ge_set(last)), names)
        near = close if near is None else near.union(close)
        reached = isl.Set.from_pw_aff(evaluator.of_polynomial(row, access.access)).intersect_params(points)
        used.append(_without(reached, (*names, *pitches)))
    rows = used[0]
    for more in used[1:]:
        rows = rows.union(more)
    assert near is not None
    evaluator.checked = evaluator.checked.also(near.coalesce())
    return RowTable(array, source, str(element), element.size, pitch, _loops(rows.coalesce()))


def _require(evaluator: Evaluator, holds: isl.Set, source: str, access: RawAccess) -> None:
    """Take a condition to hold, which the host checks."""
    if holds.is_empty():
        return  # the access never happens
    if holds.involves_locals():
        raise _unknown(source, access)
    evaluator.context = evaluator.context.intersect(holds.simple_hull() if holds.n_basic_set() > 1 else holds)
    evaluator.checked = evaluator.checked.also(holds)


def _without(reached: isl.Set, names: Sequence[str]) -> isl.Set:
    for name in names:
        position = reached.find_dim_by_name(_PARAM, name)
        if position >= 0:
            reached = reached.project_out(_PARAM, position, 1)
    return reached


def _loops(rows: isl.Set) -> str:
    """C that runs `polytile_visit(row);` for each row, in ascending order."""
    rows = rows.set_tuple_name("polytile_visit")
    build = isl.AstBuild.from_context(isl.Set("{ : }"))
    build = build.set_iterators(isl.IdList.alloc(isl.DEFAULT_CONTEXT, 1).add(isl.Id(_ROW)))
    schedule = isl.Map("{ polytile_visit[r] -> [r] }").intersect_domain(rows)
    text = str(build.node_from_schedule_map(isl.UnionMap.from_map(schedule)).to_C_str())
    text = re.sub(r"\bint (?=polytile_row\b)", "long long ", text)
    return re.sub(r"\b(floord|min|max)(?=\()", r"polytile_\1", text)


def _unknown(source: str, access: RawAccess) -> UserError:
    return UserError(
        f"'{source}' is a pointer to pointers, and which of its elements are used is not known",
        location=access.location,
        hint="use sums of iterators and sizes as its subscripts, or an array with rows of one length: "
        "`double (*A)[m]`, `double A[n][m]` or `A[i * m + j]`",
    )
