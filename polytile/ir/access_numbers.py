"""Which access relations of a statement an access in its body has.

body C[i][j] += A[i][k] * A[j][k], accesses 0: A[i, k], 1: A[j, k], 2: C[i, j] read, 3: C[i, j] written
C[i][j] has the numbers 2 and 3, A[j][k] has 1

body B[i] = i > 2 ? A[i - 1] : A[i], accesses 0: A[i - 1] where i > 2, 1: A[i] where i <= 2
A[i - 1] has the number 0: what it reads where it is evaluated
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import islpy as isl

from polytile.diagnostics import InternalError
from polytile.ir.access_boxes import KnownFunctions, Offset, Shape, moved, taken_apart
from polytile.ir.arith import known
from polytile.ir.expr import Access, Binary, Expr
from polytile.ir.identity_key import remembered
from polytile.ir.polynomial import Linear, linear
from polytile.ir.scop import Statement


def access_numbers(statement: Statement, access: Access) -> tuple[int, ...]:
    """Return the positions in `statement.accesses` of an access of its body.

    Raises InternalError where subscripts that are not linear leave a choice.
    """
    if access not in statement.known_numbers:
        statement.known_numbers[access] = _numbers(statement, access)
    return statement.known_numbers[access]


def _numbers(statement: Statement, access: Access) -> tuple[int, ...]:
    own, same = _of_arrays(statement).get(access.array, ((), True))
    if same:
        return own
    if alike := _at_same_constants(statement, access, own):
        return alike
    wanted = _relation(statement, access).intersect_domain(statement.domain)
    for some in (_alike_somewhere(statement, wanted), own):
        found = {k: statement.accesses[k].relation.intersect_domain(statement.domain) for k in some}
        everywhere = tuple(k for k, relation in found.items() if relation.is_equal(wanted))
        if everywhere:
            return everywhere
    return tuple(k for k, r in found.items() if not r.is_empty() and r.is_subset(wanted))


@remembered
def _of_arrays(statement: Statement) -> Mapping[str, tuple[tuple[int, ...], bool]]:
    """Return the numbers of the accesses of each array, and whether all of them are of the same elements."""
    found: dict[str, list[int]] = {}
    for k, access in enumerate(statement.accesses):
        found.setdefault(access.array, []).append(k)
    relations = [access.relation for access in statement.accesses]
    return {
        array: (tuple(own), all(relations[k].is_equal(relations[own[0]]) for k in own[1:]))
        for array, own in found.items()
    }


def _at_same_constants(statement: Statement, access: Access, own: Sequence[int]) -> tuple[int, ...]:
    """Return the numbers of an access if all accesses of its array are affine functions plus constants.

    These are compared as numbers, and by isl once for all subscripts that differ by constants alone.
    """
    known = statement.known_functions
    if access.array not in known:
        known[access.array] = _functions(statement, own)
    functions = known[access.array]
    if functions is None:
        return ()
    shape, constants = _shape(access)
    if shape not in functions.same:
        functions.same[shape] = list(_same_functions(statement, access, constants, functions))
    found: list[int] = []
    for text, more in functions.same[shape]:
        found += functions.numbers[text].get(_sum(constants, more), [])
    return tuple(sorted(found))


def _functions(statement: Statement, own: Sequence[int]) -> KnownFunctions | None:
    """Return the functions of some accesses; None where one is no affine function everywhere, or no instance runs."""
    found = KnownFunctions()
    for k in own:
        relation = statement.accesses[k].relation
        function = taken_apart(relation)
        if function is None:
            return None
        text, constants = function
        found.numbers.setdefault(text, {}).setdefault(constants, []).append(k)
        found.relations.setdefault(text, (relation, constants))
    return None if statement.domain.is_empty() else found


def _shape(access: Access) -> tuple[Shape, Offset]:
    """Split the subscripts of an access into what remains without added constants, and these constants."""
    shape: list[object] = []
    constants: list[int] = []
    for subscript in access.subscripts:
        form = linear(subscript)
        constants.append(0 if form is None else form.get("", 0))
        shape.append(subscript if form is None else frozenset((n, factor) for n, factor in form.items() if n))
    return tuple(shape), tuple(constants)


def _same_functions(
    statement: Statement, access: Access, constants: Offset, functions: KnownFunctions
) -> Iterator[tuple[str, Offset]]:
    """Yield the functions that differ from an access by a constant in all instances, and these constants.

    The constant is found from one instance.
    """
    one = isl.Set.from_point(statement.domain.sample_point())
    wanted = _relation(statement, access).intersect_domain(statement.domain)
    there = _coordinates(wanted, one)
    for text, (relation, own) in functions.relations.items():
        function = relation.intersect_domain(statement.domain)
        here = _coordinates(function, one)
        if not len(there) == len(here) == len(own):
            continue  # the number of a field comes behind the subscripts of some
        apart = _sum(there, [-x for x in here])
        if moved(function, apart).is_equal(wanted):
            yield text, _sum(_sum(own, apart), [-c for c in constants])


def _coordinates(function: isl.Map, instance: isl.Set) -> Offset:
    """Return the coordinates of the element that an instance accesses."""
    point = function.intersect_domain(instance).range().project_out_all_params().sample_point()
    rank = function.dim(isl.dim_type.out)
    return tuple(int(point.get_coordinate_val(isl.dim_type.set, k).to_python()) for k in range(rank))


def _sum(a: Sequence[int], b: Sequence[int]) -> Offset:
    return tuple(x + y for x, y in zip(a, b, strict=True))


def _alike_somewhere(statement: Statement, wanted: isl.Map) -> tuple[int, ...]:
    """Return the accesses that have the wanted element in one instance, or no element there.

    Only these may be of the wanted elements in all instances. To compare the whole relations of hundreds of accesses
    with one another takes minutes.
    """
    one = isl.Set.from_point(statement.domain.sample_point())
    known = statement.known_elements
    if not known:
        for k, access in enumerate(statement.accesses):
            known.setdefault(_element(access.relation, one), []).append(k)
    key = _element(wanted, one)
    return tuple(known.get(key, ())) + tuple(known.get("", ()) if key else ())


def _element(relation: isl.Map, instance: isl.Set) -> str:
    """Return the element that an instance accesses as text, or "" where it accesses none."""
    found = relation.intersect_domain(instance).range().project_out_all_params()
    return "" if found.is_empty() else str(found.coalesce())


def _relation(statement: Statement, access: Access) -> isl.Map:
    """Build the access relation `{ S[i, j] -> A[..] }` from the subscripts."""
    space = statement.domain.get_space()
    zero = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(space))
    total = isl.Map.from_domain(statement.domain)
    for subscript in access.subscripts:
        total = total.flat_range_product(isl.Map.from_pw_aff(_affine(statement, zero, subscript)))
    return total.set_tuple_name(isl.dim_type.out, access.array)


def _affine(statement: Statement, zero: isl.Aff, subscript: Expr) -> isl.PwAff:
    form = linear(subscript)
    if form is not None:
        return isl.PwAff.from_aff(_with_terms(statement, zero, form))
    match subscript:
        case Binary(op="+" | "-" | "/" | "%" as op, left=left, right=right):
            a, b = (_affine(statement, zero, part) for part in (left, right))
            if op in "+-":
                return a.add(b) if op == "+" else a.sub(b)
            if (known(right) or 0) > 0:
                return a.tdiv_q(b) if op == "/" else a.tdiv_r(b)
    raise InternalError(f"which access of {statement.name} has a subscript that is not linear: {subscript}")


def _with_terms(statement: Statement, value: isl.Aff, form: Linear) -> isl.Aff:
    for name, factor in form.items():
        if not name:
            value = value.add_constant_val(isl.Val(factor))
        elif name in statement.iterators:
            value = value.add_coefficient_val(isl.dim_type.in_, statement.iterators.index(name), isl.Val(factor))
        else:
            position = value.get_domain_space().find_dim_by_name(isl.dim_type.param, name)
            if position < 0:
                raise InternalError(f"which access of {statement.name} has a subscript that is not linear: {name}")
            value = value.add_coefficient_val(isl.dim_type.param, position, isl.Val(factor))
    return value
