"""The tree of one kernel with tiles: blocks take tiles of the parallel loops, threads their points in turns.

before: (i, j)* { S0; k [S1] }
after:  kernel / block [i/64, j/64] / sequence {
            thread[16,16] [i mod 16, j mod 16] / points [(i mod 64)/16, (j mod 64)/16] / S0;
            loop[k0] [k/16] / thread[16,16] [i mod 16, j mod 16] / loop[k] [k mod 16] / points [..] / S1 }

Neighbouring threads have neighbouring iterations. Of the serial loops around a statement, the innermost one that is not
short runs in tiles, the others outside of what threads do, so that every sum keeps its order.
"""

from __future__ import annotations

from dataclasses import field

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.schedule import BLOCK, KERNEL, thread_mark
from polytile.scheduling.strategies.band_rewriting import Member
from polytile.scheduling.strategies.loop_nest import Band, Loop, Mark, Nest, Order, Point, domain_of, in_order
from polytile.scheduling.strategies.tiled.loop_labels import Labels
from polytile.scheduling.strategies.tiled.loop_roles import Roles
from polytile.scheduling.strategies.tiled.parallel_loops import Known, Members, has_long_loop, is_long, iterations
from polytile.scheduling.strategies.tiled.serial_loops import Distribution
from polytile.scheduling.strategies.tiled.tile_shapes import TileSizes


@dataclass(frozen=True, slots=True)
class KernelTree:
    """What one kernel is made from. Loops of up to `few` iterations stay inside tiles."""

    roles: Roles
    sizes: TileSizes
    labels: Labels
    distribution: Distribution
    known: Known = field(compare=False)
    few: int

    def build(self, outer: Members, inside: Nest) -> Nest:
        """Build the kernel that runs `inside` in the parallel loops; `outer` are the loops of the host."""
        nest = self._block(inside, (*outer, *self.roles.claimed))
        for member in reversed(self.roles.repeated):
            nest = self._labelled(member, nest)
        tiles = [_quotient(m, size) for m, size in zip(self.roles.tiled, self.sizes.tile, strict=True)]
        return Mark(KERNEL, Mark(BLOCK, Band((*self.roles.blocks, *tiles), nest)))

    def _block(self, nest: Nest, outer: Members) -> Nest:
        """Build what all threads of a block run."""
        match nest:
            case Order(children):
                return in_order([self._block(child, outer) for child in children])
            case Loop():
                return self._loop(nest, outer)
            case _:
                return self._threads(self._points(nest))

    def _loop(self, loop: Loop, outer: Members) -> Nest:
        parts = self.distribution.parts(loop, outer)
        if not isinstance(parts, Loop):
            return self._block(parts, outer)
        inner = (*outer, loop.member)
        if has_long_loop(parts.body, self.known, self.few, inner):
            return self._labelled(loop.member, self._block(parts.body, inner))
        if is_long(parts, self.known, self.few, outer):
            return self._tiled_loop(parts, outer)
        return self._threads(self._points(parts))

    def _tiled_loop(self, loop: Loop, outer: Members) -> Nest:
        name = self.labels.iterator(loop.member, domain_of(loop))
        size = self.sizes.serial_tile(iterations(loop.body, self.known, (*outer, loop.member)))
        if size == 1:
            return self._labelled(loop.member, self._threads(self._points(loop.body)))
        tile, within = (_serial(part(loop.member, size)) for part in (_quotient, _remainder))
        points = self._points(loop.body)
        inner = self._threads(self.labels.marked(name, Loop(within, points)))
        return self.labels.marked(f"{name}0", Loop(tile, inner))

    def _labelled(self, member: Member, body: Nest) -> Nest:
        return self.labels.marked(self.labels.iterator(member, domain_of(body)), Loop(_serial(member), body))

    def _threads(self, nest: Nest) -> Nest:
        """Put a thread band above what one thread runs."""
        own = zip(self.roles.tiled, self.sizes.tile, self.sizes.threads, strict=True)
        members = tuple(_thread(member, tile, threads) for member, tile, threads in own)
        return Mark(thread_mark(self.sizes.threads), Band(members, nest))

    def _points(self, nest: Nest) -> Nest:
        """Build what one thread runs, each statement for all points of the thread."""
        match nest:
            case Order(children):
                return in_order([self._points(child) for child in children])
            case Loop(member, body):
                return self._labelled(member, self._points(body))
            case Point():
                members = self._own_points()
                return self.labels.marked("points", Band(members, nest)) if members else nest
            case _:
                return nest

    def _own_points(self) -> tuple[Member, ...]:
        own = zip(self.roles.tiled, self.sizes.tile, self.sizes.threads, strict=True)
        several = [(m, tile, threads) for m, tile, threads in own if tile > threads]
        turns = tuple(_quotient(_remainder(m, tile), threads) for m, tile, threads in several)
        return (*map(_serial, self.roles.points), *map(_serial, turns))


def _serial(member: Member) -> Member:
    return Member(member.value, False)


def _quotient(member: Member, size: int) -> Member:
    if size == 1:
        return member
    return Member(member.value.scale_down_val(isl.Val(size)).floor(), member.coincident)


def _remainder(member: Member, size: int) -> Member:
    return Member(member.value.mod_val(isl.Val(size)), member.coincident)


def _thread(member: Member, tile: int, threads: int) -> Member:
    """Return the thread of each iteration.

    Neighbours have neighbouring threads, and those of a tile begin with the first.
    """
    return _remainder(member if tile % threads == 0 else _remainder(member, tile), threads)
