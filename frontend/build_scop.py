"""The last step of extraction: statements with final shapes of arrays, access relations, and the schedule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from typing import Any

import islpy as isl
from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.diagnostics import UserError
from polytile.frontend.access_relations import lift, require_inside_field
from polytile.frontend.accesses import Path, RawAccess, always_written
from polytile.frontend.affine import Evaluator
from polytile.frontend.alias_checks import alias_checks
from polytile.frontend.data_subscripts import of_each, unknown_size
from polytile.frontend.delinearise import (
    Strides,
    find_strides,
    in_range,
    needs_splitting,
    outer_extent,
    to_expr,
)
from polytile.frontend.delinearised_statements import Draft, by_data, gathered, split_by_first
from polytile.frontend.describe import describe
from polytile.frontend.index_width import leave_int, leaves_int, with_declared_sizes
from polytile.frontend.layout_conditions import layout_conditions
from polytile.frontend.order import Order, only, schedule, source_loops
from polytile.frontend.polynomial import Monomial, Polynomial
from polytile.frontend.reductions import reduction
from polytile.frontend.relations import always_leaves, at_numbers, bounded_above, lift_domain, without, without_in_map
from polytile.frontend.repeats import distinct
from polytile.frontend.row_tables import row_table
from polytile.frontend.scop_region import Region
from polytile.frontend.shapes import Shape, Shapes, to_array
from polytile.frontend.translated_relations import MovedRelations
from polytile.frontend.trees import text_of
from polytile.frontend.upward_exposed_reads import reads_what_was_there
from polytile.ir.certain_accesses import certain_accesses
from polytile.ir.expr import INT, Access, Binary, Cast, Expr, Literal, Name, Unary
from polytile.ir.expr_trees import walk
from polytile.ir.found_extents import AllocatedExtent, ReachedExtent
from polytile.ir.scop import AccessKind, AccessRelation, Array, Origin, Parameter, RowTable, Scop, Statement
from polytile.ir.substitute import with_names

_PARAM = isl.dim_type.param


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
    sizes: dict[str, tuple[Polynomial | None, ...]] = field(default_factory=dict)  # the same
    strides: dict[str, Strides] = field(default_factory=dict)  # of arrays that are indexed by hand

    def run(self, orders: Sequence[Order]) -> Scop:
        of_each(self.shapes.found, self._find_extents)
        orders = self._under_conditions(orders)
        tables = self._tables()
        for name in self.shapes.found:
            self._inside(name)
        parameters = self._parameters()
        space = isl.Set(f"[{', '.join(p.name for p in parameters)}] -> {{ : }}").get_space()
        statements = tuple(self._statement(d, space) for d in self.drafts)
        tree = schedule(orders, {s.name: s.domain for s in statements})
        assert tree is not None
        context, products, given = self._context(space), self.region.products, self.region.given
        arrays = self._arrays(statements)
        return Scop(
            self.region.name,
            parameters,
            context,
            arrays,
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
            pointers=tuple((name, _passed(value)) for name, value in self.region.pointers.items()),
            needed=(*self.region.needed, *self._maybe_null(statements)),
            loops=tuple(replace(loop, value=self._named(loop.value)) for loop in source_loops(orders)),
            tables=tables,
            reached=self._reached(statements, tree),
            allocated=self._allocated(),
            external=tuple(summary.function for summary in self.region.summaries.values()),
            device_source=self.region.device_source if self.region.summaries else "",
            set_before=tuple(self.region.numbers.items()),
            products=tuple((p.name, products[p.name].value) for p in parameters if p.name in products),
            optional=tuple((p.name, a.name) for p in parameters for a in arrays if given.get(p.name) == a.name),
            alias_checks=alias_checks(self.region, parameters, arrays, statements),
            rotations=self.region.rotations,
            layouts=self._layouts(parameters, arrays),
        )

    def _maybe_null(self, statements: Sequence[Statement]) -> Iterator[str]:
        """The pointers that only conditions on data lead to: C may be passed null ones, which it does not use."""
        certain = {access.array for statement in statements for access in certain_accesses(statement)}
        others = {*certain, *self.region.loads, *self.region.pointers, *self.region.given.values()}
        used = dict.fromkeys(a.array for s in statements for a in s.accesses)
        symbols = self.region.symbols
        own = (name for name in used if name in symbols and symbols[name].pointer and not symbols[name].table)
        return (name for name in own if name not in others)

    def _layouts(self, parameters: Sequence[Parameter], arrays: Sequence[Array]) -> tuple[str, ...]:
        """What is taken for granted of the types of the C's variables that the host passes."""
        sources = (self._source(a.name) for a in arrays if a.origin is Origin.EXTERNAL)
        names = dict.fromkeys([*(p.name for p in parameters), *sources])
        symbols = self.region.symbols
        return layout_conditions(symbols[name] for name in names if name in symbols and name not in self.region.loads)

    def _under_conditions(self, orders: Sequence[Order]) -> Sequence[Order]:
        """Drop the statements that never run where what the host asks holds."""
        self.drafts = [d for d in self.drafts if not d.points.is_disjoint(self.evaluator.context)] or self.drafts
        return only(orders, {d.name for d in self.drafts})

    def _wide(self, statements: Sequence[Statement], known: isl.Set) -> bool:
        """Whether an iterator needs the 64 bits that it is declared with, or a comparison those that C has there."""
        types = self.evaluator.iterators
        return leave_int(self.evaluator.compared, known) or any(
            leaves_int(s.domain, [k for k, name in enumerate(s.iterators) if types[name].size > INT.size], known)
            for s in statements
        )

    # Arrays ---------------------------------------------------------------------------------------------------------
    def _accesses(self, array: str) -> list[RawAccess]:
        return [a for d in self.drafts for a in d.accesses if a.access.array == array]

    def _source(self, array: str) -> str:
        return self.shapes.found[array].variable.source

    def _find_extents(self, array: str) -> None:
        shape = self.shapes.found[array]
        self.extents[array], self.sizes[array] = shape.extents, shape.polynomials
        self._check_bounds(array)
        if shape.polynomials and shape.polynomials[0] is None:
            self._check_gathered(array)
        self._separate_subscripts(array)
        self._check_gathered(array)

    def _separate_subscripts(self, array: str) -> None:
        accesses = self._accesses(array)
        source, declared = self._source(array), self.shapes.found[array].polynomials
        reached = source in self.region.reached
        if len(declared) != 1 or not needs_splitting(accesses, self.evaluator, gathered=reached):
            return
        only_read = all(a.kind is AccessKind.READ for a in accesses)
        before = self.evaluator.context, self.evaluator.checked
        try:
            candidates = find_strides(accesses, self.evaluator, source)
            strides, drafts = split_by_first(candidates, self.drafts, array, source, self.evaluator)
        except UserError:
            if not only_read:
                raise
            strides, drafts = None, []
        # A condition that few sizes fulfil, such as n <= 1, is no reason not to run kernels for the others.
        asked = only_read and self.evaluator.checked is not before[1]
        if asked and bounded_above(self.evaluator.context) - bounded_above(before[0]):
            strides = None
        if only_read and source in self.region.allocated and by_data(array, drafts):
            strides = None  # which column is used cannot be known before
        if strides is None:
            self.evaluator.context, self.evaluator.checked = before
            self.drafts = [gathered(d, array, self.evaluator) for d in self.drafts]
            return
        self.drafts = drafts
        inner = [Polynomial({size: 1}) for size in strides.sizes]
        inside = self.shapes.found[array].variable.symbol is None
        outer, rows = self.extents[array][0], declared[0]
        if not reached:
            outer, rows = outer_extent(declared[0], strides, self.evaluator, padded=inside)
        self.extents[array] = (outer, *(to_expr(size, self.evaluator) for size in inner))
        self.sizes[array] = (rows, *inner)
        self.strides[array] = strides

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
        source, split = self._source(array), array in self.strides
        if split and (source not in self.region.reached or source in self.region.allocated):
            for access in (a for a in self._accesses(array) if None in a.subscripts[1:]):
                raise unknown_size(access, access.subscripts.index(None, 1), source)  # only the host can check them
        if all(e is not None and e.degree <= 1 for e in self.sizes[array]):
            return
        for access in self._accesses(array):
            if None in access.subscripts or (access.loose and self._unbounded(access)):
                k = access.subscripts.index(None) if None in access.subscripts else 0
                raise unknown_size(access, k, source)

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
        points = at_numbers(access.points.intersect(self.evaluator.context), self.region.numbers)
        if always_leaves(points, in_range(value, size), tuple(self.evaluator.iterators)):
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
            variable, accesses = shape.variable, self._accesses(name)
            if variable.source in self.region.tables and accesses and variable.symbol is not None:
                found.append(row_table(name, variable, self.region.tables, accesses, self.evaluator, shape.width))
                self.sizes[name] = (*self.sizes[name][:-1], shape.width) if shape.width else self.sizes[name]
        return tuple(found)

    def _inside(self, name: str) -> None:
        """Accesses of an array stay inside their fields, and inside what the host has found to be used."""
        for access in self._accesses(name):
            require_inside_field(access, self.shapes.found[name].variable.fields, self.evaluator)
        reached = self._source(name) in self.region.reached
        for access in self._accesses(name) if reached else ():
            row, rows = access.subscripts[0], self.sizes[name][0]
            if row is not None and rows is not None and max(row.degree, rows.degree) <= 1:
                value, size = (self.evaluator.of_polynomial(p, access.access) for p in (row, rows))
                self.evaluator.require(access.points, in_range(value, size))

    def _reached(self, statements: Sequence[Statement], order: isl.Schedule) -> tuple[ReachedExtent, ...]:
        """What the host looks for in arrays without a size."""
        within = [d.accesses for d in self.drafts]

        def found(array: str) -> ReachedExtent:
            reached, changed = self._looked_for(array)
            named = [n for n in self.shapes.found if self._source(n) in changed]
            known = {self._source(n) for n in named if reads_what_was_there(n, statements, within, order)}
            if known != changed or len(named) != len(changed):
                raise unknown_size(self._accesses(array)[0], 0, reached.source)
            return reached

        allocated = self.region.allocated
        return tuple(of_each([n for n in self._without_size() if self._source(n) not in allocated], found))

    def _without_size(self) -> list[str]:
        return [n for n in self.shapes.found if self._source(n) in self.region.reached and self._accesses(n)]

    def _allocated(self) -> tuple[AllocatedExtent, ...]:
        """What the host asks of the memory of arrays without a size."""
        arrays = [(n, self._source(n)) for n in self._without_size() if self._source(n) in self.region.allocated]
        return tuple(AllocatedExtent(n, source, self.region.reached[source], self._row(n)) for n, source in arrays)

    def _row(self, name: str) -> str:
        """The C for how many elements the rows of an array have that is indexed by hand, "" for others."""
        if name not in self.strides:
            return ""
        row = to_expr(Polynomial({self.strides[name].monomials[0]: 1}), self.evaluator)
        if not all(isinstance(node, Name | Access | Literal | Binary | Unary | Cast) for node in walk(row)):
            raise unknown_size(self._accesses(name)[0], 0, self._source(name))
        return describe(row)

    def _looked_for(self, name: str) -> tuple[ReachedExtent, frozenset[str]]:
        from polytile.frontend.access_slices import NoSliceError  # few arrays have sizes to be looked for
        from polytile.frontend.reached_extents import reached_extent

        source, accesses, split = self._source(name), self._accesses(name), self.strides.get(name)
        checked = frozenset(a.location for a in accesses if split is not None and None in a.subscripts[1:])
        strides, inner = (split.monomials, split.sizes) if split is not None else ((), ())
        try:
            return reached_extent(self.region, name, source, strides, inner, checked)
        except NoSliceError:
            raise unknown_size(accesses[0], 0, source) from None

    def _arrays(self, statements: Sequence[Statement]) -> tuple[Array, ...]:
        used = {a.array for s in statements for a in s.accesses}
        return tuple(
            to_array(shape, tuple(self._named(e) for e in self.extents[name]), self._elements(name, shape))
            for name, shape in self.shapes.found.items()
            if name in used
        )

    def _elements(self, name: str, shape: Shape) -> Expr | None:
        """How many elements C declares, where the rows that an array was found to have need not divide them."""
        uneven = name in self.strides and self.sizes[name][0] is None
        elements: Expr | None = self._named(shape.extents[0] if uneven else None)
        return elements

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
            merged=draft.merged,
        )

    def _named(self, node: Any) -> Any:
        """Parameters are names, not scalars: before: Access("n"), after: Name("n")."""
        return None if node is None else with_names(node, self.evaluator.parameters)

    def _relations(self, draft: Draft, domain: isl.Set, space: isl.Space) -> tuple[AccessRelation, ...]:
        raws = [a for a in draft.accesses if a.touched and a.access.array not in self.evaluator.parameters]
        made = MovedRelations(lambda raw: self._relation(raw, draft, domain).align_params(space))
        maps = [made.of(raw, bool(self.shapes.found[raw.access.array].variable.fields)) for raw in raws]
        writes: dict[str, list[tuple[Path, isl.Map]]] = {}
        for raw, m in zip(raws, maps, strict=True):
            if raw.kind is AccessKind.WRITE:
                writes.setdefault(raw.access.array, []).append((raw.path, m))
        always = {a: always_written(found) for a, found in writes.items() if any(path for path, _ in found)}
        return tuple(
            AccessRelation(raw.access.array, _kind(raw, m, always.get(raw.access.array)), m, raw.location)
            for raw, m in distinct(raws, maps)
        )

    def _relation(self, raw: RawAccess, draft: Draft, domain: isl.Set) -> isl.Map:
        shape = self.shapes.found[raw.access.array]
        fields, sizes = shape.variable.fields, self.sizes[raw.access.array]
        relation = lift(raw, fields, draft.name, draft.iterators, self.evaluator, sizes)
        return without_in_map(relation, raw.inner).gist_domain(domain).coalesce()


def _kind(raw: RawAccess, own: isl.Map, always: isl.Map | None) -> AccessKind:
    """What an access does, `always` being what all writes to its array do whichever way data decide."""
    if raw.kind is not AccessKind.WRITE or not raw.path:
        return raw.kind
    return AccessKind.WRITE if always is not None and own.is_subset(always) else AccessKind.MAY_WRITE


def _passed(value: c_ast.Node) -> str:
    """The C of what the call passes for a scalar, which may stand in a larger expression."""
    text = text_of(value)
    return text if isinstance(value, c_ast.ArrayRef | c_ast.StructRef | c_ast.ID) else f"({text})"
