"""Loops: which are serial, and why. By hand, by running programs, and by isl for the whole suite."""

from __future__ import annotations

from pathlib import Path

import islpy as isl
import pytest

import polytile
from polytile.api import CompiledScop
from polytile.facts import DependenceKind, LoopFacts, LoopKind, Witness, reasons
from polytile.facts.witnesses import loops_around
from polytile.ir.evaluate import evaluate
from polytile.ir.expr import DOUBLE, Name
from polytile.ir.scop import Array, Scop, SourceLoop
from polytile.scheduling.analysis.dependences import ArrayDependences, analyse
from tests.reading import shared

from .trace import Trace

ROOT = Path(__file__).resolve().parents[3]
SUITE = ROOT / "polybench" / "polybench"


@shared
def compiled(arguments: str, body: str, **settings: int) -> CompiledScop:
    text = f"void f({arguments})\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
    (scop,) = polytile.compile(text, name="why.c", raise_bugs=True, **settings).scops  # type: ignore[arg-type]
    return scop


UNKNOWN_COUNT = "serial: how often it runs is only known as it runs: it is one step, with all that is inside"
PREFIX_SUM = "for (int i = 1; i < n; i++)\n a[i] += a[i-1];"
BY_HAND = {
    "prefix sum": (
        "int n, double a[n]",
        PREFIX_SUM,
        ["why.c:4: loop i is serial: a[i] written at i=1 is read at i=2"],
    ),
    "running sum": (
        "int n, double a[n], double s[1]",
        "for (int i = 0; i < n; i++) {\n s[0] += a[i];\n a[i] = s[0];\n}",
        ["why.c:4: loop i is serial: s[0] written at i=0 is read at i=1"],
    ),
    "scalar carried by if": (
        "int n, double a[n], double out[n], double m",
        "for (int i = 0; i < n; i++) {\n if (a[i] > 0)\n  m = a[i];\n out[i] = m;\n}",
        ["why.c:4: loop i is serial: m may be written at i=0 (line 6) and read at i=1 (line 7)"],
    ),
    "a total that starts anew": (
        "int n, int a[n], int x, int s, int o[1]",
        "for (int i = 0; i < n; i++) {\n if (a[i] > 0) x += a[i]; else x = 0;\n if (x > s) s = x;\n}\no[0] = s;",
        ["why.c:4: loop i is serial: x may be written at i=0 and read at i=1"],
    ),
    "write below a condition": (
        "int n, double a[n], double b[n]",
        "for (int i = 1; i < n; i++)\n if (b[i] > 0) a[i] = a[i - 1];",
        ["why.c:4: loop i is serial: a[i] may be written at i=1 and read at i=2"],
    ),
    "read below a condition": (
        "int n, double a[n], double b[n]",
        "for (int i = 1; i < n; i++)\n a[i] = b[i] > 0 ? a[i - 1] : 0;",
        ["why.c:4: loop i is serial: a[i] may be written at i=1 and read at i=2"],
    ),
    "two nests with equal iterators": (
        "int n, double a[n][n], double b[n][n]",
        """for (int i = 0; i < n; i++)
 for (int j = 1; j < n; j++)
  a[i][j] = a[i][j - 1] + 1;
for (int i = 1; i < n; i++)
 for (int j = 0; j < n; j++)
  b[i][j] = b[i - 1][j] + a[i][j];""",
        [
            "why.c:5: loop j is serial: a[i][j] written at i=0, j=1 is read at i=0, j=2",
            "why.c:7: loop i is serial: b[i][j] written at i=1, j=0 is read at i=2, j=0",
        ],
    ),
    "downwards": (
        "int n, double a[n]",
        "for (int i = n - 2; i >= 0; i--)\n a[i] = a[i + 1] * 2;",
        ["why.c:4: loop i is serial: a[i] written at i=1 is read at i=0"],
    ),
    "overwritten": (
        "int n, double a[n], double c[1]",
        "for (int i = 0; i < n; i++)\n c[0] = a[i];",
        ["why.c:4: loop i is parallel: nothing but the reuse of c orders its iterations, and that is removed"],
    ),
    "overwritten by index": (
        "int n, double a[n], double c[n], int p[n]",
        "for (int i = 0; i < n; i++)\n c[p[i]] = a[i];",
        ["why.c:4: loop i is serial: c[p[i]] may be written at i=0 and overwritten at i=1"],
    ),
    "scalar of an iteration": (
        "int n, double a[n]",
        "for (int i = 0; i < n; i++) {\n double t = a[i];\n a[i] = t * t;\n}",
        ["why.c:4: loop i is parallel: nothing but the reuse of t orders its iterations, and that is removed"],
    ),
    "copied first": (
        "int n, double a[n], double b[n]",
        "for (int i = 0; i < n - 1; i++)\n a[i] = a[i + 1] + b[i];",
        ["why.c:4: loop i is parallel: nothing but the reuse of a orders its iterations, and that is removed"],
    ),
    "sum": (
        "int n, double a[n], double s[1]",
        "for (int i = 0; i < n; i++)\n s[0] += a[i];",
        ["why.c:4: loop i is a reduction into s"],
    ),
    "data": (
        "int n, int m, int row[n + 1], double v[m], double y[n]",
        "for (int i = 0; i < n; i++)\n\n for (int j = row[i]; j < row[i + 1]; j++)\n  y[i] = y[i] / 2 + v[j];",
        [f"why.c:6: loop j is {UNKNOWN_COUNT}"],
    ),
    "in a loop of unknown length": (
        "int n, int m, double y[n]",
        "int s = m;\ndo {\n for (int j = 0; j < n; j++) y[j] += s;\n s /= 2;\n} while (s > 0);",
        [
            f"why.c:5: while loop is {UNKNOWN_COUNT}",
            "why.c:6: loop j is serial: a part of the loop around it, which is one step",
        ],
    ),
    "sum that inner loops read": (
        "int n, double a[n][n], double t",
        "for (int i = 0; i < n; i++) {\n t += 0.1;\n for (int j = 0; j < n; j++) a[i][j] = t;\n}",
        ["why.c:4: loop i is serial: t written at i=0 is read at i=1"],
    ),
    "sum over data": (
        "int n, int m, int row[n + 1], double v[m], double y[n]",
        "for (int i = 0; i < n; i++)\n\n for (int j = row[i]; j < row[i + 1]; j++)\n  y[i] += v[j];",
        ["why.c:6: loop j is a reduction into y"],
    ),
    "histogram": (
        "int n, int m, int h[m], int p[n]",
        "for (int i = 0; i < n; i++)\n h[p[i]] += 1;",
        ["why.c:4: loop i is a reduction into h"],
    ),
    "far apart": (
        "int n, double a[n]",
        "for (int i = 7; i < n; i++)\n a[i] = a[i - 7] * 2;",
        ["why.c:4: loop i is serial: a[i] written at i=7 is read at i=14"],
    ),
}


