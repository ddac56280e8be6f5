"""The parts of a report: colours, trees, pictures, cuts and figures."""

from __future__ import annotations

import os

import pytest

import polytile
from polytile.drawing.time_limit import pictures_within
from polytile.facts import CodePartKind
from polytile.facts.build import code_parts
from polytile.report import words
from polytile.report.code_view import kernels
from polytile.report.highlight import c_lines, clean, lines_of
from polytile.report.pictures import inlined
from polytile.report.schedule_view import tree_of

COPY = """void f(int n, double a[n], double b[n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        b[i] = 2 * a[i];
#pragma endscop
}
"""
SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30"><clipPath id="t"/><path clip-path="url(#t)"/></svg>'
)
TREE = """domain: "[n] -> { S0[i] : 0 <= i < n; S1[i] : 0 <= i < n }"
child:
  mark: "kernel"
  child:
    schedule: "[n] -> [{ S0[i] -> [(floor((i)/32))]; S1[i] -> [(floor((i)/32))] }]"
    permutable: 1
    coincident: [ 1 ]
    child:
      sequence:
      - filter: "[n] -> { S0[i] }"
      - filter: "[n] -> { S1[i] }"
        child:
          schedule: "[n] -> [{ S1[i] -> [((i) mod 32)] }]"
"""


def test_lines_are_complete_in_themselves() -> None:
    lines = c_lines("/* a\n b */ int x = 1;\n\nx < 2 && y;\n")
    assert lines[0] == '<i class="c">/* a</i>'
    assert lines[1] == '<i class="c"> b */</i> <i class="t">int</i> x = <i class="n">1</i>;'
    assert lines[2] == "" and len(lines) == 4
    assert "&lt; <i" in lines[3] and "&amp;&amp;" in lines[3]
    assert c_lines("") == []


@pytest.mark.parametrize("text", ["a", "a\n", "a\r\nb", "a\rb\n", "\n\n", 'x "\n', "a\fb\x85\u2028c\n", "\\\n#if\n"])
def test_as_many_lines_as_c_has(text: str) -> None:
    assert len(c_lines(text)) == len(lines_of(text))


def test_bytes_that_are_no_text() -> None:
    read = b"\xe9\x81\x00\x1b".decode("utf-8", "surrogateescape")
    assert clean(read) == "é\ufffd\ufffd\ufffd"
    assert clean("\ud900") == "\ufffd"


def test_a_schedule_tree() -> None:
    tree = tree_of(TREE)
    assert tree is not None
    assert [(s.kind, s.lines, s.note) for s in tree.steps] == [
        ("domain", ("S0[i] : 0 <= i < n", "S1[i] : 0 <= i < n"), ""),
        ("mark", ("kernel",), ""),
        ("band", ("floor(i/32)",), "permutable, coincident 1"),
    ]
    assert (tree.joined, [branch.title for branch in tree.branches]) == ("sequence", ["S0", "S1"])
    assert tree.branches[1].steps[-1].lines == ("i mod 32",)
    assert tree_of("") is None


def test_pictures_of_one_page_share_no_identifier() -> None:
    first, second = inlined(SVG, "0"), inlined(SVG, "1")
    assert 'id="p0-t"' in first and "url(#p0-t)" in first and 'id="p1-t"' in second
    assert "http" not in first and 'viewBox="0 0 40 30"' in first and "max-width:40px" in first
    assert inlined(SVG.replace("<clip", "<style>*{fill:red}</style><clip"), "0").startswith(
        '<img src="data:image/svg+xml'
    )
    assert inlined("", "0") == "" and inlined(SVG + " " * 500_000 + ".", "0") == ""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that fork")
def test_pictures_have_little_time() -> None:
    scops = [(scop.compilation, scop.loops) for scop in polytile.compile(COPY)]
    late = "drawing takes longer than a report may"
    assert pictures_within(scops, 0.0) == {"f_scop0": (("", f"of tiles: {late}"), ("", f"of iterations: {late}"))}
    for svg, reason in pictures_within(scops, 20)["f_scop0"]:
        assert svg.startswith("<svg") and not reason


def test_long_kernels_are_cut() -> None:
    program = polytile.compile(COPY)
    (whole,) = kernels(program.facts.scops[0], program.path, {5}, 2000)
    (start,) = kernels(program.facts.scops[0], program.path, {5}, 3)
    assert whole.left_out == 0 and len(start.lines) == 3 and start.left_out == whole.count - 3
    assert start.lines == whole.lines[:3]


def test_functions_are_found_with_their_comments() -> None:
    text = (
        '// a\nint x;\n\n// one\n// two\nextern "C" __global__ void __launch_bounds__(64) f_k0(int n,\n  int m)\n{\n}\n'
    )
    text += '\nextern "C" int f(int n)\n{\n    {\n    }\n}\n'
    found = [(part.name, part.kind, part.first_line, part.last_line) for part in code_parts(text)]
    assert found == [("f_k0", CodePartKind.KERNEL, 4, 9), ("f", CodePartKind.ENTRY, 11, 15)]
    assert code_parts("") == ()


def test_every_kernel_has_its_text() -> None:
    facts = polytile.compile(COPY).facts.scops[0]
    assert [p.name for p in facts.parts if p.kind is CodePartKind.KERNEL] == [k.name for k in facts.kernels]
    assert {origin.source_line for origin in facts.origins} == {5}


def test_figures() -> None:
    assert [words.duration(t) for t in (None, 0.0, 12.34, 1100.9, 16_400, 2_500_000)] == [
        "\u2013", "0 \u00b5s", "12.3 \u00b5s", "1.1 ms", "16.4 ms", "2.5 s",
    ]  # fmt: skip
    assert words.values((("n", 5), ("m", 5), ("k", 2)), ("k",)) == "n = m = 5, k = 2 (assumed)"
    assert words.counted(1, "kernel") == "1 kernel" and words.counted(0, "kernel") == "0 kernels"
