"""The user's own text as a reference: what can be compiled alone, what cannot, and the faults of the frontend found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pycparser import c_ast

import polytile
from polytile.diagnostics import ExtractionError, UserError
from polytile.frontend import assemble, inline, normalise, scope
from polytile.frontend.parse import nodes_below
from polytile.frontend.program import read_program
from polytile.frontend.trees import map_children
from polytile.fuzz.case import Choices
from polytile.fuzz.trial import Trial
from polytile.ir.expr import FLOAT
from polytile.ir.scop import Scop
from polytile.runtime.expectation import expect
from polytile.runtime.padding import PADDING, padded_copy
from polytile.runtime.parameters import choose_parameters
from polytile.runtime.source_reference import check_extraction

pytestmark = pytest.mark.usefixtures("emulator")

KINDS = """
#include <stdlib.h>
#include <stdio.h>
#define ROWS n
typedef double real;
typedef real row[7];
enum { COLS = 7, FIVE = 5 };
struct point { double x; float y; };
static const double weights[3] = {1, 2, 3};
static const int DEPTH = 4;
extern double elsewhere[10];
double table[COLS][FIVE], *given;
int count;
const double factor = 2.5;
static double scale(double v) { return v * table[1][1] + 1; }
static real helper(const real *x, int k) { return x[k] * scale(x[0]); }
int other(void);
real kinds(int n, int m, row *r, double A[restrict n][m], struct point *p, const float alpha, double (*const B)[COLS])
{
    typedef float narrow;
    enum local { SEVEN = 7, EIGHT };
    struct inner { int a; double b; } s[8], *q = malloc(n * sizeof *q);
    struct point single = {1, 2};
    enum local kind = SEVEN;
    narrow f = alpha;
    const int k3 = 3;
    real sum = 0, dead[n + 1], (*vla)[m] = malloc(n * sizeof *vla);
    row fixed;
    static int counter, hist[12];
    int i, j;
    long limit = n;
    real local[n][m];
    for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) local[i][j] = vla[i][j] = 1;
    s[0].a = q[0].a = 0;
    if (n > 3) {
        unsigned char flag = 3;
        for (int t = 0; t < 3; t++) {
#define TWICE(x) ((x) + (x))
#pragma scop
#pragma polytile assume(n >= 0 && m >= 0 && limit <= n)
            for (i = 0; i < ROWS; i++) {
                dead[i] = TWICE(i) + alpha + f + factor;
                for (j = 0; j < m; j++) {
                    A[i][j] += local[i][j] * dead[i] + vla[i][j] * flag + t;
                    sum += A[i][j];
                    local[i][j] = helper(A[i], j);
                }
                r[i][2] = weights[1] + elsewhere[3] + single.x;
                given[i] = kind + EIGHT + SEVEN + DEPTH + k3;
                q[i].a = count;
                p[i].y = q[i].b;
            }
            for (i = 0; i < limit; i++) vla[i][0] = i;
            for (i = 0; i < FIVE; i++) {
                table[i][i] = fixed[i] + B[i][COLS - 1];
                s[i].b = hist[i];
                hist[i] = counter;
            }
            single.y = 3; counter = 5; fixed[0] = sum;
#pragma endscop
#undef TWICE
#define ROWS 0
        }
    }
    other();
    printf("%f %f %f %d\\n", single.y, fixed[1], s[3].b, counter);
    return sum + local[0][0] + vla[0][0] + q[0].a;
}
int main(void) { return kinds(1, 2, 0, 0, 0, 0, 0); }
"""


def checked(scop: Scop) -> str:
    assert scop.source is not None
    return check_extraction(scop, expect(scop, scop.source, choose_parameters(scop, {}), 1))


def test_every_kind_of_variable_type_and_macro() -> None:
    (scop,) = read_program("kinds.c", KINDS.replace("#define ROWS 0\n", "")).scops
    assert not checked(scop)


def test_macros_are_those_of_the_place() -> None:
    text = KINDS.replace("#define ROWS 0\n", "#undef ROWS\n#define ROWS undeclared\n")
    (scop,) = read_program("kinds.c", text).scops
    assert not checked(scop)


def test_headers_and_macros_of_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "own.h").write_text("typedef SIZE real;\n")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "more.h").write_text("#define LAST (n - 1)\n")
    file = tmp_path / "p.c"
    file.write_text(
        '#include "own.h"\n#include <more.h>\r\n#ifndef __POLYTILE__\n#error\n#endif\n'
        "void f(int n, real *a)\n{\n#pragma scop\n__builtin_assume(n > 0);\n"
        "for (int i = 0; i <= LAST; i++) a[i] += 1;\n"
        "#pragma endscop\n}\n"
    )
    read = read_program(str(file), include_dirs=[str(tmp_path / "more")], defines=["SIZE=float"])
    assert not checked(read.scops[0])


def test_two_scops_and_detected_ones() -> None:
    text = (
        "void f(int n, double *restrict a, double *restrict b)\n{\n"
        "    double t[n]; if (n > 0) for (int i = 0; i < n; i++) t[i] = a[i];\n"
        "    a[0] = t[0];\n    for (int i = 0; i < n; i++) { b[i] = t[i]; t[i] = 0; } a[1] = t[1];\n}\n"
    )
    found = read_program("f.c", text, autodetect=True).scops
    assert len(found) == 2
    assert [checked(scop) for scop in found] == ["", ""]


NOTES = {
    "other declarations": (
        "int g(int); double g(double);\nvoid f(int n, double *a)\n{\n",
        "a[i] = 1;",
        "conflicting types for",
    ),
    "the size of a local array": (
        "void use(double *);\nvoid f(int n, double *a)\n{\ndouble t[8]; use(t);\n",
        "a[i] = t[0] * sizeof t;",
        "it takes the size of `t`",
    ),
    "functions that use what is elsewhere": (
        "extern double e;\nstatic double g(double x) { return x * e; }\nvoid f(int n, double *a)\n{\n",
        "a[i] = g(a[i]);",
        "functions that it calls use `e`",
    ),
}


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("name", NOTES)
def test_why_a_text_is_not_compiled_alone(name: str) -> None:
    before, statement, reason = NOTES[name]
    text = f"{before}#pragma scop\nfor (int i = 0; i < n; i++) {statement}\n#pragma endscop\n}}\n"
    (scop,) = polytile.compile(text, name="f.c").scops
    (validation,) = scop.validate(on="emulator", seed=1)
    assert "the text of the SCoP could not be compiled alone: " in validation.line
    assert reason in validation.line


PROGRAM = """
enum { THREE = 3 };
static double twice(double x, double y) { return x + 2 * y; }
void f(int n, double a[n], double b[n], float c[n])
{
    double s = b[0];
#pragma scop
    for (int i = 0; i < n; i++) {
        if (i % THREE == 1) continue;
        a[i] = twice(b[i], c[i]) * s + THREE;
    }
    for (int i = 0; i < n; i++)
        c[i] = 1;
#pragma endscop
}
"""
Plant = Callable[[pytest.MonkeyPatch], None]


def _loses_a_statement(patch: pytest.MonkeyPatch) -> None:
    right = assemble.inlined
    patch.setattr(assemble, "inlined", lambda body, *rest: right(body[:-1], *rest))


def _loses_an_iteration(patch: pytest.MonkeyPatch) -> None:
    def shorter(node: c_ast.Node) -> c_ast.Node:
        for loop in nodes_below(node):
            if isinstance(loop, c_ast.For):
                loop.cond.right = c_ast.BinaryOp("-", loop.cond.right, c_ast.Constant("int", "1"), loop.coord)
        return right(node)

    right = assemble.without_continue
    patch.setattr(assemble, "without_continue", shorter)


def _ignores_continue(patch: pytest.MonkeyPatch) -> None:
    def ignored(node: Any) -> Any:
        return c_ast.EmptyStatement(node.coord) if isinstance(node, c_ast.Continue) else map_children(node, ignored)

    patch.setattr(assemble, "without_continue", ignored)


def _mistakes_a_constant(patch: pytest.MonkeyPatch) -> None:
    right = normalise.constant_node
    patch.setattr(
        normalise, "constant_node", lambda value, coord: right(type(value)(value.value + 1, value.type), coord)
    )


def _swaps_arguments(patch: pytest.MonkeyPatch) -> None:
    def swapped(callee: Any, call: c_ast.FuncCall, *rest: Any, **named: Any) -> Any:
        return right(callee, c_ast.FuncCall(call.name, c_ast.ExprList(call.args.exprs[::-1])), *rest, **named)

    right = inline.bind_arguments
    patch.setattr(inline, "bind_arguments", swapped)


def _mistakes_a_type(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(scope._BASIC, ("double",), FLOAT)


PLANTED: dict[str, tuple[Plant, str]] = {
    "a statement is lost": (_loses_a_statement, r"c\[0\] is .*, the C gives 1; 13 elements of c differ \(n=13"),
    "the last iteration is lost": (_loses_an_iteration, r"a\[12\] is .*; 1 elements of a differ"),
    "continue is ignored": (_ignores_continue, r"a\[1\] is .*; 4 elements of a differ"),
    "a constant is another": (_mistakes_a_constant, r"a\[0\] is "),
    "arguments are swapped": (_swaps_arguments, r"a\[0\] is "),
    "a type is narrower": (_mistakes_a_type, r"a row of . was taken to have 4 bytes"),
}


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("fault", PLANTED)
def test_faults_of_the_frontend_are_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant, message = PLANTED[fault]
    plant(monkeypatch)
    (scop,) = polytile.compile(PROGRAM, name="f.c").scops
    with pytest.raises(ExtractionError, match=message):
        scop.validate(on="emulator", seed=1, parameters={"n": 13})


def test_the_same_program_without_faults() -> None:
    (scop,) = polytile.compile(PROGRAM, name="f.c").scops
    assert [v.note for v in scop.validate(on="emulator", seed=1)] == [""]


def test_computed_indices_are_named_where_they_may_leave_their_array() -> None:
    text = (
        "void f(int n, double y[n], double x[n], int p[n])\n{\n#pragma scop\n"
        "for (int i = 0; i < n; i++) { p[i] = n - 1 - i; y[i] = x[p[i]]; }\n#pragma endscop\n}\n"
    )
    (scop,) = read_program("f.c", text).scops
    assert scop.source is not None
    given = expect(scop, scop.source, choose_parameters(scop, {"n": 5}), 1)
    assert not check_extraction(scop, given)
    other = replace(given, after={**given.after, "y": given.after["y"] + 1})
    with pytest.raises(ExtractionError, match="; a value of p may be no index of the array that it is used for"):
        check_extraction(scop, other)


@pytest.mark.parametrize("statement", ["y[i] = x[p[i]];", "x[p[i]] = y[i];"])
def test_c_that_leaves_its_arrays_is_no_fault_of_extraction(statement: str) -> None:
    text = (
        "void f(int n, double y[n], double x[n], int p[n])\n{\n#pragma scop\n"
        f"for (int i = 0; i < n; i++) {{ p[i] = n - i; {statement} }}\n#pragma endscop\n}}\n"
    )
    (scop,) = read_program("f.c", text).scops
    assert scop.source is not None
    given = expect(scop, scop.source, choose_parameters(scop, {"n": 5}), 1)
    other = replace(given, after={**given.after, "y": given.after["y"] + 1})
    for expectation in (given, other):
        with pytest.raises(UserError, match="a value of p is no index of the array that it is used for"):
            check_extraction(scop, expectation)


STRUCTURES = np.zeros(3, [("a", "i1"), ("b", "f8")])


@pytest.mark.parametrize("data", [np.arange(5.0), np.zeros((0, 3)), np.array(2), STRUCTURES])
def test_what_c_runs_on_has_room_around_it(data: np.ndarray[Any, Any]) -> None:
    copy = padded_copy(data)
    assert copy.dtype == data.dtype and copy.shape == data.shape and (copy == data).all()
    assert copy.flags.c_contiguous and copy.flags.writeable
    room = copy
    while isinstance(room.base, np.ndarray):
        room = room.base
    assert room.nbytes == data.nbytes + 2 * PADDING


def test_the_fuzzer_finds_them(monkeypatch: pytest.MonkeyPatch) -> None:
    _ignores_continue(monkeypatch)
    found = Trial(PROGRAM, Choices(), ({"n": 5},), ("classic",)).run()
    assert (found.kind, found.failed) == ("wrong extraction", True)
