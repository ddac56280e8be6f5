"""Pieces of programs as people write them: all of them turn up, and what would be undefined is no program."""

from __future__ import annotations

from collections import Counter

import pytest

from polytile.cli.main import main
from polytile.diagnostics import EXIT_USAGE
from polytile.fuzz.case import case_of, jumps
from polytile.fuzz.evaluate import with_known
from polytile.fuzz.printing import c_text
from polytile.fuzz.tree import (
    Advance,
    Array,
    Assign,
    Choice,
    Clamped,
    Compare,
    Counting,
    Element,
    Entry,
    Escape,
    Function,
    Index,
    JumpOver,
    Leave,
    Let,
    Literal,
    Loop,
    Name,
    Num,
    Place,
    Position,
    PostStep,
    Program,
    Row,
    Statement,
    Sum,
    Sweep,
    Switch,
    Until,
    Update,
    Wrapped,
)
from polytile.fuzz.walking import walk
from polytile.fuzz.wellformed import well_formed

ARRAYS = (
    Array("A", "double", 1, "vla"),
    Array("idx", "int", 1, "vla", False, "index"),
    Array("cells", "struct site", 1, "vla"),
)
ZERO = Literal("0")
N, I = Name("n"), Name("i")  # noqa: E741


def program(*body: Statement, known: tuple[Let, ...] = ()) -> Program:
    return Program(ARRAYS, (Function("f", (body,), known),))


def loop(*body: Statement, form: str = "<", low: Index = Num(0)) -> Loop:  # noqa: B008
    return Loop("i", low, N, form=form, body=body, type="" if form in ("while", "do") else "int")


def store(*subscripts: Index) -> Assign:
    return Assign((Element("A", subscripts),), ZERO)


@pytest.mark.slow
def test_all_of_them_turn_up() -> None:
    seen: Counter[object] = Counter()
    for index in range(300):
        case = case_of(1, index, family="pieces")
        assert well_formed(case.program)
        seen.update({name for n in walk(case.program) for name in names_of(n)})
        seen["known"] += any(f.known for f in case.program.functions)
        seen["loose"] += not case.choices.strict
    often: tuple[object, ...] = (Let, Counting, Advance, JumpOver, Until, Choice, Clamped, Entry, "known", "continue")
    for wanted in (*often, "break"):
        assert seen[wanted] >= 10, wanted
    for wanted in (
        Wrapped,
        Place,
        PostStep,
        Switch,
        "while",
        "do",
        "row",
        "histogram",
        "stride",
        "inner row",
        "inside",
        "loose",
    ):
        assert seen[wanted] >= 3, wanted


def names_of(node: object) -> list[object]:
    """What a node is counted as."""
    match node:
        case Leave(word):
            return [word]
        case Loop():
            return [node.form, *(["row"] if isinstance(node.high, Entry) else []), *(["stride"] if node.stride else [])]
        case Row() | Sweep() if node.start is not None:
            return ["inner row"]
        case Update() if any(isinstance(n, Entry) for n in walk(node.target)):
            return ["histogram"]
        case Element() if node.inside:
            return ["inside"]
    return [type(node)]


def test_families_have_programs_of_their_own() -> None:
    texts = {family: c_text(case_of(2, 7, family=family).program) for family in ("nests", "stencils", "pieces")}
    assert len(set(texts.values())) == 3
    assert main(["fuzz", "--family", "planted"]) == EXIT_USAGE


