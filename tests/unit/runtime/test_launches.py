"""Launches of kernels, counted, and host programs that take the second version of each kernel."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from polytile.ir.arith import compare
from polytile.ir.expr import If, Name
from polytile.ir.kernel import Launch
from polytile.runtime.launches import KernelRuns, launched_alone, launches_of, together, with_other_versions


def with_two_versions(program: Any) -> Any:
    """`if (n < 100) launch k0; else launch k0_wide;`."""
    (kernel,) = program.kernels
    other = replace(kernel, name=f"{kernel.name}_wide")
    (launch,) = [s for s in program.body if isinstance(s, Launch)]
    choice = If(compare("<", Name("n"), 100), (launch,), (replace(launch, kernel=other.name),))
    return replace(program, kernels=(kernel, other), body=(choice,))


def test_the_second_version_is_launched_whatever_the_sizes_are(sample: Any) -> None:
    program = with_two_versions(sample.program)
    first, second = (kernel.name for kernel in program.kernels)
    assert [k.launches for k in launches_of(program, {"n": 5, "m": 7})] == [1, 0]
    other = with_other_versions(program)
    assert other is not None and [k.launches for k in launches_of(other, {"n": 5, "m": 7})] == [0, 1]
    assert [kernel.name for kernel in launched_alone(other).kernels] == [second] != [first]


def test_other_conditions_stay(sample: Any) -> None:
    program = with_two_versions(sample.program)
    (choice,) = program.body
    assert with_other_versions(sample.program) is None
    assert with_other_versions(replace(program, body=(replace(choice, otherwise=()),))) is None


def test_launches_of_runs_are_added() -> None:
    one, other = KernelRuns("k0", 2, 10), KernelRuns("k1", 0, 0)
    assert together((one, other, one)) == (KernelRuns("k0", 4, 20), other)
