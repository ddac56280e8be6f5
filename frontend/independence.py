"""What the user promises of loops: `#pragma polytile independent(x)` and PENCIL's `#pragma pencil independent`.

#pragma polytile independent(a)
for (int i = 0; i < n; i++) a[p[i]] = b[i];       no two iterations use the same element of a, if one writes it
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from pycparser import c_ast

from polytile.diagnostics import Location, UserError
from polytile.frontend.find_scops import pragma_text
from polytile.frontend.parse import location_of, nodes_below
from polytile.frontend.scope import Scope
from polytile.frontend.trees import block_items

EVERY = ""  # in place of a name: all arrays
Promises = tuple[tuple[str, Location], ...]  # (array, loop)
_POLYTILE = re.compile(r"polytile\s+independent\s*(?:\((?P<names>[^()]*)\))?")
_PENCIL = re.compile(r"pencil\s+independent")


def independent_loops(items: Sequence[c_ast.Node], scope: Scope) -> Promises:
    """The arrays that iterations of loops do not share, by name, with the places of the loops."""
    found: list[tuple[str, Location]] = []
    for block in _blocks(items):
        for k, item in enumerate(block):
            names = promised(item)
            if names is None:
                continue
            loop = next((other for other in block[k + 1 :] if not isinstance(other, c_ast.Pragma)), None)
            _check(item, loop, names, scope)
            found += [(name, location_of(loop)) for name in names]
    return tuple(dict.fromkeys(found))


def promised(node: c_ast.Node) -> tuple[str, ...] | None:
    """The arrays that a pragma promises something of; None for another node, or one that says more than is known."""
    text = pragma_text(node)
    if _PENCIL.fullmatch(text):
        return (EVERY,)
    found = _POLYTILE.fullmatch(text)
    if found is None:
        return None
    return (EVERY,) if found["names"] is None else tuple(name.strip() for name in found["names"].split(","))


def _blocks(items: Sequence[c_ast.Node]) -> Iterator[Sequence[c_ast.Node]]:
    yield items
    for item in items:
        for node in nodes_below(item):
            if isinstance(node, c_ast.Compound):
                yield block_items(node)


def _check(pragma: c_ast.Node, loop: c_ast.Node | None, names: Iterable[str], scope: Scope) -> None:
    if not isinstance(loop, c_ast.For):
        raise UserError(
            f"no `for` follows '#pragma {pragma_text(pragma)}'",
            location=location_of(pragma),
            hint="put it in front of the loop whose iterations are independent",
        )
    for name in names:
        if name != EVERY and scope.lookup(name) is None:
            raise UserError(
                f"'{name}' is no array that is known here",
                location=location_of(pragma),
                hint="name arrays that the loop uses: #pragma polytile independent(a, b)",
            )
