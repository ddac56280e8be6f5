"""What functions that are defined elsewhere access, in a pragma in front of their declarations.

    #pragma polytile access(f) reads(a[0:n]) writes(b[0]) may_write(c[0:n])
    void f(int n, const double *a, double *b, double *c);

`a[0:n]` are the n elements from the first on, as in OpenACC and OpenMP; `a` alone are all that its declaration says.
What a function `writes` it writes whenever it is called. One without clauses takes and gives numbers, and does nothing
else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from copy import copy

from pycparser import CParser, c_ast
from pycparser.c_parser import ParseError

from polytile.dataclass import dataclass
from polytile.diagnostics import UserError
from polytile.frontend.callees import called_name
from polytile.frontend.find_scops import polytile_pragma
from polytile.frontend.math_functions import is_known
from polytile.frontend.normalise import normalised
from polytile.frontend.parse import ParsedFile, location_of, nodes_below
from polytile.frontend.scope import Scope
from polytile.frontend.trees import copied, possible_bases, statements_below, variables_in
from polytile.frontend.type_shapes import Shape
from polytile.ir.expr import CType
from polytile.ir.external_functions import ExternalFunction

_PRAGMA = r"(?s)access\s*\(\s*([A-Za-z_]\w*)\s*\)(.*)"
_CLAUSE = r"\s*(reads|writes|may_write)\s*\("
_ITEM = r"(?s)\s*([A-Za-z_]\w*)\s*(?:\[(.*)\]\s*)?"
_EXAMPLE = "#pragma polytile access(f) reads(a[0:n]) writes(b[0])"


@dataclass(frozen=True, slots=True)
class Formal:
    """A parameter: a number, or a pointer to numbers of this type."""

    name: str
    type: CType
    pointer: bool
    const: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """`count` elements from `first` on of what the parameter points to; one without a count."""

    parameter: str
    first: c_ast.Node
    count: c_ast.Node | None = None


@dataclass(frozen=True, slots=True)
class AccessSummary:
    """What a call may access, by the function's own parameters."""

    function: ExternalFunction
    parameters: tuple[Formal, ...]
    result: CType | None
    sections: Mapping[str, tuple[Section, ...]]  # by clause

    @property
    def name(self) -> str:
        return self.function.name

    @property
    def pure(self) -> bool:
        """Whether it takes numbers and gives one."""
        return self.result is not None and not any(p.pointer for p in self.parameters)

    def writes(self, parameter: str) -> bool:
        """Whether elements may change that the parameter points to."""
        return any(s.parameter == parameter for clause in ("writes", "may_write") for s in self.sections[clause])


Summaries = Mapping[str, AccessSummary]


def access_summaries(file: ParsedFile) -> dict[str, AccessSummary]:
    """The summaries of a file, by the names of functions."""
    found: dict[str, AccessSummary] = {}
    scope = Scope(facts=file.types)
    waiting: list[c_ast.Pragma] = []
    for item in file.tree.ext:
        scope.bind(item)
        if _is_summary(item):
            waiting.append(item)
        elif waiting and not isinstance(item, c_ast.Pragma):
            for pragma in waiting:
                summary = _read(pragma, item, scope)
                found[summary.name] = summary
            waiting = []
        for node in statements_below(item) if isinstance(item, c_ast.FuncDef) else ():
            if _is_summary(node):
                raise _misplaced(node)
    if waiting:
        raise _misplaced(waiting[0])
    return found


def called_summaries(nodes: Iterable[c_ast.Node], summaries: Summaries) -> dict[str, AccessSummary]:
    """Those of the functions that statements call."""
    names = {called_name(n) for item in nodes for n in nodes_below(item)} if summaries else set()
    return {name: summary for name, summary in summaries.items() if name in names}


def changed_by_calls(nodes: Iterable[c_ast.Node], summaries: Summaries) -> frozenset[str]:
    """The arrays that calls in these statements may write."""
    calls = (n for item in nodes for n in nodes_below(item) if called_name(n) in summaries) if summaries else ()
    arguments = (argument for call in calls for argument in written_by(call, summaries))
    return frozenset(str(base.name) for argument in arguments for base in possible_bases(argument))


def written_by(call: c_ast.FuncCall, summaries: Summaries) -> Iterator[c_ast.Node]:
    """The arguments of a call that lead to elements which it may write."""
    summary = summaries.get(called_name(call))
    given = call.args.exprs if call.args is not None else []
    for formal, argument in zip(summary.parameters if summary else (), given, strict=False):
        if summary is not None and summary.writes(formal.name):
            yield argument


def _is_summary(node: c_ast.Node) -> bool:
    return (polytile_pragma(node) or "").startswith("access")


def _misplaced(pragma: c_ast.Node) -> UserError:
    return UserError(
        "no declaration of a function follows this access summary",
        location=location_of(pragma),
        hint="put it in front of the function's declaration, outside of functions",
    )


