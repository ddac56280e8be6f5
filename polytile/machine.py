"""Machine descriptions: what a schedule and a kernel may use on one GPU architecture."""

from __future__ import annotations

from dataclasses import replace

from polytile.dataclass import dataclass
from polytile.diagnostics import UsageError
from polytile.tuning import Tuning

# What holds of every architecture (CUDA C++ Programming Guide, compute capabilities; CUDA Binary Utilities)
WARP_SIZE = 32
SEGMENT_SIZES = (2, 4, 8, 16, 32)  # parts of a warp that shuffles stay within
SECTOR_BYTES = 32  # what memory and caches hand out at once
CACHE_LINE_BYTES = 128
L1_BYTES_PER_CYCLE = 64  # from L1 to the registers of a multiprocessor
L1_MOST_BYTES_PER_CYCLE = 128  # the same, to threads that have all of their loads under way
VECTOR_BYTES = (8, 16)  # of one access to several elements, which is at a multiple of so many
VECTOR_ELEMENTS = (2, 4)
ASYNC_COPY_BYTES = (4, 8, 16)
SHARED_ALIGNMENT = 16  # of shared arrays, in bytes
STATIC_SHARED_BYTES = 48 * 1024  # of a block; a kernel that takes more has to opt in
MAX_BLOCK_THREADS = 1024
MAX_BLOCK = (1024, 1024, 64)  # threads along x, y and z
MAX_DIMENSIONS = 3  # of blocks and grids
MAX_GRID = (2**31 - 1, 65535, 65535)  # blocks along x, y and z
MAX_PITCH = 2**31 - 1  # bytes from one row to the next in a copy of rows
REGISTER_BYTES = 4
ADDRESS_BYTES = 8
MIN_THREAD_REGISTERS, MAX_THREAD_REGISTERS = 16, 255  # that a thread can be bounded to
THREAD_REGISTER_UNIT = 8  # a thread's registers come in portions of so many
WARP_REGISTER_UNIT = 256  # and a warp's
REGISTER_FILE_PARTITIONS = 4  # of a multiprocessor, with a quarter of its registers each
INSTRUCTION_BYTES = 16


@dataclass(frozen=True, slots=True)
class Speed:
    """How fast one architecture is, to estimate times: rates per second, times in microseconds.

    The figures of sm_90 are those of an H200: the bandwidth is what a copy through device memory reaches, a launch is
    from C++ (4.3 us from CuPy). Those of the others are the data sheet's for the part with that number of
    multiprocessors, with nine tenths of the memory's bandwidth. Latencies hold to within a third on all of them.
    `replayed_us` is what a launch in a CUDA graph takes beside its kernel, by kernels of one time step (j2d5pt,
    box2d1r and jacobi-2d at 250^2 and 512^2); kernels that do nothing take 0.74 us.
    """

    clock: float = 1.98e9
    memory: float = 4.2e12  # bytes
    l2_bytes: int = 60 << 20
    l2: float = 8.4e12  # bytes
    double_rate: float = 33.5e12  # operations, not on tensor cores
    float_rate: float = 67e12
    launch_us: float = 2.5
    replayed_us: float = 1.2
    memory_us: float = 0.5  # latency of a load from device memory
    l2_us: float = 0.2
    l1_us: float = 0.02
    barrier_us: float = 0.03
    l1_bytes: int = 128 << 10  # for data, beside some shared memory
    slow_memory: float = 0.0  # of the part with the slowest memory, where several are sold; 0: all have the same

    @property
    def with_slow_memory(self) -> Speed:
        """That part, which differs in nothing else."""
        return replace(self, memory=self.slow_memory or self.memory)


SPLIT_BARRIERS = 80  # the first compute capability that has them, times ten


