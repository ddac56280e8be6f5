"""Batches: loops that accumulate partial results, or add them up, load for several iterations at once."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from polytile.codegen.passes.interleave_reductions import meeting
from polytile.ir.expr import INT, Access, Assign, Binary, Declare, If, Literal, Name, Scope
from polytile.ir.gpu_ops import WarpReduce

SUPERPOSED: dict[str, Any] = {"schedule": "superposed", "strict": False}
ROWS = (
    "int n, int m, double A[n][m], double x[m], double y[n]",
    "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) y[i] += A[i][j] * x[j];",
)
COLUMNS = (
    "int n, int m, double A[n][m], double x[n], double y[m]",
    "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) y[j] += A[i][j] * x[i];",
)
APART = (ROWS[0].replace("x[m]", "B[n][2 * m]"), ROWS[1].replace("x[j]", "B[i][2 * j]"))  # no vectors of B
BOTH = (
    "int n, int m, double A[n][m], double x[m], double y[n], double p[n], double q[m]",
    "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { y[i] += A[i][j] * x[j]; q[j] += A[i][j] * p[i]; }",
)
CHANGING = (
    "int n, int m, double A[n][m], double u[n], double x[n], double y[m]",
    "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { A[i][j] += u[i]; y[j] += A[i][j] * x[i]; }",
)
TWICE = (
    "int n, int m, double AB[n][m], double A[n][m], double y[n]",
    "for (int i = 0; i < n; i++) for (int j = 1; j < m; j++) y[i] += A[i][j] * A[i][j - 1] * AB[i][j];",
)
SIZES = [{"n": n, "m": m} for n, m in ((0, 3), (1, 1), (3, 33), (2, 31 * 16), (5, 33 * 16 + 1), (300, 40), (1030, 3))]


def text_of(compiled: Callable[..., Any], program: tuple[str, str]) -> str:
    text: str = compiled(*program, schedule="superposed").cuda
    return text.partition("// Shared by the entry points")[0]


BATCHES = {"rows": ROWS, "apart": APART, "columns": COLUMNS, "both": BOTH, "changing": CHANGING, "twice": TWICE}
TYPES = [("double", name) for name in BATCHES]
TYPES += [("float", name) for name in ("rows", "both", "changing")]
TYPES += [("int", name) for name in ("apart", "columns", "twice")]


@pytest.mark.slow(but="int-apart")
@pytest.mark.parametrize(("element", "name"), TYPES)
def test_batches_give_the_same(emulator: None, compiled: Callable[..., Any], element: str, name: str) -> None:
    found = compiled(*(part.replace("double", element) for part in BATCHES[name]), schedule="superposed")
    for sizes in SIZES:
        found.validate(on="emulator", parameters=sizes, seed=1, sanitize=("address", "undefined", "race"))


@pytest.mark.slow
@pytest.mark.parametrize(("operator", "element"), [("^", "int"), ("&", "long"), ("|", "unsigned"), ("*", "unsigned")])
def test_meetings_of_other_operators(
    emulator: None, compiled: Callable[..., Any], operator: str, element: str
) -> None:
    arguments, body = (part.replace("double", element).replace("+=", f"{operator}=") for part in BOTH)
    body = body.replace("j++", "j += 1").replace(f"j {operator}= 1", "j += 1")
    found = compiled(arguments, body.replace("* x[j]", "+ x[j]").replace("* p[i]", "+ p[i]"), schedule="superposed")
    for sizes in SIZES:
        found.validate(on="emulator", parameters=sizes, seed=2, sanitize=("address", "undefined", "race"))


@pytest.mark.parametrize(
    ("op", "width", "lane", "joined"),
    [("+", 32, "t", True), ("^", 32, "t", True), ("min", 32, "t", False), ("+", 16, "t", False), ("+", 32, "", False)],
)
def test_which_meetings_are_joined(op: str, width: int, lane: str, joined: bool) -> None:
    """Of equal least values the first one decides about zeros and NaNs, so lanes may not exchange them."""
    part, first = Access("part", (), INT), Binary("==", Name("lane"), Literal("0"))
    names = (Declare("lane", INT, Name("t")), Declare("sum", INT, WarpReduce(op, part, width)))
    rest = If(first, (Assign(Access("y", (Name("c"),), INT), "", Name("sum")),))
    before = Scope((Assign(part, "", Name("c")),))
    found = meeting((before, Scope((*names, rest))), lane or None)
    assert (found is not None) == joined
    if found is not None:
        assert (found.before, found.part, found.lane, found.rest) == ((before,), part, "t", rest.then)


def test_sixteen_iterations_of_two_loads(compiled: Callable[..., Any]) -> None:
    """Whole batches, then smaller ones, whose loads never lie behind the last iteration."""
    text = text_of(compiled, APART)
    assert re.search(r"(c_\d) < \1_last - 14; \1 \+= 16", text) and text.count("#pragma unroll 1\n") == 2
    for iteration in range(16):
        times = 2 if iteration < 8 else 1
        assert all(text.count(f"double {a}_at{iteration} = {a}[") == times for a in "AB")
        assert text.count(f"y_part += A_at{iteration} * B_at{iteration};") == times
    (rest,) = re.findall(r"c_\d_rest <= c_\d_last; c_\d_rest \+= (\d+)", text)
    assert rest == "8"
    assert re.search(r"A_at7 = A\[.* polytile_min\((c_\d)_rest \+ 7, \1_last\)\];", text)
    assert re.search(r"if \((c_\d)_rest <= \1_last - 7\) \{\s+y_part \+= A_at7", text)
    assert "__launch_bounds__(256, 2)" in text


@pytest.mark.slow
@pytest.mark.parametrize("element", ["double", "float"])
def test_whatever_is_left_of_batches(emulator: None, compiled: Callable[..., Any], element: str) -> None:
    """Batches of sixteen and 32 iterations of 32 threads each."""
    found = compiled(*(part.replace("double", element) for part in APART), schedule="superposed")
    for count in range(66):
        sizes = {"n": 2, "m": 32 * count + count % 32}
        found.validate(on="emulator", parameters=sizes, seed=count, sanitize=("address", "undefined"))


@pytest.mark.slow
def test_a_chunk_is_a_batch(emulator: None, compiled: Callable[..., Any]) -> None:
    """Of sixteen rows, where 32 loads of floats would be in flight."""
    arguments, body = (part.replace("double", "float") for part in APART)
    found = compiled(
        f"{arguments}, float z[m]", f"{body} {body.replace('B[i][2 * j]', 'y[i]').replace('y[i] +=', 'z[j] +=')}",
        schedule="superposed",
    )
    text = found.cuda.partition("// Shared by the entry points")[0]
    assert re.search(r"i < i_last - 14; i \+= 16", text) and "+ 15);" in text
    for n in (1, 15, 16, 17, 31, 32, 40):
        found.validate(on="emulator", parameters={"n": n, "m": 70}, seed=n, sanitize=("address", "undefined"))


@pytest.mark.slow
def test_lanes_meet_once_for_eight_iterations(compiled: Callable[..., Any]) -> None:
    text = text_of(compiled, BOTH)
    step = re.findall(r"c_\d <= c_\d_last; c_\d \+= (\d+)", text.partition("_k1(")[0])
    assert step == ["8"]
    assert re.search(r"A_at3 = \((c_\d) <= \1_last - 3\) & \(.*\) \?\s+A\[", text)
    assert re.search(r"if \((c_\d) <= \1_last - 3\) \{", text)
    held = ", ".join(f"y_part_at{k}" for k in range(8))
    assert f"double y_sum = polytile_each_sum({held});" in " ".join(text.split())
    assert re.search(r"if \(\((\w+) % 4 == 0\) & \(\1 / 4 <= (c_\d)_last - \2\)\) \{", text)
    assert "x_fixed = " in text  # below a condition in the loop, where compilers leave it
    assert "__launch_bounds__(256, 3)" in text


@pytest.mark.slow
@pytest.mark.parametrize(("element", "columns", "blocks"), [("double", 2, 3), ("float", 4, 3), ("long", 2, 3)])
def test_a_thread_takes_several_columns(
    compiled: Callable[..., Any], element: str, columns: int, blocks: int
) -> None:
    """Each in a register: what it adds to their sums, and their common part of a row's."""
    text = text_of(compiled, tuple(part.replace("double", element) for part in BOTH))
    kernel = text.partition("_k1(")[0]
    assert f" q_part[{columns}];\n" in kernel and " y_part;\n" in kernel
    assert set(re.findall(r"q_part\[([^]]*)\] ", kernel)) == {str(k) for k in range(columns)}
    loads = re.findall(r"(A\d?)_at0 = m >= (\w+) \+ (\d+) \* (\w+) \+ (\d+) \?", kernel)
    assert [int(last) for *_, last in loads] == [1 + 32 * k for k in range(columns)]
    assert kernel.count("p_at0 = ") == 1  # the weakest condition is that of its load
    assert f"__launch_bounds__(256, {blocks})" in kernel


