"""What the barriers around copies are for, for the reader of a kernel, and which of them follow another one.

before: for (k0) { fill A_tile; barrier; products; barrier; }
after:  the first: "A_tile must be filled ...", the second: "all are done with A_tile ..."
"""

from __future__ import annotations

from collections.abc import Mapping

import islpy as isl

from polytile.codegen.lowering.placed_accesses import PlacedCopy
from polytile.ir.copy_tree import DRAIN, FILL
from polytile.ir.expr import Declare, For, If, Stmt
from polytile.ir.expr_trees import with_bodies
from polytile.ir.isl_util import sets
from polytile.ir.kernel import Barrier, Comment

Copies = Mapping[str, PlacedCopy]


def without_second_barriers(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Remove barriers from a kernel that directly follow another one.

    A loop whose body ends with a barrier counts as one: in its last iteration, or before the loop, a barrier is the
    last that happened.

    before: fill; barrier; for (t) { step; barrier; } barrier; drain;
    after:  fill; barrier; for (t) { step; barrier; } drain;
    """
    found: list[Stmt] = []
    met = False  # whether nothing happened since the last barrier
    for stmt in body:
        if isinstance(stmt, For | If):
            stmt = with_bodies(stmt, without_second_barriers)
        if isinstance(stmt, Barrier):
            if not met:
                found.append(stmt)
            met = met or stmt.scope == "block"
            continue
        loop = isinstance(stmt, For) and bool(stmt.body) and isinstance(stmt.body[-1], Barrier)
        met = met and (loop or isinstance(stmt, Declare | Comment))
        found.append(stmt)
    return tuple(found)


def copy_reasons(node: isl.ScheduleNode, copies: Copies) -> list[str]:
    """Return the reason for the barrier of a band, or for those after the children of a sequence.

    A reason is empty where there are no copies.
    """
    if node.get_type() == isl.schedule_node_type.band:
        cells = _placements(node, copies)
        return [f"all are done with {cells} before the next iteration" if cells else ""]
    parts = [node.child(i).child(0) for i in range(node.n_children())]
    return [_between(part, after, copies) for part, after in zip(parts, [*parts[1:], None], strict=True)]


def _between(part: isl.ScheduleNode, after: isl.ScheduleNode | None, copies: Copies) -> str:
    filled = _placements(part, copies, FILL)
    if filled and all(name in copies for name in _names(part)):
        return f"{filled} must be filled before threads read each other's part"
    drained = _placements(after, copies, DRAIN) if after is not None else ""
    return f"{drained} must be complete before it is stored" if drained else ""


def _placements(node: isl.ScheduleNode, copies: Copies, kind: str = "") -> str:
    """Name the placements whose copies, of one kind or any, run below a node, joined by "and"."""
    found = [copies[name] for name in _names(node) if name in copies]
    wanted = [c.placement.name for c in found if c.run.dealt_out and kind in ("", c.run.kind)]
    return " and ".join(dict.fromkeys(wanted))


def _names(node: isl.ScheduleNode) -> list[str]:
    return [s.get_tuple_name() for s in sets(node.get_domain())]
