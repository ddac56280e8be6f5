"""Candidates for a schedule: made when they are asked for, the best first; what is refused gives way to the next."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

import polytile
from polytile import options, pipeline
from polytile.choices import OVER_TIME, Choices
from polytile.codegen.lowering.verify_ast import UnfaithfulLoopsError
from polytile.compilation import Compilation
from polytile.diagnostics import IllegalSchedule, InternalError, UserError
from polytile.frontend.program import read_program
from polytile.ir.isl_util import CONTEXT, OverBudgetError
from polytile.machine import machine_of
from polytile.options import STRATEGIES, Options
from polytile.scheduling.candidate import Candidate, Problem, lines_of
from polytile.scheduling.proof.legality import Proof
from polytile.scheduling.strategies import classic, expansion, loaded, strategy
from polytile.scheduling.strategies.superposed import strategy as superposed
from polytile.stages import candidate_time, place_data, select_schedule
from polytile.stages.select_schedule import candidates
from tests.reading import shared

SUM = """
void f(int n, int m, double A[n][m], double x[n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            x[i] += A[i][j];
#pragma endscop
}
"""
SERIAL = SUM.replace("x[i] += A[i][j];", "x[0] = x[0] * A[i][j] + 1;")
PRODUCT = SUM.replace("x[i] += A[i][j];", "for (int k = 0; k < n; k++) B[i][j] += x[k] * A[k][j];").replace(
    "double x[n]", "double x[n], double B[n][m]"
)
STENCIL = """
void f(int n, int m, double A[n], double B[n])
{
#pragma scop
    for (int t = 0; t < m; t++) {
        for (int i = 1; i < n - 1; i++)
            B[i] = A[i - 1] + A[i + 1];
        for (int i = 1; i < n - 1; i++)
            A[i] = B[i];
    }
#pragma endscop
}
"""
HISTOGRAMS = """
void f(int n, int m, unsigned char A[n][m], int H[n][256])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        int h[256] = {0};
        for (int j = 0; j < m; j++)
            h[A[i][j]]++;
        for (int k = 0; k < 256; k++)
            H[i][k] = h[k];
    }
#pragma endscop
}
"""
POINTS = SUM.replace("x[i] += A[i][j];", "A[i][j] = 2 * A[i][j];")
Refuse = Callable[[str], Exception | None]


def analysed(text: str = SUM, **settings: Any) -> Compilation:
    """A SCoP when a schedule is chosen."""
    (scop,) = read_program("f.c", text).scops
    chosen = Options(**settings)
    state = Compilation(scop, chosen, machine_of(chosen.arch), scop)
    for _, stage in pipeline.ANALYSIS:
        state = stage(state)
    return state


@shared
def compiled(**settings: Any) -> Compilation:
    (scop,) = polytile.compile(SUM, **settings).scops
    return scop.compilation


def said(state: Compilation) -> list[str]:
    return [remark.message for remark in state.remarks]


@pytest.fixture
def refuse_proofs(monkeypatch: pytest.MonkeyPatch) -> Callable[[Refuse], None]:
    """`refuse_proofs(why)`: proofs fail with the error that `why` has for a strategy's name."""
    prove = place_data.prove_all

    def patch(why: Refuse) -> None:
        def proof(claim: Any, operations: int) -> Proof:
            error = why(claim.run.schedule.strategy)
            if error is not None:
                raise error
            return prove(claim, operations)

        monkeypatch.setattr(place_data, "prove_all", proof)

    return patch


@pytest.fixture
def refuse_kernels(monkeypatch: pytest.MonkeyPatch) -> Callable[[Refuse], None]:
    """`refuse_kernels(why)`: the same of code generation."""
    generate = pipeline._generated

    def patch(why: Refuse) -> None:
        def generated(state: Compilation, without: frozenset[str] = frozenset()) -> Compilation:
            assert state.schedule is not None
            error = why(state.schedule.strategy)
            if error is not None:
                raise error
            return generate(state, without)

        monkeypatch.setattr(pipeline, "_generated", generated)

    return patch