@pytest.mark.slow
def test_conditions_below_one_another(emulator: None, compiled: Callable[..., Any]) -> None:
    """Neither implies the other: both guard the load."""
    arguments, body = ROWS
    found = compiled(
        arguments.replace("int m", "int m, int k, int l"),
        body.replace("y[i] +=", "if (k > 1) if (l > k) y[i] += A[i][0] *").replace("A[i][j] *", ""),
        schedule="superposed",
    )
    for least, most in ((0, 9), (2, 2), (2, 3)):
        found.validate(on="emulator", parameters={"n": 5, "m": 70, "k": least, "l": most}, sanitize=("address",))


def test_chunks_are_added_up_in_batches(compiled: Callable[..., Any]) -> None:
    """Few for each of the lanes that share them out, so that whole batches would be long code for nothing."""
    text = text_of(compiled, COLUMNS).rpartition("__global__")[2]
    assert re.findall(r"for \(.*; (\w+) <= \1_last; \1 \+= 16\)", text)
    assert "y_sums += y_mid_at15;" in text and not re.search(r"_at16|c_\d_rest", text)
    assert "__launch_bounds__(256, 2)" in text


def test_lanes_of_one_result_are_one_block(compiled: Callable[..., Any]) -> None:
    one = ("int n, double A[n], double *s", "for (int i = 0; i < n; i++) *s += A[i];")
    assert "__launch_bounds__(128, 4)" in text_of(compiled, one)


