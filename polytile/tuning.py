"""Tuning: the numbers that were found by measuring, and that decide how fast kernels are, not whether they are right.

Facts of a GPU are in machine.py; each machine there has a `Tuning`. Numbers that bound how long the compiler may think,
or that say what its cost model assumes, stand where they are used.
"""

from __future__ import annotations

from polytile.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class LoadTuning:
    """How many loads of a thread are under way together: codegen/passes/unroll_loads_first.py,
    unroll_tile_loads_first.py, register_prefetch.py and early_loads.py."""

    batch_bytes: int = 256  # that the loads of a batch bring each thread
    max_batch_iterations: int = 32
    vector_batch_bytes: int = 256  # where they are vectors, which do not wait for one another
    max_vector_iterations: int = 16
    single_vector_iterations: int = 2  # that are no batch of their own: what is left would be another one of them
    max_reducing_iterations: int = 2  # where lanes reduce in each: more loads cost registers, and thus warps
    max_joined_iterations: int = 8  # where lanes reduce once for all of them
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
    reducing_registers: int = 64  # where lanes reduce in each iteration
    reducing_spare: int = 32  # beside what is loaded, where they reduce once
    storing_registers: int = 80  # where iterations store as well: more threads hide that
    vector_spare: int = 64  # beside vectors that are loaded: with fewer, ptxas loads one after another
    half_registers: int = 64  # of half of the threads there can be: where what is loaded and added up fits
    half_spare: int = 20  # beside that


@dataclass(frozen=True, slots=True)
class BlockTuning:
    """Threads of blocks, outermost first: scheduling/strategies/tile_sizes.py and the superposed strategy."""

    default: tuple[tuple[int, ...], ...] = ((128,), (8, 32), (2, 4, 32))  # by rank: many threads, whole warps along x
    serial: tuple[int, ...] = (32,)  # one parallel loop around serial ones: few threads, over all multiprocessors
    reading_twice: tuple[int, ...] = (16, 32)  # of threads that sum alone what the block reads, and read it twice
    sharing_rows: tuple[int, ...] = (1, 128)  # of threads that run several rows, and load once what these share
    few_results: int = 256  # threads that add up a part of one of few results
    combining: tuple[tuple[int, ...], ...] = ((128,), (8, 32))  # whose lanes add up chunks, by the rank of results
    # Rows and columns of threads for tiles of recurrences, which are as wide: strategies/tiled_recurrences. Measured
    # (nussinov, n = 5500, H200): 73 ms, with 4 x 64 threads 105, with 16 x 32 92, with 4 x 32 166.
    recurrence: tuple[int, int] = (8, 64)
    # Of the time of default blocks, at most, that flat ones take by estimate: strategies/choose_blocks. Measured, they
    # take less of it (derivative 0.77 and 0.92 of what is estimated, hypterm 0.88, rhs4th3fort 0.97; H100).
    clearly: float = 1.01
    fewer_threads: float = 1.08  # the same of flat ones with half as many threads, for large bodies
    large_body: int = 100  # elements that a statement reads, whose values and addresses take all registers

    def of_rank(self, rank: int) -> tuple[int, ...]:
        return self.default[rank - 1]


@dataclass(frozen=True, slots=True)
class SharingTuning:
    """What blocks and threads take of loops in the superposed strategy, and what each thread runs alone."""

    enough_parallel_loops: int = 2  # that fill a GPU, as a guess; with fewer, threads take reductions too
    few_results: int = 64  # whose sums do not keep a GPU busy, unless several blocks share each of them
    long_sum_iterations: int = 8192  # of such a sum, up to which one block is enough
    max_chunk_iterations: int = 64  # of a reduction loop on blocks alone
    sum_iterations: int = 32  # of a reduction loop on blocks and threads that each thread runs: few partial results
    triangle_tile: tuple[int, ...] = (32, 256)  # of loops that are summed over, where one starts or ends at the other
    row_chunk: int = 8192  # iterations of a row that blocks sum up, where rows are of other forms
    sum_rows: int = 8  # of such a loop around another one that is summed over, too: many blocks
    alone_iterations: int = 32  # where no other loop is mapped to blocks and threads, or one of few iterations
    max_values: int = 64  # of a thread, where it runs several iterations along x for each of the other loop
    unsummed_iterations: int = 16  # where nothing is summed up along x: many blocks matter more than partial results
    max_columns: int = 4  # iterations along x of a thread that runs several
    column_bytes: int = 16  # of what they add to
    rows: int = 4  # of a thread, where it loads once what they share
    register_rows: int = 4  # of a tile in registers: 8 leave half of the blocks, and took up to 1.6 times the time
    tile_sizes: tuple[int, ...] = (64, 32, 16, 8)  # of sums of one thread, for locality
    assumed_iterations: int = 1024  # of a loop that may have any number of them
    warp_lines: int = 128  # that stay in L1 for a warp: the warps of a block share many of theirs
    clear_gain: float = 0.75  # of the sectors: a shifted access needs one more, and no other order of loops would help