def only(name: str, error: Exception) -> Refuse:
    return lambda strategy: error if strategy.startswith(name) else None


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which strategies were asked for a candidate, in order."""
    names: list[str] = []

    def recorded(name: str) -> Callable[[Problem], Iterator[Candidate]]:
        def propose(problem: Problem) -> Iterator[Candidate]:
            names.append(name)
            yield from strategy(name)(problem)

        return propose

    monkeypatch.setattr(select_schedule, "strategy", recorded)
    return names


# What is asked for ----------------------------------------------------------------------------------------------------
def test_every_name_has_a_strategy() -> None:
    for name in STRATEGIES:
        state = analysed(STENCIL if name in OVER_TIME else PRODUCT)
        assert state.dependences is not None
        problem = Problem(state.scop, state.dependences, state.options, state.machine)
        assert Options(schedule=name).schedule == name
        assert next(strategy(name)(problem)).strategy == name


def test_what_no_one_asks_for_is_not_made(asked: list[str]) -> None:
    found = candidates(analysed(schedule="superposed"))
    assert next(found).strategy == "superposed" and asked == ["superposed"]
    assert next(found).strategy == "classic" and asked == ["superposed", "classic"]
    assert next(found, None) is None


def test_auto_asks_each_strategy_once(asked: list[str]) -> None:
    first, *others = candidates(analysed(parameters={"n": 3000, "m": 3000}))
    assert asked == ["classic", "superposed", "split", "overlapped"]
    assert first.strategy == "superposed" and [c.strategy for c in others] == ["classic"]
    assert first.plans is not None and others[0].plans is not None and not others[0].reasons


def test_candidates_have_the_blocks_that_were_asked_for() -> None:
    """Options, or whoever varies what a strategy is asked for: there the options do not matter."""
    for schedule in ("classic", "superposed"):
        state = analysed(POINTS, schedule=schedule, tile=(16, 64), block=(4, 32))
        found = next(candidates(state))
        assert found.schedule is not None and "thread[4,32]" in found.schedule.to_text()
        assert state.dependences is not None
        problem = Problem(state.scop, state.dependences, state.options, state.machine, Choices(block=(2, 64)))
        other = next(strategy(schedule)(problem))
        assert other.schedule is not None and "thread[2,64]" in other.schedule.to_text()


def test_sizes_are_read_outside_the_budget_of_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """isl counts what it takes to read them, and with little left it gave a schedule up that it had found."""
    read = superposed.parse_sizes

    def outside(text: str | None) -> Any:
        assert CONTEXT.get_max_operations() == 0
        return read(text)

    monkeypatch.setattr(superposed, "parse_sizes", outside)
    best = next(candidates(analysed(schedule="superposed", sizes="{ kernel[0] -> block[64] }")))
    assert best.strategy == "superposed"


def test_the_simplest_strategy_is_not_estimated() -> None:
    (found,) = candidates(analysed(schedule="classic"))
    assert found.strategy == "classic" and found.estimate is found.plans is found.run is None


def test_where_nothing_is_parallel_the_host_is_a_candidate() -> None:
    for schedule in ("auto", "superposed", "classic"):
        *_, found = candidates(analysed(SERIAL, schedule=schedule, strict=True))
        assert found.schedule is None and "f_scop0 stays on the host: no loop of it is parallel" in found.notes


def test_a_strategy_without_a_schedule_says_so() -> None:
    (found,) = candidates(analysed(SERIAL, schedule="superposed", strict=True))
    assert found.strategy == "classic" and found.notes[-1] == "f_scop0: the superposed strategy found no schedule"


def test_a_strategy_is_one_line_of_the_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new one that is much faster by estimate is taken; the others are left for where it fails, the latest first."""
    module = ModuleType("polytile_swift")

    def propose(problem: Problem) -> Iterator[Candidate]:
        yield from (replace(c, strategy="swift") for c in strategy("superposed")(problem))

    def estimated(problem: Problem, candidate: Candidate) -> Candidate:
        found = plain(problem, candidate)
        assert found.estimate is not None
        fast = tuple(replace(k, launches=k.launches / 1000) for k in found.estimate.kernels)
        return replace(found, estimate=replace(found.estimate, kernels=fast)) if found.strategy == "swift" else found

    plain = select_schedule.estimated
    module.propose = propose  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "polytile_swift", module)
    monkeypatch.setitem(options.STRATEGIES, "swift", "polytile_swift")
    monkeypatch.setattr(select_schedule, "estimated", estimated)
    assert [c.strategy for c in candidates(analysed())] == ["swift", "superposed", "classic"]


