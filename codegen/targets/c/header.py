"""`NAME_kernel.h`: the entry points as C and C++ see them."""

from __future__ import annotations

from collections.abc import Sequence

from polytile.codegen.targets.cuda.entry import DONE, FAILED, RUN_THE_C, Argument, arguments, prototype
from polytile.codegen.targets.expressions import Printer
from polytile.codegen.targets.line_wrap import wrapped
from polytile.codegen.targets.templating import render
from polytile.ir.c_text import in_comment
from polytile.ir.expr import BOOL, Access, CType
from polytile.ir.host import HostProgram

_CONTRACT = f"Returns {DONE}, or {FAILED} after one line on stderr."
_AMID = (
    f"Does nothing and returns {RUN_THE_C} in a signal handler that interrupts a function of this kind, in a process "
    "that was forked from one that has used CUDA"
)


def print_header(programs: Sequence[HostProgram], *, guard_name: str) -> str:
    """Print a header for C and C++ that declares and describes the entry point of each program."""
    return render(
        "header.h.j2",
        guard=guard_name,
        booleans=any(t == BOOL for p in programs for t in _types(p)),
        declarations=[_declaration(p) for p in programs],
    )


def _types(program: HostProgram) -> list[CType]:
    return [*(p.type for p in program.parameters), *(a.element for a in program.arguments)]


def _declaration(program: HostProgram) -> str:
    start, parts = prototype(program, cpp=True)
    described = [_description(program, a) for a in arguments(program)]
    limits = " && ".join(map(str, program.limits))
    sizes = f", and, as integers would overflow, unless {limits}" if limits else ""
    asked = [f"Does nothing and returns {RUN_THE_C} unless {program.checked}."] if program.checked else []
    texts = [*program.summary, *described, _CONTRACT, *asked, f"{_AMID}{sizes}."]
    body = "\n".join(f"   {in_comment(text)}".rstrip() for text in texts).lstrip()
    return "\n".join([f"/* {body} */", *wrapped(start, parts, ");")])


def _description(program: HostProgram, argument: Argument) -> str:
    array = argument.array
    buffer = program.buffer(array.name)
    if argument.value:
        return f"{array.name}: read{', a pointer to one struct' if argument.opaque else ''}."
    uses = [text for text, on in (("read", _is_read(program, argument)), ("written", not argument.const)) if on]
    printer = Printer(_no_element, cpp=False)
    shape = "".join("[]" if e is None else f"[{printer(e)}]" for e in array.extents)
    kind = f"{array.element}{shape or ', one element'}"
    return f"{array.name}: {kind}, {' and '.join(uses)}{'' if buffer else ', unused'}."


def _is_read(program: HostProgram, argument: Argument) -> bool:
    buffer = program.buffer(argument.array.name)
    return argument.const or (buffer is not None and buffer.copy_in)


def _no_element(access: Access, _: Printer) -> str:
    return access.array
