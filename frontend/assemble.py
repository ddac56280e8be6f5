"""From a place in the file to a `Region`: types spelt out, calls inlined, symbols and assumptions collected."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.diagnostics import InternalError, Location, UserError
from polytile.frontend.access_summaries import (
    AccessSummary,
    Summaries,
    access_summaries,
    called_summaries,
    changed_by_calls,
)
from polytile.frontend.assumptions import assumptions_of, is_assumption
from polytile.frontend.ast_builders import names_in
from polytile.frontend.callees import names_in_callees
from polytile.frontend.complex_numbers import with_real_parts
from polytile.frontend.condition_distribution import with_distributed_conditions
from polytile.frontend.conditional_flags import with_conditional_flags
from polytile.frontend.constant_propagation import KnownValues, known_values
from polytile.frontend.counted_loops import while_loops, with_counted_loops, with_plain_headers
from polytile.frontend.data_dependent_loops import with_data_loops
from polytile.frontend.directives import check_directives
from polytile.frontend.early_exits import without_early_exits
from polytile.frontend.escape_analysis import Escapes
from polytile.frontend.expressions import first_unknown_call
from polytile.frontend.find_scops import ScopPlace, functions
from polytile.frontend.first_values import FirstValues
from polytile.frontend.flattened_loops import Unflattened, without_flattened_loops
from polytile.frontend.guarded_reductions import with_guarded_reductions
from polytile.frontend.host_reads import host_reads
from polytile.frontend.independence import independent_loops
from polytile.frontend.induction_substitution import without_induction
from polytile.frontend.initial_values import with_assigned_elements
from polytile.frontend.inline import Inlined, inlined
from polytile.frontend.invariant_loads import ConstantLoads, with_constant_loads
from polytile.frontend.invariant_products import InvariantProducts, with_invariant_products
from polytile.frontend.jump_elimination import goto_targets, with_breaks, without_continue, without_goto
from polytile.frontend.live_range_splitting import with_own_iterators
from polytile.frontend.liveness import Liveness
from polytile.frontend.loop_conditions import with_conditions_in_loops
from polytile.frontend.min_max_else_if import with_min_max_apart
from polytile.frontend.name_conflicts import check_names
from polytile.frontend.node_index import NodeIndex
from polytile.frontend.normalise import normalised
from polytile.frontend.null_tests import NullTests, with_null_tests
from polytile.frontend.parametric_steps import CountedSteps, with_counted_steps
from polytile.frontend.parse import ParsedFile, location_of, nodes_below
from polytile.frontend.peeled_extremes import with_peeled_extremes
from polytile.frontend.pointer_fields import PointerFields, with_pointer_variables
from polytile.frontend.pointer_offsets import with_pointer_offsets
from polytile.frontend.privatization import with_private_scalars
from polytile.frontend.rematerialization import with_terms_rematerialized
from polytile.frontend.rotating_pointers import Surroundings, with_rotating_pointers
from polytile.frontend.row_pointers import with_row_pointers
from polytile.frontend.scalar_replacement_of_aggregates import with_separate_fields
from polytile.frontend.scop_region import PointerTable, Region, Symbol
from polytile.frontend.scope import VOLATILE, Scope
from polytile.frontend.searches import with_searches
from polytile.frontend.separate_accumulators import with_separate_accumulators
from polytile.frontend.separate_increments import with_increments_before_conditions
from polytile.frontend.static_variables import with_known_values
from polytile.frontend.strided_reductions import with_counted_reductions
from polytile.frontend.structs import struct_definitions, structs_of
from polytile.frontend.switch_elimination import without_switch
from polytile.frontend.symbols import scalar_fields, symbols_of, unusable
from polytile.frontend.trees import free_variables_in, statements_below, substituted, variables_in
from polytile.frontend.type_shapes import Shape, StructType
from polytile.ir.expr import UCHAR, CType
from polytile.ir.pointer_rotation import PointerRotation
from polytile.ir.source_span import Span


@dataclass(frozen=True, slots=True)
class FileContext:
    """A parsed file and its functions, each with the scope of its body's surroundings; `device_source` is the text that
    defines functions for the device. With `asks_memory` arrays may be as large as the memory that they lie in, where
    nothing else says it."""

    file: ParsedFile
    functions: Mapping[str, tuple[c_ast.FuncDef, Scope]]
    escapes: Escapes
    summaries: Summaries = field(default_factory=dict)  # of functions that are not inlined
    device_source: str = ""
    asks_memory: bool = False

    @classmethod
    def of(cls, file: ParsedFile, device_source: str = "") -> FileContext:
        summaries = access_summaries(file)
        apart = {*summaries, *file.types.weak, *file.types.refused_names}
        own = {str(f.decl.name): (f, scope.frozen()) for f, scope in functions(file) if f.decl.name not in apart}
        return cls(file, own, Escapes(file.tree, file.mentioned), summaries, device_source)


@dataclass(frozen=True, slots=True)
class _Statements:
    """The statements of a SCoP before functions are inlined, and what became of pointers and first values."""

    body: tuple[c_ast.Node, ...]
    pointers: frozenset[str]  # those that are offsets now, or of which nothing is left
    whiles: frozenset[Location]
    firsts: FirstValues
    rotations: tuple[PointerRotation, ...] = ()

    @classmethod
    def of(
        cls, context: FileContext, place: ScopPlace, known: KnownValues, live_after: Callable[[str], bool]
    ) -> _Statements:
        body = tuple(substituted(n, known.constants) for n in normalised(place.items, place.scope))
        body = with_increments_before_conditions(_without_assumptions(body))
        body = with_assigned_elements(with_known_values(body))
        shared = _shared_numbers(context, place, body)
        body = tuple(with_row_pointers(body, place.scope, shared))
        body, pointers = with_pointer_offsets(body, place.scope, live_after)
        addressed = {n.expr.name for n in nodes_below(place.function.body) if _is_address(n)}
        called = (place.scope.lookup(name) for name in names_in_callees(body, context.functions))
        others = {b.name for b in called if b is not None and b.level == "global"}
        around = Surroundings(place.scope, live_after, addressed | others)
        firsts = FirstValues(place.scope, known.initial, names_in(body) | {b.name for b in place.scope.bindings()})
        whiles = while_loops(body)  # before they become others, in place
        turns = with_rotating_pointers(_without_jumps(body, place, firsts, shared), around)
        return cls(turns.body, pointers | turns.helpers, whiles, firsts, turns.rotations)


@dataclass(frozen=True, slots=True)
class _Loops:
    """The statements with functions inlined, as loops over iterators, and what became of loads, bounds and counters."""

    result: Inlined
    place: ScopPlace
    summaries: Mapping[str, AccessSummary]
    nulls: NullTests
    fields: PointerFields
    loads: ConstantLoads
    flat: Unflattened
    products: InvariantProducts
    stepped: CountedSteps
    counted: frozenset[str]  # iterators and counters that became others
    split: frozenset[str]
    initial: Mapping[str, c_ast.Node]  # what the statements set again
    asked: tuple[c_ast.Node, ...]  # what the host asks of sizes

    @classmethod
    def of(
        cls, context: FileContext, place: ScopPlace, known: KnownValues, liveness: Liveness, made: _Statements
    ) -> _Loops:
        def live_after(name: str) -> bool:
            return _live_after(place, liveness, name)

        result: Inlined = inlined(made.body, place.scope, context.functions, context.summaries)
        result = replace(result, body=with_real_parts(with_separate_fields(result.body, place.scope), place.scope))
        nulls = with_null_tests(result.body, place.scope)
        result = replace(result, body=nulls.body)
        summaries = called_summaries(result.body, context.summaries)
        changed = changed_by_calls(result.body, summaries)
        fields = with_pointer_variables(result.body, place.scope, changed)
        place = replace(place, scope=fields.scope)
        loads = with_constant_loads(fields.body, place.scope, changed, liveness.has_address, fields.reads)
        flat = without_flattened_loops(loads, place.scope, known.products, live_after)
        products = with_invariant_products(replace(loads, body=flat.body), place.scope)
        stepped = with_counted_steps(products.body, place.scope, live_after)
        counted = without_induction(stepped.body, place.scope, live_after, liveness.has_address, known.initial)
        again = replace(loads, body=counted.body)  # sizes of dimensions may be known now, and change with loops around
        varying = without_flattened_loops(again, place.scope, known.products, live_after, varying=True)
        flat = replace(flat, asked=(*flat.asked, *varying.asked), replaced=flat.replaced | varying.replaced)
        split = with_own_iterators(varying.body, place.scope, live_after, liveness.has_address)
        body = with_conditions_in_loops(split.body, place.scope, live_after)
        apart = with_min_max_apart(body, place, liveness.body)
        private = with_private_scalars(apart.body, place.scope, live_after, liveness.has_address)
        body = with_counted_reductions(private.body, place.scope, live_after)
        body = with_guarded_reductions(with_conditional_flags(body, place.scope))
        body = with_separate_accumulators(body, place.scope)
        body = with_terms_rematerialized(body, place.scope)
        body = with_data_loops(with_distributed_conditions(body), live_after, made.whiles)
        result = replace(result, body=body)
        names = counted.names, split.names | private.names, apart.initial
        asked = (*stepped.asked, *flat.asked, *counted.asked)
        return cls(result, place, summaries, nulls, fields, loads, flat, products, stepped, *names, asked)


def assemble(context: FileContext, place: ScopPlace, name: str) -> Region:
    """The region of one SCoP; what C allows but a SCoP does not is refused here when it concerns declarations."""
    span = _checked_span(context, place)
    check_names(place)
    _check_volatile(context, place)
    function = NodeIndex.of([place.function.body])
    assumptions = assumptions_of(context.file, place, function)
    independent = independent_loops(place.items, place.scope)
    known, liveness = known_values(place, function), Liveness.around(place, function)

    def live_after(name: str) -> bool:
        return _live_after(place, liveness, name)

    made = _Statements.of(context, place, known, live_after)
    firsts = made.firsts
    loops = _Loops.of(context, place, known, liveness, made)
    result, place, summaries = loops.result, loops.place, loops.summaries
    nulls, fields, loads, flat = loops.nulls, loops.fields, loops.loads, loops.flat
    products, stepped = loops.products, loops.stepped
    needed = (*assumptions, *loops.asked, *products.factors)
    symbols, tables = _symbols_used(place, loops, needed, liveness)
    symbols |= {**firsts.symbols, **nulls.symbols, **loads.symbols, **products.symbols}
    symbols |= {**stepped.symbols, **flat.symbols}
    values = {**firsts.values, **nulls.values, **loads.loads, **products.values, **stepped.trips, **flat.values}
    reads = host_reads(place, context.escapes, symbols, {**values, **fields.pointers})
    relations = [r for r in known.relations if {u.name for u in variables_in(r)} <= set(symbols)]
    shapes = _shapes(result, symbols, place.scope)
    structs = structs_of(shapes, place.location)
    return Region(
        name,
        place.function_name,
        result.body,
        span,
        symbols,
        place.location,
        (*assumptions, *nulls.known, *stepped.known, *normalised(tuple(relations), place.scope)),
        struct_definitions(structs),
        functions=result.functions,
        types=_type_names(structs, place.scope),
        fields={s.name: scalar_fields(shape) for s, shape in structs},
        counted=loops.counted | loops.split | made.pointers | flat.replaced,
        known=known.constants,
        initial={n: v for n, v in known.initial.items() if n in loops.counted | firsts.used} | {**loops.initial},
        numbers=known.numbers,
        loads=values,
        products={**flat.products, **products.known},
        pointers=fields.pointers,
        needed=fields.needed,
        given=nulls.pointers,
        tables=tables,
        host_reads=reads.places,
        reachable=reads.reachable,
        independent=independent,
        asked=loops.asked,
        summaries=summaries,
        device_source=context.device_source,
        arguments=tuple(n for n in _parameters(place) if n not in symbols or symbols[n].scope == "parameter"),
        cflags=context.file.source.cflags,
        whiles=made.whiles,
        rotations=made.rotations,
    )


def _symbols_used(
    place: ScopPlace, loops: _Loops, conditions: Sequence[c_ast.Node], liveness: Liveness
) -> tuple[dict[str, Symbol], dict[str, PointerTable]]:
    """The symbols of variables that statements and conditions use, and tables of rows; raises UserError for one that
    cannot be used."""
    result = loops.result
    free = (*free_variables_in(result.body), *free_variables_in(conditions))
    used = [use for use in free if place.scope.lookup(use.name) is not None]
    try:
        return symbols_of(place, used, liveness, loops.fields.tables)
    except UserError:
        # What is passed to a call that may do anything need not be what kernels can use.
        call = first_unknown_call(result.body, {*result.functions, *loops.summaries})
        if call is None:
            raise
        raise call from None


def _is_address(node: c_ast.Node) -> bool:
    """Whether a node is `&x`."""
    return isinstance(node, c_ast.UnaryOp) and node.op == "&" and isinstance(node.expr, c_ast.ID)


def _checked_span(context: FileContext, place: ScopPlace) -> Span:
    """The lines of a SCoP in which no directive or declaration is that a SCoP must not have."""
    span = place.span
    if span is None:
        raise InternalError(f"the lines of the SCoP at {place.location} are not known")
    check_directives(context.file.source.raw, span, context.file.source.path)
    _check_attributes(context.file, place, span)
    _check_declarations_after(place)
    return span


def _check_volatile(context: FileContext, place: ScopPlace) -> None:
    """Refuse volatile variables before any work is done, as generated state machines are made of them; raises
    UserError. What is passed to a call that may do anything need not be what kernels can use."""
    for use in free_variables_in(place.items):
        binding = place.scope.lookup(use.name)
        if binding is not None and binding.shape.reason == VOLATILE:
            if first_unknown_call(place.items, {*context.functions, *context.summaries}) is not None:
                return
            raise unusable(binding, use)


def _check_attributes(file: ParsedFile, place: ScopPlace, span: Span) -> None:
    """Refuse a SCoP with an attribute that polytile does not know, or in a function that has one."""
    reason = file.types.refusal(place.function.decl, place.function_name)
    if reason:
        raise UserError(
            f"'{place.function_name}' cannot have kernels: {reason}",
            location=place.location,
            hint="move the loops to a function without it",
        )
    for attribute, at in file.types.inside:
        if at.file == file.source.path and span.first_line <= at.line <= span.last_line:
            hint = "write it without the attribute, or outside of the SCoP"
            raise UserError(f"the attribute `{attribute.text}` is not known in a SCoP", location=at, hint=hint)


def _shared_numbers(context: FileContext, place: ScopPlace, body: Sequence[c_ast.Node]) -> frozenset[str]:
    """The global variables, but for arrays, that functions use which statements call."""
    bindings = (place.scope.lookup(name) for name in names_in_callees(body, context.functions))
    return frozenset(b.name for b in bindings if b is not None and b.static and not b.shape.layers)


def _without_jumps(
    body: Sequence[c_ast.Node], place: ScopPlace, firsts: FirstValues, shared: frozenset[str]
) -> tuple[c_ast.Node, ...]:
    """The statements with loops and conditions in the place of `switch`, `continue`, `break` and `goto`, and searches
    as reductions."""
    body = tuple(with_counted_loops([without_switch(node) for node in body], firsts, shared))
    body = tuple(with_plain_headers(without_continue(node)) for node in with_breaks(body))
    body = without_goto(body, goto_targets(place.function, place.items))
    body = with_peeled_extremes(tuple(without_early_exits(body, place.scope)), place.scope)
    return tuple(with_searches(body, place.scope))


def _live_after(place: ScopPlace, liveness: Liveness, name: str) -> bool:
    binding = place.scope.lookup(name)
    return binding is not None and (binding.static or liveness.of(binding)[1])


def _parameters(place: ScopPlace) -> list[str]:
    """The names of the function's parameters, in their order."""
    declared = place.function.decl.type.args
    return [] if declared is None else [str(p.name) for p in declared.params if getattr(p, "name", None)]


