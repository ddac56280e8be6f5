"""Names replaced by values, and what then is constant computed: subscripts, conditions, whole branches.

before: y = v == 0 ? l : x[v - 1]; if (v < 2) { A[2 * v + 1] = y; }         v is 0
after:  y = l; A[1] = y;
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from polytile.diagnostics import InternalError
from polytile.ir import arith
from polytile.ir.arith import known
from polytile.ir.device import Advance, AsyncCopy, Atomic, Load, Pointer, PrivateArray, Rotate, Store
from polytile.ir.expr import (
    BOOL,
    INT,
    LLONG,
    Access,
    Assign,
    Binary,
    Call,
    Cast,
    CType,
    Declare,
    Expr,
    For,
    If,
    Literal,
    Name,
    Node,
    Scope,
    Stmt,
    Ternary,
    Unary,
    rewrite,
    walk,
)

Body = tuple[Stmt, ...]
Values = Mapping[str, Expr]
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
_TRUTHS = (*_COMPARISONS, "&&", "||")


def constant(value: int, ctype: CType = INT) -> Expr:
    """A literal of this type, or of 64 bits where it needs them."""
    if ctype.size < 8 or ctype.kind != "int":
        return arith.lift(value)
    literal = Literal(f"{abs(value)}LL", LLONG)
    return literal if value >= 0 else Unary("-", literal, LLONG)


def folded(expr: Expr) -> Expr:
    """The same value, with everything known computed. Floating-point operations are left alone."""
    result: Expr = rewrite(expr, fold_node)
    return result


def folded_body(body: Iterable[Stmt]) -> Body:
    """The same statements with known values computed, and without branches and loops that never run."""
    return substituted(body, {})


def substituted(body: Iterable[Stmt], values: Values) -> Body:
    """The statements with names replaced by values, folded. Raises InternalError where one is written or hidden."""
    statements = tuple(body)
    for stmt in statements if values else ():
        for name in written_names(stmt):
            if name in values:
                raise InternalError(f"{name} is replaced by its value but not constant")
    return tuple(done for stmt in statements for done in _statement(stmt, values))


def substituted_expr(expr: Expr, values: Values) -> Expr:
    """The expression with names replaced by values, folded."""
    return _rewritten(expr, values)  # type: ignore[no-any-return]


def written_names(stmt: Stmt) -> Iterator[str]:
    """The scalars that the statement and those below it write, declare or iterate over."""
    yield from assigned_names(stmt)
    for node in walk(stmt):
        match node:
            case For(iterator=name) | Declare(name=name) | PrivateArray(name=name) | Pointer(name=name):
                yield name


def assigned_names(stmt: Stmt) -> Iterator[str]:
    """The scalars and pointers that get another value after their declaration."""
    for node in walk(stmt):
        match node:
            case Assign(target=Name(name=name)) | Atomic(old=Name(name=name)) | Advance(pointer=name):
                yield name
            case Load(targets=targets):
                yield from (t.name for t in targets if isinstance(t, Name))
            case Rotate(names=names):
                yield from names


def block(body: Body) -> Body:
    """Statements that can stand anywhere: in braces when they declare something."""
    return (Scope(body),) if any(isinstance(s, Declare | PrivateArray | Pointer) for s in body) else body


def count_nodes(body: Iterable[Stmt]) -> int:
    """How much code there is."""
    return sum(1 for stmt in body for _ in walk(stmt))


def _rewritten(node: Any, values: Values) -> Any:
    def change(n: Node) -> Node:
        return values.get(n.name, n) if isinstance(n, Name) else fold_node(n)

    return rewrite(node, change)


def _statement(stmt: Stmt, values: Values) -> Body:
    match stmt:
        case If():
            return _branch(stmt, values)
        case For():
            return _loop(stmt, values)
        case Scope(body=body):
            inside = substituted(body, values)
            return (Scope(inside),) if inside else ()
        case Load() | Store() | AsyncCopy():
            return settled(_rewritten(stmt, values))
    return (_rewritten(stmt, values),)


def _branch(stmt: If, values: Values) -> Body:
    condition = substituted_expr(stmt.condition, values)
    holds = known(condition)
    if holds is not None:
        return block(substituted(stmt.then if holds else stmt.otherwise, values))
    then, otherwise = substituted(stmt.then, values), substituted(stmt.otherwise, values)
    return (replace(stmt, condition=condition, then=then, otherwise=otherwise),) if then or otherwise else ()


def _loop(stmt: For, values: Values) -> Body:
    lower, condition = substituted_expr(stmt.lower, values), substituted_expr(stmt.condition, values)
    if known(substituted_expr(condition, {stmt.iterator: lower})) == 0:
        return ()
    step = stmt.step
    if isinstance(step, Name):
        value = values.get(step.name, step)
        constant_step = known(value)
        if constant_step is None and not isinstance(value, Name):
            raise InternalError(f"the loop over {stmt.iterator} steps by {value}")
        step = value if isinstance(value, Name) else constant_step or 0
    return (replace(stmt, lower=lower, condition=condition, step=step, body=substituted(stmt.body, values)),)


def settled(stmt: Load | Store | AsyncCopy) -> Body:
    """A guarded access whose guard is perhaps known."""
    holds = None if stmt.guard is None else known(stmt.guard)
    if holds:
        return (replace(stmt, guard=None),)
    if holds is None or isinstance(stmt, AsyncCopy):
        return (stmt,)
    return () if isinstance(stmt, Store) else tuple(Assign(t, "", _zero(t.type), stmt.location) for t in stmt.targets)


def _zero(ctype: CType) -> Literal:
    return Literal("0.0f" if ctype.size == 4 else "0.0", ctype) if ctype.kind == "float" else Literal("0")


# Values -------------------------------------------------------------------------------------------
def fold_node(node: Any) -> Any:
    """One node whose children are folded."""
    match node:
        case Binary(op=op, left=left, right=right) if _countable(left) and _countable(right):
            return _truth(op, left, right, node) if op in _TRUTHS else _arithmetic(node)
        case Ternary(condition=condition, then=then, otherwise=otherwise) if (holds := known(condition)) is not None:
            return _as_type(then if holds else otherwise, node.type)
        case Unary(op=op, operand=operand) if _countable(operand) and (value := known(operand)) is not None:
            return _unary(op, value, node)
        case Cast(type=ctype, operand=operand) if ctype in (INT, LLONG) and (value := known(operand)) is not None:
            return constant(value, ctype) if -(2**31) < value < 2**31 or ctype == LLONG else node
        case Call(function="min" | "max" | "floord" | "pmod"):
            return _helper(node)
    return node


def _countable(expr: Expr) -> bool:
    """Whether a value computes like Python's integers, where it does not overflow."""
    ctype = expr.type
    return ctype.kind == "int" and (ctype.signed or ctype.size < 4)


