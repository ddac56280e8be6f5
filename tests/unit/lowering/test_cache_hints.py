"""What a kernel reads for the last time goes from the cache first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import polytile
from polytile.codegen.passes.cache_hints import streamed
from polytile.codegen.targets.cuda.cuda import print_kernels
from polytile.ir.expr import BOOL, DOUBLE, INT, Access, Binary, CType, Declare, Literal, Name, Scope, Ternary
from polytile.ir.gpu_ops import Load
from tests.nvrtc.library import ptx_of

ARGUMENTS = "int n, double A[n][n], double u[n], double x[n], double w[n]"
UPDATE = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { A[i][j] += u[i]; x[j] += A[i][j] * u[i]; }"
SUM = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) w[i] += A[i][j] * x[j];"


@pytest.mark.slow
def test_what_an_earlier_kernel_wrote(emulator: None, compiled: Callable[..., Any]) -> None:
    found = compiled(ARGUMENTS, f"{UPDATE} {SUM}", schedule="superposed")
    *others, reader = found.cuda.partition("// Shared by")[0].split("extern \"C\" __global__")[1:]
    assert len(others) == 2 and "__ldcs" not in "".join(others) and "__ldcs(&x" not in reader
    assert "double A_at0 = __ldcs(&A[" in reader
    for n in (0, 1, 31, 70):
        found.validate(on="emulator", parameters={"n": n}, seed=n, sanitize=("address", "undefined", "race"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        SUM,  # nobody has written it
        f"{UPDATE} {SUM} for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) A[i][j] = u[j];",  # it is used again
        f"{UPDATE} {SUM.replace('A[i][j]', 'A[j][j]')}",  # each element is read several times
        f"{UPDATE} {SUM.replace('x[j]', 'A[j][i]')}",
        f"for (int t = 0; t < 3; t++) {{ {UPDATE} {SUM} }}",  # the host runs the kernels again
    ],
)
def test_what_stays_in_the_cache(compiled: Callable[..., Any], body: str) -> None:
    assert "__ldcs" not in compiled(ARGUMENTS, body, schedule="superposed").cuda


def test_which_declarations_become_loads() -> None:
    guard = Binary("<", Name("i"), Name("n"), INT)
    plain, guarded = _declared(DOUBLE), Declare("b", DOUBLE, Ternary(guard, _element(DOUBLE), Literal("0.0"), DOUBLE))
    other = Declare("c", DOUBLE, Binary("+", _element(DOUBLE), _element(DOUBLE), DOUBLE))
    body = streamed((Scope((plain, guarded)), other), {"A"})
    name = Name("a", DOUBLE)
    assert body == (
        Scope(
            (
                Declare("a", DOUBLE, None),
                Load((name,), _element(DOUBLE), "streaming"),
                Declare("b", DOUBLE, None),
                Load((Name("b", DOUBLE),), _element(DOUBLE), "streaming", guard),
            )
        ),
        other,
    )


@pytest.mark.parametrize(("element", "arrays"), [(DOUBLE, {"B"}), (DOUBLE, set()), (BOOL, {"A"})])
def test_which_do_not(element: CType, arrays: set[str]) -> None:
    assert streamed((_declared(element),), arrays) == (_declared(element),)


def _element(element: CType) -> Access:
    return Access("A", (Name("i"),), element)


def _declared(element: CType) -> Declare:
    return Declare("a", element, _element(element))


@pytest.mark.slow(but="long long")
@pytest.mark.parametrize(
    "type",
    ["long", "unsigned long", "long long", "signed char", "unsigned short", "unsigned", "float", "double", "_Bool"],
)
def test_hints_are_of_types_that_cuda_has_them_for(emulator: None, type: str) -> None:
    """There is no `__ldcs(const long2 *)`."""
    text = f"""
{type} A[20][20], y[20];
void f(int n)
{{
#pragma scop
    for (int i = 0; i <= n; i++) {{
        {type} s = 0;
        for (int j = 0; j <= n; j++) {{
            A[i][j] = i + j + 2;
            if (i == j) A[i][j] *= 2;
            s += A[i][j];
        }}
        y[i] = s;
    }}
#pragma endscop
}}
"""
    (scop,) = polytile.compile(text).scops
    assert scop.program is not None
    scop.validate(on="emulator", parameters={"n": 19})
    kernels = print_kernels(scop.program)
    assert ("__ldcs" in kernels) == (type != "_Bool")
    assert ptx_of(kernels)
