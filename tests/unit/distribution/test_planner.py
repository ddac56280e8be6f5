"""What is cut, how far halos reach, what is exchanged, and what is refused with which reason."""

from __future__ import annotations

from collections.abc import Callable

import islpy as isl
import pytest

from polytile.diagnostics import UsageError, UserError
from tests.unit.distribution.programs import (
    ADVECTION,
    ELSEWHERE,
    HANDED_ON,
    STAR,
    WAVE,
    distribute,
    named,
    scop_of,
    scop_of_file,
)

CORNERS = {(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)} - {(0, 0)}
FACES = {(-1, 0), (1, 0), (0, -1), (0, 1)}


def test_a_star_exchanges_faces_of_one_plane() -> None:
    plan = distribute(scop_of(STAR))
    assert [axis.name for axis in plan.axes] == ["i", "j"]
    assert plan.array("A").axes == (None, 0, 1)
    (between,) = plan.between
    assert (set(between.directions), between.reach) == (FACES, ((1, 1), (2, 2)))
    assert (between.plane, between.planes) == (0, ((0,), (1,)))
    assert [(p.statements, p.growth) for p in plan.phases] == [(("S0",), (((0, 0), (0, 0)),))]
    assert plan.boundary == ((1, 1), (2, 2))


def test_all_planes_are_exchanged_where_the_first_step_may_be_negative() -> None:
    """There is no plane -1, though `-1 % 2` is -1."""
    text = STAR.replace("int steps,", "int steps, int from,").replace("int t = 0", "int t = from")
    (between,) = distribute(scop_of(text)).between
    assert (between.plane, between.planes) == (None, ())


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_halos_grow_with_the_steps_of_a_period(steps: int) -> None:
    """Step s of T computes T - 1 - s times the reach of a step beyond the part, and corners are read from T = 2 on."""
    plan = distribute(scop_of(STAR), steps)
    assert plan.halo == ((steps, steps), (2 * steps, 2 * steps))
    assert (plan.lead is None) == (steps == 1)
    assert plan.phases[0].growth == tuple(((k, k), (2 * k, 2 * k)) for k in range(steps))
    assert set(plan.between[0].directions) == (FACES if steps == 1 else CORNERS)


def test_two_sweeps_of_a_step_are_two_phases() -> None:
    """What the second one writes the first one has read at other positions; nothing comes from the right."""
    plan = distribute(scop_of(ADVECTION))
    assert [p.statements for p in plan.phases] == [("S0",), ("S1",)]
    assert plan.halo == ((1, 0),)
    assert [(e.array, e.directions) for e in plan.between] == [("A", ((-1,),))]


def test_jacobi_exchanges_the_array_that_steps_hand_on() -> None:
    """B is computed beyond the part, and exchanged in front of the first step alone: its border is never written."""
    plan = distribute(scop_of_file("polybench/jacobi-2d.c"))
    assert [p.growth[0] for p in plan.phases] == [((1, 1), (1, 1)), ((0, 0), (0, 0))]
    assert [e.array for e in plan.between] == ["A"]
    assert {e.array for e in plan.before} == {"A", "B"}
    assert plan.between[0].reach == ((2, 2), (2, 2))


def test_fields_in_turn_reach_to_one_side() -> None:
    """hz reads ex and ey of the next position, and these read hz of the one before."""
    plan = distribute(scop_of_file("polybench/fdtd-2d.c"))
    assert [p.growth[0] for p in plan.phases] == [((0, 1), (0, 1)), ((0, 0), (0, 0))]
    assert {e.array: e.reach for e in plan.between}["hz"] == ((1, 1), (1, 1))


def test_sources_and_receivers_run_where_their_element_is() -> None:
    plan = distribute(scop_of(WAVE))
    assert [len(p.statements) for p in plan.phases] == [2, 1]
    assert (plan.split_phase, plan.boundary) == (0, ((1, 1), (1, 1)))
    receiver = plan.array("rec")
    assert (receiver.is_cut, [str(getattr(p, "name", p)) for p in receiver.position]) == (False, ["rx", "ry"])
    assert {e.array for e in plan.between} == {"u"}
    assert plan.array("v").halo == ((0, 0), (0, 0))


def test_coefficients_are_exchanged_once() -> None:
    plan = distribute(scop_of_file("cluster/himeno-19pt.c"), 2)
    assert {e.array for e in plan.between} == {"p"}
    assert {e.array for e in plan.before} > {"p", "a0", "bnd"}


def test_a_sweep_without_time_loop_is_one_step() -> None:
    plan = distribute(scop_of_file("polybench/gemm.c"))
    assert (plan.step, [a.name for a in plan.axes], plan.between) == ("", ["i", "j"], ())
    assert (plan.array("A").axes, plan.array("B").axes) == ((0, None), (None, 1))
    with pytest.raises(UsageError, match="no time loop"):
        distribute(scop_of_file("polybench/gemm.c"), 2)


