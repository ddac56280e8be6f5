"""How the checks of kernels say no."""

from __future__ import annotations

from polytile.diagnostics import InternalError
from polytile.ir.expr import Node
from polytile.ir.kernel import Kernel


def ensure(holds: object, kernel: Kernel, node: Node | None, message: str) -> None:
    """Raise InternalError with the kernel's name and the node unless `holds`."""
    if not holds:
        from polytile.ir.node_text import node_text  # for what ends the compilation alone

        at = "" if node is None else f", at {node_text(node)}"
        raise InternalError(f"kernel {kernel.name}: {message}{at}")
