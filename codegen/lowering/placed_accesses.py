"""What accesses and copies are in generated loops, where a plan gives arrays cells near the threads.

schedule: S1[i, k, j] at [floor(k/16)], [k mod 16], [floor(i/16) mod 4], ..
cells:    A[i, k] is at [i - 64 bi, k - 16 k0]
before:   S1 reads A[i][k]
after:    S1 reads A_tile[ti + 16 * c2][c1], where isl calls the loops c1 and c2

isl knows the values of all iterators where it makes a leaf, so that cells and elements come out as short as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import islpy as isl

from polytile.codegen.lowering.full_tiles import with_full_tiles
from polytile.codegen.lowering.guards import Use, guard_domain
from polytile.codegen.lowering.isl_ast import Detail
from polytile.diagnostics import InternalError
from polytile.ir.copy_tree import CopyRun, CopyTree, with_copies
from polytile.ir.expr import Access, CType, Expr, Literal, Name
from polytile.ir.isl_expr import expression
from polytile.ir.isl_util import maps, sets
from polytile.ir.memory import Storage
from polytile.ir.name_supply import Names
from polytile.ir.placed_storage import tile_plans
from polytile.ir.plan import WHOLE_KERNEL, KernelPlan, Placement, relation
from polytile.ir.schedule import MappedSchedule
from polytile.ir.scop import Scop
from polytile.machine import VECTOR_BYTES


@dataclass(frozen=True, slots=True)
class PlacedAccess:
    """An access of a statement, by its position in `Statement.accesses`, and its `cell`, `{ S[i] -> cells[..] }`."""

    number: int
    placement: Placement
    cell: isl.PwMultiAff = field(compare=False)


@dataclass(frozen=True, slots=True)
class PlacedCopy:
    """A copy, for all cells of a placement. `cells` name their coordinates, which are parameters of the `element`,
    `{ A_tile_fill[place] -> A[..] }`, and of the places and cells for which there is one. `digits` are names for parts
    of the threads' coordinates, four for each dimension: half of them for vectors, whose elements are called
    `values`."""

    run: CopyRun
    cells: tuple[str, ...]
    digits: tuple[str, ...]
    values: tuple[str, ...]
    element: isl.PwMultiAff = field(compare=False)
    where: isl.Set = field(compare=False)

    @property
    def placement(self) -> Placement:
        return self.run.placement


@dataclass(frozen=True, slots=True)
class Placed:
    """A mapped tree with copies, whose kernels with placements (`kernels`) have full tiles. `accesses` are by kernel
    and statement, `guards` the domains of statements that are padded, `context` says what is known of the coordinates
    of cells."""

    tree: isl.Schedule = field(compare=False)
    kernels: frozenset[int] = frozenset()
    accesses: Mapping[tuple[int, str], tuple[PlacedAccess, ...]] = field(default_factory=dict)
    copies: Mapping[str, PlacedCopy] = field(default_factory=dict)
    guards: Mapping[str, isl.Set] = field(default_factory=dict)
    context: isl.Set = field(default_factory=lambda: isl.Set("{ : }"), compare=False)
    storage: Mapping[int, tuple[Storage, ...]] = field(default_factory=dict)

    def detail(self, scop: Scop, kernel: int, build: isl.AstBuild, integer: CType) -> Detail:
        """What an instance of a kernel is where isl makes its leaf."""
        schedule = isl.Map.from_union_map(build.get_schedule())
        name = schedule.get_tuple_name(isl.dim_type.in_)
        leaf = _Leaf(build, schedule, integer)
        if name in self.copies:
            copy = self.copies[name]
            element = scop.array(copy.placement.array).element
            names = tuple(Name(c, integer) for c in copy.cells)
            there = Access(copy.placement.name, names, element)
            return Detail(leaf.guard(copy.where), (there, leaf.access(copy.element, element)), ())
        placed = self.accesses.get((kernel, name), ())
        cells = tuple(leaf.access(p.cell, scop.array(p.placement.array).element) for p in placed)
        guard = leaf.guard(self.guards[name]) if name in self.guards else None
        return Detail(guard, cells, tuple(p.number for p in placed))


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A leaf of isl's AST."""

    build: isl.AstBuild
    schedule: isl.Map
    integer: CType

    def guard(self, where: isl.Set) -> Expr | None:
        """Whether the instance is in a set; None where it always is."""
        condition = expression(self.build.expr_from_set(where.apply(self.schedule)), self.integer)
        return None if isinstance(condition, Literal) and condition.text == "1" else condition

    def access(self, element: isl.PwMultiAff, type: CType) -> Access:
        """The element of an array that the instance is mapped to."""
        here = element.pullback_pw_multi_aff(isl.PwMultiAff.from_map(self.schedule.reverse()))
        found = self.build.access_from_pw_multi_aff(_formula(here))
        subscripts = (expression(found.get_op_arg(k), self.integer) for k in range(1, found.get_op_n_arg()))
        return Access(str(found.get_op_arg(0).get_id().get_name()), tuple(subscripts), type)


def _formula(element: isl.PwMultiAff) -> isl.PwMultiAff:
    """One formula without its domain, which takes isl long to print nothing of; several with theirs."""
    if element.n_piece() != 1:
        return element
    found: list[isl.MultiAff] = []
    element.foreach_piece(lambda _, formula: found.append(formula))
    return isl.PwMultiAff.from_multi_aff(found[0])


