"""The part of a SCoP that decides which elements of an array it uses: loops, conditions and scalars, and no memory.

before: for (i < n) { k = p[i]; if (k >= 0) y[i] = x[k + 1] * c[i]; }
after:  for (i < n) { k = p[i]; if (k >= 0) polytile_visit(k + 1); }                       of x

That is a program slice (M. Weiser, Program slicing, 1984), of an access and backwards, along the syntax tree. It may
run in front of the SCoP where all that it reads has the value there that it had before it (upward_exposed_reads.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.ast_builders import is_plain
from polytile.frontend.dominated_uses import dominated_uses
from polytile.frontend.parse import nodes_below
from polytile.frontend.slice_ends import only_ends
from polytile.frontend.trees import WRITING, block_items, copied, possible_bases, variables_in, written_name

VISIT = "polytile_visit"


class NoSliceError(Exception):
    """Why which elements are used cannot be said before the SCoP runs."""


def used_elements(
    body: Sequence[c_ast.Node], array: str, columns: Callable[[c_ast.Node], Sequence[c_ast.Node]]
) -> tuple[list[tuple[c_ast.Node, ...]], frozenset[str]]:
    """For each place that names an element of `array` the statements that visit its first subscript, s, as
    `polytile_visit(s);`, and what `columns` makes of the place: `polytile_visit_1(c);`, `polytile_visit_2(d);`. And the
    arrays that these read and the SCoP changes.

    Raises NoSliceError where that depends on what the SCoP computes.
    """
    found = list(_uses(body, array))
    named = sum(use.name == array for node in body for use in variables_in(node))
    if named != len(found):
        raise NoSliceError(f"`{array}` is used as a whole")
    uses = {id(use) for use in found}
    repeated = dominated_uses(body, lambda node: id(node) in uses, columns)
    slices = [_slice(body, use, columns) for use in found if id(use) not in repeated]
    read = {name for _, names in slices for name in names}
    return [kept for kept, _ in slices], memory_changed(body) & read


def memory_changed(body: Sequence[c_ast.Node]) -> frozenset[str]:
    """The arrays and structs that statements may change."""
    found: set[str] = set()
    for node in (n for item in body for n in nodes_below(item)):
        target = node.lvalue if isinstance(node, c_ast.Assignment) else None
        if isinstance(node, c_ast.UnaryOp) and node.op in (*WRITING, "&"):
            target = node.expr
        if target is not None and not isinstance(target, c_ast.ID):
            found |= {str(base.name) for base in possible_bases(target)}
    return frozenset(found)


def _uses(body: Sequence[c_ast.Node], array: str) -> Iterator[c_ast.Node]:
    for node in (n for item in body for n in nodes_below(item)):
        arrow = isinstance(node, c_ast.StructRef) and node.type == "->"
        star = isinstance(node, c_ast.UnaryOp) and node.op == "*"
        inner = node.expr if star else node.name if arrow or isinstance(node, c_ast.ArrayRef) else None
        if isinstance(inner, c_ast.ID) and inner.name == array:
            yield node


def _slice(
    body: Sequence[c_ast.Node], use: c_ast.Node, columns: Callable[[c_ast.Node], Sequence[c_ast.Node]]
) -> tuple[tuple[c_ast.Node, ...], frozenset[str]]:
    """The statements that visit one use, grown until all scalars that they read are set by them; and what they read."""
    scalars = set_scalars(body)
    relevant: set[str] = set()
    while True:
        slicer = _Slicer(use, columns, frozenset(relevant))
        kept = tuple(slicer.block(body))
        more = slicer.read & scalars
        if more <= relevant:
            return kept, frozenset(slicer.read)
        relevant |= more


def set_scalars(body: Sequence[c_ast.Node]) -> set[str]:
    """The variables that statements set as a whole, or declare."""
    nodes = [n for item in body for n in nodes_below(item)]
    written = {name for n in nodes if (name := written_name(n)) is not None}
    return written | {str(n.name) for n in nodes if isinstance(n, c_ast.Decl)}


def _values(node: c_ast.Node) -> list[c_ast.Node]:
    """The expressions of a declaration, an assignment or an increment, or the expression itself."""
    match node:
        case c_ast.DeclList():
            return [value for d in node.decls for value in _values(d)]
        case c_ast.Decl():
            return [] if node.init is None else [node.init]
        case c_ast.Assignment():
            return [node.rvalue]
        case c_ast.UnaryOp() if node.op in WRITING:
            return []
    return [node]


@dataclass(slots=True)
class _Slicer:
    """Keeps what leads to `use`, or sets one of the `relevant` scalars; `read` are the names that this reads."""

    use: c_ast.Node
    columns: Callable[[c_ast.Node], Sequence[c_ast.Node]]
    relevant: frozenset[str]
    read: set[str] = field(default_factory=set)
    _breaks: bool = False  # the loop around is kept, and so is what ends it

    def block(self, items: Sequence[c_ast.Node]) -> list[c_ast.Node]:
        return [kept for item in items for kept in self._statement(item)]

    def _statement(self, node: c_ast.Node) -> list[c_ast.Node]:
        match node:
            case c_ast.Compound():
                inside = self.block(block_items(node))
                return [c_ast.Compound(inside)] if inside else []
            case c_ast.Decl():
                return self._declaration(node)
            case c_ast.DeclList():
                return [kept for d in node.decls for kept in self._declaration(d)]
            case c_ast.Assignment() | c_ast.UnaryOp():
                return self._change(node)
            case c_ast.If():
                return self._if(node)
            case c_ast.For():
                return self._for(node)
            case c_ast.While() | c_ast.DoWhile():
                return self._while(node)
            case c_ast.Break():
                return [c_ast.Break()] if self._breaks else []
            case c_ast.EmptyStatement() | c_ast.Pragma():
                return []
        raise NoSliceError("statements jump or call")

    def _declaration(self, node: c_ast.Decl) -> list[c_ast.Node]:
        visits = self._visits(node.init)
        if node.name not in self.relevant:
            return visits
        if not isinstance(node.type, c_ast.TypeDecl):
            raise NoSliceError(f"`{node.name}` is no scalar")
        return [*visits, copied(self._reading(node))]

    def _change(self, node: c_ast.Node) -> list[c_ast.Node]:
        visits = self._visits(node)
        inner = [node.rvalue] if isinstance(node, c_ast.Assignment) else []
        if any(written_name(n) in self.relevant for part in inner for n in nodes_below(part)):
            raise NoSliceError("an assignment stands inside another one")
        if written_name(node) not in self.relevant:
            return visits
        return [*visits, copied(self._reading(node))]

    def _if(self, node: c_ast.If) -> list[c_ast.Node]:
        visits = self._visits(node.cond)
        sides = [self.block(block_items(side)) for side in (node.iftrue, node.iffalse)]
        return [*visits, *self._guarded(node.cond, sides[0], sides[1])]

    def _guarded(self, condition: c_ast.Node, then: list[c_ast.Node], otherwise: list[c_ast.Node]) -> list[c_ast.Node]:
        if not then and not otherwise:
            return []
        other = c_ast.Compound(otherwise) if otherwise else None
        return [c_ast.If(copied(self._reading(condition)), c_ast.Compound(then), other)]

    def _loop(self, body: c_ast.Node) -> list[c_ast.Node]:
        before, self._breaks = self._breaks, False
        inside = self.block(block_items(body))
        if inside:
            self._breaks = True
            inside = self.block(block_items(body))
        self._breaks = before
        return inside

    def _for(self, node: c_ast.For) -> list[c_ast.Node]:
        parts = [p for p in (node.init, node.cond, node.next) if p is not None]
        visits = self._once([*self._visits(node.init), *self._visits(node.cond)], node)
        if self._visits(node.next):
            raise NoSliceError("an iterator is set to an element")
        inside = self._loop(node.stmt)
        counted = {name for p in parts for n in nodes_below(p) if (name := written_name(n)) is not None}
        if not inside and not counted & self.relevant:
            return visits
        self.read |= counted
        header = [None if p is None else copied(self._reading(p)) for p in (node.init, node.cond, node.next)]
        return [*visits, only_ends(c_ast.For(*header, c_ast.Compound(inside)))]

    def _while(self, node: c_ast.While | c_ast.DoWhile) -> list[c_ast.Node]:
        visits = self._once(self._visits(node.cond), node)
        inside = self._loop(node.stmt)
        if not inside:
            return visits
        return [*visits, type(node)(copied(self._reading(node.cond)), c_ast.Compound(inside))]

    def _once(self, visits: list[c_ast.Node], loop: c_ast.Node) -> list[c_ast.Node]:
        """The visits of a loop's header in front of it, where they are the same whenever it is evaluated."""
        changed = set_scalars([loop])
        if any(use.name in changed for visit in visits for use in variables_in(visit)):
            raise NoSliceError("a loop runs as often as an element of its own says")
        return visits

    def _reading(self, node: c_ast.Node) -> c_ast.Node:
        """The same node, whose names are read when it runs."""
        if not all(is_plain(value) for value in _values(node)):
            raise NoSliceError("what decides calls functions, or changes variables")
        self.read |= {str(use.name) for use in variables_in(node)}
        return node

    def _visits(self, node: c_ast.Node | None) -> list[c_ast.Node]:
        """The visits of an expression, each where it is evaluated."""
        match node:
            case None:
                return []
            case c_ast.TernaryOp():
                sides = self._visits(node.iftrue), self._visits(node.iffalse)
                return [*self._visits(node.cond), *self._guarded(node.cond, *sides)]
            case c_ast.BinaryOp(op="&&"):
                return [*self._visits(node.left), *self._guarded(node.left, self._visits(node.right), [])]
            case c_ast.BinaryOp(op="||"):
                return [*self._visits(node.left), *self._guarded(node.left, [], self._visits(node.right))]
        inside = [visit for _, child in node.children() for visit in self._visits(child)]
        if node is not self.use:
            return inside
        at = node.subscript if isinstance(node, c_ast.ArrayRef) else c_ast.Constant("int", "0")
        numbers = [copied(self._reading(number)) for number in (at, *self.columns(node))]
        return [*inside, *(_visit(number, k) for k, number in enumerate(numbers))]


def _visit(number: c_ast.Node, dimension: int) -> c_ast.FuncCall:
    return c_ast.FuncCall(c_ast.ID(f"{VISIT}_{dimension}" if dimension else VISIT), c_ast.ExprList([number]))
