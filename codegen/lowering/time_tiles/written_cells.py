"""What isl knows of the cells that statements write: whether one does, by which instance, and as which element.

before: S0[t, i, j] writes A[(t + 1) % 2][i][j], for 1 <= i <= n - 2 and 1 <= j <= m - 2
after:  the cell (x0, x1) is written at time t by S0[t, x0, x1], where 1 <= x0 <= n - 2 and 1 <= x1 <= m - 2,
        and is the element A[(t + 1) % 2][x0][x1]
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import islpy as isl

from polytile.codegen.lowering.time_tiles.cell_conditions import AffineForm
from polytile.dataclass import dataclass
from polytile.diagnostics import InternalError
from polytile.ir.access_numbers import access_numbers
from polytile.ir.arith import add, lift
from polytile.ir.expr import Access, CType, Expr
from polytile.ir.expr_trees import walk
from polytile.ir.isl_expr import ast_options, expression, parameter_expression
from polytile.ir.scop import AccessKind, AccessRelation, Array, Scop, Statement

LATER = 4  # how many iterations later it is asked whether a cell is the same element again
TIME = "@time"  # the iteration of the time loop, in expressions that are not yet at a place; no name of a program
PARAM, SET, IN, OUT, DIV = (isl.dim_type[k] for k in ("param", "set", "in_", "out", "div"))
Bounds = tuple[Expr, Expr]  # the first and the last


def cell_name(k: int) -> str:
    """Return the name of the cell's coordinate along dimension k of space, in such expressions."""
    return f"@cell{k}"


@dataclass(frozen=True, slots=True)
class Writer:
    """A statement by the cells that it writes, in terms of TIME and of the cell.

    `numbers` are those of the accesses in its body to arrays that change. It writes a cell where all of `bounds` are at
    least 0 and `others` holds (None: always). `iterators` are the values of its iterators there. `element` has the
    subscripts of the element, for cells that it does not write, too.
    """

    statement: Statement
    written: AccessRelation
    numbers: dict[Access, tuple[int, ...]]
    bounds: tuple[AffineForm, ...]
    equalities: int
    others: Expr | None
    iterators: tuple[Expr, ...]
    element: tuple[Expr, ...]
    returns: frozenset[int]  # after how many iterations it is the same element again


@dataclass(frozen=True, slots=True)
class Cells:
    """The writers of a plan by name, the first and last cell that any writes along each dimension, the first and
    last iteration of the time loop, where memory of the arrays written is known to begin and end along each dimension,
    and whether there are cells, and memory of each of these arrays (None: always). `iterations` counts those of the
    time loop, where some instance runs; `with_memory` are the sizes with which `some` holds."""

    scop: Scop
    integer: CType
    writers: dict[str, Writer]
    range: tuple[Bounds, ...]
    times: Bounds
    memory: dict[str, tuple[Bounds, ...]]
    iterations: isl.PwAff
    with_memory: isl.Set
    some: Expr | None = None

    def leaves_none(self, height: int) -> bool:
        """Return whether turns of so many iterations are all of the time loop, for all sizes that run an instance."""
        runs = reduce(isl.Set.union, (s.domain.params() for s in self.scop.statements)).intersect(self.scop.context)
        left = self.iterations.mod_val(isl.Val(height))
        whole = left.eq_set(left.scale_val(isl.Val(0)))
        return bool(runs.is_subset(self.with_memory) and runs.is_subset(whole))

    def of_array(self, array: str) -> tuple[Writer, ...]:
        """Return the writers of an array."""
        return tuple(w for w in self.writers.values() if w.written.array == array)


def cells_of(scop: Scop, statements: Sequence[str], dims: int, back: int | None, integer: CType) -> Cells:
    """Return what is known of the statements' cells.

    Versions from `back` iterations before the first one are asked for. None: there is no loop over time, but a single
    iteration, 0.
    """
    found = [_Placed(scop, scop.statement(name), dims, back is None, integer) for name in statements]
    total = reduce(lambda a, b: a.union(b), (one.cells for one in found))
    space = total.project_out(SET, 0, 1)
    sides = tuple(_extent(scop, space, k, integer) for k in range(dims))
    at = _times(scop, total, dims, 0)
    writers = {one.statement.name: one.writer(at, _times(scop, total, dims, back or 0)) for one in found}
    memory = {a: extents_of(scop, scop.array(a), integer) for a in {one.written.array for one in found}}
    times, held = _extent(scop, total, 0, integer), _with_memory(scop, total, found)
    first, last = _sides(scop, total, 0)
    count = last.sub(first).add_constant_val(isl.Val(1))
    some = _condition_of(scop, held, integer)
    return Cells(scop, integer, writers, sides, times, memory, count, held, some)


