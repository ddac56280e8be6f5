"""Index arithmetic in 64 bits where 32 may not do, in 32 where they do.

before: a[i * m + j] with i, j, m in 0 .. 100000;    b[i * 8 + j]
after:  a[(long long)i * m + j];                     b[i * 8 + j]
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from polytile.codegen.passes.plan import Context, LoweredPlan
from polytile.ir.expr import LLONG, Access, Binary, Cast, Declare, Expr, For, Unary
from polytile.ir.expr_trees import rewrite
from polytile.ir.gpu_ops import Advance
from polytile.ir.kernel import Kernel
from polytile.ir.ranges import ANY, INT_LEAST, INT_MOST, Interval, Intervals
from polytile.ir.trip_count import Trips, trips


def intervals(kernel: Kernel) -> Intervals:
    """Return the values of every name of the kernel: its ranges, its launch, its loops and its constants."""
    found, changing = Intervals(kernel.known_ranges), kernel.changing
    given = {r.name for r in kernel.ranges}
    for node in kernel.nodes:
        match node:
            case Declare(name=name, value=value) if name not in given:
                constant = value is not None and name not in changing
                found.declare(name, found(value) if constant and value is not None else ANY)
            case For(iterator=name) if name not in given:
                run = trips(node) if name not in changing else None
                found.declare(name, ANY if run is None else _iterator(run, found))
    return found


def _iterator(run: Trips, known: Intervals) -> Interval:
    """Return the values of an iterator inside its loop."""
    start = known(run.lower)
    ends = [known(end) for end in run.ends]
    if run.step > 0:
        return Interval(start.least, min(e.most for e in ends) - 1)
    return Interval(max(e.least for e in ends) + 1, start.most)


def index_width(kernel: Kernel, _: LoweredPlan, __: Context) -> Kernel:
    """Compute products of indices in 64 bits where ranges do not exclude that they need them."""
    return widen(kernel)


def widen(kernel: Kernel) -> Kernel:
    """Compute subscripts and pointer steps in 64 bits where the kernel's ranges do not exclude the need."""
    known = intervals(kernel)

    def change(node: Any) -> Any:
        match node:
            case Access(subscripts=subscripts, inside=inside):
                wide, deep = (tuple(widened(s, known) for s in part) for part in (subscripts, inside))
                return replace(node, subscripts=wide, inside=deep)
            case Advance(by=by):
                return replace(node, by=widened(by, known))
        return node

    return replace(kernel, body=tuple(rewrite(stmt, change) for stmt in kernel.body))


def widened(expr: Expr, known: Intervals) -> Expr:
    """Compute products that may not fit in 32 bits in 64, and sums of them."""
    match expr:
        case Binary(op="+" | "-" | "*" as op, left=left, right=right) if expr.type.kind == "int":
            left, right = widened(left, known), widened(right, known)
            if 8 in (left.type.size, right.type.size) or expr.type.size == 8:
                return Binary(op, left, right, LLONG)
            if op != "*" or known(expr).within(INT_LEAST, INT_MOST):
                return Binary(op, left, right, expr.type)
            return Binary(op, Cast(LLONG, left), right, LLONG)
        case Unary(op="-", operand=operand):
            inner = widened(operand, known)
            return replace(expr, operand=inner, type=inner.type) if inner.type.size == 8 else expr
    return expr
