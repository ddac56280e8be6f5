"""Programs of the suite: what the emulator counts for each access, against what their mappings say by arithmetic.

All arrays hold doubles and begin at a multiple of 256 bytes. Blocks are 32 threads wide, so that a warp is 32 columns
of one row (or 32 rows, where rows are what threads share out), and the last warp of a row may have fewer lanes.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

import polytile
from polytile.api import Program
from polytile.cli.main import main
from polytile.runtime.emulator.counts import Counts

SUITE = Path(__file__).resolve().parents[2] / "polybench" / "polybench"
PROGRAMS = ("gemm", "doitgen", "jacobi-2d", "atax", "mvt")
Cost = tuple[int, int, int]  # requests, lanes, sectors
Found = dict[tuple[str, str], list[Cost]]  # by array and access, in the order of the text

pytestmark = pytest.mark.usefixtures("emulator")


@cache
def compiled(name: str) -> Program:
    points = (1, 1, 1) if name == "jacobi-2d" else ()  # of a thread: what is counted is of one point each
    return polytile.compile(SUITE / f"{name}.c", schedule="classic", block=(8, 32), points=points)


def count(name: str, **sizes: int) -> Counts:
    program = compiled(name)
    (scop,) = program.scops
    counted = scop.count(parameters=sizes, seed=1, unit=program.unit)
    assert counted is not None
    assert counted.validation.values == sizes
    return counted.counts


def costs(counts: Counts) -> Found:
    found: Found = {}
    for s in counts.sites:
        assert (s.space, s.size) == ("global", 8)
        found.setdefault((s.array, s.access), []).append((s.requests, s.lanes, s.sectors))
    return found


def row(first: int, count: int) -> Cost:
    """One request to `count` consecutive elements from element `first` on."""
    return (1, count, (8 * (first + count) - 1) // 32 - 8 * first // 32 + 1)


def warps(width: int) -> Iterator[tuple[int, int]]:
    """First column and number of columns of each warp of a row."""
    return ((first, min(32, width - first)) for first in range(0, width, 32))


def total(requests: Iterable[Cost], times: int = 1) -> Cost:
    """The sum of some requests, each made `times` times."""
    sums = [times * sum(part) for part in zip(*requests, strict=True)]
    return (sums[0], sums[1], sums[2])


@pytest.mark.slow
@pytest.mark.parametrize(("ni", "nj", "nk"), [(8, 64, 5), (9, 70, 6), (3, 33, 4)])
def test_gemm(ni: int, nj: int, nk: int) -> None:
    """Threads are elements of C; k runs in each thread. C stays in a register while k runs."""
    of_c = total(row(i * nj + first, n) for i in range(ni) for first, n in warps(nj))
    of_b = total((row(k * nj + first, n) for k in range(nk) for first, n in warps(nj)), times=ni)
    of_a = (ni * nk * -(-nj // 32), ni * nk * nj, ni * nk * -(-nj // 32))
    assert costs(count("gemm", ni=ni, nj=nj, nk=nk)) == {
        ("C", "load"): [of_c],
        ("C", "store"): [of_c, of_c],
        ("A", "load"): [of_a],
        ("B", "load"): [of_b],
    }


@pytest.mark.slow
@pytest.mark.parametrize(("nr", "nq", "np"), [(2, 8, 32), (3, 5, 45)])
def test_doitgen(nr: int, nq: int, np: int) -> None:
    """Threads are elements (q, p) of each r; the sum has an element for each of them, and its last row is put back."""
    rows = total(row((r * nq + q) * np + first, n) for r in range(nr) for q in range(nq) for first, n in warps(np))
    of_c4 = total((row(s * np + first, n) for s in range(np) for first, n in warps(np)), times=nr * nq)
    of_a = (nr * nq * np * -(-np // 32), nr * nq * np * np, nr * nq * np * -(-np // 32))
    found = costs(count("doitgen", nr=nr, nq=nq, np=np))
    (last,) = found.pop(("sum", "store"))
    assert last == total(row(first, n) for first, n in warps(np))
    whole = next(array for array, access in found if array not in ("A", "C4"))
    last_row = total(row((nr * nq - 1) * np + first, n) for first, n in warps(np))
    assert found == {
        (whole, "store"): [rows, rows],
        (whole, "load"): [rows, rows, last_row],
        ("A", "load"): [of_a],
        ("A", "store"): [rows],
        ("C4", "load"): [of_c4],
    }


@pytest.mark.slow
@pytest.mark.parametrize(("tsteps", "n"), [(1, 34), (2, 67)])
def test_jacobi_2d(tsteps: int, n: int) -> None:
    """Blocks begin at column 0, which is no interior one: the first and the last warp of a row are partial."""

    def interior(shift: int) -> Cost:
        pieces = [(max(1, first), min(n - 1, first + 32)) for first in range(0, n - 1, 32)]
        rows = (row(i * n + a + shift, b - a) for i in range(1, n - 1) for a, b in pieces if a < b)
        return total(rows, times=tsteps)

    loads = [interior(shift) for shift in (0, -1, 1, n, -n)]
    assert costs(count("jacobi-2d", tsteps=tsteps, n=n)) == {
        ("A", "load"): loads,
        ("A", "store"): [interior(0)],
        ("B", "load"): loads,
        ("B", "store"): [interior(0)],
    }


@pytest.mark.slow
@pytest.mark.parametrize(("m", "n"), [(32, 40), (70, 45)])
def test_atax(m: int, n: int) -> None:
    """The first kernel reads A by columns, a sector for each lane; the second by rows."""
    vectors = {size: total(row(first, n_) for first, n_ in warps(size)) for size in (m, n)}
    by_columns = (n * -(-m // 32), m * n, m * n)
    by_rows = total(row(i * n + first, c) for i in range(m) for first, c in warps(n))
    found = costs(count("atax", m=m, n=n))
    assert found == {
        ("tmp", "store"): [vectors[m], vectors[m]],
        ("A", "load"): [by_columns, by_rows],
        ("x", "load"): [(n * -(-m // 32), m * n, n * -(-m // 32))],
        ("y", "store"): [vectors[n], vectors[n]],
        ("tmp", "load"): [(m * -(-n // 32), m * n, m * -(-n // 32))],
    }


@pytest.mark.slow
@pytest.mark.parametrize("n", [64, 75])
def test_mvt(n: int) -> None:
    vector = total(row(first, c) for first, c in warps(n))
    each = n * -(-n // 32)
    by_rows = total(row(j * n + first, c) for j in range(n) for first, c in warps(n))
    counts = count("mvt", n=n)
    found = costs(counts)
    assert sorted(found.pop(("A", "load"))) == sorted([by_rows, (each, n * n, n * n)])
    assert found == {
        ("x1", "load"): [vector],
        ("x1", "store"): [vector],
        ("x2", "load"): [vector],
        ("x2", "store"): [vector],
        ("y_1", "load"): [(each, n * n, each)],
        ("y_2", "load"): [(each, n * n, each)],
    }
    assert [k.launches for k in counts.kernels] == [1, 1]
    assert sum(k.divergent_branches for k in counts.kernels) == 2 * (n % 32 != 0)


@pytest.mark.slow
def test_sites_name_the_lines_of_both_languages() -> None:
    counts = count("gemm", ni=8, nj=32, nk=4)
    source = (SUITE / "gemm.c").read_text().splitlines()
    generated = compiled("gemm").cuda.splitlines()
    for site in counts.of("B"):
        assert site.location is not None
        assert "C[i][j] += alpha * A[i][k] * B[k][j]" in source[site.location.line - 1]
        assert re.search(r"\bB\[[^]]*\]$", generated[site.line - 1][: site.column])


def ptx_accesses(cu: str, folder: Path) -> set[tuple[str, int, str]]:
    """(kernel, line, load or store) of every access to global memory that nvcc keeps."""
    (folder / "unit.cu").write_text(cu)
    command = ["nvcc", "-std=c++17", "-O3", "-arch=sm_90", "-lineinfo", "-ptx", "unit.cu", "-o", "unit.ptx"]
    subprocess.run(command, cwd=folder, check=True, timeout=300)
    kernel, line, found = "", 0, set()
    for text in (folder / "unit.ptx").read_text().splitlines():
        if match := re.search(r"\.entry (\w+)", text):
            kernel = match[1]
        elif match := re.match(r"\s*\.loc\s+\d+ (\d+)", text):
            line = int(match[1])
        elif match := re.match(r"\s*(?:@\S+\s+)?(ld|st)\.global", text):
            found.add((kernel, line, "load" if match[1] == "ld" else "store"))
    return found


@pytest.mark.slow(but="gemm")
@pytest.mark.parametrize("name", PROGRAMS)
def test_nvcc_keeps_the_accesses_that_are_counted(name: str, tmp_path: Path) -> None:
    if shutil.which("nvcc") is None:
        pytest.skip("requires nvcc")
    program = compiled(name)
    sizes = {p.name: 33 if p.name != "tsteps" else 1 for p in program.scops[0].scop.parameters}
    sites = count(name, **sizes).sites
    (tmp_path / f"{program.stem}_kernel.h").write_text(program.header)
    assert ptx_accesses(program.cuda, tmp_path) == {(s.kernel, s.line, s.access) for s in sites}


@pytest.mark.usefixtures("checking_compiler")
def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = [str(SUITE / "gemm.c"), "-o", str(tmp_path), "--validate", "--on", "emulator", "--count", "--seed", "1"]
    sizes = [word for name in ("ni=8", "nj=64", "nk=5") for word in ("--param", name)]
    assert main([*command, *sizes]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"\bB +load 8 B +gemm\.c:49 +\d+:\d+ +80 +32 +640 +8$", printed, re.MULTILINE)
    assert re.search(r"_k0: 1 launch, 16 warps, 0 barriers, 0 divergent branches$", printed, re.MULTILINE)
    assert main([*command, *sizes, "--json"]) == 0
    (validation,) = json.loads(capsys.readouterr().out)["validations"]
    (site,) = (s for s in validation["counts"]["sites"] if s["array"] == "B")
    assert site == {
        "kernel": "kernel_gemm_scop0_k0",
        "array": "B",
        "space": "global",
        "access": "load",
        "bytes": 8,
        "cu_line": site["cu_line"],
        "cu_column": site["cu_column"],
        "requests": 80,
        "lanes": 2560,
        "sectors": 640,
        "file": str(SUITE / "gemm.c"),
        "line": 49,
        "column": site["column"],
    }


@pytest.mark.parametrize("more", [[], ["--validate", "--on", "gpu"]])
def test_count_needs_a_run_in_the_emulator(more: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(SUITE / "gemm.c"), "--count", *more]) == 2
    assert "--validate --on emulator --count" in capsys.readouterr().err


SERIAL = """double f(double x, int n)
{
#pragma scop
    for (int i = 0; i < n; i++)
        x = 0.5 * x + i;
#pragma endscop
    return x;
}
"""


def test_what_stays_sequential_has_no_counts() -> None:
    (scop,) = polytile.compile(SERIAL).scops
    assert scop.program is None
    assert scop.count() is None


@pytest.mark.slow
@pytest.mark.usefixtures("checking_compiler")
def test_checks_and_counts_in_one_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both = ["--validate", "--on", "emulator", "--count", "--sanitize", "race", "--seed", "1", "--json"]
    both += ["--schedule", "classic"]
    assert main([str(SUITE / "jacobi-1d.c"), "-o", str(tmp_path), *both]) == 0
    checked, counted = json.loads(capsys.readouterr().out)["validations"]
    assert (checked["where"], counted["where"]) == ("the emulator (race)", "the emulator (counting)")
    assert "counts" not in checked
    assert [k["launches"] for k in counted["counts"]["kernels"]] == [counted["parameters"]["tsteps"]] * 2
