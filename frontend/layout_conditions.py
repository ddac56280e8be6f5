"""What a SCoP rests on of types that flags, attributes and other compilers change, as conditions of C.

before: struct record { char kind; double x; } r[100]; char *text;
after:  sizeof(r[0]) == 16 && __builtin_offsetof(__typeof__(r[0]), x) == 8, (__typeof__(text[0]))-1 < 0
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from polytile.frontend.scop_region import Symbol
from polytile.ir.expr import LONG, ULONG
from polytile.ir.scop import Scop

_COMPLEX = ("struct float_complex", "struct double_complex")  # which C lays out so


def layout_conditions(symbols: Iterable[Symbol]) -> tuple[str, ...]:
    """The conditions on the types of variables, over these variables."""
    return tuple(condition for symbol in symbols for condition in _conditions(symbol))


def rests_on_table(scop: Scop) -> bool:
    """Whether another compiler could have other types than those of x86-64 for what a SCoP touches."""
    types = {*(a.element for a in scop.arrays), *(p.type for p in scop.parameters)}
    return bool(scop.layouts) or not types.isdisjoint((LONG, ULONG))


def _conditions(symbol: Symbol) -> Iterator[str]:
    element = symbol.name + "[0]" * len(symbol.extents)
    if symbol.type.kind == "struct" and symbol.type.name not in _COMPLEX:
        yield f"sizeof({element}) == {symbol.type.size}"
        numbers = symbol.members or symbol.fields
        for (way, _), at in zip(numbers, symbol.offsets, strict=False):
            if not re.search(r"\[(?!0\])", way):  # the first element of arrays
                yield f"__builtin_offsetof(__typeof__({element}), {way}) == {at}"
    elif symbol.varies and symbol.type.kind == "int":
        if symbol.type.size > 1:
            yield f"sizeof({element}) == {symbol.type.size}"
        yield f"(__typeof__({element}))-1 {'<' if symbol.type.signed else '>'} 0"
    elif symbol.varies:
        yield f"sizeof({element}) == {symbol.type.size}"
