"""Opens a library that `compile_shared` made."""

from __future__ import annotations

import ctypes
import tempfile
from pathlib import Path
from typing import Any

from polytile.dataclass import dataclass
from polytile.diagnostics import DeviceError
from polytile.runtime.emulator.sites import Sites
from polytile.runtime.shared_libraries import closing

ABI_VERSION = 2


@dataclass(frozen=True, slots=True)
class EmulatorCounts:
    """What ran since the last reset: launches, blocks, threads, and barriers (counted once per block)."""

    launches: int
    blocks: int
    threads: int
    barriers: int


class EmulatorLibrary:
    """A library of emulated kernels and their host functions. Kernels run in this process, one at a time."""

    def __init__(self, path: Path, handle: ctypes.CDLL) -> None:
        self.path = path
        self.sites = Sites(path)
        self._handle = handle

    @classmethod
    def open(cls, path: Path) -> EmulatorLibrary:
        """Load the library as it is now; a `DeviceError` when it cannot be loaded or is not one of ours."""
        library = cls(path, _load(path))
        version = library.function("polytile_emulator_version")()
        if version != ABI_VERSION:
            raise DeviceError(f"{path} was built with version {version} of the emulator, this is {ABI_VERSION}")
        return library

    def function(self, name: str) -> Any:
        """Return the `extern "C"` function `name`, as ctypes calls it.

        Set its argtypes; it returns an int unless told.
        """
        try:
            return self._handle[name]
        except AttributeError as error:
            raise DeviceError(f'{self.path} has no extern "C" function {name}') from error

    def counts(self) -> EmulatorCounts:
        """Return the counts of what ran since the library was opened or the counts were reset."""
        values = [ctypes.c_ulonglong() for _ in range(4)]
        self.function("polytile_emulator_counts")(*(ctypes.byref(value) for value in values))
        return EmulatorCounts(*(value.value for value in values))

    def launches(self, kernel: str) -> tuple[int, int]:
        """Return how often a kernel ran since then, and how many blocks."""
        address = ctypes.cast(self.function(kernel), ctypes.c_void_p)
        found = [ctypes.c_ulonglong() for _ in range(2)]
        self.function("polytile_emulator_launches")(address, *(ctypes.byref(value) for value in found))
        return found[0].value, found[1].value

    def reset_counts(self) -> None:
        """Count from zero."""
        self.function("polytile_emulator_reset_counts")()

    def message(self) -> str:
        """Return the message of the last kernel that failed (deadlock, barrier divergence), or an empty string."""
        function = self.function("polytile_emulator_message")
        function.restype = ctypes.c_char_p
        text: bytes = function()
        return text.decode(errors="replace")

    def reset_errors(self) -> None:
        """Forget a failed kernel, which otherwise makes every later CUDA call fail."""
        self.function("polytile_emulator_reset_errors")()

    def release_stacks(self) -> None:
        """Give back the stacks of threads between runs: a process has so many mappings only."""
        self.function("polytile_emulator_release_stacks")()

    def allocated_bytes(self) -> int:
        """Return the size of the device memory that is allocated now, in bytes."""
        function = self.function("polytile_emulator_memory")
        function.restype = ctypes.c_ulonglong
        return int(function())


def _load(path: Path) -> ctypes.CDLL:
    """Load through a name of its own: the loader would take a name it has seen for the file that it had then."""
    if not path.is_file():
        raise DeviceError(f"no library at {path}")
    with tempfile.TemporaryDirectory(prefix="polytile-") as directory:
        alias = Path(directory) / path.name
        alias.symlink_to(path.resolve())
        try:
            return closing(ctypes.CDLL(str(alias)))
        except OSError as error:
            raise DeviceError(f"cannot load {path}: {error}") from error
