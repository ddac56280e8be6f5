"""CUDA text: the kernels of host programs, and the whole `NAME_kernel.cu`.

before: a `Kernel` whose accesses name arrays of the Scop, with `storage` saying where each of them lives
after:  extern "C" __global__ void __launch_bounds__(256) name(int n, double *__restrict__ A) { ... }
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from polytile.codegen.passes.index_width import intervals
from polytile.codegen.targets.cuda.device_functions import features, functions
from polytile.codegen.targets.cuda.device_text import DeviceText
from polytile.codegen.targets.cuda.entry import (
    back_expressions,
    copies_a_part,
    keeps_before,
    may_interleave,
    print_entry,
)
from polytile.codegen.targets.cuda.opaque_negation import with_opaque_negations
from polytile.codegen.targets.cuda.shared_memory import brackets, shared_declarations
from polytile.codegen.targets.dialects import CUDA, Dialect
from polytile.codegen.targets.expressions import Printer, linear_index, type_name, used_helpers
from polytile.codegen.targets.line_wrap import indented, wrapped
from polytile.codegen.targets.source_map import LocatedText, Marks
from polytile.codegen.targets.statements import StatementPrinter, comment
from polytile.codegen.targets.templating import render
from polytile.ir.def_use import mentioned_names, reads
from polytile.ir.expr import Access, Declare, Expr, Node
from polytile.ir.expr_trees import statements
from polytile.ir.host import EQUAL_RUNS, FEWEST_LAUNCHES, MOST_LAUNCHES, REMEMBERED_RUNS, HostProgram
from polytile.ir.identity_key import IdentityKey
from polytile.ir.kernel import Kernel, KernelParameter, Launch
from polytile.ir.memory import Space, Storage
from polytile.ir.ranges import Intervals
from polytile.ir.reserved_names import identifier, to_cpp
from polytile.ir.struct_fields import spelt
from polytile.ir.verify.kernel import check_kernel

MAX_KERNELS = 64  # whose texts are kept
KEPT_SHARE = 16  # of a device's memory, one part is kept for temporaries of later calls


def print_kernels(program: HostProgram, dialect: Dialect = CUDA) -> str:
    """Print device code alone, without any header but those it needs: what the run-time compiler takes."""
    text = render(
        "kernels.cu.j2",
        headers=[dialect.header] if dialect.header else [],
        helpers=_helpers([program]),
        functions=functions(program.kernels),
        external=_external([program]),
        device_sources=_device_sources([program]),
        dialect=dialect,
        program=_device_part(program, dialect=dialect),
    )
    return text.rstrip() + "\n"


def print_unit(
    programs: Sequence[HostProgram],
    *,
    header: str,
    title: Sequence[str],
    dialect: Dialect = CUDA,
    deferred: bool = False,
) -> str:
    """Print the whole `NAME_kernel.cu`: kernels, then an entry point per program.

    `header` is the name of the header that declares the entry points; `title` are the lines of the opening comment.
    Entry points that are `deferred` return while their kernels run.
    """
    return locate_unit(programs, header=header, title=title, dialect=dialect, deferred=deferred).text


def locate_unit(
    programs: Sequence[HostProgram],
    *,
    header: str,
    title: Sequence[str],
    dialect: Dialect = CUDA,
    deferred: bool = False,
) -> LocatedText:
    """Print the text of `print_unit`, and map lines of its kernels to lines of the user's C."""
    marks = Marks()
    text = render(
        "unit.cu.j2",
        title=[line for text in title for line in comment(text)],
        header=header,
        headers=[dialect.header] if dialect.header else [],
        helpers=_helpers(programs),
        functions=functions(k for p in programs for k in p.kernels),
        external=_external(programs),
        device_sources=_device_sources(programs),
        dialect=dialect,
        early=any(k.starts_early for p in programs for k in p.kernels),
        fewest=FEWEST_LAUNCHES,
        most=MOST_LAUNCHES,
        equal_runs=EQUAL_RUNS,
        remembered=REMEMBERED_RUNS,
        graphs=any(p.graphs for p in programs),
        temporaries=any(b.temporary for p in programs for b in p.buffers),
        kept_share=KEPT_SHARE,
        asks_memory=any(p.asks_memory for p in programs),
        tables=any(b.array.rows_apart and not b.temporary for p in programs for b in p.buffers),
        joins=any(may_interleave(p) for p in programs),
        keeps=any(keeps_before(p, b) for p in programs for b in p.buffers),
        parts=any(copies_a_part(b) for p in programs for b in p.buffers),
        support=f"{programs[0].name}_support" if programs else "",
        deferred=deferred,
        programs=[{**_device_part(p, marks, dialect), "entry": print_entry(p)} for p in programs],
    )
    return marks.read(text)


def _external(programs: Iterable[HostProgram]) -> list[str]:
    """Print the declarations of functions that are defined elsewhere: after the kernels, or by what is linked."""
    found = {f.prototype: "static" if p.device_source else "extern" for p in programs for f in p.external}
    return [f"{storage} __device__ {to_cpp(prototype)};" for prototype, storage in found.items()]


def _device_sources(programs: Iterable[HostProgram]) -> list[str]:
    """Return the texts that define such functions; they may define macros, so they come last."""
    return list(dict.fromkeys(p.device_source.strip() for p in programs if p.device_source.strip()))


