"""What the parser does not know costs no more than the function or the declaration that it stands in."""

from __future__ import annotations

from pathlib import Path

import pytest
from pycparser import c_ast

import polytile
from polytile.diagnostics import UserError
from polytile.frontend import assemble
from polytile.frontend.external_declarations import external_declarations
from polytile.frontend.parse import parse
from polytile.frontend.preprocess import preprocess
from polytile.frontend.program import SourceProgram, read_program

LOOP = """
void f(int n, const double *restrict a, double *restrict b)
{
#pragma scop
    for (int i = 0; i < n; i++)
        b[i] = 2 * a[i];
#pragma endscop
}
"""
READ = {
    "assembly": 'int g(int x) { __asm__ volatile ("nop" : "+r" (x) : : "memory"); if (x) asm(""); return x; }',
    "assembly of the file": '__asm__(".globl nothing");',
    "names for the assembler": 'int g(void) __asm__("gg"); extern int v[4] asm("w"), u asm("t");',
    "a register": 'int g(int x) { register int z asm("eax") = x; return z; }',
    "typeof": "int g(int x) { typeof(x) y = x; __typeof__(int *) p = &y; __auto_type z = *p; return z; }",
    "typeof of the file": "int v; extern typeof(v) w; typedef __typeof__(w) *p; struct s { typeof(v) m; };",
    "a condition without a middle": "int g(int x) { return x ?: 5; } int h(void) { return g(1) ?: g(2); }",
    "ranges of cases": "int g(int x) { switch (x) { case 0 ... 9: return 1; case 'a' ... 'z': return 2; } return 0; }",
    "ranges of elements": "int t[8] = { [1 ... 5] = 9, [7] = 1 }; int u[2][4] = { [0 ... 1][2 ... 3] = 1 };",
    "digraphs": "int g(int *p) <% int t<:2:> = <% 1, 2 %>; return t<:p<:0:>:>; %>",
    "attributes": "[[nodiscard]] int g([[maybe_unused]] int x) { switch (x) { case 1: [[fallthrough]]; } return 1; }",
    "attributes that matter": "struct [[gnu::packed]] s { char c; int v; };",
    "types as arguments": "int g(void) { return __builtin_types_compatible_p(int, unsigned long); }",
    "types of compilers": "_Float16 h; __float128 q; _Float128 r; _Float32 *p; __int128_t w;",
    "storage of threads": "static __thread int t; extern __thread double u; _Thread_local int v;",
    "alignment": "int g(void) { return __alignof__(int) + __alignof__(double *); }",
    "parts of complex numbers": "double g(double _Complex z) { __real__ z = 1; return __real__ z + __imag__ z; }",
    "identification": '#ident "version"\n#sccs "version"',
    "lists of arguments": "void g(int k, ...) { __builtin_va_list l; __builtin_va_start(l, k); __builtin_va_end(l); }",
    "complex numbers": "__complex__ double z; __complex__ float g(void);",
}
LOST = {
    "labels as values": "int g(int x) { void *p = &&l; l: return x; }",
    "computed jumps": "int g(void *p) { goto *p; }",
    "nested functions": "int g(int x) { int h(int y) { return x + y; } return h(1); }",
    "labels of blocks": "int g(int x) { __label__ l; l: return x; }",
    "imaginary integers": "_Complex int z = 2i;",
    "assembly that jumps": 'int g(void) { asm goto ("jmp %l0" : : : : l); l: return 1; }',
    "names for the assembler in blocks": 'int g(void) { extern int v asm("w"); return v; }',
    "a mistake": "int g(int x) { return x + ; }",
    "an old-style definition": "int g(a, b) int a; double b; { goto *b; }",
    "alignment of expressions": "int g(int x) { return __alignof__(x + 1); }",
}
HINTED = ("labels as values", "computed jumps", "labels of blocks", "assembly that jumps", "an old-style definition",
          "names for the assembler in blocks")  # fmt: skip


def read(text: str, *, autodetect: bool = False) -> SourceProgram:
    return read_program("f.c", text, autodetect=autodetect)


def names(program: SourceProgram) -> list[str]:
    return [scop.name for scop in program.scops]


@pytest.mark.slow(but=8)
@pytest.mark.parametrize("behind", [False, True], ids=["in front", "behind"])
@pytest.mark.parametrize("name", READ)
def test_all_is_read_with(name: str, behind: bool) -> None:
    program = read(f"{LOOP}{READ[name]}\n" if behind else f"{READ[name]}\n{LOOP}")
    assert (names(program), program.refusals, program.unread) == (["f_scop0"], (), ())


