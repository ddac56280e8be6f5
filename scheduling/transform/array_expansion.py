"""Expansion: an array whose reuse alone serialises a loop gets an element for each iteration of it [Feautrier 1988].

before: for (i) for (j) { S0: t = A[i][j]; S1: B[i][j] = t * t; }
after:  for (i) for (j) { S0: t[i][j] = A[i][j]; S1: B[i][j] = t[i][j] * t[i][j]; }

Only anti and output dependences go away; values flow as before. What the user can see afterwards is restored: an array
that is live after the SCoP gets its last values from copy statements behind everything else. Storage that one thread
uses alone shrinks back to a register after mapping (array_contraction.py).
"""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.expr import LONG, Access, Binary, Expr, Literal, Name, Stmt
from polytile.ir.expr_trees import rewrite
from polytile.ir.isl_expr import expression, parameter_expression
from polytile.ir.isl_util import OverBudgetError, constant_value, maps, union_of
from polytile.ir.name_supply import fresh, names_of_scop
from polytile.ir.scop import AccessKind, AccessRelation, Array, Origin, Scop, Statement
from polytile.scheduling.analysis.dependences import ArrayDependences, Dependences
from polytile.scheduling.analysis.last_writers import last_writers
from polytile.scheduling.analysis.source_loops import SourceNest, carried, equal_iterators, nest_of
from polytile.scheduling.transform.copy_statements import copy_iterators, copy_schedule, copy_statement, unused_number
from polytile.scheduling.transform.reductions.exact import with_exact_reductions

MOST_REGIONS = 4


@dataclass(frozen=True, slots=True)
class Expansion:
    """`array` gets a leading dimension for each loop level in `levels`: the iterator there minus `offsets`, which are
    sums of parameters."""

    array: Array
    levels: tuple[int, ...]
    offsets: tuple[isl.Aff, ...]
    extents: tuple[Expr, ...]
    name: str


def expand(
    scop: Scop, dependences: Dependences, *, serial_loops: bool = False, strict: bool = False
) -> tuple[Scop, tuple[str, ...]]:
    """Expand what serialises loops for no other reason than its reuse; returns notes for the user too.

    `serial_loops`: the SCoP's own arrays also get an element for each iteration of loops that other values keep serial
    as well, up to the rank of the arrays that the user has. Another order of the loops may be parallel then:

    before: for (i) for (j < i) { w = A[i][j]; for (k < j) w -= A[i][k] * A[k][j]; A[i][j] = w / A[j][j]; }
    after:  the same over w[i][j], which can run as for (k) { for (i, j) parallel w[i][j] -= A[i][k] * A[k][j]; ... }
    """
    nest = nest_of(scop)
    depth = {d.array: _private_depth(scop, d, nest) for d in dependences.by_array}
    candidates = {array for array, levels in depth.items() if levels}
    if not candidates:
        return scop, ()
    lasting = _lasting(scop, dependences, candidates, strict=strict)
    notes: list[str] = []
    for found in dependences.by_array:
        if found.array not in candidates:
            continue
        alone = _levels_to_expand(scop, found, nest, depth[found.array], lasting)
        levels = _all_levels(scop, found, nest, depth[found.array]) if serial_loops else ()
        levels = levels or alone
        expansion = _plan(scop, scop.array(found.array), levels) if levels else None
        if expansion is not None and _easy_to_restore(scop, expansion):
            scop = apply_expansion(scop, expansion)
            loops = ", ".join(_iterator_names(scop, found.array, expansion.name, levels))
            reason = "alone kept the loop serial" if levels == alone else "kept the loops in order"
            notes.append(f"{found.array} is expanded over {loops}: its reuse {reason}")
    return scop, tuple(notes)


def _easy_to_restore(scop: Scop, expansion: Expansion) -> bool:
    """Return whether the last values that the user can see are in few simple regions, which are cheap to copy."""
    if expansion.name == expansion.array.name:
        return True
    try:
        return bool(_last_writers(scop, expansion).n_basic_map() <= MOST_REGIONS)
    except OverBudgetError:  # isl loses writers
        return False


def _lasting(scop: Scop, dependences: Dependences, candidates: set[str], *, strict: bool) -> isl.UnionMap:
    """Return the dependences left when all candidates are expanded, without those of reductions, which may be split."""
    total = dependences.flow
    for d in dependences.by_array:
        if d.array not in candidates:
            total = total.union(d.false)
    exact = with_exact_reductions(scop) if strict else scop
    split = [isl.UnionSet.from_set(s.domain) for s in exact.statements if s.reduction is not None]
    own = (isl.UnionMap.from_domain_and_range(domain, domain) for domain in split)
    return total.subtract(union_of(own, total.get_space()))


