"""Copy-back elimination: a time loop whose steps end in a copy keeps two versions of the array instead (ping-pong).

before: for (t < T) {
            for (0 < i < n - 1) S0: B[i] = f(A[i - 1], A[i], A[i + 1]);
            for (0 < i < n - 1) S1: A[i] = B[i];
        }
after:  for (v < 2) for (i < n) S2: A_v[v][i] = A[i];
        for (t < T) for (0 < i < n - 1)
            S0: A_v[(t + 1) % 2][i] = f(A_v[t % 2][i - 1], A_v[t % 2][i], A_v[t % 2][i + 1]);
        for (0 < i < n - 1) { S3: A[i] = A_v[T % 2][i]; S4: B[i] = A_v[T % 2][i]; }

Each step copies the same elements, all of what B is used for in the loop, each made in that step. Elements that are not
copied are the same in both versions.
"""

from __future__ import annotations

from dataclasses import field, replace

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.expr import INT, Access, Binary, Expr, Literal, Name, Stmt
from polytile.ir.expr_trees import rewrite
from polytile.ir.isl_expr import parameter_expression
from polytile.ir.isl_util import constant_value
from polytile.ir.name_supply import fresh, names_of_scop
from polytile.ir.scop import AccessKind, AccessRelation, Array, Origin, Scop, Statement
from polytile.scheduling.analysis.copy_back import CopyBack, copy_back
from polytile.scheduling.analysis.dependences import Dependences, array_dependences, collected
from polytile.scheduling.analysis.last_writers import is_seen
from polytile.scheduling.transform.array_expansion import known_extents
from polytile.scheduling.transform.copy_statements import (
    copy_iterators,
    copy_schedule,
    copy_statement,
    unused_number,
    with_iterators,
)

OUT, SET = isl.dim_type.out, isl.dim_type.set
READ, WRITE = AccessKind.READ, AccessKind.WRITE


@dataclass(frozen=True, slots=True)
class WithoutCopyBack:
    """A Scop without copies at the end of steps, with its dependences and what is said of it."""

    scop: Scop
    dependences: Dependences
    notes: tuple[str, ...]


def eliminate_copy_back(scop: Scop, dependences: Dependences, max_operations: int = 0) -> WithoutCopyBack | None:
    """Give arrays that steps of a time loop copy back two versions; None where there are none. `max_operations` are for
    the dependences of each array that changes."""
    made, after, notes = scop, dependences, []
    for name in (s.name for s in scop.main):
        found = copy_back(made, after, name)
        if found is None:
            continue
        changed = apply_copy_back(made, found)
        known = _dependences(changed, after, found, max_operations)
        if known is not None:
            made, after = changed, known
            notes.append(f"{found.array} has two versions in turns: it is not copied back from {found.temporary}")
    return WithoutCopyBack(made, after, tuple(notes)) if notes else None


def _dependences(scop: Scop, before: Dependences, found: CopyBack, max_operations: int) -> Dependences | None:
    """Return the dependences of a Scop without one copy.

    Returns None where they are not known exactly for the arrays that change.
    """
    kept = {d.array: d for d in before.by_array if d.array not in (found.array, found.temporary)}
    new = {a.name: array_dependences(scop, a.name, max_operations) for a in scop.arrays if a.name not in kept}
    if not all(d.exact for d in new.values()):
        return None
    return collected(scop, tuple((kept | new)[a.name] for a in scop.arrays))


# The Scop with two versions -----------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class _Versions:
    """The array with two versions, and which one is used: that of `(t - first) % 2` at the start of step t."""

    array: Array
    first: isl.Set = field(compare=False)  # { [first] }
    expression: Expr | None  # of `first`; None for 0

    def at(self, domain: isl.Set, behind: bool) -> isl.Map:
        """Return `{ S[t, i] -> [version] }`."""
        rank = domain.dim(SET)
        step = isl.Map.identity(domain.get_space().map_from_set()).project_out(OUT, 1, rank - 1).reset_tuple_id(OUT)
        both = step if self.expression is None else step.flat_range_product(self._first(domain))
        values = "t" if self.expression is None else "t, b"
        count = f"t{'' if self.expression is None else ' - b'}{' + 1' if behind else ''}"
        return both.apply_range(isl.Map(f"{{ [{values}] -> [({count}) mod 2] }}"))

    def _first(self, domain: isl.Set) -> isl.Map:
        return isl.Map.from_domain_and_range(isl.Set.universe(domain.get_space()), self.first)

    def subscript(self, iterator: str, behind: bool) -> Expr:
        step: Expr = Name(iterator)
        step = step if self.expression is None else Binary("-", step, self.expression)
        return Binary("%", Binary("+", step, Literal("1")) if behind else step, Literal("2"))


