"""C's mathematical functions, with the types that they take in C: C++ and CUDA overload them."""

from __future__ import annotations

from polytile.ir.expr import DOUBLE, FLOAT, INT, LLONG, LONG, CType

_ONE_REAL = """
    sqrt cbrt exp exp2 exp10 expm1 log log2 log10 log1p logb sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh
    fabs ceil floor round trunc rint nearbyint erf erfc tgamma lgamma lround llround lrint llrint ilogb
"""
_FEW_INSTRUCTIONS = """
    fabs ceil floor round trunc rint nearbyint sqrt fmin fmax fdim copysign nextafter fma ldexp scalbn
    lround llround lrint llrint ilogb
"""
_TWO_REALS = "pow fmod remainder atan2 hypot fmin fmax fdim copysign nextafter"


def _signatures() -> dict[str, tuple[CType, ...]]:
    table: dict[str, tuple[CType, ...]] = {"abs": (INT,), "labs": (LONG,), "llabs": (LLONG,)}
    for suffix, real in (("", DOUBLE), ("f", FLOAT)):
        table |= {name + suffix: (real,) for name in _ONE_REAL.split()}
        table |= {name + suffix: (real, real) for name in _TWO_REALS.split()}
        table["fma" + suffix] = (real, real, real)
        table |= {name + suffix: (real, INT) for name in ("ldexp", "scalbn")}
    return table


MATH_SIGNATURES = _signatures()
_SHORT = {"abs", "labs", "llabs", *(name + suffix for name in _FEW_INSTRUCTIONS.split() for suffix in ("", "f"))}


def is_long(function: str) -> bool:
    """Return whether a function of C's library takes tens of instructions on any processor: `exp` does.

    `fabs` and `sqrt` do not.
    """
    return function in MATH_SIGNATURES and function not in _SHORT
