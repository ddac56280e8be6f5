"""What calls of a distributed SCoP do and refuse, on four ranks."""

from __future__ import annotations

import pytest

from tests.ranks.mpirun import mpirun


@pytest.mark.slow
def test_calls() -> None:
    done = mpirun(4, "tests.ranks.calls")
    assert (done.returncode, done.stdout) == (0, "as it should be\n"), done.stderr[-3000:]
