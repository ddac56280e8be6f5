"""Elements at 32-bit offsets: which index an offset is, which version the host launches, and what kernels compute."""

from __future__ import annotations

import random
from math import prod
from pathlib import Path
from typing import Any

import pytest

import polytile
from polytile.api import CompiledScop
from polytile.codegen.passes import offset_addressing
from polytile.codegen.passes.offset_addressing import MOST_CONSTANT, MOST_ELEMENTS, needs_offsets, with_offsets
from polytile.ir.evaluate import evaluate
from polytile.ir.expr import LLONG, UINT, Access, Declare, Expr, Name
from polytile.ir.expr_trees import rewrite, walk
from polytile.ir.gpu_ops import Offset
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Kernel
from polytile.ir.polynomial import index_of
from polytile.runtime.host_interpreter import execute
from tests.reading import shared

ROOT = Path(__file__).parents[3]
SUMS = " + ".join(f"{k + 1}.5 * A[i + {k % 4}][j + {k // 4 % 3}][k + {k // 12}]" for k in range(36))
BOX = f"""void f(int n, int m, int l, double A[n][m][l], double B[n][m][l], double w[l]) {{
#pragma scop
for (int i = 0; i < n - 4; i++) for (int j = 0; j < m - 4; j++) for (int k = 0; k < l - 4; k++)
    B[i + 1][j][k + 2] = w[k] * ({SUMS});
#pragma endscop
}}
"""
PROGRAMS = ("reorder/3d27pt", "polybench/heat-3d", "polybench/fdtd-2d", "reorder/hypterm")


@shared
def compiled(text: str, **settings: Any) -> CompiledScop:
    (scop,) = polytile.compile(text, name="test.c", strict=True, schedule="classic", **settings).scops
    return scop


def program_of(scop: CompiledScop) -> HostProgram:
    assert scop.program is not None
    return scop.program


def offsets(kernel: Kernel) -> list[Access]:
    accesses = (n for n in kernel.nodes if isinstance(n, Access))
    return [a for a in accesses if any(isinstance(n, Offset) for n in walk(a))]


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offset_addressing, "needs_offsets", lambda _: True)


