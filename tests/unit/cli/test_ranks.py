"""`--ranks`: what is written, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from polytile.cli.main import main

STENCIL = """
void smooth(int steps, int n, int m, double A[2][n][m])
{
#pragma scop
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++)
                A[(t + 1) % 2][i][j] = 0.5 * (A[t % 2][i - 1][j] + A[t % 2][i + 1][j]);
#pragma endscop
}
"""
SERIAL = """
void serial(int steps, int n, int m, double A[n][m])
{
#pragma scop
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++)
                A[i][j] = A[i - 1][j] + A[i][j - 1] + A[i + 1][j] + A[i][j + 1];
#pragma endscop
}
"""
FILES = ["host.c", "kernel.cu", "kernel.h", "mpi.c", "mpi.h", "mpi_kernel.cu", "mpi_kernel.h"]


def run(text: str, folder: Path, *words: str) -> int:
    (folder / "f.c").write_text(text)
    return main([str(folder / "f.c"), "-o", str(folder / "out"), "--ranks", *words])


def test_an_entry_for_ranks_and_a_remark_for_what_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(STENCIL + SERIAL, tmp_path, "auto", "--explain", "--param", "n=20", "--param", "m=30") == 0
    said = capsys.readouterr()
    chosen = "overlap\n"
    assert f"smooth_scop0: smooth_mpi() cuts i, j over ranks, 1 step between two exchanges; {chosen}" in said.out
    assert f"  exchange: {chosen}" in said.out
    assert "exchanged behind every period: A 1+1 along i, 0+0 along j, 1 of 2 planes\n" in said.out
    assert "f.c:" in said.err + said.out and "serial_scop0 cannot be distributed" in said.err + said.out
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == [f"f_{ending}" for ending in FILES]
    header = (tmp_path / "out" / "f_mpi.h").read_text()
    assert "int smooth_mpi(MPI_Comm comm, int steps, int n, int m, void *A);\n" in header
    assert "int smooth_mpi_iterate(struct smooth_mpi_state *state, int steps);\n" in header


@pytest.mark.slow
def test_messages_of_the_exchange_that_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, sizes = tmp_path / "page.html", ("--param", "n=20", "--param", "m=30", "--param", "steps=4")
    assert run(STENCIL, tmp_path, "2,2", "--exchange", "basic", "--explain", *sizes, "--report", str(page)) == 0
    said = capsys.readouterr().out
    assert "  exchange: basic\n" in said
    sent = "    basic: rank 0 sends 120 bytes in 1 messages an exchange, 1 messages and 120 bytes a step (to 2: 120)\n"
    assert sent in said and " diagonal: rank" not in said
    assert '<section id="ranks"' in page.read_text() and sent in page.read_text()


@pytest.mark.slow
def test_nothing_is_written_where_no_scop_can_be_distributed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(SERIAL, tmp_path, "auto") == 1
    assert "f.c:8:17: error: serial_scop0 cannot be distributed" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_grids_have_a_number_for_each_axis(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(STENCIL, tmp_path, "2,2,1") == 2
    told = capsys.readouterr().err
    assert "--ranks 2,2,1: smooth_scop0 is cut along i, j\n  note: 2 numbers, or --ranks auto" in told


@pytest.mark.slow
def test_json_has_the_distribution(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(STENCIL, tmp_path, "2,2", "--json", "--steps-per-exchange", "2") == 0
    (found,) = json.loads(capsys.readouterr().out)["distribution"]
    assert (found["scop"], found["function"], found["axes"]) == ("smooth_scop0", "smooth_mpi", ["i", "j"])
    assert (found["steps"], found["grid"], found["exchange"]) == (2, [2, 2], "overlap")
    assert found["halos"] == {"A": [[2, 2], [0, 0]]}
    assert found["messages"] == {"diagonal": 2, "basic": 2}
    assert found["exchanged"] == ["A"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--exchange", "basic"], "--exchange needs --ranks"),
        (["--steps-per-exchange", "2"], "--steps-per-exchange needs --ranks"),
        (["--ranks", "0"], "--ranks: 0 is too small"),
        (["--ranks", "many"], "--ranks: 'many' is not an integer"),
        (["--ranks", "auto", "--steps-per-exchange", "0"], "--steps-per-exchange: 0 is too small"),
    ],
)
def test_wrong_options(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["f.c", *words]) == 2
    assert message in capsys.readouterr().err
