"""What a random program of tensors is: steps that assign to an array, each a sum of products over a nest of loops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

OPPOSITE = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
Sizes = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Subscript:
    """`2*i + p + 1`: coefficients with indices, and an offset."""

    terms: tuple[tuple[int, str], ...]
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Access:
    array: str
    subscripts: tuple[Subscript, ...]

    @property
    def indices(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for s in self.subscripts for _, name in s.terms))


@dataclass(frozen=True, slots=True)
class Product:
    """`- alpha * A[i][k] * B[k][j]`; scalars are names of parameters or numbers."""

    factors: tuple[Access, ...]
    scalars: tuple[str, ...] = ()
    negative: bool = False


@dataclass(frozen=True, slots=True)
class Relation:
    """`left op right`, between two indices of the same extent."""

    left: str
    op: str
    right: str


@dataclass(frozen=True, slots=True)
class Step:
    """`target = init; target += products`, for all indices that fulfil the relations.

    `init` is "0", the name of a scalar that the target is multiplied by, or empty. `form` says how it is written:
    "fused" (one nest), "scalar" (one nest, summed up in a scalar), or "split" (nests of their own). Products find the
    values of the target before the step.
    """

    target: Access
    sums: tuple[str, ...]
    products: tuple[Product, ...]
    order: tuple[str, ...]  # of the loops; in one nest, those of the target first
    init: str = ""
    form: str = "split"
    relations: tuple[Relation, ...] = ()
    down: frozenset[str] = frozenset()  # the loops that count down

    @property
    def accesses(self) -> Iterator[Access]:
        yield self.target
        for product in self.products:
            yield from product.factors


@dataclass(frozen=True, slots=True)
class Program:
    ctype: str
    extents: Mapping[str, str | int]  # of the indices: a parameter or a constant
    steps: tuple[Step, ...]

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(sorted({e for e in self.extents.values() if isinstance(e, str)}))

    @property
    def scalars(self) -> tuple[str, ...]:
        used = {step.init for step in self.steps} | {s for step in self.steps for p in step.products for s in p.scalars}
        return tuple(sorted(name for name in used if name.isalpha()))

    @property
    def written(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(step.target.array for step in self.steps))

    @property
    def shapes(self) -> dict[str, tuple[str, ...]]:
        """Of each array, as C and Python write them."""
        found: dict[str, list[tuple[Counter[str], int]]] = {}
        for access in (a for step in self.steps for a in step.accesses):
            own = [self._extent(s) for s in access.subscripts]
            before = found.setdefault(access.array, own)
            if [terms for terms, _ in before] != [terms for terms, _ in own]:
                raise ValueError(f"{access.array} is used with extents that differ")
            found[access.array] = [(t, max(a, b)) for (t, a), (_, b) in zip(before, own, strict=True)]
        return {name: tuple(_sum(t, c) for t, c in dims) for name, dims in found.items()}

    def _extent(self, subscript: Subscript) -> tuple[Counter[str], int]:
        """Just what the subscript reaches, but nothing below zero where parameters are zero."""
        terms: Counter[str] = Counter()
        constant = 1 + subscript.offset
        for coefficient, index in subscript.terms:
            extent = self.extents[index]
            constant -= coefficient
            if isinstance(extent, str):
                terms[extent] += coefficient
            else:
                constant += coefficient * extent
        return terms, max(constant, 0)

    def work(self, sizes: Sizes) -> int:
        """The iterations of all nests, relations left out."""
        total = 0
        for step in self.steps:
            points = 1
            for index in step.order:
                points *= self.extent(index, sizes)
            total += points * max(1, len(step.products))
        return total

    def extent(self, index: str, sizes: Sizes) -> int:
        extent = self.extents[index]
        return sizes[extent] if isinstance(extent, str) else extent

    def described(self) -> dict[str, Any]:
        """For definition.py, in JSON."""
        return {
            "type": self.ctype,
            "extents": dict(self.extents),
            "parameters": list(self.parameters),
            "scalars": list(self.scalars),
            "shapes": {name: list(shape) for name, shape in self.shapes.items()},
            "written": list(self.written),
            "steps": [_described(step) for step in self.steps],
        }


def _sum(terms: Counter[str], constant: int) -> str:
    words = [name if factor == 1 else f"{factor}*{name}" for name, factor in sorted(terms.items())]
    return " + ".join([*words, *([str(constant)] if constant or not words else [])])


def _described(step: Step) -> dict[str, Any]:
    products = [
        {"factors": [_access(f) for f in p.factors], "scalars": list(p.scalars), "negative": p.negative}
        for p in step.products
    ]
    relations = [[r.left, r.op, r.right] for r in step.relations]
    return {
        "target": step.target.array,
        "outputs": list(step.target.indices),
        "sums": list(step.sums),
        "init": step.init,
        "relations": relations,
        "products": products,
    }


def _access(access: Access) -> dict[str, Any]:
    return {"array": access.array, "subscripts": [[list(map(list, s.terms)), s.offset] for s in access.subscripts]}
