"""Reductions in partial results: the new Scop is proven, and computes what the C does, in every kind of split."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import islpy as isl
import pytest

from polytile.api import CompiledScop
from polytile.compilation import Compilation
from polytile.frontend.program import read_program
from polytile.ir.expr import Literal
from polytile.ir.identity_key import IdentityKey
from polytile.ir.partial_results import Split
from polytile.ir.scop import Reduction, Scop
from polytile.machine import machine_of
from polytile.options import MAX_OPERATIONS, Options
from polytile.pipeline import generate_program, sequential_text
from polytile.runtime.expectation import Expectation
from polytile.runtime.reference import Reference, reference
from polytile.runtime.validate import validate
from polytile.scheduling.analysis.dependences import Dependences, analyse
from polytile.scheduling.proof.dataflow import changed_values
from polytile.scheduling.proof.reductions import wrong_regroupings
from polytile.scheduling.transform.reductions.plan import Adders
from polytile.scheduling.transform.reductions.privatise import privatise, privatised, result_group
from polytile.stages.analysis import expand_storage, find_dependences, join_locals, separate_purposes
from polytile.stages.place_data import choose_storage, prove_legality
from polytile.stages.select_schedule import find_schedule

SIZES = ((0, 0), (1, 1), (31, 33), (32, 32), (33, 31), (70, 70))


@dataclass(frozen=True)
class Case:
    """A program, its reduction, and the iterators of that which may be split."""

    arguments: str
    body: str
    statement: str
    reductions: tuple[int, ...]
    before: str = ""


def vector(element: str, body: str, before: str = "") -> Case:
    return Case(f"int n, int m, {element} A[n], {element} s[1]", body, "S0", (0,), before)


ROWS = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++)"
MATRIX = "int n, int m, double A[n][m], double x[n + m], double s[1]"
CASES = {
    "dot product": vector("double", "for (int i = 0; i < n; i++) s[0] += A[i] * A[n - 1 - i];"),
    "row sums": Case(MATRIX, f"{ROWS} x[i] += A[i][j];", "S0", (1,)),
    "column sums": Case(MATRIX, f"{ROWS} x[j] += A[i][j];", "S0", (0,)),
    "sums that start at 0": Case(
        MATRIX, "for (int i = 0; i < n; i++) { x[i] = 0; for (int j = 0; j < m; j++) x[i] += A[i][j]; }", "S1", (1,)
    ),
    "sum of a matrix": Case(MATRIX, f"{ROWS} s[0] += A[i][j];", "S0", (0, 1)),
    "sums of diagonals": Case(
        MATRIX, "for (int d = 0; d < n; d++) for (int i = d; i < n && i - d < m; i++) x[d] += A[i][i - d];", "S0", (1,)
    ),
    "upper triangle": Case(
        MATRIX, "for (int i = 0; i < n; i++) for (int j = i; j < m; j++) x[j] += A[i][j];", "S0", (0,)
    ),
    "groups without instances": Case(
        MATRIX, "for (int i = 0; i < n; i++) for (int j = 2 * i; j < m; j++) x[i] += A[i][j];", "S0", (1,)
    ),
    "a scalar for each row": Case(
        MATRIX,
        "for (int i = 0; i < n; i++) { t = 1; for (int j = 0; j < m; j++) t += A[i][j]; x[i] = t; }",
        "S1",
        (1,),
        "double t;",
    ),
    "a value of the last iteration": Case(
        MATRIX,
        "for (int j = 0; j < m; j++) for (int i = 0; i < n; i++) { x[i] += A[i][j]; if (j == m - 1) s[0] = x[i]; }",
        "S0",
        (0,),
    ),
    "a row at a time, which is seen": Case(
        MATRIX,
        """for (int i = 0; i < n; i++) {
            for (int j = 0; j < m; j++) { x[j] = 0; for (int k = 0; k < m; k++) x[j] += A[i][k] * (j + k); }
            for (int j = 0; j < m; j++) A[i][j] = x[j] / 4096;
        }""",
        "S1",
        (2,),
    ),
    "a variable for two sums": Case(
        MATRIX,
        """for (int i = 0; i < n; i++) {
            t = 0; for (int j = 0; j < m; j++) t += A[i][j];
            x[i] = t; t = 1; for (int j = 0; j < m; j++) t -= A[i][j];
            A[i][0] = t;
        }""",
        "S4",
        (1,),
        "double t;",
    ),
    "below 0": vector("double", "for (int i = -3; i < n - 3; i++) s[0] += A[i + 3];"),
    "below 0, who knows how far": vector("double", "for (int i = -m; i < n - m; i++) s[0] += A[i + m];"),
    "rows below 0": Case(
        MATRIX, "for (int i = -m; i < n - m; i++) for (int j = 0; j < m; j++) x[i + m] += A[i + m][j];", "S0", (1,)
    ),
    "columns below 0 in tiles": Case(
        MATRIX, "for (int i = 0; i < n; i++) for (int j = -m; j < 0; j++) x[j + m] += A[i][j + m];", "S0", (0,)
    ),
    "backwards": vector("double", "for (int i = n - 1; i >= 0; i--) s[0] += A[i];"),
    "differences": vector("double", "for (int i = 0; i < n; i++) s[0] -= A[i];"),
    "differences, spelt out": vector("float", "for (int i = 0; i < n; i++) s[0] = s[0] - A[i];"),
    "a sum on the right": vector("double", "for (int i = 0; i < n; i++) s[0] = A[i] + s[0];"),
    "product": vector("double", "for (int i = 0; i < n; i++) s[0] *= 1 + A[i] / 64;"),
    "product of integers": vector("unsigned", "for (int i = 0; i < n; i++) s[0] *= 2 * A[i] + 1;"),
    "fmax": vector("double", "for (int i = 0; i < n; i++) s[0] = fmax(s[0], A[i]);"),
    "fminf": vector("float", "for (int i = 0; i < n; i++) s[0] = fminf(A[i], s[0]);"),
    "maximum": vector("double", "for (int i = 0; i < n; i++) s[0] = s[0] > A[i] ? s[0] : A[i];"),
    "maximum under a condition": vector("float", "for (int i = 0; i < n; i++) if (A[i] >= s[0]) s[0] = A[i];"),
    "minimum under a condition": vector("int", "for (int i = 0; i < n; i++) if (s[0] > A[i]) s[0] = A[i];"),
    "minimum of small numbers": vector("signed char", "for (int i = 0; i < n; i++) s[0] = A[i] < s[0] ? A[i] : s[0];"),
    "maximum of large numbers": vector(
        "unsigned long", "for (int i = 0; i < n; i++) s[0] = A[i] < s[0] ? s[0] : A[i];"
    ),
    "and": vector("int", "for (int i = 0; i < n; i++) s[0] &= A[i] | 0x5a5a5a00;"),
    "or": vector("unsigned short", "for (int i = 0; i < n; i++) s[0] |= A[i];"),
    "exclusive or": vector("long long", "for (int i = 0; i < n; i++) s[0] ^= A[i];"),
    "sum of characters": vector("char", "for (int i = 0; i < n; i++) s[0] += A[i];"),
    "sum of bytes": vector("unsigned char", "for (int i = 0; i < n; i++) s[0] += A[i] * A[i];"),
    "sum of shorts": vector("short", "for (int i = 0; i < n; i++) s[0] -= A[i];"),
    "sum of large numbers": vector("long long", "for (int i = 0; i < n; i++) s[0] += A[i];"),
    "integers in doubles": Case(
        "int n, int m, int A[n], double s[1]", "for (int i = 0; i < n; i++) s[0] += A[i];", "S0", (0,)
    ),
    "partial sums that would overflow": Case(
        "int n, int m, int s[1]",
        "for (int i = 0; i < n; i++) s[0] += i % 2 ? -2000000000 : 2000000000;",
        "S0",
        (0,),
    ),
    "a sum of what is used elsewhere": Case(
        "int n, int m, double A[n], double B[n], double s[1]",
        "for (int i = 0; i < n; i++) { double t = A[i] * 2; B[i] = t; s[0] += t; }",
        "S2",
        (0,),
    ),
}


def splits(reductions: tuple[int, ...]) -> dict[str, tuple[Split, ...]]:
    """Every kind of split of these iterators."""
    found: dict[str, tuple[Split, ...]] = {}
    for k in reductions:
        found[f"lanes of {k}"] = (Split(k, 32, True),)
        found[f"lanes of {k} with neighbours"] = (Split(k, 8, True, 4),)
        found[f"chunks of {k}"] = (Split(k, 16, False),)
        found[f"lanes in chunks of {k}"] = (Split(k, 24, False), Split(k, 5, True))
    if len(reductions) > 1:
        found["both"] = (Split(reductions[0], 8, False), Split(reductions[1], 4, True), Split(reductions[0], 2, True))
    return found


def prepared(case: Case) -> tuple[Scop, Scop]:
    """The source's Scop of a case, and the Scop as it comes to the scheduler."""
    source = read(case)
    state = Compilation(source, Options(), machine_of(Options().arch), source)
    for stage in (join_locals, find_dependences, separate_purposes, expand_storage):
        state = stage(state)
    return source, state.scop


