"""What failures of CuPy mean, and what is read of kernels; the rest needs a GPU (tests/gpu)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from polytile.autotuning import cuda_device
from polytile.autotuning.cuda_device import CudaDevice, _check_threads, _release_frames, _resources
from polytile.autotuning.device import ResourcesError
from polytile.autotuning.workload import Workload
from polytile.codegen.targets.cuda import shared_memory
from polytile.diagnostics import DeviceError, UsageError
from polytile.options import Options
from polytile.runtime.ptxas import Said


class Failure(Exception):
    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class OutOfMemoryError(Exception):
    pass


@pytest.mark.parametrize(
    ("error", "too_much"),
    [
        (Failure(1, "CUDA_ERROR_INVALID_VALUE: invalid argument"), True),  # 300 KB of dynamic shared memory
        (Failure(701, "cudaErrorLaunchOutOfResources: too many resources requested for launch"), True),
        (Failure(720, "cudaErrorCooperativeLaunchTooLarge: too many blocks in cooperative launch"), True),
        (Failure(0, "ptxas error : Entry function 'k0' uses too much shared data (0x19000 bytes, 0xc000 max)"), True),
        (OutOfMemoryError("Out of memory allocating 8,589,934,592 bytes"), True),
        (Failure(700, "cudaErrorIllegalAddress: an illegal memory access was encountered"), False),
        (Failure(716, "cudaErrorMisalignedAddress: misaligned address"), False),
        (Failure(6, "NVRTC_ERROR_COMPILATION (6)"), False),
    ],
)
def test_what_a_failure_means(error: Exception, too_much: bool) -> None:
    device = CudaDevice.__new__(CudaDevice)
    assert isinstance(device.failure(error), ResourcesError) == too_much
    try:
        raise DeviceError("running add_scop0 failed") from error
    except DeviceError as passed_on:
        found = device.failure(passed_on)
    assert isinstance(found, ResourcesError) == too_much and found.message == str(error)


def engine(*blocks: tuple[int, int, int]) -> Any:
    kernels = tuple(SimpleNamespace(name=f"k{n}", block=block, arrays=()) for n, block in enumerate(blocks))
    return SimpleNamespace(program=SimpleNamespace(kernels=kernels))


def test_blocks_that_their_registers_do_not_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_device, "_asked", lambda engine, attribute: [1024, 256])
    _check_threads(engine((32, 32, 1), (32, 8, 1)))
    with pytest.raises(ResourcesError, match="k1: blocks of 512 threads, where its registers allow 256"):
        _check_threads(engine((32, 32, 1), (32, 16, 1)))


def test_what_kernels_take(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {"NUM_REGS": [40, 255], "LOCAL_SIZE_BYTES": [8, 64]}
    monkeypatch.setattr(cuda_device, "_asked", lambda engine, attribute: asked[attribute])
    monkeypatch.setattr(cuda_device, "shared_bytes", lambda kernel: kernel.block[0])
    found = _resources(engine((32, 1, 1), (64, 1, 1)), {"k0": Said(40, 24)})
    assert (found.registers, found.spilled_bytes, found.shared_bytes) == ((40, 255), (24, 64), (32, 64))
    assert shared_memory.shared_bytes is not cuda_device.shared_bytes


def test_memory_is_let_go_of_with_an_error() -> None:
    class Block:
        held = 0

        def __init__(self) -> None:
            Block.held += 1

        def __del__(self) -> None:
            Block.held -= 1

    def run() -> None:
        kept = Block()
        try:
            raise KeyError
        except KeyError as error:
            raise ValueError(f"{kept is not None}") from error

    try:
        run()
    except ValueError as error:
        assert Block.held == 1
        _release_frames(error)
        assert Block.held == 0


def test_kernels_for_one_size_are_refused() -> None:
    workload = Workload("f.c", "f_scop0", {"n": 4}, options=Options(parameters={"n": 4}, specialize=True))
    with pytest.raises(UsageError, match="cannot be validated at small sizes"):
        workload.read()
    assert Workload.from_json(workload.to_json()) == workload
