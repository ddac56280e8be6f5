"""The SCoPs that pack halos into contiguous buffers and unpack them: a box of one plane of an array each.

for (i < count_i) for (j < count_j) buffer[i][j] = A[plane][first_i + i][first_j + j];        pack; unpack goes back
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

import islpy as isl

from polytile.dataclass import dataclass
from polytile.diagnostics import NOWHERE
from polytile.ir.arith import add
from polytile.ir.evaluate import evaluate
from polytile.ir.expr import Access, Assign, CType, Expr, Name
from polytile.ir.expr_trees import walk
from polytile.ir.name_supply import Names
from polytile.ir.scop import AccessKind, AccessRelation, Array, Parameter, Scop, Statement


@dataclass(frozen=True, slots=True)
class HaloCopy:
    """How a box of an array is packed into a buffer, and unpacked from it.

    Both SCoPs take, for each dimension that is cut, the first position in the rank's array (`first`) and how many
    (`count`); `plane` is the index of the plane where planes are exchanged apart, "" where not. The buffer has the
    dimensions of the array but that of the plane: counts where it is cut, the extents of the array where not. Names of
    dimensions that are not cut are "".
    """

    array: str
    pack: Scop
    unpack: Scop
    first: tuple[str, ...]
    count: tuple[str, ...]
    plane: str
    buffer: str


def kind_of(copy: HaloCopy) -> Hashable:
    """Return what copies of arrays that lie alike have in common: one of them is compiled for all."""
    array = copy.pack.array(copy.array)
    return str(array.element), str(array.extents), copy.first, copy.count, copy.plane, copy.buffer


def halo_copy(scop: Scop, array: Array, axes: Sequence[int | None], plane: int | None, integer: CType) -> HaloCopy:
    """Return the copies for an array as ranks have it (with local extents); `axes` is the axis that cuts each of its
    dimensions, `plane` the dimension of which one index is copied at a time."""
    names = Names.of(scop)
    first = tuple(names.fresh(f"first_{d}") if axis is not None else "" for d, axis in enumerate(axes))
    count = tuple(names.fresh(f"count_{d}") if axis is not None else "" for d, axis in enumerate(axes))
    at = names.fresh("plane") if plane is not None else ""
    made = _Copies(scop, array, first, count, plane, at, names.fresh("buffer"), integer, names)
    return HaloCopy(array.name, made.copy("pack"), made.copy("unpack"), first, count, at, made.buffer)


@dataclass(frozen=True, slots=True)
class _Copies:
    scop: Scop
    array: Array
    first: tuple[str, ...]
    count: tuple[str, ...]
    plane: int | None
    at: str
    buffer: str
    integer: CType
    names: Names

    def copy(self, direction: str) -> Scop:
        """Build the SCoP of one direction."""
        dimensions = [d for d in range(self.array.rank) if d != self.plane]
        iterators = tuple(self.names.shared(f"x{d}") for d in dimensions)
        at = dict(zip(dimensions, iterators, strict=True))
        parameters = self._parameters()
        known = f"[{', '.join(p.name for p in parameters)}]"
        counts = {d: Name(self.count[d], self.integer) if self.count[d] else self.array.extents[d] for d in dimensions}
        within = " and ".join(f"0 <= {at[d]} < {_isl(counts[d])}" for d in dimensions)
        name = "P" if direction == "pack" else "U"
        instance = f"{name}[{', '.join(iterators)}]"
        places = {
            self.array.name: [self.at if d == self.plane else self._counted(d, at[d]) for d in range(self.array.rank)],
            self.buffer: list(iterators),
        }
        elements = {self.array.name: self._element(at), self.buffer: self._buffered(at, dimensions)}
        reads, writes = (self.array.name, self.buffer) if direction == "pack" else (self.buffer, self.array.name)
        accesses: list[AccessRelation] = []
        body: list[Assign] = []
        for number, (field, element) in enumerate(self.array.fields or ((None, self.array.element),)):
            for array, kind in ((reads, AccessKind.READ), (writes, AccessKind.WRITE)):
                place = ", ".join([*places[array], *([str(number)] if self.array.fields else [])])
                relation = isl.Map(f"{known} -> {{ {instance} -> {array}[{place}] }}")
                accesses.append(AccessRelation(array, kind, relation, self.array.location))
            target, value = (replace(elements[array], type=element, field=field) for array in (writes, reads))
            body.append(Assign(target, "", value))
        domain = isl.Set(f"{known} -> {{ {instance} : {within} }}")
        statement = Statement(name, iterators, domain, tuple(body), tuple(accesses))
        bands = "".join(f', child: {{ schedule: "[{{ {instance} -> [{i}] }}]"' for i in iterators)
        bands += " }" * len(iterators)
        tree = f'{{ domain: "{domain}"{bands} }}'
        extents = tuple(counts[d] for d in dimensions)
        buffer = replace(self.array, name=self.buffer, extents=extents, holds="", location=NOWHERE)
        context = isl.Set(f"{known} -> {{ : }}")
        return Scop(
            f"{direction}_{self.array.name}",
            parameters,
            context,
            (self.array, buffer),
            (statement,),
            isl.Schedule(tree),
            location=self.array.location,
            definitions=self.scop.definitions,
            cflags=self.scop.cflags,
        )

    def _parameters(self) -> tuple[Parameter, ...]:
        """Return the parameters: sizes that extents mention, then what says which box."""
        own = [name for name in (*self.first, *self.count, self.at) if name]
        mentioned = [n.name for e in self.array.extents if e is not None for n in walk(e) if isinstance(n, Name)]
        sizes = {p.name: p for p in self.scop.parameters if p.name in mentioned}
        local = [name for name in mentioned if name not in sizes]
        return (*sizes.values(), *(Parameter(name, self.integer) for name in (*dict.fromkeys(local), *own)))

    def _counted(self, dimension: int, iterator: str) -> str:
        return f"{iterator} + {self.first[dimension]}" if self.first[dimension] else iterator

    def _element(self, at: dict[int, str]) -> Access:
        subscripts: list[Expr] = []
        for d in range(self.array.rank):
            if d == self.plane:
                subscripts.append(Name(self.at, self.integer))
            else:
                counted = Name(at[d], self.integer)
                subscripts.append(add(counted, Name(self.first[d], self.integer)) if self.first[d] else counted)
        return Access(self.array.name, tuple(subscripts), self.array.element)

    def _buffered(self, at: dict[int, str], dimensions: Sequence[int]) -> Access:
        return Access(self.buffer, tuple(Name(at[d], self.integer) for d in dimensions), self.array.element)


def _isl(extent: Expr | None) -> str:
    """Print an extent in isl's notation: a size, or a number."""
    match extent:
        case Name(name=name):
            return name
        case _ if extent is not None:
            return str(evaluate(extent, {}))
    raise AssertionError("an array without an extent is not copied")
