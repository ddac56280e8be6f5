"""Schedule files that cannot be used: the exit status, the place, the message and the hint of each."""

from __future__ import annotations

from pathlib import Path

import pytest

from polytile.cli.main import main

HERE = Path(__file__).parent
ILLEGAL = "this pair is one counterexample"
KEEP = "keep each instance in it exactly once"

REFUSED = {
    "jacobi_time_in_blocks": (
        "7:17",
        "illegal schedule: S0 (jacobi.c:7) at t=0, i=1, j=1 must run before S0 (jacobi.c:7) at t=1, i=1, j=1, through B"
        " (with tsteps=2, n=3), but the schedule runs them in different blocks of one launch, which are unordered",
        ILLEGAL,
    ),
    "jacobi_time_in_threads": ("7:17", "in different threads with no barrier between", ILLEGAL),
    "jacobi_swapped": ("7:17", "but the schedule runs them in the other order", ILLEGAL),
    "jacobi_one_kernel": ("7:17", "in different blocks of one launch", ILLEGAL),
    "jacobi_no_barrier": ("7:17", "in different threads with no barrier between", ILLEGAL),
    "lu_reversed": (
        "8:17",
        "illegal schedule: S1 (lu.c:8) at k=0, i=1, j=1 must run before S0 (lu.c:6) at k=1, i=2, through A (with n=3), "
        "but the schedule runs them in the other order",
        ILLEGAL,
    ),
    "jacobi_lost": ("3:9", "the filters of the schedule leave out instances", KEEP),
    "jacobi_shared": ("3:9", "two filters of the schedule share instances", KEEP),
    "jacobi_lone_filter": ("3:9", "a filter of the schedule leaves out instances", KEEP),
    "jacobi_smaller": ("3:9", "the schedule does not execute exactly the instances of jacobi_scop0", KEEP),
    "jacobi_larger": ("3:9", "the schedule does not execute exactly the instances of jacobi_scop0", KEEP),
    "jacobi_partial_band": ("3:9", "a band of the schedule leaves out instances", KEEP),
    "jacobi_nested_kernel": ("3:9", "a kernel mark stands inside another kernel", "one kernel mark"),
    "jacobi_nested_threads": ("3:9", "a thread mark belongs inside a kernel", "one thread mark"),
    "jacobi_rank": ("3:9", "thread[32] stands above a band with another number of members", "one size"),
    "jacobi_no_threads": ("3:9", "thread[0,32]: a block has 1 to 1024 threads", "smaller sizes"),
    "jacobi_along_z": ("3:9", "at most 64 along z", "smaller sizes"),
    "jacobi_sync_in_thread": ("3:9", "a sync mark stands above a serial band", "all threads of a block"),
    "jacobi_sizes_differ": ("3:9", "the thread marks of one kernel differ in their sizes", "one size"),
    "jacobi_four_members": ("3:9", "the band of a block mark has 1 to 3 members, not 4", "split the band"),
    "jacobi_no_band": ("3:9", "a block mark stands directly above a band", "put the band below"),
    "jacobi_unknown_mark": ("3:9", "unknown mark 'grid' in a schedule", "kernel, block, thread[sizes], sync or loop"),
    "jacobi_label_in_between": ("3:9", "a sync mark stands above a serial band", "all threads of a block"),
    "jacobi_label_of_nothing": ("3:9", "loop[t] names no loop", "directly above a serial band"),
    "jacobi_label_twice": ("3:9", "two loops of a kernel are called t", "one label for each loop"),
    "jacobi_outside": ("3:9", "a statement is outside every kernel", "put it below a `kernel` mark"),
    "jacobi_blocks_in_loop": ("3:9", "a block mark belongs directly below a kernel mark", "blocks of one launch"),
    "jacobi_context": ("3:9", "a schedule file holds domain, band, filter", "--save-schedule"),
    "jacobi_large_block": ("3:9", "thread[64,32]: a block has 1 to 1024 threads", "smaller sizes"),
    "local_no_threads": ("3:9", "thread[0]: a block has 1 to 1024 threads", "smaller sizes"),
    "jacobi_syntax": ("3:9", "not a schedule tree that isl can read", "--save-schedule"),
}


def test_every_file_is_tested() -> None:
    assert {p.stem for p in HERE.glob("*.yaml")} == set(REFUSED)


@pytest.mark.slow(but=5)
@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is written; with --keep-going the program is, with the SCoP as the user's C."""
    place, message, hint = REFUSED[name]
    source = HERE / f"{name.split('_')[0]}.c"
    schedule = HERE / f"{name}.yaml"
    command = [str(source), "--target", "cuda", "-o", str(tmp_path), "--no-cache"]
    command += ["--load-schedule", str(schedule)]
    assert main(command) == 1
    assert not list(tmp_path.iterdir())
    errors = capsys.readouterr().err
    first, *rest = [line for line in errors.splitlines() if line.strip()]
    assert first.startswith(f"{source}:{place}: error: ")
    assert message in first
    assert any("note: " in line and hint in line for line in rest)
    assert main([*command, "--keep-going"]) == 0
    assert "polytile_" not in (tmp_path / f"{source.stem}_host.c").read_text().split("#pragma scop")[0]
    assert "#pragma scop" in (tmp_path / f"{source.stem}_host.c").read_text()


@pytest.mark.slow
def test_a_good_schedule_of_the_same_program_is_used(tmp_path: Path) -> None:
    saved = tmp_path / "saved.yaml"
    source = str(HERE / "jacobi.c")
    assert main([source, "--target", "cuda", "-q", "-o", str(tmp_path), "--save-schedule", str(saved)]) == 0
    assert main([source, "--target", "cuda", "-q", "-o", str(tmp_path), "--load-schedule", str(saved)]) == 0
    assert "loaded schedule" in (tmp_path / "jacobi_kernel.cu").read_text()
