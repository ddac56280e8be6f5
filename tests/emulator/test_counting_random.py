"""Random structured kernels: the requests that the emulator puts together, against lanes that step under masks.

The model runs the 32 lanes of a warp through the statements together, with a mask, as kernels are taught: both sides of
a condition one after the other, a loop until its last lane has left. It shares nothing with the emulator, which runs
one thread after the other and knows only addresses.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from polytile.runtime.emulator import EmulatorLibrary, compile_shared
from polytile.runtime.emulator.counts import learning, read
from polytile.runtime.emulator.instrument import COUNTING

PROGRAMS = 40
THREADS = 80
ELEMENTS = 997
# A lane that returns leaves its sum, so that no load of its is in vain.
LEAVING = {"break": "break;", "continue": "continue;", "return": "{ out[t] = sum; return; }"}


@dataclass(frozen=True)
class Hash:
    """(a * t + sum of b * i over the loops around + c) % p: what conditions, bounds and indices are made of."""

    lane: int
    loops: tuple[int, ...]
    constant: int
    modulus: int

    def __str__(self) -> str:
        terms = "".join(f" + {b} * i{d}" for d, b in enumerate(self.loops))
        return f"({self.lane} * t{terms} + {self.constant}) % {self.modulus}"

    def at(self, lane: int, loops: list[int]) -> int:
        return (
            self.lane * lane + sum(b * i for b, i in zip(self.loops, loops, strict=True)) + self.constant
        ) % self.modulus


@dataclass(frozen=True)
class Load:
    index: Hash


@dataclass(frozen=True)
class If:
    condition: Hash
    least: int
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...]


@dataclass(frozen=True)
class For:
    trips: Hash
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class Leave:
    """`break`, `continue` or `return`, where a condition holds."""

    word: str
    condition: Hash
    least: int


Statement = Load | If | For | Leave


@dataclass
class Generator:
    choose: random.Random
    loads: int = 0

    def hash(self, depth: int, modulus: int) -> Hash:
        pick = self.choose.randrange
        loops = tuple(pick(1, 50) for _ in range(depth))
        return Hash(self.choose.choice([0, 1, 1, pick(2, 50)]), loops, pick(100), modulus)

    def body(self, depth: int, nesting: int) -> tuple[Statement, ...]:
        return tuple(self.statement(depth, nesting) for _ in range(self.choose.randint(1, 4)))

    def statement(self, depth: int, nesting: int) -> Statement:
        kind = self.choose.random()
        if nesting == 0 or kind < 0.4:
            self.loads += 1  # no two loads of one element, of which a compiler would make one
            return Load(replace(self.hash(depth, ELEMENTS), constant=self.loads))
        if kind < 0.5:
            words = ["break", "continue"] if depth else ["return"]
            return Leave(
                self.choose.choice([*words, *words, "return"]), self.hash(depth, 13), self.choose.randint(9, 12)
            )
        if kind < 0.75:
            otherwise = self.body(depth, nesting - 1) if self.choose.random() < 0.5 else ()
            return If(self.hash(depth, 7), self.choose.randint(1, 6), self.body(depth, nesting - 1), otherwise)
        return For(self.hash(depth, self.choose.randint(2, 6)), self.body(depth + 1, nesting - 1))


def lines(body: tuple[Statement, ...], depth: int, places: list[Load | None]) -> Iterator[str]:
    """C++ lines; `places` receives, for each line, the load on it."""

    def line(text: str, load: Load | None = None) -> str:
        places.append(load)
        return text

    for s in body:
        match s:
            case Load(index=index):
                yield line(f"sum += in[{index}];", s)
            case If(condition=c, least=least, then=then, otherwise=otherwise):
                yield line(f"if ({c} >= {least}) {{")
                yield from lines(then, depth, places)
                if otherwise:
                    yield line("} else {")
                    yield from lines(otherwise, depth, places)
                yield line("}")
            case For(trips=trips, body=inner):
                yield line(f"for (int i{depth} = 0; i{depth} < {trips}; ++i{depth}) {{".replace(f" * i{depth} ", " "))
                yield from lines(inner, depth + 1, places)
                yield line("}")
            case Leave(word=word, condition=c, least=least):
                yield line(f"if ({c} >= {least}) {LEAVING[word]}")


@dataclass
class Warp:
    """Runs statements under a mask; counts requests, lanes and sectors of each load."""

    lanes: range
    counts: dict[int, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0, 0]))
    gone: set[int] = field(default_factory=set)  # returned

    def run(
        self, body: tuple[Statement, ...], mask: set[int], loops: list[int], broken: set[int], on: set[int]
    ) -> None:
        """`broken` and `on` receive the lanes that break and that go on to the next iteration."""
        for s in body:
            mask = mask - self.gone - broken - on
            if not mask:
                return
            match s:
                case Load(index=index):
                    elements = [index.at(t, loops) for t in mask]
                    count = self.counts[id(s)]
                    count[0] += 1
                    count[1] += len(mask)
                    count[2] += len({e // 4 for e in elements})
                case If(condition=c, least=least, then=then, otherwise=otherwise):
                    holds = {t for t in mask if c.at(t, loops) >= least}
                    self.run(then, holds, loops, broken, on)
                    self.run(otherwise, mask - holds, loops, broken, on)
                case For(trips=trips, body=inner):
                    self.loop(trips, inner, mask, loops)
                case Leave(word=word, condition=c, least=least):
                    leaving = {t for t in mask if c.at(t, loops) >= least}
                    {"break": broken, "continue": on, "return": self.gone}[word].update(leaving)

    def loop(self, trips: Hash, body: tuple[Statement, ...], mask: set[int], loops: list[int]) -> None:
        broken: set[int] = set()
        iteration = 0
        while True:
            mask = {t for t in mask - self.gone - broken if iteration < trips.at(t, loops)}
            if not mask:
                return
            self.run(body, mask, [*loops, iteration], broken, set())
            iteration += 1


def programs() -> list[tuple[Statement, ...]]:
    made = [Generator(random.Random(seed)).body(0, 4) for seed in range(PROGRAMS)]
    return [(*body, Load(Hash(1, (), 0, ELEMENTS))) for body in made]


def unit(bodies: list[tuple[Statement, ...]]) -> tuple[str, dict[tuple[str, int], Load]]:
    """The text of a .cu with all programs, and the loads by kernel and line."""
    text = ["#include <cuda_runtime.h>"]
    found = {}
    for number, body in enumerate(bodies):
        places: list[Load | None] = []
        name = f"k{number}"
        text += [f'extern "C" __global__ void {name}(const double *in, double *out)', "{"]
        text += ["const int t = threadIdx.x;", "double sum = 0;"]
        start = len(text) + 1
        text += lines(body, 0, places)
        text += ["out[t] = sum;", "}"]
        found.update({(name, start + i): load for i, load in enumerate(places) if load is not None})
    calls = "\n".join(
        f"cudaLaunchKernelEx(&config, k{i}, (const double *)in, (double *)out);" for i in range(len(bodies))
    )
    text.append(
        f"""extern "C" int run() {{
void *in, *out;
cudaMalloc(&in, {8 * ELEMENTS});
cudaMalloc(&out, {8 * THREADS});
cudaMemset(in, 0, {8 * ELEMENTS});
cudaLaunchConfig_t config = {{}};
config.gridDim = dim3(1);
config.blockDim = dim3({THREADS});
{calls}
cudaFree(in);
cudaFree(out);
return cudaGetLastError();
}}"""
    )
    return "\n".join(text), found


@pytest.mark.slow
@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("room", [1024, 2])
def test_lanes_step_together_as_under_masks(tmp_path: Path, room: int) -> None:
    """However few events a lane can keep before it has to wait for the others."""
    bodies = programs()
    text, loads = unit(bodies)
    out = tmp_path / "random.so"
    flags = [f"-DPOLYTILE_EMULATOR_TRACE_ROOM={room}"]
    library = EmulatorLibrary.open(compile_shared(text, out, instrumentation=COUNTING, extra_flags=flags))
    with learning(library):
        assert library.function("run")() == 0
    assert library.function("run")() == 0
    counts = read(library, arrays=["in", "out"])
    counted: dict[tuple[str, int], tuple[int, int, int]] = {}
    for site in counts.sites:
        if site.array == "in":
            place = (site.kernel, site.line)
            assert place not in counted
            counted[place] = (site.requests, site.lanes, site.sectors)
    expected: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
    for body in bodies:
        for first in range(0, THREADS, 32):
            warp = Warp(range(first, min(first + 32, THREADS)))
            warp.run(body, set(warp.lanes), [], set(), set())
            for load, count in warp.counts.items():
                expected[load] = [a + b for a, b in zip(expected[load], count, strict=True)]
    for place, load in loads.items():
        assert list(counted.get(place, (0, 0, 0))) == expected[id(load)], (place, text.splitlines()[place[1] - 1])
    assert sum(np.array(list(counted.values()))[:, 0]) > 1000
