"""A program as C text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import field

from polytile.dataclass import dataclass
from polytile.fuzz.extents import Extents, extents, scope_of
from polytile.fuzz.helpers import needed_definitions
from polytile.fuzz.large_sizes import LARGE, STARTS
from polytile.fuzz.printing_expressions import Speller
from polytile.fuzz.printing_statements import StatementPrinter, indent
from polytile.fuzz.ranges import PARAMETERS, Ranges
from polytile.fuzz.structs import STRUCTS, kind
from polytile.fuzz.tree import (
    OFFSET,
    OFFSET_RANGE,
    SIZES,
    START,
    START_VALUE,
    Array,
    Element,
    Entry,
    Function,
    LargeCompare,
    Let,
    Literal,
    Loop,
    Name,
    Program,
    Row,
    Statement,
    Sweep,
)
from polytile.fuzz.walking import walk

LARGEST = 19  # of n and m: what arrays with constant extents are made for
NO_ARGUMENTS = ("own", "local", "dead", "static", "kept")  # forms of arrays and scalars
FIXED_NAMES = {"n": "NI", "m": "NJ"}  # of sizes that are macros


def c_text(program: Program) -> str:
    """Return the text of a C file; raises KeyError for a program that uses what it does not declare."""
    printer = _Printer(program, extents(program))
    bodies = [printer.function(f) for f in program.functions]
    text = "\n\n".join("\n".join(lines) for lines in bodies)
    head = ["#include <math.h>", *(["#include <stdlib.h>"] if "abs(" in text.replace("fabs(", "") else [])]
    head += ["#include <stddef.h>"] if "size_t " in text else []
    head += [f"#define {FIXED_NAMES[name]} {value}" for name, value in program.fixed]
    head += [f"#define {m} {d}" for m, d in _MACROS.items() if re.search(rf"\b{m.split('(')[0]}\(", text)]
    types = {a.type for a in used_arrays(program, program.functions)}
    head += [struct.text for name, struct in STRUCTS.items() if name in types]
    statics = [a for a in used_arrays(program, program.functions) if a.form == "static"]
    head += [f"static {printer.declaration(a)};" for a in statics]
    head += needed_definitions(text)
    return "\n".join(head) + "\n\n" + text + "\n"


_MACROS = {"MIN(a, b)": "((a) < (b) ? (a) : (b))", "MAX(a, b)": "((a) > (b) ? (a) : (b))"}


def used_arrays(program: Program, functions: Iterable[Function]) -> list[Array]:
    """Return the arrays and scalars outside the SCoPs that these functions mention, in the order of the program's
    list."""
    names = {n.array for f in functions for n in walk(f) if isinstance(n, Element | Row | Sweep | Entry)}
    return [a for a in program.arrays if a.name in names]


def parameters(program: Program, function: Function) -> list[str]:
    """Return the integer parameters of a function: sizes that are no macros, and the offset where it is used."""
    fixed = dict(program.fixed)
    mentioned = {n.name for n in walk((function, program.assumptions)) if isinstance(n, Name)}
    return [*(s for s in SIZES if s not in fixed), *([OFFSET] if OFFSET in mentioned else [])]


def large_sizes(function: Function) -> list[str]:
    """Return the parameters of a function that have values at the ends of their types."""
    found = {n.size for n in walk(function.parts) if isinstance(n, LargeCompare)}
    found |= {STARTS[n.start].size for n in walk(function.parts) if isinstance(n, Loop) and n.start}
    return sorted(found - {""})


@dataclass
class _Printer:
    program: Program
    extents: Extents
    speller: Speller = field(init=False)
    printer: StatementPrinter = field(init=False)

    def __post_init__(self) -> None:
        fixed = dict(self.program.fixed)
        spelt = {s: FIXED_NAMES[s] for s in fixed}
        flat = frozenset(a.name for a in self.program.arrays if a.form == "flat" and a.rank > 1)
        self.speller = Speller(self.extents, flat, spelt)
        self.printer = StatementPrinter(self.extents, self.speller)

    # Functions
    def function(self, function: Function) -> list[str]:
        arrays = used_arrays(self.program, [function])
        outside = [a for a in arrays if a.form not in NO_ARGUMENTS]
        integers = [f"{self.program.size_type} {p}" for p in parameters(self.program, function)]
        large = [f"{LARGE[name].type} {name}" for name in large_sizes(function)]
        arguments = [*integers, "double alpha", *large, *map(self.declaration, outside)]
        lines = [f"double {function.name}({', '.join(arguments)})", "{"]
        lines += indent(self.locals(function, arrays))
        for number, part in enumerate(function.parts):
            lines += indent(self.between(arrays)) if number else []
            lines += self.part(part, scope_of(function))
        return [*lines, f"    return {self.result(arrays)};", "}"]

    def part(self, body: tuple[Statement, ...], names: Ranges) -> list[str]:
        text = [*self.assumptions(body), *indent(self.printer.block(body, names))]
        return text if self.program.autodetect else ["#pragma scop", *text, "#pragma endscop"]

    def assumptions(self, body: tuple[Statement, ...]) -> list[str]:
        conditions = [self.speller.condition(a, PARAMETERS) for a in self.program.assumptions]
        if self.program.signs and any(n.array in self.speller.flat for n in walk(body) if isinstance(n, Element)):
            conditions += self.signs(body)
        return [f"#pragma polytile assume({c})" for c in conditions]

    def signs(self, body: tuple[Statement, ...]) -> list[str]:
        """Return what C does not say of the sizes, and what it takes to see rows in `A[i * (m + 1) + j]`."""
        sizes = [f"{s} >= 0" for s in SIZES if s not in dict(self.program.fixed)]
        if OFFSET in {n.name for n in walk(body) if isinstance(n, Name)}:
            sizes += [f"{OFFSET} >= {OFFSET_RANGE[0]}", f"{OFFSET} <= {OFFSET_RANGE[1]}"]
        return [" && ".join(sizes)] if sizes else []

    def declaration(self, array: Array) -> str:
        """Print `double A[n][m + 1]`, `double (*A)[m + 1]`, `double *restrict x` or `double *x`."""
        shape = self.extents[array.name]
        if array.form == "restrict":
            return f"{array.type} *restrict {array.name}"
        if array.form == "flat" or (array.form == "pointer" and array.rank == 1):
            return f"{array.type} *{array.name}"
        if array.form == "pointer":
            return f"{array.type} (*{array.name}){self.printer.bracketed(shape[1:])}"
        if array.form == "static":
            return f"{array.type} {array.name}" + "".join(f"[{e.at(LARGEST, LARGEST)}]" for e in shape)
        return f"{array.type} {array.name}{self.printer.bracketed(shape)}"

    def locals(self, function: Function, arrays: list[Array]) -> list[str]:
        lines = []
        for a in arrays:
            if a.form == "kept":
                lines.append(f"static {a.type} {a.name} = {'0.75' if kind(a.type) == 'f' else '3'};")
            elif a.form in ("local", "dead"):
                lines.append(f"{a.type} {a.name} = {'alpha' if kind(a.type) == 'f' else '3'};")
            elif a.form == "own":
                start = "0.125 * alpha" if kind(a.type) == "f" else "1"
                lines += [f"{self.declaration(a)};", *self.printer.fill(a.name, a.rank, Literal(start), PARAMETERS)]
        names = {n.iterator for n in walk(function.parts) if isinstance(n, Loop) and not n.type}
        names |= {n.name for n in walk(function.parts) if isinstance(n, Let) and not n.declared}
        lines += [f"int {', '.join(sorted(names))};"] if names else []
        late = any(isinstance(n, Loop) and n.start == START for n in walk(function.parts))
        lines += [f"int {START} = {START_VALUE};"] if late else []
        return lines + self.printer.block(function.known, PARAMETERS)

    def between(self, arrays: list[Array]) -> list[str]:
        """Print code between two SCoPs of a function, which is no part of either."""
        return [f"{a.name} = {a.name} / 2;" for a in arrays if a.rank == 0 and a.form in ("local", "static", "kept")]

    def result(self, arrays: list[Array]) -> str:
        terms = [a.name for a in arrays if a.rank == 0 and a.form != "dead"]
        terms += [a.name + "[0]" * a.rank for a in arrays if a.form == "own"]
        return " + ".join(f"(double){t}" for t in terms) or "alpha"
