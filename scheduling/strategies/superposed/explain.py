"""What the superposed strategy considered, for a person: both loop trees, lines and derivatives, predicted requests."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from polytile.ir.scop import Scop, Statement
from polytile.scheduling.cost import Lane, Request, derivatives, distinct_lines, predict, priority
from polytile.scheduling.strategies.superposed.kernel_formation import FormedKernel, Host, HostLoop, HostSequence
from polytile.scheduling.strategies.superposed.kernel_plans import KernelMapping, Planner
from polytile.scheduling.strategies.superposed.loop_tree import CONSTANT, Tree, outline, statements_of
from polytile.scheduling.strategies.superposed.serial_tiling import Tiling
from polytile.scheduling.strategies.superposed.thread_mapping import nests_of

AXES = "xyz"


def explanation(
    scop: Scop, block: Tree, thread: Tree, host: Host, planner: Planner, split: Collection[str]
) -> tuple[str, ...]:
    """Return the lines of --explain for a schedule of two levels.

    There is one for each level, for the lines and loop order of each statement, for the requests of each access, and
    for the tiles of sums that could be `split`.
    """
    lines = [f"block level: {outline(scop, block)}", f"thread level: {outline(scop, thread)}"]
    for statement in (scop.statement(name) for name in statements_of(thread)):
        if statement.iterators:
            lines.append(_order(scop, statement))
    for group in _groups(host):
        lines += _requests(scop, planner.plans[id(group)])
        tilings = planner.plans[id(group)].tilings
        lines += (_tiles(scop, tiling) for name, tiling in tilings.items() if name in split)
    return tuple(lines)


def _order(scop: Scop, statement: Statement) -> str:
    """Format a line such as `S1: distinct lines r*q + ...; by r -0.01, q -0.02, p -0.4: order r, q, p`."""
    names = statement.iterators
    slopes = derivatives(scop, statement.name)
    by = ", ".join(f"{n} {s:.3g}" for n, s in zip(names, slopes, strict=True))
    order = ", ".join(names[i] for i in priority(scop, statement.name))
    return (
        f"{statement.name}: distinct lines of a tile {distinct_lines(scop, (statement.name,)).text(names)};"
        f" derivatives by {by}: order {order}"
    )


def _groups(host: Host) -> Iterator[FormedKernel]:
    match host:
        case FormedKernel():
            yield host
        case HostLoop(body=body):
            yield from _groups(body)
        case HostSequence(children):
            for child in children:
                yield from _groups(child)


def _requests(scop: Scop, plan: KernelMapping) -> Iterator[str]:
    """Yield a line for each statement with its sectors per request.

    Example: `S1, threads r, q, p = 2 x 4 x 32, q by 4: sectors per request: A read 1, C4 read 8, sum written 8`
    """
    for nest in nests_of(plan.group.inside):
        for name in statements_of(nest.body):
            statement, shares = scop.statement(name), plan.shares(nest, name)
            moving = [(s, size) for s, size in zip(shares, plan.threads, strict=True) if s.row.iterator != CONSTANT]
            if not moving or shares[-1].row.iterator == CONSTANT:
                continue
            lanes = [Lane(s.row.iterator, size, s.row.sign, s.unit, s.inner) for s, size in reversed(moving)]
            along = ", ".join(statement.iterators[s.row.iterator] for s, _ in moving)
            shape = " x ".join(str(size) for _, size in moving)
            several = "".join(f", {statement.iterators[s.row.iterator]} by {s.inner}" for s, _ in moving if s.inner > 1)
            found = ", ".join(_request(r) for r in predict(scop, name, lanes))
            yield f"{name}, threads {along} = {shape}{several}: sectors per request: {found}"


def _tiles(scop: Scop, tiling: Tiling) -> str:
    """Format a line such as `S1, each thread: i, j in tiles of 32; lines per iteration of a warp 2.1 -> 0.13`."""
    statement = tiling.statement
    names = scop.statement(statement).iterators
    loops = zip((names[loop.row(statement).iterator] for loop in tiling.loops), tiling.sizes, strict=True)
    shape = ", ".join(name if size == 1 else f"{name} in tiles of {size}" for name, size in loops)
    before, after = tiling.lines
    return f"{statement}, each thread: {shape}; lines per iteration of a warp {before:.3g} -> {after:.3g}"


def _request(request: Request) -> str:
    access = request.access
    place = f" ({access.location.short})" if access.location.line else ""
    return f"{access.array} {access.kind.value}{place} {request.sectors:g}{'' if request.ideal else ' (not ideal)'}"
