"""Tensors of torch as arguments: what kernels cannot take is refused in torch's words. torch is not imported here: who
passes a tensor has done that."""

from __future__ import annotations

import sys
from typing import Any

from polytile.diagnostics import UsageError
from polytile.ir.scop import Array, Scop
from polytile.runtime.layout import element_dtype


def is_tensor(value: Any) -> bool:
    """Return whether it is a tensor of torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def check_tensor(scop: Scop, array: Array, tensor: Any) -> None:
    """Raise UsageError unless kernels can use the memory of a tensor."""
    torch = sys.modules["torch"]
    written = scop.written(array.name)
    if tensor.layout != torch.strided:
        raise _wrong(scop, f"{array.name} has the layout {tensor.layout}", _copied(array, written, "to_dense()"))
    if tensor.requires_grad:
        hint = f"pass {array.name}.detach(), which shares its memory"
        raise _wrong(scop, f"{array.name} requires grad, and kernels have no derivatives", hint)
    check_type(scop, array, tensor)
    if tensor.device.type == "meta":
        hint = 'allocate it with device="cpu" or device="cuda"'
        raise _wrong(scop, f"{array.name} is on the meta device: it has a shape, but no memory", hint)
    if tensor.device.type not in ("cpu", "cuda"):
        hint = _copied(array, written, "cpu()")
        raise _wrong(scop, f"{array.name} is on {tensor.device}: kernels run on CUDA devices", hint)
    if tensor.is_conj() or tensor.is_neg():
        hint = f"pass {array.name}.resolve_conj().resolve_neg()"
        raise _wrong(scop, f"{array.name} is a lazy conjugate or negative of other memory", hint)
    if not tensor.is_contiguous():
        raise _wrong(scop, f"{array.name} is not contiguous", _copied(array, written, "contiguous()"))


def check_type(scop: Scop, array: Array, tensor: Any) -> None:
    """Raise UsageError unless a tensor has the type of the C elements; it may be a fake one."""
    wanted = torch_type(array)
    if wanted is None:
        hint = "pass a NumPy array with fields"
        raise _wrong(scop, f"{array.name} holds {array.element}, which no tensor can", hint)
    if tensor.dtype != wanted:
        message = f"{array.name} holds {tensor.dtype}, but the C element type is {array.element}"
        raise _wrong(scop, message, _copied(array, scop.written(array.name), f"to({wanted})", f"dtype={wanted}"))


def torch_type(array: Array) -> Any:
    """Return the type in torch of an array's elements; None where there is none."""
    dtype = element_dtype(array)
    return getattr(sys.modules["torch"], "bool" if dtype.kind == "b" else dtype.name, None)


def _copied(array: Array, written: bool, method: str, instead: str = "") -> str:
    """Suggest to copy a tensor that is only read, or to allocate it as kernels need it."""
    if not written:
        return f"use {array.name}.{method}"
    allocate = f"allocate it with {instead}" if instead else "allocate it as kernels need it"
    return f"{array.name} is written, and a copy would not reach you: {allocate}"


def _wrong(scop: Scop, message: str, hint: str) -> UsageError:
    return UsageError(f"{scop.name}: {message}", hint=hint)
