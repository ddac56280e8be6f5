"""The generator: the same choices give the same program, and every program is C with defined behaviour."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from polytile.choices import OVER_TIME, SCHEDULES
from polytile.fuzz.case import case_of, jumps
from polytile.fuzz.driver import driver_text
from polytile.fuzz.evaluate import holds
from polytile.fuzz.printing import c_text
from polytile.fuzz.tree import DeclareArray, If, Loop, Remainder, Row, Sweep, Update
from polytile.fuzz.walking import walk
from polytile.fuzz.wellformed import well_formed

PROGRAMS = 40
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas")
# Odd but defined code is wanted: variables that nothing uses, comparisons that always hold.
HARMLESS = (
    *("-Wno-unused-variable", "-Wno-unused-but-set-variable", "-Wno-unused-parameter", "-Wno-unused-function"),
    *("-Wno-parentheses", "-Wno-sign-compare", "-Wno-type-limits", "-Wno-tautological-compare"),
    *("-Wno-absolute-value", "-Wno-overflow", "-Wno-bool-operation", "-Wno-implicit-fallthrough"),
    # gcc 12 takes the bytes behind the last field of `A[n]` for missing.
    "-Wno-stringop-overflow",
)
CHECKS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def sanitizers_work(folder: Path) -> bool:
    source = folder / "empty.c"
    source.write_text("int main(void) { return 0; }\n")
    command = ["gcc", *CHECKS, str(source), "-o", str(folder / "empty")]
    return shutil.which("gcc") is not None and subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_a_seed_and_a_number_determine_everything() -> None:
    for index in range(20):
        assert case_of(3, index) == case_of(3, index)
        assert c_text(case_of(3, index).program) == c_text(case_of(3, index).program)
    assert len({c_text(case_of(3, index).program) for index in range(20)}) == 20
    assert c_text(case_of(3, 0).program) != c_text(case_of(4, 0).program)


@pytest.mark.slow(but="15")
@pytest.mark.parametrize("index", range(PROGRAMS))
def test_programs_are_free_of_undefined_behaviour(index: int, tmp_path: Path) -> None:
    if not sanitizers_work(tmp_path):
        pytest.skip("needs gcc with AddressSanitizer and UBSan")
    case = case_of(5, index, family="pieces" if index % 2 else "")
    source, executable = tmp_path / "program.c", tmp_path / "program"
    source.write_text(driver_text(case.program, case.sizes))
    command = ["gcc", "-std=gnu99", "-O1", *WARNINGS, *HARMLESS, *CHECKS, str(source), "-o", str(executable), "-lm"]
    built = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert built.returncode == 0, built.stderr
    ran = subprocess.run([str(executable)], capture_output=True, text=True, check=False, timeout=100)
    assert ran.returncode == 0, ran.stderr


def test_sizes_keep_the_assumptions_and_include_small_ones() -> None:
    seen: Counter[int] = Counter()
    for index in range(100):
        case = case_of(1, index)
        assert case.sizes
        for sizes in case.sizes:
            seen[sizes["n"]] += 1
            assert all(holds(a, sizes) for a in case.program.assumptions)
            assert sizes["n"] >= 0 and sizes["m"] >= 0
            assert all(sizes[name] == value for name, value in case.program.fixed)
    assert min(seen[n] for n in (0, 1, 2)) >= 20


@pytest.mark.slow
def test_everything_that_is_promised_turns_up() -> None:
    cases = [case_of(1, index) for index in range(400)]
    nodes: Counter[object] = Counter()
    for case in cases:
        assert well_formed(case.program)
        nodes.update(type(n) for n in walk(case.program))
        nodes.update(n.form for n in walk(case.program) if isinstance(n, Loop))
        nodes.update(f"{n.op} {n.spelling}" for n in walk(case.program) if isinstance(n, Update))
        nodes.update(a.type for a in case.program.arrays)
        nodes.update(a.form for a in case.program.arrays)
    for wanted in (DeclareArray, If, Remainder, Row, Sweep, "<", "<=", ">=", ">", "!=", "flipped"):
        assert nodes[wanted] >= 5, wanted
    for wanted in ("struct cell", "float", "flat", "pointer", "restrict", "static", "own", "dead", "parameter"):
        assert nodes[wanted] >= 10, wanted
    for wanted in ("+ compound", "+ left", "+ right", "* compound", "< if", "> ?", "< call", "> macro", "^ compound"):
        assert nodes[wanted] >= 2, wanted
    assert {len(f.parts) for c in cases for f in c.program.functions} == {1, 2}
    assert {s for c in cases for s in c.strategies} == set(SCHEDULES)
    assert {c.choices.strict for c in cases} == {True, False}
    assert any(c.choices.sizes for c in cases) and any(c.choices.parameters for c in cases)


def test_programs_whose_values_jump_are_compared_bit_by_bit() -> None:
    for index in range(100):
        case = case_of(1, index)
        assert case.choices.strict or not jumps(case.program)


def test_some_are_time_loops_in_tiles_of_several_steps() -> None:
    found = [case for index in range(60) if (case := case_of(6, index)).choices.time_tile]
    assert {s for case in found for s in case.strategies} == set(OVER_TIME) and all(case.sizes for case in found)
    assert all("for (int t = " in c_text(case.program) for case in found)
    assert f"--time-tile {found[0].choices.time_tile}" in found[0].command("f.c")


@pytest.mark.slow
def test_iterators_have_other_widths_and_signs_and_large_values() -> None:
    loops = [n for index in range(600) for n in walk(case_of(1, index).program.functions) if isinstance(n, Loop)]
    assert {"unsigned", "size_t", "unsigned char", "unsigned short", "short", "long"} <= {loop.type for loop in loops}
    assert any(loop.start for loop in loops)