def test_dependences_inside_a_step_are_refused_with_a_pair() -> None:
    with pytest.raises(UserError, match=r"different positions depend on each other through A: S0\[") as refused:
        distribute(scop_of_file("polybench/seidel-2d.c"))
    assert refused.value.location is not None and refused.value.location.line


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("for (int i = 1; i < n; i++) B[i] = A[i] + A[0];", "any distance"),
        ("for (int i = 0; i < n; i++) B[i] = A[n - 1 - i];", "any distance"),
        ("for (int i = 0; i < n; i++) B[i] = A[k[i]];", "any distance|no loop"),
        ("for (int i = 1; i < n; i++) s[0] *= A[i];", r"s combines by \*, in its type, what several ranks own"),
    ],
)
def test_what_cannot_be_cut_is_said_with_its_place(body: str, reason: str) -> None:
    text = f"""void f(int steps, int n, int k[n], double s[1], double A[n], double B[n])
{{
#pragma scop
    for (int t = 0; t < steps; t++) {{
        {body}
        for (int i = 1; i < n; i++) A[i] = B[i];
    }}
#pragma endscop
}}"""
    with pytest.raises(UserError, match=reason) as refused:
        distribute(scop_of(text))
    assert refused.value.location is not None and refused.value.location.line
    assert refused.value.hint


def test_steps_at_once_keep_off_the_ends_of_what_is_stored() -> None:
    """But where the index space ends, too: there loops say what runs."""
    plan = distribute(scop_of(STAR), 3)
    assert plan.margin == ((1, 1), (2, 2))
    assert plan.lead_box(((0, 13), (4, 30)), (20, 30)) == ((0, 12), (6, 30))
    assert plan.lead is not None and plan.lead.statements[0].iterators == ("t", "i", "j")


def test_locals_are_set_where_they_are_read() -> None:
    """All of a row's sum runs with the row; a local that other phases read has memory of its own on each rank."""
    plan = distribute(named("row sums"))
    assert [axis.name for axis in plan.axes] == ["i"]
    assert [len(p.statements) for p in plan.phases] == [3, 1]
    assert plan.scratch == ()
    assert distribute(named("step sizes")).scratch == ("c", "d")
    assert distribute(named("own array")).scratch == ("T",)


def test_a_local_of_each_position_is_not_handed_on() -> None:
    text = """void f(int steps, int n, double A[n], double B[n])
{
#pragma scop
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n - 1; i++) {
            double c = A[i + 1];
            B[i] = c;
            A[i] = B[i - 1] + c;
        }
#pragma endscop
}"""
    with pytest.raises(UserError, match="cannot be distributed") as refused:
        distribute(scop_of(text))
    assert refused.value.location is not None and refused.value.location.line


def test_what_one_rank_has_is_read_there_alone() -> None:
    """With two steps of a period a neighbour would compute A[n / 2], too, and has no w."""
    assert distribute(scop_of(HANDED_ON)).split_phase == 3
    with pytest.raises(UserError, match="w is set on the rank that owns a position") as refused:
        distribute(scop_of(HANDED_ON), 2)
    assert refused.value.location is not None and refused.value.location.line
    with pytest.raises(UserError, match="w takes a value from one position to another"):
        distribute(scop_of(ELSEWHERE))


def test_loops_that_count_downwards_are_no_time_loops() -> None:
    text = STAR.replace("int t = 0; t < steps; t++", "int t = steps - 1; t >= 0; t--")
    with pytest.raises(UserError, match="instances at different positions") as refused:
        distribute(scop_of(text))
    assert refused.value.hint is not None and "counts upwards" in refused.value.hint


@pytest.mark.parametrize(
    ("guard", "runs"),
    [
        ("", lambda t: True),
        ("if (t % 2 == 0)", lambda t: t % 2 == 0),
        ("if (t % 3 != 1)", lambda t: t % 3 != 1),
        ("if (t != 2)", lambda t: t != 2),
    ],
)
def test_phases_do_nothing_in_steps_that_compute_nothing(guard: str, runs: Callable[[int], bool]) -> None:
    """Ranks take all steps between the first and the last one that computes anything."""
    plan = distribute(scop_of(ADVECTION.replace("for (int i", f"{guard} for (int i")), 2)
    assert plan.lead is not None
    for step in range(4):
        taken = isl.Set(f"[steps, {plan.step}, {plan.count}] -> {{ : steps = 7 and {plan.step} = {step} }}")
        for local in plan.local:
            assert not local.context.intersect(taken).is_empty()
            assert local.statements[0].domain.intersect_params(taken).is_empty() is not runs(step)
        two = isl.Set(f"[{plan.count}] -> {{ : {plan.count} = 2 }}")
        assert not plan.lead.context.intersect(taken).intersect(two).is_empty()


def test_steps_are_positive() -> None:
    with pytest.raises(UsageError, match="0 steps"):
        distribute(scop_of(STAR), 0)


def test_each_period_exchanges_as_many_planes() -> None:
    """Messages are made once. Without that, even steps would exchange both planes of B, and odd ones the first."""
    text = """
void f(int steps, int n, int m, double A[2][n][m], double B[2][n][m])
{
#pragma scop
    for (int t = 0; t < steps; t++) {
        for (int i = 2; i < n - 2; i++)
            for (int j = 2; j < m - 2; j++) A[t % 2][i][j] = 0.2 * B[(t + 1) % 2][i + 1][j] + 0.3 * A[t % 2][i][j];
        for (int i = 2; i < n - 2; i++)
            for (int j = 2; j < m - 2; j++) B[0][i][j] = 0.3 * A[t % 2][i][j] + 0.2 * B[0][i][j];
        for (int i = 2; i < n - 2; i++)
            for (int j = 2; j < m - 2; j++) A[(t + 1) % 2][i][j] = 0.2 * B[t % 2][i - 1][j];
    }
#pragma endscop
}
"""
    plan = distribute(scop_of(text))
    assert any(exchange.planes for exchange in plan.between)
    for exchange in (*plan.before, *plan.between):
        assert len({len(planes) for planes in exchange.planes}) <= 1
