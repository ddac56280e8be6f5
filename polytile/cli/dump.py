"""The text that `--dump` shows of a stage's result."""

from __future__ import annotations

from collections.abc import Iterable

from polytile.codegen.passes.driver import LOWERING, all_passes
from polytile.codegen.targets.expressions import Printer
from polytile.compilation import Compilation
from polytile.ir.dump_kernel import node_text
from polytile.ir.expr import Access, Assign, Declare, Execution, Expr, For, If, Scope, Stmt, While
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Barrier, Comment, Kernel, Launch
from polytile.ir.scop import Array, Scop

PLAIN = "Kernels as the schedule says, before any pass."


def dump(stage: str, result: object) -> str:
    """The text of the result of `stage`, or "" where the stage has none."""
    match result:
        case Scop():
            return _scop(result)
        case Compilation(dependences=dependences) if stage == "dependences" and dependences is not None:
            parts = (("flow", dependences.flow), ("anti and output", dependences.false))
            return "\n".join(f"{kind}: {relation}" for kind, relation in parts)
        case Compilation() if stage == "schedule":
            return result.schedule_text() or str(result.scop.schedule.get_root().to_str())
        case Compilation() if stage == "plan":
            return result.plan_text()
        case Compilation(program=program) if stage == "ast" and program is not None:
            return "\n".join(_program(program))
        case Compilation(steps=steps):
            return "\n".join(line for step in steps if step.done == stage for line in _kernel(step.kernel))
    return ""


def passes() -> str:
    """The list of passes, in their order, and what each does."""
    listed = ((one.name, one.summary) for one in all_passes())
    return "\n".join(f"{name:27} {summary}" for name, summary in ((LOWERING, PLAIN), *listed))


def _scop(scop: Scop) -> str:
    lines = [
        f"context: {scop.context}",
        *(f"parameter: {p.type} {p.name}" for p in scop.parameters),
        *(_array(a) for a in scop.arrays),
    ]
    for s in scop.statements:
        lines += [f"statement {s.name} ({s.location.short}): {s.text}", f"  domain: {s.domain}"]
        lines += [f"  {a.kind.value}: {a.relation}" for a in s.accesses]
        if s.reduction:
            lines.append(f"  reduction: {s.reduction.op} into {s.reduction.array}")
    return "\n".join([*lines, "schedule:", str(scop.schedule.get_root().to_str())])


def _array(array: Array) -> str:
    live = [text for text, on in (("live-in", array.live_in), ("live-out", array.live_out)) if on]
    extents = "".join("[]" if e is None else f"[{_text(e)}]" for e in array.extents)
    return " ".join([f"array: {array.element} {array.name}{extents}", array.origin.value, *live])


def _program(program: HostProgram) -> Iterable[str]:
    yield f"host program {program.name}"
    for buffer in program.buffers:
        moved = [text for text, on in (("in", buffer.copy_in), ("out", buffer.copy_out)) if on]
        size = f"from {_text(buffer.first)}, {_text(buffer.elements)} elements"
        yield f"  buffer {buffer.array.name}: {size}, copied {' and '.join(moved) or 'nowhere'}"
    yield from _block(program.body, 1)
    for kernel in program.kernels:
        yield from _kernel(kernel)


def _kernel(kernel: Kernel) -> Iterable[str]:
    yield f"kernel {kernel.name}({', '.join(p.name for p in kernel.parameters)}), block {kernel.block}"
    for s in kernel.storage:
        yield f"  {s.array} in {s.space.value} memory as {s.name}"
    for c in kernel.coordinates:
        yield f"  {c.name} = {node_text(c.source)}"
    yield from _block(kernel.body, 1)


def _block(body: Iterable[Stmt], depth: int) -> Iterable[str]:
    for stmt in body:
        yield from _stmt(stmt, depth)


def _stmt(stmt: Stmt, depth: int) -> Iterable[str]:
    pad = "  " * depth
    match stmt:
        case For(iterator=i, lower=lower, condition=c, step=step, body=body, label=label):
            called = f" called {label}" if label else ""
            by = step if isinstance(step, int) else _text(step)
            yield f"{pad}for {i} = {_text(lower)} while {_text(c)} step {by}{called}"
            yield from _block(body, depth + 1)
        case If(condition=c, then=then, otherwise=otherwise):
            yield f"{pad}if {_text(c)}"
            yield from _block(then, depth + 1)
            if otherwise:
                yield f"{pad}else"
                yield from _block(otherwise, depth + 1)
        case While(condition=c, body=body):
            yield f"{pad}while {_text(c)}"
            yield from _block(body, depth + 1)
        case Execution(statement=statement, values=values, body=body):
            yield f"{pad}execution {statement}({', '.join(map(_text, values))})"
            yield from _block(body, depth + 1)
        case Scope(body=body):
            yield f"{pad}scope"
            yield from _block(body, depth + 1)
        case _:
            yield pad + _leaf(stmt)


def _leaf(stmt: Stmt) -> str:
    match stmt:
        case Assign(target=target, op=op, value=value):
            return f"{_text(target)} {op}= {_text(value)}"
        case Declare(name=name, type=ctype, value=value):
            return f"{ctype} {name}" + ("" if value is None else f" = {_text(value)}")
        case Launch(kernel=kernel, grid=grid):
            return f"launch {kernel} on ({', '.join(_text(g) for g in grid)})"
        case Barrier(reason=reason):
            return f"barrier: {reason}"
        case Comment(text=text):
            return f"# {text}"
    return node_text(stmt)


def _text(expr: Expr) -> str:
    return Printer(_element, cpp=False, device=lambda inner, _: node_text(inner))(expr)


def _element(access: Access, printer: Printer) -> str:
    subscripts = "".join(f"[{printer(s)}]" for s in access.subscripts)
    return access.array + subscripts + (f".{access.field}" if access.field else "")
