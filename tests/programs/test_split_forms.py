"""The forms of iterated stencils against their definitions in NumPy; test_nonlinear_stencils has their tables."""

from __future__ import annotations

import os
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "polybench" / "split"
TABLE = tomllib.loads((FOLDER / "programs-forms.toml").read_text())
CC = os.environ.get("CC", "gcc")
STEPS = 5
Data = Mapping[str, np.ndarray]


def around(a: np.ndarray) -> np.ndarray:
    """The sums of the nine elements around all elements inside the border."""
    rows, columns = a.shape
    return sum(a[i : rows - 2 + i, j : columns - 2 + j] for i in range(3) for j in range(3))


def copy_back_9pt(data: Data) -> None:
    for _ in range(STEPS):
        data["B"][1:-1, 1:-1] = around(data["A"]) / 9
        data["A"][1:-1, 1:-1] = data["B"][1:-1, 1:-1]


def one_sided_pair(data: Data) -> None:
    a0, a1 = data["A0"], data["A1"]
    for _ in range(STEPS):
        a1[:-1] = (a1[:-1] + a0[1:]) / 2
        a0[:-2] = (a0[:-2] + a1[2:]) / 2


def red_black_1d(data: Data) -> None:
    a = data["A"]
    for _ in range(STEPS):
        for first in (2, 1):
            new = a[1:-1] / 2 + (a[:-2] + a[2:]) / 4
            a[first:-1:2] = new[first - 1 :: 2]


def red_black_2d(data: Data) -> None:
    a = data["A"]
    parity = np.indices(a.shape).sum(axis=0)[1:-1, 1:-1] % 2
    for _ in range(STEPS):
        for colour in (0, 1):
            inner = a[1:-1, 1:-1]
            new = (inner + a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]) / 5
            a[1:-1, 1:-1] = np.where(parity == colour, new, inner)


def triangle_9pt(data: Data) -> None:
    below = np.tril(np.ones_like(data["A"][0], dtype=bool), -1)[1:-1, 1:-1]
    for t in range(STEPS):
        old, new = data["A"][t % 2], data["A"][(t + 1) % 2]
        new[1:-1, 1:-1] = np.where(below, around(old) / 9, new[1:-1, 1:-1])


def two_neighbours(data: Data) -> None:
    a = data["A"]
    for t in range(1, STEPS):
        a[t, 1:-1] = (a[t - 1, :-2] + a[t - 1, 2:]) / 2


def two_steps_back(data: Data) -> None:
    a = data["A"]
    for t in range(2, STEPS):
        a[t, 3:-1] = a[t, 3:-1] / 2 + (a[t - 1, 4:] + a[t - 2, :-4]) / 4


DEFINITIONS: Mapping[str, tuple[Callable[[Data], None], tuple[int, ...]]] = {  # and the extents of all arrays
    "copy-back-9pt": (copy_back_9pt, (12, 15)),
    "one-sided-pair": (one_sided_pair, (19,)),
    "red-black-1d": (red_black_1d, (20,)),
    "red-black-2d": (red_black_2d, (11, 14)),
    "triangle-9pt": (triangle_9pt, (2, 13, 13)),
    "two-neighbours": (two_neighbours, (STEPS, 17)),
    "two-steps-back": (two_steps_back, (STEPS, 18)),
}


@pytest.mark.quick
@pytest.mark.skipif(shutil.which(CC) is None, reason=f"no C compiler ({CC})")
@pytest.mark.parametrize("name", TABLE)
def test_program_computes_its_definition(name: str, tmp_path: Path) -> None:
    defined, shape = DEFINITIONS[name]
    arrays = TABLE[name]["live_out"]
    read = shape[1:] if name == "triangle-9pt" else shape  # both planes begin with the same data
    given = {array: np.random.default_rng(k).random(read) for k, array in enumerate(arrays)}
    data = {array: np.broadcast_to(values, shape).copy() for array, values in given.items()}
    defined(data)

    results = outputs(name, shape, tmp_path, "\n".join(repr(v) for a in given.values() for v in a.ravel().tolist()))
    assert list(results) == arrays
    for array, values in results.items():
        np.testing.assert_allclose(values.reshape(shape), data[array], rtol=1e-12)


def outputs(name: str, shape: tuple[int, ...], folder: Path, text: str) -> dict[str, np.ndarray]:
    """The arrays that the program prints, where it reads `text`."""
    extents = iter(shape[-sum(v != "tsteps" for v in TABLE[name]["parameters"]) :])
    sizes = {p["macro"]: STEPS if v == "tsteps" else next(extents) for v, p in TABLE[name]["parameters"].items()}
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", *(f"-D{m}={v}" for m, v in sizes.items())]
    flags += ["-DDATA_TYPE=double", "-DPOLYBENCH_READ_ARRAYS", "-DPOLYBENCH_DUMP_ARRAYS"]
    program = folder / "program"
    subprocess.run([CC, *flags, FOLDER / TABLE[name]["file"], "-o", program, "-lm"], check=True, timeout=60)
    lines = subprocess.run([program], check=True, timeout=60, capture_output=True, text=True, input=text).stdout
    words = [line.split() for line in lines.splitlines()]
    return {w[1]: np.array(w[2:], dtype=float) for w in words if w[0] == "output"}
