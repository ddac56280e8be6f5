"""Data races: each kernel of races.cu that has one is reported with both lines, and none of the others is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from polytile.runtime.emulator import EmulatorLibrary, compile_shared
from polytile.runtime.emulator.findings import Finding, Reader
from polytile.runtime.emulator.instrument import checked

SOURCE = Path(__file__).parent / "kernels" / "races.cu"
Find = Callable[[str], tuple[Finding, ...]]

CLEAN = (
    "all_read",
    "all_readers_met",
    "atomics",
    "barrier",
    "bytes",
    "early_exit",
    "handed_on",
    "mixed_widths",
    "reads_before_it_writes",
    "same_element_in_launches",
    "syncwarp",
    "voting_barrier",
    "within_half_warps",
    "written_by_its_only_reader",
)

# function -> the kernel whose lines are marked, and what the message must say
RACES = {
    "no_barrier": ("no_barrier", "of s, which"),
    "second_barrier_missing": ("second_barrier_missing", "of s, which"),
    "no_syncwarp": ("no_syncwarp", "of s, which"),
    "syncwarp_for_block": ("syncwarp_for_block", "of s, which"),
    "half_warps": ("half_warps", "of s, which"),
    "shuffled": ("shuffled", "of s, which"),
    "voted": ("voted", "of s, which"),
    "handed_on_too_early": ("handed_on_too_early", "thread (2,0,0) of block (0,0,0) reads element 0 of s"),
    "one_reader_unmet": ("one_reader_unmet", "element 0 of s, which"),
    "written_while_read": ("written_while_read", "element 0 of s, which"),
    "written_while_read_by_all": ("written_while_read", "element 0 of s, which"),
    "same_element": ("same_element", "thread (0,0,0) of block (0,0,0) writes: blocks of one launch are unordered"),
    "neighbour_block": ("neighbour_block", "of data, which"),
    "written_by_last_block": ("written_by_last_block", "block (4,0,0) writes element 0 of data, which"),
    "atomic_and_read": ("atomic_and_read", "updates atomically"),
    "atomic_and_write": ("atomic_and_write", "updates atomically"),
    "byte_of_a_word": ("byte_of_a_word", "thread (1,0,0) of block (0,0,0) writes element 2 of data"),
    "vectors": ("vectors", "of data, which"),
    "in_dynamic_shared": ("in_dynamic_shared", "of buffer, which"),
    "cached": ("cached", "element 1 of out, which"),
    "deep_grid": ("deep_grid", "thread (1,0,0) of block (0,0,0) writes element 0 of out"),
}


@pytest.fixture(scope="module")
def find(emulator: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Find]:
    """`find(name)`: what the race check finds when run_NAME runs."""
    path = tmp_path_factory.mktemp("races") / "races.so"
    library = EmulatorLibrary.open(compile_shared(SOURCE, path, instrumentation=checked(["race"])))
    reader = Reader(library, SOURCE.read_text())

    def run(name: str) -> tuple[Finding, ...]:
        reader.clear()
        assert library.function(f"run_{name}")() == 0
        return reader.read()

    yield run
    assert library.allocated_bytes() == 0


def marked_lines(kernel: str) -> set[int]:
    lines = SOURCE.read_text().splitlines()
    return {number for number, line in enumerate(lines, 1) if line.endswith(f"// race {kernel}")}


@pytest.mark.slow
@pytest.mark.parametrize("name", CLEAN)
def test_ordered_accesses_are_no_race(find: Find, name: str) -> None:
    assert find(name) == ()


@pytest.mark.slow(but="neighbour_block")
@pytest.mark.parametrize("name", RACES)
def test_unordered_accesses_are_a_race(find: Find, name: str) -> None:
    kernel, says = RACES[name]
    found = find(name)
    assert {finding.check for finding in found} == {"race"}
    assert {place.line for finding in found for place in finding.places} == marked_lines(kernel)
    assert all(f"kernel {kernel}: thread (" in finding.message for finding in found)
    assert any(says in finding.message for finding in found), [finding.message for finding in found]


def test_a_finding_counts_how_often_it_occurred(find: Find) -> None:
    (finding,) = find("same_element")
    assert finding.count == 1
    (finding,) = find("deep_grid")
    assert finding.count == 3 * 3 * 2 * 2 - 3  # every write but the first of each element


def test_every_kernel_is_in_one_of_the_lists() -> None:
    names = {line.partition("(")[2].partition(")")[0] for line in SOURCE.read_text().splitlines() if line[:4] == "RUN("}
    assert names == {*CLEAN, *RACES}


def test_a_message_names_threads_array_and_lines(find: Find) -> None:
    (finding,) = find("handed_on_too_early")
    written, read = sorted(marked_lines("handed_on_too_early"))
    assert finding.diagnostic.render() == (
        "polytile: error: race: kernel handed_on_too_early: thread (2,0,0) of block (0,0,0) reads element 0 of s, "
        "which thread (0,0,0) of block (0,0,0) writes, with no barrier between them "
        f"(races.cu:{read} and :{written})"
    )
