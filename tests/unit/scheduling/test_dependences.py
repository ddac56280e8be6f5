"""Dependence analysis of small programs, as isl relations."""

from __future__ import annotations

from collections.abc import Callable

import islpy as isl
import pytest

import polytile
from polytile.ir.scop import AccessKind, Scop
from polytile.scheduling.analysis.checked_flow import flow
from polytile.scheduling.analysis.dependences import Dependences, analyse, array_values, values_through

Analyse = Callable[..., Dependences]

ROWS = "int n, int m, double A[n][m], double y[n]"
PER_ROW = """
for (int i = 0; i < n; i++) {
    s = 0;
    for (int j = 0; j < m; j++)
        s += A[i][j];
    y[i] = s;
}"""


PROGRAMS = {
    "lu": (
        "int n, double A[n][n]",
        """for (int i = 0; i < n; i++) {
            for (int j = 0; j < i; j++) {
                for (int k = 0; k < j; k++) A[i][j] -= A[i][k] * A[k][j];
                A[i][j] /= A[j][j];
            }
            for (int j = i; j < n; j++) for (int k = 0; k < i; k++) A[i][j] -= A[i][k] * A[k][j];
        }""",
    ),
    "seidel": (
        "int n, double A[n][n]",
        "for (int t = 0; t < 2; t++) for (int i = 1; i < n - 1; i++) for (int j = 1; j < n - 1; j++)"
        " A[i][j] = A[i - 1][j] + A[i][j - 1] + A[i][j + 1] + A[i + 1][j];",
    ),
    "strides": (
        "int n, double x[2 * n + 3]",
        "for (int i = n; i > 0; i -= 2) { x[2 * i] = x[i] + x[i / 2]; if (i % 3 == 1) x[i % 3] += x[i]; }",
    ),
}


def assert_equal(found: isl.UnionMap, expected: str) -> None:
    assert found.is_equal(isl.UnionMap(expected)), f"{found}\nis not\n{expected}"


def test_a_recurrence_flows_from_each_iteration_to_the_next(dependences: Analyse) -> None:
    through = dependences("int n, double A[n + 2]", "for (int i = 1; i < n; i++) A[i] = A[i - 1] + A[i + 1];").of("A")
    assert_equal(through.flow, "[n] -> { S0[i] -> S0[i + 1] : 0 < i < n - 1 }")
    assert_equal(through.anti, "[n] -> { S0[i] -> S0[i + 1] : 0 < i < n - 1 }")
    assert_equal(through.output, "{}")
    assert_equal(through.uninitialised, "[n] -> { S0[i] -> A[i + 1] : 0 < i < n; S0[1] -> A[0] : n > 1 }")


def test_only_the_last_writer_flows(dependences: Analyse) -> None:
    body = """
    for (int i = 0; i < n; i++) A[i] = 1;
    for (int i = 0; i < n; i++) A[i] = 2;
    for (int i = 0; i < n; i++) B[i] = A[i];"""
    through = dependences("int n, double A[n], double B[n]", body).of("A")
    assert_equal(through.flow, "[n] -> { S1[i] -> S2[i] : 0 <= i < n }")
    assert_equal(through.output, "[n] -> { S0[i] -> S1[i] : 0 <= i < n }")
    assert_equal(through.uninitialised, "{}")


def test_a_write_under_a_data_dependent_condition_hides_nothing(dependences: Analyse) -> None:
    body = """
    for (int i = 0; i < n; i++) A[i] = 1;
    for (int i = 0; i < n; i++) if (B[i] > 0) A[i] = 2;
    for (int i = 0; i < n; i++) C[i] = A[i];"""
    through = dependences("int n, double A[n], double B[n], double C[n]", body).of("A")
    assert_equal(through.flow, "[n] -> { S0[i] -> S2[i] : 0 <= i < n; S1[i] -> S2[i] : 0 <= i < n }")
    assert_equal(through.uninitialised, "{}")


def test_a_value_from_before_may_survive_a_may_write(dependences: Analyse) -> None:
    body = """
    for (int i = 0; i < n; i++) if (B[i] > 0) A[i] = 2;
    for (int i = 0; i < n; i++) C[i] = A[i];"""
    through = dependences("int n, double A[n], double B[n], double C[n]", body).of("A")
    assert_equal(through.uninitialised, "[n] -> { S1[i] -> A[i] : 0 <= i < n }")


def test_anti_dependences_stop_at_the_next_write(dependences: Analyse) -> None:
    body = """
    for (int i = 0; i < n; i++) B[i] = A[i];
    for (int i = 0; i < n; i++) A[i] = 1;
    for (int i = 0; i < n; i++) A[i] = 2;"""
    through = dependences("int n, double A[n], double B[n]", body).of("A")
    assert_equal(through.anti, "[n] -> { S0[i] -> S1[i] : 0 <= i < n }")
    assert_equal(through.output, "[n] -> { S1[i] -> S2[i] : 0 <= i < n }")


