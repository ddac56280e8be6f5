"""`counts`: a folder with the emulator's counts, and the table that joins them with what ncu wrote."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from polybench.runner import cli
from polybench.runner.count_table import COUNTERS, PAGE, RAW, statement_starts
from polybench.runner.counts import SCRIPT, TABLE

pytestmark = pytest.mark.skipif(not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="no C++ compiler")
FOLDER = "tiny-scale-double-classic"


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("counts") / "first"


@pytest.fixture
def written(
    checking_compiler: None, family: Path, first: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A folder of each test's own; the command runs once."""
    monkeypatch.setattr(cli, "ROOT", family)
    if not (first / TABLE).exists():
        assert cli.main(["counts", str(first), "scale", "--dataset", "large", "--jobs", "1"]) == 0
    return shutil.copytree(first, tmp_path / "out")


def sites(folder: Path) -> list[dict[str, Any]]:
    (program,) = json.loads((folder / TABLE).read_text())["programs"]
    assert program["folder"] == FOLDER and (folder / FOLDER / program["file"]).exists()
    found: list[dict[str, Any]] = program["scops"][0]["sites"]
    return found


def page(found: list[dict[str, Any]], *, guard: str = "", **more: int) -> str:
    """What ncu would write of these sites; `more` requests, lanes or sectors at the first, which `guard` precedes."""
    header = "Line No,Source,Address,Source,Instructions Executed,Predicated-On Thread Instructions Executed,"
    rows = ["File Path,/elsewhere/scale_kernel.cu", f"Function Name,{found[0]['kernel']}"]
    rows.append(header + "L2 Theoretical Sectors Global")
    for address, site in enumerate(found):
        opcode = "LDG.E.64 R0" if site["access"] == "load" else "STG.E.64 R0"
        figures = ",".join(str(site[name] + more.get(name, 0)) for name in ("requests", "lanes", "sectors"))
        rows.append(f"{site['cu_line']},text,-,-,0,0,0")
        rows.append(f",,{address:#x},{guard}{opcode},{figures}")
        more, guard = {}, ""
    return "\n".join(rows) + "\n"


@pytest.mark.slow
def test_the_counts_are_those_of_forty_elements(written: Path) -> None:
    """Forty doubles by blocks of 32 threads or more: a full warp of 8 sectors and one of 8 lanes with 2."""
    exported = (written / FOLDER / "scale_kernel.cu").read_text().splitlines()
    assert all("x[i] = 2 * x[i];" in exported[s["cu_line"] - 1] for s in sites(written))
    assert {(s["array"], s["access"], s["requests"], s["lanes"], s["sectors"]) for s in sites(written)} == {
        ("x", "load", 2, 40, 10),
        ("x", "store", 2, 40, 10),
    }


@pytest.mark.slow
def test_reading_before_and_after_a_measurement(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    read = ["counts", str(written), "--read"]
    capsys.readouterr()
    assert cli.main(read) == 0
    out = capsys.readouterr().out
    assert "0 of 2 lines are measured" in out and "### scale, double, classic" in out
    (written / FOLDER / PAGE).write_text(page(sites(written)))
    assert cli.main([*read, "--markdown", str(written / "table.md")]) == 0
    out = capsys.readouterr().out
    assert "| load x | scale.c:13 | 2 | 40 | 10 | 5 | 2 | 40 | 10 | 5 |  |" in out
    assert "2 of 2 lines are measured, 0 of them differ" in out
    assert (written / "table.md").read_text() in out


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    ("guard", "more", "row", "status"),
    [
        ("", {"sectors": 2}, "2 | 40 | **12** | 6 | other addresses |", 1),
        ("", {"requests": 1}, "**3** | 40 | 10 | 3.333 | the lanes of a warp go apart |", 1),
        ("", {"requests": -1}, "**1** | 40 | 10 | 10 | the lanes of a warp stay together |", 1),
        ("", {"lanes": 32, "requests": 1, "sectors": 8}, "**3** | **72** | **18** | 6 | nvcc keeps more ", 1),
        ("@P0 ", {"requests": 1}, "2 to 3 | 40 | 10 | 5 | guarded: 3 executed |", 0),
    ],
)
def test_what_differs_is_bold_and_said(
    written: Path, capsys: pytest.CaptureFixture[str], guard: str, more: dict[str, int], row: str, status: int
) -> None:
    (written / FOLDER / PAGE).write_text(page(sites(written), guard=guard, **more))
    capsys.readouterr()
    assert cli.main(["counts", str(written), "--read"]) == status
    out = capsys.readouterr().out
    assert f"| 2 | 40 | 10 | 5 | {row}" in out
    assert f"2 of 2 lines are measured, {status} of them differ" in out


