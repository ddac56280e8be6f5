"""Where accesses may go: copies from global to shared memory, aligned vectors, registers at constant places."""

from __future__ import annotations

from collections.abc import Iterable

from polytile.ir.def_use import elements, targets
from polytile.ir.expr import Access, Address, For, Name, Node, Stmt
from polytile.ir.expr_trees import bodies, expressions, walk
from polytile.ir.gpu_ops import AsyncCopy, Load, Pointer, Store
from polytile.ir.kernel import Kernel
from polytile.ir.memory import Space
from polytile.ir.polynomial import Places, residue
from polytile.ir.verify.refuse import ensure


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
                written = _written(kernel) - {*kernel.apart} if written is None else written
                ensure(root.array not in written, kernel, node, f"a read-only load of {root.array}, which is written")
            case Pointer(target=target):
                root = kernel.root(target.array)
                addressed = root.space in (Space.GLOBAL, Space.SHARED) and target.field is None
                ensure(addressed, kernel, node, "a pointer to what is no element of global or shared memory")
            case Address(target=target):
                found = kernel.root(target.array).space
                ensure(found is Space.GLOBAL, kernel, node, f"a function gets an address in {found.value} memory")


def _written(kernel: Kernel) -> set[str]:
    return {kernel.root(t.array).array for n in kernel.nodes for t in targets(n) if isinstance(t, Access)}


def check_alignment(kernel: Kernel) -> None:
    """Raise InternalError for accesses of several elements at once that constants show to be misaligned.

    Arrays begin where any access may.
    """
    places = Places(kernel)
    for node in kernel.nodes:
        count = elements(node)
        for access in _in_memory(node) if count > 1 else ():
            past = residue(places(access), count)
            ensure(past in (None, 0), kernel, node, f"{count} elements at once, {past} past where they are aligned")


def _in_memory(node: Node) -> tuple[Access, ...]:
    match node:
        case Load(source=access) | Store(target=access):
            return (access,)
        case AsyncCopy(target=target, source=source):
            return (target, source)
    return ()


def check_registers(kernel: Kernel) -> None:
    """Raise InternalError for private arrays that subscripts other than constants address: they live in memory.

    Iterators of loops that the compiler unrolls fully count as constants.
    """
    _check_registers(kernel, kernel.body, frozenset())


def _check_registers(kernel: Kernel, body: Iterable[Stmt], constants: frozenset[str]) -> None:
    for stmt in body:
        inside = constants | {stmt.iterator} if isinstance(stmt, For) and stmt.unroll == 0 else constants
        for value in expressions(stmt):
            _check_subscripts(kernel, value, inside)
        for block in bodies(stmt):
            _check_registers(kernel, block, inside)


def _check_subscripts(kernel: Kernel, value: Node, constants: frozenset[str]) -> None:
    for node in walk(value):
        if isinstance(node, Access) and kernel.storage_of(node.array).space is Space.PRIVATE:
            parts = [n for s in kernel.subscripts(node) for n in walk(s)]
            names = {n.name for n in parts if isinstance(n, Name)}
            loads = any(isinstance(n, Access) for n in parts)
            ensure(names <= constants and not loads, kernel, node, "registers at a place that is not constant")
