"""The proof that partial results of reductions, and reductions in another order, add up to what the source does.

The instances of a reduction that make one result are one node in the source; in the program, what adds partial results
up to it is, or they themselves in another order. Three things are shown here:

- in the source, the instances of each result are one uninterrupted chain `x op= e`;
- in the program, so are those that add to the result, and each instance's partial result goes to exactly one of them,
  of the same result, through values that start as what is neutral to the operation;
- each statement does to single values what it should.

That the others see the same of each result on both sides is shown with all other values (dataflow.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import lru_cache

import islpy as isl

from polytile.dataclass import dataclass
from polytile.diagnostics import InternalError
from polytile.ir.expr import Access, Assign, CType, For, Name, Scope
from polytile.ir.identity_key import IdentityKey
from polytile.ir.isl_memoization import memoized
from polytile.ir.isl_util import OverBudgetError, covers, union_of, with_tuple_names
from polytile.ir.partial_results import Privatised, Reordered
from polytile.ir.reads_apart import with_reads_apart
from polytile.ir.reductions import accumulation, fold, identity, partial_type
from polytile.ir.scop import AccessKind, Scop, Statement
from polytile.options import MAX_OPERATIONS
from polytile.scheduling.analysis.chains import Values, accumulated, broken_chain, own_element, projection, settled
from polytile.scheduling.analysis.dependences import Dependences, array_values
from polytile.scheduling.analysis.last_writers import is_seen, last_writers

WORDS = {"+": "sum", "*": "product", "min": "minimum", "max": "maximum"}


@dataclass(frozen=True, slots=True)
class Regrouping:
    """One reduction in partial results, or in another order: `parts` are the source's statements, `array` is what is
    added to, `root` the source's. `source` and `program` map instances to the results that they make up: those of the
    source, and those that add to the array.
    """

    made: Privatised | Reordered
    parts: tuple[str, ...]
    array: str
    root: str
    source: isl.UnionMap = field(compare=False)
    program: isl.UnionMap = field(compare=False)

    @property
    def last(self) -> tuple[str, ...]:
        """Return the statements that add to the array: partial results, or the steps themselves."""
        return tuple(name for name, _ in _adding(self.made))

    def __str__(self) -> str:
        if not isinstance(self.made, Privatised):
            return str(self.made).replace(" run ", f" into {self.array} run ")
        splits = (f"{s.size} partial accumulators" if s.lanes else f"tiles of {s.size}" for s in self.made.splits)
        what = WORDS.get(self.made.op, self.made.op)
        adders = f", added up by {self.made.gathering.lanes} threads" if self.made.gathering else ""
        return f"the {what} of {self.made.statement} into {self.made.array} is regrouped: {', '.join(splits)}{adders}"


def regroupings(source: Scop, program: Scop) -> tuple[Regrouping, ...]:
    """Return the reductions that were privatised, or reordered, on the way from `source` to `program`."""
    split = (_regrouping(source, program, made, made.array) for made in program.privatised)
    turned = (_regrouping(source, program, made, _accumulator(program, made)) for made in program.backwards)
    return (*split, *turned)


def _accumulator(program: Scop, made: Reordered) -> str:
    written = {a.array for name, _ in made.steps for a in program.statement(name).accesses if a.writes}
    if len(written) != 1:
        raise InternalError(f"{program.name}: {made.update} runs in another order and is no reduction")
    return written.pop()


def _adding(made: Privatised | Reordered) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Return the statements that add to the array, with their iterators that index the results."""
    if isinstance(made, Privatised):
        return ((made.last, made.keys),) if made.last else ((made.update, made.keys),)
    return made.steps


def _regrouping(source: Scop, program: Scop, made: Privatised | Reordered, array: str) -> Regrouping:
    root, name = program.array(array).root, f"{made.update}_result"
    steps = ((made.update, made.group),) if isinstance(made, Privatised) else made.steps
    parts = [(part, group) for step, group in steps for part in program.statement(step).parts or (step,)]
    own = [(source.statement(part), group) for part, group in parts]
    writers = [(s, group) for s, group in own if any(a.writes and a.array == root for a in s.accesses)]
    if not writers:
        raise InternalError(f"{source.name}: no statement of the source is the reduction into {array}")
    ours = _results_of(source, writers, name, source)
    theirs = _results_of(source, [(program.statement(last), keys) for last, keys in _adding(made)], name, program)
    return Regrouping(made, tuple(s.name for s, _ in writers), array, root, ours, theirs)


