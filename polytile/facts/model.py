"""What is known of a compiled file, as plain records: loops with the reasons why they are serial and where they run,
kernels, transfers, refusals. Nothing here is isl's or the compiler's own data; `dataclasses.asdict` gives JSON.

Kinds of dependence are those of Kennedy and Allen, Optimizing Compilers for Modern Architectures (2001), section 2.2:
flow (a write, then a read), anti (a read, then a write) and output (two writes).
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from polytile.dataclass import dataclass

Values = tuple[tuple[str, int], ...]  # names and what they are


class LoopKind(StrEnum):
    """What the dependences between the iterations of a loop allow."""

    PARALLEL = "parallel"  #: none of them waits for another
    REDUCTION = "reduction"  #: they only add up (multiply, ...) into the same elements
    SERIAL = "serial"
    UNEXAMINED = "not examined"  #: that takes more isl operations than were allowed


class DependenceKind(StrEnum):
    FLOW = "flow"
    ANTI = "anti"
    OUTPUT = "output"


class Where(StrEnum):
    """Who runs the iterations of a loop."""

    HOST = "host"  #: one launch of kernels after another, or the user's C
    GRID = "grid"  #: the blocks of a launch
    BLOCK = "block"  #: the threads of a block
    THREAD = "thread"  #: each thread, one after another
    ONE_THREAD = "one thread"  #: the only thread of a launch, one after another


@dataclass(frozen=True, slots=True)
class AccessPlace:
    """One execution of an access: `text` is the access in terms of the iterators, `iteration` what they are, outermost
    first."""

    statement: str
    text: str
    line: int
    iteration: Values


@dataclass(frozen=True, slots=True)
class Witness:
    """Two iterations of a loop, equal in the loops around it, of which the one at `sink` must follow that at `source`:
    the least such pair at the least `sizes` (the lexicographic minimum of sizes, source and sink). With `may`, data
    decide whether both accesses happen, or the exact analysis took too long."""

    kind: DependenceKind
    array: str
    source: AccessPlace
    sink: AccessPlace
    sizes: Values
    may: bool


@dataclass(frozen=True, slots=True)
class Place:
    """One of the levels at which a loop runs: over tiles of `tile` iterations (1: over iterations), and, where it is
    `skewed`, in one wavefront with other loops."""

    where: Where
    tile: int = 1
    skewed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LoopMapping:
    """Where a kernel runs a loop, from the outermost level inwards; `steps` is how many iterations of a loop over time
    one kernel runs (0: no such tiling)."""

    kernel: str
    places: tuple[Place, ...]
    steps: int = 0


@dataclass(frozen=True, slots=True)
class LoopFacts:
    """A loop of the source. `line` is 0 where it did not come from C; `level` counts the loops around it.

    `arrays` are those that a reduction adds up into, or (of a parallel loop) those whose reuse alone kept its
    iterations in order, and which have copies now. A serial loop has a `witness`; without one, `reason` says why.
    """

    iterator: str
    file: str
    line: int
    level: int
    statements: tuple[str, ...]
    kind: LoopKind
    arrays: tuple[str, ...] = ()
    witness: Witness | None = None
    reason: str = ""
    mappings: tuple[LoopMapping, ...] = ()

    @property
    def where(self) -> tuple[Where, ...]:
        """Where it runs, over all kernels: the host where there is none."""
        found = (place.where for mapping in self.mappings for place in mapping.places)
        return tuple(sorted(set(found), key=list(Where).index)) or (Where.HOST,)


@dataclass(frozen=True, slots=True)
class StatementFacts:
    name: str
    file: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class ArrayFacts:
    """An array or scalar of the user's: extents outermost first as C expressions, None where C does not say."""

    name: str
    type: str
    extents: tuple[str | None, ...]
    live_in: bool
    live_out: bool


@dataclass(frozen=True, slots=True)
class TransferFacts:
    """What is copied between host and device: `elements`, a C expression over the sizes, from linear index `first`."""

    array: str
    first: str
    elements: str
    copy_in: bool
    copy_out: bool


@dataclass(frozen=True, slots=True)
class AccessFacts:
    """An access of a kernel, by estimate: 32-byte sectors a request of a warp (of `shared` memory: turns of banks)."""

    statement: str
    array: str
    kind: str
    place: str  #: `gemm.c:49`
    sectors: float
    coalesced: bool
    shared: bool


@dataclass(frozen=True, slots=True)
class KernelFacts:
    """A kernel: `grid` (x, y, z) blocks as C expressions over sizes and loops of the host, `block` threads. By estimate
    for the sizes of `ScopFacts.sizes`: `launches`, the `microseconds` of all of them, and what they wait for longest;
    None where there is no estimate for this kernel alone."""

    name: str
    grid: tuple[str, str, str]
    block: tuple[int, int, int]
    launches: float | None = None
    microseconds: float | None = None
    bound: str = ""
    accesses: tuple[AccessFacts, ...] = ()


class CodePartKind(StrEnum):
    KERNEL = "kernel"
    ENTRY = "entry"  # what the host calls: copies and launches


@dataclass(frozen=True, slots=True)
class CodePart:
    """A function of the generated .cu, in its lines `first_line` to `last_line`, the comment on top included."""

    name: str
    kind: CodePartKind
    first_line: int
    last_line: int


@dataclass(frozen=True, slots=True)
class GeneratedLine:
    """A line of the generated .cu, and the line of the user's C that it computes."""

    line: int
    file: str
    source_line: int


@dataclass(frozen=True, slots=True)
class ScopFacts:
    """A SCoP, in the lines `first_line` to `last_line` of the file (0 where it did not come from C).

    `kernels` is empty where it stays on the host. `sizes` are those of estimates; `assumed` names the ones that nobody
    gave. `proof` says what was proven, `schedule` and `plans` are the mapped tree and what it does not say, `cuda` is
    the text of the kernels and of the entry point that launches them; `parts` says which of its lines they are, and
    `origins` which lines of the C its lines compute.
    """

    name: str
    file: str
    line: int
    first_line: int
    last_line: int
    signature: str
    strategy: str
    loops: tuple[LoopFacts, ...]
    statements: tuple[StatementFacts, ...]
    arrays: tuple[ArrayFacts, ...]
    transfers: tuple[TransferFacts, ...]
    kernels: tuple[KernelFacts, ...]
    microseconds: float | None
    sizes: Values
    assumed: tuple[str, ...]
    proof: tuple[str, ...]
    remarks: tuple[str, ...]
    considered: tuple[str, ...]
    schedule: str
    plans: str
    cuda: str
    parts: tuple[CodePart, ...] = ()
    origins: tuple[GeneratedLine, ...] = ()

    @property
    def serial(self) -> Iterator[LoopFacts]:
        return (loop for loop in self.loops if loop.kind is LoopKind.SERIAL)


@dataclass(frozen=True, slots=True)
class RefusalFacts:
    """A loop or SCoP that stays the user's C: `left_out` where nobody marked it, and `--autodetect` tried it."""

    file: str
    line: int
    column: int
    message: str
    hint: str
    left_out: bool = False


@dataclass(frozen=True, slots=True)
class ProgramFacts:
    """A C file with its SCoPs, in the order of the file; `source` is its text, `host` what replaces it."""

    path: str
    source: str
    scops: tuple[ScopFacts, ...]
    refusals: tuple[RefusalFacts, ...]
    host: str
    header: str