@pytest.mark.slow(but=6)
@pytest.mark.parametrize(("arguments", "body", "expected"), BY_HAND.values(), ids=BY_HAND)
def test_reasons_by_hand(arguments: str, body: str, expected: list[str]) -> None:
    assert list(reasons(compiled(arguments, body).loops)) == expected


SEIDEL = [
    "seidel-2d.c:37: loop t is serial: A[i][j] written at t=0, i=1, j=1 (line 40) is read at t=1, i=1, j=1 (line 41)",
    "seidel-2d.c:38: loop i is serial: A[i][j] written at t=0, i=1, j=1 is read at t=0, i=2, j=1",
    "seidel-2d.c:39: loop j is serial: A[i][j] written at t=0, i=1, j=1 (line 40) is read at t=0, i=1, j=2 (line 41)",
]
LU = [
    "lu.c:26: loop i is serial: A[i][j] written at i=1, j=1, k=0 (line 34) is read at i=2, j=1 (line 30)",
    "lu.c:27: loop j is serial: A[i][j] written at i=2, j=0 (line 30) is read at i=2, j=1, k=0 (line 29)",
    "lu.c:28: loop k is serial: A[i][j] written at i=3, j=2, k=0 is read at i=3, j=2, k=1",
    "lu.c:33: loop k is serial: A[i][j] written at i=2, j=2, k=0 is read at i=2, j=2, k=1",
]


