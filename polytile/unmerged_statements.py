"""Where merged statements are better apart: large loop bodies are one statement each (frontend/macro_statements.py),
over which no loop can be distributed.

before: for (i) S0: { if (i < n - 9) { x[i] = ...; ... y[i] = x[i - 1] + ...; } else { ... } }    one thread
after:  for (i) S0: if (i < n - 9) x[i] = ...;   for (i) S1: if (i < n - 9) y[i] = x[i - 1] + ...;  ...  parallel loops
"""

from __future__ import annotations

from polytile.compiled_scop import CompiledScop
from polytile.diagnostics import InternalError, UserError
from polytile.ir.scop import Scop, Statement
from polytile.options import Options

MOST_STATEMENTS = 120  # apart: dependences, schedules and proofs of more take tens of seconds

Found = CompiledScop | UserError | InternalError


def may_be_better_apart(scop: Scop, found: Found, options: Options) -> bool:
    """Return whether no loop around one of the merged statements runs in parallel, or a schedule that was given is for
    others. The result of a given schedule is as it was asked for."""
    merged = {s.name for s in scop.statements if s.merged and s.iterators}
    if not merged or sum(map(_weight, scop.statements)) > MOST_STATEMENTS:
        return False
    given = options.load_schedule is not None or options.tuned is not None
    if not isinstance(found, CompiledScop):
        return given
    if options.load_schedule is not None:
        return False
    return not merged <= _shared_out(found)


def is_better(found: Found, before: Found) -> bool:
    """Return whether a larger part of the assignments runs in parallel loops."""
    if not isinstance(found, CompiledScop):
        return False
    return not isinstance(before, CompiledScop) or _parallel_part(found) > _parallel_part(before)


def _parallel_part(found: CompiledScop) -> float:
    parallel, every = _shared_out(found), found.compilation.source.statements
    return sum(_weight(s) for s in every if s.name in parallel) / sum(map(_weight, every))


def _shared_out(found: CompiledScop) -> frozenset[str]:
    from polytile.facts.transformed import shared_out  # compiling alone needs no facts

    return shared_out(found.compilation)


def _weight(statement: Statement) -> int:
    return len(statement.merged) or 1
