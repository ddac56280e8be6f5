"""What kernels take: occupancy by CUDA's rules, live ranges by hand, and estimates beside what ptxas says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import polytile
from polytile.codegen.resources.estimate import estimate
from polytile.codegen.resources.linear_code import code_of
from polytile.codegen.resources.occupancy import KernelResources, resources
from polytile.codegen.resources.register_pressure import Loop, Value, pressure
from polytile.codegen.resources.unroll import unroll
from polytile.diagnostics import DeviceError
from polytile.ir.arith import add, compare, lift, mul
from polytile.ir.expr import DOUBLE, FLOAT, INT, Access, Assign, Binary, Declare, Expr, For, If, Literal, Name, Stmt
from polytile.ir.gpu_ops import PrivateArray, ThreadIndex
from polytile.ir.kernel import Coordinate, Kernel, KernelParameter
from polytile.ir.memory import Space, Storage
from polytile.machine import machine_of
from polytile.runtime.compilers import nvcc
from polytile.runtime.ptxas import Said, compiled_resources, parse

from .build import everything

H200 = machine_of("sm_90")
J, K, N = (Name(name) for name in ("i", "k", "n"))
SUITE = Path(__file__).resolve().parents[3] / "polybench" / "polybench"


# Occupancy ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("arch", "threads", "registers", "shared", "blocks"),
    [
        ("sm_90", 256, 32, 0, 8),  # all threads
        ("sm_90", 256, 33, 0, 6),  # 40 registers: 12 warps of a partition of 16384
        ("sm_90", 256, 255, 0, 1),
        ("sm_90", 1024, 64, 0, 1),
        ("sm_90", 1024, 65, 0, 0),  # 72 registers: 28 warps
        ("sm_90", 32, 64, 0, 32),
        ("sm_90", 32, 32, 0, 32),  # as many blocks as there can be
        ("sm_90", 33, 32, 0, 32),  # two warps
        ("sm_90", 96, 168, 0, 4),  # 12 warps
        ("sm_90", 128, 16, 227 * 1024, 1),
        ("sm_90", 128, 16, 113 * 1024, 2),  # 114 KiB with what the system takes
        ("sm_90", 128, 16, 113 * 1024 + 1, 1),
        ("sm_80", 128, 16, 16 * 1024, 9),  # 17 KiB of 164
        ("sm_86", 1024, 16, 0, 1),  # 1536 threads
        ("sm_75", 32, 16, 0, 16),
        ("sm_75", 128, 16, 64 * 1024, 1),
    ],
)
def test_resident_blocks(arch: str, threads: int, registers: int, shared: int, blocks: int) -> None:
    assert machine_of(arch).resident_blocks(threads, registers, shared) == blocks


def test_figures_of_a_kernel() -> None:
    tile = Storage("s", Space.SHARED, DOUBLE, (Literal("100"), Literal("128")), "s")
    found = resources(replace(kernel(), storage=(tile,)), H200, "ptxas", 40, 1024, 8)
    assert (found.static_shared, found.dynamic_shared, found.threads) == (0, 102400, 256)
    assert (found.blocks_per_multiprocessor, found.occupancy) == (2, 0.25)
    assert str(found) == (
        "k: 256 threads, 40 registers (8 bytes spilled), 102400 bytes shared, 2 blocks on a multiprocessor "
        "(25% of its warps), 1024 bytes of code (ptxas)"
    )


# Live ranges --------------------------------------------------------------------------------------
def value(width: int, start: int, *uses: int, early: int | None = None, copies: int = 1) -> Value:
    return Value(width, start, start if early is None else early, copies=copies, uses=list(uses))


def test_values_that_are_live_at_once() -> None:
    assert pressure([], [], eager=False) == 0
    assert pressure([value(2, 0, 3), value(1, 1, 2), value(2, 2, 4)], [], eager=False) == 4  # the second ends at 2
    assert pressure([value(2, 0, 3), value(1, 1, 2, 3), value(2, 2, 4)], [], eager=False) == 5
    assert pressure([value(2, 0)], [], eager=False) == 0  # never used


def test_what_a_loop_uses_lives_to_its_end() -> None:
    before, inside, late = value(2, 0, 5), value(2, 3, 4), value(4, 7, 8)
    assert pressure([before, inside, late], [], eager=False) == 4
    assert pressure([before, inside, late], [Loop(2, 9)], eager=False) == 6
    assert pressure([before, inside, late], [Loop(1, 9), Loop(2, 6)], eager=False) == 6
    assert pressure([before, inside, late], [Loop(2, 6)], eager=False) == 4


def test_early_loads() -> None:
    loads = [value(2, at, at + 1, early=0) for at in range(0, 20, 2)]
    assert pressure(loads, [], eager=False) == 2
    assert pressure(loads, [], eager=True) == 20
    assert pressure([value(2, 1, 2, early=0, copies=16)], [], eager=True) == 32


# Estimates ----------------------------------------------------------------------------------------
def kernel(*body: Stmt, **fields: object) -> Kernel:
    """256 threads i over A, which is read, and B."""
    parameters = (KernelParameter("n", INT), *(KernelParameter(a, DOUBLE, a, const=a == "A") for a in "AB"))
    storage = tuple(Storage(a, Space.GLOBAL, DOUBLE, (None,), a) for a in "AB")
    thread = (Coordinate("i", ThreadIndex("x")),)
    return replace(Kernel("k", parameters, (256, 1, 1), thread, storage, body), **fields)  # type: ignore[arg-type]


def at(array: str, index: Expr) -> Access:
    return Access(array, (index,), DOUBLE)


def total(*terms: Expr) -> Expr:
    result = terms[0]
    for term in terms[1:]:
        result = Binary("+", result, term, DOUBLE)
    return result


def store(*terms: Expr) -> Assign:
    return Assign(at("B", J), "", total(*terms))


def least(*body: Stmt) -> int:
    """The registers that values need at once when loads come late."""
    code = code_of(unroll(kernel(*body)))
    return pressure(code.values, code.loops, eager=False)


def accumulators(count: int) -> tuple[Stmt, ...]:
    names = [Name(f"s{k}", DOUBLE) for k in range(count)]
    start = [Declare(n.name, DOUBLE, Literal("0.0", DOUBLE)) for n in names]
    steps = [Assign(n, "+", at("A", add(mul(K, 100), k))) for k, n in enumerate(names)]
    return (*start, For("k", lift(0), compare("<", K, N), 1, tuple(steps)), store(*names))


def test_what_is_carried_through_a_loop_takes_registers() -> None:
    assert [least(*accumulators(n)) - least(*accumulators(1)) for n in (2, 5, 30)] == [2, 8, 58]


def test_an_array_in_registers_takes_as_many_as_its_elements() -> None:
    def held(size: int) -> int:
        cells = [Access("p", (lift(k),), FLOAT) for k in range(size)]
        fill = [Assign(c, "", Access("A", (add(J, k),), DOUBLE)) for k, c in enumerate(cells)]
        return least(PrivateArray("p", FLOAT, (size,)), *fill, store(*reversed(cells)))

    assert held(40) - held(10) == 30


@pytest.mark.parametrize(("carried", "conditional"), [(False, False), (True, False), (False, True)])
def test_elements_that_each_iteration_sets_first_take_none_through_the_loop(carried: bool, conditional: bool) -> None:
    """for (k) { p[0] = A[..]; B[i] = p[0]; p[1] = A[..]; B[i] = p[1]; .. }, with p set before the loop, too."""

    def taken(size: int) -> int:
        cells = [Access("p", (lift(c),), DOUBLE) for c in range(size)]
        fill: list[Stmt] = [Assign(c, "", Literal("0.0", DOUBLE)) for c in cells]
        steps: list[Stmt] = []
        for k, cell in enumerate(cells):
            new: Stmt = Assign(cell, "", at("A", add(mul(K, 100), k)))
            new = If(compare("<", K, N), (new,)) if conditional else new
            steps += [store(cell), new] if carried else [new, store(cell)]
        loop = For("k", lift(0), compare("<", K, N), 1, tuple(steps))
        return least(PrivateArray("p", DOUBLE, (size,)), *fill, loop)

    more = taken(10) - taken(1)
    assert more >= 18 if carried or conditional else more == 0


@pytest.mark.parametrize("after", [False, True])
def test_elements_that_one_branch_sets_take_none_in_the_other(after: bool) -> None:
    """if (n > 3) { p[0] = A[..]; B[..] = p[0]; p[1] = ..; } else { the same }; what is read behind is kept."""

    def taken(size: int) -> int:
        cells = [Access("p", (lift(c),), DOUBLE) for c in range(size)]
        each = ((Assign(c, "", at("A", add(mul(J, 100), k))), store(c)) for k, c in enumerate(cells))
        branch = tuple(s for pair in each for s in pair)
        behind = [store(*cells)] if after else []
        return least(PrivateArray("p", DOUBLE, (size,)), If(compare(">", N, 3), branch, branch), *behind)

    assert taken(20) - taken(10) == (20 if after else 0)


def test_neighbours_share_an_address_and_equal_values_are_computed_once() -> None:
    near = [at("A", add(J, k)) for k in range(8)]
    far = [at("A", add(mul(N, k), J)) for k in range(8)]
    assert code_of(kernel(store(*near))).instructions < code_of(kernel(store(*far))).instructions
    assert code_of(kernel(store(*near, *near))).instructions == code_of(kernel(store(*near))).instructions + 8


def test_half_of_the_addresses_that_are_used_again_are_kept() -> None:
    """Of rows at distances that are known at run time, first one element of each, then the next one of each."""

    def taken(size: int) -> int:
        rows = [add(J, mul(N, k)) for k in range(size)]
        elements = [at("A", row if first else add(row, 1)) for first in (True, False) for row in rows]
        return estimate(kernel(store(*elements)), H200).registers

    assert taken(60) - taken(50) == pytest.approx(10, abs=2)  # of 20 that their addresses take


def test_addresses_of_all_arrays_are_in_the_making_at_once() -> None:
    def taken(arrays: int) -> int:
        storage = tuple(Storage(f"A{k}", Space.GLOBAL, DOUBLE, (None,), f"A{k}") for k in range(arrays))
        return estimate(replace(kernel(), storage=storage), H200).registers

    assert (taken(2), taken(4), taken(12)) == (8, 8, 24)


def test_a_variable_that_changed_is_no_equal_value() -> None:
    x = Name("x", DOUBLE)
    change = Assign(x, "+", at("A", J))
    product = Binary("*", x, x, DOUBLE)
    start = Declare("x", DOUBLE, at("A", lift(3)))
    once = code_of(kernel(start, change, store(product), store(product)))
    twice = code_of(kernel(start, change, store(product), change, store(product)))
    assert twice.instructions > once.instructions


def test_loads_come_early_as_far_as_all_warps_still_fit() -> None:
    body = store(*(at("A", add(J, 2 * k)) for k in range(30)))
    full, small = estimate(kernel(body), H200), estimate(kernel(body, block=(32, 1, 1)), H200)
    assert (full.registers, full.occupancy) == (32, 1.0)
    assert small.registers == 64 and small.blocks_per_multiprocessor == 32  # 32 blocks are all that fit anyway


def test_a_cap_on_registers_spills() -> None:
    many = accumulators(60)
    free, capped = estimate(kernel(*many), H200), estimate(kernel(*many, max_registers=64), H200)
    bound = estimate(kernel(*many, min_blocks=4), H200)
    assert free.spill_bytes == 0 and free.registers > 120
    assert capped.registers == bound.registers == 64 and capped.spill_bytes > 4 * 40


def test_warps_share_the_registers_of_a_quarter_of_a_multiprocessor() -> None:
    """Of eleven warps, three are in one quarter: ptxas gives their threads 168 registers, too."""
    many = accumulators(100)
    eleven, twelve = (estimate(kernel(*many, block=(32 * n, 1, 1)), H200) for n in (11, 12))
    assert eleven.registers == twelve.registers == 168
    assert eleven.blocks_per_multiprocessor == twelve.blocks_per_multiprocessor == 1


def test_everything_of_kernels_is_known() -> None:
    found = estimate(everything(), H200)
    assert 20 < found.registers <= 255 and found.instruction_bytes > 1000 and found.source == "estimate"


def test_sums_of_thousands_of_terms() -> None:
    assert estimate(kernel(store(*(at("A", add(J, k)) for k in range(3000)))), H200).registers == 32


# ptxas --------------------------------------------------------------------------------------------
def test_what_ptxas_says() -> None:
    said = """ptxas info    : Compiling entry function 'k0' for 'sm_90'
