"""What users are told where no loop can be cut: the first reason, its place, and what to write instead."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from polytile.diagnostics import Location, UserError
from polytile.distribution.axes import NotCut
from polytile.ir.expr import Access, Assign, For, Scope, While
from polytile.ir.expr_trees import statements, walk
from polytile.ir.reductions import accumulation, partial_type
from polytile.ir.scop import AccessKind, AccessRelation, Origin, Scop, Statement

_BEHIND = "or compute it behind the SCoP, from gathered arrays or from the parts of all ranks"
_ANY = "ranks cut parallel loops whose iterations read others at a bounded distance"


def nothing_to_cut(scop: Scop, refused: Sequence[NotCut], *, timed: bool) -> UserError:
    """Return the error for a SCoP of which ranks can cut no loop; `timed` says that the first iterator of all
    statements is the time loop's."""
    located = [r.location for r in refused if r.location.line]
    reasons = "; ".join(f"loops over {r.name}: {r.reason}" for r in refused)
    found = _combining(scop, located, timed) or ((located[0], _ANY) if located else None)
    said = f"no loop can be cut ({reasons})" if reasons else "no loop can be cut"
    if not refused and (by_data := next(filter(_loops_by_data, scop.statements), None)):
        said = "data decide how often its loop runs"
        hint = "let the SCoP run a number of steps that is known before, in a loop outside of it that asks the data"
        found = by_data.location, hint
    location, instead = found or (scop.location, _ANY)
    return UserError(f"{scop.name} cannot be distributed: {said}", location=location, hint=instead)


def _loops_by_data(statement: Statement) -> bool:
    """Return whether a statement that runs once has loops in its body."""
    return not statement.iterators and any(isinstance(s, (For, While, Scope)) for s in statements(*statement.body))


def _combining(scop: Scop, located: Sequence[Location], timed: bool) -> tuple[Location, str] | None:
    """Return where the first statement is that combines what several iterations compute in a way that ranks do not, and
    what to write instead; of statements at these places, or of all where there are none."""
    for statement in scop.statements:
        for access in statement.accesses:
            updated = access.writes and any(a.array == access.array for a in statement.relations(AccessKind.READ))
            external = scop.array(access.array).origin is Origin.EXTERNAL
            here = access.location in located or (not located and bool(statement.iterators))
            if updated and external and here and _is_shared(statement, access, timed):
                return access.location, _instead(scop, statement, access.array)
    return None


def _is_shared(statement: Statement, access: AccessRelation, timed: bool) -> bool:
    """Return whether several iterations, of one step, write the same element; a loop around nothing else is no time
    loop, though it carries values, as in `for (i) s = 0.9 * s + A[i]`."""
    own = access.relation.intersect_domain(statement.domain)
    pairs = own.apply_range(own.reverse())
    pairs = pairs.equate(isl.dim_type.in_, 0, isl.dim_type.out, 0) if timed and len(statement.iterators) > 1 else pairs
    return not pairs.is_subset(isl.Map.identity(pairs.get_space()))


def _instead(scop: Scop, statement: Statement, array: str) -> str:
    """Say what to write instead of a statement that combines into an array in a way that ranks do not."""
    found = accumulation(statement.body[0]) if len(statement.body) == 1 else None
    if found is None or found.target.array != array:
        return _no_reduction(statement, array)
    target, value = found.target.type.name, found.value.type.name
    if partial_type(found) is None and target != value:
        return (
            f"{array} is converted to {target} behind each {value} that it combines: let it be a {value}, or convert "
            f"each {value} to {target} before"
        )
    readers = [s for s in scop.accessing(array) if s is not statement and s.reduction != statement.reduction]
    if any(a.array == array for s in readers for a in s.relations(AccessKind.READ)):
        return f"combine {array} in a loop that does not read it: read it behind that loop, {_BEHIND}"
    return f"combine (by {found.op}) into one element of {array} in each step, the same for all iterations, {_BEHIND}"


def _no_reduction(statement: Statement, array: str) -> str:
    """Say the same of what is no sum, minimum or maximum."""
    assigned = [s.target for s in statements(*statement.body) if isinstance(s, Assign)]
    if len({str(t) for t in assigned}) > 1:
        return f"find {array} alone, as a sum, a minimum or a maximum, and what goes with it in a loop behind that one"
    target = next((t for t in assigned if isinstance(t, Access) and t.array == array), None)
    if any(isinstance(n, Access) and n.array == array and n != target for n in walk(*statement.body)):
        return f"what is combined into {array} reads another element of {array}: let that be another array"
    return f"ranks combine sums, minima and maxima, {array} += e, of which e does not depend on {array}"
