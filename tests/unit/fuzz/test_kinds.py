"""Sizes at the ends of types, structs with layouts and static variables: they turn up, and stay within arrays."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from polytile.fuzz.case import case_of
from polytile.fuzz.evaluate import with_known
from polytile.fuzz.large_sizes import COMPARED, LARGE, STARTS
from polytile.fuzz.printing import c_text
from polytile.fuzz.structs import ENUMS, LAYOUTS, STRUCTS, laid_out
from polytile.fuzz.tree import Array, Assign, Element, Function, LargeCompare, Literal, Loop, Name, Num, Program
from polytile.fuzz.walking import walk
from polytile.fuzz.wellformed import well_formed

LAID_OUT = {laid_out(layout, ctype): layout for layout in LAYOUTS for ctype in ENUMS}


def over(form: str, start: str, low: int = 0, step: int = 1) -> Program:
    store = Assign((Element("A", (Name("i"),)),), Literal("0"))
    compare = LargeCompare("{i} + 3u < {size}", Name("i"), "most")
    loop = Loop("i", Num(low), Name("n"), step, form, (store,), compare, STARTS[start].type, None, start)
    return Program((Array("A", "double", 1, "vla"),), (Function("f", ((loop,),)),))


@pytest.mark.slow
def test_all_kinds_turn_up_and_are_built_as_a_whole() -> None:
    seen: Counter[str] = Counter()
    for index in range(300):
        case = case_of(2, index)
        nodes = list(walk(case.program.functions))
        found = [n.size for n in nodes if isinstance(n, LargeCompare)]
        found += [n.start for n in nodes if isinstance(n, Loop) and n.start not in ("", "t0")]
        found += [LAID_OUT[a.type] for a in case.program.arrays if a.type in LAID_OUT]
        found += [a.form for a in case.program.arrays if a.form == "kept"]
        assert not found or (case.whole and case.choices.strict and well_formed(case.program))
        seen.update(set(found))
    assert seen.keys() >= {*COMPARED, *STARTS.keys() - {"t0"}, *LAYOUTS, "kept"}


def test_large_sizes_are_arguments() -> None:
    text = c_text(over("!=", "u0"))
    assert "unsigned most, unsigned u0" in text
    assert "for (unsigned i = u0 + 0; i != u0 + n && (int)(i - u0) + 3u < most; i++)" in text
    assert "A[i - u0] = 0;" in text and "A[i + off] = 0;" in c_text(over("<", "signed off"))
    assert with_known(over("<", "off"), {"n": 3})["off"] == LARGE["off"].value


def test_offsets_that_wrap_around_are_ints_in_sums_of_subscripts() -> None:
    """With a `long n` the sum in `A[i * (n + 1) + i + off]` would not wrap around."""
    (function,) = over("<", "off").functions
    ((loop,),) = function.parts
    assert isinstance(loop, Loop)
    store = Assign((Element("A", (Name("i"), Name("i"))),), Literal("0"))
    parts = ((replace(loop, body=(store,)),),)
    program = Program((Array("A", "double", 2, "flat"),), (replace(function, parts=parts),), size_type="long")
    assert "+ (int)(i + off)] = 0;" in c_text(program)


def test_unsigned_iterators_reach_ends_that_do_not_wrap() -> None:
    assert well_formed(over("<", "u0")) and well_formed(over("<", "l0", step=3)) and well_formed(over(">=", "b0"))
    for wrong in (over("<", "u0", step=3), over("<=", "u0"), over("<", "u0", low=7), over("!=", "u0", low=1)):
        assert not well_formed(wrong)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_enumerations_are_of_the_sizes_and_signs_of_their_types(tmp_path: Path) -> None:
    source = tmp_path / "enums.c"
    lines = [STRUCTS[laid_out("enum", t)].text for t in ENUMS]
    for ctype in ENUMS:
        field = f"(({laid_out('enum', ctype)} *)0)->v"
        lines += [f'_Static_assert(sizeof {field} == sizeof({ctype}), "{ctype}");']
        lines += [f'_Static_assert(((__typeof__({field}))-1 < 0) == (({ctype})-1 < 0), "{ctype}");']
    source.write_text("\n".join(lines) + "\n")
    subprocess.run(["gcc", "-fsyntax-only", str(source)], check=True, timeout=60)