@pytest.mark.parametrize("behind", [False, True], ids=["in front", "behind"])
@pytest.mark.parametrize("name", LOST)
def test_others_are_read_beside(name: str, behind: bool) -> None:
    program = read(f"{LOOP}{LOST[name]}\n" if behind else f"{LOST[name]}\n{LOOP}")
    assert (names(program), program.refusals) == (["f_scop0"], ())
    (lost,) = program.unread
    assert lost.name == ("g" if " g(" in LOST[name] else "")
    assert lost.error.location is not None and lost.error.location.line == (9 if behind else 1)
    assert ("reads C99; look for" in (lost.error.hint or "")) == (name not in HINTED)
    assert program.text.count("#pragma scop") == 1


@pytest.mark.slow(but="sys/socket.h")
@pytest.mark.parametrize("header", ["immintrin.h", "sys/socket.h"])
def test_headers_of_the_system_cost_nothing(header: str) -> None:
    try:
        program = read(f"#include <{header}>\n{LOOP}")
    except UserError as error:
        pytest.skip(f"<{header}> is not installed: {error.message}")
    assert (names(program), program.refusals, program.unread) == (["f_scop0"], (), ())


def test_functions_of_headers_that_nothing_leads_to_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "x.h").write_text(
        "static int c, d; static int used(int x); static inline int also(void) { return used(1); }\n"
        "static inline int used(int x) { return x + d; } static inline int unused(void) { asm(\"\"); return c = 2; }\n"
    )
    text = f'#include "x.h"\n{LOOP.replace("2 * a[i]", "also() * a[i]")}'
    parsed = parse(preprocess("f.c", text, include_dirs=[str(tmp_path)]))
    functions = [node.decl.name for node in parsed.tree.ext if isinstance(node, c_ast.FuncDef)]
    assert functions == ["also", "used", "f"]
    assert "c" in parsed.mentioned and "d" not in parsed.mentioned
    assert names(read_program("f.c", text, include_dirs=[str(tmp_path)])) == ["f_scop0"]


def test_scops_in_functions_that_cannot_be_read_are_refused_with_the_place() -> None:
    marked = LOOP.replace("f(", "g(").replace("{\n#", "{\n    goto *(void *)a;\n#")
    program = read(f"{marked}{LOOP}")
    (refusal,) = program.refusals
    assert (refusal.name, names(program)) == ("g_scop0", ["f_scop0"])
    assert str(refusal.error).startswith("f.c:4:10: error: syntax error before '*'")
    with pytest.raises(UserError, match="syntax error before '\\*'"):
        polytile.compile(marked)


USES = {
    "a variable": (
        "__weird v[9];",
        "b[i] = a[i] + v[i]",
        "'v' cannot be used in a SCoP: polytile cannot read its decl",
    ),
    "a label": ('extern double v[9] asm("w");', "b[i] = v[i]", "'v' cannot be used in a SCoP: the assembler knows it"),
    "a type": ("typedef __weird *v;", "b[i] = *(v)a", "not an array or a pointer that the SCoP may index"),
    "an enumerator": ("enum { v = __weird(int) };", "b[i] = v", "'v' cannot be used in a SCoP: polytile cannot read"),
    "a size": ("enum { v = __weird(int) }; double w[v][v];", "b[i] = w[i][i]", "'v' cannot be used in a SCoP"),
    "a function": ("double v(double x) { goto *x; }", "b[i] = v(a[i])", "the call of `v` may do anything, as polytile"),
    "one of C's": ("double sin(double x) { goto *x; }", "b[i] = sin(a[i])", "the call of `sin` may do anything"),
    "a helper": ("int max(int x, int y) { goto *x; }", "b[max(i, 1)] = 1", "the call of `max` may do anything"),
    "a struct": (
        "struct v { __weird w; }; struct v u[9];",
        "b[i] = u[i].w",
        "'u' cannot be used in a SCoP: struct v is",
    ),
    "a builtin": ("", "b[i] = __builtin_types_compatible_p(int, long)", "__builtin_types_compatible_p"),
    "assembly": ("", '{ b[i] = 1; asm(""); }', "inline assembly may do anything"),
    "a call as a condition": ("double v(void);", "b[i] = v() ?: 1", "no middle operand"),
}


@pytest.mark.parametrize("name", USES)
def test_scops_that_use_it_are_refused(name: str) -> None:
    declared, statement, message = USES[name]
    program = read(f"{declared}\n{LOOP.replace('b[i] = 2 * a[i]', statement)}")
    (refusal,) = program.refusals
    assert message in refusal.error.message and not program.scops


