"""C expressions -> typed expression trees."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import field

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.diagnostics import Location, OpaqueCallError, UserError
from polytile.frontend.access_summaries import AccessSummary
from polytile.frontend.builtin_functions import is_builtin
from polytile.frontend.c_types import declared_type, literal_type, promote, usual, where
from polytile.frontend.lvalue_paths import LvaluePath, dereference, field_of, field_type
from polytile.frontend.math_functions import FUNCTIONS, INDEX_HELPERS, library_name
from polytile.frontend.name_binding import Iterator, Names, Variable
from polytile.frontend.parse import nodes_below
from polytile.frontend.trees import text_of
from polytile.ir.expr import (
    INT,
    UINT,
    ULONG,
    Access,
    Binary,
    Call,
    Cast,
    CType,
    Expr,
    Literal,
    Name,
    Ternary,
    Unary,
)

_LOGICAL = ("<", "<=", ">", ">=", "==", "!=", "&&", "||")
_INTEGER_ONLY = ("%", "<<", ">>", "&", "|", "^")


@dataclass(slots=True)
class Translator:
    """Translates expressions under the bindings of `names`; remembers where each expression came from."""

    names: Names
    _origins: dict[int, tuple[Expr, Location]] = field(default_factory=dict)
    _ranks: dict[int, tuple[c_ast.Node, int]] = field(default_factory=dict)  # of sums, by identity

    def location(self, expr: Expr) -> Location | None:
        """Where in the source `expr` stands, if it came from there."""
        if isinstance(expr, Access):
            return expr.location
        found = self._origins.get(id(expr))
        return found[1] if found else None

    def value(self, node: c_ast.Node) -> Expr:
        """The expression tree of a C expression without side effects."""
        expr = self._value(node)
        self._origins.setdefault(id(expr), (expr, where(node)))
        return expr

    def target(self, node: c_ast.Node) -> Access | Name:
        """The expression tree of an lvalue that is assigned to."""
        if self._rank(node) > 0:
            raise UserError(
                "a pointer or a whole array is assigned to",
                location=where(node),
                hint="assign to elements, and set pointers before the SCoP; only those of one type may change "
                "places, in the first or the last statements of a loop outside all others that counts by 1: "
                "`t = a; a = b; b = t;`",
            )
        expr = self.value(node)
        if not isinstance(expr, Access | Name):
            raise UserError(
                "this cannot be assigned to in a SCoP",
                location=where(node),
                hint="assign to a scalar, an array element or a struct field",
            )
        return expr

    def _value(self, node: c_ast.Node) -> Expr:
        match node:
            case c_ast.Constant():
                return _constant(node)
            case c_ast.ID():
                return self._identifier(node)
            case c_ast.ArrayRef() | c_ast.StructRef():
                return self._access(node)
            case c_ast.UnaryOp():
                return self._unary(node)
            case c_ast.BinaryOp():
                return self._binary(node)
            case c_ast.TernaryOp():
                condition, then, otherwise = self.value(node.cond), self.value(node.iftrue), self.value(node.iffalse)
                return Ternary(condition, then, otherwise, usual_or_same(then.type, otherwise.type, where(node)))
            case c_ast.Cast():
                return self._cast(node)
            case c_ast.FuncCall():
                return self._call(node)
            case c_ast.Assignment():
                raise _side_effect(node, "an assignment")
            case c_ast.ExprList():
                raise UserError(
                    "a comma expression cannot be part of an expression in a SCoP",
                    location=where(node),
                    hint="write its parts as statements of their own",
                )
        raise UserError(
            f"a SCoP cannot contain this expression ({type(node).__name__})",
            location=where(node),
            hint="use arithmetic on scalars, array elements and struct fields",
        )

    def _identifier(self, node: c_ast.ID) -> Expr:
        found = self.names.uses[id(node)]
        if isinstance(found, Iterator):
            return found.value or Name(found.name, found.type)
        if found.value is not None:
            return found.value
        if found.is_name:
            return Name(found.name, found.type)
        return self._access(node)

    def _access(self, node: c_ast.Node) -> Access:
        place = self._place(node)
        variable, location = place.variable, where(node)
        if len(place.subscripts) != len(variable.extents) or place.offset is not None:
            raise UserError(
                f"`{variable.source}` has {_count(len(variable.extents), 'dimension')}, "
                f"but {_count(len(place.subscripts), 'subscript')} here",
                location=location,
                hint="a SCoP works on elements: give every subscript, and pass no pointers on",
            )
        ctype = variable.type
        if place.field is not None:
            ctype = field_type(place, location)
        subscripts = tuple(self._subscript(s) for s in place.subscripts)
        inside = tuple(self._subscript(s) for s in place.inside)
        return Access(variable.name, subscripts, ctype, place.field, location, inside)

    def _subscript(self, node: c_ast.Node) -> Expr:
        expr = self.value(node)
        if expr.type.kind != "int":
            raise UserError("a subscript must be an integer", location=where(node), hint="cast it to int")
        return expr

    def _place(self, node: c_ast.Node) -> LvaluePath:
        match node:
            case c_ast.ID():
                found = self.names.uses[id(node)]
                if isinstance(found, Variable):
                    return LvaluePath(found, [])
            case c_ast.ArrayRef():
                return dereference(self._place(node.name), node.subscript)
            case c_ast.UnaryOp(op="*"):
                return dereference(self._place(node.expr), None, node)
            case c_ast.BinaryOp(op="+" | "-"):
                return self._pointer_sum(node)
            case c_ast.UnaryOp(op="&"):
                raise _address(node)
            case c_ast.StructRef():
                place = self._place(node.name)
                if node.type == "->":
                    place = dereference(place, None, node)
                return field_of(place, node)
        raise UserError(
            "this is not an array or a pointer that the SCoP may index",
            location=where(node),
            hint="index a declared array or pointer directly",
        )

    def _pointer_sum(self, node: c_ast.BinaryOp) -> LvaluePath:
        left, right = node.left, node.right
        if node.op == "+" and not self._is_pointer(left) and self._is_pointer(right):
            left, right = right, left
        place = self._place(left)
        if node.op == "-":
            right = c_ast.UnaryOp("-", right, right.coord)
        if place.offset is not None:
            right = c_ast.BinaryOp("+", place.offset, right, place.offset.coord)
        return LvaluePath(place.variable, place.subscripts, right)

    def _is_pointer(self, node: c_ast.Node) -> bool:
        return self._rank(node) > 0

    def _rank(self, node: c_ast.Node) -> int:
        """How many subscripts an expression still takes: 1 for a row of a matrix, 0 for a number."""
        match node:
            case c_ast.ID():
                found = self.names.uses[id(node)]
                return len(found.extents) if isinstance(found, Variable) else 0
            case c_ast.BinaryOp(op="+" | "-"):
                if id(node) not in self._ranks:  # each sum inside a sum is asked about, too
                    self._ranks[id(node)] = node, max(self._rank(node.left), self._rank(node.right))
                return self._ranks[id(node)][1]
            case c_ast.ArrayRef():
                return self._rank(node.name) - 1
            case c_ast.UnaryOp(op="*"):
                return self._rank(node.expr) - 1
        return 0

    def _unary(self, node: c_ast.UnaryOp) -> Expr:
        op = node.op
        if op == "*":
            return self._access(node)
        if op in ("++", "--", "p++", "p--"):
            raise _side_effect(node, f"`{op.strip('p')}`")
        if op == "sizeof":
            return self._sizeof(node)
        if op == "&":
            raise _address(node)
        operand = self.value(node.expr)
        if op == "~" and operand.type.kind != "int":
            raise _needs_integers(op, node)
        return Unary(op, operand, INT if op == "!" else promote(operand.type))

    def _sizeof(self, node: c_ast.UnaryOp) -> Expr:
        if isinstance(node.expr, c_ast.Typename):
            ctype, extents = declared_type(node.expr.type, self.names.region.types)
            if not extents:
                return Literal(f"{ctype.size}ul", ULONG)
        else:
            return Literal(f"{self.value(node.expr).type.size}ul", ULONG)
        raise UserError("sizeof an array type is not supported here", location=where(node), hint="write the number")

    def _binary(self, node: c_ast.BinaryOp) -> Expr:
        if node.op in ("+", "-") and self._is_pointer(node):
            return self._access(node)
        left, right = self.value(node.left), self.value(node.right)
        if "struct" in (left.type.kind, right.type.kind):
            raise UserError(
                "arithmetic on a whole struct", location=where(node), hint="use the fields of the struct: `p[i].x`"
            )
        if node.op in _INTEGER_ONLY and "float" in (left.type.kind, right.type.kind):
            raise _needs_integers(node.op, node)
        if node.op in _LOGICAL:
            return Binary(node.op, left, right, INT)
        if node.op in ("<<", ">>"):
            return Binary(node.op, left, right, promote(left.type))
        return Binary(node.op, left, right, usual(left.type, right.type))

    def _cast(self, node: c_ast.Cast) -> Expr:
        ctype, extents = declared_type(_cast_type(node), self.names.region.types)
        if extents or ctype.kind == "struct":
            raise UserError("a cast to this type is not supported", location=where(node), hint="cast to a scalar type")
        return Cast(ctype, self.value(node.expr))

    def _call(self, node: c_ast.FuncCall) -> Expr:
        name = node.name.name if isinstance(node.name, c_ast.ID) else None
        if name is None:
            raise OpaqueCallError(
                "a call through a pointer cannot be analysed",
                location=where(node),
                hint="call the function by its name, so that it can be inlined",
            )
        summary = self.names.region.summaries.get(name)
        if summary is not None and summary.result is not None:
            return self._call_elsewhere(node, summary, summary.result)
        if name in self.names.region.functions:
            raise _not_inlined(name, node)
        name = library_name(name)
        if name not in FUNCTIONS and name not in INDEX_HELPERS:
            raise _unknown(name, node)
        arguments = tuple(self.value(a) for a in (node.args.exprs if node.args else ()))
        if name in FUNCTIONS:
            signature = FUNCTIONS[name]
            _check_arity(name, len(signature.arguments), len(arguments), node)
            converted = tuple(_convert(a, t) for a, t in zip(arguments, signature.arguments, strict=True))
            return Call(name, converted, signature.result)
        _check_arity(name, 2, len(arguments), node)
        return _index_helper(INDEX_HELPERS[name], arguments, node)

    def _call_elsewhere(self, node: c_ast.FuncCall, summary: AccessSummary, result: CType) -> Call:
        """The value of a function that only takes numbers."""
        if not summary.pure:
            raise OpaqueCallError(
                f"the value of `{summary.name}`, which takes arrays, is part of an expression here",
                location=where(node),
                hint=f"assign it to a variable before: `double t = {summary.name}(...);`",
            )
        arguments = tuple(self.value(a) for a in (node.args.exprs if node.args else ()))
        _check_arity(summary.name, len(summary.parameters), len(arguments), node)
        pairs = zip(arguments, summary.parameters, strict=True)
        return Call(summary.name, tuple(_convert(a, formal.type) for a, formal in pairs), result)


def usual_or_same(a: CType, b: CType, location: Location) -> CType:
    """The type of `c ? a : b`."""
    if "struct" not in (a.kind, b.kind):
        return usual(a, b)
    if a == b:
        return a
    raise UserError("the two sides of `?:` have different types", location=location, hint="use fields of the structs")


def _constant(node: c_ast.Constant) -> Literal:
    ctype = literal_type(node.value) if node.type != "string" else None
    if ctype is None:
        kind = "a string" if node.type == "string" else f"the constant {node.value}"
        raise UserError(
            f"{kind} cannot be used in a SCoP", location=where(node), hint="use int, long, float or double constants"
        )
    return Literal(node.value, ctype)


def _cast_type(node: c_ast.Cast) -> c_ast.Node:
    target = node.to_type.type
    if target.coord is None:
        target.coord = node.coord
    return target


def _index_helper(name: str, arguments: tuple[Expr, ...], node: c_ast.Node) -> Expr:
    a, b = arguments
    ctype = usual(a.type, b.type)
    if name in ("min", "max"):
        return Call(name, arguments, ctype)
    if ctype.kind != "int":
        raise _needs_integers(name, node)
    if name[0] in "iu":  # PENCIL's, of int and of unsigned int
        own = INT if name[0] == "i" else UINT
        return Call(name[1:], tuple(_convert(a, own) for a in arguments), own)
    if name == "ceild":
        a = Binary("-", Binary("+", a, b, ctype), Literal("1"), ctype)
    return Call("floord", (a, b), ctype)


def _convert(argument: Expr, ctype: CType) -> Expr:
    """C's conversion of an argument, spelt out because C++ would choose another overload."""
    return argument if argument.type == ctype else Cast(ctype, argument)


