"""Copies in pieces through pinned memory, with a device that copies as late as it may."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import numpy as np
import pytest

from polytile.runtime import host_copies, pinned_staging
from polytile.runtime.host_copies import Box, HostCopies
from polytile.runtime.pinned_staging import AHEAD, MOST_IDLE, SLOTS
from tests.unit.runtime.deferred_cupy import Block, Device, Failure, playing

PIECE = 64
SIZES = (0, 1, PIECE - 1, PIECE, PIECE + 1, AHEAD * PIECE, SLOTS * PIECE, 3 * SLOTS * PIECE + 5)


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Iterator[Device]:
    for module in (pinned_staging, host_copies):
        monkeypatch.setattr(module, "PIECE", PIECE)
    monkeypatch.setattr(host_copies, "LEAST", 1)
    monkeypatch.setattr(pinned_staging, "_IDLE", {})
    device = Device()
    yield device
    pinned_staging.give_back()
    assert not device.pinned


@pytest.fixture
def cupy(device: Device) -> Any:
    return playing(device)


def numbers(size: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).integers(0, 256, size, np.uint8)


@pytest.mark.parametrize("size", SIZES)
def test_what_goes_to_the_device_may_be_changed_behind_it(size: int, cupy: Any, device: Device) -> None:
    source, block = numbers(size), Block(np.zeros(size, np.uint8))
    expected = source.copy()
    with HostCopies(cupy, 0) as copies:
        copies.to_device(block.ptr, source)
        source[:] = 0
        device.wait()
    assert np.array_equal(block.host, expected) and not source.any()
    assert [piece for _, piece in device.copies] == [min(PIECE, size - k) for k in range(0, size, PIECE)]


@pytest.mark.parametrize("size", SIZES)
def test_what_comes_from_the_device_is_behind_the_kernels(size: int, cupy: Any, device: Device) -> None:
    expected, block, target = numbers(size), Block(np.zeros(size, np.uint8)), np.zeros(size, np.uint8)
    device.queue(lambda: block.set(expected))
    with HostCopies(cupy, 0) as copies:
        copies.back(target, block.ptr, Box(0, (), (), size))
    assert np.array_equal(target, expected)


@pytest.mark.parametrize("least", [1, 1 << 40])
@pytest.mark.parametrize("size", SIZES)
def test_what_went_to_the_device_is_kept(
    size: int, least: int, cupy: Any, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_copies, "LEAST", least)
    source, block, kept = numbers(size), Block(np.zeros(size, np.uint8)), np.zeros(size, np.uint8)
    with HostCopies(cupy, 0) as copies:
        copies.to_device(block.ptr, source, kept)
        device.wait()
    assert np.array_equal(block.host, source) and np.array_equal(kept, source)


def test_slots_are_used_again_when_they_are_free(cupy: Any, device: Device) -> None:
    """Several arrays there and back, one after the other, in one ring."""
    sources = [numbers(size, size) for size in SIZES]
    blocks = [Block(np.zeros(size, np.uint8)) for size in SIZES]
    targets = [np.zeros(size, np.uint8) for size in SIZES]
    for _ in range(3):
        with HostCopies(cupy, 0) as copies:
            for source, block in zip(sources, blocks, strict=True):
                copies.to_device(block.ptr, source)
            for target, block in zip(targets, blocks, strict=True):
                copies.back(target, block.ptr, Box(0, (), (), target.size))
        assert all(map(np.array_equal, sources, targets))
        assert len(device.pinned) == 1


def test_small_arrays_and_pinned_ones_go_directly(
    cupy: Any, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_copies, "LEAST", 100)
    address = device.take_pinned(1000, 1)
    pinned = np.ctypeslib.as_array(device.pinned[address])
    block = Block(np.zeros(1000, np.uint8))
    with HostCopies(cupy, 0) as copies:
        copies.to_device(block.ptr, numbers(99))
        copies.to_device(block.ptr, pinned)
    assert device.copies == [(1, 99), (1, 1000)] and len(device.pinned) == 1
    device.free_pinned(address)


@pytest.mark.parametrize("size", SIZES)
def test_without_pinned_memory_cuda_copies(size: int, cupy: Any, device: Device) -> None:
    device.most_pinned = 0
    source, block, target = numbers(size), Block(np.zeros(size, np.uint8)), np.zeros(size, np.uint8)
    with HostCopies(cupy, 0) as copies:
        copies.to_device(block.ptr, source)
        copies.back(target, block.ptr, Box(0, (), (), size))
        copies.changes_back(target, block.ptr, np.zeros_like(target), 1)
    assert np.array_equal(target, source)


def test_idle_memory_is_given_back_when_there_is_no_more(cupy: Any, device: Device) -> None:
    device.most_pinned = SLOTS * PIECE
    other = {1: [pinned_staging.Ring(cupy)]}
    pinned_staging._IDLE.update(other)
    with pinned_staging.ring(cupy) as found:
        assert found is not None and not other[1] and len(device.pinned) == 1


def test_what_fails_leaves_no_memory(cupy: Any, device: Device) -> None:
    block = Block(np.zeros(40 * PIECE, np.uint8))
    for fails_behind in range(SLOTS + 4):
        device.copies.clear()
        device.fails_behind = fails_behind
        with pytest.raises(Failure), HostCopies(cupy, 0) as copies:
            copies.to_device(block.ptr, numbers(4 * PIECE))
            copies.back(np.zeros(40 * PIECE, np.uint8), block.ptr, Box(0, (), (), 40 * PIECE))
        assert not device.pinned


def test_eight_threads_have_rings_of_their_own(cupy: Any, device: Device) -> None:
    def work(number: int) -> bool:
        source, target = numbers(33 * PIECE + number, number), np.zeros(33 * PIECE + number, np.uint8)
        block = Block(np.zeros(source.size, np.uint8))
        for _ in range(20):
            target[:] = 0
            with HostCopies(cupy, 0) as copies:
                copies.to_device(block.ptr, source)
                copies.back(target, block.ptr, Box(0, (), (), source.size))
            if not np.array_equal(source, target):
                return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(work, range(8)))
    assert 1 <= len(device.pinned) <= MOST_IDLE


def test_no_more_rings_are_kept_than_a_few(cupy: Any, device: Device) -> None:
    def nested(depth: int) -> None:
        with pinned_staging.ring(cupy):
            if depth:
                nested(depth - 1)

    nested(2 * MOST_IDLE)
    assert len(device.pinned) <= MOST_IDLE + 1


@pytest.mark.parametrize("most", [1, 1 << 40])
def test_boxes_leave_what_is_between_them(
    most: int, cupy: Any, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dense and sparse ones in up to four dimensions, of rows shorter and longer than a piece."""
    monkeypatch.setattr(host_copies, "LEAST", most)
    draw = Random(7)
    for _ in range(150):
        shape = [draw.randint(1, 6) for _ in range(draw.randint(0, 3))] + [draw.choice((1, 3, 30, 200))]
        ends = [sorted((draw.randint(0, n - 1), draw.randint(1, n))) for n in shape]
        part = tuple(slice(low, max(high, low + 1)) for low, high in ends)
        now, target = numbers(int(np.prod(shape)), 1), numbers(int(np.prod(shape)), 2)
        expected = target.reshape(shape).copy()
        expected[part] = now.reshape(shape)[part]
        chosen = target.reshape(shape)[part]
        first = chosen.__array_interface__["data"][0] - target.ctypes.data
        box = Box(first, chosen.shape[:-1], chosen.strides[:-1], chosen.shape[-1])
        block = Block(np.zeros_like(now))
        device.queue(lambda block=block, now=now: block.set(now))  # type: ignore[misc]
        with HostCopies(cupy, 0) as copies:
            copies.back(target, block.ptr, box)
        device.wait()
        assert np.array_equal(target.reshape(shape), expected), (shape, part)


@pytest.mark.parametrize("unit", [1, 2, 4, 8])
@pytest.mark.parametrize("least", [1, 1 << 40])
def test_what_has_not_changed_is_not_written(
    unit: int, least: int, cupy: Any, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread has changed an element in the meantime."""
    monkeypatch.setattr(host_copies, "LEAST", least)
    size = 40 * PIECE
    before = numbers(size)
    now, target = before.copy(), before.copy()
    now[8 * unit : 9 * unit] ^= 1
    target[20 * unit : 21 * unit] ^= 3
    block = Block(now)
    with HostCopies(cupy, 0) as copies:
        copies.changes_back(target, block.ptr, before, unit)
    expected = before.copy()
    expected[8 * unit : 9 * unit] ^= 1
    expected[20 * unit : 21 * unit] ^= 3
    assert np.array_equal(target, expected)
