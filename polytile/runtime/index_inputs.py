"""Which values may stand in arrays whose elements are subscripts, so that inputs can be drawn that stay in range.

y[i] = x[p[i] + 1] with x[m]:  p[i] from -1 to below m - 1
k = q[i]; y[i] = x[k]:         q[i] from 0 to below m
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from polytile.ir.expr import Access, Assign, Declare, Name, Node, walk
from polytile.ir.indirect_subscripts import gathered
from polytile.ir.scop import Scop
from polytile.runtime.layout import Layout

Limits = dict[tuple[str, str], tuple[int, int]]  # (array, field or "") -> the least value, and the first beyond


def index_limits(scop: Scop, layouts: Mapping[str, Layout]) -> Limits:
    """The values that elements which are used as subscripts may have. Computed indices are not followed back."""
    nodes = [n for s in scop.statements for root in s.body for n in walk(root)]
    found: Limits = {}
    for access in (n for n in nodes if isinstance(n, Access) and n.array in layouts):
        for subscript, extent in zip(access.subscripts, layouts[access.array].shape, strict=True):
            index = gathered(subscript)
            if index is not None:
                _narrow(found, _key(index.index), -index.shift, extent - index.shift)
    for _ in scop.arrays:
        for target, source, shift in _copies(nodes):
            if target in found:
                low, high = found[target]
                _narrow(found, source, low - shift, high - shift)
    return found


def _key(index: Access | Name) -> tuple[str, str]:
    return (index.array, index.field or "") if isinstance(index, Access) else ("", index.name)


def _narrow(limits: Limits, key: tuple[str, str], low: int, high: int) -> None:
    least, beyond = limits.get(key, (low, high))
    limits[key] = max(low, least), min(high, beyond)


def _copies(nodes: list[Node]) -> Iterator[tuple[tuple[str, str], tuple[str, str], int]]:
    """What takes the value of what, give or take a constant."""
    for node in nodes:
        match node:
            case Assign(target=Access() | Name() as target, op="", value=value):
                key, index = _key(target), gathered(value)
            case Declare(name=name, value=value) if value is not None:
                key, index = ("", name), gathered(value)
            case _:
                continue
        if index is not None:
            yield key, _key(index.index), index.shift
