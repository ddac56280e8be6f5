"""Large programs: each is compiled or refused with a place, and none is a bug of polytile's."""

from __future__ import annotations

from pathlib import Path

import pytest

import polytile
from polytile.diagnostics import UserError


def scop(body: str, parameters: str = "int n, double *restrict A, double *restrict B", before: str = "") -> str:
    return f"{before}\nvoid f({parameters})\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"


def each(count: int, text: str, glue: str = " ") -> str:
    return glue.join(text.replace("#", str(k)) for k in range(count))


LOOP = "for (int i = 0; i < n; i++) "
PLAIN = "int h#(int a)\n{\n int b = a * #;\n if (b > 3) b -= 2;\n while (b > 1) b /= 2;\n return b;\n}\n"
COMPILED = {
    "500 terms": scop(f"{LOOP}A[i] = {each(500, '#.5 * B[i]', ' + ')};"),
    "1000 nested additions": scop(f"{LOOP}A[i] = {'(' * 1000}B[i]{' + 1)' * 1000};"),
    "1000 signs": scop(f"{LOOP}A[i] = {'-(' * 1000}B[i]{')' * 1000};"),
    "5000 parentheses": scop(f"{LOOP}A[i] = {'(' * 5000}B[i]{')' * 5000};"),
    "500 choices": scop(f"{LOOP}A[i] = {each(500, 'B[i] > # ? # :')} 0;"),
    "200 conditions": scop(f"{LOOP}{each(200, 'if (B[i] != #)')} A[i] = 0;"),
    "100 blocks": scop(f"{LOOP}{'{' * 100}A[i] = 0;{'}' * 100}"),
    "50 sizes": scop(f"for (int i = 0; i < {each(50, 'n#', '+')}; i++) A[i] = 0;", each(50, "int n#,") + " double *A"),
    "200 arrays": scop(
        f"{LOOP}A[i] = {each(200, 'Y#[i]', '+')};", f"int n, double *A, {each(200, 'double *Y#', ', ')}"
    ),
    "20 dimensions": scop(
        f"{each(20, 'for (int i# = 0; i# < 2; i#++)')} C{each(20, '[i#]', '')} += 1;",
        "void",
        f"extern double C{'[2]' * 20};",
    ),
    "8 loops": scop(f"{each(8, 'for (int i# = 0; i# < n; i#++)')} A[{each(8, 'i#', '+')}] += 1;"),
    "20 statements": scop(f"{LOOP}{{ {each(20, 'A[i] = A[i] * #.5 + B[i];')} }}"),
    "50 locals": scop(
        f"{LOOP}{{ double t0 = B[i]; {' '.join(f'double t{k + 1} = t{k} * {k}.5;' for k in range(50))} A[i] = t50; }}"
    ),
    "10000 lines": each(500, PLAIN + "\n" * 3, "")
    + scop(f"{LOOP}A[i] = 0;")
    + each(500, PLAIN.replace("h#", "g#") + "\n" * 3, ""),
    "20 SCoPs": "\n".join(scop(f"{LOOP}A[i] = {k};").replace("f(", f"f{k}(") for k in range(20)),
    "a line of a megabyte": scop(
        f"{LOOP}A[i] = 0;", before=f'const char *s = "{"x" * 1_000_000}"; /* {"y" * 999999} */'
    ),
    "large remainders": scop(f"{LOOP}{each(6, 'if (i % (100003 + #) == #)')} A[i] = B[i];"),
    "64 bits of iterations": scop("for (long i = 0; i < 4294967296; i++) A[i] = i;"),
}
REFUSED = {
    "macros that double each other": (
        scop(
            f"{LOOP}A[i] = A12;",
            before="#define A0 1+1\n" + "".join(f"#define A{k + 1} {f'A{k}+' * 9}A{k}\n" for k in range(12)),
        ),
        "preprocessing:",
    ),
    "a file that includes itself": ('#include "big.c"\n' + scop(f"{LOOP}A[i] = 0;"), "nested"),
    "an array beyond memory": (scop(f"{LOOP}C[i][1] = 0;", before="extern double C[99][9223372036854775807];"), "size"),
    "a constant beyond 64 bits": (scop(f"{LOOP}A[i + {10**30}] = 0;"), "the constant 1" + "0" * 30),
}


@pytest.mark.slow(but="20 SCoPs")
@pytest.mark.parametrize("name", COMPILED)
def test_a_large_program_is_compiled(name: str) -> None:
    program = polytile.compile(COMPILED[name], name="big.c")
    assert not program.refusals
    assert len(program.programs) == (20 if name == "20 SCoPs" else 1)
    assert "polytile_f" in program.cuda
    assert ("const long bi" in program.cuda) == (name == "64 bits of iterations")


@pytest.mark.parametrize("name", REFUSED)
def test_a_program_that_is_too_large_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polytile.frontend.preprocess._SECONDS", 1.0)
    text, message = REFUSED[name]
    (tmp_path / "big.c").write_text(text)
    with pytest.raises(UserError) as refused:
        polytile.compile(tmp_path / "big.c")
    assert message in refused.value.message
    assert refused.value.location is not None


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("sizes", [{"steps": 0}, {"n": 0}, {"m": 1}])
def test_a_stencil_with_a_size_that_leaves_nothing_to_run_is_compiled(sizes: dict[str, int]) -> None:
    """Estimates of all schedules are 0 then, whatever the other sizes."""
    near = each(3, "A[i + # - 1][j][k] + A[i][j + # - 1][k] + A[i][j][k + # - 1]", " + ")
    loops = "".join(f"for (int {i} = 1; {i} < {n} - 1; {i}++) " for i, n in zip("ijk", "nml", strict=True))
    body = f"for (int t = 0; t < steps; t++) {{ {loops} B[i][j][k] = {near}; {loops} A[i][j][k] = B[i][j][k]; }}"
    text = scop(body, "int steps, int n, int m, int l, double A[n][m][l], double B[n][m][l]")
    assert polytile.compile(text, parameters=sizes).scops[0].program is not None
