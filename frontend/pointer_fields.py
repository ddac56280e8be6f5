"""Pointers in structs that a SCoP reads and never changes, as variables that are set before it.

before: for (i < m) for (j < p->n) p->data[i * p->n + j] = 0;
after:  for (i < m) for (j < p->n) p_data[i * p->n + j] = 0;      with p_data = 0 < m ? p->data : 0

Where nothing says whether the SCoP reads the struct, as under a condition on data, p_data is p != 0 ? p->data : 0, and
the C runs if that is null. Those in elements of arrays of structs are tables of pointers (pointer_tables.py).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import reduce
from typing import Any

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.ast_builders import integer
from polytile.frontend.must_reads import MustReads, pointer_of, shape_of
from polytile.frontend.node_index import NodeIndex
from polytile.frontend.parse import nodes_below
from polytile.frontend.pointer_tables import elements_of, has_pointers, table_path, with_first_elements
from polytile.frontend.row_tables import is_row_table
from polytile.frontend.scop_region import PointerTable
from polytile.frontend.scope import Binding, Scope
from polytile.frontend.trees import WRITING, copied, map_children, text_of, variables_in
from polytile.frontend.type_shapes import Shape
from polytile.ir.expr import CHAR, SCHAR, UCHAR
from polytile.ir.name_supply import fresh

_CHARACTERS = {kind.name for kind in (CHAR, SCHAR, UCHAR)}  # of any type in memory


@dataclass(frozen=True, slots=True)
class PointerFields:
    """The statements with variables in the place of pointers, a scope that knows these, and what each is set to, or
    the table that it is; `needed` are those that are null where the host cannot know what they are."""

    body: tuple[c_ast.Node, ...]
    scope: Scope
    pointers: Mapping[str, c_ast.Node] = field(default_factory=dict)
    tables: Mapping[str, PointerTable] = field(default_factory=dict)
    needed: tuple[str, ...] = ()
    reads: MustReads | None = None  # of the statements as they were


def with_pointer_variables(body: Sequence[c_ast.Node], scope: Scope, changed: frozenset[str]) -> PointerFields:
    """Replace pointers in structs which no statement can change, but for characters, which the host looks for, and
    which it may read before. Calls write the variables in `changed`. The statements, whose types are spelt out, are
    changed in place."""
    found = _Fields.of(body, scope, changed)
    if found is None:
        return PointerFields(tuple(body), scope)
    made = tuple(found.visit(node) for node in body)
    inner = scope.child()
    for name, shape in found.shapes.items():
        node = c_ast.Decl(name, [], [], [], [], None, None, None, found.coords[name])
        inner.names[name] = Binding("variable", name, node, shape, "local")
    return PointerFields(made, inner, found.loads, found.tables, tuple(found.needed), found.reads)


@dataclass(slots=True)
class _Fields:
    scope: Scope
    reads: MustReads
    changed: frozenset[str]
    written: set[str]  # the types of what is written
    taken: set[str]
    names: dict[str, str | None] = field(default_factory=dict)  # by the text of the load; None: it has to stay
    shapes: dict[str, Shape] = field(default_factory=dict)
    loads: dict[str, c_ast.Node] = field(default_factory=dict)
    tables: dict[str, PointerTable] = field(default_factory=dict)
    coords: dict[str, object] = field(default_factory=dict)
    needed: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, body: Sequence[c_ast.Node], scope: Scope, changed: frozenset[str]) -> _Fields | None:
        """What is known of the statements; None where no pointer can be replaced."""
        index = NodeIndex.of(body)
        if not any(has_pointers(shape_of(n, scope)) for n in index.all(c_ast.StructRef)):
            return None
        own = {str(n.name): scope.shape(n.type) for n in index.all(c_ast.Decl) if n.name}
        targets = [n.lvalue for n in index.all(c_ast.Assignment)]
        targets += [n.expr for n in index.all(c_ast.UnaryOp) if n.op in WRITING]
        shapes = [shape_of(target, scope, own) for target in targets if not _is_own(target, own, scope)]
        written = set()
        for shape in shapes:
            if shape is None or shape.layers or shape.base is None or shape.base.kind == "struct":
                return None  # a whole struct may have pointers inside
            written.add(shape.base.name)
        with_first_elements(body, scope)
        reads = MustReads.of(body, scope)
        taken = {*index.names, *(b.name for b in scope.bindings())}
        return cls(scope, reads, reads.changed | changed | index.addressed, written, taken)

    def visit(self, node: Any) -> Any:
        if isinstance(node, c_ast.StructRef):
            name = self._name(node)
            if name is not None:
                return c_ast.ID(name, node.coord)
            node.name = self.visit(node.name)
            return self._row(node) or node
        return map_children(node, self.visit)

    def _row(self, load: c_ast.StructRef) -> c_ast.Node | None:
        """p_at[i] of `p[i].at`, an element of a table of pointers; None where it has to stay."""
        shape = shape_of(load, self.scope, self.shapes)
        path = table_path(load, self.scope, self.shapes) if has_pointers(shape) else None
        if shape is None or path is None or not is_row_table(path.shape(shape)):
            return None
        outside = self.scope.lookup(path.root) is not None and path.root not in self.changed
        if not (outside or path.root in self.loads) or not self.written.isdisjoint(_CHARACTERS):
            return None
        name = self.names.get(path.text)
        if name is None:
            self.names[path.text] = name = fresh(path.name, self.taken)
            self.taken.add(name)
            self.shapes[name], self.tables[name] = path.shape(shape), path.table(shape)
            self.coords[name] = load.coord
        return elements_of(name, [self.visit(s) for s in path.subscripts], load.coord)

    def _name(self, load: c_ast.StructRef) -> str | None:
        """The variable for a pointer, or None where it has to stay."""
        text = text_of(load)
        if text not in self.names:
            shape = shape_of(load, self.scope)
            value = self._value(load) if shape is not None and _is_pointer(shape) else None
            self.names[text] = None
            if shape is not None and value is not None:
                name = fresh("_".join(re.findall(r"\w+", text)), self.taken)
                self.taken.add(name)
                self.names[text], self.shapes[name], self.loads[name] = name, shape, value
                self.coords[name] = load.coord
                self.needed += [name] if self._certain(load) is None else []
        return self.names[text]

    def _value(self, load: c_ast.StructRef) -> c_ast.Node | None:
        """What the host reads before the SCoP."""
        pointer = pointer_of(load, self.scope)
        plain = load.name if pointer is None else pointer
        if not _is_path(load.name) or {str(use.name) for use in variables_in(plain)} & self.changed:
            return None
        guarded = self._certain(load) or self._if_given(load)
        if guarded is None:
            return None
        made = copied(guarded)
        made.coord = load.coord
        return made

    def _certain(self, load: c_ast.StructRef) -> c_ast.Node | None:
        """A pointer where the SCoP reads its struct for certain."""
        guarded = self.reads.guarded(load)
        return None if guarded is None or self._changes(guarded, load) else guarded

    def _if_given(self, load: c_ast.StructRef) -> c_ast.Node | None:
        """A pointer where those that lead to it are not null; None where they may have no value at all."""
        path = table_path(load, self.scope, {})
        binding = None if path is None else self.scope.lookup(path.root)
        if path is None or binding is None or not path.followed:
            return None
        if not (binding.static or binding.kind == "parameter" or getattr(binding.node, "init", None) is not None):
            return None
        pointers: list[c_ast.Node] = []
        node: c_ast.Node | None = load
        while (node := pointer_of(node, self.scope) if node is not None else None) is not None:
            pointers.insert(0, node)
        tests = [c_ast.BinaryOp("!=", copied(pointer), integer(0)) for pointer in pointers]
        given = reduce(lambda one, other: c_ast.BinaryOp("&&", one, other), tests)
        return c_ast.TernaryOp(given, load, integer(0), load.coord)

    def _changes(self, value: c_ast.Node, load: c_ast.Node) -> bool:
        """Whether the statements may change a number that `value` reads in memory to see whether loops run."""
        inside = {id(n) for n in nodes_below(load)}
        read = [n for n in nodes_below(value) if isinstance(n, c_ast.ArrayRef | c_ast.StructRef)]
        shapes = [shape_of(n, self.scope) for n in read if id(n) not in inside]
        return any(s is None or (not s.layers and (s.base is None or s.base.name in self.written)) for s in shapes)


def _is_own(target: c_ast.Node, own: Mapping[str, Shape], scope: Scope) -> bool:
    """Whether what is written is a number of the function's own."""
    if not isinstance(target, c_ast.ID):
        return False
    binding = scope.lookup(target.name)
    shape = own.get(target.name) or (binding.shape if binding is not None and not binding.static else None)
    return shape is not None and not shape.layers and shape.struct is None


def _is_path(node: c_ast.Node) -> bool:
    """Whether an expression is a variable, or a field of such: `p`, `p->inner`, `s.first`."""
    while isinstance(node, c_ast.StructRef):
        node = node.name
    return isinstance(node, c_ast.ID)


def _is_pointer(shape: Shape | None) -> bool:
    """Whether a type is a pointer to numbers or structs, or to rows of such."""
    return shape is not None and bool(shape.layers) and shape.layers[0].pointer and shape.base is not None
