"""A plan with the kernels of its phases and copies: what a C program for ranks is printed from."""

from __future__ import annotations

import re
from collections.abc import Iterator

import islpy as isl

from polytile.codegen.targets.cuda.entry import arguments
from polytile.dataclass import dataclass
from polytile.diagnostics import UserError
from polytile.distribution.axes import along
from polytile.distribution.plan import DistributedArray, DistributionPlan
from polytile.distribution.transfers import ExchangeMode
from polytile.ir.expr import INT, Expr, Literal, Name
from polytile.ir.expr_trees import walk
from polytile.ir.host import HostProgram
from polytile.ir.isl_expr import parameter_expression
from polytile.ir.scop import Array, Parameter

_SCOP_NAME = re.compile(r"(?P<function>.+?)(_[0-9a-f]{8})?_scop\d+")


@dataclass(frozen=True, slots=True)
class Wish:
    """What a user asks of a distribution: the grid of ranks, () where it is chosen when the program runs; the steps
    between two exchanges; and how these go."""

    shape: tuple[int, ...] = ()
    steps: int = 1
    mode: ExchangeMode = ExchangeMode.OVERLAP


@dataclass(frozen=True, slots=True)
class Distributed:
    """A plan, and the kernels of its phases and copies, these by array: (pack, unpack), the same of arrays that lie
    alike; `lead` runs many steps at once, where that is worth it. `combinations` are those of global reductions.
    `function` is what the C entry is named after."""

    plan: DistributionPlan
    wish: Wish
    function: str
    phases: tuple[HostProgram, ...]
    copies: dict[str, tuple[HostProgram, HostProgram]]
    lead: HostProgram | None = None
    combinations: tuple[tuple[HostProgram, ...], ...] = ()

    @property
    def programs(self) -> tuple[HostProgram, ...]:
        """All kernels."""
        copies = {program.name: program for pair in self.copies.values() for program in pair}
        terms = (program for each in self.combinations for program in each)
        return (*self.phases, *([self.lead] if self.lead else []), *copies.values(), *terms)

    @property
    def name(self) -> str:
        """The C entry; other names begin with it."""
        return f"{self.function}_mpi"

    @property
    def scalars(self) -> tuple[Array, ...]:
        """The scalars that are passed by value."""
        return tuple(a for a in self.plan.scop.external_arrays if self.plan.scop.by_value(a))

    @property
    def given(self) -> tuple[Array, ...]:
        """The arrays that the caller has."""
        return tuple(a for a in self.plan.scop.external_arrays if not self.plan.scop.by_value(a))

    @property
    def sizes(self) -> tuple[Parameter, ...]:
        """The parameters that extents of arrays and axes mention."""
        known = [e for a in self.plan.arrays for e in extents_of(self.plan, a)]
        all_of_them = (*known, *(axis.extent for axis in self.plan.axes))
        names = {n.name for e in all_of_them for n in walk(e) if isinstance(n, Name)}
        return tuple(p for p in self.plan.scop.parameters if p.name in names)

    @property
    def others(self) -> tuple[Parameter, ...]:
        """The other parameters: numbers of steps, positions."""
        sizes = self.sizes
        return tuple(p for p in self.plan.scop.parameters if p not in sizes)

    def number(self, array: str) -> int:
        """Return the number of an array in tables."""
        return next(k for k, a in enumerate(self.plan.arrays) if a.name == array)

    def lives_here(self, array: DistributedArray) -> bool:
        """Return whether ranks have memory for an array; others are values, or the kernels' own."""
        return any(array.name in _pointers(program) for program in self.phases)


def _pointers(program: HostProgram) -> Iterator[str]:
    return (a.array.name for a in arguments(program) if not a.value)


def function_name(scop: str, all_names: tuple[str, ...]) -> str:
    """Return what the entry of a SCoP is named after: its function, where no other SCoP of the file is in that.

    Example: smooth_3fa81c0d_scop0 is of the function smooth.
    """
    found = _SCOP_NAME.fullmatch(scop)
    if found is None:
        return scop
    function = found["function"]
    same = [one for one in all_names if (other := _SCOP_NAME.fullmatch(one)) and other["function"] == function]
    return function if len(same) == 1 else scop