def _accessing(scop: Scop, array: str) -> list[str]:
    return [s.name for s in scop.accessing(array)]


def _private_depth(scop: Scop, found: ArrayDependences, nest: SourceNest) -> int:
    """Return how many shared outer loops keep every value of the array within one iteration; 0 when values come from
    before the SCoP, the last ones may be left unwritten, or no loop does."""
    array = scop.array(found.array)
    kinds = {a.kind for s in scop.statements for a in s.accesses if a.array == found.array}
    if found.false.is_empty() or array.fields or AccessKind.WRITE not in kinds:
        return 0
    if AccessKind.MAY_WRITE in kinds and array.origin is Origin.EXTERNAL:
        return 0  # which iteration has the last value depends on data
    if not found.uninitialised.is_empty():
        return 0
    depth = len(nest.shared(*_accessing(scop, found.array)))
    for m in maps(found.flow):
        while depth and not m.is_subset(equal_iterators(m, depth)):
            depth -= 1
    return depth


def _levels_to_expand(
    scop: Scop, found: ArrayDependences, nest: SourceNest, depth: int, lasting: isl.UnionMap
) -> tuple[int, ...]:
    """Return the loops that nothing but the array's reuse keeps serial."""
    loops = nest.shared(*_accessing(scop, found.array))[:depth]
    serial = (k for k, loop in enumerate(loops) if carried(found.false, nest, loop))
    return tuple(k for k in serial if not carried(lasting, nest, loops[k]))


def _all_levels(scop: Scop, found: ArrayDependences, nest: SourceNest, depth: int) -> tuple[int, ...]:
    """Return the loops that the array's reuse keeps serial, be they serial anyway; none where expansion takes memory of
    an order that the user's arrays do not."""
    loops = nest.shared(*_accessing(scop, found.array))[:depth]
    serial = tuple(k for k, loop in enumerate(loops) if carried(found.false, nest, loop))
    array = scop.array(found.array)
    fits = array.origin is not Origin.EXTERNAL and len(serial) + array.rank <= _rank_of_data(scop)
    return serial if fits else ()


def _rank_of_data(scop: Scop) -> int:
    """Return the largest rank of an array that the user has."""
    return max((a.rank for a in scop.arrays if a.origin is Origin.EXTERNAL), default=0)


def _iterator_names(scop: Scop, array: str, expanded: str, levels: tuple[int, ...]) -> list[str]:
    users = _accessing(scop, expanded) or _accessing(scop, array)
    iterators = scop.statement(users[0]).iterators
    return [iterators[k] for k in levels]


def _plan(scop: Scop, array: Array, levels: tuple[int, ...]) -> Expansion | None:
    """Return the offsets and extents of the new dimensions; None where an iterator may be negative and its least value
    is no sum of parameters."""
    offsets, extents = [], []
    for level in levels:
        values = _iterator_values(scop, array.name, level)
        least, most = values.dim_min(0), values.dim_max(0)
        offset = _least_value(values, least)
        if offset is None:
            return None
        extent = most.sub(isl.PwAff.from_aff(offset)).add_constant_val(isl.Val(1))
        offsets.append(offset)
        extents.append(parameter_expression(extent.coalesce(), scop.context, LONG))
    visible = array.origin is Origin.EXTERNAL  # and stays: the calling convention counts on it
    name = fresh(f"{array.name}_x", names_of_scop(scop)) if visible else array.name
    return Expansion(array, levels, tuple(offsets), tuple(extents), name)


def _least_value(values: isl.Set, least: isl.PwAff) -> isl.Aff | None:
    """Return a lower bound of an iterator that is one sum of parameters: a number, if possible; None without one."""
    zero = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(least.get_domain_space()))
    number = constant_value(least)
    if number is not None:
        return zero.set_constant_val(isl.Val(number))
    if values.is_subset(values.lower_bound_val(isl.dim_type.set, 0, 0)):
        return zero
    pieces: list[isl.Aff] = []
    least.coalesce().foreach_piece(lambda _, value: pieces.append(value))
    if len(pieces) == 1 and not pieces[0].dim(isl.dim_type.div):
        return pieces[0]
    lowest = values.project_out_all_params().dim_min_val(0)  # -3 of max(-3, 1 - n)
    return zero.set_constant_val(lowest) if lowest.is_int() else None


