"""`--polytile-ranks`: the C driver of SCoPs that run on ranks of MPI, in the object of their source.

before: himeno.c; FOLDER/texts/himeno_mpi.c, himeno_mpi.h and himeno_mpi_kernel.cu, as `polytile --ranks` writes them
after:  himeno.o with himeno_mpi() in it, himeno_mpi.h beside it
"""

from __future__ import annotations

from pathlib import Path

from polytile.cc.objects import joined, united
from polytile.cc.own_options import Settings
from polytile.dataclass import dataclass
from polytile.runtime.build import Build
from polytile.runtime.compilers import check_command
from polytile.runtime.mpi_compiler import MpiFlags, mpi_flags

_C_FLAGS = ("-std=gnu99", "-w", "-fno-lto", "-x", "c", "-c")


@dataclass(frozen=True, slots=True)
class Driver:
    """The files of a source's SCoPs on ranks."""

    source: Path
    header: Path
    unit: Path

    @classmethod
    def beside(cls, host: Path) -> Driver | None:
        """Return the files beside the host file of a source, None where no SCoP of it is distributed."""
        stem = host.name.removesuffix("_host.c")
        made = cls(*(host.with_name(f"{stem}{end}") for end in ("_mpi.c", "_mpi.h", "_mpi_kernel.cu")))
        return made if made.source.exists() else None


def flags_for(settings: Settings) -> MpiFlags:
    """Return what MPI's compiler adds to a command line, nothing without ranks. Raises DeviceError where there is no
    such compiler."""
    return mpi_flags() if settings.ranks else MpiFlags((), ())


def with_driver(functions: Path, driver: Driver, host: list[str], given: list[str], build: Build, folder: Path) -> Path:
    """Compile a driver, and join it with the object of the source's other functions. Raises DeviceError where a
    compiler fails."""
    text, object_ = driver.source, folder / "driver.o"
    flags = mpi_flags().compile
    check_command([*host, *given, *flags, *_C_FLAGS, str(text), "-o", str(object_)], f"compiling {text.name}")
    folder = folder / "driver"
    folder.mkdir()
    return united(functions, joined(object_, build.kernel_object(driver.unit), build.on, folder), folder)
