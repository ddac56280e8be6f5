"""Statements as `--dump` shows them: one line each, in words and the spelling of C.

for i = 0 while i < 8 step 1
  load x[0], x[1] = a[2 * i], where i < n, else 0, cache streaming
"""

from __future__ import annotations

from collections.abc import Iterable

from polytile.codegen.targets.expressions import Printer
from polytile.ir.expr import Access, Assign, Break, Declare, Expr, Invoke, Stmt
from polytile.ir.gpu_ops import (
    Advance,
    Aligned,
    Arrive,
    AsyncCopy,
    Atomic,
    Await,
    AwaitLaunches,
    CommitCopies,
    InitBarrier,
    Leave,
    Load,
    MultiplyAccumulate,
    Offset,
    Pointer,
    Prefetch,
    PrivateArray,
    Shuffle,
    Store,
    WaitCopies,
    WarpReduce,
)
from polytile.ir.kernel import Barrier, Comment, Launch
from polytile.ir.node_text import node_text
from polytile.ir.struct_fields import spelt
from polytile.machine import WARP_SIZE


def statement_text(stmt: Stmt) -> str:
    """Return the line of a statement that holds no others."""
    match stmt:
        case Assign(target=target, op=op, value=value):
            return f"{expression(target)} {op}= {expression(value)}"
        case Declare(name=name, type=ctype, value=value):
            return f"{ctype} {name}" + ("" if value is None else f" = {expression(value)}")
        case Invoke(function=function, arguments=arguments, target=target):
            return f"{'' if target is None else f'{expression(target)} = '}{function}({_listed(arguments)})"
        case Break():
            return "break"
        case Launch(kernel=kernel, grid=grid):
            return f"launch {kernel} on ({_listed(grid)})"
        case Comment(text=text):
            return f"# {text}"
    return _naming(stmt) or _memory(stmt) or _order(stmt) or node_text(stmt)


def _naming(stmt: Stmt) -> str:
    """Return the line of a statement that says what names stand for."""
    match stmt:
        case PrivateArray(name=name, type=ctype, extents=extents, value=value):
            each = "" if value is None else f", each {expression(value)}"
            return f"private {ctype} {name}{''.join(f'[{e}]' for e in extents)}{each}"
        case Pointer(name=name, target=target, const=const):
            return f"{'const ' if const else ''}{target.type} *{name} = &{expression(target)}"
        case Advance(pointer=pointer, by=by):
            return f"{pointer} += {expression(by)}"
    return ""


def _memory(stmt: Stmt) -> str:
    """Return the line of a memory access that is more than an assignment."""
    match stmt:
        case Load(targets=targets, source=source, cache=cache, guard=guard):
            return f"load {_listed(targets)} = {expression(source)}{_where(guard, zeros=True)}{_cache(cache)}"
        case Store(target=target, values=values, cache=cache, guard=guard):
            return f"store {expression(target)} = {_listed(values)}{_where(guard)}{_cache(cache)}"
        case Prefetch(source=source):
            return f"prefetch {expression(source)}"
        case Atomic(op=op, target=target, value=value, old=old):
            kept = "" if old is None else f", the old value to {expression(old)}"
            if op in ("min", "max"):
                return f"atomic {expression(target)} = {op}({expression(target)}, {expression(value)}){kept}"
            return f"atomic {expression(target)} {op}= {expression(value)}{kept}"
        case AsyncCopy(target=target, source=source, elements=elements, guard=guard):
            several = f", {elements} elements" if elements > 1 else ""
            return f"async copy {expression(target)} = {expression(source)}{several}{_where(guard, zeros=True)}"
        case MultiplyAccumulate(shape=shape, d=d, a=a, b=b):
            return f"multiply {shape}: ({_listed(d)}) += ({_listed(a)}) * ({_listed(b)})"
    return ""


def _order(stmt: Stmt) -> str:
    """Return the line of a statement that waits, or for which others wait."""
    match stmt:
        case Barrier(reason=reason, scope=scope):
            return f"barrier{'' if scope == 'block' else f' of the {scope}'}: {reason}"
        case CommitCopies():
            return "commit copies"
        case WaitCopies(pending=pending, reason=reason):
            return f"wait for copies{f' but the last {pending} groups' if pending else ''}: {reason}"
        case InitBarrier(barrier=barrier, arrivals=arrivals):
            return f"split barrier {expression(barrier)} of {arrivals} arrivals"
        case Arrive(barrier=barrier, reason=reason):
            return f"arrive at {expression(barrier)}: {reason}"
        case Await(barrier=barrier, parity=parity, reason=reason):
            return f"await {expression(barrier)}, parity {expression(parity)}: {reason}"
        case Leave(reason=reason):
            return f"leave: {reason}"
        case AwaitLaunches():
            return "await the launches before"
    return ""


def expression(expr: Expr) -> str:
    """Return an expression in the spelling of C, with what only kernels have as calls."""
    return Printer(_element, cpp=False, device=_device)(expr)


def _listed(values: Iterable[Expr]) -> str:
    return ", ".join(map(expression, values))


def _where(guard: Expr | None, *, zeros: bool = False) -> str:
    return "" if guard is None else f", where {expression(guard)}{', else 0' if zeros else ''}"


def _cache(hint: str) -> str:
    return f", cache {hint}" if hint else ""


def _element(access: Access, printer: Printer) -> str:
    subscripts = "".join(f"[{printer(s)}]" for s in access.subscripts)
    return access.array + subscripts + spelt(access.field or "", [printer(s) for s in access.inside])


def _device(expr: Expr, printer: Printer) -> str:
    match expr:
        case Shuffle(kind=kind, value=value, by=by, width=width):
            return f"shuffle_{kind}({printer(value)}, {printer(by)}{_segments(width)})"
        case WarpReduce(op=op, value=value, width=width, more=more):
            return f"warp_reduce({op}, {', '.join(map(printer, (value, *more)))}{_segments(width)})"
        case Aligned(addresses=addresses, bytes=size):
            return f"aligned({size}, {', '.join(map(printer, addresses))})"
        case Offset(base=base, by=by):
            return f"offset({printer(base)}, {printer(by)})"
    return node_text(expr)


def _segments(width: int) -> str:
    return "" if width == WARP_SIZE else f", segments of {width}"