def test_a_scalar_declared_in_a_loop_dies_with_the_iteration(dependences: Analyse) -> None:
    inside = dependences(ROWS, PER_ROW.replace("s = 0", "double s = 0")).of("s")
    assert_equal(
        inside.flow,
        "[n, m] -> { S0[i] -> S1[i, 0] : 0 <= i < n and m > 0;"
        " S1[i, j] -> S1[i, j + 1] : 0 <= i < n and 0 <= j < m - 1;"
        " S1[i, m - 1] -> S2[i] : 0 <= i < n and m > 0; S0[i] -> S2[i] : 0 <= i < n and m <= 0 }",
    )
    assert_equal(inside.uninitialised, "{}")


def test_a_kill_cuts_what_a_branch_leaves_unwritten(dependences: Analyse) -> None:
    """Without the declaration, iteration i would read what iteration i - 1 wrote."""
    body = "for (int i = 0; i < n; i++) { double s; if (i % 2 == 0) s = A[i]; if (i % 2 == 0) B[i] = s; }"
    through = dependences("int n, double A[n], double B[n]", body).of("s")
    assert_equal(through.flow, "[n] -> { S0[i] -> S1[i] : 0 <= i < n and i mod 2 = 0 }")


def test_the_flow_of_a_reduction_to_itself_is_kept_apart(dependences: Analyse) -> None:
    found = dependences(ROWS, PER_ROW, "double s;")
    assert_equal(found.reductions, "[n, m] -> { S1[i, j] -> S1[i, j + 1] : 0 <= i < n and 0 <= j < m - 1 }")
    assert found.reductions.is_subset(found.flow)


@pytest.mark.parametrize(
    "update",
    ["s += A[i]", "s = s + A[i]", "s = A[i] + s", "s *= A[i]", "s -= A[i]", "s = s > A[i] ? s : A[i]"],
)
def test_updates_that_are_reductions(scop: Callable[..., Scop], update: str) -> None:
    found = scop("int n, double A[n], double *p", f"for (int i = 0; i < n; i++) {update}; p[0] = s;", "double s = 0;")
    assert found.statement("S0").reduction is not None
    assert not analyse(found).reductions.is_empty()


@pytest.mark.parametrize("update", ["s = A[i] - s", "s += s * A[i]", "s = A[i] / s", "s /= A[i]", "s = 2 * s + A[i]"])
def test_updates_that_are_none(scop: Callable[..., Scop], update: str) -> None:
    found = scop("int n, double A[n], double *p", f"for (int i = 0; i < n; i++) {update}; p[0] = s;", "double s = 0;")
    assert found.statement("S0").reduction is None


def test_dependences_name_their_arrays(dependences: Analyse) -> None:
    body = "for (int i = 0; i < n; i++) { A[i] = 1; B[i] = 2; C[i] = A[i] + B[i]; }"
    found = dependences("int n, double A[n], double B[n], double C[n]", body)
    assert found.arrays_between("S0", "S2") == ["A"]
    assert found.arrays_between("S1", "S2") == ["B"]
    assert found.arrays_between("S0", "S1") == []


def test_every_dependence_runs_forward_in_the_source_order(scop: Callable[..., Scop]) -> None:
    found = scop(
        "int n, double A[n][n]",
        """for (int k = 0; k < n; k++) {
            for (int i = k + 1; i < n; i++) A[i][k] /= A[k][k];
            for (int i = k + 1; i < n; i++) for (int j = k + 1; j < n; j++) A[i][j] -= A[i][k] * A[k][j];
        }""",
    )
    order = found.schedule.get_map()
    pairs = analyse(found).all.apply_domain(order).apply_range(order)
    span = pairs.domain().union(pairs.range())
    assert pairs.is_subset(span.lex_lt_union_set(span))
    assert not pairs.is_empty()


@pytest.mark.parametrize("name", PROGRAMS)
def test_without_the_budget_every_conflict_counts(scop: Callable[..., Scop], name: str) -> None:
    found = scop(*PROGRAMS[name])
    exact, rough = analyse(found), analyse(found, max_operations=10)
    array = next(d.array for d in exact.by_array if not d.false.is_empty())
    assert exact.of(array).exact
    assert not rough.of(array).exact
    assert exact.all.is_subset(rough.all)
    assert exact.of(array).uninitialised.is_subset(rough.of(array).uninitialised)
    order = found.schedule.get_map()
    assert rough.all.is_subset(order.lex_lt_union_map(order))


