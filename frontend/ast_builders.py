"""What rewritings of loops in the syntax tree share: which expressions they may move, and the nodes that they build."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pycparser import c_ast

from polytile.frontend.parse import nodes_below
from polytile.frontend.scope import Scope
from polytile.frontend.trees import copied, substituted, variables_in, written_name

LARGEST = 2**31 - 1
_CHANGES = ("++", "--", "p++", "p--", "&")
PURE = {"fabs": "double", "fabsf": "float", "abs": "int"}  # with the type that they take and give


def is_plain(*values: c_ast.Node) -> bool:
    """Whether expressions change nothing, and call nothing but functions that are known to be pure."""
    for node in (n for v in values for n in nodes_below(v)):
        if isinstance(node, c_ast.Assignment) or (isinstance(node, c_ast.UnaryOp) and node.op in _CHANGES):
            return False
        if isinstance(node, c_ast.FuncCall) and not (isinstance(node.name, c_ast.ID) and node.name.name in PURE):
            return False
    return True


def counted_up(loop: c_ast.Node) -> str | None:
    """The iterator of `for (int i = lower; ...; i++)`, which nothing inside the loop changes."""
    if not isinstance(loop, c_ast.For) or not isinstance(loop.init, c_ast.DeclList) or len(loop.init.decls) != 1:
        return None
    start = loop.init.decls[0]
    step = loop.next
    if start.init is None or loop.cond is None or not is_plain(start.init, loop.cond) or type_of(start) != "int":
        return None
    if not isinstance(step, c_ast.UnaryOp) or step.op not in ("++", "p++") or written_name(step) != start.name:
        return None
    return None if any(written_name(n) == start.name for n in nodes_below(loop.stmt)) else str(start.name)


def base_of(name: str, scope: Scope, *, arrays: bool) -> str:
    """The type of a variable, or of the elements of an array; nothing where there is no such."""
    binding = scope.lookup(name)
    if binding is None or binding.shape.base is None or bool(binding.shape.layers) is not arrays:
        return ""
    return binding.shape.base.name if binding.shape.base.kind != "struct" else ""


def type_of(decl: c_ast.Decl) -> str:
    """`unsigned int` of `unsigned int x`; nothing of an array, a pointer or a struct."""
    inner = decl.type
    plain = isinstance(inner, c_ast.TypeDecl) and isinstance(inner.type, c_ast.IdentifierType)
    return " ".join(inner.type.names) if plain else ""


def declared(name: str, ctype: str, value: c_ast.Node) -> c_ast.Decl:
    """`ctype name = value;`"""
    inner = c_ast.TypeDecl(name, [], None, c_ast.IdentifierType(ctype.split()))
    return c_ast.Decl(name, [], [], [], [], inner, value, None)


def integer(value: int) -> c_ast.Node:
    """A constant."""
    literal = c_ast.Constant("int", str(abs(value)))
    return literal if value >= 0 else c_ast.UnaryOp("-", literal)


def loops_around(loops: Sequence[c_ast.For], body: c_ast.Node) -> c_ast.Node:
    """Another nest of the same loops, outermost first."""
    for loop in reversed(loops):
        body = c_ast.For(copied(loop.init), copied(loop.cond), copied(loop.next), body, loop.coord)
    return body


def place(loops: Sequence[c_ast.For], condition: c_ast.Node, iterator: str, at: str, *, first: bool) -> c_ast.Node:
    """`for (...) if (condition) at = i < at ? i : at;`, or with `>`."""
    better = c_ast.BinaryOp("<" if first else ">", c_ast.ID(iterator), c_ast.ID(at))
    chosen = c_ast.TernaryOp(better, c_ast.ID(iterator), c_ast.ID(at))
    return loops_around(loops, c_ast.If(condition, c_ast.Assignment("=", c_ast.ID(at), chosen), None))


def there(nodes: Iterable[c_ast.Node], places: Mapping[str, str]) -> list[c_ast.Node]:
    """Statements with iterators replaced by where something was found."""
    return [substituted(copied(node), {k: c_ast.ID(at) for k, at in places.items()}) for node in nodes]


def block(items: list[c_ast.Node], coord: object) -> c_ast.Node:
    """A block whose nodes are all at a place of the file."""
    made = c_ast.Compound(items, coord)
    for node in nodes_below(made):
        node.coord = node.coord or coord
    return made


def names_in(body: Iterable[c_ast.Node]) -> set[str]:
    """The variables that statements mention or declare."""
    return {str(n.name) for node in body for n in nodes_below(node) if isinstance(n, c_ast.ID | c_ast.Decl) and n.name}


def unused(name: str, taken: set[str]) -> str:
    """A name that is not taken, which it then is."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def mentions(node: c_ast.Node, *names: str) -> bool:
    """Whether an expression uses one of these variables."""
    return any(use.name in names for use in variables_in(node))
