"""Reads of what certainly nothing has set: there the user's C is undefined, and no two compilers need to agree.

before: double t[100]; for (i = 0; i < 50; i++) t[i] = A[i]; for (i = 0; i < 100; i++) B[i] = t[i];
after:  t[50] is read before anything has set it (i = 50)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import islpy as isl

from polytile.diagnostics import Location, UserError
from polytile.ir.def_use import targets
from polytile.ir.expr import Access, Assign, Binary, Declare, Expr, If, Scope, Stmt, Ternary
from polytile.ir.expr_trees import children, walk
from polytile.ir.isl_util import OverBudgetError, budget, sample
from polytile.ir.lexicographic import lexmin
from polytile.ir.scop import AccessKind, AccessRelation, Array, Scop, Statement
from polytile.runtime.parameters import point
from polytile.scheduling.analysis.dependences import unset_reads

_Place = tuple[str, Location]  # the array and where in the file it is read


def check_set(scop: Scop, values: Mapping[str, int], max_operations: int = 0) -> None:
    """Raise a UserError that names the first read, with these parameters, of an element that nothing has set.

    Only what is certain counts: reads that every run of their statement makes, of variables that hold nothing before
    the SCoP, and of elements that no write, however conditional, comes before. What takes more than `max_operations`
    isl operations (0: any number) is let through.
    """
    for array in scop.arrays:
        if array.live_in:
            continue
        try:
            with budget(max_operations):
                _check_array(scop, array, values)
        except OverBudgetError:
            continue


def _check_array(scop: Scop, array: Array, values: Mapping[str, int]) -> None:
    here = scop.context.intersect_params(point(values))
    reads = [(s, a) for s in scop.statements for a in _certain_reads(s, array.name)]
    if not reads:
        return
    relations = [isl.UnionMap.from_map(a.relation.intersect_domain(s.domain)) for s, a in reads]
    together = isl.UnionMap.empty(scop.context.get_space().params())
    for relation in relations:
        together = together.union(relation)
    unset = unset_reads(scop, array.name, together.intersect_params(here))
    if unset.is_empty():
        return
    first = _first_instances(scop, unset.domain())
    for (statement, access), relation in zip(reads, relations, strict=True):
        found = sample(relation.intersect(unset).intersect_domain(first))
        if found is not None:
            raise _unset(statement, access, array, values, found[1], found[3])


def _first_instances(scop: Scop, instances: isl.UnionSet) -> isl.UnionSet:
    """Return the instance that runs first."""
    times = scop.schedule.get_map().intersect_domain(instances)
    return times.intersect_range(lexmin(isl.Set.from_union_set(times.range()))).domain()


def _certain_reads(statement: Statement, array: str) -> Iterator[AccessRelation]:
    """Yield the reads of one element that each instance of the statement makes before it may write the array itself."""
    if all(a.array != array for a in statement.accesses):
        return
    plain = {id(s.target) for s in walk(*statement.body) if isinstance(s, Assign) and not s.op}
    every = Counter(_place(n) for n in walk(*statement.body) if isinstance(n, Access) and id(n) not in plain)
    certain = Counter(_place(a) for a in _evaluated(statement.body, set()))
    for access in statement.relations(AccessKind.READ):
        place = access.array, access.location
        if access.array == array and certain[place] == every[place] > 0 and access.relation.is_single_valued():
            yield access


def _place(access: Access) -> _Place:
    return access.array, access.location


def _evaluated(body: Sequence[Stmt], written: set[str]) -> Iterator[Access]:
    """Yield the elements whose values a body needs whatever the data, except of arrays that it may write before."""
    for stmt in body:
        match stmt:
            case Assign(target=target, op=op, value=value):
                needed = [*_needed(value), *([target] if op and isinstance(target, Access) else [])]
            case Declare(value=Expr() as value) | If(condition=value):
                needed = list(_needed(value))
            case Scope(body=inner):
                yield from _evaluated(inner, written)
                continue
            case _:
                needed = []
        yield from (access for access in needed if access.array not in written)
        written |= {t.array for n in walk(stmt) for t in targets(n) if isinstance(t, Access)}


def _needed(expr: Expr) -> Iterator[Access]:
    """Yield the elements that an expression reads whatever the data: not those after `?`, `&&` and `||`."""
    match expr:
        case Access():
            yield expr
        case Ternary(condition=first) | Binary(op="&&" | "||", left=first):
            yield from _needed(first)
        case _:
            for child in children(expr):
                if isinstance(child, Expr):
                    yield from _needed(child)


def _unset(
    statement: Statement,
    access: AccessRelation,
    array: Array,
    values: Mapping[str, int],
    instance: Sequence[int],
    element: Sequence[int],
) -> UserError:
    iterators = dict(zip(statement.iterators, instance, strict=True))
    at = ", ".join(f"{name} = {value}" for name, value in {**iterators, **values}.items())
    return UserError(
        f"{_element(array, element)} is read before anything has set it{f' ({at})' if at else ''}",
        location=access.location,
        hint=f"set {array.name} before it is read: C does not say what a variable holds that nothing has set",
    )


def _element(array: Array, element: Sequence[int]) -> str:
    """Print an element, such as `t[3][4]`, `p[1].x`, `s`."""
    subscripts = "".join(f"[{k}]" for k in element[: array.rank])
    field = f".{array.fields[element[array.rank]][0]}" if array.fields else ""
    return f"{array.name}{subscripts}{field}"
