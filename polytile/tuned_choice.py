"""Which SCoPs of a program get the schedules of a result file of `polytile tune`, and why others do not.

before: --tuned F, for a SCoP that F has: options
after:  the same options with the schedule of F, which is proven like one of --load-schedule; where the sizes of arrays
        are not known, as another version, which the host takes near those that were measured

What options ask of schedules (--schedule, --tile) is for SCoPs and sizes that F says nothing on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from polytile.choices import CHOICE
from polytile.dataclass import dataclass
from polytile.ir.scop import Scop
from polytile.ir.version_conditions import near_sizes
from polytile.options import Options, TunedVersion, with_schedule
from polytile.runtime.parameters import with_products
from polytile.tuned_file import ASSUMED, TunedFile, TunedMachine, TunedScop, scop_digest
from polytile.version import __version__

if TYPE_CHECKING:
    from polytile.runtime.gpu_identity import GpuIdentity

@dataclass(frozen=True, slots=True)
class Taken:
    """The options that a SCoP is compiled with, and what is said of that; `stale`: the file has the SCoP, and says
    nothing on it all the same."""

    options: Options
    remark: str
    stale: bool = False


def take(file: TunedFile, scop: Scop, options: Options, gpu: GpuIdentity | None) -> Taken:
    """Return options with the schedule of the file, or as they are where it says nothing on the SCoP, which is as it
    was extracted; `gpu` is the one of this machine, if any."""
    given = {p.name: options.parameters[p.name] for p in scop.parameters if p.name in options.parameters}
    sizes = with_products(scop, given)
    reason = obstacle(file, scop, options, sizes, gpu)
    one = file.scop(scop.name)
    if reason or one is None:
        whose = f"that of {_listed(asked)}" if (asked := _of_schedules(options)) else "the compiler's own choice"
        return Taken(options, f"{scop.name}: the schedule is {whose}: {reason}", stale=one is not None)
    said = f"{scop.name}: tuned, {measured(one, file.machine)}"
    near, asked = near_sizes(scop, one.sizes.items()), _of_schedules(options)
    if near.decisive <= sizes.keys():
        left = f"; {_listed(asked)} {'say' if len(asked) > 1 else 'says'} nothing here" if asked else ""
        return Taken(with_schedule(options, one.schedule), said + left)
    ranges = ", ".join(f"{least} <= {name} <= {most}" for name, least, most in near.ranges)
    version = TunedVersion(one.schedule, tuple(one.sizes.items()))
    left = f", {_listed(asked)} elsewhere" if asked else ""
    return Taken(replace(options, tuned=version), f"{said}; taken where {ranges}{left}")


def obstacle(
    file: TunedFile, scop: Scop, options: Options, sizes: Mapping[str, int], gpu: GpuIdentity | None
) -> str:
    """Return why the file says nothing on a SCoP that is compiled with these options and known sizes: it is not in it,
    it was another one, or it was measured elsewhere; `gpu` is the one of this machine, if any. "" where it does."""
    one, machine = file.scop(scop.name), file.machine
    if one is None:
        return f"{file.name} does not have it"
    if one.source != scop_digest(scop):
        return f"it has changed since {file.name} was written"
    pairs = [("for", machine.arch, options.arch), ("with polytile", machine.polytile, __version__)]
    if gpu is not None:
        pairs += [("on", machine.gpu, gpu.name), ("with driver", machine.driver, gpu.driver)]
    for word, there, here in pairs:
        if there != here and there and here:
            return f"{file.name} was measured {word} {there}, and this is {here}"
    for name in ASSUMED:
        asked, asks = one.options.get(name, getattr(Options(), name)), getattr(options, name)
        if asked != asks:
            return f"{file.name} was measured with {name}={_plain(asked)}, and this is {name}={_plain(asks)}"
    if options.specialize and any(sizes.get(name) != size for name, size in one.sizes.items()):
        return f"{file.name} was measured with kernels for other values alone"
    far = near_sizes(scop, one.sizes.items()).far(sizes)
    if far:
        size, other = one.sizes[far[0]], sizes[far[0]]
        return f"{file.name} was measured with {far[0]} = {size}, and {other} is not near that"
    return ""


def measured(one: TunedScop, machine: TunedMachine) -> str:
    """Return what was measured, for a remark."""
    at = ", ".join(f"{name} = {value}" for name, value in one.sizes.items())
    where = f"on {machine.gpu or machine.arch}{at and f', {at}'}"
    if one.milliseconds is None or one.default_milliseconds is None:
        return where
    return f"{one.milliseconds:.4g} ms beside {one.default_milliseconds:.4g} of the compiler's own choice {where}"


def _of_schedules(options: Options) -> list[str]:
    """Return the options, as they are typed, that ask for what a mapped schedule says itself."""
    return [CHOICE[name].option for name in options.asked if CHOICE[name].in_schedule]


def _listed(options: Sequence[str]) -> str:
    """Join options in a sentence: `--schedule, --tile and --block`."""
    *others, last = options
    return f"{', '.join(others)} and {last}" if others else last


def _plain(value: Any) -> str:
    return " ".join(value) if isinstance(value, tuple | list) else str(value)
