"""The SCoPs by which a rank combines the terms of a global reduction, in an order that does not count.

Integers, minima and maxima:  for (i < count_i) for (j < count_j) partial[0] op= terms[first_i + i][first_j + j];
Floating-point sums take two: the largest magnitude, which all ranks then agree on, and sums of parts of the terms.

A term x is cut into parts x = p0 + p1 + p2 + rest, each a multiple of a unit u: p = (x + m) - m, where m is
1.5 * 2^52 u and |x| at most m / 3. All terms have the same units, and these are so large that no sum of parts has more
than 53 bits: each is exact, in whichever order, on however many ranks. Three parts of n terms, the largest of which is
a, leave out less than 2 n a (n / 2^52)^3: less than the error that additions one by one may have. Source: Demmel and
Nguyen, Fast reproducible floating-point summation, ARITH 2013; Rump, Ogita and Oishi, SIAM J. Sci. Comput. 31, 2008
(extraction).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import frexp, ldexp

import islpy as isl

from polytile.dataclass import dataclass
from polytile.diagnostics import NOWHERE
from polytile.ir.arith import add
from polytile.ir.expr import DOUBLE, Access, Assign, Binary, Call, Cast, CType, Expr, Literal, Name, Ternary
from polytile.ir.expr_trees import walk
from polytile.ir.name_supply import Names
from polytile.ir.scop import AccessKind, AccessRelation, Array, Parameter, Reduction, Scop, Statement

PARTS = 3  # of a term
_BITS = 52


@dataclass(frozen=True, slots=True)
class RankCombination:
    """The SCoPs that combine `terms` on a box: `first` and `count` are names for each dimension; `first` is ""
    where none is cut. `partials` have what is found, an element each, one for each part; they begin neutral.

    `largest` finds the greatest magnitude, in double, None where sums are exact without; `bounds` are then the names of
    the numbers m of `combine`, one for each part.
    """

    terms: str
    op: str
    combine: Scop
    largest: Scop | None
    first: tuple[str, ...]
    count: tuple[str, ...]
    partials: tuple[str, ...]
    bounds: tuple[str, ...] = ()

    @property
    def scops(self) -> tuple[Scop, ...]:
        """All SCoPs: that which combines, and what finds the largest magnitude."""
        return (self.combine, *([self.largest] if self.largest else []))


def bounds_of(largest: float, terms: int) -> tuple[float, ...]:
    """Return the numbers m that cut `terms` terms of at most this magnitude into parts (see the top of this file);
    zeros, with which the first part is all of a term, where sums may overflow or terms are no numbers."""
    many = max(1, terms.bit_length())
    if not 0 < largest < ldexp(1.0, 1000 - many):
        return (0.0,) * PARTS
    exponent, found = frexp(largest)[1], []
    for _ in range(PARTS):
        found.append(ldexp(1.5, exponent + many))
        exponent += many - _BITS - 1
    return tuple(found)


def rank_combination(
    scop: Scop, array: Array, axes: Sequence[int | None], op: str, result: CType, integer: CType
) -> RankCombination:
    """Return what combines an array of terms as ranks have it (with local extents); `axes` is the axis that cuts each
    of its dimensions."""
    names = Names.of(scop)
    first = tuple(names.fresh(f"first_{d}") if axis is not None else "" for d, axis in enumerate(axes))
    count = tuple(names.fresh(f"count_{d}") for d in range(array.rank))
    partials = tuple(names.fresh(f"partial_{k}") for k in range(PARTS))
    made = _Combination(scop, array, first, count, partials, integer, names)
    if op != "+" or array.element.kind == "int":
        element = made.element() if array.element == result else Cast(result, made.element())
        one = made.scop("combine", op, result, [_combined(op, made.found(0, result), element, result)])
        return RankCombination(array.name, op, one, None, first, count, partials[:1])
    bounds = tuple(names.fresh(f"bound_{k}") for k in range(PARTS))
    x: Expr = made.element() if array.element == DOUBLE else Cast(DOUBLE, made.element())
    largest = made.scop(
        "largest", "max", DOUBLE, [_combined("max", made.found(0, DOUBLE), Call("fabs", (x,), DOUBLE), DOUBLE)]
    )
    parts = []
    for k, bound in enumerate(bounds):
        m = Access(bound, (), DOUBLE)
        part = Binary("-", Binary("+", x, m, DOUBLE), m, DOUBLE)
        parts.append(Assign(made.found(k, DOUBLE), "+", part))
        x = Binary("-", x, part, DOUBLE)
    combine = made.scop("combine", "+", DOUBLE, parts, bounds)
    return RankCombination(array.name, op, combine, largest, first, count, partials, bounds)


def _combined(op: str, found: Access, value: Expr, within: CType) -> Assign:
    if op == "+":
        return Assign(found, "+", value)
    return Assign(found, "", Ternary(Binary("<" if op == "min" else ">", value, found), value, found, within))


@dataclass(frozen=True, slots=True)
class _Combination:
    of: Scop
    array: Array
    first: tuple[str, ...]
    count: tuple[str, ...]
    partials: tuple[str, ...]
    integer: CType
    names: Names

    def iterators(self) -> tuple[str, ...]:
        return tuple(self.names.shared(f"x{d}") for d in range(self.array.rank))

    def element(self) -> Access:
        """Return the term of an iteration."""
        counted = (Name(x, self.integer) for x in self.iterators())
        cut = zip(counted, self.first, strict=True)
        subscripts = tuple(add(x, Name(first, self.integer)) if first else x for x, first in cut)
        return Access(self.array.name, subscripts, self.array.element)

    def found(self, number: int, ctype: CType) -> Access:
        """Return what is found of a part."""
        return Access(self.partials[number], (Literal("0"),), ctype)

    def scop(self, name: str, op: str, result: CType, body: Sequence[Assign], bounds: Sequence[str] = ()) -> Scop:
        """Build the SCoP of updates in a box of terms."""
        iterators, parameters = self.iterators(), self._parameters()
        known = f"[{', '.join(p.name for p in parameters)}]"
        within = " and ".join(f"0 <= {x} < {n}" for x, n in zip(iterators, self.count, strict=True))
        counted = ", ".join(iterators)
        place = ", ".join(f"{x} + {f}" if f else x for x, f in zip(iterators, self.first, strict=True))
        statements = []
        for k, assign in enumerate(body):
            instance, scalars = f"R{k}[{counted}]", {n.array for n in walk(assign) if isinstance(n, Access)} & {*bounds}
            targets = [(self.array.name, place, AccessKind.READ), *((b, "", AccessKind.READ) for b in sorted(scalars))]
            targets += [(self.partials[k], "0", kind) for kind in (AccessKind.READ, AccessKind.WRITE)]
            accesses = tuple(
                AccessRelation(array, kind, isl.Map(f"{known} -> {{ {instance} -> {array}[{at}] }}"))
                for array, at, kind in targets
            )
            domain = isl.Set(f"{known} -> {{ {instance} : {within} }}")
            reduction = Reduction(op, self.partials[k])
            statements.append(Statement(f"R{k}", iterators, domain, (assign,), accesses, reduction=reduction))
        partials = (Array(one, result, (Literal("1"),), location=NOWHERE) for one in self.partials[: len(body)])
        return Scop(
            f"{name}_{self.array.name}",
            parameters,
            isl.Set(f"{known} -> {{ : }}"),
            (self.array, *(Array(b, DOUBLE) for b in bounds), *partials),
            tuple(statements),
            _order(statements, iterators),
            location=self.array.location,
            definitions=self.of.definitions,
        )

    def _parameters(self) -> tuple[Parameter, ...]:
        """Return the parameters: sizes that extents mention, then what says which box."""
        mentioned = [n.name for e in self.array.extents if e is not None for n in walk(e) if isinstance(n, Name)]
        sizes = {p.name: p for p in self.of.parameters if p.name in mentioned}
        local = dict.fromkeys(name for name in mentioned if name not in sizes)
        own = [name for name in (*self.first, *self.count) if name]
        return (*sizes.values(), *(Parameter(name, self.integer) for name in (*local, *own)))


def _order(statements: Sequence[Statement], iterators: Sequence[str]) -> isl.Schedule:
    """Return loops around all statements."""
    domain = isl.UnionSet.from_set(statements[0].domain)
    for one in statements[1:]:
        domain = domain.union(isl.UnionSet.from_set(one.domain))
    instances = [f"{s.name}[{', '.join(iterators)}]" for s in statements]
    bands = "".join(
        f', child: {{ schedule: "[{{ {"; ".join(f"{one} -> [{x}]" for one in instances)} }}]"' for x in iterators
    )
    filters = ", ".join(f'{{ filter: "{{ {one} }}" }}' for one in instances)
    inner = f", child: {{ sequence: [ {filters} ] }}" if len(statements) > 1 else ""
    return isl.Schedule(f'{{ domain: "{domain}"{bands}{inner}{" }" * len(iterators)} }}')

