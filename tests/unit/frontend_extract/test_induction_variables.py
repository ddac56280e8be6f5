"""How often trees are walked to find the variables that count."""

from __future__ import annotations

import pytest
from pycparser import c_parser

from polytile.frontend import induction_variables as module
from polytile.frontend.scope import Scope

SETS = "".join(f"int v{k} = i + {k}; a[v{k}] = a[v{k} + 1];" for k in range(40))
NEST = "void f(void) {{ for (int t = 0; t < n; t++) for (int i = 0; i < n; i++) {{ {} }} }}"


def found(sets: str) -> list[str]:
    function = c_parser.CParser().parse(NEST.format(sets)).ext[0]
    names = module.induction_variables(function.body.block_items, Scope(), lambda name: False)
    return [name for name in names if name not in ("t", "i")]


def test_trees_are_walked_as_often_for_many_variables_as_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    walked, walk = [], module.nodes_below

    def counted(node: object) -> object:
        walked.append(1)
        return walk(node)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "nodes_below", counted)
    assert found("v = v + 1; a[v] = 0;") == ["v"]
    once = len(walked)
    walked.clear()
    assert found("v = v + 1; a[v] = 0;" + SETS) == ["v"]
    assert len(walked) == once


def test_what_an_iteration_leaves_to_the_next_counts() -> None:
    assert found("a[i] = b[last]; last = i;") == ["last"]
    assert found("last = n; a[i] = b[last];") == []
    assert found("end = i + 16; if (end > n) end = n; a[end] = 0;") == ["end"]
