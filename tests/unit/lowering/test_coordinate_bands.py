"""Which bands of coordinates isl makes its loops without, and that loops keep the names of their depth."""

from __future__ import annotations

from typing import Any

import islpy as isl
import pytest

import polytile
from polytile.codegen.lowering import ast_generation
from polytile.codegen.lowering.coordinate_bands import can_be_left_out, is_around_all_threads
from polytile.ir.expr import For
from polytile.ir.expr_trees import walk
from polytile.ir.schedule import nodes

TREE = """{ domain: "[n] -> { S[i] : 0 <= i < n; T[i] : 0 <= i < n }", child: { mark: "kernel", child: { mark: "block",
    child: { schedule: "[n] -> [{ S[i] -> [floor(i/64)]; T[i] -> [floor(i/64)] }]", child: %s } } } }"""
SEQUENCE = """{ sequence: [ { filter: "{ S[i] }", child: { mark: "thread[8]",
    child: { schedule: "[{ S[i] -> [i mod 8] }]", child: { schedule: "[{ S[i] -> [floor(i/8)] }]" } } } },
    { filter: "{ T[i] }", child: { mark: "thread[8]", child: { schedule: "[{ T[i] -> [i mod 8] }]" } } } ] }"""
LOOP = """{ schedule: "[{ S[i] -> [floor(i/8)]; T[i] -> [floor(i/8)] }]", child: %s }"""


BAND = isl.schedule_node_type.band
TEXT = """void f(int n, double A[n], double B[n][n])
{
#pragma scop
for (int i = 0; i < n; i++)
    for (int j = 2; j < n; j++)
        B[i][n - j] = B[i][n - j + 1] + A[i];
#pragma endscop
}
"""


def block(below: str) -> isl.ScheduleNode:
    """The block's mark."""
    return isl.Schedule(TREE % below).get_root().child(0).child(0)


@pytest.mark.parametrize(
    ("below", "expected"),
    [
        (SEQUENCE, True),
        (f'{{ mark: "sync", child: {SEQUENCE} }}', False),
        (LOOP % f'{{ mark: "sync", child: {SEQUENCE} }}', True),
        (f'{{ mark: "sync", child: {LOOP % SEQUENCE} }}', True),
        ('{ schedule: "[{ S[i] -> [i]; T[i] -> [i] }]", options: "{ isolate[[b] -> [j]] : j < 8 }" }', False),
    ],
)
def test_where_threads_meet_in_no_loop_the_band_of_blocks_stays(below: str, expected: bool) -> None:
    assert can_be_left_out(block(below).child(0)) is expected


def test_threads_of_one_value_each() -> None:
    threads = '{ mark: "thread[8]", child: { schedule: "[{ S[i] -> [%s]; T[i] -> [i mod 8] }]" } }'
    assert is_around_all_threads(block(threads % "i mod 8"), (8,))
    assert not is_around_all_threads(block(threads % "i mod 9"), (8,))
    assert not is_around_all_threads(block(SEQUENCE), (8,))


def test_isl_sees_no_bands_of_coordinates(monkeypatch: pytest.MonkeyPatch) -> None:
    """The only loop left is that over j, the third one around the statement."""
    asked: list[tuple[isl.Schedule, set[str]]] = []
    generate = ast_generation.generate

    def seen(tree: isl.Schedule, context: isl.Set, iterator: str, *others: Any) -> Any:
        body = generate(tree, context, iterator, *others)
        asked.append((tree, {n.iterator.removeprefix(iterator) for n in walk(*body) if isinstance(n, For)}))
        return body

    monkeypatch.setattr(ast_generation, "generate", seen)
    polytile.compile(TEXT, name="test.c", schedule="classic")
    _, (tree, loops) = asked  # the host's is the first
    assert [node.band_n_member() for node in nodes(tree) if node.get_type() == BAND] == [1]
    assert loops == {"2"}
