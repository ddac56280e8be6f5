"""What a mapped tree does with each statement: which loops launch kernels, which are mapped to blocks and threads, and
which are serial, as linear forms of the statement's iterators with their sizes.

Tiles and points of one loop (floor(i/32) and i mod 32) belong together: they are one loop, i, that the roles divide.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from enum import Enum
from fractions import Fraction
from math import gcd, lcm

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.isl_util import band_members, mark_name, sets
from polytile.ir.schedule import BLOCK, KERNEL, REGISTER_TILE, SYNC, loop_label, thread_sizes
from polytile.scheduling.analysis.affine_references import Form, affine_form

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
        """What thread dimensions do with it: several may share it out, as floor(i/32) mod 8 and i mod 32."""
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


def kernels(tree: isl.Schedule) -> Iterator[isl.ScheduleNode]:
    """The kernel marks of a tree, in order."""
    yield from (node for node in _below(tree.get_root()) if mark_name(node) == KERNEL)


def statements(kernel: isl.ScheduleNode) -> list[MappedStatement]:
    """The statements of a kernel, leaf by leaf."""
    leaves = (n for n in _below(kernel) if n.n_children() == 0)
    return [found for leaf in leaves for found in _of_leaf(leaf)]


def band_depths(kernel: isl.ScheduleNode) -> dict[str, int]:
    """The number of the band of each labelled loop of a kernel, counted from the root, as in `Part.depth`."""
    found = {}
    for node in _below(kernel):
        label = loop_label(node)
        if label is not None:
            found[label] = len(_bands_above(node)[0])
    return found


def _below(node: isl.ScheduleNode) -> Iterator[isl.ScheduleNode]:
    yield node
    for i in range(node.n_children()):
        yield from _below(node.child(i))


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


def _of_leaf(leaf: isl.ScheduleNode) -> list[MappedStatement]:
    bands, barriers = _bands_above(leaf)
    sizes = next((band.sizes for band in bands if band.sizes), ())
    inner = next((band.path for band in reversed(bands) if band.role is Role.SERIAL), ())
    found = []
    for domain in sets(leaf.get_domain()):
        loops = _loops(bands, str(domain.get_tuple_name()), int(domain.dim(isl.dim_type.set)))
        found.append(MappedStatement(str(domain.get_tuple_name()), domain, loops, sizes, inner, barriers))
    return found


def _bands_above(leaf: isl.ScheduleNode) -> tuple[list[_Band], int]:
    """The bands around a leaf, outermost first, and the number of barriers between the children of sequences."""
    bands: list[_Band] = []
    node, inside, barriers = leaf, True, 0
    while node.has_parent():
        node = node.parent()
        if mark_name(node) == KERNEL:
            inside = False
        if node.get_type() == isl.schedule_node_type.band:
            bands.append(_band(node, inside))
        elif mark_name(node) == SYNC and node.child(0).get_type() == isl.schedule_node_type.sequence:
            barriers += 1
    return list(reversed(bands)), barriers


def _band(node: isl.ScheduleNode, inside: bool) -> _Band:
    mark = node.parent()
    role, sizes = (Role.SERIAL if inside else Role.HOST), thread_sizes(mark) or ()
    if sizes:
        role = Role.THREAD
    elif mark_name(mark) == BLOCK:
        role = Role.BLOCK
    path: list[int] = []
    above = node
    while above.has_parent():
        path.append(above.get_child_position())
        above = above.parent()
    kinds = (node.band_member_get_ast_loop_type(i) for i in range(node.band_n_member()))
    unrolled = tuple(kind == isl.ast_loop_type.unroll for kind in kinds)
    points = loop_label(mark) == REGISTER_TILE
    return _Band(band_members(node), role, sizes, mark_name(mark) == SYNC, tuple(reversed(path)), unrolled, points)


def _loops(bands: Sequence[_Band], statement: str, rank: int) -> tuple[MappedLoop, ...]:
    found: dict[Vector, list[Part]] = {}
    for depth, band in enumerate(bands):
        for i, member in enumerate(band.members):
            read = _read(member, statement)
            if read is None:
                continue
            form, tile, rest = read
            threads = band.sizes[i] if band.sizes else 1
            dimension = i if band.sizes else -1
            part = Part(band.role, tile, rest, dimension, threads, band.sync, depth, i, band.unrolled[i], band.points)
            found.setdefault(form, []).append(part)
    independent: list[Vector] = []
    for form in (*found, *(tuple(int(i == k) for k in range(rank)) for i in range(rank))):
        if _rank([*independent, form]) > len(independent):
            independent.append(form)
    steps = _inverse(independent)
    loops = [
        MappedLoop(form, tuple(found.get(form, [Part(Role.SERIAL)])), step)
        for form, step in zip(independent, steps, strict=True)
    ]
    return tuple(sorted(loops, key=_place))


def _place(loop: MappedLoop) -> tuple[int, int]:
    """Host loops, then blocks without threads, then thread dimensions, x last, then serial loops as they stand."""
    if loop.part(Role.HOST):
        return 0, 0
    if thread := loop.part(Role.THREAD):
        return 1, thread.dimension
    return (1, -1) if loop.part(Role.BLOCK) else (2, 0)


def _read(member: isl.UnionPwAff, statement: str) -> tuple[Vector, int, bool] | None:
    """A band member on one statement as (form, size of its tiles, whether it is what a division leaves); None for a
    constant."""
    pieces: list[isl.PwAff] = []
    member.foreach_pw_aff(pieces.append)
    for piece in pieces:
        if piece.get_domain_space().get_tuple_name(isl.dim_type.set) != statement:
            continue
        affs: list[isl.Aff] = []
        piece.foreach_piece(lambda _domain, aff: affs.append(aff))  # noqa: B023 (runs at once)
        for aff in affs:
            if (read := _linear(affine_form(aff))) is not None:
                return read
    return None


def _linear(form: Form) -> tuple[Vector, int, bool] | None:
    direct = [Fraction(c) for c in form.coefficients]
    if any(direct):
        return _normal(direct)[0], 1, bool(form.floors)
    for term in form.floors:
        inside = [Fraction(c) for c in term.inside.coefficients]
        if any(inside):
            return (*_normal(inside), False)
    return None


def _normal(slopes: Sequence[Fraction]) -> tuple[Vector, int]:
    """The slopes times their common denominator, first entry positive, and that denominator."""
    scale = lcm(*(s.denominator for s in slopes))
    whole = [int(s * scale) for s in slopes]
    common = gcd(*whole)
    sign = 1 if next(w for w in whole if w) > 0 else -1
    return tuple(sign * w // common for w in whole), max(1, scale // common)


def _rank(rows: Sequence[Vector]) -> int:
    return len(_reduced([[Fraction(x) for x in row] for row in rows]))


def _reduced(matrix: list[list[Fraction]]) -> list[list[Fraction]]:
    """Reduced row echelon form without rows of zeros."""
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
    """For each form the step of the iterators that advances it alone, scaled to whole numbers."""
    n = len(rows)
    identity = [[Fraction(i == k) for k in range(n)] for i in range(n)]
    matrix = [[*(Fraction(x) for x in row), *identity[i]] for i, row in enumerate(rows)]
    inverse = [row[n:] for row in _reduced(matrix)]
    columns = [[row[k] for row in inverse] for k in range(n)]
    return [_whole(column) for column in columns]


def _whole(column: Sequence[Fraction]) -> Vector:
    scale = lcm(*(x.denominator for x in column))
    return tuple(int(x * scale) for x in column)
