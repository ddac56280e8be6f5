"""The proof of a time tile: its kernels leave in memory what the source leaves, by the lemma of the tile's shape."""

from __future__ import annotations

from polytile.ir.overlapped_tiles import OverlappedTiles
from polytile.ir.scop import Scop
from polytile.ir.split_tiles import SplitTiles
from polytile.scheduling.analysis.dependences import Dependences
from polytile.scheduling.proof.time_tiles.overlapped import prove_overlapped
from polytile.scheduling.proof.time_tiles.split import prove_split
from polytile.scheduling.proof.wrong_plans import WrongTimeTileError


def prove_time_tile(
    source: Scop, scop: Scop, dependences: Dependences, tile: OverlappedTiles | SplitTiles
) -> tuple[str, ...]:
    """Prove that the kernels of a tile do what `scop` does, in which arrays of `source` are seen.

    Returns what was shown, in lines for a reader. Raises WrongTimeTileError, with the first reason against it.
    """
    try:
        if isinstance(tile, SplitTiles):
            return prove_split(scop, dependences, tile)
        return prove_overlapped(source, scop, dependences, tile)
    except WrongTimeTileError as error:
        raise WrongTimeTileError(f"{scop.name}: {tile.title}: {error.message}") from None
