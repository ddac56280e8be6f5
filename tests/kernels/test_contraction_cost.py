"""What contractions of real sizes cost: banks, sectors, registers, text."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from polytile.codegen.targets.c.header import print_header
from polytile.codegen.targets.cuda.cuda import print_kernels, print_unit
from polytile.ir.expr import For
from polytile.ir.expr_trees import walk
from polytile.ir.gpu_ops import AsyncCopy, MultiplyAccumulate
from polytile.ir.kernel import Barrier, Kernel
from polytile.ir.verify.kernel import check_kernel
from polytile.runtime.compilers import nvcc
from polytile.runtime.emulator import EmulatorLibrary, compile_shared
from polytile.runtime.emulator.counts import Counts, learning, read
from polytile.runtime.emulator.instrument import COUNTING

from .common import optimised, passed
from .contraction import contraction_kernel, operands
from .contraction_cases import Case, Operands, dtype, fma, real, tensor
from .contraction_parts import Contraction
from .tensor_product import TensorProduct

pytestmark = pytest.mark.slow  # what they share is slow to make

Count = Callable[[Case], Counts]
REAL = {case.spec.name: case for case in real()}


def without_padding(case: Case) -> Case:
    """Rows of shared memory as long as a tile's."""

    def build(spec: Contraction) -> Kernel:
        i, j, k = spec.tile
        pitches = (k if spec.a_along_k else i, k if spec.b_along_k else j)
        staged = operands(spec, pitches, transposed=(False, False))
        return contraction_kernel(spec, staged, TensorProduct(spec, *staged, "m16n8k8"))

    return replace(case, build=build)


BARE = without_padding(tensor("bare"))
SINGLE = {
    "tensor": tensor("single_doubles", "tn", tile=(128, 128, 16), warp=(64, 32)),
    "fma": fma("single_floats", "tn", tile=(96, 128, 16), warp=(48, 64), stages=3),
}


@pytest.fixture(scope="module")
def count(emulator: None, tmp_path_factory: pytest.TempPathFactory) -> Count:
    """Counts a block of a contraction, three tiles along k."""
    programs = [case.program for case in (*REAL.values(), *SINGLE.values(), BARE)]
    folder = tmp_path_factory.mktemp("counting")
    (folder / "unit.h").write_text(print_header(programs, guard_name="UNIT_H"))
    (folder / "unit.cu").write_text(print_unit(programs, header="unit.h", title=[]))
    library = EmulatorLibrary.open(compile_shared(folder / "unit.cu", folder / "unit.so", instrumentation=COUNTING))

    def go(case: Case) -> Counts:
        i, j, k = case.spec.tile
        stored = Operands.integers(case.spec, i, j, 3 * k, pad=0).stored(case.spec)
        scalars = (dtype(case.spec)(2), dtype(case.spec)(3))
        values = (i, j, 3 * k, *(x.shape[1] for x in stored), *stored, *scalars)
        arguments = [passed(v) for v in values]
        run = library.function(f"run_{case.spec.name}")
        with learning(library):
            assert run(*arguments) == 0, library.message()
        assert run(*arguments) == 0, library.message()
        return read(library, arrays="ABC")

    return go


@pytest.mark.parametrize("name", REAL)
def test_no_banks_conflict_and_sectors_are_whole(name: str, count: Count) -> None:
    case = REAL[name]
    counts = count(case)
    assert {(s.space, s.access) for s in counts.sites} == set(product(("global", "shared"), ("load", "store")))
    for site in counts.sites:
        assert site.bank_conflicts == 0, site
        assert site.space == "shared" or 32 * site.sectors == site.lanes * site.size, site
    i, j, k = case.spec.tile
    for array, elements in (("A", 3 * i * k), ("B", 3 * j * k), ("C", i * j)):
        moved = sum(site.lanes * site.size for site in counts.of(array))
        assert moved == elements * case.spec.element.size, f"{array} is read once"


