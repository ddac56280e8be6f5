"""Arithmetic of complex numbers as that of their parts.

before: double _Complex t = a[i] * conj(b[i]); s += t; c[i] = t * t;
after:  double t_re = a[i].re * b[i].re - a[i].im * -b[i].im, t_im = a[i].re * -b[i].im + a[i].im * b[i].re;
        s.re += t_re; s.im += t_im; c[i].re = t_re * t_re - t_im * t_im; c[i].im = t_re * t_im + t_im * t_re;

Products are those of C without what Annex G asks for infinities. Quotients of `double _Complex` are R. L. Smith's
(Algorithm 116, CACM 5(8), 1962), those of `float _Complex` are computed in double: as libgcc has both where nothing is
close to the ends of the range of exponents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.diagnostics import UserError
from polytile.frontend.ast_builders import declared, mentions, names_in, unused
from polytile.frontend.complex_kinds import Kinds, is_complex_struct
from polytile.frontend.parse import location_of, nodes_below
from polytile.frontend.preprocess import IMAGINARY_UNIT
from polytile.frontend.scope import Scope
from polytile.frontend.trees import WRITING, block_items, copied, map_children, possible_bases

Parts = tuple[c_ast.Node, c_ast.Node]
_PARTS = {"creal": 0, "cimag": 1, "crealf": 0, "cimagf": 1}


def with_real_parts(body: Sequence[c_ast.Node], scope: Scope) -> tuple[c_ast.Node, ...]:
    """The statements of a SCoP, whose types are spelt out, without arithmetic of complex numbers."""
    kinds = Kinds(scope)
    if not any(kinds.is_complex_node(n) for item in body for n in nodes_below(item)):
        return tuple(body)
    return tuple(_Splitter(kinds, names_in(body)).block(body))


@dataclass(slots=True)
class _Splitter:
    kinds: Kinds
    taken: set[str]
    locals: dict[str, tuple[str, str]] = field(default_factory=dict)  # the scalars of variables inside the SCoP
    before: list[c_ast.Node] = field(default_factory=list)  # what has to run before the statement at hand

    # Statements -----------------------------------------------------------------------------------------------------
    def block(self, items: Sequence[c_ast.Node]) -> list[c_ast.Node]:
        outer, kinds = dict(self.locals), self.kinds.copy()
        made = [part for item in items for part in self._statement(item)]
        self.locals, self.kinds = outer, kinds
        return made

    def _statement(self, node: c_ast.Node) -> list[c_ast.Node]:
        before, self.before = self.before, []
        made = self._made(node)
        made, self.before = [*self.before, *made], before
        for part in (n for item in made for n in nodes_below(item)):
            part.coord = part.coord or node.coord
        return made

    def _made(self, node: c_ast.Node) -> list[c_ast.Node]:
        match node:
            case c_ast.Compound():
                return [c_ast.Compound(self.block(block_items(node)), node.coord)]
            case c_ast.Decl():
                return self._declaration(node)
            case c_ast.Assignment() if self.kinds.of(node.lvalue):
                return self._assignment(node)
            case c_ast.If():
                node.cond = self._truth(node.cond)
                node.iftrue = self._body(node.iftrue)
                node.iffalse = None if node.iffalse is None else self._body(node.iffalse)
                return [node]
            case c_ast.For() | c_ast.While() | c_ast.DoWhile():
                return [self._loop(node)]
        return [self._real(node)]

    def _body(self, node: c_ast.Node) -> c_ast.Node:
        made = self.block([node])
        return made[0] if len(made) == 1 else c_ast.Compound(made, node.coord)

    def _loop(self, node: c_ast.Node) -> c_ast.Node:
        outer = self.kinds.copy()
        for slot in ("init", "cond", "next"):
            part = getattr(node, slot, None)
            if part is not None:
                for decl in part.decls if isinstance(part, c_ast.DeclList) else ():
                    self.kinds.declare(decl)
                setattr(node, slot, self._truth(part) if slot == "cond" else self._real(part))
        if self.before:
            raise _refused(node, "the header of a loop computes with complex numbers")
        node.stmt = self._body(node.stmt)
        self.kinds = outer
        return node

    def _declaration(self, node: c_ast.Decl) -> list[c_ast.Node]:
        """A variable becomes two."""
        scalar = isinstance(node.type, c_ast.TypeDecl)
        value = None if node.init is None else node.init
        if not scalar or not is_complex_struct(node.type.type):
            node.init = None if value is None else self._converted(value, node.type)
            self.kinds.declare(node)
            self.locals.pop(str(node.name), None)
            return [node]
        parts = None if value is None else self._parts(value)
        self.kinds.declare(node)
        names = (unused(f"{node.name}_re", self.taken), unused(f"{node.name}_im", self.taken))
        self.locals[node.name] = names
        kind = self.kinds.of(c_ast.ID(node.name)) or "double"
        values = parts or (None, None)
        return [declared(name, kind, part) for name, part in zip(names, values, strict=True)]

    def _assignment(self, node: c_ast.Assignment) -> list[c_ast.Node]:
        real, imaginary = self._parts(node.lvalue)
        op, value = node.op, node.rvalue
        names = [str(base.name) for base in possible_bases(node.lvalue)]
        if op in ("+=", "-=") and not mentions(value, *names):
            parts = self._parts(value)
            made = [c_ast.Assignment(op, real, parts[0])]
            return [*made, c_ast.Assignment(op, imaginary, parts[1])] if self.kinds.of(value) else made
        if op != "=":
            value = c_ast.BinaryOp(op[:-1], copied(node.lvalue), value, node.coord)
        parts = self._parts(value)
        scalars = [name for base in names for name in self.locals.get(base, ())]
        if mentions(parts[1], *names, *scalars):
            parts = self._kept(parts, self.kinds.of(node.lvalue) or "double")
        return [c_ast.Assignment("=", target, part) for target, part in zip((real, imaginary), parts, strict=True)]

    # Expressions ----------------------------------------------------------------------------------------------------
    def _real(self, node: c_ast.Node) -> c_ast.Node:
        """An expression or statement whose value is no complex number; the real part where it is one."""
        if self.kinds.of(node):
            return self._parts(node)[0]
        match node:
            case c_ast.FuncCall(name=c_ast.ID(name=name), args=c_ast.ExprList(exprs=[value])) if name in _PARTS:
                return self._parts(value)[_PARTS[name]]
            case c_ast.FuncCall(name=c_ast.ID(name="cabs" | "cabsf" as name), args=c_ast.ExprList(exprs=[value])):
                return _call("hypot" + name[4:], *self._parts(value))
            case c_ast.BinaryOp(op="==" | "!=" as op, left=left, right=right) if self.kinds.any(left, right):
                pairs = zip(self._parts(left), self._parts(right), strict=True)
                one, other = (c_ast.BinaryOp(op, a, b) for a, b in pairs)
                return c_ast.BinaryOp("&&" if op == "==" else "||", one, other)
            case c_ast.Cast(to_type=c_ast.Typename(type=to_type), expr=inner):
                node.expr = self._converted(inner, to_type)
                return node
            case c_ast.Assignment(op="=") if self.kinds.of(node.rvalue):
                node.rvalue = self._truth(node.rvalue) if self.kinds.is_bool(node.lvalue) else self._real(node.rvalue)
                node.lvalue = self._real(node.lvalue)
                return node
            case c_ast.UnaryOp(op="!", expr=inner):
                return c_ast.UnaryOp("!", self._truth(inner), node.coord)
            case c_ast.BinaryOp(op="&&" | "||") | c_ast.TernaryOp():
                return self._guarded(node)
            case c_ast.FuncCall() if node.args is not None and any(map(self.kinds.of, node.args.exprs)):
                raise _refused(node, f"`{node.name.name}` takes complex numbers")
        return map_children(node, self._real)

    def _converted(self, value: c_ast.Node, to_type: c_ast.Node) -> c_ast.Node:
        return self._truth(value) if self.kinds.is_bool_type(to_type) else self._real(value)

    def _truth(self, node: c_ast.Node) -> c_ast.Node:
        """A condition: a complex number is true where one of its parts is."""
        if not self.kinds.of(node):
            return self._real(node)
        real, imaginary = (c_ast.BinaryOp("!=", p, c_ast.Constant("int", "0")) for p in self._parts(node))
        return c_ast.BinaryOp("||", real, imaginary)

    def _guarded(self, node: c_ast.Node) -> c_ast.Node:
        """What may not be evaluated needs no statements before it."""
        count = len(self.before)
        if isinstance(node, c_ast.TernaryOp):
            node.cond = self._truth(node.cond)
        made = map_children(node, self._truth if isinstance(node, c_ast.BinaryOp) else self._real)
        if len(self.before) != count:
            raise _refused(node, "a part of a condition computes with complex numbers")
        return made

    def _parts(self, node: c_ast.Node) -> Parts:
        """The real and the imaginary part; a number that is real has none."""
        if not self.kinds.of(node):
            return self._real(node), c_ast.Constant("double", "0.0")
        match node:
            case c_ast.ID(name=name) if name == IMAGINARY_UNIT:
                return c_ast.Constant("float", "0.0f"), c_ast.Constant("float", "1.0f")
            case c_ast.ID(name=name) if name in self.locals:
                real, imaginary = self.locals[name]
                return c_ast.ID(real), c_ast.ID(imaginary)
            case c_ast.ID() | c_ast.ArrayRef() | c_ast.StructRef() | c_ast.UnaryOp(op="*"):
                place = map_children(node, self._real) if not isinstance(node, c_ast.ID) else node
                _check_unchanging(place)
                return _field(place, "re"), _field(copied(place), "im")
            case c_ast.UnaryOp(op="-" | "+" | "~" as op, expr=inner):
                real, imaginary = self._parts(inner)
                minus = tuple(c_ast.UnaryOp("-", p) for p in (real, imaginary))
                return {"+": (real, imaginary), "-": (minus[0], minus[1]), "~": (real, minus[1])}[op]
            case c_ast.FuncCall(name=c_ast.ID(name="conj" | "conjf"), args=arguments):
                return self._parts(c_ast.UnaryOp("~", arguments.exprs[0]))
            case c_ast.Cast(expr=inner):
                kind = self.kinds.of(node) or "double"
                real, imaginary = self._parts(inner)
                return _cast(kind, real), _cast(kind, imaginary)
            case c_ast.TernaryOp():
                return self._choice(node)
            case c_ast.BinaryOp(op="+" | "-" | "*" | "/"):
                return self._arithmetic(node)
        raise _refused(node, "complex numbers have no such operation here")

    def _choice(self, node: c_ast.TernaryOp) -> Parts:
        condition = self._truth(node.cond)
        kind = self.kinds.of(node) or "double"
        names = [self._declare(kind, None) for _ in range(2)]
        sides = []
        for side in (node.iftrue, node.iffalse):
            before, self.before = self.before, []
            parts = self._parts(side)
            set_ = [c_ast.Assignment("=", c_ast.ID(n), p) for n, p in zip(names, parts, strict=True)]
            sides.append(c_ast.Compound([*self.before, *set_]))
            self.before = before
        self.before.append(c_ast.If(condition, sides[0], sides[1]))
        return c_ast.ID(names[0]), c_ast.ID(names[1])

    def _arithmetic(self, node: c_ast.BinaryOp) -> Parts:
        op, (left, right) = node.op, (node.left, node.right)
        (a, b), (c, d) = self._parts(left), self._parts(right)
        one, other, kind = self.kinds.of(left), self.kinds.of(right), self.kinds.of(node) or "double"
        if op in "+-":
            imaginary = c_ast.BinaryOp(op, b, d) if one and other else b if one else d
            return c_ast.BinaryOp(op, a, c), c_ast.UnaryOp("-", d) if op == "-" and not one else imaginary
        if one:
            a, b = self._kept((a, b), one)
        else:
            (a,) = self._kept((a,), kind)
        if other:
            c, d = self._kept((c, d), other)
        else:
            (c,) = self._kept((c,), kind)
        if not other:
            return c_ast.BinaryOp(op, a, c), c_ast.BinaryOp(op, b, copied(c))
        if op == "*":
            return _product(a, b, c, d) if one else (_times(a, c), _times(a, d))
        numerator = (a, b if one else c_ast.Constant("double", "0.0"))
        return self._quotient(numerator, (c, d), kind)

    def _quotient(self, numerator: Parts, denominator: Parts, kind: str) -> Parts:
        if kind == "float":
            a, b, c, d = (_cast("double", p) for p in (*numerator, *denominator))
            (size,) = self._kept((_sum("+", _times(c, c), _times(d, d)),), "double")
            real = _over(_sum("+", _times(a, c), _times(b, d)), size)
            imaginary = _over(_sum("-", _times(b, c), _times(a, d)), size)
            return self._kept((_cast("float", real), _cast("float", imaginary)), "float")
        a, b, c, d = (*numerator, *denominator)
        names = [c_ast.ID(self._declare(kind, None)) for _ in range(2)]
        small = c_ast.BinaryOp("<", _call("fabs", copied(c)), _call("fabs", copied(d)))
        turned = self._smith((b, a), (d, c), names, -1)
        self.before.append(c_ast.If(small, turned, self._smith((a, b), (c, d), names, 1)))
        return names[0], names[1]

    def _smith(self, numerator: Parts, denominator: Parts, names: Sequence[c_ast.ID], sign: int) -> c_ast.Compound:
        """(a + bi) / (c + di) with |c| >= |d|, and, turned by `sign` -1, (b + ai) / (d + ci) with |d| > |c|."""
        before, self.before = self.before, []
        (a, b), (c, d) = numerator, denominator
        (ratio,) = self._kept((_over(d, c),), "double")
        (size,) = self._kept((_sum("+", _times(d, ratio), c),), "double")
        real = _over(_sum("+", _times(b, ratio), a), size)
        first, second = (copied(b), _times(a, ratio)) if sign > 0 else (_times(a, ratio), copied(b))
        imaginary = _over(_sum("-", first, second), size)
        values = zip(names, (real, imaginary), strict=True)
        made = c_ast.Compound([*self.before, *(c_ast.Assignment("=", copied(n), v) for n, v in values)])
        self.before = before
        return made

    def _kept(self, parts: tuple[c_ast.Node, ...], kind: str) -> tuple[c_ast.Node, ...]:
        """Values that are used more than once, in variables where they are computed."""
        return tuple(p if _is_leaf(p) else c_ast.ID(self._declare(kind, p)) for p in parts)

    def _declare(self, kind: str, value: c_ast.Node | None) -> str:
        name = unused(f"part_{len(self.taken)}", self.taken)
        self.before.append(declared(name, kind, value))
        return name


def _is_leaf(node: c_ast.Node) -> bool:
    """Whether a value is read or written down, perhaps with the other sign."""
    if isinstance(node, c_ast.UnaryOp) and node.op == "-":
        return _is_leaf(node.expr)
    return isinstance(node, c_ast.ID | c_ast.Constant | c_ast.StructRef | c_ast.ArrayRef)


def _product(a: c_ast.Node, b: c_ast.Node, c: c_ast.Node, d: c_ast.Node) -> Parts:
    return _sum("-", _times(a, c), _times(b, d)), _sum("+", _times(a, d), _times(b, c))


def _times(left: c_ast.Node, right: c_ast.Node) -> c_ast.Node:
    return c_ast.BinaryOp("*", copied(left), copied(right))


def _over(left: c_ast.Node, right: c_ast.Node) -> c_ast.Node:
    return c_ast.BinaryOp("/", copied(left), copied(right))


def _sum(op: str, left: c_ast.Node, right: c_ast.Node) -> c_ast.Node:
    return c_ast.BinaryOp(op, left, copied(right))


def _field(place: c_ast.Node, name: str) -> c_ast.Node:
    return c_ast.StructRef(place, ".", c_ast.ID(name, place.coord), place.coord)


def _call(function: str, *arguments: c_ast.Node) -> c_ast.Node:
    return c_ast.FuncCall(c_ast.ID(function), c_ast.ExprList(list(arguments)))


def _cast(kind: str, value: c_ast.Node) -> c_ast.Node:
    if isinstance(value, c_ast.Constant) and value.value == "0.0":
        return value
    named = c_ast.Typename(None, [], None, c_ast.TypeDecl(None, [], None, c_ast.IdentifierType([kind])))
    return c_ast.Cast(named, copied(value))


def _check_unchanging(place: c_ast.Node) -> None:
    """What says where a complex number is is evaluated for each part."""
    changes = (n for n in nodes_below(place) if isinstance(n, c_ast.UnaryOp) and n.op in WRITING)
    change = next(changes, None) or next((n for n in nodes_below(place) if isinstance(n, c_ast.Assignment)), None)
    if change is not None:
        raise UserError(
            f"`{change.op.removeprefix('p')}` in a subscript of complex numbers",
            location=location_of(change),
            hint="make it a statement of its own, before or after this one",
        )


def _refused(node: c_ast.Node, reason: str) -> UserError:
    return UserError(
        f"{reason}, which is not supported in a SCoP",
        location=location_of(node),
        hint="complex numbers have + - * /, ==, conj, creal, cimag, cabs and I, in assignments and declarations",
    )
