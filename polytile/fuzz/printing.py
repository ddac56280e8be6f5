"""A program as C text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from polytile.fuzz.helpers import needed_definitions
from polytile.fuzz.printing_expressions import Speller, linear_text
from polytile.fuzz.ranges import PARAMETERS, Extents, Linear, Ranges, below, extents
from polytile.fuzz.tree import (
    OFFSET,
    OFFSET_RANGE,
    SIZES,
    STRUCT_FIELDS,
    Array,
    Assign,
    Declare,
    DeclareArray,
    Element,
    Function,
    If,
    Literal,
    Loop,
    Name,
    Program,
    Row,
    Statement,
    Sweep,
    Update,
    kind,
    walk,
)

LARGEST = 19  # of n and m: what arrays with constant extents are made for
FIXED_NAMES = {"n": "NI", "m": "NJ"}  # of sizes that are macros


def c_text(program: Program) -> str:
    """The text of a C file; raises KeyError for a program that uses what it does not declare."""
    printer = _Printer(program, extents(program))
    bodies = [printer.function(f) for f in program.functions]
    text = "\n\n".join("\n".join(lines) for lines in bodies)
    head = ["#include <math.h>", *(["#include <stdlib.h>"] if "abs(" in text.replace("fabs(", "") else [])]
    head += [f"#define {FIXED_NAMES[name]} {value}" for name, value in program.fixed]
    head += [f"#define {m} {d}" for m, d in _MACROS.items() if re.search(rf"\b{m.split('(')[0]}\(", text)]
    if any(a.type == "struct cell" for a in used_arrays(program, program.functions)):
        head += ["struct cell {", *(f"    {t} {name};" for name, t in STRUCT_FIELDS.items()), "};"]
    statics = [a for a in used_arrays(program, program.functions) if a.form == "static"]
    head += [f"static {printer.declaration(a)};" for a in statics]
    head += needed_definitions(text)
    return "\n".join(head) + "\n\n" + text + "\n"


_MACROS = {"MIN(a, b)": "((a) < (b) ? (a) : (b))", "MAX(a, b)": "((a) > (b) ? (a) : (b))"}


def used_arrays(program: Program, functions: Iterable[Function]) -> list[Array]:
    """The arrays and scalars outside the SCoPs that these functions mention, in the order of the program's list."""
    names = {n.array for f in functions for n in walk(f) if isinstance(n, Element | Row | Sweep)}
    return [a for a in program.arrays if a.name in names]


def parameters(program: Program, function: Function) -> list[str]:
    """The integer parameters of a function: sizes that are no macros, and the offset where it is used."""
    fixed = dict(program.fixed)
    mentioned = {n.name for n in walk((function, program.assumptions)) if isinstance(n, Name)}
    return [*(s for s in SIZES if s not in fixed), *([OFFSET] if OFFSET in mentioned else [])]


