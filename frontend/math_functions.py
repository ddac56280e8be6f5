"""The functions that a SCoP may call: C's math library, and the index helpers that polyhedral tools write."""

from __future__ import annotations

from dataclasses import dataclass

from polytile.ir.expr import DOUBLE, FLOAT, INT, LLONG, LONG, CType


@dataclass(frozen=True, slots=True)
class Signature:
    arguments: tuple[CType, ...]
    result: CType


_UNARY = (
    "acos acosh asin asinh atan atanh cbrt ceil cos cosh erf erfc exp exp2 expm1 fabs floor log log10 log1p log2 "
    "nearbyint rint round sin sinh sqrt tan tanh tgamma trunc"
).split()
_BINARY = "atan2 copysign fdim fmax fmin fmod hypot nextafter pow remainder".split()


def _floating() -> dict[str, Signature]:
    table: dict[str, Signature] = {}
    for suffix, t in (("", DOUBLE), ("f", FLOAT)):
        for names, arity in ((_UNARY, 1), (_BINARY, 2), (["fma"], 3)):
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
}
