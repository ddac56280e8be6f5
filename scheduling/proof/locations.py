"""Which locations the executions of a tree use for the elements of one array, under the placements of plans.

before: S1[i, j, k] reads A[i, k]
after:  S1[i, j, k] reads the cell [k0 mod 3, i - 128 bi, k - 16 k0] of A_tile that its block has;
        A_tile_fill[bi, bj, k0, i, k] reads A[i, k] and writes this cell
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.copy_tree import DRAIN, CopyRun, CopyTree
from polytile.ir.isl_util import maps
from polytile.ir.memory import Space
from polytile.ir.plan import KernelPlan, Placement, relation
from polytile.ir.scop import AccessKind, Scop
from polytile.scheduling.analysis.last_writers import is_seen

READ, WRITE, MAY_WRITE = AccessKind.READ, AccessKind.WRITE, AccessKind.MAY_WRITE
USES = (READ, WRITE, MAY_WRITE)
Routes = dict[AccessKind, isl.UnionMap]  # `{ [S[i] -> A[j]] -> location }`


@dataclass(frozen=True, slots=True)
class Locations:
    """The locations of one array: `routes` say where each execution has each element that it reads or writes.

    `before` writes every element before all else, `after` reads those that are seen afterwards. `private` are the cells
    that one thread or warp has; `problems` are executions without a cell, and why; `conditions` are the accesses of the
    Scop.
    """

    routes: Routes = field(compare=False)
    before: isl.UnionSet = field(compare=False)
    after: isl.UnionSet = field(compare=False)
    kills: isl.UnionMap = field(compare=False)
    copies: isl.UnionSet = field(compare=False)
    dealt_out: isl.UnionSet = field(compare=False)
    elements: isl.UnionSet = field(compare=False)
    private: isl.UnionSet = field(compare=False)
    problems: tuple[tuple[str, isl.UnionSet], ...] = ()
    conditions: tuple[isl.UnionMap, ...] = field(default=(), compare=False)

    @property
    def reads(self) -> isl.UnionMap:
        return _accesses(self.routes[READ])

    @property
    def writes(self) -> isl.UnionMap:
        return _accesses(self.routes[WRITE])

    @property
    def may_writes(self) -> isl.UnionMap:
        return _accesses(self.routes[MAY_WRITE])

    @property
    def read_elements(self) -> isl.UnionMap:
        """Return `{ [reader -> location] -> A[i] }`."""
        return _elements(self.routes[READ])

    @property
    def written_elements(self) -> isl.UnionMap:
        return _elements(self.routes[WRITE].union(self.routes[MAY_WRITE]))

    @property
    def wanted(self) -> isl.UnionSet:
        """Return what must arrive, `{ [reader -> A[i]] }`: copies read whatever there is."""
        return self.routes[READ].domain().unwrap().subtract_domain(self.copies).wrap()

    @property
    def shared(self) -> isl.UnionSet:
        """Return the locations that several threads may use."""
        used = (route.range() for route in self.routes.values())
        return _united(used).subtract(self.private)

    def order(self, tree: isl.Schedule) -> isl.Schedule:
        """Extend the tree by what comes before and after it, for the statements and copies that use the array."""
        first, last = (isl.Schedule.from_domain(each) for each in (self.before, self.after))
        users = _united(route.universe().domain().unwrap().domain() for route in self.routes.values())
        return first.sequence(tree).sequence(last).intersect_domain(users.union(self.kills.domain()))


def _accesses(route: isl.UnionMap) -> isl.UnionMap:
    return route.curry().range_factor_range()


def _elements(route: isl.UnionMap) -> isl.UnionMap:
    return route.curry().range_reverse().uncurry()


def _united(parts: Iterable[isl.UnionSet]) -> isl.UnionSet:
    total = isl.UnionSet("{ }")
    for part in parts:
        total = total.union(part)
    return total


def source_locations(scop: Scop, array: str) -> Locations:
    """Return the Scop's own locations: each element is its location."""
    one = frozenset((array,))
    routes = {kind: _in_memory(scop.accesses(kind, arrays=one).intersect_params(scop.context)) for kind in USES}
    kills = scop.accesses(AccessKind.KILL, arrays=one).intersect_params(scop.context)
    none = isl.UnionSet("{ }")
    return _seen_from_outside(scop, array, Locations(routes, none, none, kills, none, none, none, none))


