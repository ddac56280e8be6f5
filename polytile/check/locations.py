"""Where the uses of an array are located, and what they find there: elements in device memory, cells inside kernels.

Each use of an element is an execution together with the element, and has a location:

    [S1[i, j, k] -> A[i, k]]   ->  cell_0_A_tile[bi, bj, i - 64 bi, k - 16 k0]
    [fill[bi, bj, k0] -> A[i, k]]  ->  A[i, k], which it reads, and the cell, which it writes
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace

import islpy as isl

from polytile.check.copies import Key, Loop, Run, labelled_loops, runs
from polytile.check.flow import flow as values_found
from polytile.check.relations import OUT, Check, accesses, dimensions, maps, padded, union
from polytile.check.times import Times, times
from polytile.dataclass import dataclass

Use = tuple[str, int]
KINDS = ("read", "write", "may-write")
BEFORE, AFTER = "before", "after"


@dataclass(frozen=True, slots=True)
class Placed:
    """The placements of a SCoP, and its tree with their copies; made by `with_copies`."""

    placements: tuple[Check, ...]
    loops: dict[Key, Loop] = field(compare=False)
    copies: tuple[Run, ...]
    times: Times


def with_copies(tree: isl.Schedule, placements: Sequence[Check]) -> Placed:
    loops = dict(labelled_loops(tree))
    copies = runs(placements, loops)
    return Placed(tuple(placements), loops, tuple(copies), times(tree, copies))


@dataclass(frozen=True, slots=True)
class Uses:
    """The uses of an array by kind, `{ [S[i] -> A[j]] -> location }`, and those of copies among them; `conditions` are
    the program's accesses."""

    routes: dict[str, isl.UnionMap]
    copies: isl.UnionSet
    kills: isl.UnionMap
    landings: isl.UnionMap  # from the start of each asynchronous copy that is ahead to its end
    conditions: tuple[isl.UnionMap, ...]

    def all(self) -> isl.UnionSet:
        found: isl.UnionSet = union([route.domain() for route in self.routes.values()], isl.UnionSet)
        return found

    def executions(self) -> isl.UnionMap:
        """Return `{ [S[i] -> A[j]] -> S[i] }`."""
        return self.all().union(self.kills.domain()).unwrap().domain_map()

    def elements(self) -> isl.UnionSet:
        return self.all().unwrap().range().coalesce()

    def framed(self, elements: isl.UnionSet, visible: bool) -> Uses:
        """Add the first writes and, where the array is seen, the last reads."""
        first, last = (
            isl.UnionMap.from_domain_and_range(isl.UnionSet(f"{{ {name}[] }}"), elements).range_map()
            for name in (BEFORE, AFTER)
        )
        routes = {**self.routes, "write": self.routes["write"].union(first)}
        if visible:
            routes["read"] = routes["read"].union(last)
        return replace(self, routes=routes)

    def flow(self, vectors: isl.UnionMap) -> Flow:
        """Compute what each use finds, by the times of executions."""
        reads, writes, may = (self.routes[kind] for kind in KINDS)
        when = self.executions().apply_range(_framed(vectors)).detect_equalities()
        reads, writes, may = (kind.detect_equalities() for kind in (reads, writes, may))
        found = values_found(reads, writes, when, may, self.kills, self.conditions)
        ended = reads.subtract_domain(self.landings.domain())  # an asynchronous copy may read until it lands
        false = values_found(writes.union(may), writes, when, may.union(ended), conditions=self.conditions)
        return Flow(found.values, found.unset, false.values)


@dataclass(frozen=True, slots=True)
class Flow:
    """From each write to the uses that find it, the uses that find nothing, and the other conflicts."""

    values: isl.UnionMap
    unset: isl.UnionMap
    false: isl.UnionMap


def _framed(vectors: isl.UnionMap) -> isl.UnionMap:
    """Extend the times by those before and after all instances."""
    rank = dimensions(vectors)
    inside = isl.UnionMap.from_domain_and_range(vectors.domain(), isl.UnionSet("{ [1] }"))
    zeros = ", 0" * rank
    outside = isl.UnionMap(f"{{ {BEFORE}[] -> [0{zeros}]; {AFTER}[] -> [2{zeros}] }}")
    return inside.flat_range_product(padded(vectors, rank)).union(outside)


def in_program(array: str, program: Check, visible: bool, context: isl.Set) -> Uses:
    """Return the program's own uses of an array: each element is its location."""
    none = isl.UnionMap("{ }")
    routes = {kind: accesses(program, array, kind).intersect_params(context).range_map() for kind in KINDS}
    kills = accesses(program, array, "kill").intersect_params(context).range_map()
    found = Uses(routes, isl.UnionSet("{ }"), kills, none, (*routes.values(), kills))
    return found.framed(found.elements(), visible)


