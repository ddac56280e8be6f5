"""The last step of extraction: statements with final shapes of arrays, access relations, and the schedule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import islpy as isl
from pycparser import c_ast
from pycparser.c_generator import CGenerator

from polytile.diagnostics import Location, UserError
from polytile.frontend.accesses import RawAccess, always_written
from polytile.frontend.affine import Evaluator
from polytile.frontend.delinearise import (
    Strides,
    find_strides,
    in_range,
    needs_splitting,
    outer_extent,
    refusal,
    split,
    to_expr,
)
from polytile.frontend.describe import describe
from polytile.frontend.index_width import leaves_int, with_declared_sizes
from polytile.frontend.order import Order, only, schedule, source_loops
from polytile.frontend.polynomial import Monomial, Polynomial
from polytile.frontend.reductions import reduction
from polytile.frontend.relations import at_numbers, lift_domain, lift_relation, without, without_in_map
from polytile.frontend.repeats import distinct
from polytile.frontend.row_tables import table_of
from polytile.frontend.scop_region import Region
from polytile.frontend.shapes import Shapes, to_array
from polytile.ir.expr import INT, Access, CType, Expr, Stmt, rewrite
from polytile.ir.scop import AccessKind, AccessRelation, Array, Parameter, RowTable, Scop, Statement
from polytile.ir.struct_fields import positions
from polytile.ir.substitute import with_names

_PARAM = isl.dim_type.param


@dataclass(frozen=True, slots=True)
class Draft:
    """A statement whose arrays may still change their shape."""

    name: str
    iterators: tuple[str, ...]
    points: isl.Set = field(compare=False)
    body: tuple[Stmt, ...]
    accesses: tuple[RawAccess, ...]
    location: Location
    text: str
    loops: tuple[Location, ...] = ()  # around it, outermost first


def finish(
    region: Region, drafts: Sequence[Draft], orders: Sequence[Order], evaluator: Evaluator, shapes: Shapes
) -> Scop:
    """Build the Scop from the statements in textual order."""
    return _Assembler(region, evaluator, shapes, [replace(d) for d in drafts]).run(orders)


@dataclass(slots=True)
class _Assembler:
    region: Region
    evaluator: Evaluator
    shapes: Shapes
    drafts: list[Draft]
    extents: dict[str, tuple[Expr | None, ...]] = field(default_factory=dict)

    def run(self, orders: Sequence[Order]) -> Scop:
        for name, shape in self.shapes.found.items():
            self.extents[name] = shape.extents
            self._check_bounds(name)
            self._check_gathered(name)
            self._separate_subscripts(name)
        orders = self._under_conditions(orders)
        tables = self._tables()
        parameters = self._parameters()
        space = isl.Set(f"[{', '.join(p.name for p in parameters)}] -> {{ : }}").get_space()
        statements = tuple(self._statement(d, space) for d in self.drafts)
        tree = schedule(orders, {s.name: s.domain for s in statements})
        assert tree is not None
        context = self._context(space)
        return Scop(
            self.region.name,
            parameters,
            context,
            self._arrays(statements),
            statements,
            tree,
            self.region.span,
            self.region.location,
            self.region.definitions,
            self.region.source,
            wide=self._wide(statements, with_declared_sizes(context, parameters)),
            arguments=self.region.arguments,
            independent=self.region.independent,
            checked=self.evaluator.checked.in_c(),
            passed=tuple((name, _passed(load)) for name, load in self.region.loads.items()),
            loops=tuple(source_loops(orders)),
            tables=tables,
            external=tuple(summary.function for summary in self.region.summaries.values()),
            device_source=self.region.device_source if self.region.summaries else "",
            set_before=tuple(self.region.numbers.items()),
        )

    def _under_conditions(self, orders: Sequence[Order]) -> Sequence[Order]:
        """Drop the statements that never run where what the host asks holds."""
        self.drafts = [d for d in self.drafts if not d.points.is_disjoint(self.evaluator.context)] or self.drafts
        return only(orders, {d.name for d in self.drafts})

    def _wide(self, statements: Sequence[Statement], known: isl.Set) -> bool:
        """Whether an iterator needs the 64 bits that it is declared with."""
        types = self.evaluator.iterators
        return any(
            leaves_int(s.domain, [k for k, name in enumerate(s.iterators) if types[name].size > INT.size], known)
            for s in statements
        )

    # Arrays ---------------------------------------------------------------------------------------------------------
    def _accesses(self, array: str) -> list[RawAccess]:
        return [a for d in self.drafts for a in d.accesses if a.access.array == array]

    def _source(self, array: str) -> str:
        return self.shapes.found[array].variable.source

    def _separate_subscripts(self, array: str) -> None:
        accesses = self._accesses(array)
        if len(self.extents[array]) != 1 or not needs_splitting(accesses):
            return
        source = self._source(array)
        strides, self.drafts = self._split(array, find_strides(accesses, self.evaluator, source))
        inner = [to_expr(Polynomial({size: 1}), self.evaluator) for size in strides.sizes]
        inside = self.shapes.found[array].variable.symbol is None
        outer = outer_extent(self.shapes.found[array].polynomials[0], strides, self.evaluator, padded=inside)
        self.extents[array] = (outer, *inner)

    def _split(self, array: str, strides: Strides) -> tuple[Strides, list[Draft]]:
        """The statements with one subscript per dimension, by the strides found, or else by one more of their
        factors: `s * i * m + j` is [i][0][j] where j < m."""
        source, before = self._source(array), (self.evaluator.context, self.evaluator.checked)
        problem: UserError | None = None
        for tried in (strides, *strides.finer()):
            try:
                return tried, [_resubscript(d, array, source, tried, self.evaluator) for d in self.drafts]
            except UserError as reason:
                self.evaluator.context, self.evaluator.checked = before
                problem = problem or reason
        assert problem is not None
        raise problem

    def _check_bounds(self, array: str) -> None:
        polynomials = self.shapes.found[array].polynomials
        seen: set[tuple[int, int, frozenset[tuple[Monomial, int]]]] = set()
        for access in self._accesses(array):
            if access.path or not access.touched or len(polynomials) != len(access.subscripts):
                continue
            for k, (subscript, extent) in enumerate(zip(access.subscripts, polynomials, strict=True)):
                if subscript is None or extent is None or extent.degree > 1 or subscript.degree > 1:
                    continue
                column = id(access.points), k, frozenset(subscript.terms.items())
                if column not in seen:
                    seen.add(column)
                    self._check_subscript(access, k, subscript, extent)

    def _check_gathered(self, array: str) -> None:
        """Refuse subscripts that data decide where it is not known what they may reach."""
        extents = self.shapes.found[array].polynomials
        if all(e is not None and e.degree <= 1 for e in extents):
            return
        for access in self._accesses(array):
            if None in access.subscripts or (access.loose and self._unbounded(access)):
                k = access.subscripts.index(None) if None in access.subscripts else 0
                spelt, source = describe(access.access.subscripts[k]), self._source(array)
                raise UserError(
                    f"the subscript `{spelt}` of `{source}` is not affine: it reads data, and how large the array is "
                    "is not known",
                    location=access.location,
                    hint=f"declare the array with its size, such as `{source}[n]`",
                )

    def _unbounded(self, access: RawAccess) -> bool:
        """Whether data alone decide how far the first subscript of an access may reach."""
        subscript = access.subscripts[0]
        if subscript is None or subscript.degree > 1:
            return True
        value = self.evaluator.of_polynomial(subscript, access.access)
        reached = isl.Set.from_pw_aff(value).intersect_params(access.points)
        names = [reached.get_dim_name(_PARAM, k) for k in range(reached.dim(_PARAM))]
        for name in [n for n in names if n in access.inner]:
            reached = reached.project_out(_PARAM, reached.find_dim_by_name(_PARAM, name), 1)
        return not reached.is_bounded()

    def _check_subscript(self, access: RawAccess, k: int, subscript: Polynomial, extent: Polynomial) -> None:
        expr = access.access.subscripts[k]
        size = self.evaluator.of_polynomial(extent, expr)
        value = self.evaluator.of_polynomial(subscript, expr)
        iterators = tuple(self.evaluator.iterators)
        points = access.points.intersect(self.evaluator.context)
        runs = at_numbers(without(points, iterators), self.region.numbers)
        outside = without(points.subtract(in_range(value, size)), iterators)
        if not runs.is_empty() and runs.is_subset(outside):
            spelt = describe(to_expr(extent, self.evaluator))
            raise UserError(
                f"the subscript `{describe(expr)}` of `{self._source(access.access.array)}` leaves the array: "
                f"its extent is {spelt}",
                location=access.location,
                hint=f"subscripts of this dimension go from 0 to {spelt} - 1: correct the loops or the array",
            )

    def _tables(self) -> tuple[RowTable, ...]:
        """What the host asks of pointers to rows."""
        found = []
        for name, shape in self.shapes.found.items():
            pitch = self.region.tables.get(shape.variable.source)
            accesses = self._accesses(name)
            if pitch is not None and accesses and shape.variable.symbol is not None:
                source, element = shape.variable.source, shape.variable.type
                pitches = self.region.tables.values()
                found.append(table_of(name, source, element, pitch, accesses, self.evaluator, pitches))
        return tuple(found)

    def _arrays(self, statements: Sequence[Statement]) -> tuple[Array, ...]:
        used = {a.array for s in statements for a in s.accesses}
        return tuple(
            to_array(shape, tuple(self._named(e) for e in self.extents[name]))
            for name, shape in self.shapes.found.items()
            if name in used
        )

    # Parameters and context -----------------------------------------------------------------------------------------
    def _parameters(self) -> tuple[Parameter, ...]:
        used = self.evaluator.parameters
        symbols = self.region.symbols
        return tuple(Parameter(n, used[n], symbols[n].location) for n in symbols if n in used)

    def _context(self, space: isl.Space) -> isl.Set:
        context = self.evaluator.context
        names = [context.get_dim_name(_PARAM, k) for k in range(context.dim(_PARAM))]
        context = without(context, [n for n in names if n and n not in self.evaluator.parameters])
        return context.align_params(space).coalesce()

    # Statements -----------------------------------------------------------------------------------------------------
    def _statement(self, draft: Draft, space: isl.Space) -> Statement:
        domain = lift_domain(draft.points, draft.name, draft.iterators).align_params(space).coalesce()
        body = tuple(self._named(s) for s in draft.body)
        accesses = self._relations(draft, domain, space)
        return Statement(
            draft.name,
            draft.iterators,
            domain,
            body,
            accesses,
            draft.location,
            reduction(body),
            draft.text,
            loops=draft.loops,
        )

    def _named(self, node: Any) -> Any:
        """Parameters are names, not scalars: before: Access("n"), after: Name("n")."""
        return None if node is None else with_names(node, self.evaluator.parameters)

    def _relations(self, draft: Draft, domain: isl.Set, space: isl.Space) -> tuple[AccessRelation, ...]:
        raws = [a for a in draft.accesses if a.touched and a.access.array not in self.evaluator.parameters]
        maps = [self._relation(raw, draft, domain).align_params(space) for raw in raws]
        return tuple(
            AccessRelation(raw.access.array, self._kind(raw, m, raws, maps), m, raw.location)
            for raw, m in distinct(raws, maps)
        )

    def _relation(self, raw: RawAccess, draft: Draft, domain: isl.Set) -> isl.Map:
        shape = self.shapes.found[raw.access.array]
        fields, sizes = shape.variable.fields, shape.polynomials
        relation = lift(raw, fields, draft.name, draft.iterators, self.evaluator, sizes)
        return without_in_map(relation, raw.inner).gist_domain(domain).coalesce()

    def _kind(self, raw: RawAccess, own: isl.Map, raws: Sequence[RawAccess], maps: Sequence[isl.Map]) -> AccessKind:
        if raw.kind is not AccessKind.WRITE or not raw.path:
            return raw.kind
        writes = [
            (r.path, m)
            for r, m in zip(raws, maps, strict=True)
            if r.kind is AccessKind.WRITE and r.access.array == raw.access.array
        ]
        always = always_written(writes)
        return AccessKind.WRITE if always is not None and own.is_subset(always) else AccessKind.MAY_WRITE


def _passed(value: c_ast.Node) -> str:
    """The C of what the call passes for a scalar, which may stand in a larger expression."""
    text = str(CGenerator().visit(value))
    return text if isinstance(value, c_ast.ArrayRef | c_ast.StructRef | c_ast.ID) else f"({text})"


def lift(
    raw: RawAccess,
    fields: Sequence[tuple[str, CType]],
    name: str,
    iterators: Sequence[str],
    evaluator: Evaluator,
    sizes: Sequence[Polynomial | None] = (),
) -> isl.Map:
    """The relation of one access; a struct's numbers are a last dimension, all of them when it is used as a whole.

    A subscript that reads data may be any from 0 to below its dimension's size.
    """
    columns: list[isl.PwAff | isl.Set | None] = []
    for k, subscript in enumerate(raw.subscripts):
        size = sizes[k] if subscript is None else None
        value = evaluator.of_polynomial(subscript or size or Polynomial({}), raw.access)
        columns.append(value if subscript is not None else _below(value))
    if fields and raw.access.field is None:
        columns.append(None)
    for inner in raw.inside:
        columns.append(None if inner is None else evaluator.of_polynomial(inner, raw.access))
    relation = lift_relation(columns, raw.access.array, raw.points, name, iterators)
    if fields and raw.access.field is not None:
        relation = numbered(relation, raw, fields, evaluator.context)
    if fields and raw.access.field is None:
        last = relation.dim(isl.dim_type.out) - 1
        relation = relation.lower_bound_val(isl.dim_type.out, last, isl.Val(0))
        relation = relation.upper_bound_val(isl.dim_type.out, last, isl.Val(len(fields) - 1))
    return _within(relation, raw, sizes, evaluator) if raw.loose else relation


def numbered(
    relation: isl.Map, raw: RawAccess, fields: Sequence[tuple[str, CType]], context: isl.Set
) -> isl.Map:
    """The subscripts inside a struct as the number of its field.

    before: S0[i, d] -> p[i, d]    for p[i].v[d], where v[0] is number 1
    after:  S0[i, d] -> p[i, 1 + d]
    """
    first, inside = positions(fields, raw.access.field or "")
    array = raw.access.array
    own = [f"s{k}" for k in range(relation.dim(isl.dim_type.out) - len(inside))]
    at = [f"x{k}" for k in range(len(inside))]
    number = " + ".join([str(first), *(f"{stride}{x}" for x, (_, stride) in zip(at, inside, strict=True))])
    within = " and ".join(f"0 <= {x} < {extent}" for x, (extent, _) in zip(at, inside, strict=True)) or "true"
    step = isl.Map(f"{{ [{', '.join([*own, *at])}] -> [{', '.join([*own, number])}] : {within} }}")
    step = step.set_tuple_name(isl.dim_type.in_, array).set_tuple_name(isl.dim_type.out, array)
    found = relation.apply_range(step)
    certain = None not in raw.inside and not raw.loose
    known = relation.intersect_params(context)
    if certain and not known.is_subset(known.intersect_range(step.domain())):
        raise UserError(
            f"the subscripts of `{describe(raw.access)}` are not known to lie inside its field",
            location=raw.location,
            hint="let loops run to the field's size, or say how large a bound is: `__builtin_assume(n <= 3)`",
        )
    return found


def _within(relation: isl.Map, raw: RawAccess, sizes: Sequence[Polynomial | None], evaluator: Evaluator) -> isl.Map:
    """The part of a relation that lies inside its array, where the loops of a body alone do not show that it does."""
    for k, size in enumerate(sizes):
        if size is not None and size.degree <= 1:
            below = _below(evaluator.of_polynomial(size, raw.access))
            relation = relation.intersect_range(_at(below, relation, k))
    return relation


def _at(values: isl.Set, relation: isl.Map, k: int) -> isl.Set:
    """The elements whose subscript number `k` is one of `values`."""
    rank = relation.dim(isl.dim_type.out)
    before = isl.Set(f"{{ [{', '.join(f'b{i}' for i in range(k))}] }}")
    after = isl.Set(f"{{ [{', '.join(f'a{i}' for i in range(rank - k - 1))}] }}")
    return before.flat_product(values).flat_product(after).set_tuple_name(relation.get_tuple_name(isl.dim_type.out))


def _below(size: isl.PwAff) -> isl.Set:
    """`{ [x] : 0 <= x < size }`."""
    return isl.Set.from_pw_aff(size).apply(isl.Map("{ [n] -> [x] : 0 <= x < n }"))


def _resubscript(draft: Draft, array: str, source: str, strides: Strides, evaluator: Evaluator) -> Draft:
    """Split the linear subscripts of one array in a statement."""
    subscripts: dict[Access, tuple[Polynomial, ...]] = {}
    for access in draft.accesses:
        if access.access.array == array:
            found = split(access, strides, evaluator, source)
            if subscripts.setdefault(access.access, found) != found:
                raise refusal(access, source, "it falls into different rows under different conditions")

    def renewed(access: Access) -> Access:
        return replace(access, subscripts=tuple(to_expr(p, evaluator) for p in subscripts[access]))

    def change(node: object) -> object:
        return renewed(node) if isinstance(node, Access) and node in subscripts else node

    accesses = tuple(
        replace(a, access=renewed(a.access), subscripts=subscripts[a.access]) if a.access in subscripts else a
        for a in draft.accesses
    )
    return replace(draft, body=tuple(rewrite(s, change) for s in draft.body), accesses=accesses)
