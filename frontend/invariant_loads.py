"""Elements and fields that a SCoP reads in its bounds and subscripts and never changes, as scalars read before it; of
structs of the function's own with pointers in them all numbers that it reads.

before: for (i = 0; i < grid[2]; i++) for (j = 0; j < dim.count; j++) ...
after:  for (i = 0; i < grid_2; i++) for (j = 0; j < dim_count; j++) ...     with grid_2 = grid[2], ...
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.induction_variables import deciding_parts
from polytile.frontend.must_reads import MustReads, leads, pointer_of
from polytile.frontend.node_index import NodeIndex
from polytile.frontend.parse import location_of, nodes_below
from polytile.frontend.scop_region import Symbol
from polytile.frontend.scope import Binding, Scope
from polytile.frontend.trees import WRITING, copied, map_children, possible_bases, text_of, variables_in
from polytile.frontend.type_shapes import Shape
from polytile.ir.name_supply import fresh


@dataclass(frozen=True, slots=True)
class ConstantLoads:
    """The statements with scalars in the place of loads, those scalars, and what each of them is read from."""

    body: tuple[c_ast.Node, ...]
    symbols: Mapping[str, Symbol] = field(default_factory=dict)
    loads: Mapping[str, c_ast.Node] = field(default_factory=dict)


def with_constant_loads(
    body: Sequence[c_ast.Node],
    scope: Scope,
    changed: frozenset[str] = frozenset(),
    has_address: Callable[[str], bool] = lambda _: True,
    before: MustReads | None = None,
) -> ConstantLoads:
    """Replace loads with constant subscripts that no statement writes; calls write the variables in `changed`, and
    `has_address` says whether the function takes a variable's address. What is written through other pointers may
    change them where the host does not find that it does not.

    A load through a pointer is read before the SCoP, so that its loops have to read it whatever else holds, or to reach
    its struct for certain where they use it, be it through what was replaced since: `before` are such reads.
    """
    return replace(_Replacement.of(body, scope, changed, has_address), before=before).run(tuple(body))


@dataclass(slots=True)
class _Replacement:
    scope: Scope
    changed: set[str]  # variables that are changed in other ways than by `targets`
    targets: Sequence[tuple[frozenset[str], c_ast.Node]]  # of assignments, with the variables that may be meant
    always: set[str]  # what is read whenever the SCoP runs
    deciding: set[str]
    reads: MustReads
    taken: set[str]
    has_address: Callable[[str], bool]
    before: MustReads | None = None
    found: dict[str, tuple[str, c_ast.Node]] = field(default_factory=dict)  # by the text of the load
    symbols: dict[str, Symbol] = field(default_factory=dict)

    @classmethod
    def of(
        cls, body: Sequence[c_ast.Node], scope: Scope, changed: frozenset[str], has_address: Callable[[str], bool]
    ) -> _Replacement:
        index = NodeIndex.of(body)
        written = [n.lvalue for n in index.all(c_ast.Assignment)]
        written += [n.expr for n in index.all(c_ast.UnaryOp) if n.op in WRITING]
        targets = [(frozenset(str(base.name) for base in possible_bases(target)), target) for target in written]
        decided = index.all(c_ast.ArrayRef, c_ast.For, c_ast.If)
        deciding = {text_of(n) for part in decided for d in deciding_parts(part) for n in nodes_below(d) if _is_load(n)}
        first = [item for item in body if isinstance(item, c_ast.For)]
        headers = [part for loop in first for part in (loop.init, loop.cond) if part is not None]
        always = {text_of(n) for part in headers for n in nodes_below(part) if _is_load(n)}
        reads = MustReads.of(body, scope)
        taken = {*index.names, *(b.name for b in scope.bindings())}
        others = {*changed, *index.declared, *index.addressed}
        return cls(scope, others, targets, always, deciding, reads, taken, has_address)

    def run(self, body: tuple[c_ast.Node, ...]) -> ConstantLoads:
        made = tuple(self._visit(node) for node in body)
        return ConstantLoads(made, self.symbols, dict(self.found.values()))

    def _visit(self, node: Any) -> Any:
        if _is_load(node):
            name = self._name(node)
            if name is not None:
                return c_ast.ID(name, node.coord)
        if isinstance(node, c_ast.StructRef):
            node.name = self._visit(node.name)
            return node
        return map_children(node, self._visit)

    def _name(self, load: c_ast.Node) -> str | None:
        """The scalar for a load, or None where it has to stay."""
        shape = self._shape(load)
        if shape is None or shape.base is None or shape.layers or shape.base.kind == "struct":
            return None
        text = text_of(load)
        if text in self.found:
            return self.found[text][0]
        bases = {str(use.name) for use in variables_in(load)}
        base = self.scope.lookup(next(iter(bases))) if len(bases) == 1 else None
        if base is None:
            return None
        alone = self._is_private(base) and not _has_numbers_alone(base.shape)  # kernels cannot get such a struct
        if not (alone or (text in self.deciding and shape.base.kind == "int")):
            return None
        through = any(layer.pointer for layer in base.shape.layers) or (base.kind == "parameter" and base.shape.layers)
        value = self._guarded(load) if through and text not in self.always else load
        if value is None or self._is_changed(load, base.name):
            return None
        name = fresh("_".join(re.findall(r"\w+", text)), self.taken)
        self.taken.add(name)
        self.found[text] = name, value
        where = location_of(load)
        self.symbols[name] = Symbol(name, shape.base, live_after=False, location=where)
        return name

    def _is_changed(self, load: c_ast.Node, base: str) -> bool:
        """Whether statements change a load, a part of a variable or of what it points to, by the name of that."""
        targets = (target for bases, target in self.targets if base in bases)
        return base in self.changed or any(not are_disjoint(load, target, self.scope) for target in targets)

    def _guarded(self, load: c_ast.Node) -> c_ast.Node | None:
        """The C that reads a load only where the loops around it run; None where they may depend on what is changed."""
        value = self.reads.guarded(load) or (None if self.before is None else self.before.guarded(load))
        read = _loads(value.cond) if isinstance(value, c_ast.TernaryOp) else ()
        if any(text_of(n) == text_of(load) or self._name(n) is None for n in read):
            return None
        return None if value is None else copied(value)

    def _is_private(self, base: Binding) -> bool:
        """Whether no pointer leads to a variable: a struct of the function's own whose address nobody has."""
        own = not base.shape.layers and base.shape.struct is not None and not base.static
        return own and not self.has_address(base.name) and _is_apart(base.shape)

    def _shape(self, node: c_ast.Node) -> Shape | None:
        """The type of a load whose subscripts are constants within known extents."""
        match node:
            case c_ast.ID(name=name):
                binding = self.scope.lookup(name)
                return None if binding is None or binding.kind not in ("variable", "parameter") else binding.shape
            case c_ast.ArrayRef(name=inner, subscript=subscript):
                at = self.scope.constant(subscript)  # which most subscripts are not
                if at is None or at.value < 0 or (shape := self._shape(inner)) is None or not shape.layers:
                    return None
                extent = shape.layers[0].extent
                size = None if extent is None else self.scope.constant(extent)
                inside = at.value < size.value if size is not None else leads(inner, self.scope)
                return replace(shape, layers=shape.layers[1:]) if inside else None
            case c_ast.StructRef(name=inner, type=kind, field=member):
                shape = self._shape(inner)
                depth = 0 if kind == "." else 1
                if shape is None or shape.struct is None or len(shape.layers) != depth:
                    return None
                return next((m.shape for m in shape.struct.members if m.name == member.name), None)
        return None


