"""What accesses and copies are in generated loops, where a plan gives arrays cells near the threads.

schedule: S1[i, k, j] at [floor(k/16)], [k mod 16], [floor(i/16) mod 4], ..
cells:    A[i, k] is at [i - 64 bi, k - 16 k0]
before:   S1 reads A[i][k]
after:    S1 reads A_tile[ti + 16 * c2][c1], where isl calls the loops c1 and c2

isl knows the values of all iterators where it makes a leaf, so that cells and elements come out as short as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace

import islpy as isl

from polytile.codegen.lowering.full_tiles import with_full_tiles
from polytile.codegen.lowering.guards import Use, guard_domain
from polytile.codegen.lowering.isl_ast import Detail
from polytile.dataclass import dataclass
from polytile.diagnostics import InternalError
from polytile.ir.copy_tree import CopyRun, CopyTree, with_copies
from polytile.ir.expr import Access, CType, Expr, Literal, Name
from polytile.ir.isl_expr import expression
from polytile.ir.isl_util import maps, sets
from polytile.ir.memory import Storage
from polytile.ir.name_supply import Names
from polytile.ir.placed_storage import tile_plans
from polytile.ir.plan import WHOLE_KERNEL, KernelPlan, Owner, Placement, relation
from polytile.ir.schedule import MappedSchedule
from polytile.ir.scop import Scop
from polytile.ir.substitute import with_values
from polytile.machine import VECTOR_BYTES


@dataclass(frozen=True, slots=True)
class PlacedAccess:
    """An access of a statement, by its position in `Statement.accesses`, and its `cell`, `{ S[i] -> cells[..] }`."""

    number: int
    placement: Placement
    cell: isl.PwMultiAff = field(compare=False)


@dataclass(frozen=True, slots=True)
class PlacedCopy:
    """A copy, for all cells of a placement. `cells` name their coordinates, which are `parameters` of the `element`,
    `{ A_tile_fill[place] -> A[..] }`, and of the places and cells for which there is one: the same for all copies, as
    isl takes long where a kernel has many. `digits` are names for parts
    of the threads' coordinates, four for each dimension: half of them for vectors, whose elements are called
    `values`. Where blocks differ in what they copy, `parts` are their places and the cells there. With `zeros`, cells
    without an element are filled with zeros: executions that pad a tile (guards.py) read them."""

    run: CopyRun
    cells: tuple[str, ...]
    parameters: tuple[str, ...]
    digits: tuple[str, ...]
    values: tuple[str, ...]
    element: isl.PwMultiAff = field(compare=False)
    where: isl.Set = field(compare=False)
    parts: tuple[tuple[isl.Set, isl.Set], ...] = field(default=(), compare=False)
    zeros: bool = True

    @property
    def placement(self) -> Placement:
        return self.run.placement

    @property
    def extents(self) -> isl.Set:
        """Return the bounds of the coordinates of cells."""
        names = ", ".join(self.parameters)
        bounds = [f"0 <= {c} < {e}" for c, e in zip(self.parameters, self.placement.extents, strict=True)]
        return isl.Set(f"[{names}] -> {{ : {' and '.join(bounds) or 'true'} }}")


@dataclass(frozen=True, slots=True)
class Placed:
    """A mapped tree with copies, whose kernels with placements (`kernels`) have full tiles. `accesses` are by kernel
    and statement, `guards` the domains of statements that are padded."""

    tree: isl.Schedule = field(compare=False)
    kernels: frozenset[int] = frozenset()
    accesses: Mapping[tuple[int, str], tuple[PlacedAccess, ...]] = field(default_factory=dict)
    copies: Mapping[str, PlacedCopy] = field(default_factory=dict)
    guards: Mapping[str, isl.Set] = field(default_factory=dict)
    storage: Mapping[int, tuple[Storage, ...]] = field(default_factory=dict)

    def context(self, kernel: int, context: isl.Set) -> isl.Set:
        """Add what is known in a kernel, with the coordinates of cells as parameters, of which copies alone know
        more. They come first in sums, but not where tiles are updated as long as the kernel runs."""
        if self._keeps_arrays(kernel):
            return context
        names = max((copy.parameters for copy in self.copies.values()), key=len, default=())
        return context.align_params(isl.Set(f"[{', '.join(names)}] -> {{ : }}").get_space())

    def _keeps_arrays(self, kernel: int) -> bool:
        """Return whether tiles of a kernel are updated as long as it runs."""
        own = (copy for copy in self.copies.values() if copy.run.loop.kernel.number == kernel)
        return any(copy.placement.updated for copy in own)

    def detail(self, scop: Scop, kernel: int, build: isl.AstBuild, integer: CType) -> Detail:
        """Describe an instance of a kernel where isl makes its leaf: its guard and its accesses to cells."""
        schedule = isl.Map.from_union_map(build.get_schedule())
        name = schedule.get_tuple_name(isl.dim_type.in_)
        if name in self.copies:
            copy = self.copies[name]
            here = isl.Set.universe(build.get_schedule_space()).intersect_params(copy.extents)
            names = tuple(Name(c, integer) for c in copy.cells)
            values = dict(zip(copy.parameters, names, strict=True))
            leaf = _Leaf(build.restrict(here), schedule, integer, values)
            element = scop.array(copy.placement.array).element
            there = Access(copy.placement.name, names, element)
            parts = tuple((leaf.guard(places), leaf.guard(where)) for places, where in copy.parts)
            guard = None if parts else leaf.guard(copy.where)
            return Detail(guard, (there, leaf.access(copy.element, element)), (), parts)
        leaf = _Leaf(build, schedule, integer)
        placed = self.accesses.get((kernel, name), ())
        cells = tuple(leaf.access(p.cell, scop.array(p.placement.array).element) for p in placed)
        guard = leaf.guard(self.guards[name]) if name in self.guards else None
        return Detail(guard, cells, tuple(p.number for p in placed))


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A leaf of isl's AST; some parameters have `values` in the code."""

    build: isl.AstBuild
    schedule: isl.Map
    integer: CType
    values: Mapping[str, Expr] = field(default_factory=dict)

    def guard(self, where: isl.Set) -> Expr | None:
        """Return the condition that the instance is in a set, or None where it always is."""
        condition = self._expression(self.build.expr_from_set(where.apply(self.schedule)))
        return None if isinstance(condition, Literal) and condition.text == "1" else condition

    def access(self, element: isl.PwMultiAff, type: CType) -> Access:
        """Return the element of an array that the instance is mapped to."""
        here = element.pullback_pw_multi_aff(isl.PwMultiAff.from_map(self.schedule.reverse()))
        found = self.build.access_from_pw_multi_aff(_formula(here))
        subscripts = (self._expression(found.get_op_arg(k)) for k in range(1, found.get_op_n_arg()))
        return Access(str(found.get_op_arg(0).get_id().get_name()), tuple(subscripts), type)

    def _expression(self, found: isl.AstExpr) -> Expr:
        return with_values(expression(found, self.integer), self.values)


