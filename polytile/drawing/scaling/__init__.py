"""Pictures of predicted scaling: works and clusters -> curves -> SVG."""

from __future__ import annotations

from polytile.drawing.scaling.build import picture_of, published_beside
from polytile.drawing.scaling.picture import to_svg

__all__ = ["picture_of", "published_beside", "to_svg"]