def _times(scop: Scop, cells: isl.Set, dims: int, back: int) -> isl.Set:
    """Return the times at which some statement writes, and those shortly before, of any cell."""
    times = cells.project_out(SET, 1, dims).reset_tuple_id()
    earlier = isl.Map(f"{{ [a] -> [b] : a - {back} <= b <= a }}")
    return times.apply(earlier).insert_dims(SET, 1, dims).intersect_params(scop.context)


def _with_memory(scop: Scop, cells: isl.Set, found: Sequence[_Placed]) -> isl.Set:
    """Return the sizes with which there are cells and each array that they are in has memory."""
    arrays = dict.fromkeys(one.written.array for one in found)
    return reduce(isl.Set.intersect, (_memory(scop, array).params() for array in arrays), cells.params())


def _condition_of(scop: Scop, holds: isl.Set, integer: CType) -> Expr | None:
    """Return the condition that sizes are some of these, or None if that is known anyway."""
    if scop.context.is_subset(holds):
        return None
    with ast_options():
        build = isl.AstBuild.from_context(scop.context)
        return expression(build.expr_from_set(holds.gist(scop.context).coalesce()), integer)


def _sides(scop: Scop, cells: isl.Set, k: int) -> tuple[isl.PwAff, isl.PwAff]:
    """Return the first and the last coordinate of cells along a dimension, over the sizes."""
    cells = cells.intersect_params(scop.context).coalesce()
    return cells.dim_min(k).coalesce(), cells.dim_max(k).coalesce()


def _extent(scop: Scop, cells: isl.Set, k: int, integer: CType) -> Bounds:
    first, last = (parameter_expression(side, scop.context, integer) for side in _sides(scop, cells, k))
    return first, last


class _Placed:
    """A statement with its instances named by time and cell."""

    def __init__(self, scop: Scop, statement: Statement, dims: int, once: bool, integer: CType) -> None:
        self.scop, self.statement, self.dims, self.integer = scop, statement, dims, integer
        (self.written,) = (a for a in statement.accesses if a.writes)
        rank = self.written.relation.dim(OUT)
        write = self.written.relation.intersect_domain(statement.domain)
        cell = write.reset_tuple_id(OUT).project_out(OUT, 0, rank - dims)
        time = _iteration_zero(statement) if once else _first_iterator(statement)
        self.place = time.intersect_domain(statement.domain).flat_range_product(cell)
        self.cells = self.place.range().intersect_params(scop.context).coalesce()

    def writer(self, times: isl.Set, asked: isl.Set) -> Writer:
        """Return what a statement writes, by conditions beyond those of `times`.

        Elements are found at the times `asked` for.
        """
        own = self.cells.gist(times)
        hull = own.unshifted_simple_hull()
        plain = [c for c in hull.get_constraints() if not _divides(c)]
        simple = isl.BasicSet.universe(hull.get_space())
        for constraint in plain:
            simple = simple.add_constraint(constraint)
        rest = own.gist(isl.Set.from_basic_set(simple))
        return Writer(
            self.statement,
            self.written,
            self._numbers(),
            tuple(one for c in plain for one in _linear(c)),
            sum(bool(c.is_equality()) for c in plain),
            None if rest.complement().is_empty() else self._condition(rest, asked),
            self._values(self.place.reverse(), self.cells),
            self._values(self.place.reverse().apply_range(self.written.relation), asked),
            frozenset(k for k in range(1, LATER + 1) if self._returns(k)),
        )

    def _numbers(self) -> dict[Access, tuple[int, ...]]:
        nodes = (n for n in walk(*self.statement.body) if isinstance(n, Access) and self.scop.written(n.array))
        return {node: access_numbers(self.statement, node) for node in dict.fromkeys(nodes)}

    def _returns(self, later: int) -> bool:
        """Return whether a cell is the same element so many iterations later."""
        now = self.place.reverse().apply_range(self.written.relation)
        sizes = ", ".join(f"x{k}" for k in range(self.dims))
        then = now.apply_domain(isl.Map(f"{{ [t, {sizes}] -> [t + {later}, {sizes}] }}"))
        return bool(now.intersect_domain(then.domain()).is_equal(then.intersect_domain(now.domain())))

    def _condition(self, holds: isl.Set, times: isl.Set) -> Expr:
        with ast_options():
            build = isl.AstBuild.from_context(_named(times))
            return expression(build.expr_from_set(_named(holds)), self.integer)

    def _values(self, relation: isl.Map, where: isl.Set) -> tuple[Expr, ...]:
        """Return the values of a function of time and cell, as they are at `where` if not beyond."""
        if not relation.is_single_valued():
            raise InternalError(f"{self.statement.name}: several instances write one cell in an iteration")
        function = isl.PwMultiAff.from_map(relation).gist(self.cells).coalesce()
        with ast_options():
            build = isl.AstBuild.from_context(_named(where))
            values = [_single(function.get_pw_aff(k), self.statement) for k in range(function.dim(OUT))]
            return tuple(expression(build.expr_from_pw_aff(value), self.integer) for value in values)


