"""Split barriers in the race check against a definition: random threads race exactly when vector clocks say so."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from polytile.runtime.emulator import EmulatorLibrary, compile_shared
from polytile.runtime.emulator.findings import Finding, Reader
from polytile.runtime.emulator.instrument import checked

SOURCE = Path(__file__).parent / "kernels" / "play_split.cu"
NOTHING, READ, WRITE, ATOMIC, ARRIVE, AWAIT_EVEN, AWAIT_ODD, MEET, BARRIER = range(9)
WORDS, BARRIERS = 3, 2
Step = tuple[int, int]


@dataclass(frozen=True)
class Play:
    """What each thread does, one step after the other, and how many arrivals end a phase of each split barrier."""

    steps: list[list[Step]]
    arrivals: list[int]
    shared: bool


@dataclass
class Writer:
    """Writes the steps of one thread: waits are put off, but not beyond its next arrival at the same barrier."""

    random: np.random.Generator
    steps: list[Step] = field(default_factory=list)
    phases: list[int] = field(default_factory=lambda: [0] * BARRIERS)
    owed: list[int] = field(default_factory=list)  # barriers to be awaited, in the order of the arrivals

    def act(self, often: float, reads: float) -> None:
        while self.random.random() < often:
            kind = READ if self.random.random() < reads else int(self.random.choice([WRITE, WRITE, ATOMIC]))
            self.steps.append((kind, int(self.random.integers(WORDS))))

    def wait(self, until: int | None = None) -> None:
        """Await what is owed: all up to this barrier, or with some luck the first of it."""
        while self.owed and (until in self.owed if until is not None else self.random.random() < 0.5):
            barrier = self.owed.pop(0)
            self.steps.append((AWAIT_EVEN + (self.phases[barrier] - 1) % 2, barrier))

    def arrive(self, barrier: int) -> None:
        self.wait(until=barrier)
        self.steps.append((ARRIVE, barrier))
        self.phases[barrier] += 1
        self.owed.append(barrier)


def random_play(seed: int) -> Play:
    """All threads go through one list of meetings in its order, so that none waits for ever."""
    random = np.random.default_rng(seed)
    threads = int(random.choice([2, 33, 70, 160, 160]))
    active = sorted(
        int(t) for t in random.choice(threads, size=min(threads, int(random.integers(2, 8))), replace=False)
    )
    members = [[t for t in active if random.random() < 0.8] or active[:1] for _ in range(BARRIERS)]
    writers = {t: Writer(random) for t in active}
    often, reads = float(random.choice([0.1, 0.3, 0.5])), float(random.choice([0.3, 0.7, 0.95]))
    barriers = 0
    for _ in range(int(random.integers(1, 8))):
        for writer in writers.values():
            writer.act(often, reads)
            writer.wait()
            writer.act(often / 2, reads)
        kind = random.random()
        if kind < 0.75:
            barrier = int(random.integers(BARRIERS))
            for t in members[barrier]:
                writers[t].arrive(barrier)
        elif kind < 0.9:
            lanes = [t for t in active if t // 32 == active[0] // 32]
            for t in lanes:
                writers[t].steps.append((MEET, sum(1 << u % 32 for u in lanes)))
        else:
            barriers += 1
            for writer in writers.values():
                writer.steps.append((BARRIER, 0))
    for writer in writers.values():
        writer.act(often, reads)
    others: list[Step] = [(BARRIER, 0)] * barriers
    steps = [writers[t].steps if t in writers else others for t in range(threads)]
    return Play(steps, [len(m) for m in members], bool(random.integers(2)))


@dataclass(frozen=True)
class Event:
    thread: int
    kind: int
    word: int
    clock: tuple[int, ...]  # what the thread knew then of each thread, and its own time


class Machine:
    """Runs a play as the definition says: who waits goes on with all that those know who let it."""

    def __init__(self, play: Play) -> None:
        self.play = play
        self.clocks = np.eye(len(play.steps), dtype=int)
        self.at = [0] * len(play.steps)
        self.arrived: list[list[np.ndarray]] = [[] for _ in range(BARRIERS)]  # clocks, of all phases

    def step(self, thread: int) -> Step:
        steps = self.play.steps[thread]
        return steps[self.at[thread]] if self.at[thread] < len(steps) else (NOTHING, 0)

    def run(self) -> Iterator[Event]:
        awaited = [[0] * BARRIERS for _ in self.at]
        while any(self.step(t)[0] for t in range(len(self.at))):
            before = list(self.at)
            for t in range(len(self.at)):
                yield from self.advance(t, awaited[t])
            assert self.at != before, "the play is stuck"

    def advance(self, t: int, awaited: list[int]) -> Iterator[Event]:
        kind, which = self.step(t)
        if kind in (READ, WRITE, ATOMIC):
            yield Event(t, kind, which, tuple(self.clocks[t]))
        elif kind == ARRIVE:
            self.arrived[which].append(self.clocks[t].copy())
            self.clocks[t, t] += 1
        elif kind in (AWAIT_EVEN, AWAIT_ODD):
            count = self.play.arrivals[which]
            phase = self.arrived[which][awaited[which] * count : (awaited[which] + 1) * count]
            if len(phase) < count:
                return
            awaited[which] += 1
            self.clocks[t] = np.maximum(self.clocks[t], np.max(phase, axis=0))
        elif kind in (MEET, BARRIER):
            self.meet(t, kind, which)
            return
        self.at[t] += kind != NOTHING

    def meet(self, t: int, kind: int, lanes: int) -> None:
        threads = range(len(self.at))
        group = [u for u in threads if kind == BARRIER or (u // 32 == t // 32 and lanes >> u % 32 & 1)]
        if any(self.step(u) != (kind, lanes) for u in group):
            return
        self.clocks[group] = self.clocks[group].max(axis=0)
        for u in group:
            self.clocks[u, u] += 1
            self.at[u] += 1


def is_race(a: Event, b: Event) -> bool:
    if a.word != b.word or a.thread == b.thread or {a.kind, b.kind} in ({READ}, {ATOMIC}):
        return False
    return b.clock[a.thread] < a.clock[a.thread] and a.clock[b.thread] < b.clock[b.thread]


@pytest.fixture(scope="module")
def found(emulator: None, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Play], tuple[Finding, ...]]:
    path = tmp_path_factory.mktemp("play") / "play_split.so"
    compile_shared(SOURCE, path, instrumentation=checked(["race"]))
    reader = Reader(EmulatorLibrary.open(path), SOURCE.read_text())

    def find(play: Play) -> tuple[Finding, ...]:
        count = max(len(steps) for steps in play.steps)
        table = np.zeros((len(play.steps), count, 2), np.uint32)
        for thread, steps in enumerate(play.steps):
            table[thread, : len(steps)] = np.array(steps, np.uint32).reshape(-1, 2)
        arrivals = np.array(play.arrivals, np.int32)
        pointers = [ctypes.c_void_p(table.ctypes.data), ctypes.c_void_p(arrivals.ctypes.data)]
        reader.clear()
        assert reader.library.function("run")(*pointers, len(play.steps), count, int(play.shared)) == 0
        return reader.read()

    return find


@pytest.mark.slow(but="2")
@pytest.mark.parametrize("part", range(4))
def test_races_are_found_exactly(found: Callable[[Play], tuple[Finding, ...]], part: int) -> None:
    racing = 0
    for seed in range(part * 250, part * 250 + 250):
        play = random_play(seed)
        expected = any(is_race(a, b) for a, b in combinations(Machine(play).run(), 2))
        findings = found(play)
        assert {finding.check for finding in findings} == ({"race"} if expected else set()), f"seed {seed}"
        racing += expected
    assert 50 < racing < 200  # neither answer is rare
