"""Directives of OpenMP and others in front of loops that are detected, and inside of them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import polytile
from polytile.frontend.program import read_program

LOOP = "for (int i = 1; i < n; i++) a[i] = b[i];"
NEXT = "for (int i = 1; i < n; i++) b[i] += a[i - 1];"


def _found(body: str) -> tuple[list[str], list[str]]:
    text = f"void f(int n, double *a, double *b)\n{{\n{body}\n}}\n"
    program = read_program("x.c", text, autodetect=True)
    spans = [s.span for s in program.scops if s.span is not None]
    return [text[s.start : s.end] for s in spans], [r.error.message for r in program.remarks]


def test_a_directive_goes_with_its_loop() -> None:
    for directive in (
        "#pragma omp parallel for schedule(static) private(k)",
        "#  pragma omp parallel for \\\n    shared(a, b)",
        "#pragma omp simd",
        "#pragma GCC ivdep",
        "#pragma acc parallel loop\n  /* and */ // more\n#pragma unroll 4",
    ):
        assert _found(f"  n++;\n  {directive}\n  {LOOP}\n") == ([f"{directive}\n  {LOOP}"], [])


def test_directives_inside_a_loop_hide_nothing() -> None:
    whole = (
        f"for (int t = 0; t < 9; t++) {{\n#pragma omp parallel for\n{LOOP}\n    #pragma omp parallel for\n{NEXT}\n}}"
    )
    assert _found(whole) == ([whole], [])


def test_neighbours_with_directives_are_joined() -> None:
    both = f"#pragma omp parallel for\n{LOOP}\n#pragma omp parallel for\n{NEXT}"
    assert _found(both) == ([both], [])


def test_a_directive_in_front_of_something_else_stays() -> None:
    assert _found(f"#pragma omp barrier\nn++;\n{LOOP}") == ([LOOP], [])


def test_loops_in_parallel_regions_are_left_to_their_threads() -> None:
    for region in (
        f"#pragma omp parallel\n{{\n#pragma omp for\n{LOOP}\n}}",
        f"#pragma omp parallel num_threads(4)\n{{ int k = 0; {{ k++; }}\n{LOOP}\n}}",
        f"#pragma omp for nowait\n{LOOP}",
    ):
        scops, remarks = _found(f"{region}\n{NEXT}")
        assert scops == [NEXT]
        assert remarks == ["this loop is in a parallel region of OpenMP, each thread of which would run its kernel"]


def test_conditional_directives_hide_the_loop_around_them() -> None:
    scops, remarks = _found(f"for (int t = 0; t < 9; t++) {{\n#ifdef X\n{LOOP}\n#else\n{NEXT}\n#endif\n}}")
    assert scops == [NEXT] and "a macro or a directive hides" in remarks[0]


def test_what_is_written_compiles_with_openmp(tmp_path: Path) -> None:
    directive = "#pragma omp parallel for"
    body = f"{directive}\n{LOOP}\nn--;\n  {directive}\n{NEXT}"
    text = f"void f(int n, double *a, double *b)\n{{\n{body}\n}}\n"
    program = polytile.compile(text, name="f.c", autodetect=True)
    assert len(program.scops) == 2
    (tmp_path / "host.c").write_text(program.host)
    subprocess.run(["gcc", "-fopenmp", "-Werror", "-Wall", "-fsyntax-only", str(tmp_path / "host.c")], check=True)
