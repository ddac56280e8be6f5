"""`NAME_host.c`: the user's file with each SCoP replaced by a call, all else byte for byte as it was.

before:  #pragma scop ... #pragma endscop
after:   { extern int NAME(int n, double *A); const int polytile_status = NAME(n, (double *)A);
           if (polytile_status == 1) { extern void exit(int); exit(4); } if (polytile_status != 0) { ... } }

The block stands among the user's macros. Where one of them has a name that the block says, it is put aside for the
block: `#pragma push_macro("double")`, which gcc, clang and nvcc know.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from pathlib import PurePath

from polytile.codegen.targets.c import allocated_extent_checks as memory
from polytile.codegen.targets.c.alias_checks import APART, alias_checks
from polytile.codegen.targets.c.compute_checks import compute_checks
from polytile.codegen.targets.c.reached_extent_checks import ends_with_its_rows, extents, reached_extent_checks
from polytile.codegen.targets.c.row_table_checks import distances, even_rows, pointers, row_table_checks
from polytile.codegen.targets.cuda.entry import DONE, FAILED, RUN_THE_C, Argument, arguments, may_overlap, prototype
from polytile.codegen.targets.line_wrap import INDENT, broken, indented, wrapped
from polytile.diagnostics import EXIT_DEVICE, InternalError
from polytile.ir.c_text import c_string, in_comment
from polytile.ir.host import HostProgram
from polytile.ir.pointer_rotation import PointerRotation
from polytile.ir.scop import Scop
from polytile.ir.source_span import Span

_PRAGMAS = ("scop", "endscop")
_STATUS, _ASKED = "polytile_status", "polytile_asked"
_AMID = "signal handlers amid kernels, and processes forked after CUDA has run"


def host_file(
    text: str,
    file: str,
    replaced: Sequence[tuple[Scop, HostProgram]],
    macros: Collection[str] = (),
    *,
    least: Mapping[str, tuple[Scop, int]] | None = None,
) -> str:
    """Print the host file: `text`, which is `file`'s, with the span of each Scop replaced by a call.

    `macros` are the names that are a macro somewhere in the file or in what it includes. `least` has, by the
    name of a SCoP, the SCoP as the C has it and how many statement instances are worth kernels.

    The call declares what it needs in its own block, so nothing has to be included. The sequential C stays behind it,
    for calls that do nothing. `#line` keeps the compiler's
    messages and `__LINE__` those of `file`.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    pieces, position = [], 0
    for scop, program in sorted(replaced, key=lambda pair: _span(pair[0]).start):
        span = _span(scop)
        if span.start < position:
            raise InternalError(f"two SCoPs of {file} overlap at line {span.first_line}")
        passed = {**dict(scop.passed), **pointers(scop.tables), **_extents(scop)}
        computed = (least or {}).get(scop.name, (scop, 0))
        asked = _asked(scop, program, passed, computed)
        pieces += [text[position : span.start], _replacement(text, file, scop, program, newline, macros, passed, asked)]
        position = span.end
    return "".join([*pieces, text[position:]])


def _span(scop: Scop) -> Span:
    if scop.span is None:
        raise InternalError(f"{scop.name} has no place in a file")
    return scop.span


def _replacement(
    text: str,
    file: str,
    scop: Scop,
    program: HostProgram,
    newline: str,
    macros: Collection[str],
    spelt: Mapping[str, str],
    asked: tuple[list[str], str, str],
) -> str:
    """Print the block that replaces a SCoP, one statement, whose last line has the number of the SCoP's last.

    `spelt` is the C that is passed for what the C has no variables for, `asked` what `_asked` finds.
    """
    span = _span(scop)
    variables = [f"__typeof__({c}) {name} = {c};" for name, c in scop.pointers]
    skipped, source, end = _split(text[span.start : span.end])
    indent = _indentation(text, span, source)
    if not _at_line_start(text, span):
        source = [indent + source[0], *source[1:]]
    calls, last, why = _run(program, spelt, scop.rotations, asked)
    calls = [*variables, *_layouts(scop), *calls, last]
    hidden = sorted({word for line in calls for word in re.findall(r"[A-Za-z_$][\w$]*", line)}.intersection(macros))
    call = [
        f"{{ /* {_place(file, span)} runs on the GPU, compiled by polytile */",
        *(line for name in hidden for line in (f'#pragma push_macro("{name}")', f"#undef {name}")),
        *indented(calls[:-1]),
        f"{INDENT}{calls[-1]} /* {why} */",
        *(f'#pragma pop_macro("{name}")' for name in hidden),
    ]
    lines = [
        *(indent + line for line in call),
        line_directive(span.first_line + skipped, file),
        *source,
        f"{indent}{INDENT}}}",
        line_directive(span.last_line, file),
        f"{indent}}}",
    ]
    block = newline.join(lines)
    return (block if _at_line_start(text, span) else block.removeprefix(indent)) + end


