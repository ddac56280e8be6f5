"""Structs that a SCoP reaches through a pointer for certain, and when: the host may read them before the SCoP runs.

before: for (i = 0; i < m; i++) for (j = 0; j < p->n; j++) p->a[i * p->n + j] = 0;
after:  `*p` is read for certain where 0 < m, by the header of the inner loop in its first run, and only then

Nothing that the SCoP changes may be in the headers of the loops around but their own iterators: all runs of such a loop
have equally many iterations, so that whatever is inside runs at all only where its first iteration does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.jump_elimination import has_break
from polytile.frontend.node_index import NodeIndex
from polytile.frontend.parse import nodes_below
from polytile.frontend.scope import Scope
from polytile.frontend.trees import copied, substituted, text_of, variables_in
from polytile.frontend.type_shapes import Shape

_Loops = tuple[c_ast.For, ...]


@dataclass(frozen=True, slots=True)
class _Place:
    """A field or an element with the loops around it; `certain` where their first iterations evaluate it."""

    text: str
    pointer: str | None  # the text of the one that it is reached through
    loops: _Loops
    certain: bool


@dataclass(slots=True)
class MustReads:
    """The expressions of a SCoP, whose types are spelt out, by their places."""

    scope: Scope
    changed: frozenset[str]  # variables that the statements declare, or change as a whole
    places: list[_Place] = field(default_factory=list)

    @classmethod
    def of(cls, body: Sequence[c_ast.Node], scope: Scope) -> MustReads:
        index = NodeIndex.of(body)
        made = cls(scope, index.written.union(index.declared))
        one = any(scope.constant(n.subscript) is not None for n in index.all(c_ast.ArrayRef))
        if one or any(_reached(n) is not None for n in index.all(c_ast.StructRef)):
            for item in body:
                made._walk(copied(item), (), True)  # others change the statements in place
        return made

    def guarded(self, load: c_ast.Node) -> c_ast.Node | None:
        """The C that reads `load` where the SCoP would read it or its struct, else 0; None where there is none.

        before: p->a    after: 0 < m ? p->a : 0
        """
        pointer = pointer_of(load, self.scope)
        if pointer is None:
            return load
        text, of_load = text_of(pointer), text_of(load)
        reads = [p for p in self.places if p.certain and (p.pointer == text or p.text == of_load)]
        found: dict[str, _Loops] = {}
        for use in (p for p in self.places if p.text == of_load):
            read = next((r for r in reads if use.loops[: len(r.loops)] == r.loops), None)
            if read is None:
                return None
            found[" ".join(text_of(self._starts(loop)) for loop in read.loops)] = read.loops
        if not found:
            return None
        if "" in found:
            return load
        runs = [_joined("&&", [self._starts(loop) for loop in loops]) for loops in found.values()]
        return c_ast.TernaryOp(_joined("||", runs), load, c_ast.Constant("int", "0"), load.coord)

    def _starts(self, loop: c_ast.For) -> c_ast.Node:
        """Whether a loop has an iteration: its condition at its first value."""
        name, value = _first_value(loop)
        return substituted(copied(loop.cond), {name: value})

    def _walk(self, node: c_ast.Node | None, loops: _Loops, certain: bool) -> None:
        if node is None:
            return
        if isinstance(node, c_ast.StructRef | c_ast.ArrayRef):
            self.places.append(_Place(text_of(node), _reached(node), loops, certain))
        match node:
            case c_ast.For():
                self._loop(node, loops, certain)
            case c_ast.While(cond=first) | c_ast.If(cond=first) | c_ast.TernaryOp(cond=first):
                self._first_of(first, node, loops, certain)
            case c_ast.BinaryOp(op="&&" | "||", left=first):
                self._first_of(first, node, loops, certain)
            case c_ast.DoWhile():
                self._first_of(None, node, loops, certain)
            case _:
                evaluated = not (isinstance(node, c_ast.UnaryOp) and node.op in ("sizeof", "&"))
                for _, child in node.children():
                    self._walk(child, loops, certain and evaluated)

    def _first_of(self, first: c_ast.Node | None, node: c_ast.Node, loops: _Loops, certain: bool) -> None:
        """A node of which one part is evaluated always, and the others sometimes."""
        for _, child in node.children():
            self._walk(child, loops, certain and child is first)

    def _loop(self, loop: c_ast.For, loops: _Loops, certain: bool) -> None:
        self._walk(loop.init, loops, certain)
        self._walk(loop.cond, loops, certain)
        inside = certain and not has_break(loop) and self._is_even(loop)
        self._walk(loop.stmt, (*loops, loop), inside)
        self._walk(loop.next, (*loops, loop), inside)

    def _is_even(self, loop: c_ast.For) -> bool:
        """Whether a loop has equally many iterations whenever it runs, as far as variables say."""
        first = _first_value(loop)
        if first[0] == "" or loop.cond is None:
            return False
        own = {str(use.name) for use in variables_in(first[1])} | {str(u.name) for u in variables_in(loop.cond)}
        own -= {first[0]}
        if any(isinstance(n, c_ast.FuncCall | c_ast.Assignment) for n in nodes_below(loop.cond)):
            return False
        return all(name not in self.changed and self.scope.lookup(name) is not None for name in own)


def pointer_of(load: c_ast.Node, scope: Scope) -> c_ast.Node | None:
    """The pointer through which a field is read: p of `p->a`, `p->inner.a`; None for `s.a` of a variable."""
    node = load
    while isinstance(node, c_ast.StructRef | c_ast.ArrayRef | c_ast.UnaryOp):
        if isinstance(node, c_ast.UnaryOp):
            return node.expr if node.op == "*" else None
        if isinstance(node, c_ast.StructRef) and node.type == "->":
            return node.name
        if isinstance(node, c_ast.ArrayRef) and leads(node.name, scope):
            return node.name
        node = node.name
    return None


def leads(node: c_ast.Node, scope: Scope) -> bool:
    """Whether an element is reached through a pointer, as parameters are that are declared as arrays."""
    shape = shape_of(node, scope)
    if shape is None or not shape.layers or shape.layers[0].pointer:
        return True
    binding = scope.lookup(node.name) if isinstance(node, c_ast.ID) else None
    return binding is not None and binding.kind == "parameter"


def shape_of(node: c_ast.Node, scope: Scope, own: dict[str, Shape] | None = None) -> Shape | None:
    """The type of a place in memory; `own` are those of variables that the statements declare."""
    match node:
        case c_ast.ID(name=name):
            if own is not None and name in own:
                return own[name]
            binding = scope.lookup(name)
            return None if binding is None or binding.kind not in ("variable", "parameter") else binding.shape
        case c_ast.ArrayRef(name=inner) | c_ast.StructRef(name=inner) | c_ast.UnaryOp(op="*", expr=inner):
            return part_shape(node, shape_of(inner, scope, own))
    return None


def part_shape(node: c_ast.Node, whole: Shape | None) -> Shape | None:
    """The type of `whole[i]`, `*whole`, `whole.f` or `whole->f`; None for another node, or where there is no such."""
    if whole is None:
        return None
    match node:
        case c_ast.ArrayRef() | c_ast.UnaryOp(op="*") if whole.layers:
            return Shape(whole.base, whole.layers[1:], whole.const, whole.struct, whole.reason)
        case c_ast.StructRef(type=kind, field=member):
            if whole.struct is None or len(whole.layers) != (0 if kind == "." else 1):
                return None
            return next((m.shape for m in whole.struct.members if m.name == member.name), None)
    return None


def _reached(node: c_ast.Node) -> str | None:
    """The pointer that `p->x` dereferences."""
    return text_of(node.name) if isinstance(node, c_ast.StructRef) and node.type == "->" else None


def _first_value(loop: c_ast.For) -> tuple[str, c_ast.Node]:
    """The iterator of a loop, and its first value; no name where there is no such."""
    start = loop.init
    if isinstance(start, c_ast.DeclList) and len(start.decls) == 1 and start.decls[0].init is not None:
        decl = start.decls[0]
        return str(decl.name), c_ast.Cast(c_ast.Typename(None, [], None, _without_name(copied(decl.type))), decl.init)
    if isinstance(start, c_ast.Assignment) and start.op == "=" and isinstance(start.lvalue, c_ast.ID):
        return str(start.lvalue.name), start.rvalue
    return "", c_ast.EmptyStatement()


def _without_name(declarator: c_ast.Node) -> c_ast.Node:
    if isinstance(declarator, c_ast.TypeDecl):
        declarator.declname = None
    return declarator


def _joined(op: str, parts: Sequence[c_ast.Node]) -> c_ast.Node:
    first, *rest = parts
    for part in rest:
        first = c_ast.BinaryOp(op, first, part)
    return first
