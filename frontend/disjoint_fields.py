"""Fields of one variable, or of what one pointer leads to, that share no memory.

`p->n` and `p[i].v[k]`: whatever i and k are, since subscripts stay in their arrays
"""

from __future__ import annotations

from pycparser import c_ast

from polytile.frontend.must_reads import pointer_of
from polytile.frontend.scope import Scope
from polytile.frontend.trees import text_of


def are_disjoint(one: c_ast.Node, other: c_ast.Node, scope: Scope) -> bool:
    """Whether two places that belong to one variable are different fields, reached through the same pointer, if any."""
    pointers = [pointer_of(place, scope) for place in (one, other)]
    spelt = {None if pointer is None else text_of(pointer) for pointer in pointers}
    ways = [_way(place, pointer) for place, pointer in zip((one, other), pointers, strict=True)]
    return len(spelt) == 1 and any(a != b for a, b in zip(*ways, strict=False))


def _way(place: c_ast.Node, pointer: c_ast.Node | None) -> list[str]:
    """The names of the fields behind a pointer, or behind a variable: "in", "v" of `p[i].in.v[k]`."""
    found: list[str] = []
    while place is not pointer and isinstance(place, c_ast.StructRef | c_ast.ArrayRef):
        if isinstance(place, c_ast.StructRef):
            found.append(str(place.field.name))
        place = place.name
    return found[::-1]
