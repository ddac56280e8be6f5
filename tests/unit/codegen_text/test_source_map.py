"""The map from lines of a .cu to lines of the user's C."""

from __future__ import annotations

from polytile import compile
from polytile.codegen.targets.cuda.cuda import locate_unit, print_unit

SOURCE = """
void f(int n, double A[n][n], double x[n], int skip[n])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        x[i] = 1;
        for (int j = 0; j < n; j++)
            x[i] += A[i][j]
                    * A[j][i];
        x[i] *= 2;
        if (skip[i] > 0)
            x[i] = x[i] + 1;
    }
#pragma endscop
}
"""


def test_each_statement_has_its_own_line() -> None:
    program = compile(SOURCE, name="f.c").scops[0].program
    assert program is not None
    located = locate_unit([program], header="f.h", title=[])
    assert located.text == print_unit([program], header="f.h", title=[])
    lines = dict(enumerate(located.text.split("\n"), 1))
    found = {lines[number].split("//")[0].strip(): location.line for number, location in located.lines.items()}

    def line_with(text: str) -> set[int]:
        return {line for code, line in found.items() if text in code}

    assert line_with("= 1;") == {6}
    assert line_with("A[(long long)") == {8}
    assert line_with("*= 2;") == {10}  # the comment nearest above it is that of the loop
    assert line_with("skip[") == {11}
    assert {location.file for location in located.lines.values()} == {"f.c"}


def test_text_outside_kernels_comes_from_nowhere() -> None:
    program = compile(SOURCE, name="f.c").scops[0].program
    assert program is not None
    located = locate_unit([program], header="f.h", title=["a title"])
    end = next(n for n, line in enumerate(located.text.split("\n"), 1) if "Shared by the entry points" in line)
    assert located.lines and max(located.lines) < end