@dataclass(frozen=True, slots=True)
class TileTuning:
    """Tiles in the tiled strategy: shapes by the number of tiled loops, outermost first."""

    threads: tuple[tuple[int, ...], ...] = ((128,), (8, 16))
    points: tuple[tuple[tuple[int, ...], ...], ...] = (  # that each thread runs, the largest first
        ((4,), (2,), (1,)),
        ((8, 6), (8, 4), (4, 4), (4, 2), (2, 2)),
    )
    further_threads: tuple[tuple[tuple[int, ...], ...], ...] = (  # with any points, where clearly faster by estimate
        ((128,), (64,), (256,)),
        ((8, 16), (4, 32), (16, 8), (8, 8), (4, 16), (16, 16), (8, 32), (32, 8)),
    )
    further_points: tuple[int, ...] = (8, 6, 4, 3)  # along a loop; with two, blocks of 64 threads were slower (H200)
    serial_bytes: int = 128  # of the elements of a row of a tile of the serial loop: a line
    few_iterations: int = 12  # of a loop that stays inside tiles, such as a filter's
    few_points: int = 4  # iterations of a parallel loop that one thread runs all of
    assumed_elements: int = 1 << 27  # of an array of three or more dimensions whose extents nobody knows


@dataclass(frozen=True, slots=True)
class SplitTuning:
    """Split tiles of time-iterated stencils: scheduling/strategies/split/sizes.py; by the dimensions of space."""

    threads: tuple[tuple[int, ...], ...] = ((256,), (8, 32), (2, 4, 32))  # of a block
    slab_threads: tuple[int, ...] = (1, 8, 32)  # heat-3d, 4 points along z: 88.9 ms, with (2, 4, 32) 98.5 (H100)
    widths: tuple[tuple[tuple[int, ...], ...], ...] = (  # of shrinking tiles at their first step
        ((256,), (512,), (1024,), (2048,)),
        ((16, 32), (32, 32), (32, 64), (48, 48), (64, 64), (64, 96)),
        ((8, 8, 32), (12, 12, 32), (16, 16, 32)),
    )
    other_registers: tuple[float, float, float] = (14, 1, 10)  # beside those of cells, for each cell, each statement
    wanted_registers: tuple[float, float, float] = (28, 2.5, 4)  # by ptxas at most: the same, and for each array
    most_registers: int = 224  # of a thread, by the first count
    transfer_instructions: tuple[float, float] = (150, 18)  # to fill and drain an array, and more for each cell
    issued: tuple[float, float, float] = (0.62, 16, 0.85)  # of the cycles, by so many warps; at most
    issued_alone: float = 0.85  # of the cycles, by several warps of a tile by itself (H200, planes of 250^2 and 512^2)
    cycles_alone: float = 3.0  # of an instruction on a word, in a tile by itself (H100, jacobi-1d by its shapes)
    beside: float = 0.2  # of what others take, beside the longest of issuing, waiting and memory
    level_us: float = 0.014  # of a level of a step, in tiles in registers
    split_barriers: bool = False  # whether warps arrive, compute, and then wait (H100: 0 to 2%)
    barrier_us: float = 0.004  # the same for each warp, where warps of a block meet
    tile_us: float = 0.3  # of a tile's fill and drain
    found: float = 0.1  # of the L2 cache, by a launch of what the one before has written (H100, bytes by ncu)
    slab_share: float = 0.6  # of the L2 cache that the planes of a slab take
    slab_spread: float = 0.6  # of a slab's planes by which it gets narrower in a band of steps, at most


@dataclass(frozen=True, slots=True)
class StreamTuning:
    """Overlapped tiles that stream over planes: scheduling/strategies/overlapped/sizes.py."""

    iterations: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64)  # of a block
    warps: int = 4  # of a block whose warps have a strip each
    columns: tuple[tuple[int, ...], ...] = ((4, 8, 16, 32), (1, 2, 3, 4, 6, 8))  # of a lane, by the dimensions of space
    stacked_warps: tuple[int, ...] = (4, 8, 11, 12, 16)  # of a block that shares a tile, below one another
    patches: tuple[tuple[int, int], ...] = (  # rows and columns of its threads
        ((1, 1), (1, 2), (2, 1), (2, 2), (2, 4), (3, 2), (4, 1), (4, 2), (4, 4))
    )
    least_chunk: int = 16  # planes that a tile owns
    instructions: int = 4000  # of all steps for a plane, at most
    redundancy: float = 2.8  # of tiles that are chosen by estimate, which is too low beyond: 271 ms for 481 at 6


