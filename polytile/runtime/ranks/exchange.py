"""One exchange of halos: messages with all arrays in them, packed and unpacked by kernels, made once for many periods.

A message is, for each box of an array, for each plane of it that is exchanged, the elements in row-major order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

from polytile.dataclass import dataclass
from polytile.diagnostics import InternalError
from polytile.distribution.boxes import opposite
from polytile.distribution.plan import DistributionPlan, HaloExchange
from polytile.distribution.transfers import ArrayBox, ExchangeMode, Transfer, rounds
from polytile.runtime.ranks.kernels import CompiledPlan
from polytile.runtime.ranks.local_grid import LocalGrid
from polytile.runtime.ranks.messages import Messages, Route, Transport
from polytile.runtime.ranks.place import Place
from polytile.runtime.ranks.records import Traffic


@dataclass(frozen=True, slots=True)
class Piece:
    """A box of an array in a message; `plane` is the number of the plane among those that are exchanged."""

    array: str
    box: Mapping[str, int]
    plane: int | None
    elements: Any  # a view of the message


@dataclass(frozen=True, slots=True)
class Round:
    """Messages that go at once, and what is in them."""

    messages: Messages
    sent: tuple[Piece, ...]
    received: tuple[Piece, ...]
    traffic: Traffic
    buffer_bytes: int


def fixed_arguments(plan: DistributionPlan, local: LocalGrid) -> dict[str, int]:
    """Return the arguments of kernels that are the same in all launches of a rank: sizes, and where its arrays are."""
    given = dict(local.sizes)
    for names, (first, end) in zip(plan.boxes, local.stored, strict=True):
        given |= {names.offset: first, names.extent: end - first}
    return given


class Exchange:
    """The exchange of some halos by one rank. Tags of messages are `first_tag` and further ones."""

    def __init__(
        self,
        compiled: CompiledPlan,
        exchanges: Sequence[HaloExchange],
        local: LocalGrid,
        mode: ExchangeMode,
        transport: Transport,
        first_tag: int,
    ) -> None:
        self.compiled = compiled
        self.local = local
        both = (*compiled.plan.before, *compiled.plan.between)
        self.plane_dimension = {e.array: e.plane for e in both if e.plane is not None}
        self.planes = {e.array: e.planes or self._all_planes(e.array) for e in exchanges}
        self.first_tag = first_tag
        fixed = fixed_arguments(compiled.plan, local)
        self.packs = {e.array: compiled.copies[e.array].pack.bind(fixed) for e in exchanges}
        self.unpacks = {e.array: compiled.copies[e.array].unpack.bind(fixed) for e in exchanges}
        each = rounds(local.grid, local.rank, exchanges, mode)
        self.rounds = tuple(self._round(transfers, transport) for transfers in each)

    @property
    def traffic(self) -> Traffic:
        """What the rank sends in one exchange."""
        return sum((r.traffic for r in self.rounds), Traffic())

    @property
    def buffer_bytes(self) -> int:
        """The bytes of all buffers."""
        return sum(r.buffer_bytes for r in self.rounds)

    def pack(self, number: int, step: int, arrays: Mapping[str, Any], place: Place, *, side: bool) -> None:
        """Pack what is sent in a round of the exchange in front of a step."""
        for piece in self.rounds[number].sent:
            self.packs[piece.array](self._arguments(piece, step, arrays), place.queue(side=side))

    def unpack(self, number: int, step: int, arrays: Mapping[str, Any], place: Place, *, side: bool) -> None:
        """Unpack what was received in a round."""
        for piece in self.rounds[number].received:
            self.unpacks[piece.array](self._arguments(piece, step, arrays), place.queue(side=side))

    def _arguments(self, piece: Piece, step: int, arrays: Mapping[str, Any]) -> dict[str, Any]:
        copy = self.compiled.copies[piece.array]
        given = {**piece.box, copy.array: arrays[piece.array], copy.buffer: piece.elements}
        if piece.plane is not None:
            planes = self.planes[piece.array]
            given[copy.plane] = planes[step % len(planes)][piece.plane]
        return given

    def _all_planes(self, array: str) -> tuple[tuple[int, ...], ...]:
        """Return the planes of an exchange of all of an array, where copies take one at a time."""
        dimension = self.plane_dimension.get(array)
        return () if dimension is None else (tuple(range(self.local[array].shape[dimension])),)

    def _round(self, transfers: Sequence[Transfer], transport: Transport) -> Round:
        sends = [list(self._places(t.sends)) for t in transfers]
        receives = [list(self._places(t.receives)) for t in transfers]
        routes = [
            Route(t.neighbour, _size(out), _size(back), self._tag(t.direction), self._tag(opposite(t.direction)))
            for t, out, back in zip(transfers, sends, receives, strict=True)
        ]
        messages = transport.messages(routes)
        sizes = [route.sends for route in routes if route.sends]
        return Round(
            messages,
            tuple(self._pieces(sends, messages.sending)),
            tuple(self._pieces(receives, messages.receiving)),
            Traffic(len(sizes), sum(sizes)),
            sum(route.sends + route.receives for route in routes),
        )

    def _tag(self, direction: tuple[int, ...]) -> int:
        """Return the tag of messages that travel in a direction."""
        number = 0
        for d in direction:
            number = 3 * number + d + 1
        return self.first_tag + number

    def _places(self, boxes: Sequence[ArrayBox]) -> Iterator[tuple[ArrayBox, int | None, int, int]]:
        """Yield each box of each plane, with where it begins and ends in a message, in bytes.

        It begins at a multiple of an element.
        """
        end = 0
        for one in boxes:
            planes = self.planes[one.array]
            if len({len(each) for each in planes}) > 1:
                raise InternalError(f"{one.array}: exchanges of different numbers of planes")
            for plane in range(len(planes[0])) if planes else (None,):
                size = self.local[one.array].dtype.itemsize
                start = end + -end % size
                end = start + self._elements(one) * size
                yield one, plane, start, end

    def _elements(self, one: ArrayBox) -> int:
        """Count the elements of a box, of one plane where planes are exchanged."""
        array, shape = self.compiled.plan.array(one.array), self.local[one.array].shape
        plane = self.plane_dimension.get(one.array)
        whole = [n for k, (axis, n) in enumerate(zip(array.axes, shape, strict=True)) if axis is None and k != plane]
        cut = [one.box[axis] for axis in array.axes if axis is not None]
        return prod(whole) * prod(end - first for first, end in cut)

    def _pieces(self, places: Sequence[Any], buffers: Sequence[Any]) -> Iterator[Piece]:
        for each, buffer in zip(places, buffers, strict=True):
            for one, plane, start, end in each:
                copy, array = self.compiled.copies[one.array], self.compiled.plan.array(one.array)
                box = self.local.positions(one.box)
                named: dict[str, int] = {}
                for axis, first, count in zip(array.axes, copy.first, copy.count, strict=True):
                    if axis is not None:
                        named |= {first: box[axis][0], count: box[axis][1] - box[axis][0]}
                yield Piece(one.array, named, plane, buffer[start:end].view(self.local[one.array].dtype))


def _size(places: Sequence[tuple[ArrayBox, int | None, int, int]]) -> int:
    return places[-1][3] if places else 0
