"""The `extern "C"` entry point of a host program: copies in, loops and launches, copies out.

before: HostProgram(parameters=(n,), arguments=(y, x), buffers=..., body=(Launch(...),))
after:  extern "C" int NAME(int n, double *y, const double *x) { ... return run.result(); }
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

from polytile.codegen.targets.cuda.shared_memory import dynamic_shared_bytes
from polytile.codegen.targets.expressions import Printer, type_name
from polytile.codegen.targets.line_wrap import INDENT, broken, indented, wrapped
from polytile.codegen.targets.statements import StatementPrinter, comment
from polytile.dataclass import dataclass
from polytile.diagnostics import InternalError
from polytile.ir.def_use import declared_names
from polytile.ir.expr import LONG, Access, Binary, Call, Expr, Literal, Name, Unary
from polytile.ir.fold import folded
from polytile.ir.host import Buffer, HostProgram
from polytile.ir.kernel import Kernel, Launch
from polytile.ir.name_supply import fresh
from polytile.ir.reserved_names import identifier
from polytile.ir.scop import Array

HOST_INTEGER = "long long"
DONE, FAILED, RUN_THE_C = 0, 1, 2  # what an entry point returns; the last before it has done anything


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of an entry point, as every caller sees it.

    A scalar that is only read travels by value; everything else as a pointer to its first element, structs as
    pointers to void, also those that are only read.
    """

    array: Array
    value: bool  # passed by value
    const: bool  # a pointer that the SCoP does not write through

    @property
    def opaque(self) -> bool:
        return self.array.element.kind == "struct"

    def type_text(self, *, cpp: bool) -> str:
        """Print the type: `double`, `const double *`, `void *`."""
        if self.value and not self.opaque:
            return type_name(self.array.element, cpp=cpp)
        element = "void" if self.opaque else type_name(self.array.element, cpp=cpp)
        return f"{'const ' if self.const or self.value else ''}{element} *"


def arguments(program: HostProgram) -> tuple[Argument, ...]:
    """Return what an entry point takes after the parameters."""
    written = frozenset(written_arrays(program))
    return tuple(Argument(a, a.name in program.by_value, a.name not in written) for a in program.arguments)


def written_arrays(program: HostProgram) -> Iterator[str]:
    """Yield the arrays that some kernel writes, or that are copied back."""
    for kernel in program.kernels:
        yield from (p.buffer for p in kernel.parameters if p.buffer is not None and not p.const)
    yield from (b.array.name for b in program.buffers if b.copy_out)


def declarator(type_text: str, name: str) -> str:
    """Print `const double *A`, `int n`."""
    return f"{type_text}{'' if type_text.endswith('*') else ' '}{name}"


def prototype(program: HostProgram, *, cpp: bool) -> tuple[str, list[str]]:
    """Print the start of the declaration, up to the parenthesis, and the declarations of the parameters."""
    spell = identifier if cpp else str
    parts = [declarator(type_name(p.type, cpp=cpp), spell(p.name)) for p in program.parameters]
    parts += [declarator(a.type_text(cpp=cpp), spell(a.array.name)) for a in arguments(program)]
    return f"int {program.name}(", parts or ["void"]


@dataclass(frozen=True, slots=True)
class _Names:
    """What the entry point calls its own variables: none of the user's names."""

    turn: str
    run: str
    buffers: dict[str, str]
    raw: dict[str, str]  # parameters and structs as they arrive, before conversion
    graphs: str

    @staticmethod
    def of(program: HostProgram) -> _Names:
        taken = {identifier(name) for name in _argument_names(program)}
        taken |= {identifier(name) for name in declared_names(*program.body)}
        taken |= {k.name for k in program.kernels}
        turn, run = fresh("turn", taken), fresh("run", taken)
        taken |= {turn, run}
        buffers = {b.array.name: fresh(f"device_{b.array.name}", taken) for b in program.buffers}
        taken.update(buffers.values())
        converted = [p.name for p in program.parameters]
        converted += [a.array.name for a in arguments(program) if a.value and a.opaque]
        raw = {name: fresh(f"{name}_argument", taken) for name in converted}
        return _Names(turn, run, buffers, raw, fresh("graphs", taken | set(raw.values())))


def memory_question(program: HostProgram, name: str = "", size: str = "") -> str:
    """Print the declaration of what the host file asks of memory: of `name`, in elements of `size` bytes."""
    return f"long long {program.name}_elements(const void *{name}, unsigned long long{size and ' '}{size})"


def print_entry(program: HostProgram) -> str:
    """Print the entry point, after that of what its caller asks before."""
    entry = _entry(program)
    if not program.asks_memory:
        return entry
    question = memory_question(program, "place", "size")
    return f'extern "C" {question}\n{{\n{INDENT}return polytile_elements(place, size);\n}}\n\n{entry}'


