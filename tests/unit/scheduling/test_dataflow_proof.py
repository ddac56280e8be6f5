"""The proof that changes of storage keep values: right changes pass, and each wrong one is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import islpy as isl
import pytest

from polytile.ir.isl_util import budget
from polytile.ir.scop import AccessRelation, Scop, Statement
from polytile.scheduling.analysis.dependences import analyse
from polytile.scheduling.proof.dataflow import Change, changed_values
from polytile.scheduling.transform.array_expansion import expand
from polytile.scheduling.transform.element_reads import element_reads
from polytile.scheduling.transform.input_snapshot import apply_snapshot, snapshot_inputs
from polytile.scheduling.transform.live_range_splitting import split_live_ranges
from polytile.scheduling.transform.statement_fusion import fuse_locals

ROWS = (
    "int n, int m, double A[n][m], double C[m][m], double sum[m]",
    """for (int i = 0; i < n; i++) {
        for (int j = 0; j < m; j++) {
            sum[j] = 0;
            for (int k = 0; k < m; k++)
                sum[j] += A[i][k] * C[k][j];
        }
        for (int j = 0; j < m; j++)
            A[i][j] = sum[j];
    }""",
)
TWICE = (
    "int n, double A[n], double B[n], double C[n]",
    """for (int i = 0; i < n; i++) { double w = A[i]; B[i] = w * w; }
    for (int i = 0; i < n; i++) { double w = B[i]; C[i] = w + A[i]; }""",
)
SHARED = (
    "int n, double A[n], double B[n], double C[n]",
    "for (int i = 0; i < n; i++) { w = A[i]; B[i] = w; } for (int i = 0; i < n; i++) { w = B[i]; C[i] = w; }",
    "double w;",
)


def changes(source: Scop, program: Scop) -> tuple[Change, ...]:
    return changed_values(source, analyse(source), program, analyse(program))


def replaced(scop: Scop, name: str, change: Callable[[Statement], Statement]) -> Scop:
    return replace(scop, statements=tuple(change(s) if s.name == name else s for s in scop.statements))


def shifted(scop: Scop, name: str, array: str, by: int) -> Scop:
    """`scop` with the first subscript of `array` in statement `name` moved."""

    def moved(access: AccessRelation) -> AccessRelation:
        if access.array != array:
            return access
        rank = access.relation.dim(isl.dim_type.out)
        dims = [f"a{i}" for i in range(rank)]
        columns = [f"a0 + {by}", *dims[1:]]
        shift = isl.Map(f"{{ {array}[{', '.join(dims)}] -> {array}[{', '.join(columns)}] }}")
        return replace(access, relation=access.relation.apply_range(shift))

    return replaced(scop, name, lambda s: replace(s, accesses=tuple(moved(a) for a in s.accesses)))


def test_expansion_with_its_copy_back_keeps_values(scop: Callable[..., Scop]) -> None:
    source = scop(*ROWS)
    program, _ = expand(source, analyse(source))
    assert program.epilogue
    assert changes(source, program) == ()


@pytest.mark.parametrize(("reader", "array"), [("S2", "sum_x"), ("S3", "sum_x")])
def test_an_expanded_array_that_is_read_in_another_iteration(
    scop: Callable[..., Scop], reader: str, array: str
) -> None:
    """S3 is the copy behind the SCoP: it would restore the values of another row."""
    source = scop(*ROWS)
    program, _ = expand(source, analyse(source))
    found = changes(source, shifted(program, reader, array, -1))
    assert {c.array for c in found} == {"sum"}


def test_a_lost_copy_back(scop: Callable[..., Scop]) -> None:
    source = scop(*ROWS)
    program, _ = expand(source, analyse(source))
    kept = tuple(s for s in program.statements if s.name not in program.epilogue)
    rest = isl.UnionSet.empty(program.context.get_space().params())
    for statement in kept:
        rest = rest.union(isl.UnionSet.from_set(statement.domain))
    lost = replace(program, statements=kept, schedule=program.schedule.intersect_domain(rest), epilogue=())
    assert [(c.array, c.what) for c in changes(source, lost)] == [("sum", "leaves values")]


def test_a_variable_for_each_purpose_keeps_values(scop: Callable[..., Scop]) -> None:
    source = scop(*SHARED)
    program = split_live_ranges(source, analyse(source))
    assert program is not source
    assert changes(source, program) == ()


def test_a_purpose_cut_in_two_loses_its_value(scop: Callable[..., Scop]) -> None:
    source = scop(*SHARED)
    array = replace(source.array("w"), name="w_2", holds="w")

    def cut(statement: Statement) -> Statement:
        accesses = tuple(
            replace(a, array="w_2", relation=a.relation.set_tuple_name(isl.dim_type.out, "w_2"))
            if a.array == "w"
            else a
            for a in statement.accesses
        )
        return replace(statement, accesses=accesses)

    program = replaced(replace(source, arrays=(*source.arrays, array)), "S1", cut)
    assert ("w", "reads values") in [(c.array, c.what) for c in changes(source, program)]


def test_statements_that_share_locals_may_be_one(scop: Callable[..., Scop]) -> None:
    source = scop(*TWICE)
    program = fuse_locals(source)
    assert [s.parts for s in program.statements if s.parts]
    assert changes(source, program) == ()


def test_parts_in_the_wrong_order_are_found(scop: Callable[..., Scop]) -> None:
    source = scop(*TWICE)
    program = fuse_locals(source)
    joined = next(s for s in program.statements if s.parts)
    program = replaced(program, joined.name, lambda s: replace(s, parts=tuple(reversed(s.parts))))
    assert [c.what for c in changes(source, program)] == ["reads values"]


def test_a_write_that_moved_is_found_behind_the_scop(scop: Callable[..., Scop]) -> None:
    source = scop(*TWICE)
    found = changes(source, shifted(source, "S1", "B", 1))
    assert {c.array for c in found} == {"B"}
    assert "leaves values" in {c.what for c in found}


# Copies of inputs ---------------------------------------------------------------------------------------------------
PRODUCT = (
    "int m, int n, double A[m][m], double B[m][n]",
    """for (int i = 0; i < m; i++) for (int j = 0; j < n; j++) for (int k = i + 1; k < m; k++)
        B[i][j] += A[k][i] * B[k][j];""",
)


@pytest.fixture
def product(scop: Callable[..., Scop]) -> tuple[Scop, Scop]:
    """A program and the same with a copy S1 of its input."""
    source = scop(*PRODUCT)
    found = snapshot_inputs(source, analyse(source))
    assert found is not None
    return source, found.scop


def test_a_copy_of_an_input_keeps_values(product: tuple[Scop, Scop]) -> None:
    assert changes(*product) == ()


@pytest.mark.parametrize(("statement", "array"), [("S1", "B"), ("S1", "B_in"), ("S0", "B_in")])
def test_another_row_of_an_input(product: tuple[Scop, Scop], statement: str, array: str) -> None:
    """The same instances still find something that nothing wrote: only the elements differ."""
    source, program = product
    found = changes(source, shifted(program, statement, array, 1))
    assert ("B", "reads earlier values") in {(c.array, c.what) for c in found}


def test_a_copy_of_an_input_that_is_too_short(product: tuple[Scop, Scop]) -> None:
    source, program = product
    row = isl.Set("[m, n] -> { S1[k, j] : k < m - 1 }")
    short = replaced(program, "S1", lambda s: replace(s, domain=s.domain.intersect(row)))
    short = replace(short, schedule=short.schedule.intersect_domain(short.domain))
    assert ("B", "reads earlier values") in {(c.array, c.what) for c in changes(source, short)}


def test_a_copy_of_an_input_that_comes_too_late(product: tuple[Scop, Scop]) -> None:
    source, program = product
    (copy,) = program.prologue
    own = isl.UnionSet.from_set(program.statement(copy).domain)
    rest = program.schedule.intersect_domain(program.domain.subtract(own))
    late = replace(program, schedule=rest.sequence(program.schedule.intersect_domain(own)))
    assert {c.array for c in changes(source, late)} == {"B"}


def test_a_copy_of_another_array(product: tuple[Scop, Scop]) -> None:
    """It takes first values, too, at the same subscripts, but those of A."""

    def other(access: AccessRelation) -> AccessRelation:
        if access.array != "B":
            return access
        return replace(access, array="A", relation=access.relation.set_tuple_name(isl.dim_type.out, "A"))

    source, program = product
    wrong = replaced(program, "S1", lambda s: replace(s, accesses=tuple(map(other, s.accesses))))
    assert ("A", "copies values") in {(c.array, c.what) for c in changes(source, wrong)}


def test_a_value_that_was_overwritten_is_no_input(scop: Callable[..., Scop]) -> None:
    """Downwards, each row takes what the rows above have become."""
    source = scop(PRODUCT[0], PRODUCT[1].replace("k = i + 1; k < m", "k = 0; k < i"))
    others = [read for read in element_reads(source.statement("S0"), "B") or () if not read.updates]
    program = apply_snapshot(source, "B", {"S0": others})
    assert {c.what for c in changes(source, program)} == {"reads values", "reads earlier values"}


@pytest.mark.slow
def test_many_pieces_of_first_values_are_compared_with_little_effort(scop: Callable[..., Scop]) -> None:
    point = "A[(t + 1) % 3][k + {}][j + {}][i + {}]"
    around = [(a, b, c) for a in (-1, 0, 1) for b in (-1, 0, 1) for c in (-1, 0, 1)]
    edges = " + ".join(point.format(*p) for p in around if sum(map(abs, p)) == 2)
    corners = " + ".join(point.format(*p) for p in around if sum(map(abs, p)) == 3)
    source = scop(
        "int s, int l, int m, int n, double A[3][l][m][n]",
        f"""for (int t = 0; t < s; t++)
            for (int k = 1; k < l - 1; k++) for (int j = 1; j < m - 1; j++) for (int i = 1; i < n - 1; i++) {{
                double e = {edges};
                double c = {corners};
                A[(t + 2) % 3][k][j][i] = e + c;
            }}""",
    )
    fused = fuse_locals(source)
    before, after = analyse(source), analyse(fused)
    with budget(4_000_000):
        assert changed_values(source, before, fused, after) == ()
