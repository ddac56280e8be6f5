"""C statements -> statement trees: assignments, and whatever hangs below a data-dependent condition."""

from __future__ import annotations

from typing import Any

import islpy as isl
from pycparser import c_ast
from pycparser.c_generator import CGenerator

from polytile.dataclass import dataclass
from polytile.diagnostics import OpaqueCallError, UserError
from polytile.frontend.accesses import bad_bound
from polytile.frontend.affine import Evaluator
from polytile.frontend.builtin_functions import WITHOUT_EFFECT, calls
from polytile.frontend.c_types import where
from polytile.frontend.call_effects import invocation
from polytile.frontend.callees import called_name
from polytile.frontend.expressions import Translator
from polytile.frontend.jump_elimination import has_break
from polytile.frontend.loops import domain, header
from polytile.frontend.name_binding import Variable
from polytile.frontend.not_affine import NotAffineError
from polytile.frontend.parse import nodes_below
from polytile.frontend.trees import copied, map_children
from polytile.ir.expr import (
    INT,
    Access,
    Assign,
    Break,
    Declare,
    Expr,
    For,
    If,
    Invoke,
    Literal,
    Name,
    Scope,
    Stmt,
    Unary,
    While,
)
from polytile.ir.substitute import block

_REFUSED: dict[type[c_ast.Node], tuple[str, str]] = {
    c_ast.Switch: (
        "this `switch`",
        "let each case end with a `break` of its own, outside other statements, and declare variables before it; or "
        "write it as `if` and `else`: `if (k == 1) ...; else if (k == 2) ...;`",
    ),
    c_ast.Break: ("`break`", "let it stand in a loop of the SCoP"),
    c_ast.Continue: ("`continue`", "put the rest of the loop's body under the opposite `if`"),
    c_ast.Return: ("`return`", "end the SCoP before it"),
    c_ast.Goto: ("`goto`", "use loops and `if`"),
    c_ast.Label: ("a label", "use loops and `if` instead of jumps"),
}
IGNORED = (c_ast.EmptyStatement, c_ast.Pragma, c_ast.StaticAssert, c_ast.Typedef)


def refuse(node: c_ast.Node) -> UserError:
    """The refusal of a statement that a SCoP cannot contain."""
    what, hint = _REFUSED.get(type(node), (f"this statement ({type(node).__name__})", "move it out of the SCoP"))
    return UserError(f"{what} is not allowed in a SCoP", location=where(node), hint=hint)


def parts(node: c_ast.Node) -> list[c_ast.Node]:
    """Split what C lets one statement do at once: `a = b = c;` gives b = c and a = b; `x, y;` gives x and y."""
    match node:
        case c_ast.ExprList(exprs=exprs):
            return [p for e in exprs for p in parts(e)]
        case c_ast.Assignment(op=op, lvalue=target, rvalue=c_ast.Assignment() as inner):
            return [*parts(inner), c_ast.Assignment(op, target, inner.lvalue, node.coord)]
    return [node]


def has_effect(node: c_ast.Node) -> bool:
    """Whether an expression used as a statement does anything: `(void) x;` does not."""
    match node:
        case c_ast.Cast(expr=inner):
            return has_effect(inner)
        case c_ast.Assignment() | c_ast.FuncCall():
            return not calls(node, WITHOUT_EFFECT)
        case c_ast.UnaryOp(op=op):
            return op in ("++", "--", "p++", "p--") or has_effect(node.expr)
        case c_ast.BinaryOp() | c_ast.TernaryOp():
            return any(has_effect(child) for _, child in node.children())
    return False


def assignment(node: c_ast.Node, translator: Translator) -> Assign | Invoke:
    """An assignment, `++`, `--` or the call of a function that takes arrays, as a statement of its own."""
    target, call = (node.lvalue, node.rvalue) if isinstance(node, c_ast.Assignment) and node.op == "=" else (None, node)
    summary = translator.names.region.summaries.get(called_name(call))
    if summary is not None and not summary.pure:
        return invocation(call, summary, target, translator)
    match node:
        case c_ast.Assignment(op=op, lvalue=lvalue, rvalue=rvalue):
            target, value = translator.target(lvalue), translator.value(rvalue)
            _check_assignable(target, value, node)
            return Assign(target, op[:-1], value, where(node))
        case c_ast.UnaryOp(op="++" | "--" | "p++" | "p--" as op):
            return Assign(translator.target(node.expr), op.strip("p")[0], Literal("1", INT), where(node))
    raise _not_a_statement(node)


def initialisation(node: c_ast.Decl, variable: Variable, translator: Translator) -> Assign:
    """`double t = e;` as the assignment t = e."""
    if isinstance(node.init, c_ast.InitList):
        raise UserError(
            f"`{node.name}` has a list of initial values",
            location=where(node.init if node.init.coord is not None else node),
            hint="declare it without values and assign its elements in the SCoP",
        )
    target = Access(variable.name, (), variable.type, None, where(node))
    value = translator.value(node.init)
    _check_assignable(target, value, node)
    return Assign(target, "", value, where(node))


def _check_assignable(target: Expr, value: Expr, node: c_ast.Node) -> None:
    if "struct" in (target.type.kind, value.type.kind) and target.type != value.type:
        raise UserError(
            "the two sides of the assignment have different types", location=where(node), hint="assign field by field"
        )


