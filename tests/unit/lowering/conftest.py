"""Programs compiled from a few lines of C and run in the emulator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import polytile
from tests.reading import shared


def c_text(arguments: str, body: str, before: str = "") -> str:
    return f"void f({arguments})\n{{\n{before}\n#pragma scop\n{body}\n#pragma endscop\n}}\n"


@pytest.fixture(scope="session")
def compiled() -> Callable[..., Any]:
    """`compiled(arguments, body, before, **settings)`: the only SCoP of such a program."""
    return shared(lambda *parts, **settings: polytile.compile(c_text(*parts), name="test.c", **settings).scops[0])


@pytest.fixture(scope="session")
def validated(emulator: None, compiled: Callable[..., Any]) -> Callable[..., Any]:
    """`validated(program, values, ...)`: compile with strict floating point and compare bits for all these values."""

    def check(program: tuple[str, ...], *values: dict[str, int], **settings: Any) -> Any:
        found = compiled(*program, strict=True, **settings)
        assert found.program is not None, "the program stays on the host"
        known = {p.name for p in found.scop.parameters}
        for given in values:
            found.validate(on="emulator", parameters={n: v for n, v in given.items() if n in known}, seed=1)
        return found

    return check