def _results_of(
    source: Scop, steps: Sequence[tuple[Statement, tuple[int, ...]]], name: str, scop: Scop
) -> isl.UnionMap:
    """Map the instances of statements to the results that they make up."""
    found = (projection(s.domain.intersect_params(source.context), group, name) for s, group in steps)
    return union_of(map(isl.UnionMap.from_map, found), scop.context.get_space())


Comparable = tuple[tuple[Regrouping, ...], Scop, Dependences, Scop, Dependences]


def comparable(source: Scop, before: Dependences, program: Scop, after: Dependences) -> Comparable:
    """Rewrite source and program to a form in which their reductions can be compared, each with its dependences.

    These come behind what became of the reductions. The source has certain writes in those that are different in the
    program (see chains.settled), and in both the reads of other elements are separated (see reads_apart.py).

    Raises OverBudgetError where the dependences are not found exactly.
    """
    return _comparable(IdentityKey(source), IdentityKey(before), IdentityKey(program), IdentityKey(after))


@lru_cache(maxsize=8)  # the sums of the results, and the values of all arrays, are proven one after the other
def _comparable(
    of_source: IdentityKey[Scop],
    of_before: IdentityKey[Dependences],
    of_program: IdentityKey[Scop],
    of_after: IdentityKey[Dependences],
) -> Comparable:
    source, before, program, after = of_source.value, of_before.value, of_program.value, of_after.value
    results = regroupings(source, program)
    parts = frozenset(part for r in results for part in r.parts)
    certain = settled(with_reads_apart(source, parts), parts)
    whole = with_reads_apart(program, {name for made in program.backwards for name, _ in made.steps})
    before = _values_of(source, certain, before, {r.root for r in results})
    return results, certain, before, whole, _values_of(program, whole, after, {r.array for r in results})


def _values_of(scop: Scop, changed: Scop, known: Dependences, arrays: set[str]) -> Dependences:
    """Compute the dependences of a Scop made from another one, which differs in how it uses these arrays."""
    if changed is scop:
        return known
    found = [array_values(changed, d.array, MAX_OPERATIONS) if d.array in arrays else d for d in known.by_array]
    if not all(d.exact for d in found if d.array in arrays):
        raise OverBudgetError("the values of a reduction")
    return replace(known, by_array=tuple(found))


def wrong_regroupings(
    source: Scop, before: Dependences, program: Scop, after: Dependences
) -> tuple[tuple[Regrouping, str], ...]:
    """Return the reductions whose partial results do not add up to what the source does, with the reason.

    Empty is the proof, along with that of dataflow.changed_values. `before` and `after` are the dependences of the two.
    """
    results, source, before, program, after = comparable(source, before, program, after)
    found = []
    for result in results:
        made = result.made
        if isinstance(made, Privatised) and not _is_complete(made):
            found.append((result, "nothing adds the partial results up"))
            continue
        reasons = [
            *_wrong_source(source, before, result),
            *(wrong_parts(program, after, made) if isinstance(made, Privatised) else ()),
            *_wrong_sums(program, after, result),
            *_wrong_bodies(source, program, result),
        ]
        found += [(result, reason) for reason in reasons]
    return tuple(found)


def _is_complete(made: Privatised) -> bool:
    """Return whether something adds up all partial results."""
    return (made.middle is None) != bool(made.combine and made.finish) and made.last is not None


# The source ----------------------------------------------------------------------------------------------------------
def _wrong_source(source: Scop, before: Dependences, result: Regrouping) -> Iterator[str]:
    for part in result.parts:
        if not before.of(result.root).exact or own_element(source.statement(part), result.root) is None:
            yield f"{part} uses other elements of {result.root}"
            return
    broken = broken_chain(result.source.domain(), result.source, _values(source, before, result.root))
    if broken:
        yield f"in the source, {broken}"


def _values(scop: Scop, dependences: Dependences, array: str) -> Values:
    found = dependences.of(array)
    last = last_writers(scop, array) if is_seen(scop, array) else isl.UnionMap.empty(found.flow.get_space())
    flow, unset, last = (m.intersect_params(scop.context) for m in (found.flow, found.uninitialised, last))
    return Values(flow, unset, last)


