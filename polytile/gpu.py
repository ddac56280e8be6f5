"""Machine descriptions: what a schedule and a kernel may use on one GPU architecture."""

from __future__ import annotations

from dataclasses import dataclass

from polytile.diagnostics import UsageError


@dataclass(frozen=True, slots=True)
class Gpu:
    """Limits of one architecture; sizes in bytes. Source: CUDA C++ Programming Guide, compute capabilities."""

    arch: str
    sms: int
    shared_per_block: int  # the most a block can opt in to
    static_shared_per_block: int = 48 * 1024
    shared_reserved: int = 1024  # of each block's shared memory, by the system
    shared_portion: int = 128  # what a block gets is a multiple of this
    registers_per_sm: int = 65536
    blocks_per_sm: int = 32
    threads_per_block: int = 1024
    threads_per_sm: int = 2048
    block_limit: tuple[int, int, int] = (1024, 1024, 64)
    grid_limit: tuple[int, int, int] = (2**31 - 1, 65535, 65535)
    warp: int = 32

    @property
    def shared_per_sm(self) -> int:
        """Shared memory for all blocks of a multiprocessor."""
        return self.shared_per_block + self.shared_reserved


_KNOWN = {
    g.arch: g
    for g in (
        Gpu("sm_70", 80, 96 * 1024, shared_reserved=0, shared_portion=256),
        Gpu("sm_75", 40, 64 * 1024, shared_reserved=0, shared_portion=256, threads_per_sm=1024, blocks_per_sm=16),
        Gpu("sm_80", 108, 163 * 1024),
        Gpu("sm_86", 84, 99 * 1024, threads_per_sm=1536, blocks_per_sm=16),
        Gpu("sm_89", 128, 99 * 1024, threads_per_sm=1536, blocks_per_sm=24),
        Gpu("sm_90", 132, 227 * 1024),
        Gpu("sm_100", 148, 227 * 1024),
        Gpu("sm_120", 170, 99 * 1024, threads_per_sm=1536, blocks_per_sm=24),
    )
}


def gpu(arch: str) -> Gpu:
    """The description of `arch`; raises UsageError for one that polytile does not know."""
    try:
        return _KNOWN[arch.removesuffix("a")]
    except KeyError:
        raise UsageError(f"unknown architecture {arch!r}", hint=f"one of {', '.join(_KNOWN)}") from None