def brute_force(scop: Scop, values: dict[str, int]) -> tuple[isl.UnionMap, isl.UnionMap]:
    """Last writer to reader, and readers and last writer to writer, by running the accesses of the program one after
    the other (must-writes only)."""
    point = isl.Set(f"[{', '.join(values)}] -> {{ : {' and '.join(f'{n} = {v}' for n, v in values.items())} }}")
    order = scop.schedule.get_map().intersect_domain(scop.domain.intersect_params(point))
    timed: list[tuple[tuple[int, ...], isl.Point]] = []

    def visit(pair: isl.Point) -> None:
        timed.append((_coordinates(pair.to_set().unwrap().range()), pair.to_set().unwrap().domain().sample_point()))

    order.wrap().foreach_point(visit)
    last: dict[str, isl.UnionSet] = {}
    since: dict[str, isl.UnionSet] = {}  # readers of the last value
    none = isl.UnionSet("{}")
    flow, false = isl.UnionMap("{}"), isl.UnionMap("{}")
    for _, instance in sorted(timed, key=lambda t: t[0]):
        here = isl.UnionSet.from_set(isl.Set.from_point(instance))
        statement = scop.statement(isl.Set.from_point(instance).get_tuple_name())
        for access in sorted(statement.accesses, key=lambda a: a.writes):
            elements = isl.UnionMap.from_map(access.relation).intersect_domain(here).intersect_params(point).range()
            for element in _points(elements):
                name = str(element)
                if access.writes:
                    before = last.get(name, none).union(since.get(name, none)).subtract(here)
                    false = false.union(isl.UnionMap.from_domain_and_range(before, here))
                    last[name], since[name] = here, none
                    continue
                since[name] = since.get(name, none).union(here)
                if name in last:
                    flow = flow.union(isl.UnionMap.from_domain_and_range(last[name], here))
    return flow, false


def _points(union: isl.UnionSet) -> list[isl.Set]:
    found: list[isl.Set] = []
    union.foreach_point(lambda p: found.append(p.to_set()))
    return found


def _coordinates(single: isl.Set) -> tuple[int, ...]:
    point = single.sample_point()
    return tuple(point.get_coordinate_val(isl.dim_type.set, i).to_python() for i in range(single.dim(isl.dim_type.set)))


@pytest.mark.parametrize("name", PROGRAMS)
def test_dependences_are_what_running_the_program_shows(scop: Callable[..., Scop], name: str) -> None:
    found = scop(*PROGRAMS[name])
    point = isl.Set("[n] -> { : n = 5 }")
    actual = analyse(found)
    flow, false = brute_force(found, {"n": 5})
    assert actual.flow.intersect_params(point).is_equal(flow.intersect_params(point))
    assert actual.false.intersect_params(point).is_equal(false.intersect_params(point))


def test_strides_below_a_triangle(scop: Callable[..., Scop]) -> None:
    """Of the last uses before each write, the isl of islpy 2026.2.2 ends with a segmentation fault here."""
    body = """for (int i = 1; i <= m; i++) for (int j = 1; j < n - i; j++) {
        s[0] = C[i][j] + C[j][i]; s[1] = C[i][j + 1];
        for (int p = 0; p < m - 1; p += 3) { s[2] = C[p][1]; C[j][p + 1] = s[1]; } }"""
    found = scop("int n, int m, double C[n + m][n + m], double s[3]", body)
    point, actual = isl.Set("[m, n] -> { : m = 5 and n = 7 }"), analyse(found)
    flow, false = brute_force(found, {"m": 5, "n": 7})
    assert actual.flow.intersect_params(point).is_equal(flow.intersect_params(point))
    assert actual.false.intersect_params(point).is_equal(false.intersect_params(point))


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_alone_are_the_flow(name: str, scop: Callable[..., Scop]) -> None:
    program = scop(*PROGRAMS[name])
    for whole in analyse(program).by_array:
        found = array_values(program, whole.array)
        assert found.exact and found.flow.is_equal(whole.flow) and found.uninitialised.is_equal(whole.uninitialised)
        assert found.false.is_empty()


def test_values_that_are_not_to_be_exact_are_conflicts(scop: Callable[..., Scop]) -> None:
    program = scop(*PROGRAMS["seidel"])
    whole = analyse(program).of("A")
    for found in (array_values(program, "A", exact=False), array_values(program, "A", 1)):
        assert not found.exact
        assert whole.flow.is_strict_subset(found.flow)


@pytest.mark.slow
def test_values_by_the_times_that_decide() -> None:
    """The flow through partial results is the same from these times and from the whole tree."""
    body = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { x[i] += A[i][j] * y[j]; z[j] += A[i][j] * w[i]; }"
    arguments = "int n, double A[n][n], double x[n], double y[n], double z[n], double w[n]"
    text = f"void f({arguments})\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
    scop = polytile.compile(text, name="test.c", schedule="superposed").scops[0].compilation.run.scop
    partial = [array.name for array in scop.arrays if "_" in array.name]
    assert len(partial) >= 4
    for name in partial:
        kinds = (AccessKind.READ, AccessKind.WRITE, AccessKind.MAY_WRITE)
        found = flow(*(scop.accesses(kind, arrays=frozenset((name,))) for kind in kinds), scop.schedule)
        values, unset = values_through(scop, name)
        assert values.is_equal(found.get_may_dependence()) and unset.is_equal(found.get_may_no_source())
