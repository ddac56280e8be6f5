"""The shrinker: a planted failure ends as a few lines, and every variant on the way is a program."""

from __future__ import annotations

from functools import partial
from itertools import islice

import pytest

from polytile.fuzz.campaign import shrink
from polytile.fuzz.case import Case, case_of
from polytile.fuzz.outcome import AGREED, Outcome, outcome_of, template
from polytile.fuzz.printing import c_text
from polytile.fuzz.simplify import cost, simpler
from polytile.fuzz.tree import Loop, Program, Remainder, Update
from polytile.fuzz.walking import walk
from polytile.fuzz.wellformed import well_formed

FAILURE = Outcome("crash", "planted", "planted", sizes=0, strategy="classic")


def planted(kind: type, case: Case) -> Outcome:
    """Fails for programs with a node of this kind in a loop."""
    inside = any(isinstance(n, kind) for loop in walk(case.program) if isinstance(loop, Loop) for n in walk(loop.body))
    return FAILURE if inside else Outcome(AGREED)


def first_failing(kind: type) -> Case:
    return next(c for c in (case_of(1, index) for index in range(200)) if planted(kind, c).failed)


@pytest.mark.parametrize("kind", [Update, Remainder], ids=lambda k: k.__name__)
def test_a_planted_failure_is_shrunk_to_a_loop_with_one_statement(kind: type) -> None:
    case = first_failing(kind)
    small = shrink(case, FAILURE, partial(planted, kind), seconds=60)
    assert planted(kind, small).same_as(FAILURE)
    assert cost(small) < cost(case)
    (function,) = small.program.functions
    ((loop,),) = function.parts
    assert isinstance(loop, Loop) and len(loop.body) == 1 and not isinstance(loop.body[0], Loop)
    assert len(small.sizes) == 1 and small.strategies == ("classic",) and not small.choices.tile
    assert len(c_text(small.program).splitlines()) <= 20


@pytest.mark.slow
def test_only_the_same_failure_counts() -> None:
    case = first_failing(Update)

    def other_when_smaller(candidate: Case) -> Outcome:
        return FAILURE if candidate == case else Outcome("crash", "another")

    assert shrink(case, FAILURE, other_when_smaller, seconds=60) == case


def test_time_is_bounded() -> None:
    case = first_failing(Update)
    assert shrink(case, FAILURE, partial(planted, Update), seconds=0).program == case.program


@pytest.mark.slow(but="4")
@pytest.mark.parametrize("index", range(12))
def test_variants_are_programs_or_known_not_to_be(index: int) -> None:
    case = case_of(2, index)
    variants = [v for v in islice(simpler(case), 400) if well_formed(v.program)]
    assert variants
    for variant in variants:
        assert isinstance(variant.program, Program)
        assert "{0}" not in c_text(variant.program)


def test_messages_are_told_apart_without_names_and_numbers() -> None:
    one = template("the subscript `A[i]` of `x` is 17 bytes")
    assert one == template("the subscript `B[j + 1]` of `y` is 3 bytes") == "the subscript _ of _ is # bytes"
    failure = outcome_of(ZeroDivisionError("planted"), 2, "classic")
    assert (failure.kind, failure.sizes, failure.strategy) == ("crash", 2, "classic")
    assert failure.failed and "ZeroDivisionError" in failure.key