def _not_a_statement(node: c_ast.Node) -> UserError:
    if isinstance(node, c_ast.FuncCall) and not isinstance(node.name, c_ast.ID):
        return OpaqueCallError(
            "a call through a pointer may do anything",
            location=where(node),
            hint="call the function by its name, so that it can be inlined",
        )
    if isinstance(node, c_ast.FuncCall):
        name, arguments = node.name.name, node.args.exprs if node.args else []
        if any(isinstance(a, c_ast.UnaryOp) and a.op == "&" for a in arguments):
            return OpaqueCallError(
                f"the call of `{name}` passes an address",
                location=where(node),
                hint=f"pass the array and its subscripts apart, `{name}(A, i)`: small functions of this file that take "
                "arrays are inlined",
            )
        return OpaqueCallError(
            f"the call of `{name}` may do anything",
            location=where(node),
            hint=f"define `{name}` in this file as a small function, so that it is inlined; or say in front of its "
            f"declaration what it accesses: #pragma polytile access({name})",
        )
    return refuse(node)


@dataclass(slots=True)
class Branches:
    """Translates the statements below a data-dependent condition into one statement tree."""

    translator: Translator
    evaluator: Evaluator

    def many(self, node: c_ast.Node | None, known: isl.Set) -> tuple[Stmt, ...]:
        match node:
            case None:
                return ()
            case c_ast.Compound():
                return tuple(s for n in node.block_items or () for s in self.many(n, known))
            case c_ast.If():
                return (self.conditional(node, known),)
            case c_ast.For():
                return self._loop(node, known)
            case c_ast.While(cond=condition, stmt=stmt):
                return (While(self.translator.value(condition), self.many(stmt, known), where(node)),)
            case c_ast.DoWhile(cond=condition, stmt=stmt):
                body = self.many(stmt, known)
                over = Unary("!", self.translator.value(condition))
                last = If(over, (Break(where(node)),), (), where(node))
                return (While(Literal("1", INT), (*block(body), last), where(node)),)
            case c_ast.Break():
                return (Break(where(node)),)
            case c_ast.Decl():
                return self._declaration(node)
            case c_ast.DeclList():
                return tuple(s for d in node.decls for s in self._declaration(d))
        if isinstance(node, IGNORED):
            return ()
        if type(node) in _REFUSED:
            raise refuse(node)
        return tuple(assignment(p, self.translator) for p in parts(node) if has_effect(p))

    def conditional(self, node: c_ast.If, known: isl.Set) -> If:
        """An `if` whose condition depends on data."""
        condition = self.translator.value(node.cond)
        return If(condition, self.many(node.iftrue, known), self.many(node.iffalse, known), where(node))

    def _loop(self, node: c_ast.For, known: isl.Set) -> tuple[Stmt, ...]:
        """before: for (j = row[i]; j < row[i + 1]; j++) S;
        after:  { int j = row[i]; while (j < row[i + 1]) { S; j += 1; } }
        """
        head = header(node, self.translator, self.evaluator, known)
        iterator = Name(head.iterator, head.type)
        try:
            points = domain(head, self.evaluator, known)
        except NotAffineError as problem:
            if not problem.data and head.location not in self.translator.names.region.whiles:
                raise bad_bound(problem, head, self.translator) from None
            counts = False
        else:
            counts = not has_break(node)
        body = self.many(node.stmt, points if counts else known)
        if counts:
            return (For(head.iterator, head.lower, head.condition, head.step, body, head.type, head.location),)
        step = Assign(iterator, "+" if head.step > 0 else "-", Literal(str(abs(head.step)), INT), head.location)
        loop = While(head.condition, (*block(body), step), head.location)
        return (Scope((Declare(head.iterator, head.type, head.lower, head.location), loop)),)

    def _declaration(self, node: c_ast.Decl) -> tuple[Stmt, ...]:
        variable = self.translator.names.declared[id(node)]
        if variable.iterates:  # the loops that it counts have iterators of their own
            return ()
        if variable.extents or variable.type.kind == "struct":
            raise UserError(
                f"the array or struct `{variable.source}` is declared under a condition that depends on data",
                location=where(node),
                hint="declare it before the `if`",
            )
        value = None if node.init is None else initialisation(node, variable, self.translator).value
        variable.is_name = True
        return (Declare(variable.name, variable.type, value, where(node)),)


def statement_text(node: c_ast.Node) -> str:
    """Return the C of a statement on one line, without conversions that only widen what counters are made of."""
    node = _without_widening(copied(node)) if any(map(_widens, nodes_below(node))) else node
    text = " ".join(CGenerator(reduce_parentheses=True).visit(node).split())
    return text if text.endswith((";", "}")) else text + ";"


def _widens(node: c_ast.Node) -> bool:
    """Whether this is a conversion to `long`, or one back of a remainder, that has no place of its own in the source:
    there its type stands behind its parenthesis."""
    match node:
        case c_ast.Cast(expr=c_ast.BinaryOp(op="%")) | c_ast.Cast(to_type=c_ast.Typename(
            type=c_ast.TypeDecl(type=c_ast.IdentifierType(names=["long"]))
        )):
            return node.coord is node.to_type.coord
    return False


def _without_widening(node: Any) -> Any:
    return _without_widening(node.expr) if _widens(node) else map_children(node, _without_widening)
