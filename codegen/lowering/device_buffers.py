"""How much of each array goes to the device."""

from __future__ import annotations

from functools import reduce

import islpy as isl

from polytile.codegen.lowering.copied_back import (
    certain_elements,
    is_within,
    rows_between,
    rows_up_to,
    without_fields,
    written_elements,
)
from polytile.diagnostics import UserError
from polytile.ir.expr import LLONG, Binary, Cast, Expr, Literal
from polytile.ir.fold import folded
from polytile.ir.host import Buffer, CopiedBack, Rows, Transfer
from polytile.ir.isl_expr import ast_options, expression, parameter_expression
from polytile.ir.isl_util import OverBudgetError, budget
from polytile.ir.scop import Array, Origin, Scop

ZERO = Literal("0", LLONG)
ONE = Literal("1", LLONG)
ROW_OPERATIONS = 200_000  # of isl, for the last touched row of one array


def buffers(scop: Scop, transfers: tuple[Transfer, ...], inside_kernels: frozenset[str]) -> tuple[Buffer, ...]:
    """Return a buffer for every array that lives in device memory.

    These are all but read-only scalars, arrays that are never touched, and those that live `inside_kernels` (in
    registers or shared memory).
    """
    return tuple(
        _buffer(scop, t)
        for t in transfers
        if t.touched is not None and not scop.by_value(t.array) and t.array.name not in inside_kernels
    )


def _buffer(scop: Scop, transfer: Transfer) -> Buffer:
    array = transfer.array
    assert transfer.touched is not None
    if array.rank == 0:
        back = _scalar_back(scop, array) if transfer.copy_out else None
        return Buffer(array, ZERO, ONE, transfer.copy_in, transfer.copy_out, back)
    if array.origin is not Origin.EXTERNAL:
        return temporary(array)
    try:
        first, elements = _window(scop, array, transfer.touched)
    except isl.Error:
        raise UserError(
            f"the part of {array.name} that the SCoP touches has no bound", location=array.location or scop.location
        ) from None
    back = _back(scop, transfer, first, elements) if transfer.copy_out else None
    return Buffer(array, first, elements, transfer.copy_in, transfer.copy_out, back)


def _scalar_back(scop: Scop, array: Array) -> CopiedBack | None:
    """Return how a scalar is copied back that the SCoP changes for certain if it runs at all; None for others."""
    written = written_elements(scop, array)
    certain = certain_elements(scop, array)
    return CopiedBack(ZERO, ONE, (), _where(scop, written)) if is_within(scop, array, written, certain) else None


def _where(scop: Scop, written: isl.Set) -> Expr | None:
    """Return the condition on sizes under which something is written, or None where it always is."""
    some = written.params().gist(scop.context).coalesce()
    if some.plain_is_universe():
        return None
    with ast_options():
        return expression(isl.AstBuild.from_context(scop.context).expr_from_set(some), LLONG)


def _back(scop: Scop, transfer: Transfer, first: Expr, elements: Expr) -> CopiedBack | None:
    """Return the part of a buffer that is copied back as it is: all of it, or the rows that the SCoP writes.

    What the SCoP reads in between is copied, too. None where it leaves out other elements there.
    """
    array = transfer.array
    assert transfer.touched is not None
    touched = without_fields(array, transfer.touched)
    certain, known = certain_elements(scop, array), array.extents[0] is not None
    window = rows_up_to(array, touched) if known else rows_between(scop, array, touched, 0)
    if window is not None and is_within(scop, array, window, certain):
        return CopiedBack(first, elements)
    written = written_elements(scop, array)
    for depth in range(array.rank):
        between = rows_between(scop, array, written, depth)
        if between is not None and is_within(scop, array, between, certain):
            return _rows(scop, array, written, depth)
    return None


def _rows(scop: Scop, array: Array, written: isl.Set, depth: int) -> CopiedBack:
    pitches, every = _pitches(array), range(array.rank)
    least, most = ([end(written, k) for k in every] for end in (isl.Set.dim_min, isl.Set.dim_max))
    spans = [_value(scop, last.sub(first)) for first, last in zip(least, most, strict=True)]
    counts = (Binary("+", span, ONE, LLONG) for span in spans[:depth])
    rows = tuple(Rows(count, pitch) for count, pitch in zip(counts, pitches, strict=False))
    width = Binary("+", _linear(spans[depth:], pitches[depth:]), ONE, LLONG)
    first = _linear([_value(scop, end) for end in least], pitches)
    return CopiedBack(folded(first), folded(width), rows, _where(scop, written))


