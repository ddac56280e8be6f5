"""What divides addresses: whether a vector may be loaded from there.

before: A at a multiple of 16 bytes, m a multiple of 4; double A[i * m + 2 * j + 4]
after:  16 bytes divide its address
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from math import gcd

from polytile.dataclass import dataclass
from polytile.ir.expr import Access, Declare, Expr, For, Name
from polytile.ir.kernel import Kernel
from polytile.ir.polynomial import Places, Polynomial, divisor, terms


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
        self._bytes = alignment.aligned
        self._places = Places(kernel)
        changing = kernel.changing
        for node in kernel.nodes:
            match node:
                case Declare(name=name, value=value) if name not in alignment.multiples:
                    self._add(name, 1 if value is None or name in changing else self(value))
                case For(iterator=name, lower=lower, step=step) if name not in alignment.multiples:
                    by = self(step) if isinstance(step, Name) else step
                    self._add(name, 1 if name in changing else gcd(self(lower), by))

    def _add(self, name: str, divisor: int) -> None:
        """Record a divisor of another variable of this name."""
        self._names[name] = gcd(self._names[name], divisor) if name in self._names else divisor

    def of_address(self, access: Access) -> int:
        """Return the number of bytes known to divide the address of an element."""
        size, root = access.type.size, self._kernel.root(access.array).array
        parts = (size * self._of(part) for part in self._places(access))
        return gcd(self._bytes.get(root, size), *parts)

    def __call__(self, expr: Expr) -> int:
        """Return a number that divides the integer; 0 for 0, which everything divides."""
        return self._of(terms(expr))

    def _of(self, a: Polynomial) -> int:
        return divisor(a, lambda name: self._names.get(name, 1))
