"""Copies at the end of steps: which are found and what becomes of them; wrong programs without them are refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import islpy as isl
import pytest

from polytile.ir.scop import AccessKind, AccessRelation, Scop, Statement
from polytile.scheduling.analysis.copy_back import CopyBack, copy_back
from polytile.scheduling.analysis.dependences import analyse
from polytile.scheduling.proof.dataflow import changed_values
from polytile.scheduling.transform.copy_back_elimination import apply_copy_back, eliminate_copy_back

ARGUMENTS = "int n, int T, int s, double A[n], double B[n], double C[n]"
INNER = "for (int i = 1; i < n - 1; i++)"
JACOBI = f"for (int t = 0; t < T; t++) {{ {INNER} B[i] = A[i-1] + A[i] / 2 + A[i+1]; {INNER} A[i] = B[i]; }}"

FOUND = {
    "jacobi": JACOBI,
    "steps from one": JACOBI.replace("t = 0; t < T", "t = 1; t <= T"),
    "steps of two": JACOBI.replace("t++", "t += 2"),
    "steps counted down": JACOBI.replace("t = 0; t < T; t++", "t = T; t > 0; t--"),
    "steps from a parameter": JACOBI.replace("t = 0", "t = s"),
    "read again behind the copy": JACOBI[:-1] + f"{INNER} C[i] = A[i-1] + B[i]; }}",
    "read in front": JACOBI.replace("{ for", f"{{ {INNER} C[i] += A[i+1]; for", 1),
    "in two statements": JACOBI.replace(f"{INNER} A[i] = B[i];", f"{INNER} B[i] += C[i]; {INNER} A[i] = B[i];"),
    "nothing at the border": JACOBI.replace("A[i-1] + A[i] / 2 + A[i+1]", "A[i] / 2"),
}
REFUSED = {
    "another element": JACOBI.replace("A[i] = B[i]", "A[i] = B[n - 1 - i]"),
    "more than a copy": JACOBI.replace("A[i] = B[i]", "A[i] = B[i] + 1"),
    "less than what is made": JACOBI.replace(f"{INNER} A[i]", "for (int i = 2; i < n - 1; i++) A[i]"),
    "more than what is made": JACOBI.replace(f"{INNER} A[i]", "for (int i = 0; i < n - 1; i++) A[i]"),
    "the temporary of an earlier step": JACOBI.replace("+ A[i+1]", "+ A[i+1] + B[i]"),
    "the temporary's border": JACOBI[:-1] + f"{INNER} C[i] = B[i-1]; }}",
    "the array changes otherwise": JACOBI[:-1] + f"{INNER} A[i] += C[i]; }}",
    "another loop over the array": f"{JACOBI} for (int i = 0; i < n; i++) A[i] += 1;",
    "in every other step": JACOBI.replace(f"{INNER} A[i]", f"if (t % 2 == 0) {INNER} A[i]"),
    "steps by numbers that go down": JACOBI.replace("t = 0; t < T; t++", "t = T; t > 0; t--").replace("/ 2", "/ t"),
    "other elements in each step": JACOBI.replace("i < n - 1", "i < n - 1 - t"),
    "under a condition": JACOBI.replace("A[i] = B[i];", "if (B[i] > 0) A[i] = B[i];"),
    "in one loop with what makes it": f"for (int t = 0; t < T; t++) {INNER} {{ B[i] = A[i-1] + A[i+1]; A[i] = B[i]; }}",
}


def found_in(scop: Scop) -> list[CopyBack]:
    dependences = analyse(scop)
    return [one for s in scop.main if (one := copy_back(scop, dependences, s.name)) is not None]


@pytest.mark.parametrize("name", FOUND)
def test_copies_back_are_found_and_left_out(scop: Callable[..., Scop], name: str) -> None:
    source = scop(ARGUMENTS, FOUND[name])
    (one,) = found_in(source)
    assert (one.array, one.temporary) == ("A", "B")
    made = eliminate_copy_back(source, analyse(source))
    assert made is not None
    assert one.statement not in {s.name for s in made.scop.statements}
    used = {a.array for s in made.scop.main for a in s.accesses}
    assert "A_v" in used and not {"A", "B"} & used
    assert changed_values(source, analyse(source), made.scop, made.dependences) == ()


@pytest.mark.parametrize("name", REFUSED)
def test_other_statements_are_no_copies_back(scop: Callable[..., Scop], name: str) -> None:
    source = scop(ARGUMENTS, REFUSED[name])
    assert found_in(source) == []
    assert eliminate_copy_back(source, analyse(source)) is None


def test_a_copy_to_another_type_rounds(scop: Callable[..., Scop]) -> None:
    source = scop("int n, int T, float A[n], double B[n]", JACOBI)
    assert found_in(source) == []


def test_a_temporary_of_the_scop_itself_goes(scop: Callable[..., Scop]) -> None:
    body = JACOBI.replace("B[i]", "b[i]")
    source = scop("int n, int T, double A[n]", f"{{ double b[n]; {body} }}")
    made = eliminate_copy_back(source, analyse(source))
    if made is None:  # where the declaration counts as a use outside the steps
        assert found_in(source) == []
    else:
        assert "b" not in {a.name for a in made.scop.arrays}


def test_two_arrays_are_copied_back(scop: Callable[..., Scop]) -> None:
    body = f"""for (int t = 0; t < T; t++) {{
        {INNER} {{ B[i] = A[i-1] + C[i+1]; D[i] = C[i-1] - A[i]; }}
        {INNER} A[i] = B[i];
        {INNER} C[i] = D[i];
    }}"""
    source = scop(f"{ARGUMENTS}, double D[n]", body)
    made = eliminate_copy_back(source, analyse(source))
    assert made is not None and len(made.notes) == 2
    assert changed_values(source, analyse(source), made.scop, made.dependences) == ()


# Wrong programs -----------------------------------------------------------------------------------------------------
def on_accesses(name: str, change: Callable[[AccessRelation], AccessRelation]) -> Callable[[Scop], Scop]:
    def apply(scop: Scop) -> Scop:
        def changed(statement: Statement) -> Statement:
            if statement.name != name:
                return statement
            return replace(statement, accesses=tuple(map(change, statement.accesses)))

        return replace(scop, statements=tuple(map(changed, scop.statements)))

    return apply


def moved(access: AccessRelation, array: str, kind: AccessKind, to: str) -> AccessRelation:
    """The elements of an access to an array moved; `to` is for `[v, i]`, or `[i]`."""
    if (access.array, access.kind) != (array, kind):
        return access
    dims = "v, i" if access.relation.dim(isl.dim_type.out) == 2 else "i"
    move = isl.Map(f"[n] -> {{ {array}[{dims}] -> {array}[{to}] }}")
    return replace(access, relation=access.relation.apply_range(move))


def with_domain(name: str, text: str, scop: Scop) -> Scop:
    """The statement on other instances, as `text` says of its dimensions `[e0]` or `[e0, e1]`."""
    statement = scop.statement(name)
    domain = isl.Set(f"[T, n, s] -> {{ {text} }}").intersect_params(scop.context)
    others = replace(statement, domain=domain)
    statements = tuple(others if s.name == name else s for s in scop.statements)
    schedule = isl.Schedule.from_domain(isl.UnionSet.from_set(domain))
    mupa = isl.MultiUnionPwAff.from_multi_pw_aff(
        isl.MultiPwAff.identity(domain.get_space().map_from_set()).reset_tuple_id(isl.dim_type.out)
    )
    own = schedule.insert_partial_schedule(mupa)
    rest = scop.schedule.intersect_domain(scop.schedule.get_domain().subtract(isl.UnionSet.from_set(statement.domain)))
    order = own.sequence(rest) if name in scop.prologue else rest.sequence(own)
    return replace(scop, statements=statements, schedule=order)


def swap_operands(scop: Scop) -> Scop:
    statement = scop.statement("S0")
    first, second, *rest = statement.accesses
    swapped = replace(statement, accesses=(second, first, *rest))
    return replace(scop, statements=tuple(swapped if s.name == "S0" else s for s in scop.statements))


def lose(name: str, scop: Scop) -> Scop:
    statements = tuple(s for s in scop.statements if s.name != name)
    gone = isl.UnionSet.from_set(scop.statement(name).domain)
    schedule = scop.schedule.intersect_domain(scop.schedule.get_domain().subtract(gone))
    epilogue = tuple(s for s in scop.epilogue if s != name)
    prologue = tuple(s for s in scop.prologue if s != name)
    return replace(scop, statements=statements, schedule=schedule, epilogue=epilogue, prologue=prologue)


READ, WRITE = AccessKind.READ, AccessKind.WRITE
WRONG: Mapping[str, Callable[[Scop], Scop]] = {
    "reads the version that it writes": on_accesses("S0", lambda a: moved(a, "A_v", READ, "1 - v, i")),
    "writes the version that it reads": on_accesses("S0", lambda a: moved(a, "A_v", WRITE, "1 - v, i")),
    "reads a neighbour": on_accesses("S0", lambda a: moved(a, "A_v", READ, "v, i + 1")),
    "operands change places": swap_operands,
    "a border of one version only": lambda p: with_domain("S2", "S2[v, i] : v = 0 and 0 <= i < n and T > 0", p),
    "no border": lambda p: with_domain("S2", "S2[v, i] : 0 <= v < 2 and 0 < i < n - 1 and T > 0", p),
    "the temporary's border": on_accesses("S2", lambda a: in_array(a, "A", "B")),
    "the other version is left in A": on_accesses("S3", lambda a: moved(a, "A_v", READ, "1 - v, i")),
    "the other version is left in B": on_accesses("S4", lambda a: moved(a, "A_v", READ, "1 - v, i")),
    "A is not restored": lambda p: lose("S3", p),
    "B is not restored": lambda p: lose("S4", p),
    "the border of B is overwritten": lambda p: with_domain("S4", "S4[i] : 0 <= i < n and n >= 3 and T > 0", p),
    "a part of A is not restored": lambda p: with_domain("S3", "S3[i] : 2 <= i < n - 1 and T > 0", p),
    "B is restored without steps, from nowhere": lambda p: with_domain("S4", "S4[i] : 0 < i < n - 1", p),
    "the stencil is lost": lambda p: lose("S0", p),
    "elements are restored elsewhere": on_accesses("S3", lambda a: moved(a, "A", WRITE, "n - 1 - i")),
}


def in_array(access: AccessRelation, array: str, other: str) -> AccessRelation:
    if access.array != array:
        return access
    return replace(access, array=other, relation=access.relation.set_tuple_name(isl.dim_type.out, other))


@pytest.fixture
def source(scop: Callable[..., Scop]) -> Scop:
    return scop(ARGUMENTS, JACOBI)


@pytest.mark.slow(but=4)
@pytest.mark.parametrize("name", WRONG)
def test_wrong_versions_are_refused(source: Scop, name: str) -> None:
    (one,) = found_in(source)
    program = WRONG[name](apply_copy_back(source, one))
    assert changed_values(source, analyse(source), program, analyse(program)) != ()


def test_what_more_is_copied_as_it_was_does_no_harm(source: Scop) -> None:
    """A's border is the same in both versions, and may be left as it was read."""
    (one,) = found_in(source)
    program = with_domain("S3", "S3[i] : 0 <= i < n and n >= 3 and T > 0", apply_copy_back(source, one))
    assert changed_values(source, analyse(source), program, analyse(program)) == ()


def test_a_statement_that_computes_cannot_be_left_out(scop: Callable[..., Scop]) -> None:
    """Also where nobody reads what it makes: the element that can be seen is another one's."""
    source = scop("int n, double A[n], double B[n]", "for (int i = 0; i < n; i++) A[i] = 2 * B[i];")
    program = replace(source, statements=(), schedule=isl.Schedule.from_domain(isl.UnionSet("[n] -> { }")))
    assert [c.what for c in changed_values(source, analyse(source), program, analyse(program))][:1] == [
        "does not make values"
    ]


def test_a_copy_of_another_array_is_no_filling(scop: Callable[..., Scop]) -> None:
    source = scop(ARGUMENTS, FOUND["read in front"])
    (one,) = found_in(source)
    program = apply_copy_back(source, one)
    (filling,) = program.prologue
    program = on_accesses(filling, lambda a: in_array(a, "A", "C"))(program)
    assert "copies values" in {c.what for c in changed_values(source, analyse(source), program, analyse(program))}
