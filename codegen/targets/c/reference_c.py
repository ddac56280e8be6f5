"""A SCoP as one sequential C99 function: the reference of SCoPs that were never C.

before: For("i", ..., Assign(A[i][j], "+", B[i][j]))
after:  void NAME(int n, int m, double *A, const double *B) { for (...) A[(long long)i * m + j] += ...; }
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from polytile.codegen.targets.expressions import Printer, linear_index, type_name, used_helpers
from polytile.codegen.targets.line_wrap import indented, wrapped
from polytile.codegen.targets.statements import StatementPrinter
from polytile.codegen.targets.templating import render
from polytile.diagnostics import InternalError
from polytile.ir.def_use import written_arrays
from polytile.ir.expr import LLONG, Access, Binary, Cast, Expr, Literal, Stmt
from polytile.ir.scop import Array, Origin, Parameter
from polytile.ir.struct_fields import spelt


def print_sequential(
    name: str,
    parameters: Sequence[Parameter],
    arrays: Sequence[Array],
    by_value: Collection[str],
    body: Sequence[Stmt],
    definitions: str,
) -> str:
    """Print the C text of `void name(parameters, external arrays)`; other arrays are allocated inside.

    Arrays are pointers to their first element, as for an entry point; a scalar in `by_value` is passed by value.
    """
    by_name = {a.name: a for a in arrays}
    external = [a for a in arrays if a.origin is Origin.EXTERNAL]
    inner = [a for a in arrays if a.origin is not Origin.EXTERNAL]
    written = written_arrays(*body)
    printer = Printer(lambda access, printer: _element(by_name[access.array], access, by_value, printer), cpp=False)
    parts = [f"{p.type} {p.name}" for p in parameters]
    parts += [_parameter(a, a.name in by_value, a.name in written) for a in external]
    lines = [
        *(_allocation(a, printer) for a in inner),
        *StatementPrinter(printer).lines(body),
        *(f"free({a.name});" for a in inner if a.rank),
    ]
    return render(
        "sequential.c.j2",
        helpers=sorted(used_helpers([*body, *_extents(arrays)])),
        definitions=definitions.strip(),
        function="\n".join([*wrapped(f"void {name}(", parts or ["void"], ")"), "{", *indented(lines), "}"]),
    )


def _extents(arrays: Sequence[Array]) -> list[Expr]:
    return [e for a in arrays for e in a.extents if e is not None]


def _parameter(array: Array, value: bool, written: bool) -> str:
    element = type_name(array.element, cpp=False)
    return f"{element} {array.name}" if value else f"{'' if written else 'const '}{element} *{array.name}"


def _element(array: Array, access: Access, by_value: Collection[str], printer: Printer) -> str:
    field = spelt(access.field or "", [printer(s) for s in access.inside])
    if array.name in by_value or (array.rank == 0 and array.origin is not Origin.EXTERNAL):
        return f"{array.name}{field}"
    return f"{array.name}[{printer(linear_index(access.subscripts, array.extents))}]{field}"


def _allocation(array: Array, printer: Printer) -> str:
    element = type_name(array.element, cpp=False)
    if not array.rank:
        return f"{element} {array.name};"
    size: Expr = Literal("1")
    for extent in array.extents:
        if extent is None:
            raise InternalError(f"the size of {array.name} is unknown")
        size = Cast(LLONG, extent) if isinstance(size, Literal) else Binary("*", size, extent, LLONG)
    count = printer(size)
    return f"{element} *{array.name} = calloc({count} > 0 ? {count} : 1, sizeof *{array.name});"
