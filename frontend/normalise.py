"""One SCoP with its types spelt out and its integer constants folded: only variables need a declaration then."""

from __future__ import annotations

import copy
from typing import Any

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.diagnostics import OpaqueCallError, UserError
from polytile.frontend.builtin_functions import calls, is_builtin
from polytile.frontend.constants import constant_node
from polytile.frontend.gnu_c import ASSEMBLY, CONDITION, RANGE
from polytile.frontend.parse import location_of
from polytile.frontend.scope import UNREADABLE, Scope
from polytile.frontend.trees import copied, map_children
from polytile.frontend.type_shapes import Shape


def normalised(nodes: tuple[c_ast.Node, ...], scope: Scope) -> tuple[c_ast.Node, ...]:
    """Copies of statements or expressions that stand in `scope`, spelt with basic types and plain constants.

    before: real t = (real) N * sizeof(real);    with typedef double real; enum { N = 4 };
    after:  double t = (double) 4 * 8UL;
    """
    walk = _Normaliser(scope.child())
    return tuple(walk.items([copied(n) for n in nodes]))


_PLAIN = frozenset((c_ast.BinaryOp, c_ast.ArrayRef, c_ast.Constant))  # most nodes, whose parts alone matter


@dataclass(slots=True)
class _Normaliser:
    scope: Scope

    def items(self, nodes: list[c_ast.Node]) -> list[c_ast.Node]:
        return [made for node in nodes if (made := self._item(node)) is not None]

    def _item(self, node: c_ast.Node) -> Any:
        if isinstance(node, c_ast.Compound):
            return self._inside(lambda: self._compound(node))
        return self.visit(node)

    def visit(self, node: Any) -> Any:
        if type(node) in _PLAIN:
            return map_children(node, self.visit)
        match node:
            case c_ast.Typedef():
                self.scope.bind(node)
                return None
            case c_ast.Decl():
                return self._declaration(node)
            case c_ast.Compound():
                raise _statement_expression(node)
            case c_ast.For() | c_ast.If() | c_ast.While() | c_ast.DoWhile() | c_ast.Switch():
                return self._inside(lambda: map_children(node, self._statement))
            case c_ast.Case() | c_ast.Default():
                if isinstance(node, c_ast.Case):
                    self._case(node)
                node.stmts = self.items(node.stmts or [])
                return node
            case c_ast.ID():
                return self._identifier(node)
            case c_ast.FuncCall(name=c_ast.ID(name="offsetof")):
                return self._known(node)
            case c_ast.FuncCall(name=c_ast.ID()):
                return self._call(node)
            case c_ast.StructRef():
                node.name = self.visit(node.name)
                return node
            case c_ast.UnaryOp(op="sizeof" | "_Alignof"):
                return self._known(node)
            case c_ast.UnaryOp(op="&"):
                return self._address(node)
            case c_ast.Typename():
                return self._typename(node)
            case c_ast.NamedInitializer():
                node.expr = self.visit(node.expr)
                return node
            case c_ast.Label():
                node.stmt = self._statement(node.stmt)
                return node
            case c_ast.Goto() | c_ast.Pragma() | c_ast.Struct() | c_ast.Enum():
                return node
        return map_children(node, self.visit)

    def _case(self, node: c_ast.Case) -> None:
        if calls(node.expr, (RANGE,)):
            node.expr.args = self.visit(node.expr.args)
        else:
            node.expr = self.visit(node.expr)

    def _statement(self, node: Any) -> Any:
        made = self._item(node)
        return c_ast.EmptyStatement(node.coord) if made is None else made

    def _inside(self, work: Any) -> Any:
        self.scope = self.scope.child()
        result = work()
        self.scope = self.scope.parent or self.scope
        return result

    def _compound(self, node: c_ast.Compound) -> c_ast.Compound:
        node.block_items = self.items(node.block_items or [])
        return node

    def _declaration(self, node: c_ast.Decl) -> c_ast.Decl | None:
        # `double x = x;` reads the new x, but no valid program does.
        if node.init is not None:
            node.init = self.visit(node.init)
        node.type = self._extents(node.type)
        self.scope.bind(node)
        if node.name is None:
            return None
        shape = self.scope.names[node.name].shape
        if shape.refused:
            raise UserError(
                f"'{node.name}' cannot be used in a SCoP: {shape.reason}",
                location=location_of(node),
                hint="declare it without what polytile does not know",
            )
        if not shape.function:
            node.type = spelt(node.type, shape, node.name)
        return node

    def _extents(self, node: c_ast.Node) -> c_ast.Node:
        """Fold the extents of a declarator and check the names in them."""
        if isinstance(node, c_ast.ArrayDecl) and node.dim is not None:
            node.dim = self.visit(node.dim)
        if isinstance(node, c_ast.ArrayDecl | c_ast.PtrDecl):
            node.type = self._extents(node.type)
        return node

    def _typename(self, node: c_ast.Typename) -> c_ast.Typename:
        shape = self.scope.shape(node.type)
        node.type = spelt(node.type, shape, None)
        return node

    def _identifier(self, node: c_ast.ID) -> c_ast.Node:
        if node.name == CONDITION:
            raise UserError(
                "a condition with effects has no middle operand",
                location=location_of(node),
                hint="set a variable to it before: `t = f(x); y = t ? t : 5;`",
            )
        binding = self.scope.lookup(node.name)
        if binding is None:
            raise UserError(
                f"'{node.name}' is used but not declared",
                location=location_of(node),
                hint=f"declare '{node.name}' before the SCoP, or include the header that does",
            )
        return node if binding.constant is None else constant_node(binding.constant, node.coord)

    def _address(self, node: c_ast.UnaryOp) -> c_ast.UnaryOp:
        if not isinstance(node.expr, c_ast.ID):
            node.expr = self.visit(node.expr)
        return node

    def _call(self, node: c_ast.FuncCall) -> c_ast.FuncCall:
        name = node.name.name
        known = self.scope.lookup(name)
        if name == ASSEMBLY:
            hint = "inline assembly is not C; write the operation in C"
            raise OpaqueCallError("inline assembly may do anything", location=location_of(node), hint=hint)
        if known is not None and (known.kind == UNREADABLE or (known.shape.function and known.shape.refused)):
            raise OpaqueCallError(
                f"the call of `{name}` may do anything, as {known.shape.reason}",
                location=location_of(node.name),
                hint=f"say in front of its declaration what it accesses: #pragma polytile access({name})",
            )
        if known is None and not is_builtin(name):
            hint = "define it before this function, or include the header that declares it"
            raise UserError(
                f"the function '{name}' is called but not declared", location=location_of(node.name), hint=hint
            )
        if node.args is not None:
            node.args = self.visit(node.args)
        return node

    def _known(self, node: c_ast.Node) -> c_ast.Node:
        value = self.scope.constant(node)
        return map_children(node, self.visit) if value is None else constant_node(value, node.coord)


