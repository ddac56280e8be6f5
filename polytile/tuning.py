"""Tuning: the numbers that were found by measuring, and that decide how fast kernels are, not whether they are right.

Facts of a GPU are in machine.py; each machine there has a `Tuning`. Numbers that bound how long the compiler may think,
or that say what its cost model assumes, stand where they are used.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LoadTuning:
    """How many loads of a thread are under way together: codegen/passes/unroll_loads_first.py,
    unroll_tile_loads_first.py, register_prefetch.py and early_loads.py."""

    batch_bytes: int = 256  # that the loads of a batch bring each thread
    max_batch_iterations: int = 32
    vector_batch_bytes: int = 256  # where they are vectors, which do not wait for one another
    max_vector_iterations: int = 16
    single_vector_iterations: int = 2  # that are no batch of their own: what is left would be another one of them
    max_reducing_iterations: int = 2  # where lanes meet in each: more loads cost registers, and thus warps
    max_joined_iterations: int = 8  # where lanes meet once for all of them
    spread_threads: int = 512  # of a block, from which on vectors fill the registers of each
    spread_iterations: int = 4  # come together then
    few_iterations: int = 16  # of a batch where few are expected
    max_remainder_iterations: int = 8  # of a batch of what whole batches leave
    tile_iterations: int = 8  # of a batch of a tile in registers; also how loops over tiles are marked
    tile_spare_registers: int = 16  # that such a batch does not load, and the tile does not keep
    prefetch_iterations: int = 4  # a division takes about a quarter of the time that memory does
    max_prefetched_elements: int = 4  # of an iteration; each takes one register more than iterations
    max_early_updates: int = 4  # elements of an array, and other elements that updates read


@dataclass(frozen=True, slots=True)
class RegisterTuning:
    """Registers of a thread in kernels with batches: codegen/passes/launch_bounds.py."""

    max_registers: int = 128
    reducing_registers: int = 64  # where lanes meet in each iteration
    reducing_spare: int = 32  # beside what is loaded, where they meet once
    storing_registers: int = 80  # where iterations store as well: more threads hide that
    vector_spare: int = 64  # beside vectors that are loaded: with fewer, ptxas loads one after another
    half_registers: int = 64  # of half of the threads there can be: where what is loaded and added up fits
    half_spare: int = 20  # beside that


@dataclass(frozen=True, slots=True)
class Tuning:
    """The numbers for one machine."""

    loads: LoadTuning = LoadTuning()
    registers: RegisterTuning = RegisterTuning()
    resident_bytes: int = 48 << 20  # of an array that L2 still has when the next kernel comes to it
