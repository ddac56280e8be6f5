"""Statements whose values nothing sees are left out (dead code elimination, Cytron et al. 1991, by whole variables).

before: for (i) { k = i - 1; l = 2 * i; a[i] = b[i]; }        k and l are variables of the function, read nowhere else
after:  for (i) a[i] = b[i];

Generated loops set such variables by the dozen, and each would be a statement with dependences of its own. A statement
is of use where it writes what may be read after the SCoP, or what a statement of use reads; those that call what is not
known here, and loops that data end, are kept, and so are those that read arrays which nothing else uses, or whose size
their accesses tell: the sequential C, which has all statements, needs memory for them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from polytile.frontend.delinearised_statements import Draft
from polytile.frontend.shapes import Shapes
from polytile.ir.expr import Invoke, While
from polytile.ir.expr_trees import statements
from polytile.ir.scop import AccessKind

_WRITES = (AccessKind.WRITE, AccessKind.MAY_WRITE)


def without_dead_code(drafts: Sequence[Draft], shapes: Shapes) -> list[Draft]:
    """The statements that are of use; all of them where none is, as the SCoP is refused otherwise."""
    writers: dict[str, list[Draft]] = {}
    for draft in drafts:
        for name in _arrays(draft, *_WRITES):
            writers.setdefault(name, []).append(draft)
    used: set[str] = set()
    read: set[str] = set()
    reached = [d for d in drafts if _is_seen(d, shapes)]
    while reached:
        used.update(d.name for d in reached)
        while reached:
            for name in _arrays(reached.pop(), AccessKind.READ) - read:
                read.add(name)
                found = [d for d in writers.get(name, ()) if d.name not in used]
                used.update(d.name for d in found)
                reached += found
        known = {name for d in drafts if d.name in used for name in _arrays(d, *AccessKind)}
        reached = [d for d in drafts if d.name not in used and _needs_memory(d, known, shapes)]
    return [d for d in drafts if d.name in used] or list(drafts)


def _needs_memory(draft: Draft, known: Collection[str], shapes: Shapes) -> bool:
    """Whether a statement reads arrays from outside that are not `known`, or of a size that the C does not say."""
    arrays = (shapes.found[name] for name in _arrays(draft, AccessKind.READ) if name in shapes.found)
    outer = (s for s in arrays if s.extents and s.variable.symbol is not None)
    return any(None in s.extents or s.variable.name not in known for s in outer)


def _is_seen(draft: Draft, shapes: Shapes) -> bool:
    """Whether a statement does what may be seen after the SCoP, or outside of it."""
    if any(isinstance(s, Invoke | While) for s in statements(*draft.body)):
        return True
    written = _arrays(draft, *_WRITES)
    return not written or not all(shapes.found[name].is_own and not shapes.found[name].extents for name in written)


def _arrays(draft: Draft, *kinds: AccessKind) -> set[str]:
    return {a.access.array for a in draft.accesses if a.kind in kinds}
