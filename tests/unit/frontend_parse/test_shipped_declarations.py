"""What polytile's own headers declare is parsed once: trees are those of the whole text but for functions that nothing
names, and nobody changes them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pycparser import c_ast

import polytile
from polytile.diagnostics import UserError
from polytile.frontend import parse as parsing
from polytile.frontend import shipped_declarations
from polytile.frontend.parse import ParsedFile, nodes_below, parse
from polytile.frontend.preprocess import Preprocessed, identifiers, is_shipped, preprocess
from polytile.frontend.shipped_declarations import Head, shipped_head

POLYBENCH = Path(__file__).resolve().parents[3] / "polybench"
HEADERS = Path(shipped_declarations.__file__).parent / "include"
LOOP = """void f(int n, double A[n])
{
#pragma scop
for (int i = 0; i < n; i++) A[i] = sqrt(A[i]);
#pragma endscop
}
"""
FILES = {
    "none": LOOP,
    "empty": "",
    "headers only": "#include <stdio.h>\n",
    "one": f"#include <math.h>\n{LOOP}",
    "a type of theirs": f"#include <stdint.h>\n#include <math.h>\nint64_t g(size_t n, uint8_t *p);\n{LOOP}",
    "on one line with another": f"#include <stddef.h>\nsize_t a; int b; {LOOP}",
    "others later": f"#include <stddef.h>\nint g(size_t);\n#include <math.h>\n#include <stdlib.h>\n{LOOP}",
    "inside of a declaration": f"static\n#include <math.h>\n{LOOP}",
    "behind comments and macros": f"/* a */\n#define M 3\n\n#include <math.h>\n// b\nint g(int a[M]);\n{LOOP}",
    "a type hidden by a variable": "#include <stddef.h>\nint f(int size_t) { return size_t * size_t; }\n",
    "a type without int": f"#include <math.h>\nstatic m = 3;\n{LOOP}",
    "parameters listed": "#include <math.h>\ndouble g(x) double x; { return sqrt(x); }\n",
    "their names are macros": f"#define sin cosine\n#include <math.h>\n{LOOP}",
    "a macro breaks them": f"#define double 3\n#include <math.h>\n{LOOP}",
    "an error": "#include <math.h>\nint f(void) { return 3 }\n",
    "an error at the end": "#include <math.h>\nint f(void) { return 3;\n",
    "a type of the same name as a function": "#include <math.h>\ntypedef int sqrt;\n",
    "a function of the same name as a type": "#include <stddef.h>\nint size_t(void);\n",
    "a function of the file's own": "#include <math.h>\ndouble cbrt(double x) { return -pow(-x, 1 / 3.0); }\n",
    "complex numbers": "#include <complex.h>\n#include <math.h>\ndouble f(double complex z) { return cabs(z); }\n",
}


def dump(parsed: ParsedFile) -> Iterator[tuple[object, ...]]:
    for node in (n for item in parsed.tree.ext for n in nodes_below(item)):
        own = [getattr(node, name) for name in node.attr_names]
        place = node.coord and (node.coord.file, node.coord.line, node.coord.column)
        yield type(node).__name__, own, place, [name for name, _ in node.children()]


def outcome(source: Preprocessed, without: frozenset[str] = frozenset()) -> object:
    """The tree, without the functions of polytile's headers that have some names; or what is wrong."""
    try:
        parsed = parse(source)
    except UserError as error:
        return str(error)
    parsed.tree.ext = [n for n in parsed.tree.ext if not (declared_function(n) in without and is_shipped(n.coord.file))]
    return list(dump(parsed))


def declared_function(node: c_ast.Node) -> str:
    is_function = isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.FuncDecl)
    return str(node.name) if is_function else ""


def unnamed(source: Preprocessed) -> frozenset[str]:
    """Words of the head that stand in no line behind it; none in files with complex numbers."""
    count = shipped_head(source, parsing._place).lines
    head, rest = (identifiers("\n".join(part)) for part in (source.lines.lines[:count], source.lines.lines[count:]))
    return frozenset() if "_Complex" in rest else head - rest


def compared(source: Preprocessed, monkeypatch: pytest.MonkeyPatch) -> None:
    without = unnamed(source)
    with monkeypatch.context() as patch:  # files are parsed as if polytile had no headers of its own
        patch.setattr(parsing, "shipped_head", lambda source, place: Head())
        expected = outcome(source, without)
    assert [outcome(source), outcome(source)] == [expected, expected]  # the second of what the first has parsed


@pytest.mark.slow(but=5)
@pytest.mark.parametrize("name", FILES)
def test_trees_and_errors_are_those_of_the_whole_text(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compared(preprocess("f.c", FILES[name]), monkeypatch)


def test_trees_of_benchmarks_are_those_of_the_whole_text(monkeypatch: pytest.MonkeyPatch) -> None:
    compared(preprocess(str(POLYBENCH / "polybench" / "correlation.c")), monkeypatch)


def test_files_share_the_declarations_and_leave_them_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped_declarations, "_known", type(shipped_declarations._known)())
    headers = "#include <math.h>\n#include <complex.h>\n#include <stdlib.h>\n#include <stdio.h>\n"
    first = parse(preprocess("f.c", headers + LOOP))
    before = list(dump(first))
    calls = 'double *p = malloc(n * sizeof *p); p[0] = fabs(A[0]); printf("%g", p[0]); free(p);'
    second = headers + LOOP.replace("{\n#", f"{{\n{calls}\n#").replace("sqrt(", "fmin(2, exp(")
    polytile.compile(second.replace("(A[i]);", "(A[i]));"), name="g.c")
    polytile.compile(headers + LOOP, name="f.c").explain()
    assert len(shipped_declarations._known) == 2  # what the two texts name
    assert list(dump(first)) == before
    again = parse(preprocess("f.c", headers + LOOP))
    shared = len(shipped_head(preprocess("f.c", headers + LOOP), parsing._place).nodes)
    assert 5 < shared < 50
    assert all(one is other for one, other in zip(first.tree.ext[:shared], again.tree.ext[:shared], strict=True))
    assert isinstance(first.tree.ext[shared], c_ast.FuncDef)
    assert len(first.tree.ext) == len(again.tree.ext) == shared + 1


def test_only_the_last_heads_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped_declarations, "_known", type(shipped_declarations._known)())
    monkeypatch.setattr(shipped_declarations, "_KEPT", 2)
    for header in ("math.h", "stdio.h", "stdlib.h", "math.h"):
        parse(preprocess("f.c", f"#include <{header}>\n{LOOP}"))
    assert len(shipped_declarations._known) == 2


@pytest.mark.slow(but=10)
@pytest.mark.parametrize("header", sorted(str(path.relative_to(HEADERS)) for path in HEADERS.rglob("*.h")))
def test_a_line_that_can_be_left_out_declares_one_function(header: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source = preprocess("f.c", f"#include <{header}>\n")
    monkeypatch.setattr(parsing, "shipped_head", lambda source, place: Head())
    declared: dict[object, list[str]] = {}
    for node in parse(source).tree.ext:
        declared.setdefault((node.coord.file, node.coord.line), []).append(declared_function(node))
    for line, place in zip(source.lines.lines, source.lines.origins, strict=True):
        if found := shipped_declarations._FUNCTION.fullmatch(line):
            assert declared[place] == [found[1]]
