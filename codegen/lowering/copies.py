"""Copies between memory and cells, dealt out to the threads that have the cells.

before: A_tile_fill[bi, bj, k0]: A[64 bi + a, 16 k0 + b] to A_tile[a, b] for a < 64, b < 16
after:  for (a = 0; a < 64; a += 16) if (64 * bi + a + ti < ni && 16 * k0 + tj < nk)
            A_tile[a + ti][tj] = A[64 * bi + a + ti][16 * k0 + tj];
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import gcd, prod

import islpy as isl

from polytile.codegen.lowering.isl_ast import Instance
from polytile.codegen.lowering.placed_accesses import PlacedCopy
from polytile.codegen.passes.plan import WideCopy
from polytile.dataclass import dataclass
from polytile.ir.arith import add, compare, div, lift, mod, mul
from polytile.ir.copy_tree import FILL
from polytile.ir.expr import Access, Assign, CType, Declare, Expr, For, If, Name, Stmt
from polytile.ir.fold import folded
from polytile.ir.gpu_ops import Load, Store
from polytile.ir.kernel import Comment
from polytile.ir.plan import Owner
from polytile.ir.polynomial import linear
from polytile.ir.substitute import with_values
from polytile.machine import VECTOR_BYTES

UNROLLED = 256  # cells that a thread copies, beyond which compilers take minutes for a loop that is unrolled whole
BATCH = 8  # iterations that are unrolled then
COALESCED = 16  # threads that shall be neighbours along the fastest dimension, or all of its extent


@dataclass(frozen=True, slots=True)
class Threads:
    """The coordinates of a block's threads and their sizes, thread.x first."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]

    @property
    def count(self) -> int:
        return prod(self.sizes)

    def linear(self, integer: CType) -> Expr:
        """Return the linear index of a thread in its block."""
        total: Expr = lift(0)
        factor = 1
        for name, size in zip(self.names, self.sizes, strict=True):
            total = add(total, mul(Name(name, integer), factor))
            factor *= size
        return total


def copy_loops(copy: PlacedCopy, instance: Instance, threads: Threads, integer: CType, label: str) -> tuple[Stmt, ...]:
    """Generate the loops of a copy.

    `instance` has its cell, its element and its guard; the loops have the `label`.
    """
    if not instance.parts:
        return _part(copy, instance, instance.guard, threads, integer, label)
    found: list[Stmt] = []
    for test, guard in instance.parts:
        part = _part(copy, instance, guard, threads, integer, label)
        found += part if test is None else [If(test, part)]
    return tuple(found)


def _part(
    copy: PlacedCopy, instance: Instance, guard: Expr | None, threads: Threads, integer: CType, label: str
) -> tuple[Stmt, ...]:
    cell, element = instance.cells
    body: tuple[Stmt, ...]
    if copy.run.kind == FILL and copy.zeros:
        body = (Load((cell,), element, guard=guard),)
    else:
        move = Load((cell,), element) if copy.run.kind == FILL else Assign(element, "", cell)
        body = (move,) if guard is None else (If(guard, (move,)),)
    dealt = Threads((), ()) if copy.placement.owner is Owner.THREAD else threads
    extents, digits = copy.placement.extents, copy.digits[: 2 * len(copy.cells)]
    source, target = (copy.placement.array, copy.placement.name)
    words = f"{target} from {source}" if copy.run.kind == FILL else f"{target} back to {source}"
    loops = _Dealing(copy, extents, digits, dealt, integer).loops(body)
    *before, last = loops
    if isinstance(last, For):
        last = replace(last, label=label)
    return (Comment(words), *before, last)


