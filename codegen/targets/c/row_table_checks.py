"""What the host asks of a table of pointers to rows before kernels may take it for an array.

    long long polytile_rows_w = 0, polytile_base_w = 0;
    long long polytile_step_w[1] = {0}, polytile_first_w[1] = {0}, polytile_last_w[1] = {0};
    for (long long polytile_row = 0; polytile_row < n; polytile_row += 1) {
        long long polytile_here = w ? (long long)w[polytile_row] : 0;
        ...
    }
    if (polytile_rows_w > 1 && ...) kernels else the user's C

Where a row lies has to be base + sum of step[k] * row[k]. Rows come in lexicographic order, so that mostly there is one
subscript that has changed of which the step is not known yet.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from polytile.codegen.targets.c.index_macros import with_index_macros
from polytile.codegen.targets.line_wrap import INDENT
from polytile.ir.scop import RowTable

_VISIT = """\
long long polytile_at[{depth}] = {{{at}}};
long long polytile_here = {followed}(long long){row}{otherwise};
long long polytile_left = polytile_here - {base}, polytile_moved = 0;
int polytile_new = -1;
for (int polytile_k = 0; polytile_k < {depth}; polytile_k++) {{
    long long polytile_by = polytile_at[polytile_k] - {first}[polytile_k];
    if ({rows} == 0 || polytile_at[polytile_k] > {last}[polytile_k]) {last}[polytile_k] = polytile_at[polytile_k];
    if ({rows} == 0) {first}[polytile_k] = polytile_at[polytile_k];
    if ({rows} <= 0 || polytile_by == 0) continue;
    if ({step}[polytile_k] != 0) polytile_left -= {step}[polytile_k] * polytile_by;
    else {{ if (polytile_new >= 0) {rows} = -1; polytile_new = polytile_k; polytile_moved = polytile_by; }}
}}
if ({rows} == 0) {{ {base} = polytile_here; polytile_left = 0; }}
if ({rows} > 0 && polytile_new >= 0 && polytile_left != 0 && polytile_left % polytile_moved == 0) {{
    {step}[polytile_new] = polytile_left / polytile_moved;
    polytile_left = 0;
}} else if (polytile_new >= 0) polytile_left = 1;
{rows} = {rows} < 0 || polytile_here == 0 || polytile_left != 0 ? -1 : {rows} + 1;"""

# A dimension of which one subscript is used has no step: as many rows are taken to lie inside of it as are used.
_INNERMOST = """\
for (int polytile_k = {inner} - 1; polytile_k >= 0 && {step}[{inner}] == 0; polytile_k--) {{
    long long polytile_count = 1;
    for (int polytile_l = polytile_k + 1; polytile_l < {depth}; polytile_l++) polytile_count *= {last}[polytile_l] + 1;
    if (polytile_count > 0 && {step}[polytile_k] % polytile_count == 0)
        {step}[{inner}] = {step}[polytile_k] / polytile_count;
}}
for (int polytile_k = {inner} - 1; polytile_k >= 0; polytile_k--) {{
    long long polytile_inner = {step}[polytile_k + 1];
    if ({step}[polytile_k] == 0) {step}[polytile_k] = polytile_inner * ({last}[polytile_k + 1] + 1);
    if (polytile_inner <= 0 || {step}[polytile_k] % polytile_inner != 0) {rows} = -1;
    else {extent}[polytile_k] = {step}[polytile_k] / polytile_inner;
}}"""

_FOUND = """\
if ({step}[{inner}] <= 0 || {step}[{inner}] % {size} != 0) {rows} = -1;
for (int polytile_k = 0; polytile_k < {depth}; polytile_k++) {base} -= {first}[polytile_k] * {step}[polytile_k];
{extent}[{inner}] = {rows} > 1 ? {step}[{inner}] / {size} : 0;"""

_NONE = "for (int polytile_k = 0; polytile_k < {inner} && {rows} <= 1; polytile_k++) {extent}[polytile_k] = 0;"


def row_table_checks(table: RowTable) -> list[str]:
    """Print statements that find where rows lie.

    `polytile_rows_w` counts rows, and is -1 from the first on that is null or lies elsewhere; `polytile_base_w` is
    where row 0 would lie, and `polytile_extent_w` has the extents of the array but the outermost one.
    """
    depth = len(table.extents)
    names = {what: _name(what, table) for what in ("rows", "base", "step", "first", "last", "extent")}
    sizes: dict[str, object] = {**names, "depth": depth, "inner": depth - 1, "size": table.size}
    arrays = ", ".join(f"{names[what]}[{depth}] = {{0}}" for what in ("step", "first", "last", "extent"))
    lines = [f"long long {names['rows']} = 0, {names['base']} = 0;", f"long long {arrays};"]
    for line in table.loops.splitlines():
        call = re.fullmatch(r"(\s*)polytile_visit\((.*)\);", line)
        lines += [line] if call is None else [call[1] + part for part in _visit(table, call[2], sizes)]
    parts = [_INNERMOST, _FOUND, _NONE] if depth > 1 else [_FOUND]
    lines += [line for part in parts for line in part.format(**sizes).splitlines()]
    return with_index_macros(lines)


def _visit(table: RowTable, subscripts: str, sizes: dict[str, object]) -> list[str]:
    at = [f"polytile_at[{k}]" for k in range(len(table.extents))]
    guard = " && ".join(f"({pointer.format(*at)}) != 0" for pointer in table.followed)
    asked = {"followed": f"{guard} ? " if guard else "", "otherwise": " : 0" if guard else ""}
    text = _VISIT.format(**sizes, **asked, at=subscripts, row=table.row.format(*at))
    return ["{", *(INDENT + line for line in text.splitlines()), "}"]


def _name(what: str, table: RowTable) -> str:
    return f"polytile_{what}_{table.array}"


def even_rows(table: RowTable) -> str:
    """Print the C test that rows lie at equal distances, of whole elements."""
    return f"{_name('rows', table)} > 1"


def distances(tables: Sequence[RowTable]) -> dict[str, str]:
    """Return the C that is passed for the extents of tables."""
    return {name: f"{_name('extent', t)}[{k}]" for t in tables for k, name in enumerate(t.extents)}


def pointers(tables: Sequence[RowTable]) -> dict[str, str]:
    """Return the C that is passed for tables and their extents."""
    return {t.array: f"({t.element} *){_name('base', t)}" for t in tables} | distances(tables)
