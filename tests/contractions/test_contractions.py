"""Random programs with tiles of arrays in shared memory and registers, in the emulator with all its checks.

The same for many more programs: tests/property/test_promotion.py. On a GPU: `python -m tests.contractions`.
"""

from __future__ import annotations

import importlib.util
import json
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from polytile.api import CompiledScop
from polytile.fuzz.draw import source_of

from .checks import accepted, as_defined, compiled, known, same_as_c
from .export import has_tiles, write
from .generate import plain, program_of, sizes_of
from .program import Product, Program, Step

SEED, QUICK = 0, 12
MOST_WORK = 15_000  # iterations of a size


@cache
def compiled_of(index: int) -> CompiledScop:
    return compiled(program_of(SEED, index))


@pytest.mark.slow(but="7")
@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("index", range(QUICK))
def test_tiles_compute_what_c_computes(index: int) -> None:
    same_as_c(compiled_of(index), program_of(SEED, index), source_of(SEED, index), most=MOST_WORK)


@pytest.mark.slow(but="7")
@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("index", [1, 7])
def test_definitions_say_what_programs_compute(index: int) -> None:
    program = program_of(SEED, index)
    for sizes in sizes_of(program, source_of(SEED, index), MOST_WORK):
        as_defined(compiled_of(index), program, sizes)


@pytest.mark.slow
@pytest.mark.usefixtures("emulator")
def test_products_without_an_index_of_the_sum_are_added_each_time() -> None:
    """C[i][j] += A[i][k] * B[k][j] + F[i][j], for all k."""
    products = (Product((plain("A", "ik"), plain("B", "kj"))), Product((plain("F", "ij"),)))
    step = Step(plain("C", "ij"), ("k",), products, tuple("ijk"))
    program = Program("double", {"i": "ni", "j": "nj", "k": "nk"}, (step,))
    for nk in (0, 1, 5):
        as_defined(compiled(program), program, {"ni": 3, "nj": 4, "nk": nk})


@pytest.mark.parametrize("index", [4])
def test_certificates_are_accepted(index: int) -> None:
    assert accepted(program_of(SEED, index)) == []


@pytest.mark.slow
def test_most_programs_have_tiles() -> None:
    tiled = [has_tiles(compiled_of(index)) for index in range(QUICK)]
    assert tiled.count(True) >= 0.7 * QUICK


@pytest.mark.slow
@pytest.mark.usefixtures("emulator")
def test_the_folder_for_a_gpu(tmp_path: Path) -> None:
    """Its entry points are called as its driver calls them, with what the emulator computes; errors are seen."""
    assert write(tmp_path, 1, SEED) == 0
    (own,) = (file.parent for file in tmp_path.glob("*/case.json"))
    case = json.loads((own / "case.json").read_text())
    assert case["entry"] in (own / case["source"]).read_text()
    definition, sizes = module_of(tmp_path / "definition.py"), case["sizes"][2]
    arrays, scalars = definition.inputs_of(case["program"], sizes, 1)
    names = [name for name, _ in case["arguments"]]
    assert set(names) == {*arrays, *scalars} and {n for n, by_value in case["arguments"] if by_value} == set(scalars)
    scop = compiled_of(0)
    results = {name: np.array(values) for name, values in arrays.items()}
    scop(**known(scop, sizes), **scalars, **results)
    differences = definition.differences(case["program"], sizes, arrays, scalars, results)
    assert [wrong for *_, wrong in differences] == [0] * len(differences)
    results[differences[0][0]].flat[0] += 0.01
    assert definition.differences(case["program"], sizes, arrays, scalars, results)[0][-1] == 1


def module_of(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("definition_there", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