def test_what_an_iteration_changes_for_itself(compiled: Callable[..., Any]) -> None:
    """All loads of a batch come first; what is added up is what was stored."""
    program = (CHANGING[0].replace("x[n]", "x[m]"), CHANGING[1].replace("x[i]", "x[j]"))
    kernel = " ".join(text_of(compiled, program).partition("_k1(")[0].split())
    loads, first, rest = kernel.partition("A_at0 += u_at0;")
    assert first and all(f"double A_at{k} = A[" in loads for k in range(8)) and "A_at1 += u_at1;" in rest
    assert re.match(r"(?: //\S+)? A\[[^;]*\] = A_at0;.* y_part \+= A_at0 \* x\[j\];", rest)


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        "A[i][j] += u[i]; y[j] += A[i][j] * A[i][0];",  # which one of the iterations changes
        "A[0][j] += u[i]; y[j] += A[0][j] * x[i];",  # the same in all iterations
        "A[i][j] = x[i]; A[i][j] *= u[i]; y[j] += A[i][j] * A[i][j];",  # several times
    ],
)
def test_what_other_iterations_change(emulator: None, compiled: Callable[..., Any], body: str) -> None:
    loops = f"for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) {{ {body} }}"
    found = compiled(CHANGING[0], loops, schedule="superposed")
    for n in (3, 40, 300):
        found.validate(on="emulator", parameters={"n": n, "m": 70}, seed=1)


@pytest.mark.slow
def test_a_change_below_a_condition(emulator: None, compiled: Callable[..., Any]) -> None:
    loops = CHANGING[1].replace("A[i][j] += u[i]", "if (k > 0) A[i][j] += u[i]")
    found = compiled(CHANGING[0].replace("int m", "int m, int k"), loops, schedule="superposed")
    for k in (0, 1):
        found.validate(on="emulator", parameters={"n": 300, "m": 40, "k": k}, seed=1, sanitize=("address", "race"))


def test_classic_loops_are_left_to_the_compiler(compiled: Callable[..., Any]) -> None:
    text: str = compiled(*ROWS, schedule="classic").cuda
    assert "_last" not in text and "#pragma unroll" not in text
