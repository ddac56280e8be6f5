"""Negations that ptxas must not see: of what integers are compared with.

before: for (int j = max(max(a, -n), b); j <= -k; ++j)
after:  for (int j = max(max(a, polytile_negative(n)), b); j <= polytile_negative(k); ++j)

ptxas makes one instruction (VIMNMX3, sm_90) of the minimum or maximum of three integers, and that of CUDA 12.6 to 13.3
loses the sign of one that is the negation of a register: max(max(a, -n), b) is computed as max(max(a, n), b). Compilers
make such maxima of their own of loop bounds, comparisons and choices. `polytile_negative` is ~n + 1 in the words of
PTX, which neither of them puts together again; 64 bits, and operations on negations such as 1 - n, are not concerned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

from polytile.codegen.targets.expressions import NEGATIVE
from polytile.codegen.targets.statements import strict_bound
from polytile.ir.arith import known
from polytile.ir.expr import (
    UINT,
    Assign,
    Binary,
    Call,
    Cast,
    CType,
    Declare,
    Expr,
    For,
    Name,
    Node,
    Stmt,
    Ternary,
    Unary,
)
from polytile.ir.expr_trees import rewrite, statements, walk, with_bodies
from polytile.ir.identity_key import IdentityKey
from polytile.ir.kernel import Kernel

ORDERINGS = ("<", "<=", ">", ">=")
MAX_KERNELS = 64  # whose bodies are kept
_SIGNED = (Unary, Binary)


def with_opaque_negations(kernel: Kernel) -> tuple[Stmt, ...]:
    """Return a kernel's body to print: 32-bit integers are compared with no negation that ptxas sees."""
    if kernel.index_type != "int" or not any(map(_is_negation, kernel.nodes)):
        return kernel.body
    return _body(IdentityKey(kernel))


def _is_negation(node: Node) -> bool:
    return isinstance(node, _SIGNED) and node.op in ("-", "*") and _negated(node, {}) is not None


@lru_cache(maxsize=MAX_KERNELS)
def _body(kernel: IdentityKey[Kernel]) -> tuple[Stmt, ...]:
    body = kernel.value.body
    negated = _negated_names(body)

    def opaque(expr: Expr) -> Expr:
        positive = _negated(expr, negated)
        if positive is None:
            return expr
        call = Call(NEGATIVE, (positive,), positive.type)
        return call if positive.type.signed == expr.type.signed or positive.type.size < 4 else Cast(expr.type, call)

    def change(node: Node) -> Node:
        match node:
            case Call(function="min" | "max", arguments=arguments):
                return _replaced(node, arguments=tuple(map(opaque, arguments)))
            case Ternary(then=then, otherwise=otherwise):
                return _replaced(node, then=opaque(then), otherwise=opaque(otherwise))
            case Binary(op=op, left=left, right=right) if op in ORDERINGS:
                return _replaced(node, left=opaque(left), right=opaque(right))
            case For(lower=lower):
                return _replaced(node, lower=opaque(lower))
        return node

    return tuple(rewrite(stmt, change) for stmt in _strict(body))


def _strict(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Rewrite the conditions of loops as they are printed: j <= -n - 1 is j < -n."""
    return tuple(_strict_loop(with_bodies(stmt, _strict)) for stmt in body)


def _strict_loop(stmt: Stmt) -> Stmt:
    return replace(stmt, condition=strict_bound(stmt.condition, stmt.iterator)) if isinstance(stmt, For) else stmt


def _replaced(node: Node, **parts: object) -> Node:
    """Replace parts of a node; return the node itself where nothing changes."""
    return replace(node, **parts) if any(getattr(node, k) is not part for k, part in parts.items()) else node


def _negated(expr: Expr, names: Mapping[str, bool]) -> Expr | None:
    """Return what a 32-bit integer is the negation of, as compilers find it, or None.

    before: -n, 0 - n, -n - 2 * b, -n / 2 and, where j is the negation of a variable, j
    after:  n, n, n + 2 * b, n / 2 and -j
    """
    match expr:
        case Cast(type=ctype, operand=operand) if _is_int(ctype) and not isinstance(operand, Name):
            return _negated(operand, names)
        case Name(name=name, type=ctype) if name in names and _is_int(ctype):
            return Unary("-", Cast(UINT, expr), UINT) if names[name] else Unary("-", expr, ctype)
        case Unary(op="-", operand=operand, type=ctype) if known(operand) is None and _is_int(ctype):
            return operand
        case Binary(op=op, left=left, right=right, type=ctype) if _is_int(ctype):
            return _negated_binary(op, left, right, ctype, names)
    return None


def _negated_binary(op: str, left: Expr, right: Expr, ctype: CType, names: Mapping[str, bool]) -> Expr | None:
    if op == "-" and known(left) == 0:
        return right
    if op == "*" and -1 in (known(left), known(right)):
        return right if known(left) == -1 else left
    first, second = _negated(left, names), _negated(right, names)
    ctype = next((e.type for e in (first, second) if e is not None and e.type == UINT), ctype)  # modulo 2^32
    match op:
        case "-" if first is not None and known(right) is None:
            return Binary("+", first, right, ctype)
        case "+" if first is not None and second is not None:
            return Binary("+", first, second, ctype)
        case "*" if first is not None:
            return Binary(op, first, right, ctype)
        case "/" | "%" if first is not None and not _modular(left, names):
            return Binary(op, first, right, ctype)
        case "*" if second is not None:
            return Binary(op, left, second, ctype)
    return None


def _modular(expr: Expr, names: Mapping[str, bool]) -> bool:
    """Return whether a value is computed in an unsigned type.

    It and its negation may then both be the least integer.
    """
    unsigned = (isinstance(n, Unary | Binary) and n.type.kind == "int" and not n.type.signed for n in walk(expr))
    return any(unsigned) or any(isinstance(n, Name) and names.get(n.name, False) for n in walk(expr))


def _negated_names(body: Iterable[Stmt]) -> Mapping[str, bool]:
    """Return variables that are a negation, also of one of these, and whether each is `_modular`."""
    values = tuple(_values(body))
    names: dict[str, bool] = {}
    while True:
        more = [(name, value) for name, value in values if name not in names and _negated(value, names) is not None]
        if not more:
            return names
        for name, value in more:
            names[name] = names.get(name, False) or _modular(value, names)


def _values(body: Iterable[Stmt]) -> Iterator[tuple[str, Expr]]:
    for stmt in statements(*body):
        match stmt:
            case Declare(name=name, value=value) if value is not None:
                yield name, value
            case Assign(target=Name(name=name), op="", value=value):
                yield name, value


def _is_int(ctype: CType) -> bool:
    return ctype.kind == "int" and ctype.size == 4
