"""What the statements do that combine lanes: a value of each lane, shuffles, and who uses the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from math import prod

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.arith import binary
from polytile.ir.expr import Access, Assign, Declare, Expr, If, Literal, Name, Stmt
from polytile.ir.expr import Scope as Braces
from polytile.ir.expr_trees import rewrite
from polytile.ir.gpu_ops import WarpReduce
from polytile.ir.kernel import Comment
from polytile.ir.name_supply import fresh
from polytile.ir.partial_results import Combination
from polytile.ir.scop import AccessKind, AccessRelation, Array, Origin, Scop, Statement
from polytile.ir.warp_reductions import WarpReduction, lane_number, lane_operator
from polytile.machine import WARP_SIZE
from polytile.scheduling.promotion.cooperative_reductions.choose import CombineMethod, CooperationPlan
from polytile.scheduling.promotion.cooperative_reductions.vector_stores import Flat, flat_vectors

_IN, _OUT = isl.dim_type.in_, isl.dim_type.out
_WORDS = {"+": "the sum", "*": "the product", "min": "the least", "max": "the greatest"}


@dataclass(frozen=True, slots=True)
class Made:
    """The statements in place of one combination, in their order, and what they hand over through.

    `parts` says which instance of the combination each instance is a part of; `shifts` where its thread is, counted
    from that of the combination.
    """

    statements: tuple[Statement, ...]
    array: Array | None
    reductions: tuple[WarpReduction, ...]
    parts: isl.UnionMap = field(compare=False)
    shifts: isl.UnionMap = field(compare=False)


def made(scop: Scop, plan: CooperationPlan, taken: set[str]) -> Made:
    """Create the statements of a plan; names that they add go to `taken`."""
    return _Maker(scop, plan, scop.statement(plan.statement), plan.combine, taken).made()


@dataclass(frozen=True, slots=True)
class _Maker:
    scop: Scop
    plan: CooperationPlan
    before: Statement
    combine: Combination
    taken: set[str]

    def made(self) -> Made:
        if self.plan.way is CombineMethod.SHUFFLE:
            final, reduction = self.final(self.combine, self.before.name)
            return self.collected([final], None, [reduction])
        stored = self.plan.way is CombineMethod.STORE
        name = self._fresh(f"{self.before.name}_{'store' if stored else 'lanes'}")
        handed = self.handed()
        if stored:
            return self.collected([self.stored(name, handed), self.renamed(handed.name)], handed, [])
        first = self.first(name, handed)
        if self.plan.way is CombineMethod.THROUGH_SHARED:
            return self.collected([first[0], self.renamed(handed.name)], handed, [first[1]])
        warps = replace(self.combine, array=handed.name, sizes=(self.plan.lanes // WARP_SIZE,))
        final, reduction = self.final(warps, self.before.name)
        return self.collected([first[0], final], handed, [first[1], reduction])

    def collected(self, statements: list[Statement], array: Array | None, reductions: list[WarpReduction]) -> Made:
        parts = shifts = isl.UnionMap("{ }")
        known = {m.statement: m for m in reductions}
        for s in statements:
            reduction = known.get(s.name)
            sizes, axes = (reduction.sizes, reduction.axes) if reduction is not None else ((), ())
            parts = parts.union(isl.UnionMap.from_map(self.parts(s.name, sizes)))
            shifts = shifts.union(isl.UnionMap(self.shift(s, axes)))
        return Made(tuple(statements), array, tuple(reductions), parts, shifts)

    def shift(self, statement: Statement, axes: tuple[int, ...]) -> str:
        """Return `{ C[i, lane] -> [0, lane] }`: the iterators of threads, each at its axis."""
        names = [f"d{i}" for i in range(len(statement.iterators))]
        at = dict(zip(axes, names[len(names) - len(axes) :], strict=True))
        coordinates = ", ".join(at.get(k, "0") for k in range(len(self.plan.threads)))
        return f"{{ {statement.name}[{', '.join(names)}] -> [{coordinates}] }}"

    # Statements ------------------------------------------------------------------------------------------------------
    def first(self, name: str, handed: Array) -> tuple[Statement, WarpReduction]:
        """Create the statement in which each thread, or each warp, stores what it has for the others."""
        combine, plan = self.combine, self.plan
        width = WARP_SIZE if plan.way is CombineMethod.WARPS else 1
        lanes = self.lane_names(len(combine.sizes))
        reduction = WarpReduction(name, combine.array, combine.sizes, plan.strides, plan.axes, width)
        part = self.part(combine, lanes)
        read = AccessRelation(combine.array, AccessKind.READ, self.lane_reads(name), self.before.location)
        body: tuple[Stmt, ...]
        if width == 1:
            relation = read.relation.set_tuple_name(_OUT, handed.name)
            body = (Assign(replace(part, array=handed.name), "", part, self.before.location),)
        else:
            relation = self.warp_writes(name, reduction, handed.name)
            number = lane_number(lanes, plan.strides)
            target = Access(handed.name, (*combine.subscripts, binary("/", number, WARP_SIZE)), combine.type)
            value = Name(combine.value, combine.type)
            store = If(reduction.leads(lanes), (Assign(target, "", value, self.before.location),))
            body = (Braces((*self.reduced(combine, part, width), store)),)
        write = AccessRelation(handed.name, AccessKind.WRITE, relation, self.before.location)
        statement = replace(
            self.before,
            name=name,
            iterators=(*self.before.iterators, *lanes),
            domain=self.parts(name, combine.sizes).domain(),
            body=body,
            accesses=(read, write),
            reduction=None,
            combine=None,
            text=f"{self.before.text}, each {'warp' if width > 1 else 'thread'}",
        )
        return statement, reduction

    def stored(self, name: str, handed: Array) -> Statement:
        """Create the statement in which each thread stores what it has."""
        part, location = self.part(self.combine, ()), self.before.location
        relation = self.parts(name, ()).apply_range(self.reads())
        target = replace(part, array=handed.name, subscripts=self.flat(part.subscripts))
        return replace(
            self.before,
            name=name,
            domain=self.parts(name, ()).domain(),
            body=(Assign(target, "", part, location),),
            accesses=(
                AccessRelation(part.array, AccessKind.READ, relation, location),
                AccessRelation(handed.name, AccessKind.WRITE, self.of_flat(relation, handed.name), location),
            ),
            reduction=None,
            text=f"{self.before.text}, each",
        )

    def final(self, combine: Combination, name: str) -> tuple[Statement, WarpReduction]:
        """Create the statement in which threads of one segment combine their values; the first uses the result."""
        lanes = self.lane_names(len(combine.sizes))
        whole, last = combine is self.combine, len(self.plan.threads) - 1
        strides, axes = (self.plan.strides, self.plan.axes) if whole else ((1,), (last,))
        width = prod(combine.sizes)
        reduction = WarpReduction(name, combine.array, combine.sizes, strides, axes, width)
        parts = self.parts(name, combine.sizes)
        if whole:
            read = self.lane_reads(name)
        else:
            own = isl.Map(f"{{ {name}[{', '.join(_dims(parts))}] -> [{_dims(parts)[-1]}] }}")
            read = self.leading(parts).flat_range_product(own).set_tuple_name(_OUT, combine.array)
        first = parts
        for k in range(len(lanes)):
            first = first.fix_val(_IN, parts.dim(_IN) - 1 - k, isl.Val(0))
        others = [
            replace(a, relation=first.apply_range(a.relation))
            for a in self.before.accesses
            if a.array != self.combine.array
        ]
        leader = reduction.leads(lanes)
        body = Braces((*self.reduced(combine, self.part(combine, lanes), width), If(leader, self.rest())))
        statement = replace(
            self.before,
            iterators=(*self.before.iterators, *lanes),
            domain=parts.domain(),
            body=(body,),
            accesses=(AccessRelation(combine.array, AccessKind.READ, read, self.before.location), *others),
            combine=None,
        )
        return statement, reduction

    def renamed(self, handed: str) -> Statement:
        """Create the combination as it was, of the array of exchanged values."""

        array = self.combine.array

        def other(node: Expr) -> Expr:
            if not isinstance(node, Access) or node.array != array:
                return node
            return replace(node, array=handed, subscripts=self.flat(node.subscripts))

        accesses = (
            replace(a, array=handed, relation=self.of_flat(a.relation, handed))
            if a.array == array
            else a
            for a in self.before.accesses
        )
        body = tuple(rewrite(s, other) for s in self.before.body)
        combine = self.before.combine and replace(self.before.combine, array=handed)
        return replace(self.before, body=body, accesses=tuple(accesses), combine=combine)

    def handed(self) -> Array:
        array = self.scop.array(self.combine.array)
        name = self._fresh(f"{array.name}_{'warps' if self.plan.way is CombineMethod.WARPS else 'all'}")
        if self.plan.way is not CombineMethod.WARPS:
            extents = array.extents if self.vectors is None else self.vectors.extents(array.extents)
            return replace(array, name=name, extents=extents)
        extents = (*array.extents[: len(self.combine.subscripts)], Literal(str(self.plan.lanes // WARP_SIZE)))
        return Array(name, array.element, extents, Origin.TEMPORARY, False, False, location=array.location)

    @property
    def vectors(self) -> Flat | None:
        """Return the dimensions that become one where partial results are stored."""
        return flat_vectors(self.combine.subscripts) if self.plan.way is CombineMethod.STORE else None

    def flat(self, subscripts: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return subscripts if self.vectors is None else self.vectors.subscripts(subscripts)

    def of_flat(self, relation: isl.Map, name: str) -> isl.Map:
        """Return the same accesses, of the array of this name."""
        found = relation if self.vectors is None else self.vectors.relation(relation)
        return found.set_tuple_name(_OUT, name)

    # Bodies ----------------------------------------------------------------------------------------------------------
    def reduced(self, combine: Combination, part: Access, width: int) -> tuple[Stmt, ...]:
        """Build the statements of a warp's sum, `const double v = polytile_warp_sum(part[i][lane]);`."""
        whole = width == self.plan.lanes or part.array != self.combine.array
        who = f"{width} neighbouring threads, together:" if whole else "each warp:"
        text = f"{who} {_WORDS.get(combine.op, combine.op)} of their {part.array}"
        met = WarpReduce(lane_operator(combine), part, width)
        return Comment(text), Declare(combine.value, combine.type, met, self.before.location)

    def rest(self) -> tuple[Stmt, ...]:
        """Return what the combination does with its result, after the declaration and the loops of the fold."""
        (body,) = self.before.body
        assert isinstance(body, Braces)
        return body.body[2:]

    def part(self, combine: Combination, lanes: Sequence[str]) -> Access:
        return Access(combine.array, (*combine.subscripts, *(Name(lane) for lane in lanes)), combine.type)

    def lane_names(self, count: int) -> tuple[str, ...]:
        wanted = ("lane",) if count == 1 else tuple(f"lane_{'xyz'[count - 1 - k]}" for k in range(count))
        return tuple(fresh(name, self.taken) for name in wanted)

    def _fresh(self, wanted: str) -> str:
        name = fresh(wanted, self.taken)
        self.taken.add(name)
        return name

    # Relations -------------------------------------------------------------------------------------------------------
    def parts(self, name: str, sizes: Sequence[int]) -> isl.Map:
        """Return `{ C_lanes[i, lane] -> C[i] : 0 <= lane < 32 }`."""
        rank = len(self.before.iterators)
        own, lanes = [f"i{k}" for k in range(rank)], [f"l{k}" for k in range(len(sizes))]
        bounds = " and ".join(f"0 <= {lane} < {size}" for lane, size in zip(lanes, sizes, strict=True))
        pair = f"{name}[{', '.join(own + lanes)}] -> {self.before.name}[{', '.join(own)}]"
        return isl.Map(f"{{ {pair} : {bounds or 'true'} }}").intersect_range(self.before.domain)

    def lane_reads(self, name: str) -> isl.Map:
        """Return the reads in which each thread reads its own element of those that the combination reads."""
        parts, first = self.parts(name, self.combine.sizes), len(self.combine.subscripts)
        found = parts.apply_range(self.reads())
        for k in range(len(self.combine.sizes)):
            found = found.equate(_IN, len(self.before.iterators) + k, _OUT, first + k)
        return found

    def reads(self) -> isl.Map:
        mine = [a for a in self.before.relations(AccessKind.READ) if a.array == self.combine.array]
        total = mine[0].relation
        for other in mine[1:]:
            total = total.union(other.relation)
        return total

    def leading(self, parts: isl.Map) -> isl.Map:
        """Return `{ C[i, lane] -> [i] }`: the subscripts before those of threads."""
        found = parts.apply_range(self.reads())
        return found.project_out(_OUT, len(self.combine.subscripts), len(self.combine.sizes))

    def warp_writes(self, name: str, reduction: WarpReduction, handed: str) -> isl.Map:
        """Return the writes of the warps' values, each by the first thread of its warp."""
        parts = self.parts(name, reduction.sizes)
        dims = _dims(parts)
        terms = zip(reduction.strides, dims[len(dims) - len(reduction.sizes) :], strict=True)
        number = " + ".join(f"{stride} {dim}" for stride, dim in terms)
        warp = isl.Map(f"{{ {name}[{', '.join(dims)}] -> [w] : {number} = {WARP_SIZE} w }}")
        return self.leading(parts).flat_range_product(warp).set_tuple_name(_OUT, handed)


def _dims(parts: isl.Map) -> list[str]:
    return [f"d{k}" for k in range(parts.dim(_IN))]
