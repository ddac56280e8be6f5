"""What loops carry, and that the tests' own check of trees sees when they are wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from polytile.diagnostics import InternalError
from polytile.scheduling.strategies.superposed.distances import edges_of, kinds_of, labelled, loop_over
from polytile.scheduling.strategies.superposed.loop_tree import Kind, Leaf, Loop, Row, Sequence, Tree
from polytile.scheduling.strategies.superposed.two_level_trees import loop_trees

SERIAL, FORALL, REDUCTION = Kind.SEQUENTIAL, Kind.FORALL, Kind.REDUCTION
STENCIL = ("int n, double A[n][n]", "for (int i = 1; i < n; i++) for (int j = 0; j < n; j++) A[i][j] = A[i - 1][j];")
SUM = ("int n, double s[1], double x[n]", "for (int i = 0; i < n; i++) s[0] += x[i];")
CHAIN = (
    "int n, double a[n], double b[n], double c[n]",
    "for (int i = 0; i < n; i++) a[i] = c[i]; for (int i = 1; i < n; i++) b[i] = a[i - 1];",
)
SHARED_SUM = (
    "int n, int m, double s[1], double A[n][m]",
    "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) s[0] += A[i][j];",
)


def kinds(found: Any, *rows: Row, relax: bool = True) -> list[Kind] | None:
    result = kinds_of(rows, edges_of(found.scop, found.dependences, relax=relax))
    return None if result is None else list(result.values())


def test_forall_and_sequential(prepared: Callable[..., Any]) -> None:
    found = prepared(*STENCIL)
    assert kinds(found, Row("S0", 1)) == [FORALL]
    assert kinds(found, Row("S0", 1, -1)) == [FORALL]
    assert kinds(found, Row("S0", 0)) == [SERIAL]
    assert kinds(found, Row("S0", 0, -1)) is None


def test_reductions(prepared: Callable[..., Any]) -> None:
    found = prepared(*SUM)
    assert kinds(found, Row("S0", 0)) == [REDUCTION]
    assert kinds(found, Row("S0", 0, -1)) == [REDUCTION]
    assert kinds(found, Row("S0", 0), relax=False) == [SERIAL]
    assert kinds(found, Row("S0", 0, -1), relax=False) is None


def test_retiming(prepared: Callable[..., Any]) -> None:
    found = prepared(*CHAIN)
    assert kinds(found, Row("S0", 0), Row("S1", 0)) == [SERIAL, SERIAL]
    assert kinds(found, Row("S0", 0), Row("S1", 0, 1, -1)) == [FORALL, FORALL]
    assert kinds(found, Row("S0", 0), Row("S1", 0, 1, -2)) is None
    assert kinds(found, Row("S0", 0), Row("S1", 0, -1)) is None


def test_all_loops_of_one_result_are_its_reduction(prepared: Callable[..., Any]) -> None:
    """Also those within one iteration of another such loop: its instances still meet in the result."""
    found = prepared(*SHARED_SUM)
    edges = edges_of(found.scop, found.dependences, relax=True)
    inner = Loop((Row("S0", 0),), (SERIAL,), Leaf("S0"))
    tree = labelled(found.scop, Loop((Row("S0", 1),), (SERIAL,), inner), edges)
    assert isinstance(tree, Loop)
    assert isinstance(tree.body, Loop)
    assert (tree.kinds, tree.body.kinds) == ((REDUCTION,), (REDUCTION,))


def test_a_reduction_that_others_read_keeps_its_place(prepared: Callable[..., Any]) -> None:
    """Every addition comes before a statement that reads the sum, not the last one alone."""
    found = prepared(SUM[0] + ", double y[1]", SUM[1] + " y[0] = s[0];")
    (edge,) = (e for e in edges_of(found.scop, found.dependences, relax=True) if e.sink == "S1")
    assert edge.pairs.unwrap().domain().is_equal(found.scop.statement("S0").domain)


def test_illegal_trees_are_internal_errors(prepared: Callable[..., Any]) -> None:
    found = prepared(*CHAIN)
    edges = edges_of(found.scop, found.dependences, relax=True)
    first, second = (Loop((Row(name, 0),), (FORALL,), Leaf(name)) for name in ("S0", "S1"))
    assert labelled(found.scop, Sequence((first, second)), edges)
    with pytest.raises(InternalError, match="in another order"):
        labelled(found.scop, Sequence((second, first)), edges)
    backward = Loop((Row("S0", 0), Row("S1", 0, 1, -2)), (FORALL, FORALL), Sequence((Leaf("S0"), Leaf("S1"))))
    with pytest.raises(InternalError, match="runs a dependence backward"):
        labelled(found.scop, backward, edges)
    assert loop_over(found.scop, backward.rows, edges, backward.body) is None
    with pytest.raises(InternalError, match="open"):
        labelled(found.scop, Leaf("S0"), edges_of(*_stencil(prepared), relax=True))


def _stencil(prepared: Callable[..., Any]) -> tuple[Any, Any]:
    found = prepared(*STENCIL)
    return found.scop, found.dependences


def _reversed(tree: Tree) -> Tree:
    """The tree with its sequences the other way round."""
    match tree:
        case Sequence(children):
            return Sequence(tuple(_reversed(child) for child in reversed(children)))
        case Loop():
            return replace(tree, body=_reversed(tree.body))
    return tree


def _claimed(tree: Tree, kind: Kind) -> Tree:
    """The tree with this kind everywhere."""
    match tree:
        case Sequence(children):
            return Sequence(tuple(_claimed(child, kind) for child in children))
        case Loop():
            return replace(tree, kinds=(kind,) * len(tree.rows), body=_claimed(tree.body, kind))
    return tree


@pytest.mark.parametrize("path", ["polybench/gemm.c", "polybench/jacobi-2d.c", "polybench/gesummv.c"])
def test_the_check_sees_errors(path: str, program: Callable[..., Any], check: Callable[..., None]) -> None:
    (found,) = program(path)
    tree = loop_trees(found.scop, found.dependences).thread
    check(found, tree)
    for wrong in (_reversed(tree), _claimed(tree, FORALL), _claimed(tree, SERIAL)):
        with pytest.raises(AssertionError):
            check(found, wrong)
