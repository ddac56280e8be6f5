"""Many trials: run them, say what failed as it fails, shrink it, write it down, and sum up."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import field, replace
from functools import partial
from pathlib import Path

from polytile.cli.progress import bar
from polytile.dataclass import dataclass
from polytile.fuzz.case import Case, case_of
from polytile.fuzz.children import run_all, run_one
from polytile.fuzz.outcome import REFUSED, Outcome
from polytile.fuzz.simplify import cost, simpler
from polytile.fuzz.trial import attempt
from polytile.fuzz.wellformed import well_formed


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run. `limit` are the seconds of processor time for one program, `shrinking` those by the clock for making
    one failure small."""

    seed: int
    indices: tuple[int, ...]
    jobs: int = 1
    limit: float = 30.0
    shrinking: float = 120.0
    stop_after: int = 0  # failures; 0: go on to the end
    sanitize: tuple[str, ...] = ()
    out: Path | None = None
    family: str = ""  # of programs; empty: all
    on: str = "emulator"

    def case(self, index: int) -> Case:
        """Return a trial by its number."""
        return replace(case_of(self.seed, index, self.sanitize, self.family), on=self.on)


@dataclass(slots=True)
class Tally:
    """What came of the trials so far."""

    kinds: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, Outcome]] = field(default_factory=list)
    seconds: float = 0.0
    interrupted: bool = False  # by Ctrl-C

    def add(self, index: int, outcome: Outcome) -> None:
        self.kinds[outcome.kind] += 1
        if outcome.kind == REFUSED:
            self.refusals[outcome.key] += 1
        if outcome.failed:
            self.failures.append((index, outcome))

    def lines(self) -> Iterator[str]:
        """Yield the summary: counts, the refusals by message, and the rate."""
        total = sum(self.kinds.values())
        rate = total / self.seconds * 60 if self.seconds else 0.0
        counts = ", ".join(f"{count} {kind}" for kind, count in self.kinds.most_common())
        early = ", interrupted" if self.interrupted else ""
        yield f"{total} programs in {self.seconds:.0f} s ({rate:.0f} a minute{early}): {counts or 'none'}"
        for message, count in self.refusals.most_common():
            yield f"  {count} refused: {message}"


def run_campaign(plan: Plan, say: Callable[[str], None]) -> Tally:
    """Run all trials of a plan, or those until Ctrl-C; `say` gets a line for each failure as it is found."""
    tally = Tally()
    start = time.monotonic()
    try:
        _run_trials(plan, tally, say)
    except KeyboardInterrupt:
        tally.interrupted = True
    tally.seconds = time.monotonic() - start
    return tally


def _run_trials(plan: Plan, tally: Tally, say: Callable[[str], None]) -> None:
    works = ((i, partial(_trial, plan, i)) for i in plan.indices)
    with bar("polytile fuzz", len(plan.indices)) as advance:
        for index, outcome in run_all(works, plan.jobs, plan.limit):
            tally.add(index, outcome)
            advance()
            if outcome.failed:
                say(_reported(plan, index, outcome))
            if plan.stop_after and len(tally.failures) >= plan.stop_after:
                break


def _trial(plan: Plan, index: int) -> Outcome:
    return attempt(plan.case(index))


def _reported(plan: Plan, index: int, outcome: Outcome) -> str:
    """Return the line of a failure; with a folder for results it is shrunk and written there first."""
    line = f"{index}: {outcome.kind}: {outcome.key or _first_line(outcome.message)}"
    if plan.out is None:
        return line
    case = shrink(plan.case(index), outcome, partial(_oracle, plan), plan.shrinking)
    file = plan.out / f"seed{plan.seed}-{index}.c"
    file.write_text(failure_text(plan, index, case, outcome, file.name))
    return f"{line} ({file})"


def _oracle(plan: Plan, case: Case) -> Outcome:
    return run_one(partial(attempt, case), plan.limit)


def failure_text(plan: Plan, index: int, case: Case, outcome: Outcome, name: str) -> str:
    """Return a C file that shows a failure, with a comment that says how it was seen."""
    message = "\n".join(f"   {line}".rstrip() for line in outcome.message.replace("*/", "* /").splitlines()[-30:])
    place = f" --on {plan.on}" if plan.on != "emulator" else ""
    family = f" --family {plan.family}" if plan.family else ""
    sizes = "; ".join(" ".join(f"{n}={v}" for n, v in s.items()) for s in case.sizes)
    head = f"""/* {outcome.kind}
   {case.command(name)}
   found by: polytile fuzz --seed {plan.seed} --only {index}{family}{place}
   sizes: {sizes or "none"}

{message}
*/
"""
    return head + case.text


def _first_line(text: str) -> str:
    return next(iter(text.splitlines()), "")


Oracle = Callable[[Case], Outcome]


def shrink(case: Case, seen: Outcome, oracle: Oracle, seconds: float) -> Case:
    """Find the smallest case within `seconds` for which `oracle` still gives the failure that was seen.

    Each round tries all variants of the best case so far and goes on from the first that still fails, until none does.
    """
    deadline = time.monotonic() + seconds
    case = _only_what_failed(case, seen, oracle)
    tried: set[str] = set()
    while True:
        smaller = _next(case, seen, oracle, deadline, tried)
        if smaller is None:
            return case
        case = smaller


def _only_what_failed(case: Case, seen: Outcome, oracle: Oracle) -> Case:
    """Keep the sizes and the strategy at which the failure was seen, where those suffice."""
    alone = case
    if seen.sizes is not None:
        alone = replace(alone, sizes=(case.sizes[seen.sizes],))
    if seen.strategy:
        alone = replace(alone, strategies=(seen.strategy,))
    return alone if alone != case and oracle(alone).same_as(seen) else case


def _next(case: Case, seen: Outcome, oracle: Oracle, deadline: float, tried: set[str]) -> Case | None:
    limit = cost(case)
    for variant in simpler(case):
        if time.monotonic() > deadline:
            return None
        key = repr(variant)
        if key in tried or not well_formed(variant.program) or cost(variant) >= limit:
            continue
        tried.add(key)
        if oracle(variant).same_as(seen):
            return variant
    return None
