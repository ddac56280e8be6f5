"""What divides addresses: whether a vector may be loaded from there.

before: A at a multiple of 16 bytes, m a multiple of 4; double A[i * m + 2 * j + 4]
after:  16 bytes divide its address
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import gcd

from polytile.codegen.expressions import linear_index
from polytile.codegen.passes.constants import assigned_names
from polytile.ir.arith import known
from polytile.ir.device import Advance, Pointer
from polytile.ir.expr import Access, Binary, Cast, Declare, Expr, For, Name, Unary, walk
from polytile.ir.kernel import Kernel


@dataclass(frozen=True, slots=True)
class Alignment:
    """`aligned`: bytes that divide the address of an array's first element (else its element's size does).
    `multiples`: numbers that divide integer names."""

    aligned: Mapping[str, int] = field(default_factory=dict)
    multiples: Mapping[str, int] = field(default_factory=dict)


class Divisors:
    """What divides the integers and addresses of one kernel."""

    def __init__(self, kernel: Kernel, alignment: Alignment) -> None:
        self._kernel = kernel
        self._names = dict(alignment.multiples)
        self._bytes = dict(alignment.aligned)
        nodes = [n for stmt in kernel.body for n in walk(stmt)]
        changing = {name for stmt in kernel.body for name in assigned_names(stmt)}
        for node in nodes:
            match node:
                case Declare(name=name, value=value) if name not in alignment.multiples:
                    self._add(name, 1 if value is None or name in changing else self(value))
                case For(iterator=name, lower=lower, step=step) if name not in alignment.multiples:
                    by = self(step) if isinstance(step, Name) else step
                    self._add(name, 1 if name in changing else gcd(self(lower), by))
        steps = [n for n in nodes if isinstance(n, Advance)]
        for pointer in (n for n in nodes if isinstance(n, Pointer)):
            strides = [self(s.by) * pointer.target.type.size for s in steps if s.pointer == pointer.name]
            self._bytes[pointer.name] = gcd(self._bytes.get(pointer.name, 0), self.of_address(pointer.target), *strides)

    def _add(self, name: str, divisor: int) -> None:
        """Another variable of this name."""
        self._names[name] = gcd(self._names[name], divisor) if name in self._names else divisor

    def of_address(self, access: Access) -> int:
        """The number of bytes known to divide the address of an element."""
        home = self._kernel.home(access.array)
        subscripts = access.subscripts if home.keeps is None else tuple(access.subscripts[k] for k in home.keeps)
        size = access.type.size
        return gcd(self._bytes.get(access.array, size), self(linear_index(subscripts, home.extents)) * size)

    def __call__(self, expr: Expr) -> int:
        """A number that divides the integer; 0 for 0, which everything divides."""
        value = known(expr)
        if value is not None:
            return abs(value)
        match expr:
            case Name(name=name):
                return self._names.get(name, 1)
            case Cast(operand=operand) | Unary(op="-" | "+", operand=operand):
                return self(operand)
            case Binary(op="+" | "-"):
                terms, constant = _sum(expr)
                return gcd(constant, *(self(term) for term in terms))
            case Binary(op="*", left=left, right=right):
                return self(left) * self(right)
        return 1


def _sum(expr: Expr) -> tuple[list[Expr], int]:
    """The terms of a sum, whatever their signs, and its constant."""
    value = known(expr)
    if value is not None:
        return [], value
    match expr:
        case Binary(op="+" | "-" as op, left=left, right=right):
            terms, constant = _sum(left)
            more, other = _sum(right)
            return terms + more, constant + other if op == "+" else constant - other
    return [expr], 0