# The program ---------------------------------------------------------------------------------------------------------
def wrong_parts(program: Scop, after: Dependences, made: Privatised) -> Iterator[str]:
    """Yield what is wrong with partial results.

    Each value has to go to one reader, of the same result, and what is read has to be written.
    """
    ends = [s for s in (made.combine, made.finish) if s is not None]
    steps = [(made.partial, [made.initial, made.update], [made.update, ends[0]], made.update)]
    if made.middle is not None:
        steps.append((made.middle, [ends[0]], [ends[1]], ends[0]))
    if made.gathering is not None:
        given, adds = made.gathering, ends[-1]
        steps.append((given.partial, [given.initial, adds], [adds, given.total], adds))
    for array, writers, readers, source in steps:
        if not _used_by(program, array, writers, readers) or not after.of(array).exact:
            yield f"others use {array}"
            continue
        wrong = _wrong_steps(program, after, made, array, source)
        if wrong:
            yield f"in {array}, {wrong}"


def _used_by(program: Scop, array: str, writers: list[str], readers: list[str]) -> bool:
    """Return whether just these write an array, certainly, and these read it."""
    users = {(s.name, a.kind) for s in program.statements for a in s.accesses if a.array == array}
    wanted = {(name, AccessKind.WRITE) for name in writers} | {(name, AccessKind.READ) for name in readers}
    return users == wanted


def _roles(made: Privatised) -> dict[str, str]:
    """Name the statements that partial results go through by what they do.

    The names are the same for every reduction, so that isl is asked once about those over equal loops.
    """
    given = made.gathering
    named = {"initial": made.initial, "update": made.update, "combine": made.combine, "finish": made.finish}
    named |= {"lanes": given.initial, "total": given.total} if given else {}
    return {name: role for role, name in named.items() if name is not None}


def _wrong_steps(program: Scop, after: Dependences, made: Privatised, array: str, source: str) -> str | None:
    found, roles = after.of(array), _roles(made)

    def instances(*statements: str) -> isl.UnionSet:
        return _instances(program, {name: roles[name] for name in statements})

    if not found.uninitialised.intersect_params(program.context).is_empty():
        return "a value is read that nothing wrote"
    flow = with_tuple_names(found.flow.intersect_params(program.context), roles)
    flow = flow.detect_equalities()  # isl takes ten times as long to subtract what leaves them to be found
    return _wrong_flow(flow, _results(program, made, roles), instances(source), instances(*made.folds))


def _results(program: Scop, made: Privatised, roles: Mapping[str, str]) -> isl.UnionMap:
    """Return the relation from the instances of the program that carry parts of a result to it.

    Initial values carry nothing.
    """
    total = isl.UnionMap.empty(program.context.get_space().params())
    keys = tuple(range(len(made.group)))
    for name, positions in ((made.update, made.group), *((n, keys) for n in (*made.folds, made.finish))):
        if name is not None:
            domain = program.statement(name).domain.intersect_params(program.context).set_tuple_name(roles[name])
            total = total.union(isl.UnionMap.from_map(projection(domain, positions, "x")))
    return total


@memoized
def _wrong_flow(
    flow: isl.UnionMap, results: isl.UnionMap, members: isl.UnionSet, combining: isl.UnionSet
) -> str | None:
    """Describe what is wrong with the flow of partial results between instances that carry parts of `results`.

    `members` write them, `combining` ones read several. Returns None if nothing is.
    """
    single = results.domain().subtract(combining)
    onward = flow.intersect_domain(members)
    steps = onward.apply_domain(results).apply_range(results)
    if not covers(onward.domain(), members):
        return "a value is lost"
    if not onward.is_single_valued():
        return "a value is used twice"
    if not flow.intersect_range(single).reverse().is_single_valued():
        return "a value comes from several places"
    if not steps.is_subset(isl.UnionSet.identity(steps.domain())):
        return "a value goes to another result"
    return None


def _instances(program: Scop, roles: Mapping[str, str]) -> isl.UnionSet:
    total = isl.UnionSet.empty(program.context.get_space().params())
    for name, role in roles.items():
        domain = program.statement(name).domain.intersect_params(program.context)
        total = total.union(isl.UnionSet.from_set(domain.set_tuple_name(role)))
    return total


