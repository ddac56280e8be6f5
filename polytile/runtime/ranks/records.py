"""What a run on ranks did, as plain records: messages, bytes, memory, and the times of a timeline."""

from __future__ import annotations

from polytile.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Traffic:
    """What one rank sends in one exchange, or in all of a run."""

    messages: int = 0
    bytes: int = 0

    def __add__(self, other: Traffic) -> Traffic:
        return Traffic(self.messages + other.messages, self.bytes + other.bytes)


@dataclass(frozen=True, slots=True)
class Span:
    """Something that one rank did, in seconds since the run began; `step` is the first one of the period.

    `what` is "steps" (kernels up to the last phase of a period), "boundary", "pack", "interior", "wait" or "unpack".
    `wait` is the time in which nothing runs but messages.
    """

    what: str
    step: int
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run of one rank. `before` is sent once, `between` by all exchanges behind it; `reductions` are calls of
    MPI_Allreduce, and what the rank gives to them; bytes of memory are those of
    its arrays, halos included, and of message buffers. `spans` are those of the last periods."""

    rank: int
    steps: int
    exchanges: int
    before: Traffic
    between: Traffic
    array_bytes: int
    buffer_bytes: int
    spans: tuple[Span, ...] = ()
    reductions: Traffic = Traffic()

    @property
    def messages_per_step(self) -> float:
        """Messages that this rank sends in a step, those of the start left out."""
        return self.between.messages / max(self.steps, 1)

    @property
    def bytes_per_step(self) -> float:
        """Bytes that this rank sends in a step, those of the start left out."""
        return self.between.bytes / max(self.steps, 1)
