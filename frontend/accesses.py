"""What a statement body reads and writes, with the iterations at which it does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import islpy as isl

from polytile.diagnostics import Location, UserError
from polytile.frontend.affine import Evaluator, NotAffineError
from polytile.frontend.describe import describe
from polytile.frontend.expressions import Translator
from polytile.frontend.loops import Header, domain
from polytile.frontend.polynomial import Polynomial
from polytile.ir.expr import Access, Assign, Binary, Declare, Expr, For, If, Stmt, Ternary, children
from polytile.ir.indirect_subscripts import gathered
from polytile.ir.scop import AccessKind

Path = tuple[tuple[int, int], ...]  # the data-dependent branches around an access: (which `if`, 0 then / 1 else)


@dataclass(frozen=True, slots=True)
class RawAccess:
    """One access before its array's shape is final. `points` may constrain the `inner` iterators of the body. A
    subscript that reads data is None: it may be any of its dimension."""

    kind: AccessKind
    access: Access
    subscripts: tuple[Polynomial | None, ...]
    points: isl.Set = field(compare=False)
    inner: tuple[str, ...]
    path: Path
    location: Location


@dataclass(slots=True)
class Collector:
    """Walks the body of one statement and collects its accesses."""

    evaluator: Evaluator
    translator: Translator | None = None
    names: dict[str, str] = field(default_factory=dict)  # array -> how the user calls it
    lenient: bool = False  # note accesses with a subscript that is not affine in `unknown` instead of refusing them
    unknown: list[tuple[AccessKind, str]] = field(default_factory=list)
    found: list[RawAccess] = field(default_factory=list)
    scalars: frozenset[str] = frozenset()  # declared inside the SCoP, which may hold an index that was read
    _inner: tuple[str, ...] = ()
    _path: Path = ()
    _ifs: int = 0

    def body(self, statements: Sequence[Stmt], known: isl.Set) -> None:
        for statement in statements:
            self._statement(statement, known)

    def _statement(self, statement: Stmt, known: isl.Set) -> None:
        match statement:
            case Assign(target=target, op=op, value=value):
                self._reads(value, known)
                if isinstance(target, Access):
                    if op:
                        self._add(AccessKind.READ, target, known)
                    self._add(AccessKind.WRITE, target, known)
            case Declare(value=value) if value is not None:
                self._reads(value, known)
            case If():
                self._if(statement, known)
            case For():
                self._for(statement, known)

    def _if(self, statement: If, known: isl.Set) -> None:
        self._reads(statement.condition, known)
        try:
            holds = self.evaluator.condition(statement.condition, known)
        except NotAffineError:
            pass
        else:
            self.body(statement.then, known.intersect(holds))
            self.body(statement.otherwise, known.subtract(holds))
            return
        number, path = self._ifs, self._path
        self._ifs += 1
        for branch, body in enumerate((statement.then, statement.otherwise)):
            self._path = (*path, (number, branch))
            self.body(body, known)
        self._path = path

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
        inner = self._inner
        self._inner = (*inner, statement.iterator)
        self.body(statement.body, points)
        self._inner = inner

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
        number, path, conditional = self._ifs, self._path, False
        try:
            holds = self.evaluator.condition(condition, known)
            regions = (known.intersect(holds), known.subtract(holds))
        except NotAffineError:
            regions = (known, known)
            conditional = True
            self._ifs += 1
        for branch, (side, points) in enumerate(zip(sides, regions, strict=True)):
            self._path = (*path, (number, branch)) if conditional else path
            if side is not None:
                self._reads(side, points)
        self._path = path

    def _add(self, kind: AccessKind, access: Access, known: isl.Set) -> None:
        try:
            subscripts = tuple(self._subscript(kind, access, s, known) for s in access.subscripts)
        except UserError:
            if not self.lenient:
                raise
            self.unknown.append((kind, access.array))
            return
        self.found.append(RawAccess(kind, access, subscripts, known, self._inner, self._path, access.location))

    def _subscript(self, kind: AccessKind, access: Access, expr: Expr, known: isl.Set) -> Polynomial | None:
        try:
            value = self.evaluator.used(expr, known)
            if len(access.subscripts) > 1 or self.lenient:
                self.evaluator.of_polynomial(value, expr)
        except NotAffineError as problem:
            if kind is AccessKind.READ and problem.data and not self.lenient and self._is_gathered(expr):
                self._reads(expr, known)
                return None
            location = (self.translator.location(expr) if self.translator else None) or access.location
            raise not_affine_subscript(self.names.get(access.array, access.array), expr, problem, location) from None
        return value

    def _is_gathered(self, expr: Expr) -> bool:
        found = gathered(expr)
        if found is None or not isinstance(found.index, Access):
            return False
        return bool(found.index.subscripts) or found.index.array in self.scalars


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
