"""Where the SCoPs of a file are: pragmas, their blocks, their lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field, replace

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.diagnostics import Location, UserError
from polytile.frontend.line_directives import refuse_line_directives
from polytile.frontend.macro_arguments import in_arguments
from polytile.frontend.parse import ParsedFile, location_of, nodes_below
from polytile.frontend.scope import Scope
from polytile.frontend.tokens import blank_comments
from polytile.frontend.trees import block_items
from polytile.ir.source_span import Span

_PRAGMAS = r"(?s)assume\s*\(.*\)|independent\s*(\([^()]*\))?|access\s*\(.*\)"
_KNOWN = "#pragma scop, endscop, polytile assume(CONDITION), independent(ARRAYS) and access(FUNCTION)"


@dataclass(frozen=True, slots=True)
class ScopPlace:
    """One run of statements in a function: a SCoP, or what may become one.

    `path` are the statements around it, outermost (the function's body) first; `following` are the statements
    after it in its own block.
    """

    function: c_ast.FuncDef
    scope: Scope = field(compare=False)
    items: tuple[c_ast.Node, ...]
    following: tuple[c_ast.Node, ...]
    path: tuple[c_ast.Node, ...]
    location: Location
    span: Span | None  # None until the lines of a detected loop are known

    def at(self, span: Span) -> ScopPlace:
        return replace(self, span=span)

    @property
    def function_name(self) -> str:
        return str(self.function.decl.name)


def marked_places(file: ParsedFile) -> list[ScopPlace]:
    """The SCoPs that pragmas mark, in source order; pragmas that do not pair up are an error of the file."""
    finder = _Finder(file)
    for function, scope in functions(file):
        finder.visit_function(function, scope)
    finder.check_all_seen()
    return finder.places


def functions(file: ParsedFile) -> Iterator[tuple[c_ast.FuncDef, Scope]]:
    """Each function with the scope of its body's surroundings: globals before it, and its parameters."""
    scope = Scope(facts=file.types)
    for item in file.tree.ext:
        scope.bind(item)
        if isinstance(item, c_ast.FuncDef):
            yield item, parameter_scope(item, scope)


def parameter_scope(function: c_ast.FuncDef, scope: Scope) -> Scope:
    """The scope of a function's parameters."""
    inner = scope.child("parameter")
    declarator = function.decl.type
    while isinstance(declarator, c_ast.PtrDecl | c_ast.ArrayDecl):
        declarator = declarator.type
    for parameter in declarator.args.params if declarator.args is not None else ():
        inner.bind_parameter(parameter)
    for declaration in function.param_decls or ():
        inner.bind_parameter(declaration)
    return inner


@dataclass(slots=True)
class _Finder:
    file: ParsedFile
    places: list[ScopPlace] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)

    def visit_function(self, function: c_ast.FuncDef, scope: Scope) -> None:
        self._block(function, function.body, block_items(function.body), scope.child(), ())

    def _statement(
        self, function: c_ast.FuncDef, node: c_ast.Node | None, scope: Scope, path: tuple[c_ast.Node, ...]
    ) -> None:
        match node:
            case None:
                return
            case c_ast.Compound():
                self._block(function, node, block_items(node), scope.child(), path)
            case c_ast.Case() | c_ast.Default():
                self._block(function, node, list(node.stmts or []), scope, path)
            case c_ast.For():
                inner = scope.child()
                if isinstance(node.init, c_ast.DeclList):
                    inner.bind(node.init)
                self._statement(function, node.stmt, inner, (*path, node))
            case c_ast.While() | c_ast.DoWhile() | c_ast.Switch() | c_ast.Label():
                self._statement(function, node.stmt, scope, (*path, node))
            case c_ast.If():
                self._statement(function, node.iftrue, scope, (*path, node))
                self._statement(function, node.iffalse, scope, (*path, node))

    def _block(
        self,
        function: c_ast.FuncDef,
        block: c_ast.Node,
        items: list[c_ast.Node],
        scope: Scope,
        path: tuple[c_ast.Node, ...],
    ) -> None:
        items = _without_labelled_pragmas(items)
        opened: tuple[int, c_ast.Pragma, Scope] | None = None
        for k, item in enumerate(items):
            word = scop_word(item)
            if word is not None:
                self.seen.add(id(item))
            if word == "scop":
                if opened is not None:
                    raise _nested(item, opened[1])
                opened = (k, item, scope.frozen())
            elif word == "endscop":
                if opened is None:
                    raise _unopened(item)
                start, pragma, outer = opened
                inside, after = tuple(items[start + 1 : k]), tuple(items[k + 1 :])
                self.places.append(self._place(function, outer, inside, after, (*path, block), pragma, item))
                opened = None
            elif opened is not None:
                _refuse_inner_pragma(item, opened[1])
                scope.bind(item)
            else:
                scope.bind(item)
                self._statement(function, item, scope, (*path, block))
        if opened is not None:
            raise _unclosed(opened[1])

    def _place(
        self,
        function: c_ast.FuncDef,
        scope: Scope,
        inside: tuple[c_ast.Node, ...],
        after: tuple[c_ast.Node, ...],
        path: tuple[c_ast.Node, ...],
        start: c_ast.Pragma,
        end: c_ast.Pragma,
    ) -> ScopPlace:
        span = _pragma_span(self.file, start, end)
        if in_arguments(self.file.source, span.start):
            raise UserError(
                "'#pragma scop' in the arguments of a macro",
                location=location_of(start),
                hint="put the pragmas around the call of the macro",
            )
        if not any(not isinstance(i, c_ast.Pragma | c_ast.EmptyStatement) for i in inside):
            raise UserError(
                "the SCoP is empty",
                location=location_of(start),
                hint="put the loops between '#pragma scop' and '#pragma endscop', or remove both",
            )
        return ScopPlace(function, scope, inside, after, path, location_of(start), span)

    def check_all_seen(self) -> None:
        for node in nodes_below(self.file.tree):
            if not isinstance(node, c_ast.Pragma):
                continue
            if scop_word(node) is not None and id(node) not in self.seen:
                raise UserError(
                    f"'#pragma {scop_word(node)}' does not stand among the statements of a function",
                    location=location_of(node),
                    hint="put both pragmas into the same block of a function, around whole statements",
                )
            if polytile_pragma(node) is not None:
                check_polytile_pragma(node)


