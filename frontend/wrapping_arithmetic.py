"""Signed integers that wrap around where they overflow, as with gcc's -fwrapv: they are computed in unsigned types.

before: s += a[i] * k;  b[i] = a[i] + 60 < a[i];                       x[p[i] + k], x[i + k]
after:  s += (unsigned)a[i] * k;  b[i] = (int)((unsigned)a[i] + 60) < a[i];
        x[(int)((unsigned)p[i] + k)], x[i + k]

Subscripts that are affine stay as they are: what they access was found for sizes with which none of them wraps.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from polytile.ir.arith import known, zero
from polytile.ir.expr import (
    INT,
    LLONG,
    LONG,
    UINT,
    ULLONG,
    ULONG,
    Access,
    Assign,
    Binary,
    Call,
    Cast,
    CType,
    Expr,
    For,
    Ternary,
    Unary,
)
from polytile.ir.expr_trees import walk, with_children
from polytile.ir.reductions import accumulation
from polytile.ir.scop import Scop

_UNSIGNED = {INT: UINT, LONG: ULONG, LLONG: ULLONG}
_WRAPPING = ("+", "-", "*")
_ABSOLUTE = ("abs", "labs", "llabs")


def with_wrapping(scop: Scop) -> Scop:
    """The SCoP with bodies that compute its integers modulo powers of 2."""
    statements = tuple(replace(s, body=tuple(_wrapped(b) for b in s.body)) for s in scop.statements)
    return replace(scop, statements=statements)


def _wrapped(node: Any) -> Any:
    """A statement or a value, and all inside."""
    match node:
        case Access(subscripts=subscripts, inside=inside):
            changed = (tuple(_subscript(s) for s in part) for part in (subscripts, inside))
            return replace(node, subscripts=next(changed), inside=next(changed))
        case Assign():
            return _assignment(node)
        case For(body=body):  # one that counts what is affine
            return replace(node, body=tuple(_wrapped(s) for s in body))
        case Binary(op=op, type=ctype) if op in _WRAPPING and ctype in _UNSIGNED:
            left, right = _wrapped(node.left), _wrapped(node.right)
            return Cast(ctype, _computed(op, left, right, _UNSIGNED[ctype]))
        case Binary(op="<<", type=ctype) if ctype in _UNSIGNED and known(node.left) is None:
            unsigned = _UNSIGNED[ctype]
            return Cast(ctype, Binary("<<", _unsigned(_wrapped(node.left), unsigned), _wrapped(node.right), unsigned))
        case Unary(op="-", type=ctype) if ctype in _UNSIGNED and known(node) is None:
            return _negated(_wrapped(node.operand), ctype)
        case Call(function=name, arguments=(operand,), type=ctype) if name in _ABSOLUTE and ctype in _UNSIGNED:
            value = _wrapped(operand)
            return Ternary(Binary("<", value, zero(value.type)), _negated(value, ctype), value, ctype)
    return with_children(node, _wrapped)


def _subscript(subscript: Expr) -> Expr:
    """Subscripts that data or products choose are values like others."""
    chosen = any(
        isinstance(n, Access)
        or (isinstance(n, Binary) and n.op == "*" and known(n.left) is None and known(n.right) is None)
        for n in walk(subscript)
    )
    return _wrapped(subscript) if chosen else subscript


def _assignment(node: Assign) -> Assign:
    """before: x = x + e;  x += e;    after: x += (unsigned)e"""
    found = accumulation(node)
    if found is not None and found.op in ("+", "*") and found.within in _UNSIGNED:
        node = Assign(found.target, "-" if found.inverse else found.op, found.value, node.location)
    if node.op == "<<" and (promoted := _common(node.target.type, INT)) in _UNSIGNED:
        node = Assign(node.target, "", Binary("<<", node.target, node.value, promoted), node.location)
    value, target = _wrapped(node.value), _wrapped(node.target)
    if node.op in _WRAPPING and (common := _common(target.type, value.type)) in _UNSIGNED:
        value = _unsigned(value, _UNSIGNED[common])
    return replace(node, target=target, value=value)


def _common(target: CType, value: CType) -> CType:
    """The type that an accumulation computes in."""
    kinds = [t for t in (target, value) if t.kind != "int"]
    return kinds[0] if kinds else max(INT, target, value, key=lambda t: (t.size, not t.signed))


def _computed(op: str, left: Expr, right: Expr, ctype: CType) -> Expr:
    """`left op right` in an unsigned type; what one operand is converted to the other becomes by itself."""
    if known(left) is not None:
        return Binary(op, left, _unsigned(right, ctype), ctype)
    return Binary(op, _unsigned(left, ctype), right, ctype)


def _negated(value: Expr, ctype: CType) -> Expr:
    unsigned = _UNSIGNED[ctype]
    return Cast(ctype, Unary("-", _unsigned(value, unsigned), unsigned))


def _unsigned(value: Expr, ctype: CType) -> Expr:
    """`(unsigned)value`, without conversions that change nothing."""
    if isinstance(value, Cast) and value.operand.type == ctype and value.type.size == ctype.size:
        return value.operand
    return value if value.type == ctype else Cast(ctype, value)