def _as_type(result: Expr, ctype: CType) -> Expr:
    """The result with the type that C gives the operation: it decides how a product around it is computed."""
    if result.type == ctype or (result.type.kind == ctype.kind == "int" and result.type.size >= ctype.size):
        return result
    if ctype.kind == "int" and ctype.size <= 4:
        return result
    value = known(result)
    return constant(value, ctype) if value is not None and ctype.kind == "int" else Cast(ctype, result)


def _unary(op: str, value: int, node: Unary) -> Expr:
    match op:
        case "!":
            return Literal(str(int(not value)), BOOL)
        case "~":
            return constant(~value, node.operand.type)
        case "-":
            return constant(-value, node.operand.type)
    return node.operand


def _truth(op: str, left: Expr, right: Expr, node: Binary) -> Expr:
    if op in _COMPARISONS:
        both_known = known(left) is not None and known(right) is not None
        return arith.compare(op, left, right) if both_known else node
    decisive = op == "||"
    for one, other in ((left, right), (right, left)):
        value = known(one)
        if value is not None:
            return Literal(str(int(decisive)), BOOL) if bool(value) == decisive else _boolean(other)
    return node


def is_truth(expr: Expr) -> bool:
    """Whether a value is 0 or 1."""
    match expr:
        case Binary(op="&" | "|" | "^", left=left, right=right):
            return is_truth(left) and is_truth(right)
        case Binary(op=op):
            return op in _TRUTHS
        case Unary(op="!"):
            return True
    return expr.type == BOOL or known(expr) in (0, 1)