def _formula(element: isl.PwMultiAff) -> isl.PwMultiAff:
    """Drop the domain of a single formula, which takes isl long to print nothing of; several formulas keep theirs."""
    if element.n_piece() != 1:
        return element
    found: list[isl.MultiAff] = []
    element.foreach_piece(lambda _, formula: found.append(formula))
    return isl.PwMultiAff.from_multi_aff(found[0])


def placed(scop: Scop, schedule: MappedSchedule, plans: Sequence[KernelPlan], names: Names) -> Placed:
    """Prepare the tree to generate code for, with what its placements mean there.

    Only plans with copies, or with cells below a loop, count: arrays that live in a kernel alone are `Storage`.
    """
    plans = tile_plans(plans)
    if not plans:
        return Placed(schedule.tree)
    kernels = frozenset(plan.kernel for plan in plans)
    padded = with_full_tiles(schedule.tree, kernels)
    found = with_copies(padded, plans, whole=True)
    inside = [(p, s.get_tuple_name()) for p in plans for s in sets(found.loop(p, WHOLE_KERNEL).iterations.domain())]
    uses = {(p.kernel, name): dict(_uses(scop, found, p, name)) for p, name in inside}
    guards = _guards(scop, padded, uses, plans)
    rank = max((len(run.placement.extents) for run in found.runs), default=0)
    parameters = tuple(names.fresh(f"cell{k}") for k in range(rank))
    copies = {run.name: _copy(found, run, names, parameters) for run in found.runs}
    copies = {name: replace(copy, zeros=not copy.placement.updated or bool(guards)) for name, copy in copies.items()}
    return Placed(
        found.tree,
        kernels,
        {where: tuple(_accesses(own)) for where, own in uses.items()},
        copies,
        guards,
        {plan.kernel: tuple(_storage(scop, p) for p in plan.placements) for plan in plans},
    )


