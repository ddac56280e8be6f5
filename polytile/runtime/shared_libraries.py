"""Shared libraries that are given back: one process may compile and load thousands, each of which takes up to a
megabyte."""

from __future__ import annotations

import ctypes
import weakref
from _ctypes import dlclose


def closing(library: ctypes.CDLL) -> ctypes.CDLL:
    """Close the library, which is returned, once nothing refers to it or to a function of it.

    Python's ctypes lets `library[name]` keep it.
    """
    weakref.finalize(library, dlclose, library._handle).atexit = False
    return library