def _iterator_values(scop: Scop, array: str, level: int) -> isl.Set:
    total: isl.Set | None = None
    for name in _accessing(scop, array):
        domain = scop.statement(name).domain.intersect_params(scop.context).reset_tuple_id()
        rank = domain.dim(isl.dim_type.set)
        values = domain.project_out(isl.dim_type.set, level + 1, rank - level - 1)
        values = values.project_out(isl.dim_type.set, 0, level)
        total = values if total is None else total.union(values)
    assert total is not None
    return total.coalesce()


def apply_expansion(scop: Scop, expansion: Expansion) -> Scop:
    """Rewrite a Scop for one expansion (see the top of this file)."""
    array = expansion.array
    visible = expansion.name != array.name
    expanded = array.temporary(expansion.name, (*expansion.extents, *known_extents(scop, array)))
    statements = tuple(_rewrite_statement(s, expansion, scop) for s in scop.statements)
    arrays = tuple(expanded if a.name == array.name and not visible else a for a in scop.arrays)
    if not visible:
        return replace(scop, arrays=arrays, statements=statements)
    copies = _copy_statements(scop, expansion)
    schedule = scop.schedule
    for copy in copies:
        schedule = schedule.sequence(copy_schedule(copy))
    return replace(
        scop,
        arrays=(*arrays, expanded),
        statements=(*statements, *copies),
        schedule=schedule,
        epilogue=(*scop.epilogue, *(c.name for c in copies)),
    )


def known_extents(scop: Scop, array: Array) -> tuple[Expr | None, ...]:
    """Return the array's extents; an outermost one that C leaves open is one more than the largest index accessed."""
    if not array.extents or array.extents[0] is not None:
        return array.extents
    kinds = (AccessKind.READ, AccessKind.WRITE)
    touched = isl.Set.from_union_set(scop.accesses(*kinds, arrays=frozenset((array.name,))).range())
    rows = touched.intersect_params(scop.context).dim_max(0).add_constant_val(isl.Val(1))
    return (parameter_expression(rows.coalesce(), scop.context, LONG), *array.extents[1:])


def _rewrite_statement(statement: Statement, expansion: Expansion, scop: Scop) -> Statement:
    name = expansion.array.name
    if not any(a.array == name for a in statement.accesses):
        return statement
    leading = tuple(
        _minus(statement.iterators[k], offset, scop)
        for k, offset in zip(expansion.levels, expansion.offsets, strict=True)
    )

    def change(node: Expr | Stmt) -> Expr | Stmt:
        if isinstance(node, Access) and node.array == name:
            return replace(node, array=expansion.name, subscripts=(*leading, *node.subscripts))
        return node

    body = tuple(rewrite(s, change) for s in statement.body)
    accesses = tuple(_rewrite_access(a, expansion) if a.array == name else a for a in statement.accesses)
    reduction = statement.reduction
    if reduction is not None and reduction.array == name:
        reduction = replace(reduction, array=expansion.name)
    updates = statement.renamed_updates(name, expansion.name)
    return replace(statement, body=body, accesses=accesses, reduction=reduction, updates=updates)


def _minus(iterator: str, offset: isl.Aff, scop: Scop) -> Expr:
    value = isl.PwAff.from_aff(offset)
    number = constant_value(value)
    if number is None:
        return Binary("-", Name(iterator, LONG), parameter_expression(value, scop.context, LONG), LONG)
    op = "-" if number > 0 else "+"
    return Binary(op, Name(iterator), Literal(str(abs(number)))) if number else Name(iterator)


def _rewrite_access(access: AccessRelation, expansion: Expansion) -> AccessRelation:
    relation = access.relation
    space = relation.get_space().domain()
    local = isl.LocalSpace.from_space(space)
    leading: isl.Map | None = None
    for level, offset in zip(expansion.levels, expansion.offsets, strict=True):
        iterator = isl.PwAff.from_aff(isl.Aff.var_on_domain(local, isl.dim_type.set, level))
        column = isl.Map.from_pw_aff(iterator.sub(_on(offset, space)))
        leading = column if leading is None else leading.flat_range_product(column)
    assert leading is not None
    widened = leading.flat_range_product(relation.reset_tuple_id(isl.dim_type.out))
    named = widened.set_tuple_name(isl.dim_type.out, expansion.name)
    return replace(access, array=expansion.name, relation=named)


