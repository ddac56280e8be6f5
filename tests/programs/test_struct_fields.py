"""Structs with arrays and structs inside: each number of them is an element of its own."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import polytile
from polytile.cli.main import main
from polytile.diagnostics import UserError
from polytile.runtime.emulator.instrument import CHECKS
from tests.every_schedule import same_in_every_schedule

SIZES = ({"n": 0}, {"n": 1}, {"n": 7}, {"n": 150})
BODY = "struct body { char kind; double v[3]; float w[2][2]; struct { int id; short at[3]; } tag; };\n"
CELL = "struct pair { double x; char y; }; struct cell { struct pair p[2]; char last; int q[1]; } ;\n"
PROGRAMS = {
    "an array in a struct": (
        BODY,
        "struct body a[n]",
        "for (int i = 0; i < n; i++) for (int d = 0; d < 3; d++) a[i].v[d] = a[i].v[d] * 2.0 + d;",
    ),
    "two dimensions, of float and of int": (
        BODY,
        "struct body *restrict a, const struct body *restrict b",
        "for (int i = 0; i < n; i++) for (int d = 0; d < 2; d++) for (int e = 0; e < 2; e++) {"
        " a[i].w[d][e] = b[i].w[e][d] - b[i].w[0][1]; a[i].tag.at[d + e] = b[i].tag.id % 100 + d; }",
    ),
    "neighbours in a struct do not depend on each other": (
        BODY,
        "struct body a[n]",
        "for (int d = 1; d < 3; d++) for (int i = 0; i < n; i++) { a[i].v[d] = a[i].v[d - 1] + a[i].w[1][0];"
        " a[i].tag.id = d; }",
    ),
    "values carried from one struct to the next": (
        BODY,
        "struct body a[n]",
        "for (int i = 1; i < n; i++) for (int d = 0; d < 3; d++) a[i].v[d] = a[i - 1].v[2 - d] * 0.5;",
    ),
    "structs in arrays in structs, with padding": (
        CELL,
        "struct cell a[n][2], double *restrict s",
        "for (int i = 0; i < n; i++) for (int k = 0; k < 2; k++) { a[i][k].p[1 - k].x = a[i][k].p[k].x + a[i][k].q[0];"
        " a[i][k].p[k].y = a[i][k].last; s[2 * i + k] = a[i][1 - k].p[0].x; }",
    ),
    "one struct behind a pointer": (
        BODY,
        "struct body *restrict p, double *restrict y",
        "for (int i = 0; i < n; i++) for (int d = 0; d < 3; d++) y[i] = p->v[d] + p->tag.at[d];"
        " for (int d = 0; d < 3; d++) p->v[d] = p->v[d] + d;",
    ),
    "whole structs": (
        CELL,
        "struct cell a[n], struct cell b[n]",
        "for (int i = 0; i < n; i++) { a[i] = b[n - 1 - i]; a[i].p[1].x = 1; }",
    ),
    "sums": (
        BODY,
        "const struct body *restrict a, double *restrict y",
        "for (int i = 0; i < n; i++) { double s = 0;"
        " for (int d = 0; d < 3; d++) s += a[i].v[d] * a[i].v[d]; y[i] = s; }",
    ),
    "a subscript that data choose": (
        BODY,
        "struct body a[n], const unsigned char *restrict k",
        "for (int i = 0; i < n; i++) { a[i].v[k[i] % 3] = 1; a[i].w[0][1] += a[i].v[k[i] % 3]; }",
    ),
    "a subscript that is a sum of elements": (
        BODY,
        "struct body a[n], double *restrict y",
        "for (int i = 0; i < n; i++) for (int d = 0; d < n; d++) if (d < 3) y[i] = a[d].v[d] + a[i].v[2 - d];",
    ),
}


def text(structs: str, arguments: str, body: str) -> str:
    return f"{structs}void f(int n, {arguments})\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_as_c(name: str) -> None:
    same_in_every_schedule(text(*PROGRAMS[name]), SIZES)


@pytest.mark.quick
@pytest.mark.parametrize("name", PROGRAMS)
def test_certificates_hold(name: str, tmp_path: Path) -> None:
    program = polytile.compile(text(*PROGRAMS[name]), name="f.c", strict=True, raise_bugs=True)
    path = tmp_path / "f.json"
    path.write_text(program.certificate)
    assert main(["check", str(path)]) == 0


def test_neighbours_in_a_struct_run_in_parallel() -> None:
    (scop,) = polytile.compile(text(*PROGRAMS["an array in a struct"]), name="f.c").scops
    assert "a[i].v[d]" in scop.cuda and scop.program is not None


def test_numpy_calls_with_arrays_in_structs() -> None:
    (scop,) = polytile.compile(text(*PROGRAMS["an array in a struct"]), name="f.c").scops
    inner = np.dtype([("id", "i4"), ("at", "i2", (3,))], align=True)
    dtype = np.dtype([("kind", "i1"), ("v", "f8", (3,)), ("w", "f4", (2, 2)), ("tag", inner)], align=True)
    a = np.zeros(5, dtype)
    a["v"] = np.arange(15).reshape(5, 3)
    scop(a=a, n=5, on="emulator")
    assert (a["v"] == np.arange(15).reshape(5, 3) * 2 + np.arange(3)).all()
    with pytest.raises(polytile.PolytileError, match="the C element type is struct body"):
        scop(a=np.zeros(5, np.dtype([("v", "f8", (3,))])), n=5, on="emulator")


def test_subscripts_that_may_leave_their_field() -> None:
    program = text(BODY, "int m, struct body a[n]", "for (int i = 0; i < m; i++) a[0].v[i % n] = 1;")
    with pytest.raises(UserError, match="not known to lie inside its field") as refused:
        polytile.compile(program, name="f.c")
    assert refused.value.hint is not None and "__builtin_assume" in refused.value.hint
    assumed = program.replace("i % n", "i").replace("#pragma scop\n", "#pragma scop\n__builtin_assume(m <= 3);\n")
    same_in_every_schedule(assumed, ({"n": 1, "m": 0}, {"n": 1, "m": 3}))


CHECKED = {
    "m <= 3": "for (int i = 0; i < n; i++) for (int d = 0; d < m; d++) a[i].v[d] *= 2;",
    "m <= 2": "for (int i = 0; i < n; i++) for (int d = 0; d < m; d++) a[i].v[d + 1] += a[i].v[d];",
    "m >= 1 && m <= 3": "for (int i = 0; i < n; i++) a[i].v[m - 1] = i;",
    "m <= 2 ": "for (int i = 0; i < n; i++) for (int d = 0; d < m; d++) for (int e = 0; e < 2; e++) a[i].w[d][e] = d;",
    "m <= 3 ": "for (int i = 0; i < n; i++) if (a[i].kind) for (int d = 0; d < m; d++) a[i].tag.at[d] = d;",
}


@pytest.mark.parametrize("condition", CHECKED)
def test_the_host_asks_whether_subscripts_lie_in_their_field(condition: str) -> None:
    (scop,) = polytile.compile(text(BODY, "int m, struct body a[n]", CHECKED[condition]), name="f.c").scops
    assert scop.program is not None and scop.scop.checked == condition.strip()
    for n in (0, 1, 7, 300):
        for m in (1, 2):
            assert scop.validate(on="emulator", parameters={"n": n, "m": m}, seed=n) is not None


def test_beyond_the_field_the_c_runs(tmp_path: Path) -> None:
    body = "struct s { int id; double v[2]; };\n"
    loops = "for (int i = 0; i < n; i++) if (a[i].id < m) for (int d = 0; d < m; d++) a[i].v[d] += m + d;"
    function = text(body, "int m, struct s a[n]", loops)
    calls = "struct s a[8] = {{0, {2, 3}}, {1}, {7}}; f(3, 1, a); f(3, 2, a); a[0].id = a[1].id = 5; f(3, 3, a);"
    shown = 'for (int i = 0; i < 8; i++) printf("%d %g %g\\n", a[i].id, a[i].v[0], a[i].v[1]);'
    source = tmp_path / "f.c"
    source.write_text(f"#include <stdio.h>\n{function}\nint main(void) {{ {calls} {shown} return 0; }}\n")
    subprocess.run(["gcc", "-O0", str(source), "-o", str(tmp_path / "plain")], check=True)
    built = ["--build", str(tmp_path / "made"), "--on", "emulator", "-q", "-o", str(tmp_path / "out")]
    assert main([str(source), *built]) == 0
    printed = [
        subprocess.run([str(tmp_path / name)], check=True, capture_output=True).stdout for name in ("plain", "made")
    ]
    assert printed[0] == printed[1]


@pytest.mark.usefixtures("emulator")
def test_structs_that_are_named_before_they_are_defined() -> None:
    text = (
        "typedef struct layer layer; typedef struct node node; struct node { double v; node *next; layer *l; };\n"
        "struct layer { int n; float *output; struct layer *prev; void (*forward)(struct layer, int); };\n"
        "void f(layer l)\n{\n#pragma scop\nfor (int i = 0; i < l.n; i++) l.output[i] *= 2;\n#pragma endscop\n}\n"
        "void g(int n, node *a)\n{\n#pragma scop\nfor (int i = 0; i < n; i++) a[i].v += 1;\n#pragma endscop\n}\n"
    )
    first, second = polytile.compile(text, name="f.c").scops
    assert first.program is not None and second.program is not None
    assert first.validate(on="emulator", sanitize=CHECKS)


def test_functions_that_return_pointers_are_no_values() -> None:
    text = (
        "int *find(int *p, int k) { return p + k; }\n"
        "void f(int n, int *a)\n{\n#pragma scop\nfor (int i = 0; i < n; i++) *find(a, i) = 1;\n#pragma endscop\n}\n"
    )
    with pytest.raises(UserError, match=r"f\.c:1"):
        polytile.compile(text, name="f.c")


@pytest.mark.usefixtures("emulator")
def test_fields_beside_an_inlined_loop() -> None:
    """The accesses of a statement have as many dimensions as their arrays, and one more for fields."""
    text = """struct cell { double x; float y; int k; };
void f(int n, struct cell C[n + 1], const double *x, double *s)
{
#pragma scop
    for (int i = 1; i < n; i++)
        for (int j = 0; j < i + 1; j++) {
            double r = (double)((!C[j].k + C[j + 1].k % 100) & 15) / 8;
            double t = 0, c = 0.5;
            for (int q = 0; q < 3; q++) { t += c * x[q]; c *= 0.5; }
            r = t;
            s[j] = r + i;
        }
#pragma endscop
}
"""
    (scop,) = polytile.compile(text, name="f.c", strict=True, raise_bugs=True).scops
    for n in (0, 1, 7, 40):
        assert scop.validate(on="emulator", parameters={"n": n}, sanitize=CHECKS)
