"""Parameters that have one value are constants in kernels.

before: k(int m, int n, double *A)  { A[i][j] = n; }    A of extents (m, n), where the context says that n is 304
after:  k(int m, int n, double *A)  { A[i][j] = 304; }  A of extents (m, 304)

With strides that are constants a compiler addresses all elements of an array around one place by one register and
offsets inside of the instructions; with others each row takes a register of its own, or additions at each access.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import islpy as isl

from polytile.codegen.passes.prune_signature import pruned
from polytile.ir.arith import lift
from polytile.ir.expr import Cast, Expr, Name
from polytile.ir.expr_trees import rewrite
from polytile.ir.fold import constant, fold_node
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Kernel
from polytile.ir.memory import Storage


def with_constant_parameters(program: HostProgram, context: isl.Set) -> HostProgram:
    """Replace the parameters that have one value by the `context` by constants in the kernels of a program."""
    values = constant_parameters(context)
    if not values:
        return program
    buffers = tuple(replace(b, elements=_with_values(b.elements, values)) for b in program.buffers)
    return replace(program, buffers=buffers, kernels=tuple(_kernel(kernel, values) for kernel in program.kernels))


def constant_parameters(context: isl.Set) -> dict[str, int]:
    """Return the parameters that have one value by the context, with their values."""
    found: dict[str, int] = {}
    for k in range(context.dim(isl.dim_type.param)):
        name = context.get_dim_name(isl.dim_type.param, k)
        value = context.plain_get_val_if_fixed(isl.dim_type.param, k)
        if name is not None and value.is_int():
            found[name] = value.to_python()
    return found


def _kernel(kernel: Kernel, values: Mapping[str, int]) -> Kernel:
    body = tuple(_with_values(stmt, values) for stmt in kernel.body)
    return pruned(replace(kernel, storage=tuple(_storage(s, values) for s in kernel.storage), body=body))


def _storage(home: Storage, values: Mapping[str, int]) -> Storage:
    extents = tuple(None if e is None else _with_values(e, values) for e in home.extents)
    return replace(home, extents=extents)


def _with_values(node: Any, values: Mapping[str, int]) -> Any:
    """Replace the names of parameters by their values in a tree, and fold constants."""

    def change(inner: Any) -> Any:
        if isinstance(inner, Name):
            return _value(inner, values[inner.name]) if inner.name in values else inner
        return fold_node(inner)

    return rewrite(node, change)


def _value(name: Name, value: int) -> Expr:
    if name.type.kind == "int" and name.type.signed:
        return constant(value, name.type)
    return Cast(name.type, lift(value))