def wrapped(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


def evaluated(expr: Expr, names: dict[str, int]) -> int:
    """The value of a subscript, its offsets modulo 2^32 and signed."""

    def change(node: Any) -> Any:
        if not isinstance(node, Offset):
            return node
        value = wrapped(evaluate(node.base, names) + evaluate(node.by, names))
        names[f"value{len(names)}"] = value
        return Name(f"value{len(names) - 1}", node.type)

    changed: Expr = rewrite(expr, change)
    return evaluate(changed, names)


def test_offsets_are_the_indices_of_arrays_up_to_the_limit() -> None:
    """Modulo 2^32, up to the last element of arrays that just pass the test."""
    plain = program_of(compiled(BOX, points=(1, 1, 1))).kernels[0]
    narrow = with_offsets(plain)
    before = [n for n in plain.nodes if isinstance(n, Access) and n.array in ("A", "B")]
    after = [n for n in narrow.nodes if isinstance(n, Access) and n.array in ("A", "B")]
    assert len(before) == len(after) == 37
    (base,) = [n for n in narrow.nodes if isinstance(n, Declare) and n.type == UINT]
    declared = [n for n in narrow.nodes if isinstance(n, Declare) and n.value is not None]
    rows = [n for n in declared if any(isinstance(part, Offset) for part in walk(n))]
    used = {n.name for a in after for n in walk(*a.subscripts) if isinstance(n, Name)}
    assert base.value is not None and {row.name for row in rows} >= used - {base.name}
    draw = random.Random(28)
    for _ in range(50):
        m, l = draw.randint(5, 3000), draw.randint(5, 3000)  # noqa: E741
        n = MOST_ELEMENTS // (m * l)
        ends = draw.random() < 0.5
        place = [size - 5 if ends else draw.randint(0, size - 5) for size in (n, m, l)]
        names = {"n": n, "m": m, "l": l, **dict(zip("ijk", place, strict=True))}
        names[base.name] = evaluate(base.value, names) % 2**32
        for row in rows:
            assert row.value is not None
            names[row.name] = evaluated(row.value, dict(names))
        for old, new in zip(before, after, strict=True):
            index = [evaluate(s, names) for s in plain.subscripts(old)]
            linear = (index[0] * m + index[1]) * l + index[2]
            assert 0 <= linear < n * m * l
            assert evaluated(new.subscripts[0], dict(names)) == linear


ARRAYS = "ABCDEF"
MANY = f"""void f(int n, int m, {", ".join(f"double {a}[n][m]" for a in ARRAYS)}, double R[n][m]) {{
#pragma scop
for (int i = 0; i < n - 4; i++) for (int j = 0; j < m - 4; j++)
    R[i][j] = {" + ".join(f"{k + 2}.5 * {a}[i + {r}][j + {k % 3}]" for k, a in enumerate(ARRAYS) for r in range(4))};
#pragma endscop
}}
"""


def test_accesses_of_many_arrays_have_offsets_of_their_own() -> None:
    """Constants are added in 64 bits, so that an access has them beside its address."""
    narrow = with_offsets(program_of(compiled(MANY, points=(1, 1))).kernels[0], bounded=True)
    found = [a for a in offsets(narrow) if a.array != "R"]
    assert {a.array for a in found} == set(ARRAYS) and len(found) == 4 * len(ARRAYS)
    assert not any(isinstance(n, Declare) and isinstance(n.value, Offset) for n in narrow.nodes)
    sums = [a.subscripts[0] for a in found if not isinstance(a.subscripts[0], Offset)]
    assert sums and all(s.type == LLONG for s in sums)


@pytest.mark.slow
@pytest.mark.usefixtures("emulator", "always")
def test_offsets_of_many_arrays_compute_what_c_does() -> None:
    scop = compiled(MANY, points=(1, 1), registers=64)
    assert offsets(program_of(scop).kernels[0])
    checks = ("address", "undefined")
    for result in scop.validate(on="emulator", parameters={"n": 21, "m": 37}, seed=1, sanitize=checks):
        assert "bitwise equal" in result.line


def test_indices_keep_their_polynomials() -> None:
    """Base, row and constant add up to the index that was there."""
    plain = program_of(compiled(BOX, points=(1, 1, 1))).kernels[0]
    places = offset_addressing._Places(plain)
    for access in (n for n in plain.nodes if isinstance(n, Access) and n.array == "A"):
        place = places.of(access)
        assert place is not None and abs(place.constant) <= MOST_CONSTANT
        index = index_of(plain.subscripts(access), plain.storage_of("A").extents)
        assert {**place.base, **place.row, **({(): place.constant} if place.constant else {})} == index
        assert not place.base.keys() & place.row.keys()


def launches(program: HostProgram, n: int, m: int, l: int) -> list[str]:  # noqa: E741
    launched: list[str] = []
    execute(program.body, {"n": n, "m": m, "l": l}, lambda name, *_: launched.append(name))
    return launched


def test_the_host_launches_what_fits(always: None) -> None:
    program = program_of(compiled(BOX))
    assert [k.name for k in program.kernels] == ["f_scop0_k0", "f_scop0_k0_wide"]
    narrow, wide = program.kernels
    assert offsets(narrow) and not offsets(wide)
    for sizes in ((1000, 1000, 1000), (3000, 1000, 1000), (2**30, 2**30, 2**30), (46000, 46000, 1)):
        runs = min(sizes) > 4
        small = prod(sizes) <= MOST_ELEMENTS
        assert launches(program, *sizes) == ([("f_scop0_k0" if small else "f_scop0_k0_wide")] if runs else []), sizes


def test_the_limit_is_exact(always: None) -> None:
    """B has elements in planes 1 to n - 4 alone, A in planes 0 to n - 2."""
    program = program_of(compiled(BOX))
    last = MOST_ELEMENTS // 25 + 1
    for n, name in ((last, "f_scop0_k0"), (last + 1, "f_scop0_k0_wide")):
        launched: list[str] = []
        execute(program.body, {"n": n, "m": 5, "l": 5}, lambda kernel, *_: launched.append(kernel))  # noqa: B023
        assert launched == [name]


def test_known_sizes_need_no_test(always: None) -> None:
    text = BOX.replace("A[n][m][l]", "A[60][50][7]").replace("B[n][m][l]", "B[n][100][200]")
    (kernel,) = program_of(compiled(text)).kernels
    assert not offsets(kernel)  # rows at constant distances share a pointer


def test_small_bodies_are_as_they_were() -> None:
    for settings in ({}, {"order": "source"}, {"registers": 255}):
        (kernel,) = program_of(compiled(BOX, points=(1, 1, 1), **settings)).kernels
        assert not offsets(kernel) and not needs_offsets(kernel)


@pytest.mark.slow
@pytest.mark.parametrize("registers", [16, 24])
def test_few_registers_ask_for_them(registers: int) -> None:
    narrow, wide = program_of(compiled(BOX, registers=registers)).kernels
    assert {a.array for a in offsets(narrow)} == {"A", "B"}  # w has one row
    assert narrow.max_registers == wide.max_registers == registers


def test_bounds_that_are_asked_for_give_many_arrays_offsets() -> None:
    """Below them ptxas loads of all arrays early; without one, or of few arrays, values and addresses fit."""
    more = " + ".join(f"A[i + {k % 4}][j + {k % 5}]" for k in range(12))
    text = MANY.replace("R[i][j] =", f"R[i][j] = {more} +")
    narrow, wide = program_of(compiled(text, points=(1, 1), registers=128)).kernels
    assert any(isinstance(n, Declare) and isinstance(n.value, Offset) for n in narrow.nodes)  # rows keep theirs
    assert not needs_offsets(wide)
    (free,) = program_of(compiled(text, points=(1, 1))).kernels
    assert not any(isinstance(n, Offset) for n in (*wide.nodes, *free.nodes))
    few = compiled(BOX, points=(1, 1, 1), registers=128)
    assert not any(map(offsets, program_of(few).kernels))


def test_arrays_that_loops_use_too_keep_their_pointers(always: None) -> None:
    text = BOX.replace("w[k] *", "w[k] * (n > 3 ? A[i][j][k] : 1.0) *")
    kernel = program_of(compiled(text)).kernels[0]
    assert {a.array for a in offsets(kernel)} <= {"B"}


@pytest.mark.slow
@pytest.mark.parametrize("order", ["source", "tree", "sweep"])
def test_both_versions_compute_the_same(always: None, monkeypatch: pytest.MonkeyPatch, order: str) -> None:
    sizes = {"n": 11, "m": 9, "l": 45}
    scop = compiled(BOX, order=order)
    scop.validate(on="emulator", parameters=sizes, seed=1, sanitize=("address", "undefined", "race"))
    monkeypatch.setattr(offset_addressing, "MOST_ELEMENTS", 1000)
    other = compiled(BOX, order=order)
    launched: list[str] = []
    execute(program_of(other).body, sizes, lambda name, *_: launched.append(name))
    assert launched == ["f_scop0_k0_wide"]
    other.validate(on="emulator", parameters=sizes, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_compute_the_same(always: None, name: str) -> None:
    """Bit for bit what C computes."""
    path = ROOT / "polybench" / f"{name}.c"
    for scop in polytile.compile(path, strict=True, schedule="classic", verify_passes=True).scops:
        assert any(offsets(kernel) for kernel in program_of(scop).kernels)
        results = scop.validate(on="emulator", seed=1, sanitize=("address", "undefined"))
        assert results and all("bitwise equal" in result.line for result in results)
