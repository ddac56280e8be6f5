"""The arguments of a SCoP's call, as C declares them."""

from __future__ import annotations

from polytile.codegen.targets.expressions import Printer
from polytile.diagnostics import InternalError
from polytile.ir.expr import Access, Expr
from polytile.ir.scop import Array, Scop


def signature(scop: Scop) -> str:
    """Print the arguments: what is given by position, then what is given by name alone; written scalars end in `[]`.

    Example: `kernel_gemm_scop0(int ni, int nj, double alpha, double C[ni][nj], *, double tmp[ni][nj])`.
    """
    rest = {p.name: f"{p.type} {p.name}" for p in scop.parameters}
    rest |= {a.name: declared(scop, a) for a in scop.external_arrays}
    first = [rest.pop(name) for name in scop.positional]
    return f"{scop.name}({', '.join([*first, *(['*'] if rest else []), *rest.values()])})"


def declared(scop: Scop, array: Array) -> str:
    """Print a declaration, such as `double C[ni][nj]`."""
    if array.rank == 0:
        return f"{array.element} {array.name}" + ("" if scop.by_value(array) else "[]")
    return f"{array.element} {array.name}" + "".join(f"[{_extent(e)}]" for e in array.extents)


def _extent(extent: Expr | None) -> str:
    return "" if extent is None else Printer(_no_element, cpp=False)(extent)


def _no_element(access: Access, _: Printer) -> str:
    raise InternalError(f"an extent reads memory: {access}")
