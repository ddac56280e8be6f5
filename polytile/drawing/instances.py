"""The cells of a picture: the instances at given sizes, in the rows and at the places that are drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import groupby

import islpy as isl

from polytile.drawing.axes import Axes, key_map
from polytile.drawing.launches import MappedKernel
from polytile.drawing.model import Cell, Point, Row, Tile
from polytile.ir.isl_util import maps, sets
from polytile.ir.lexicographic import lexmin
from polytile.ir.scop import Scop

IN, OUT, SET = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.set
Launches = dict[tuple[Point, int], int]  # from 1, in the order in which they run; by that and kernel
Domains = dict[str, isl.Set]  # of each statement, without parameters


def points(values: isl.Set) -> list[Point]:
    """List all points of a bounded set."""
    found: list[Point] = []
    if values.is_empty():
        return found
    plain = values.flatten().reset_tuple_id().project_out(isl.dim_type.param, 0, values.dim(isl.dim_type.param))

    def add(at: isl.Point) -> None:
        values = at.to_str()[3:-3]  # of "{ [1, 2] }": faster than asking for one value after another
        found.append(tuple(map(int, values.split(","))) if values else ())

    plain.foreach_point(add)
    return found


def union(domains: Mapping[str, isl.Set]) -> isl.UnionSet:
    total = isl.UnionSet("{ }")
    for domain in domains.values():
        total = total.union(isl.UnionSet.from_set(domain))
    return total


def rows_of(scop: Scop, axes: Mapping[str, Axes], domains: Domains) -> tuple[Row, ...]:
    """List all rows by the time at which the source first comes to each; those of one time, as of a warp, by keys."""
    found: list[tuple[Point, Row]] = []
    for times in maps(scop.schedule.get_map().intersect_domain(union(domains))):
        name = times.get_tuple_name(IN)
        statement, keys = scop.statement(name), axes[name].keys
        first = lexmin(key_map(statement.domain, keys).reverse().apply_range(times))
        names = tuple(statement.iterators[k] for k in keys)
        for values in points(first.wrap()):
            key = values[: len(keys)]
            found.append((values[len(keys) :], Row(name, names, key, key)))
    return tuple(row for _, row in sorted(found, key=lambda one: (one[0], one[1].statement, one[1].first)))


def in_rows(domains: Domains, axes: Mapping[str, Axes], rows: tuple[Row, ...]) -> Domains:
    """Select the instances in some rows."""
    found = {}
    for name, domain in domains.items():
        keys = [row.first for row in rows if row.statement == name]
        columns = axes[name].keys
        wanted = " or ".join(" and ".join([f"k{n} = {v}" for n, v in enumerate(key)] or ["0 = 0"]) for key in keys)
        chosen = isl.Set(f"{{ [{', '.join(f'k{n}' for n in range(len(columns)))}] : {wanted or '1 = 0'} }}")
        found[name] = key_map(domain, columns).intersect_range(chosen).domain().coalesce()
    return found


def at_places(domains: Domains, axes: Mapping[str, Axes], condition: str) -> Domains:
    """Select the instances at places `x0, x1` where a condition holds."""
    found = {}
    for name, domain in domains.items():
        place = axes[name].place
        wanted = isl.Set(f"{{ [{', '.join(f'x{k}' for k in range(place.dim(OUT)))}] : {condition} }}")
        found[name] = place.intersect_domain(domain).intersect_range(wanted).domain()
    return found


def ranges(domains: Domains, axes: Mapping[str, Axes], rank: int) -> list[tuple[int, int]]:
    """Return the least and the greatest place along each axis."""
    found = [axes[name].place.intersect_domain(d).range() for name, d in domains.items() if not d.is_empty()]
    low = (min(p.dim_min_val(k).to_python() for p in found) for k in range(rank))
    high = (max(p.dim_max_val(k).to_python() for p in found) for k in range(rank))
    return list(zip(low, high, strict=True)) if found else []


def launch_numbers(kernels: tuple[MappedKernel, ...], at: isl.Set) -> Launches:
    """Assign numbers to the launches of all kernels at some sizes, from 1."""
    orders: set[tuple[Point, int]] = set()
    for kernel in kernels:
        for coordinates in sets(kernel.place.block.intersect_params(at).range()):
            blocks = coordinates.dim(SET) - kernel.host
            hosts = points(coordinates.project_out(SET, kernel.host, blocks))
            orders.update((kernel.order(host), kernel.place.kernel) for host in hosts)
    return {order: number for number, order in enumerate(sorted(orders), 1)}


def cells_of(
    scop: Scop,
    kernels: tuple[MappedKernel, ...],
    axes: Mapping[str, Axes],
    domains: Domains,
    rows: tuple[Row, ...],
    launches: Launches,
) -> tuple[Cell, ...]:
    """Collect the instances of some domains as cells, by row and place."""
    numbered = {(row.statement, row.first): k for k, row in enumerate(rows)}
    tiles: dict[tuple[int, int, Point], Tile] = {}  # one object for equal tiles
    found: list[Cell] = []
    for kernel in kernels:
        for where in maps(kernel.place.thread.intersect_domain(union(domains))):
            name = where.get_tuple_name(IN)
            n, keys, own = len(scop.statement(name).iterators), axes[name].keys, axes[name].place
            end = n + where.dim(OUT)
            blocks, threads = n + kernel.host, end - max(1, len(kernel.place.threads))
            for p in points(where.flat_range_product(own).wrap()):
                launch = launches[kernel.order(p[n:blocks]), kernel.place.kernel]
                key = launch, kernel.place.kernel, p[blocks:threads]
                tile = tiles.get(key) or tiles.setdefault(key, Tile(*key))
                row = numbered[name, tuple(p[k] for k in keys)]
                found.append(Cell(name, p[:n], row, p[end:], tile, p[threads:end]))
    return tuple(sorted(found, key=lambda c: (c.row, c.place, c.tile)))


def filled(rows: tuple[Row, ...], cells: tuple[Cell, ...]) -> tuple[tuple[Row, ...], tuple[Cell, ...]]:
    """Drop the rows that have no cells, and renumber the rows of cells."""
    numbers = {old: new for new, old in enumerate(sorted({cell.row for cell in cells}))}
    if len(numbers) == len(rows):
        return rows, cells
    return tuple(rows[k] for k in numbers), tuple(replace(c, row=numbers[c.row]) for c in cells)


def merged(rows: tuple[Row, ...], cells: tuple[Cell, ...]) -> tuple[tuple[Row, ...], tuple[Cell, ...]]:
    """Merge rows that follow each other and whose instances are in the same tiles into one, with the cells of the
    first."""
    found: list[Row] = []
    kept: list[Cell] = []
    before: dict[Point, Tile] = {}
    for row, own in by_row(rows, cells):
        tiles = {c.place: c.tile for c in own}
        if found and found[-1].statement == row.statement and tiles == before:
            found[-1] = replace(found[-1], last=row.last)
            continue
        before = tiles
        kept += own if own[:1] and own[0].row == len(found) else [replace(c, row=len(found)) for c in own]
        found.append(row)
    return tuple(found), tuple(kept)


def by_row(rows: tuple[Row, ...], cells: tuple[Cell, ...]) -> Iterator[tuple[Row, list[Cell]]]:
    found = {number: list(group) for number, group in groupby(cells, key=lambda c: c.row)}
    return ((row, found.get(number, [])) for number, row in enumerate(rows))
