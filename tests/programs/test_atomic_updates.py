"""Updates of elements that data choose run in parallel, by atomic operations where their order is open."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest

import polytile
from polytile.api import CompiledScop
from polytile.check.checker import problems
from polytile.diagnostics import FindingsError, UsageError
from polytile.runtime.emulator.instrument import CHECKS
from polytile.stages import plain_programs
from tests.every_schedule import same_in_every_schedule, source

SIZES = ({"n": 0, "m": 2}, {"n": 1, "m": 1}, {"n": 7, "m": 9}, {"n": 301, "m": 5}, {"n": 77, "m": 1})
FLOATING = {
    "weights": ("float h[m], int p[n], float w[n]", "for (int i = 0; i < n; i++) h[p[i]] += w[i];"),
    "differences": (
        "double h[m], int p[n], float w[n], int q[n]",
        "for (int i = 0; i < n; i++) { h[p[i]] -= w[i]; if (w[i] > 0) h[q[i]] = 2 * w[i] + h[q[i]]; }",
    ),
    "columns of rows": (
        "double h[m][3], int p[n], double a[n][3]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < 3; j++) h[p[i]][j] += a[i][j];",
    ),
    "sparse columns": (
        "int row[n + 1], int col[n + m], double val[n + m], double x[n], double y[m]",
        "for (int i = 0; i < n; i++) for (int j = row[i]; j < row[i + 1]; j++) y[col[j]] += val[j] * x[i];",
    ),
}
INTEGERS = {
    "a histogram": ("int h[7], int p[n]", "for (int i = 0; i < n; i++) h[p[i]]++;"),
    "of an image": (
        "unsigned h[m], int p[n][m]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) h[p[i][j]] += 1;",
    ),
    "truth values": (
        "int h[m], int p[n], long x[n]",
        "for (int i = 0; i < n; i++) h[p[i]] &= x[i] == 3; for (int i = 0; i < n; i++) h[p[i]] += !x[i] || i > 2;",
    ),
    "of what a condition holds for": (
        "long h[m], int p[n], int x[n]",
        "for (int i = 0; i < n; i++) if (x[i] > 3) h[p[i]] -= x[i]; else if (x[i] < 0) h[m - 1 - p[i]] += 2;",
    ),
    "two in a nest": (
        "int h[m], int g[m], int p[n], int q[n]",
        "for (int i = 0; i < n; i++) { h[p[i]] += q[i]; h[q[i]] -= i; g[p[i]]++; }",
    ),
    "truths": (  # of type int in C, bool in C++
        "int h[m], int g[m], int k[m], int p[n], int q[n]",
        "for (int i = 0; i < n; i++) { h[p[i]] &= q[i] > 1; g[p[i]] += !q[i];"
        " k[p[i]] |= i > 3 ? q[i] == 2 || p[i] == 0 : !q[i]; }",
    ),
    "of each row": (
        "int H[n][4], int p[n][m]",
        "for (int i = 0; i < n; i++) { int h[4]; for (int k = 0; k < 4; k++) h[k] = 0;"
        " for (int j = 0; j < m; j++) h[p[i][j] & 3]++; for (int k = 0; k < 4; k++) H[i][k] = h[k]; }",
    ),
    "of each row, of what a condition holds for": (
        "unsigned H[n][70], int p[n][m]",
        "for (int i = 0; i < n; i++) { unsigned h[70] = {0};"
        " for (int j = 0; j < m; j++) { int b = p[i][j] & 63; if (b > 2) h[b] += i; h[b + 1] += 2; }"
        " for (int k = 0; k < 70; k++) H[i][k] += h[k]; }",
    ),
    "largest in each row": (
        "int H[n][4], int p[n][m]",
        "for (int i = 0; i < n; i++) { int h[4] = {0}; for (int j = 0; j < m; j++) { int v = p[i][j];"
        " if (v > h[v & 3]) h[v & 3] = v; } for (int k = 0; k < 4; k++) H[i][k] = h[k]; }",
    ),
    "two dimensions": (
        "long long h[m][m], int p[n], int q[n]",
        "for (int i = 0; i < n; i++) h[p[i]][q[i]] += i * 3;",
    ),
    "one of two dimensions": (
        "int h[n][m], int p[n]",
        "for (int t = 0; t < 2; t++) for (int i = 0; i < n; i++) h[(i + t) / 2][p[i]] += t + 1;",
    ),
    "extremes": (
        "int h[m], unsigned g[m], long k[m], int p[n], int q[n], unsigned x[n]",
        "for (int i = 0; i < n; i++) { if (q[i] < h[p[i]]) h[p[i]] = q[i]; g[p[i]] = g[p[i]] > x[i] ? g[p[i]] : x[i];"
        " k[q[i]] = k[q[i]] < i - 3 ? k[q[i]] : i - 3; }",
    ),
    "bits": (
        "unsigned h[m], unsigned g[m], unsigned long k[m], int p[n], unsigned x[n]",
        "for (int i = 0; i < n; i++) { h[p[i]] |= x[i]; g[p[i]] &= x[i]; k[p[i]] ^= x[i]; }",
    ),
    "wider and narrower values": (
        "int h[m], unsigned long g[m], int p[n], long x[n], signed char c[n]",
        "for (int i = 0; i < n; i++) { h[p[i]] += x[i]; g[p[i]] -= c[i]; }",
    ),
    "through a name": (
        "int h[m], int p[n], int x[n]",
        "for (int i = 0; i < n; i++) { int k = p[i]; int v = x[i] * 2; if (v > 2) h[k] += v; }",
    ),
    "by arithmetic": ("int h[2 * m], int p[n]", "for (int i = 0; i < n; i++) h[2 * p[i] + 1] += 1;"),
    "rows that data end": (
        "int row[n + 1], int col[n + m], int h[m]",
        "for (int i = 0; i < n; i++) for (int j = row[i]; j < row[i + 1]; j++) h[col[j]] += i;",
    ),
    "in each step, and read": (
        "int h[m], int p[n], int out[3][m]",
        "for (int t = 0; t < 3; t++) { for (int k = 0; k < m; k++) h[k] = t; for (int i = 0; i < n; i++) h[p[i]] += t;"
        " for (int k = 0; k < m; k++) out[t][k] = h[k]; }",
    ),
    "of rows": (
        "int p[n][m], int out[n]",
        "for (int i = 0; i < n; i++) { int h[5]; for (int k = 0; k < 5; k++) h[k] = 0;"
        " for (int j = 0; j < m; j++) h[p[i][j]]++; int s = 0; for (int k = 0; k < 5; k++) s += k * h[k];"
        " out[i] = s; }",
    ),
    "behind and before plain ones": (
        "int h[m], int p[n]",
        "for (int k = 0; k < m; k++) h[k] = k; for (int i = 0; i < n; i++) h[p[i]] += 1;"
        " for (int k = 0; k < m; k++) h[k] *= 2; for (int i = 0; i < n; i++) h[p[i]] += 3;",
    ),
}  # fmt: skip
SERIAL = {
    "two operations": ("int h[m], int p[n], int q[n]", "for (int i = 0; i < n; i++) { h[p[i]] += 1; h[q[i]] |= 2; }"),
    "read besides": ("int h[m], int p[n], int q[n]", "for (int i = 0; i < n; i++) { h[p[i]] += 1; q[i] = h[p[i]]; }"),
    "its own element": ("int h[m], int p[n]", "for (int i = 0; i < n; i++) h[p[i]] += h[0];"),
    "its own subscript": ("int h[m], int p[n]", "for (int i = 0; i < n; i++) h[h[p[i]]] += 1;"),
    "truncated": ("int h[m], int p[n], double x[n]", "for (int i = 0; i < n; i++) h[p[i]] += x[i];"),
    "of bytes": ("unsigned char h[m], int p[n]", "for (int i = 0; i < n; i++) h[p[i]] += 1;"),
    "products": ("int h[m], int p[n]", "for (int i = 0; i < n; i++) h[p[i]] *= 3;"),
}


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_in_every_schedule(name: str) -> None:
    """Bitwise as C, without a race."""
    assert not same_in_every_schedule(source(*INTEGERS[name]), SIZES)


@pytest.mark.parametrize("name", SERIAL)
def test_what_stays_in_order(name: str) -> None:
    assert polytile.compile(source(*SERIAL[name]), name="f.c", atomics=True).scops[0].program is None


def _validated(scop: CompiledScop, sizes: Mapping[str, int]) -> None:
    for report in scop.validate(on="emulator", parameters=sizes, seed=3, sanitize=CHECKS):
        assert not report.note, report.line


@pytest.mark.parametrize("name", FLOATING)
def test_floating_sums_by_atomics(name: str) -> None:
    plain = polytile.compile(source(*FLOATING[name]), name="f.c").scops[0]
    assert plain.program is None or "atomic" not in plain.cuda
    scop = polytile.compile(source(*FLOATING[name]), name="f.c", atomics=True).scops[0]
    assert "atomicAdd" in scop.cuda
    for sizes in SIZES:
        _validated(scop, sizes)


def test_a_remark_says_what_would_help() -> None:
    for settings, said in (({}, True), ({"strict": True}, False)):
        remarks = polytile.compile(source(*FLOATING["weights"]), name="f.c", **settings).scops[0].remarks
        assert any("--atomics lets" in remark.message for remark in remarks) is said


def test_the_remark_is_there_beside_parallel_loops() -> None:
    text = """
    void f(int n, int m, double h[m], const int p[n], const double x[n], double t[n])
    {
    #pragma scop
        for (int i = 0; i < n; i++) {
            t[i] = x[i] * x[i];
            h[p[i]] += t[i];
        }
    #pragma endscop
    }
    """
    scop = polytile.compile(text, name="f.c").scops[0]
    assert scop.program is not None
    assert any("--atomics lets" in remark.message for remark in scop.remarks)


def test_strict_sums_have_no_atomics() -> None:
    with pytest.raises(UsageError, match="atomics changes the order of additions, which fp strict keeps"):
        polytile.compile(source(*FLOATING["weights"]), name="f.c", atomics=True, strict=True)


def test_one_thread_an_element_needs_no_atomics() -> None:
    """Rows are parallel, and each is updated in order."""
    body = "for (int i = 0; i < n; i++) for (int j = row[i]; j < row[i + 1]; j++) h[i][col[j]]++;"
    text = source("int h[n][m], int row[n + 1], int col[n + m]", body)
    scop = polytile.compile(text, name="f.c", schedule="classic").scops[0]
    assert scop.program is not None and "atomic" not in scop.cuda


@pytest.mark.quick
def test_a_plain_update_is_a_race(monkeypatch: pytest.MonkeyPatch) -> None:
    """The emulator tells atomic updates from others."""
    monkeypatch.setattr(plain_programs, "indivisible", lambda run: frozenset())
    scop = polytile.compile(source(*INTEGERS["a histogram"]), name="f.c").scops[0]
    with pytest.raises(FindingsError, match="race"):
        scop.validate(on="emulator", parameters={"n": 301}, sanitize=CHECKS)


def test_lanes_that_update_one_element_combine_first() -> None:
    """Others of the warp go on alone: all lanes are there or some, and have one element or several."""
    text = source(
        "int h[m], unsigned g[m], double w[m], int p[n], int x[n]",
        "for (int i = 0; i < n; i++) { if (x[i] > 0) h[p[i]] += x[i]; else g[p[i]] ^= x[i]; w[p[i]] += x[i]; }",
    )
    scop = polytile.compile(text, name="f.c", atomics=True).scops[0]
    assert {"polytile_atomic_add(", "polytile_atomic_xor("} <= set(re.findall(r"polytile_atomic_\w+\(", scop.cuda))
    for sizes in ({"n": 250, "m": 1}, {"n": 250, "m": 2}, {"n": 99, "m": 5}):
        _validated(scop, sizes)


# Copies in shared memory ---
COPIES = {
    "known": ("unsigned h[3], int p[n]", "for (int i = 0; i < n; i++) h[p[i]] += i;"),
    "unknown": (
        "long h[m], float w[2][m], int p[n], int q[n]",
        "for (int i = 0; i < n; i++) { h[p[i]] -= i; w[q[i]][p[i]] += 0.25f * q[i]; }",
    ),
    "extremes": (
        "int h[2], unsigned g[2], int p[n], int x[n]",
        "for (int i = 0; i < n; i++) { if (x[i] > h[p[i]]) h[p[i]] = x[i]; g[p[i]] &= x[i]; }",
    ),
    "planes": (
        "int h[2], int p[m][m][n]",
        "for (int i = 0; i < m; i++) for (int j = 0; j < m; j++) for (int k = 0; k < n; k++) h[p[i][j][k]]++;",
    ),
    "names": ("int tiles[2], int p[n]", "for (int tile = 0; tile < n; tile++) tiles[p[tile]]++;"),
}


@pytest.mark.parametrize("name", COPIES)
def test_copies_of_blocks(name: str) -> None:
    scop = polytile.compile(source(*COPIES[name]), name="f.c", atomics=True).scops[0]
    assert "_block[" in scop.cuda
    known = {p.name for p in scop.scop.parameters}
    for sizes in ({"n": 9, "m": 1}, {"n": 20011, "m": 2}, {"n": 9, "m": 70}):
        _validated(scop, {name: value for name, value in sizes.items() if name in known})


@pytest.mark.parametrize(("elements", "copied"), [("256", True), ("12288", True), ("12289", False), ("65536", False)])
def test_which_arrays_have_copies(elements: str, copied: bool) -> None:
    text = source(f"int h[{elements}], int p[n]", "for (int i = 0; i < n; i++) h[p[i]]++;")
    assert ("_block[" in polytile.compile(text, name="f.c").scops[0].cuda) is copied


# The certificate ---
def _certified(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(polytile.compile(text, name="f.c").certificate)["scops"][0]
    return found


def test_the_checker_wants_updates_to_be_atomic() -> None:
    found = _certified(source(*INTEGERS["two in a nest"]))
    assert found["atomic"] == [["S0", "h"], ["S1", "h"], ["S2", "g"]]
    assert not list(problems(found))
    left = {**found, "atomic": [["S0", "h"], ["S2", "g"]]}
    assert any("conflict through h are not ordered" in line for line in problems(left))


def test_the_checker_wants_one_operation() -> None:
    found = _certified(source(*INTEGERS["two in a nest"]))
    statements = found["program"]["statements"]
    statements["S0"]["updates"] = [{"op": "|", "array": "h"}]
    assert any("conflict through h are not ordered" in line for line in problems(found))
