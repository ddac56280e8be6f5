"""Neighbouring elements in one access, where the first is known to be aligned.

before: x[0] = A[i * m + j]; x[1] = A[i * m + j + 1];                  16 bytes divide the address of the first
after:  Load((x[0], x[1]), A[i * m + j])

before: A[j] = y[0]; A[j + 1] = y[1];
after:  Store(A[j], (y[0], y[1]))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polytile.codegen.passes.alignment import Alignment, Divisors
from polytile.dataclass import dataclass
from polytile.ir.def_use import mentioned_names
from polytile.ir.expr import Access, Assign, Expr, Name, Stmt
from polytile.ir.expr_trees import walk, with_bodies
from polytile.ir.gpu_ops import Load, Shuffle, Store, WarpReduce
from polytile.ir.kernel import Kernel
from polytile.ir.memory import Space
from polytile.ir.polynomial import degree, difference, polynomial
from polytile.ir.substitute import Body
from polytile.machine import VECTOR_BYTES

_ADDRESSED = (Space.GLOBAL, Space.SHARED, Space.POINTER)


def vectorise(kernel: Kernel, alignment: Alignment) -> Kernel:
    """Use vector loads and stores in a kernel, in runs of statements that stand side by side."""
    vectoriser = _Vectoriser(kernel, Divisors(kernel, alignment))
    return replace(kernel, body=vectoriser.block(kernel.body))


@dataclass(frozen=True, slots=True)
class _Vectoriser:
    kernel: Kernel
    divisors: Divisors

    def block(self, body: Body) -> Body:
        accesses = [self._access(stmt) for stmt in body]
        out: list[Stmt] = []
        position = 0
        while position < len(body):
            run = self._run(accesses[position:])
            out.append(_together(run) if len(run) > 1 else with_bodies(body[position], self.block))
            position += max(1, len(run))
        return tuple(out)

    def _access(self, stmt: Stmt) -> Load | Store | None:
        """Return a statement as an access of one element, if it is one that may become part of a vector; else None."""
        match stmt:
            case Load(targets=(target,)):
                access: Load | Store = stmt
            case Store(values=(value,)):
                return stmt if self._in_registers(value) else None
            case Assign(target=target, op="", value=Access() as source) if self._addressed(source):
                if target.type != source.type:
                    return None
                access = Load((target,), source, location=stmt.location)
            case Assign(target=Access() as target, op="", value=value) if self._addressed(target):
                fits = value.type == target.type and self._in_registers(value)
                return Store(target, (value,), location=stmt.location) if fits else None
            case _:
                return None
        return access if isinstance(target, Name) or self._private(target) else None

    def _space(self, access: Access) -> Space:
        return self.kernel.storage_of(access.array).space

    def _addressed(self, access: Access) -> bool:
        return access.field is None and self._space(access) in _ADDRESSED

    def _private(self, access: Access) -> bool:
        return access.field is None and self._space(access) is Space.PRIVATE

    def _in_registers(self, value: Expr) -> bool:
        """Return whether the value reads no memory that a store could change, nor values of other threads."""
        return all(
            not isinstance(n, Shuffle | WarpReduce) and (not isinstance(n, Access) or self._private(n))
            for n in walk(value)
        )

    def _run(self, accesses: Sequence[Load | Store | None]) -> list[Load | Store]:
        """Return the accesses from the first on that make the longest vector."""
        first = accesses[0]
        if first is None:
            return []
        size, address = _memory(first).type.size, self.divisors.of_address(_memory(first))
        for total in sorted(VECTOR_BYTES, reverse=True):
            run = [a for a in accesses[: total // size] if a is not None]
            if len(run) * size == total and len(run) > 1 and address % total == 0 and _side_by_side(run):
                return run
        return []


def _memory(access: Load | Store) -> Access:
    return access.source if isinstance(access, Load) else access.target


def _side_by_side(run: Sequence[Load | Store]) -> bool:
    first = run[0]
    alike = all(type(a) is type(first) and (a.cache, a.guard) == (first.cache, first.guard) for a in run)
    consecutive = all(_distance(_memory(first), _memory(a)) == k for k, a in enumerate(run))
    return alike and consecutive and not _disturbed(run)


def _distance(a: Access, b: Access) -> int | None:
    """Return how many elements `b` lies after `a`, in one row; None where that is not constant."""
    if (a.array, a.subscripts[:-1], a.type) != (b.array, b.subscripts[:-1], b.type) or not a.subscripts:
        return None
    x, y = polynomial(a.subscripts[-1]), polynomial(b.subscripts[-1])
    if x is None or y is None:
        return 0 if a == b else None
    offset = difference(y, x)
    return None if degree(offset) else offset.get((), 0)


def _disturbed(run: Sequence[Load | Store]) -> bool:
    """Return whether a load changes what another's address or guard is computed from, or what it loaded."""
    loads = [a for a in run if isinstance(a, Load)]
    targets = [t for a in loads for t in a.targets]
    written = {t.name if isinstance(t, Name) else t.array for t in targets}
    used = [e for a in loads for e in (*a.source.subscripts, a.guard) if e is not None]
    return not written.isdisjoint(mentioned_names(*used)) or len(set(targets)) < len(targets)


def _together(run: Sequence[Load | Store]) -> Stmt:
    first = run[0]
    if isinstance(first, Load):
        return replace(first, targets=tuple(t for a in run if isinstance(a, Load) for t in a.targets))
    return replace(first, values=tuple(v for a in run if isinstance(a, Store) for v in a.values))
