"""`for` headers: from C to (lower, condition, step), and from there to the set of values the iterator takes."""

from __future__ import annotations

import islpy as isl
from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.diagnostics import Location, UserError
from polytile.frontend.affine import Evaluator
from polytile.frontend.c_types import where
from polytile.frontend.describe import describe
from polytile.frontend.expressions import Translator
from polytile.frontend.name_binding import Iterator, loop_iterator
from polytile.frontend.not_affine import LARGEST, NotAffineError
from polytile.ir.expr import INT, Access, Binary, Cast, CType, Expr, IteratorValue, Literal, Name
from polytile.ir.expr_trees import walk

_PARAM = isl.dim_type.param
_SET = isl.dim_type.set


@dataclass(frozen=True, slots=True)
class Header:
    """`for (type iterator = lower; condition; iterator += step)`."""

    iterator: str
    type: CType
    lower: Expr
    condition: Expr
    step: int
    location: Location
    condition_location: Location
    by_number: Expr | None = None  # the iterator's value, where its name stands for the number of the iteration

    @property
    def value(self) -> Expr:
        """The value of the iterator."""
        return self.by_number or Name(self.iterator, self.type)

    @property
    def descending(self) -> bool:
        """Whether later iterations have smaller numbers."""
        return self.step < 0 and self.by_number is None


def header(node: c_ast.For, translator: Translator, evaluator: Evaluator, known: isl.Set) -> Header:
    """Take a C `for` header apart; `known` is where the loop runs."""
    counter = loop_iterator(node)
    iterator = translator.names.loops.get(id(node))
    if counter is None or iterator is None:
        first = node.init.decls[1] if isinstance(node.init, c_ast.DeclList) else node.init
        raise _bad_header(node, "it does not start by setting one iterator", first)
    if iterator.type.kind != "int":
        raise UserError(
            f"the iterator `{iterator.source}` is not an integer",
            location=iterator.location,
            hint="count with an int, and compute the other value from it",
        )
    start = counter.init if isinstance(counter, c_ast.Decl) else node.init.rvalue
    if start is None:
        raise _bad_header(node, f"`{iterator.source}` has no first value", counter)
    lower = translator.value(start)
    if node.cond is None:
        raise _bad_header(node, "it has no condition", node)
    evaluator.iterators[iterator.name] = iterator.type
    step = _step(node, iterator, translator, evaluator, known)
    condition = translator.value(node.cond)
    places = where(node), where(node.cond)
    return Header(iterator.name, iterator.type, lower, condition, step, *places, iterator.value)


def numbered(
    head: Header, values: isl.Set, evaluator: Evaluator, known: isl.Set, *, is_used: bool
) -> IteratorValue | None:
    """The iterator as a sum of its first value and a multiple of the number of the iteration, for loops with another
    step than 1 and those that start at no number that is known: counting from 0, iterators and what is made of them are
    as small as the number of iterations, and each number is of one. So for loops that count down while nothing in them
    `is_used` of that: they are like others then.

    before: for (t = t0; t < t1; t += 7) S(t);                for (t = n; t > 0; t--) S();
    after:  for (t = 0; 7 * t < t1 - t0; t++) S(t0 + 7 * t);  for (t = 0; t < n; t++) S();
    """
    one = head.step == 1 or (head.step == -1 and is_used)
    if head.type.size < INT.size or (one and _starts_known(values, head.iterator)):
        return None
    if any(isinstance(node, Access) and (node.subscripts or node.field) for node in walk(head.lower)):
        return None
    first = evaluator.polynomial(head.lower, known)
    if first.degree > 1 or evaluator.of_polynomial(first, head.lower).n_piece() != 1:
        return None
    factor, number = Literal(str(abs(head.step)), INT), Name(head.iterator, head.type)
    if head.step > 0 and first.constant == 0:
        return IteratorValue("*", factor, number, head.type, head.iterator)
    lower = head.lower if head.lower.type == head.type else Cast(head.type, head.lower)
    distance = number if abs(head.step) == 1 else Binary("*", factor, number, head.type)
    return IteratorValue("+" if head.step > 0 else "-", lower, distance, head.type, head.iterator)


def _starts_known(values: isl.Set, iterator: str) -> bool:
    """Whether a number bounds the values from below."""
    position = values.find_dim_by_name(_PARAM, iterator)
    if position < 0 or values.is_empty():
        return True
    points = isl.Set.from_params(values).move_dims(_SET, 0, _PARAM, position, 1)
    return bool(points.dim_min_val(0).is_int())


