"""Heap memory that host and GPU share (CUDA's managed memory), for a program whose SCoPs run again and again.

before: double *a = malloc(n * sizeof *a);                   each call of a SCoP copies a in and out
after:  double *a = polytile_managed_malloc(n * sizeof *a);  kernels use a where it is; its pages go where they are used

C files are compiled with these names as macros, so that `<stdlib.h>` itself declares the functions, and `free` takes
what any of them returns, or what the C library does. Entry points already use managed memory in place.
"""

from __future__ import annotations

from pathlib import Path

SOURCE = Path(__file__).with_name("managed_heap.cu")
FUNCTIONS = ("malloc", "calloc", "realloc", "reallocarray", "free", "posix_memalign", "aligned_alloc")


def definitions() -> list[str]:
    """Return the options of a C compiler with which a file allocates from the managed heap."""
    return [f"-D{name}=polytile_managed_{name}" for name in FUNCTIONS]
