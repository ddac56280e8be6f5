"""Schedules put together from two, and what can be told apart in both."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from polytile.certificate import certificate
from polytile.check.checker import problems
from polytile.ir.schedule import MappedSchedule
from polytile.scheduling.strategies.mix_strategies import components, joined, kernels, pieces

pytestmark = pytest.mark.slow  # what they share is slow to make

# A stencil, which both strategies leave alike, and sums, which one of them shares out.
ARGUMENTS = "int T, int n, double A[n][n], double B[n][n], double x[n], double y[n]"
STENCIL = """for (int t = 0; t < T; t++) {
    for (int i = 1; i < n - 1; i++) for (int j = 1; j < n - 1; j++) B[i][j] = 0.5 * (A[i][j - 1] + A[i - 1][j]);
    for (int i = 1; i < n - 1; i++) for (int j = 1; j < n - 1; j++) A[i][j] = 0.5 * (B[i][j + 1] + B[i + 1][j]); }"""
SUMS = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) y[i] += A[i][j] * x[j];"
SIZES = [{"T": t, "n": n} for t, n in ((0, 0), (1, 1), (3, 2), (2, 17), (4, 70))]


def order(text: str) -> list[frozenset[str]]:
    return [frozenset(piece.split()) for piece in text.split(",")]


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ("a, b, c", "a, b, c", "a, b, c"),
        ("a, b, c d", "a b, c, d", "a b, c d"),
        ("a b, c", "a, b c", "a b c"),
        ("a, b, a, c", "a, b, c", "a b, c"),
        ("a, b", "b, a", "a b"),
        ("a, b c, d", "a, d, b, c", "a b c d"),
        ("a", "a", "a"),
    ],
)
def test_components(one: str, other: str, found: str) -> None:
    """Pieces that share a statement are of one component, and so are those in between."""
    assert components(order(one), order(other)) == order(found)


def strategies(scop: Any) -> list[str]:
    return [line.partition(": estimated")[0] for line in scop.compilation.considered if ": estimated" in line]


def test_pieces_and_kernels(compiled: Callable[..., Any]) -> None:
    tree = compiled(ARGUMENTS, STENCIL + SUMS, schedule="classic").compilation.schedule.tree
    assert pieces(tree) == order("S0 S1, S2") and kernels(tree) == order("S0, S1, S2")
    again = joined([(tree, {"S2"}), (tree, {"S0", "S1"})])
    assert pieces(again) == order("S2, S0 S1") and MappedSchedule(again, "joined").kernels == 3


@pytest.mark.parametrize("body", [STENCIL + SUMS, SUMS + STENCIL], ids=["sums behind", "sums before"])
def test_each_component_has_the_faster_schedule(
    emulator: None, compiled: Callable[..., Any], body: str
) -> None:
    """The sums are nothing beside the stencil, but still take a tenth of the time when they are shared out."""
    found = compiled(ARGUMENTS, body)
    state = found.compilation
    classic, superposed, both = strategies(found)
    assert state.schedule.strategy == both == f"{superposed} and {classic}" and superposed == "superposed"
    assert sum("(chosen)" in line for line in state.considered) == 1
    assert len(state.scop.privatised) == 1 and "polytile_warp_sum" in found.cuda
    names = [k for k in kernels(state.schedule.tree) if any(n.startswith(("S0", "S1", "S2")) for n in k)]
    assert len(names) == 3 and any("legality" in str(r.message) for r in state.remarks)
    for sizes in SIZES:
        found.validate(on="emulator", parameters=sizes, seed=1, sanitize=("address", "undefined", "race"))


def test_the_stencil_is_that_of_the_classic_schedule(compiled: Callable[..., Any]) -> None:
    mixed, classic = (compiled(ARGUMENTS, STENCIL + SUMS, schedule=s).cuda for s in ("auto", "classic"))
    for name in ("f_scop0_k0", "f_scop0_k1"):
        text = classic[classic.index(f"{name}(") :]
        body = text[text.index("{") : text.index("\n}")]
        assert len(body) > 200 and body in mixed


def test_strategies_that_are_asked_for_are_not_mixed(compiled: Callable[..., Any]) -> None:
    for name in ("classic", "superposed"):
        strategy = compiled(ARGUMENTS, STENCIL + SUMS, schedule=name).compilation.schedule.strategy
        assert strategy.startswith(name) and " and " not in strategy


def test_one_component_is_not_mixed(compiled: Callable[..., Any]) -> None:
    for body, strategy, compared in ((STENCIL, "overlapped", 3), (SUMS, "superposed", 2)):  # one-step schedules agree
        found = compiled(ARGUMENTS, body)
        assert found.compilation.schedule.strategy.startswith(strategy) and len(strategies(found)) == compared


def test_a_component_of_split_reductions_alone_tips_the_scales(compiled: Callable[..., Any]) -> None:
    """Where nothing else can have the classic schedule, the superposed one need not be clearly faster in all."""
    product = "for (int k = 0; k < n; k++) C[i][j] += A[i][k] * B[k][j];"
    found = compiled(
        "int n, double A[n][n], double B[n][n], double C[n][n], double x[n], double y[n]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) y[j] += A[i][j] * x[i];"
        f"for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) {product}",
    )
    names = strategies(found)
    assert found.compilation.schedule.strategy == names[-1] and "superposed" in names[-1]
    assert len(found.compilation.scop.privatised) >= 1


def test_mixed_schedules_are_certified(compiled: Callable[..., Any]) -> None:
    state = compiled(ARGUMENTS, STENCIL + SUMS).compilation
    (scop,) = json.loads(certificate("test.c", "", (), [state]))["scops"]
    assert list(problems(scop)) == [] and scop["strategy"].startswith("superposed and classic")
