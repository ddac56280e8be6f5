"""isl's relations as arguments: text in isl's notation, or objects of islpy.

What islpy made in another context cannot be combined with what was made in ours, so that objects are read as text, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import islpy as isl

from polytile.diagnostics import UsageError, UserError

_Parsed = TypeVar("_Parsed")
SETS = (isl.BasicSet, isl.Set, isl.UnionSet)
MAPS = (isl.BasicMap, isl.Map, isl.UnionMap)
Relation = str | isl.BasicSet | isl.Set | isl.UnionSet | isl.BasicMap | isl.Map | isl.UnionMap
Order = Relation | isl.Schedule | isl.MultiUnionPwAff | isl.UnionPwMultiAff | isl.PwMultiAff | isl.MultiAff


def set_text(argument: str, value: Any) -> str:
    """A set in isl's notation."""
    return _text(argument, value, SETS, "a set")


def map_text(argument: str, value: Any) -> str:
    """A relation in isl's notation."""
    return _text(argument, value, MAPS, "a map")


def schedule_text(value: Any) -> str:
    """A schedule tree, or a relation of instances and dates, in isl's notation."""
    if isinstance(value, isl.MultiUnionPwAff):
        value = isl.UnionMap.from_multi_union_pw_aff(value)
    elif isinstance(value, isl.UnionPwMultiAff):
        value = isl.UnionMap.from_union_pw_multi_aff(value)
    elif isinstance(value, isl.PwMultiAff):
        value = isl.Map.from_pw_multi_aff(value)
    elif isinstance(value, isl.MultiAff):
        value = isl.Map.from_multi_aff(value)
    return _text("schedule", value, (*MAPS, isl.Schedule), "a map or a schedule tree")


def _text(argument: str, value: Any, kinds: tuple[type, ...], what: str) -> str:
    if isinstance(value, (str, *kinds)):
        return str(value)
    names = ", ".join(kind.__name__ for kind in kinds)
    message = f"{argument} must be {what}, not {type(value).__name__}"
    raise UsageError(message, hint=f"isl's notation, or {names} of islpy")


def parse(argument: str, kind: Callable[[str], _Parsed], text: str) -> _Parsed:
    """Read isl's notation; the error names the argument, because isl only says "syntax error"."""
    try:
        return kind(text)
    except isl.Error as problem:
        raise UserError(
            f"{argument} is not valid isl notation: {text.strip()[:80]}",
            hint=f"isl says: {str(problem).splitlines()[0] if str(problem) else 'syntax error'}",
        ) from None
