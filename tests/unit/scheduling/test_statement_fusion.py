"""Bodies with many local scalars: what becomes one statement, what must not, and that compiling them stays quick."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time
from typing import Any

import pytest

import polytile
from polytile.ir.expr import Assign, Declare
from polytile.ir.expr_trees import walk
from polytile.ir.scop import Scop
from polytile.scheduling.analysis.dependences import analyse
from polytile.scheduling.transform.statement_fusion import MANY, fuse_locals, fuse_writers

ONE = "int n, double A[n], double B[2 * n + 2], double C[n]"
CUBE = "int n, int m, int o, double a[n][m][o], double b[n][m][o]"


def loop(body: str) -> str:
    return f"for (int i = 1; i < n; i++) {{ {body} }}"


def many(count: int) -> str:
    declared = " ".join(f"double l{i} = a[k][j][i] * {i}.5;" for i in range(count))
    total = " + ".join(f"l{i}" for i in range(count))
    loops = "for (int k = 0; k < n; k++) for (int j = 0; j < m; j++) for (int i = 0; i < o; i++)"
    return f"{loops} {{ {declared} b[k][j][i] = {total}; }}"


TOGETHER = {
    "a chain": ("double t = A[i]; double u = t * t; B[i] = t + u;", ["S2"]),
    "several results": ("double t = A[i]; B[i] = t; C[i] = t * t;", ["S2"]),
    "updates of a scalar": ("double t = A[i]; t += 1; t *= t; B[i] = t;", ["S3"]),
    "a write under a condition on data": ("double t = A[i]; if (A[i] > 0) t = 1; else t -= 1; B[i] = t;", ["S2"]),
    "results under conditions on data": ("double t = A[i]; if (t > 0) { t = 1; B[i] = t; } C[i] = t;", ["S2"]),
    "two groups": ("double t = A[i]; double u = A[i - 1]; B[i] = t; C[i] = u;", ["S2", "S3"]),
    "an update in place": ("double t = A[i]; double u = A[i - 1]; A[i] = t + u;", ["S2"]),
    "results in different elements of one array": ("double t = A[i]; B[2 * i] = t; B[2 * i + 1] = t * t;", ["S2"]),
    "an independent statement between": ("double t = A[i]; C[i] = 1; B[i] = t;", ["S1", "S2"]),
    "a local that nothing reads": ("double t = A[i]; double u = A[i - 1]; B[i] = t; C[i] = 1;", ["S2", "S3"]),
    "a local that nothing reads, of another one": ("double t = A[i]; double u = 2 * t; B[i] = t;", ["S2"]),
    "locals that nothing reads, one of a result": (
        "double t = A[i]; double u = C[i]; B[i] = t; C[i] = 1; double v = B[i];",
        ["S2", "S3"],
    ),
    "locals that nothing reads alone": ("double t = A[i]; double u = A[i - 1]; B[i] = C[i];", ["S2"]),
    "a result that only later statements need": ("double t = A[i]; B[i] = t; C[i] = B[i - 1];", ["S1", "S2"]),
}
APART = {
    "a value of the iteration before": "B[i] = t; t = A[i];",
    "a scalar that is read before it is written": "t += A[i]; B[i] = t;",
    "what the scalar was read from changes between": "t = A[i]; A[i] = C[i]; B[i] = t;",
    "results that meet in one array": "t = A[i]; B[i] = t; B[i - 1] = t * t;",
    "a result of an iteration that another one reads": "t = A[i]; B[2 * i] = t; C[i] = B[i - 1] + t;",
    "a result that another one reads": "t = A[i]; B[i] = t; C[i] = B[i] + t;",
    "a first write under a condition on data": "if (A[i] > 0) t = 1; B[i] = t;",
    "a write that a condition on what changed decides": "t = A[i]; A[i] = C[i]; if (A[i] > 0) t = 1; B[i] = t;",
    "a use in an inner loop": "t = A[i]; for (int j = 0; j < i; j++) B[j] += t;",
    "a use in some iterations": "t = A[i]; if (i > 3) B[i] = t;",
}


@pytest.mark.parametrize("name", TOGETHER)
def test_assignments_that_share_locals_become_one_statement(scop: Callable[..., Scop], name: str) -> None:
    body, expected = TOGETHER[name]
    before = scop(ONE, loop(body))
    after = fuse_locals(before)
    assert [s.name for s in after.statements] == expected
    assert {a.name for a in after.arrays} <= {"A", "B", "C"}
    assert after.schedule.get_domain().is_equal(after.domain)
    last = frozenset(("A", "B", "C"))
    kinds = tuple({a.kind for s in before.statements for a in s.accesses})
    assert after.accesses(*kinds).range().is_equal(before.accesses(*kinds, arrays=last).range())


@pytest.mark.parametrize("name", APART)
def test_what_is_more_than_a_local_of_one_iteration_stays(scop: Callable[..., Scop], name: str) -> None:
    before = scop(ONE, loop(APART[name]), "double t = 0;")
    assert fuse_locals(before) is before


def test_a_scalar_that_is_visible_afterwards_stays(scop: Callable[..., Scop]) -> None:
    before = scop(f"{ONE}, double *t", loop("t[0] = A[i]; B[i] = t[0];"))
    assert fuse_locals(before) is before


def test_only_uses_in_one_body_are_local(scop: Callable[..., Scop]) -> None:
    before = scop(ONE, loop("t = A[i]; B[i] = t;") + "C[0] = t;", "double t = 0;")
    assert fuse_locals(before) is before


def test_a_reduction_through_a_local_stays_one(scop: Callable[..., Scop]) -> None:
    (only,) = fuse_locals(scop(ONE, loop("double t = A[i] * B[i]; C[0] += t;"))).statements
    assert only.reduction is not None and only.reduction.array == "C"
    assert [n.name for s in only.body for n in walk(s) if isinstance(n, Declare)] == ["t"]


def test_a_variable_with_several_purposes_is_local_to_each(compiled: Callable[..., Any]) -> None:
    body = loop("w = A[i]; B[i] = w * w;") + loop("w = B[i]; C[i] = w + 1;")
    after = compiled(ONE, body, "double w;").compilation.scop
    assert [s.name for s in after.statements] == ["S1", "S3"]


@pytest.mark.slow(but="an update in place")
@pytest.mark.parametrize("name", TOGETHER)
def test_the_fused_program_computes_the_same(emulator: None, c_file: Callable[..., str], name: str) -> None:
    program = polytile.compile(c_file(ONE, loop(TOGETHER[name][0])), name="test.c", strict=True)
    (found,) = program.scops
    assert (found.program is None) == (name == "an update in place")
    for n in (0, 1, 2, 40, 300) if found.program else ():
        found.validate(on="emulator", parameters={"n": n}, seed=1)


def test_many_locals_compile_in_parallel_and_quickly(compiled: Callable[..., Any]) -> None:
    start = process_time()
    found = compiled(CUBE, many(48))
    assert process_time() - start < 10
    assert "block" in found.schedule and not found.compilation.remarks[:-1]


def test_many_locals_that_stay_apart_are_analysed_exactly_and_quickly(scop: Callable[..., Scop]) -> None:
    """Each scalar's analysis looks at its own statements only."""
    apart = scop(CUBE, many(32))
    start = process_time()
    found = analyse(apart, 500_000)
    assert process_time() - start < 10
    assert all(d.exact for d in found.by_array)


