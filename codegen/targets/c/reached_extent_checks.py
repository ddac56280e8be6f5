"""What the host looks for where the C does not say how large an array is, and data say what is used of it.

long long polytile_least_x = 0, polytile_most_x = -1;
for (int polytile_own_i = 0; polytile_own_i < n; polytile_own_i++)
    { long long polytile_at = p[polytile_own_i]; if (polytile_at < polytile_least_x) ... }
if (polytile_least_x >= 0 && ...) kernels, with polytile_most_x + 1 elements of x, else the user's C
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from polytile.codegen.targets.line_wrap import INDENT
from polytile.ir.found_extents import ReachedExtent

_VISIT = r"(\s*)polytile_visit(_\d+)?\((.*)\);"


def reached_extent_checks(reached: ReachedExtent, asked: str = "") -> list[str]:
    """Print statements that find the least and the greatest subscript.

    The least is -1, too, where one leaves its row. They look at none where what is `asked` does not hold: subscripts
    may be remainders that the C does not compute.
    """
    least, most = _names(reached)
    declared = [f"long long {least} = 0, {most} = -1;"]
    declared += [f"long long {_column(reached)} = -1;"] if reached.width else []
    lines: list[str] = []
    for line in reached.search.splitlines():
        call = re.fullmatch(_VISIT, line)
        if call is None:
            lines.append(line)
            continue
        indent, column, value = call.groups()
        ends = ((least, "<"), (most, ">"))
        beyond = [f"if (polytile_at {than} {name}) {name} = polytile_at;" for name, than in ends]
        if column and reached.width:
            last = _column(reached)
            beyond = [f"if (polytile_at < 0) {least} = -1;", f"if (polytile_at > {last}) {last} = polytile_at;"]
        elif column:
            size = reached.columns[int(column[1:]) - 1]
            beyond = [f"if (polytile_at < 0 || polytile_at >= {size}) {least} = -1;"]
        body = ["{", f"{INDENT}long long polytile_at = {value};", *(INDENT + part for part in beyond), "}"]
        lines += [indent + part for part in body]
    return [*declared, *([f"if ({asked}) {{", *(INDENT + line for line in lines), "}"] if asked else lines)]


def ends_with_its_rows(reached: ReachedExtent) -> str:
    """Print the C test that what is used is whole rows of an array."""
    least, most = _names(reached)
    row = f" && {reached.row} >= 1 && ({most} + 1) % ({reached.row}) == 0" if reached.row else ""
    return f"{least} >= 0{row}"


def extents(all_reached: Sequence[ReachedExtent]) -> dict[str, str]:
    """Return the C that is passed for the extents."""
    rows = {r.extent: f"({_names(r)[1]} + 1)" + (f" / ({r.row})" if r.row else "") for r in all_reached}
    return rows | {r.width: f"({_column(r)} + 1)" for r in all_reached if r.width}


def _column(reached: ReachedExtent) -> str:
    return f"polytile_column_{reached.source}"


def _names(reached: ReachedExtent) -> tuple[str, str]:
    return f"polytile_least_{reached.source}", f"polytile_most_{reached.source}"