@dataclass(frozen=True, slots=True)
class Machine:
    """What one architecture has; sizes in bytes. Source: CUDA C++ Programming Guide, compute capabilities."""

    arch: str
    sms: int
    shared_per_block: int  # the most a block can opt in to
    shared_reserved: int = 1024  # of each block's shared memory, by the system
    shared_portion: int = 128  # what a block gets is a multiple of this
    registers_per_sm: int = 65536
    blocks_per_sm: int = 32
    threads_per_sm: int = 2048
    speed: Speed = Speed()
    tuning: Tuning = Tuning()

    @property
    def splits_barriers(self) -> bool:
        """Whether threads can arrive at a barrier, and wait later (PTX ISA, mbarrier)."""
        return int(self.arch.removeprefix("sm_")) >= SPLIT_BARRIERS

    @property
    def shared_per_sm(self) -> int:
        """Shared memory for all blocks of a multiprocessor."""
        return self.shared_per_block + self.shared_reserved

    def most_registers(self, threads: int) -> int:
        """Return how many registers a thread may have for a block of so many threads to run: ptxas may use all of a
        limit, where that is no multiple of a portion, too."""
        fitting = (n for n in range(MAX_THREAD_REGISTERS, 0, -1) if self.resident_blocks(threads, n, 0))
        return next(fitting, 0)

    def resident_blocks(self, threads: int, registers: int, shared: int) -> int:
        """Compute how many blocks of so many threads, registers of a thread and bytes of shared memory a multiprocessor
        holds; 0 when not even one fits. The rules are those of CUDA's occupancy calculator: a warp gets registers in
        portions, a block shared memory."""
        warps = -(-threads // WARP_SIZE)
        of_warp = -(-max(1, registers) * WARP_SIZE // WARP_REGISTER_UNIT) * WARP_REGISTER_UNIT
        of_partition = self.registers_per_sm // REGISTER_FILE_PARTITIONS
        by_registers = of_partition // of_warp * REGISTER_FILE_PARTITIONS // warps
        portions = -(-(shared + self.shared_reserved) // self.shared_portion)
        by_shared = self.shared_per_sm // max(1, portions * self.shared_portion)
        return min(self.blocks_per_sm, self.threads_per_sm // (warps * WARP_SIZE), by_registers, by_shared)


_H200 = Speed(slow_memory=2.9e12)  # an H100 reaches that
_V100 = Speed(1.53e9, 0.81e12, 6 << 20, 1.6e12, 7.8e12, 15.7e12)
_T4 = Speed(1.59e9, 0.29e12, 4 << 20, 0.6e12, 0.25e12, 8.1e12)
_A100 = Speed(1.41e9, 1.4e12, 40 << 20, 2.8e12, 9.7e12, 19.5e12)
_A40 = Speed(1.74e9, 0.63e12, 6 << 20, 1.3e12, 0.58e12, 37e12)
_RTX_4090 = Speed(2.52e9, 0.91e12, 72 << 20, 1.8e12, 1.3e12, 82e12)
_B200 = Speed(1.96e9, 7.2e12, 126 << 20, 14e12, 37e12, 75e12)
_RTX_5090 = Speed(2.41e9, 1.6e12, 96 << 20, 3.2e12, 1.6e12, 105e12)

_KNOWN = {
    g.arch: g
    for g in (
        Machine("sm_70", 80, 96 * 1024, shared_reserved=0, shared_portion=256, speed=_V100),
        Machine(
            "sm_75",
            40,
            64 * 1024,
            shared_reserved=0,
            shared_portion=256,
            threads_per_sm=1024,
            blocks_per_sm=16,
            speed=_T4,
        ),
        Machine("sm_80", 108, 163 * 1024, speed=_A100),
        Machine("sm_86", 84, 99 * 1024, threads_per_sm=1536, blocks_per_sm=16, speed=_A40),
        Machine("sm_89", 128, 99 * 1024, threads_per_sm=1536, blocks_per_sm=24, speed=_RTX_4090),
        Machine("sm_90", 132, 227 * 1024, speed=_H200),
        Machine("sm_100", 148, 227 * 1024, speed=_B200),
        Machine("sm_120", 170, 99 * 1024, threads_per_sm=1536, blocks_per_sm=24, speed=_RTX_5090),
    )
}


def machine_of(arch: str) -> Machine:
    """Return the description of `arch`. Raises UsageError for one that polytile does not know."""
    try:
        return _KNOWN[arch.removesuffix("a")]
    except KeyError:
        raise UsageError(f"unknown architecture {arch!r}", hint=f"one of {', '.join(_KNOWN)}") from None
