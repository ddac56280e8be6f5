"""A SCoP as an operator of torch, which `torch.compile` takes as a whole.

    C:      void f(int n, double a[n], const double b[n], double s)
    torch:  ns::f(Tensor(a0!) a, Tensor b, float s, *, SymInt? n=None) -> ()

What is written is mutated, and nothing is returned. Sizes are given by name, or follow from the shapes of tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polytile.diagnostics import UsageError
from polytile.ir.scop import Array, Scop
from polytile.runtime.layout import element_dtype
from polytile.runtime.torch_tensors import check_type, torch_type

INSTALL = "pip install torch"
_LIBRARIES: dict[str, Any] = {}  # an operator goes with its library; `custom_op` takes four times as long to call


def torch_op(scop: Scop, name: str, run: Callable[..., None]) -> Any:
    """Register `run`, which takes the arguments of a call by name, and a stream, as the operator `name`,
    "namespace::operator"."""
    _check_name(name)
    torch = _torch()
    arrays = {array.name: array for array in in_order(scop)}
    for array in arrays.values():
        if array.element.kind == "struct" or torch_type(array) is None:
            raise UsageError(f"{scop.name}: {array.name} holds {array.element}, which no tensor can")

    written = tuple(k for k, array in enumerate(arrays.values()) if scop.written(array.name))

    def kernel(*values: Any, **sizes: Any) -> None:
        given = dict(zip(arrays, values, strict=True))
        given |= {size: value for size, value in sizes.items() if value is not None}
        torch.autograd.graph.increment_version([values[k] for k in written])
        device = next((t.device for t in values if getattr(t, "is_cuda", False)), None)
        if device is None:
            run(given)
        else:
            run(given, torch.cuda.current_stream(device))

    def fake(*values: Any, **sizes: Any) -> None:
        for array, value in zip(arrays.values(), values, strict=True):
            if isinstance(value, torch.Tensor):
                check_type(scop, array, value)
                _check_rank(scop, array, value.dim())

    namespace, operator = name.split("::")
    if name in _LIBRARIES:
        _LIBRARIES.pop(name)._destroy()
    try:
        library = torch.library.Library(namespace, "FRAGMENT")
        library.define(f"{operator}{schema(scop)}")
        library.impl(operator, kernel, "CompositeExplicitAutograd")
        torch.library.register_fake(name, fake, lib=library)
    except (RuntimeError, ValueError) as error:
        raise UsageError(f"torch does not register {name}: {str(error).splitlines()[0]}") from error
    _LIBRARIES[name] = library
    return getattr(getattr(torch.ops, namespace), operator).default


def in_order(scop: Scop) -> tuple[Array, ...]:
    """Order the arrays and scalars that an operator takes: in the order of the C function, then the others."""
    place = {name: k for k, name in enumerate(scop.positional)}
    return tuple(sorted(scop.external_arrays, key=lambda array: place.get(array.name, len(place))))


def schema(scop: Scop) -> str:
    """Print the operator's arguments, as torch writes them."""
    found = [_argument(scop, array, k) for k, array in enumerate(in_order(scop))]
    sizes = [f"SymInt? {parameter.name}=None" for parameter in scop.parameters]
    return f"({', '.join([*found, *(['*'] if sizes else []), *sizes])}) -> ()"


def _argument(scop: Scop, array: Array, position: int) -> str:
    if scop.by_value(array):
        kind = {"b": "bool", "f": "float"}.get(element_dtype(array).kind, "int")
        return f"{kind} {array.name}"
    return f"Tensor{f'(a{position}!)' if scop.written(array.name) else ''} {array.name}"


def _check_rank(scop: Scop, array: Array, rank: int) -> None:
    """Check the rank: one dimension may stand for several, and a scalar has one element of any rank."""
    if array.rank > 0 and rank not in (1, array.rank):
        raise UsageError(f"{scop.name}: {array.name} has {rank} dimensions, but C declares {array.rank}")


def _check_name(name: object) -> None:
    parts = name.split("::") if isinstance(name, str) else []
    if len(parts) != 2 or not all(part.isidentifier() for part in parts):
        raise UsageError(f'name must be "namespace::operator", not {name!r}', hint='such as "mine::jacobi"')


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        raise UsageError("as_torch_op needs PyTorch, which is not installed", hint=INSTALL) from None
    return torch
