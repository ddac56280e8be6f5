"""What a reduction is split into: its results, their chunks and lanes, names, and where partial results are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.expr import CType, Declare, Expr, For, Name, Stmt
from polytile.ir.expr_trees import walk
from polytile.ir.name_supply import fresh
from polytile.ir.partial_results import Split
from polytile.ir.reductions import Accumulation
from polytile.ir.scop import Scop, Statement
from polytile.scheduling.analysis.chains import projection
from polytile.scheduling.transform.reductions.layout import PartialLayout, Tiles, layout

GROUP = "x"
Updates = tuple[tuple[Stmt, Accumulation], ...]  # the statements of a body, and what each of them is
Adders = Mapping[int, tuple[int, ...]]  # how many lanes add up chunks, of how many neighbouring results, by rank


@dataclass(frozen=True, slots=True)
class ReductionPlan:
    """What a reduction is split into. Keys are its results, each with its chunks; `keyed` maps instances to them."""

    scop: Scop
    before: Statement
    updates: Updates
    type: CType  # of partial results
    group: tuple[int, ...]
    splits: tuple[Split, ...]
    blocked: tuple[tuple[int, Tiles], ...]
    names: Mapping[str, str]
    key_names: tuple[str, ...]
    lane_names: tuple[str, ...]
    keyed: isl.Map = field(compare=False)
    partial: PartialLayout
    middle: PartialLayout
    threads: tuple[int, ...]  # lanes that add up the chunks of a result, results side by side; none: no lanes do
    shared: int  # which iterator of a key the lanes share out: that of the chunks of which there are most
    sums: PartialLayout  # what each of them has

    @property
    def found(self) -> Accumulation:
        """Return what is accumulated, as one of the updates has it: one that subtracts, where all do."""
        every = [found for _, found in self.updates]
        return next((found for found in every if not found.inverse), every[0])

    @property
    def form(self) -> Stmt:
        """Return the first update as the body has it."""
        return self.updates[0][0]

    @property
    def lanes(self) -> tuple[Split, ...]:
        return tuple(s for s in self.splits if s.lanes)

    @property
    def chunks(self) -> tuple[Split, ...]:
        return tuple(s for s in self.splits if not s.lanes)

    @property
    def keys(self) -> isl.Set:
        return self.keyed.range().coalesce()

    @property
    def adders(self) -> int:
        return self.threads[0] if self.threads else 0

    @property
    def results(self) -> isl.Set:
        return projection(self.keys, range(len(self.group)), GROUP).range().coalesce()

    @property
    def key(self) -> tuple[Expr, ...]:
        return tuple(Name(n) for n in self.key_names)

    @property
    def all_lanes(self) -> isl.Set:
        return lane_box(tuple(s.size for s in self.lanes))


def lane_box(sizes: Sequence[int]) -> isl.Set:
    """Return the numbers of all partial results, a tuple without a name."""
    box = isl.Set.universe(isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, len(sizes)))
    for k, size in enumerate(sizes):
        box = box.lower_bound_val(isl.dim_type.set, k, isl.Val(0))
        box = box.upper_bound_val(isl.dim_type.set, k, isl.Val(size - 1))
    return box


def plan_of(
    scop: Scop,
    before: Statement,
    updates: Updates,
    ctype: CType,
    group: tuple[int, ...],
    splits: tuple[Split, ...],
    blocked: Mapping[int, Tiles],
    adders: Adders,
) -> ReductionPlan:
    """Plan how to split the `updates` of one element that `before` does."""
    target = updates[0][1].target.array
    fresh = _Fresh(scop)
    chunks = [s for s in splits if not s.lanes]
    names = {k: fresh(f"{target}_{k}") for k in ("part", "mid", "sum")}
    names |= {k: fresh(f"{before.name}_{k}") for k in ("init", "update", "fold", "finish")}
    gathers = bool(chunks) and len(group) in adders
    shared = min(range(len(chunks)), key=lambda k: chunks[k].size, default=0)
    if gathers:
        names |= {k: fresh(f"{before.name}_{k}") for k in ("begin", "total")}
        names |= {k: fresh(f"{target}_{k}") for k in ("sums", "total_sum")}
        names["adder"] = fresh(f"{before.iterators[chunks[shared].iterator]}_adder")
    side = {k: (size,) for k, size in enumerate(adders[len(group)][1:])} if gathers else {}
    keyed = projection(before.domain.intersect_params(scop.context), group, GROUP)
    for split in chunks:
        keyed = keyed.flat_range_product(column(before.domain, split)).set_tuple_name(isl.dim_type.out, GROUP)
    order = (*range(len(group), len(group) + len(chunks)), *range(len(group)))
    tiles = {position: blocked[k] for position, k in enumerate(group) if k in blocked}
    return ReductionPlan(
        scop,
        before,
        updates,
        ctype,
        group,
        splits,
        tuple((k, blocked[k]) for k in group if k in blocked),
        names,
        (*(before.iterators[k] for k in group), *(fresh(f"{before.iterators[s.iterator]}_chunk") for s in chunks)),
        tuple(fresh(f"{before.iterators[s.iterator]}_lane") for s in splits if s.lanes),
        keyed.coalesce(),
        layout(keyed.range(), order, tiles, scop.context),
        layout(keyed.range(), order, {}, scop.context),
        adders[len(group)] if gathers else (),
        len(group) + shared,
        layout(projection(keyed.range(), range(len(group)), GROUP).range(), range(len(group)), side, scop.context),
    )


class _Fresh:
    """Names that nothing in a Scop has."""

    def __init__(self, scop: Scop) -> None:
        self.taken = {a.name for a in scop.arrays} | {p.name for p in scop.parameters}
        for statement in scop.statements:
            nodes = [n for s in statement.body for n in walk(s)]
            self.taken |= {statement.name, *statement.iterators}
            self.taken |= {n.name for n in nodes if isinstance(n, Declare)}
            self.taken |= {n.iterator for n in nodes if isinstance(n, For)}

    def __call__(self, wanted: str) -> str:
        name = fresh(wanted, self.taken)
        self.taken.add(name)
        return name


def column(domain: isl.Set, split: Split) -> isl.Map:
    """Return the chunk or the partial result of each instance, as a tuple of one without a name."""
    space = isl.LocalSpace.from_space(domain.get_space())
    iterator = isl.Aff.var_on_domain(space, isl.dim_type.set, split.iterator)
    size = isl.Val(split.size)
    if split.lanes and split.unit > 1:
        iterator = iterator.scale_down_val(isl.Val(split.unit)).floor()
    return isl.Map.from_aff(iterator.mod_val(size) if split.lanes else iterator.scale_down_val(size).floor())
