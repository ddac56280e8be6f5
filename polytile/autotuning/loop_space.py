"""Kernels of loops (classic, superposed, tiled): threads of a block, what each takes of parallel and serial loops.

    heat-3d, a step a launch:   block_z: 1, 2, 4   block_y: 1, 2, 4, 8   block_x: 32, 64   points_1: 1, 2, 4   ..
    gemm, tiles of operands:    block_y: 4, 8, 16  block_x: 16, 32       rows, columns: 2, 4, 6, 8   serial: 8, 16, 32

`points_k` are neighbours along the loop over the k-th iterator of a statement, whose loads are shared [Rawat et al.:
Register optimizations for stencils on GPUs, PPoPP 2018, section 3]. `rows` and `columns` are the points of a thread
along the two innermost parallel loops, `serial` the iterations of a serial loop for which tiles of operands are loaded
[Verdoolaege et al.: Polyhedral parallel code generation for CUDA, TACO 2013, sections 6 and 7]; 0 leaves these to the
strategy. `kernel` says for which of several kernels sizes are, `each` for each its own (kernel_product.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from polytile.autotuning.kernel_product import ALL, EACH, KERNEL, KernelProduct, Values
from polytile.autotuning.kernel_shape import KernelShape
from polytile.autotuning.space import Constraint, Parameter, Subspace, Value
from polytile.choices import ORDERS, SUPERPOSED, TILED, Choices
from polytile.machine import STATIC_SHARED_BYTES

AXES = ("block_z", "block_y", "block_x")
BLOCKS: tuple[tuple[tuple[int, ...], ...], ...] = (  # threads along each dimension, by how many there are
    ((32, 64, 128, 256, 512),),
    ((1, 2, 4, 8, 16), (16, 32, 64, 128)),
    ((1, 2, 4, 8), (1, 2, 4, 8), (32, 64)),
)
LOOP_BLOCKS: tuple[tuple[tuple[int, ...], ...], ...] = (  # of those whose threads have loops
    ((32, 64, 128, 256),),
    ((1, 2, 4, 8, 16), (32, 64, 128, 256)),
    ((1, 2, 4), (2, 4, 8), (32, 64)),
)
FEW_BLOCKS: tuple[tuple[tuple[int, ...], ...], ...] = (((64, 128, 256),), ((4, 8), (32, 64)))  # of several kernels
BLOCK_SIZES = ((32, 512), (64, 512), (128, 256))  # at least and at most, by how many dimensions there are
POINTS = (1, 2, 4)
MOST_POINTS = 4  # in all: more rarely find registers
ROW, COLUMN, SERIAL = "rows", "columns", "serial"
TILED_BLOCKS: tuple[tuple[tuple[int, ...], ...], ...] = (((32, 64, 128, 256),), ((4, 8, 16), (16, 32)))
TILED_POINTS: tuple[tuple[tuple[int, ...], ...], ...] = (((1, 2, 4, 8),), ((2, 4, 6, 8), (2, 4, 6, 8)))
TILED_SIZES = (128, 256)
SUM_BYTES = 576  # of a thread for what it adds up: more leave few registers for operands
LARGE_BLOCKS: tuple[tuple[tuple[int, ...], ...], ...] = (((128, 256),), ((4, 8, 16), (16, 32)), ((2, 8), (1, 4), (32,)))
CAPS = (0, 96, 128, 168)
ORDER, REGISTER = "order", "registers"
MOST_KERNELS = 4  # more of them multiply the points too much
MATRIX = 2  # loops of products of matrices and vectors: deeper ones have points enough


def loop_space(
    schedule: str,
    shape: KernelShape,
    numbers: Sequence[int] = (),
    *,
    large: bool = False,
    room: int = STATIC_SHARED_BYTES,
) -> Subspace:
    """Build the space of a strategy around the kernel that it makes by itself; `numbers` are those of its main kernels,
    and `large`: orders of their bodies differ. Blocks may use `room` bytes of shared memory."""
    if schedule == TILED:
        return _tiled(shape, room)
    return _pointed(schedule, shape, large) if shape.shares else _looped(schedule, shape, numbers)


def loop_point(schedule: str, shape: KernelShape) -> dict[str, Value]:
    """Return the point of the space with the sizes of a kernel that a strategy made by itself."""
    found: dict[str, Value] = dict(zip(AXES[-len(shape.threads) :], shape.threads, strict=True))
    found |= {f"points_{k}": n for k, n in zip(shape.iterators[:-1], shape.points[:-1], strict=True)}
    own = schedule == SUPERPOSED
    turns: dict[str, Value] = {COLUMN: shape.points[-1], ROW: (1, *shape.points)[-2], SERIAL: shape.serial}
    return {**found, KERNEL: ALL, **(dict.fromkeys(turns, 0) if own else turns)}


def _axes(blocks: tuple[tuple[tuple[int, ...], ...], ...], shape: KernelShape) -> dict[str, tuple[int, ...]]:
    rank = min(len(shape.threads), len(blocks))
    return dict(zip(AXES[-rank:], blocks[rank - 1], strict=True))


def _block(axes: Values, point: Mapping[str, Value]) -> tuple[int, ...]:
    return tuple(int(point[axis]) for axis in axes)


def _threads(axes: Values, between: tuple[int, int] | None = None) -> tuple[Constraint, ...]:
    """Require so many threads that some compute while others wait, and that several blocks fit on a multiprocessor."""
    least, most = between or BLOCK_SIZES[len(axes) - 1]
    usual = Constraint(tuple(axes), lambda *block: least <= prod(block) <= most, "threads of a block")
    return (usual,) if len(axes) > 1 else ()


def _parameters(values: Values) -> tuple[Parameter, ...]:
    return tuple(Parameter(name, several) for name, several in values.items())


def _pointed(schedule: str, shape: KernelShape, large: bool) -> Subspace:
    """Build the space of blocks, and of neighbouring points of a thread; of orders and bounds on registers of large
    bodies, with points along the outermost loop alone."""
    axes = _axes(LARGE_BLOCKS if large else BLOCKS, shape)
    chosen = {k: n for k, n in zip(shape.iterators[:-1], shape.points[:-1], strict=True) if k >= 0}
    along = list(chosen)[:1] if large else list(chosen)
    points: Values = {f"points_{k}": tuple(sorted({*POINTS, chosen[k]})) for k in along}
    most = max(MOST_POINTS, prod(chosen[k] for k in along))
    body: Values = {ORDER: ORDERS[1:], REGISTER: CAPS} if large else {}

    def choices(point: Mapping[str, Value]) -> Choices:
        counts = tuple(int(point.get(f"points_{k}", 1)) for k in range(shape.depth))
        order, registers = str(point.get(ORDER, ORDERS[0])), int(point.get(REGISTER, 0))
        return Choices(schedule, block=_block(axes, point), points=counts, order=order, registers=registers)

    few = Constraint(tuple(points), lambda *counts: prod(counts) <= most, "points of a thread")
    return Subspace(schedule, _parameters({**axes, **points, **body}), choices, (*_threads(axes), few))


def _looped(schedule: str, shape: KernelShape, numbers: Sequence[int]) -> Subspace:
    """Build the space of blocks, and of what threads take in turns of tiles of these and of a serial loop: of all
    kernels, of one of several while the others are as they were, or of each its own."""
    axes = _axes(LOOP_BLOCKS, shape)
    turns = (int(schedule != SUPERPOSED), 2, 4)
    taken: Values = {ROW if len(axes) > 1 else COLUMN: turns}
    serial: Values = {SERIAL: (0, 16)} if shape.loops else {}
    product = _product(shape, numbers, axes, taken)
    words = (ALL, *map(str, numbers), *([EACH] if product is not None else []))
    which: Values = {KERNEL: words} if _several(shape, numbers) else {}

    def asked(point: Mapping[str, Value]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        block = _block(axes, point)
        several = (1, int(point.get(ROW, 1)), int(point.get(COLUMN, 1)))[-len(block) :]
        tile = tuple(n * max(1, own) for n, own in zip(block, several, strict=True))
        depth = int(point.get(SERIAL, 0))
        return block, (*tile, depth) if depth else tile if max(several) > 1 else ()

    def choices(point: Mapping[str, Value]) -> Choices:
        kernel = str(point.get(KERNEL, ALL))
        if kernel == ALL:
            block, tile = asked(point)
            return Choices(schedule=schedule, block=block, tile=tile)
        own = product.of_each(point) if kernel == EACH and product is not None else {int(kernel): point}
        return Choices(schedule=schedule, sizes=sizes_of({n: asked(sizes) for n, sizes in own.items()}))

    parameters = _parameters({**which, **axes, **taken, **serial})
    limits = _threads(axes)
    if product is not None:
        parameters = (*parameters, *product.parameters)
        limits = (*limits, *product.constraints(dict.fromkeys(serial, 0)))
    return Subspace(schedule, parameters, choices, limits)


def _several(shape: KernelShape, numbers: Sequence[int]) -> bool:
    """Return whether kernels are tuned separately."""
    return shape.depth <= MATRIX and 1 < len(numbers) <= MOST_KERNELS


def _product(shape: KernelShape, numbers: Sequence[int], axes: Values, taken: Values) -> KernelProduct | None:
    """Choose few sizes of each of several kernels: blocks, and with few kernels also what threads take in turns."""
    if not _several(shape, numbers) or len(axes) > len(FEW_BLOCKS):
        return None
    blocks = dict(zip(axes, FEW_BLOCKS[len(axes) - 1], strict=True))
    few = {name: tuple(value for value in values if value)[:2] for name, values in taken.items()}
    return KernelProduct.of(numbers, ({**blocks, **few}, blocks))


def sizes_of(kernels: Mapping[int, tuple[Sequence[int], Sequence[int]]]) -> str:
    """Print blocks and tiles of kernels by their numbers, as `--sizes` has them."""
    parts = (
        f"kernel[{kernel}] -> {name}[{', '.join(map(str, sizes))}]"
        for kernel, (block, tile) in kernels.items()
        for name, sizes in (("tile", tile), ("block", block))
        if sizes
    )
    return f"{{ {'; '.join(parts)} }}"


def _tiled(shape: KernelShape, room: int) -> Subspace:
    """Build the space of blocks, points of a thread in registers, and iterations for which operands are in shared
    memory: in more than kernels have without asking for it where tiles need that."""
    axes = _axes(TILED_BLOCKS, shape)
    points = dict(zip((ROW, COLUMN)[-len(axes) :], TILED_POINTS[len(axes) - 1], strict=True))
    names = (*axes, *points)
    serial = (max(4, shape.serial // 2), shape.serial, 2 * shape.serial) if shape.serial else (8, 16, 32)

    def tile(*sizes: Value) -> tuple[int, ...]:
        half = len(sizes) // 2
        return tuple(int(n) * int(own) for n, own in zip(sizes[:half], sizes[half:], strict=True))

    def shared_bytes(*sizes: Value) -> int:
        *others, iterations = sizes
        return sum(tile(*others)) * int(iterations) * shape.element

    def choices(point: Mapping[str, Value]) -> Choices:
        given = [point[name] for name in names]
        sizes, iterations = tile(*given), int(point[SERIAL])
        asked = room if shared_bytes(*given, iterations) > STATIC_SHARED_BYTES else None
        return Choices(TILED, tile=(*sizes, iterations), block=_block(axes, point), max_shared_memory=asked)

    def fits_registers(*counts: int) -> bool:
        return prod(counts) * shape.element <= SUM_BYTES

    def fits_shared(*sizes: Value) -> bool:
        return shared_bytes(*sizes) <= room

    limits = (
        *_threads(axes, TILED_SIZES),
        Constraint(tuple(points), fits_registers, "registers for what a thread adds up"),
        Constraint((*names, SERIAL), fits_shared, "shared memory for tiles of operands"),
    )
    return Subspace(TILED, _parameters({**axes, **points, SERIAL: serial}), choices, limits)
