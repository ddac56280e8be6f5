"""The proof that partial results add up: each wrong change to a right program is found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import islpy as isl
import pytest

from polytile.compilation import Compilation
from polytile.diagnostics import InternalError
from polytile.ir.expr import Access, Assign, Expr, Literal, Scope, Stmt
from polytile.ir.expr_trees import rewrite
from polytile.ir.partial_results import Gathering, Privatised, Split
from polytile.ir.scop import AccessKind, AccessRelation, Scop, Statement
from polytile.machine import machine_of
from polytile.options import Options
from polytile.scheduling.analysis.dependences import analyse
from polytile.scheduling.proof.dataflow import changed_values
from polytile.scheduling.proof.reductions import wrong_regroupings
from polytile.scheduling.transform.reductions.combined_updates import combine_updates
from polytile.scheduling.transform.reductions.plan import Adders
from polytile.scheduling.transform.reductions.privatise import NONE, privatise
from polytile.stages.analysis import find_dependences
from polytile.stages.place_data import choose_storage, prove_legality
from polytile.stages.select_schedule import find_schedule

Change = Callable[[Scop, Privatised], Scop]
ROWS = (
    "int n, int m, double A[n][m], double x[n], double B[n]",
    """for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            x[i] += A[i][j];
    for (int i = 0; i < n; i++)
        B[i] = x[i];""",
)
LANES, CHUNKS = (Split(1, 32, True),), (Split(1, 16, False),)
BOTH = (Split(1, 16, False), Split(1, 4, True))
ADDERS = {1: (4, 8)}
KINDS: Mapping[str, tuple[tuple[Split, ...], Adders]] = {
    "lanes": (LANES, {}),
    "chunks": (CHUNKS, {}),
    "both": (BOTH, {}),
    "gathered": (BOTH, ADDERS),
    "gathered chunks": (CHUNKS, ADDERS),
}


def privatised(scop: Scop, splits: tuple[Split, ...], adders: Adders = NONE) -> Scop:
    found = privatise(scop, analyse(scop), "S0", splits, None, adders)
    assert found is not None
    return found


def faults(source: Scop, program: Scop) -> list[str]:
    """What the two halves of the proof say."""
    before, after = analyse(source), analyse(program)
    wrong = [why for _, why in wrong_regroupings(source, before, program, after)]
    return wrong + [f"{c.array}: {c.what}" for c in changed_values(source, before, program, after)]


# Changes -------------------------------------------------------------------------------------------------------------
def with_statement(scop: Scop, name: str | None, change: Callable[[Statement], Statement]) -> Scop:
    assert name is not None
    return replace(scop, statements=tuple(change(s) if s.name == name else s for s in scop.statements))


def moved(scop: Scop, name: str | None, array: str | None, text: str, kind: AccessKind | None = None) -> Scop:
    """The scop with accesses of `array` in one statement passed through a map from subscripts to subscripts."""
    subscripts, becomes = text.split(" -> ")
    step = isl.Map(f"[n, m] -> {{ {array}{subscripts} -> {array}{becomes} }}")

    def change(access: AccessRelation) -> AccessRelation:
        hit = access.array == array and kind in (None, access.kind)
        return replace(access, relation=access.relation.apply_range(step)) if hit else access

    return with_statement(scop, name, lambda s: replace(s, accesses=tuple(change(a) for a in s.accesses)))


def body(scop: Scop, name: str | None, change: Callable[[Expr | Stmt], Expr | Stmt]) -> Scop:
    return with_statement(scop, name, lambda s: replace(s, body=tuple(rewrite(b, change) for b in s.body)))


def placed(scop: Scop, order: tuple[tuple[str | None, ...], ...]) -> Scop:
    """The scop with its statements in another order: groups one after the other, each in the order that it had."""
    tree: isl.Schedule | None = None
    for names in order:
        own = isl.UnionSet.empty(scop.context.get_space().params())
        for name in names:
            assert name is not None
            own = own.union(isl.UnionSet.from_set(scop.statement(name).domain))
        part = scop.schedule.intersect_domain(own)
        tree = part if tree is None else tree.sequence(part)
    assert tree is not None
    return replace(scop, schedule=tree)


def smaller(scop: Scop, name: str, condition: str) -> Scop:
    """The scop with fewer instances of a statement."""
    kept = isl.Set(f"[n, m] -> {{ {name}{condition} }}")
    scop = with_statement(scop, name, lambda s: replace(s, domain=s.domain.intersect(kept)))
    return replace(scop, schedule=scop.schedule.intersect_domain(scop.domain))


def starts_at_one(scop: Scop, made: Privatised) -> Scop:
    return body(
        scop, made.initial, lambda n: replace(n, value=Literal("1.0", n.value.type)) if isinstance(n, Assign) else n
    )


def subtracts(name: Callable[[Privatised], str | None]) -> Change:
    def change(scop: Scop, made: Privatised) -> Scop:
        return body(
            scop, name(made), lambda n: replace(n, op="-") if isinstance(n, Assign) and n.op == "+" else n
        )

    return change


def folds_less(scop: Scop, made: Privatised) -> Scop:
    return body(scop, made.combine, lambda n: Literal("31") if isinstance(n, Literal) and n.text == "32" else n)


def combination_of_another(scop: Scop, made: Privatised) -> Scop:
    return with_statement(
        scop, made.combine, lambda s: replace(s, combine=replace(s.combine, op="*") if s.combine else None)
    )


def of_adders(change: Callable[[Scop, Privatised, Gathering], Scop]) -> Change:
    def changed(scop: Scop, made: Privatised) -> Scop:
        assert made.gathering is not None
        return change(scop, made, made.gathering)

    return changed


def no_total(scop: Scop, made: Privatised) -> Scop:
    return replace(scop, privatised=(replace(made, gathering=None),))


def wrong_group(scop: Scop, made: Privatised) -> Scop:
    return replace(scop, privatised=(replace(made, group=()),))


def no_more(scop: Scop, made: Privatised) -> Scop:
    return replace(scop, privatised=(replace(made, combine=None, finish=None),))


def others_write(scop: Scop, made: Privatised) -> Scop:
    space = isl.Map(f"[n, m] -> {{ S1[i] -> {made.partial}[i, 0] }}")
    more = AccessRelation(made.partial, AccessKind.WRITE, space)
    return with_statement(scop, "S1", lambda s: replace(s, accesses=(*s.accesses, more)))


def another_type(scop: Scop, made: Privatised) -> Scop:
    single = replace(scop.array("B").element, name="float", size=4)
    arrays = tuple(replace(a, element=single) if a.name == made.partial else a for a in scop.arrays)
    return replace(scop, arrays=arrays)


WRONG: Mapping[str, tuple[str, Change, str]] = {
    "a lane is left out": ("lanes", lambda s, p: moved(s, p.combine, p.partial, "[i, l] -> [i, l] : l < 31"), "lost"),
    "a lane is left out of the fold": ("lanes", folds_less, "does not combine all accumulators"),
    "a combination that is described wrongly": ("lanes", combination_of_another, "does not combine all accumulators"),
    "partial results start at 1": ("lanes", starts_at_one, "neutral"),
    "partial results start somewhere": ("lanes", lambda s, p: smaller(s, p.initial, "[i, l] : l > 0"), "nothing wrote"),
    "partial results are subtracted from": ("lanes", subtracts(lambda p: p.update), "does not do what S0 does"),
    "lanes are subtracted": ("lanes", subtracts(lambda p: p.combine), "does not combine all accumulators"),
    "chunks are subtracted": ("chunks", subtracts(lambda p: p.finish), "does not add up all tiles"),
    "a value goes to another result": (
        "lanes",
        lambda s, p: moved(
            placed(s, ((p.initial,), (p.update,), (p.combine,), ("S1",))),
            p.combine,
            p.partial,
            "[i, l] -> [n - 1 - i, l]",
        ),
        "another result",
    ),
    "all values go to one lane": (
        "lanes",
        lambda s, p: moved(s, p.update, p.partial, "[i, l] -> [i, 0]", AccessKind.WRITE),
        "lost",
    ),
    "a chunk is taken twice": ("chunks", lambda s, p: moved(s, p.finish, p.partial, "[c, i] -> [0, i]"), "lost"),
    "chunks of lanes are mixed up": ("both", lambda s, p: moved(s, p.finish, p.middle, "[c, i] -> [0, i]"), "lost"),
    "two values are read where one is added": (
        "chunks",
        lambda s, p: moved(s, p.finish, p.partial, "[c, i] -> [c', i] : c <= c' <= c + 1"),
        "",
    ),
    "lanes are combined too early": (
        "lanes",
        lambda s, p: placed(s, ((p.initial,), (p.combine,), (p.update,), ("S1",))),
        "lost",
    ),
    "the result is read too early": (
        "lanes",
        lambda s, p: placed(s, ((p.initial,), (p.update,), ("S1",), (p.combine,))),
        "x: reads values",
    ),
    "a chunk is added behind the reader": (
        "both",
        lambda s, p: placed(s, ((p.initial, p.update, p.combine), ("S1",), (p.finish,))),
        "x: reads values",
    ),
    "a result is written to another element": (
        "lanes",
        lambda s, p: moved(s, p.combine, "x", "[i] -> [i + 1]"),
        "x: ",
    ),
    "a result is added to another one": (
        "lanes",
        lambda s, p: moved(s, p.combine, "x", "[i] -> [i + 1]", AccessKind.READ),
        "uses other elements of x",
    ),
    "results are taken together": ("lanes", wrong_group, "in the source, "),
    "nothing adds up": ("lanes", no_more, "nothing adds the partial results up"),
    "others use partial results": ("lanes", others_write, "others use x_part"),
    "partial results lose precision": ("lanes", another_type, "does not do what S0 does"),
    "an adder is left out": (
        "gathered",
        of_adders(lambda s, p, g: moved(s, g.total, g.partial, "[a, b, l] -> [a, b, l] : l < 3")),
        "lost",
    ),
    "adders start at 1": (
        "gathered",
        of_adders(lambda s, p, g: starts_at_one(s, replace(p, initial=g.initial))),
        "neutral",
    ),
    "adders start somewhere": (
        "gathered",
        of_adders(lambda s, p, g: smaller(s, g.initial, "[i, l] : l > 0")),
        "nothing wrote",
    ),
    "all chunks go to one adder": (
        "gathered chunks",
        of_adders(lambda s, p, g: moved(s, p.finish, g.partial, "[a, b, l] -> [a, b, 0]", AccessKind.WRITE)),
        "lost",
    ),
    "chunks are subtracted from adders": ("gathered", subtracts(lambda p: p.finish), "does not add up all tiles"),
    "adders are subtracted": (
        "gathered",
        subtracts(lambda p: p.gathering and p.gathering.total),
        "does not combine all accumulators",
    ),
    "a total goes to another result": (
        "gathered chunks",
        of_adders(lambda s, p, g: moved(s, g.total, "x", "[i] -> [i + 1]")),
        "x: ",
    ),
    "chunks are added behind the total": (
        "gathered",
        of_adders(
            lambda s, p, g: placed(s, ((p.initial, p.update, p.combine), (g.initial, g.total), (p.finish,), ("S1",)))
        ),
        "lost",
    ),
    "nothing makes the total": ("gathered", no_total, "does not add up all tiles"),
    "a result of a row that is not there": ("lanes", lambda s, p: smaller(s, p.combine or "", "[i] : i > 0"), "lost"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_right_programs_are_proven(scop: Callable[..., Scop], kind: str) -> None:
    source = scop(*ROWS)
    assert faults(source, privatised(source, *KINDS[kind])) == []


@pytest.mark.slow(but="adders-are-subtracted")
@pytest.mark.parametrize("case", WRONG, ids=lambda case: case.replace(" ", "-"))
def test_wrong_programs_are_found(scop: Callable[..., Scop], case: str) -> None:
    kind, change, expected = WRONG[case]
    source = scop(*ROWS)
    program = privatised(source, *KINDS[kind])
    found = faults(source, change(program, program.privatised[0]))
    assert found
    assert expected in " / ".join(found)


READ_BETWEEN = (
    "int n, double A[n], double B[n], double s[1]",
    "for (int i = 0; i < n; i++) { s[0] += A[i]; B[i] = A[i]; }",
)


@pytest.mark.parametrize(("array", "kind"), [("s", AccessKind.READ), ("s", AccessKind.MAY_WRITE)])
def test_an_interrupted_chain(scop: Callable[..., Scop], array: str, kind: AccessKind) -> None:
    """B[i] also reads the running sum, or may change it, in the source and in the program alike."""
    source = scop(*READ_BETWEEN)
    program = privatise(source, analyse(source), "S0", (Split(0, 8, True),))
    assert program is not None
    assert faults(source, program) == []

    def change(statement: Statement) -> Statement:
        more = AccessRelation(array, kind, isl.Map("[n] -> { S1[i] -> s[0] }"))
        return replace(statement, accesses=(*statement.accesses, more))

    source, program = (with_statement(s, "S1", change) for s in (source, program))
    assert privatise(source, analyse(source), "S0", (Split(0, 8, True),)) is None
    assert any("in the source, a value" in fault for fault in faults(source, program))


def test_a_use_of_the_running_sum_in_the_body(scop: Callable[..., Scop]) -> None:
    """x[i] += A[i][j] * x[i] is no sum of what does not depend on x."""
    source = scop(*ROWS)

    def change(node: Expr | Stmt) -> Expr | Stmt:
        return Access("x", node.subscripts[:1], node.type) if isinstance(node, Access) and node.array == "A" else node

    changed = body(source, "S0", change)
    assert privatise(changed, analyse(changed), "S0", LANES) is None
    assert faults(changed, privatised(source, LANES)) == ["S0_update does not do what S0 does"]


TWICE = (
    "int n, int m, double A[n][m], double x[n], double y[m]",
    "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { x[i] += A[i][j]; x[i] -= y[j]; }",
)


def test_several_updates_of_a_result(scop: Callable[..., Scop]) -> None:
    """Partial results do what the source's statements do, one after the other."""
    source = scop(*TWICE)
    combined = combine_updates(source)
    program = privatise(combined, analyse(combined), "S1", LANES)
    assert program is not None
    assert faults(source, program) == []
    (update,) = (s for s in program.statements if s.name == "S1_update")
    (block,) = update.body
    assert isinstance(block, Scope)

    def doing(*body: Stmt) -> list[str]:
        changed = with_statement(program, "S1_update", lambda s: replace(s, body=(replace(block, body=body),)))
        return faults(source, changed)

    added, subtracted = block.body
    wrong = ["S1_update does not do what S0 and S1 do"]
    assert doing(added) == doing(subtracted) == wrong
    assert doing(added, added) == doing(subtracted, added) == doing(added, subtracted, added) == wrong
    assert doing(added, subtracted) == []


