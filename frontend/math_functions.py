"""The functions that a SCoP may call: C's math library, and the index helpers that polyhedral tools write."""

from __future__ import annotations

from polytile.dataclass import dataclass
from polytile.ir.expr import DOUBLE, FLOAT, INT, LLONG, LONG, CType


@dataclass(frozen=True, slots=True)
class Signature:
    arguments: tuple[CType, ...]
    result: CType


_TRIGONOMETRY = ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "sin", "sinh", "tan", "tanh")
_POWERS = ("cbrt", "exp", "exp2", "expm1", "log", "log10", "log1p", "log2", "sqrt")
_ROUNDING = ("ceil", "fabs", "floor", "nearbyint", "rint", "round", "trunc")
_UNARY = (*_TRIGONOMETRY, *_POWERS, *_ROUNDING, "erf", "erfc", "tgamma")
_BINARY = ("atan2", "copysign", "fdim", "fmax", "fmin", "fmod", "hypot", "nextafter", "pow", "remainder")


def _floating() -> dict[str, Signature]:
    table: dict[str, Signature] = {}
    for suffix, t in (("", DOUBLE), ("f", FLOAT)):
        for names, arity in ((_UNARY, 1), (_BINARY, 2), (("fma",), 3)):
            table |= {name + suffix: Signature((t,) * arity, t) for name in names}
        table |= {"ldexp" + suffix: Signature((t, INT), t)}
        table |= {"lround" + suffix: Signature((t,), LONG), "lrint" + suffix: Signature((t,), LONG)}
    return table


FUNCTIONS: dict[str, Signature] = {
    **_floating(),
    "abs": Signature((INT,), INT),
    "labs": Signature((LONG,), LONG),
    "llabs": Signature((LLONG,), LLONG),
}

# Spelling in C -> operation; all take two integers.
INDEX_HELPERS = {
    "min": "min",
    "max": "max",
    "MIN": "min",
    "MAX": "max",
    "floord": "floord",
    "ceild": "ceild",
    "imin": "imin",
    "imax": "imax",
    "umin": "umin",
    "umax": "umax",
}


def library_name(name: str) -> str:
    """Return what a function of the compiler's is called in C's math library: `exp` for `__builtin_exp`; other names as
    they are."""
    plain = name.removeprefix("__builtin_")
    return plain if plain in FUNCTIONS else name


def is_known(name: str) -> bool:
    """Whether what a function computes is known by its name alone."""
    return library_name(name) in FUNCTIONS or name in INDEX_HELPERS
