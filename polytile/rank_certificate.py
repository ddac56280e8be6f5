"""What a certificate says of a plan for ranks: boxes, messages and programs of a rank with any part, as isl text.

Boxes are those that the arithmetic of integers (boxes.py, transfers.py) gives for a rank in the middle of a grid with
parts thicker than any halo, written with the bounds of its part: of a part 1000000..2000000, the box 999998..1000000
is `i_lower - 2 <= p < i_lower`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polytile.certificate import statements
from polytile.dataclass import dataclass
from polytile.distribution.boxes import Box, boundary_and_interior, grown
from polytile.distribution.plan import DistributionPlan, GlobalReduction, HaloExchange
from polytile.distribution.process_grid import ProcessGrid
from polytile.distribution.rank_combinations import RankCombination
from polytile.distribution.transfers import ExchangeMode, Transfer, rounds
from polytile.ir.expr import Name
from polytile.ir.name_supply import Names
from polytile.ir.scop import Origin, Scop

_PART = 1_000_000  # positions of a part along each axis
_MODES = {"at_once": ExchangeMode.DIAGONAL, "in_turn": ExchangeMode.BASIC}


def ranks_entry(plan: DistributionPlan, source: Scop) -> dict[str, Any]:
    """Return what `polytile check` proves anew of a plan, for the SCoP that was read."""
    return _Rank.of(plan).entry(source)


@dataclass(frozen=True, slots=True)
class _Rank:
    """A rank in the middle of a grid, and the names of the bounds of its part."""

    plan: DistributionPlan
    grid: ProcessGrid
    number: int
    lower: tuple[str, ...]
    upper: tuple[str, ...]
    start: str

    @classmethod
    def of(cls, plan: DistributionPlan) -> _Rank:
        names = Names.of(plan.scop)
        grid = ProcessGrid(tuple(3 for _ in plan.axes), tuple(3 * _PART for _ in plan.axes))
        lower, upper = (tuple(names.fresh(f"{a.name}_{end}") for a in plan.axes) for end in ("lower", "upper"))
        return cls(plan, grid, grid.rank([1 for _ in plan.axes]), lower, upper, names.fresh("start"))

    def entry(self, source: Scop) -> dict[str, Any]:
        plan, scop = self.plan, self.plan.scop
        sides, interior = boundary_and_interior(self._beyond(plan.phases[plan.split_phase].growth[0]), plan.boundary)
        return {
            "name": scop.name,
            "context": str(scop.context),
            "source": {**statements(source), "arrays": [a.name for a in source.arrays]},
            "program": {**statements(scop), "arrays": {a.name: a.root for a in scop.arrays}, "privatised": []},
            "visible": [a.name for a in scop.arrays if a.origin is Origin.EXTERNAL and a.live_out],
            "steps": plan.steps,
            "timed": bool(plan.step),
            "bounds": [list(pair) for pair in zip(self.lower, self.upper, strict=True)],
            "thickness": [max(reach) for reach in plan.halo],
            "start": self.start,
            "ends": [str(axis.end) for axis in plan.axes],
            "positions": {p.statement: [None if m is None else str(m) for m in p.positions] for p in plan.placements},
            "arrays": {a.name: self._array(a.name) for a in plan.arrays},
            "stored": self._text(self._beyond(plan.halo)),
            "phases": [
                {"statements": list(p.statements), "boxes": [self._text(self._beyond(g)) for g in p.growth]}
                for p in plan.phases
            ],
            "before": self._exchange(plan.before),
            "between": self._exchange(plan.between),
            "last": plan.split_phase,
            "sides": [self._text(box) for box in sides],
            "interior": self._text(interior),
            "programs": [self._program(local) for local in plan.local],
            "many_steps": self._many_steps(),
            "reductions": [self._reduction(*pair) for pair in zip(plan.reductions, plan.combinations, strict=True)],
        }

    def _beyond(self, reach: Sequence[tuple[int, int]]) -> Box:
        return grown(self.grid.owned(self.number), reach, self.grid.extents)

    def _text(self, box: Box) -> str:
        """Write a box with the bounds of the part."""
        p = [f"p{k}" for k in range(len(box))]
        each = zip(p, box, self.lower, self.upper, strict=True)
        within = (f"{_bound(a, lo, up)} <= {x} < {_bound(b, lo, up)}" for x, (a, b), lo, up in each)
        return f"[{', '.join((*self.lower, *self.upper))}] -> {{ [{', '.join(p)}] : {' and '.join(within)} }}"

    def _array(self, name: str) -> dict[str, Any]:
        array = self.plan.array(name)
        own = [a.origin for local in self.plan.local for a in local.arrays if a.name == name]
        return {
            "axes": list(array.axes),
            "extents": [e.name if isinstance(e, Name) else None for e in array.extents],
            "in_each_box": bool(own) and all(origin is not Origin.EXTERNAL for origin in own),
        }

    def _reduction(self, one: GlobalReduction, made: RankCombination) -> dict[str, Any]:
        """Return a sum, minimum or maximum over all ranks, and the positions whose terms a rank combines."""
        return {
            "statement": one.statement,
            "op": one.op,
            "target": one.target,
            "terms": one.terms,
            "result": one.result,
            "combining": one.combining,
            "kind": self.plan.scop.array(one.terms).element.kind,
            "parts": len(made.bounds),
            "box": self._text(self._beyond(one.reach)),
        }

    def _exchange(self, exchanges: Sequence[HaloExchange]) -> dict[str, Any]:
        planes = {e.array: {"dimension": e.plane, "in_turn": e.planes} for e in exchanges if e.plane is not None}
        messages = {
            how: [[self._message(one) for one in each] for each in rounds(self.grid, self.number, exchanges, mode)]
            for how, mode in _MODES.items()
        }
        return {"planes": planes, **messages}

    def _message(self, transfer: Transfer) -> dict[str, Any]:
        sends, receives = ([[b.array, self._text(b.box)] for b in way] for way in (transfer.sends, transfer.receives))
        return {"to": list(transfer.direction), "sends": sends, "receives": receives}

    def _program(self, local: Scop) -> dict[str, Any]:
        """Return what a rank runs of some statements, and which instance of the source each one is."""
        plan = self.plan
        return {
            **statements(local),
            "context": str(local.context),
            "step": plan.step,
            "count": "",
            "boxes": [{"first": b.first, "end": b.end, "offset": b.offset} for b in plan.boxes],
            "shifts": {s.name: str(plan.placement(s.name).shift) for s in local.statements},
        }

    def _many_steps(self) -> dict[str, Any] | None:
        plan = self.plan
        if plan.lead is None:
            return None
        box = plan.lead_box(self._beyond(plan.halo), self.grid.extents)
        return {**self._program(plan.lead), "count": plan.count, "box": self._text(box)}


def _bound(at: int, lower: str, upper: str) -> str:
    """Write a position with the nearer bound of a part."""
    name, far = (lower, at - _PART) if at < 3 * _PART // 2 else (upper, at - 2 * _PART)
    return name if far == 0 else f"{name} {'+' if far > 0 else '-'} {abs(far)}"