def test_several_updates_of_different_results(scop: Callable[..., Scop]) -> None:
    """The source's statements have to meet in each result."""
    source = scop(*TWICE)
    combined = combine_updates(source)
    program = privatise(combined, analyse(combined), "S1", LANES)
    assert program is not None
    changed = moved(source, "S1", "x", "[i] -> [i + 1]")
    assert any("in the source, " in fault for fault in faults(changed, program))


def test_the_proof_of_a_compilation_includes_partial_results(scop: Callable[..., Scop]) -> None:
    source = scop(*ROWS)
    program = privatised(source, LANES)

    def proven(program: Scop) -> Compilation:
        state = Compilation(program, Options(), machine_of(Options().arch), source)
        for stage in (find_dependences, find_schedule, choose_storage, prove_legality):
            state = stage(state)
        return state

    proof = proven(program).proof
    assert proof is not None
    fact = "the sum of S0 into x is regrouped: 32 partial accumulators"
    assert fact in proof.facts
    with pytest.raises(InternalError, match=f"{fact}, and S0_init does not"):
        proven(starts_at_one(program, program.privatised[0]))


TRIANGLE = (
    "int n, double A[n][n], double s[1]",
    "for (int i = 0; i < n; i++) for (int j = i + 1; j < n; j++) s[0] += A[i][j];",
)
PAIRS = (Split(0, 4, False), Split(1, 4, True, 2))


