"""isl calls whose time has a bound. isl counts operations, but some of its work counts as none, and nothing interrupts
it: long calls run in a process of their own, which ends when its processor time does."""

from __future__ import annotations

import gc
import os
import signal
import warnings
from collections.abc import Callable

from polytile.ir.isl_util import OverBudgetError

_DONE, _FAILED, _OVER_BUDGET = b"D", b"F", b"B"


def in_bounded_time(compute: Callable[[], str], seconds: float) -> str:
    """Return the text that `compute` gives, when it needs at most `seconds` of processor time.

    Raises OverBudgetError when it needs more, or says so itself; RuntimeError when it ended otherwise. Where processes
    cannot be forked, it runs here and without a bound.
    """
    if not hasattr(os, "fork"):
        return compute()
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads: the child only computes, writes and ends
        child = os.fork()
    if child == 0:
        os.close(reading)
        _compute(compute, seconds, writing)
    os.close(writing)
    try:
        with os.fdopen(reading, "rb") as pipe:
            answer = pipe.read()
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        _, status = os.waitpid(child, 0)
    if answer[:1] == _DONE:
        return answer[1:].decode()
    if answer[:1] == _OVER_BUDGET or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF):
        raise OverBudgetError(f"more than {seconds:g} s")
    raise RuntimeError(answer[1:].decode(errors="replace") or f"ended with status {status}")


def _compute(compute: Callable[[], str], seconds: float, pipe: int) -> None:
    """Run `compute` in the child process, write its result, and exit without any of the parent's clean-up."""
    status = 1
    gc.disable()  # it would walk through, and so copy, all that the parent has
    try:
        signal.signal(signal.SIGPROF, signal.SIG_DFL)  # ends the process, in the middle of what isl does, too
        signal.setitimer(signal.ITIMER_PROF, seconds)
        try:
            answer = _DONE + compute().encode()
        except OverBudgetError:
            answer = _OVER_BUDGET
        except Exception as error:
            answer = _FAILED + f"{type(error).__name__}: {error}".encode()
        while answer:
            answer = answer[os.write(pipe, answer) :]
        status = 0
    finally:
        os._exit(status)