@pytest.mark.parametrize("name", SINGLE)
def test_copies_of_single_elements_also_take_whole_sectors(name: str, count: Count) -> None:
    counts = count(SINGLE[name])
    assert all(32 * site.sectors == site.lanes * site.size for array in "AB" for site in counts.of(array))
    assert not any(site.bank_conflicts for site in counts.sites)


def test_fragments_are_read_once(count: Count) -> None:
    """Every warp reads its strips of A and columns of B of each tile, and those of the first step of a tile beyond."""
    case = REAL["tensor_nn"]
    (i, j, k), (wi, wj) = case.spec.tile, case.spec.warp
    loaded = sum(s.lanes for s in count(case).sites if (s.space, s.access) == ("shared", "load"))
    assert loaded == (i // wi) * (j // wj) * (3 * (wi + wj) * k + 16 * 8 + wj * 8)


def test_without_padding_banks_conflict(count: Count) -> None:
    assert all(sum(site.bank_conflicts for site in count(BARE).of(tile)) > 0 for tile in ("a_tile", "b_tile"))


# Registers and text --------------------------------------------------------------------------------
MOST = {**dict.fromkeys(("tensor_nn", "tensor_nt", "tensor_tn", "tensor_tt"), 255), "tensor_96": 232, "fma_128": 128}


@pytest.mark.skipif(nvcc() is None, reason="requires nvcc")
@pytest.mark.parametrize("name", REAL)
def test_registers_hold_everything(name: str, tmp_path: Path) -> None:
    unit = tmp_path / "unit.cu"
    unit.write_text(print_kernels(REAL[name].program))
    options = ["-std=c++17", "-O3", "-arch=sm_90", "-Xptxas", "-v", "-cubin", "-o", str(tmp_path / "unit.cubin")]
    done = subprocess.run([str(nvcc()), *options, str(unit)], capture_output=True, text=True, timeout=200, check=True)
    found = [int(n) for n in re.findall(r"(\d+) bytes (?:stack frame|spill)", done.stderr)]
    assert found and not any(found), done.stderr
    used = re.search(r"Used (\d+) registers", done.stderr)
    assert used is not None and int(used[1]) <= MOST.get(name, 168)


@pytest.mark.parametrize("name", REAL)
def test_the_text_can_be_read(name: str) -> None:
    assert len(print_kernels(REAL[name].program).splitlines()) < 600


@pytest.mark.parametrize("name", REAL)
def test_registers_are_addressed_by_constants(name: str) -> None:
    check_kernel(REAL[name].kernel, registers_only=True)
    check_kernel(optimised(REAL[name].kernel), registers_only=True)


def test_one_barrier_a_tile_and_copies_in_between() -> None:
    kernel = REAL["tensor_nn"].kernel
    (loop,) = (s for s in kernel.body if isinstance(s, For) and s.iterator == "k")
    order = [n for s in loop.body for n in walk(s) if isinstance(n, AsyncCopy | Barrier | MultiplyAccumulate)]
    assert kernel.barriers == 2 and sum(isinstance(n, Barrier) for n in order) == 1
    kinds = "".join({AsyncCopy: "c", Barrier: "|", MultiplyAccumulate: "m"}[type(n)] for n in order)
    assert kinds == "ccmccmccmccm|mmmm"


def test_other_tiles_of_the_menu_fit() -> None:
    """Double: 96 x 96, 64 x 64, 128 x 96; float: 64 x 128, 256 x 128."""
    doubles = [((96, 96, 16), (48, 32)), ((64, 64, 16), (32, 32)), ((128, 96, 16), (64, 32))]
    for tile, warp in doubles:
        check_kernel(tensor("menu", tile=tile, warp=warp, vectors=(2, 2, 2)).kernel, registers_only=True)
    for tile, warp, lanes in [((64, 128, 16), (64, 32), 8), ((256, 128, 16), (64, 64), 4)]:
        check_kernel(fma("menu", tile=tile, warp=warp, lanes=lanes, stages=3).kernel, registers_only=True)