def _step(node: c_ast.For, iterator: Iterator, translator: Translator, evaluator: Evaluator, known: isl.Set) -> int:
    match node.next:
        case c_ast.UnaryOp(op="++" | "p++", expr=target) if _is(target, iterator, translator):
            return 1
        case c_ast.UnaryOp(op="--" | "p--", expr=target) if _is(target, iterator, translator):
            return -1
        case c_ast.Assignment(op="+=" | "-=" as op, lvalue=target, rvalue=value) if _is(target, iterator, translator):
            step = _constant(value, translator, evaluator, known)
            return step if op == "+=" else -step
        case c_ast.Assignment(op="=", lvalue=target, rvalue=c_ast.BinaryOp(op="+" | "-" as op, left=a, right=b)) if _is(
            target, iterator, translator
        ):
            if op == "+" and _is(b, iterator, translator):
                a, b = b, a
            if _is(a, iterator, translator):
                step = _constant(b, translator, evaluator, known)
                return step if op == "+" else -step
    raise _bad_header(node, f"its step is not `{iterator.source} += constant`", node.next)


def _is(node: c_ast.Node, iterator: Iterator, translator: Translator) -> bool:
    return isinstance(node, c_ast.ID) and translator.names.uses.get(id(node)) is iterator


def _constant(node: c_ast.Node, translator: Translator, evaluator: Evaluator, known: isl.Set) -> int:
    try:
        value = evaluator.polynomial(translator.value(node), known).constant
    except NotAffineError:
        value = None
    if not value or abs(value) > LARGEST:
        raise UserError(
            "the step of a loop must be a constant other than 0, of 64 bits",
            location=where(node),
            hint="write a number, or a size by which the iterator goes up, with sums of sizes as bounds; or count the "
            "iterations: for (int t = 0; t * step < n; t++) with a constant step",
        )
    return value


def _bad_header(loop: c_ast.For, reason: str, node: c_ast.Node | None) -> UserError:
    at = node if node is not None and node.coord else loop
    return UserError(
        f"this loop cannot be analysed: {reason}", location=where(at), hint="write for (int i = lower; i < upper; i++)"
    )


def domain(head: Header, evaluator: Evaluator, known: isl.Set) -> isl.Set:
    """The values of the iterator where `known` holds, as constraints on the parameter of its name.

    before: i = lower; i < upper; i += 2   (known: n >= 1)
    after:  { : n >= 1 and exists e >= 0: i = lower + 2e and i < upper }
    """
    evaluator.iterators[head.iterator] = head.type
    before = len(evaluator.compared)
    iterator = head.value
    place, first = evaluator.polynomial(iterator, known), evaluator.used(head.lower, known)
    here, lower = evaluator.of_polynomial(place, iterator), evaluator.of_polynomial(first, head.lower)
    distance = here.sub(lower) if head.step > 0 else lower.sub(here)
    ahead = known.intersect(evaluator.compare(">=" if head.step > 0 else "<=", place, first, (iterator, head.lower)))
    size = abs(head.step)
    reached = ahead if head.type.signed else ahead.intersect(here.nonneg_set())
    if size > 1 and head.by_number is None:
        reached = reached.intersect(distance.mod_val(isl.Val(size)).eq_set(isl.PwAff("{ [(0)] }")))
    target = _awaited(head)
    if target is not None:
        result = reached.intersect(_before(target, here, lower, head, evaluator, known))
    else:
        with evaluator.behind_the_end():
            result = _until_false(reached, evaluator.condition(head.condition, reached), head)
        if evaluator.unproven:
            _check_condition(result, reached.intersect(here.eq_set(lower)), head, evaluator)
    _check_bounded(result, head)
    if not head.type.signed:
        _check_unsigned(result, here, head, evaluator)
    if evaluator.wraps(head.type):
        _check_wrapping(result, head, evaluator, known)
    if head.type.size < INT.size:
        _check_narrow(result, here, head, evaluator)
    result = result.coalesce()
    evaluator.compared[before:] = [(value, result) for value, _ in evaluator.compared[before:]]
    return result


def _awaited(head: Header) -> Expr | None:
    """The e of a condition `i != e` in which e does not depend on i."""
    own = head.value
    match head.condition:
        case Binary(op="!=", left=left, right=right):
            for a, b in ((left, right), (right, left)):
                if a == own and own not in walk(b):
                    return b
    return None


