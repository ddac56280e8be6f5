"""What is asked of the C compiler about types, and when."""

from __future__ import annotations

import pytest

from polytile.diagnostics import UserError
from polytile.frontend import host_layouts
from polytile.frontend.attributes import without_annotations
from polytile.frontend.program import read_program
from polytile.ir.scop import Scop

LOOP = "void f(int n)\n{{\n#pragma scop\n    for (int i = 0; i < n; i++) {};\n#pragma endscop\n}}\n"
PACKED = "struct __attribute__((packed)) s { char c; int x; } a[9];\n" + LOOP.format("a[i].x = i")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The commands that ask."""
    found: list[tuple[str, ...]] = []
    compiled = host_layouts._compiled

    def noted(compiler: host_layouts.Compiler, text: str, count: int) -> tuple[int, ...] | str:
        found.append(compiler.command)
        return compiled(compiler, text, count)

    monkeypatch.setattr(host_layouts, "_compiled", noted)
    host_layouts._answers.cache_clear()
    return found


def only(text: str, **options: object) -> Scop:
    (scop,) = read_program("f.c", text, **options).scops  # type: ignore[arg-type]
    return scop


@pytest.mark.parametrize(
    "declared",
    [
        "double b[9]; int a[9];",
        "double a[9] __attribute__((aligned(64))); [[maybe_unused]] static char c[9];",
        "enum e { A = 1 << 3, B = ~0, C } a[9]; struct plain { char c; int x; } s[9];",
        "struct __attribute__((packed)) unused { char c; int x; } *p; int a[9];",
    ],
)
def test_plain_types_cost_no_call(declared: str, asked: list[tuple[str, ...]]) -> None:
    only(f"{declared}\n{LOOP.format('a[i] = i')}")
    assert asked == []


def test_one_call_answers_all(asked: list[tuple[str, ...]]) -> None:
    more = "#pragma pack(1)\nstruct t { char c; int x; } b[9];\nenum e { L = 0x1ffffffffLL } d[9];\n"
    scop = only(more + PACKED.replace("a[i].x = i", "a[i].x = b[i].x + d[i]"))
    assert len(asked) == 1
    assert {a.name: (a.element.size, a.offsets) for a in scop.arrays} == {
        "a": (5, (0, 1)),
        "b": (5, (0, 1)),
        "d": (8, ()),
    }
    only(PACKED)
    only(PACKED)
    assert len(asked) == 2


def test_without_a_compiler_such_types_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    refused = read_program("f.c", PACKED, preprocessor="pcpp").refusals
    assert "its layout is not known: there is no C compiler to ask" in str(refused[0].error)
    with pytest.raises(UserError):
        raise refused[0].error
    plain = only("struct s { char c; int x; } a[9];\n" + LOOP.format("a[i].x = i"), preprocessor="pcpp")
    assert plain.array("a").element.size == 8 and plain.layouts


def test_attributes_are_blanks_to_the_parser() -> None:
    attributes = '[[gnu::packed, deprecated("a, b")]]', "__attribute((__aligned__(8), unused))"
    line = f'struct {attributes[0]} s {{ int x {attributes[1]}; }}; char *t = "[[x]]";'
    (plain,), found = without_annotations([line])
    assert len(plain) == len(line) and "".join(plain.split()) == 'structs{intx;};char*t="[[x]]";'
    assert [(a.name, a.text) for a in found.attributes] == [
        ("packed", "packed"),
        ("deprecated", 'deprecated("a, b")'),
        ("aligned", "__aligned__(8)"),
        ("unused", "unused"),
    ]


LOW = "typedef double low __attribute__((aligned(4))); typedef low again, *leads; typedef double wide " + (
    "__attribute__((aligned(64))); struct s { double x; }; typedef struct s packed __attribute__((aligned(2)));\n"
    "struct member { int k; low x; low row[3]; };\n"
)
TAKES = """double b[9];
void f(int n, {})
{{
#pragma scop
    for (int i = 0; i < n; i++) b[i] = {};
#pragma endscop
}}
"""


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("low *a", "a[i]"),
        ("again a[n]", "a[i]"),
        ("leads a", "a[i]"),
        ("low (*a)[9]", "a[i][0]"),
        ("packed *a", "a[i].x"),
    ],
)
def test_pointers_to_less_aligned_elements_are_refused(parameter: str, value: str) -> None:
    """CUDA compilers load through them as if they were aligned."""
    (refused,) = read_program("f.c", LOW + TAKES.format(parameter, value)).refusals
    assert "its elements lie at multiples of" in str(refused.error)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("double *a", "a[i]"),
        ("wide *a", "a[0]"),
        ("struct s *a", "a[i].x"),
        ("struct member *a", "a[i].x + a[i].row[1]"),
        ("low a", "a * i"),
    ],
)
def test_other_uses_of_such_types_are_not(parameter: str, value: str) -> None:
    only(LOW + TAKES.format(parameter, value))
