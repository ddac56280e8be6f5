"""A SCoP for some values of its parameters alone.

before: for (i = 0; i < n; i++) ... A[i][j] of extents (n, n)    for any n
after:  the same where n is 304; the host asks, and runs the user's C elsewhere
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import islpy as isl

from polytile.ir.scop import Scop


def specialized(scop: Scop, values: Mapping[str, int]) -> Scop:
    """Return the SCoP where its parameters have these `values`, which its context allows.

    It is as it was where a statement of it then never runs: there is nothing to gain from sizes of 0.
    """
    if not values:
        return scop
    conditions = " and ".join(f"{name} = {value}" for name, value in values.items())
    context = scop.context.intersect(isl.Set(f"[{', '.join(values)}] -> {{ : {conditions} }}"))
    if any(s.domain.intersect_params(context).is_empty() for s in scop.statements):
        return scop
    asked = [f"({scop.checked})"] if scop.checked else []
    asked += [f"{name} == {value}" for name, value in values.items()]
    return replace(scop, context=context, checked=" && ".join(asked))