# What is refused ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("schedule", ["superposed", "auto"])
def test_a_proof_that_fails(schedule: str, refuse_proofs: Callable[[Refuse], None]) -> None:
    refuse_proofs(only("superposed", UserError("no budget")))
    state = compiled(schedule=schedule, parameters={"n": 3000, "m": 3000})
    assert state.schedule is not None and state.schedule.strategy.startswith("classic")
    assert state.program is not None and state.options.schedule == schedule and not state.considered
    assert said(state)[0] == "the superposed schedule is not used, as its proof fails: no budget"
    assert said(state)[1].startswith("f_scop0: classic")
    plain = compiled(schedule="classic", parameters={"n": 3000, "m": 3000})
    assert state.schedule_text() == plain.schedule_text() and said(state)[1:] == said(plain)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (InternalError("a barrier"), "its kernels are not well formed: a barrier"),
        (OverBudgetError(), "finding the loops of the superposed schedule takes too long"),
        (UnfaithfulLoopsError("S0"), "the loops that isl makes of the superposed schedule are wrong: S0"),
    ],
)
def test_kernels_that_fail(error: Exception, reason: str, refuse_kernels: Callable[[Refuse], None]) -> None:
    refuse_kernels(only("superposed", error))
    state = compiled(schedule="superposed")
    assert said(state)[0] == f"the superposed schedule is not used, as {reason}"
    assert state.schedule is not None and state.schedule.strategy.startswith("classic") and state.program is not None


def test_the_last_proof_that_fails_is_an_error(refuse_proofs: Callable[[Refuse], None]) -> None:
    refuse_proofs(lambda strategy: InternalError(f"{strategy} loses a value"))
    with pytest.raises(InternalError, match=r"classic.* loses a value"):
        compiled(schedule="superposed")


def test_the_last_proof_of_all_strategies(asked: list[str], refuse_proofs: Callable[[Refuse], None]) -> None:
    refuse_proofs(lambda strategy: InternalError(f"{strategy} loses a value"))
    with pytest.raises(InternalError, match=r"superposed loses a value"):
        polytile.compile(HISTOGRAMS)
    assert asked == ["classic", "superposed", "split", "overlapped"]


def test_a_bug_of_one_candidate_gives_way_to_any_other(refuse_proofs: Callable[[Refuse], None]) -> None:
    """Of whatever strategy, with a warning that asks for a report; what looks for bugs raises it."""
    refuse_proofs(only("classic", InternalError("a value is lost")))
    (scop,) = polytile.compile(HISTOGRAMS).scops
    state = scop.compilation
    assert state.program is not None and state.schedule is not None and state.schedule.strategy == "superposed"
    (warning,) = (remark for remark in state.remarks if remark.severity == "warning")
    assert warning.message.endswith("schedule is not used, as its proof fails: a value is lost")
    assert warning.hint is not None and "report" in warning.hint
    with pytest.raises(InternalError, match="a value is lost"):
        polytile.compile(HISTOGRAMS, raise_bugs=True)


def test_loops_that_are_not_found_leave_the_scop_on_the_host(refuse_kernels: Callable[[Refuse], None]) -> None:
    refuse_kernels(lambda strategy: OverBudgetError())
    state = compiled(schedule="superposed")
    assert state.schedule is None and state.program is None and state.proof is not None
    first, last = said(state)
    assert first.startswith("the superposed schedule is not used, as finding the loops")
    assert last.startswith("f_scop0 stays on the host: finding the loops of the classic")


def test_kernels_of_the_last_candidate_are_an_error(refuse_kernels: Callable[[Refuse], None]) -> None:
    refuse_kernels(lambda strategy: InternalError("a barrier"))
    with pytest.raises(InternalError, match="a barrier"):
        compiled(schedule="superposed")


