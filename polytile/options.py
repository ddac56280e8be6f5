"""What a user may ask of one compilation, validated once."""

from __future__ import annotations

from dataclasses import field, replace
from math import prod

from polytile.c_flags import check_flags
from polytile.choices import CHOICES, CLASSIC, MAX_POINTS, OVERLAPPED, SPLIT, SUPERPOSED, TILED, Choices
from polytile.dataclass import dataclass
from polytile.diagnostics import UsageError
from polytile.machine import MAX_BLOCK_THREADS, STATIC_SHARED_BYTES, machine_of

# The strategies, the module of each with its `propose`. The first is the simplest; a later one is chosen where it is
# clearly faster, and gives way to one before it where it cannot be proven or has no kernels.
STRATEGIES = {
    CLASSIC: "polytile.scheduling.strategies.classic",
    SUPERPOSED: "polytile.scheduling.strategies.superposed.strategy",
    TILED: "polytile.scheduling.strategies.tiled.strategy",
    SPLIT: "polytile.scheduling.strategies.split.strategy",
    OVERLAPPED: "polytile.scheduling.strategies.overlapped.strategy",
}
MAX_OPERATIONS = 20_000_000
CODE_OPERATIONS = MAX_OPERATIONS // 4  # isl operations of finding the loops of a schedule
ARRAY_SHARE = 40  # of the operations, for the dependences through one array
IN_HASTE = 20_000  # operations of a scheduling call where more took too long


def own_tiles(strategy: str) -> UsageError:
    """Return the error for points of a thread that are asked of a strategy whose threads have theirs already."""
    return UsageError(
        f"--points: the {strategy} strategy has tiles of its own", hint=f"--schedule auto, classic or {SUPERPOSED}"
    )


@dataclass(frozen=True, slots=True)
class TunedVersion:
    """Another version of a SCoP: its schedule as `--save-schedule` writes it, and the sizes that it was measured with,
    near which it is taken."""

    schedule: str
    sizes: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Options(Choices):
    """Options of a compilation: what its strategy is asked for, and what else it depends on."""

    cflags: tuple[str, ...] = ()  #: of the C compiler that the program is built with, see `polytile.c_flags`
    parameters: dict[str, int] = field(default_factory=dict)  #: values known of the SCoP's parameters
    specialize: bool = False  #: kernels for these values alone; the C runs for others
    min_compute: int = 0  #: statement instances of a SCoP below which a program's host file runs the C
    strict: bool = False  #: no reassociation, no contraction, no reciprocals that round
    atomics: bool = False  #: floating sums in elements that data choose come in any order, another one in each run
    arch: str = "sm_90"  #: the GPU's architecture
    load_schedule: str | None = None  #: the text of a schedule file
    tuned: TunedVersion | None = None  #: beside the schedule, another one for sizes near some
    max_operations: int = MAX_OPERATIONS  #: isl operations per analysis or scheduling call
    #: an internal error ends the compilation; otherwise it goes on without the SCoP, or without the improvement of its
    #: kernels that fails
    raise_bugs: bool = False
    verify_passes: bool = False  #: check each kernel behind each pass

    def __post_init__(self) -> None:
        for choice in CHOICES:
            choice.check(getattr(self, choice.name))
        check_flags(self.cflags)
        self._check_points()
        self._check_planes()
        if self.specialize and not self.parameters:
            raise UsageError("--specialize: there are no values to specialize for", hint="give them with --param N=V")
        if self.strict and self.atomics:
            raise UsageError("--atomics changes the order of additions, which --fp strict keeps", hint="one of the two")
        if self.min_compute < 0:
            raise UsageError("--min-compute is at least 0", hint="0 runs the kernels however little they compute")
        if self.max_operations < 1:
            raise UsageError("--max-operations is at least 1")
        if len(self.block) > 3:
            raise UsageError("--block takes at most three sizes", hint="a block has dimensions z, y and x")
        machine = machine_of(self.arch)
        if prod(self.block) > MAX_BLOCK_THREADS:
            raise UsageError(
                f"--block: {'x'.join(map(str, self.block))} = {prod(self.block)} threads is larger than a GPU's block",
                hint=f"at most {MAX_BLOCK_THREADS} threads",
            )
        if self.max_shared_memory is not None and not 0 <= self.max_shared_memory <= machine.shared_per_block:
            raise UsageError(
                f"--max-shared-memory: a block of {self.arch} cannot have {self.max_shared_memory} bytes",
                hint=f"at most {machine.shared_per_block}",
            )

    def _check_points(self) -> None:
        if prod(self.points) > MAX_POINTS:
            counts = " x ".join(map(str, self.points))
            message = f"--points: {counts} = {prod(self.points)} points of a thread are too many"
            raise UsageError(message, hint=f"at most {MAX_POINTS} in all")
        if self.points and self.schedule in (TILED, OVERLAPPED):
            raise own_tiles(self.schedule)

    def _check_planes(self) -> None:
        if self.planes == "auto":
            if self.barriers or self.read_only is not None:
                option = "--barriers" if self.barriers else "--read-only"
                hint = "say where planes are, with --planes shared or --planes registers"
                raise UsageError(f"{option} is for streaming kernels of one step", hint=hint)
        elif self.schedule not in ("auto", OVERLAPPED):
            message = f"--planes: the {self.schedule} strategy has no planes of a stream"
            raise UsageError(message, hint=f"--schedule {OVERLAPPED}")
        elif self.time_tile > 1:
            message = f"--planes {self.planes}: such kernels run one step, not {self.time_tile}"
            raise UsageError(message, hint="--time-tile 1")

    @property
    def shared_memory(self) -> int:
        """The bytes of shared memory that a block may use."""
        return STATIC_SHARED_BYTES if self.max_shared_memory is None else self.max_shared_memory

    @property
    def enough_operations(self) -> int:
        """isl operations where less makes nothing simpler: of proofs, and of what they rest on."""
        return max(self.max_operations, MAX_OPERATIONS)

    @property
    def array_operations(self) -> int:
        """isl operations for the dependences through one array. Relations that take long to find take much longer to
        schedule and to prove, so each array gets a small part of the budget."""
        return self.enough_operations // ARRAY_SHARE


def with_schedule(options: Options, schedule: str) -> Options:
    """Return options with a schedule in place of what they ask of strategies; what it does not say itself (registers,
    the order of bodies) stays."""
    plain = {choice.name: getattr(Choices(), choice.name) for choice in CHOICES if choice.in_schedule}
    return replace(options, **plain, load_schedule=schedule, tuned=None)