def extents_of(plan: DistributionPlan, array: DistributedArray) -> tuple[Expr, ...]:
    """Return the extents of a whole array over the parameters, as far as it is accessed where C does not say."""
    return tuple(
        e if e is not None else _accessed(plan, array.name, d) if axis is None else plan.axes[axis].extent
        for d, (e, axis) in enumerate(zip(array.extents, array.axes, strict=True))
    )


def sole_writer(plan: DistributionPlan, array: DistributedArray) -> tuple[Expr | None, ...] | None:
    """Return the position along each axis of the statements that write an array, None along those that cut it and those
    that they do not run along; None where they are at several, as two receivers are."""
    names = [s.name for s in plan.scop.statements if any(a.writes and a.array == array.name for a in s.accesses)]
    found: list[Expr | None] = []
    for axis in range(len(plan.axes)):
        each = [] if axis in array.axes else [plan.placement(name).positions[axis] for name in names]
        ranges = [at.range() for at in each if at is not None]
        if not ranges:
            found.append(None)
            continue
        if len(ranges) < len(each) or any(not r.is_equal(ranges[0]) for r in ranges) or not ranges[0].is_singleton():
            return None
        known = isl.Set.universe(plan.scop.context.get_space())
        integer = plan.scop.parameters[0].type if plan.scop.parameters else INT
        found.append(parameter_expression(ranges[0].dim_max(0).gist(known), known, integer))
    return tuple(found)


def _accessed(plan: DistributionPlan, array: str, dimension: int) -> Expr:
    """Return the greatest index of a dimension that is accessed, and one more."""
    scop = plan.scop
    reached = isl.Set.empty(isl.Set("{ [i] }").get_space().align_params(scop.context.get_space()))
    for statement in scop.statements:
        for access in statement.accesses:
            if access.array == array:
                reached = reached.union(along(access.relation.intersect_domain(statement.domain), dimension).range())
    last = reached.coalesce().dim_max(0)
    integer = scop.parameters[0].type if scop.parameters else INT
    if last.n_piece() == 0:
        return Literal("0")
    end = last.add_constant_val(isl.Val.one(last.get_ctx()))
    return parameter_expression(end, isl.Set.universe(scop.context.get_space()), integer)


def check(made: Distributed) -> None:
    """Raise UserError for what C entries cannot take."""
    plan, scop = made.plan, made.plan.scop
    for array in scop.external_arrays:
        if scop.by_value(array) and array.element.kind == "struct":
            raise UserError(
                f"{scop.name}: {array.name} is a struct that is passed by value",
                location=array.location,
                hint="ranks take numbers by value, and arrays of structs",
            )
    for held in plan.arrays:
        location = scop.array(held.name).location
        users = [one for one in plan.local if any(a.name == held.name for a in one.arrays)]
        own = held.name not in {a.name for a in scop.external_arrays}
        if own and not held.is_cut and len(users) > 1 and any(at is not None for at in held.position):
            what = f"{scop.name}: {held.name} is of the SCoP's own, and no axis cuts it"
            raise UserError(what, location=location, hint="declare it outside of the SCoP")
        if plan.steps > 1 and held.written and sole_writer(plan, held) is None and not _written_once(plan, held):
            raise UserError(
                f"{scop.name}: statements at several places write elements of {held.name} again and again",
                location=location,
                hint="one step per exchange, or an array for each place",
            )


def _written_once(plan: DistributionPlan, array: DistributedArray) -> bool:
    """Return whether each element is written once, so that ranks which compute it beyond their part have the same."""
    writes = isl.UnionMap.empty(plan.scop.context.get_space())
    for statement in plan.scop.statements:
        for access in statement.accesses:
            if access.writes and access.array == array.name:
                writes = writes.union(isl.UnionMap.from_map(access.relation.intersect_domain(statement.domain)))
    return writes.is_injective()