def _in_memory(accesses: isl.UnionMap) -> isl.UnionMap:
    return accesses.range_map()


def _seen_from_outside(scop: Scop, array: str, found: Locations) -> Locations:
    """Add the first write and the last read of each element that the Scop uses."""
    elements = scop.accesses(*USES, arrays=frozenset((array,))).intersect_params(scop.context).range()
    same = isl.UnionSet.identity(elements)
    before = after = isl.UnionMap("{ }")
    for m in maps(same):
        before = before.union(isl.UnionMap.from_map(m.set_tuple_name(isl.dim_type.in_, f"{array}_before")))
        after = after.union(isl.UnionMap.from_map(m.set_tuple_name(isl.dim_type.in_, f"{array}_after")))
    after = after if is_seen(scop, array) else isl.UnionMap("{ }")
    routes = {
        READ: found.routes[READ].union(_in_memory(after)),
        WRITE: found.routes[WRITE].union(_in_memory(before)),
        MAY_WRITE: found.routes[MAY_WRITE],
    }
    return replace(
        found,
        routes=routes,
        before=before.domain(),
        after=after.domain(),
        elements=elements,
        conditions=tuple(scop.accesses(kind, arrays=frozenset((array,))) for kind in USES),
    )


def locations(
    scop: Scop, instances: isl.UnionMap, plans: Sequence[KernelPlan], copies: CopyTree, array: str
) -> Locations:
    """Return the locations under the placements of plans, of a tree with copies."""
    routing = _Routing(scop, tuple(plans), copies, array)
    instances = instances.intersect_domain(copies.tree.get_domain())
    routes = {kind: isl.UnionMap("{ }") for kind in USES}
    for use, kind, elements in routing.accesses():
        routes[kind] = routes[kind].union(routing.route(use, kind, instances.apply_range(elements)))
    runs = [run for run in copies.runs if run.placement.array == array]
    for run in runs:
        inner, outer = routing.inside(run), routing.outside(run)
        read, written = (inner, outer) if run.kind == DRAIN else (outer, inner)
        routes[READ], routes[WRITE] = routes[READ].union(read), routes[WRITE].union(written)
    none = isl.UnionSet("{ }")
    copied = _united(run.domain for run in runs)
    dealt = _united(run.domain for run in runs if run.dealt_out)
    cells = _united(routing.private)
    found = Locations(routes, none, none, isl.UnionMap("{ }"), copied, dealt, none, cells, tuple(routing.problems))
    return _seen_from_outside(scop, array, found)


