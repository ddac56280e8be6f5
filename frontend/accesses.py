"""What a statement body reads and writes, with the iterations at which it does."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import field

import islpy as isl

from polytile.dataclass import dataclass
from polytile.diagnostics import Location, UserError
from polytile.frontend.affine import Evaluator
from polytile.frontend.call_effects import effects
from polytile.frontend.describe import describe
from polytile.frontend.domain_complexity import are_few
from polytile.frontend.expressions import Translator
from polytile.frontend.loops import Header, domain
from polytile.frontend.not_affine import NotAffineError
from polytile.frontend.polynomial import Polynomial
from polytile.ir.expr import (
    Access,
    Address,
    Assign,
    Binary,
    Declare,
    Expr,
    For,
    If,
    Invoke,
    Literal,
    Name,
    Scope,
    Stmt,
    Ternary,
    While,
)
from polytile.ir.expr_trees import children, walk
from polytile.ir.identity_key import IdentityKey
from polytile.ir.name_supply import fresh
from polytile.ir.reductions import Accumulation, accumulation
from polytile.ir.scop import AccessKind

Path = tuple[tuple[int, int], ...]  # the data-dependent branches around an access: (which `if`, 0 then / 1 else)


@dataclass(frozen=True, slots=True)
class RawAccess:
    """One access before its array's shape is final. `points` may constrain the `inner` iterators of the body. A
    subscript that reads data, or that is not affine where the array is only read, is None: it may be any of its
    dimension. `loose` says that some of the `inner` iterators have bounds that data decide: as far as is known here,
    subscripts may leave the array, and do not."""

    kind: AccessKind
    access: Access
    subscripts: tuple[Polynomial | None, ...]
    points: isl.Set = field(compare=False)
    inner: tuple[str, ...]
    path: Path
    location: Location
    loose: bool = False
    inside: tuple[Polynomial | None, ...] = ()  # the subscripts in a struct
    touched: bool = True  # an address alone touches nothing


@dataclass(slots=True)
class Collector:
    """Walks the body of one statement and collects its accesses."""

    evaluator: Evaluator
    translator: Translator | None = None
    names: dict[str, str] = field(default_factory=dict)  # array -> how the user calls it
    only_read: frozenset[str] = frozenset()  # arrays that nothing in the SCoP writes
    lenient: bool = False  # note accesses with a subscript that is not affine in `unknown` instead of refusing them
    unknown: list[tuple[AccessKind, str]] = field(default_factory=list)
    found: list[RawAccess] = field(default_factory=list)
    _inner: tuple[str, ...] = ()
    _path: Path = ()
    _ifs: int = 0
    _loose: bool = False
    _set: frozenset[str] = frozenset()  # scalars that the body has certainly set before
    _values: dict[tuple[Expr, IdentityKey[isl.Set]], Polynomial] = field(default_factory=dict)  # of subscripts

    def body(self, statements: Sequence[Stmt], known: isl.Set) -> None:
        for statement in statements:
            self._statement(statement, known)

    def _statement(self, statement: Stmt, known: isl.Set) -> None:
        match statement:
            case Assign(target=target, op=op, value=value):
                self._reads(value, known)
                if isinstance(target, Access):
                    if op:
                        self._add(AccessKind.READ, target, known, updated=True)
                    self._add(AccessKind.WRITE, target, known, updated=bool(op))
                    self._set |= {target.array} if not (target.subscripts or target.field) else frozenset()
            case Declare(value=value) if value is not None:
                self._reads(value, known)
            case Invoke():
                self._invoke(statement, known)
            case If():
                self._if(statement, known)
            case For():
                self._for(statement, known)
            case While(condition=condition, body=body):
                self._reads(condition, known)
                self._sometimes(body, known)
            case Scope(body=(Declare(value=Expr()) as first, While() as loop)) if _counts(first, loop):
                self._counting(first, loop, known)
            case Scope(body=body):
                self.body(body, known)

    def _invoke(self, call: Invoke, known: isl.Set) -> None:
        """What a function that is defined elsewhere is said to access, and where it gets addresses of."""
        assert self.translator is not None
        names = self.translator.names
        taken = {v.name for v in names.variables()} | {i.name for i in names.loops.values()}
        counter = fresh("element", taken)
        for argument in call.arguments:
            if isinstance(argument, Address):
                self._add(AccessKind.READ, argument.target, known, touched=False)
            else:
                self._reads(argument, known)
        try:
            for effect in effects(call, names.region.summaries[call.function], counter):
                self._statement(effect, known)
        except UserError as problem:
            raise UserError(
                f"what `{call.function}` accesses here is not known: {problem.message}",
                location=call.location,
                hint="let the sections of its access summary be sums of sizes and iterators where it is called",
            ) from None
        if isinstance(call.target, Access):
            self._add(AccessKind.WRITE, call.target, known)

    def _if(self, statement: If, known: isl.Set) -> None:
        branches = self._branches(statement.condition, known)
        update = accumulation(statement) if branches and branches[0].n_basic_set() > known.n_basic_set() else None
        if update is not None:
            self._update(update, known)
            return
        self._reads(statement.condition, known)
        if branches is not None:
            before = self._set
            self.body(statement.then, branches[0])
            then, self._set = self._set, before
            self.body(statement.otherwise, branches[1])
            self._set &= then
            return
        known, rest = self._possible(statement.condition, known)
        self._sometimes(statement.then, known, statement.otherwise, rest)

    def _update(self, update: Accumulation, known: isl.Set) -> None:
        """`if (j != i) s += e;` is `s += j != i ? e : 0`, which may leave s as it is."""
        self._reads(update.value, known)
        self._add(AccessKind.READ, update.target, known)
        self._path, before = (*self._path, (self._ifs, 0)), self._path
        self._ifs += 1
        self._add(AccessKind.WRITE, update.target, known)
        self._path = before

    def _branches(self, condition: Expr, known: isl.Set) -> tuple[isl.Set, isl.Set] | None:
        """Where a condition holds and where not; None where data decide, or too many alternatives."""
        try:
            with self.evaluator.asking_for_periods(False):
                holds = self.evaluator.condition(condition, known)
        except NotAffineError:
            return None
        then, otherwise = known.intersect(holds), known.subtract(holds)
        return (then, otherwise) if are_few(then, known) and are_few(otherwise, known) else None

    def _possible(self, condition: Expr, known: isl.Set) -> tuple[isl.Set, isl.Set]:
        """Where a condition that depends on data may hold, m > 0 of m > 0 && x[i] > 0, and where it may not."""
        holds = rest = known
        for op in ("&&", "||"):
            for part in _parts(condition, op):
                try:
                    with self.evaluator.asking_for_periods(False):
                        here = self.evaluator.condition(part, holds if op == "&&" else rest)
                except NotAffineError:
                    break
                if op == "&&":
                    holds = holds.intersect(here)
                else:
                    rest = rest.subtract(here)
                if not are_few(holds, known) or not are_few(rest, known):
                    return known, known
        return holds, rest

    def _sometimes(
        self, then: Sequence[Stmt], known: isl.Set, otherwise: Sequence[Stmt] = (), rest: isl.Set | None = None
    ) -> None:
        """Statements that run or not, or those that run instead, be it for other points."""
        number, path, before, after = self._ifs, self._path, self._set, []
        self._ifs += 1
        for branch, (body, points) in enumerate(((then, known), (otherwise, known if rest is None else rest))):
            self._path, self._set = (*path, (number, branch)), before
            self.body(body, points)
            after.append(self._set)
        self._path, self._set = path, after[0] & after[1]

    def _counting(self, first: Declare, loop: While, known: isl.Set) -> None:
        """A loop `{ int j = row[i]; while (j < row[i + 1]) { ...; j += 1; } }`: j is what is known of it."""
        assert first.value is not None
        self._reads(first.value, known)
        *body, step = loop.body
        assert isinstance(step, Assign)
        up, iterator, points = step.op == "+", Name(first.name, first.type), known
        self.evaluator.iterators[first.name] = first.type
        try:
            here, lower = self.evaluator.pw_aff(iterator, known), self.evaluator.used(first.value, known)
            distance = here.sub(self.evaluator.of_polynomial(lower, first.value))
            points = points.intersect((distance if up else distance.neg()).nonneg_set())
        except NotAffineError:
            pass
        inner, loose = self._inner, self._loose
        self._inner, self._loose = (*inner, first.name), True
        self._reads(loop.condition, points)
        for part in _parts(loop.condition, "&&"):
            with suppress(NotAffineError):
                points = points.intersect(self.evaluator.condition(part, points))
        self._sometimes(body, points)
        self._inner, self._loose = inner, loose

    def _for(self, statement: For, known: isl.Set) -> None:
        if not isinstance(statement.step, int):
            raise UserError("the step of a loop must be a constant", location=statement.location, hint="write a number")
        head = Header(
            statement.iterator,
            statement.type,
            statement.lower,
            statement.condition,
            statement.step,
            statement.location,
            statement.location,
        )
        try:
            points = domain(head, self.evaluator, known)
        except NotAffineError as problem:
            raise bad_bound(problem, head, self.translator) from None
        inner, before = self._inner, self._set
        self._inner = (*inner, statement.iterator)
        self.body(statement.body, points)
        self._inner, self._set = inner, before

    def _reads(self, expr: Expr, known: isl.Set) -> None:
        """Note the reads of an expression, each where it is evaluated."""
        match expr:
            case Access():
                self._add(AccessKind.READ, expr, known)
            case Ternary(condition=condition, then=then, otherwise=otherwise):
                self._reads(condition, known)
                self._guarded(condition, (then, otherwise), known)
            case Binary(op="&&", left=left, right=right):
                self._reads(left, known)
                self._guarded(left, (right, None), known)
            case Binary(op="||", left=left, right=right):
                self._reads(left, known)
                self._guarded(left, (None, right), known)
            case _:
                for child in children(expr):
                    if isinstance(child, Expr):
                        self._reads(child, known)

    def _guarded(self, condition: Expr, sides: tuple[Expr | None, Expr | None], known: isl.Set) -> None:
        """Note the reads of values that are computed only where `condition` holds, or only where it does not."""
        if not any(isinstance(n, Access | Name) for side in sides if side is not None for n in walk(side)):
            return  # nothing is asked of sizes for what chooses between constants
        number, path, conditional = self._ifs, self._path, False
        regions = self._branches(condition, known)
        if regions is None:
            regions = self._possible(condition, known)
            conditional = True
            self._ifs += 1
        for branch, (side, points) in enumerate(zip(sides, regions, strict=True)):
            self._path = (*path, (number, branch)) if conditional else path
            if side is not None:
                self._reads(side, points)
        self._path = path

    def _add(
        self, kind: AccessKind, access: Access, known: isl.Set, *, touched: bool = True, updated: bool = False
    ) -> None:
        if kind is AccessKind.READ and access.array in self._set and not (access.subscripts or access.field):
            return
        try:
            any_element = updated or access.array in self.only_read
            subscripts = tuple(self._subscript(any_element, access, s, known) for s in access.subscripts)
            inside = tuple(self._subscript(any_element, access, s, known) for s in access.inside)
        except UserError:
            if not self.lenient:
                raise
            self.unknown.append((kind, access.array))
            return
        path, location = self._path, access.location
        if kind is AccessKind.WRITE and (self._loose or None in (*subscripts, *inside)):
            path = (*path, (self._ifs, 0))  # one of the elements, if any
            self._ifs += 1
        loose, inner = self._loose, self._inner
        self.found.append(RawAccess(kind, access, subscripts, known, inner, path, location, loose, inside, touched))

    def _subscript(self, any_element: bool, access: Access, expr: Expr, known: isl.Set) -> Polynomial | None:
        """The value of a subscript; None where it may be any of its dimension: it reads data, `p[i] ^ 1`, or is not
        affine, `w[i ^ 1]`, and `any_element` says that this does no harm, as the array is only read or updated."""
        key = expr, IdentityKey(known)
        if key in self._values:
            return self._values[key]
        any_element = any_element and not self.lenient
        try:
            with self.evaluator.asking_for_periods(not any_element):
                value = self.evaluator.used(expr, known)
            if len(access.subscripts) > 1 or self.lenient:
                self.evaluator.of_polynomial(value, expr)
        except NotAffineError as problem:
            data = problem.data or self.evaluator.reads_data(expr)
            if not self.lenient and (data or (any_element and not problem.wraps)):
                self._reads(expr, known)
                return None
            location = (self.translator.location(expr) if self.translator else None) or access.location
            raise not_affine_subscript(self.names.get(access.array, access.array), expr, problem, location) from None
        if len(access.subscripts) > 1 or self.lenient:
            self._values[key] = value
        return value


def _counts(first: Declare, loop: While) -> bool:
    """Whether only the last statement of a loop changes the variable that is declared before it, by a constant."""
    match loop.body[-1:]:
        case (Assign(target=Name(name=name) as target, op="+" | "-", value=Literal()),) if name == first.name:
            return sum(isinstance(n, Assign) and n.target == target for s in loop.body for n in walk(s)) == 1
    return False


def _parts(condition: Expr, op: str) -> list[Expr]:
    """What `&&` or `||` connects."""
    if isinstance(condition, Binary) and condition.op == op:
        return _parts(condition.left, op) + _parts(condition.right, op)
    return [condition]


def not_affine_subscript(array: str, expr: Expr, problem: NotAffineError, location: Location) -> UserError:
    """The refusal of a subscript."""
    return UserError(
        f"the subscript `{describe(expr)}` of `{array}` is not affine: {problem.reason}",
        location=location,
        hint=problem.hint or "write each subscript as a sum of iterators and sizes with constant factors",
    )


def bad_bound(problem: NotAffineError, head: Header, translator: Translator | None) -> UserError:
    """The refusal of a loop whose bounds are not affine."""
    found = translator.location(problem.culprit) if translator else None
    if problem.data:
        return UserError(
            f"a bound of the loop over `{head.iterator}` depends on data: {problem.reason}",
            location=found or head.condition_location,
            hint="copy the bound into an integer that does not change inside the SCoP, before the SCoP",
        )
    return UserError(
        f"a bound of the loop over `{head.iterator}` is not affine: {problem.reason}",
        location=found or head.condition_location,
        hint=problem.hint or "write bounds as sums of outer iterators and sizes with constant factors",
    )


def always_written(accesses: Sequence[tuple[Path, isl.Map]]) -> isl.Map | None:
    """The part of the writes to one array that happens whichever way the data-dependent branches go.

    before: if (c) x = 1; else x = 2;    after: x
    """
    total: isl.Map | None = None
    branches: dict[int, dict[int, list[tuple[Path, isl.Map]]]] = {}
    for path, relation in accesses:
        if path:
            number, branch = path[0]
            branches.setdefault(number, {}).setdefault(branch, []).append((path[1:], relation))
        else:
            total = relation if total is None else total.union(relation)
    for sides in branches.values():
        then, otherwise = always_written(sides.get(0, [])), always_written(sides.get(1, []))
        if then is not None and otherwise is not None:
            both = then.intersect(otherwise)
            total = both if total is None else total.union(both)
    return total