def _entry(program: HostProgram) -> str:
    names = _Names.of(program)
    start, parts = _signature(program, names)
    run = f'PolytileRun {names.run}("{program.name}");'
    turn = [f"const PolytileTurn {names.turn};", f"if (!{names.turn}.mine) return {RUN_THE_C};"]
    setup = [*turn, *_conversions(program, names), *_checked_sizes(program), *_limits(program, names)]
    setup += [run, *_buffers(program, names)]
    launches = _body_printer(program, names).lines(program.body)
    body = [
        *setup,
        *_alias_checks(program, names),
        *_movements(program, names),
        "",
        *(f"{names.run}.may_overlap({k.name});" for k in _early(program)[:1]),
        f"{names.run}.start();",
        *(_unless_replayed(program, names, launches) if program.graphs else launches),
        f"{names.run}.finish();",
        "",
        *(line for b in program.buffers if b.copy_out and not b.temporary for line in _copy_out(b, names)),
        f"return {names.run}.result();",
    ]
    header = [line for text in program.summary for line in comment(text)]
    return "\n".join([*header, *wrapped(start, parts, ")"), "{", *indented(body), "}"])


def _early(program: HostProgram) -> list[Kernel]:
    return [k for k in program.kernels if k.starts_early]


def _signature(program: HostProgram, names: _Names) -> tuple[str, list[str]]:
    start, parts = prototype(program, cpp=True)
    for position, name in enumerate(_argument_names(program)):
        if name in names.raw:
            parts[position] = parts[position].removesuffix(identifier(name)) + names.raw[name]
    return f'extern "C" {start}', parts


def _argument_names(program: HostProgram) -> list[str]:
    return [*(p.name for p in program.parameters), *(a.name for a in program.arguments)]


def _conversions(program: HostProgram, names: _Names) -> list[str]:
    """Print sizes as 64-bit integers, so that no product of them overflows; structs as what they are."""
    lines = [f"const {HOST_INTEGER} {identifier(p.name)} = {names.raw[p.name]};" for p in program.parameters]
    for a in arguments(program):
        if a.value and a.opaque:
            element, name = type_name(a.array.element), identifier(a.array.name)
            lines.append(f"const {element} {name} = *(const {element} *){names.raw[a.array.name]};")
    return lines


def _checked_sizes(program: HostProgram) -> list[str]:
    """Return what leaves at sizes that kernels are not for."""
    if not program.checked:
        return []
    spelt = {p.name: identifier(p.name) for p in program.parameters}
    text = re.sub(r"[A-Za-z_]\w*", lambda name: spelt.get(name[0], name[0]), program.checked)
    test = broken(f"if (!({text})) return {RUN_THE_C};")
    return ["// The kernels are for these sizes alone: nothing is done for others, and the caller runs the C.", *test]


def _limits(program: HostProgram, names: _Names) -> list[str]:
    """Print the test that returns, with nothing done, for sizes with which integers would overflow."""
    if not program.limits:
        return []
    large = {p.name for p in program.parameters if p.type.size == LONG.size}
    spelt = {p.name: identifier(p.name) for p in program.parameters}
    spelt |= {p.name: names.raw[p.name] for p in program.parameters if p.name in large and not p.type.signed}
    conditions = [limit.in_c(spelt, large) for limit in program.limits]
    test = broken(f"if (!({' && '.join(conditions)})) return {RUN_THE_C};")
    return ["// Beyond these sizes integers overflow: nothing is done, and the caller runs the C.", *test]


def _buffers(program: HostProgram, names: _Names) -> list[str]:
    out = []
    for b in program.buffers:
        host = "nullptr" if b.temporary else identifier(b.array.name)
        size = checked_text(b.first), checked_text(b.elements)
        element = f"sizeof({type_name(b.array.element)})"
        start = f"PolytileBuffer {names.buffers[b.array.name]}("
        out += wrapped(start, [names.run, f'"{b.array.name}"', host, element, *size], ");")
    return out


def _alias_checks(program: HostProgram, names: _Names) -> list[str]:
    """Print comparisons of pointers that may alias, and joins of arrays that lie among one another."""
    return [
        *(f"{names.buffers[a.name]}.must_not_overlap({names.buffers[b.name]});" for a, b in may_overlap(program)),
        *(f"{names.buffers[b.name]}.join({names.buffers[a.name]});" for a, b in may_interleave(program)),
    ]


def may_overlap(program: HostProgram) -> list[tuple[Array, Array]]:
    """Return the pairs of arrays that may be the same memory as far as C says, when one of them is written."""
    written = frozenset(written_arrays(program))
    outside = [b.array for b in program.buffers if not b.temporary]
    pairs = combinations(outside, 2)
    return [(a, b) for a, b in pairs if (a.may_alias or b.may_alias) and written & {a.name, b.name}]


def may_interleave(program: HostProgram) -> list[tuple[Array, Array]]:
    """Return the pairs of written arrays whose elements may lie between one another.

    `restrict` says only that no element is of both, as of `re[2 * i]` and `im[2 * i]` with `im = re + 1`. Copied back
    apart from one another, one array would undo what kernels wrote to the other.
    """
    written = frozenset(written_arrays(program))
    outside = [b.array for b in program.buffers if not b.temporary and b.array.name in written]
    pairs = combinations(outside, 2)
    return [(a, b) for a, b in pairs if not (a.may_alias or b.may_alias) and (a.may_interleave or b.may_interleave)]


