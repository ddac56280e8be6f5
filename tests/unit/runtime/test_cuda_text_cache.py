"""The text of a .cu is printed once for a program, and anew for another one."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

import polytile
from polytile.codegen.targets.cuda.cuda import locate_unit, print_unit
from polytile.runtime import cuda_text_cache
from polytile.runtime.cuda_text_cache import located_unit, remember_unit

SOURCE = """void f(int n, double a[restrict n])
{
#pragma scop
for (int i = 0; i < n; i++) a[i] *= 2;
#pragma endscop
}
"""


def test_a_program_is_printed_once() -> None:
    program = polytile.compile(SOURCE).scops[0].program
    assert program is not None
    found = located_unit([program], header="h", title=["t"])
    assert found.text == print_unit([program], header="h", title=["t"])
    assert located_unit([program], header="h", title=["t"]) is found
    assert located_unit([program], header="g", title=["t"]).text != found.text


def test_a_changed_program_is_printed_anew() -> None:
    program = polytile.compile(SOURCE).scops[0].program
    assert program is not None
    changed = replace(program, kernels=(replace(program.kernels[0], summary=("another summary",)),))
    before, after = (located_unit([p], header="h", title=[]).text for p in (program, changed))
    assert "another summary" in after
    assert "another summary" not in before


def test_what_another_process_has_printed_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    program = polytile.compile(SOURCE).scops[0].program
    assert program is not None
    received, unit = pickle.loads(pickle.dumps((program, located_unit([program], header="h", title=[]))))
    monkeypatch.setattr(cuda_text_cache, "locate_unit", lambda *_, **__: pytest.fail("printed again"))
    remember_unit(unit, [received], header="h", title=[])
    assert located_unit([received], header="h", title=[]) is unit


def test_the_oldest_units_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    program = polytile.compile(SOURCE).scops[0].program
    assert program is not None
    monkeypatch.setattr(cuda_text_cache, "_known", {})
    found = [located_unit([program], header=f"{k}.h", title=[]) for k in range(cuda_text_cache.MAX_UNITS + 1)]
    assert len(cuda_text_cache._known) == cuda_text_cache.MAX_UNITS
    assert located_unit([program], header="1.h", title=[]) is found[1]
    assert located_unit([program], header="0.h", title=[]) is not found[0]


def test_kernels_keep_their_lines_beside_others() -> None:
    """Each text has the kernels of both SCoPs, in another order; a line leads to the same line of the C in both."""
    other = SOURCE.replace("void f", "void g").replace("*= 2", "+= 1")
    first, second = (s.program for s in polytile.compile(SOURCE + other).scops)
    assert first is not None and second is not None
    found = []
    for programs in ([first, second], [second, first]):
        unit = locate_unit(programs, header="h", title=[])
        texts = unit.text.split("\n")
        assert not any("\x1e" in line for line in texts)
        found.append(sorted((texts[number - 1], place.line) for number, place in unit.lines.items()))
    assert found[0] == found[1]
    assert {line for _, line in found[0]} == {4, 10}
