"""Products of sizes in the bounds of loops and in conditions, as sizes that the host computes before the SCoP.

before: for (i = 0; i < w * h; i++) a[i] = 0;
after:  for (i = 0; i < w_h; i++) a[i] = 0;      with w_h = w * h

Affine bounds have no products of sizes; what no statement changes is a size as good as another. Subscripts keep theirs,
which say how long rows are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.c_types import literal_type, promote, usual
from polytile.frontend.invariant_loads import ConstantLoads
from polytile.frontend.node_index import NodeIndex
from polytile.frontend.parse import location_of, nodes_below
from polytile.frontend.scop_region import SizeProduct, Symbol
from polytile.frontend.scope import Scope
from polytile.frontend.trees import copied, map_children, map_statements, substituted, text_of, variables_in
from polytile.ir.expr import Binary, Cast, CType, Expr, Literal, Name, Unary
from polytile.ir.name_supply import fresh

_PURE = ("+", "-", "*")


@dataclass(frozen=True, slots=True)
class InvariantProducts:
    """The statements with symbols in the place of products, those symbols, what each is computed from (of symbols,
    and of what the C has), and as what it is known."""

    body: tuple[c_ast.Node, ...]
    symbols: Mapping[str, Symbol] = field(default_factory=dict)
    factors: Sequence[c_ast.Node] = ()
    values: Mapping[str, c_ast.Node] = field(default_factory=dict)
    known: Mapping[str, SizeProduct] = field(default_factory=dict)


def with_invariant_products(loads: ConstantLoads, scope: Scope) -> InvariantProducts:
    """Replace products of integers that no statement changes, those of the symbols of `loads` too."""
    made = _Products.of(loads, scope)
    body = tuple(made.visit(node) for node in loads.body)
    return InvariantProducts(body, made.symbols, tuple(made.factors), made.values, made.known)


@dataclass(slots=True)
class _Products:
    loads: ConstantLoads
    scope: Scope
    changed: set[str]
    taken: set[str]
    symbols: dict[str, Symbol] = field(default_factory=dict)
    factors: list[c_ast.Node] = field(default_factory=list)
    values: dict[str, c_ast.Node] = field(default_factory=dict)
    known: dict[str, SizeProduct] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)  # of the symbols, by the text of the product

    @classmethod
    def of(cls, loads: ConstantLoads, scope: Scope) -> _Products:
        index = NodeIndex.of(loads.body)
        taken = {*index.names, *(b.name for b in scope.bindings()), *loads.symbols}
        return cls(loads, scope, index.changed, taken)

    def visit(self, node: Any) -> Any:
        map_statements(node, self.visit)
        if isinstance(node, c_ast.For):
            if isinstance(node.init, c_ast.Assignment):
                node.init.rvalue = self._replaced(node.init.rvalue)
            elif isinstance(node.init, c_ast.DeclList):
                for declared in node.init.decls:
                    declared.init = self._replaced(declared.init)
            node.cond = self._replaced(node.cond)
        elif isinstance(node, c_ast.If) and not any(_reads_memory(n) for n in nodes_below(node.cond)):
            node.cond = self._replaced(node.cond)
        return node

    def _replaced(self, value: Any) -> Any:
        if not isinstance(value, c_ast.Node):
            return value
        if isinstance(value, c_ast.BinaryOp) and value.op == "*" and self._is_nonlinear(value):
            product = self._expr(value)
            if product is not None:
                return c_ast.ID(self._symbol(value, product), value.coord)
        return map_children(value, self._replaced)

    def _is_nonlinear(self, product: Any) -> bool:
        """Whether two factors are no constants."""
        return all(self.scope.constant(side) is None for side in (product.left, product.right))

    def _expr(self, value: Any) -> Expr | None:
        """An integer that has the same value all through the SCoP, and that computing it does not trap."""
        match value:
            case c_ast.Constant():
                found = literal_type(value.value)
                return Literal(value.value, found) if found is not None and found.kind == "int" else None
            case c_ast.ID(name=name):
                found = None if name in self.changed else self._variable(name)
                return Name(name, found) if found is not None and found.kind == "int" else None
            case c_ast.BinaryOp(op=op, left=left, right=right) if op in _PURE:
                one, other = self._expr(left), self._expr(right)
                return None if one is None or other is None else Binary(op, one, other, usual(one.type, other.type))
            case c_ast.UnaryOp(op="-" | "+" as op, expr=inner):
                one = self._expr(inner)
                return None if one is None else Unary(op, one, promote(one.type))
            case c_ast.Cast(to_type=to_type, expr=inner):
                one, shape = self._expr(inner), self.scope.shape(to_type)
                if one is not None and not shape.layers and shape.base is not None and shape.base.kind == "int":
                    return Cast(shape.base, one)
        return None

    def _variable(self, name: str) -> CType | None:
        if name in self.loads.symbols:
            symbol = self.loads.symbols[name]
            return None if symbol.extents or symbol.pointer else symbol.type
        binding = self.scope.lookup(name)
        if binding is None or binding.kind not in ("variable", "parameter", "enumerator") or binding.shape.layers:
            return None
        return binding.shape.base

    def _symbol(self, product: Any, known: Expr) -> str:
        text = text_of(product)
        if text not in self.names:
            words = [str(use.name) for use in variables_in(product)]
            name = fresh("_".join(words), self.taken)
            self.taken.add(name)
            self.names[text] = name
            self.factors.append(product)
            self.values[name] = substituted(copied(product), self.loads.loads)
            self.symbols[name] = Symbol(name, known.type, live_after=False, location=location_of(product))
            self.known[name] = SizeProduct(known, tuple(sorted(_factors(product) or ())))
        return self.names[text]


def _factors(product: c_ast.Node) -> list[str] | None:
    """The names of which a product of names alone is made."""
    if isinstance(product, c_ast.ID):
        return [str(product.name)]
    if not (isinstance(product, c_ast.BinaryOp) and product.op == "*"):
        return None
    left, right = _factors(product.left), _factors(product.right)
    return None if left is None or right is None else left + right


def _reads_memory(node: c_ast.Node) -> bool:
    return isinstance(node, c_ast.ArrayRef | c_ast.StructRef | c_ast.FuncCall) or (
        isinstance(node, c_ast.UnaryOp) and node.op == "*"
    )
