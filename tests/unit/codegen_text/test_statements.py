"""Statement trees as lines."""

from __future__ import annotations

from polytile.codegen.targets.cuda.device_text import DeviceText
from polytile.codegen.targets.dialects import CUDA
from polytile.codegen.targets.expressions import Printer
from polytile.codegen.targets.line_wrap import broken, wrapped
from polytile.codegen.targets.statements import StatementPrinter, comment, one_line
from polytile.diagnostics import Location
from polytile.ir.def_use import reads
from polytile.ir.expr import INT, Access, Assign, Binary, Call, Declare, Expr, For, If, Literal, Name, Scope, Stmt
from polytile.ir.kernel import Barrier, Comment

i, n = Name("i"), Name("n")
S = Assign(Access("x", (i,)), "+", Literal("1.0"), Location("f.c", 4, 5))


def lines(*body: Stmt) -> list[str]:
    element = Printer(lambda access, printer: f"{access.array}[{', '.join(printer(s) for s in access.subscripts)}]")
    return StatementPrinter(element, device=DeviceText(CUDA).statement).lines(body)


def loop(condition: Expr, step: int = 1) -> str:
    return lines(For("i", Literal("0"), condition, step, (S,)))[0]


def up_to(bound: Expr) -> Binary:
    return Binary("<=", i, bound)


def test_loops_read_the_way_people_write_them() -> None:
    assert loop(up_to(Binary("-", n, Literal("1")))) == "for (int i = 0; i < n; ++i) {"
    assert loop(up_to(Binary("+", n, Literal("-1"))), 4) == "for (int i = 0; i < n; i += 4) {"
    assert loop(up_to(Binary("-", n, Literal("3")))) == "for (int i = 0; i < n - 2; ++i) {"
    assert loop(up_to(Binary("+", n, Literal("1")))) == "for (int i = 0; i < n + 2; ++i) {"
    assert loop(up_to(n)) == "for (int i = 0; i <= n; ++i) {"
    assert loop(up_to(Literal("31"))) == "for (int i = 0; i < 32; ++i) {"
    assert loop(up_to(Literal("2147483647"))) == "for (int i = 0; i <= 2147483647; ++i) {"
    both = Call("min", (Literal("31"), Binary("-", n, Literal("1"))), INT)
    assert loop(up_to(both)) == "for (int i = 0; i < polytile_min(32, n); ++i) {"
    assert loop(Binary(">=", i, Literal("0")), -1) == "for (int i = 0; i >= 0; --i) {"


def test_loops_to_the_least_of_three_are_not_unrolled() -> None:
    """ptxas 13.0 counts their iterations wrongly where they end at n - 1."""
    last, m, k = Binary("-", n, Literal("1")), Name("m"), Name("k")
    two = Call("min", (last, m), INT)
    three = Call("min", (two, k), INT)
    head = "for (int i = 0; i <= polytile_min(polytile_min(n - 1, m), k); ++i) {"
    assert lines(For("i", Literal("0"), up_to(three), 1, (S,)))[:2] == ["#pragma unroll 1", head]
    assert lines(For("i", Literal("0"), up_to(three), 1, (S,), unroll=4))[:2] == ["#pragma unroll 4", head]
    assert loop(up_to(two)) == "for (int i = 0; i <= polytile_min(n - 1, m); ++i) {"
    below = Call("min", (Call("min", (last, Literal("7")), INT), Literal("31")), INT)
    assert loop(up_to(below)) == "for (int i = 0; i < polytile_min(polytile_min(n, 8), 32); ++i) {"


def test_the_line_of_the_source_is_named_once_in_a_row() -> None:
    assert lines(S, S, Barrier("x is  read")) == [
        "x[i] += 1.0;  // f.c:4",
        "x[i] += 1.0;",
        "__syncthreads();  // x is read",
    ]


def test_branches_chain() -> None:
    inner = If(Binary("<", i, n), (S,), (S,))
    assert lines(If(i, (Scope((S,)),), (inner,))) == [
        "if (i) {",
        "    {",
        "        x[i] += 1.0;  // f.c:4",
        "    }",
        "} else if (i < n) {",
        "    x[i] += 1.0;  // f.c:4",
        "} else {",
        "    x[i] += 1.0;  // f.c:4",
        "}",
    ]


def test_comments_cannot_continue_on_the_next_line() -> None:
    assert one_line("a \\\n b\\") == "a \\ b"
    assert comment("first\nsecond\\") == ["// first", "// second"]
    assert lines(Comment("why")) == ["// why"]


def test_a_plain_assignment_reads_its_subscripts_but_not_its_target() -> None:
    assert set(reads(Assign(Access("x", (i,)), "", Access("y")))) == {"i", "y"}
    assert set(reads(Scope((S, Declare("t", INT, n))))) == {"x", "i", "n"}


def test_long_lists_are_broken() -> None:
    parts = [f"double *argument_{k}" for k in range(9)]
    text = wrapped("int f(", parts, ");")
    assert all(len(line) <= 110 for line in text)
    assert " ".join(line.strip() for line in text) == f"int f({', '.join(parts)});"
    assert wrapped("int f(", [], ")") == ["int f()"]


def test_long_lines_are_cut_at_the_outermost_operators() -> None:
    text = "x = " + " + ".join(f"f(a{k}, b{k} * c{k})" for k in range(12)) + ";"
    lines = broken(text)
    assert len(lines) > 1
    assert all(len(line) <= 110 for line in lines)
    assert all(line.endswith(" +") for line in lines[:-1])
    assert " ".join(line.strip() for line in lines) == text
    assert broken("short;") == ["short;"]
    assert broken("y" * 200) == ["y" * 200]
