"""Generated kernels compute the same after all passes as before: triangles, recurrences, streams, reductions."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polytile.api import compile_file
from polytile.codegen.targets.cuda.entry import arguments
from polytile.ir.expr_trees import rewrite
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Launch
from polytile.options import Options

from .common import Built, build, optimised

POLYBENCH = Path(__file__).parents[2] / "polybench" / "polybench"
SIZE, ROOM = 37, 60  # of every parameter, and elements a dimension
REQUESTED = ("strength-reduction", "index-width")


def after(program: HostProgram) -> HostProgram:
    """The program with other kernels, under another name."""
    kernels = tuple(replace(optimised(k, *REQUESTED), name=f"{k.name}_after") for k in program.kernels)

    def change(node: Any) -> Any:
        return replace(node, kernel=f"{node.kernel}_after") if isinstance(node, Launch) else node

    body = tuple(rewrite(stmt, change) for stmt in program.body)
    return replace(program, name=f"{program.name}_after", kernels=kernels, body=body)


def results(built: Built, program: HostProgram) -> list[np.ndarray[Any, Any]]:
    """What the entry point leaves in its arrays, which start with the same numbers each time."""
    random = np.random.default_rng(1)
    values: list[Any] = [ctypes.c_int(SIZE) for _ in program.parameters]
    arrays = []
    for argument in arguments(program):
        if argument.value:
            assert argument.array.element.name == "double"
            values.append(ctypes.c_double(1.5))
            continue
        dtype = {("float", 8): np.float64, ("int", 4): np.int32, ("int", 1): np.int8}[
            argument.array.element.kind, argument.array.element.size
        ]
        arrays.append((random.random(ROOM ** len(argument.array.extents)) * 3 + 1).astype(dtype))
        values.append(arrays[-1].ctypes.data_as(ctypes.c_void_p))
    assert built.library.function(program.name)(*values) == 0, built.library.message()
    return arrays


@pytest.mark.slow(but="atax")
@pytest.mark.parametrize("name", ["gemm", "trmm", "adi", "atax"])
def test_the_results_are_the_same(emulator: None, name: str, tmp_path: Path) -> None:
    path = POLYBENCH / f"{name}.c"
    compiled = compile_file(str(path), options=Options(), include_dirs=[POLYBENCH], defines=["MINI_DATASET"])
    pairs = [(p, after(p)) for p in compiled.programs]
    changed = [a.body != b.body for old, new in pairs for a, b in zip(old.kernels, new.kernels, strict=True)]
    assert any(changed)
    built = build([p for pair in pairs for p in pair], tmp_path)
    for old, new in pairs:
        for one, other in zip(results(built, old), results(built, new), strict=True):
            np.testing.assert_array_equal(one, other)
