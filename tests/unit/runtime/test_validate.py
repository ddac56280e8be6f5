"""The sequential reference, the comparison, and kernels run in the emulator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from polytile.diagnostics import DeviceError, UsageError, UserError, ValidationError
from polytile.ir.expr import FLOAT, INT, Access, Binary, Call, CType, Literal, Name
from polytile.options import Options
from polytile.runtime.compare import compare
from polytile.runtime.engine import emulator_engine
from polytile.runtime.expectation import chain_length, expect, wide_seconds
from polytile.runtime.launches import KernelRuns, launches_of
from polytile.runtime.layout import Layout
from polytile.runtime.reference import widen
from polytile.runtime.validate import validate

VALUES = {"n": 5, "m": 7}


@dataclass
class Fake:
    """An engine that computes with NumPy, wrongly if told so."""

    change: Callable[[Mapping[str, np.ndarray[Any, Any]]], None] = field(default=lambda memory: None)
    label: str = "a fake"
    last: int = 1  # launches of its second kernel

    def run(self, layouts: Mapping[str, Layout], values: Mapping[str, int], memory: Mapping[str, Any]) -> None:
        memory["y"][...] += memory["a"] * memory["x"]
        self.change(memory)

    def launched(self, values: Mapping[str, int]) -> tuple[KernelRuns, ...]:
        return (KernelRuns("update_scop0_k0", 2, 10), KernelRuns("update_scop0_k1", self.last, 3 * self.last))


def test_the_reference_computes_what_c_says(sample: Any) -> None:
    found = expect(sample.scop, sample.scop.source, VALUES, 3)
    assert np.array_equal(found.after["y"], found.before["y"] + found.before["a"] * found.before["x"])
    assert 0 < found.tolerances["y"] < 1e-12


def test_sizes_that_no_machine_has_memory_for_are_refused(sample: Any) -> None:
    with pytest.raises(UserError, match=r"with n=10000000, m=10000000 the arrays of update_scop0 take \d+ GB"):
        expect(sample.scop, sample.scop.source, {"n": 10**7, "m": 10**7}, 3)


def test_agreement(sample: Any) -> None:
    expectation = expect(sample.scop, sample.scop.source, VALUES, 3)
    result = validate(expectation, Fake(), strict=True)
    line = "update_scop0: validated on a fake (n=5 m=7; y: bitwise equal; launches: k0 2, k1 1)"
    assert result.line == line and result.unrun == ()


def test_a_kernel_that_no_run_has_launched_is_not_validated(sample: Any) -> None:
    first = validate(expect(sample.scop, sample.scop.source, VALUES, 3), Fake(last=0), strict=True)
    both = first.followed_by(validate(expect(sample.scop, sample.scop.source, VALUES, 3), Fake(), strict=True))
    assert first.unrun == ("update_scop0_k1",) and both.unrun == ()
    assert first.line.startswith("update_scop0: not validated in full on a fake (n=5 m=7; ")
    assert both.line.startswith("update_scop0: validated on a fake (n=5 m=7; ")
    assert both.kernels == (KernelRuns("update_scop0_k0", 4, 20), KernelRuns("update_scop0_k1", 1, 3))


def test_the_last_bit_counts_only_when_strict(sample: Any) -> None:
    def nudge(memory: Any) -> None:
        memory["y"][2, 3] = np.nextafter(memory["y"][2, 3], 1e9)

    expectation = expect(sample.scop, sample.scop.source, VALUES, 3)
    assert validate(expectation, Fake(nudge), strict=False).comparisons[0].error > 0
    with pytest.raises(ValidationError, match=r"y\[2\]\[3\] is .*, the sequential C gives .*; 1 of 35"):
        validate(expectation, Fake(nudge), strict=True)


def test_memory_that_must_stay_untouched_is_compared(sample: Any) -> None:
    def spoil(memory: Any) -> None:
        memory["x"][6] += 1

    expectation = expect(sample.scop, sample.scop.source, VALUES, 3)
    with pytest.raises(ValidationError, match=r"x\[6\] is"):
        validate(expectation, Fake(spoil), strict=False)


def test_a_nan_is_a_difference(sample: Any) -> None:
    def spoil(memory: Any) -> None:
        memory["y"][0, 0] = np.nan

    expectation = expect(sample.scop, sample.scop.source, VALUES, 3)
    with pytest.raises(ValidationError, match=r"y\[0\]\[0\] is nan"):
        validate(expectation, Fake(spoil), strict=False)


def test_nans_of_the_sequential_program_must_match() -> None:
    expected = np.array([np.nan, 1.0])
    assert compare("A", expected, np.array([-np.nan, 1.0]), tolerance=0.0).mismatch is None
    assert compare("A", expected, np.array([2.0, 1.0]), tolerance=1e9).mismatch is not None


def test_integers_are_compared_exactly() -> None:
    result = compare("A", np.array([[1, 2], [3, 4]]), np.array([[1, 2], [3, 5]]), tolerance=10.0)
    assert result.mismatch is not None and result.mismatch.element == "A[1][1]"
    assert (result.mismatch.expected, result.mismatch.actual) == ("4", "5")


def test_struct_fields_are_compared_one_by_one() -> None:
    dtype = np.dtype([("tag", np.int32), ("x", np.float64)], align=True)
    expected, actual = np.zeros(3, dtype), np.zeros(3, dtype)
    actual["x"][2] = 1
    result = compare("p", expected, actual, tolerance=0.5)
    assert result.mismatch is not None and result.mismatch.element == "p[2].x"


def test_scalars_have_no_index() -> None:
    result = compare("s", np.array(1.0), np.array(2.0), tolerance=0.0)
    assert result.mismatch is not None and result.mismatch.element == "s"


def test_poison_that_stays_is_not_compared(sample: Any) -> None:
    y, *others = sample.scop.arrays
    scop = replace(sample.scop, arrays=(replace(y, live_in=False), *others))
    half = """