def _iteration_zero(statement: Statement) -> isl.Map:
    return isl.Map.from_domain_and_range(statement.domain, isl.Set("{ [t] : t = 0 }"))


def _first_iterator(statement: Statement) -> isl.Map:
    time = isl.Map.identity(statement.domain.get_space().map_from_set()).reset_tuple_id(OUT)
    return time.project_out(OUT, 1, time.dim(OUT) - 1)


def _single(value: isl.PwAff, statement: Statement) -> isl.PwAff:
    """Return the one expression that the value is, over names; raise InternalError where it has several pieces."""
    pieces: list[isl.Aff] = []
    value.foreach_piece(lambda _, aff: pieces.append(aff))
    if len(pieces) != 1:
        raise InternalError(f"{statement.name}: its instances are no linear function of the cells that they write")
    graph = isl.Map.from_aff(pieces[0])
    count, before = graph.dim(IN), graph.dim(PARAM)
    named = _with_names(graph.reset_tuple_id(IN).move_dims(PARAM, before, IN, 0, count), before, count)
    return isl.PwMultiAff.from_set(named.range()).get_pw_aff(0)


def _named(cells: isl.Set) -> isl.Set:
    """Convert the dimensions of time and cells to names."""
    count, before = cells.dim(SET), cells.dim(PARAM)
    moved = isl.Map.from_domain(cells.reset_tuple_id()).move_dims(PARAM, before, IN, 0, count)
    return _with_names(moved, before, count).range().params()


def _with_names(relation: isl.Map, first: int, count: int) -> isl.Map:
    for k in range(count):
        relation = relation.set_dim_name(PARAM, first + k, _dimension(k))
    return relation


def _dimension(k: int) -> str:
    return cell_name(k - 1) if k else TIME


def _divides(constraint: isl.Constraint) -> bool:
    return any(not constraint.get_coefficient_val(DIV, k).is_zero() for k in range(constraint.dim(DIV)))


def _linear(constraint: isl.Constraint) -> tuple[AffineForm, ...]:
    """Convert a constraint to expressions that are at least 0: two of an equality."""
    terms = {"": int(constraint.get_constant_val().to_python())}
    names = [str(constraint.get_dim_name(PARAM, k)) for k in range(constraint.dim(PARAM))]
    for kind, own in ((PARAM, names), (SET, [_dimension(k) for k in range(constraint.dim(SET))])):
        for k, name in enumerate(own):
            terms[name] = int(constraint.get_coefficient_val(kind, k).to_python())
    form = AffineForm.of(terms)
    return (form, form.negated()) if constraint.is_equality() else (form,)


# Memory -------------------------------------------------------------------------------------------
def extents_of(scop: Scop, array: Array, integer: CType) -> tuple[Bounds, ...]:
    """Return the first and last index of each dimension at which memory is known to be when the program touches it."""
    inner = tuple((lift(0), add(extent, -1)) for extent in array.extents[1:] if extent is not None)
    touched = _memory(scop, array.name)
    if array.extents[0] is None:  # memory begins and ends at what is touched
        return tuple(_extent(scop, touched, k, integer) for k in range(array.rank))
    return ((lift(0), _extent(scop, touched, 0, integer)[1]), *inner)


def _memory(scop: Scop, array: str) -> isl.Set:
    """Return the elements that some instance touches: where there are none, the array may have no buffer."""
    kinds = (AccessKind.READ, AccessKind.WRITE, AccessKind.MAY_WRITE)
    touched = (r.range() for kind in kinds for s in scop.statements for a, r in s.united(kind) if a == array)
    return reduce(isl.Set.union, touched).intersect_params(scop.context)
