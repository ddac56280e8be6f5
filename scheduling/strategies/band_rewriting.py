"""Rebuilding bands: reordering, splitting and tiling of members, by their expressions instead of by position."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.isl_util import band_members


@dataclass(frozen=True, slots=True)
class Member:
    """One loop of a band: its expression on each statement, and whether it carries no dependence."""

    value: isl.UnionPwAff
    coincident: bool


def members_of(band: isl.ScheduleNode) -> list[Member]:
    """Return the members of a band node, outermost first."""
    return [
        Member(value, bool(band.band_member_get_coincident(i))) for i, value in enumerate(band_members(band))
    ]


def insert_band(node: isl.ScheduleNode, members: Sequence[Member], permutable: bool = True) -> isl.ScheduleNode:
    """Insert a band above `node` and return it; no members insert nothing."""
    if not members:
        return node
    partial = isl.MultiUnionPwAff.from_union_pw_aff(members[0].value)
    for member in members[1:]:
        partial = partial.flat_range_product(isl.MultiUnionPwAff.from_union_pw_aff(member.value))
    node = node.insert_partial_schedule(partial).band_set_permutable(int(permutable))
    for i, member in enumerate(members):
        node = node.band_member_set_coincident(i, int(member.coincident))
    return node


def tile(members: Sequence[Member], sizes: Sequence[int]) -> tuple[list[Member], list[Member]]:
    """Strip-mine each member of a permutable band by its size; members beyond the sizes are not tiled.

    before: [i, j, k] with sizes (32, 16)
    after:  tiles [floor(i/32), floor(j/16)], points [i - 32*floor(i/32), j - 16*floor(j/16), k]
    """
    tiles: list[Member] = []
    points: list[Member] = []
    for i, member in enumerate(members):
        if i >= len(sizes):
            points.append(member)
            continue
        size = isl.Val(sizes[i])
        quotient = member.value.scale_down_val(size).floor()
        tiles.append(Member(quotient, member.coincident))
        points.append(Member(member.value.sub(quotient.scale_val(size)), member.coincident))
    return tiles, points