def _place(file: str, span: Span) -> str:
    """Print `gemm.c:41-52`, inside a comment."""
    last = f"-{span.last_line}" if span.last_line != span.first_line else ""
    return f"{in_comment(PurePath(file).name)}:{span.first_line}{last}"


def _at_line_start(text: str, span: Span) -> bool:
    return span.start == 0 or text[span.start - 1] == "\n"


def _indentation(text: str, span: Span, source: list[str]) -> str:
    """Return the SCoP's indentation: of its first line of code, or of the line that it starts in the middle of."""
    line = text[text.rfind("\n", 0, span.start) + 1 :]
    if _at_line_start(text, span):
        line = next((code for code in source if code.strip()), "")
    return line[: len(line) - len(line.lstrip(" \t"))]


def _split(source: str) -> tuple[int, list[str], str]:
    """Split a SCoP without its pragmas.

    Returns how many lines went before the others, those lines, and the line end after the last.
    """
    code = source.rstrip("\r\n")
    lines = re.split(r"\r?\n", code)
    skipped = int(_is_pragma(lines[0]))
    last = len(lines) - int(len(lines) > skipped and _is_pragma(lines[-1]))
    return skipped, lines[skipped:last], source[len(code) :]


def _is_pragma(line: str) -> bool:
    words = line.replace("#", " # ").split()
    return words[:2] == ["#", "pragma"] and len(words) > 2 and words[2] in _PRAGMAS


def _run(
    program: HostProgram,
    spelt: Mapping[str, str],
    rotations: Sequence[PointerRotation],
    asked: tuple[list[str], str, str],
) -> tuple[list[str], str, str]:
    """Print statements that call the entry point where it may be called.

    Returns them, the condition under which the user's C runs after them, up to its brace, and when that is.
    """
    questions, condition, otherwise = asked
    start, parts = prototype(program, cpp=False)
    passed = [spelt.get(p.name, p.name) for p in program.parameters]
    passed += [spelt.get(a.array.name, _passed(a)) for a in arguments(program)]
    declared = wrapped(f"extern {start}", parts, ");")
    rotated = [line for rotation in rotations for line in _rotated(rotation)]
    when = " or ".join(filter(None, (otherwise, "sizes beyond those of the kernels" if program.limits else "", _AMID)))
    given = f"{_STATUS} = {program.name}("
    calls = [*declared, *wrapped(given if condition else f"const int {given}", passed, ");")]
    calls += [f"if ({_STATUS} == {FAILED}) {{", f"{INDENT}extern void exit(int);", f"{INDENT}exit({EXIT_DEVICE});", "}"]
    if rotated:
        calls += [f"if ({_STATUS} == {DONE}) {{", *indented(rotated), "}"]
    if condition:
        calls = [f"int {_STATUS} = {RUN_THE_C};", f"if ({condition}) {{", *indented(calls), "}"]
    return [*questions, *calls], f"if ({_STATUS} != {DONE}) {{", f"the sequential C, for {when}"


def _layouts(scop: Scop) -> list[str]:
    """Print what kernels take for granted of types: another compiler, or other flags, must refuse the file."""
    if not scop.layouts:
        return []
    asked = " && ".join(scop.layouts)
    return broken(f'__extension__ _Static_assert({asked}, "polytile made the kernels for other types");')


def _rotated(rotation: PointerRotation) -> list[str]:
    """Print statements that let pointers change places."""
    held = [f"void *polytile_{name} = (void *){name};" for name, _ in rotation.values]
    given = [f"{name} = polytile_{value};" for name, value in rotation.values if name != value]
    return [f"if ({rotation.condition}) {{", *indented([*held, *given]), "}"]