def _before(
    target: Expr, here: isl.PwAff, lower: isl.PwAff, head: Header, evaluator: Evaluator, known: isl.Set
) -> isl.Set:
    """Where `i != e` has not become false yet. A loop that misses e overflows, which C leaves undefined or wraps."""
    end = evaluator.of_polynomial(evaluator.used(target, known), target)
    gap = end.sub(lower) if head.step > 0 else lower.sub(end)
    zero = isl.PwAff("{ [(0)] }")
    hit = gap.mod_val(isl.Val(abs(head.step))).eq_set(zero)
    forwards = gap.nonneg_set()
    asked = evaluator.signed_wraps and head.type.signed and evaluator.require(known, forwards)
    misses = evaluator.wraps(head.type) and not asked and not evaluator.proves(known, forwards)
    if misses or not evaluator.proves(known.intersect(forwards), hit):
        raise UserError(
            f"`{describe(head.condition)}` may never become false",
            location=head.condition_location,
            hint=f"write `<` or `>` instead of `!=`, or promise that `{describe(target)}` is reached: "
            "#pragma polytile assume(...)",
        )
    return here.lt_set(end) if head.step > 0 else here.gt_set(end)


def _until_false(reached: isl.Set, holds: isl.Set, head: Header) -> isl.Set:
    """The values up to the first at which the condition fails."""
    running, failing = reached.intersect(holds), reached.subtract(holds)
    if failing.is_empty():
        return running
    later = _onwards(failing, head)
    return running if running.intersect(later).is_empty() else running.subtract(later)


def _onwards(values: isl.Set, head: Header) -> isl.Set:
    """The given values of the iterator and all after them."""
    return _moved(values, isl.Map("{ [a] -> [b] : b <= a }" if head.descending else "{ [a] -> [b] : b >= a }"), head)


def _moved(values: isl.Set, order: isl.Map, head: Header) -> isl.Set:
    """Values of the iterator that are related to some given ones."""
    position = values.find_dim_by_name(_PARAM, head.iterator)
    if position < 0:
        return values
    points = isl.Set.from_params(values).move_dims(_SET, 0, _PARAM, position, 1)
    reached = points.apply(order)
    reached = reached.move_dims(_PARAM, 0, _SET, 0, 1).set_dim_name(_PARAM, 0, head.iterator)
    return reached.params()


def _check_bounded(values: isl.Set, head: Header) -> None:
    position = values.find_dim_by_name(_PARAM, head.iterator)
    if position < 0 or values.is_empty():
        return
    points = isl.Set.from_params(values).move_dims(_SET, 0, _PARAM, position, 1)
    if not points.is_bounded():
        raise UserError(
            f"this loop does not end: `{describe(head.condition)}` holds for ever",
            location=head.condition_location,
            hint="bound the iterator on the side to which it moves",
        )


def _check_narrow(values: isl.Set, here: isl.PwAff, head: Header, evaluator: Evaluator) -> None:
    """A `char` or `short` that leaves its range starts again at the other end, which would make the loop endless."""
    limit = 2 ** (8 * head.type.size - head.type.signed) - 1
    following = here.add(isl.PwAff(f"{{ [({head.step})] }}"))
    lowest = isl.PwAff(f"{{ [({-limit - 1 if head.type.signed else 0})] }}")
    fits = following.ge_set(lowest).intersect(following.le_set(isl.PwAff(f"{{ [({limit})] }}")))
    if not evaluator.proves(values, fits):
        raise UserError(
            f"the iterator `{head.iterator}` may leave the range of {head.type}",
            location=head.condition_location,
            hint="count with an int",
        )


def _check_wrapping(values: isl.Set, head: Header, evaluator: Evaluator, known: isl.Set) -> None:
    """The iterator does not wrap around, up to where the condition fails."""
    low, high = (0, 1) if head.by_number else (min(head.step, 0) if head.type.signed else 0, max(head.step, 0))
    tested = _moved(values, isl.Map(f"{{ [a] -> [b] : {low} <= b - a <= {high} }}"), head).intersect(known)
    evaluator.must_not_wrap(evaluator.pw_aff(head.value, tested), head.value, tested)


def _check_condition(values: isl.Set, first: isl.Set, head: Header, evaluator: Evaluator) -> None:
    """The condition does not wrap around where C looks at it: at the first value of the iterator, at the others, and
    where it fails."""
    step = 1 if head.by_number else head.step
    following = _moved(values, isl.Map(f"{{ [a] -> [b] : b = a + {step} }}"), head)
    evaluator.condition(head.condition, first.union(values).union(following).coalesce())


def _check_unsigned(values: isl.Set, here: isl.PwAff, head: Header, evaluator: Evaluator) -> None:
    following = here.add(isl.PwAff(f"{{ [({head.step})] }}"))
    if not evaluator.proves(values, following.nonneg_set()):
        raise UserError(
            f"the unsigned iterator `{head.iterator}` may wrap around below 0",
            location=head.condition_location,
            hint="count down with a signed iterator",
        )
