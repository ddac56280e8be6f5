"""Sums, minima and maxima over positions that ranks cut, as arrays of their terms and one statement a step.

before: for (t) for (i) { S: B[i] = f(A, i); R: e[t] += B[i] * B[i]; }
after:  for (t) { for (i) { S: B[i] = f(A, i); R: terms[i] = B[i] * B[i]; } C: e[t] += total; }
        total is the sum of terms over all ranks, which is set in front of C
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce

import islpy as isl

from polytile.diagnostics import UserError
from polytile.distribution.axes import shifted_iterator
from polytile.distribution.plan import GlobalReduction
from polytile.ir.arith import add, sub
from polytile.ir.expr import DOUBLE, INT, LLONG, Access, Assign, CType, Expr, Name
from polytile.ir.isl_expr import parameter_expression
from polytile.ir.name_supply import Names
from polytile.ir.reductions import Accumulation, accumulation, partial_type
from polytile.ir.scop import AccessKind, AccessRelation, Array, Origin, Scop, Statement

_IN, _SET = isl.dim_type.in_, isl.dim_type.set
OPERATIONS = ("+", "min", "max")


def with_terms(scop: Scop, whole: frozenset[str], *, timed: bool) -> tuple[Scop, tuple[GlobalReduction, ...]]:
    """Return a SCoP whose reductions over positions are split (see the top of this file), but for those of statements
    that are `whole` on each rank; `timed` says that the first iterator of all statements is the time loop's.

    Raises UserError for terms that are at other positions in each step.
    """
    bodies = list(_loop_bodies(scop, timed))
    each = [(scop.statement(name), body) for body in bodies for name in body if name not in whole]
    found = [(s, body) for s, body in each if _is_over_all(scop, s, body, timed)]
    if not found:
        return scop, ()
    made = _Terms(scop, timed)
    for statement, body in found:
        made.split(statement, body)
    return made.scop_of(bodies), tuple(made.reductions)


def check_combined(scop: Scop, reductions: Sequence[GlobalReduction], *, strict: bool) -> None:
    """Raise UserError for reductions over the positions of several ranks that these cannot do: sums of floating-point
    numbers where these must have the bits of the C (`strict`), and other operations than sums, minima and maxima."""
    for one in reductions:
        statement = scop.statement(one.statement)
        found = accumulation(statement.body[0])
        assert found is not None
        why, hint = "", ""
        if found.op not in OPERATIONS or partial_type(found) is None:
            why = f"{one.target} combines by {found.op}, in its type, what several ranks own"
            hint = "ranks combine sums, minima and maxima"
        elif strict and found.op == "+" and found.target.type.kind == "float":
            why = f"{one.target} adds up floating-point numbers of several ranks, in another order than the C"
            hint = "leave --fp strict out, or add integers"
        if why:
            raise UserError(f"{scop.name} cannot be distributed: {why}", location=statement.location, hint=hint)


def _loop_bodies(scop: Scop, timed: bool) -> Iterator[tuple[str, ...]]:
    """Yield the statements of each loop nest in a sequence of a step, in order."""
    node = scop.schedule.get_root().first_child()
    node = node.first_child() if timed else node
    kind: object = node.get_type()
    every = [node.get_domain()]
    if kind == isl.schedule_node_type.sequence:
        every = [node.child(k).filter_get_filter() for k in range(node.n_children())]
    for domain in every:
        yield tuple(s.name for s in scop.statements if not domain.extract_set(s.domain.get_space()).is_empty())


def _is_over_all(scop: Scop, statement: Statement, body: tuple[str, ...], timed: bool) -> bool:
    """Return whether a statement combines, in each step, what its iterations compute into one element that no other
    kind of statement of the loop nest uses."""
    own = statement.reduction
    if own is None or len(statement.body) != 1 or len(statement.iterators) == int(timed):
        return False
    target = _target(statement, timed)
    if target is None:
        return False
    users = [s for s in scop.accessing(own.array) if s.name in body and s.reduction != own]
    return not any(
        a.array == own.array and not a.relation.intersect_domain(s.domain).range().is_disjoint(target.range())
        for s in users
        for a in s.accesses
    )


def _target(statement: Statement, timed: bool) -> isl.Map | None:
    """Return the element of each step that a reduction changes, `{ [t] -> e[t] }`; None where it is not one."""
    assert statement.reduction is not None
    (write,) = [a for a in statement.accesses if a.writes and a.array == statement.reduction.array][:1]
    relation = write.relation.intersect_domain(statement.domain)
    fixed = int(timed)
    relation = relation.project_out(_IN, fixed, relation.dim(_IN) - fixed)
    return relation if relation.is_single_valued() else None


class _Terms:
    """A SCoP whose reductions are split one by one."""

    def __init__(self, scop: Scop, timed: bool) -> None:
        self.scop, self.timed, self.fixed = scop, timed, int(timed)
        self.names = Names.of(scop)
        self.changed: dict[str, Statement] = {}
        self.combining: dict[str, list[Statement]] = {}  # by the last statement of a loop nest
        self.arrays: list[Array] = []
        self.reductions: list[GlobalReduction] = []

    def split(self, statement: Statement, body: tuple[str, ...]) -> None:
        """Let a statement write its terms, and another one behind its loop nest combine them."""
        found = accumulation(statement.body[0])
        assert found is not None
        target = found.target.array
        self._check(statement, target)
        wide = _result_type(found)
        terms = Array(
            self.names.fresh(f"{target}_terms"), found.value.type, (), Origin.LOCAL, live_in=False, live_out=False
        )
        result = Array(self.names.fresh(f"{target}_result"), wide, (), Origin.LOCAL, live_in=True, live_out=False)
        places = [self._place(statement, m, body) for m in range(self.fixed, len(statement.iterators))]
        terms = replace(terms, extents=tuple(extent for _, extent in places), location=statement.location)
        self.arrays += [terms, replace(result, location=statement.location)]
        self.changed[statement.name] = self._writer(statement, found, terms, [offset for offset, _ in places])
        combining = self._combination(statement, found, result)
        self.combining.setdefault(body[-1], []).append(combining)
        one = GlobalReduction(statement.name, found.op, target, terms.name, result.name, combining.name)
        self.reductions.append(one)

    def _check(self, statement: Statement, target: str) -> None:
        """Raise UserError for terms at other positions in each step."""
        if self.timed and not _is_alike(statement.domain):
            raise UserError(
                f"{self.scop.name} cannot be distributed: {target} combines other positions in each step",
                location=statement.location,
                hint="let the loops around it run over the same positions in all steps that combine any",
            )

    def _place(self, statement: Statement, m: int, body: tuple[str, ...]) -> tuple[int, Expr]:
        """Return where an iterator's terms lie: how far from its value, and the extent of that dimension, as other
        arrays have it that are accessed in the same iterations."""
        same = [s for s in self.scop.statements if s.name in body and _runs_with(s, statement)]
        accesses = [a for s in same for a in s.accesses]
        accesses.sort(key=lambda a: (not a.writes, a not in statement.accesses))
        for access in accesses:
            extents = self.scop.array(access.array).extents
            for d, extent in enumerate(extents):
                moved = shifted_iterator(access.relation, d) if extent is not None else None
                if extent is not None and moved is not None and moved[0] == m:
                    return moved[1], extent
        inner = statement.domain.project_out(_SET, m + 1, len(statement.iterators) - m - 1)
        domain = inner.project_out(_SET, 0, m).reset_tuple_id()
        if not domain.intersect(isl.Set("{ [i] : i < 0 }")).is_empty():
            raise UserError(
                f"{self.scop.name} cannot be distributed: {statement.iterators[m]} counts no positions of an array",
                location=statement.location,
                hint="let it begin at 0, or index arrays by it",
            )
        end = domain.dim_max(0).add_constant_val(isl.Val.one(domain.get_ctx()))
        integer = self.scop.parameters[0].type if self.scop.parameters else INT
        known = isl.Set.universe(self.scop.context.get_space())
        return 0, parameter_expression(end, known, integer)

    def _writer(self, statement: Statement, found: Accumulation, terms: Array, offsets: Sequence[int]) -> Statement:
        """Build `terms[i][j] = value` from `e op= value`."""
        own = statement.iterators[self.fixed :]
        integer = self.scop.parameters[0].type if self.scop.parameters else INT
        subscripts = tuple(_shifted(Name(i, integer), k) for i, k in zip(own, offsets, strict=True))
        element = Access(terms.name, subscripts, terms.element, location=found.target.location)
        counted = [f"x{k}" for k in range(len(statement.iterators))]
        where = ", ".join(f"{x} + {k}" for x, k in zip(counted[self.fixed :], offsets, strict=True))
        relation = isl.Map(f"{{ {statement.name}[{', '.join(counted)}] -> {terms.name}[{where}] }}")
        relation = relation.align_params(statement.domain.get_space())
        kept = tuple(a for a in statement.accesses if a.array != found.target.array)
        write = AccessRelation(terms.name, AccessKind.WRITE, relation, statement.location)
        assign = Assign(element, "", found.value, location=statement.location)
        return replace(statement, body=(assign,), accesses=(*kept, write), reduction=None)

    def _combination(self, statement: Statement, found: Accumulation, result: Array) -> Statement:
        """Build `e[t] op= total`, once in each step that has terms."""
        name = self.names.fresh(f"{statement.name}_combine")
        inner = len(statement.iterators) - self.fixed
        domain = statement.domain.project_out(_SET, self.fixed, inner).set_tuple_name(name).coalesce()
        target = _target(statement, self.timed)
        assert target is not None
        element = target.set_tuple_name(_IN, name)
        value = isl.Map.from_domain_and_range(domain, isl.Set(f"{{ {result.name}[] }}"))
        accesses = (
            AccessRelation(found.target.array, AccessKind.READ, element, statement.location),
            AccessRelation(result.name, AccessKind.READ, value, statement.location),
            AccessRelation(found.target.array, AccessKind.WRITE, element, statement.location),
        )
        body = found.made(found.target, Access(result.name, (), result.element))
        iterators = statement.iterators[: self.fixed]
        return Statement(name, iterators, domain, (body,), accesses, statement.location, text=statement.text)

    def scop_of(self, bodies: Sequence[tuple[str, ...]]) -> Scop:
        """Return the SCoP with what was split."""
        more = [s for each in self.combining.values() for s in each]
        kept = tuple(self.changed.get(s.name, s) for s in self.scop.statements)
        return replace(
            self.scop,
            arrays=(*self.scop.arrays, *self.arrays),
            statements=(*kept, *more),
            schedule=self._schedule(bodies, more),
        )

    def _schedule(self, bodies: Sequence[tuple[str, ...]], more: Sequence[Statement]) -> isl.Schedule:
        """Put each combination behind its loop nest, within the step."""
        parts: list[isl.Schedule] = []
        for body in bodies:
            domain = reduce(isl.UnionSet.union, (isl.UnionSet.from_set(self.scop.statement(s).domain) for s in body))
            tree = self.scop.schedule.intersect_domain(domain)
            parts.append(tree.get_root().first_child().delete().get_schedule() if self.timed else tree)
            parts += [
                isl.Schedule.from_domain(isl.UnionSet.from_set(s.domain)) for s in self.combining.get(body[-1], ())
            ]
        whole = reduce(isl.Schedule.sequence, parts)
        if not self.timed:
            return whole
        steps = [_step(s.domain) for s in (*self.scop.statements, *more)]
        return whole.insert_partial_schedule(
            isl.MultiUnionPwAff.from_union_pw_aff(reduce(isl.UnionPwAff.union_add, steps))
        )


def _step(domain: isl.Set) -> isl.UnionPwAff:
    first = isl.PwAff.var_on_domain(isl.LocalSpace.from_space(domain.get_space()), _SET, 0)
    return isl.UnionPwAff.from_pw_aff(first)


def _result_type(found: Accumulation) -> CType:
    """Return the type that what all ranks have found is handed on in: sums of integers are modulo 2^64."""
    if found.op != "+":
        return found.value.type
    return DOUBLE if found.value.type.kind == "float" else LLONG


def _is_alike(domain: isl.Set) -> bool:
    """Return whether each step that has instances has them at the same positions."""
    inner = domain.dim(_SET) - 1
    steps = domain.project_out(_SET, 1, inner).reset_tuple_id()
    positions = domain.project_out(_SET, 0, 1).reset_tuple_id()
    whole = steps.flat_product(positions).set_tuple_name(domain.get_tuple_name())
    return bool(domain.is_equal(whole))


def _runs_with(other: Statement, statement: Statement) -> bool:
    """Return whether two statements have the same iterations."""
    if other.iterators != statement.iterators:
        return False
    return bool(other.domain.set_tuple_name(statement.name).is_equal(statement.domain))


def _shifted(value: Expr, offset: int) -> Expr:
    return add(value, offset) if offset >= 0 else sub(value, -offset)
