"""What the host asks of a pointer to rows before kernels may take it for an array.

    char *polytile_base_w = 0;
    long long polytile_first_w = 0, polytile_step_w = 0, polytile_rows_w = 0;
    for (long long polytile_row = 0; polytile_row < n; polytile_row += 1) {
        char *polytile_here = (char *)w[polytile_row];
        ...
    }
    if (polytile_rows_w > 1 && ...) kernels else the user's C
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from polytile.codegen.targets.c.index_macros import with_index_macros
from polytile.codegen.targets.line_wrap import INDENT
from polytile.ir.scop import RowTable


def row_table_checks(table: RowTable) -> list[str]:
    """Statements that find the first row, the distance of rows, and how many of them lie at this distance.

    `polytile_rows_w` counts rows, and is -1 from the first on that lies elsewhere; `polytile_base_w` is where row 0
    would lie, `polytile_step_w` the distance.
    """
    base, first, step, rows = (f"polytile_{what}_{table.source}" for what in ("base", "first", "step", "rows"))
    visit = [
        "long long polytile_at = {row};",
        f"char *polytile_here = (char *){table.source}[polytile_at];",
        f"if ({rows} == 0) {{{{ {base} = polytile_here; {first} = polytile_at; }}}}",
        f"if ({rows} == 1) {step} = (polytile_here - {base}) / (polytile_at - {first});",
        f"if ({rows} >= 0) {rows} += 1;",
        f"if (polytile_here - {base} != (polytile_at - {first}) * {step}) {rows} = -1;",
    ]
    lines = [f"char *{base} = 0;", f"long long {first} = 0, {step} = 0, {rows} = 0;"]
    for line in table.loops.splitlines():
        call = re.fullmatch(r"(\s*)polytile_visit\((.*)\);", line)
        body = ["{{", *(INDENT + part for part in visit), "}}"] if call else []
        lines += [f"{call[1]}{part.format(row=call[2])}" for part in body] if call else [line]
    lines.append(f"if ({step} % {table.size} != 0) {rows} = -1;")
    lines += [f"{base} -= {first} * {step};", f"{step} /= {table.size};"]
    return with_index_macros(lines)


def even_rows(table: RowTable) -> str:
    """Whether rows lie at equal distances, of whole elements, in C."""
    return f"polytile_rows_{table.source} > 1"


def pointers(tables: Sequence[RowTable]) -> dict[str, str]:
    """The C that is passed for tables and their pitches."""
    found = {table.array: f"({table.element} *)polytile_base_{table.source}" for table in tables}
    return found | {table.pitch: f"polytile_step_{table.source}" for table in tables}
