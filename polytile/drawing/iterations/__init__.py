"""Pictures of iterations: instances as points over one or two loops, where they run, and what depends on what."""

from polytile.drawing.iterations.build import drawing_of
from polytile.drawing.iterations.picture import to_svg

__all__ = ["drawing_of", "to_svg"]
