"""Contractions to run: small ones of every kind, those for real sizes, and what they compute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from polytile.ir.expr import DOUBLE, FLOAT, CType
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Kernel
from polytile.runtime.emulator.findings import Finding

from .common import Built, Numbers
from .contraction import contraction_program
from .contraction_parts import Contraction
from .fma_product import fma_contraction
from .tensor_product import tensor_contraction

LAYOUTS = {"nn": (True, False), "nt": (True, True), "tn": (False, False), "tt": (False, True)}  # A, B along k


@dataclass(frozen=True, slots=True)
class Case:
    """A contraction and how its kernel is built."""

    spec: Contraction
    build: Callable[[Contraction], Kernel]

    @property
    def kernel(self) -> Kernel:
        return self.build(self.spec)

    @property
    def program(self) -> HostProgram:
        return contraction_program(self.spec, self.kernel)


def tensor(name: str, layout: str = "nn", *, shape: str = "m16n8k8", **fields: Any) -> Case:
    """By default, two warps of 32 x 16."""
    along = dict(zip(("a_along_k", "b_along_k"), LAYOUTS[layout], strict=True))
    given = {"tile": (32, 32, 16), "warp": (32, 16), "group": 2, **along, **fields}
    return Case(Contraction(name, DOUBLE, **given), lambda spec: tensor_contraction(spec, shape))


def fma(name: str, layout: str = "nn", *, element: CType = FLOAT, lanes: int = 4, **fields: Any) -> Case:
    """By default, two warps of 16 x 32."""
    along = dict(zip(("a_along_k", "b_along_k"), LAYOUTS[layout], strict=True))
    given = {"tile": (32, 32, 16), "warp": (16, 32), "group": 2, **along, **fields}
    return Case(Contraction(name, element, **given), lambda spec: fma_contraction(spec, lanes))


def small(build: Callable[..., Case]) -> list[Case]:
    """All layouts with 3 and 4 slots, and each with every domain."""
    kinds = [(layout, stages) for stages in (3, 4) for layout in LAYOUTS]
    sides = ["", "lower", "upper", "", "lower", "upper", "", "lower"]
    return [
        build(f"{layout}_{stages}_{side}", layout, stages=stages, triangle=side)
        for (layout, stages), side in zip(kinds, sides, strict=True)
    ]


def real() -> list[Case]:
    """Tiles for sizes in the thousands, with vectors of 16 bytes wherever rows allow them."""
    doubles = [
        tensor(f"tensor_{layout}", layout, tile=(128, 128, 16), warp=(64, 32), vectors=(2, 2, 2)) for layout in LAYOUTS
    ]
    doubles.append(tensor("tensor_96", tile=(96, 64, 16), warp=(48, 32), vectors=(2, 2, 2), min_blocks=2))
    floats = [
        fma(f"fma_{name}", name, tile=(96, 128, 16), warp=(48, 64), stages=3, vectors=(1 if a else 4, 1 if b else 4, 4),
            min_blocks=3)
        for name, (a, b) in LAYOUTS.items()
    ]  # fmt: skip
    floats.append(fma("fma_128", tile=(128, 128, 16), warp=(32, 64), stages=3, vectors=(1, 4, 4), min_blocks=2))
    return [*doubles, *floats]


# Values -------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Operands:
    """A (i by k), B (k by j) and C (i by j); rows in memory end with NaNs, `pad` of them."""

    a: Numbers
    b: Numbers
    c: Numbers
    pad: int = 1

    @staticmethod
    def integers(spec: Contraction, ni: int, nj: int, nk: int, pad: int = 1) -> Operands:
        """Small integers: all sums are exact, in whatever order."""
        rng = np.random.default_rng(ni + 1000 * nj + 1000000 * nk)
        a, b, c = (rng.integers(-8, 9, shape).astype(dtype(spec)) for shape in ((ni, nk), (nk, nj), (ni, nj)))
        return Operands(a, b, c, pad)

    @staticmethod
    def reals(spec: Contraction, ni: int, nj: int, nk: int) -> Operands:
        rng = np.random.default_rng(ni + 1000 * nj + 1000000 * nk)
        a, b, c = ((rng.random(shape) - 0.3).astype(dtype(spec)) for shape in ((ni, nk), (nk, nj), (ni, nj)))
        return Operands(a, b, c)

    def stored(self, spec: Contraction) -> tuple[Numbers, Numbers, Numbers]:
        """The arrays as they lie in memory."""
        a, b = self.a if spec.a_along_k else self.a.T, self.b.T if spec.b_along_k else self.b
        return self._padded(a), self._padded(b), self._padded(self.c)

    def _padded(self, values: Numbers) -> Numbers:
        out = np.full((values.shape[0], values.shape[1] + self.pad), np.nan, values.dtype)
        out[:, : values.shape[1]] = values
        return out

    def run(self, built: Built, case: Case, alpha: float = 2, beta: float = 3) -> tuple[Numbers, tuple[Finding, ...]]:
        """C with its padding afterwards, and what checks found."""
        spec = case.spec
        a, b, c = self.stored(spec)
        extents = (*self.c.shape, self.a.shape[1])
        pitches = (x.shape[1] for x in (a, b, c))
        scalars = (dtype(spec)(alpha), dtype(spec)(beta))
        found = built(f"run_{spec.name}", *extents, *pitches, a, b, c, *scalars)
        return c, found

    def expected(self, spec: Contraction, alpha: float = 2, beta: float = 3) -> Numbers:
        """C with its padding, in long double."""
        wide = [x.astype(np.longdouble) for x in (self.a, self.b, self.c)]
        inside = domain(spec, self.c.shape)
        result = replace(self, c=wide[2]).stored(spec)[2]
        scaled = beta * wide[2] if beta else 0
        result[:, : self.c.shape[1]] = np.where(inside, alpha * (wide[0] @ wide[1]) + scaled, wide[2])
        return result


def dtype(spec: Contraction) -> Any:
    return np.float64 if spec.element == DOUBLE else np.float32


def domain(spec: Contraction, shape: tuple[int, ...]) -> Numbers:
    """Which elements of C are computed."""
    i, j = np.indices(shape)
    sides: dict[str, Any] = {"": np.full(shape, True), "lower": j <= i, "upper": j >= i}
    return np.asarray(sides[spec.triangle])
