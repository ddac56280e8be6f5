"""Schedules of the suite: their structure, saving and loading, and edits by hand."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import islpy as isl
import pytest

import polytile
from tests.benchmarks import compiled
from tests.reading import shared

SUITE = Path(__file__).parents[3] / "polybench" / "polybench"
PROGRAMS = sorted(p.stem for p in SUITE.glob("*.c"))


@shared
def compiled_suite(program: str, **settings: Any) -> polytile.Program:
    return polytile.compile(SUITE / f"{program}.c", **settings) if settings else compiled(program)


@pytest.mark.slow(but="gramschmidt")
@pytest.mark.parametrize("program", PROGRAMS)
def test_structure(program: str, shape: Callable[[isl.Schedule], str], golden: Callable[[str, str], None]) -> None:
    made = [s.compilation.schedule for s in compiled_suite(program, schedule="classic").scops]
    golden(f"schedules/{program}.txt", "".join(f"{shape(m.tree)}\n" for m in made if m))


# Programs whose schedules are those of others here: products, rows and columns of sums, triangles.
ALIKE = ("3mm", "bicg", "cholesky", "correlation", "gemver", "gesummv", "mvt", "syr2k", "syrk")


@pytest.mark.slow(but="jacobi-2d")
@pytest.mark.parametrize("program", [p for p in PROGRAMS if p not in ALIKE])
def test_a_saved_schedule_gives_the_same_kernels(program: str) -> None:
    first = compiled_suite(program)
    again = compiled_suite(program, load_schedule=first.schedules)
    for before, after in zip(first.programs, again.programs, strict=True):
        assert after.body == before.body
        assert [(k.name, k.block, k.body) for k in after.kernels] == [(k.name, k.block, k.body) for k in before.kernels]


SPLIT = ("atax", "bicg", "gesummv", "mvt", "gramschmidt")


@pytest.mark.slow
@pytest.mark.parametrize("program", SPLIT)
def test_a_saved_schedule_says_how_reductions_are_split(program: str) -> None:
    first = compiled_suite(program, schedule="superposed")
    assert "# partial results of " in first.schedules
    again = compiled_suite(program, load_schedule=first.schedules)
    for before, after in zip(first.programs, again.programs, strict=True):
        assert [(k.name, k.block, k.body) for k in after.kernels] == [(k.name, k.block, k.body) for k in before.kernels]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("# partial results of S9: lanes of j by 32", "there is no statement S9"),
        ("# partial results of S0: lanes of k by 32", "S0 has no lanes of k by 32"),
        ("# partial results of S0: lanes of j by 0", "S0 has no lanes of j by 0"),
        ("# partial results of S0: lanes of j", "cannot read '# partial results of S0: lanes of j'"),
        ("# partial results of S0: lanes of i by 32", "S0 has no such partial results"),
    ],
)
def test_partial_results_that_cannot_be(line: str, message: str) -> None:
    text = compiled_suite("mvt", schedule="superposed").schedules
    split = next(text_line for text_line in text.splitlines() if text_line.startswith("# partial results of S0"))
    with pytest.raises(polytile.UserError, match=re.escape(message)):
        compiled_suite("mvt", load_schedule=text.replace(split, line))


EDITS = {
    "tile sizes": [("/8)", "/4)"), ("mod 8)", "mod 4)"), ("thread[8,32]", "thread[4,32]")],
    "block sizes": [("thread[8,32]", "thread[2,16]")],
    "larger tiles than blocks": [("/32)", "/64)"), ("mod 32)", "mod 64)")],
    "strips against the grain": [
        ("(i)/8", "(j)/8"),
        ("(j)/32", "(i)/32"),
        ("(i) mod 8", "(j) mod 8"),
        ("(j) mod 32", "(i) mod 32"),
    ],
}


@pytest.mark.slow
@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("edit", EDITS)
def test_edits_that_keep_the_program(edit: str) -> None:
    schedule = compiled_suite("jacobi-2d", schedule="classic", points=(1, 1, 1)).schedules
    for old, new in EDITS[edit]:
        assert old in schedule
        schedule = schedule.replace(old, new)
    (scop,) = compiled_suite("jacobi-2d", load_schedule=schedule, strict=True).scops
    for size in (0, 3, 5, 37):
        scop.validate(on="emulator", parameters={"n": size, "tsteps": 3}, seed=size)


@pytest.mark.slow
@pytest.mark.usefixtures("emulator")
def test_an_unmapped_tree_is_mapped(shape: Callable[[isl.Schedule], str]) -> None:
    """A file without marks says how to schedule, and polytile gives it to blocks and threads."""
    box = "0 <= i < ni and 0 <= j < nj"
    domain = f"[ni, nj, nk] -> {{ S0[i, j] : {box}; S1[i, k, j] : {box} and 0 <= k < nk }}"
    program = compiled_suite("gemm")
    statements = {s.name: len(s.iterators) for s in program.scops[0].scop.statements}
    assert statements == {"S0": 2, "S1": 3}
    text = f"""domain: "{domain}"
child:
  schedule: "[{{ S0[i, j] -> [j]; S1[i, k, j] -> [j] }}, {{ S0[i, j] -> [i]; S1[i, k, j] -> [i] }}]"
  permutable: 1
  coincident: [ 1, 1 ]
  child:
    sequence:
    - filter: "{{ S0[i, j] }}"
    - filter: "{{ S1[i, k, j] }}"
      child:
        schedule: "[{{ S1[i, k, j] -> [k] }}]"
"""
    (scop,) = compiled_suite("gemm", load_schedule=text, tile=(8,), strict=True).scops
    assert scop.compilation.schedule is not None
    assert shape(scop.compilation.schedule.tree).startswith("kernel(block[")
    scop.validate(on="emulator", parameters={"ni": 9, "nj": 17, "nk": 5}, seed=1)


def test_an_unmapped_tree_with_a_false_claim_is_refused() -> None:
    text = """domain: "[n] -> { S0[k, i, j] : 0 <= k < n and 0 <= i < n and 0 <= j < n }"
child:
  schedule: "[{ S0[k, i, j] -> [k] }, { S0[k, i, j] -> [i] }, { S0[k, i, j] -> [j] }]"
  permutable: 1
  coincident: [ 1, 1, 1 ]
"""
    with pytest.raises(polytile.IllegalSchedule, match="different blocks of one launch"):
        compiled_suite("floyd-warshall", load_schedule=text)