def wide_copy(copy: PlacedCopy, instance: Instance, threads: Threads, integer: CType) -> WideCopy | None:
    """Vectorize a copy: neighbouring elements in one access.

    None where the plan asks for no vectors, or neighbouring cells do not have neighbouring elements, or their rows are
    not aligned.

    before: A_tile[a][b] = A[i + a][k + b]                 for b < 16
    after:  A_tile[a][2 * b], A_tile[a][2 * b + 1] = A[i + a][k + 2 * b], A[i + a][k + 2 * b + 1]       for b < 8
    """
    cell, element = instance.cells
    count = copy.run.copy.vector
    fast = copy.cells[fastest_first(copy)[0]] if copy.cells else ""
    extents = dict(zip(copy.cells, copy.placement.extents, strict=True))
    shared = copy.run.kind == FILL and copy.placement.owner is Owner.BLOCK
    pitch = copy.placement.extents[-1] + copy.placement.layout.pad if copy.cells else 0
    fits = count > 1 and count * element.type.size in VECTOR_BYTES and pitch % count == 0
    if not shared or not fits or fast != copy.cells[-1] or extents[fast] % count or not _along_rows(element, fast):
        return None
    first = {name: lift(0) for name in copy.cells}
    rows = [{**first, name: lift(1)} for name in copy.cells if name != fast and extents[name] > 1]
    addresses = tuple(_at(element, values) for values in (first, *rows))
    start = mul(Name(fast, integer), count)
    names = [Name(name, element.type) for name in copy.values[:count]]
    declared = [Declare(name.name, name.type, None) for name in names]
    load = Load(tuple(names), _at(element, {fast: start}))
    store = Store(_at(cell, {fast: start}), tuple(names))
    narrow = tuple(e // count if name == fast else e for name, e in extents.items())
    digits = copy.digits[2 * len(copy.cells) :]
    body = _Dealing(copy, narrow, digits, threads, integer).loops((*declared, load, store))
    return WideCopy(addresses, count * element.type.size, body)


def _at(access: Access, values: Mapping[str, Expr]) -> Access:
    """Substitute values of the cells' coordinates in an access."""
    subscripts = (folded(with_values(subscript, values)) for subscript in access.subscripts)
    return replace(access, subscripts=tuple(subscripts))


def _along_rows(element: Access, name: str) -> bool:
    """Return whether the last subscript of an element grows with a name, and no other one depends on it."""
    *others, last = (linear(subscript) for subscript in element.subscripts)
    return last is not None and last.get(name) == 1 and all(o is not None and name not in o for o in others)


@dataclass(frozen=True, slots=True)
class _Dealing:
    copy: PlacedCopy
    extents: tuple[int, ...]
    digits: tuple[str, ...]
    threads: Threads
    integer: CType

    def loops(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        extents = dict(zip(self.copy.cells, self.extents, strict=True))
        cells = [self.copy.cells[k] for k in fastest_first(self.copy)]
        body = tuple(with_values(stmt, {name: lift(0) for name in cells if extents[name] == 1}) for stmt in body)
        order = [name for name in cells if extents[name] > 1]
        if not order:
            return self._by_one(body)
        declared: list[Stmt] = []
        shares = self._shares([extents[name] for name in order], declared)
        if shares is None:
            return self._flat(order, extents, body)
        values: dict[str, Expr] = {}
        found: list[tuple[str, int, int]] = []
        for name, (width, own) in zip(order, shares, strict=True):
            dealt = width < extents[name]
            values[name] = add(Name(name, self.integer), own) if dealt else own
            if dealt:
                found.append((name, extents[name], width))
        body = tuple(with_values(stmt, values) for stmt in body)
        turns = 1
        for name, extent, step in found:
            turns *= -(-extent // step)
            body = (self._loop(name, extent, step, body, turns),)
        return (*declared, *body)

    def _by_one(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """Copy a single cell by one thread."""
        if self.threads.count == 1:
            return body
        return (If(compare("==", self.threads.linear(self.integer), 0), body),)

    def _loop(self, name: str, extent: int, step: int, body: tuple[Stmt, ...], turns: int) -> For:
        condition = compare("<", Name(name, self.integer), extent)
        return For(name, lift(0), condition, step, body, self.integer, unroll=0 if turns <= UNROLLED else BATCH)

    def _shares(self, extents: Sequence[int], declared: list[Stmt]) -> list[tuple[int, Expr]] | None:
        """Return the number of threads along each dimension, and the thread's index there; None if they do not fit."""
        own_digits = zip(self.threads.names, self.threads.sizes, strict=True)
        digits: list[tuple[Expr, int]] = [(Name(n, self.integer), s) for n, s in own_digits if s > 1]
        names = iter(self.digits)
        shares: list[tuple[int, Expr]] = []
        for extent in extents:
            width, own = 1, lift(0)
            while digits and (common := gcd(digits[0][1], extent // width)) > 1:
                expr, size = digits.pop(0)
                part, rest = expr, None
                if common < size:
                    part, rest = (Name(next(names), self.integer) for _ in range(2))
                    declared += [Declare(part.name, self.integer, mod(expr, common))]
                    declared += [Declare(rest.name, self.integer, div(expr, common))]
                    digits.insert(0, (rest, size // common))
                own, width = add(own, mul(part, width)), width * common
                if rest is not None:
                    break
            shares.append((width, own))
        apart = self.threads.count > 1 and shares and shares[0][0] < min(extents[0], COALESCED)
        if apart:
            return None
        return None if digits else shares

    def _flat(self, order: Sequence[str], extents: Mapping[str, int], body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """Generate one loop over all cells in linear order, distributed cyclically over all threads."""
        total, count = prod(extents.values()), self.threads.count
        turn = Name(order[0], self.integer)
        number = Name(self.digits[0], self.integer)
        declared: list[Stmt] = [Declare(number.name, self.integer, add(turn, self.threads.linear(self.integer)))]
        values: dict[str, Expr] = {}
        rest: Expr = number
        for position, name in enumerate(order):
            if position == len(order) - 1:
                values[name] = rest
                break
            low, high = (Name(n, self.integer) for n in self.digits[2 * position + 1 :][:2])
            declared.append(Declare(low.name, self.integer, mod(rest, extents[name])))
            declared.append(Declare(high.name, self.integer, div(rest, extents[name])))
            values[name], rest = low, high
        body = tuple(with_values(stmt, values) for stmt in body)
        if total % count:
            body = (If(compare("<", number, total), (*declared[1:], *body)),)
            declared = declared[:1]
        return (self._loop(turn.name, total, count, (*declared, *body), -(-total // count)),)


def fastest_first(copy: PlacedCopy) -> list[int]:
    """Order the dimensions of cells, those first along which neighbouring threads move."""
    rank = int(copy.element.dim(isl.dim_type.out))
    lanes = copy.run.copy.lanes or tuple(reversed(range(rank)))
    order = [*lanes, *(d for d in reversed(range(rank)) if d not in lanes)]
    subscripts = [copy.element.get_at(d) for d in range(rank)]

    def position(k: int) -> tuple[int, int]:
        moved = [d for d in range(rank) if _involves(subscripts[d], copy.parameters[k])]
        return min((order.index(d) for d in moved), default=rank), -k

    return sorted(range(len(copy.cells)), key=position)


def _involves(subscript: isl.PwAff, parameter: str) -> bool:
    """Return whether a formula of the subscript has the parameter; those of where it holds do not count."""
    at = subscript.find_dim_by_name(isl.dim_type.param, parameter)
    formulas: list[isl.Aff] = []
    subscript.foreach_piece(lambda _, formula: formulas.append(formula))
    return at >= 0 and any(formula.involves_dims(isl.dim_type.param, at, 1) for formula in formulas)
