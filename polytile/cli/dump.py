"""The text that `--dump` shows of a stage's result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from polytile.cli.statement_text import expression, statement_text
from polytile.codegen.passes.driver import LOWERING, all_passes, why_not_called
from polytile.compilation import Compilation
from polytile.ir.expr import Execution, For, If, Scope, Stmt, While
from polytile.ir.host import HostProgram
from polytile.ir.isl_util import in_block_style
from polytile.ir.kernel import Kernel
from polytile.ir.scop import Array, Scop

PLAIN = "Kernels as the schedule says, before any pass."


def dump(stage: str, result: object) -> str:
    """Return the text of the result of `stage`, or "" where the stage has none."""
    match result:
        case Scop():
            return _scop(result)
        case Compilation(versions=versions) if versions:
            others = (f"for {v.where}:\n{dump(stage, v.compilation)}" for v in versions)
            return "\n".join((dump(stage, replace(result, versions=())), *others))
        case Compilation(dependences=dependences) if stage == "dependences" and dependences is not None:
            parts = (("flow", dependences.flow), ("anti and output", dependences.false))
            return "\n".join(f"{kind}: {relation}" for kind, relation in parts)
        case Compilation() if stage == "schedule":
            return result.schedule_text() or in_block_style(result.scop.schedule)
        case Compilation() if stage == "plan":
            return result.plan_text()
        case Compilation(program=program) if stage == "ast" and program is not None:
            return "\n".join(_program(program))
        case Compilation():
            return "\n".join(_after(stage, result))
    return ""


def passes() -> str:
    """List the passes in their order, with what each does."""
    listed = ((one.name, one.summary) for one in all_passes())
    return "\n".join(f"{name:27} {summary}" for name, summary in ((LOWERING, PLAIN), *listed))


def _after(name: str, state: Compilation) -> Iterator[str]:
    """Yield the kernels after a pass, and for kernels that have not been through it the reason."""
    found = {step.kernel.name: step.kernel for step in state.steps if step.done == name}
    for kernel in found.values():
        yield from kernel_lines(kernel)
    for step in state.steps:
        if step.done == LOWERING and step.kernel.name not in found:
            why = why_not_called(name, step.kernel, state.options.disable_pass)
            yield f"kernel {step.kernel.name}: not called, as {why}"


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
    return "\n".join([*lines, "schedule:", in_block_style(scop.schedule).rstrip()])


def _array(array: Array) -> str:
    live = [text for text, on in (("live-in", array.live_in), ("live-out", array.live_out)) if on]
    extents = "".join("[]" if e is None else f"[{expression(e)}]" for e in array.extents)
    return " ".join([f"array: {array.element} {array.name}{extents}", array.origin.value, *live])


def _program(program: HostProgram) -> Iterator[str]:
    yield f"host program {program.name}"
    for buffer in program.buffers:
        moved = [text for text, on in (("in", buffer.copy_in), ("out", buffer.copy_out)) if on]
        size = f"from {expression(buffer.first)}, {expression(buffer.elements)} elements"
        yield f"  buffer {buffer.array.name}: {size}, copied {' and '.join(moved) or 'nowhere'}"
    yield from _block(program.body, 1)
    for kernel in program.kernels:
        yield from kernel_lines(kernel)


def kernel_lines(kernel: Kernel) -> Iterator[str]:
    """Yield the lines of a kernel: its parameters, where its arrays live, its coordinates, and a line for each
    statement."""
    yield f"kernel {kernel.name}({', '.join(p.name for p in kernel.parameters)}), block {kernel.block}"
    for s in kernel.storage:
        yield f"  {s.array} in {s.space.value} memory as {s.name}"
    for c in kernel.coordinates:
        yield f"  {c.name} = {expression(c.source)}"
    yield from _block(kernel.body, 1)


def _block(body: Iterable[Stmt], depth: int) -> Iterator[str]:
    for stmt in body:
        yield from _stmt(stmt, depth)


def _stmt(stmt: Stmt, depth: int) -> Iterator[str]:
    pad = "  " * depth
    match stmt:
        case For(iterator=i, lower=lower, condition=c, step=step, body=body, label=label):
            called = f" called {label}" if label else ""
            by = step if isinstance(step, int) else expression(step)
            yield f"{pad}for {i} = {expression(lower)} while {expression(c)} step {by}{called}"
            yield from _block(body, depth + 1)
        case If(condition=c, then=then, otherwise=otherwise):
            yield f"{pad}if {expression(c)}"
            yield from _block(then, depth + 1)
            if otherwise:
                yield f"{pad}else"
                yield from _block(otherwise, depth + 1)
        case While(condition=c, body=body):
            yield f"{pad}while {expression(c)}"
            yield from _block(body, depth + 1)
        case Execution(statement=statement, values=values, body=body):
            yield f"{pad}execution {statement}({', '.join(map(expression, values))})"
            yield from _block(body, depth + 1)
        case Scope(body=body):
            yield f"{pad}scope"
            yield from _block(body, depth + 1)
        case _:
            yield pad + statement_text(stmt)
