"""Which access relations of a statement an access in its body has.

body C[i][j] += A[i][k] * A[j][k], accesses 0: A[i, k], 1: A[j, k], 2: C[i, j] read, 3: C[i, j] written
C[i][j] has the numbers 2 and 3, A[j][k] has 1

body B[i] = i > 2 ? A[i - 1] : A[i], accesses 0: A[i - 1] where i > 2, 1: A[i] where i <= 2
A[i - 1] has the number 0: what it reads where it is evaluated
"""

from __future__ import annotations

import islpy as isl

from polytile.diagnostics import InternalError
from polytile.ir.arith import known
from polytile.ir.expr import Access, Binary, Expr
from polytile.ir.polynomial import Linear, linear
from polytile.ir.scop import Statement


def access_numbers(statement: Statement, access: Access) -> tuple[int, ...]:
    """The positions in `statement.accesses` of an access of its body; raises InternalError where subscripts that are
    not linear leave a choice."""
    if access not in statement.known_numbers:
        statement.known_numbers[access] = _numbers(statement, access)
    return statement.known_numbers[access]


def _numbers(statement: Statement, access: Access) -> tuple[int, ...]:
    own = [k for k, a in enumerate(statement.accesses) if a.array == access.array]
    relations = [statement.accesses[k].relation for k in own]
    if not own or all(r.is_equal(relations[0]) for r in relations[1:]):
        return tuple(own)
    wanted = _relation(statement, access).intersect_domain(statement.domain)
    for some in (_alike_somewhere(statement, wanted), own):
        found = {k: statement.accesses[k].relation.intersect_domain(statement.domain) for k in some}
        everywhere = tuple(k for k, relation in found.items() if relation.is_equal(wanted))
        if everywhere:
            return everywhere
    return tuple(k for k, r in found.items() if not r.is_empty() and r.is_subset(wanted))


def _alike_somewhere(statement: Statement, wanted: isl.Map) -> tuple[int, ...]:
    """The accesses of the wanted element in one instance, or of none there: only these may be of the wanted elements in
    all instances. To compare the whole relations of hundreds of accesses with one another takes minutes."""
    one = isl.Set.from_point(statement.domain.sample_point())
    known = statement.known_elements
    if not known:
        for k, access in enumerate(statement.accesses):
            known.setdefault(_element(access.relation, one), []).append(k)
    key = _element(wanted, one)
    return tuple(known.get(key, ())) + tuple(known.get("", ()) if key else ())


def _element(relation: isl.Map, instance: isl.Set) -> str:
    """What an instance accesses: nothing, or one element."""
    found = relation.intersect_domain(instance).range().project_out_all_params()
    return "" if found.is_empty() else str(found.coalesce())


def _relation(statement: Statement, access: Access) -> isl.Map:
    """`{ S[i, j] -> A[..] }` by the subscripts."""
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