def placed(scop: Scop, schedule: MappedSchedule, plans: Sequence[KernelPlan], names: Names) -> Placed:
    """The tree to generate code for, with what its placements mean there. Only plans with copies, or with cells below a
    loop, count: arrays that live in a kernel alone are `Storage`."""
    plans = tile_plans(plans)
    if not plans:
        return Placed(schedule.tree)
    kernels = frozenset(plan.kernel for plan in plans)
    padded = with_full_tiles(schedule.tree, kernels)
    found = with_copies(padded, plans, whole=True)
    copies = {run.name: _copy(found, run, names) for run in found.runs}
    inside = [(p, s.get_tuple_name()) for p in plans for s in sets(found.loop(p, WHOLE_KERNEL).iterations.domain())]
    return Placed(
        found.tree,
        kernels,
        {(p.kernel, name): tuple(_accesses(scop, found, p, name)) for p, name in inside},
        copies,
        _guards(scop, padded, found, plans),
        _context(copies.values()),
        {plan.kernel: tuple(_storage(scop, p) for p in plan.placements) for plan in plans},
    )


def _guards(
    scop: Scop, padded: isl.Schedule, tree: CopyTree, plans: Sequence[KernelPlan]
) -> dict[str, isl.Set]:
    """The guards of statements in kernels with tiles whose domains are padded."""
    domains = {s.get_tuple_name(): s for s in sets(padded.get_domain())}
    domains = {n: s for n, s in domains.items() if not s.is_subset(scop.statement(n).domain)}
    guards: dict[str, isl.Set] = {}
    for plan in plans:
        names = [s.get_tuple_name() for s in sets(tree.loop(plan, WHOLE_KERNEL).iterations.domain())]
        if not any(name in domains for name in names):
            continue
        inside = {name: dict(_uses(scop, tree, plan, name)) for name in names}
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
    """Where the cells are; padding is behind each row."""
    layout = placement.layout
    if layout.fragment or layout.swizzle != (0, 0):
        raise InternalError(f"{placement.name} has a layout that code is not generated for: {layout}")
    sizes = [*placement.extents[:-1], *(e + layout.pad for e in placement.extents[-1:])]
    element = scop.array(placement.array).element
    extents = tuple(Literal(str(size)) for size in sizes)
    return Storage(placement.name, placement.memory, element, extents, placement.name)


def _accesses(scop: Scop, tree: CopyTree, plan: KernelPlan, statement: str) -> Iterator[PlacedAccess]:
    """The accesses of a statement that have cells in a kernel."""
    for number, use in _uses(scop, tree, plan, statement):
        yield PlacedAccess(number, use.placement, isl.PwMultiAff.from_map(use.cell))


def _uses(scop: Scop, tree: CopyTree, plan: KernelPlan, statement: str) -> Iterator[tuple[int, Use]]:
    """The innermost placement of each access of a statement that has one."""
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
    """The element that an access is of as a formula, where tiles are padded too."""
    return access.gist_domain(access.domain())


def _cell(placement: Placement, place: isl.Map, element: isl.Map) -> isl.Map:
    """`{ S[i] -> cells[..] }`."""
    cell = place.range_product(element).apply_range(relation(placement.cell))
    return cell.set_tuple_name(isl.dim_type.out, placement.name)


def _copy(tree: CopyTree, run: CopyRun, names: Names) -> PlacedCopy:
    """The element of each cell, and where there is one."""
    placement = run.placement
    coordinates = tuple(names.fresh(f"{placement.name}_{k}") for k in range(len(placement.extents)))
    level = tree.loops[run.loop.kernel.number, placement.level]
    place = _of(run.places(level, placement.owner), run.name)
    assert place is not None
    copied = relation(run.copy.elements).set_tuple_name(isl.dim_type.in_, run.name)
    parameters = ", ".join(coordinates)
    dims = ", ".join(f"d{k}" for k in range(len(coordinates)))
    equal = " and ".join(f"d{k} = {name}" for k, name in enumerate(coordinates)) or "true"
    here = relation(placement.cell).intersect_range(isl.Set(f"[{parameters}] -> {{ [{dims}] : {equal} }}")).domain()
    found = place.range_product(copied).intersect_range(here)
    element = found.range_factor_range()
    if not element.is_single_valued():
        raise InternalError(f"{run.name} has several elements for one cell")
    parts = [(n, part) for n in range(2 * len(coordinates)) for part in ("low", "high")]
    digits = tuple(names.fresh(f"{placement.name}_{part}") for _, part in parts)
    values = tuple(names.fresh(f"{placement.name}_value") for _ in range(VECTOR_BYTES[-1] // 4))
    return PlacedCopy(run, coordinates, digits, values, isl.PwMultiAff.from_map(element), found.domain())


def _context(copies: Iterable[PlacedCopy]) -> isl.Set:
    """The extents of all cells that are copied."""
    total = isl.Set("{ : }")
    for copy in copies:
        for name, extent in zip(copy.cells, copy.placement.extents, strict=True):
            total = total.intersect(isl.Set(f"[{name}] -> {{ : 0 <= {name} < {extent} }}"))
    return total
