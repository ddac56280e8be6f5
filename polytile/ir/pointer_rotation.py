"""What a SCoP does to variables of the function that are pointers, which kernels do not change."""

from __future__ import annotations

from polytile.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class PointerRotation:
    """Behind the SCoP each variable of `values` gets what the other one held before, all at once, where `condition`
    holds, C over the variables of the function: (("a", "b"), ("b", "a")) are two that change places."""

    condition: str
    values: tuple[tuple[str, str], ...]