def test_a_statement_of_several_lines_is_one_line() -> None:
    text = """double y =  // scale.c:3
        x[i];
if (i < n) {
    y = n > 3 ?
            x[i + 1] :
            0.0;
}
#pragma unroll 1
y = 2;
"""
    assert statement_starts(text) == {1: 1, 2: 1, 3: 3, 4: 4, 5: 4, 6: 4, 7: 7, 8: 8, 9: 9}


def test_lines_that_no_lane_executes_are_none(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The emulator knows no site of an access that never happens; the GPU counts instructions with all lanes off."""
    never = [{**site, "cu_line": 1, "requests": 4, "lanes": 0, "sectors": 0} for site in sites(written)]
    (written / FOLDER / PAGE).write_text(page([*sites(written), *never]))
    capsys.readouterr()
    assert cli.main(["counts", str(written), "--read"]) == 0
    assert "2 of 2 lines are measured, 0 of them differ" in capsys.readouterr().out


def test_a_page_without_sectors_measures_no_line(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = page(sites(written)).replace("L2 Theoretical Sectors Global", "Another")
    (written / FOLDER / PAGE).write_text(text)
    capsys.readouterr()
    assert cli.main(["counts", str(written), "--read"]) == 0
    out = capsys.readouterr().out
    assert "0 of 2 lines are measured" in out and "| 2 | 40 |  |  | no such column |" in out


def test_whole_kernels_beside_the_counters_of_the_gpu(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kernel = sites(written)[0]["kernel"]
    names = [name for (space, _, _), name in COUNTERS.items() if space == "global"]
    raw = f"ID,Kernel Name,{','.join(names)}\n,,,,,\n"
    capsys.readouterr()
    (written / FOLDER / RAW).write_text(f"{raw}0,{kernel}(int),2,10,2,10\n")
    assert cli.main(["counts", str(written), "--read"]) == 0
    assert f"| scale, double, classic | `{kernel}` | 2 | 10 | 2 | 10 |  |  |" in capsys.readouterr().out
    (written / FOLDER / RAW).write_text(f"{raw}0,{kernel}(int),2,10,3,11\n")
    assert cli.main(["counts", str(written), "--read"]) == 1
    out = capsys.readouterr().out
    assert f"| `{kernel}` | 2 | 10 | 2, ncu **3** | 10, ncu **11** |" in out
    assert "4 of 4 totals of kernels are measured, 2 of them differ" in out


def test_the_script_profiles_each_kernel_once(written: Path, tmp_path: Path) -> None:
    """With stand-ins for the tools: ncu is called to profile, then to print both pages."""
    tools = {
        "nvcc": 'for last; do :; done\nprintf "#!/bin/sh\\n" >"$last"; chmod +x "$last"; echo "$@" >>"$LOG"',
        "ncu": 'echo "$@" >>"$LOG"; echo page',
    }
    for name, body in tools.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    log = tmp_path / "log"
    environment = {**os.environ, "NVCC": str(tmp_path / "nvcc"), "NCU": str(tmp_path / "ncu"), "LOG": str(log)}
    done = subprocess.run([written / SCRIPT], env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    built, profiled, source, raw = log.read_text().splitlines()
    assert "-lineinfo" in built
    assert "--section SourceCounters" in profiled and "--launch-count 1" in profiled
    assert "--kernel-name regex:^(" in profiled and profiled.endswith(f"{FOLDER}/driver")
    assert "--page source --print-source cuda,sass --csv" in source and "--page raw --csv" in raw
    assert (written / FOLDER / PAGE).read_text() == "page\n"


def test_a_folder_without_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["counts", str(tmp_path), "--read"]) == 2
    assert "no folder of counts" in capsys.readouterr().err
    (tmp_path / TABLE).write_text("{}")
    assert cli.main(["counts", str(tmp_path), "--read"]) == 2
    assert "holds no counts" in capsys.readouterr().err
