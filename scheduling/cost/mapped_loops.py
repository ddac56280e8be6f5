"""What a mapped tree does with each statement: which loops launch kernels, which are mapped to blocks and threads, and
which are serial, as linear forms of the statement's iterators with their sizes.

Tiles and points of one loop (floor(i/32) and i mod 32) belong together: they are one loop, i, that the roles divide.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import field
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from math import gcd, lcm

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.identity_key import remembered
from polytile.ir.isl_util import band_members, mark_name, sets
from polytile.ir.schedule import (
    BLOCK,
    KERNEL,
    REGISTER_TILE,
    SYNC,
    loop_label,
    nodes,
    nodes_below,
    path_of,
    thread_sizes,
)

Vector = tuple[int, ...]


class Role(Enum):
    HOST = "host"
    BLOCK = "block"
    THREAD = "thread"
    SERIAL = "serial"


@dataclass(frozen=True, slots=True)
class Part:
    """What one band member does with a loop: its role, and the size of its steps where it runs over tiles."""

    role: Role
    tile: int = 1  # floor(i / tile)
    rest: bool = False  # i modulo something: the loop inside a tile
    dimension: int = -1  # of the thread block, 0 for the outermost
    threads: int = 1
    sync: bool = False
    depth: int = 0  # of the band, counted from the root
    member: int = 0  # of the band
    unrolled: bool = False
    points: bool = False  # of a register tile


@dataclass(frozen=True, slots=True)
class MappedLoop:
    """One loop around a statement, as the form of the iterators that it advances, and what is done with it, from the
    outermost part inwards. `step` moves the iterators to the next iteration and leaves all other loops alone."""

    form: Vector
    parts: tuple[Part, ...]
    step: Vector

    def part(self, role: Role) -> Part | None:
        return next((p for p in self.parts if p.role is role), None)

    @property
    def threads(self) -> tuple[Part, ...]:
        """Return what thread dimensions do with it: several may share it out, as floor(i/32) mod 8 and i mod 32."""
        return tuple(p for p in self.parts if p.role is Role.THREAD)


@dataclass(frozen=True, slots=True)
class MappedStatement:
    """A statement below one leaf of a kernel: host loops first, then those of blocks and threads, then serial ones."""

    name: str
    domain: isl.Set = field(compare=False)
    loops: tuple[MappedLoop, ...]
    sizes: tuple[int, ...]  # of the thread block; none outside thread bands
    serial_parent: tuple[int, ...]  # the path of the innermost serial band: statements with one path share its loop
    barriers: int = 0  # sequences with a barrier above


@remembered
def kernels(tree: isl.Schedule) -> tuple[isl.ScheduleNode, ...]:
    """Return the kernel marks of a tree, in order."""
    return tuple(node for node in nodes(tree) if mark_name(node) == KERNEL)


@remembered
def statements(kernel: isl.ScheduleNode) -> tuple[MappedStatement, ...]:
    """Return the statements of a kernel, leaf by leaf."""
    return tuple(_inside(kernel, _around(kernel), path_of(kernel), 0))


def is_one_thread(kernel: Iterable[MappedStatement]) -> bool:
    """Return whether no loop around the statements of a kernel is mapped to blocks or threads."""
    roles = {part.role for one in kernel for loop in one.loops for part in loop.parts}
    return not roles & {Role.BLOCK, Role.THREAD}


def band_depths(kernel: isl.ScheduleNode) -> dict[str, int]:
    """Return the number of the band of each labelled loop of a kernel, counted from the root, as in `Part.depth`."""
    found = {}
    for node in nodes_below(kernel):
        label = loop_label(node)
        if label is not None:
            found[label] = len(_around(node))
    return found


@dataclass(frozen=True, slots=True)
class _Band:
    """A band above a leaf and what its mark says."""

    members: list[isl.UnionPwAff]
    role: Role
    sizes: tuple[int, ...]
    sync: bool
    path: tuple[int, ...]
    unrolled: tuple[bool, ...]
    points: bool = False

    def parts(self, depth: int, statement: str, others: Collection[Vector]) -> Iterator[tuple[Vector, Part]]:
        """Yield what the members do with loops of a statement; `depth` is the number of bands around this one.

        A diagonal of tiles, floor(i/32) + floor(j/32), is the loop that is none of `others`.
        """
        for i, member in enumerate(self.members):
            read = _read(member, statement, others)
            if read is not None:
                form, tile, rest = read
                threads, dimension = (self.sizes[i], i) if self.sizes else (1, -1)
                what = self.role, tile, rest, dimension, threads
                yield form, Part(*what, self.sync, depth, i, self.unrolled[i], self.points)


def _around(node: isl.ScheduleNode) -> tuple[_Band, ...]:
    """Find the bands around a node, outermost first."""
    bands: list[_Band] = []
    inside = mark_name(node) != KERNEL
    while node.has_parent():
        node = node.parent()
        if mark_name(node) == KERNEL:
            inside = False
        if node.get_type() == isl.schedule_node_type.band:
            bands.append(_band(node, inside, path_of(node)))
    return tuple(reversed(bands))


def _inside(
    node: isl.ScheduleNode, bands: tuple[_Band, ...], path: tuple[int, ...], barriers: int
) -> Iterator[MappedStatement]:
    """Yield the statements at and below a node of a kernel.

    `bands` are around the node, and so many sequences with `barriers` between their children.
    """
    if node.n_children() == 0:
        yield from _of_leaf(node, bands, barriers)
        return
    if node.get_type() == isl.schedule_node_type.band:
        bands = (*bands, _band(node, True, path))
    elif mark_name(node) == SYNC and node.child(0).get_type() == isl.schedule_node_type.sequence:
        barriers += 1
    for i in range(node.n_children()):
        yield from _inside(node.child(i), bands, (*path, i), barriers)


def _of_leaf(leaf: isl.ScheduleNode, bands: tuple[_Band, ...], barriers: int) -> list[MappedStatement]:
    sizes = next((band.sizes for band in bands if band.sizes), ())
    inner = next((band.path for band in reversed(bands) if band.role is Role.SERIAL), ())
    found = []
    for domain in sets(leaf.get_domain()):
        name = str(domain.get_tuple_name())
        loops = _loops(bands, name, int(domain.dim(isl.dim_type.set)))
        found.append(MappedStatement(name, domain, loops, sizes, inner, barriers))
    return found


def _band(node: isl.ScheduleNode, inside: bool, path: tuple[int, ...]) -> _Band:
    mark = node.parent()
    role, sizes = (Role.SERIAL if inside else Role.HOST), thread_sizes(mark) or ()
    if sizes:
        role = Role.THREAD
    elif mark_name(mark) == BLOCK:
        role = Role.BLOCK
    kinds = (node.band_member_get_ast_loop_type(i) for i in range(node.band_n_member()))
    unrolled = tuple(kind == isl.ast_loop_type.unroll for kind in kinds)
    points = loop_label(mark) == REGISTER_TILE
    return _Band(band_members(node), role, sizes, mark_name(mark) == SYNC, path, unrolled, points)


def _loops(bands: Sequence[_Band], statement: str, rank: int) -> tuple[MappedLoop, ...]:
    blocks = {form for band in bands if band.role is Role.BLOCK for form, _ in band.parts(0, statement, ())}
    found: dict[Vector, list[Part]] = {}
    for depth, band in enumerate(bands):
        for form, part in band.parts(depth, statement, blocks if band.role is Role.HOST else ()):
            found.setdefault(form, []).append(part)
    found = _with_diagonals(found)
    loops = [MappedLoop(f, tuple(found.get(f, [Part(Role.SERIAL)])), s) for f, s in _steps(tuple(found), rank)]
    return tuple(sorted(loops, key=_place))


def _with_diagonals(found: dict[Vector, list[Part]]) -> dict[Vector, list[Part]]:
    """Let a serial loop over diagonals of a block's tile stand for the one of its loops that has no threads.

    before: i in blocks, j in threads, i - j serial          i - j is no loop beside these two
    after:  i - j in blocks and serial, j in threads         neighbouring threads have neighbouring i and j
    """
    forms = list(found)
    for at, form in enumerate(forms):
        before = [f for f in forms[:at] if f in found]
        if _rank([*before, form]) > len(before) or any(p.role is not Role.SERIAL for p in found[form]):
            continue
        free = [f for f in before if {p.role for p in found[f]} == {Role.BLOCK}]
        free = [f for f in free if _rank([*(g for g in before if g != f), form]) == len(before)]
        if len(free) == 1:
            found[form] = found.pop(free[0]) + found[form]
    return found


@lru_cache(maxsize=256)
def _steps(forms: tuple[Vector, ...], rank: int) -> tuple[tuple[Vector, Vector], ...]:
    """Return linearly independent forms among these, each with its step.

    Where the forms leave some iterators alone, these are forms, too.
    """
    independent: list[Vector] = []
    for form in (*forms, *(tuple(int(i == k) for k in range(rank)) for i in range(rank))):
        if _rank([*independent, form]) > len(independent):
            independent.append(form)
    return tuple(zip(independent, _inverse(independent), strict=True))


def _place(loop: MappedLoop) -> tuple[int, int]:
    """Return the sort key of a loop.

    Host loops come first, then blocks without threads, then thread dimensions, x last, then serial loops as they stand.
    """
    if loop.part(Role.HOST):
        return 0, 0
    if thread := loop.part(Role.THREAD):
        return 1, thread.dimension
    return (1, -1) if loop.part(Role.BLOCK) else (2, 0)


def _read(
    member: isl.UnionPwAff, statement: str, others: Collection[Vector]
) -> tuple[Vector, int, bool] | None:
    """Read a band member on one statement as (form, size of its tiles, whether it is what a division leaves).

    Returns None for a constant.
    """
    pieces: list[isl.PwAff] = []
    member.foreach_pw_aff(pieces.append)
    for piece in pieces:
        if piece.get_domain_space().get_tuple_name(isl.dim_type.set) != statement:
            continue
        affs: list[isl.Aff] = []
        piece.foreach_piece(lambda _domain, aff: affs.append(aff))  # noqa: B023 (runs at once)
        for aff in affs:
            if (read := _linear(aff, others)) is not None:
                return read
    return None


def _linear(aff: isl.Aff, others: Collection[Vector]) -> tuple[Vector, int, bool] | None:
    terms = [k for k in range(aff.dim(isl.dim_type.div)) if not aff.get_coefficient_val(isl.dim_type.div, k).is_zero()]
    direct = _slopes(aff)
    if any(direct):
        return _normal(direct)[0], 1, bool(terms)
    found = [_normal(inside) for k in terms if any(inside := _slopes(aff.get_div(k)))]
    kept = [(form, tile) for form, tile in found if form not in others] or found
    return (*min(kept, key=lambda one: one[1]), False) if kept else None


def _slopes(aff: isl.Aff) -> list[Fraction]:
    """Find the coefficients of the iterators."""
    found = (aff.get_coefficient_val(isl.dim_type.in_, i) for i in range(aff.dim(isl.dim_type.in_)))
    return [Fraction(v.get_num_si(), v.get_den_val().get_num_si()) for v in found]


def _normal(slopes: Sequence[Fraction]) -> tuple[Vector, int]:
    """Return the slopes times their common denominator, first entry positive, and that denominator."""
    scale = lcm(*(s.denominator for s in slopes))
    whole = [int(s * scale) for s in slopes]
    common = gcd(*whole)
    sign = 1 if next(w for w in whole if w) > 0 else -1
    return tuple(sign * w // common for w in whole), max(1, scale // common)


def _rank(rows: Sequence[Vector]) -> int:
    return len(_reduced([[Fraction(x) for x in row] for row in rows]))


def _reduced(matrix: list[list[Fraction]]) -> list[list[Fraction]]:
    """Compute the reduced row echelon form without rows of zeros."""
    done = 0
    for column in range(len(matrix[0]) if matrix else 0):
        pivot = next((r for r in range(done, len(matrix)) if matrix[r][column]), None)
        if pivot is None:
            continue
        matrix[done], matrix[pivot] = matrix[pivot], matrix[done]
        matrix[done] = [x / matrix[done][column] for x in matrix[done]]
        for r in range(len(matrix)):
            if r != done and matrix[r][column]:
                factor = matrix[r][column]
                matrix[r] = [a - factor * b for a, b in zip(matrix[r], matrix[done], strict=True)]
        done += 1
    return matrix[:done]


def _inverse(rows: Sequence[Vector]) -> list[Vector]:
    """Return for each form the step of the iterators that advances it alone, scaled to whole numbers."""
    n = len(rows)
    identity = [[Fraction(i == k) for k in range(n)] for i in range(n)]
    matrix = [[*(Fraction(x) for x in row), *identity[i]] for i, row in enumerate(rows)]
    inverse = [row[n:] for row in _reduced(matrix)]
    columns = [[row[k] for row in inverse] for k in range(n)]
    return [_whole(column) for column in columns]


def _whole(column: Sequence[Fraction]) -> Vector:
    scale = lcm(*(x.denominator for x in column))
    return tuple(int(x * scale) for x in column)