def _movements(program: HostProgram, names: _Names) -> list[str]:
    lines = []
    for b in program.buffers:
        name = names.buffers[b.array.name]
        if b.array.rows_apart and not b.temporary and b.array.extents[-1] is not None:
            size = f"sizeof({type_name(b.array.element)})"
            width = f", {identifier(b.array.width)}" if b.array.width else ""
            lines.append(f"{name}.rows_of({Printer(_no_element)(b.array.extents[-1])}, {size}{width});")
        lines.append(f"{name}.take();" if b.temporary else f"{name}.attach();")
        if keeps_before(program, b):
            one_type = not b.array.fields and b.array.name not in _joined(program)
            unit = f"sizeof({type_name(b.array.element)})" if one_type else "1"
            lines.append(f"{'' if b.back is None else f'if ({name}.is_joined()) '}{name}.keep({unit});")
        if b.copy_in and not b.temporary:
            lines.append(f"{name}.copy_in();")
    return lines


def keeps_before(program: HostProgram, buffer: Buffer) -> bool:
    """Return whether the earlier values may be needed, to copy back only what kernels have changed.

    Arrays that lie among one another have one copy, with what is between them.
    """
    unknown = buffer.back is None or buffer.array.name in _joined(program)
    return buffer.copy_out and not buffer.temporary and unknown


def _joined(program: HostProgram) -> frozenset[str]:
    return frozenset(array.name for pair in may_interleave(program) for array in pair)


def copies_a_part(buffer: Buffer) -> bool:
    """Return whether a part of the buffer is copied back as it is."""
    return buffer.copy_out and not buffer.temporary and buffer.back is not None and not buffer.whole_back


def back_expressions(buffer: Buffer) -> list[Expr]:
    """Return what the host computes to copy the buffer back."""
    back = buffer.back
    if back is None:
        return []
    where = [] if back.condition is None else [back.condition]
    part = [back.first, back.width, *(e for rows in back.rows for e in (rows.count, rows.pitch))]
    return [*where, *(part if copies_a_part(buffer) else [])]


def _copy_out(buffer: Buffer, names: _Names) -> list[str]:
    printer, back = Printer(_no_element), buffer.back
    where = "" if back is None or back.condition is None else f"if ({printer(back.condition)}) "
    start = f"{where}{names.buffers[buffer.array.name]}.copy_out("
    if back is None or not copies_a_part(buffer):
        return [f"{start});"]
    rows = (f"{{{printer(folded(r.count))}, {printer(r.pitch)}}}" for r in back.rows)
    return wrapped(start, [printer(back.first), printer(back.width), f"{{{', '.join(rows)}}}"], ");")


def _unless_replayed(program: HostProgram, names: _Names, launches: list[str]) -> list[str]:
    """Return the launches, where no earlier runs on the same values and memory left a graph of them."""
    values = [identifier(name) for name in (*(p.name for p in program.parameters), *sorted(program.by_value))]
    memory = [f"{names.buffers[b.array.name]}.base()" for b in program.buffers]
    return [
        f"static thread_local PolytileGraphs {names.graphs};",
        *wrapped(f"while ({names.run}.must_launch(", [names.graphs, *values, *memory], ")) {"),
        *indented(launches),
        "}",
    ]


def _body_printer(program: HostProgram, names: _Names) -> StatementPrinter:
    printer = Printer(_no_element)

    def launch(stmt: Launch) -> list[str]:
        kernel = program.kernel(stmt.kernel)
        grid = ", ".join(printer(g) for g in stmt.grid)
        block = f"dim3({', '.join(str(size) for size in kernel.block)})"
        passed = [
            identifier(p.name) if p.buffer is None else f"{names.buffers[p.buffer]}.base()" for p in kernel.parameters
        ]
        parts = [f'"{kernel.name}"', kernel.name, grid, block, str(dynamic_shared_bytes(kernel)), *passed]
        way = ".early()" if kernel.starts_early else ""
        return wrapped(f"{names.run}{way}.launch(", parts, ");")

    return StatementPrinter(printer, HOST_INTEGER, launch)


def _no_element(access: Access, _: Printer) -> str:
    raise InternalError(f"the host program of a SCoP reads {access.array}")


def checked_text(size: Expr) -> str:
    """Print a size whose sums and products notice an overflow.

    before: n * m + 1
    after:  PolytileSize(n) * m + 1
    """
    return Printer(_no_element)(_checked(folded(size)))


def _checked(expr: Expr) -> Expr:
    match expr:
        case Literal():
            return expr
        case Binary(op="+" | "-" | "*", left=left, right=right):
            inner = right if isinstance(right, Literal | Name) else _checked(right)
            return replace(expr, left=_checked(left), right=inner)
        case Unary(op="-", operand=operand):
            return Binary("-", Call("PolytileSize", (Literal("0"),)), _checked(operand))
    return Call("PolytileSize", (expr,))
