"""Where accesses may go: copies from global to shared memory, aligned vectors, registers at constant places."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from polytile.ir.arith import known
from polytile.ir.checks.refuse import ensure
from polytile.ir.device import Advance, AsyncCopy, Atomic, Load, Pointer, Store
from polytile.ir.expr import Access, Assign, Binary, Cast, Expr, For, Name, Node, Stmt, Unary, children, walk
from polytile.ir.kernel import Kernel
from polytile.ir.memory import Space


def check_spaces(kernel: Kernel) -> None:
    """Raise InternalError for asynchronous copies between other memories, and read-only loads of what is written."""
    written: set[str] | None = None
    for node in kernel.nodes:
        match node:
            case AsyncCopy(target=target, source=source):
                found = kernel.root(target.array).space
                ensure(found is Space.SHARED, kernel, node, f"a copy to {found.value} memory, not to shared memory")
                found = kernel.root(source.array).space
                ensure(found is Space.GLOBAL, kernel, node, f"a copy from {found.value} memory, not from global memory")
            case Load(source=source, cache="read-only"):
                root = kernel.root(source.array)
                ensure(root.space is Space.GLOBAL, kernel, node, "a read-only load from other than global memory")
                written = _written(kernel) if written is None else written
                ensure(root.array not in written, kernel, node, f"a read-only load of {root.array}, which is written")
            case Pointer(target=target):
                root = kernel.root(target.array)
                addressed = root.space in (Space.GLOBAL, Space.SHARED) and target.field is None
                ensure(addressed, kernel, node, "a pointer to what is no element of global or shared memory")


def _written(kernel: Kernel) -> set[str]:
    targets = (n.target for n in kernel.nodes if isinstance(n, Assign | Store | Atomic))
    return {kernel.root(t.array).array for t in targets if isinstance(t, Access)}


def check_alignment(kernel: Kernel) -> None:
    """Raise InternalError for accesses of several elements at once that constants show to be misaligned.

    Arrays begin where any access may.
    """
    aims = {n.name: n.target for n in kernel.nodes if isinstance(n, Pointer)}
    steps: dict[str, list[Expr]] = {}
    for node in kernel.nodes:
        if isinstance(node, Advance):
            steps.setdefault(node.pointer, []).append(node.by)
    places = _Places(kernel, aims, steps)
    for node in kernel.nodes:
        for access, count in _wide(node):
            past = places.residue(access, count)
            ensure(past in (None, 0), kernel, node, f"{count} elements at once, {past} past where they are aligned")


def _wide(node: Node) -> list[tuple[Access, int]]:
    match node:
        case Load(targets=targets, source=source) if len(targets) > 1:
            return [(source, len(targets))]
        case Store(target=target, values=values) if len(values) > 1:
            return [(target, len(values))]
        case AsyncCopy(target=target, source=source, elements=elements) if elements > 1:
            return [(target, elements), (source, elements)]
    return []


class _Places:
    """Offsets of accesses from the beginning of their arrays, as far as constants tell them modulo a number."""

    def __init__(self, kernel: Kernel, aims: Mapping[str, Access], steps: Mapping[str, list[Expr]]) -> None:
        self.kernel, self.aims, self.steps = kernel, aims, steps

    def residue(self, access: Access, modulus: int) -> int | None:
        home = self.kernel.home(access.array)
        offset: int | None = 0
        for subscript, extent in zip(self.kernel.subscripts(access), home.extents, strict=True):
            wide = None if extent is None else residue(extent, modulus)
            offset = _plus(_times(offset, wide, modulus), residue(subscript, modulus), modulus)
        if home.space is Space.POINTER:
            offset = _plus(offset, self._start(access.array, modulus), modulus)
        return offset

    def _start(self, pointer: str, modulus: int) -> int | None:
        """Where a pointer is, if all its steps keep that."""
        steady = all(residue(by, modulus) == 0 for by in self.steps.get(pointer, ()))
        return self.residue(self.aims[pointer], modulus) if steady else None


def residue(value: Expr, modulus: int) -> int | None:
    """`value` modulo a number, where constants alone decide that."""
    constant = known(value)
    if constant is not None:
        return constant % modulus
    match value:
        case Cast(type=ctype, operand=operand) if ctype.kind == "int":
            return residue(operand, modulus)
        case Unary(op="-", operand=operand):
            return _times(residue(operand, modulus), modulus - 1, modulus)
        case Binary(op="+", left=left, right=right):
            return _plus(residue(left, modulus), residue(right, modulus), modulus)
        case Binary(op="-", left=left, right=right):
            return _plus(residue(left, modulus), _times(residue(right, modulus), modulus - 1, modulus), modulus)
        case Binary(op="*", left=left, right=right):
            return _times(residue(left, modulus), residue(right, modulus), modulus)
    return None


def _plus(a: int | None, b: int | None, modulus: int) -> int | None:
    return None if a is None or b is None else (a + b) % modulus


def _times(a: int | None, b: int | None, modulus: int) -> int | None:
    if a == 0 or b == 0:
        return 0
    return None if a is None or b is None else a * b % modulus


def check_registers(kernel: Kernel) -> None:
    """Raise InternalError for private arrays that subscripts other than constants address: they live in memory.

    Iterators of loops that the compiler unrolls fully count as constants.
    """
    _check_registers(kernel, kernel.body, frozenset())


def _check_registers(kernel: Kernel, body: Iterable[Stmt], constants: frozenset[str]) -> None:
    for stmt in body:
        inside = constants | {stmt.iterator} if isinstance(stmt, For) and stmt.unroll == 0 else constants
        for part in children(stmt):
            if isinstance(part, Stmt):
                _check_registers(kernel, [part], inside)
            else:
                _check_subscripts(kernel, part, inside)


def _check_subscripts(kernel: Kernel, value: Node, constants: frozenset[str]) -> None:
    for node in walk(value):
        if isinstance(node, Access) and kernel.home(node.array).space is Space.PRIVATE:
            parts = [n for s in kernel.subscripts(node) for n in walk(s)]
            names = {n.name for n in parts if isinstance(n, Name)}
            loads = any(isinstance(n, Access) for n in parts)
            ensure(names <= constants and not loads, kernel, node, "registers at a place that is not constant")