COUNTED = Counting("c", Num(0), (loop(store(Name("c")), Advance("c", 2)),))
DEFINED = {
    "a variable for a subscript": program(loop(Let("v", Sum(I, Num(1))), store(Name("v")))),
    "a counter": program(COUNTED),
    "a variable for a counter": program(
        Counting("c", Num(0), (loop(Let("v", Sum(Name("c"), Num(1))), store(Name("v")), Advance("c", 1)),))
    ),
    "a counter in the target": program(Counting("c", N, (loop(store(PostStep("c"))),))),
    "around": program(loop(store(Wrapped(Sum(I, Num(1)), N)))),
    "continue": program(loop(Leave("continue", Compare(I, "<", N)), store(I))),
    "break from while": program(loop(Leave("break", Compare(I, "<", N)), store(I), form="while")),
    "a field": program(loop(Assign((Element("cells", (I,), "v", (Num(2),)),), ZERO))),
    "an index that is read": program(loop(store(Entry("idx", (I,))))),
    "known before": program(Loop("i", Num(0), Name("end"), body=(store(I),)), known=(Let("end", Sum(N, Num(1))),)),
    "a switch": program(loop(Switch(I, ((store(I),), (store(I),)), (0,)))),
    "out of a loop": program(Escape("l", loop(Leave("goto", Compare(I, "<", N), "l"), store(I)))),
    "an index that is written": program(loop(Assign((Element("idx", (I,)),), Position(I)))),
    "a jump": program(loop(JumpOver(Compare(I, "<", N), "l", (store(I),)))),
}
UNDEFINED = {
    "a label that is not behind": program(loop(Leave("goto", Compare(I, "<", N), "l"), store(I))),
    "what is no index": program(loop(Assign((Element("idx", (I,)),), Position(Sum(I, Num(2)))))),
    "a last case that falls": program(loop(Switch(I, ((store(I),), (store(I),)), (1,)))),
    "a variable out of its block": program(loop(Let("v", I), store(Name("v"))), store(Name("v"))),
    "a counter that nothing declares": program(loop(Advance("c", 1))),
    "a counter that moves by a product of sizes": program(
        Counting("c", Num(0), (Loop("j", Num(0), Name("m"), body=(loop(Advance("c", 1)),)),))
    ),
    "a counter twice in a statement": program(
        Counting("c", Num(0), (loop(Assign((Element("A", (Sum(PostStep("c"), Name("c")),)),), ZERO)),))
    ),
    "a remainder by what may be 0": program(Loop("i", Num(0), Num(4), body=(store(Wrapped(I, N)),))),
    "continue in while": program(loop(Leave("continue", Compare(I, "<", N)), store(I), form="while")),
    "break without a loop": program(Leave("break", Compare(N, "<", Num(1))), store(Num(0))),
    "beyond a field": program(loop(Assign((Element("cells", (I,), "v", (Num(3),)),), ZERO))),
    "entries of what holds no indices": program(loop(store(Entry("A", (I,))))),
    "a step that may be 0": program(Loop("i", Num(0), N, stride=Name("m"), body=(store(I),))),
    "a jump over a declaration": program(loop(JumpOver(Compare(I, "<", N), "l", (Let("v", I), store(I))))),
}


@pytest.mark.parametrize("drawn", DEFINED.values(), ids=DEFINED)
def test_what_c_defines_is_a_program(drawn: Program) -> None:
    assert well_formed(drawn)
    assert c_text(drawn)


@pytest.mark.parametrize("drawn", UNDEFINED.values(), ids=UNDEFINED)
def test_what_c_does_not_define_is_none(drawn: Program) -> None:
    assert not well_formed(drawn)


def test_extents_follow_counters() -> None:
    assert "double A[2 * n + 1]" in c_text(program(COUNTED))
    inner = Loop("j", Num(0), Num(3), body=(store(PostStep("c")),))
    assert "double A[3 * n + 2]" in c_text(program(Counting("c", Num(1), (loop(inner),))))


def test_what_sizes_determine_is_given_to_validation() -> None:
    strided = Loop("b", Num(1), N, stride=Sum(Name("m"), Num(1)), body=(store(Name("b")),))
    drawn = program(strided, known=(Let("less", N, True, ">", Name("m")),))
    assert with_known(drawn, {"n": 8, "m": 2, "k": 0}) == {"n": 8, "m": 2, "k": 0, "less": 2, "b_trips": 3}
    assert with_known(drawn, {"n": 0, "m": 2, "k": 0})["b_trips"] == 0


def test_conditions_on_integers_and_inputs_do_not_jump() -> None:
    strict = [case for index in range(60) if jumps((case := case_of(1, index, family="pieces")).program)]
    assert all(case.choices.strict for case in strict) and len(strict) < 60