@pytest.mark.parametrize(("name", "expected"), [("seidel-2d", SEIDEL), ("lu", LU)])
def test_reasons_of_programs_by_hand(name: str, expected: list[str]) -> None:
    """Messages name the file by the path that was given."""
    program = polytile.compile(SUITE / f"{name}.c", schedule="classic")
    lines = [f"{SUITE}/{line}" for line in expected]
    assert list(reasons(program.scops[0].loops)) == lines
    assert "\n".join(lines) in program.explain()


def loop_of(scop: Scop, facts: LoopFacts) -> SourceLoop:
    return next(one for one in scop.loops if (one.level, one.statements) == (facts.level, facts.statements))


def one_pair(found: Witness, scop: Scop) -> isl.UnionMap:
    """The pair of a witness as a relation, at its sizes."""
    ends = (
        f"{place.statement}[{', '.join(str(value) for _, value in place.iteration)}]"
        for place in (found.source, found.sink)
    )
    names = ", ".join(name for name, _ in found.sizes)
    where = " and ".join(f"{name} = {value}" for name, value in found.sizes) or "true"
    return isl.UnionMap(f"[{names}] -> {{ {' -> '.join(ends)} : {where} }}")


def of_kind(known: ArrayDependences, kind: DependenceKind) -> isl.UnionMap:
    return {"flow": known.flow, "anti": known.anti, "output": known.output}[kind.value]


@pytest.mark.parametrize("path", sorted(SUITE.glob("*.c")), ids=lambda path: path.stem)
@pytest.mark.slow(but=["lu", "durbin", "trisolv"])
def test_every_serial_loop_of_the_suite_has_a_witness_that_is_a_dependence(path: Path) -> None:
    """Between iterations of that loop, equal in those around it; and none at smaller sizes through that array."""
    for compiled_scop in polytile.compile(path, schedule="classic").scops:
        scop = compiled_scop.compilation.source
        dependences = analyse(scop)
        for facts in compiled_scop.loops:
            assert facts.kind is not LoopKind.UNEXAMINED
            if facts.kind is not LoopKind.SERIAL:
                assert facts.witness is None
                continue
            found, loop = facts.witness, loop_of(scop, facts)
            assert found is not None
            source, sink = (tuple(v for _, v in place.iteration) for place in (found.source, found.sink))
            assert {found.source.statement, found.sink.statement} <= set(loop.statements)
            assert source[: loop.level] == sink[: loop.level] and source[loop.level] != sink[loop.level]
            pair = one_pair(found, scop)
            assert not pair.is_empty()
            assert pair.is_subset(of_kind(dependences.of(found.array), found.kind))
            assert pair.is_subset(in_order(scop)), "the source comes first"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["an5d/box3d4r", "stencilgen/denoise", "stencilgen/cheby"])
def test_large_bodies_are_examined_within_the_budget(name: str) -> None:
    """125 accesses of one array; 13 relations between statements; dependences that are conflicts."""
    (scop,) = polytile.compile(SUITE.parent / f"{name}.c", schedule="classic").scops
    time = scop.loops[0]
    assert (time.iterator, time.kind) == ("t", LoopKind.SERIAL)
    assert time.witness is not None and time.witness.may == (name == "stencilgen/cheby")
    assert not any(loop.kind is LoopKind.UNEXAMINED for loop in scop.loops)


def in_order(scop: Scop) -> isl.UnionMap:
    times = scop.schedule.get_map()
    return times.lex_lt_union_map(times)