def _device_part(program: HostProgram, marks: Marks | None = None, dialect: Dialect = CUDA) -> dict[str, Any]:
    """Return the parts of a program's device code, with the user's types in a namespace.

    CUDA has a `double2` of its own, and two SCoPs may differ in theirs.
    """
    return {
        "namespace": f"{program.name}_types" if program.definitions.strip() else "",
        "definitions": to_cpp(program.definitions.strip()),
        "kernels": [_kernel_text(k, marks, dialect) for k in program.kernels],
    }


def _kernel_text(kernel: Kernel, marks: Marks | None, dialect: Dialect) -> str:
    """Print a kernel in a unit.

    The file, each SCoP of it and the emulator print the same ones, so that they are kept.
    """
    if marks is None:
        return print_kernel(kernel, None, dialect)
    return marks.including(*_marked_kernel(IdentityKey(kernel), IdentityKey(dialect)))


@lru_cache(maxsize=MAX_KERNELS)
def _marked_kernel(kernel: IdentityKey[Kernel], dialect: IdentityKey[Dialect]) -> tuple[str, Marks]:
    marks = Marks()
    return print_kernel(kernel.value, marks, dialect.value), marks


def _helpers(programs: Iterable[HostProgram]) -> list[str]:
    return sorted(used_helpers(node for p in programs for node in _roots(p)))


def _roots(program: HostProgram) -> Iterator[Node]:
    yield from program.body
    yield from (size for s in program.body for n in statements(s) if isinstance(n, Launch) for size in n.grid)
    for buffer in program.buffers:
        yield from (buffer.first, buffer.elements)
        yield from back_expressions(buffer)
    for kernel in program.kernels:
        yield from with_opaque_negations(kernel)
        yield from (e for s in kernel.storage for e in s.extents if e is not None)


def print_kernel(kernel: Kernel, marks: Marks | None = None, dialect: Dialect = CUDA) -> str:
    """Print one kernel with its comment, without coordinates and arrays that the body does not use.

    Raises UsageError where `dialect` has no words for it, InternalError where it was built wrongly.
    """
    check_kernel(kernel)
    dialect.require(kernel, *sorted(features(kernel)))
    device = DeviceText.of(kernel, dialect)
    extents = (e for s in kernel.storage for e in s.extents if e is not None)
    used = frozenset(mentioned_names(*kernel.body, *extents))
    read = frozenset(name for stmt in kernel.body for name in reads(stmt))
    declared = frozenset(n.name for n in kernel.nodes if isinstance(n, Declare))
    fits = intervals(kernel) if kernel.ranges else None
    printer = StatementPrinter(
        Printer(
            lambda access, printer: element(kernel.storage_of(access.array), access, printer, fits),
            device=device.value,
        ),
        kernel.index_type,
        unread=declared - read,
        marks=marks,
        device=device.statement,
    )
    coordinates = [c for c in kernel.coordinates if c.name in used]
    body = [
        *(f"const {kernel.index_type} {c.name} = {printer.expression(c.source)};" for c in coordinates),
        *shared_declarations(kernel, dialect),
        *(private_declaration(s, read) for s in kernel.storage if s.space is Space.PRIVATE and s.array in used),
    ]
    lines = printer.lines(with_opaque_negations(kernel))
    start = f'extern "C" __global__ void {dialect.bounds(kernel)} {kernel.name}('
    return "\n".join(
        [
            *(line for text in kernel.summary for line in comment(text)),
            *wrapped(start, [parameter(p) for p in kernel.parameters], ")"),
            "{",
            *indented([*body, "", *lines] if body else lines),
            "}",
        ]
    )


def parameter(p: KernelParameter) -> str:
    """Print `const double *__restrict__ A`, or `int n`."""
    if p.buffer is None:
        return f"{type_name(p.type)} {identifier(p.name)}"
    const, restrict = "const " if p.const else "", "__restrict__ " if p.restrict else ""
    return f"{const}{type_name(p.type)} *{restrict}{identifier(p.name)}"


def private_declaration(storage: Storage, read: frozenset[str]) -> str:
    """Print `double t[4];` for a thread's own copy of an array."""
    unread = "" if storage.array in read else "[[maybe_unused]] "
    return f"{unread}{type_name(storage.element)} {identifier(storage.name)}{brackets(storage)};"


def element(storage: Storage, access: Access, printer: Printer, fits: Intervals | None = None) -> str:
    """Print the element of `access`, where `storage` says that the array is.

    `fits` knows which indices are small.

    before: A[i][j] in a global buffer of extents (n, m)
    after:  A[(long long)i * m + j]
    """
    subscripts = access.subscripts if storage.keeps is None else tuple(access.subscripts[k] for k in storage.keeps)
    field = spelt(access.field or "", [printer(s) for s in access.inside], printer.name)
    return f"{printer.name(storage.name)}{_subscripts(storage, subscripts, printer, fits)}{field}"


def _subscripts(storage: Storage, subscripts: tuple[Expr, ...], printer: Printer, fits: Intervals | None) -> str:
    match storage.space:
        case Space.VALUE:
            return ""
        case Space.GLOBAL:
            return f"[{printer(linear_index(subscripts, storage.extents, fits))}]"
    return "".join(f"[{printer(s)}]" for s in subscripts)
