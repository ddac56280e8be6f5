"""One experiment: a program, the options it is compiled with, and the sizes it runs at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from polytile.choices import OVERLAPPED, PLANES, SCHEDULES, SPLIT
from polytile.dataclass import dataclass
from polytile.fuzz.c_flags import FLAGS, respelt
from polytile.fuzz.draw import Draw, source_of
from polytile.fuzz.driver import driver_text
from polytile.fuzz.forms import JUMPING_TEXTS
from polytile.fuzz.generate import over_time, program, with_pieces
from polytile.fuzz.kinds import with_kinds
from polytile.fuzz.printing import c_text
from polytile.fuzz.sizes import draw_sizes
from polytile.fuzz.structs import kind
from polytile.fuzz.tree import Apply, DataCompare, Element, Literal, Name, Program
from polytile.fuzz.walking import walk
from polytile.fuzz.wellformed import well_formed
from polytile.options import MAX_OPERATIONS, Options

TILES = ((), (), (), (1,), (3,), (8,), (4, 2), (2, 3, 5), (32, 1, 7), (2, 2, 2, 2))
WIDTHS = ((), (8,), (11,), (24,), (9, 14))  # of tiles of time loops, along each dimension of space
STRIPS = ((), (), (32,), (64,), (5, 32), (3, 64), (7, 32, 32))  # overlapped tiles, the planes that each owns first
ONE_STEP_TILES = (((), ()), ((4, 3, 16), (3, 8)), ((6, 15), (2, 5)), ((3, 32), (32,)), ((), (4, 16)))  # and blocks
STRIP_BLOCKS = ((), (), (32,), (96,), (2, 32))
BLOCKS = ((), (), (), (4,), (33,), (2, 4), (1, 1), (3, 5), (2, 2, 3))
SIZES = (
    "{ kernel[0] -> tile[4, 2]; kernel[1] -> tile[3] }",
    "{ kernel[i] -> block[2, 8] : 0 <= i <= 3 }",
    "{ kernel[0] -> block[16]; kernel[2] -> tile[1, 5, 2] }",
)


@dataclass(frozen=True, slots=True)
class OneStep:
    """What the overlapped strategy is asked for where its kernels run one step, whose blocks share planes."""

    planes: str
    barriers: int
    tile: tuple[int, ...]
    block: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Choices:
    """The options of one compilation that are not strategies."""

    tile: tuple[int, ...] = ()
    block: tuple[int, ...] = ()
    time_tile: int = 0
    sizes: str | None = None
    strict: bool = True
    max_shared_memory: int | None = None
    max_operations: int = MAX_OPERATIONS
    parameters: tuple[tuple[str, int], ...] = ()
    cflags: tuple[str, ...] = ()
    one_step: OneStep | None = None

    def options(self, strategy: str) -> Options:
        """Return the options of a compilation with one strategy."""
        one = self.one_step if strategy == OVERLAPPED else None
        return Options(
            schedule=strategy,
            tile=one.tile if one else self.tile,
            block=one.block if one else self.block,
            time_tile=0 if one else self.time_tile,
            planes=one.planes if one else PLANES[0],
            barriers=one.barriers if one else 0,
            sizes=self.sizes,
            strict=self.strict,
            max_shared_memory=self.max_shared_memory,
            max_operations=self.max_operations,
            parameters=dict(self.parameters),
            cflags=self.cflags,
            raise_bugs=True,
        )


@dataclass(frozen=True, slots=True)
class Case:
    """What one trial does. `inputs` seeds the random inputs."""

    program: Program
    choices: Choices
    sizes: tuple[Mapping[str, int], ...] = field(hash=False)
    inputs: int
    strategies: tuple[str, ...] = SCHEDULES
    reload: bool = True  # compile again with the schedule that was saved
    whole: bool = False  # build and run the whole program too
    sanitize: tuple[str, ...] = ()
    on: str = "emulator"

    @property
    def text(self) -> str:
        """Return the C file."""
        return respelt(c_text(self.program), self.choices.cflags)

    @property
    def driver(self) -> str:
        """Return the C file with a `main`."""
        return respelt(driver_text(self.program, self.sizes), self.choices.cflags)

    def command(self, file: str) -> str:
        """Return the command line that does about the same, at the last of the sizes."""
        c, one = self.choices, self.choices.one_step
        if one is not None and self.strategies[0] == OVERLAPPED:
            c = replace(c, tile=one.tile, block=one.block, time_tile=0)
        else:
            one = None
        words = ["polytile", file, "--validate", f"--on {self.on}", f"--schedule {self.strategies[0]}"]
        words += [f"--sanitize {','.join(self.sanitize)}"] if self.sanitize else []
        words += [f"--tile {_commas(c.tile)}"] if c.tile else []
        words += [f"--block {_commas(c.block)}"] if c.block else []
        words += [f"--time-tile {c.time_tile}"] if c.time_tile else []
        words += [f"--planes {one.planes}"] if one else []
        words += [f"--barriers {one.barriers}"] if one and one.barriers else []
        words += [f"--sizes '{c.sizes}'"] if c.sizes else []
        words += ["--fp strict"] if c.strict else []
        words += [f"--cflags={flag}" for flag in c.cflags]
        words += [f"--max-shared-memory {c.max_shared_memory}"] if c.max_shared_memory is not None else []
        words += [f"--max-operations {c.max_operations}"] if c.max_operations != MAX_OPERATIONS else []
        words += ["--autodetect"] if self.program.autodetect else []
        fixed = dict(self.program.fixed)
        words += [f"--param {n}={v}" for n, v in self.sizes[-1].items() if n not in fixed] if self.sizes else []
        return " ".join([*words, f"--seed {self.inputs}"])


def _commas(sizes: tuple[int, ...]) -> str:
    return ",".join(map(str, sizes))


def case_of(seed: int, index: int, sanitize: tuple[str, ...] = (), family: str = "") -> Case:
    """Draw experiment number `index` of a seed: the same program, options and sizes on every machine."""
    return draw_case(source_of(seed, index), sanitize, family)


def draw_case(draw: Draw, sanitize: tuple[str, ...] = (), family: str = "") -> Case:
    """Draw a random experiment, with a program of one family, `nests`, `stencils` or `pieces`, where one is named."""
    case = _of_family(draw, sanitize, family)
    cflags = (draw.one_of(FLAGS),) if draw.chance(6) else ()
    case = replace(case, choices=replace(case.choices, cflags=cflags))
    tiled = cflags or case.choices.time_tile  # time tiles need their loops as they are
    case = case if tiled or not draw.chance(4) else _of_kinds(draw, case)
    return _in_planes(draw, case) if case.strategies == (OVERLAPPED,) and draw.chance(2) else case


def _in_planes(draw: Draw, case: Case) -> Case:
    """Add kernels of one step, whose blocks share planes, to the case."""
    tile, block = draw.one_of(ONE_STEP_TILES)
    planes, barriers = draw.one_of(PLANES[1:]), draw.pick(0, 1, 2)
    return replace(case, choices=replace(case.choices, one_step=OneStep(planes, barriers, tile, block)))


def _of_kinds(draw: Draw, case: Case) -> Case:
    """Add types and sizes that programs seldom have; build the case as a whole: the entry points decide what runs."""
    drawn = with_kinds(draw, replace(case.program, autodetect=False))
    if not well_formed(drawn) or drawn == replace(case.program, autodetect=False):
        return case
    return replace(case, program=drawn, choices=replace(case.choices, strict=True), whole=True)


def _of_family(draw: Draw, sanitize: tuple[str, ...], family: str) -> Case:
    drawn = program(draw)
    sizes = draw_sizes(draw, drawn)
    choices = _choices(draw, drawn)
    if sizes and draw.chance(8):
        used = {n.name for n in walk(drawn.functions) if isinstance(n, Name)}
        known = [n for n in ("n", "m") if n in used and n not in dict(drawn.fixed)]
        sizes = sizes[-1:]
        choices = replace(choices, parameters=tuple((n, sizes[0][n]) for n in known[:1]))
    strategies = SCHEDULES if draw.chance(8) else (draw.one_of(SCHEDULES),)
    whole = draw.chance(10) and choices.strict and not drawn.autodetect
    case = Case(drawn, choices, sizes, draw.between(1, 1 << 20), strategies, draw.chance(4), whole, sanitize)
    match family:
        case "nests":
            return case
        case "stencils":
            return _over_time(draw, case)
        case "pieces":
            return _with_pieces(draw, case)
    if draw.chance(6):
        return _over_time(draw, case)
    return _with_pieces(draw, case) if draw.chance(2) else case


def _with_pieces(draw: Draw, case: Case) -> Case:
    """Replace the case's program by one of pieces as people write them."""
    drawn = with_pieces(draw)
    choices = replace(_choices(draw, drawn), parameters=())
    whole = draw.chance(6) and choices.strict and not drawn.autodetect
    strategies = SCHEDULES if draw.chance(30) else (draw.one_of(SCHEDULES),)
    sizes = draw_sizes(draw, drawn)
    return replace(case, program=drawn, choices=choices, sizes=sizes, strategies=strategies, whole=whole)


