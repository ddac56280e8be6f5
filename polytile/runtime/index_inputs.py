"""Which values may stand in arrays whose elements are subscripts, so that inputs can be drawn that stay in range.

y[i] = x[2 * p[i] + 1] with x[m]:                    p[i] from 0 to below m / 2
k = q[i]; y[i] = x[k]:                               q[i] from 0 to below m
k = i + q[j]; y[i] = x[k], i < n:                    q[j] from 0 to below m - n + 1
for (j = 0; j < 8; j++) s += x[p[i] + n + j]:        p[i] from -n to below m - n - 7
for (j = row[i]; j < row[i + 1]; j++) s += val[j]:   row[i] from 0 to below the size of val, in ascending order
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from polytile.ir.arith import known
from polytile.ir.expr import Access, Assign, Binary, Declare, Expr, Name, Scope, While
from polytile.ir.expr_trees import walk
from polytile.ir.indirect_subscripts import Gathered, gathered
from polytile.ir.scop import Scop, Statement
from polytile.ir.struct_fields import way_of
from polytile.runtime.index_ranges import Ranges, Spread, numbers, ranges_of, spread
from polytile.runtime.layout import Layout
from polytile.runtime.parameters import point

_INDEX = re.compile(r"\[(\d+)\]")
Key = tuple[str, str]  # (array, field or ""), or ("", name), of a variable with its statement: "S0.k"
Limits = dict[Key, tuple[int, int]]  # the least value, and the first beyond


def index_limits(scop: Scop, layouts: Mapping[str, Layout], values: Mapping[str, int]) -> Limits:
    """Compute the values that elements which are used as subscripts may have, with these sizes.

    Computed indices are not followed back.
    """
    found: Limits = {}
    shapes = _local_shapes(scop)
    shapes.update((name, _used(layout, values)) for name, layout in layouts.items())
    sizes, ranges, here = numbers(values), ranges_of(scop, values), point(values)
    running = [s for s in scop.statements if not s.domain.intersect_params(here).is_empty()]
    for statement in running:
        for access in (n for root in statement.body for n in walk(root) if isinstance(n, Access)):
            shape = shapes.get(access.array)
            outside = zip(access.subscripts, shape, strict=True) if shape is not None else ()
            for subscript, extent in (*outside, *_inside(layouts.get(access.array), access)):
                moved = spread(subscript, sizes, ranges[statement.name]) if extent is not None else None
                if moved is not None and extent is not None:
                    _narrow(found, _key(moved.index, statement), moved.index, -moved.low, extent - moved.high)
    links = [link for s in running for link in _bounds(s, sizes, ranges[s.name])]
    for _ in range(len(scop.arrays) + 2):
        for target, key, moved in links:
            if target in found:
                low, high = found[target]
                _narrow(found, key, moved.index, low - moved.low, high - moved.high)
    return found


def _used(layout: Layout, values: Mapping[str, int]) -> tuple[int, ...]:
    """Return the shape of an array, of whose rows less may be used."""
    width = layout.array.width
    return (*layout.shape[:-1], values[width]) if width else layout.shape


def _inside(layout: Layout | None, access: Access) -> Iterator[tuple[Expr, int]]:
    """Yield the subscripts inside of a struct, and the extents there: `c[i].next[k].at` has k, and 3 for `next[3]`."""
    names = () if layout is None else (n for n in layout.dtype.names or () if way_of(n) == access.field)
    indices = [[int(index) for index in _INDEX.findall(name)] for name in names]
    if indices:
        yield from zip(access.inside, (max(found) + 1 for found in zip(*indices, strict=True)), strict=True)


def _local_shapes(scop: Scop) -> dict[str, tuple[int | None, ...]]:
    """Return the constant extents of arrays inside the SCoP, None for others."""
    return {a.name: tuple(None if e is None else known(e) for e in a.extents) for a in scop.arrays}


def ascending(scop: Scop) -> frozenset[Key]:
    """Find the arrays whose elements are both where loops begin and where they end."""
    first: set[Key] = set()
    last: set[Key] = set()
    for root in (root for s in scop.statements for root in s.body):
        for node in walk(root):
            if isinstance(node, Scope) and len(node.body) == 2:
                match node.body:
                    case (Declare(value=Expr() as value), While(condition=condition)):
                        start = gathered(value)
                        first |= {_key(start)} if start is not None else set()
                        last |= {_key(end) for _, end, _ in _upper(condition)}
    return frozenset(first & last)


def distinct(scop: Scop) -> frozenset[Key]:
    """Find the index arrays whose elements must differ along a row of the last dimension, if there are enough values.

    Their elements are subscripts of arrays that iterations of some loop do not share, as the user promises.
    """
    names = {name for name, _ in scop.independent}
    nodes = [n for s in scop.statements for root in s.body for n in walk(root) if isinstance(n, Access)]
    used = [n for n in nodes if n.array in names or "" in names]
    found = [index for n in used for s in n.subscripts if (index := gathered(s)) is not None]
    return frozenset(_key(index) for index in found if isinstance(index.index, Access) and index.index.subscripts)


def _key(found: Gathered, owner: Statement | None = None) -> Key:
    index = found.index
    if isinstance(index, Access):
        return index.array, index.field or ""
    return "", index.name if owner is None else f"{owner.name}.{index.name}"


def _narrow(limits: Limits, key: Key, index: Gathered, low: int, high: int) -> None:
    """Note that an index is at least `low` and below `high`."""
    least, greatest = sorted(((low - index.shift) * index.scale, (high - 1 - index.shift) * index.scale))
    square = index.scale * index.scale
    low, high = -(-least // square), greatest // square + 1
    known = limits.get(key, (low, high))
    limits[key] = max(low, known[0]), min(high, known[1])


def _bounds(statement: Statement, sizes: Mapping[str, Expr], ranges: Ranges) -> Iterator[tuple[Key, Key, Spread]]:
    """Yield pairs of keys whose values are equal up to a spread, with that spread."""
    for node in (n for root in statement.body for n in walk(root)):
        match node:
            case Assign(target=Access() | Name() as target, op="", value=value) if value.type.kind == "int":
                place, moved = Gathered(target), spread(value, sizes, ranges)
            case Declare(name=name, value=value) if value is not None and value.type.kind == "int":
                place, moved = Gathered(Name(name)), spread(value, sizes, ranges)
            case While(condition=condition):
                for one, end, beyond in _upper(condition):
                    yield _key(one, statement), _key(end, statement), Spread(end, high=-beyond)
                continue
            case _:
                continue
        if moved is not None:
            yield _key(place, statement), _key(moved.index, statement), moved


def _upper(condition: Expr) -> Iterator[tuple[Gathered, Gathered, int]]:
    """Yield the bounds `j < e` of a loop: e is at most one beyond what j may be."""
    match condition:
        case Binary(op="&&", left=left, right=right):
            yield from _upper(left)
            yield from _upper(right)
        case Binary(op="<" | "<=" as op, left=left, right=right):
            value, end = gathered(left), gathered(right)
            if value is not None and end is not None and (value.shift, value.scale) == (0, 1):
                yield value, end, int(op == "<")
