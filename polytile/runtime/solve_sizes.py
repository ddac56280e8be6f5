"""The sizes that a call leaves out, from the shapes of the arrays that it passes.

before: y of shape (5,) for y[n], A of shape (5, 4) for A[n][m]
after:  n = 5, m = 4, the one point of { [n, m] : n = 5 and n = 5 and m = 4 } within what is known of the sizes
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import islpy as isl

from polytile.dataclass import dataclass
from polytile.diagnostics import UsageError
from polytile.ir.def_use import mentioned_names
from polytile.ir.scop import Array, Scop
from polytile.runtime.parameters import affine_text, bounded, point, with_products
from polytile.runtime.signature import declared, signature

Shapes = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class _Equation:
    """That one extent of an array is what its argument has there."""

    array: Array
    values: isl.Set
    names: frozenset[str]


def solve_sizes(scop: Scop, given: Mapping[str, int], shapes: Shapes) -> dict[str, int]:
    """Solve for every parameter: take those of `given`, the others as the extents of arrays with `shapes` say.

    Raises UsageError where an extent contradicts another one, and where a size does not follow from any.
    """
    left_out = [p.name for p in scop.parameters if p.name not in given]
    if not left_out:
        return {p.name: given[p.name] for p in scop.parameters}
    known = bounded(scop).intersect_params(point(given))
    if known.is_empty():
        shown = ", ".join(f"{name}={value}" for name, value in given.items())
        raise _wrong(scop, f"{shown} contradicts what is known of the sizes: {scop.context}")
    equations = [e for e in _equations(scop, shapes) if not e.names.isdisjoint(left_out)]
    allowed = known
    for equation in equations:
        allowed = allowed.intersect_params(equation.values)
    if allowed.is_empty():
        raise _contradiction(scop, known, equations, shapes)
    values = {p.name: given[p.name] if p.name in given else _only(allowed, p.name) for p in scop.parameters}
    solved = with_products(scop, {name: value for name, value in values.items() if value is not None})
    unsolved = [p.name for p in scop.parameters if p.name not in solved]
    if unsolved:
        raise _unsolved(scop, unsolved, shapes)
    return {p.name: solved[p.name] for p in scop.parameters}


def _equations(scop: Scop, shapes: Shapes) -> list[_Equation]:
    """List what shapes say of sizes: an array in one dimension may stand for a C array of several, and says nothing."""
    sizes = frozenset(p.name for p in scop.parameters)
    found = []
    for array in scop.external_arrays:
        shape = shapes.get(array.name, ())
        if len(shape) != array.rank:
            continue
        for extent, length in zip(array.extents, shape, strict=True):
            text = affine_text(extent)
            names = frozenset(mentioned_names(extent)) if extent is not None and text else frozenset()
            if names and names <= sizes:
                listed = ", ".join(sorted(names))
                found.append(_Equation(array, isl.Set(f"[{listed}] -> {{ : {text} = {length} }}"), names))
    return found


def _only(allowed: isl.Set, name: str) -> int | None:
    """Return the one value that a parameter can have, or None."""
    values = isl.Set.from_params(allowed.params())
    position = values.find_dim_by_name(isl.dim_type.param, name)
    values = values.move_dims(isl.dim_type.set, 0, isl.dim_type.param, position, 1)
    low, high = values.dim_min_val(0), values.dim_max_val(0)
    return int(low.to_python()) if low.is_int() and low.eq(high) else None


def _wrong(scop: Scop, message: str, hint: str = "") -> UsageError:
    return UsageError(f"{scop.name}: {message}", hint=hint or f"the call is {signature(scop)}")


def _contradiction(scop: Scop, known: isl.Set, equations: Sequence[_Equation], shapes: Shapes) -> UsageError:
    """Report the fewest extents that no sizes fit: one or two, but for artful ones."""
    fewest = next((s for count in (1, 2, 3) for s in combinations(equations, count) if _none(known, s)), equations)
    arrays = {e.array.name: e.array for e in fewest}.values()
    fit = ("no sizes fit", "no sizes fit both", "no sizes fit all")[min(len(arrays), 3) - 1]
    return _wrong(scop, f"{' and '.join(_passed(scop, array, shapes) for array in arrays)}: {fit}")


def _none(known: isl.Set, equations: Sequence[_Equation]) -> bool:
    for equation in equations:
        known = known.intersect_params(equation.values)
    return bool(known.is_empty())


def _passed(scop: Scop, array: Array, shapes: Shapes) -> str:
    return f"{declared(scop, array)} has shape {tuple(shapes[array.name])}"


def _unsolved(scop: Scop, unsolved: Sequence[str], shapes: Shapes) -> UsageError:
    reasons = []
    for name in unsolved:
        telling = [a for a in scop.external_arrays if any(e and name in mentioned_names(e) for e in a.extents)]
        if not telling:
            reasons.append(f"no array has {name} as an extent")
        else:
            reasons.append(f"{name} would follow from the extents of {_told(scop, telling, shapes)}")
    passed = ", ".join(f"{name}=..." for name in unsolved)
    return _wrong(scop, f"missing: {', '.join(unsolved)}", f"{'; '.join(reasons)}: pass {passed}")


def _told(scop: Scop, arrays: Sequence[Array], shapes: Shapes) -> str:
    return " or ".join(_passed(scop, array, shapes).replace(" has shape ", ", which has shape ") for array in arrays)