def _asked(
    scop: Scop, program: HostProgram, spelt: Mapping[str, str], computed: tuple[Scop, int]
) -> tuple[list[str], str, str]:
    """Print statements that look at tables of rows, subscripts, addresses and how many instances run.

    `computed` is a SCoP and how many of its instances are worth kernels. Returns the statements; the condition under
    which the kernels may run, as C over the variables of the function and over what these statements found, "" where
    always; and when the user's C runs.
    """
    first = _wide(scop, _asked_first(scop)) if scop.reached else ""
    lines = [line for reached in scop.reached for line in reached_extent_checks(reached, _ASKED if first else "")]
    lines += [line for table in scop.tables for line in row_table_checks(table)]
    lines += memory.allocated_extent_checks(scop.allocated, program)
    lines = [_spelt(scop, line) for line in lines]
    looked = *map(even_rows, scop.tables), *map(ends_with_its_rows, scop.reached)
    found = [_spelt(scop, c) for c in (*looked, *map(memory.whole_rows, scop.allocated))]
    why = ["rows that lie elsewhere" if scop.tables else "other subscripts"] if looked else []
    why += ["arrays in memory of the host"] if scop.allocated else []
    found += [f"{name} != 0" for name in scop.needed]
    why += ["null pointers"] if scop.needed else []
    apart = alias_checks(scop.alias_checks, program, partial(_wide, scop), partial(_address, program, spelt))
    if apart:
        found.append(APART)
        why += ["values that it changes through a pointer"] if scop.alias_checks else []
        why += ["arrays that overlap"] if may_overlap(program) else []
    counted, enough = compute_checks(*computed, partial(_wide, scop))
    if enough:
        found.append(enough)
        why.append("little to compute")
    if scop.checked:
        exact = _wide if re.search(r" [-+*] ", scop.checked) else _spelt  # sums that may overflow
        found.append(exact(scop, f"({scop.checked})" if found else scop.checked))
        why = why or ["other sizes"]
    lines = [f"const int {_ASKED} = {first};", *lines] if first else lines
    return [*lines, *apart, *counted], " && ".join(found), " or ".join(why)


def _asked_first(scop: Scop) -> str:
    """Return those of the conditions on sizes that mention no size that the host looks for; none of a disjunction."""
    conditions = [] if "||" in scop.checked else scop.checked.split(" && ")
    if any(c.count("(") != c.count(")") for c in conditions):
        return ""
    found = {*extents(scop.reached), *memory.extents(scop.allocated), *distances(scop.tables)}
    return " && ".join(c for c in conditions if not found & set(re.findall(r"[A-Za-z_]\w*", c)))


def _address(program: HostProgram, spelt: Mapping[str, str], array: str) -> str:
    """Return the C for element 0 of an array."""
    return spelt.get(array) or next(_passed(a) for a in arguments(program) if a.array.name == array)


def _wide(scop: Scop, text: str) -> str:
    """Translate C over parameters to C over the variables of the function, in 64 bits."""
    spelt = {**dict(scop.passed), **distances(scop.tables), **_extents(scop)}
    values = {p.name: spelt.get(p.name, p.name) for p in scop.parameters}
    return _replaced(text, {n: f"(long long){c if c.isidentifier() else f'({c})'}" for n, c in values.items()})


def _extents(scop: Scop) -> dict[str, str]:
    """Return what is passed for the extents that the host looks for, over the variables of the function."""
    found = {**extents(scop.reached), **memory.extents(scop.allocated)}
    return {name: _replaced(c, dict(scop.passed)) for name, c in found.items()}


def _spelt(scop: Scop, text: str) -> str:
    """Translate C over parameters to C over the variables of the function."""
    spelt = {**dict(scop.passed), **distances(scop.tables), **_extents(scop)}
    unsigned = (p.name for p in scop.parameters if not p.type.signed)  # which C would not let become negative
    spelt |= {name: f"(long long){spelt.get(name, name)}" for name in unsigned}
    return _replaced(text, spelt)


def _replaced(text: str, spelt: Mapping[str, str]) -> str:
    return re.sub(r"(?<![\w.])(?<!->)[A-Za-z_]\w*", lambda name: spelt.get(name[0], name[0]), text)


def _passed(argument: Argument) -> str:
    """Print the C expression that passes one array or scalar of the user's."""
    name = argument.array.name
    if argument.value and not argument.opaque:
        return name
    return f"({argument.type_text(cpp=False)}){'' if argument.array.rank else '&'}{name}"


def line_directive(line: int, file: str) -> str:
    return f"#line {line} {c_string(file)}"