def _guards(
    scop: Scop, padded: isl.Schedule, uses_of: Mapping[tuple[int, str], Mapping[int, Use]], plans: Sequence[KernelPlan]
) -> dict[str, isl.Set]:
    """Return the guards of statements in kernels with tiles whose domains are padded."""
    domains = {s.get_tuple_name(): s for s in sets(padded.get_domain())}
    domains = {n: s for n, s in domains.items() if not s.is_subset(scop.statement(n).domain)}
    guards: dict[str, isl.Set] = {}
    for plan in plans:
        inside = {name: uses for (kernel, name), uses in uses_of.items() if kernel == plan.kernel}
        if not any(name in domains for name in inside):
            continue
        used: dict[str, isl.Set] = {}
        for name, uses in inside.items():
            domain = scop.statement(name).domain.intersect_params(scop.context)
            for use in uses.values():
                elements = use.element.intersect_domain(domain).range()
                known = used.get(use.placement.name)
                used[use.placement.name] = elements if known is None else known.union(elements)
        for placement in plan.placements:
            if placement.drain is not None and placement.name in used:
                drained = relation(placement.drain.elements).range()
                used[placement.name] = used[placement.name].union(drained)
        for name, uses in ((name, uses) for name, uses in inside.items() if name in domains):
            guards[name] = guard_domain(scop, scop.statement(name), domains[name], uses, used)
    return guards


def _storage(scop: Scop, placement: Placement) -> Storage:
    """Return the storage of the cells, with the padding after each row."""
    layout = placement.layout
    if layout.fragment or layout.swizzle != (0, 0):
        raise InternalError(f"{placement.name} has a layout that code is not generated for: {layout}")
    sizes = [*placement.extents[:-1], *(e + layout.pad for e in placement.extents[-1:])]
    element = scop.array(placement.array).element
    extents = tuple(Literal(str(size)) for size in sizes)
    return Storage(placement.name, placement.memory, element, extents, placement.name)


def _accesses(uses: Mapping[int, Use]) -> Iterator[PlacedAccess]:
    """Yield the accesses of a statement that have cells in a kernel."""
    for number, use in uses.items():
        yield PlacedAccess(number, use.placement, isl.PwMultiAff.from_map(use.cell))


def _uses(scop: Scop, tree: CopyTree, plan: KernelPlan, statement: str) -> Iterator[tuple[int, Use]]:
    """Yield the innermost placement of each access of a statement that has one, with the number of the access."""
    found: dict[int, Use] = {}
    for placement in plan.placements:
        place = _of(tree.loop(plan, placement.level).places(placement.owner), statement)
        if place is None:
            continue
        everywhere = place.gist_domain(place.domain())
        for number, access in enumerate(scop.statement(statement).accesses):
            every = not placement.uses and access.array == placement.array
            if every or (statement, number) in placement.uses:
                element = _unrestricted(access.relation)
                found[number] = Use(placement, everywhere, element, _cell(placement, everywhere, element))
    yield from sorted(found.items())


def _of(places: isl.UnionMap, name: str) -> isl.Map | None:
    return next((m for m in maps(places) if m.get_tuple_name(isl.dim_type.in_) == name), None)


def _unrestricted(access: isl.Map) -> isl.Map:
    """Return the element of an access as a formula that holds outside of the domain, as tiles are padded."""
    return access.gist_domain(access.domain())


