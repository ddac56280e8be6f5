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


def test_promises_hide_nothing_and_go_with_their_loops() -> None:
    for promise in ("polytile independent(a)", "pencil independent"):
        inside = f"for (int t = 0; t < 9; t++) {{\n#pragma {promise}\n{LOOP}\n}}"
        assert _found(inside) == ([inside], [])
        for both in (f"#pragma {promise}\n#pragma omp simd", f"#pragma omp simd\n  #pragma {promise}"):
            assert _found(f"n++;\n{both}\n{LOOP}") == ([f"{both}\n{LOOP}"], [])


def test_a_promise_about_indices_counts_with_a_directive_in_front() -> None:
    promise = "#pragma polytile independent(x)"
    text = (
        "void f(int n, int m, const int *p, double *x, const double *y)\n{\n"
        f"  #pragma omp parallel for\n  {promise}\n  for (int r = 0; r < n; r++) {{\n    {promise}\n"
        "    for (int c = 0; c < m; c++) x[p[r * m + c]] = y[c];\n  }\n}\n"
    )
    (scop,) = polytile.compile(text, name="f.c", autodetect=True).scops
    assert {loop.iterator for loop in scop.loops if loop.kind != "serial"} == {"r", "c"}


def test_the_promise_in_front_of_a_detected_loop_counts() -> None:
    copies = "for (int r = 0; r < n; r++) for (int c = 0; c < m; c++) x[p[r * m + c]] = y[c];"
    more = "for (int r = 0; r < n; r++) x[p[r]] += 1;"
    for promise in ("polytile independent(x)", "pencil independent"):
        body = f"#pragma {promise}\n{copies}\n#pragma {promise}\n{more}"
        text = f"void f(int n, int m, const int *p, double *x, const double *y)\n{{\n{body}\n}}\n"
        (scop,) = polytile.compile(text, name="f.c", autodetect=True).scops
        assert [loop.kind == "serial" for loop in scop.loops] == [False, True, False]


def test_a_loop_with_promises_stays_on_the_host_with_its_calls() -> None:
    text = (
        "void bump(int *p);\nvoid f(int n, int m, int h[256], unsigned char a[n][m])\n{\n#pragma scop\n"
        "  for (int b = 0; b < 256; b++) h[b] = 0;\n  #pragma pencil independent\n  for (int i = 0; i < n; i++) {\n"
        "    #pragma pencil independent\n    for (int j = 0; j < m; j++) bump(&h[a[i][j]]);\n  }\n#pragma endscop\n}\n"
    )
    program = polytile.compile(text, name="f.c")
    assert len(program.scops) == 1 and "bump(&h[a[i][j]]);" in program.host


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
        f"#pragma omp parallel\n#pragma omp single\n{{ {LOOP} }}",
        f"#pragma omp parallel\n{LOOP}",
        f"#pragma omp parallel private(k)\nif (k) {{ k++; }} else for (;;) {{ {LOOP} }}",
        f"#pragma omp target parallel map(a)\n{{ {LOOP} }}",
        f"#pragma omp target teams\n{{ {LOOP} }}",
        *(f"#pragma omp {what}\n{LOOP}" for what in ("master taskloop", "single", "task", "critical (name)")),
    ):
        scops, remarks = _found(f"{region}\n{NEXT}")
        assert scops == [NEXT]
        assert set(remarks) == {
            "this loop is in a parallel region of OpenMP, each thread of which would run its kernel"
        }


def test_loops_that_ask_for_other_threads_are_left_to_these() -> None:
    """The function may be called by several threads at once, or else nothing would have to be atomic."""
    loop = "for (int i = 0; i < n; i++) {{ a[i] = i;\n#pragma omp {}\na[0] += 1; }}"
    for what in ("atomic", "critical (name)", "flush", "ordered", "task in_reduction(+: a)"):
        alone = loop.format(what)
        scops, remarks = _found(f"{alone}\n{NEXT}")
        assert scops == [NEXT]
        assert remarks == [
            f"this loop asks for other threads, `#pragma omp {what.split()[0]}`, each of which may run its kernel"
        ]
        own = f"#pragma omp parallel for\n{alone}"
        assert _found(own)[0] == [own]
        around = f"for (int t = 0; t < 9; t++) {{\n{own}\n}}"
        assert _found(around)[0] == [around]
        assert _found(f"for (int t = 0; t < 9; t++) {{\n{own}\n{alone}\n}}")[0] == [own]
    for what in ("task", "simd", "taskwait"):
        assert _found(loop.format(what)) == ([loop.format(what)], [])


def test_nests_of_a_directive_stay_nests() -> None:
    """The outer loop's step is no constant: the inner one alone would be taken."""
    nest = f"#pragma omp parallel for collapse(2)\nfor (int t = 0; t < 9; t += (int)a[0])\n{LOOP}"
    scops, remarks = _found(f"{nest}\n{NEXT}")
    assert scops == [NEXT]
    assert "this loop is in a nest that `#pragma omp parallel` takes as a whole" in remarks
    whole = f"#pragma omp parallel for collapse(2)\nfor (int t = 0; t < 9; t++)\n{LOOP}"
    assert _found(whole) == ([whole], [])


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
