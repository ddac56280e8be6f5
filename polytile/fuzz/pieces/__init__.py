"""Pieces of programs as people write them: each draws a few statements for a place; they nest in one another.

A piece gives nothing where the place, the depth that is left or the program's arrays do not allow it.
"""

from __future__ import annotations

from polytile.fuzz.pieces.counting import COUNTING
from polytile.fuzz.pieces.indirect import INDIRECT
from polytile.fuzz.pieces.jumps import DATA_LOOPS, JUMPS
from polytile.fuzz.pieces.scalars import SCALARS
from polytile.fuzz.pieces.subscripts import SUBSCRIPTS
from polytile.fuzz.statements import Piece

FAMILIES: tuple[tuple[Piece, ...], ...] = (SUBSCRIPTS, COUNTING, JUMPS, DATA_LOOPS, INDIRECT, SCALARS)
