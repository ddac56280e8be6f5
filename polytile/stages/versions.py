"""Other versions of a compiled SCoP, each proven like the first, which the host takes where they are faster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from polytile.codegen.lowering.program_versions import for_sizes, renamed_kernels
from polytile.codegen.lowering.time_tiles.overlapped.grid_versions import with_small_grids
from polytile.compilation import Compilation, Version
from polytile.diagnostics import UserError
from polytile.ir.scop import Scop
from polytile.ir.version_conditions import FewerCells, near_sizes
from polytile.options import Options, TunedVersion, with_schedule
from polytile.scheduling.candidate import SmallGrids

ENDING = "_tuned"  # of the names of kernels


def for_small_grids(large: Compilation, small: Compilation, asked: SmallGrids) -> Compilation | None:
    """Return overlapped tiles with what runs in place of them on grids of fewer cells, and what they leave; None where
    the two do not copy the same."""
    assert large.program is not None and small.program is not None and large.overlapped is not None
    where = FewerCells(asked.cells, asked.least, asked.iterations)
    both = with_small_grids(large.run.scop, large.overlapped, large.program, small.program, where)
    return None if both is None else large.with_version(Version(small, where, both))


def for_tuned_sizes(
    scop: Scop,
    options: Options,
    tuned: TunedVersion,
    general: Compilation,
    compiled: Callable[[Scop, Options], Compilation],
) -> Compilation:
    """Return a compilation with a version for sizes near those that its schedule was measured with.

    `compiled` is the pipeline. A remark says why there is none where one of the two stays on the host, or they do not
    copy the same. Raises what a schedule raises that is given: IllegalSchedule, UserError.
    """
    unknown = [name for name, _ in tuned.sizes if all(p.name != name for p in scop.parameters)]
    if unknown:
        message = f"{scop.name}: a schedule is for a size {unknown[0]}, which is no parameter"
        raise UserError(message, location=scop.location, hint="start from a file that --save-schedule wrote")
    where = near_sizes(scop, tuned.sizes)
    known = {**dict(tuned.sizes), **options.parameters}
    made = compiled(scop, replace(with_schedule(options, tuned.schedule), parameters=known))
    if made.program is None or general.entry is None:
        return general.with_remark(f"{scop.name}: no version for {where}: one of the two stays on the host")
    made = replace(made, program=renamed_kernels(made.program, general.entry, ENDING), versions=())
    assert made.program is not None
    both = for_sizes(general.entry, made.program, where.ranges, str(where))
    if both is None:
        return general.with_remark(f"{scop.name}: no version for {where}: it keeps other arrays on the device")
    return general.with_version(Version(made, where, both))