def _value(scop: Scop, value: isl.PwAff) -> Expr:
    """Convert a piecewise value to an expression, which is arbitrary where the value is undefined."""
    return parameter_expression(value.gist_params(value.domain().params()).coalesce(), scop.context, LLONG)


def temporary(array: Array) -> Buffer:
    """Return the buffer of an array that lives on the device alone."""
    return Buffer(array, ZERO, _product([e for e in array.extents if e is not None]), False, False)


def second_buffer(scop: Scop, array: Array, home: Transfer) -> Buffer:
    """Return the buffer of an array with an element for each place, by the last subscripts, that `home` touches."""
    assert home.touched is not None
    drop = home.array.rank - array.rank
    touched = home.touched.project_out(isl.dim_type.set, 0, drop) if drop else home.touched
    first, elements = _window(scop, array, touched.set_tuple_name(array.name))
    return Buffer(array, first, elements, False, False)


def _window(scop: Scop, array: Array, touched: isl.Set) -> tuple[Expr, Expr]:
    """Return the linear index of the first element to copy, and the number of elements.

    An array of known extents is copied from its start to the end of its last touched row. Where C leaves the outermost
    extent open, memory is only known to exist where the SCoP touches it: from the first corner of the accesses' box to
    its last.
    """
    pitches = _pitches(array)
    touched = touched.intersect_params(scop.context)
    if array.extents[0] is not None:
        rows = _touched_rows(scop, array.extents[0], touched)
        return ZERO, Binary("*", rows, pitches[0], LLONG) if array.rank > 1 else rows
    first, last = (
        [_corner(scop, touched, i, largest=largest) for i in range(array.rank)] for largest in (False, True)
    )
    start = _linear(first, pitches)
    return start, Binary("+", Binary("-", _linear(last, pitches), start, LLONG), ONE, LLONG)


def _touched_rows(scop: Scop, extent: Expr, touched: isl.Set) -> Expr:
    """Count the rows up to the last touched one; all rows, which exist, where the last one takes too long to find."""
    try:
        with budget(ROW_OPERATIONS):
            return Binary("+", _corner(scop, touched, 0, largest=True), ONE, LLONG)
    except (isl.Error, OverBudgetError):
        return Cast(LLONG, extent)


def _corner(scop: Scop, touched: isl.Set, dimension: int, *, largest: bool) -> Expr:
    """Return the least or the largest index of a dimension.

    Where nothing is touched, it is one that makes the window empty.
    """
    bound = touched.dim_max(dimension) if largest else touched.dim_min(dimension)
    space = isl.LocalSpace.from_space(bound.get_domain_space())
    nothing = isl.PwAff.from_aff(isl.Aff.zero_on_domain(space).set_constant_val(isl.Val(-1 if largest else 0)))
    bound = bound.union_add(_elsewhere(nothing, bound)) if not _covers(scop, bound) else bound
    return parameter_expression(bound.coalesce(), scop.context, LLONG)


def _covers(scop: Scop, bound: isl.PwAff) -> bool:
    return bool(scop.context.is_subset(bound.domain().params()))


def _elsewhere(value: isl.PwAff, bound: isl.PwAff) -> isl.PwAff:
    """Restrict `value` to the parameters for which `bound` is undefined."""
    return value.intersect_params(bound.domain().params().complement())


def _pitches(array: Array) -> list[Expr]:
    """Return the pitch of every dimension: the elements from one index to the next."""
    return [_product([e for e in array.extents[i + 1 :] if e is not None]) for i in range(array.rank)]


def _product(factors: list[Expr]) -> Expr:
    return reduce(lambda a, b: Binary("*", a, b, LLONG), factors) if factors else ONE


def _linear(index: list[Expr], pitches: list[Expr]) -> Expr:
    terms = [Binary("*", i, p, LLONG) for i, p in zip(index, pitches, strict=True)]
    return reduce(lambda a, b: Binary("+", a, b, LLONG), terms)