@dataclass(frozen=True, slots=True)
class Routing:
    """Sends each use to the innermost cell that it may go to, else to its element in device memory."""

    placed: Placed
    array: str
    program: Check
    context: isl.Set
    lines: list[str] = field(default_factory=list)

    def uses(self) -> Uses:
        routes = {kind: isl.UnionMap("{ }") for kind in KINDS}
        for use, kind, relation in self._accesses():
            routes[kind] = routes[kind].union(self._statement(use, kind, relation))
        own = [run for run in self.placed.copies if run.placement["array"] == self.array]
        for run in own:
            inside, outside = self._inside(run), self._outside(run)
            read, written = (inside, outside) if run.drains else (outside, inside)
            routes["read"], routes["write"] = routes["read"].union(read), routes["write"].union(written)
        copied: isl.UnionSet = union([run.copied.wrap() for run in own], isl.UnionSet)
        conditions = tuple(accesses(self.program, self.array, kind) for kind in KINDS)
        return Uses(routes, copied, isl.UnionMap("{ }"), self._landings(own), conditions)

    def _landings(self, own: Sequence[Run]) -> isl.UnionMap:
        total = isl.UnionMap("{ }")
        for run in (r for r in own if r.lands):
            place, start = ", ".join(run.place), run.name.removeprefix("landing_")
            same = isl.UnionMap(f"{{ {start}[{place}] -> {run.name}[{place}] }}")
            total = total.union(same.product(run.copied.range().identity()).intersect_range(run.copied.wrap()))
        return total

    def _accesses(self) -> Iterator[tuple[Use, str, isl.UnionMap]]:
        for name, statement in self.program["statements"].items():
            for number, access in enumerate(statement["accesses"]):
                if access["array"] == self.array and access["kind"] in KINDS:
                    relation = isl.UnionMap(access["relation"]).intersect_domain(isl.UnionSet(statement["domain"]))
                    yield (name, number), access["kind"], relation.intersect_params(self.context)

    def _inner_first(self) -> list[Check]:
        return [p for p in reversed(self.placed.placements) if p["array"] == self.array]

    def _statement(self, use: Use, kind: str, elements: isl.UnionMap) -> isl.UnionMap:
        total = isl.UnionMap("{ }")
        for placement in self._inner_first():
            if placement.get("uses") and list(use) not in placement["uses"]:
                continue
            loop, owner = self._level(placement), placement["owner"]
            found = self._cells(placement, elements, loop.places(owner), loop.kernel.owners(owner))
            total = total.union(found)
            if kind == "read" or not placement.get("through"):
                elements = elements.subtract(found.domain().unwrap())
        return total.union(elements.range_map())

    def _level(self, placement: Check) -> Loop:
        return self.placed.loops[placement["kernel"], placement.get("level", "kernel")]

    def _inside(self, run: Run) -> isl.UnionMap:
        found = self._copied(run.placement, run, run.copied)
        if not run.copied.is_subset(found.domain().unwrap()):
            self.lines.append(f"what is copied has no cell in {run.placement['name']}")
        return found

    def _outside(self, run: Run) -> isl.UnionMap:
        """Return where copies read or leave elements: in cells of a placement around, if it serves all their uses."""
        total, elements, uses = isl.UnionMap("{ }"), run.copied, run.placement.get("uses", [])
        inner = self._inner_first()
        for outer in inner[inner.index(run.placement) + 1 :]:
            all_uses = not outer.get("uses") or (uses and all(use in outer["uses"] for use in uses))
            around = outer["kernel"] == run.key[0] and outer.get("level", "kernel") in run.loop.around
            if all_uses and around:
                found = self._copied(outer, run, elements)
                total = total.union(found)
                if not run.drains or not outer.get("through"):
                    elements = elements.subtract(found.domain().unwrap())
        return total.union(elements.range_map())

    def _copied(self, placement: Check, run: Run, elements: isl.UnionMap) -> isl.UnionMap:
        owner = placement["owner"]
        return self._cells(placement, elements, run.places(self._level(placement), owner), run.owners(owner))

    def _cells(self, placement: Check, used: isl.UnionMap, places: isl.UnionMap, owners: isl.UnionMap) -> isl.UnionMap:
        """Return where elements have a cell, `{ [S[i] -> A[j]] -> A_tile[owner, cell] }`."""
        used = used.intersect_domain(places.domain())
        user = used.domain_map()
        at = user.apply_range(places).range_product(used.range_map())
        cell = at.apply_range(isl.UnionMap(placement["cell"]))
        extents = placement["extents"]
        names = [f"c{k}" for k in range(len(extents))]
        bounds = " and ".join(f"0 <= {c} < {size}" for c, size in zip(names, extents, strict=True))
        if not cell.range().is_subset(isl.UnionSet(f"{{ [{', '.join(names)}] : {bounds or 'true'} }}")):
            self.lines.append(f"cells of {placement['name']} are outside of its extents {extents}")
        name = f"cell_{placement['kernel']}_{placement['name']}"
        located = [m.set_tuple_name(OUT, name) for m in maps(user.apply_range(owners).flat_range_product(cell))]
        found: isl.UnionMap = union([isl.UnionMap.from_map(m) for m in located], isl.UnionMap)
        return found
