"""The text of a .cu is printed once for a program, and anew for another one."""

from __future__ import annotations

from dataclasses import replace

import polytile
from polytile.codegen.targets.cuda.cuda import print_unit
from polytile.runtime.cuda_text_cache import located_unit

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
