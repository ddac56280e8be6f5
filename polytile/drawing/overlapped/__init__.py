"""Pictures of overlapped tiles: one block of iterations of overlapped tiles, with what tiles compute more than once."""

from polytile.drawing.overlapped.build import drawing_of
from polytile.drawing.overlapped.picture import to_svg

__all__ = ["drawing_of", "to_svg"]