def read(case: Case) -> Scop:
    before = "#include <math.h>\nstruct pair { double re, im; };\n"
    inside = f"{case.before}\n#pragma scop\n{case.body}\n#pragma endscop"
    found = read_program("test.c", f"{before}void f({case.arguments})\n{{\n{inside}\n}}\n")
    assert not found.refusals, found.refusals[0].error
    return found.scops[0]


def analysed(scop: Scop) -> Dependences:
    """The dependences of one Scop, of which many others are made."""
    return _analysed(IdentityKey(scop))


@lru_cache(maxsize=4)
def _analysed(key: IdentityKey[Scop]) -> Dependences:
    return analyse(key.value)


ADDERS = {rank: (4, *(8,) * rank) for rank in range(4)}


def split(
    scop: Scop,
    statement: str,
    parts: tuple[Split, ...],
    blocked: Mapping[int, tuple[int, ...]] | None = None,
    adders: Adders = {},  # noqa: B006 (nobody changes it)
) -> Scop:
    found = privatise(scop, analysed(scop), statement, parts, blocked, adders)
    assert found is not None
    return found


def assert_proven(source: Scop, program: Scop) -> None:
    before, after = analysed(source), analyse(program)
    assert wrong_regroupings(source, before, program, after) == ()
    assert changed_values(source, before, program, after) == ()