@dataclass(frozen=True, slots=True)
class _Routing:
    """Sends accesses to cells; collects which cells are private, and executions that have none."""

    scop: Scop
    plans: tuple[KernelPlan, ...]
    copies: CopyTree
    array: str
    private: list[isl.UnionSet] = field(default_factory=list)
    problems: list[tuple[str, isl.UnionSet]] = field(default_factory=list)

    def accesses(self) -> Iterator[tuple[tuple[str, int] | None, AccessKind, isl.UnionMap]]:
        """Yield the accesses of statements: those that placements name by themselves, the others in one map."""
        named = {use for plan in self.plans for p in plan.placed(self.array) for use in p.uses}
        context = self.scop.context
        if not named:
            for kind in USES:
                yield None, kind, self.scop.accesses(kind, arrays=frozenset((self.array,))).intersect_params(context)
            return
        for statement in self.scop.statements:
            for number, access in enumerate(statement.accesses):
                if access.array == self.array and access.kind in USES:
                    use = (statement.name, number)
                    found = access.relation.intersect_domain(statement.domain).intersect_params(context)
                    yield use if use in named else None, access.kind, isl.UnionMap.from_map(found)

    def route(self, use: tuple[str, int] | None, kind: AccessKind, accesses: isl.UnionMap) -> isl.UnionMap:
        """Return where an access finds each element: in the innermost cell that it may use, else in device memory."""
        total, rest = isl.UnionMap("{ }"), accesses
        for plan in self.plans:
            for placement in reversed(plan.placed(self.array)):
                if placement.uses and use not in placement.uses:
                    continue
                loop = self.copies.loop(plan, placement.level)
                owned = loop.kernel.owned(placement.owner)
                found = self._cells(plan, placement, rest, loop.places(placement.owner), owned)
                total = total.union(found)
                if kind is READ or not placement.through:
                    rest = rest.subtract(found.domain().unwrap())
        return total.union(_in_memory(rest))

    def inside(self, run: CopyRun) -> isl.UnionMap:
        """Return the cells of copies."""
        plan = self._plan(run)
        found = self._copied(plan, run.placement, run, run.elements)
        lost = run.elements.subtract(found.domain().unwrap())
        if not lost.is_empty():
            self.problems.append(("what is copied has no cell", lost.domain()))
        return found

    def outside(self, run: CopyRun) -> isl.UnionMap:
        """Return where copies find or leave what is in their cells.

        That is in those of the next placement outside, if it has all these uses, else in device memory.
        """
        plan, uses = self._plan(run), set(run.placement.uses)
        placed = plan.placed(self.array)
        total, rest = isl.UnionMap("{ }"), run.elements
        for outer in reversed(placed[: placed.index(run.placement)]):
            serves = not outer.uses or (uses and uses <= set(outer.uses))
            if serves and run.reaches(self.copies.loop(plan, outer.level)):
                found = self._copied(plan, outer, run, rest)
                total = total.union(found)
                if run.kind != DRAIN or not outer.through:
                    rest = rest.subtract(found.domain().unwrap())
        return total.union(_in_memory(rest))

    def _plan(self, run: CopyRun) -> KernelPlan:
        return next(plan for plan in self.plans if plan.kernel == run.loop.kernel.number)

    def _copied(self, plan: KernelPlan, placement: Placement, run: CopyRun, elements: isl.UnionMap) -> isl.UnionMap:
        loop = self.copies.loop(plan, placement.level)
        places, owned = run.places(loop, placement.owner), run.owned(placement.owner)
        return self._cells(plan, placement, elements, places, owned)

    def _cells(
        self, plan: KernelPlan, placement: Placement, used: isl.UnionMap, places: isl.UnionMap, owned: isl.UnionMap
    ) -> isl.UnionMap:
        """Return the cells of those elements that have one, by owner, `{ [S[i] -> A[j]] -> A_tile[block, cell] }`."""
        used = used.intersect_domain(places.domain())
        user, element = used.domain_map(), used.range_map()
        cell = user.apply_range(places).range_product(element).apply_range(_cell(placement))
        inside = ", ".join(f"c{k}" for k in range(len(placement.extents)))
        bounds = " and ".join(f"0 <= c{k} < {extent}" for k, extent in enumerate(placement.extents))
        outside = cell.subtract_range(isl.UnionSet(f"{{ [{inside}] : {bounds or 'true'} }}"))
        if not outside.is_empty():
            wrong = outside.domain().unwrap().domain()
            self.problems.append((f"a cell of {placement.name} is outside of its extents", wrong))
        owner = user.apply_range(owned)
        found = _named(owner.flat_range_product(cell), f"k{plan.kernel}_{placement.name}")
        if placement.memory is Space.PRIVATE:
            self.private.append(found.range())
        return found


def _cell(placement: Placement) -> isl.UnionMap:
    return isl.UnionMap.from_map(relation(placement.cell))


def _named(cells: isl.UnionMap, name: str) -> isl.UnionMap:
    total = isl.UnionMap("{ }")
    for m in maps(cells):
        total = total.union(isl.UnionMap.from_map(m.set_tuple_name(isl.dim_type.out, name)))
    return total