@dataclass
class _Printer:
    program: Program
    extents: Extents
    speller: Speller = field(init=False)

    def __post_init__(self) -> None:
        fixed = dict(self.program.fixed)
        spelt = {s: FIXED_NAMES[s] for s in fixed}
        flat = frozenset(a.name for a in self.program.arrays if a.form == "flat" and a.rank > 1)
        self.speller = Speller(self.extents, flat, spelt)

    # Functions
    def function(self, function: Function) -> list[str]:
        arrays = used_arrays(self.program, [function])
        outside = [a for a in arrays if a.form not in ("own", "local", "dead", "static")]
        integers = [f"{self.program.size_type} {p}" for p in parameters(self.program, function)]
        arguments = [*integers, "double alpha", *map(self.declaration, outside)]
        lines = [f"double {function.name}({', '.join(arguments)})", "{"]
        lines += self.indent(self.locals(function, arrays))
        for number, part in enumerate(function.parts):
            lines += self.indent(self.between(arrays)) if number else []
            lines += self.part(part)
        return [*lines, f"    return {self.result(arrays)};", "}"]

    def part(self, body: tuple[Statement, ...]) -> list[str]:
        text = [*self.assumptions(body), *self.indent(self.block(body, PARAMETERS))]
        return text if self.program.autodetect else ["#pragma scop", *text, "#pragma endscop"]

    def assumptions(self, body: tuple[Statement, ...]) -> list[str]:
        conditions = [self.speller.condition(a, PARAMETERS) for a in self.program.assumptions]
        if any(n.array in self.speller.flat for n in walk(body) if isinstance(n, Element)):
            conditions += self.signs(body)
        return [f"#pragma polytile assume({c})" for c in conditions]

    def signs(self, body: tuple[Statement, ...]) -> list[str]:
        """What C does not say of the sizes, and what it takes to see rows in `A[i * (m + 1) + j]`."""
        sizes = [f"{s} >= 0" for s in SIZES if s not in dict(self.program.fixed)]
        if OFFSET in {n.name for n in walk(body) if isinstance(n, Name)}:
            sizes += [f"{OFFSET} >= {OFFSET_RANGE[0]}", f"{OFFSET} <= {OFFSET_RANGE[1]}"]
        return [" && ".join(sizes)] if sizes else []

    def declaration(self, array: Array) -> str:
        """`double A[n][m + 1]`, `double (*A)[m + 1]`, `double *restrict x`, `double *x`."""
        shape = self.extents[array.name]
        if array.form == "restrict":
            return f"{array.type} *restrict {array.name}"
        if array.form == "flat" or (array.form == "pointer" and array.rank == 1):
            return f"{array.type} *{array.name}"
        if array.form == "pointer":
            return f"{array.type} (*{array.name}){self.bracketed(shape[1:])}"
        if array.form == "static":
            return f"{array.type} {array.name}" + "".join(f"[{e.at(LARGEST, LARGEST)}]" for e in shape)
        return f"{array.type} {array.name}{self.bracketed(shape)}"

    def bracketed(self, shape: Iterable[Linear]) -> str:
        return "".join(f"[{linear_text(e, self.speller.spelt)}]" for e in shape)

    def locals(self, function: Function, arrays: list[Array]) -> list[str]:
        lines = []
        for a in arrays:
            if a.form in ("local", "dead"):
                lines.append(f"{a.type} {a.name} = {'alpha' if kind(a.type) == 'f' else '3'};")
            elif a.form == "own":
                start = "0.125 * alpha" if kind(a.type) == "f" else "1"
                lines += [f"{self.declaration(a)};", *self.fill(a.name, a.rank, Literal(start), PARAMETERS)]
        iterators = sorted({n.iterator for n in walk(function.parts) if isinstance(n, Loop) and not n.type})
        return [*lines, f"int {', '.join(iterators)};"] if iterators else lines

    def between(self, arrays: list[Array]) -> list[str]:
        """Code between two SCoPs of a function, which is no part of either."""
        return [f"{a.name} = {a.name} / 2;" for a in arrays if a.rank == 0 and a.form in ("local", "static")]

    def result(self, arrays: list[Array]) -> str:
        terms = [a.name for a in arrays if a.rank == 0 and a.form != "dead"]
        terms += [a.name + "[0]" * a.rank for a in arrays if a.form == "own"]
        return " + ".join(f"(double){t}" for t in terms) or "alpha"

    # Statements
    def indent(self, lines: Iterable[str]) -> list[str]:
        return [f"    {line}" for line in lines]

    def block(self, body: tuple[Statement, ...], names: Ranges) -> list[str]:
        return [line for s in body for line in self.statement(s, names)]

    def statement(self, s: Statement, names: Ranges) -> list[str]:
        value, element = self.speller.value, self.speller.element
        match s:
            case Assign(targets, right):
                return [" = ".join([*(element(t, names) for t in targets), value(right, names)]) + ";"]
            case Update():
                return [self.update(s, names)]
            case Sweep(function, array, subscripts, count):
                row = self.speller.row(array, subscripts, names)
                return [f"{function}({self.speller.index(count)}, {row});"]
            case Declare(name, ctype, right):
                return [f"{ctype} {name} = {value(right, names)};"]
            case DeclareArray(name, ctype, rank, right):
                return [
                    f"{ctype} {name}{self.bracketed(self.extents[name])};",
                    *self.fill(name, rank, right, names),
                ]
            case If():
                return self.branch(s, names)
            case Loop():
                inner = self.block(s.body, below(s, names)) or [";"]
                return [f"{self.speller.header(s, names)} {{", *self.indent(inner), "}"]

    def branch(self, s: If, names: Ranges) -> list[str]:
        lines = [f"if ({self.speller.condition(s.condition, names)}) {{", *self.indent(self.block(s.then, names))]
        if s.otherwise:
            lines += ["} else {", *self.indent(self.block(s.otherwise, names))]
        return [*lines, "}"]

    def update(self, s: Update, names: Ranges) -> str:
        target, right = self.speller.element(s.target, names), self.speller.value(s.value, names)
        match s.spelling:
            case "step":
                return f"{target}{s.op}{s.op};"
            case "left":
                return f"{target} = {target} {s.op} ({right});"
            case "right":
                return f"{target} = ({right}) {s.op} {target};"
            case "?":
                return f"{target} = {target} {s.op} ({right}) ? {target} : ({right});"
            case "if":
                return f"if (({right}) {s.op} {target}) {target} = {right};"
            case "call":
                return f"{target} = f{'min' if s.op == '<' else 'max'}({target}, {right});"
            case "macro":
                return f"{target} = {'MIN' if s.op == '<' else 'MAX'}({right}, {target});"
        return f"{target} {s.op}= {right};"

    def fill(self, name: str, rank: int, right: Literal | Element | object, names: Ranges) -> list[str]:
        """Loops that set every element of an array."""
        iterators = [f"f{k}" for k in range(rank)]
        lines = [
            f"{'    ' * k}for (int {i} = 0; {i} < {linear_text(self.extents[name][k], self.speller.spelt)}; {i}++)"
            for k, i in enumerate(iterators)
        ]
        subscripts = "".join(f"[{i}]" for i in iterators)
        return [*lines, f"{'    ' * rank}{name}{subscripts} = {self.speller.value(right, names)};"]