@dataclass(frozen=True, slots=True)
class PromotionTuning:
    """Tiles in shared memory and registers: scheduling/promotion/choose_placements.py."""

    tile_registers: int = 128  # of a thread, for what it adds up: as many again are left for the rest
    sharing_threads: int = 2  # that use an element of a shared tile, on average, at least
    tile_updates: int = 3  # times, on average, that a tile is used which is filled and drained, at least
    reads_per_barrier: int = 32  # of elements of shared tiles, by each thread, at least
    coalescing_elements: int = 4  # of a row that a fill loads at once, where reads do not coalesce
    unrolled_iterations: int = 256  # of loops in one another, inside the thread band
    spare_registers: int = 44  # of a thread, for addresses and loops
    copy_bytes: int = 4  # of an access that fills a tile: with 16, gemm takes 2% (double) to 9% (float) more on an H200


@dataclass(frozen=True, slots=True)
class PointTuning:
    """Points of a thread in stencils: scheduling/strategies/choose_points.py."""

    l1_bytes_per_cycle: float = 105  # of a multiprocessor; 2d25pt, 2d81pt and 3d125pt with one point reach it (H100)
    beside: float = 0.8  # of the shorter of requests and arithmetic that comes on top of the longer: few warps
    turns: float = 0.5  # of the time that blocks take one after another, in which nothing of another one is done
    sharing: float = 0.9  # of the loads of one point that one of two takes at most
    clearly: float = 0.8  # of the time of one point that more points take at most
    clearly_large: float = 0.9  # the same of large bodies, whose points share products, too (hypterm: 2.17 ms for 2.89)
    large: int = 100  # loads of a point
    together: int = 16  # loads of a point of several statements
    near: float = 1.08  # times the least: fewer points are better then
    most_points: int = 8  # 16 took longer for 3d125pt (2.46 ms for 2.11, H100) and 3d27pt
    most_points_together: int = 2  # of several statements: with 4 and 8 hypterm needs more than 128 registers
    most_free_points: int = 16  # where sums may be added up in another order (3d125pt: 1.30 ms, 1.57 with 8)
    registers: int = 144  # of a thread by estimate, 128 by ptxas: of two blocks of 256
    spare_registers: int = 16  # beside values and addresses, as ptxas makes it of 2d25pt to 3d125pt
    values: int = 48  # registers of values with which half of the threads run at once: more count as more operations
    turning_rows: int = 24  # of arrays whose versions take turns: 30 spill (box of radius 2), 20 do not (its star)
    constant_turning_rows: int = 36  # the same for rows that are constants apart: stars of radius 3 and 4, 2 x 2 points
    row_registers: int = 32  # for the addresses of rows, one each, at most
    blocks: int = 10  # of a multiprocessor in a mean launch: slabs of heat-3d, 88 ms with 4 points (10), 92 with 8


@dataclass(frozen=True, slots=True)
class AtomicTuning:
    """Copies of arrays that kernels update by atomic operations: codegen/passes/privatization.py; lanes that combine
    what they have for one element: codegen/passes/warp_aggregation.py."""

    aggregated: bool = True
    aggregated_in_copies: bool = True  # of floating point numbers: for integers, shared memory does it by itself
    private_bytes: int = 48 << 10  # of a block's copies
    unknown_bytes: int = 16 << 10  # of the copy of an array whose size is not known: more would leave fewer threads
    unrolled_tiles: int = 4  # of the loop over tiles, whose loads then come together


@dataclass(frozen=True, slots=True)
class RowTuning:
    """Lanes that share a loop which data end: codegen/passes/subwarp_loops.py."""

    lanes: tuple[tuple[int, int], ...] = (
        (32768, 1024),
        (5000, 128),
        (128, 32),
        (32, 16),
        (6, 4),
    )  # from so many iterations on average, so many


@dataclass(frozen=True, slots=True)
class Tuning:
    """The numbers for one machine."""

    loads: LoadTuning = LoadTuning()
    registers: RegisterTuning = RegisterTuning()
    blocks: BlockTuning = BlockTuning()
    sharing: SharingTuning = SharingTuning()
    tiles: TileTuning = TileTuning()
    split: SplitTuning = SplitTuning()
    stream: StreamTuning = StreamTuning()
    promotion: PromotionTuning = PromotionTuning()
    points: PointTuning = PointTuning()
    atomics: AtomicTuning = AtomicTuning()
    rows: RowTuning = RowTuning()
    resident_bytes: int = 48 << 20  # of an array that L2 still has when the next kernel comes to it
