"""Asynchronous copies and split barriers: every kind of build runs right uses, and finds wrong ones."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from polytile.runtime.emulator import EmulatorLibrary, compile_shared
from polytile.runtime.emulator.findings import Finding, Reader
from polytile.runtime.emulator.instrument import CHECKS, COUNTING, PLAIN, checked

KERNELS = Path(__file__).parent / "kernels"
LAUNCH_FAILURE, MISALIGNED, ILLEGAL_ADDRESS, WRONG_RESULT = 719, 716, 700, 1000
BUILDS = {
    "plain": PLAIN,
    "counting": COUNTING,
    "address": checked(["address"]),
    "race": checked(["race"]),
    "uninitialised": checked(["uninitialised"]),
    "all checks": checked(CHECKS),
}


@dataclass(frozen=True)
class Outcome:
    """What run_NAME returned, what it said when it could not go on, and what the checks found."""

    status: int
    message: str
    findings: tuple[Finding, ...]


Run = Callable[[str, str, str], Outcome]

RIGHT = {
    "copies": ("aligned", "groups", "pipeline", "widths", "written"),
    "split_barriers": ("all_readers", "copied", "elected", "mixed", "ring", "rounds", "within_a_warp"),
}

# What is wrong about the order of accesses: name -> what the race check says, and what comes out without it.
RACES = {
    ("copies", "barrier_before_wait"): ("copy of thread (0,0,0) may still write", WRONG_RESULT),
    ("copies", "no_barrier"): ("with no barrier between them", WRONG_RESULT),
    ("copies", "no_commit"): ("reads element 0 of s, which an asynchronous copy", WRONG_RESULT),
    ("copies", "no_wait"): ("copy of thread (0,0,0) may still write", WRONG_RESULT),
    ("copies", "source_written"): ("element 0 of to, which an asynchronous copy of thread (0,0,0) may still read", 0),
    ("copies", "target_written"): ("writes element 0 of s, which an asynchronous copy", 0),
    ("copies", "too_few_slots"): ("writes element 0 of slots, which thread (63,0,0)", WRONG_RESULT),
    ("copies", "wait_for_too_few"): ("reads element 64 of s, which an asynchronous copy", WRONG_RESULT),
    ("split_barriers", "copied_too_late"): ("with no barrier between them", 0),
    ("split_barriers", "elected_too_early"): ("of row, which thread", WRONG_RESULT),
    ("split_barriers", "in_used_memory"): ("thread (50,0,0) of block (0,0,0) writes element 0 of row", 0),
    ("split_barriers", "no_await"): ("with no barrier between them", WRONG_RESULT),
    ("split_barriers", "third_reader"): (
        "(0,0,0) writes element 0 of s, which thread (64,0,0) of block (0,0,0) reads",
        0,
    ),
    ("split_barriers", "unfilled"): ("of slots, which thread", WRONG_RESULT),
    ("split_barriers", "unordered_arrival"): ("phase 1 of a split barrier, but nothing orders that behind phase 0", 0),
}

# What no program may do, which every kind of build finds: name -> the check that it counts as, and what is said.
MISUSES = {
    ("copies", "never_waited"): ("undefined", "ends while a copy that it began is on its way"),
    ("split_barriers", "arrives_twice"): ("undefined", "arrives at a split barrier twice in phase 0"),
    ("split_barriers", "overwritten"): ("undefined", "arrives at a split barrier twice in phase 0"),
    ("split_barriers", "same_parity"): ("undefined", "awaits parity 0 of a split barrier: phase 2 is yet to come"),
    ("split_barriers", "start_unseen"): ("race", "whose start by another thread no barrier lets it see"),
    ("split_barriers", "too_many_arrivals"): ("undefined", "in phase 1 of a split barrier and has waited for nothing"),
    ("split_barriers", "wrong_parity"): ("undefined", "awaits parity 1 of a split barrier: phase 1 is yet to come"),
}

# The same, with no going on.
FATAL = {
    ("copies", "misaligned"): (MISALIGNED, "copies 16 bytes asynchronously from an address that is not aligned"),
    ("split_barriers", "not_started"): (LAUNCH_FAILURE, "arrives at a split barrier that nothing has started"),
    ("split_barriers", "parity_of_two"): (LAUNCH_FAILURE, "awaits parity 2 of a split barrier"),
}

OTHERS = {("copies", "beyond"), ("copies", "unwritten"), ("split_barriers", "no_arrival")}


@pytest.fixture(scope="module")
def run(emulator: None, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """`run(file, name, build)`: what run_NAME of kernels/FILE.cu comes to."""
    folder = tmp_path_factory.mktemp("asynchronous")
    readers: dict[tuple[str, str], Reader] = {}

    def reader(file: str, build: str) -> Reader:
        if (file, build) not in readers:
            source, path = KERNELS / f"{file}.cu", folder / f"{file} {build}.so"
            library = compile_shared(source, path, extra_flags=["-Wall", "-Werror"], instrumentation=BUILDS[build])
            readers[file, build] = Reader(EmulatorLibrary.open(library), source.read_text())
        return readers[file, build]

    def go(file: str, name: str, build: str) -> Outcome:
        found = reader(file, build)
        has_checks = bool(BUILDS[build].checks)
        if has_checks:
            found.clear()
        status = found.library.function(f"run_{name}")()
        message = found.library.message()
        found.library.reset_errors()
        assert found.library.allocated_bytes() == 0
        return Outcome(status, message, found.read() if has_checks else ())

    return go


def marked_lines(file: str, name: str) -> set[int]:
    lines = (KERNELS / f"{file}.cu").read_text().splitlines()
    return {number for number, line in enumerate(lines, 1) if line.endswith(f"  // {name}")}


def lines_of(outcome: Outcome) -> set[int]:
    return {place.line for finding in outcome.findings for place in finding.places}


@pytest.mark.slow(but="copies-aligned-plain")
@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize(("file", "name"), [(file, name) for file, names in RIGHT.items() for name in names])
def test_right_uses(run: Run, file: str, name: str, build: str) -> None:
    assert run(file, name, build) == Outcome(0, "", ())


@pytest.mark.slow(but="copies-target_written-race")
@pytest.mark.parametrize("build", ["race", "all checks"])
@pytest.mark.parametrize(("file", "name"), RACES)
def test_what_is_unordered_is_a_race(run: Run, file: str, name: str, build: str) -> None:
    says, _ = RACES[file, name]
    outcome = run(file, name, build)
    assert any(finding.check == "race" and says in finding.message for finding in outcome.findings), outcome
    assert lines_of(outcome) == marked_lines(file, name)


@pytest.mark.slow
@pytest.mark.parametrize("build", ["plain", "counting", "address"])
@pytest.mark.parametrize(("file", "name"), RACES)
def test_data_arrive_as_late_as_they_may(run: Run, file: str, name: str, build: str) -> None:
    assert run(file, name, build) == Outcome(RACES[file, name][1], "", ())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["no_commit", "no_wait", "wait_for_too_few", "barrier_before_wait"])
def test_what_has_not_arrived_has_no_value(run: Run, name: str) -> None:
    (finding,) = run("copies", name, "uninitialised").findings
    assert "of s, which nothing has written" in finding.message
    assert lines_of(run("copies", name, "uninitialised")) == {max(marked_lines("copies", name))}


@pytest.mark.slow(but="copies-never_waited-race")
@pytest.mark.parametrize("build", [name for name, kind in BUILDS.items() if kind.checks])
@pytest.mark.parametrize(("file", "name"), MISUSES)
def test_misuse_is_found_by_every_check(run: Run, file: str, name: str, build: str) -> None:
    check, says = MISUSES[file, name]
    outcome = run(file, name, build)
    found = [finding for finding in outcome.findings if says in finding.message]
    assert [finding.check for finding in found] == [check], outcome
    assert {place.line for finding in found for place in finding.places} <= marked_lines(file, name)


@pytest.mark.slow(but="copies-never_waited-plain")
@pytest.mark.parametrize("build", ["plain", "counting"])
@pytest.mark.parametrize(("file", "name"), MISUSES)
def test_misuse_ends_other_launches(run: Run, file: str, name: str, build: str) -> None:
    outcome = run(file, name, build)
    assert outcome.status == LAUNCH_FAILURE
    assert MISUSES[file, name][1] in outcome.message
    assert any(f"{file}.cu:{number}, in kernel" in outcome.message for number in marked_lines(file, name))


@pytest.mark.slow(but=("copies-misaligned-plain", "split_barriers-not_started-race"))
@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize(("file", "name"), FATAL)
def test_misuse_that_ends_every_launch(run: Run, file: str, name: str, build: str) -> None:
    status, says = FATAL[file, name]
    outcome = run(file, name, build)
    assert outcome.status == status
    if BUILDS[build].checks:
        (finding,) = outcome.findings
        assert (finding.check, lines_of(outcome)) == ("undefined", marked_lines(file, name))
        assert says in finding.message
    else:
        assert says in outcome.message


@pytest.mark.slow(but=("plain", "race"))
@pytest.mark.parametrize("build", BUILDS)
def test_an_arrival_that_never_comes_is_a_deadlock(run: Run, build: str) -> None:
    outcome = run("split_barriers", "no_arrival", build)
    (line,) = marked_lines("split_barriers", "no_arrival")
    assert outcome.status == LAUNCH_FAILURE
    assert outcome.message.startswith("polytile emulator: deadlock in kernel `no_arrival(int*, int)`")
    assert re.search(rf"threads 0-95 wait for a split barrier at \S*split_barriers\.cu:{line} ", outcome.message)


@pytest.mark.slow
def test_a_copy_is_an_access_of_its_thread(run: Run) -> None:
    outcome = run("copies", "beyond", "address")
    assert outcome.status == ILLEGAL_ADDRESS
    (finding,) = outcome.findings
    assert "thread (63,0,0) of block (0,0,0) reads element 64 of from, 8 bytes beyond its end" in finding.message
    assert lines_of(outcome) == marked_lines("copies", "beyond")
    (finding,) = run("copies", "unwritten", "uninitialised").findings
    assert "thread (63,0,0) of block (0,0,0) reads element 63 of to, which nothing has written" in finding.message


def test_every_kernel_is_in_one_of_the_lists() -> None:
    for file, right in RIGHT.items():
        lines = (KERNELS / f"{file}.cu").read_text().splitlines()
        names = {line.partition("(")[2].partition(")")[0] for line in lines if line.startswith("RUN(")}
        wrong = {name for where, name in (*RACES, *MISUSES, *FATAL, *OTHERS) if where == file}
        assert names == {*right, *wrong}
