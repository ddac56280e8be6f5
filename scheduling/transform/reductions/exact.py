"""Reductions whose results do not depend on their order, for where the rounding of others has to stay C's.

before: S: n += c[i]; T: s += x[i];     int n, float s, both reductions
after:  S: n += c[i];                   the only one that is left: sums of integers are modulo 2^n in any order
"""

from __future__ import annotations

from dataclasses import replace

from polytile.ir.reductions import partial_type
from polytile.ir.scop import Scop, Statement
from polytile.scheduling.analysis.chains import accumulated


def with_exact_reductions(scop: Scop) -> Scop:
    """Mark only reductions of integers as reductions in a Scop."""
    return replace(scop, statements=tuple(s if is_exact(s) else replace(s, reduction=None) for s in scop.statements))


def is_exact(statement: Statement) -> bool:
    """Return whether a statement is a reduction of integers."""
    types = [partial_type(update) for _, update in accumulated(statement)]
    return bool(types) and all(t is not None and t.kind == "int" for t in types)
