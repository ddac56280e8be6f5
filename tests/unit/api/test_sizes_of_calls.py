"""Sizes that a call leaves out follow from the shapes of its arrays, or are named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polytile
from polytile.frontend.program import read_program
from polytile.ir.evaluate import evaluate
from polytile.ir.scop import Scop
from polytile.runtime.parameters import choose_parameters
from polytile.runtime.solve_sizes import solve_sizes

SUITE = Path(__file__).parents[3] / "polybench" / "polybench"
# Sizes that no extent says: steps, bounds of arrays with constant extents, rows behind a pointer.
UNSOLVED = {
    "adi": {"tsteps"}, "atax": {"m"}, "bicg": {"n"}, "deriche": {"w"}, "doitgen": {"nr"}, "durbin": {"n"},
    "floyd-warshall": {"n"}, "gesummv": {"n"}, "heat-3d": {"tsteps"}, "jacobi-1d": {"tsteps", "n"},
    "jacobi-2d": {"tsteps"}, "seidel-2d": {"tsteps", "n"}, "syrk": {"n", "m"},
}  # fmt: skip
PRIMES = (13, 17, 11, 19, 23)


def shapes(scop: Scop, values: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """The shapes that a user's arrays have; behind a pointer some rows."""
    return {
        a.name: tuple(29 if extent is None else evaluate(extent, values) for extent in a.extents)
        for a in scop.external_arrays
    }


@pytest.mark.slow(but=6)
@pytest.mark.parametrize("name", sorted(p.stem for p in SUITE.glob("*.c")))
def test_sizes_of_the_suite(name: str) -> None:
    (scop,) = read_program(str(SUITE / f"{name}.c")).scops
    values = {p.name: size for p, size in zip(scop.parameters, PRIMES, strict=False)}
    assert choose_parameters(scop, values) == values
    given = {size: values[size] for size in UNSOLVED.get(name, ())}
    assert solve_sizes(scop, given, shapes(scop, values)) == values
    if given:
        with pytest.raises(polytile.UsageError) as error:
            solve_sizes(scop, {}, shapes(scop, values))
        assert set(error.value.message.split("missing: ")[1].split(", ")) == set(given)


def test_most_of_the_suite_needs_no_size() -> None:
    assert len(list(SUITE.glob("*.c"))) - len(UNSOLVED) >= 17


SOURCE = """
void f(int n, int m, int k, double y[n + 1], double A[n][m], double *x, double s)
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            y[i] += s * A[i][j] * x[j + k];
#pragma endscop
}
"""


@pytest.fixture(scope="module")
def f() -> Any:
    return polytile.compile(SOURCE)["f"]


def arrays(n: int = 5, m: int = 4) -> dict[str, Any]:
    generator = np.random.default_rng(3)
    return {"y": generator.random(n + 1), "A": generator.random((n, m)), "x": generator.random(m), "s": 2.0}


def test_a_call_without_sizes(f: Any) -> None:
    given = arrays()
    expected = given["y"][:5] + 2.0 * given["A"] @ given["x"]
    f(**given, k=0)
    assert np.allclose(given["y"][:5], expected)