def _without_labelled_pragmas(items: list[c_ast.Node]) -> list[c_ast.Node]:
    """Take apart the block that the parser makes of a pragma and the statement after it, behind a label or `case`."""
    flat: list[c_ast.Node] = []
    for item in items:
        inner = item.stmt if isinstance(item, c_ast.Label) else item
        parts = block_items(inner) if isinstance(inner, c_ast.Compound) else []
        made = bool(parts) and isinstance(parts[0], c_ast.Pragma) and location_of(parts[0]) == location_of(inner)
        flat += parts if made else [item]
    return flat


def pragma_text(node: c_ast.Node) -> str:
    """What follows `#pragma`, or stands in `_Pragma("...")`; an empty string for another node."""
    if not isinstance(node, c_ast.Pragma):
        return ""
    return node.string.strip() if isinstance(node.string, str) else str(node.string.value).strip('" ')


def scop_word(node: c_ast.Node) -> str | None:
    """`scop` or `endscop` for the pragmas that mark a SCoP, else None."""
    words = pragma_text(node).split()
    return words[0] if words and words[0] in ("scop", "endscop") else None


def polytile_pragma(node: c_ast.Node) -> str | None:
    """What follows `#pragma polytile`, or None for another node."""
    text = pragma_text(node)
    return text.removeprefix("polytile").strip() if text.startswith("polytile") else None


def check_polytile_pragma(node: c_ast.Pragma) -> None:
    """Refuse a `#pragma polytile` that says nothing known."""
    if not re.fullmatch(_PRAGMAS, polytile_pragma(node) or ""):
        raise UserError(
            f"unknown pragma '#pragma {pragma_text(node)}'",
            location=location_of(node),
            hint=f"polytile knows {_KNOWN}",
        )


def _nested(inner: c_ast.Node, outer: c_ast.Node) -> UserError:
    return UserError(
        f"'#pragma scop' inside the SCoP that starts at line {location_of(outer).line}",
        location=location_of(inner),
        hint="SCoPs do not nest: end the first with '#pragma endscop', or remove this pragma",
    )


def _unopened(node: c_ast.Node) -> UserError:
    return UserError(
        "'#pragma endscop' without '#pragma scop' before it in the same block",
        location=location_of(node),
        hint="put '#pragma scop' before the first statement of the SCoP, in the same block",
    )


def _unclosed(node: c_ast.Node) -> UserError:
    return UserError(
        "'#pragma scop' without '#pragma endscop' after it in the same block",
        location=location_of(node),
        hint="put '#pragma endscop' after the last statement of the SCoP, in the same block",
    )


def _refuse_inner_pragma(item: c_ast.Node, opened: c_ast.Node) -> None:
    for node in nodes_below(item):
        word = scop_word(node)
        if word == "scop":
            raise _nested(node, opened)
        if word == "endscop":
            raise _unopened(node)


def _pragma_span(file: ParsedFile, start: c_ast.Pragma, end: c_ast.Pragma) -> Span:
    refuse_line_directives(file.source.path, file.source.raw)
    for node, word in ((start, "scop"), (end, "endscop")):
        place = location_of(node)
        if place.file != file.source.path:
            raise UserError(
                f"'#pragma {word}' in an included file",
                location=place,
                hint="move the SCoP into the file that is compiled, or compile the file that holds it",
            )
        text = file.source.lines.raw_line((place.file, place.line))
        plain = blank_comments(text).rstrip()
        open_ended = "/*" in plain or plain.endswith(("\\", "??/"))
        if open_ended or not re.match(rf"\s*#\s*pragma\s+{word}\b", plain):
            raise UserError(
                f"'#pragma {word}' is not on a line of its own",
                location=place,
                hint=f"write '#pragma {word}' on one line, without _Pragma, a macro, or a comment that goes on below",
            )
    return line_span(file.source.raw, location_of(start).line, location_of(end).line)


def line_span(text: str, first: int, last: int) -> Span:
    """The offsets of whole lines, without the end of the last one."""
    lines = text.split("\n")
    start = sum(len(line) + 1 for line in lines[: first - 1])
    end = start + sum(len(line) + 1 for line in lines[first - 1 : last]) - 1
    return Span(start, end - text[start:end].endswith("\r"), first, last)
