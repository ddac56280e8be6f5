"""Time tiles in certificates."""

from __future__ import annotations

from typing import Any


def tile_of(scop: dict[str, Any]) -> dict[str, Any]:
    """The time tile of a certificate's SCoP, which has one, as it stands there."""
    found: dict[str, Any]
    (found,) = (plan["time_tile"] for plan in scop["plans"] if "time_tile" in plan)
    return found