def _check_arity(name: str, expected: int, given: int, node: c_ast.Node) -> None:
    if expected != given:
        raise UserError(
            f"`{name}` takes {_count(expected, 'argument')}, but {given} are given",
            location=where(node),
            hint=f"call `{name}` as C's math library defines it",
        )


def _address(node: c_ast.Node) -> UserError:
    return UserError(
        "a SCoP cannot take an address",
        location=where(node),
        hint="use variables and array elements themselves, and call functions that need addresses outside the SCoP",
    )


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _side_effect(node: c_ast.Node, what: str) -> UserError:
    return UserError(
        f"{what} inside an expression",
        location=where(node),
        hint=f"write `{text_of(node)};` as a statement of its own, before or after this one",
    )


def _needs_integers(op: str, node: c_ast.Node) -> UserError:
    return UserError(f"`{op}` needs integers", location=where(node), hint="cast the operands to an integer type")


def first_unknown_call(nodes: Iterable[c_ast.Node], known: Collection[str]) -> UserError | None:
    """What is said of the first call of a function that may do anything; `known` are others that may not."""
    for call in (n for item in nodes for n in nodes_below(item) if isinstance(n, c_ast.FuncCall)):
        name = str(call.name.name) if isinstance(call.name, c_ast.ID) else ""
        if name and not is_builtin(name) and library_name(name) not in FUNCTIONS and name not in known:
            return _unknown(name, call)
    return None


def _unknown(name: str, node: c_ast.Node) -> UserError:
    return OpaqueCallError(
        f"the function `{name}` is not known to be free of side effects",
        location=where(node),
        hint=f"define `{name}` in this file as a small function, so that it is inlined, or say in front of its "
        f"declaration what it accesses: #pragma polytile access({name}); C's math functions are known",
    )


def _not_inlined(name: str, node: c_ast.Node) -> UserError:
    return OpaqueCallError(
        f"the call of `{name}` could not be inlined",
        location=where(node),
        hint=f"make `{name}` a function with a single `return` of an expression",
    )
