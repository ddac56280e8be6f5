"""Placements of values that threads forward, that may be written, or that change: proven where each read finds what it
should, and refused where one does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import islpy as isl
import pytest

from polytile.ir.memory import Space
from polytile.ir.plan import WHOLE_KERNEL, Copy, KernelPlan, Owner, Placement
from polytile.ir.scop import AccessKind, AccessRelation, Scop
from polytile.scheduling.proof.legality import BLOCKS, THREADS
from polytile.scheduling.proof.placements import wrong_placements

LOST, OTHER = "a value does not arrive", "another value arrives"
UNSET = "what is read was never written there"


def nested(domain: str, *levels: str) -> isl.Schedule:
    """Nested nodes, one inside the other: bands in brackets, else marks."""
    text = f'domain: "{domain}"\n'
    for depth, level in enumerate(levels):
        kind = "schedule" if level.startswith("[") else "mark"
        text += f'{"  " * depth}child:\n{"  " * depth}  {kind}: "{level}"\n'
    return isl.Schedule(text)


def whys(scop: Scop, schedule: isl.Schedule, *placements: Placement) -> set[str]:
    return {f.why for f in wrong_placements(scop, schedule, [KernelPlan(0, placements)])}


# What threads of a block forward to each other ------------------------------------------------------------------------
@pytest.fixture(scope="module")
def atax(scop: Callable[..., Scop]) -> Scop:
    body = """for (int c = 0; c < n; c++) {
        for (int i = 16 * c; i < 16 * c + 16; i++) {
            tmp[i] = 0;
            for (int j = 0; j < m; j++) tmp[i] += A[i][j] * x[j];
        }
        for (int j = 0; j < m; j++) {
            part[c][j] = 0;
            for (int i = 16 * c; i < 16 * c + 16; i++) part[c][j] += A[i][j] * tmp[i];
            y[c][j] = part[c][j];
        }
    }"""
    arguments = "int n, int m, double A[16 * n][m], double x[m], double tmp[16 * n], double y[n][m]"
    return scop(arguments, body, "double part[n][m];")


ROWS = "S0[c, i] : 0 <= c < n and 16c <= i < 16c + 16; S1[c, i, j] : 0 <= c < n and 16c <= i < 16c + 16 and 0 <= j < m"
COLUMNS = (
    "S2[c, j] : 0 <= c < n and 0 <= j < m; S3[c, j, i] : 0 <= c < n and 16c <= i < 16c + 16 and 0 <= j < m; "
    "S4[c, j] : 0 <= c < n and 0 <= j < m"
)


def chunks(barrier: bool = True) -> isl.Schedule:
    blocks = "S0[c, i] -> [c]; S1[c, i, j] -> [c]; S2[c, j] -> [c]; S3[c, j, i] -> [c]; S4[c, j] -> [c]"
    rows = "[{ S0[c, i] -> [i - 16c]; S1[c, i, j] -> [i - 16c] }]"
    columns = "[{ S2[c, j] -> [j]; S3[c, j, i] -> [j]; S4[c, j] -> [j] }]"
    at = "          " if barrier else "        "
    sync = '        mark: "sync"\n        child:\n' if barrier else ""
    text = f"""domain: "[n, m] -> {{ {ROWS}; {COLUMNS} }}"
