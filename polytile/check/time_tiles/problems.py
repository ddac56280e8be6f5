"""What is wrong with the time tile of a certificate's program, by the shape of the tile."""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polytile.check.relations import Check
from polytile.check.time_tiles.overlapped import overlapped_problems
from polytile.check.time_tiles.split import check_split
from polytile.check.time_tiles.wrong_tile import WrongTileError


def time_tile_problems(program: Check, tile: Check, visible: list[str], context: isl.Set) -> Iterator[str]:
    """Yield what is wrong with a tile of a program, a line each; `visible` are arrays that are seen after it."""
    try:
        match tile["shape"]:
            case "split":
                check_split(program, tile, context)
            case "overlapped":
                yield from overlapped_problems(program, tile, visible, context)
            case shape:
                yield f"there are no time tiles of the shape {shape}"
    except WrongTileError as error:
        yield f"{tile['shape']} tiles: {error}"
