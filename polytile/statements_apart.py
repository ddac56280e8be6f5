"""Where merged statements are better apart: large loop bodies are one statement each (frontend/macro_statements.py),
over which no loop can be distributed.

before: for (i) S0: { if (i < n - 9) { x[i] = ...; ... y[i] = x[i - 1] + ...; } else { ... } }    one thread
after:  for (i) S0: if (i < n - 9) x[i] = ...;   for (i) S1: if (i < n - 9) y[i] = x[i - 1] + ...;  ...  parallel loops
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polytile.compiled_scop import CompiledScop
from polytile.diagnostics import InternalError, UserError
from polytile.ir.scop import Scop
from polytile.options import Options

if TYPE_CHECKING:
    from polytile.facts import LoopFacts

MOST_STATEMENTS = 120  # apart: dependences, schedules and proofs of more take tens of seconds

Found = CompiledScop | UserError | InternalError


def may_be_better_apart(scop: Scop, found: Found, options: Options) -> bool:
    """Whether no loop around one of the merged statements runs in parallel, or a schedule that was given is for others.
    That of a given schedule is as it was asked for."""
    merged = [s.name for s in scop.statements if s.merged and s.iterators]
    if not merged or sum(len(s.merged) or 1 for s in scop.statements) > MOST_STATEMENTS:
        return False
    if not isinstance(found, CompiledScop):
        return options.load_schedule is not None
    loops = [loop for loop in found.loops if _is_parallel(loop)]
    serial = any(not any(name in loop.statements for loop in loops) for name in merged)
    return options.load_schedule is None and serial


def is_better(found: Found, before: Found) -> bool:
    """Whether all that ran in parallel does, and something else, too."""
    if not isinstance(found, CompiledScop):
        return False
    return not isinstance(before, CompiledScop) or _parallel(found) > _parallel(before)


def _parallel(found: CompiledScop) -> set[tuple[str, int]]:
    return {(loop.file, loop.line) for loop in found.loops if _is_parallel(loop)}


def _is_parallel(loop: LoopFacts) -> bool:
    from polytile.facts.model import Where

    return Where.GRID in loop.where or Where.BLOCK in loop.where
