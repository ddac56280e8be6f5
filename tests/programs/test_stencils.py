"""The linear stencils against test vectors of their definitions, and their tables.

Every program is compiled with the host's C compiler and fed with the data of the vectors.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "polybench"
VECTORS = tomllib.loads((Path(__file__).with_name("stencil_vectors.toml")).read_text())
FAMILIES = list(VECTORS)
TABLES = {family: tomllib.loads((FOLDER / family / "programs.toml").read_text()) for family in FAMILIES}
PROGRAMS = [(family, name) for family in FAMILIES for name in TABLES[family]]
DATASETS = ["mini", "small", "medium", "large", "extralarge"]
CC = os.environ.get("CC", "gcc")
FLAGS = ["-std=c99", "-O0", "-Wall", "-Wextra", "-Werror", "-pedantic"]

needs_cc = pytest.mark.skipif(shutil.which(CC) is None, reason=f"no C compiler ({CC})")
each_program = pytest.mark.parametrize(("family", "name"), PROGRAMS, ids=[name for _, name in PROGRAMS])


def source_of(family, name):
    return FOLDER / family / TABLES[family][name]["file"]


def compile_program(family, name, folder, *defines):
    """The program with its sizes as environment variables, so that it is compiled once."""
    macros = [parameter["macro"] for parameter in TABLES[family][name]["parameters"].values()]
    sizes = [f'-D{macro}=atoi(getenv("{macro}"))' for macro in macros]
    executable = folder / "program"
    command = [CC, *FLAGS, *sizes, *(f"-D{define}" for define in defines), source_of(family, name), "-o", executable]
    subprocess.run([*command, "-lm"], check=True, timeout=60)

    def run(shape, steps, text=""):
        extents = ["N"] if len(shape) == 1 else ["NX", "NY", "NZ"][:len(shape)]
        values = {**dict(zip(extents, shape, strict=True)), "TSTEPS": steps}
        result = subprocess.run([executable], check=True, timeout=60, capture_output=True, text=True, input=text,
                                env={**os.environ, **{macro: str(value) for macro, value in values.items()}})
        assert result.stderr == ""
        return [line.split() for line in result.stdout.splitlines()]

    return run


def vector_data(shape, number):
    i = np.indices(shape)
    total = sum(factor * axis for factor, axis in zip((131, 71, 37), i, strict=False))
    return (total + 17 * number) % 101 / 101 + 0.05


@pytest.mark.quick
@needs_cc
@pytest.mark.parametrize("data_type", ["double", "float"])
@each_program
def test_program_computes_its_vector(family, name, data_type, tmp_path):
    vector = VECTORS[family][name]
    shape = tuple(vector["shape"])
    run = compile_program(family, name, tmp_path, f"DATA_TYPE={data_type}", "POLYBENCH_READ_ARRAYS",
                          "POLYBENCH_DUMP_ARRAYS")
    data = [vector_data(shape, number) for number in range(13 if name == "himeno-19pt" else 1)]
    text = "\n".join(repr(value) for array in data for value in array.ravel().tolist())
    lines = run(shape, vector["steps"], text)

    outputs = {line[1]: np.array(line[2:], dtype=float) for line in lines if line[0] == "output"}
    assert list(outputs) == TABLES[family][name]["live_out"]
    (output,) = outputs.values()
    result = output.reshape(-1, *shape)[vector["steps"] % 2 if output.size > data[0].size else 0]
    tolerance = 1e-12 if data_type == "double" else 1e-5
    assert abs(result[tuple(vector["point"])] - vector["value"]) <= tolerance * abs(result).max()
    assert abs(result.sum() - vector["sum"]) <= tolerance * abs(result).sum()

    kept = np.ones(shape, dtype=bool)
    kept[interior_of(statement_of(family, name), shape)] = False
    np.testing.assert_allclose(result[kept], data[0][kept], rtol=1e-7)


@needs_cc
@each_program
def test_program_runs_at_tiny_sizes(family, name, tmp_path):
    dimensions = len(VECTORS[family][name]["shape"])
    run = compile_program(family, name, tmp_path, "DATA_TYPE=float")
    for size in (0, 1, 2, 9):
        lines = run((size,) * dimensions, 3)
        assert [line[0] for line in lines] == TABLES[family][name]["live_out"]
        assert np.isfinite(float(lines[0][1]))
        assert (float(lines[0][1]) == 0) == (size == 0)


# ---- The tables ------------------------------------------------------------------------------------


def statement_of(family, name):
    """The distance to the border and the statement of a program, preprocessed."""
    source = source_of(family, name)
    text = subprocess.run([CC, "-std=c99", "-E", "-P", source], check=True, timeout=60, capture_output=True,
                          text=True).stdout
    scop = " ".join(text.split("#pragma scop")[1].split("#pragma endscop")[0].split())
    loops = re.findall(r"for \(int ([ijk]) = (\d); \1 < \w+ - (\d); \1\+\+\)", scop)
    distances = {distance for loop in loops for distance in loop[1:]}
    assert len(distances) == 1
    return int(distances.pop()), scop[scop.rindex("++)") + 3:]


def interior_of(statement, shape, offsets=None):
    distance, _ = statement
    return tuple(slice(distance + o, extent - distance + o)
                 for extent, o in zip(shape, offsets or [0] * len(shape), strict=True))


def count_operations(statement):
    value = re.sub(r"\[[^]]*\]", "", statement.split(" = ", 1)[1])
    value = re.sub(r"\(\d\.\d / \d\.\d\)", "third", value)  # a constant is no operation on elements
    return len(re.findall(r"(?<=[\w)]) [-+*/] ", value))


def count_elements(statement, shape):
    """Distinct elements that two or more steps touch."""
    touched = {}
    for array, indices in re.findall(r"(\b[a-z]\w*)((?:\[[^]]*\])+)", statement[1], re.IGNORECASE):
        subscripts = re.findall(r"\[([^]]*)\]", indices)
        planes = 2 if subscripts[0] in ("t % 2", "(t + 1) % 2") else 1
        offsets = [int(re.fullmatch(r"[ijk](?: (.*))?", s)[1].replace(" ", "") if " " in s else 0)
                   for s in subscripts[planes - 1:]]
        mask = touched.setdefault(array, (planes, np.zeros(shape, dtype=bool)))[1]
        mask[interior_of(statement, shape, offsets)] = True
    return sum(planes * int(mask.sum()) for planes, mask in touched.values())


def evaluate(formula, values):
    return eval(formula, {"__builtins__": {}}, {**values, "sizeof": 8})


@needs_cc
@each_program
def test_formulas_count_what_the_statement_does(family, name):
    program = TABLES[family][name]
    statement = statement_of(family, name)
    shape = (13, 14, 16)[:len(VECTORS[family][name]["shape"])]
    values = {**dict(zip(["n"] if len(shape) == 1 else ["nx", "ny", "nz"], shape, strict=False)), "tsteps": 3}
    points = np.zeros(shape)[interior_of(statement, shape)].size
    steps = 3 if "tsteps" in program["parameters"] else 1
    assert evaluate(program["flops"], values) == steps * points * count_operations(statement[1])
    assert evaluate(program["bytes"], values) == 8 * count_elements(statement, shape)


@each_program
def test_sizes(family, name):
    program = TABLES[family][name]
    source = source_of(family, name).read_text()
    assert program["type"] == "double"
    sizes = {macro: [int(value) for value in values.split(",")] for macro, values
             in re.findall(r"#define (\w+) POLYBENCH_SIZE\(([\d, ]+)\)", source)}
    assert sizes == {parameter["macro"]: [parameter[dataset] for dataset in DATASETS]
                     for parameter in program["parameters"].values()}
    for variable, parameter in program["parameters"].items():
        assert f"int {variable} = {parameter['macro']};" in source


def test_every_program_has_a_vector():
    assert {family: set(TABLES[family]) for family in FAMILIES} == {f: set(VECTORS[f]) for f in FAMILIES}
