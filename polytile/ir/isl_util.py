"""Small helpers over isl: budgets, lists, and reading isl's values by name.

isl objects compare by meaning but hash by structure: nothing here uses them as keys.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from itertools import zip_longest
from threading import RLock
from typing import ParamSpec, TypeVar

import islpy as isl

T = TypeVar("T")
P = ParamSpec("P")

CONTEXT: isl.Context = isl.DEFAULT_CONTEXT
_NOTHING = isl.UnionMap("{}")
MANY_PAIRS = 100  # of statements


_CONTEXT_IN_USE = RLock()


def one_at_a_time(function: Callable[P, T]) -> Callable[P, T]:
    """Serialize calls of a function among Python's threads: all share isl's context, and with it its budget."""

    @wraps(function)
    def called(*arguments: P.args, **named: P.kwargs) -> T:
        with _CONTEXT_IN_USE:
            return function(*arguments, **named)

    return called


class OverBudgetError(Exception):
    """An isl computation used up its operation budget."""


@contextmanager
def budget(operations: int) -> Iterator[None]:
    """Bound the isl operations of the block; raises OverBudgetError when they run out.

    isl reports exhaustion in several ways (an error, a null result), and gives some computations up by itself ("unable
    to carry dependences"), so every error of a call counts. A budget around this one starts anew behind it.
    """
    around = CONTEXT.get_max_operations()
    CONTEXT.reset_operations()
    CONTEXT.set_max_operations(operations)
    try:
        yield
    except isl.Error as error:
        text = str(error).lower()
        if any(sign in text for sign in ("operations", "null", "call to", "on entry to")):
            raise OverBudgetError(str(error)) from error
        raise
    finally:
        CONTEXT.set_max_operations(around)
        CONTEXT.reset_operations()


@contextmanager
def unbounded() -> Iterator[None]:
    """Let the isl operations of the block pass, whatever the budget around it: they are few, and an error means
    something else."""
    around = CONTEXT.get_max_operations()
    CONTEXT.set_max_operations(0)
    try:
        yield
    finally:
        CONTEXT.set_max_operations(around)


def maps(union: isl.UnionMap) -> list[isl.Map]:
    """Return the maps of a union, in a reproducible order (by their tuple names)."""
    found: list[isl.Map] = []
    union.foreach_map(found.append)
    if len(found) < 2:
        return found
    return sorted(found, key=lambda m: (_tuple(m, isl.dim_type.in_), _tuple(m, isl.dim_type.out)))


def union_of(relations: Iterable[isl.UnionMap], space: isl.Space) -> isl.UnionMap:
    """Unite relations over the parameters of `space`, by halves: each union copies what it adds to."""
    found = list(relations) or [isl.UnionMap.empty(space.params())]
    while len(found) > 1:
        found = [one.union(other) for one, other in zip_longest(found[::2], found[1::2], fillvalue=_NOTHING)]
    return found[0]


def with_tuple_names(relation: isl.UnionMap, names: Mapping[str, str]) -> isl.UnionMap:
    """Rename the statements of a relation; those that `names` does not have keep theirs."""

    def named(m: isl.Map) -> isl.Map:
        for kind in (isl.dim_type.in_, isl.dim_type.out):
            m = m.set_tuple_name(kind, names[_tuple(m, kind)]) if _tuple(m, kind) in names else m
        return m

    return union_of((isl.UnionMap.from_map(named(m)) for m in maps(relation)), relation.get_space())


def sets(union: isl.UnionSet) -> list[isl.Set]:
    """Return the sets of a union, in a reproducible order (by their tuple names)."""
    found: list[isl.Set] = []
    union.foreach_set(found.append)
    return found if len(found) < 2 else sorted(found, key=lambda s: (_tuple_of_set(s), s.dim(isl.dim_type.set)))


def covers(whole: isl.UnionSet, part: isl.UnionSet) -> bool:
    """Return whether all of `part` is in `whole`, subtracting one piece of `whole` after another.

    Where these are many that have quotients, isl takes a multiple of the time to subtract them at once.
    """
    for rest in sets(part):
        pieces = whole.extract_set(rest.get_space()).get_basic_sets()
        for piece in pieces:
            rest = rest.subtract(isl.Set.from_basic_set(piece))
        if not rest.is_empty():
            return False
    return True


def _tuple(m: isl.Map, kind: isl.dim_type) -> str:
    return (m.get_tuple_name(kind) if m.has_tuple_name(kind) else "") or ""


def _tuple_of_set(s: isl.Set) -> str:
    return (s.get_tuple_name() if s.has_tuple_name() else "") or ""


# isl prints a mark above a leaf without a child, but does not read it so.
_LONE_MARK = r'(?m)^(( *)mark: "[^"]*")\n(?!\2child:)'


def in_block_style(tree: isl.Schedule) -> str:
    """Return the text of a tree as isl writes it, a node a line."""
    printer = isl.Printer.to_str(CONTEXT).set_yaml_style(isl.yaml_style.BLOCK)
    return str(printer.print_schedule(tree).get_str())


def readable_schedule(tree: isl.Schedule) -> str:
    """Return the text of a tree in isl's block style, as isl reads it again.

    before: mark: "kernel"
    after:  mark: "kernel"
            child: "leaf"
    """
    return re.sub(_LONE_MARK, r'\1\n\2child: "leaf"\n', in_block_style(tree))


def transform_node(node: isl.ScheduleNode, change: Callable[[isl.ScheduleNode], isl.ScheduleNode]) -> isl.ScheduleNode:
    """Apply `change` to every child of `node`; each call must return a node at the position it was given."""
    for i in range(node.n_children()):
        node = change(node.child(i)).parent()
    return node


def mark_name(node: isl.ScheduleNode) -> str | None:
    """Return the name of a mark node, or None for another kind of node."""
    if node.get_type() != isl.schedule_node_type.mark:
        return None
    return str(node.mark_get_id().get_name())


def times_at(node: isl.ScheduleNode) -> isl.UnionMap:
    """Return when the instances at a node run, by the bands above it.

    isl's prefix schedule as a map takes several times as long, as it holds all instances of the tree on the way.
    """
    times = node.get_prefix_schedule_multi_union_pw_aff().intersect_domain(node.get_domain())
    return isl.UnionMap.from_multi_union_pw_aff(times)


def values_at(band: isl.ScheduleNode, pairs: isl.UnionMap) -> isl.MultiUnionPwAff:
    """Return the partial schedule of a band, to compare `pairs` of its instances by."""
    partial = without_conditions(band.band_get_partial_schedule())
    return partial.gist(band.get_domain()) if are_many(pairs) else partial


def without_conditions(values: isl.MultiUnionPwAff) -> isl.MultiUnionPwAff:
    """Keep the values of instances that have one, by each formula that is for all of a statement's instances, without
    what says which these are: isl compares pairs in half of the time by it.

    before: { S[i, j] -> [floor(i/64)] : 0 <= i < n and 0 <= j < m }
    after:  { S[i, j] -> [floor(i/64)] }
    """
    for k in range(values.dim(isl.dim_type.out)):
        member = values.get_at(k)
        found = [_formula(function) for function in functions(member)]
        plain = isl.UnionPwAff.empty(member.get_space())
        for function in found:
            plain = plain.union_add(isl.UnionPwAff.from_pw_aff(function))
        values = values.set_at(k, plain)
    return values


def _formula(function: isl.PwAff) -> isl.PwAff:
    """Extend a function to all of its space, where it has one piece."""
    pieces = pieces_of(function)
    return isl.PwAff.from_aff(pieces[0][1]) if len(pieces) == 1 else function


def are_many(pairs: isl.UnionMap) -> bool:
    """Return whether it pays to simplify what pairs are compared by.

    isl intersects the pairs of any two statements with the constraints of these functions' domains anew, which the
    instances satisfy anyway.
    """
    return bool(pairs.n_map() > MANY_PAIRS)


def band_members(node: isl.ScheduleNode) -> list[isl.UnionPwAff]:
    """Return the members of a band node, outermost first."""
    partial = node.band_get_partial_schedule()
    return [partial.get_at(i) for i in range(partial.dim(isl.dim_type.out))]


def functions(member: isl.UnionPwAff) -> list[isl.PwAff]:
    """Return the functions that a union is of.

    What isl calls back only notes them: it may be out of operations, and an exception that rises there is not raised.
    """
    found: list[isl.PwAff] = []
    member.foreach_pw_aff(found.append)
    return found


def pieces_of(value: isl.PwAff) -> list[tuple[isl.Set, isl.Aff]]:
    """Return the domains of a function and its affine expression on each."""
    found: list[tuple[isl.Set, isl.Aff]] = []
    value.foreach_piece(lambda domain, aff: found.append((domain, aff)))
    return found


def is_constant(member: isl.UnionPwAff) -> bool:
    """Return whether a band member has no more than one value on each piece of its domain: no loop, but an order."""
    return all(piece.is_cst() for piece in functions(member))


def constant_value(pw: isl.PwAff) -> int | None:
    """Return the value of a constant piecewise expression, else None."""
    value: list[int] = []

    def piece(_domain: isl.Set, aff: isl.Aff) -> None:
        if aff.is_cst():
            value.append(aff.get_constant_val().to_python())
        else:
            value.extend((0, 1))

    pw.foreach_piece(piece)
    return value[0] if value and all(v == value[0] for v in value) else None


def affine_rank(points: isl.Set | isl.BasicSet) -> int:
    """Return the dimension of the smallest affine space around the points."""
    hull = points.affine_hull()
    return int(hull.dim(isl.dim_type.set)) - sum(bool(c.is_equality()) for c in hull.get_constraints())


Pair = tuple[str, tuple[int, ...], str, tuple[int, ...], dict[str, int]]


def sample(relation: isl.UnionMap | isl.Map) -> Pair | None:
    """Return one pair of a relation between statement instances, with small values where isl finds them.

    The pair is (source, its iterators, sink, its iterators, parameters); None when the relation is empty.
    """
    union = relation if isinstance(relation, isl.UnionMap) else isl.UnionMap.from_map(relation)
    for m in maps(union):
        if m.is_empty():
            continue
        wrapped = m.wrap()
        bounded = _near_zero(wrapped)
        point = (bounded if not bounded.is_empty() else wrapped).sample_point()
        n_in, n_out = m.dim(isl.dim_type.in_), m.dim(isl.dim_type.out)
        values = [point.get_coordinate_val(isl.dim_type.set, i).to_python() for i in range(n_in + n_out)]
        names = [m.get_dim_name(isl.dim_type.param, i) for i in range(m.dim(isl.dim_type.param))]
        parameters = {
            n: point.get_coordinate_val(isl.dim_type.param, i).to_python() for i, n in enumerate(names) if n is not None
        }
        source, sink = _tuple(m, isl.dim_type.in_), _tuple(m, isl.dim_type.out)
        return source, tuple(values[:n_in]), sink, tuple(values[n_in:]), parameters
    return None


def _near_zero(points: isl.Set) -> isl.Set:
    """Return the points whose coordinates are all small, so that an example reads well, or all where none is."""
    for limit in (4, 12, 64):
        small = points
        for i in range(points.dim(isl.dim_type.set)):
            small = small.lower_bound_val(isl.dim_type.set, i, -limit).upper_bound_val(isl.dim_type.set, i, limit)
        for i in range(points.dim(isl.dim_type.param)):
            small = small.lower_bound_val(isl.dim_type.param, i, -limit).upper_bound_val(isl.dim_type.param, i, limit)
        if not small.is_empty():
            return small
    return points


def reduce_quotients(value: isl.PwAff) -> isl.PwAff:
    """Return the same values with small coefficients inside divisions, which neither overflow nor distract.

    before: k + floor((-127*k - 126)/128)
    after:  floor((k - 126)/128)
    """
    pieces = [isl.PwAff.alloc(domain, _reduce_aff(aff)) for domain, aff in pieces_of(value)]
    total = pieces[0]
    for piece in pieces[1:]:
        total = total.union_add(piece)
    return total.coalesce()


def _reduce_aff(aff: isl.Aff) -> isl.Aff:
    """Rebuild an expression, splitting a*x inside floor((a*x + ...)/m) into whole multiples of m and a small rest."""
    space = isl.LocalSpace.from_space(aff.get_domain_space())
    result = isl.Aff.zero_on_domain(space).set_constant_val(aff.get_constant_val())
    for kind in (isl.dim_type.param, isl.dim_type.in_):
        for i in range(aff.dim(kind)):
            result = result.set_coefficient_val(kind, i, aff.get_coefficient_val(kind, i))
    for i in range(aff.dim(isl.dim_type.div)):
        factor = aff.get_coefficient_val(isl.dim_type.div, i)
        if not factor.is_zero():
            result = result.add(_reduced_floor(_reduce_aff(aff.get_div(i)), space).scale_val(factor))
    return result


def _reduced_floor(inner: isl.Aff, space: isl.LocalSpace) -> isl.Aff:
    """Return floor(inner) without whole multiples of its denominator inside, where no division is nested in it."""
    whole = isl.Aff.zero_on_domain(space)
    for kind in (isl.dim_type.param, isl.dim_type.in_):
        for i in range(inner.dim(kind)):
            nearest = inner.get_coefficient_val(kind, i).add(isl.Val("1/2")).floor()
            if not nearest.is_zero():
                whole = whole.set_coefficient_val(kind, i, nearest)
    return whole.add(inner.sub(whole).floor())
