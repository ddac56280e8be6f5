"""What the host asks of the memory of arrays of which the SCoP itself decides what it uses.

    extern long long polytile_NAME_elements(const void *, unsigned long long);
    const long long polytile_elements_x = polytile_NAME_elements((const void *)x, 8ull);
    const unsigned long long polytile_from_x = (unsigned long long)(double *)x; ...
    if (polytile_from_y < polytile_to_x && polytile_from_x < polytile_to_y) polytile_apart = 0;
    if (polytile_elements_x >= 0 && polytile_apart) kernels, with polytile_elements_x elements of x, else the user's C

Such an array is taken to reach to the end of its block of memory, which may hold others, too: these must lie apart.
"""

from __future__ import annotations

from collections.abc import Sequence

from polytile.codegen.targets.cuda.entry import memory_question
from polytile.ir.found_extents import AllocatedExtent
from polytile.ir.host import HostProgram


def allocated_extent_checks(allocated: Sequence[AllocatedExtent], program: HostProgram) -> list[str]:
    """Print statements that ask for the number of elements of each array.

    It is below 0 in memory of the host.
    """
    lines = [f"extern {memory_question(program)};"] if allocated else []
    for each in allocated:
        size = next(a.element.size for a in program.arguments if a.name == each.array)
        asked = f"{program.name}_elements((const void *){each.source}, {size}ull)"
        lines.append(f"const long long {_name(each)} = {asked};")
    return lines


def whole_rows(allocated: AllocatedExtent) -> str:
    """Print the C test that the array lies where kernels use it in place, and has whole rows there."""
    name, row = _name(allocated), allocated.row
    return f"{name} >= 0" + (f" && {row} >= 1 && {name} % ({row}) == 0" if row else "")


def extents(allocated: Sequence[AllocatedExtent]) -> dict[str, str]:
    """Return the C that is passed for the extents."""
    return {a.extent: f"({_name(a)} / (({a.row}) < 1 ? 1 : ({a.row})))" if a.row else _name(a) for a in allocated}


def _name(allocated: AllocatedExtent) -> str:
    return f"polytile_elements_{allocated.source}"
