"""Statement trees as lines of C or CUDA C++; kernels, host bodies and the sequential reference share this."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from textwrap import fill

from polytile.codegen.targets.expressions import Printer, type_name
from polytile.codegen.targets.line_wrap import INDENT, WIDTH, broken, indented, wrapped
from polytile.codegen.targets.source_map import Marks
from polytile.dataclass import dataclass
from polytile.diagnostics import NOWHERE, InternalError, Location
from polytile.ir.c_text import one_line
from polytile.ir.expr import (
    INT,
    Assign,
    Binary,
    Break,
    Call,
    Declare,
    Execution,
    Expr,
    For,
    If,
    Invoke,
    Name,
    Scope,
    Stmt,
    While,
)
from polytile.ir.fold import absorbed
from polytile.ir.gpu_ops import AsyncCopy, Atomic, Load, MultiplyAccumulate, Pointer, Store
from polytile.ir.kernel import Comment, Launch

_SHOWN = (Assign, Declare, Load, Store, Atomic, AsyncCopy, MultiplyAccumulate, Pointer)  # with their lines of the C


@dataclass(frozen=True, slots=True)
class StatementPrinter:
    """Prints statement trees; `launch` spells launches, which only a host body has, `device` what only kernels have."""

    expression: Printer
    index_type: str = "int"
    launch: Callable[[Launch], list[str]] | None = None
    unread: frozenset[str] = frozenset()  # locals that are never read: compilers must not wonder
    marks: Marks | None = None
    device: Callable[[Stmt, Printer], list[str]] | None = None

    def lines(self, body: Iterable[Stmt], shown: Location = NOWHERE) -> list[str]:
        """Print the lines of a block, without the indentation around it; `shown` was the last line named."""
        out: list[str] = []
        before: Stmt | None = None
        for stmt in body:
            text = self._statement(stmt, shown)
            if isinstance(before, Declare) and _loads_into(stmt, before):
                text[0] = f"{out.pop().removesuffix(f'{self.expression.name(before.name)};')}{text[0]}"
            before = stmt
            if isinstance(stmt, _SHOWN) and stmt.location.line and stmt.location.line != shown.line:
                shown = stmt.location
                text[-1] += f"  // {one_line(shown.short)}"
            out += text if self.marks is None else self.marks.on(text, stmt)
        return out

    def _statement(self, stmt: Stmt, shown: Location) -> list[str]:
        match stmt:
            case Assign(target=target, op=op, value=value):
                return broken(f"{self.expression(target)} {op}= {self.expression(value)};")
            case Invoke(function=function, arguments=arguments, target=target):
                set_to = "" if target is None else f"{self.expression(target)} = "
                return wrapped(f"{set_to}{function}(", [self.expression(a) for a in arguments], ");")
            case Declare():
                return broken(self._declaration(stmt))
            case If():
                return self._branch(stmt, shown)
            case For():
                return [
                    *self._unroll(stmt),
                    *broken(f"{self._loop_header(stmt)} {{"),
                    *indented(self.lines(stmt.body, shown)),
                    "}",
                ]
            case While(condition=condition, body=body):
                start = broken(f"while ({self.expression.truth(condition)}) {{")
                return [*start, *indented(self.lines(body, shown)), "}"]
            case Break():
                return ["break;"]
            case Scope(body=body):
                return ["{", *indented(self.lines(body, shown)), "}"]
            case Execution(body=body):
                return self.lines(body, shown)
            case Comment(text=text):
                return comment(text)
            case Launch() if self.launch is not None:
                return self.launch(stmt)
            case _ if self.device is not None:
                return self.device(stmt, self.expression)
        raise InternalError(f"no text for the statement {stmt!r}")

    def _declaration(self, stmt: Declare) -> str:
        start = "" if stmt.name not in self.unread else "[[maybe_unused]] " if self.expression.cpp else ""
        value = "" if stmt.value is None else f" = {self.expression(stmt.value)}"
        ctype = type_name(stmt.type, cpp=self.expression.cpp)
        return f"{start}{ctype} {self.expression.name(stmt.name)}{value};"

    def _branch(self, stmt: If, shown: Location) -> list[str]:
        start = broken(f"if ({self.expression.truth(stmt.condition)}) {{")
        out = [*start, *indented(self.lines(stmt.then, shown))]
        match stmt.otherwise:
            case ():
                return [*out, "}"]
            case (If() as chained,):
                first, *rest = self._branch(chained, shown)
                return [*out, f"}} else {first}", *rest]
        return [*out, "} else {", *indented(self.lines(stmt.otherwise, shown)), "}"]

    def _unroll(self, stmt: For) -> list[str]:
        """Print `#pragma unroll 4`, in kernels alone.

        ptxas of CUDA 13.0 drops the sign of -n where it counts the iterations of a loop up to `min(min(n - 1, a), b)`,
        which compilers only do to unroll it: such loops are not unrolled.
        """
        if self.device is None:
            return []
        if stmt.unroll is None:
            return ["#pragma unroll 1"] if _ends_at_one_of_three(stmt) else []
        return [f"#pragma unroll {stmt.unroll}" if stmt.unroll else "#pragma unroll"]

    def _loop_header(self, stmt: For) -> str:
        iterator = self.expression.name(stmt.iterator)
        ctype = self.index_type if stmt.type == INT else type_name(stmt.type, cpp=self.expression.cpp)
        start = f"{ctype} {iterator} = {self.expression(stmt.lower)}"
        condition = self.expression.truth(strict_bound(stmt.condition, stmt.iterator))
        return f"for ({start}; {condition}; {self._advance(iterator, stmt.step)})"

    def _advance(self, iterator: str, step: int | Name) -> str:
        if isinstance(step, Name):  # a grid stride
            return f"{iterator} += {self.expression(step)}"
        if abs(step) == 1:
            return f"{'++' if step > 0 else '--'}{iterator}"
        return f"{iterator} {'+' if step > 0 else '-'}= {abs(step)}"


def _loads_into(stmt: Stmt, declared: Declare) -> bool:
    """Return whether a declaration and the load after it can be one line, `double a = __ldcs(&A[i]);`.

    The declaration has no value.
    """
    targets = stmt.targets if isinstance(stmt, Load) else ()
    return declared.value is None and [t.name for t in targets if isinstance(t, Name)] == [declared.name]


def strict_bound(condition: Expr, iterator: str) -> Expr:
    """Rewrite a loop condition the way people write it.

    before: c0 <= n - 1 && c0 <= 31
    after:  c0 < n && c0 < 32
    """
    match condition:
        case Binary(op="&&", left=left, right=right, type=ctype):
            return Binary("&&", strict_bound(left, iterator), strict_bound(right, iterator), ctype)
        case Binary(op="<=", left=Name(name=name) as left, right=right, type=ctype) if name == iterator:
            bound = _plus_one(right)
            return condition if bound is None else Binary("<", left, bound, ctype)
    return condition


def _ends_at_one_of_three(loop: For) -> bool:
    """Return whether a loop runs to the least of three numbers, itself included (from the greatest down to it)."""
    match strict_bound(loop.condition, loop.iterator):
        case Binary(op="<=" | ">=", right=Call(function="min" | "max" as function, arguments=arguments)):
            return any(isinstance(a, Call) and a.function == function for a in arguments)
    return False


def _plus_one(expr: Expr) -> Expr | None:
    """Return `expr + 1` where that is as short to write, else None."""
    if not isinstance(expr, Call) or expr.function not in ("min", "max"):
        return absorbed(expr, 1)
    bounds = [bound for a in expr.arguments if (bound := _plus_one(a)) is not None]
    return Call(expr.function, tuple(bounds), expr.type) if len(bounds) == len(expr.arguments) else None


def comment(text: str) -> list[str]:
    """Print lines of comment; long ones go on below, further in."""
    clean = (one_line(line) for line in text.splitlines())
    pieces = (fill(line, WIDTH, subsequent_indent=INDENT, break_long_words=False) for line in clean)
    return [f"// {line}".rstrip("\\ ") for piece in pieces for line in piece.splitlines()]
