"""What kernels run: executions, each of an instance of a Scop or of a part of one.

each instance once:                         S[i] -> S[i]
lanes that share what one instance did:     C[i, lane] -> C[i]
halos that neighbouring tiles compute, too: S[tile, t, i] -> S[t, i]
"""

from __future__ import annotations

from dataclasses import field

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.schedule import MappedSchedule
from polytile.ir.scop import Scop
from polytile.ir.warp_reductions import WarpReduction
from polytile.scheduling.analysis.dependences import Dependences


@dataclass(frozen=True, slots=True)
class Executions:
    """What runs in place of a Scop's instances. The statements of `scop` are executions, with `dependences` between
    them, where and when `schedule` says; `instances` tells which instance each carries out, or a part of which.
    `warp_reductions` are the statements whose lanes combine what they hold."""

    scop: Scop
    dependences: Dependences
    schedule: MappedSchedule
    instances: isl.UnionMap = field(compare=False)
    warp_reductions: tuple[WarpReduction, ...] = ()

    def is_each_once(self, scop: Scop, dependences: Dependences) -> bool:
        """Return whether they are the instances of `scop` themselves."""
        if self.scop is not scop or self.dependences is not dependences or self.warp_reductions:
            return False
        return bool(self.instances.is_equal(itself(scop)))


def each_once(scop: Scop, dependences: Dependences, schedule: MappedSchedule) -> Executions:
    """Return the executions in which every instance of a Scop runs once."""
    return Executions(scop, dependences, schedule, itself(scop))


def itself(scop: Scop) -> isl.UnionMap:
    """Map every instance of a Scop to itself."""
    return isl.UnionSet.identity(scop.domain)
