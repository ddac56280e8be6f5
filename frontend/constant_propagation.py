"""What scalars are when a SCoP starts: constants, or sums of others, where the function set them before.

before: int step = 4, last = n - 1;
        #pragma scop
        for (i = 0; i < last; i += step) ...
after:  for (i = 0; i < last; i += 4) ...                 where last == n - 1 is known
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.assumptions import is_linear, keeps_values, statements_before
from polytile.frontend.constants import constant_node, convert
from polytile.frontend.find_scops import ScopPlace
from polytile.frontend.node_index import NodeIndex
from polytile.frontend.parse import nodes_below
from polytile.frontend.scope import Binding
from polytile.frontend.trees import copied, statements_below, substituted, variables_in, written_name
from polytile.ir.expr import CType


@dataclass(frozen=True, slots=True)
class KnownValues:
    """`constants` are the values of variables by name, `relations` conditions such as `last == n - 1`; `initial` are
    the values of variables that the SCoP changes, when it starts, `numbers` those of all variables that are numbers
    then, `products` those of variables that are products of others, all of them signed."""

    constants: Mapping[str, c_ast.Node] = field(default_factory=dict)
    relations: tuple[c_ast.Node, ...] = ()
    initial: Mapping[str, c_ast.Node] = field(default_factory=dict)
    numbers: Mapping[str, int] = field(default_factory=dict)
    products: Mapping[str, c_ast.Node] = field(default_factory=dict)


def known_values(place: ScopPlace, body: NodeIndex) -> KnownValues:
    """What is known of the scalars that keep one value from a statement before the SCoP to its end.

    Only parameters and automatic variables whose address is never taken count, of which the function declares one by
    each name, and constants of the file. What bounds a loop of the SCoP or is the size of an array stays a name: the
    program is compiled for all sizes.
    """
    return _Finder.of(place, body).run()


@dataclass(slots=True)
class _Finder:
    place: ScopPlace
    body: NodeIndex  # of the function
    plain: dict[str, CType]  # the scalars whose every change is an assignment to their name
    constants: dict[str, c_ast.Node] = field(default_factory=dict)
    relations: list[c_ast.Node] = field(default_factory=list)
    initial: dict[str, c_ast.Node] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    products: dict[str, c_ast.Node] = field(default_factory=dict)

    @classmethod
    def of(cls, place: ScopPlace, body: NodeIndex) -> _Finder:
        plain: dict[str, CType] = {}
        for binding in place.scope.bindings():
            twice = body.declared.get(binding.name, 0) > (binding.kind == "variable")
            ctype = _integer(binding)
            if ctype is not None and not binding.static and not twice and binding.name not in body.addressed:
                plain[binding.name] = ctype
        return cls(place, body, plain)

    def run(self) -> KnownValues:
        for binding in self.place.scope.bindings():
            self._constant_of_file(binding)
        for item in statements_before(self.place, self.body):
            name, value = _set_by(item)
            if name in self.plain and value is not None and not self._is_jumped_over(item):
                self._set(name, value, item)
        sizes = _sizes(self.place)
        constants = {name: value for name, value in self.constants.items() if name not in sizes}
        initial = {name: substituted(copied(value), constants) for name, value in self.initial.items()}
        return KnownValues(constants, tuple(self.relations), initial, self.numbers, self.products)

    def _is_jumped_over(self, item: c_ast.Node) -> bool:
        """Whether the SCoP may run without a statement before it, or again after others than those between."""
        order = self.body.order
        start, end = order[id(item)], self.body.span(self.place.items[-1])[1]
        if any(isinstance(n, c_ast.Switch) and order[id(n)] < start for n in self.place.path):
            return True
        labels = {n.name for n in self.body.all(c_ast.Label) if start < order[id(n)] <= end}
        jumps = (n for n in self.body.all(c_ast.Goto) if n.name in labels)
        return any(not start < order[id(n)] <= end for n in jumps)

    def _constant_of_file(self, binding: Binding) -> None:
        """`static const int size = 64;`"""
        ctype, node = _integer(binding), binding.node
        fixed = binding.level == "global" and binding.shape.const and not self.body.declared.get(binding.name)
        if fixed and ctype is not None and isinstance(node, c_ast.Decl) and node.init is not None:
            constant = self._constant(node.init, ctype)
            if constant is not None:
                self.constants[binding.name] = constant

    def _set(self, name: str, value: c_ast.Node, item: c_ast.Node) -> None:
        value = substituted(copied(value), self.initial)
        used = {str(u.name) for u in variables_in(value)}
        if not keeps_values({name}, item, self.place, self.body, to_start=True):
            return
        constant = self._constant(value, self.plain[name])
        if constant is not None:
            self.numbers[name] = self._number(constant)
        if not keeps_values({name}, item, self.place, self.body):
            if constant is not None:
                self.initial[name] = constant
            elif self._is_sum(name, value, used, item):
                self.initial[name] = value
        elif constant is not None:
            self.constants[name] = constant
        else:
            whole = c_ast.BinaryOp("==", c_ast.ID(name, item.coord), copied(value), item.coord)
            if name not in used and self._is_sum(name, value, used, item):
                self.relations.append(whole)
            elif name not in used and self._is_product(name, value, used, item):
                self.products[name] = value

    def _number(self, constant: c_ast.Node) -> int:
        found = self.place.scope.constant(constant)
        assert found is not None
        return found.value

    def _constant(self, value: c_ast.Node, ctype: CType) -> c_ast.Node | None:
        """A value in a type, as a constant of that type; None where it is none."""
        constant = self.place.scope.constant(substituted(copied(value), self.constants))
        converted = None if constant is None else convert(constant.value, ctype)
        if converted is None:
            return None
        node = constant_node(converted, value.coord)
        exact = self.place.scope.constant(node)
        if exact is None or exact.type != ctype:
            at = value.coord
            spelt = c_ast.TypeDecl(None, [], None, c_ast.IdentifierType(ctype.name.split(" "), at), at)
            node = c_ast.Cast(c_ast.Typename(None, [], None, spelt, at), node, at)
        return node

    def _is_sum(self, name: str, value: c_ast.Node, used: set[str], item: c_ast.Node) -> bool:
        """Whether a value is a sum of scalars, all of them signed and no wider, that have the same values later."""
        return is_linear(value, self.place.scope) and self._is_exact(name, used, item)

    def _is_product(self, name: str, value: c_ast.Node, used: set[str], item: c_ast.Node) -> bool:
        """Whether a value is a product of such scalars and of sums of them."""
        nodes = list(nodes_below(value))
        plain = all(isinstance(n, c_ast.ID | c_ast.Constant | c_ast.BinaryOp) for n in nodes)
        operators = {n.op for n in nodes if isinstance(n, c_ast.BinaryOp)}
        return plain and "*" in operators <= {"+", "-", "*"} and self._is_exact(name, used, item)

    def _is_exact(self, name: str, used: set[str], item: c_ast.Node) -> bool:
        own = self.plain[name]
        types = [self.plain.get(u) for u in used]
        narrow = all(t is not None and t.signed and t.size <= own.size for t in types)
        exact = narrow and own.signed and own.size >= 4
        return bool(used) and exact and keeps_values(used, item, self.place, self.body)


def _sizes(place: ScopPlace) -> set[str]:
    """The names in bounds of loops of the SCoP and in extents of arrays."""
    parts: list[c_ast.Node | None] = [layer.extent for b in place.scope.bindings() for layer in b.shape.layers]
    for node in (n for item in place.items for n in statements_below(item)):
        if isinstance(node, c_ast.For | c_ast.While | c_ast.DoWhile):
            parts += [getattr(node, "init", None), node.cond]
    return {str(u.name) for part in parts for u in variables_in(part)}


def _integer(binding: Binding) -> CType | None:
    shape = binding.shape
    known = binding.kind in ("variable", "parameter") and not shape.layers and shape.base is not None
    return shape.base if known and shape.base is not None and shape.base.kind == "int" else None


def _set_by(item: c_ast.Node) -> tuple[str, c_ast.Node | None]:
    if isinstance(item, c_ast.Decl) and item.name and not isinstance(item.init, c_ast.InitList):
        return str(item.name), item.init
    if isinstance(item, c_ast.Assignment) and item.op == "=":
        return written_name(item) or "", item.rvalue
    return "", None
