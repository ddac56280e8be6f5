"""The structure of a kernel as text, one node a line: for tests and for messages, never for compilers.

kernel sweep, block 128 1 1, min_blocks 2
  parameter double A[] const
  shared double s[2][32] as s
  For iterator=i lower=0 condition=(i < n) step=1 unroll=0
    Load targets=(x[0], x[1]) source=a[(2 * i)] cache=streaming
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, Field, fields

from polytile.diagnostics import Location
from polytile.ir.expr import Access, Binary, Call, Cast, Expr, Literal, Name, Node, Stmt, Ternary, Unary
from polytile.ir.gpu_ops import Aligned, Offset, Shuffle, WarpReduce
from polytile.ir.kernel import Kernel, KernelParameter
from polytile.ir.memory import Storage
from polytile.ir.struct_fields import spelt
from polytile.machine import WARP_SIZE

INDENT = "  "
_SHAPE = {"min_blocks": 0, "max_registers": 0, "cooperative": False, "cluster": 1, "index_type": "int"}


def dump_kernel(kernel: Kernel) -> str:
    """Return the text of the whole kernel."""
    shape = [f"{name} {value}" for name, default in _SHAPE.items() if (value := getattr(kernel, name)) != default]
    head = ", ".join([f"kernel {kernel.name}", f"block {' '.join(map(str, kernel.block))}", *shape])
    inside = [
        *(_parameter(p) for p in kernel.parameters),
        *(f"coordinate {c.name} = {expression_text(c.source)}" for c in kernel.coordinates),
        *(_storage(s) for s in kernel.storage),
        *(line for stmt in kernel.body for line in _lines(stmt)),
    ]
    return "\n".join([head, *(INDENT + line for line in inside)]) + "\n"


def node_text(node: Node) -> str:
    """Return one node on one line; of a statement, without the statements inside it."""
    return expression_text(node) if isinstance(node, Expr) else next(_lines(node))


def _parameter(p: KernelParameter) -> str:
    marks = [text for text, on in (("const", p.const), ("aliased", not p.restrict)) if on]
    return " ".join(["parameter", str(p.type), p.name + ("" if p.buffer is None else "[]"), *marks])


def _storage(s: Storage) -> str:
    extents = "".join("[]" if e is None else f"[{expression_text(e)}]" for e in s.extents)
    keeps = "" if s.keeps is None else f" keeping {', '.join(map(str, s.keeps))}"
    strides = f" by {', '.join(map(str, s.strides))}" if s.strides else ""
    return f"{s.space.value} {s.element} {s.array}{extents} as {s.name}{keeps}{strides}"


def _lines(stmt: Node) -> Iterator[str]:
    """Yield the lines of a statement: its parts by name, defaults left out, and below it what it contains."""
    words, bodies = [type(stmt).__name__], []
    for field in fields(stmt):
        value = getattr(stmt, field.name)
        if isinstance(value, tuple) and value and isinstance(value[0], Stmt):
            bodies.append((field.name, value))
        elif not isinstance(value, Location) and not _is_default(field, value):
            words.append(f"{field.name}={_value(value)}")
    yield " ".join(words)
    for name, body in bodies:
        if name == "otherwise":
            yield "else"
        for inner in body:
            yield from (INDENT + line for line in _lines(inner))


def _is_default(field: Field[object], value: object) -> bool:
    return value in ((), None) or (field.default is not MISSING and value == field.default)


def _value(value: object) -> str:
    if isinstance(value, Expr):
        return expression_text(value)
    if isinstance(value, tuple):
        return f"({', '.join(_value(v) for v in value)})"
    return f'"{value}"' if isinstance(value, str) and not value.isidentifier() else str(value)


def expression_text(expr: Expr) -> str:
    """Return the text of an expression with all its parentheses."""
    match expr:
        case Literal(text=text) | Name(name=text):
            return text
        case Access(array=array, subscripts=subscripts, field=part, inside=inside):
            at = "".join(f"[{expression_text(s)}]" for s in subscripts)
            return array + at + spelt(part or "", [expression_text(s) for s in inside])
        case Unary(op=op, operand=a):
            return f"{op}{expression_text(a)}"
        case Binary(op=op, left=a, right=b):
            return f"({expression_text(a)} {op} {expression_text(b)})"
        case Ternary(condition=c, then=a, otherwise=b):
            return f"({expression_text(c)} ? {expression_text(a)} : {expression_text(b)})"
        case Cast(type=ctype, operand=a):
            return f"({ctype}){expression_text(a)}"
        case Call(function=function, arguments=arguments):
            return _call(function, *arguments)
        case Shuffle(kind=kind, value=value, by=by, width=width):
            return _call(f"shuffle_{kind}", value, by, Literal(str(width)))
        case WarpReduce(op=op, value=value, width=width, more=more):
            return _call(f"warp_reduce {op} ", value, *more, *([] if width == WARP_SIZE else [Literal(str(width))]))
        case Aligned(addresses=addresses, bytes=size):
            return _call(f"aligned {size} ", *addresses)
        case Offset(base=base, by=by):
            return _call("offset", base, by)
    return type(expr).__name__


def _call(function: str, *arguments: Expr) -> str:
    return f"{function}({', '.join(expression_text(a) for a in arguments)})"