def _over_time(draw: Draw, case: Case) -> Case:
    """Replace the case's program by a time loop over stencils, in tiles of several steps."""
    drawn, threads = over_time(draw), case.choices.block
    strategy, time_tile = draw.pick(SPLIT, OVERLAPPED), draw.pick(0, 1, 2, 3)
    if strategy == SPLIT:
        choices = Choices(draw.one_of(WIDTHS), threads, time_tile)
    else:
        choices = Choices(draw.one_of(STRIPS), draw.one_of(STRIP_BLOCKS), time_tile)
    choices = replace(choices, strict=case.choices.strict)
    sizes = draw_sizes(draw, drawn)
    return replace(case, program=drawn, choices=choices, sizes=sizes, strategies=(strategy,), whole=False)


def _choices(draw: Draw, drawn: Program) -> Choices:
    return Choices(
        tile=draw.one_of(TILES),
        block=draw.one_of(BLOCKS),
        sizes=draw.one_of(SIZES) if draw.chance(6) else None,
        strict=jumps(drawn) or draw.chance(2),
        max_shared_memory=draw.pick(None, None, None, 0, 256, 8192),
        max_operations=draw.pick(*(MAX_OPERATIONS,) * 9, 2000),
    )


def jumps(drawn: Program) -> bool:
    """Return whether a rounding error can change a result by more than rounding: only equal bits say something."""
    return any(
        (isinstance(node, DataCompare) and not _exact(drawn, node))
        or (isinstance(node, Apply) and node.form in JUMPING_TEXTS)
        for node in walk(drawn)
    )


def _exact(drawn: Program, compare: DataCompare) -> bool:
    """Return whether no rounding reaches a comparison: it is of numbers, and of elements of integers or of inputs."""
    for side in (compare.left, compare.right):
        if isinstance(side, Literal):
            continue
        array = drawn.array(side.array) if isinstance(side, Element) else None
        if array is None or not (array.written is False or kind(array.type) != "f"):
            return False
    return True