@dataclass(frozen=True)
class Sequential:
    """Runs a Scop in its own order, in C."""

    scop: Scop
    label: str = "the host"

    def run(self, layouts: Any, values: Any, memory: Any) -> None:
        self.compiled(layouts, values, memory)

    def launched(self, values: Any) -> tuple[Any, ...]:
        return ()

    @cached_property
    def compiled(self) -> Reference:
        return reference(self.scop, sequential_text(self.scop))


def compiled(source: Scop, program: Scop) -> CompiledScop:
    """The classic schedule of a Scop with partial results."""
    state = Compilation(program, Options(), machine_of(Options().arch), source)
    for stage in (find_dependences, find_schedule, choose_storage, prove_legality, generate_program):
        state = stage(state)
    return CompiledScop(state)


def expectation(source: Scop, n: int, m: int) -> Expectation:
    known = {p.name for p in source.parameters}
    found = CompiledScop(Compilation(source, Options(), machine_of(Options().arch), source))
    return found.expect({k: v for k, v in {"n": n, "m": m}.items() if k in known}, seed=n)


@pytest.mark.slow(but="sum-of-bytes")
@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("name", CASES, ids=lambda name: name.replace(" ", "-"))
def test_every_split_is_proven_and_right(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Not a matter of time here.
    monkeypatch.setattr("polytile.scheduling.transform.reductions.privatise.ARRAY_OPERATIONS", MAX_OPERATIONS)
    case = CASES[name]
    source, scop = prepared(case)
    kinds = splits(case.reductions)
    shown = [parts for kind, parts in kinds.items() if "A[n][m]" in case.arguments or "lanes in" in kind]
    programs = [split(scop, case.statement, parts) for parts in shown]
    group = result_group(scop, scop.statement(case.statement))
    assert group is not None and not set(group) & set(case.reductions)
    if group:
        lanes = (Split(case.reductions[0], 8, True),)
        programs += [split(scop, case.statement, lanes, {group[0]: tiles}) for tiles in ((8,), (8, 2))]
    gathered = split(scop, case.statement, kinds[f"lanes in chunks of {case.reductions[0]}"], None, ADDERS)
    assert gathered.privatised[0].gathering is not None
    programs.append(gathered)
    for program in programs:
        assert_proven(source, program)
    engines = [Sequential(program) for program in programs]
    for n, m in SIZES:
        expected = expectation(source, n, m)
        for engine in engines:
            validate(expected, engine, strict=False)


EMULATED = {
    "row sums": ((Split(1, 32, True),), {0: (8,)}),
    "column sums": ((Split(0, 16, False), Split(0, 8, True)), {1: (32,)}),
    "sum of a matrix": ((Split(0, 16, False), Split(1, 32, True)), {}),
    "maximum under a condition": ((Split(0, 32, True),), {}),
    "partial sums that would overflow": ((Split(0, 2, True),), {}),
    "and": ((Split(0, 8, False),), {}),
    "minimum of small numbers": ((Split(0, 16, False), Split(0, 8, True)), {}),
    "a scalar for each row": ((Split(1, 32, True),), {}),
}


@pytest.mark.slow
@pytest.mark.usefixtures("emulator", "checking_compiler")
@pytest.mark.parametrize("name", EMULATED, ids=lambda name: name.replace(" ", "-"))
def test_generated_kernels_are_right_and_free_of_races(name: str) -> None:
    case = CASES[name]
    parts, blocked = EMULATED[name]
    source, scop = prepared(case)
    found = compiled(source, split(scop, case.statement, parts, blocked))
    proof = found.compilation.proof
    assert proof is not None
    assert any("is regrouped" in fact for fact in proof.facts)
    if found.program is not None:
        for n, m in SIZES:
            known = {p.name for p in source.parameters}
            parameters = {k: v for k, v in {"n": n, "m": m}.items() if k in known}
            found.validate(on="emulator", parameters=parameters, seed=n, sanitize="all")


def test_what_the_result_says(scop: Callable[..., Scop]) -> None:
    """The matrix-vector product: names, layouts, and what lowering needs to know."""
    source = read(CASES["row sums"])
    program = split(source, "S0", (Split(1, 32, True),), {0: (8,)})
    (made,) = program.privatised
    assert (made.statement, made.array, made.op, made.group, made.finish) == ("S0", "x", "+", (0,), None)
    assert [s.name for s in program.statements] == [made.initial, made.update, made.combine]
    assert program.statement(made.update).parts == ("S0",)
    given = program.statement(made.combine or "").combine
    assert given is not None
    assert (given.op, given.array, given.sizes) == ("+", made.partial, (32,))
    assert program.array(made.partial).extents[1:] == (Literal("8"), Literal("33"))
    fold = program.statement(made.combine or "")
    (read_lanes,) = (a.relation for a in fold.accesses if a.array == made.partial)
    wanted = f"[n, m] -> {{ {fold.name}[i] -> {made.partial}[floor(i/8), i mod 8, l] : 0 <= l < 32 }}"
    assert read_lanes.is_equal(isl.Map(wanted))


def test_chunks_wait_in_an_array_of_their_own() -> None:
    source = read(CASES["column sums"])
    program = split(source, "S0", (Split(0, 64, False), Split(0, 8, True)), {1: (32,)})
    (made,) = program.privatised
    assert made.middle is not None
    assert program.array(made.partial).rank == 4
    assert program.array(made.middle).rank == 2
    finish = program.statement(made.finish or "")
    assert finish.reduction == Reduction("+", "x")
    inner = analyse(program).of("x").flow
    wanted = f"[n, m] -> {{ {finish.name}[j, c] -> {finish.name}[j, c + 1] : 0 <= j < m and 0 <= c and 64c + 64 < n }}"
    assert inner.is_equal(isl.UnionMap(wanted))


@pytest.mark.slow(but="one adds-plain-a scalar for each row")
@pytest.mark.parametrize("name", ["upper triangle", "a scalar for each row", "a value of the last iteration"])
@pytest.mark.parametrize("blocked", [{}, {0: (4,)}], ids=["plain", "blocked"])
@pytest.mark.parametrize("adders", [{}, ADDERS], ids=["one adds", "lanes add"])
def test_dependences_are_those_of_an_analysis(name: str, blocked: dict[int, tuple[int, ...]], adders: Adders) -> None:
    """Those that come with the result are put together from those before."""
    case = CASES[name]
    _, scop = prepared(case)
    before = analyse(scop)
    for parts in splits(case.reductions).values():
        found = privatised(scop, before, case.statement, parts, blocked, adders)
        assert found is not None
        program, given = found
        anew = analyse(program)
        assert given.reductions.is_equal(anew.reductions)
        for one, other in zip(given.by_array, anew.by_array, strict=True):
            assert one.array == other.array
            for relation in ("flow", "anti", "output", "uninitialised"):
                mine, theirs = (getattr(d, relation).intersect_params(program.context) for d in (one, other))
                assert mine.is_equal(theirs), (one.array, relation)


def test_dependences_of_others_stay() -> None:
    """What reads the matrix row by row and sums it up in columns is otherwise as before."""
    inner = "for (int j = 0; j < m; j++) { A[i][j] *= 2; x[j] += A[i][j]; }"
    body = f"for (int i = 0; i < n; i++) {{ {inner} s[0] = A[i][0]; }}"
    source = read(Case(MATRIX, body, "S1", (0,)))
    program = split(source, "S1", (Split(0, 16, False),))
    update = program.privatised[0].update
    before, after = analyse(source).of("A"), analyse(program).of("A")
    renamed = isl.UnionMap(f"[n, m] -> {{ S1[i, j] -> {update}[i, j]; S0[i, j] -> S0[i, j]; S2[i] -> S2[i] }}")
    assert after.flow.is_equal(before.flow.apply_domain(renamed).apply_range(renamed))


def test_several_reductions_one_after_the_other() -> None:
    """Two sums into one array, one into another that reads it, and the order needs no more dimensions for each."""
    body = f"{ROWS} x[i] += A[i][j]; {ROWS} x[i] += 2 * A[i][j]; for (int i = 0; i < n; i++) s[0] += x[i];"
    source = read(Case(MATRIX, body, "S0", (1,)))
    program = split(source, "S0", (Split(1, 32, True),))
    ranks = [program.schedule.get_root().child(0).band_n_member()]
    program = split(program, "S1", (Split(1, 32, True),))
    program = split(program, "S2", (Split(0, 32, True),))
    ranks.append(program.schedule.get_root().child(0).band_n_member())
    assert ranks[0] == ranks[1]
    assert len(program.privatised) == 3
    assert_proven(source, program)
    for n, m in SIZES:
        validate(expectation(source, n, m), Sequential(program), strict=False)


LEFT = {
    "a running sum is read": Case(MATRIX, "for (int i = 0; i < n; i++) { s[0] += x[i]; x[i] = s[0]; }", "S0", (0,)),
    "two take turns": Case(MATRIX, "for (int i = 0; i < n; i++) { s[0] += x[i]; s[0] += 1; }", "S0", (0,)),
    "somebody else may write": Case(
        MATRIX, "for (int i = 0; i < n; i++) { s[0] += x[i]; if (A[i][0] > 0) s[0] = 0; }", "S0", (0,)
    ),
    "elements overlap": Case(MATRIX, f"{ROWS} x[i + j] += A[i][j];", "S0", (1,)),
    "nothing is reduced": Case(MATRIX, f"{ROWS} x[i] = A[i][j];", "S0", (1,)),
    "the loop is not the reduction's": Case(MATRIX, f"{ROWS} x[i] += A[i][j];", "S0", (0,)),
    "integers that are rounded": Case(
        "int n, int m, double A[n], int s[1]", "for (int i = 0; i < n; i++) s[0] += A[i];", "S0", (0,)
    ),
    "truth values": vector("_Bool", "for (int i = 0; i < n; i++) s[0] += A[i];"),
    "a maximum that is cut off": Case(
        "int n, int m, long A[n], int s[1]",
        "for (int i = 0; i < n; i++) s[0] = s[0] > A[i] ? s[0] : A[i];",
        "S0",
        (0,),
    ),
    "a maximum across signs": Case(
        "int n, int m, int A[n], unsigned s[1]",
        "for (int i = 0; i < n; i++) s[0] = s[0] > A[i] ? s[0] : A[i];",
        "S0",
        (0,),
    ),
    "a loop with a stride": vector("double", "for (int i = 0; i < n; i++) if (i % 2 == 0) s[0] += A[i];"),
    "a field of a structure": Case(
        "int n, int m, struct pair A[1], double x[n]", "for (int i = 0; i < n; i++) A[0].re += x[i];", "S0", (0,)
    ),
}


@pytest.mark.parametrize("name", LEFT, ids=lambda name: name.replace(" ", "-"))
def test_what_cannot_be_split(name: str) -> None:
    case = LEFT[name]
    source = read(case)
    for lanes in (True, False):
        parts = tuple(Split(k, 8, lanes) for k in case.reductions)
        assert privatise(source, analyse(source), case.statement, parts) is None


def test_no_split_and_partial_results_again() -> None:
    source = read(CASES["row sums"])
    assert privatise(source, analyse(source), "S0", ()) is None
    program = split(source, "S0", (Split(1, 8, False),))
    finish = program.privatised[0].finish or ""
    assert privatise(program, analyse(program), finish, (Split(1, 8, True),)) is None


def test_new_names_do_not_meet_others() -> None:
    inner = "for (int i_lane = 0; i_lane < n; i_lane++) s[0] += x_part[i];"
    body = f"for (int i = 0; i < n; i++) {{ x_part[i] = 0; {inner} }}"
    source = read(Case("int n, int s_part, double x_part[n], double s[1]", body, "S1", (1,)))
    program = split(source, "S1", (Split(1, 8, True), Split(0, 4, False)))
    names = [a.name for a in program.arrays] + [p.name for p in program.parameters]
    assert len(set(names)) == len(names)
    assert_proven(source, program)