def _type_names(structs: list[tuple[StructType, Shape]], scope: Scope) -> dict[str, CType]:
    character = {"char": UCHAR} if scope.facts.compiler.unsigned_char else {}
    return character | {shape.base.name: shape.base for _, shape in structs if shape.base is not None}


def _without_assumptions(body: tuple[c_ast.Node, ...]) -> tuple[c_ast.Node, ...]:
    return tuple(_stripped(node) for node in body if not is_assumption(node))


def _stripped(node: c_ast.Node) -> c_ast.Node:
    """Drop `__builtin_assume(...)` and pragmas below a node, in place."""
    for inner in statements_below(node):
        if isinstance(inner, c_ast.Compound):
            inner.block_items = [i for i in inner.block_items or [] if not is_assumption(i)]
    return node


def _shapes(result: Inlined, symbols: Mapping[str, Symbol], scope: Scope) -> list[Shape]:
    """The types that the SCoP mentions: of its symbols, its declarations and its casts."""
    shapes = [b.shape for n in symbols if (b := scope.lookup(n)) is not None]
    for node in (*result.body, *result.functions.values()):
        for inner in nodes_below(node):
            if isinstance(inner, c_ast.Decl | c_ast.Typename) and not isinstance(inner.type, c_ast.FuncDecl):
                shapes.append(scope.shape(inner.type, inner.name))
    return shapes


def _check_declarations_after(place: ScopPlace) -> None:
    """Refuse a SCoP whose own variables are used after it: the call that replaces it declares nothing."""
    declared = {str(i.name): i for i in place.items if isinstance(i, c_ast.Decl | c_ast.Typedef) and i.name}
    for node in place.following:
        for use in variables_in(node):
            if use.name in declared:
                raise UserError(
                    f"'{use.name}' is declared inside the SCoP and used after it, at line {location_of(use).line}",
                    location=location_of(declared[use.name]),
                    hint=f"declare '{use.name}' before '#pragma scop'",
                )