@pytest.mark.slow
def test_a_variable_that_is_rewritten_many_times(compiled: Callable[..., Any]) -> None:
    """Its dependences in the source take more than an array's share of the operations, and nothing of it is left."""
    steps = " ".join(f"double u{k} = t0 * {k}.5; t0 = u{k};" for k in range(100))
    body = f"for (int i = 0; i < n; i++) {{ double t0 = B[i]; {steps} A[i] = t0; }}"
    found = compiled("int n, double *restrict A, double *restrict B", body)
    assert found.compilation.proof.proven


def unrolled(count: int) -> str:
    sets = " ".join(f"A[i][{k}] = {k} * B[i] - B[i - 1];" for k in range(count))
    return f"for (int i = 1; i < n; i++) {{ {sets} C[i] = A[i][1]; C[i] += A[i][0]; }}"


def test_what_sets_elements_of_one_array_is_one_statement_where_statements_are_many(
    scop: Callable[..., Scop],
) -> None:
    arrays = f"int n, double A[n][{MANY}], double B[n], double C[n]"
    few, many_sets = (scop(arrays, unrolled(count)) for count in (MANY - 2, MANY))
    assert fuse_writers(few) is few
    after = fuse_writers(many_sets)
    assert [s.name for s in after.statements] == [f"S{MANY - 1}", f"S{MANY}", f"S{MANY + 1}"]
    assert after.domain.is_equal(after.schedule.get_domain())


def test_a_reader_between_sets_keeps_few_of_them_apart(scop: Callable[..., Scop]) -> None:
    text = unrolled(MANY).replace("A[i][9]", "C[i] = A[i][7]; A[i][9]").replace("A[i][40] =", "A[i][40] +=")
    before = scop(f"int n, double A[n][{MANY}], double B[n], double C[n]", text)
    after = fuse_writers(before)
    assert len(after.statements) < MANY // 3
    assert after.schedule.get_domain().is_equal(after.domain)
    sets = [n for s in after.statements for n in walk(*s.body) if isinstance(n, Assign)]
    assert len(sets) == len(before.statements)


def directions() -> list[tuple[int, int]]:
    return [(x, y) for x in (-1, 0, 1) for y in (-1, 0, 1)]


def lattice() -> str:
    """Lattice Boltzmann in two dimensions, pushed: every point reads nine values and sets those of its neighbours."""
    reads = " ".join(f"double p{k} = f[t % 2][y][x][{k}];" for k in range(9))
    total = " + ".join(f"p{k}" for k in range(9))
    sets = " ".join(
        f"f[(t + 1) % 2][y + {b}][x + {a}][{k}] = p{k} - 0.5 * (p{k} - rho * (1 + {a} * u));".replace("+ -", "- ")
        for k, (a, b) in enumerate(directions())
    )
    body = f"{reads} double rho = ({total}) / 9; double u = (p6 + p7 + p8 - p0 - p1 - p2) / rho; {sets}"
    loops = "for (int t = 0; t < s; t++) for (int y = 1; y < n - 1; y++) for (int x = 1; x < m - 1; x++)"
    return f"{loops} {{ {body} }}"


def test_a_point_of_a_lattice_is_one_statement(compiled: Callable[..., Any]) -> None:
    start = process_time()
    found = compiled("int s, int n, int m, double f[2][n][m][9]", lattice())
    assert found.program is not None
    assert len(found.scop.statements) == 1
    assert process_time() - start < 8
