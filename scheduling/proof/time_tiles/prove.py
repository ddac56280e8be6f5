"""The proof of a time tile: its kernels leave in memory what the source leaves, by the lemma of the tile's shape."""

from __future__ import annotations

from polytile.ir.scop import Scop
from polytile.ir.split_plan import SplitPlan
from polytile.ir.stream_plan import StreamPlan
from polytile.scheduling.analysis.dependences import Dependences
from polytile.scheduling.proof.time_tiles.overlapped import prove_overlapped
from polytile.scheduling.proof.time_tiles.split import prove_split
from polytile.scheduling.proof.wrong_plans import WrongTimeTileError


def prove_time_tile(
    source: Scop, scop: Scop, dependences: Dependences, tile: StreamPlan | SplitPlan
) -> tuple[str, ...]:
    """Prove that the kernels of a tile do what `scop` does, in which arrays of `source` are seen.

    Returns what was shown, in lines for a reader. Raises WrongTimeTileError, with the first reason against it.
    """
    try:
        if isinstance(tile, SplitPlan):
            return prove_split(scop, dependences, tile)
        return prove_overlapped(source, scop, dependences, tile)
    except WrongTimeTileError as error:
        raise WrongTimeTileError(f"{scop.name}: {tile.title}: {error.message}") from None