@pytest.mark.parametrize(
    ("change", "message", "hint"),
    [
        ({}, "f_scop0: missing: k", "no array has k as an extent: pass k=..."),
        (
            {"A": np.zeros(20), "k": 0},
            "f_scop0: missing: m",
            "m would follow from the extents of double A[n][m], which has shape (20,): pass m=...",
        ),
        (
            {"A": np.zeros((6, 4)), "k": 0},
            "f_scop0: double y[n + 1] has shape (6,) and double A[n][m] has shape (6, 4): no sizes fit both",
            "the call is f_scop0(int n,",
        ),
        ({"k": 0, "n": 9}, "f_scop0: y has shape (6,), but 10 elements are needed", "the call is"),
        ({"k": 0, "y": None}, "f_scop0: y must be a NumPy, CuPy or DLPack array, not NoneType", ""),
    ],
)
def test_wrong_shapes(f: Any, change: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(polytile.UsageError) as error:
        f(**{**arrays(), **change})
    assert error.value.message == message
    assert hint in str(error.value.hint)


def test_masked_arrays_are_refused(f: Any) -> None:
    masked = np.ma.array(arrays()["A"], mask=False)
    with pytest.raises(polytile.UsageError, match="A is a masked array") as error:
        f(**{**arrays(), "A": masked}, k=0)
    assert error.value.hint == "pass A.data, if all of its elements count"


GATHER = """
void gather(int n, int m, double y[n], const double x[m], const int p[n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        y[i] = x[p[i]];
#pragma endscop
}
"""


def test_equal_sizes_are_solved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """isl takes milliseconds, kernels often less: calls with the sizes and shapes of an earlier one ask it nothing."""
    asked: list[dict[str, Any]] = []

    def solved(scop: Scop, given: Any, shapes: Any) -> dict[str, int]:
        asked.append(dict(given))
        return solve_sizes(scop, given, shapes)

    monkeypatch.setattr("polytile.runtime.binding.solve_sizes", solved)
    gather = polytile.compile(GATHER)["gather"]
    rng = np.random.default_rng(5)
    for n, m, times in ((5, 3, 3), (0, 0, 2), (5, 3, 1), (3, 5, 2)):
        for _ in range(times):
            x, p, y = rng.random(m), rng.integers(0, max(m, 1), n).astype(np.int32), np.zeros(n)
            gather(y=y, x=x, p=p, on="emulator")
            np.testing.assert_array_equal(y, x[p] if n else y)
    assert asked == [{}, {}, {}]
    y = np.zeros(3)
    gather(y=y, x=np.ones(5), p=np.arange(3, dtype=np.int32), n=3, m=5, on="emulator")
    assert asked[3:] == [{"n": 3, "m": 5}] and (y == 1).all()


def test_wrong_calls_stay_wrong_between_right_ones() -> None:
    gather = polytile.compile(GATHER)["gather"]
    y, x, p = np.zeros(4), np.arange(4.0), np.array([3, 2, 1, 0], np.int32)
    for _ in range(2):
        gather(y=y, x=x, p=p, on="emulator")
        with pytest.raises(polytile.UsageError, match=r"p holds int64, but the C element type is int"):
            gather(y=y, x=x, p=p.astype(np.int64), on="emulator")
        with pytest.raises(polytile.UsageError, match="share memory"):
            gather(y=x, x=x, p=p, on="emulator")
        with pytest.raises(polytile.UsageError, match="n"):
            gather(y=y, x=x, p=p[:3], on="emulator")


def test_sizes_of_the_latest_calls_are_kept() -> None:
    from polytile.runtime.binding import KnownSizes

    (scop,) = polytile.compile(GATHER).scops
    known = KnownSizes(most=2)
    first, *_ = (known.sized(scop.scop, {}, {"y": (n,), "x": (4,), "p": (n,)}) for n in (1, 2))
    assert known.sized(scop.scop, {}, {"y": (1,), "x": (4,), "p": (1,)}) is first
    known.sized(scop.scop, {}, {"y": (3,), "x": (4,), "p": (3,)})
    assert len(known.found) == 2
    assert known.sized(scop.scop, {}, {"y": (1,), "x": (4,), "p": (1,)}) is first


def test_threads_share_the_sizes_of_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys
    from concurrent.futures import ThreadPoolExecutor

    from polytile.runtime import binding

    (scop,) = polytile.compile(GATHER).scops
    monkeypatch.setattr(binding, "_sized", lambda _, sizes, __: binding.Sized(sizes, {}))
    known, interval = binding.KnownSizes(most=1), sys.getswitchinterval()

    def calls(first: int) -> bool:
        return all(known.sized(scop.scop, {"n": n}, {}).values == {"n": n} for n in range(first, first + 3000))

    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as threads:
            assert all(threads.map(calls, range(4)))
    finally:
        sys.setswitchinterval(interval)
    assert len(known.found) <= 1


def test_threads_may_call(emulator: None) -> None:
    from concurrent.futures import ThreadPoolExecutor

    body = "#pragma scop\nfor (int i = 0; i < n; i++) y[i] += a * i;\n#pragma endscop"
    (scop,) = polytile.compile(f"void f(int n, double a, double *y)\n{{\n{body}\n}}\n").scops

    def calls(number: int) -> bool:
        for n in range(1, 40):
            y = np.full(n, float(number))
            scop(n=n, a=number + 0.5, y=y, on="emulator")
            if not np.array_equal(y, number + (number + 0.5) * np.arange(n)):
                return False
        return True

    with ThreadPoolExecutor(6) as threads:
        assert all(threads.map(calls, range(6)))