@pytest.mark.slow(but="j = i + 1 and i = n - 2")
@pytest.mark.parametrize("lost", ["i = 6 and j = n - 1", "i = 3 and j = 5 and n > 9", "j = i + 1 and i = n - 2"])
def test_one_value_of_a_triangle_is_lost(scop: Callable[..., Scop], lost: str) -> None:
    """Lanes of two neighbours each, where values have many kinds of successors: one value is written elsewhere."""
    source = scop(*TRIANGLE)
    program = privatised(source, PAIRS)
    assert faults(source, program) == []
    made = program.privatised[0]

    def change(access: AccessRelation) -> AccessRelation:
        if access.array != made.partial or access.kind is not AccessKind.WRITE:
            return access
        here = isl.Set(f"[n] -> {{ {made.update}[i, j] : {lost} }}")
        lane = access.relation.dim(isl.dim_type.out) - 1
        away = access.relation.intersect_domain(here).eliminate(isl.dim_type.out, lane, 1)
        away = away.fix_val(isl.dim_type.out, lane, isl.Val(7))
        return replace(access, relation=access.relation.subtract_domain(here).union(away))

    changed = with_statement(program, made.update, lambda s: replace(s, accesses=tuple(map(change, s.accesses))))
    assert any("lost" in fault for fault in faults(source, changed))
