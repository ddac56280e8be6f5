"""Iterated stencils as values, and their C text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

Place = tuple[int, ...]
EXTENTS = ("N", "M", "L")
ITERATORS = ("i", "j", "k")


@dataclass(frozen=True, slots=True)
class Array:
    """An array of the program's dimensions. It is "plain", has two "planes", of which a step writes one and reads the
    other, or keeps "rows", one for each step and two before the first."""

    name: str
    kept: str = "plain"

    def cell(self, step: int, back: int) -> tuple[int, ...]:
        """Which part of the array holds what was written `back` steps before `step`."""
        return {"plain": (), "planes": ((step + 1 - back) % 2,), "rows": (step + 2 - back,)}[self.kept]

    def front(self, back: int) -> str:
        """The subscripts before those of the place."""
        row = "[t + 2]" if back == 0 else "[t + 1]" if back == 1 else "[t]"
        return {"plain": "", "planes": "[(t + 1) % 2]" if back == 0 else "[t % 2]", "rows": row}[self.kept]

    @property
    def outer(self) -> str:
        return {"plain": "", "planes": "[2]", "rows": "[T + 2]"}[self.kept]


@dataclass(frozen=True, slots=True)
class Read:
    """An element so far from the place, as it was some steps back (what that means is up to the array)."""

    array: str
    back: int
    offset: Place


@dataclass(frozen=True, slots=True)
class Update:
    """One nest: all places within margins, or every second one of them, get a sum of elements.

    `every` is "", "subscript" (places along the last dimension are 2 x + odd) or "condition" (the sum of a place's
    coordinates is odd or not).
    """

    target: str
    reads: tuple[Read, ...]
    low: Place
    high: Place
    every: str = ""
    odd: int = 0


@dataclass(frozen=True, slots=True)
class Program:
    """A loop over steps around updates. Sizes without a value are parameters."""

    dims: int
    arrays: tuple[Array, ...]
    updates: tuple[Update, ...]
    element: str = "double"
    sizes: tuple[tuple[str, int], ...] = ()  # T and the extents, where they are known

    def array(self, name: str) -> Array:
        return next(a for a in self.arrays if a.name == name)


def places(update: Update, extents: Place) -> Iterator[Place]:
    """The places that an update writes, in order."""
    ranges = [range(lo, n - hi) for lo, hi, n in zip(update.low, update.high, extents, strict=True)]
    for place in product(*ranges):
        number = {"": update.odd, "subscript": place[-1], "condition": sum(place)}[update.every]
        if number % 2 == update.odd:
            yield place


# C ------------------------------------------------------------------------------------------------------------------
def c_text(program: Program) -> str:
    sizes = dict(program.sizes)
    parameters = [f"int {name}" for name in ("T", *EXTENTS[: program.dims]) if name not in sizes]
    extents = "".join(f"[{name}]" for name in EXTENTS[: program.dims])
    arrays = [f"{program.element} {a.name}{a.outer}{extents}" for a in program.arrays]
    defines = "".join(f"#define {name} {value}\n" for name, value in sizes.items())
    body = "".join(_update(program, update) for update in program.updates)
    head = f"{defines}void f({', '.join([*parameters, *arrays])})\n{{\n#pragma scop\n"
    return f"{head}    for (int t = 0; t < T; t++) {{\n{body}    }}\n#pragma endscop\n}}\n"


def _update(program: Program, update: Update) -> str:
    lines = [_loop(update, k, k == program.dims - 1) for k in range(program.dims)]
    if update.every == "condition":
        lines.append(f"if (({' + '.join(ITERATORS[: program.dims])}) % 2 == {update.odd})")
    here = Read(update.target, 0, (0,) * program.dims)
    weights = [0.9 * (1 + k / 8) / len(update.reads) / 2 for k in range(len(update.reads))]
    suffix = "f" if program.element == "float" else ""
    terms = [f"{w:.5f}{suffix} * {_element(program, update, r)}" for w, r in zip(weights, update.reads, strict=True)]
    lines.append(f"{_element(program, update, here)} = {' + '.join(terms)};")
    return "".join(f"{'    ' * (2 + depth)}{line}\n" for depth, line in enumerate(lines))


def _loop(update: Update, k: int, innermost: bool) -> str:
    i, n, low, high = ITERATORS[k], EXTENTS[k], update.low[k], update.high[k]
    if innermost and update.every == "subscript":
        return f"for (int {i} = {-((update.odd - low) // 2)}; 2 * {i} + {update.odd} < {n} - {high}; {i}++)"
    return f"for (int {i} = {low}; {i} < {n} - {high}; {i}++)"


def _element(program: Program, update: Update, read: Read) -> str:
    subscripts = []
    for k, offset in enumerate(read.offset):
        doubled = update.every == "subscript" and k == program.dims - 1
        base = f"2 * {ITERATORS[k]}" if doubled else ITERATORS[k]
        plus = offset + update.odd if doubled else offset
        subscripts.append(f"[{base} {'-' if plus < 0 else '+'} {abs(plus)}]" if plus else f"[{base}]")
    return f"{read.array}{program.array(read.array).front(read.back)}{''.join(subscripts)}"


# Known shapes -------------------------------------------------------------------------------------------------------
def star(dims: int, radius: int) -> Program:
    """Each element from its neighbours along the axes, from one plane to the other."""
    return _gather(dims, radius, [p for p in _box(dims, radius) if sum(map(bool, p)) <= 1])


def box(dims: int, radius: int) -> Program:
    """Each element from all elements around it, from one plane to the other."""
    return _gather(dims, radius, _box(dims, radius))


def _box(dims: int, radius: int) -> list[Place]:
    return list(product(range(-radius, radius + 1), repeat=dims))


def _gather(dims: int, radius: int, points: list[Place]) -> Program:
    reads = tuple(Read("A", 1, point) for point in points)
    margin = (radius,) * dims
    return Program(dims, (Array("A", "planes"),), (Update("A", reads, margin, margin),))


# What must be refused -----------------------------------------------------------------------------------------------
def conflicts(program: Program, sizes: Mapping[str, int]) -> tuple[set[tuple[int, int]], bool]:
    """Of all pairs of accesses to one element, one of which writes: those of different iterations within one step, as
    numbers of updates, and whether a step reads what an earlier one wrote; by running all iterations at these sizes."""
    extents = tuple(sizes[name] for name in EXTENTS[: program.dims])
    within: set[tuple[int, int]] = set()
    touched: dict[object, set[bool]] = {}
    between = False
    for step in range(sizes["T"]):
        now: dict[object, set[tuple[int, bool]]] = {}
        for number, update in enumerate(program.updates):
            for place in places(update, extents):
                accesses = list(_accesses(program, update, step, place))
                for element, writes in accesses:
                    within |= {(n, number) for n, wrote in now.get(element, ()) if writes or wrote}
                    between |= not writes and True in touched.get(element, ())
                for element, writes in accesses:
                    now.setdefault(element, set()).add((number, writes))
        for element, seen in now.items():
            touched.setdefault(element, set()).update(writes for _, writes in seen)
    return within, between


def _accesses(program: Program, update: Update, step: int, place: Place) -> Iterator[tuple[object, bool]]:
    """The elements that an iteration reads, and then what it writes."""
    for read in update.reads:
        there = tuple(x + o for x, o in zip(place, read.offset, strict=True))
        yield (read.array, program.array(read.array).cell(step, read.back), there), False
    yield (update.target, program.array(update.target).cell(step, 0), place), True