child:
  mark: "kernel"
  child:
    mark: "block"
    child:
      schedule: "[{{ {blocks} }}]"
      child:
{sync}{at}sequence:
"""
    for names, threads, parts in (
        ("S0[c, i]; S1[c, i, j]", rows, ("S0[c, i]", "S1[c, i, j]")),
        ("S2[c, j]; S3[c, j, i]; S4[c, j]", columns, ("S2[c, j]", "S3[c, j, i]", "S4[c, j]")),
    ):
        text += f'{at}- filter: "{{ {names} }}"\n{at}  child:\n{at}    mark: "thread[32]"\n{at}    child:\n'
        text += f'{at}      schedule: "{threads}"\n{at}      child:\n{at}        sequence:\n'
        for part in parts:
            text += f'{at}        - filter: "{{ {part} }}"\n'
            last = part.rstrip("]").rsplit(" ", 1)[-1]
            if part.count(",") == 2:
                text += f'{at}          child:\n{at}            schedule: "[{{ {part} -> [{last}] }}]"\n'
    return isl.Schedule(text)


def here(elements: int = 16, **changes: Any) -> Placement:
    cell = f"{{ [[c] -> tmp[i]] -> [i mod {elements}] }}"
    found = Placement(
        "tmp_here", "tmp", (), WHOLE_KERNEL, Space.SHARED, Owner.BLOCK, cell, (elements,), through=True
    )
    return replace(found, **changes)


def partial(cell: str = "", extents: tuple[int, ...] = (), **changes: Any) -> Placement:
    text = f"{{ [[c, t] -> part[d, j]] -> [{cell}] }}"
    found = Placement("part_here", "part", (), WHOLE_KERNEL, Space.PRIVATE, Owner.THREAD, text, extents)
    return replace(found, **changes)


def test_a_vector_that_threads_forward(atax: Scop) -> None:
    assert whys(atax, chunks(), here()) == set()
    assert whys(atax, chunks(), here(32)) == set()


def test_a_partial_result_of_a_thread(atax: Scop) -> None:
    """A thread that has several columns has one after the other."""
    assert whys(atax, chunks(), partial()) == set()
    assert whys(atax, chunks(), here(), partial()) == set()


def test_a_vector_that_is_forwarded_without_a_barrier(atax: Scop) -> None:
    assert whys(atax, chunks(barrier=False), here()) == {THREADS}


def test_a_vector_with_too_few_cells(atax: Scop) -> None:
    assert whys(atax, chunks(), here(8)) >= {OTHER}


def test_a_vector_that_is_seen_afterwards_but_not_stored(atax: Scop) -> None:
    assert whys(atax, chunks(), here(through=False)) == {OTHER}


def test_a_vector_that_is_drained_in_the_end(atax: Scop) -> None:
    drain = Copy("[n] -> { [c] -> tmp[i] : 16c <= i < 16c + 16 }", WHOLE_KERNEL)
    assert whys(atax, chunks(), here(through=False, drain=drain)) == set()
    twice = Copy("[n] -> { [c] -> tmp[i] : 16c <= i < 16c + 32 }", WHOLE_KERNEL)
    assert whys(atax, chunks(), here(32, through=False, drain=twice)) >= {UNSET, BLOCKS}


def test_a_partial_result_that_threads_share(atax: Scop) -> None:
    shared = replace(partial(), memory=Space.SHARED, owner=Owner.BLOCK, cell="{ [[c] -> part[d, j]] -> [] }")
    assert THREADS in whys(atax, chunks(), shared)


# Conditional writes ---------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def conditional(scop: Callable[..., Scop]) -> Scop:
    body = "for (int i = 0; i < n; i++) for (int k = 0; k < m; k++) if (A[i][k] > 0) s[i] = A[i][k];"
    return scop("int n, int m, double A[n][m], double s[n]", body)


def rows(scop: Scop) -> isl.Schedule:
    names = sorted(s.name for s in scop.statements)
    (name,) = names
    domain = f"[n, m] -> {{ {name}[i, k] : 0 <= i < n and 0 <= k < m }}"
    return nested(domain, "kernel", "thread[32]", f"[{{ {name}[i, k] -> [i] }}]", f"[{{ {name}[i, k] -> [k] }}]")


@pytest.mark.parametrize(("filled", "why"), [(True, set()), (False, {UNSET, LOST})])
def test_a_cell_that_may_be_written(conditional: Scop, filled: bool, why: set[str]) -> None:
    """Where nothing is written, the element keeps the value that it had."""
    cell = "{ [[t] -> s[i]] -> [floor(i/32)] }"
    copy = Copy("[n] -> { [t] -> s[i] : i mod 32 = t and 0 <= i < n and i < 128 }", WHOLE_KERNEL)
    few = replace(conditional, context=conditional.context.intersect(isl.Set("[n] -> { : n <= 128 }")))
    found = Placement("s_here", "s", (), WHOLE_KERNEL, Space.PRIVATE, Owner.THREAD, cell, (4,), drain=copy)
    found = replace(found, fill=copy) if filled else found
    assert whys(few, rows(few), found) == why


# Values that change, and statements that write several elements -------------------------------------------------------
@pytest.fixture(scope="module")
def steps(scop: Callable[..., Scop]) -> Scop:
    body = """for (int t = 0; t < m; t++) {
        for (int i = 0; i < 64; i++) B[t][i] = A[i];
        for (int i = 0; i < 64; i++) A[i] = A[i] + 1.0;
    }"""
    return scop("int m, double A[64], double B[m][64]", body)


def in_steps() -> isl.Schedule:
    text = """domain: "[m] -> { S0[t, i] : 0 <= t < m and 0 <= i < 64; S1[t, i] : 0 <= t < m and 0 <= i < 64 }"
