"""Both loop trees of a Scop."""

from __future__ import annotations

from dataclasses import dataclass

from polytile.ir.isl_util import budget
from polytile.ir.scop import Scop
from polytile.options import MAX_OPERATIONS
from polytile.scheduling.dependences import Dependences
from polytile.scheduling.superposed.block_level import blocks
from polytile.scheduling.superposed.nest import Tree
from polytile.scheduling.superposed.search import search
from polytile.scheduling.superposed.thread_level import threads


@dataclass(frozen=True, slots=True)
class LoopTrees:
    """The schedules that blocks and threads are given loops from."""

    thread: Tree
    block: Tree


def loop_trees(
    scop: Scop, dependences: Dependences, *, relax: bool = True, max_operations: int = MAX_OPERATIONS
) -> LoopTrees:
    """`thread_level` and `block_level` at once, which share most of their work; raises as they do."""
    with budget(max_operations):
        found = search(scop, dependences, relax=relax)
        return LoopTrees(threads(found), blocks(found))