ptxas info    : Function properties for k0
    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 400 bytes cmem[0]
ptxas info    : Compiling entry function 'k1' for 'sm_90'
ptxas info    : Function properties for k1
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 32 registers, used 0 barriers, 400 bytes cmem[0]
"""
    assert parse(said) == {"k0": Said(40, 20), "k1": Said(32, 0)}
    assert parse("") == {}


def test_ptxas_needs_nvcc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NVCC", str(tmp_path / "none"))
    with pytest.raises(DeviceError, match="nvcc was not found"):
        compiled_resources(tmp_path / "k.cu", [], H200)


@pytest.mark.slow
@pytest.mark.skipif(nvcc() is None, reason="requires nvcc")
@pytest.mark.parametrize("name", ["gemm", "jacobi-2d", "adi"])
def test_estimates_beside_ptxas(name: str, tmp_path: Path) -> None:
    program = polytile.compile(SUITE / f"{name}.c", defines=["LARGE_DATASET=1"])
    _, unit, _ = program.write(tmp_path)
    kernels = [k for p in program.programs for k in p.kernels]
    for compiled in compiled_resources(unit, kernels, H200):
        (estimated,) = (estimate(k, H200) for k in kernels if k.name == compiled.kernel)
        assert abs(estimated.registers - compiled.registers) <= max(8, compiled.registers // 4), compiled
        assert compiled.instruction_bytes % 128 == 0 and same_but_for_code(compiled, estimated)


def same_but_for_code(a: KernelResources, b: KernelResources) -> bool:
    return (a.static_shared, a.dynamic_shared, a.threads) == (b.static_shared, b.dynamic_shared, b.threads)


@pytest.mark.skipif(nvcc() is None, reason="requires nvcc")
def test_spills_of_a_kernel(tmp_path: Path) -> None:
    unit = tmp_path / "k.cu"
    bound = kernel(max_registers=24)
    unit.write_text(
        """extern "C" __global__ void __maxnreg__(24) k(int n, const double *A, double *B) {
            double s[30];
            for (int j = 0; j < 30; ++j) s[j] = A[j * n];
            for (int i = 0; i < n; ++i)
                #pragma unroll
                for (int j = 0; j < 30; ++j) s[j] = s[j] * A[i] + B[j];
            for (int j = 0; j < 30; ++j) B[j * n] = s[j];
        }
        """
    )
    (found,) = compiled_resources(unit, [bound], H200)
    assert found.registers <= 24 and found.spill_bytes > 100 and unit.with_suffix(".cubin").exists()
