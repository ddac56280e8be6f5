"""`polybench.calls` without a GPU: its arguments, rows, checks and the C that times an entry."""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from polybench import calls
from polybench.call_entries import CASES, PROGRAMS, Blas, Parameter, entry_of, with_timer
from polybench.call_rows import CallRow, OutputDiffers, check, least_us, rate
from polytile.cli.main import main as polytile_main
from polytile.runtime import host_copies, pinned_staging
from polytile.runtime.cupy_engine import cupy_available


def test_it_is_imported_without_cupy_and_torch() -> None:
    code = "import sys, polybench.calls; sys.exit(any(n in sys.modules for n in ('cupy', 'torch')))"
    assert subprocess.run([sys.executable, "-c", code], timeout=120, check=False).returncode == 0


def test_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    assert calls.parse([]).only == list(calls.SECTIONS) and calls.parse([]).json is None
    chosen = calls.parse(["--only", "leaks", "entries", "--json", "rows.jsonl"])
    assert chosen.only == ["leaks", "entries"] and chosen.json == Path("rows.jsonl")
    with pytest.raises(SystemExit, match="2"):
        calls.parse(["--only", "all"])
    assert "invalid choice" in capsys.readouterr().err


@pytest.mark.skipif(cupy_available(), reason="there is a GPU")
def test_without_a_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    assert calls.main(["--only", "cupy"]) == 4
    assert "polybench: error: " in capsys.readouterr().err


def test_a_row_says_whether_it_meets_its_target() -> None:
    row = CallRow("a call", 19.5, peers={"RawKernel": 5.25, "other": 2.0}).at_most(20)
    assert " ".join(row.line().split()) == "a call 19.50 us RawKernel 5.25, other 2.00 <= 20 ok"
    assert CallRow("a call", 21.0).at_most(20).line().endswith("<= 20                     SHORT")
    assert CallRow("a copy", 9.0, "GB/s").at_least(0.9 * 11, ">= 0.9 of torch").good is False
    assert CallRow("a call", 21.0).line().split() == ["a", "call", "21.00", "us"]


def test_a_section_whose_output_differs_fails_and_the_others_are_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def bad() -> Iterator[CallRow]:
        yield CallRow("first", 1.0)
        check(False, "second")

    def good() -> Iterator[CallRow]:
        check(True, "third")
        yield CallRow("third", 3.0).at_most(2)

    monkeypatch.setattr(calls, "SECTIONS", {"bad": bad, "good": good})
    monkeypatch.setattr(calls, "machine_fields", lambda: {"gpu": "none", "cuda": 0})
    assert calls.measure(["bad", "good"], tmp_path / "rows.jsonl") == 1
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert [(row["section"], row["name"], row["good"]) for row in rows] == [
        ("bad", "first", None),
        ("good", "third", False),
    ]
    assert "bad FAILED: outputs differ: second" in capsys.readouterr().out
    assert calls.measure(["good"], None) == 0  # a target that is missed is no failure


def test_constants_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    before = pinned_staging.PIECE, pinned_staging.SLOTS, host_copies.PIECE
    with pytest.raises(OutputDiffers), calls.staging(8, 3, 2, 1):
        assert (pinned_staging.PIECE, pinned_staging.SLOTS, pinned_staging.AHEAD) == (8 << 20, 3, 2)
        assert vars(host_copies)["PIECE"] == 8 << 20
        check(False, "")
    assert before == (pinned_staging.PIECE, pinned_staging.SLOTS, vars(host_copies)["PIECE"])
    owner = SimpleNamespace(LEAST=1)
    with calls.constants(owner, LEAST=2):
        assert owner.LEAST == 2
    assert owner.LEAST == 1


def test_times_are_for_a_call() -> None:
    count: list[int] = []
    assert 0 < least_us(lambda: count.append(1), calls=10) < 1e5
    assert len(count) == 30 + 5 * 10
    assert 0 < rate(lambda: sum(range(1000)), 8_000_000) < 1e6


def test_the_functions_that_are_called_compile() -> None:
    assert all(calls.scops()[name].program is not None for name in ("scale", "interior", "some"))


class NumpyBlas(Blas):
    """The same products, computed by NumPy."""

    def __init__(self) -> None:
        pass

    def product(
        self, a: Any, x: Any, y: Any, alpha: float = 1.0, beta: float = 0.0, *, transposed: bool = False
    ) -> None:
        y[:] = alpha * ((a.T if transposed else a) @ x) + beta * y

    def outer(self, a: Any, u: Any, v: Any) -> None:
        a += np.outer(u, v)

    def add(self, x: Any, y: Any) -> None:
        y += x


@pytest.mark.parametrize(
    ("name", "inputs", "outputs"),
    [
        ("atax", "A x", "tmp y"),
        ("bicg", "A r p", "s q"),
        ("mvt", "A y_1 y_2", "x1 x2"),
        ("gemver", "u1 v1 u2 v2 y z", "A x w"),
        ("gesummv", "A B x", "y"),
    ],
)
def test_the_peer_computes_what_is_expected(name: str, inputs: str, outputs: str) -> None:
    case = replace(CASES[name], sizes={"n": 7, "m": 5})
    generator = np.random.default_rng(1)
    arrays = {array: generator.random(case.shape(array)) for array in f"{inputs} {outputs}".split()}
    expected = {array: data.copy() for array, data in arrays.items()}
    case.expected(expected)
    case.peer(NumpyBlas(), arrays)
    for array in expected:  # what need not be in memory behind a call is left out
        np.testing.assert_allclose(arrays[array], expected[array])


@pytest.mark.slow(but="gesummv")
@pytest.mark.parametrize("name", CASES)
def test_the_entry_of_each_program(name: str, tmp_path: Path) -> None:
    assert polytile_main([str(PROGRAMS / f"{name}.c"), "--target", "cuda", "-o", str(tmp_path), "-q"]) == 0
    entry, parameters = entry_of((tmp_path / f"{name}_kernel.h").read_text())
    case = CASES[name]
    known = {"alpha", "beta", *case.sizes}
    assert all(p.is_array or p.name in known for p in parameters)
    assert set(case.shapes) <= {p.name for p in parameters if p.is_array}
    text = with_timer("unit\n", entry, parameters)
    assert f"status |= {entry}({', '.join(p.name for p in parameters)});" in text and text.startswith("unit\n")


def test_how_parameters_are_passed() -> None:
    given = [Parameter(text) for text in ("int n", "double alpha", "double *x", "const double *A")]
    assert [p.ctype for p in given] == [ctypes.c_int, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p]
    assert [p.name for p in given] == ["n", "alpha", "x", "A"]
    assert CASES["atax"].shape("A") == (1800, 2200) and CASES["atax"].shape("tmp") == (1800,)
    assert CASES["bicg"].shape("A") == (2200, 1800) and CASES["gesummv"].shape("B") == (2800, 2800)
    with pytest.raises(ValueError, match="no entry"):
        entry_of("void f(void);")
