"""Tables of pointers to rows, `float **w`: arrays where rows lie at equal distances, which the host asks when it runs.

before: for (i < n) for (j < m) w[i][j] = 0;     float **w, rows from wherever
after:  w is an array of rows of w_pitch elements where all w[i], 0 <= i < n, lie at equal distances of w_pitch
        elements, m <= w_pitch, and little is left between rows; elsewhere the user's C runs

Rows of one block of memory lie so, and mostly those that were allocated one after another. What little is left between
rows has no room for anything else, so that what lies from the first row to the last belongs to the table alone. Of more
dimensions, `float ***w`, each has a distance of its own, w_rows rows from one plane to the next.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import reduce

import islpy as isl
from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.diagnostics import UserError
from polytile.frontend.accesses import RawAccess
from polytile.frontend.affine import Evaluator
from polytile.frontend.delinearise import in_range
from polytile.frontend.name_binding import Variable
from polytile.frontend.pointer_tables import further
from polytile.frontend.polynomial import Polynomial
from polytile.frontend.relations import without
from polytile.frontend.runtime_conditions import condition_for
from polytile.frontend.scop_region import PointerTable, Symbol
from polytile.frontend.scope import Binding
from polytile.frontend.type_shapes import Shape
from polytile.ir.expr import LONG, Name
from polytile.ir.name_supply import fresh
from polytile.ir.scop import RowTable

_GAP = 64  # bytes between rows of which the SCoP uses nothing
_HALO = 4  # rows at the end of a plane that it does not use, if it uses none of as many at the start
_ROW = "polytile_row"
_PARAM = isl.dim_type.param


def is_row_table(shape: Shape) -> bool:
    """Whether a type is a pointer to, or an array of, pointers to elements, or pointers to and arrays of such."""
    return len(shape.layers) > 1 and shape.layers[-1].pointer and shape.base is not None


def table_of_variable(binding: Binding) -> PointerTable:
    """The table that a variable is, whose extents are not known yet: w[{0}][{1}] of `float ***w`."""
    first, *rest = binding.shape.layers
    first = replace(first, pointer=first.pointer or binding.kind == "parameter")
    return further(PointerTable(binding.name, ()), 0, (first, *rest))


def extent_symbols(table: str, depth: int, taken: set[str], location: Symbol) -> tuple[Symbol, ...]:
    """The parameters that say how far rows of `table` lie apart, for each of its dimensions but the outermost one: how
    many rows a plane has, how many elements lie from one row to the next."""
    words = (*(["planes"] * (depth - 2)), *(["rows"] if depth > 1 else []), "pitch")
    made = []
    for word in words:
        name = fresh(f"{table}_{word}", taken)
        taken.add(name)
        made.append(Symbol(name, LONG, live_after=False, location=location.location))
    return tuple(made)


def row_table(
    array: str,
    variable: Variable,
    tables: Mapping[str, PointerTable],
    accesses: Sequence[RawAccess],
    evaluator: Evaluator,
    width: Polynomial | None = None,
) -> RowTable:
    """What the host asks of the rows of a variable, one of `tables`, that `accesses` use; the evaluator learns the
    conditions on extents. `width` is how much of rows is used where data choose that, which the host has looked for.

    Raises UserError where subscripts are no sums of iterators and sizes otherwise.
    """
    source, element, table = variable.source, variable.type, tables[variable.source]
    gap = _GAP // element.size
    if width is not None:
        loops = _loops(_all_rows(variable, table, width, accesses, evaluator, gap))
        return RowTable(array, table.row, table.followed, str(element), element.size, table.extents, loops)
    found = _Rows(source, table, evaluator, tuple(e for t in tables.values() for e in t.extents))
    for access in accesses:
        found.add(access)
    found.require_little_between(gap)
    rows = found.certain if table.deep else found.certain + found.possible
    used = _union(rows)
    if used is None or (table.deep and any(not more.is_subset(used) for more in found.possible)):
        raise _hidden(source, accesses[0])
    return RowTable(array, table.row, table.followed, str(element), element.size, table.extents, _loops(used))


def _all_rows(
    variable: Variable,
    table: PointerTable,
    width: Polynomial,
    accesses: Sequence[RawAccess],
    evaluator: Evaluator,
    gap: int,
) -> isl.Set:
    """All rows of a table up to the last one that is used: data choose which are."""
    (pitch,), extents = table.extents, variable.extents
    assert extents[0] is not None and isinstance(extents[0], c_ast.ID)
    expr = Name(pitch, LONG)
    size, columns, distance = (
        evaluator.of_polynomial(p, expr) for p in (_symbol(str(extents[0].name)), width, _symbol(pitch))
    )
    near = columns.add(isl.PwAff(f"{{ [({gap})] }}")).ge_set(distance)
    holds = columns.le_set(distance).intersect(near)
    evaluator.context = evaluator.context.intersect(holds)
    evaluator.checked = evaluator.checked.also(holds)
    for access in accesses:
        column = access.subscripts[1]
        if column is not None and column.degree <= 1:
            value = evaluator.of_polynomial(column, access.access)
            evaluator.require(access.points, in_range(value, columns))
    row = isl.Set.from_pw_aff(size)  # { [size] }
    below = isl.Map("{ [s] -> [r] : 0 <= r < s }")
    return row.apply(below)


def _symbol(name: str) -> Polynomial:
    return Polynomial({(name,): 1})


@dataclass(slots=True)
class _Rows:
    """The rows that accesses use; `certain` are those of accesses that no condition on data decides. `subscripts` are
    the values of all dimensions but the outermost one, with the points at which they are used; `unknown` are the
    extents of all tables, which nobody knows while rows are looked at."""

    source: str
    table: PointerTable
    evaluator: Evaluator
    unknown: tuple[str, ...]
    certain: list[isl.Set] = field(default_factory=list)
    possible: list[isl.Set] = field(default_factory=list)
    subscripts: list[tuple[isl.Set, list[isl.PwAff], tuple[str, ...]]] = field(default_factory=list)

    def add(self, access: RawAccess) -> None:
        """Take in the rows of an access; its subscripts have to lie inside of their dimensions."""
        if any(s is None or s.degree > 1 for s in access.subscripts):
            raise _unknown(self.source, access)
        points = access.points.intersect(self.evaluator.context)
        names = (*self.evaluator.iterators, *access.inner)
        values = [self.evaluator.of_polynomial(s, access.access) for s in access.subscripts if s is not None]
        for name, value in zip(self.table.extents, values[1:], strict=True):
            holds = condition_for(points, in_range(value, self._extent(name)), names)
            _require(self.evaluator, holds, self.source, access)
        self.subscripts.append((access.points, values[1:], names))
        rows = [isl.Set.from_pw_aff(value) for value in values[:-1]]
        reached = reduce(isl.Set.flat_product, rows).intersect_params(points)
        sure = not access.path and not access.loose
        (self.certain if sure else self.possible).append(_without(reached, (*names, *self.unknown)))

    def require_little_between(self, gap: int) -> None:
        """Ask that the SCoP uses what lies between rows, but for `gap` elements, and between planes."""
        *planes, pitch = self.table.extents
        self._check(self._reaches(len(planes), pitch, gap))
        for k, name in enumerate(planes):
            near = self._reaches(k, name, 0)
            for rows in range(1, _HALO + 1):
                near = near.union(self._reaches(k, name, rows).subtract(self._starts_before(k, rows)))
            self._check(near)

    def _check(self, near: isl.Set) -> None:
        self.evaluator.checked = self.evaluator.checked.also(near.coalesce())

    def _reaches(self, k: int, name: str, left: int) -> isl.Set:
        """Where some access leaves at most `left` of a dimension unused at its end."""
        last = self._extent(name).sub(isl.PwAff(f"{{ [({1 + left})] }}"))
        return self._somewhere(lambda values: values[k].ge_set(last))

    def _starts_before(self, k: int, row: int) -> isl.Set:
        """Where some access uses one of the first rows of a dimension."""
        return self._somewhere(lambda values: values[k].lt_set(isl.PwAff(f"{{ [({row})] }}")))

    def _somewhere(self, claim: Callable[[list[isl.PwAff]], isl.Set]) -> isl.Set:
        """Where a claim holds for some point of an access."""
        context = self.evaluator.context
        sets = [without(p.intersect(context).intersect(claim(v)), names) for p, v, names in self.subscripts]
        found = _union(sets)
        assert found is not None
        return found

    def _extent(self, name: str) -> isl.PwAff:
        return self.evaluator.of_polynomial(_symbol(name), Name(name, LONG))


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


def _union(sets: Sequence[isl.Set]) -> isl.Set | None:
    return reduce(isl.Set.union, sets).coalesce() if sets else None


def _loops(rows: isl.Set) -> str:
    """C that runs `polytile_visit(row, ...);` for each row, in lexicographic order."""
    rows = rows.set_tuple_name("polytile_visit")
    depth = rows.dim(isl.dim_type.set)
    build = isl.AstBuild.from_context(isl.Set("{ : }"))
    names = isl.IdList.alloc(isl.DEFAULT_CONTEXT, depth)
    for name in [_ROW, *(f"{_ROW}_{k}" for k in range(1, depth))]:
        names = names.add(isl.Id(name))
    subscripts = ", ".join(f"r{k}" for k in range(depth))
    schedule = isl.Map(f"{{ polytile_visit[{subscripts}] -> [{subscripts}] }}").intersect_domain(rows)
    build = build.set_iterators(names)
    text = str(build.node_from_schedule_map(isl.UnionMap.from_map(schedule)).to_C_str())
    text = re.sub(rf"\bint (?={_ROW}(_\d+)?\b)", "long long ", text)
    return re.sub(r"\b(floord|min|max)(?=\()", r"polytile_\1", text)


def _hidden(source: str, access: RawAccess) -> UserError:
    return UserError(
        f"`{source}` has pointers that only a condition on data leads to: the host would follow them where C does not",
        location=access.location,
        hint="use its rows without that condition, too, or an array with rows of one length: `double A[n][m][l]`",
    )


def _unknown(source: str, access: RawAccess) -> UserError:
    return UserError(
        f"'{source}' is a pointer to pointers, and which of its elements are used is not known",
        location=access.location,
        hint="use sums of iterators and sizes as its subscripts, or an array with rows of one length: "
        "`double (*A)[m]`, `double A[n][m]` or `A[i * m + j]`",
    )
