"""What compilations of one Scop in several schedules share: its analysis, what strategies propose for it, estimates of
that, and what becomes of a candidate.

before: auto: analysis, classic, superposed, tiled, ...; split: analysis, classic, superposed, tiled, ...
after:  auto: analysis, classic, superposed, tiled, ...; split: what differs

All of it is frozen and follows from its arguments. The schedule that is asked for says which of it is taken; only the
strategy of that name looks at it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from polytile import pipeline
from polytile.choices import OVER_TIME, Choices
from polytile.compilation import Compilation
from polytile.ir import isl_memoization
from polytile.ir.scop import Scop
from polytile.options import Options
from polytile.pipeline import ANALYSIS
from polytile.scheduling.candidate import Candidate, Problem, Strategy
from polytile.stages import candidate_time, select_schedule

KEPT = 4  # Scops
_PARTS = ("scop", "dependences", "schedule", "run", "known_homes", "given", "all_given", "plans", "estimate")
_SAID = {Compilation: ("remarks", "reasons"), Candidate: ("notes", "reasons")}
_FROM = ("scop", "dependences", "schedule", "executions", "known_homes", "given", "all_given", "plans")


class Shared:
    """Of one Scop: what was found, by what it follows from, and the answers of isl."""

    def __init__(self, scop: Scop) -> None:
        self.scop = scop
        self.answers: dict[int, dict[Any, Any]] = {}  # by the operations that finding them may take
        self.realised: dict[tuple[Any, ...], tuple[Candidate, Candidate]] = {}  # before and behind an estimate
        self._found: dict[tuple[Any, ...], tuple[object, Any]] = {}

    def once(self, key: tuple[Any, ...], kept: object, find: Callable[[], Any]) -> Any:
        """What `find` gives, found once for a key, in which are identities of what `kept` holds."""
        if key not in self._found:
            self._found[key] = kept, find()
        return self._found[key][1]


_known: OrderedDict[int, Shared] = OrderedDict()
_current: ContextVar[Shared | None] = ContextVar("what is shared", default=None)


def compile_sharing(scop: Scop, options: Options) -> Compilation:
    """The stages of `compile_scop`, of which compilations of this very Scop share what they can."""
    shared = _known.pop(id(scop), None) or Shared(scop)
    _known[id(scop)] = shared
    if len(_known) > KEPT:
        _known.popitem(last=False)
    answers = isl_memoization._KNOWN.set(shared.answers.setdefault(options.max_operations, {}))
    token = _current.set(shared)
    try:
        return _compile(scop, options)
    finally:
        _current.reset(token)
        isl_memoization._KNOWN.reset(answers)


_compile: Callable[[Scop, Options], Compilation] = pipeline.compile_scop.__wrapped__  # type: ignore[attr-defined]
_through, _strategy = pipeline._through, select_schedule.strategy
_with_snapshots, _mixed = select_schedule.with_snapshots, select_schedule.mixed


def _options(asked: Options | Choices) -> str:
    """All of them but for the schedule that is asked for."""
    return repr(replace(asked, schedule="auto"))


def _identity(problem: Problem) -> tuple[Any, ...]:
    identities = map(id, (problem.scop, problem.dependences, *(problem.unexpanded or ())))
    return *identities, _options(problem.options), _options(problem.choices), problem.notes, problem.assumed


def through(stages: pipeline.Stages, state: Compilation, observe: pipeline.Observer) -> Compilation:
    """The state behind some stages; what they add to remarks and reasons stands behind those of this one."""
    shared = _current.get()
    if shared is None:
        return _through(stages, state, observe)
    if stages != ANALYSIS:
        state = _as_estimated(shared, state)
    key = stages[0][0], _options(state.options), *(id(getattr(state, name)) for name in _FROM if stages != ANALYSIS)
    before, after = shared.once(key, state, lambda: (state, _through(stages, state, observe)))
    return replace(after, options=state.options, **_said(state, before, after))


def _of(options: Options, one: Candidate | Compilation) -> tuple[Any, ...]:
    return _options(options), id(one.scop), id(one.dependences), id(one.schedule)


def _as_estimated(shared: Shared, state: Compilation) -> Compilation:
    """The state of a candidate of which no estimate was asked for, with what one for another schedule has found."""
    found = shared.realised.get(_of(state.options, state))
    if found is None or state.executions is not None or state.given or state.all_given:
        return state
    before, after = found
    reasons = (*state.reasons, *after.reasons[len(before.reasons) :])
    homes, plans = after.known_homes, after.plans
    return replace(
        state, schedule=after.schedule, executions=after.run, known_homes=homes, plans=plans, reasons=reasons
    )


def strategy(name: str) -> Strategy:
    """A strategy whose candidates are made once; those over time say more where they are asked for."""
    shared, propose = _current.get(), _strategy(name)
    if shared is None:
        return propose

    def proposed(problem: Problem) -> Iterator[Candidate]:
        key = name, name in OVER_TIME and problem.options.schedule == name, *_identity(problem)
        made: _Proposed = shared.once(key, problem, lambda: _Proposed(problem, propose(problem)))
        return made.again(problem)

    return proposed


class _Proposed:
    """The candidates of a strategy, each made when it is first asked for, and what it raised."""

    def __init__(self, problem: Problem, made: Iterator[Candidate]) -> None:
        self._problem, self._made = problem, made
        self._found: list[Candidate] = []
        self._raised: Exception | None = None

    def again(self, problem: Problem) -> Iterator[Candidate]:
        position = 0
        while position < len(self._found) or self._makes_another():
            problem.remembered.update(self._problem.remembered)
            yield self._found[position]
            position += 1
        problem.remembered.update(self._problem.remembered)
        if self._raised is not None:
            raise self._raised

    def _makes_another(self) -> bool:
        try:
            one = next(self._made, None) if self._raised is None else None
        except Exception as error:
            self._raised, one = error, None
        if one is not None:
            self._found.append(one)
        return one is not None


def of_candidate(find: Callable[[Problem, Candidate], Candidate]) -> Callable[[Problem, Candidate], Candidate]:
    """`find`, once for candidates of a problem that differ in what they say alone."""

    def found(problem: Problem, candidate: Candidate) -> Candidate:
        shared = _current.get()
        if shared is None:
            return find(problem, candidate)
        parts = (id(getattr(candidate, name)) for name in _PARTS)
        key = find.__name__, candidate.strategy, candidate.repeats, *parts, *_identity(problem)
        before, after = shared.once(key, problem, lambda: (candidate, find(problem, candidate)))
        if before.run is None and after.run is not None:
            shared.realised.setdefault(_of(problem.options, before), (before, after))
        return after if before is candidate else replace(after, **_said(candidate, before, after))

    return found


def _said(now: Any, before: Any, after: Any) -> dict[str, tuple[Any, ...]]:
    """What `now` says of itself, and behind it what was added between `before` and `after`."""
    said = {}
    for name in _SAID[type(now)]:
        old, new = getattr(before, name), getattr(after, name)
        assert new[: len(old)] == old
        said[name] = (*getattr(now, name), *new[len(old) :])
    return said


def with_snapshots(problem: Problem, *, at_any_cost: bool = False) -> Problem | None:
    shared = _current.get()
    if shared is None:
        return _with_snapshots(problem, at_any_cost=at_any_cost)
    key = "snapshots", at_any_cost, *_identity(problem)
    found = shared.once(key, problem, lambda: _with_snapshots(problem, at_any_cost=at_any_cost))
    return found and replace(found, options=problem.options)


def mixed(*candidates: Candidate) -> Candidate | None:
    shared = _current.get()
    if shared is None:
        return _mixed(*candidates)
    return shared.once(("mixed", *map(id, candidates)), candidates, lambda: _mixed(*candidates))


pipeline._through = through
select_schedule.strategy, select_schedule.with_snapshots, select_schedule.mixed = strategy, with_snapshots, mixed
select_schedule._with_points = of_candidate(select_schedule._with_points)
candidate_time.with_estimate = select_schedule.with_estimate = of_candidate(candidate_time.with_estimate)