def _boolean(expr: Expr) -> Expr:
    return expr if is_truth(expr) else Binary("!=", expr, Literal("0"), BOOL)


def _arithmetic(node: Binary) -> Expr:
    left, right = node.left, node.right
    wide = max((left.type, right.type, INT), key=lambda t: t.size)
    result = _combined(node.op, left, right)
    return node if result is None else _as_type(result, wide)


def _combined(op: str, left: Expr, right: Expr) -> Expr | None:
    x, y = known(left), known(right)
    match op:
        case "+" | "-" if y is not None:
            return _plus(left, y if op == "+" else -y)
        case "+" if x is not None:
            return _plus(right, x)
        case "*" if x is not None or y is not None:
            return _times(left, right)
        case "/" | "%" if y == 1:
            return left if op == "/" else arith.lift(0)
        case "&" | "|":
            return _bits(op, left, right)
    both_known = x is not None and y is not None
    folded_value = arith.binary(op, left, right) if both_known else None
    return folded_value if folded_value is not None and known(folded_value) is not None else None


def _offset(expr: Expr) -> tuple[Expr, int] | None:
    """The parts of `x + 3` and `x - 3`."""
    match expr:
        case Binary(op="+" | "-" as op, left=left, right=right) if (value := known(right)) is not None:
            return left, value if op == "+" else -value
    return None


def _plus(expr: Expr, value: int) -> Expr:
    """`expr + value`; a constant that it already adds grows, which overflows nowhere new."""
    parts = _offset(expr)
    if parts is not None and parts[0].type.size >= expr.type.size:
        return _plus(parts[0], parts[1] + value)
    return arith.add(expr, value)


def _times(left: Expr, right: Expr) -> Expr:
    match left:
        case Binary(op="*", left=inner, right=factor) if (
            (x := known(factor)) is not None and (y := known(right)) is not None and inner.type.size >= left.type.size
        ):
            return arith.mul(inner, x * y)
    return arith.mul(left, right)


def _bits(op: str, left: Expr, right: Expr) -> Expr | None:
    for one, other in ((left, right), (right, left)):
        value = known(one)
        if value == 0:
            return Literal("0", one.type) if op == "&" else other
        if value == 1 and is_truth(other):
            return other if op == "&" else one
    x, y = known(left), known(right)
    return arith.binary(op, left, right) if x is not None and y is not None else None


def _helper(node: Call) -> Expr:
    values = [v for a in node.arguments if (v := known(a)) is not None]
    if node.function in ("min", "max") and len(set(node.arguments)) == 1:
        return node.arguments[0]
    if len(values) < len(node.arguments):
        return node
    if node.function in ("min", "max"):
        return arith.lift(min(values) if node.function == "min" else max(values))
    a, b = values
    return node if b <= 0 else arith.lift(a // b if node.function == "floord" else a % b)


def names_of(nodes: Iterable[Node]) -> frozenset[str]:
    """Every name that occurs in the nodes: of values, arrays and pointers, used or declared."""
    found: set[str] = set()
    for root in nodes:
        if isinstance(root, Stmt):
            found.update(written_names(root))
        found |= {n.array if isinstance(n, Access) else n.name for n in walk(root) if isinstance(n, Access | Name)}
    return frozenset(found)
