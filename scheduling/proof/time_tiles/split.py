"""What is proven of a plan of split tiles: tiles whose values are in registers leave in memory what the source leaves.

For any sizes, from the numbers of the plan alone:

- parts: each instance is in one tile, and statements run at the same places in all steps;
- order: who depends on another instance is in a later launch, or in the same tile at a later step or level;
- cells: each access is of the element so far from the place that is written, which has a cell in the tile's box;
- fills: no tile of a launch writes what another one of it loads, so that each finds what earlier launches left;
- arrays that are made anew in each step: what is not loaded is made before it is read, in the tile, and what is not
  stored is read in the tile alone.

Then a read finds in its cell what the last write before it left: one of the same tile, or one of an earlier launch,
which was stored, and loaded before the tile began.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import islpy as isl

from polytile.ir.scop import AccessKind, Array, Scop, Statement
from polytile.ir.split_tiles import Colour, Field, SplitRead, SplitTiles, SplitWrite, Window
from polytile.scheduling.analysis.dependences import Dependences
from polytile.scheduling.proof.time_tiles.time_loop import OUT, first_iterator, iterations, placed, require


def prove_split(scop: Scop, dependences: Dependences, plan: SplitTiles) -> tuple[str, ...]:
    """Prove the kernels of a plan; returns what was shown, in lines for a reader.

    Raises WrongTimeTileError, with the first reason against it.
    """
    _check_order(dependences, scop, plan, _parts(scop, plan))
    _check_accesses(scop, plan)
    _check_fills(plan)
    for array in plan.transient:
        _check_transient(scop, dependences, plan, array)
    phases = f"{len(plan.phases)} launches a band of {plan.iterations} steps"
    return (
        f"{phases}: dependences go to later launches, or stay in a tile, to later levels",
        f"{len(plan.reads)} reads of {len(plan.writes)} statements: in cells of their tile, filled or made before",
        "no tile loads what another one of its launch writes",
        *(f"{array} is made anew in each step: loaded and stored where other tiles go on" for array in plan.transient),
    )


# Parts --------------------------------------------------------------------------------------------
def _parts(scop: Scop, plan: SplitTiles) -> dict[str, isl.Map]:
    """Return when and where statements write, `{ S[i] -> [t, x] }`, each at a place of one tile.

    Along each dimension and at each step, tiles that shrink and that grow follow one another, without places between
    them or in two of them.
    """
    require({s.name for s in scop.statements} == {w.statement for w in plan.writes}, "it runs other statements")
    instances = {w.statement: _placed(scop, scop.statement(w.statement), plan) for w in plan.writes}
    iterations(instances)
    for write in plan.writes:
        for k, cut in enumerate(plan.cuts):
            window = plan.written(write, k)
            beside = window.high[0] + 1 == window.low[1] and window.high[1] + 1 == window.low[0] + cut.period
            require(beside, f"there are instances of {write.statement} in no tile")
            shrinking, growing = (high - low + 1 for low, high in zip(window.low, window.high, strict=True))
            steeper = (cut.lower + cut.upper) * (plan.iterations - 1)  # what tiles lose, or gain, until the last step
            apart = min(shrinking, shrinking - steeper, growing, growing + steeper) >= 0
            require(apart, f"there are instances of {write.statement} in two tiles")
    return instances


def _placed(scop: Scop, statement: Statement, plan: SplitTiles) -> isl.Map:
    """Return `{ S[t, i] -> [t, x] }`: the first iterator, and the last subscripts of what is written."""
    require(len(statement.iterators) > 0, f"no loop over time is around {statement.name}")
    found = placed(scop, statement, first_iterator(statement), plan.dims)
    require(found.is_bijective(), f"several instances of {statement.name} write one element in a step")
    return found


def _sides(plan: SplitTiles, colour: Colour, windows: tuple[Window, ...]) -> str:
    """Format the places x of windows of tile K in the first band at time t, as conditions."""
    tests = [f"0 <= t < {plan.iterations}"]
    for k, (cut, grows, window) in enumerate(zip(plan.cuts, colour, windows, strict=True)):
        low, high = (-cut.upper, cut.lower) if grows else (cut.lower, -cut.upper)
        place = f"(x{k} - {cut.period}*K{k})"
        tests.append(f"{window.low[grows]} + {low}*t <= {place} <= {window.high[grows]} + {high}*t")
    return " and ".join(tests)


# Order --------------------------------------------------------------------------------------------
def _check_order(dependences: Dependences, scop: Scop, plan: SplitTiles, instances: Mapping[str, isl.Map]) -> None:
    """Check that dependences go to later bands, later launches of a band, or in the same tile to later steps and
    levels.

    Along a dimension, with u the step of the band, tiles that shrink begin at x = P K + a u + lo, those that grow at
    x = P K + G - b u - hi. So a u + lo - x tells how far x is below the former, x + b u + hi how far it is above the
    latter. If neither gets less from an instance to one of the same band that depends on it, what was below the
    beginning of a tile that shrinks stays below it, and what was above that of a tile that grows stays above it: from a
    tile that grows dependences stay in it, from one that shrinks they stay or go to those that grow beside it. With
    several dimensions they stay in the tile, or go to one that grows along more of them, of a later launch.
    """
    skewed = isl.UnionMap("{ }")
    for write in plan.writes:
        times = instances[write.statement].apply_range(_skewed(plan, write))
        skewed = skewed.union(isl.UnionMap.from_map(times))
    sides = [f"s{k} >= 0" for k in range(2 * plan.dims)]
    names = ", ".join(["t", "folded", *(f"s{k}" for k in range(2 * plan.dims))])
    forward = isl.UnionSet(f"{{ [{names}] : t >= {plan.iterations} or (folded > 0 and {' and '.join(sides)}) }}")
    for relation in (one for d in dependences.by_array for one in (d.flow, d.false)):
        apart = relation.intersect_params(scop.context).apply_domain(skewed).apply_range(skewed).deltas()
        message = "instances that depend on one another are in tiles of one launch, or not in order"
        require(apart.is_subset(forward), message)


def _skewed(plan: SplitTiles, write: SplitWrite) -> isl.Map:
    """Return `{ [t, x] -> [t, levels t + level, a t + lo - x0, x0 + b t + hi, ..] }`."""
    sides = []
    for k, (cut, lo, hi) in enumerate(zip(plan.cuts, write.lower, write.upper, strict=True)):
        sides += [f"{cut.lower} t + {lo} - x{k}", f"x{k} + {cut.upper} t + {hi}"]
    places = ", ".join(["t", *(f"x{k}" for k in range(plan.dims))])
    return isl.Map(f"{{ [{places}] -> [t, {len(plan.levels)} t + {write.level}, {', '.join(sides)}] }}")


# Cells --------------------------------------------------------------------------------------------
def _check_accesses(scop: Scop, plan: SplitTiles) -> None:
    """Check that each access is where the plan says that it is, and has a cell in the box."""
    versions = dict(plan.versions)
    for write in plan.writes:
        statement = scop.statement(write.statement)
        instances = _placed(scop, statement, plan).reverse()
        reads = {r.access: r for r in plan.reads_of(write.statement)}
        require(len(reads) == len(plan.reads_of(write.statement)), f"an access of {write.statement} is in two cells")
        for number, access in enumerate(statement.accesses):
            if not scop.written(access.array):
                continue
            read = reads.pop(number, None)
            is_write = access.kind is AccessKind.WRITE
            known = read is not None or (is_write and access.array == write.array)
            require(known and access.array in versions, f"access {number} of {write.statement} has no cell")
            require(is_write == (read is None), f"access {number} of {write.statement} is no read")
            one = _element(scop.array(access.array), plan, versions[access.array], read or write)
            there = instances.apply_range(access.relation)
            require(there.is_subset(one), f"access {number} of {write.statement} is not of the element of its cell")
        require(not reads, f"{write.statement} reads what it does not in the source")


def _element(array: Array, plan: SplitTiles, versions: int, one: SplitRead | SplitWrite) -> isl.Map:
    """Return `{ [t, x] -> A[(t + version) mod versions, x + offset] }`."""
    require(array.rank == plan.dims + (versions > 1), f"{array.name} has no {versions} versions of each element")
    require(one.array == array.name, f"{one.statement} has another array than {array.name}")
    x = [f"x{k}" for k in range(plan.dims)]
    offset = one.offset if isinstance(one, SplitRead) else (0,) * plan.dims
    front = [f"(t + {one.version}) mod {versions}"] * (versions > 1)
    there = [f"{name} + ({d})" for name, d in zip(x, offset, strict=True)]
    return isl.Map(f"{{ [{', '.join(['t', *x])}] -> {array.name}[{', '.join([*front, *there])}] }}")


# Fills --------------------------------------------------------------------------------------------
def _check_fills(plan: SplitTiles) -> None:
    """Check that another tile of the launch does not write what a tile may load.

    Tiles of a colour are alike, whatever their band and their numbers: what the first of the first band writes stands
    for all.
    """
    for array, version in plan.fields:
        writes = [(_windows(plan, w), w.version) for w in plan.writes if w.array == array]
        written = _reached(plan, (array, version), writes)
        made = written.intersect_domain(FIRST_TILES)
        loads = list(_loads(plan, array))
        loaded = written.union(_reached(plan, (array, version), loads)) if loads else written
        apart = made.apply_range(loaded.reverse()).intersect(SAME_LAUNCH)
        require(apart.is_empty(), f"a tile loads elements of {array} that another one of the launch writes")


FIRST_TILES = isl.Set("{ [p, c, 0, 0] }")
SAME_LAUNCH = isl.Map("{ [p, c, K, L] -> [p, d, M, N] : c < d or c > d or K < M or K > M or L < N or L > N }")


def _windows(plan: SplitTiles, write: SplitWrite) -> tuple[Window, ...]:
    return tuple(plan.written(write, k) for k in range(plan.dims))


def _loads(plan: SplitTiles, array: str) -> Iterator[tuple[tuple[Window, ...], int]]:
    """Yield the places of an array that are loaded for what each statement reads of a version.

    They are around those that it writes as far as it reads, or the very places.
    """
    for write in plan.writes:
        for version, reach in plan.reaches(write.statement, array):
            yield tuple(w.moved(*r) for w, r in zip(_windows(plan, write), reach, strict=True)), version


def _reached(plan: SplitTiles, field: Field, found: list[tuple[tuple[Window, ...], int]]) -> isl.Map:
    """Return `{ [phase, colour, K0, K1] -> [x] }` of the first band.

    They are the places in windows at any step of which it is the version.
    """
    versions = dict(plan.versions)[field[0]]
    x = ", ".join(f"x{k}" for k in range(plan.dims))
    tiles = "K0, K1" if plan.dims == 2 else "K0, 0"
    parts = [
        f"[{phase}, {number}, {tiles}] -> [{x}] : exists t : (t + {version - field[1]}) mod {versions} = 0"
        f" and {_sides(plan, colour, windows)}"
        for phase, colours in enumerate(plan.phases)
        for number, colour in enumerate(colours)
        for windows, version in found
    ]
    return isl.Map(f"{{ {'; '.join(parts)} }}")


# Arrays that are made anew in each step -----------------------------------------------------------
def _check_transient(scop: Scop, dependences: Dependences, plan: SplitTiles, array: str) -> None:
    writes = [w for w in plan.writes if w.array == array]
    versions = dict(plan.versions)[array]
    require(len(writes) == 1 and versions == 1, f"{array} is not made anew by one statement")
    (write,) = writes
    readers = [w for w in plan.writes if any(r.array == array for r in plan.reads_of(w.statement))]
    later = all(r.level > write.level for r in readers)
    known = dependences.of(array)
    require(later and known.exact, f"{array} is read before it is made anew")
    steps = {w.statement: _placed(scop, scop.statement(w.statement), plan) for w in (*readers, write)}
    times = isl.UnionMap("{ }")
    for one in steps.values():
        times = times.union(isl.UnionMap.from_map(one.project_out(OUT, 1, plan.dims)))
    apart = known.flow.intersect_params(scop.context).apply_domain(times).apply_range(times).deltas()
    require(apart.is_subset(isl.UnionSet("{ [0] }")), f"{array} is read in later steps than it is made in")
    (access,) = (a for a in scop.statement(write.statement).accesses if a.writes)
    made = isl.UnionSet.from_set(access.relation.intersect_domain(scop.statement(write.statement).domain).range())
    first = known.uninitialised.intersect_range(made).intersect_params(scop.context)
    require(first.is_empty(), f"{array} is read before it is made")
    for reader in readers:
        for k in range(plan.dims):
            _check_windows(plan, array, write, reader, k)


def _check_windows(plan: SplitTiles, array: str, write: SplitWrite, reader: SplitWrite, k: int) -> None:
    """Check that shrinking tiles read what they make in the step, and growing ones have all readers of that."""
    own, of = plan.written(write, k), plan.written(reader, k)
    first, last = plan.hull([r for r in plan.reads_of(reader.statement) if r.array == array], k)
    read = of.moved(first, last)
    made = own.low[0] <= read.low[0] and read.high[0] <= own.high[0]
    require(made, f"a tile that shrinks reads {array} where it does not make it")
    all_ = own.low[1] - last >= of.low[1] and own.high[1] - first <= of.high[1]
    require(all_, f"a tile that grows makes {array} for other tiles")
