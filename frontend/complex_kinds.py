"""Which expressions are complex numbers, and of which precision."""

from __future__ import annotations

from dataclasses import field, replace

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.preprocess import IMAGINARY_UNIT
from polytile.frontend.scope import Scope
from polytile.frontend.type_shapes import Shape
from polytile.ir.expr import BOOL, DOUBLE

_TAGS = {"float_complex": "float", "double_complex": "double"}
_GIVE_COMPLEX = {"conj": "double", "conjf": "float", "cexp": "double", "csqrt": "double"}


def is_complex_struct(node: c_ast.Node) -> bool:
    """Whether a type is what complex numbers are spelt as."""
    return isinstance(node, c_ast.Struct) and node.name in _TAGS


@dataclass(slots=True)
class Kinds:
    """The variables that are visible: those around the SCoP, and those declared in it so far."""

    scope: Scope
    local: dict[str, Shape] = field(default_factory=dict)

    def copy(self) -> Kinds:
        return Kinds(self.scope, dict(self.local))

    def declare(self, node: c_ast.Decl) -> None:
        """Enter a declaration inside the SCoP."""
        self.local[str(node.name)] = self._shape_of_type(node.type)

    def is_complex_node(self, node: c_ast.Node) -> bool:
        """Whether something names a complex number, or declares one."""
        if isinstance(node, c_ast.ID):
            return node.name == IMAGINARY_UNIT or self._deep(self._shape(node))
        return is_complex_struct(node)

    def _deep(self, shape: Shape | None) -> bool:
        """Whether a type is one of complex numbers, or has such in it."""
        if shape is None or shape.struct is None:
            return False
        return _kind(replace(shape, layers=())) != "" or any(self._deep(m.shape) for m in shape.struct.members)

    def of(self, node: c_ast.Node) -> str:
        """The type of the parts of a complex number, float or double; nothing for another one."""
        match node:
            case c_ast.ID(name=name) if name == IMAGINARY_UNIT:
                return "float"
            case c_ast.ID() | c_ast.ArrayRef() | c_ast.StructRef() | c_ast.UnaryOp(op="*"):
                shape = self._shape(node)
                return "" if shape is None else _kind(shape)
            case c_ast.UnaryOp(op="-" | "+" | "~", expr=inner):
                return self.of(inner)
            case c_ast.BinaryOp(op="+" | "-" | "*" | "/", left=left, right=right):
                return self._wider(left, right)
            case c_ast.TernaryOp(iftrue=then, iffalse=otherwise):
                return self._wider(then, otherwise)
            case c_ast.Cast(to_type=to_type):
                return _kind(self._shape_of_type(to_type.type))
            case c_ast.FuncCall(name=c_ast.ID(name=name)):
                return _GIVE_COMPLEX.get(name, "")
        return ""

    def any(self, *nodes: c_ast.Node) -> bool:
        """Whether some expression is a complex number."""
        return any(map(self.of, nodes))

    def is_bool(self, node: c_ast.Node) -> bool:
        """Whether an lvalue is a `_Bool`, to which a complex number is converted by both of its parts."""
        shape = self._shape(node)
        return shape is not None and not shape.layers and shape.base == BOOL

    def is_bool_type(self, node: c_ast.Node) -> bool:
        """The same of a type."""
        shape = self._shape_of_type(node)
        return not shape.layers and shape.base == BOOL

    def _wider(self, left: c_ast.Node, right: c_ast.Node) -> str:
        one, other = self.of(left), self.of(right)
        if not one and not other:
            return ""
        return "double" if "double" in (one or self.real(left), other or self.real(right)) else "float"

    def real(self, node: c_ast.Node) -> str:
        """The precision of a number that is real as an operand of complex ones: "float" for whole numbers, too."""
        match node:
            case c_ast.Constant(type=kind, value=value):
                return "double" if kind == "double" and not value.endswith(("f", "F")) else "float"
            case c_ast.ID() | c_ast.ArrayRef() | c_ast.StructRef() | c_ast.UnaryOp(op="*"):
                return _precision(self._shape(node))
            case c_ast.UnaryOp(expr=inner):
                return self.real(inner)
            case c_ast.BinaryOp(op="+" | "-" | "*" | "/", left=left, right=right):
                return "double" if "double" in (self.real(left), self.real(right)) else "float"
            case c_ast.TernaryOp(iftrue=then, iffalse=otherwise):
                return "double" if "double" in (self.real(then), self.real(otherwise)) else "float"
            case c_ast.Cast(to_type=to_type):
                return _precision(self._shape_of_type(to_type.type))
            case c_ast.FuncCall(name=c_ast.ID(name=name)):
                return "float" if name.endswith("f") else "double"
        return "float"

    def _shape(self, node: c_ast.Node) -> Shape | None:
        """The type of an lvalue."""
        match node:
            case c_ast.ID(name=name):
                if name in self.local:
                    return self.local[name]
                binding = self.scope.lookup(name)
                return None if binding is None else binding.shape
            case c_ast.ArrayRef(name=inner):
                return _element(self._shape(inner))
            case c_ast.UnaryOp(op="*", expr=inner):
                return _element(self._shape(inner))
            case c_ast.StructRef(name=inner, type=how, field=c_ast.ID(name=name)):
                outer = self._shape(inner)
                outer = _element(outer) if how == "->" else outer
                if outer is None or outer.layers or outer.struct is None:
                    return None
                return next((m.shape for m in outer.struct.members if m.name == name), None)
        return None

    def _shape_of_type(self, node: c_ast.Node) -> Shape:
        """The type of a declarator whose names are spelt out; complex numbers are structs that nobody declared."""
        layers = 0
        inner = node
        while isinstance(inner, c_ast.ArrayDecl | c_ast.PtrDecl):
            inner, layers = inner.type, layers + 1
        base = inner.type if isinstance(inner, c_ast.TypeDecl) else inner
        if not is_complex_struct(base):
            return self.scope.shape(node)
        around = self.scope.shape(node).layers
        kind = c_ast.IdentifierType([_TAGS[base.name], "_Complex"])
        return replace(self.scope.shape(kind), layers=around)


def _precision(shape: Shape | None) -> str:
    return "double" if shape is not None and shape.base == DOUBLE else "float"


def _element(shape: Shape | None) -> Shape | None:
    return replace(shape, layers=shape.layers[1:]) if shape is not None and shape.layers else None


def _kind(shape: Shape) -> str:
    if shape.layers or shape.struct is None:
        return ""
    return _TAGS.get(shape.struct.name.removeprefix("struct "), "")
