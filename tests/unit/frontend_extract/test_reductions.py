"""Which statements are reductions."""

from __future__ import annotations

import pytest

CASES = {
    "s += A[i];": "+",
    "s -= A[i];": "+",
    "s *= A[i];": "*",
    "s = s + A[i] * B[i];": "+",
    "s = A[i] + s;": "+",
    "s = s - A[i];": "+",
    "s = fmax(s, A[i]);": "max",
    "s = fmin(A[i], s);": "min",
    "s = s > A[i] ? s : A[i];": "max",
    "s = A[i] < s ? A[i] : s;": "min",
    "if (A[i] > s) s = A[i];": "max",
    "if (s >= A[i]) s = A[i];": "min",
    "k |= q[i];": "|",
    "k ^= q[i];": "^",
    "k = k & q[i];": "&",
    "s = s + A[i] + B[i];": "+",
    "s = A[i] + (s - B[i]) + 1;": "+",
    "s = s - A[i] - B[i];": "+",
    "s = s * A[i] * B[i];": "*",
    "k = k ^ q[i] ^ 5;": "^",
    "if (A[i] > 0) s += B[i];": "+",
    "if (A[i] > 0) s = s * B[i] * A[i];": "*",
    "if (B[i] < 1) s = fmax(s, A[i]);": "max",
    "if (q[i]) k++;": "+",
    "s = A[i] - s;": None,
    "s = A[i] - (s - B[i]);": None,
    "s = s + A[i] * B[i] + s;": None,
    "s = s + A[i] * 2 + s * B[i];": None,
    "if (s > 0) s += A[i];": None,
    "if (A[i] > 0) s += A[i]; else s -= B[i];": "+",
    "s /= A[i];": None,
    "s = s + s * A[i];": None,
    "A[i] += A[i + 1];": None,
    "s = A[i];": None,
    "s = s > A[i] ? B[i] : s;": None,
    "if (A[i] > s) s = B[i];": None,
}


@pytest.mark.parametrize("text", CASES)
def test_reduction(text, scop_of):
    scop = scop_of(
        f"for (int i = 0; i < n; i++) {text}",
        "int n, double *A, double *B, int *q, double s, int k",
        before="double fmin(double, double); double fmax(double, double);",
    )
    found = scop.statements[0].reduction
    assert (found.op if found else None) == CASES[text]
