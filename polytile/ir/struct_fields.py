"""The numbers in a struct, those in arrays and structs inside it too, one after another, each with its way.

before: struct body { int id; struct { double x, y; } at; double v[3]; };
after:  ("id", int), ("at.x", double), ("at.y", double), ("v[0]", double), ("v[1]", double), ("v[2]", double)

So the element of an array of structs is known by its subscripts and by one number more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TypeVar

_T = TypeVar("_T")
_INDEX = re.compile(r"\[(\d+)\]")
_WORD = re.compile(r"[^\W\d]\w*|\$[\w$]*")


def way_of(field: str) -> str:
    """Return the way to a number without its subscripts: "cells[].v[]" of "cells[1].v[2]"."""
    return _INDEX.sub("[]", field)


def spelt(field: str, inside: Sequence[str], name: Callable[[str], str] = str) -> str:
    """Return a way with subscripts, as C after a struct: ".cells[j].v[2]"; "" for no way. `name` spells its words."""
    if not field:
        return ""
    first, *rest = field.split("[]")
    parts = [_WORD.sub(lambda word: name(word[0]), part) for part in (first, *rest)]
    return "." + parts[0] + "".join(f"[{at}]{part}" for at, part in zip(inside, parts[1:], strict=True))


def positions(fields: Sequence[tuple[str, _T]], way: str) -> tuple[int, tuple[tuple[int, int], ...]]:
    """Return the number that a way leads to for subscripts of 0, and for each subscript its (extent, stride).

    Raises ValueError where it leads to none.
    """
    found = [k for k, (name, _) in enumerate(fields) if way_of(name) == way]
    if not found:
        raise ValueError(way)
    indices = {tuple(map(int, _INDEX.findall(fields[k][0]))): k for k in found}
    extents = [extent + 1 for extent in max(indices)]
    first, strides = found[0], []
    for k, extent in enumerate(extents):
        step = tuple(int(k == j) for j in range(len(extents)))
        strides.append((extent, indices[step] - first if extent > 1 else 0))
    return first, tuple(strides)


def offsets(fields: Sequence[tuple[str, int]]) -> tuple[tuple[int, ...], int, int]:
    """Return the offsets in bytes of numbers of given sizes, as C puts them, and the struct's size and alignment."""
    found: list[int] = []
    end, widest = 0, 1
    for _, group in groupby(fields, lambda field: _head(field[0])[0]):
        members = [(_head(name)[1], size) for name, size in group]
        if members[0][0]:
            inner, size, alignment = offsets(members)
        else:
            inner, size, alignment = (0,), members[0][1], members[0][1]
        start = -(-end // alignment) * alignment
        found += [start + at for at in inner]
        end, widest = start + size, max(widest, alignment)
    return tuple(found), -(-end // widest) * widest, widest


def _head(field: str) -> tuple[str, str]:
    """Split the first word or subscript from the way to a number.

    before: "cells[1].v[2]"    after: ("cells", "[1].v[2]"); "[1].v[2]" gives ("[1]", "v[2]")
    """
    found = re.match(r"\[\d+\]|[^.\[]+", field)
    assert found is not None
    return found[0], field[found.end() :].removeprefix(".")