def apply_copy_back(scop: Scop, found: CopyBack) -> Scop:
    """Rewrite a Scop for one array that is copied back (see the top of this file)."""
    number = unused_number(scop)
    versions = _versions(scop, found)
    rest = [_rewritten(s, found, versions) for s in scop.statements if s.name != found.statement]
    filling = _filling(scop, found, versions, f"S{number}")
    seen = [name for name in (found.array, found.temporary) if is_seen(scop, name)]
    copies = [_restoring(scop, found, versions, name, f"S{number + k}") for k, name in enumerate(seen, start=1)]
    own = isl.UnionSet.from_set(scop.statement(found.statement).domain)
    schedule = copy_schedule(filling).sequence(scop.schedule.intersect_domain(scop.domain.subtract(own)))
    for copy in copies:
        schedule = schedule.sequence(copy_schedule(copy))
    unused = found.temporary if scop.array(found.temporary).origin is not Origin.EXTERNAL else ""
    return replace(
        scop,
        arrays=(*(a for a in scop.arrays if a.name != unused), versions.array),
        statements=(*rest, filling, *copies),
        schedule=schedule,
        prologue=(filling.name, *scop.prologue),
        epilogue=(*scop.epilogue, *(c.name for c in copies)),
    )


def _versions(scop: Scop, found: CopyBack) -> _Versions:
    old = scop.array(found.array)
    name = fresh(f"{old.name}_v", names_of_scop(scop))
    array = old.temporary(name, (Literal("2"), *known_extents(scop, old)))
    least = found.steps.intersect_params(scop.context).dim_min(0)
    constant = constant_value(least)
    if constant is not None and constant >= 0:
        return _Versions(array, isl.Set("{ [0] }"), None)
    return _Versions(array, isl.Set.from_pw_aff(least), parameter_expression(least.coalesce(), scop.context, INT))


def _rewritten(statement: Statement, found: CopyBack, versions: _Versions) -> Statement:
    """Replace the array and the temporary, which holds the later version, by the versions in the statement."""
    own = {a.array for a in statement.accesses} & {found.array, found.temporary}
    if not own:
        return statement
    late = {found.array: statement.name in found.behind, found.temporary: True}
    name = versions.array.name

    def change(node: Expr | Stmt) -> Expr | Stmt:
        if isinstance(node, Access) and node.array in own:
            version = versions.subscript(statement.iterators[0], late[node.array])
            return replace(node, array=name, subscripts=(version, *node.subscripts))
        return node

    def moved(access: AccessRelation) -> AccessRelation:
        if access.array not in own:
            return access
        version = versions.at(statement.domain, late[access.array])
        relation = version.flat_range_product(access.relation.reset_tuple_id(OUT)).set_tuple_name(OUT, name)
        return replace(access, array=name, relation=relation)

    reduction = statement.reduction
    if reduction is not None and reduction.array in own:
        reduction = replace(reduction, array=name)
    updates = tuple(replace(u, array=name) if u.array in own else u for u in statement.updates)
    body, accesses = tuple(rewrite(s, change) for s in statement.body), tuple(map(moved, statement.accesses))
    return replace(statement, body=body, accesses=accesses, reduction=reduction, updates=updates)


def _filling(scop: Scop, found: CopyBack, versions: _Versions, name: str) -> Statement:
    """Create the statement that sets both versions of what the loop reads to the array."""
    reads = scop.accesses(READ, arrays=frozenset((found.array,))).intersect_params(scop.context)
    elements = isl.Set.from_union_set(reads.range()).coalesce()
    rank = elements.dim(SET)
    domain = isl.Set("{ [v] : 0 <= v < 2 }").flat_product(elements.reset_tuple_id()).set_tuple_name(name)
    every = isl.Map.identity(domain.get_space().map_from_set())
    into = every.set_tuple_name(OUT, versions.array.name)
    source = every.project_out(OUT, 0, 1).set_tuple_name(OUT, found.array)
    iterators = copy_iterators(scop, rank + 1)
    target = Access(versions.array.name, tuple(Name(i) for i in iterators), versions.array.element)
    value = Access(found.array, tuple(Name(i) for i in iterators[1:]), versions.array.element)
    text = f"the first values of {found.array}"
    location = scop.statement(found.statement).location
    instances = with_iterators(domain, iterators)
    return copy_statement(name, iterators, instances, (target, into), (value, source), location, text)


def _restoring(scop: Scop, found: CopyBack, versions: _Versions, array: str, name: str) -> Statement:
    """Create the statement that restores, after the SCoP, what was copied back in the last step."""
    domain = found.elements.intersect_params(scop.context).set_tuple_name(name)
    iterators = copy_iterators(scop, domain.dim(SET))
    least, most = (pick(0) for pick in (found.steps.dim_min, found.steps.dim_max))
    steps = most.add_constant_val(isl.Val(1))
    steps = steps if versions.expression is None else steps.sub(least)
    last = steps.mod_val(isl.Val(2))
    version = parameter_expression(last.coalesce(), scop.context.intersect(domain.params()), INT)
    same = isl.Map.identity(domain.get_space().map_from_set())
    number = isl.Map.from_domain_and_range(isl.Set.universe(domain.get_space()), isl.Set.from_pw_aff(last))
    source = number.flat_range_product(same.reset_tuple_id(OUT)).set_tuple_name(OUT, versions.array.name)
    element = tuple(Name(i) for i in iterators)
    target = Access(array, element, versions.array.element)
    value = Access(versions.array.name, (version, *element), versions.array.element)
    into, text = same.set_tuple_name(OUT, array), f"the last values of {array}"
    location = scop.statement(found.statement).location
    instances = with_iterators(domain, iterators)
    return copy_statement(name, iterators, instances, (target, into), (value, source), location, text)
