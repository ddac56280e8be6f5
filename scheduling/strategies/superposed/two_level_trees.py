"""Both loop trees of a Scop."""

from __future__ import annotations

from polytile.dataclass import dataclass
from polytile.ir.scop import Scop
from polytile.scheduling.analysis.dependences import Dependences
from polytile.scheduling.strategies.superposed.block_level import blocks
from polytile.scheduling.strategies.superposed.loop_tree import Tree
from polytile.scheduling.strategies.superposed.thread_level import threads
from polytile.scheduling.strategies.superposed.tree_search import OPERATIONS, bounded, search


@dataclass(frozen=True, slots=True)
class LoopTrees:
    """The schedules that blocks and threads are given loops from."""

    thread: Tree
    block: Tree


def loop_trees(
    scop: Scop, dependences: Dependences, *, relax: bool = True, max_operations: int = OPERATIONS
) -> LoopTrees:
    """Build both `thread_level` and `block_level`, which share most of their work; raises as they do."""
    with bounded(max_operations):
        found = search(scop, dependences, relax=relax)
        return LoopTrees(threads(found), blocks(found))
