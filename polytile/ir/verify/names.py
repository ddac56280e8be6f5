"""Every name and array is defined before its uses, and in scope; accesses have as many subscripts as extents."""

from __future__ import annotations

from collections.abc import Iterable

from polytile.ir.expr import Access, Declare, Expr, For, Name, Stmt
from polytile.ir.expr_trees import bodies, children, expressions
from polytile.ir.gpu_ops import Advance, BuiltIn, Pointer, PrivateArray
from polytile.ir.kernel import Kernel
from polytile.ir.memory import Space
from polytile.ir.verify.refuse import ensure


def check_names(kernel: Kernel) -> None:
    """Raise InternalError where the body uses what is not defined there."""
    names = {p.name for p in kernel.parameters if p.buffer is None} | {c.name for c in kernel.coordinates}
    used = {n.array for n in kernel.nodes if isinstance(n, Access)}
    for storage in kernel.storage:
        for extent in storage.extents[1:] if storage.array in used else ():  # the outermost addresses nothing
            if extent is not None:
                _check_value(kernel, extent, names)
    _check_block(kernel, kernel.body, names | {s.array for s in kernel.storage})


def _check_block(kernel: Kernel, body: Iterable[Stmt], outside: set[str]) -> None:
    known = set(outside)
    for stmt in body:
        inside = known
        if isinstance(stmt, For):
            _check_value(kernel, stmt.lower, known)
            inside = known | {stmt.iterator}
        for value in expressions(stmt):
            _check_value(kernel, value, inside)
        for block in bodies(stmt):
            _check_block(kernel, block, inside)
        _check_names(kernel, stmt, known)


def _check_names(kernel: Kernel, stmt: Stmt, known: set[str]) -> None:
    """Check the names that a statement declares or moves, and add the declared ones to `known`."""
    match stmt:
        case Declare(name=name) | PrivateArray(name=name) | Pointer(name=name):
            known.add(name)
        case Advance(pointer=pointer):
            moves = pointer in known and kernel.storage_of(pointer).space is Space.POINTER
            ensure(moves, kernel, stmt, f"{pointer} is no running pointer here")


def _check_value(kernel: Kernel, value: Expr, known: set[str]) -> None:
    """Check names and accesses of a value; subscripts that an array does not keep are gone from the text."""
    below = children(value)
    match value:
        case Name(name=name):
            ensure(name in known or isinstance(value, BuiltIn), kernel, value, f"{name} is not defined here")
        case Access(array=array):
            ensure(array in known, kernel, value, f"{array} is not defined here")
            _check_rank(kernel, value)
            below = kernel.subscripts(value)
    for part in below:
        if isinstance(part, Expr):
            _check_value(kernel, part, known)


def _check_rank(kernel: Kernel, access: Access) -> None:
    storage, found = kernel.storage_of(access.array), len(access.subscripts)
    name, keeps = storage.array, storage.keeps
    rank = 0 if storage.space is Space.VALUE else len(storage.extents)
    if keeps is None:
        ensure(found == rank, kernel, access, f"{name} takes {rank} subscripts, not {found}")
    else:
        ensure(len(keeps) == rank, kernel, access, f"{name} keeps {len(keeps)} subscripts of {rank}")
        ensure(all(k < found for k in keeps), kernel, access, f"{name} keeps more than {found} subscripts")
