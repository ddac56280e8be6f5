"""The proof of legality: hand-made schedules that keep or break dependences, against a pointwise oracle."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import islpy as isl
import pytest

from polytile.diagnostics import IllegalSchedule
from polytile.ir.schedule import MappedSchedule
from polytile.ir.scop import AccessKind, Scop
from polytile.scheduling.analysis.dependences import analyse
from polytile.scheduling.proof import legality
from polytile.scheduling.proof.legality import prove, unordered

Before = Callable[[isl.Schedule, isl.UnionSet, isl.UnionSet], bool]

JACOBI = (
    "int T, int n, double A[n][n], double B[n][n]",
    """for (int t = 0; t < T; t++) {
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            B[i][j] = A[i][j] + A[i][j - 1] + A[i][j + 1] + A[i + 1][j] + A[i - 1][j];
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            A[i][j] = B[i][j] + B[i][j - 1] + B[i][j + 1] + B[i + 1][j] + B[i - 1][j];
}""",
)
LU = (
    "int n, double A[n][n]",
    """for (int k = 0; k < n; k++)
    for (int i = k + 1; i < n; i++) {
        A[i][k] /= A[k][k];
        for (int j = k + 1; j < n; j++)
            A[i][j] -= A[i][k] * A[k][j];
    }""",
)
ROWS = (
    "int n, int T, double A[n][n], double B[n][n]",
    """for (int i = 0; i < n; i++)
    for (int t = 0; t < T; t++) {
        for (int j = 0; j < n; j++) B[i][j] = A[i][n - 1 - j] + A[i][j];
        for (int j = 0; j < n; j++) A[i][j] = B[i][j] + B[i][n - 1 - j];
    }""",
)
JACOBI_DOMAIN = (
    "[T, n] -> { S0[t, i, j] : 0 <= t < T and 0 < i < n - 1 and 0 < j < n - 1;"
    " S1[t, i, j] : 0 <= t < T and 0 < i < n - 1 and 0 < j < n - 1 }"
)
LU_DOMAIN = "[n] -> { S0[k, i] : 0 <= k < i < n; S1[k, i, j] : 0 <= k < i < n and k < j < n }"
ROWS_DOMAIN = "[n, T] -> { S0[i, t, j] : 0 <= i, j < n and 0 <= t < T; S1[i, t, j] : 0 <= i, j < n and 0 <= t < T }"


# A small notation for trees: nested (word, ...) tuples ---------------------------------------------------------------
Tree = Any


def band(*members: str) -> Callable[[Tree], Tree]:
    return lambda child=None: ("schedule", f"[{', '.join('{ ' + m + ' }' for m in members)}]", child)


def mark(name: str, child: Tree) -> Tree:
    return ("mark", name, child)


def seq(*children: tuple[str, Tree]) -> Tree:
    return ("sequence", children)


def text(domain: str, tree: Tree) -> str:
    return f'domain: "{domain}"\nchild:\n' + "\n".join(_lines(tree, "  "))


def _lines(tree: Tree, pad: str) -> Iterator[str]:
    if tree[0] == "sequence":
        yield f"{pad}sequence:"
        for where, child in tree[1]:
            yield f'{pad}- filter: "{{ {where} }}"'
            if child is not None:
                yield f"{pad}  child:"
                yield from _lines(child, pad + "    ")
        return
    yield f'{pad}{tree[0]}: "{tree[1]}"'
    if tree[2] is not None:
        yield f"{pad}child:"
        yield from _lines(tree[2], pad + "  ")


def both(expression: str, iterators: str = "t,i,j") -> str:
    return f"S0[{iterators}] -> [{expression}]; S1[{iterators}] -> [{expression}]"


def kernel(statement: str, iterators: str = "t,i,j", order: str = "i,j") -> Tree:
    """One kernel of 8 x 32 threads over `order` of a statement."""
    a, b = order.split(",")
    s = f"{statement}[{iterators}]"
    points = band(f"{s} -> [({a}) mod 8]", f"{s} -> [({b}) mod 32]")()
    tiles = band(f"{s} -> [floor(({a})/8)]", f"{s} -> [floor(({b})/32)]")
    return mark("kernel", mark("block", tiles(mark("thread[8,32]", points))))


def on_host(expression: str, *children: tuple[str, Tree]) -> Tree:
    return band(both(expression))(seq(*children))


S0, S1 = "S0[t,i,j]", "S1[t,i,j]"
GOOD_JACOBI = on_host("t", (S0, kernel("S0")), (S1, kernel("S1")))
ROW = "i,t,j"


def row_kernel(inner_sync: bool = True, outer_sync: bool = True, swapped: bool = False) -> Tree:
    children = [
        (f"{s}[{ROW}]", mark("thread[32]", band(f"{s}[{ROW}] -> [j]")()))
        for s in (("S1", "S0") if swapped else ("S0", "S1"))
    ]
    body: Tree = seq(*children)
    body = mark("sync", body) if inner_sync else body
    body = band(both("t", ROW))(body)
    body = mark("sync", body) if outer_sync else body
    return mark("kernel", mark("block", band(both("i", ROW))(body)))


def lu_kernels(order: str) -> Tree:
    s0 = mark(
        "kernel", mark("block", band("S0[k,i] -> [floor(i/32)]")(mark("thread[32]", band("S0[k,i] -> [i mod 32]")())))
    )
    return band(f"S0[k,i] -> [{order}]; S1[k,i,j] -> [{order}]")(
        seq(("S0[k,i]", s0), ("S1[k,i,j]", kernel("S1", "k,i,j")))
    )


LEGAL = {
    "jacobi, as the classic strategy does it": (JACOBI, text(JACOBI_DOMAIN, GOOD_JACOBI)),
    "jacobi, loops interchanged": (
        JACOBI,
        text(JACOBI_DOMAIN, on_host("t", (S0, kernel("S0", order="j,i")), (S1, kernel("S1")))),
    ),
    "jacobi, skewed inside a step": (
        JACOBI,
        text(JACOBI_DOMAIN, on_host("t", (S0, kernel("S0", order="i+j,i-2*j")), (S1, kernel("S1", order="-i,j")))),
    ),
    "jacobi, in one block with barriers": (
        JACOBI,
        text(
            JACOBI_DOMAIN,
            mark(
                "kernel",
                mark(
                    "sync",
                    band(both("t"))(
                        mark(
                            "sync",
                            seq(*((s, mark("thread[4,8]", band(f"{s} -> [i]", f"{s} -> [j]")())) for s in (S0, S1))),
                        )
                    ),
                ),
            ),
        ),
    ),
    "lu": (LU, text(LU_DOMAIN, lu_kernels("k"))),
    "lu, in one thread": (
        LU,
        text(
            LU_DOMAIN,
            mark(
                "kernel",
                band("S0[k,i] -> [k]; S1[k,i,j] -> [k]", "S0[k,i] -> [i]; S1[k,i,j] -> [i]")(
                    seq(("S0[k,i]", None), ("S1[k,i,j]", band("S1[k,i,j] -> [j]")()))
                ),
            ),
        ),
    ),
    "rows": (ROWS, text(ROWS_DOMAIN, row_kernel())),
}

REVERSED, BLOCKS, THREADS = "in the other order", "in different blocks of one launch", "in different threads"
ILLEGAL = {
    "a block mark on the time loop of jacobi": (
        JACOBI,
        text(
            JACOBI_DOMAIN,
            mark(
                "kernel",
                mark(
                    "block",
                    band(both("t"))(
                        seq((S0, band(f"{S0} -> [i]", f"{S0} -> [j]")()), (S1, band(f"{S1} -> [i]", f"{S1} -> [j]")()))
                    ),
                ),
            ),
        ),
        BLOCKS,
    ),
    "a thread mark on the time loop of jacobi": (
        JACOBI,
        text(
            JACOBI_DOMAIN,
            mark(
                "kernel",
                mark(
                    "thread[32]",
                    band(both("t"))(
                        seq((S0, band(f"{S0} -> [i]", f"{S0} -> [j]")()), (S1, band(f"{S1} -> [i]", f"{S1} -> [j]")()))
                    ),
                ),
            ),
        ),
        THREADS,
    ),
    "jacobi's time downwards": (
        JACOBI,
        text(JACOBI_DOMAIN, on_host("-t", (S0, kernel("S0")), (S1, kernel("S1")))),
        REVERSED,
    ),
    "jacobi's statements swapped": (
        JACOBI,
        text(JACOBI_DOMAIN, on_host("t", (S1, kernel("S1")), (S0, kernel("S0")))),
        REVERSED,
    ),
    "both statements of jacobi in one kernel": (
        JACOBI,
        text(
            JACOBI_DOMAIN,
            band(both("t"))(
                mark(
                    "kernel",
                    mark(
                        "block",
                        band(both("i"))(
                            seq(
                                (S0, mark("thread[32]", band(f"{S0} -> [j]")())),
                                (S1, mark("thread[32]", band(f"{S1} -> [j]")())),
                            )
                        ),
                    ),
                )
            ),
        ),
        BLOCKS,
    ),
    "a reversed lu": (LU, text(LU_DOMAIN, lu_kernels("-k")), REVERSED),
    "lu's rows as blocks": (
        LU,
        text(
            LU_DOMAIN,
            mark(
                "kernel",
                mark(
                    "block",
                    band("S0[k,i] -> [i]; S1[k,i,j] -> [i]")(
                        band("S0[k,i] -> [k]; S1[k,i,j] -> [k]")(
                            seq(("S0[k,i]", None), ("S1[k,i,j]", band("S1[k,i,j] -> [j]")()))
                        )
                    ),
                ),
            ),
        ),
        BLOCKS,
    ),
    "no barrier between the statements of a row": (ROWS, text(ROWS_DOMAIN, row_kernel(inner_sync=False)), THREADS),
    "no barrier between the steps of a row": (ROWS, text(ROWS_DOMAIN, row_kernel(outer_sync=False)), THREADS),
    "the statements of a row swapped": (ROWS, text(ROWS_DOMAIN, row_kernel(swapped=True)), REVERSED),
}


# Checks -------------------------------------------------------------------------------------------------------------
def pairs_at(found: Scop, values: dict[str, int]) -> list[tuple[isl.UnionSet, isl.UnionSet]]:
    """All dependent pairs for these parameters."""
    here = isl.Set(f"[{', '.join(values)}] -> {{ : {' and '.join(f'{n} = {v}' for n, v in values.items())} }}")
    pairs: list[tuple[isl.UnionSet, isl.UnionSet]] = []

    def visit(point: isl.Point) -> None:
        pair = point.to_set().unwrap()
        pairs.append((isl.UnionSet.from_set(pair.domain()), isl.UnionSet.from_set(pair.range())))

    analyse(found).all.intersect_params(here).wrap().foreach_point(visit)
    return pairs


SMALL = {"T": 2, "n": 4}


@pytest.mark.parametrize("name", LEGAL)
def test_legal_schedules_are_proven(scop: Callable[..., Scop], before: Before, name: str) -> None:
    program, schedule = LEGAL[name]
    found, tree = scop(*program), isl.Schedule(schedule)
    assert prove(found, analyse(found), MappedSchedule(tree, "test")).proven
    values = {p.name: SMALL[p.name] for p in found.parameters}
    pairs = pairs_at(found, values)
    assert pairs
    assert all(before(tree, a, b) for a, b in pairs)


@pytest.mark.slow(but="no barrier between the statements of a row")
@pytest.mark.parametrize("name", ILLEGAL)
def test_illegal_schedules_are_refused(compiled: Callable[..., Any], before: Before, name: str) -> None:
    """The counterexample is a true one: both instances exist and conflict, the source runs them in this order, and the
    schedule does not."""
    program, schedule, why = ILLEGAL[name]
    with pytest.raises(IllegalSchedule) as caught:
        compiled(*program, load_schedule=schedule)
    assert why in caught.value.message
    found = compiled(*program).scop
    first, then, values, arrays = read_counterexample(caught.value.message)
    here = isl.Set(f"[{', '.join(values)}] -> {{ : {' and '.join(f'{n} = {v}' for n, v in values.items())} }}")
    a, b = (isl.UnionSet(f"{{ {point} }}").intersect_params(here) for point in (first, then))
    executed = found.domain.intersect_params(here)
    assert a.is_subset(executed)
    assert b.is_subset(executed)
    assert conflict(found, a, b, here) >= set(arrays)
    order = found.schedule.get_map()
    assert isl.UnionMap.from_domain_and_range(a, b).is_subset(order.lex_lt_union_map(order))
    assert not before(isl.Schedule(schedule), a, b)


def conflict(found: Scop, a: isl.UnionSet, b: isl.UnionSet, here: isl.Set) -> set[str]:
    """The arrays with an element that both instances access, and one of them writes."""
    reads, writes = (
        found.accesses(*kinds).intersect_params(here)
        for kinds in ((AccessKind.READ,), (AccessKind.WRITE, AccessKind.MAY_WRITE))
    )
    every = reads.union(writes)
    touched = every.intersect_domain(a).range().intersect(writes.intersect_domain(b).range())
    touched = touched.union(writes.intersect_domain(a).range().intersect(every.intersect_domain(b).range()))
    names: set[str] = set()
    touched.foreach_set(lambda s: names.add(s.get_tuple_name()))
    return names


def read_counterexample(message: str) -> tuple[str, str, dict[str, int], list[str]]:
    """(`S0[0, 1, 1]`, `S1[0, 1, 2]`, the parameters, the arrays) of the message."""
    instance = r"(S\d+) \(test\.c:\d+\)(?: at ([\w=, -]+?))?"
    match = re.search(rf"{instance} must run before {instance}, through (.+?)(?: \(with (.+?)\))?, but", message)
    assert match, message
    one, at, other, then, arrays, values = match.groups()

    def point(name: str, where: str | None) -> str:
        return f"{name}[{', '.join(v.split('=')[1] for v in (where or '').split(', ') if v)}]"

    parameters = dict(v.split("=") for v in (values or "").split(", ") if v)
    return point(one, at), point(other, then), {k: int(v) for k, v in parameters.items()}, arrays.split(" and ")


@pytest.mark.parametrize("name", ILLEGAL)
def test_the_oracle_agrees_that_they_are_illegal(scop: Callable[..., Scop], before: Before, name: str) -> None:
    program, schedule, _ = ILLEGAL[name]
    found, tree = scop(*program), isl.Schedule(schedule)
    values = {p.name: SMALL[p.name] for p in found.parameters}
    assert not all(before(tree, a, b) for a, b in pairs_at(found, values))


def test_an_exhausted_budget_is_said_and_proves_nothing(scop: Callable[..., Scop]) -> None:
    found = scop(*JACOBI)
    proof = prove(
        found,
        analyse(found),
        MappedSchedule(isl.Schedule(text(JACOBI_DOMAIN, GOOD_JACOBI)), "test"),
        max_operations=100,
    )
    assert not proof.proven
    assert str(proof) == "legality: not proven within the budget"


@pytest.mark.slow(but="lu, in one thread")
@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("name", LEGAL)
def test_legal_schedules_compute_the_same(compiled: Callable[..., Any], name: str) -> None:
    program, schedule = LEGAL[name]
    found = compiled(*program, load_schedule=schedule, strict=True)
    for size in (0, 1, 3, 35):
        values = {p.name: 2 if p.name == "T" else size for p in found.scop.parameters}
        found.validate(on="emulator", parameters=values, seed=size)


@pytest.mark.parametrize(
    ("pairs", "forwards", "both"),
    [
        ("{ A[i] -> B[i] }", (), ()),
        ("{ B[i] -> A[i] }", (legality.REVERSED,), ()),
        ("{ A[i] -> B[i]; B[i] -> A[i] }", (legality.REVERSED,), ()),
        ("{ A[i] -> B[i + 1] }", (legality.THREADS,), (legality.THREADS,)),
        ("{ A[i] -> A[i + 64] : i mod 64 = 3; A[i] -> A[i - 64] : i mod 64 = 3 }", (legality.REVERSED,), ()),
        (
            "{ A[i] -> A[j] }",
            (legality.REVERSED, legality.THREADS, legality.UNORDERED),
            (legality.THREADS, legality.UNORDERED),
        ),
    ],
)
def test_pairs_in_both_directions_may_run_either_way(
    pairs: str, forwards: tuple[str, ...], both: tuple[str, ...]
) -> None:
    """A and B run in one block, one after the other, each thread having every 64th instance."""
    parts = ", ".join(
        f'{{ filter: "{{ {name}[i] }}", child: {{ mark: "thread[64]", '
        f'child: {{ schedule: "[{{ {name}[i] -> [i] }}]" }} }} }}'
        for name in "AB"
    )
    domain = 'domain: "{ A[i] : 0 <= i < 256; B[i] : 0 <= i < 256 }"'
    tree = isl.Schedule(f'{{ {domain}, child: {{ mark: "kernel", child: {{ sequence: [ {parts} ] }} }} }}')
    within = isl.UnionMap(pairs).intersect_domain(tree.get_domain()).intersect_range(tree.get_domain())
    assert {v.why for v in unordered(tree, within)} == set(forwards)
    assert {v.why for v in unordered(tree, within, both_directions=True)} == set(both)
