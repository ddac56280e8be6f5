"""How many planes a tile owns is what passes all tiles in the fewest planes, on the host as in the cost model."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path
from random import Random

import pytest

from polytile.codegen.targets.templating import render
from polytile.ir.chunk_length import FUNCTION, TURNS, chunk_length
from polytile.ir.evaluate import evaluate
from polytile.ir.expr import LLONG, Call, Literal, Name
from polytile.ir.overlapped_tiles import owned_planes

NAMES = ("planes", "across", "at_once", "latest", "least")


def passed(length: int, planes: int, across: int, at_once: int, latest: int) -> int:
    tiles = across * -(-planes // length)
    return -(-tiles // at_once) * (min(length, planes) + latest)


@pytest.mark.parametrize(
    ("planes", "across", "at_once", "latest", "owned"),
    [
        (16384, 228, 3168, 20, 1261),  # 13 parts in one turn: two would pass 3% fewer
        (512, 200, 132, 6, 171),  # 2 turns of 512 + 6 planes, or 5 of 171 + 6
        (512, 132, 132, 6, 512),
        (512, 133, 132, 6, 128),  # nearly twice as many places as tiles, but for the parts
        (10, 1, 3168, 20, 16),  # fewer than the least
        (0, 0, 132, 6, 16),
    ],
)
def test_examples(planes: int, across: int, at_once: int, latest: int, owned: int) -> None:
    assert chunk_length(planes, across, at_once, latest, 16) == owned


def test_no_other_number_of_turns_passes_fewer_planes_by_a_twentieth() -> None:
    random = Random(1)
    for _ in range(300):
        planes, across = random.randint(1, 5000), random.randint(1, 3000)
        at_once = random.choice((132, 528, 1056, 3168))
        latest, least = random.randint(0, 40), random.choice((1, 16))
        owned = passed(chunk_length(planes, across, at_once, latest, least), planes, across, at_once, latest)
        first = -(-across // at_once)
        for turns in range(first, first + TURNS):
            length = max(-(-planes // max(turns * at_once // across, 1)), least)
            assert 19 * owned <= 20 * passed(length, planes, across, at_once, latest)


def test_the_cost_model_takes_as_many() -> None:
    assert owned_planes(16, 132, 512.0, 200.0, 6) == chunk_length(512, 200, 132, 6, 16)
    assert owned_planes(16, 132, 10.0, 200.0, 6) == 10 and owned_planes(0, 0, 512.0, 200.0, 6) == 512
    assert owned_planes(64, 0, 512.0, 200.0, 6) == 64


def test_the_host_finds_the_same(tmp_path: Path) -> None:
    """The text of the function, compiled, and the host program as Python runs it."""
    source, library = tmp_path / "chunk.cpp", tmp_path / "chunk.so"
    empty = "#define __host__\n#define __device__\n#define __forceinline__ inline\n"
    helper = render("kernels.cu.j2", headers=[], helpers=[FUNCTION], functions=[], external=[], device_sources=[],
                    dialect=None, program={"namespace": "", "definitions": "", "kernels": []})  # fmt: skip
    asked = f'extern "C" long long ask(long long *v) {{ return polytile_{FUNCTION}(v[0], v[1], v[2], v[3], v[4]); }}\n'
    source.write_text(f"{empty}{helper}{asked}")
    subprocess.run(["g++", "-shared", "-fPIC", "-Wall", "-Werror", str(source), "-o", str(library)], check=True)
    ask = ctypes.CDLL(str(library)).ask
    ask.restype = ctypes.c_longlong
    call = Call(FUNCTION, (*(Name(name, LLONG) for name in NAMES[:-1]), Literal("16", LLONG)), LLONG)
    random = Random(2)
    for _ in range(500):
        most = random.choice((3, 100, 10_000, 2**31 - 1))
        planes, across = random.randint(-1, most), random.randint(-1, most)
        values = [planes, across, random.choice((1, 132, 3168)), random.randint(0, 40)]
        wanted = chunk_length(*values, 16)
        assert ask((ctypes.c_longlong * 5)(*values, 16)) == wanted
        assert evaluate(call, dict(zip(NAMES, values, strict=False))) == wanted