def _cell(placement: Placement, place: isl.Map, element: isl.Map) -> isl.Map:
    """Return the cell of an access at each instance, `{ S[i] -> cells[..] }`."""
    cell = place.range_product(element).apply_range(relation(placement.cell))
    return cell.set_tuple_name(isl.dim_type.out, placement.name)


def _copy(tree: CopyTree, run: CopyRun, names: Names, parameters: tuple[str, ...]) -> PlacedCopy:
    """Return the copy with the element of each cell, and the places and cells that have one."""
    placement = run.placement
    cells = tuple(names.fresh(f"{placement.name}_{k}") for k in range(len(placement.extents)))
    own = parameters[: len(cells)]
    level = tree.loops[run.loop.kernel.number, placement.level]
    place = _of(run.places(level, placement.owner), run.name)
    assert place is not None
    copied = relation(run.copy.elements).set_tuple_name(isl.dim_type.in_, run.name)
    dims = ", ".join(f"d{k}" for k in range(len(own)))
    equal = " and ".join(f"d{k} = {name}" for k, name in enumerate(own)) or "true"
    here = relation(placement.cell).intersect_range(isl.Set(f"[{', '.join(own)}] -> {{ [{dims}] : {equal} }}")).domain()
    found = place.range_product(copied).intersect_range(here)
    element = found.range_factor_range()
    if not element.is_single_valued():
        raise InternalError(f"{run.name} has several elements for one cell")
    if placement.updated:
        formula = place.gist_domain(place.domain()).range_product(isl.Map.universe(copied.get_space()))
        formula = formula.intersect_range(here).range_factor_range()
        element = formula if formula.is_single_valued() else element
    parts = [(n, part) for n in range(2 * len(cells)) for part in ("low", "high")]
    digits = tuple(names.fresh(f"{placement.name}_{part}") for _, part in parts)
    values = tuple(names.fresh(f"{placement.name}_value") for _ in range(VECTOR_BYTES[-1] // 4))
    copy = PlacedCopy(run, cells, own, digits, values, isl.PwMultiAff.from_map(element), found.domain())
    return _by_blocks(copy) if run.placement.updated else copy


MOST_PARTS = 3  # of a copy: each has loops of its own


def _by_blocks(copy: PlacedCopy) -> PlacedCopy:
    """Test the block of a copy separately from its cells, where there are few of the former tests.

    before: if (bi == 0 && a > 0 || bj == 0 && a > 0) A_tile[a] = ..
    after:  if (bi == 0 || bj == 0) if (a > 0) A_tile[a] = ..
    """
    if len(copy.where.get_basic_sets()) == 1:
        return copy
    blocks = _of(copy.run.places(copy.run.loop, Owner.BLOCK), copy.run.name)
    assert blocks is not None
    there, left = blocks.domain(), copy.where.intersect_params(copy.extents)
    parts: list[tuple[isl.Set, isl.Set]] = []
    while not left.is_empty():
        part = next(_simple_parts(left, copy.parameters), None)
        if part is None or len(parts) == MOST_PARTS:
            return copy
        left = left.subtract(part[0])
        parts.append((part[0].coalesce().gist(there), part[1].gist(there)))
    return replace(copy, parts=tuple(parts))


def _simple_parts(where: isl.Set, parameters: Sequence[str]) -> Iterator[tuple[isl.Set, isl.Set]]:
    """Yield places all of whose cells fulfil the same conditions, with these: all places, or those of one piece."""
    for piece in (where, *(isl.Set.from_basic_set(own) for own in where.get_basic_sets())):
        places = piece
        for name in parameters:
            places = _without_parameter(places, name)
        inside = where.intersect(places)
        simple = isl.Set.from_basic_set(inside.remove_divs().simple_hull())
        if simple.intersect(places).is_equal(inside):
            yield places, simple


def _without_parameter(places: isl.Set, name: str) -> isl.Set:
    at = places.find_dim_by_name(isl.dim_type.param, name)
    return places.project_out(isl.dim_type.param, at, 1) if at >= 0 else places
