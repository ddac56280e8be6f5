"""Statements with the same instances at the same times are one where isl makes loops, and all of them in the loops."""

from __future__ import annotations

import islpy as isl

from polytile.codegen.lowering.ast_generation import generate
from polytile.codegen.lowering.grouped_statements import grouped_statements
from polytile.codegen.lowering.isl_ast import Instance
from polytile.ir.expr import INT, For, If

CONTEXT = isl.Set("[n] -> { : n >= 0 }")


def tree(sequence: str, u: str = "0 <= i < n", u_time: str = "i") -> isl.Schedule:
    return isl.Schedule(
        f"""{{ domain: "[n] -> {{ S[i] : 0 <= i < n; T[i] : 0 <= i < n; U[i] : {u} }}",
             child: {{ schedule: "[n] -> [{{ S[i] -> [i]; T[i] -> [i]; U[i] -> [{u_time}] }}]",
             child: {{ sequence: [ {sequence} ] }} }} }}"""
    )


def in_order(*names: str) -> str:
    return ", ".join(f'{{ filter: "{{ {name}[i] }}" }}' for name in names)


def test_neighbours_that_run_together() -> None:
    grouped = grouped_statements(tree(in_order("T", "S", "U")))
    assert grouped.groups == {"T": ("T", "S", "U")}
    assert str(grouped.tree.get_domain()) == "[n] -> { T[i] : 0 <= i < n }"


def test_other_instances_or_times_end_a_group() -> None:
    odd = grouped_statements(tree(in_order("S", "T", "U"), u="0 <= i < n and i mod 2 = 1"))
    later = grouped_statements(tree(in_order("S", "T", "U"), u_time="i + 1"))
    assert odd.groups == later.groups == {"S": ("S", "T")}
    assert grouped_statements(tree(in_order("S", "U", "T"), u_time="i + 1")).groups == {}


def test_a_statement_in_two_places_is_in_no_group() -> None:
    parts = ", ".join(f'{{ filter: "{{ T[i] : {part} }}" }}' for part in ("i mod 2 = 0", "i mod 2 = 1"))
    assert grouped_statements(tree(f"{in_order('S', 'U')}, {parts}")).groups == {"S": ("S", "U")}
    assert grouped_statements(tree(f"{parts}, {in_order('S')}, {in_order('U')}")).groups == {"S": ("S", "U")}


def test_statements_without_an_order_are_in_no_group() -> None:
    assert grouped_statements(tree(f'{{ filter: "{{ S[i]; T[i] }}" }}, {in_order("U")}')).groups == {}


def test_children_without_an_order_keep_theirs() -> None:
    grouped = grouped_statements(isl.Schedule(str(tree(in_order("T", "S", "U"))).replace("sequence", "set")))
    pair = f'{{ filter: "{{ S[i]; T[i] }}", child: {{ sequence: [ {in_order("S", "T")} ] }} }}'
    inside = isl.Schedule(str(tree(f"{pair}, {in_order('U')}")).replace("sequence", "set", 1))
    assert grouped.groups == grouped_statements(inside).groups == {}


def test_the_loops_have_all_statements() -> None:
    (loop,) = generate(tree(in_order("T", "S", "U"), u="0 <= i < n and i mod 2 = 1"), CONTEXT, "c", INT)
    assert isinstance(loop, For)
    *both, odd = loop.body
    assert [s.statement for s in both if isinstance(s, Instance)] == ["T", "S"]
    assert isinstance(odd, If)
