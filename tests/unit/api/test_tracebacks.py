"""Errors of callers come without frames of the package, where the host allows it."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polytile
from polytile.tracebacks import FULL

PACKAGE = str(Path(polytile.__file__).parent)
SOURCE = "void f(int n, double a[n])\n{\n#pragma scop\nfor (int i = 0; i < n; i++) a[i] += 1.0;\n#pragma endscop\n}\n"


def wrong_type() -> None:
    polytile.compile(SOURCE)["f"](a=np.zeros(3, np.float32))


CALLS = {
    "a call": wrong_type,
    "compile": lambda: polytile.compile(SOURCE, tile="x"),
    "settings": lambda: polytile.compile(SOURCE, tiles=3),  # type: ignore[call-arg]
    "a file": lambda: polytile.compile(Path("no/such/file.c")),
    "a name": lambda: polytile.compile(SOURCE)["g"],
    "isl": lambda: polytile.scop_from_isl(
        "f",
        domain=3,
        schedule="",
        reads="",
        writes="",
        bodies={},
        arrays=(),  # type: ignore[arg-type]
    ),
}


def frames(error: BaseException) -> list[str]:
    return [frame.name for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(PACKAGE)]


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_one_frame_is_left(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(polytile.PolytileError) as found:
        call()
    assert frames(found.value) == ["called"] and found.value.__suppress_context__
    monkeypatch.setenv(FULL, "full")
    with pytest.raises(polytile.PolytileError) as found:
        call()
    assert len(frames(found.value)) > 1


def test_ipython_shows_the_callers_lines_and_the_message() -> None:
    with pytest.raises(polytile.UsageError) as found:
        wrong_type()
    shown = "\n".join(found.value._render_traceback_())
    assert "in wrong_type" in shown and PACKAGE not in shown
    assert "UsageError: polytile: error: f_scop0: a holds float32, but the C element type is double" in shown