def _wrong_sums(program: Scop, after: Dependences, result: Regrouping) -> Iterator[str]:
    """Yield why what adds to a result is not one uninterrupted chain, too."""
    array = result.array
    for last in result.last:
        if not after.of(array).exact or own_element(program.statement(last), array) is None:
            yield f"{last} uses other elements of {array}"
            return
    broken = broken_chain(result.program.domain(), result.program, _values(program, after, array))
    if broken:
        yield f"in what adds the partial results up, {broken}"


# Bodies --------------------------------------------------------------------------------------------------------------
def _wrong_bodies(source: Scop, program: Scop, result: Regrouping) -> Iterator[str]:
    made = result.made
    element = program.array(made.partial if isinstance(made, Privatised) else result.array).element
    if not _same_updates(source, program, result, element):
        yield f"{made.update} does not do what {' and '.join(result.parts)} {'do' if result.parts[1:] else 'does'}"
    elif isinstance(made, Privatised):
        yield from _wrong_combination(program, made, element)


def _wrong_combination(program: Scop, made: Privatised, element: CType) -> Iterator[str]:
    starts = [(made.initial, made.partial)]
    starts += [(made.gathering.initial, made.gathering.partial)] if made.gathering else []
    for name, array in starts:
        if not _starts(program.statement(name), array, made.op, element):
            yield f"{name} does not write what is neutral to {made.op}"
    sizes = tuple(s.size for s in made.splits if s.lanes)
    if made.combine is not None and not _folds(
        program.statement(made.combine), made.op, made.partial, sizes, made.array, made.middle
    ):
        yield f"{made.combine} does not combine all accumulators"
    given = made.gathering
    into = given.partial if given else made.array
    if made.finish is not None and not _adds(program.statement(made.finish), made, into):
        yield f"{made.finish} does not add up all tiles"
    if given and not _folds(program.statement(given.total), made.op, given.partial, (given.lanes,), made.array):
        yield f"{given.total} does not combine all accumulators"


def _same_updates(source: Scop, program: Scop, result: Regrouping, element: CType) -> bool:
    """Return whether what is accumulated, in values of type `element`, is what the source's statements do, one after
    the other."""
    made, theirs = result.made, [accumulated(source.statement(part)) for part in result.parts]
    wanted = [found for own in theirs for _, found in own]
    names = (made.update,) if isinstance(made, Privatised) else (name for name, _ in made.steps)
    given = [found for name in names for _, found in accumulated(program.statement(name))]
    if not all(theirs) or [(f.op, f.inverse) for f in wanted] != [(f.op, f.inverse) for f in given]:
        return False
    return {partial_type(found) for found in wanted} == {element} and {found.op for found in wanted} == {made.op}


def _starts(statement: Statement, partial: str, op: str, element: CType) -> bool:
    match statement.body:
        case (Assign(target=Access(array=array), op="", value=value),):
            return array == partial and value == identity(op, element)
    return False


def _folds(
    statement: Statement, op: str, partial: str, sizes: tuple[int, ...], array: str, middle: str | None = None
) -> bool:
    """Return whether a body is a fold over the partial results `partial` that is added to `array`.

    It may write the value to `middle` instead.
    """
    given = statement.combine
    if given is None or (given.op, given.array, given.sizes) != (op, partial, sizes):
        return False
    match statement.body:
        case (Scope(body=(first, loop, last)),):
            lanes, inner = [], loop
            while isinstance(inner, For) and len(inner.body) == 1:
                lanes.append(inner.iterator)
                inner = inner.body[0]
            if len(lanes) != len(sizes) or (first, loop) != fold(given, lanes):
                return False
            value = Name(given.value, given.type)
            if middle is not None:
                return isinstance(last, Assign) and (last.op, last.value) == ("", value) and _into(last, middle)
            found = accumulation(last)
            same = found is not None and (found.op, found.value) == (op, value) and not found.inverse
            return same and isinstance(last, Assign) and _into(last, array)
    return False


def _into(statement: Assign, array: str) -> bool:
    return isinstance(statement.target, Access) and statement.target.array == array


def _adds(statement: Statement, made: Privatised, into: str) -> bool:
    found = accumulation(statement.body[0]) if len(statement.body) == 1 else None
    if found is None or found.inverse or (found.op, found.target.array) != (made.op, into):
        return False
    return isinstance(found.value, Access) and found.value.array == (made.middle or made.partial)
