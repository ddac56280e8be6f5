"""The host program around kernels, whoever made these."""

from __future__ import annotations

from polytile.ir.expr import Stmt
from polytile.ir.host import Buffer, HostProgram
from polytile.ir.kernel import Kernel
from polytile.ir.scop import Scop


def host_program(
    scop: Scop, buffers: tuple[Buffer, ...], kernels: tuple[Kernel, ...], body: tuple[Stmt, ...], strategy: str
) -> HostProgram:
    """Return the program of a Scop's kernels, which the host launches in `body`."""
    return HostProgram(
        name=f"polytile_{scop.name}",
        parameters=scop.parameters,
        arguments=scop.external_arrays,
        by_value=frozenset(a.name for a in scop.external_arrays if scop.by_value(a)),
        buffers=buffers,
        kernels=kernels,
        body=body,
        definitions=scop.definitions,
        external=scop.external,
        device_source=scop.device_source,
        summary=(f"{strategy} schedule",),
        location=scop.location.short if scop.location.line else "",
        asks_memory=bool(scop.allocated),
    )
