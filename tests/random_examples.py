"""How many random programs a test takes, and which: the same ones every time unless POLYTILE_EXAMPLES asks for more."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings

_ASKED = os.environ.get("POLYTILE_EXAMPLES")


def examples(usual: int) -> int:
    """The number that POLYTILE_EXAMPLES names, else the usual one."""
    return usual if _ASKED is None else int(_ASKED)


def drawn(count: int) -> settings:
    """So many examples, none of them kept, shrunk or timed: each compiles and runs a program."""
    return settings(
        max_examples=count,
        derandomize=_ASKED is None,
        deadline=None,
        database=None,
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=list(HealthCheck),
    )
