"""The index helpers as macros, which a block of C defines and takes back."""

from __future__ import annotations

from collections.abc import Iterable

_MACROS = {
    "polytile_min": "#define polytile_min(a, b) ((a) < (b) ? (a) : (b))",
    "polytile_max": "#define polytile_max(a, b) ((a) > (b) ? (a) : (b))",
    "polytile_floord": "#define polytile_floord(a, b) ((a) / (b) - ((a) % (b) < 0))",
}


def with_index_macros(lines: Iterable[str]) -> list[str]:
    """Put the macros that the lines use around them."""
    body = list(lines)
    used = [name for name in _MACROS if any(f"{name}(" in line for line in body)]
    return [*(_MACROS[name] for name in used), *body, *(f"#undef {name}" for name in used)]
