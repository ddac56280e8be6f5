"""The race check against a definition: random threads race exactly when two conflicting accesses are unordered."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from polytile.runtime.emulator import EmulatorLibrary, compile_shared
from polytile.runtime.emulator.findings import Reader
from polytile.runtime.emulator.instrument import checked

SOURCE = Path(__file__).parent / "kernels" / "play.cu"
READ, WRITE, ATOMIC = 1, 2, 3
Ints = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Play:
    """What each thread does in each step."""

    actions: Ints  # [block, thread, step]
    meetings: npt.NDArray[np.uint32]  # [block, warp, step]
    barriers: Ints  # [step]
    shared: bool


def random_play(seed: int) -> Play:
    """A few threads act and meet, so that about every other play races."""
    random = np.random.default_rng(seed)
    blocks, threads = int(random.choice([1, 1, 2, 3])), int(random.choice([2, 5, 32, 40, 70]))
    steps, warps = int(random.integers(3, 13)), -(-threads // 32)
    active = random.choice(threads, size=min(threads, int(random.integers(2, 7))), replace=False)
    acting = np.zeros((blocks, threads, steps), bool)
    acting[:, active] = random.random((blocks, len(active), steps)) < random.choice([0.1, 0.2, 0.4])
    weights = np.array([[4, 1, 1], [1, 1, 0], [0, 1, 4], [9, 1, 0]][random.integers(4)])
    kinds = random.choice([READ, WRITE, ATOMIC], size=acting.shape, p=weights / weights.sum())
    targets = random.integers(0, 5, acting.shape) * (random.random(acting.shape) < random.choice([0, 0, 0.5]))
    targets = np.where(kinds == ATOMIC, 0, targets)
    actions = np.where(acting, kinds + 4 * targets, 0)
    meetings = np.zeros((blocks, warps, steps), np.uint32)
    often = random.choice([0, 0.4, 0.8])
    for block, thread, step in np.ndindex(blocks, len(active), steps):
        if random.random() < often:
            meetings[block, active[thread] // 32, step] |= np.uint32(1 << active[thread] % 32)
    barriers = random.random(steps) < random.choice([0, 0.2, 0.5])
    return Play(actions.astype(np.int32), meetings, barriers.astype(np.int32), bool(random.integers(2)))


@dataclass(frozen=True)
class Event:
    block: int
    thread: int
    kind: int
    bytes: frozenset[int]
    clock: tuple[int, ...]  # what the thread knew then of each thread of its block, and its own time


def events(play: Play) -> Iterator[Event]:
    """All accesses with vector clocks, by the definition: a meeting joins what its members know."""
    blocks, threads, steps = play.actions.shape
    for block in range(blocks):
        clocks = np.eye(threads, dtype=int)
        for step in range(steps):
            groups = [range(threads)] if play.barriers[step] else list(groups_of(play, block, step, threads))
            for group in groups:
                clocks[list(group)] = clocks[list(group)].max(axis=0)
                for thread in group:
                    clocks[thread, thread] += 1
            members = {thread for group in groups for thread in group}
            for thread in sorted(set(range(threads)) - members):
                action = int(play.actions[block, thread, step])
                if action % 4:
                    target = action // 4
                    touched = frozenset(range(4)) if target == 0 else frozenset([target - 1])
                    yield Event(block, thread, action % 4, touched, tuple(clocks[thread]))


def groups_of(play: Play, block: int, step: int, threads: int) -> Iterator[list[int]]:
    for warp, lanes in enumerate(play.meetings[block, :, step]):
        members = [32 * warp + lane for lane in range(32) if int(lanes) >> lane & 1 and 32 * warp + lane < threads]
        if members:
            yield members


def before(a: Event, b: Event) -> bool:
    return b.clock[a.thread] >= a.clock[a.thread]


def is_race(a: Event, b: Event, shared: bool) -> bool:
    if not a.bytes & b.bytes or {a.kind, b.kind} in ({READ}, {ATOMIC}):
        return False
    if a.block != b.block:
        return not shared
    return a.thread != b.thread and not before(a, b) and not before(b, a)


@pytest.fixture(scope="module")
def reader(emulator: None, tmp_path_factory: pytest.TempPathFactory) -> Reader:
    path = tmp_path_factory.mktemp("play") / "play.so"
    compile_shared(SOURCE, path, instrumentation=checked(["race"]))
    return Reader(EmulatorLibrary.open(path), SOURCE.read_text())


def found(reader: Reader, play: Play) -> bool:
    def pointer(array: npt.NDArray[Any]) -> ctypes.c_void_p:
        return np.ascontiguousarray(array).ctypes.data_as(ctypes.c_void_p)

    reader.clear()
    tables = [np.ascontiguousarray(table) for table in (play.actions, play.meetings, play.barriers)]
    arguments = [pointer(table) for table in tables]
    assert reader.library.function("run")(*arguments, *play.actions.shape, int(play.shared)) == 0
    return bool(reader.library.function("polytile_emulator_findings")(ctypes.byref(ctypes.c_ulonglong())))


@pytest.mark.slow(but="3")
@pytest.mark.parametrize("part", range(4))
def test_races_are_found_exactly(reader: Reader, part: int) -> None:
    racing = 0
    for seed in range(part * 500, part * 500 + 500):
        play = random_play(seed)
        expected = any(is_race(a, b, play.shared) for a, b in combinations(events(play), 2))
        assert found(reader, play) == expected, f"seed {seed}"
        racing += expected
    assert 100 < racing < 400  # neither answer is rare
