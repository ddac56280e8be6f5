"""Placements of today's kinds as storage of generated code, and back: what a cell keeps of the subscripts.

{ [[p0, p1] -> part[a0, a1]] -> [floor((a0)/32)] }          part of a thread: keeps (0,), strides (32,)
{ [[p0] -> t[a0, a1]] -> [(a1) mod 16] }, written through    t_here of a block: keeps (1,), moduli (16,)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import product

import islpy as isl

from polytile.dataclass import dataclass
from polytile.diagnostics import InternalError
from polytile.ir.cell_layout import ROW_MAJOR
from polytile.ir.expr import Literal
from polytile.ir.memory import Space, Storage, constant_extents
from polytile.ir.plan import WHOLE_KERNEL, KernelPlan, Owner, Placement, relation
from polytile.ir.scop import Array, Scop

OWNERS = {Space.PRIVATE: Owner.THREAD, Space.SHARED: Owner.BLOCK}
Homes = Mapping[int, Mapping[str, Storage]]  # by kernel number and array


@dataclass(frozen=True, slots=True)
class _Part:
    """One dimension of a cell: a subscript divided by the stride, or (with a modulus) its remainder."""

    subscript: int
    stride: int = 1
    modulus: int = 0

    @property
    def text(self) -> str:
        divided = f"a{self.subscript}" if self.stride == 1 else f"floor((a{self.subscript})/{self.stride})"
        return f"({divided}) mod {self.modulus}" if self.modulus else divided


def home_placement(home: Storage, rank: int, place: int) -> Placement:
    """Return the placement of an array of `rank` that lives in the kernel alone, below `place` coordinates."""
    return _placement(home.array, home, rank, place)


def forwarding_placement(copy: Storage, rank: int, place: int) -> Placement:
    """Return the placement of a copy that a block has of elements in device memory."""
    return _placement(f"{copy.array}_here", copy, rank, place, through=True)


def _placement(name: str, storage: Storage, rank: int, place: int, through: bool = False) -> Placement:
    keeps = tuple(range(rank)) if storage.keeps is None else storage.keeps
    strides, moduli = storage.strides or (1,) * len(keeps), storage.moduli or (0,) * len(keeps)
    parts = [_Part(*part) for part in zip(keeps, strides, moduli, strict=True)]
    cell = _cell(storage.array, rank, place, parts)
    owner, extents = OWNERS[storage.space], constant_extents(storage)
    return Placement(name, storage.array, (), WHOLE_KERNEL, storage.space, owner, cell, extents, through=through)


def _cell(array: str, rank: int, place: int, parts: Iterable[_Part]) -> str:
    coordinates, subscripts = (", ".join(f"{x}{k}" for k in range(n)) for x, n in (("p", place), ("a", rank)))
    return f"{{ [[{coordinates}] -> {array}[{subscripts}]] -> [{', '.join(p.text for p in parts)}] }}"


def is_tile(placement: Placement) -> bool:
    """Return whether a placement has copies, belongs to a loop, or to some accesses alone.

    Then it is no storage of an array that lives in the kernel alone, nor a copy that is written through.
    """
    return bool(placement.copies or placement.uses or placement.level != WHOLE_KERNEL)


def is_home(placement: Placement) -> bool:
    """Return whether an array lives in the kernel alone, in these cells."""
    return not placement.through and not is_tile(placement)


def tile_plans(plans: Iterable[KernelPlan]) -> tuple[KernelPlan, ...]:
    """Return the plans that have tiles, with these alone."""
    found = (replace(plan, placements=tuple(p for p in plan.placements if is_tile(p))) for plan in plans)
    return tuple(plan for plan in found if plan.placements)


def storage_of(placement: Placement, array: Array) -> Storage | None:
    """Return the storage of a placement that kernels are generated for; None for one of another kind."""
    plain = (placement.uses, placement.level, placement.layout, placement.copies) == ((), WHOLE_KERNEL, ROW_MAJOR, ())
    parts = _parts(placement) if plain and placement.owner is OWNERS[placement.memory] else None
    if parts is None:
        return None
    strides, moduli = tuple(p.stride for p in parts), tuple(p.modulus for p in parts)
    if placement.through and (not all(moduli) or max(strides, default=1) > 1):
        return None
    if not placement.through and any(moduli):
        return None
    return Storage(
        placement.array,
        placement.memory,
        array.element,
        tuple(Literal(str(extent)) for extent in placement.extents),
        placement.array,
        tuple(p.subscript for p in parts),
        () if set(strides) <= {1} else strides,
        moduli=moduli if placement.through else (),
    )


def homes(plans: Iterable[KernelPlan], scop: Scop) -> dict[int, dict[str, Storage]]:
    """Return the arrays that live inside kernels alone, by kernel number; raises InternalError for other placements."""
    return _storages(plans, scop, through=False)


def forwarded(plans: Iterable[KernelPlan], scop: Scop) -> dict[int, dict[str, Storage]]:
    """Return the copies that blocks have of arrays in device memory, by kernel number."""
    return _storages(plans, scop, through=True)


def _storages(plans: Iterable[KernelPlan], scop: Scop, through: bool) -> dict[int, dict[str, Storage]]:
    found: dict[int, dict[str, Storage]] = {}
    for plan in plans:
        for placement in (p for p in plan.placements if p.through == through and not is_tile(p)):
            storage = storage_of(placement, scop.array(placement.array))
            if storage is None:
                raise InternalError(f"no kernel can have the placement {placement}")
            found.setdefault(plan.kernel, {})[placement.array] = storage
    return found


def place_rank(placement: Placement) -> int:
    """Return the number of coordinates of the places that a placement's cells are of."""
    return int(relation(placement.cell).domain().unwrap().dim(isl.dim_type.in_))


def _parts(placement: Placement) -> tuple[_Part, ...] | None:
    """Return what the cell says of each of its dimensions; None where that is something else."""
    return _parts_of(placement.cell, placement.through)


@lru_cache(maxsize=500)
def _parts_of(text: str, remainders: bool) -> tuple[_Part, ...] | None:
    cell = relation(text)
    place, element = (int(cell.domain().unwrap().dim(kind)) for kind in (isl.dim_type.in_, isl.dim_type.out))
    array = str(cell.domain().unwrap().get_tuple_name(isl.dim_type.out))
    function = isl.PwMultiAff.from_map(cell)
    dimensions = range(int(cell.dim(isl.dim_type.out)))
    possible = [_possible(function.get_at(k), place, element, remainders) for k in dimensions]
    for parts in product(*possible):
        if cell.is_equal(isl.Map(_cell(array, element, place, parts))):
            return parts
    return None


def _possible(value: isl.PwAff, place: int, rank: int, remainders: bool) -> Iterator[_Part]:
    """Yield what a dimension of a cell may be, from the subscripts and divisors in its expression; the likely first."""
    for _, form in value.get_pieces()[:1]:
        divisors = {int(form.get_div(d).get_denominator_val().to_python()) for d in range(form.dim(isl.dim_type.div))}
        used = [a for a in range(rank) if form.involves_dims(isl.dim_type.in_, place + a, 1)]
        for subscript in used:
            for divisor in sorted(divisors):
                yield _Part(subscript, modulus=divisor) if remainders else _Part(subscript, stride=divisor)
            yield _Part(subscript)
        if not used and rank:  # the only remainder by 1
            yield _Part(rank - 1, modulus=1)
