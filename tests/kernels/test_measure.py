"""What is measured on a GPU is launched as the host program launches it, and can be built and run anywhere."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from polytile.diagnostics import UsageError
from polytile.runtime.compilers import nvcc

from .measure import launch_of, unit, write
from .measure_cases import block_sweeps, contractions, warp_sweeps

pytestmark = pytest.mark.slow  # what they share is slow to make

FIRST = {kind.__name__: next(kind()) for kind in (warp_sweeps, block_sweeps, contractions)}


def launches(kind: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    measured = FIRST[kind]
    for problem in measured.problems:
        launched = launch_of(measured.program, problem)
        yield launched.blocks, launched.arguments


def test_warps_share_out_the_strips_of_all_chunks() -> None:
    """Strips of 128 columns, 112 apart; 4 warps a block."""
    strips = -(-(16384 - 16) // 112)
    for (blocks, arguments), chunk in zip(launches("warp_sweeps"), (128, 256, 512), strict=True):
        assert blocks == -(-strips * 16384 // chunk // 4)
        assert arguments == ("16384", "16384", "16384", str(chunk), str(strips), "A", "B")


def test_a_block_for_each_tile() -> None:
    """Tiles of 44 rows and 64 columns, which share 8."""
    ((blocks, arguments),) = launches("block_sweeps")
    assert (blocks, arguments[6:]) == (9 * 14, ("9", "14", "A", "B"))


def test_a_block_for_each_tile_of_the_product() -> None:
    blocks = [blocks for blocks, _ in launches("contractions")]
    assert blocks == [16 * 18, 32 * 32]
    (_, arguments), _ = launches("contractions")
    assert arguments == ("2000", "2300", "2600", "2600", "2300", "2300", "1.5", "1.2", "A", "B", "C")


@pytest.mark.parametrize("kind", FIRST)
def test_units_name_their_problems_and_terms(kind: str) -> None:
    measured, text = FIRST[kind], unit(FIRST[kind])
    assert text.count(f"{measured.name if measured.terms else measured.program.kernels[0].name}<<<") == len(
        measured.problems
    )
    assert ("static const int at[]" in text) == (measured.terms is not None)


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    measured = FIRST["contractions"]
    with pytest.raises(UsageError, match="two kernels are gemm_tensor_nn"):
        write(tmp_path, [measured, measured])
    with pytest.raises(UsageError, match="has units already"):
        write(tmp_path, [])


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[dict[str, object]]]:
    """`printed(kind)`: what the unit prints, with a GPU or without one. All are built in one folder, whose objects
    they share."""
    folder = tmp_path_factory.mktemp("measured")
    assert write(folder, FIRST.values()) == sum(len(measured.problems) for measured in FIRST.values())
    subprocess.run(["make", f"NVCC={nvcc()}", "-C", str(folder)], check=True, capture_output=True, timeout=400)

    def lines(kind: str) -> list[dict[str, object]]:
        unit = str(folder / "bin" / FIRST[kind].name)
        done = subprocess.run([unit], check=True, capture_output=True, timeout=200)
        return [json.loads(line) for line in done.stdout.splitlines()]

    return lines


@pytest.mark.skipif(nvcc() is None, reason="requires nvcc")
@pytest.mark.parametrize("kind", FIRST)
def test_units_print_a_line_of_json_for_each_problem(
    kind: str, printed: Callable[[str], list[dict[str, object]]]
) -> None:
    lines = printed(kind)
    assert [line["size"] for line in lines] == [problem.told["size"] for problem in FIRST[kind].problems]
    assert all("error" in line or line["bad"] == 0 for line in lines)
