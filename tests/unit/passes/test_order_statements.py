"""Orders of straight-line code: value graphs, sequences, what is compared before and after, and kernels."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import polytile
from polytile.codegen.ordering.build_graph import build_graph, is_straight
from polytile.codegen.ordering.code_motion import interleave
from polytile.codegen.ordering.emit import emit
from polytile.codegen.ordering.equivalence import equivalent
from polytile.codegen.ordering.label_sweeps import sweep_orders
from polytile.codegen.ordering.list_scheduling import list_order
from polytile.codegen.ordering.tree_order import depth_first
from polytile.codegen.ordering.value_graph import Kind, ValueGraph, is_order, max_live
from polytile.codegen.ordering.window_sweeps import with_swept_parts
from polytile.codegen.passes import order_statements
from polytile.codegen.passes.basic_blocks import is_large, is_small
from polytile.codegen.passes.order_statements import CLEARLY, best_order, with_fewer_by_parts
from polytile.diagnostics import InternalError, UsageError
from polytile.ir.expr import Stmt
from polytile.ir.expr_trees import bodies
from polytile.ir.kernel import Kernel
from polytile.ir.name_supply import Names
from tests.reading import shared

ARGUMENTS = "int n, double A[n + 9], double B[n + 9], double C[n + 9], double w[4]"
ROOT = Path(__file__).parents[3]
REORDER = ROOT / "polybench" / "reorder"


def random_body(draw: random.Random, statements: int) -> str:
    """Statements on elements of three arrays, some of them stored to and read again, and on variables."""
    names, lines = ["w[0]", "w[1]"], []

    def value(depth: int) -> str:
        if depth == 0 or draw.random() < 0.15:
            element = f"{draw.choice('ABC')}[8 * i + {draw.randrange(8)}]"
            return draw.choice([element, element, draw.choice(names), "1.5"])
        return f"({value(depth - 1)} {draw.choice('+-*')} {value(depth - 1)})"

    for k in range(statements):
        if draw.random() < 0.4:
            lines.append(f"double t{k} = {value(3)};")
            names.append(f"t{k}")
        else:
            lines.append(f"{draw.choice('BC')}[8 * i + {draw.randrange(8)}] {draw.choice(['', '+', '-'])}= {value(3)};")
    return "for (int i = 0; 8 * i < n - 8; i++) { " + " ".join(lines) + " }"


@shared
def kernel_of(body: str) -> Kernel:
    text = f"void f({ARGUMENTS})\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
    found = polytile.compile(text, name="test.c", order="source", strict=True, schedule="classic").scops[0]
    assert found.program is not None
    return max(found.program.kernels, key=lambda kernel: len(kernel.nodes))  # one of what nothing reads is empty


def block_of(kernel: Kernel) -> tuple[Stmt, ...]:
    """The largest body that is straight."""
    found: list[tuple[Stmt, ...]] = []

    def visit(body: Sequence[Stmt]) -> None:
        if body and all(map(is_straight, body)):
            found.append(tuple(body))
        for stmt in body:
            for inner in bodies(stmt):
                visit(inner)

    visit(kernel.body)
    return max(found, key=lambda body: build_graph(kernel, body).graph.operations)


def orders(graph: ValueGraph) -> list[tuple[int, ...]]:
    found = [graph.order, depth_first(graph), list_order(graph), *sweep_orders(graph)]
    found += [with_swept_parts(graph, sequence) for sequence in found[:3]]
    return [*found, *(interleave(graph, sequence) for sequence in found)]


@pytest.mark.slow(but=("0", "1"))
@pytest.mark.parametrize("seed", range(25))
def test_orders_keep_what_blocks_compute(seed: int) -> None:
    kernel = kernel_of(random_body(random.Random(seed), 8))
    graph = build_graph(kernel, (block := block_of(kernel))).graph
    integers = build_graph(kernel, block).integers
    for sequence in orders(graph):
        assert is_order(graph, sequence)
        made = (*integers, *emit(graph, sequence, Names(set(kernel.names))))
        assert equivalent(graph, build_graph(kernel, made).graph)


def test_small_blocks_are_not_worth_ordering() -> None:
    kernel = kernel_of(random_body(random.Random(0), 8))
    block = block_of(kernel)
    parts = [block[:count] for count in range(1, len(block) + 1)]
    small = [part for part in parts if is_small(part)]
    assert small and not any(is_large(build_graph(kernel, part).graph) for part in small)
    assert not is_small(block * 10)


@pytest.mark.slow(but=3)
@pytest.mark.parametrize("seed", range(25))
def test_fewer_registers_are_never_more(seed: int) -> None:
    kernel = kernel_of(random_body(random.Random(seed), 8))
    graph = build_graph(kernel, block_of(kernel)).graph
    for wanted in ("tree", "sweep", "auto"):
        assert max_live(graph, best_order(graph, wanted)) <= max_live(graph, graph.order)
    for sequence in orders(graph):
        assert max_live(graph, interleave(graph, sequence)) <= max_live(graph, sequence)


DISTANT = "for (int i = 0; 8 * i < n - 8; i++) { B[8*i] = A[8*i]; B[8*i] -= A[8*i + 1] * B[8*i]; }"


def test_stored_values_are_used_where_nothing_else_may_have_changed_them() -> None:
    kernel = kernel_of(DISTANT)
    graph = build_graph(kernel, block_of(kernel)).graph
    assert sum(node.kind is Kind.LOAD for node in graph.nodes) == 2


def planted(graph: ValueGraph, change: Callable[[list[Any]], None]) -> ValueGraph:
    nodes = list(graph.nodes)
    change(nodes)
    return ValueGraph(nodes)


def test_wrong_orders_are_caught() -> None:
    body = "for (int i = 0; 8 * i < n - 8; i++) { C[8*i] = B[8*i] * A[8*i]; B[8*i] = A[8*i] + w[0]; B[8*i] -= C[8*i]; }"
    kernel = kernel_of(body)
    block = block_of(kernel)
    graph = build_graph(kernel, block).graph
    stores = [k for k, s in enumerate(block) if type(s).__name__ == "Assign"]
    for one in stores:
        for other in stores:
            if one < other:
                swapped = list(block)
                swapped[one], swapped[other] = block[other], block[one]
                assert not equivalent(graph, build_graph(kernel, swapped).graph)
    for left_out in stores:
        rest = [s for k, s in enumerate(block) if k != left_out]
        assert not equivalent(graph, build_graph(kernel, rest).graph)


def test_wrong_operands_are_caught() -> None:
    kernel = kernel_of("for (int i = 0; 8 * i < n - 8; i++) { C[8*i] = B[8*i] - A[8*i]; B[8*i] = C[8*i] * A[8*i]; }")
    graph = build_graph(kernel, block_of(kernel)).graph

    def exchange(nodes: list[Any]) -> None:
        at = next(k for k, n in enumerate(nodes) if n.kind is Kind.OPERATION)
        nodes[at] = replace(nodes[at], operands=nodes[at].operands[::-1])

    def early(nodes: list[Any]) -> None:
        at = max(k for k, n in enumerate(nodes) if n.kind is Kind.STORE)
        nodes[at] = replace(nodes[at], after=())

    assert equivalent(graph, planted(graph, lambda nodes: None))
    assert not equivalent(graph, planted(graph, exchange))
    assert not equivalent(graph, planted(graph, early))


def large(points: int = 40) -> str:
    terms = [f"A[i + {k % 5}] * B[i + {k % 7}] * w[{k % 4}]" for k in range(points)]
    return f"for (int i = 0; i < n; i++) C[i] = {' + '.join(terms)};"


@shared
def text_of(body: str, **settings: Any) -> str:
    text = f"void f({ARGUMENTS})\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
    return polytile.compile(text, name="test.c", strict=True, raise_bugs=True, **settings).cuda


def test_a_wrong_order_is_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order_statements, "best_order", lambda graph, wanted: graph.order[::-1])
    with pytest.raises(InternalError, match="computes something else"):
        text_of(large(), order="tree")


def test_a_failing_order_leaves_the_source_order(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = text_of(large(), order="source")
    monkeypatch.setattr(order_statements, "best_order", lambda graph, wanted: graph.order[::-1])
    text = f"void f({ARGUMENTS})\n{{\n#pragma scop\n{large()}\n#pragma endscop\n}}\n"
    found = polytile.compile(text, name="test.c", strict=True, order="tree")
    assert found.cuda == plain
    assert any("without order-statements" in r.message for r in found.scops[0].remarks)


def test_operations_on_constants_are_part_of_all_orders() -> None:
    kernel = kernel_of("for (int i = 0; i < n; i++) B[i] = A[i] * (3.0 / n);")
    graph = build_graph(kernel, block_of(kernel)).graph
    assert all(is_order(graph, sequence) for sequence in orders(graph))


def test_small_bodies_stay() -> None:
    small = "for (int i = 0; i < n; i++) C[i] = A[i] + A[i + 1] * B[i];"
    assert text_of(small, order="tree") == text_of(small, order="source") == text_of(small)


def test_registers_bound_kernels() -> None:
    assert "__maxnreg__(48)" in text_of(large(), registers=48)
    assert "__maxnreg__" not in text_of(large())


@pytest.mark.parametrize(("block", "most"), [("16,16", 255), ("9,32", 168), ("12,32", 168), ("32,32", 64)])
def test_bounds_let_a_block_run(block: str, most: int) -> None:
    """Nine warps get what twelve do: three in each part of the registers, in portions of eight a thread."""
    assert f"__maxnreg__({most})" in text_of(large(), registers=255, block=block)


@pytest.mark.parametrize("settings", [{"order": "random"}, {"registers": 15}, {"registers": 256}])
def test_wrong_usage(settings: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        text_of(large(), **settings)


@pytest.mark.slow
@pytest.mark.parametrize(("program", "most"), [("rhs4th3fort", 92), ("derivative", 108)])
def test_large_stencils_need_fewer_registers(program: str, most: int) -> None:
    folders = [ROOT / "polybench", ROOT / "polybench" / "polybench"]
    file = REORDER / f"{program}.c"
    found = polytile.compile(file, include_dirs=folders, strict=True, order="source").scops[0]
    assert found.program is not None
    kernel = found.program.kernels[0]
    graph = build_graph(kernel, block_of(kernel)).graph
    assert max_live(graph, best_order(graph, "auto")) <= most < max_live(graph, graph.order)


@pytest.mark.slow
@pytest.mark.parametrize(("program", "registers"), [("derivative", 86), ("rhs4th3fort", 92)])
def test_parts_are_swept_where_that_takes_clearly_fewer_registers(program: str, registers: int) -> None:
    """Sums of rows and of columns of one field share its elements, field by field; fewer by a few are no reason."""
    (scop,) = polytile.compile(REORDER / f"{program}.c", order="source", strict=True, schedule="classic").scops
    assert scop.program is not None
    kernel = scop.program.kernels[0]
    graph = build_graph(kernel, block_of(kernel)).graph
    known = best_order(graph, "auto")
    found = with_fewer_by_parts(graph, known)
    assert is_order(graph, found) and max_live(graph, found) <= registers
    assert found == known or max_live(graph, found) < CLEARLY * max_live(graph, known)


@pytest.mark.slow
def test_addresses_count_below_a_bound() -> None:
    """Values and addresses of rhs4th3fort, float, take 101 registers in the order of the source, values alone 70."""
    texts = {
        order: polytile.compile(
            REORDER / "rhs4th3fort.c", defines={"DATA_TYPE_IS_FLOAT": ""}, strict=True, order=order, registers=128
        ).cuda
        for order in ("auto", "source", "tree")
    }
    assert texts["auto"] == texts["tree"] != texts["source"]


@pytest.mark.slow
@pytest.mark.parametrize("order", ["tree", "sweep"])
@pytest.mark.parametrize("seed", range(4))
def test_results_are_the_same_bits(emulator: None, seed: int, order: str) -> None:
    body = random_body(random.Random(100 + seed), 10)
    text = f"void f({ARGUMENTS})\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
    found = polytile.compile(text, name="test.c", strict=True, order=order, raise_bugs=True).scops[0]
    found.validate(on="emulator", parameters={"n": 100}, seed=seed, sanitize=("address", "race"))


@pytest.mark.slow
def test_the_explanation_says_what_was_ordered_and_bounded() -> None:
    folders = [ROOT / "polybench", ROOT / "polybench" / "polybench"]
    file = REORDER / "derivative.c"
    compiled = {
        order: polytile.compile(file, include_dirs=folders, order=order, registers=96) for order in ("source", "tree")
    }
    lines = {order: program.scops[0].explain() for order, program in compiled.items()}
    assert "few live values (--order tree)" in lines["tree"] and "few live values" not in lines["source"]
    assert all("96 registers at most" in found for found in lines.values())


@pytest.mark.parametrize("schedule", ["split", "overlapped", "classic"])
def test_registers_are_bounded_in_all_kernels_of_all_schedules(schedule: str) -> None:
    text = (
        "void f(int T, int n, int m, float A[2][n][m])\n{\n#pragma scop\nfor (int t = 0; t < T; t++)\n"
        "for (int i = 1; i < n - 1; i++) for (int j = 1; j < m - 1; j++)\n"
        "A[(t + 1) % 2][i][j] = A[t % 2][i - 1][j] + A[t % 2][i][j - 1] + A[t % 2][i][j + 1];\n#pragma endscop\n}\n"
    )
    (scop,) = polytile.compile(text, schedule=schedule, registers=72).scops
    assert scop.program is not None
    assert {kernel.max_registers for kernel in scop.program.kernels} == {72}
