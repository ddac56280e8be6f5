"""Grids without the blocks outside of a triangle: its rows of blocks are folded in pairs, a long one with a short one.

before: grid (X, R)                        for (bi = block.y; bi < R; bi += grid.y) if (bi >= bj) { ... }
after:  grid (R + 1, ceil(R / 2))          for (row = block.y; row < ceil(R / 2); row += grid.y) {
                                               width = row + 1;  rest = 2 * row < R - 1 ? R - row : 0;
                                               if (column < width + rest) {
                                                   bi = column < width ? row : R - 1 - row;
                                                   bj = column < width ? column : column - width;
                                                   if (bi >= bj) { ... } } }

The GPU hands blocks out in turn, whether they do something or not: with a rectangle handed out at once, some
multiprocessors get long blocks alone and others empty ones. Blocks of one launch are independent, so that any bijection
between those of the new grid and those that do something is right. Rows and columns may be any two dimensions of the
grid, rows may grow or shrink, and the triangle may be on either side of its diagonal.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Any

from polytile.codegen.passes.plan import LoweredPlan
from polytile.dataclass import dataclass
from polytile.ir.affine_facts import implied
from polytile.ir.arith import add, compare, div, least, lift, most, mul, select, shifted, sub
from polytile.ir.def_use import names_of
from polytile.ir.evaluate import evaluate
from polytile.ir.expr import (
    INT,
    LLONG,
    LONG,
    Binary,
    Call,
    Cast,
    CType,
    Declare,
    Expr,
    For,
    If,
    Literal,
    Name,
    Stmt,
    Ternary,
)
from polytile.ir.expr_trees import rewrite, statements, walk
from polytile.ir.fold import folded
from polytile.ir.gpu_ops import BlockIndex, GridExtent
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Barrier, Comment, Kernel, Launch
from polytile.ir.name_supply import fresh
from polytile.ir.polynomial import Linear, expression, total
from polytile.ir.ranges import Range
from polytile.machine import Machine

MOST_FILLED = Fraction(3, 4)  # of a grid's blocks: with more that do something, few are saved
LARGE = 2**20  # the size at which they are counted, as what small grids cost does not matter
SAMPLED_ROWS = 64
_AXES = "xyz"


def folded_grids(program: HostProgram, plans: Sequence[LoweredPlan], _: Machine) -> HostProgram:
    """Launch only the blocks of a triangle where others of a kernel with tiles do nothing."""
    tiled = [kernel for kernel, plan in zip(program.kernels, plans, strict=True) if plan.tiled]
    folds = {kernel.name: fold for kernel in tiled if (fold := _fold(kernel, program)) is not None}
    if not folds:
        return program

    def change(node: Any) -> Any:
        changed = isinstance(node, Launch) and node.kernel in folds
        return replace(node, grid=folds[node.kernel].grid) if changed else node

    kernels = tuple(folds[k.name].kernel if k.name in folds else k for k in program.kernels)
    return replace(program, kernels=kernels, body=tuple(rewrite(stmt, change) for stmt in program.body))


@dataclass(frozen=True, slots=True)
class Side:
    """A dimension of the grid: the name that the kernel has for a block's place along `axis`, and how many blocks there
    are, as the host has it."""

    name: str
    axis: str
    extent: Expr

    def last(self, integer: CType) -> Expr:
        """Return the last place."""
        return shifted(in_type(self.extent, integer), -1)


@dataclass(frozen=True, slots=True)
class Triangle:
    """The blocks of which `slope * row + first >= by * (column + 1)` holds, with integers `slope` and `by` > 0: so many
    of each row, from column 0 on. `mirrored`: all others, which are at the other end of the row."""

    row: Side
    column: Side
    slope: int
    first: Linear
    by: int
    mirrored: bool = False

    @property
    def natural(self) -> bool:
        """Return whether the condition holds for no negative column in any row, whatever the sizes are."""
        return self.slope >= 0 and not self.first.keys() - {""} and self.first.get("", 0) >= 0

    def blocks_of(self, row: Expr, integer: CType) -> Expr:
        """Return how many blocks a row has."""
        extent, found = in_type(self.column.extent, integer), self._quotient(row, 1, 0, integer)
        found = least(extent, found if self.natural else most(found, 0))
        return sub(extent, found) if self.mirrored else found

    def longest_pair(self, integer: CType) -> Expr:
        """Return a number of blocks that no row has together with the opposite one, nor alone.

        Neither end of a pair has more than the longest row, which is the first or the last one; and the sum of two
        quotients is at most the quotient of the sum, and more than that by less than 1.
        """
        extent, last = in_type(self.column.extent, integer), self.row.last(integer)
        if self.mirrored:
            shortest = self._quotient(lift(0) if self.slope >= 0 else last, 1, 0, integer)
            pair = sub(mul(2, extent), self._quotient(last, 2, 1 - self.by, integer))
            pair = most(pair, sub(extent, shortest))
        else:
            pair = self._quotient(last, 2, 0, integer)
            if not self.natural:
                pair = most(pair, self._quotient(last if self.slope >= 0 else lift(0), 1, 0, integer))
        return folded(least(mul(2, extent), pair))

    def _quotient(self, row: Expr, firsts: int, more: int, integer: CType) -> Expr:
        """Return `slope * row + firsts * first + more` over `by`, rounded down."""
        rest = total({"": more} if more else {}, self.first, firsts)
        own: Mapping[tuple[str, ...], int] = {(name,) if name else (): f for name, f in rest.items()}
        value = add(mul(self.slope, row), expression(own, dict.fromkeys(rest, integer)))
        if self.by == 1:
            return value
        if self.natural and more >= 0:
            return div(value, self.by)
        return Call("floord", (value, lift(self.by)), integer)

    def filled(self) -> Fraction | None:
        """Return which part of a large grid's blocks does something; None where that depends on several sizes."""
        names = names_of((self.row.extent, self.column.extent)) | (self.first.keys() - {""})
        sizes = dict.fromkeys(names, LARGE)
        rows, columns = evaluate(self.row.extent, sizes), evaluate(self.column.extent, sizes)
        if len(names) > 1 or rows <= 0 or columns <= 0:
            return None
        first = sum(factor * sizes.get(name, 1) for name, factor in self.first.items())
        sampled = (rows * (2 * k + 1) // (2 * SAMPLED_ROWS) for k in range(SAMPLED_ROWS))
        counted = sum(min(columns, max(0, (self.slope * row + first) // self.by)) for row in sampled)
        part = Fraction(counted, SAMPLED_ROWS * columns)
        return 1 - part if self.mirrored else part


def triangles(sides: Sequence[Side], condition: Expr, sizes: Collection[str]) -> Iterator[Triangle]:
    """Yield the triangles that a condition leaves of each two sides of a grid, rows along the earlier one.

    Nothing but `sizes` is the same in all blocks.

    before: 3 * bi + 2 >= 4 * bj        bj in floor((3 bi + 6)/4) columns from the first one on
    after:  3 * bj + 2 >= 2 * bi        bj not in floor((2 bi + 0)/3) columns
    """
    forms = implied(condition, True)
    for row, column in combinations(sides, 2):
        for form in forms:
            a, c = form.get(row.name, 0), form.get(column.name, 0)
            rest = {name: factor for name, factor in form.items() if name not in (row.name, column.name)}
            if not a or not c or not rest.keys() <= {"", *sizes}:
                continue
            if c < 0:
                yield Triangle(row, column, a, total(rest, {"": -c}), -c)
            else:
                yield Triangle(row, column, -a, total({"": c - 1}, rest, -1), c, mirrored=True)


@dataclass(frozen=True, slots=True)
class _Fold:
    """How the grid of a kernel is folded: `row` and `column` are the names of blocks' places in the new one, `width`
    and `rest` of how many blocks the two rows of a pair have."""

    plain: Kernel
    triangle: Triangle
    sides: Sequence[Side]
    row: Name
    column: Name
    width: Name
    rest: Name

    @property
    def integer(self) -> CType:
        return self.row.type

    @property
    def grid(self) -> tuple[Expr, Expr, Expr]:
        """Return the extents of the new grid."""
        row, column = self.triangle.row, self.triangle.column
        new = {column.axis: self.triangle.longest_pair(LLONG), row.axis: div(shifted(in_type(row.extent, LLONG), 1), 2)}
        extents = {side.axis: side.extent for side in self.sides} | new
        x, y, z = (extents.get(axis, lift(1)) for axis in _AXES)
        return x, y, z

    @property
    def kernel(self) -> Kernel:
        """Return the kernel for it."""
        plain, row, column = self.plain, self.triangle.row, self.triangle.column
        names = {row.name: self.row.name, column.name: self.column.name}
        bounds = (Range(side.name, lift(0), side.last(self.integer)) for side in (row, column))
        note = f"two rows {row.name} of blocks are one of the grid, without the blocks outside of a triangle"
        return replace(
            plain,
            coordinates=tuple(replace(c, name=names.get(c.name, c.name)) for c in plain.coordinates),
            body=self._body(plain.body),
            summary=(*plain.summary, note),
            bounds=(*plain.bounds, *bounds),
        )

    def _body(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        found: list[Stmt] = []
        for stmt in body:
            match stmt:
                case For(iterator=name) if name == self.triangle.row.name:
                    found.append(self._strided(stmt, self.row, div(self.triangle.row.last(self.integer), 2)))
                case For(iterator=name) if name == self.triangle.column.name:
                    last = sub(self.triangle.longest_pair(self.integer), 1)
                    found.append(self._strided(stmt, self.column, last))
                case For():
                    found.append(replace(stmt, body=self._body(stmt.body)))
                case If():
                    found += self._unfolded(stmt)
                case _:
                    found.append(stmt)
        return tuple(found)

    def _strided(self, loop: For, name: Name, last: Expr) -> For:
        condition = compare("<=", name, folded(last))
        return replace(loop, iterator=name.name, condition=condition, body=self._body(loop.body))

    def _unfolded(self, block: If) -> Iterator[Stmt]:
        """Yield what a block of the new grid does: what the one in its place in the pair of rows did."""
        triangle, integer = self.triangle, self.integer
        last = triangle.row.last(integer)
        opposite, first = sub(last, self.row), compare("<", self.column, self.width)
        others = triangle.blocks_of(opposite, integer)
        has_opposite = compare("<", mul(2, self.row), last)  # the row in the middle has none
        place = select(first, self.column, sub(self.column, self.width))
        if triangle.mirrored:
            place = sub(triangle.column.last(integer), place)
        yield Declare(self.width.name, integer, triangle.blocks_of(self.row, integer))
        yield Declare(self.rest.name, integer, select(has_opposite, others, Literal("0", integer)))
        unfolded = (
            Declare(triangle.row.name, integer, select(first, self.row, opposite)),
            Declare(triangle.column.name, integer, place),
        )
        yield If(compare("<", self.column, add(self.width, self.rest)), (*unfolded, block))


def _fold(kernel: Kernel, program: HostProgram) -> _Fold | None:
    """Return how a kernel's grid is folded; None where that is not possible, or saves few blocks."""
    grids = {n.grid for n in statements(*program.body) if isinstance(n, Launch) and n.kernel == kernel.name}
    if len(grids) != 1:
        return None
    sizes = {p.name for p in kernel.parameters if p.buffer is None and p.type.kind == "int"}
    sides, block = _sides(kernel, *grids)
    if block is None or not names_of([side.extent for side in sides]) <= sizes:
        return None
    found = [(t, part) for t in triangles(sides, block.condition, sizes) if (part := t.filled()) is not None]
    emptiest, part = min(found, key=lambda one: one[1], default=(None, MOST_FILLED))
    if emptiest is None or part > MOST_FILLED:
        return None
    return _Fold(kernel, emptiest, sides, *_names(kernel, program))


def _names(kernel: Kernel, program: HostProgram) -> tuple[Name, Name, Name, Name]:
    """Return names for a row, a column, and how many blocks two rows have, that nothing else in the kernel has."""
    taken = kernel.names.union((f.name for f in program.external), re.findall(r"\w+", program.definitions))
    integer = LONG if kernel.index_type != INT.name else INT
    row, column, width, rest = (Name(fresh(name, taken), integer) for name in ("row", "column", "width", "rest"))
    return row, column, width, rest


def _sides(kernel: Kernel, grid: tuple[Expr, Expr, Expr]) -> tuple[list[Side], If | None]:
    """Return the sides of a kernel's grid, the last axis first, and the condition around all that its blocks do.

    None where there is no such condition, or blocks use their places otherwise than by the names of these.
    """
    extents = dict(zip(_AXES, grid, strict=True))
    sides = {c.source.axis: c.name for c in kernel.coordinates if isinstance(c.source, BlockIndex)}
    body = kernel.body
    while True:
        inner = [stmt for stmt in body if not isinstance(stmt, Barrier | Comment)]
        match inner:
            case [For(step=GridExtent(axis=axis)) as loop] if _is_over_all(loop, axis, extents[axis]):
                sides[axis], body = loop.iterator, loop.body
            case [If(otherwise=()) as block] if not any(isinstance(n, BlockIndex | GridExtent) for n in walk(block)):
                ordered = sorted(sides, reverse=True)
                return [Side(sides[axis], axis, extents[axis]) for axis in ordered], block
            case _:
                return [], None


def _is_over_all(loop: For, axis: str, extent: Expr) -> bool:
    """Return whether a loop strides over the places along an axis, from the first to the last one."""
    index, last = BlockIndex(axis, loop.type), Side(loop.iterator, axis, extent).last(loop.type)
    match loop.condition:
        case Binary(op="<=", left=Name(name=name), right=end) if name == loop.iterator:
            return loop.lower in (index, Cast(loop.type, index)) and in_type(end, loop.type) == last
    return False


def in_type(value: Expr, integer: CType) -> Expr:
    """Return a size that is computed in this type, as kernels and hosts have it."""

    def change(node: Any) -> Any:
        computed = isinstance(node, Name | Literal | Binary | Ternary | Call) and node.type.size >= INT.size
        return replace(node, type=integer) if computed else node

    changed: Expr = rewrite(value, change)
    return changed
