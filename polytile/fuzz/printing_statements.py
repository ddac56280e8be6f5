"""Statements as C text."""

from __future__ import annotations

from collections.abc import Iterable

from polytile.dataclass import dataclass
from polytile.fuzz.extents import Extents, counted, statements
from polytile.fuzz.printing_expressions import Speller, linear_text
from polytile.fuzz.ranges import Linear, Ranges, below, within
from polytile.fuzz.tree import (
    Advance,
    Assign,
    Counting,
    Declare,
    DeclareArray,
    Element,
    Escape,
    If,
    JumpOver,
    Leave,
    Let,
    Literal,
    Loop,
    Place,
    Statement,
    Sweep,
    Switch,
    Until,
    Update,
)


def indent(lines: Iterable[str]) -> list[str]:
    """Indent the lines by one level."""
    return [f"    {line}" for line in lines]


@dataclass(frozen=True, slots=True)
class StatementPrinter:
    """Prints statements; `extents` are those of the arrays."""

    extents: Extents
    speller: Speller

    def bracketed(self, shape: Iterable[Linear]) -> str:
        """Print `[n][m + 1]`."""
        return "".join(f"[{linear_text(e, self.speller.spelt)}]" for e in shape)

    def block(self, body: tuple[Statement, ...], names: Ranges) -> list[str]:
        """Print the lines of a block."""
        return [line for s, here in statements(body, names) for line in self.statement(s, here)]

    def statement(self, s: Statement, names: Ranges) -> list[str]:
        value, element = self.speller.value, self.speller.element
        match s:
            case Assign(targets, right):
                return [" = ".join([*(element(t, names) for t in targets), value(right, names)]) + ";"]
            case Update():
                return [self.update(s, names)]
            case Sweep():
                return [f"{s.function}({self.speller.row(s, names)});"]
            case Declare(name, ctype, right):
                return [f"{ctype} {name} = {value(right, names)};"]
            case DeclareArray(name, ctype, rank, right):
                return [
                    f"{ctype} {name}{self.bracketed(self.extents[name])};",
                    *self.fill(name, rank, right, names),
                ]
            case Let() | Place() | Advance() | Leave():
                return self.integer(s, names)
            case Counting(name, start, body):
                return [f"int {name} = {self.speller.index(start, names)};", *self.block(body, counted(s, names))]
            case JumpOver(condition, label, skipped):
                test = self.speller.condition(condition, names)
                return [f"if ({test})", f"    goto {label};", *self.block(skipped, names), f"{label}: ;"]
            case Escape(label, loop):
                return [*self.loop(loop, names), f"{label}: ;"]
            case If():
                return self.branch(s, names)
            case Switch():
                return self.switch(s, names)
            case Loop() | Until():
                return self.loop(s, names)

    def integer(self, s: Let | Place | Advance | Leave, names: Ranges) -> list[str]:
        match s:
            case Let(name, value, declared, op, limit):
                lines = [f"{'int ' if declared else ''}{name} = {self.speller.index(value, names)};"]
                if limit is not None:
                    end = self.speller.index(limit, names)
                    lines += [f"if ({name} {op} {end})", f"    {name} = {end};"]
                return lines
            case Place(name):
                return [f"int {name} = {self.speller.place(s, names)};"]
            case Advance(name, by):
                return [f"{name}++;" if by == 1 else f"{name}--;" if by == -1 else f"{name} += {by};"]
            case Leave(word, condition, label):
                return [f"if ({self.speller.condition(condition, names)})", f"    {word} {label};".replace(" ;", ";")]

    def loop(self, s: Loop | Until, names: Ranges) -> list[str]:
        inner = below(s, names) if isinstance(s, Loop) else within(s, names)
        body = self.block(s.body, inner)
        if isinstance(s, Loop) and s.form not in ("while", "do"):
            return [f"{self.speller.header(s, names)} {{", *indent(body or [";"]), "}"]
        if isinstance(s, Loop):
            start, test = self.speller.bounds(s, names)
            first, word = f"{s.iterator} = {start};", s.form
            body += [f"{self.speller.advance(s, names)};"]
        else:
            end = self.speller.index(s.limit, names)
            test = f"{s.name} < {end} && {self.speller.joined(s.condition, '&&', inner)}"
            first, word = f"int {s.name} = 0;", s.word
            body += [f"{s.name}++;"]
        if word == "do":
            return [first, "do {", *indent(body), f"}} while ({test});"]
        return [first, f"while ({test}) {{", *indent(body), "}"]

    def branch(self, s: If, names: Ranges) -> list[str]:
        lines = [f"if ({self.speller.condition(s.condition, names)}) {{", *indent(self.block(s.then, names))]
        if s.otherwise:
            lines += ["} else {", *indent(self.block(s.otherwise, names))]
        return [*lines, "}"]

    def switch(self, s: Switch, names: Ranges) -> list[str]:
        lines = [f"switch ({self.speller.index(s.subject, names)}) {{"]
        for number, body in enumerate(s.cases):
            lines += [f"case {number}:" if number < len(s.cases) - 1 else "default:"]
            lines += indent([*self.block(body, names), *([] if number in s.falls else ["break;"])])
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
        """Print loops that set every element of an array."""
        iterators = [f"f{k}" for k in range(rank)]
        lines = [
            f"{'    ' * k}for (int {i} = 0; {i} < {linear_text(self.extents[name][k], self.speller.spelt)}; {i}++)"
            for k, i in enumerate(iterators)
        ]
        subscripts = "".join(f"[{i}]" for i in iterators)
        return [*lines, f"{'    ' * rank}{name}{subscripts} = {self.speller.value(right, names)};"]