def _is_apart(shape: Shape) -> bool:
    """Whether no part of a variable is an array, which would be a pointer into it wherever it is handed on."""
    members = shape.struct.members if shape.struct is not None else ()
    return all((m.shape.layers and m.shape.layers[0].pointer) or _is_plain(m.shape) for m in members)


def _has_numbers_alone(shape: Shape) -> bool:
    """Whether a struct has no members besides numbers, and structs and arrays of these."""
    if shape.struct is None:
        return shape.base is not None
    return all(not any(x.pointer for x in m.shape.layers) and _has_numbers_alone(m.shape) for m in shape.struct.members)


def _is_plain(shape: Shape) -> bool:
    return not shape.layers and not shape.function and _is_apart(shape)


def _is_load(node: c_ast.Node) -> bool:
    """Whether an expression is an element or a field: `a[2]`, `p->n`, `s.sizes[1]`."""
    return type(node) in (c_ast.ArrayRef, c_ast.StructRef)


def _loads(node: c_ast.Node) -> Iterator[c_ast.Node]:
    """The loads of an expression, without those on the way to one: `p->at.x` is one."""
    if _is_load(node):
        yield node
        return
    for _, child in node.children():
        yield from _loads(child)


def are_disjoint(one: c_ast.Node, other: c_ast.Node, scope: Scope) -> bool:
    """Whether two places that belong to one variable are different fields, reached through the same pointer, if any."""
    pointers = [pointer_of(place, scope) for place in (one, other)]
    spelt = {None if pointer is None else text_of(pointer) for pointer in pointers}
    ways = [_way(place, pointer) for place, pointer in zip((one, other), pointers, strict=True)]
    return len(spelt) == 1 and any(a != b for a, b in zip(*ways, strict=False))


def _way(place: c_ast.Node, pointer: c_ast.Node | None) -> list[str]:
    """The names of the fields behind a pointer, or behind a variable: "in", "v" of `p[i].in.v[k]`."""
    found: list[str] = []
    while place is not pointer and isinstance(place, c_ast.StructRef | c_ast.ArrayRef):
        if isinstance(place, c_ast.StructRef):
            found.append(str(place.field.name))
        place = place.name
    return found[::-1]