TRACED = {
    "stencil in place": ("int n, double a[n]", "for (int t = 0; t < n; t++) for (int i = 1; i < n - 1; i++)"
                         " a[i] = a[i - 1] + a[i + 1];"),
    "triangle": ("int n, double a[n][n]", "for (int i = 0; i < n; i++) for (int j = i + 1; j < n; j++)"
                 " a[j][i] = a[j][i] / a[i][i] + a[j - 1][i];"),
    "two statements": ("int n, double a[n], double b[n]", "for (int i = 2; i < n; i++) { a[i] = b[i - 2] * 2;"
                       " b[i] = a[i - 1]; }"),
    "strided": ("int n, double a[n]", "for (int i = 4; i < n; i += 2) a[i] = a[i - 4] * 3;"),
    "mirror": ("int n, double a[n]", "for (int i = 0; i < n; i++) a[i] = a[n - 1 - i] * 2;"),
    "equal names": ("int n, double a[n], double b[n]", "for (int i = 1; i < n; i++) a[i] = a[i - 1] + 1;"
                    " for (int i = 0; i < n; i++) b[i] = a[i] * 2;"
                    " for (int i = 1; i < n; i++) a[i] = b[i] + b[i - 1];"),
    "shifted output": ("int n, double a[n], double b[n]", "for (int i = 1; i < n; i++) { a[i] = b[i];"
                       " a[i - 1] = b[i] * 2; }"),
    "transposed": ("int n, double a[n][n]", "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++)"
                   " a[i][j] = a[j][i] + 1;"),
}  # fmt: skip


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(("arguments", "body"), TRACED.values(), ids=TRACED)
def test_kinds_and_least_pairs_are_those_of_a_run(arguments: str, body: str) -> None:
    """At sizes from 0 on: loops without carried dependences are parallel, others have the least pair of the first run
    in which there is one."""
    scop = compiled(arguments, body)
    source = scop.compilation.source
    traces = [Trace(source, {"n": n}) for n in range(10)]
    for facts in scop.loops:
        loop = loop_of(source, facts)
        pairs = [t.carried(loop, a.name, kind) for t in traces for a in source.arrays for kind in DependenceKind]
        if facts.kind is LoopKind.PARALLEL and not facts.arrays:
            assert not any(pairs)
        elif facts.kind is LoopKind.PARALLEL:
            assert not any(t.carried(loop, a.name, DependenceKind.FLOW) for t in traces for a in source.arrays)
        else:
            found = facts.witness
            assert found is not None and not found.may
            own = [t.carried(loop, found.array, found.kind) for t in traces]
            first = next(n for n, some in enumerate(own) if some)
            assert dict(found.sizes) == {"n": first}
            ends = tuple((p.statement, tuple(v for _, v in p.iteration)) for p in (found.source, found.sink))
            least = min(own[first], key=lambda pair: (*pair[0][1], *pair[1][1]))
            assert ends == tuple((name, in_c(source, name, numbers, first)) for name, numbers in least)


def in_c(source: Scop, name: str, numbers: tuple[int, ...], n: int) -> tuple[int, ...]:
    """What the C's iterators are in an instance."""
    statement = source.statement(name)
    point = {"n": n, **dict(zip(statement.iterators, numbers, strict=True))}
    loops = zip(loops_around(source, statement), numbers, strict=True)
    return tuple(number if loop.value is None else evaluate(loop.value, point) for loop, number in loops)


def test_beyond_the_budget_nothing_is_guessed() -> None:
    scop = compiled("int n, double a[n]", PREFIX_SUM, max_operations=1)
    (loop,) = scop.loops
    assert (loop.kind, loop.witness) == (LoopKind.UNEXAMINED, None)
    assert list(reasons([loop])) == [
        "why.c:4: loop i is not examined: that takes more isl operations than --max-operations allows"
    ]


def test_a_scop_of_isl_has_loops_without_lines() -> None:
    found = polytile.compile_scop(
        polytile.scop_from_isl(
            "scan",
            domain="[n] -> { S[i] : 1 <= i < n }",
            schedule="[n] -> { S[i] -> [i] }",
            reads="[n] -> { S[i] -> A[i - 1] }",
            writes="[n] -> { S[i] -> A[i] }",
            bodies={"S": "A[i] = 2.0 * A[i - 1];"},
            arrays=[polytile_array("A")],
        )
    )
    assert list(reasons(found.loops)) == ["loop i is serial: A[i] written at i=1 is read at i=2"]
    assert "loop i is serial" in found.explain()


def polytile_array(name: str) -> Array:
    return Array(name, DOUBLE, (Name("n"),))
