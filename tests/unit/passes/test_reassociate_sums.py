"""Sums in another order: linear forms, shared parts, normal forms before and after, and kernels."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import polytile
from polytile.codegen.ordering.build_graph import build_graph
from polytile.codegen.ordering.normal_forms import same_sums
from polytile.codegen.ordering.reassociation import Reassociated, best_reassociation, issued_operations
from polytile.codegen.ordering.shared_sums import share
from polytile.codegen.ordering.value_graph import Kind, ValueGraph, is_order, max_live
from polytile.codegen.passes import reassociate_sums
from polytile.codegen.passes.order_statements import best_order
from polytile.diagnostics import InternalError
from polytile.ir.expr import DOUBLE, FLOAT, Binary, Literal, Unary
from polytile.ir.literals import exact_value, spelt
from tests.every_schedule import source
from tests.unit.passes.test_order_statements import block_of, kernel_of

ROOT = Path(__file__).parents[3]
FEW = 48


def graph_of(body: str) -> ValueGraph:
    kernel = kernel_of(body)
    return build_graph(kernel, block_of(kernel)).graph


def loop(*statements: str) -> str:
    return "for (int i = 0; 8 * i < n - 8; i++) { " + " ".join(statements) + " }"


def random_sums(draw: random.Random) -> str:
    """Weighted sums of elements, with common parts, products of elements and variables, and numbers by themselves."""
    pool = [f"{a}[8 * i + {k}]" for a in "AB" for k in range(8)]

    def term(depth: int) -> str:
        if depth == 0 or draw.random() < 0.2:
            return draw.choice([*pool, "w[0]", "1.5", f"{draw.choice(pool)} * {draw.choice(pool)}"])
        inner = f"({term(depth - 1)} {draw.choice('+-')} {term(depth - 1)})"
        return draw.choice(
            [inner, inner, f"0.25 * {inner}", f"{inner} * 0.3", f"-{inner}", f"{inner} / 7.0", f"w[1] * {inner}"]
        )

    lines = [f"double t = {term(3)};"]
    lines += [f"C[8 * i + {k}] = {draw.choice(['t', '0.5 * t', term(2)])} + {term(4)};" for k in range(5)]
    return loop(*lines)


def value_of(graph: ValueGraph, seed: int) -> list[Fraction]:
    """What the stores of a graph get from random values of its leaves, exactly."""
    found: list[Fraction] = []
    draw: dict[object, Fraction] = {}

    def leaf(key: object) -> Fraction:
        return draw.setdefault(key, Fraction(random.Random(f"{seed} {key}").randrange(1, 1000), 997))

    for node in graph.nodes:
        operands = [found[o] for o in node.operands]
        match node.kind, node.expr:
            case Kind.STORE, _:
                found.append(operands[0])
            case Kind.LOAD, _:
                assert isinstance(node.key, tuple)
                found.append(leaf((node.key[0], tuple(sorted(node.key[1])))))
            case Kind.CONSTANT, expr:
                number = exact_value(expr)
                found.append(leaf(str(node.key)) if number is None else number)
            case _, Binary(op=op):
                a, b = operands
                found.append({"+": a + b, "-": a - b, "*": a * b}[op] if op != "/" else a / b)
            case _, Unary():
                found.append(-operands[0])
            case _:
                raise AssertionError(node)
    return [found[n] for n in graph.stores]


@pytest.mark.slow(but=3)
@pytest.mark.parametrize("seed", range(30))
def test_sums_have_the_values_that_they_had(seed: int) -> None:
    graph = graph_of(random_sums(random.Random(seed)))
    found = best_reassociation(graph, FEW)
    assert found is not None
    assert is_order(found.graph, found.sequence)
    assert same_sums(graph, found.graph) and same_sums(found.graph, graph)
    before, after = value_of(graph, seed), value_of(found.graph, seed)
    assert len(before) == len(after)
    assert all(abs(a - b) <= Fraction(1, 10**12) * max(abs(a), 1) for a, b in zip(before, after, strict=True))


def planted(graph: ValueGraph, kind: Kind, change: Callable[[Any], Any]) -> ValueGraph:
    nodes = list(graph.nodes)
    at = max(k for k, n in enumerate(nodes) if n.kind is kind)
    nodes[at] = change(nodes[at])
    return ValueGraph(nodes)


def test_wrong_sums_are_caught() -> None:
    body = loop("C[8*i] = 0.5 * (A[8*i] + A[8*i+1]) - 0.25 * A[8*i+2];", "B[8*i] = C[8*i] - A[8*i] * A[8*i+1];")
    graph = graph_of(body)
    assert same_sums(graph, planted(graph, Kind.STORE, lambda node: node))

    def other(node: Any) -> Any:
        return replace(node, expr=replace(node.expr, op="+"), key=replace(node.key, op="+"))

    assert not same_sums(graph, planted(graph, Kind.OPERATION, other))
    assert not same_sums(graph, planted(graph, Kind.STORE, lambda node: replace(node, after=(1,))))
    assert not same_sums(graph, planted(graph, Kind.STORE, lambda node: replace(node, operands=(0,))))
    wrong = [
        body.replace("0.25", "0.2500000001"),
        body.replace("0.5 *", "0.25 *"),
        body.replace("A[8*i+2]", "A[8*i+3]"),
        body.replace("0.5 * (A[8*i] + A[8*i+1])", "0.5 * (A[8*i] + A[8*i])"),
        body.replace("A[8*i] * A[8*i+1]", "A[8*i] * A[8*i+2]"),
        body.replace("C[8*i] - A", "A[8*i] - A"),
    ]
    for text in wrong:
        assert not same_sums(graph, graph_of(text)), text
    exact = body.replace(
        "0.5 * (A[8*i] + A[8*i+1]) - 0.25 * A[8*i+2]", "A[8*i] / 2.0 - (0.25 * A[8*i+2] - 0.5 * A[8*i+1])"
    )
    assert same_sums(graph, graph_of(exact))


def test_a_load_keeps_the_store_that_it_sees() -> None:
    graph = graph_of(loop("B[8*i] = A[8*i] + 1.0;", "B[8*i+1] = A[8*i+1] + B[8*i];"))
    late = planted(graph, Kind.LOAD, lambda node: replace(node, after=graph.stores[:1]))
    assert same_sums(graph, graph) and not same_sums(graph, late)


def test_labels_with_one_ratio_are_one_value() -> None:
    f = Fraction
    forms = {10: {1: f(1), 2: f(2), 3: f(5)}, 11: {1: f(3), 2: f(6), 4: f(1)}}
    shared = share(forms, {1: 0, 2: 1, 3: 2, 4: 3}, pairs=False)
    assert shared.sums == {10: {3: f(5), -1: f(2)}, 11: {4: f(1), -1: f(6)}} and shared.parts == {
        -1: {1: f(1, 2), 2: f(1)}
    }


def test_pairs_of_several_sums_are_one_value() -> None:
    f = Fraction
    forms = {10: {1: f(1), 2: f(-1), 3: f(5)}, 11: {1: f(3), 2: f(-3), 3: f(1)}, 12: {1: f(1), 2: f(4)}}
    shared = share(forms, {1: 0, 2: 1, 3: 2}, pairs=True)
    assert shared.parts == {-1: {1: f(1), 2: f(-1)}}
    assert shared.sums == {10: {3: f(5), -1: f(1)}, 11: {3: f(1), -1: f(3)}, 12: {1: f(1), 2: f(4)}}


def test_cancelled_labels_stay() -> None:
    graph = graph_of(loop("C[8*i] = (A[8*i] + A[8*i+1]) - A[8*i];"))
    found = best_reassociation(graph, FEW)
    assert found is not None and issued_operations(found.graph) == issued_operations(graph)


def test_numbers_are_exact_and_spelt() -> None:
    assert exact_value(Literal("0.1f", FLOAT)) == Fraction(1, 10) and exact_value(Literal("0x1p3", DOUBLE)) is None
    assert exact_value(Unary("-", Literal("2.5e1", DOUBLE), DOUBLE)) == -25
    third = Binary("/", Literal("1.0", DOUBLE), Literal("3.0", DOUBLE), DOUBLE)
    assert exact_value(third) == Fraction(1, 3)
    assert spelt(Fraction(1, 4), FLOAT) == Literal("0.25f", FLOAT) and spelt(Fraction(1, 10**60), FLOAT) is None


@pytest.mark.slow(but="2d64pt-points1-112-12")
@pytest.mark.parametrize(
    ("program", "points", "most", "registers"), [("3d125pt", (4, 1, 1), 268, 40), ("2d64pt", (4, 1), 112, 12)]
)
def test_box_stencils_take_half_of_the_operations(
    monkeypatch: pytest.MonkeyPatch, program: str, points: tuple[int, ...], most: int, registers: int
) -> None:
    seen: list[tuple[ValueGraph, Reassociated]] = []

    def watched(graph: ValueGraph, few: int, **parts: bool) -> Reassociated:
        found = best_reassociation(graph, few, **parts)
        assert found is not None
        seen.append((graph, found))
        return found

    monkeypatch.setattr(reassociate_sums, "best_reassociation", watched)
    folders = [ROOT / "polybench", ROOT / "polybench" / "polybench"]
    file = ROOT / "polybench" / "reorder" / f"{program}.c"
    polytile.compile(file, include_dirs=folders, points=points)
    graph, found = max(seen, key=lambda one: one[0].operations)
    assert issued_operations(found.graph) <= most < issued_operations(graph) / 1.8
    assert max_live(found.graph, found.sequence) <= registers < max_live(graph, best_order(graph, "auto"))


BOX = source(
    "T A[n][m], T B[n][m]",
    """for (int i = 1; i < n - 1; i++) for (int j = 1; j < m - 1; j++)
    B[i][j] = c(0.1) * (A[i-1][j-1] + A[i-1][j+1] + A[i+1][j-1] + A[i+1][j+1]) - c(0.3) * A[i][j]
            + c(0.2) * (A[i-1][j] + A[i][j-1] + A[i][j+1] + A[i+1][j]) + (A[i-1][j] - A[i+1][j]) * A[i][j] / c(3.0);""",
)
SIZES = [{"n": n, "m": m} for n, m in ((0, 0), (1, 3), (3, 2), (5, 7), (37, 34))]


def box(ctype: str) -> str:
    spelling = {"double": "#define T double\n#define c(x) x\n", "float": "#define T float\n#define c(x) x##f\n"}
    return spelling[ctype] + BOX


@pytest.mark.slow(but="double")
@pytest.mark.parametrize("ctype", ["double", "float"])
def test_kernels_compute_what_c_does(emulator: None, ctype: str) -> None:
    settings: dict[str, Any] = {"points": (4, 1), "schedule": "classic", "raise_bugs": True, "verify_passes": True}
    (scop,) = polytile.compile(box(ctype), name="f.c", **settings).scops
    assert scop.program is not None and "reassociate-sums" in {step.done for step in scop.compilation.steps}
    for parameters in SIZES:
        scop.validate(on="emulator", parameters=parameters, sanitize=("address",))


def test_constants_may_stay_and_sums_may_stay_apart(emulator: None) -> None:
    three = [f"(A[8*i+{k}] + A[8*i+{k + 1}] + A[8*i+{k + 2}])" for k in (0, 1)]
    graph = graph_of(loop("double t = w[0];", *(f"C[8*i+{k}] = 0.5 * {three[k]} * t;" for k in (0, 1))))

    def operations(**parts: bool) -> int:
        found = best_reassociation(graph, FEW, **parts)
        assert found is not None and same_sums(graph, found.graph)
        return issued_operations(found.graph)

    assert issued_operations(graph) == 8  # two of them products with t
    assert operations() == 5  # s = a1 + a2; 0.5 a0 + 0.5 s; 0.5 s + 0.5 a3
    assert operations(distribute=False) == 7  # the same, and two products
    assert operations(sharing=False) == 6  # 0.5 a0 + 0.5 a1 + 0.5 a2; 0.5 a1 + 0.5 a2 + 0.5 a3
    settings: dict[str, Any] = {"name": "f.c", "points": (4, 1), "schedule": "classic"}
    whole = polytile.compile(box("double"), **settings).cuda
    for left_out in ("distribute-constants", "share-sums", "reassociate-sums"):
        program = polytile.compile(box("double"), **settings, disable_pass=left_out)
        assert program.cuda != whole
        program.scops[0].validate(on="emulator", parameters=SIZES[-1])


def test_strict_kernels_keep_their_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    def text(strict: bool) -> str:
        return polytile.compile(box("double"), name="f.c", points=(4, 1), schedule="classic", strict=strict).cuda

    exact, free = text(True), text(False)
    monkeypatch.setattr(reassociate_sums, "best_reassociation", lambda graph, few, **_: None)
    assert text(True) == exact and text(False) != free


def test_wrong_sums_are_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(graph: ValueGraph, few: int, **parts: bool) -> Reassociated:
        found = best_reassociation(graph, few, **parts)
        assert found is not None
        at = next(k for k, n in enumerate(found.graph.nodes) if isinstance(n.expr, Binary) and n.expr.op == "-")
        node = found.graph.nodes[at]
        found.graph.nodes[at] = replace(node, operands=node.operands[::-1])
        return found

    monkeypatch.setattr(reassociate_sums, "best_reassociation", wrong)
    with pytest.raises(InternalError, match="computes something else"):
        polytile.compile(box("double"), name="f.c", points=(4, 1), schedule="classic", raise_bugs=True)
