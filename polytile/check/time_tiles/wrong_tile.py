"""Why a time tile is wrong, or cannot be checked."""

from __future__ import annotations


class WrongTileError(Exception):
    """The first reason against a tile."""


def require(holds: bool, what: str) -> None:
    """Raise WrongTileError unless it holds."""
    if not holds:
        raise WrongTileError(what)
