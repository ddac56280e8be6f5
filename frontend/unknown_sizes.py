"""Extraction where arrays have no size that the C says: tried again with sizes that the host finds.

before: void f(int n, float *y, const float *x, const int *p) { for (i < n) y[i] = x[p[i]]; }
after:  the same with float x[x_size]

The host looks for what is used, or, where the SCoP computes that, asks the memory that x lies in.
"""

from __future__ import annotations

from dataclasses import replace

from pycparser import c_ast

from polytile.frontend.data_subscripts import UnknownSizeError
from polytile.frontend.extract import extract
from polytile.frontend.parse import nodes_below
from polytile.frontend.scop_region import Region, Symbol
from polytile.ir.expr import LONG
from polytile.ir.name_supply import fresh
from polytile.ir.scop import Scop


def extract_sized(region: Region, *, merging: bool = True, asking: bool = True) -> tuple[Region, Scop]:
    """The SCoP of a region as `extract` makes it, and the region with the sizes of arrays that the host looks for, or,
    where `asking`, asks their memory for."""
    while True:
        try:
            return region, extract(region, merging=merging)
        except UnknownSizeError as problem:
            for one in {one.array: one for one in (problem, *problem.others)}.values():
                region = _with_size(region, one, asking=asking)


def _with_size(region: Region, problem: UnknownSizeError, *, asking: bool) -> Region:
    """The region with one more array that has as many elements as it uses, or as its memory has."""
    array = problem.array
    symbol = region.symbols.get(array)
    if symbol is None or not symbol.pointer or array in region.allocated:
        raise problem
    if symbol.table and (len(symbol.extents) > 2 or array in region.reached):
        raise problem  # which planes are there is not known
    if array not in region.reached:
        from polytile.frontend.access_slices import NoSliceError  # few arrays have sizes to be looked for
        from polytile.frontend.reached_extents import reached_extent

        region = _with_symbol(region, symbol)
        try:
            reached_extent(region, array, array)
        except NoSliceError:
            pass
        else:
            return region
    if not asking or symbol.table:
        raise problem
    return replace(region, allocated=region.allocated | {array})


def _with_symbol(region: Region, array: Symbol) -> Region:
    """The region with a symbol for the size of an array."""
    names = {str(n.name) for node in region.body for n in nodes_below(node) if isinstance(n, c_ast.ID | c_ast.Decl)}
    name = fresh(f"{array.name}_size", {*names, *region.symbols})
    width = fresh(f"{array.name}_width", {*names, *region.symbols, name}) if array.table else ""
    sized = replace(array, extents=(c_ast.ID(name), *array.extents[1:]))
    sized = replace(sized, width=c_ast.ID(width)) if width else sized
    found = {n: Symbol(n, LONG, live_after=False, location=array.location) for n in (name, width) if n}
    symbols: dict[str, Symbol] = {}
    for key, other in region.symbols.items():
        symbols |= {**found, key: sized} if other is array else {key: other}
    return replace(region, symbols=symbols, reached={**region.reached, array.name: name})