child:
  mark: "kernel"
  child:
    mark: "loop[t]"
    child:
      mark: "sync"
      child:
        schedule: "[{ S0[t, i] -> [t]; S1[t, i] -> [t] }]"
        child:
          mark: "thread[64]"
          child:
            schedule: "[{ S0[t, i] -> [i]; S1[t, i] -> [i] }]"
            child:
              sequence:
              - filter: "{ S0[t, i] }"
              - filter: "{ S1[t, i] }"
"""
    return isl.Schedule(text)


@pytest.mark.parametrize(
    ("ahead", "mode", "why"),
    [
        (0, "plain", set()),
        (0, "async", set()),
        (1, "plain", {OTHER, THREADS}),
        (1, "async", {THREADS, "the element changes while it is copied"}),
    ],
)
def test_a_fill_that_is_early_for_values_that_change(steps: Scop, ahead: int, mode: str, why: set[str]) -> None:
    """Between an asynchronous copy's start and its landing, S1 writes the element that it reads."""
    cell = "{ [[t] -> A[i]] -> [t mod 2, i] }"
    fill = Copy("{ [t] -> A[i] : 0 <= i < 64 }", "t", ahead, mode)
    found = Placement("A_tile", "A", (("S0", 0),), "t", Space.SHARED, Owner.BLOCK, cell, (2, 64), fill=fill)
    assert whys(steps, in_steps(), found) == why


def test_elements_of_one_writer_that_trade_places(scop: Callable[..., Scop]) -> None:
    """S0 writes pairs; the cells of a pair change places before S1 reads them, and S0 has written both."""
    body = "for (int i = 0; i < 8; i++) A[2 * i] = x[i]; for (int e = 0; e < 16; e++) B[e] = A[e];"
    one = scop("double x[8], double B[16]", body, "double A[16];")
    second = AccessRelation("A", AccessKind.WRITE, isl.Map("{ S0[i] -> A[2i + 1] }"))
    pairs = replace(one.statements[0], accesses=(*one.statements[0].accesses, second))
    both = replace(one, statements=(pairs, *one.statements[1:]))
    domain = "{ S0[i] : 0 <= i < 8; S1[e] : 0 <= e < 16 }"
    bands = "[{ S0[i] -> [0]; S1[e] -> [1] }]", "[{ S0[i] -> [i]; S1[e] -> [e] }]"
    schedule = nested(domain, "kernel", "loop[p]", *bands)

    def placed(cell: str) -> Placement:
        return Placement("A_here", "A", (), "p", Space.PRIVATE, Owner.THREAD, f"{{ [[p] -> A[e]] -> [{cell}] }}", (16,))

    assert whys(both, schedule, placed("e")) == set()
    swapped = replace(placed("e"), cell="{ [[0] -> A[e]] -> [e]; [[1] -> A[e]] -> [e + 1 - 2*(e mod 2)] }")
    assert whys(both, schedule, swapped) == {"another element is in the cell"}
