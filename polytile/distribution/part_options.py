"""Options of what each rank runs: phases, which are one step on a box, and copies of halos."""

from __future__ import annotations

from dataclasses import replace

from polytile.choices import Choices
from polytile.options import Options


def phase_options(options: Options) -> Options:
    """Return options for one step on a box: values of sizes, schedules of the whole program and tiles over time are
    left out."""
    schedule = options.schedule if options.schedule == "classic" else "auto"
    plain = replace(options, schedule=schedule, parameters={}, specialize=False, min_compute=0)
    return replace(plain, sizes=None, time_tile=Choices().time_tile, load_schedule=None, tuned=None)


def copy_options(options: Options) -> Options:
    """Return options for packing and unpacking."""
    return Options(cflags=options.cflags, strict=options.strict, arch=options.arch, schedule="classic")
