"""Where a rank fails, is killed or wants something else than the others, all end within seconds and say why."""

from __future__ import annotations

import pickle
import re
import sys
from pathlib import Path
from subprocess import CompletedProcess

import pytest

import polytile
from polytile.diagnostics import UsageError
from polytile.distributed_scop import Choice
from polytile.runtime.ranks.mpi import communicator
from polytile.runtime.ranks.place import HostPlace
from polytile.runtime.ranks.transport import transport_named
from tests.ranks import by_hand
from tests.ranks.mpirun import mpirun

MOMENTS = 20
WITHIN = 60  # seconds, of a machine that does other things, too; alone it takes one


@pytest.fixture(scope="module")
def scop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, read once."""
    (made,) = polytile.compile(by_hand.SOURCE, name="by_hand.c")
    file = tmp_path_factory.mktemp("ranks") / "scop"
    file.write_bytes(pickle.dumps(made.scop))
    return file


def failing(scop: Path, *what: str, ranks: int = 3) -> CompletedProcess[str]:
    return mpirun(ranks, "tests.ranks.failing", str(scop), *what, timeout=WITHIN)


@pytest.mark.slow
@pytest.mark.parametrize("moment", range(MOMENTS))
def test_a_killed_rank_ends_all(scop: Path, moment: int) -> None:
    done = failing(scop, "kill", str(moment), ranks=2)
    assert done.returncode != 0 and "Killed (signal 9)" in done.stdout + done.stderr


@pytest.mark.slow
def test_there_are_as_many_moments(scop: Path) -> None:
    done = failing(scop, "count", ranks=2)
    assert done.returncode == 0 and done.stderr == "" and int(done.stdout) > MOMENTS


@pytest.mark.slow
def test_a_rank_that_fails_says_why(scop: Path) -> None:
    done = failing(scop, "fail", "17")
    assert done.returncode != 0
    assert "rank 2: polytile: error: the GPU has gone\n  note: look for it\n" in done.stderr


@pytest.mark.slow
def test_an_error_of_the_user_s_own_ends_all(scop: Path) -> None:
    done = failing(scop, "elsewhere")
    assert done.returncode != 0
    assert re.search(r"rank 2: Traceback .*\nValueError: of the user's own\n", done.stderr, re.DOTALL)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("length", "said"),
    [
        ("short", r"rank [01]: polytile: error: a message of rank 2 has 608 bytes in place of 616"),
        ("long", r"rank [01]: polytile: error: a message between this rank and 2 failed: .*truncated"),
    ],
)
def test_a_message_of_another_length(scop: Path, length: str, said: str) -> None:
    done = failing(scop, length)
    assert done.returncode != 0 and re.search(said, done.stderr, re.IGNORECASE), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("program", "ranks differ in program: [0-9a-f]{12} on ranks 0, 1; [0-9a-f]{12} on rank 2"),
        ("options", "ranks differ in options: [0-9a-f]{12} on ranks 0, 1; [0-9a-f]{12} on rank 2"),
        ("ranks", "ranks differ in ranks: auto on ranks 0, 1; 1,3 on rank 2"),
        ("steps_per_exchange", "ranks differ in steps_per_exchange: 1 on ranks 0, 1; 2 on rank 2"),
        ("exchange", "ranks differ in exchange: overlap on ranks 0, 1; basic on rank 2"),
        ("sizes", "ranks differ in sizes: steps=5, n=11, m=21 on ranks 0, 1; steps=5, n=12, m=21 on rank 2"),
        ("call", "ranks differ in call: a call on arrays of rank 0 on ranks 0, 1; a run on arrays of each rank on"),
        ("array", r"rank 2: A has shape \(10, 11\) of float64, and this rank holds \(11, 11\) of float64"),
    ],
)
def test_ranks_that_want_different_things(scop: Path, what: str, said: str) -> None:
    done = failing(scop, what)
    assert done.returncode == 1
    assert len(re.findall(f"UsageError: polytile: error: {said}", done.stderr)) == 1, done.stderr


@pytest.mark.slow
def test_mpi_without_threads(scop: Path) -> None:
    done = failing(scop, "no-threads", ranks=1)
    assert done.returncode == 1 and "error: MPI was started without support of threads\n  note: leave" in done.stderr


def test_without_mpi4py(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(UsageError, match="MPI cannot be used: import of mpi4py") as raised:
        communicator(None)
    assert raised.value.hint == "pip install mpi4py mpich, and start programs with mpirun -n 4 python"


def test_what_is_no_choice() -> None:
    for ranks in ("2,x", "", (), (2, 0), None, 2.5, "0"):
        with pytest.raises(UsageError, match="is no grid"):
            Choice.of(ranks, 1, "overlap", "auto", "auto")  # type: ignore[arg-type]
    for steps in (0, -1, True, 1.0, "2"):
        with pytest.raises(UsageError, match="steps_per_exchange must be a positive integer"):
            Choice.of("auto", steps, "overlap", "auto", "auto")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="there is no exchange 'all'") as raised:
        Choice.of("auto", 1, "all", "auto", "auto")
    assert raised.value.hint == "one of basic, diagonal, overlap"
    with pytest.raises(UsageError, match="there is no place 'cpu'"):
        Choice.of("auto", 1, "basic", "auto", "cpu")
    assert [Choice.of(r, 1, "basic", "auto", "auto").grid for r in ("auto", "2,3", 4, (1, 2))] == [
        None, (2, 3), (4,), (1, 2),
    ]  # fmt: skip


def test_what_is_no_transport() -> None:
    comm = communicator(None)
    with pytest.raises(UsageError, match="there is no transport 'udp'") as raised:
        transport_named("udp", comm, HostPlace())
    assert raised.value.hint == "one of auto, host, mpi, ipc, nccl"
    for name in ("mpi", "ipc", "nccl"):
        with pytest.raises(UsageError, match=f"the transport {name} passes memory of a GPU"):
            transport_named(name, comm, HostPlace())
    assert transport_named("auto", comm, HostPlace()).name == "host"


def test_what_is_no_communicator() -> None:
    with pytest.raises(UsageError, match="comm is str, no communicator of MPI"):
        communicator("all")
