"""Symbols: types, extents, aliasing, and what they refuse."""

from __future__ import annotations

import pytest
from pycparser.c_generator import CGenerator

from polytile.diagnostics import UserError
from polytile.frontend.scop_region import Region, Symbol
from polytile.frontend.source import read_regions


def _region(text: str) -> Region:
    (region,) = read_regions("x.c", text)
    return region


def _symbol(declarations: str, parameters: str, body: str, name: str, before: str = "") -> Symbol:
    text = f"{declarations}\nvoid f({parameters})\n{{\n{before}\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
    return _region(text).symbols[name]


def _extents(symbol: Symbol) -> list[str | None]:
    return [None if e is None else CGenerator().visit(e) for e in symbol.extents]


SHAPES = [
    ("double a[n][m]", "a[0][0] = 1;", ["n", "m"], True, False),
    ("double a[][m]", "a[0][0] = 1;", [None, "m"], True, False),
    ("double (*a)[m]", "a[0][0] = 1;", [None, "m"], True, False),
    ("double (*restrict a)[m]", "a[0][0] = 1;", [None, "m"], True, True),
    ("double a[restrict n]", "a[0] = 1;", ["n"], True, True),
    ("double a[static n]", "a[0] = 1;", ["n"], True, False),
    ("double *restrict a", "a[0] = 1;", [None], True, True),
    ("const float *a", "n = a[0];", [None], True, False),
    ("vector a", "a[0] = 1;", ["8"], True, False),
    ("int a", "n = a;", [], False, False),
    ("double a[n + 2 * N][N * 3]", "a[0][0] = 1;", ["n + (2 * 4)", "12"], True, False),
]


@pytest.mark.parametrize(("parameter", "body", "extents", "pointer", "restrict"), SHAPES)
def test_shapes_of_parameters(
    parameter: str, body: str, extents: list[str | None], pointer: bool, restrict: bool
) -> None:
    symbol = _symbol("enum { N = 4 };\ntypedef double vector[8];", f"int n, int m, {parameter}", body, "a")
    assert _extents(symbol) == extents
    assert (symbol.pointer, symbol.restrict, symbol.scope) == (pointer, restrict, "parameter")


def test_globals_and_typedefs() -> None:
    symbol = _symbol("typedef float real;\nstatic real a[10][3 + 1];", "int n", "a[0][0] = n;", "a")
    assert (symbol.type.name, _extents(symbol), symbol.scope) == ("float", ["10", "4"], "global")
    assert (symbol.pointer, symbol.live_before, symbol.live_after) == (False, True, True)


def test_extents_from_an_initialiser_and_a_repeated_declaration() -> None:
    assert _extents(_symbol("double a[] = {1, 2, 3};", "int n", "a[0] = n;", "a")) == ["3"]
    assert _extents(_symbol("double a[5];\nextern double a[];", "int n", "a[0] = n;", "a")) == ["5"]


def test_structs_give_their_numbers_and_a_definition() -> None:
    text = """
    typedef double real;
    struct cell { real v, w; struct cell *next; int tag[3]; };
    void f(int n, struct cell *a)
    {
    #pragma scop
        for (int i = 0; i < n; i++) a[i].v = a[i].w;
    #pragma endscop
    }
    """
    region = _region(text)
    assert [name for name, _ in region.symbols["a"].fields] == ["v", "w", "tag[0]", "tag[1]", "tag[2]"]
    assert region.symbols["a"].type.size == 40
    assert region.definitions == "struct cell {\n  double v;\n  double w;\n  void *next;\n  int tag[3];\n};"
    assert region.types["struct cell"].size == 40


def test_fresh_pointers_do_not_alias() -> None:
    before = "#include <stdlib.h>\n"
    owned = _symbol(before, "int n", "a[0] = n;", "a", "double *a = malloc(n * sizeof(double));")
    assert owned.restrict
    later = _symbol(
        before, "int n", "a[0] = n;", "a", "double *a; a = (double *) malloc(n * sizeof *a); if (!a) return;"
    )
    assert later.restrict


SHARED = [
    "double *a = malloc(n), *b = a + 1;",
    "double *a = malloc(n); a = a + 1;",
    "double *a = malloc(n); double *b; b = &a[1];",
    "double *a = malloc(n); double **p = &a; *p = 0;",
    "double *a = malloc(n); g = a;",
    "double *a = g;",
    "double *a = malloc(n); a++;",
    "double *a = malloc(n); g = n ? a : g;",
]


@pytest.mark.parametrize("before", SHARED)
def test_copied_pointers_may_alias(before: str) -> None:
    symbol = _symbol("#include <stdlib.h>\ndouble *g;", "int n", "a[0] = g[0];", "a", before)
    assert not symbol.restrict


def test_a_pointer_passed_on_aliases_only_unknown_pointers() -> None:
    before = "double *a = malloc(n); init(a);"
    start = "#include <stdlib.h>\ndouble *g; void init(double *p);"
    assert _symbol(start, "int n", "a[0] = 1;", "a", before).restrict
    assert not _symbol(start, "int n", "a[0] = g[0];", "a", before).restrict


def test_a_size_that_changes_is_refused_or_forgotten() -> None:
    with pytest.raises(UserError, match="the size of 'a' depends on 'm'"):
        _symbol("", "int n, int m", "a[0][0] = 1;", "a", "double a[n][m]; m = 3;")
    # The outermost extent of a parameter does not matter for its layout.
    assert _extents(_symbol("", "int n, int m, double a[n][m]", "a[0][0] = 1;", "a", "n = 3;")) == [None, "m"]


def test_a_size_that_another_variable_hides_is_refused() -> None:
    text = """
    void f(int n, int m, double a[n][m])
    {
        int k = n;
        {
            int m = 3 + k;
    #pragma scop
            a[0][0] = m;
    #pragma endscop
        }
    }
    """
    with pytest.raises(UserError, match="the size of 'a' depends on 'm'"):
        _region(text)


def test_constants_are_folded_and_shadowed_names_are_not() -> None:
    text = """
    enum { N = 4 };
    static const int W = N + 1;
    void f(double a[9])
    {
    #pragma scop
        a[0] = N + W + sizeof(double);
        { int N = 1; a[1] = N; }
    #pragma endscop
    }
    """
    (first, second) = _region(text).body
    assert CGenerator().visit(first) == "a[0] = (4 + 5) + 8UL"
    assert "a[1] = N" in CGenerator().visit(second)


def test_iterators_and_locals_may_have_a_function_s_name() -> None:
    text = """
    double g(double x);
    void f(int n, double a[n])
    {
    #pragma scop
        for (int f = 0; f < n; f++) {
            double g = a[f];
            a[f] = g + f;
        }
    #pragma endscop
    }
    """
    assert set(_region(text).symbols) == {"a", "n"}


def test_a_function_s_name_before_its_declaration_in_the_scop_is_refused() -> None:
    text = """
    void f(int n, double a[n])
    {
    #pragma scop
        a[0] = f;
        for (int f = 0; f < n; f++)
            a[f] = f;
    #pragma endscop
    }
    """
    with pytest.raises(UserError, match="it is a function"):
        _region(text)