def _statement_expression(node: c_ast.Compound) -> UserError:
    return UserError(
        "a statement expression `({ ... })` is not C99",
        location=location_of(node),
        hint="write a function, which polytile inlines, or a macro that is one expression",
    )


def spelt(node: c_ast.Node, shape: Shape, name: str | None) -> c_ast.Node:
    """The declarator `node` again, with typedef names and enum types replaced by what they stand for."""
    if shape.base is None:
        return node
    return declarator(node, shape, name)


def declarator(node: c_ast.Node, shape: Shape, name: str | None, depth: int = 0) -> c_ast.Node:
    """What declares `name` with the layers of a type from one of them on, at the place of `node`."""
    coord = node.coord
    if depth == len(shape.layers):
        quals = ["const"] if shape.const else []
        return c_ast.TypeDecl(name, quals, None, base_node(shape, coord), coord)
    layer = shape.layers[depth]
    inner = declarator(node, shape, name, depth + 1)
    if layer.pointer:
        return c_ast.PtrDecl(["restrict"] if layer.restrict else [], inner, coord)
    extent = None if layer.extent is None else copied(layer.extent)
    return c_ast.ArrayDecl(inner, extent, [], coord)


def base_node(shape: Shape, coord: Any) -> c_ast.Node:
    """The type specifier of a resolved type."""
    if shape.struct is not None and shape.struct.name:
        return c_ast.Struct(shape.struct.name.removeprefix("struct "), None, copy.copy(coord))
    return c_ast.IdentifierType(str(shape.base).split(" "), coord)
