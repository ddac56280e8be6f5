"""The stream that a caller names for kernels: CuPy's, torch's, an object of CUDA's stream protocol, or a handle."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from polytile.diagnostics import UsageError
from polytile.runtime.cupy_engine import require_cupy


def as_current(stream: Any) -> Any:
    """Return a context in which CuPy's current stream is this one; raises UsageError for what is no stream."""
    return _of(require_cupy(), handle_of(stream))


@lru_cache(maxsize=64)
def _of(cupy: Any, handle: int) -> Any:
    return cupy.cuda.ExternalStream(handle)


def handle_of(stream: Any) -> int:
    """Return CUDA's number of a stream, of which `__cuda_stream__` gives (version 0, handle); raises UsageError for
    what is none."""
    if (protocol := getattr(stream, "__cuda_stream__", None)) is not None:
        return int((protocol() if callable(protocol) else protocol)[1])
    for name in ("cuda_stream", "ptr"):  # of torch's, and of CuPy's before it knew the protocol
        if (handle := getattr(stream, name, None)) is not None:
            return int(handle)
    if isinstance(stream, int) and not isinstance(stream, bool):
        return stream
    raise UsageError(
        f"stream is {type(stream).__name__}, which names no CUDA stream",
        hint="pass a stream of CuPy or torch, an object with __cuda_stream__, or the handle of one",
    )
