"""Sizes for validation with which every kernel runs, with tiles inside and at both sides, and remainders.

before: n = 13, tsteps = 17: a time tile has 32 steps, which run in pairs of tiles; only the kernel for the rest runs
after:  n = 13, tsteps = 17; then n = 389, tsteps = 131: two pairs of time tiles, a rest, four strips of 64

What sizes run is asked of the control flow of the program (control_flow.py), not of the plans that it was made of: so
it is right for every schedule. The sizes that reach most are looked for among growing ones, with multiples of the steps
of the host's loops between them; then each is made as small as what is reached allows. The least value of each size
beside small ones of the others shows what a loop without iterations leaves: a sum of nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from polytile.dataclass import dataclass
from polytile.diagnostics import PolytileError
from polytile.ir.arith import known
from polytile.ir.evaluate import evaluate
from polytile.ir.expr import Access, Binary, Call, For, Name
from polytile.ir.expr_trees import expressions as expressions_of
from polytile.ir.expr_trees import statements, walk
from polytile.ir.host import HostProgram
from polytile.ir.scop import Scop
from polytile.runtime.control_flow import SEVERAL, ControlFlow, Part, Reach, control_flow
from polytile.runtime.parameters import FreeSizes, free_sizes

SCALES = (24, 48, 96, 192, 384, 768, 1536, 3072)
OFFSETS = (13, 17, 11, 19)  # to the scale, so that sizes differ and divide nothing
MOST_RUNS = 6  # beside the one with small sizes
MOST_WORK = 6e9  # of all runs, in nodes that threads execute: about 3 s in the emulator
MOST_EVALUATIONS = 160  # of control flow
WORK_OF_ELEMENT = 200.0  # to fill, copy and compare one
LARGER = (300.0, 30.0, 3.0)  # times as much work as there is room for, of sizes that are made smaller
UNITS = 4  # steps of host loops that sizes are multiples of, the largest ones

Sizes = Mapping[str, int]


def covering_sizes(
    scop: Scop, program: HostProgram, given: Sizes, base: Sizes, known: Iterable[Sizes] = ()
) -> tuple[Sizes, ...]:
    """Choose sizes to run besides `base`; as many as it takes to run what can run within some seconds.

    Sizes that are `known` from another schedule of the SCoP are taken as they are where they do as well.
    """
    sizes = free_sizes(scop, given)
    return tuple(_search(program, sizes).runs(base, known)) if sizes.free else ()


def sizes_that_run(scop: Scop, program: HostProgram, kernel: str) -> Sizes | None:
    """Return values of all parameters with which a kernel runs, as small as they are found; None without any."""
    return _search(program, free_sizes(scop, {})).smallest((kernel, "launch", 1))


def _search(program: HostProgram, sizes: FreeSizes) -> Search:
    return Search(control_flow(program), sizes, tile_lengths(program))


@dataclass(frozen=True, slots=True)
class Search:
    """A search for sizes, and what was found of those that were looked at."""

    flow: ControlFlow
    sizes: FreeSizes
    units: tuple[int, ...]
    found: dict[tuple[int, ...], Reach] = field(default_factory=dict, compare=False)

    def runs(self, base: Sizes, known: Iterable[Sizes] = ()) -> Iterator[Sizes]:
        """Yield sizes that reach together what some sizes reach and `base` does not, and the least ones."""
        least = list(self._least(base))
        yield from least
        for candidate in self._candidates():
            self.reach(candidate)
        small = [sizes for sizes in known if self.sizes.near(sizes) == sizes]
        for sizes in small:
            self.reach(sizes)
        done = frozenset[Part]().union(*(self.reach(sizes).parts for sizes in (base, *least)))
        done -= {p for p in done if p[1:] == ("launch", SEVERAL)}  # what many steps follow may fade
        room = MOST_WORK
        for _ in range(MOST_RUNS):
            wanted = frozenset[Part]().union(*(reach.parts for reach in self.found.values())) - done
            chosen = self._chosen(wanted, room, small)
            if chosen is None:
                return
            yield chosen
            done |= self.reach(chosen).parts
            room -= self.reach(chosen).work
            ended = self._ending_earlier(chosen)
            if ended is not None and self.reach(ended).work <= room:
                yield ended
                room -= self.reach(ended).work

    def _ending_earlier(self, sizes: Sizes) -> Sizes | None:
        """Return sizes with which one kernel less runs, and of the others what ran: it may write over what these store.

        before: tsteps = 42: two pairs of time tiles of 10 steps, and two steps by the kernel for the rest
        after:  tsteps = 40: two pairs of time tiles
        """
        whole, height = self.reach(sizes), max(host_steps(self.flow.program), default=1)
        for name in self.sizes.free:
            for less in range(1, min(height, sizes[name] + 1)):
                fewer = self.sizes.near({**sizes, name: sizes[name] - less})
                if fewer is None or fewer[name] != sizes[name] - less:
                    break
                found = self._reach(fewer)
                gone = {name for name, count in whole.launches.items() if count and not found.launches.get(name)}
                if gone:
                    kept = all(part in found.parts for part in whole.parts if part[0] not in gone)
                    return fewer if kept and len(gone) < len(whole.launches) else None
        return None

    def _least(self, base: Sizes) -> Iterator[Sizes]:
        """Yield sizes with each in turn as small as something runs with it, 0 mostly, the others as in `base`."""
        if not _sizes_say_what_is_used(self.sizes.scop):
            return  # of an array without elements no index can be drawn
        idle = self.sizes.idle()
        for name in idle.free:
            sizes = idle.near({**base, name: 0})
            if sizes is not None and sizes[name] < base[name] and any(self.reach(sizes).launches.values()):
                yield sizes

    def _chosen(self, wanted: frozenset[Part], room: float, small: Sequence[Sizes]) -> Sizes | None:
        """Choose sizes that reach as much of what is wanted as there is room for; some are known to be small."""
        names = [p.name for p in self.sizes.scop.parameters]
        tried = [dict(zip(names, values, strict=True)) for values in self.found]
        reaching = [c for c in tried if self.reach(c).parts & wanted]
        for times in LARGER:
            best = self._best((c for c in reaching if self.reach(c).work <= times * room), wanted)
            if best is not None and best in small and self.reach(best).work <= room:
                return best
            if best is not None:
                smaller = self._within(self._smaller(best, wanted), wanted, room)
                if self.reach(smaller).parts & wanted and self.reach(smaller).work <= room:
                    return self._apart(smaller, wanted, room)
        return None

    def _best(self, candidates: Iterable[Sizes], wanted: frozenset[Part]) -> Sizes | None:
        """Choose the sizes that reach most of what is wanted; of those, the ones with the least work."""

        def worth(sizes: Sizes) -> tuple[int, float]:
            found = self.reach(sizes)
            return _worth(found.parts & wanted), -found.work

        return max(candidates, key=worth, default=None)

    def smallest(self, part: Part) -> Sizes | None:
        """Return the smallest sizes that reach a part, if any do."""
        reaching = (c for c in self._candidates() if part in self.reach(c).parts)
        best = min(reaching, key=lambda c: self.reach(c).work, default=None)
        return None if best is None else self._smaller(best, frozenset({part}))

    def reach(self, sizes: Sizes) -> Reach:
        """Return what runs for these sizes, and its work with that of the arrays."""
        key = tuple(sizes.values())
        if key not in self.found:
            self.found[key] = self._reach(sizes)
        return self.found[key]

    def _reach(self, sizes: Sizes) -> Reach:
        try:
            found = self.flow.reach(sizes)
            elements = sum(max(0, evaluate(b.elements, sizes)) for b in self.flow.program.buffers)
        except PolytileError:  # a division by a size of 0
            return Reach(frozenset(), {}, 0.0)
        return Reach(found.parts, found.launches, found.work + elements * WORK_OF_ELEMENT)

    def _candidates(self) -> Iterator[Sizes]:
        """Yield growing sizes: of no length of a tile, and multiples of each."""
        seen: set[tuple[int, ...]] = set()
        for scale in SCALES:
            for sizes in (self._at(scale, unit) for unit in (0, *self.units)):
                if sizes is not None and tuple(sizes.values()) not in seen:
                    seen.add(tuple(sizes.values()))
                    yield sizes
            if all(reach.work > LARGER[0] * MOST_WORK for key, reach in self.found.items() if max(key) >= scale):
                return

    def _at(self, scale: int, unit: int) -> Sizes | None:
        """Return sizes of about a scale: all multiples of a unit, or none of them anything."""
        wanted = {
            name: -(-scale // unit) * unit if unit else scale + OFFSETS[k % len(OFFSETS)]
            for k, name in enumerate(self.sizes.free)
        }
        return self.sizes.near(wanted)

    def _with(self, sizes: Sizes, name: str, value: int) -> Sizes | None:
        found = self.sizes.near({**sizes, name: value})
        return found if found is not None and len(self.found) < MOST_EVALUATIONS else None

    def _smaller(self, sizes: Sizes, wanted: frozenset[Part]) -> Sizes:
        """Shrink each size in turn as far as bisection finds, while the same wanted parts are reached."""
        kept = self.reach(sizes).parts & wanted
        for name in sorted(self.sizes.free, key=lambda n: -self._saved(sizes, n)):
            low, high = 0, sizes[name]
            while high - low > max(1, high // 16):
                smaller = self._keeping(sizes, name, (low + high) // 2, kept)
                low, sizes = (low, smaller) if smaller is not None else ((low + high) // 2, sizes)
                high = sizes[name]
        return sizes

    def _keeping(self, sizes: Sizes, name: str, value: int, kept: frozenset[Part]) -> Sizes | None:
        """Find sizes with about this smaller value that reach all of this, maybe with the same remainder of a tile."""
        for unit in (1, *self.units):
            tried = self._with(sizes, name, value - (value - sizes[name]) % unit)
            if tried is not None and 0 <= tried[name] < sizes[name] and kept <= self.reach(tried).parts:
                return tried
        return None

    def _saved(self, sizes: Sizes, name: str) -> float:
        """Compute how much work less half of a size is."""
        half = self._with(sizes, name, sizes[name] // 2)
        return 0.0 if half is None else self.reach(sizes).work - self.reach(half).work

    def _within(self, sizes: Sizes, wanted: frozenset[Part], room: float) -> Sizes:
        """Shrink sizes to less work than there is room for, losing as little of what is wanted as halving them does."""
        while self.reach(sizes).work > room:
            halves = [
                h for n in self.sizes.free if sizes[n] > 1 and (h := self._with(sizes, n, sizes[n] // 2)) is not None
            ]
            less = [h for h in halves if self.reach(h).work < self.reach(sizes).work]
            if not less:
                return sizes
            sizes = max(less, key=lambda h: (_worth(self.reach(h).parts & wanted), -self.reach(h).work))
        return sizes

    def _apart(self, sizes: Sizes, wanted: frozenset[Part], room: float) -> Sizes:
        """Make sizes differ, where that loses nothing: with equal ones, rows taken for columns do not show."""
        kept = self.reach(sizes).parts & wanted
        for name in self.sizes.free:
            taken = [value for other, value in sizes.items() if other != name]
            for more in (1, 2, 3, 5):
                if sizes[name] not in taken:
                    break
                tried = self._with(sizes, name, sizes[name] + more)
                if tried is not None and kept <= self.reach(tried).parts and self.reach(tried).work <= room:
                    sizes = tried
        return sizes


def _sizes_say_what_is_used(scop: Scop) -> bool:
    """Return whether no subscript is read, and those of the caller's arrays are made of iterators and parameters."""
    sizes, callers = {p.name for p in scop.parameters}, {a.name for a in scop.external_arrays}
    for statement in scop.statements:
        known = sizes.union(statement.iterators)
        for access in (node for root in statement.body for node in walk(root) if isinstance(node, Access)):
            used = list(walk(*access.subscripts))
            names = {n.name for n in used if isinstance(n, Name)} if access.array in callers else set()
            if any(isinstance(n, Access) for n in used) or not names <= known:
                return False
    return True


def _worth(parts: Iterable[Part]) -> int:
    """Weigh how much parts count: kernels that run first, then tiles within."""
    return sum(_WORTH.get(part[1:3], 1) for part in parts)


_WORTH: Mapping[Part, int] = {("launch", 1): 1000, ("within", 3): 30, ("launch", SEVERAL): 10}


def tile_lengths(program: HostProgram) -> tuple[int, ...]:
    """Collect constants that the loops and launches of the host step or divide by: the lengths of tiles."""
    steps = host_steps(program)
    roots = [e for s in statements(*program.body) for e in expressions_of(s)]
    divisors = {value for node in walk(*roots) if (value := _divisor(node)) is not None}
    sizes = sorted({abs(u) for u in steps | divisors if 1 < abs(u) <= max(SCALES)})
    return tuple(sizes[-UNITS:])


def host_steps(program: HostProgram) -> set[int]:
    """Collect constants that the loops of the host step by: the iterations of time tiles."""
    return {s.step for s in statements(*program.body) if isinstance(s, For) and isinstance(s.step, int)}


def _divisor(node: object) -> int | None:
    match node:
        case Binary(op="/" | "%", right=by) | Call(function="floord", arguments=(_, by)):
            return known(by)
    return None
