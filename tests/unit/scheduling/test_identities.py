"""What is neutral to each operation, in each type, as C compilers read it; how accumulations are recognised."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from polytile.codegen.targets.expressions import Printer
from polytile.ir.evaluate import evaluate, wrap
from polytile.ir.expr import (
    DOUBLE,
    FLOAT,
    INT,
    LLONG,
    LONG,
    SCHAR,
    SHORT,
    UCHAR,
    UINT,
    ULLONG,
    ULONG,
    USHORT,
    Access,
    Assign,
    Binary,
    Call,
    CType,
    Expr,
    If,
    Literal,
    Name,
    Stmt,
    Ternary,
)
from polytile.ir.reductions import accumulation, combined, identity, identity_value, partial_type
from polytile.runtime.emulator import host_compiler

TYPES = (SCHAR, UCHAR, SHORT, USHORT, INT, UINT, LONG, ULONG, LLONG, ULLONG, FLOAT, DOUBLE)
LEAST = {
    "signed char": "SCHAR_MIN",
    "short": "SHRT_MIN",
    "int": "INT_MIN",
    "long": "LONG_MIN",
    "long long": "LLONG_MIN",
    "float": "-HUGE_VALF",
    "double": "-HUGE_VAL",
}
MOST = {
    "signed char": "SCHAR_MAX",
    "unsigned char": "UCHAR_MAX",
    "short": "SHRT_MAX",
    "unsigned short": "USHRT_MAX",
    "int": "INT_MAX",
    "unsigned int": "UINT_MAX",
    "long": "LONG_MAX",
    "unsigned long": "ULONG_MAX",
    "long long": "LLONG_MAX",
    "unsigned long long": "ULLONG_MAX",
    "float": "HUGE_VALF",
    "double": "HUGE_VAL",
}


@pytest.mark.parametrize("op", ["+", "*", "&", "|", "^", "min", "max"])
def test_numbers_are_those_of_the_expressions(op: str) -> None:
    for ctype in TYPES:
        if ctype.kind == "int":
            assert identity_value(op, ctype) == wrap(evaluate(identity(op, ctype), {}), ctype)
    assert [identity_value(one, FLOAT) for one in ("+", "*", "min", "max")] == [0, 1, float("inf"), float("-inf")]


def no_element(access: Access, printer: Printer) -> str:
    raise AssertionError(f"{access} is no constant")


@pytest.mark.usefixtures("emulator")
def test_extremes_are_those_of_the_type_and_draw_no_warning(tmp_path: Path) -> None:
    printer = Printer(no_element)
    checks = []
    for ctype in TYPES:
        least, most = (printer(identity(op, ctype)) for op in ("max", "min"))
        checks.append(f"{{ {ctype} v = {least}; if (v != {LEAST.get(ctype.name, '0')}) return 1; }}")
        checks.append(f"{{ {ctype} v = {most}; if (v != {MOST[ctype.name]}) return 2; }}")
        for op, value in (("+", "0"), ("*", "1")):
            checks.append(f"{{ {ctype} v = {printer(identity(op, ctype))}; if (v != {value}) return 3; }}")
    for ctype in (UINT, ULLONG):
        checks.append(f"{{ {ctype} v = {printer(identity('&', ctype))}; if (v != {MOST[ctype.name]}) return 4; }}")
    lines = "\n".join(checks)
    source = tmp_path / "identities.cpp"
    source.write_text(f"#include <climits>\n#include <cmath>\nint main()\n{{\n{lines}\nreturn 0;\n}}\n")
    compiler, program = host_compiler().command, tmp_path / "identities"
    warnings = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wno-float-equal"]
    subprocess.run([*compiler, *warnings, str(source), "-o", str(program)], check=True, timeout=60)
    assert subprocess.run([str(program)], check=False, timeout=10).returncode == 0


def x(ctype: CType) -> Access:
    return Access("x", (Name("i"),), ctype)


def a(ctype: CType) -> Access:
    return Access("A", (Name("j"),), ctype)


def sums(target: CType, value: CType) -> Stmt:
    return Assign(x(target), "+", a(value))


def maximum(target: CType, value: CType) -> Stmt:
    return If(Binary(">", a(value), x(target)), (Assign(x(target), "", a(value)),))


def fmax(target: CType, value: CType, within: CType) -> Stmt:
    return Assign(x(target), "", Call("fmax", (x(target), a(value)), within))


PARTIAL: list[tuple[Stmt, CType | None]] = [
    (sums(DOUBLE, INT), DOUBLE),
    (sums(FLOAT, DOUBLE), FLOAT),
    (sums(INT, INT), UINT),
    (sums(INT, LLONG), UINT),
    (sums(SCHAR, INT), UINT),
    (sums(LONG, INT), ULLONG),
    (sums(INT, DOUBLE), None),
    (sums(CType("_Bool", "int", 1, signed=False), INT), None),
    (Assign(x(INT), "", Binary("+", x(INT), a(FLOAT), FLOAT)), None),
    (maximum(INT, SHORT), INT),
    (maximum(INT, USHORT), INT),
    (maximum(SHORT, INT), None),
    (maximum(INT, UINT), None),
    (maximum(UINT, INT), None),
    (maximum(INT, DOUBLE), None),
    (maximum(FLOAT, DOUBLE), FLOAT),
    (maximum(DOUBLE, INT), DOUBLE),
    (fmax(DOUBLE, DOUBLE, DOUBLE), DOUBLE),
    (fmax(DOUBLE, FLOAT, FLOAT), None),
    (fmax(INT, INT, DOUBLE), None),
]


@pytest.mark.parametrize(("statement", "expected"), PARTIAL)
def test_the_type_of_partial_results(statement: Stmt, expected: CType | None) -> None:
    found = accumulation(statement)
    assert found is not None
    assert partial_type(found) == expected


def test_an_accumulation_for_another_target() -> None:
    """`x = e < x ? x : e` keeps its condition and the order of its choices."""
    value = a(DOUBLE)
    chosen = Ternary(Binary("<", value, x(DOUBLE)), x(DOUBLE), value, DOUBLE)
    found = accumulation(Assign(x(DOUBLE), "", chosen))
    assert found is not None
    assert (found.op, found.value, found.inverse) == ("max", value, False)
    y, v = Access("y", (), DOUBLE), Name("v", DOUBLE)
    assert found.made(y, v) == Assign(y, "", Ternary(Binary("<", v, y), y, v, DOUBLE))


NONE: list[Stmt] = [
    Assign(x(DOUBLE), "", a(DOUBLE)),
    Assign(x(DOUBLE), "/", a(DOUBLE)),
    Assign(x(DOUBLE), "", Binary("-", a(DOUBLE), x(DOUBLE), DOUBLE)),
    Assign(x(DOUBLE), "+", Binary("*", a(DOUBLE), x(DOUBLE), DOUBLE)),
    If(Binary(">", a(DOUBLE), Literal("0")), (Assign(x(DOUBLE), "", a(DOUBLE)),)),
    Assign(x(DOUBLE), "", Ternary(Binary(">", a(DOUBLE), Literal("0")), x(DOUBLE), a(DOUBLE), DOUBLE)),
]


@pytest.mark.parametrize("statement", NONE)
def test_what_is_no_accumulation(statement: Stmt) -> None:
    assert accumulation(statement) is None


def test_combinations_leave_out_what_is_no_number() -> None:
    """`part < v ? part : v` is v when part is a NaN."""
    v, part = Name("v", DOUBLE), Name("part", DOUBLE)
    assert combined("min", v, part, DOUBLE) == Ternary(Binary("<", part, v), part, v, DOUBLE)
    total: Expr = combined("+", v, part, DOUBLE)
    assert total == Binary("+", v, part, DOUBLE)
