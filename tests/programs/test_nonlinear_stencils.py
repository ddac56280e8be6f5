"""The nonlinear stencils and application kernels against test vectors of their definitions, and their tables.

Every program is compiled with the host's C compiler and fed with the data of the vectors.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from collections import Counter
from pathlib import Path

import islpy as isl
import numpy as np
import pytest

from polytile.frontend.program import read_program
from polytile.ir.expr import Access, Assign, Binary, Call, Declare, Literal, Ternary, Unary

FOLDER = Path(__file__).resolve().parents[2] / "polybench"
VECTORS = tomllib.loads(Path(__file__).with_name("nonlinear_vectors.toml").read_text())
TABLES = {
    "stencilgen": tomllib.loads((FOLDER / "stencilgen" / "programs-nonlinear.toml").read_text()),
    "reorder": tomllib.loads((FOLDER / "reorder" / "programs-sw4.toml").read_text()),
}
PROGRAMS = [(family, name) for family in TABLES for name in TABLES[family]]
TABLES |= {"split": tomllib.loads((FOLDER / "split" / "programs-forms.toml").read_text())}  # see test_split_forms.py
TABLED = [*PROGRAMS, *(("split", name) for name in TABLES["split"])]
DATASETS = ["mini", "small", "medium", "large", "extralarge"]
CC = os.environ.get("CC", "gcc")
FLAGS = ["-std=c99", "-O0", "-Wall", "-Wextra", "-Werror", "-pedantic"]

needs_cc = pytest.mark.skipif(shutil.which(CC) is None, reason=f"no C compiler ({CC})")
each_program = pytest.mark.parametrize(("family", "name"), PROGRAMS, ids=[f"{f}-{n}" for f, n in PROGRAMS])
each_tabled = pytest.mark.parametrize(("family", "name"), TABLED, ids=[f"{f}-{n}" for f, n in TABLED])


def source_of(family, name):
    return FOLDER / family / TABLES[family][name]["file"]


def compile_program(family, name, folder, *defines):
    """The program with its sizes as environment variables, so that it is compiled once."""
    macros = [parameter["macro"] for parameter in TABLES[family][name]["parameters"].values()]
    sizes = [f'-D{macro}=atoi(getenv("{macro}"))' for macro in macros]
    executable = folder / "program"
    command = [CC, *FLAGS, *sizes, *(f"-D{define}" for define in defines), source_of(family, name), "-o", executable]
    subprocess.run([*command, "-lm"], check=True, timeout=60)

    def run(sizes, text=""):
        environment = {**os.environ, **{macro: str(value) for macro, value in sizes.items()}}
        result = subprocess.run([executable], check=True, timeout=60, capture_output=True, text=True, input=text,
                                env=environment)
        assert result.stderr == ""
        return [line.split() for line in result.stdout.splitlines()]

    return run


def vector_data(vector):
    """The arrays that a program reads, in order."""
    indices = np.indices(vector["shape"])
    total = sum(factor * axis for factor, axis in zip((131, 71, 37), indices, strict=False))
    extents = dict(zip(vector["extents"], vector["shape"], strict=True))
    return [(total + 17 * s) % 101 / 101 + 0.05 for s in range(vector["arrays"])] + [
        0.8 + 0.4 * ((5 * np.arange(extents[macro]) + 3 * e) % 7) / 7
        for e, macro in enumerate(vector.get("stretchings", []))
    ]


def iterate(values, shape, steps):
    """The last iterate of an array that holds several in turn."""
    planes = values.reshape(-1, *shape)
    return planes[{1: 0, 2: steps % 2, 3: (steps + 1) % 3}[len(planes)]]


@pytest.mark.quick
@needs_cc
@pytest.mark.parametrize("data_type", ["double", "float"])
@each_program
def test_program_computes_its_vector(family, name, data_type, tmp_path):
    computes_its_vector(family, name, data_type, tmp_path)


@needs_cc
@pytest.mark.parametrize("name", ["rhs4th3fort", "derivative"])
def test_several_nests_compute_the_same(name, tmp_path):
    computes_its_vector("reorder", name, "double", tmp_path, "SEPARATE")


def computes_its_vector(family, name, data_type, folder, *form):
    vector = VECTORS[name]
    shape, steps, margin = vector["shape"], vector.get("steps", 1), vector["margin"]
    run = compile_program(family, name, folder, f"DATA_TYPE={data_type}", "POLYBENCH_READ_ARRAYS",
                          "POLYBENCH_DUMP_ARRAYS", *form)
    text = "\n".join(repr(value) for array in vector_data(vector) for value in array.ravel().tolist())
    lines = run({**dict(zip(vector["extents"], shape, strict=True)), "TSTEPS": steps}, text)
    dumps = {kind: {line[1]: iterate(np.array(line[2:], dtype=float), shape, steps) for line in lines
                    if line[0] == kind and len(line) > np.prod(shape)} for kind in ("input", "output")}

    assert list(dumps["output"]) == TABLES[family][name]["live_out"] == list(vector["results"])
    tolerance = 1e-12 if data_type == "double" else 1e-5
    inside = tuple(slice(margin, extent - margin) for extent in shape)
    for array, (total, value) in vector["results"].items():
        result = dumps["output"][array]
        assert abs(result[tuple(vector["point"])] - value) <= tolerance * abs(result).max()
        assert abs(result[inside].sum() - total) <= tolerance * abs(result[inside]).sum()

        kept = np.ones(shape, dtype=bool)
        kept[tuple(slice(max(margin, 1), extent - max(margin, 1)) for extent in shape)] = False
        np.testing.assert_array_equal(result[kept], dumps["input"][array][kept])


@needs_cc
@each_tabled
def test_program_runs_at_tiny_sizes(family, name, tmp_path):
    run = compile_program(family, name, tmp_path, "DATA_TYPE=float")
    macros = [parameter["macro"] for parameter in TABLES[family][name]["parameters"].values()]
    for size in (0, 1, 2, 9):
        lines = run(dict.fromkeys(macros, size))
        assert [line[0] for line in lines] == TABLES[family][name]["live_out"]
        for line in lines:
            assert np.isfinite(float(line[1]))
            assert (float(line[1]) == 0) == (size == 0)


# ---- The tables ------------------------------------------------------------------------------------


def operations(tree):
    """Operations on elements of a statement or an expression, without negations and without those of constants."""
    match tree:
        case Assign(op=op, value=value):
            return (op != "") + operations(value)
        case Declare(value=value):
            return operations(value) if value is not None else 0
        case Binary(left=Literal(), right=Literal()) | Literal() | Access():
            return 0
        case Binary(left=left, right=right):
            return 1 + operations(left) + operations(right)
        case Call(arguments=arguments):
            return 1 + sum(map(operations, arguments))
        case Unary(operand=operand):
            return operations(operand)
        case Ternary(condition=condition, then=then, otherwise=otherwise):
            return operations(condition) + operations(then) + operations(otherwise)
    raise AssertionError(tree)


def count(domain):
    return domain.count_val().to_python()


def fixed(item, sizes):
    """A set or map with numbers for its parameters."""
    for variable, value in sizes.items():
        position = item.find_dim_by_name(isl.dim_type.param, variable)
        if position >= 0:
            item = item.fix_val(isl.dim_type.param, position, isl.Val(value, item.get_ctx()))
    return item.project_out(isl.dim_type.param, 0, item.dim(isl.dim_type.param))


def footprints(scop, sizes):
    """Number of distinct elements that the SCoP touches, by array."""
    touched = {}
    for statement in scop.statements:
        domain = fixed(statement.domain, sizes)
        for access in statement.accesses:
            elements = fixed(access.relation, sizes).intersect_domain(domain).range()
            touched[access.array] = touched[access.array].union(elements) if access.array in touched else elements
    extents = {array.name: array.extents for array in scop.arrays}
    return Counter({name: count(elements.coalesce()) for name, elements in touched.items() if extents[name]})


def evaluate(formula, values):
    return eval(formula, {"__builtins__": {}}, {**values, "sizeof": 1})


@needs_cc
@each_tabled
def test_formulas_count_what_the_statements_do(family, name):
    program = TABLES[family][name]
    sizes = {v: {"tsteps": 5, "n": 13, "nx": 11, "ny": 12, "nz": 14}[v] for v in program["parameters"]}
    (scop,) = read_program(str(source_of(family, name))).scops
    flops = sum(count(fixed(statement.domain, sizes)) * sum(map(operations, statement.body))
                for statement in scop.statements)
    assert evaluate(program["flops"], sizes) == flops
    assert evaluate(program["bytes"], sizes) == footprints(scop, sizes).total()


@each_tabled
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
    assert set(VECTORS) == {name for _, name in PROGRAMS}
