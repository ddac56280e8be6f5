"""Loops in the arguments of a macro: whether the macro puts them into one place, and nowhere else.

    #define WHEN(c, x) if (c) { x }     WHEN(n > 4, for (...) a[i] += 1;)     one loop in the text, one in the program
    #define TWICE(x) x x                TWICE(for (...) a[i] += 1;)           two in the program: refused
    #define SHOW(x) x puts(#x);         SHOW(for (...) a[i] += 1;)            the text of the loop is printed: refused

Names around the loop go with it through the preprocessor, wherever the macro puts it.
"""

from __future__ import annotations

from dataclasses import replace

from pycparser import c_ast

from polytile.diagnostics import Location, UserError
from polytile.frontend.parse import location_of
from polytile.frontend.preprocess import Preprocessed
from polytile.frontend.tokens import Token, tokenize
from polytile.ir.name_supply import fresh
from polytile.ir.scop import Scop
from polytile.ir.source_span import Span

_BRACKETS = {")": "(", "]": "[", "}": "{"}
# What blocks that take the place of a SCoP say beside its own names.
_SAID = frozenset(
    ("void", "char", "short", "int", "long", "float", "double", "signed", "unsigned", "const", "extern", "if", "else",
     "exit")
)  # fmt: skip


def in_arguments(source: Preprocessed, offset: int) -> bool:
    """Whether a place in the user's text is in the arguments of a macro."""
    opened: list[tuple[str, str]] = []  # brackets, and the names before them
    before = ""
    for token in tokenize(source.raw):
        if token.offset >= offset:
            break
        if token.text in ("(", "[", "{"):
            opened.append((token.text, before))
        elif (opening := _BRACKETS.get(token.text)) and any(bracket == opening for bracket, _ in opened):
            while opened.pop()[0] != opening:  # branches of `#if` need not match each other
                pass
        before = token.text
    return any(bracket == "(" and name in source.macros for bracket, name in opened)


def placed(source: Preprocessed, span: Span, loop: c_ast.Node) -> Span:
    """The span of a loop and those behind it, marked if it is in the arguments of a macro; raises UserError where the
    macro does something else with it than putting it into the program once."""
    if not in_arguments(source, span.start):
        return span
    inside = source.raw[span.start : span.end]
    if any(line.lstrip().startswith("#") for line in inside.split("\n")) or not _used_once(source, span, loop):
        raise UserError(
            "the macro around this loop does more with it than putting it into the program once",
            location=location_of(loop),
            hint="write the loop outside of the arguments of the macro",
        )
    return replace(span, in_arguments=True)


def _used_once(source: Preprocessed, span: Span, loop: c_ast.Node) -> bool:
    taken = set(source.macros)
    begin, end = fresh("polytile_begin", taken), fresh("polytile_end", taken)
    text = source.raw
    inside = text[span.start : span.end]
    expanded = source.expand(f"{text[: span.start]} {begin} {inside} {end} {text[span.end :]}")
    if expanded.count(begin) != 1 or expanded.count(end) != 1:
        return False
    words = [token.text for token in tokenize(expanded)]
    if begin not in words or end not in words[words.index(begin) :]:
        return False
    return _loop_at(source, words.index(begin), location_of(loop))


def _loop_at(source: Preprocessed, number: int, place: Location) -> bool:
    """Whether of all that the parser reads the token of this number alone starts the loop at a place."""
    tokens = list(tokenize(source.text))
    starts = [0]
    for line in source.lines.lines:
        starts.append(starts[-1] + len(line) + 1)
    lines = [k for k, origin in enumerate(source.lines.origins) if origin == (place.file, place.line)]

    def at_place(token: Token) -> bool:
        line = next((k for k in lines if starts[k] <= token.offset < starts[k + 1]), None)
        if line is None or token.text not in ("for", "while", "do"):
            return False
        return source.lines.location(line + 1, token.offset - starts[line] + 1) == place

    return [k for k, token in enumerate(tokens) if at_place(token)] == [number]


def check_names(source: Preprocessed, scop: Scop) -> None:
    """Refuse a SCoP in the arguments of a macro where the block in its place would need a directive: to put macros
    aside, or to define some of its own."""
    names = _SAID.union((p.name for p in scop.parameters), (a.name for a in scop.external_arrays))
    if scop.tables or scop.reached or scop.allocated or names.intersection(source.macros):
        raise UserError(
            "what the program has to look at before this loop cannot stand in the arguments of a macro",
            location=scop.location,
            hint="write the loop outside of the arguments of the macro",
        )