def _copy_statements(scop: Scop, expansion: Expansion) -> list[Statement]:
    """Create the statements after the SCoP in which each element of the array takes the value of its last write."""
    array = expansion.array
    last = _last_writers(scop, expansion)
    pieces: list[tuple[isl.Set, isl.MultiAff]] = []
    last.as_pw_multi_aff().coalesce().foreach_piece(lambda domain, aff: pieces.append((domain, aff)))
    first = unused_number(scop)
    return [
        _copy_statement(scop, array, expansion, f"S{first + k}", domain, value)
        for k, (domain, value) in enumerate(pieces)
    ]


def _last_writers(scop: Scop, expansion: Expansion) -> isl.Map:
    """Map each element of the array to the expanded indices of its last write, `{ sum[p] -> [nr - 1, nq - 1] }`."""
    name = expansion.array.name
    total: isl.Map | None = None
    for m in maps(last_writers(scop, name).reverse()):
        indices = _expanded_indices(m, expansion)
        total = indices if total is None else total.union(indices)
    assert total is not None
    return total.coalesce().set_tuple_name(isl.dim_type.in_, name)


def _expanded_indices(m: isl.Map, expansion: Expansion) -> isl.Map:
    m = m.reset_tuple_id(isl.dim_type.out)
    for k in reversed(range(m.dim(isl.dim_type.out))):
        if k not in expansion.levels:
            m = m.project_out(isl.dim_type.out, k, 1)
    for i, offset in enumerate(expansion.offsets):
        m = m.apply_range(_shift(m.get_space().range(), i, offset))
    return m


def _shift(space: isl.Space, dim: int, offset: isl.Aff) -> isl.Map:
    """Return `{ [i, j] -> [i - offset, j] }`."""
    identity = isl.MultiPwAff.identity(space.map_from_set())
    moved = identity.get_at(dim).sub(_on(offset, space))
    return isl.Map.from_multi_pw_aff(identity.set_at(dim, moved))


def _on(offset: isl.Aff, space: isl.Space) -> isl.PwAff:
    """Convert a sum of parameters into a function of a set's elements."""
    value = isl.PwAff.from_aff(offset)
    whole = space.align_params(value.get_domain_space())
    return value.align_params(whole.params()).insert_domain(whole)


def _copy_statement(
    scop: Scop, array: Array, expansion: Expansion, name: str, domain: isl.Set, value: isl.MultiAff
) -> Statement:
    rank = domain.dim(isl.dim_type.set)
    iterators = copy_iterators(scop, rank)
    element = tuple(Name(i) for i in iterators)
    indices = tuple(
        _named_expression(isl.PwAff.from_aff(value.get_at(i)), iterators, scop)
        for i in range(len(expansion.levels))
    )
    target = Access(array.name, element, array.element)
    source = Access(expansion.name, (*indices, *element), array.element)
    writer = next(s for s in scop.statements if any(a.writes and a.array == array.name for a in s.accesses))
    instances = domain.set_tuple_name(name)
    identity = isl.Map.identity(domain.get_space().map_from_set())
    write = identity.set_tuple_name(isl.dim_type.in_, name).set_tuple_name(isl.dim_type.out, array.name)
    columns = isl.Map.from_multi_aff(value).flat_range_product(identity.reset_tuple_id(isl.dim_type.out))
    read = columns.set_tuple_name(isl.dim_type.in_, name)
    read = read.set_tuple_name(isl.dim_type.out, expansion.name)
    text = f"the last values of {array.name}"
    return copy_statement(name, iterators, instances, (target, write), (source, read), writer.location, text)


def _named_expression(value: isl.PwAff, iterators: tuple[str, ...], scop: Scop) -> Expr:
    """Convert an expression over the iterators: they become parameters, which isl prints by name."""
    as_map = isl.Map.from_pw_aff(value)
    n = as_map.dim(isl.dim_type.in_)
    first = as_map.dim(isl.dim_type.param)
    as_map = as_map.move_dims(isl.dim_type.param, first, isl.dim_type.in_, 0, n)
    for i, name in enumerate(iterators):
        as_map = as_map.set_dim_name(isl.dim_type.param, first + i, name)
    bound = as_map.range().dim_max(0)
    build = isl.AstBuild.from_context(scop.context.align_params(bound.get_space().params()))
    return expression(build.expr_from_pw_aff(bound))
