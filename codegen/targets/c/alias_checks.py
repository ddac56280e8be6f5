"""What the host asks of values that kernels get as they are, whether the SCoP may change them through a pointer, and of
arrays that C lets overlap, whether they do.

    int polytile_apart = 1;
    const unsigned long long polytile_from_q = (unsigned long long)(double *)q;
    const unsigned long long polytile_to_q = polytile_from_q + 8ull * (n);
    if ((unsigned long long)&g < polytile_to_q && polytile_from_q < (unsigned long long)(&g + 1))
        polytile_apart = 0;
    if (polytile_apart) kernels else the user's C
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from polytile.codegen.targets.c.index_macros import with_index_macros
from polytile.codegen.targets.cuda.entry import may_overlap
from polytile.codegen.targets.expressions import Printer
from polytile.codegen.targets.line_wrap import INDENT, broken
from polytile.diagnostics import InternalError
from polytile.ir.alias_checks import AliasCheck
from polytile.ir.expr import Access
from polytile.ir.fold import folded
from polytile.ir.host import Buffer, HostProgram

APART = "polytile_apart"
_ADDRESS = "unsigned long long"


def alias_checks(
    checks: Sequence[AliasCheck],
    program: HostProgram,
    spelt: Callable[[str], str],
    pointer: Callable[[str], str],
) -> list[str]:
    """Print statements that set `polytile_apart`.

    None where no array of `checks` is used and no two may overlap.

    `spelt` turns C over parameters into C over the variables of the function, `pointer` is the C for element 0 of an
    array. Whatever overflows here, the entry point refuses.
    """
    pairs = [(one.name, two.name) for one, two in may_overlap(program)]
    names = dict.fromkeys([*(name for check in checks for name in check.arrays), *(n for pair in pairs for n in pair)])
    buffers = {name: b for name in names if (b := program.buffer(name)) is not None}
    if not buffers:
        return []
    lines = [f"int {APART} = 1;"]
    for name, buffer in buffers.items():
        lines += _bounds(name, buffer, spelt, pointer(name))
    for check in checks:
        for name in (n for n in check.arrays if n in buffers):
            lines += _test(check, name)
    for one, two in pairs:
        meet = f"polytile_from_{one} < polytile_to_{two} && polytile_from_{two} < polytile_to_{one}"
        lines += [*broken(f"if ({meet})"), f"{INDENT}{APART} = 0;"]
    return with_index_macros(lines)


def _bounds(name: str, buffer: Buffer, spelt: Callable[[str], str], pointer: str) -> list[str]:
    """Print where the elements of an array lie that the SCoP uses."""
    size, printer = buffer.array.element.size, Printer(_no_element, cpp=False)
    first, elements = (printer(folded(e)) for e in (buffer.first, buffer.elements))
    skipped = "" if first == "0" else f" + {size}ull * ({spelt(first)})"
    start, length = f"({_ADDRESS}){pointer}{skipped}", f"{size}ull * ({spelt(elements)})"
    return [
        *broken(f"const {_ADDRESS} polytile_from_{name} = {start};"),
        *broken(f"const {_ADDRESS} polytile_to_{name} = polytile_from_{name} + {length};"),
    ]


def _test(check: AliasCheck, array: str) -> list[str]:
    guard = [f"({check.guard})"] if check.guard else []
    first, end = (f"({_ADDRESS}){place}" for place in (f"&{check.lvalue}", f"(&{check.lvalue} + 1)"))
    meets = [*guard, f"{first} < polytile_to_{array}", f"polytile_from_{array} < {end}"]
    return [*broken(f"if ({' && '.join(meets)})"), f"{INDENT}{APART} = 0;"]


def _no_element(access: Access, _: Printer) -> str:
    raise InternalError(f"the size of an array reads {access.array}")
