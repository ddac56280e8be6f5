"""Extraction where arrays have no size that the C says: tried again with sizes that the host finds.

before: void f(int n, float *y, const float *x, const int *p) { for (i < n) y[i] = x[p[i]]; }
after:  the same with float x[x_size]
"""

from __future__ import annotations

from dataclasses import replace

from pycparser import c_ast

from polytile.frontend.access_slices import NoSliceError
from polytile.frontend.data_subscripts import UnknownSizeError
from polytile.frontend.extract import extract
from polytile.frontend.parse import nodes_below
from polytile.frontend.reached_extents import reached_extent
from polytile.frontend.scop_region import Region, Symbol
from polytile.ir.expr import LONG
from polytile.ir.name_supply import fresh
from polytile.ir.scop import Scop


def extract_sized(region: Region, *, merging: bool = True) -> tuple[Region, Scop]:
    """The SCoP of a region as `extract` makes it, and the region with the sizes of arrays that the host looks for."""
    while True:
        try:
            return region, extract(region, merging=merging)
        except UnknownSizeError as problem:
            if problem.array in region.reached:
                raise
            try:
                region = _with_size(region, problem.array)
            except NoSliceError:
                raise problem from None


def _with_size(region: Region, array: str) -> Region:
    """The region with one more array that has as many elements as it uses."""
    symbol = region.symbols.get(array)
    if symbol is None or not symbol.pointer or symbol.table:
        raise NoSliceError(f"`{array}` is no pointer")
    names = {str(n.name) for node in region.body for n in nodes_below(node) if isinstance(n, c_ast.ID | c_ast.Decl)}
    size = Symbol(fresh(f"{array}_size", {*names, *region.symbols}), LONG, live_after=False, location=symbol.location)
    sized = replace(symbol, extents=(c_ast.ID(size.name), *symbol.extents[1:]))
    symbols: dict[str, Symbol] = {}
    for name, other in region.symbols.items():
        symbols |= {size.name: size, name: sized} if name == array else {name: other}
    region = replace(region, symbols=symbols, reached={**region.reached, array: size.name})
    reached_extent(region, array, array)
    return region
