"""Which SCoPs of a program get the schedules of a result file of `polytile tune`, and why others do not.

before: --tuned F, for a SCoP that F has: options
after:  the same options with the schedule of F, which is proven like one of --load-schedule
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from polytile.choices import CHOICES, Choices
from polytile.dataclass import dataclass
from polytile.ir.def_use import mentioned_names
from polytile.ir.scop import Scop
from polytile.options import Options
from polytile.tuned_file import ASSUMED, TunedFile, TunedMachine, TunedScop, scop_digest
from polytile.version import __version__

if TYPE_CHECKING:
    from polytile.runtime.gpu_identity import GpuIdentity

NEAR = 2  # times as large or as small a size is near the one that was measured


@dataclass(frozen=True, slots=True)
class Taken:
    """The options that a SCoP is compiled with, and what is said of that."""

    options: Options
    remark: str


def take(file: TunedFile, scop: Scop, options: Options, gpu: GpuIdentity | None) -> Taken:
    """Return options with the schedule of the file, or as they are where it says nothing on the SCoP.

    `scop` is as it was extracted, `options` are its own; `gpu` is the one of this machine, if any.
    """
    reason = obstacle(file, scop, options, gpu)
    one = file.scop(scop.name)
    if reason or one is None:
        return Taken(options, f"{scop.name}: the schedule is the compiler's own choice: {reason}")
    return Taken(with_schedule(options, one), f"{scop.name}: tuned, {measured(one, file.machine)}")


def decisive_sizes(scop: Scop) -> frozenset[str]:
    """Return the sizes that decide how fast a schedule is beside others: those of arrays, or all where arrays have
    none. The number of steps in time is none of them."""
    names = {p.name for p in scop.parameters}
    found = names & set(mentioned_names(*(e for a in scop.arrays for e in a.extents if e is not None)))
    return frozenset(found or names)


def obstacle(file: TunedFile, scop: Scop, options: Options, gpu: GpuIdentity | None) -> str:
    """Return why the file says nothing on a SCoP that is compiled with these options: it is not in it, it was another
    one, or it was measured elsewhere; `gpu` is the one of this machine, if any. "" where it does."""
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
    far = [name for name in sorted(decisive_sizes(scop)) if not _is_near(one.sizes, options.parameters, name)]
    if far:
        size, other = one.sizes[far[0]], options.parameters[far[0]]
        return f"{file.name} was measured with {far[0]} = {size}, and {other} is not near that"
    return ""


def with_schedule(options: Options, one: TunedScop) -> Options:
    """Return options with a tuned schedule in place of what they ask of strategies. What a schedule does not say
    (registers, the order of bodies) is as it was measured where they ask for nothing."""
    plain = {choice.name: getattr(Choices(), choice.name) for choice in CHOICES if choice.in_schedule}
    return replace(options, **plain, load_schedule=one.schedule)


def measured(one: TunedScop, machine: TunedMachine) -> str:
    """Return what was measured, for a remark."""
    at = ", ".join(f"{name} = {value}" for name, value in one.sizes.items())
    where = f"on {machine.gpu or machine.arch}{at and f', {at}'}"
    if one.milliseconds is None or one.default_milliseconds is None:
        return where
    return f"{one.milliseconds:.4g} ms beside {one.default_milliseconds:.4g} of the compiler's own choice {where}"


def _is_near(there: Mapping[str, int], here: Mapping[str, int], name: str) -> bool:
    """Whether a size is near the one that was measured, as far as it is known."""
    if name not in there or name not in here:
        return True
    return there[name] <= NEAR * here[name] and here[name] <= NEAR * there[name]


def _plain(value: Any) -> str:
    return " ".join(value) if isinstance(value, tuple | list) else str(value)