@pytest.mark.parametrize("prototype", [False, True])
@pytest.mark.parametrize("name", ["a function", "one of C's", "a helper"])
def test_what_is_declared_of_such_a_function_says_too_little(name: str, prototype: bool) -> None:
    declared, statement, message = USES[name]
    first = declared.partition(" {")[0] + ";\n" if prototype else ""
    (refusal,) = read(f"{first}{LOOP.replace('b[i] = 2 * a[i]', statement)}{declared}\n").refusals
    assert message in refusal.error.message


def test_a_summary_says_what_a_function_does_that_cannot_be_read() -> None:
    said = "#pragma polytile access(v)\ndouble v(double x)\n{ goto *x; }\n"
    program = read(f"{said}{LOOP.replace('2 * a[i]', 'v(a[i])')}")
    assert (names(program), program.refusals, program.unread) == (["f_scop0"], (), ())


def test_variables_that_assembly_may_name_are_those_that_pointers_lead_to() -> None:
    text = "static int k, m, n; static int g(void) {{ {} return k + m; }}\n"
    for body, found in (("", set()), ('asm("incl k");', {"k"}), ("goto *m;", {"k", "m"})):
        parsed = parse(preprocess("f.c", text.format(body)))
        assert parsed.mentioned & {"k", "m", "n"} == found


REWRITTEN = {
    "a condition without a middle": ("b[i] = (int)a[i] ?: 5", "b[i] = (int)a[i] ? (int)a[i] : 5"),
    "typeof": ("typeof(a[0]) t = a[i]; b[i] = t", "const double t = a[i]; b[i] = t"),
    "typeof of a sum": ("typeof(a[i] + i) t = a[i]; b[i] = t", "double t = a[i]; b[i] = t"),
    "an inferred type": ("__auto_type t = a[i]; b[i] = t", "double t = a[i]; b[i] = t"),
    "cases": (
        "switch (i) { case 2 ... 5: b[i] = 1; break; default: b[i] = a[i]; }",
        "if (i >= 2 && i <= 5) { b[i] = 1; } else { b[i] = a[i]; }",
    ),
    "an expectation": ("if (__builtin_expect(!!(i > 3), 1)) b[i] = a[i]", "if (!!(i > 3)) b[i] = a[i]"),
}


@pytest.mark.parametrize("name", REWRITTEN)
def test_scops_in_other_words(name: str) -> None:
    gnu, plain = ("{ " + text + "; }" for text in REWRITTEN[name])
    made = [polytile.compile(LOOP.replace("b[i] = 2 * a[i];", text)).cuda for text in (gnu, plain)]
    assert made[0] == made[1]


def test_declarations_end_where_brackets_say() -> None:
    parts = (
        "int a[4];", "static int f(int x) { return x; }", "struct s { int n; } t;", "int u[] = { 1, 2 };",
        "int g(a, b) int a; double *b; { return a; }", "int (*h(int x))(void) { return 0; }", "enum e { A };",
        "struct s *m(void) { return 0; }", ";", "typedef struct { int z; } *(*p)(int);",
    )  # fmt: skip
    text = "\n#pragma omp declare target {(\n".join(parts)
    found = external_declarations(text)
    assert found is not None
    assert [text[d.start : d.end] for d in found] == list(parts)
    assert [d.name for d in found] == ["", "f", "", "", "g", "h", "", "m", "", ""]
    assert found[-1].types >= {"p"}
    for broken in ("int f(void) {", "int a", "}", "int a[(];"):
        assert external_declarations(broken) is None


def test_the_places_of_what_was_rewritten_are_those_of_the_file() -> None:
    line = "    for (int i = 0; i < n; i++) { [[maybe_unused]] int k = n ?: 5; b[i] = a[i] + lost; }\n"
    text = f'void g(void) {{ asm("" : : : "memory"\n); }}\nvoid f(int n, double *a, double *b)\n{{\n{line}}}\n'
    with pytest.raises(UserError, match="no SCoP") as refused:
        read(text, autodetect=True)
    assert f"f.c:5:{line.index('lost') + 1}: 'lost' is used but not declared" in (refused.value.hint or "")


def test_volatile_variables_are_refused_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def work(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(assemble, "known_values", work)
    (refusal,) = read(f"volatile int v;\n{LOOP.replace('2 * a[i]', 'a[v]')}").refusals
    assert refusal.error.message == "'v' cannot be used in a SCoP: it is volatile or atomic"
    assert "copy its value to a variable" in (refusal.error.hint or "")
