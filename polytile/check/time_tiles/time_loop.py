"""The instances of a time loop by iteration and cell, and what the program's arrays have at an iteration t0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

import islpy as isl

from polytile.check.flow import flow
from polytile.check.relations import BEFORE, IN, OUT, Check, accesses, maps, padded, union
from polytile.check.time_tiles.wrong_tile import WrongTileError
from polytile.check.tree import NODE
from polytile.dataclass import dataclass

SET = isl.dim_type.set
Value = isl.UnionMap


@dataclass(frozen=True, slots=True)
class Cells:
    """`arrays` are those that change, with those of the source whose values they have; t0 is such that all blocks of
    iterations run from there. `once`: there is no time loop, but an iteration 0.

    `when` is `{ S[i] -> [t] }`, `writes` `{ S[i] -> A[e] }`."""

    program: Check
    dims: int
    arrays: dict[str, str]
    t0: isl.Set = field(repr=False)
    when: isl.UnionMap = field(repr=False)
    writes: isl.UnionMap = field(repr=False)
    cell_of_element: isl.UnionMap = field(repr=False)  # { A[e] -> [x] }
    once: bool = False
    known: dict[tuple[object, ...], isl.UnionMap] = field(default_factory=dict, repr=False)

    @property
    def cell(self) -> isl.UnionMap:
        """`{ S[i] -> [x] }`."""
        return self.writes.apply_range(self.cell_of_element)

    def places(self, array: str, iteration: int) -> isl.Map:
        """Return `{ [x] -> A[e] }`: where iteration t0 + `iteration` writes cells, were it one of the loop; any
        cells."""
        total = None
        for statement in self.program["statements"].values():
            for access in (a for a in statement["accesses"] if (a["array"], a["kind"]) == (array, "write")):
                found = self._places(isl.Map(access["relation"]), iteration)
                total = found if total is None else total.union(found)
        if total is None or not total.is_single_valued():
            raise WrongTileError(f"an iteration writes {array} at no or several places")
        return total

    def _places(self, write: isl.Map, iteration: int) -> isl.Map:
        if self.once:
            x = isl.Set(f"{{ [{', '.join(f'x{k}' for k in range(self.dims))}] }}")
            return isl.Map.identity(x.get_space().map_from_set()).set_tuple_name(OUT, str(write.get_tuple_name(OUT)))
        first = ", ".join(["i", *(f"i{k}" for k in range(1, write.dim(IN)))])
        at = isl.Set(f"[t0] -> {{ [{first}] : i = t0 + ({iteration}) }}")
        elements = write.reset_tuple_id(IN).intersect_domain(at).range()
        rank = elements.dim(SET)
        leading = elements.project_out(SET, rank - self.dims, self.dims).reset_tuple_id()
        x = isl.Set(f"{{ [{', '.join(f'x{k}' for k in range(self.dims))}] }}")
        same = isl.Map.identity(x.get_space().map_from_set())
        both = isl.Map.from_domain_and_range(x, leading).flat_range_product(same)
        return both.set_tuple_name(OUT, str(elements.get_tuple_name()))

    def changing(self, array: str) -> isl.UnionSet:
        """Return the cells of an array that some instance makes."""
        return self._elements(array).apply(self.cell_of_element)

    def constant(self, array: str) -> isl.UnionMap:
        """Return `{ A[e] -> before A[e] }` for elements that no instance writes."""
        return _before(array, self.cell_of_element).subtract_domain(self._elements(array))

    def unwritten(self, array: str) -> isl.UnionMap:
        """Return `{ [x] -> before A[e] }` of an array that no instance writes, with an element for each cell."""
        before = _before(array, self.cell_of_element)
        return self.cell_of_element.reverse().apply_range(before)

    def _elements(self, array: str) -> isl.UnionSet:
        return accesses(self.program, array, "write").range()

    def writes_at(self, name: str, iteration: int) -> isl.UnionMap:
        """Return `{ S[i] -> A[e] }` of iteration t0 + `iteration`."""
        own = isl.UnionSet(self.program["statements"][name]["domain"])
        return self.writes.intersect_domain(own).intersect_domain(self.instances_at(iteration))

    def instances_at(self, iteration: int) -> isl.UnionSet:
        times = isl.UnionSet(f"[t0] -> {{ [t] : t = t0 + ({iteration}) }}").intersect_params(self.t0)
        return self.when.intersect_range(times).domain()

    def memory(self, array: str, after: int) -> Value:
        """Return `{ A[e] -> the value }` that the program has at t0 + `after`, when the iterations before that have
        run."""
        key = (array, after)
        if key not in self.known:
            self.known[key] = self._memory(array, after)
        return self.known[key]

    def _memory(self, array: str, after: int) -> Value:
        order = isl.Schedule(self.program["order"]).get_map()
        rank = max(m.dim(OUT) for m in maps(order))
        doubled = self.when.apply_range(isl.UnionMap("{ [t] -> [2 * t + 1] }"))
        times = doubled.flat_range_product(padded(order, rank))
        look = _before(array, self.cell_of_element).reverse()  # before A[e] -> A[e], as looks at t0
        zeros = ", ".join("0" * rank)
        now = isl.UnionSet(f"[t0] -> {{ [2 * (t0 + {after}), {zeros}] }}").intersect_params(self.t0)
        times = times.union(isl.UnionMap.from_domain_and_range(look.domain(), now))
        writes = accesses(self.program, array, "write")
        found = flow(look, writes, times).values
        last = found.reverse().apply_domain(look)
        rest = look.subtract_domain(found.range()).reverse()
        return last.union(rest).intersect_params(self.t0)

    def written_before(self, array: str, after: int) -> Value:
        """Return what instances have left in an array at t0 + `after`."""
        return self.memory(array, after).intersect_range(self.when.domain())

    def read_later(self, array: str, after: int) -> Value:
        """Return `{ A[e] -> S[i] }` that iterations from t0 + `after` on read, of iterations before."""
        early, late = (
            isl.UnionSet(f"[t0] -> {{ [t] : t {sign} t0 + {after} }}").intersect_params(self.t0) for sign in ("<", ">=")
        )
        values = self._values(array).intersect_range(self.when.intersect_range(early).domain()).curry()
        return values.intersect_domain(self.when.intersect_range(late).domain()).range().unwrap()

    def _values(self, array: str) -> isl.UnionMap:
        """Return `{ [S[i] -> A[e]] -> the value }`: who wrote what each instance reads; `before A[e]` is what an
        element had before the program."""
        key = ("values", array)
        if key not in self.known:
            reads = accesses(self.program, array, "read").coalesce()
            order = isl.Schedule(self.program["order"]).get_map()
            sinks, times = reads.range_map(), order.union(reads.domain_map().apply_range(order))
            found = flow(sinks, accesses(self.program, array, "write"), times)
            early = found.untouched.apply_range(_before(array, self.cell_of_element))
            self.known[key] = found.values.reverse().union(early)
        return self.known[key]

    def reads_at(self, name: str, numbers: Sequence[int], iteration: int) -> tuple[isl.UnionMap, isl.UnionMap]:
        """Return `{ [S[i] -> A[e]] -> the value }` of some accesses to one array, in iteration t0 + `iteration`, and
        these."""
        read = [self._access(name, k) for k in numbers]
        pairs = union([isl.UnionMap.from_map(m) for m in read], isl.UnionMap).coalesce()
        pairs = pairs.intersect_domain(self.instances_at(iteration))
        array = self.program["statements"][name]["accesses"][numbers[0]]["array"]
        return self._values(array).intersect_domain(pairs.wrap()), pairs

    def is_away(self, name: str, number: int, offset: Sequence[int]) -> bool:
        """Return whether an access is of one element, so far away from the cell that the instance writes."""
        read = isl.UnionMap.from_map(self._access(name, number)).intersect_domain(self.writes.domain())
        x = [f"x{k}" for k in range(self.dims)]
        moved = ", ".join(f"{v} + ({o})" for v, o in zip(x, offset, strict=True))
        there = self.cell.apply_range(isl.UnionMap(f"{{ [{', '.join(x)}] -> [{moved}] }}"))
        same = read.apply_range(self.cell_of_element).is_equal(there.intersect_domain(read.domain()))
        return bool(read.is_single_valued() and same)

    def _access(self, name: str, number: int) -> isl.Map:
        statement = self.program["statements"][name]
        relation = isl.Map(statement["accesses"][number]["relation"])
        return relation.intersect_domain(isl.Set(statement["domain"]))


def _before(array: str, cell_of_element: isl.UnionMap) -> isl.UnionMap:
    """Return `{ A[e] -> before A[e] }`."""
    (elements,) = (m for m in maps(cell_of_element) if m.get_tuple_name(IN) == array)
    same = isl.Map.identity(elements.domain().get_space().map_from_set())
    return isl.UnionMap.from_map(same.set_tuple_name(OUT, f"{BEFORE}{array}"))


def cells_of(program: Check, plan: Check, context: isl.Set) -> Cells:
    """Return the cells of a program that is one time loop, or a single iteration of none. Raises WrongTileError
    otherwise."""
    dims, once = plan["dims"], plan.get("once", False)
    writes: isl.UnionMap = union([accesses(program, array, "write") for array in program["arrays"]], isl.UnionMap)
    writes = writes.intersect_params(context)
    domain: isl.UnionSet = union([s["domain"] for s in program["statements"].values()], isl.UnionSet)
    kinds = [[a["kind"] for a in s["accesses"] if a["kind"] != "read"] for s in program["statements"].values()]
    if any(kind != ["write"] for kind in kinds) or not writes.is_single_valued():
        raise WrongTileError("an instance does not write one element")
    when = (_iteration_zero(program) if once else _when(program)).intersect_domain(domain.intersect_params(context))
    arrays = {m.get_tuple_name(OUT): int(m.dim(OUT)) for m in maps(writes)}
    if min(arrays.values()) < dims or (once and max(arrays.values()) > dims):
        raise WrongTileError("an array has no element of its own for each cell")
    found = {a: root for a, root in program["arrays"].items() if a in arrays}
    arrays |= _loaded(program, plan, arrays)
    cells: isl.UnionMap = union([_cell_of_element(a, rank, dims) for a, rank in arrays.items()], isl.UnionMap)
    last = (1 if once or plan.get("in_place") else 2) * plan["iterations"] - 1
    return Cells(program, dims, found, _starts(when, last), when, writes, cells, once)


def _loaded(program: Check, plan: Check, written: Mapping[str, int]) -> dict[str, int]:
    """Return the arrays that a plan's steps load and nothing writes, which have an element for each cell. Raises
    WrongTileError for one that has not."""
    wanted = {s["array"] for s in plan["steps"] if not s["statements"]} - {*written}
    read = [a for s in program["statements"].values() for a in s["accesses"] if a["array"] in wanted]
    found = {a["array"]: int(isl.Map(a["relation"]).dim(OUT)) for a in read}
    if {*found} != wanted or any(rank != plan["dims"] for rank in found.values()):
        raise WrongTileError("an array that is loaded has no element of its own for each cell")
    return found


def _iteration_zero(program: Check) -> isl.UnionMap:
    """Return `{ S[i] -> [0] }`."""
    domains: isl.UnionSet = union([s["domain"] for s in program["statements"].values()], isl.UnionSet)
    return isl.UnionMap.from_domain_and_range(domains, isl.UnionSet("{ [t] : t = 0 }"))


def _when(program: Check) -> isl.UnionMap:
    """Return `{ S[i] -> [t] }`: the outermost loop, around all statements, counts their first iterators. Raises
    WrongTileError where there is no such loop."""
    loop = isl.Schedule(program["order"]).get_root().child(0)
    if loop.get_type() != NODE.band or loop.band_n_member() < 1:
        raise WrongTileError("no loop is around all statements")
    outermost = isl.UnionMap.from_union_pw_aff(loop.band_get_partial_schedule().get_at(0))
    for name, statement in program["statements"].items():
        domain = isl.UnionSet(statement["domain"])
        rank = isl.Set(statement["domain"]).dim(SET)
        inner = [f"i{k}" for k in range(rank)]
        first = isl.UnionMap(f"{{ {name}[{', '.join(inner)}] -> [i0] }}" if rank else "{ }").intersect_domain(domain)
        if not outermost.intersect_domain(domain).is_equal(first):
            raise WrongTileError(f"the outermost loop is not the first one of {name}")
    return outermost


def _cell_of_element(array: str, rank: int, dims: int) -> isl.UnionMap:
    e = [f"e{k}" for k in range(rank)]
    return isl.UnionMap(f"{{ {array}[{', '.join(e)}] -> [{', '.join(e[rank - dims :])}] }}")


def _starts(when: isl.UnionMap, last: int) -> isl.Set:
    """Return the t0 from which blocks run to t0 + `last`.

    Raises WrongTileError where iterations between the first and the last one are left out.
    """
    times = isl.Set.from_union_set(when.range()).coalesce()
    later, earlier = (order(times.get_space()) for order in (isl.Map.lex_lt, isl.Map.lex_gt))
    if not times.apply(later).intersect(times.apply(earlier)).is_subset(times):
        raise WrongTileError("the time loop leaves iterations out")
    ends = [isl.Set(f"[t0] -> {{ [t] : t = t0 + {k} }}").intersect(times).params() for k in (0, last)]
    return ends[0].intersect(ends[1])
