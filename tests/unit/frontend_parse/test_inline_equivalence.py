"""Random programs with helper functions compute the same, bit for bit, after inlining."""

from __future__ import annotations

import ctypes
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pycparser.c_generator import CGenerator

from polytile.frontend.source import read_regions

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
# Conversions of negative values to unsigned types are undefined, so the programs have signed types only.
TYPES = ("int", "double", "float", "long")
SIGNATURE = "void f(int n, double *a, float *b, int *c, double s)"


class Writer:
    """Writes one random program."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.functions: list[tuple[str, int]] = []

    def value(self, names: list[str], depth: int) -> str:
        if depth == 0 or self.random.random() < 0.2:
            return self.random.choice([*names, "1", "3", "1.5", "2.5f"])
        first, second = self.value(names, depth - 1), self.value(names, depth - 1)
        forms = [f"({first} {op} {second})" for op in "+-*"]
        forms += [f"({first} < {second} ? {first} : {second})", f"({self.random.choice(TYPES)}) ({first})"]
        return self.random.choice(forms)

    def call(self, names: list[str]) -> str:
        if not self.functions:
            return self.value(names, 2)
        name, count = self.random.choice(self.functions)
        return f"{name}({', '.join(self.value(names, 1) for _ in range(count))})"

    def function(self, name: str) -> str:
        parameters = [f"p{k}" for k in range(self.random.randint(1, 3))]
        names = list(parameters)
        steps = [f"{self.random.choice(TYPES)} t = {self.call(names)};"]
        names.append("t")
        optional = [
            f"long s = 0; for (int i = 0; i < 3; i++) s += {self.call(names)};",
            f"p0 = {self.call(names)};",
            f"if (p0 > 2) p0 = {self.value(names, 1)};",
        ]
        steps += [step for step in optional if self.random.random() < 0.4]
        declared = ", ".join(f"{self.random.choice(TYPES)} {p}" for p in parameters)
        text = (
            f"static {self.random.choice(TYPES)} {name}({declared}) {{ {' '.join(steps)} return {self.call(names)}; }}"
        )
        self.functions.append((name, len(parameters)))
        return text

    def program(self) -> str:
        functions = [self.function(f"f{k}") for k in range(4)]
        names = ["a[i]", "b[i]", "c[i]", "i", "s"]
        forms = ["a[i] = {};", "b[i] += {} + b[i];", "c[i] = 3 * {};", "{{ double u = {}; a[i] -= u; }}", "s = {};"]
        lines = [form.format(self.call(names)) for form in forms]
        loop = "\n".join(["for (int i = 0; i < n; i++) {", *lines, "}"])
        return "\n".join([*functions, SIGNATURE, "{", "#pragma scop", loop, "#pragma endscop", "}", ""])


def _results(text: str, folder: Path, name: str) -> list[bytes]:
    source, library = folder / f"{name}.c", folder / f"{name}.so"
    source.write_text(text)
    flags = ["-std=gnu99", "-O0", "-fwrapv", "-ffp-contract=off", "-w", "-fPIC", "-shared"]
    subprocess.run(["cc", *flags, str(source), "-o", str(library)], check=True)
    numbers = np.random.default_rng(0)
    arrays: list[Any] = [numbers.random(9) * 4, (numbers.random(9) * 4).astype(np.float32)]
    arrays.append(numbers.integers(0, 5, 9).astype(np.int32))
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in arrays]
    ctypes.CDLL(str(library)).f(9, *pointers, ctypes.c_double(1.25))
    return [array.tobytes() for array in arrays]


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("seed", range(12))
def test_inlining_changes_no_bit(seed: int, tmp_path: Path) -> None:
    text = Writer(seed).program()
    (region,) = read_regions("x.c", text)
    statements = "".join(f"{CGenerator().visit(node)};\n" for node in region.body)
    helpers = "".join(CGenerator().visit(f) for f in region.functions.values())
    inlined = f"{helpers}\n{SIGNATURE}\n{{\n{statements}}}\n"
    assert _results(text, tmp_path, "original") == _results(inlined, tmp_path, "inlined")