void update_scop0_reference(int n, int m, double *y, const double *x, double a)
{
    for (int j = 0; j < m; j++) y[j] = a * x[j];
}
"""

    def run(memory: Any) -> None:
        memory["y"][0] = memory["a"] * memory["x"]
        memory["y"][1:] = 3

    expectation = expect(scop, half, VALUES, 3)
    assert validate(expectation, Fake(run), strict=True)


def test_inputs_are_drawn_until_the_result_is_finite(sample: Any) -> None:
    root = """
#include <math.h>
void update_scop0_reference(int n, int m, double *y, const double *x, double a)
{
    for (int j = 0; j < m; j++) y[j] = sqrt(a) + sqrt(x[j]);
}
"""
    expectation = expect(sample.scop, root, VALUES, 3)
    assert expectation.style.value == "positive" and np.isfinite(expectation.after["y"]).all()


def test_widening() -> None:
    text = "#include <math.h>\nfloat f(double a, long double b) { return sqrtf(a) + pow(b, 2.0f); }\n"
    wide = "long double f(long double a, long double b) { return sqrtl(a) + powl(b, 2.0f); }"
    assert widen(text).splitlines() == ["#include <math.h>", wide]


def test_chains(sample: Any) -> None:
    assert chain_length(sample.scop, VALUES) == 1.0


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("values", [{"n": 5, "m": 7}, {"n": 0, "m": 3}, {"n": 130, "m": 40}, {"n": 1, "m": 1}])
def test_the_emulator_agrees(sample: Any, values: dict[str, int], strict: bool) -> None:
    engine = emulator_engine(sample.scop, sample.program, Options(strict=strict))
    expectation = expect(sample.scop, sample.scop.source, values, 5)
    result = validate(expectation, engine, strict=True)
    assert result.label == "the emulator" and result.kernels == launches_of(sample.program, values)


@pytest.mark.parametrize("ctype", [FLOAT, INT])
def test_other_types(sample_of: Callable[[CType], Any], ctype: CType) -> None:
    sample = sample_of(ctype)
    engine = emulator_engine(sample.scop, sample.program, Options())
    assert validate(expect(sample.scop, sample.scop.source, VALUES, 5), engine, strict=True)


def test_a_wrong_kernel_is_found(sample: Any) -> None:
    wrong = Binary("*", Access("a", ()), Access("x", (Literal("0"),)), sample.scop.arrays[0].element)
    engine = emulator_engine(sample.scop, sample.mutated(wrong), Options())
    with pytest.raises(ValidationError, match=r"update_scop0 computes something else on the emulator: y\[0\]\[1\]"):
        validate(expect(sample.scop, sample.scop.source, VALUES, 5), engine, strict=False)


def test_strict_is_not_bitwise_for_functions_that_a_gpu_rounds_differently(sample: Any) -> None:
    statement = sample.scop.statements[0]
    target = statement.body[0]
    body = (replace(target, value=Call("exp", (Name("j"),))),)
    scop = replace(sample.scop, statements=(replace(statement, body=body),))
    expectation = replace(expect(sample.scop, sample.scop.source, VALUES, 3), scop=scop)
    result = validate(expectation, Fake(), strict=True)
    assert not result.bitwise and "exp rounds differently" in result.line


def test_a_reference_that_does_not_compile(sample: Any) -> None:
    with pytest.raises(DeviceError, match="compiling the sequential reference failed"):
        expect(sample.scop, "not C", VALUES, 1)


def test_no_c_compiler(sample: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(DeviceError, match="no C compiler was found"):
        expect(sample.scop, sample.scop.source + "/* another text */", VALUES, 1)


def test_inputs_are_drawn_until_nothing_explodes(sample: Any) -> None:
    doubling = """
void update_scop0_reference(int n, int m, double *y, const double *x, double a)
{
    if (a < 0 || x[0] < 0 || x[1] < 0)
        for (int k = 0; k < 80; k++)
            y[0] = y[0] * 2;
}
"""
    styles = {expect(sample.scop, doubling, VALUES, seed).style.value for seed in range(4)}
    assert "positive" in styles


def test_how_slow_a_program_may_be_to_run_in_long_double(sample: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
void update_scop0_reference(int n, int m, double *y, const double *x, double a)
{
    for (int j = 0; j < m; j++) y[j] = a * x[j] / 3;
}
"""
    assert wide_seconds() == 300
    measured = expect(sample.scop, text, VALUES, 3).tolerances["y"]
    monkeypatch.setenv("POLYTILE_WIDE_SECONDS", "0")
    assert expect(sample.scop, text, VALUES, 3).tolerances["y"] > 2 * measured
    monkeypatch.setenv("POLYTILE_WIDE_SECONDS", "12.5")
    assert wide_seconds() == 12.5
    for wrong in ("soon", "-1", "nan"):
        monkeypatch.setenv("POLYTILE_WIDE_SECONDS", wrong)
        with pytest.raises(UsageError, match=f"is no number of seconds: {wrong}"):
            wide_seconds()
