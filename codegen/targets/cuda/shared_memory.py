"""Shared memory of a kernel: static arrays, or one dynamic block above the static limit."""

from __future__ import annotations

from polytile.codegen.targets.dialects import CUDA, Dialect
from polytile.codegen.targets.expressions import type_name
from polytile.ir.def_use import elements
from polytile.ir.kernel import Kernel
from polytile.ir.memory import Storage, constant_extents, shared_size
from polytile.ir.reserved_names import identifier
from polytile.machine import SHARED_ALIGNMENT, STATIC_SHARED_BYTES

BLOCK = "polytile_shared"


def brackets(storage: Storage) -> str:
    """Print the extents: `[32][33]`."""
    return "".join(f"[{size}]" for size in constant_extents(storage))


def shared_bytes(kernel: Kernel) -> int:
    """Return the bytes of shared memory of one block."""
    return sum(shared_size(s) for s in kernel.shared)


def dynamic_shared_bytes(kernel: Kernel) -> int:
    """Return the bytes that a launch has to ask for: 0 while the arrays fit in static shared memory."""
    size = shared_bytes(kernel)
    return size if size > STATIC_SHARED_BYTES else 0


def shared_declarations(kernel: Kernel, dialect: Dialect = CUDA) -> list[str]:
    """Print the declarations at the top of the kernel.

    static:   __shared__ double s_A[32][33];    (with __align__(16) where the kernel has wide accesses)
    dynamic:  extern __shared__ __align__(16) unsigned char polytile_shared[];
              double (&s_A)[32][33] = *(double (*)[32][33])(polytile_shared + 0);
    """
    if not dynamic_shared_bytes(kernel):
        align = f"{dialect.align.format(SHARED_ALIGNMENT)} " if kernel.shared and _wide(kernel) else ""
        return [f"__shared__ {align}{type_name(s.element)} {identifier(s.name)}{brackets(s)};" for s in kernel.shared]
    lines = [f"extern __shared__ {dialect.align.format(SHARED_ALIGNMENT)} unsigned char {BLOCK}[];"]
    offset = 0
    for s in kernel.shared:
        lines.append(_carved(s, offset))
        offset += shared_size(s)
    return lines


def _wide(kernel: Kernel) -> bool:
    """Return whether some access is wider than an element, so that arrays start where it may."""
    return any(elements(n) > 1 for n in kernel.nodes)


def _carved(storage: Storage, offset: int) -> str:
    element, sizes = type_name(storage.element), brackets(storage)
    name = f"(&{identifier(storage.name)}){sizes}" if sizes else f"&{identifier(storage.name)}"
    pointer = f"{element} (*){sizes}" if sizes else f"{element} *"
    return f"{element} {name} = *({pointer})({BLOCK} + {offset});"