# Reading ------------------------------------------------------------------------------------------------------------
def _read(pragma: c_ast.Pragma, item: c_ast.Node, scope: Scope) -> AccessSummary:
    found = re.fullmatch(_PRAGMA, polytile_pragma(pragma) or "")
    if found is None:
        raise _wrong(pragma, "this access summary cannot be read")
    declaration = item.decl if isinstance(item, c_ast.FuncDef) else item
    if not isinstance(declaration, c_ast.Decl) or not isinstance(declaration.type, c_ast.FuncDecl):
        raise _misplaced(pragma)
    name, clauses = found[1], found[2].strip()
    if is_known(name):
        raise _wrong(pragma, f"`{name}` is known: it needs no access summary")
    if declaration.name != name:
        raise _wrong(pragma, f"the access summary of `{name}` stands in front of `{declaration.name}`")
    inner = _parameter_scope(declaration.type, scope, pragma)
    formals = tuple(_formal(binding.name, binding.shape, pragma) for binding in inner.names.values())
    result = scope.shape(declaration.type.type)
    if not result.void and (result.layers or result.base is None or result.base.kind == "struct"):
        raise _wrong(pragma, f"`{name}` gives no number")
    kind = None if result.void else result.base
    sections: dict[str, tuple[Section, ...]] = {"reads": (), "writes": (), "may_write": ()}
    for clause, items in _clauses(clauses, pragma):
        sections[clause] += tuple(_section(text, formals, inner, pragma) for text in items)
    function = ExternalFunction(name, _prototype(name, kind, formals), " ".join(clauses.split()), location_of(pragma))
    summary = AccessSummary(function, formals, kind, sections)
    _check(summary, pragma)
    return summary


def _check(summary: AccessSummary, pragma: c_ast.Node) -> None:
    if summary.result is None and not any(summary.writes(p.name) for p in summary.parameters):
        raise _wrong(pragma, f"`{summary.name}` gives no value and writes nothing")
    mentioned = {s.parameter for sections in summary.sections.values() for s in sections}
    for formal in summary.parameters:
        if formal.pointer and formal.name not in mentioned:
            message = f"the access summary of `{summary.name}` does not say what it accesses through `{formal.name}`"
            raise _wrong(pragma, message)
        if formal.const and summary.writes(formal.name):
            raise _wrong(pragma, f"`{summary.name}` cannot write what `{formal.name}` points to: it is const")


def _parameter_scope(declarator: c_ast.FuncDecl, scope: Scope, pragma: c_ast.Node) -> Scope:
    inner = scope.child("parameter")
    for parameter in declarator.args.params if declarator.args is not None else ():
        nothing = isinstance(parameter, c_ast.Typename) and scope.shape(parameter.type).void
        if isinstance(parameter, c_ast.Decl) and parameter.name is not None:
            inner.bind_parameter(parameter)
        elif not nothing:
            raise _wrong(pragma, "the parameters of a function with an access summary need names")
    return inner


def _formal(name: str, shape: Shape, pragma: c_ast.Node) -> Formal:
    if shape.base is None or shape.base.kind == "struct" or len(shape.layers) > 1:
        raise _wrong(pragma, f"the parameter `{name}` is neither a number nor a pointer to numbers")
    return Formal(name, shape.base, bool(shape.layers), bool(shape.layers) and shape.const)


def _prototype(name: str, result: CType | None, formals: tuple[Formal, ...]) -> str:
    kinds = [f"{'const ' if f.const else ''}{f.type}{' *' if f.pointer else ''}" for f in formals]
    return f"{result or 'void'} {name}({', '.join(kinds) or 'void'})"


def _clauses(text: str, pragma: c_ast.Node) -> Iterator[tuple[str, list[str]]]:
    """`reads`, [`a[0:n]`, `b[i]`] of each clause."""
    while text.strip():
        found = re.match(_CLAUSE, text)
        parts = _parts(text[found.end() :]) if found is not None else None
        if found is None or parts is None:
            raise _wrong(pragma, f"this is no clause of an access summary: `{text.strip()}`")
        items, text = parts
        yield found[1], items


def _parts(text: str) -> tuple[list[str], str] | None:
    """What stands between commas up to the closing parenthesis, and what is behind that; None without one."""
    depth, start = 0, 0
    items: list[str] = []
    for position, character in enumerate(text):
        if depth == 0 and character in ",)":
            items.append(text[start:position])
            start = position + 1
            if character == ")":
                return items, text[start:]
        depth += (character in "([") - (character in ")]")
    return None


def _section(text: str, formals: tuple[Formal, ...], scope: Scope, pragma: c_ast.Node) -> Section:
    found = re.fullmatch(_ITEM, text)
    if found is None or found[1] not in {f.name for f in formals if f.pointer}:
        raise _wrong(pragma, f"`{text.strip()}` is no element of what a parameter points to")
    if found[2] is None:
        extent = scope.names[found[1]].shape.layers[0].extent
        if extent is None:
            raise _wrong(pragma, f"how many elements `{found[1]}` has is not known: write `{found[1]}[0:n]`")
        return Section(found[1], c_ast.Constant("int", "0", pragma.coord), _value(copied(extent), scope, pragma))
    first, colon, count = found[2].partition(":")
    return Section(found[1], _parsed(first, scope, pragma), _parsed(count, scope, pragma) if colon else None)


def _parsed(text: str, scope: Scope, pragma: c_ast.Node) -> c_ast.Node:
    try:
        tree = CParser().parse(f"int f(void) {{ return ({text}); }}")
    except ParseError:
        raise _wrong(pragma, f"`{text.strip()}` is not a C expression") from None
    expression = tree.ext[0].body.block_items[0].expr
    for node in nodes_below(expression):
        node.coord = copy(pragma.coord)
    return _value(expression, scope, pragma)


def _value(expression: c_ast.Node, scope: Scope, pragma: c_ast.Node) -> c_ast.Node:
    for use in variables_in(expression):
        known = scope.lookup(use.name)
        shape = scope.names[use.name].shape if use.name in scope.names else None
        integer = shape is not None and shape.base is not None and shape.base.kind == "int" and not shape.layers
        if not integer and (known is None or known.constant is None):
            raise _wrong(pragma, f"`{use.name}` is no integer that the function takes")
    return normalised((expression,), scope)[0]


def _wrong(pragma: c_ast.Node, message: str) -> UserError:
    return UserError(message, location=location_of(pragma), hint=f"write, for instance, '{_EXAMPLE}'")
