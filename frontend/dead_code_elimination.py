"""Statements whose values nothing sees are left out (dead code elimination, Cytron et al. 1991, by whole variables).

before: for (i) { k = i - 1; l = 2 * i; a[i] = b[i]; }        k and l are variables of the function, read nowhere else
after:  for (i) a[i] = b[i];

Generated loops set such variables by the dozen, and each would be a statement with dependences of its own. A statement
is of use where it writes what may be read after the SCoP, or what a statement of use reads; those that call what is not
known here, and loops that data end, are kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from polytile.frontend.drafts import Draft
from polytile.frontend.shapes import Shapes
from polytile.ir.expr import Invoke, While, statements
from polytile.ir.scop import AccessKind

_WRITES = (AccessKind.WRITE, AccessKind.MAY_WRITE)


def without_dead_code(drafts: Sequence[Draft], shapes: Shapes) -> list[Draft]:
    """The statements that are of use; all of them where none is, as the SCoP is refused otherwise."""
    writers: dict[str, list[Draft]] = {}
    for draft in drafts:
        for name in _arrays(draft, *_WRITES):
            writers.setdefault(name, []).append(draft)
    reached = [d for d in drafts if _is_seen(d, shapes)]
    used = {d.name for d in reached}
    read: set[str] = set()
    while reached:
        for name in _arrays(reached.pop(), AccessKind.READ) - read:
            read.add(name)
            found = [d for d in writers.get(name, ()) if d.name not in used]
            used.update(d.name for d in found)
            reached += found
    return [d for d in drafts if d.name in used] or list(drafts)


def _is_seen(draft: Draft, shapes: Shapes) -> bool:
    """Whether a statement does what may be seen after the SCoP, or outside of it."""
    if any(isinstance(s, Invoke | While) for s in statements(*draft.body)):
        return True
    written = _arrays(draft, *_WRITES)
    return not written or not all(shapes.found[name].is_own and not shapes.found[name].extents for name in written)


def _arrays(draft: Draft, *kinds: AccessKind) -> set[str]:
    return {a.access.array for a in draft.accesses if a.kind in kinds}