def test_a_given_schedule_has_no_other(refuse_kernels: Callable[[Refuse], None]) -> None:
    text = polytile.compile(SUM, schedule="superposed").schedules
    refuse_kernels(lambda strategy: UnfaithfulLoopsError("S0 is missing"))
    with pytest.raises(UserError, match="the loops that isl makes of the loaded schedule are wrong: S0 is missing"):
        polytile.compile(SUM, load_schedule=text)


def test_an_observer_sees_each_candidate(refuse_kernels: Callable[[Refuse], None]) -> None:
    refuse_kernels(only("superposed", InternalError("a barrier")))
    (scop,) = read_program("f.c", SUM).scops
    seen: list[str] = []
    pipeline.compile_scop(scop, Options(schedule="superposed"), observe=lambda name, state: seen.append(name))
    analysis, tried = [n for n, _ in pipeline.ANALYSIS], [n for n, _ in pipeline.REALISATION]
    assert seen == [*analysis, "schedule", *tried[:-1], "schedule", *tried]


# More expansion -------------------------------------------------------------------------------------------------------
DOOLITTLE = """
void f(int n, double A[n][n])
{
    double w;
#pragma scop
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) {
            w = A[i][j];
            for (int k = 0; k < j; k++)
                w -= A[i][k] * A[k][j];
            A[i][j] = w / A[j][j];
        }
        for (int j = i; j < n; j++) {
            w = A[i][j];
            for (int k = 0; k < i; k++)
                w -= A[i][k] * A[k][j];
            A[i][j] = w;
        }
    }
#pragma endscop
}
"""
MORE = tuple(f"{name} is expanded over i, j: its reuse kept the loops in order" for name in ("w", "w_2"))


@pytest.fixture
def expanded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The SCoPs of which more expansion was looked at."""
    names: list[str] = []

    def recorded(problem: Problem, *, backwards: bool = False) -> expansion.Expanded | None:
        names.extend(() if backwards else (problem.scop.name,))
        return expansion.further_expansion(problem, backwards=backwards)

    for module in (classic, loaded):
        monkeypatch.setattr(module, "further_expansion", recorded)
    return names


def test_more_expansion_is_looked_at_where_threads_are_few(expanded: list[str]) -> None:
    next(candidates(analysed(POINTS, schedule="classic")))
    assert expanded == []
    found = next(candidates(analysed(DOOLITTLE, schedule="classic")))
    assert expanded == ["f_scop0"]
    assert found.notes == MORE


@pytest.mark.slow
def test_a_schedule_of_more_expanded_storage_can_be_given(expanded: list[str]) -> None:
    text = polytile.compile(DOOLITTLE, schedule="classic").schedules
    again = polytile.compile(DOOLITTLE, load_schedule=text)
    *remarks, _ = said(again.scops[0].compilation)
    assert again.schedules == text.replace('# choices {"schedule": "classic"}\n', "") and remarks == [*MORE]
    with pytest.raises(IllegalSchedule):
        polytile.compile(DOOLITTLE, load_schedule=text.replace("S1[i, j, k] -> [(k)]", "S1[i, j, k] -> [(-k)]"))


def test_a_schedule_that_two_strategies_find_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    estimated = select_schedule.estimated

    def recorded(problem: Problem, candidate: Candidate) -> Candidate:
        seen.append(candidate.strategy)
        return estimated(problem, candidate)

    monkeypatch.setattr(select_schedule, "estimated", recorded)
    first = next(candidates(analysed(POINTS)))
    assert seen == ["classic"]
    lines = lines_of(first.reasons)
    assert "superposed: the same as classic" in lines and any(line.startswith("block level: ") for line in lines)


def test_tiles_that_are_not_taken_are_priced_without_placements(monkeypatch: pytest.MonkeyPatch) -> None:
    placed: list[Candidate] = []
    realised = candidate_time.realised

    def recorded(candidate: Candidate, *others: Any) -> Any:
        placed.append(candidate)
        return realised(candidate, *others)

    monkeypatch.setattr(candidate_time, "realised", recorded)
    first = next(candidates(analysed(STENCIL)))
    assert any(line.startswith("overlapped") for line in lines_of(first.reasons))
    assert placed and not any(candidate.overlapped or candidate.split for candidate in placed)
