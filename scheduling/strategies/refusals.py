"""Why a strategy has no schedule for a SCoP: remembered for the user, who is told where that strategy was asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from polytile.diagnostics import UsageError
from polytile.ir.isl_util import OverBudgetError
from polytile.ir.statement_names import in_source_words
from polytile.scheduling.analysis.stencil_form import NotAStencilError
from polytile.scheduling.candidate import Problem


@contextmanager
def remembered_refusals(problem: Problem, strategy: str, too_long: str) -> Iterator[None]:
    """Remember why the block ends: no stencil, too long for isl, or requested sizes that do not fit.

    `too_long` says what takes too long. Raises UsageError where the strategy itself was asked for.
    """
    try:
        yield
    except OverBudgetError:
        problem.remembered[strategy] = f"{too_long} takes too long"
    except NotAStencilError as error:
        problem.remembered[strategy] = in_source_words(str(error), problem.scop)
    except UsageError as error:
        if problem.options.schedule == strategy:
            raise
        problem.remembered[strategy] = error.message  # sizes that are meant for another strategy
