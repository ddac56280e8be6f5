"""Reports of files of all kinds: what they say, and that any browser shows them."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

import polytile
from polytile.cli.main import main
from polytile.diagnostics import UserError
from polytile.facts import CodePart, CodePartKind, GeneratedLine, ProgramFacts
from polytile.ir.expr import DOUBLE, Name
from polytile.ir.scop import Array
from polytile.report import page
from tests.unit.report.html_checks import checked

ROOT = Path(__file__).resolve().parents[3]
SCALE_AND_SCAN = """void f(int n, double a[n], double b[n][n], float s)
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            b[i][j] *= s;
#pragma endscop
#pragma scop
    for (int i = 1; i < n; i++)
        a[i] += a[i-1];
#pragma endscop
}
"""
REFUSED = """
void h(int n, double *x, double **q)
{
#pragma scop
    for (int i = 0; i < n; i++)
        x[i] = i % 2 ? x[i] : q[i][x[0] > 1];
    while (x[0] < 3) x[0]++;
#pragma endscop
}
"""
HOSTILE = b"""/* </script><b>& \xe9\xff \x0c \x01 ]]> <!-- */
void f(int n, float a[n])
{
#pragma scop
    for (int i = 0; i < n; i++) // </pre></style> &amp; \xfc
        a[i] = a[i] < 3 && a[i] > 1 ? i & 1 : 0;
#pragma endscop
}
const char *t = "</title><script>alert(1)</script>\xe9";
"""


def run(*arguments: object) -> int:
    return main([str(a) for a in arguments])


@pytest.mark.slow
def test_the_command_writes_the_report_of_gemm(tmp_path: Path) -> None:
    target = tmp_path / "r.html"
    gemm = ROOT / "polybench/polybench/gemm.c"
    assert run(gemm, "--target", "cuda", "-o", tmp_path, "--report", target, "-q") == 0
    text = target.read_text()
    shown = checked(text)
    assert len(text) < 1_000_000
    for said in ("kernel_gemm_scop0", "a reduction into C", "each instance runs once", "ni = nj = nk = 2000 (assumed)"):
        assert said in shown.words
    assert "3 of 4" in shown.words and "turns of shared memory" in shown.words
    assert "<svg" in text and "prefers-color-scheme:dark" in text and "@media print" in text


def test_lines_of_source_and_kernels_name_each_other() -> None:
    program = polytile.compile(SCALE_AND_SCAN, name="why.c")
    text = program.page()
    checked(text)
    (kernel,) = [part for part in program.facts.scops[0].parts if part.kind == "kernel"]
    made = re.findall(r'<span class="l l6" id="s0-(\d+)"><a class="o" href="#L6">6</a>(.*)', text)
    assert made and all(kernel.first_line <= int(number) <= kernel.last_line for number, _ in made)
    line = program.scops[0].cuda.split("\n")[int(made[-1][0]) - 1]
    assert "*= s" in line, "the line of the kernel computes line 6"
    source = re.search(r'<span class="l in" id="L6">(.*)', text)
    assert source is not None and f'href="#s0-{made[0][0]}"' in source[1]
    assert ":root:has(#L6:target) .l6" in text


def test_several_scops_and_reasons() -> None:
    shown = checked(polytile.compile(SCALE_AND_SCAN, name="why.c").page())
    assert shown.words.count("a[i] written at i=1 is read at i=2") >= 2, "at the loop, and in the table"
    assert "stays sequential C on the host" in shown.words and "f_scop1" in shown.words


def test_refusals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("no.c").write_text(SCALE_AND_SCAN + REFUSED)
    assert run("no.c", "--report", "r.html", "-q") == 1
    assert not Path("r.html").exists(), "a file that is newer than its source would let a second make succeed"
    assert run("no.c", "--report", "r.html", "-q", "--keep-going") == 0
    shown = checked(Path("r.html").read_text())
    (refusal,) = polytile.compile(Path("no.c")).facts.refusals
    assert shown.words.count(refusal.message) == 2, "at its line, and in the list"
    assert refusal.hint in shown.words and f"L{refusal.line}" in shown.targets and "refused" in shown.words


def test_a_file_without_scops(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = tmp_path / "plain.c"
    plain.write_text("int main(void) { return 0; }\n")
    assert run(plain, "-o", tmp_path, "--report", tmp_path / "r.html", "-q") == 1
    assert "no SCoP in this file" in capsys.readouterr().err and not (tmp_path / "r.html").exists()
    empty = page(ProgramFacts("plain.c", "int x;\n", (), (), "", ""))
    assert "There is no SCoP in this file" in checked(empty).words


def test_what_detection_finds_and_leaves_out() -> None:
    text = SCALE_AND_SCAN.replace("#pragma scop\n", "\n").replace("#pragma endscop\n", "\n")
    text += "void g(double *x)\n{\n    for (int i = 0; x[i] > 0; i++) x[i + (int)x[i]] = 1;\n}\n"
    program = polytile.compile(text, name="found.c", autodetect=True)
    assert program.left_out
    shown = checked(program.page())
    assert "nobody marked it, and detection left it out" in shown.words and "f_scop0" in shown.words


def test_texts_that_look_like_html(tmp_path: Path) -> None:
    path = tmp_path / "a & b <c>.c"
    path.write_bytes(HOSTILE)
    program = polytile.compile(path)
    shown = checked(program.page())
    assert "</script><b>& éÿ" in shown.words and "&amp; ü" in shown.words and "a & b <c>.c" in shown.words
    assert '"</title><script>alert(1)</script>é"' in shown.words
    checked(f"<div>{program._repr_html_()}</div>")


def test_an_empty_file_and_line_ends() -> None:
    assert "There is no SCoP" in checked(page(ProgramFacts("empty.c", "", (), (), "", ""))).words
    text = polytile.compile(SCALE_AND_SCAN.replace("\n", "\r\n"), name="dos.c").page()
    assert checked(text).words.count("b[i][j] *= s;") >= 1
    assert 'id="L12"' in text and 'id="L13"' not in text


def test_a_scop_alone_and_one_without_c() -> None:
    program = polytile.compile(SCALE_AND_SCAN, name="why.c")
    shown = checked(program["f_scop1"].page())
    assert "f_scop1" in shown.words and "f_scop0" not in shown.words
    scop = polytile.scop_from_isl(
        "twice",
        domain="[n] -> { S[i] : 0 <= i < n }",
        schedule="[n] -> { S[i] -> [i] }",
        reads="[n] -> { S[i] -> A[i] }",
        writes="[n] -> { S[i] -> A[i] }",
        bodies={"S": "A[i] = 2.0 * A[i];"},
        arrays=[Array("A", DOUBLE, (Name("n"),))],
    )
    compiled = polytile.compile_scop(scop)
    assert "twice" in checked(compiled.page()).words and "twice" in checked(f"<p></p>{compiled._repr_html_()}").words


def test_what_is_too_long_is_cut() -> None:
    """A file of 2600 lines, and a kernel of 2500: what is left out has a note, and nothing leads there."""
    program = polytile.compile("/* one */\n" * 2588 + SCALE_AND_SCAN, name="long.c")
    facts = program.facts
    scale = facts.scops[0]
    lines = ['extern "C" __global__ void f_scop0_k0(int n)', "{", *["    ;"] * 2497, "}"]
    part = CodePart("f_scop0_k0", CodePartKind.KERNEL, 1, len(lines))
    origins = tuple(GeneratedLine(line, "long.c", 2594) for line in (3, 1999, 2400))
    long = replace(scale, cuda="\n".join(lines), parts=(part,), origins=origins)
    text = page(replace(facts, scops=(long, *facts.scops[1:])))
    shown = checked(text)
    assert "500 more lines of 2500 are left out" in shown.words and "2001" not in text
    assert {"s0-3", "s0-1999"} < set(shown.targets) and "s0-2400" not in shown.targets
    assert "lines 1 to 2588 are left out" in shown.words and len(text) < 400_000


def test_notebooks_show_tables_without_anchors() -> None:
    program = polytile.compile(SCALE_AND_SCAN, name="why.c")
    for text in (program._repr_html_(), program.scops[0]._repr_html_()):
        shown = checked(f"<div>{text}</div>")
        assert not shown.identifiers and not shown.targets, "a notebook may have it twice"
        assert "parallel" in shown.words and "k0" in shown.words and len(text) < 40_000


def test_outputs_that_cannot_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "why.html"  # C in a file with a wrong name
    source.write_text(SCALE_AND_SCAN)
    assert run(source, "-o", tmp_path, "--report", source, "-q") == 1
    assert "would overwrite the input" in capsys.readouterr().err
    assert run(source, "-o", tmp_path, "--report", source / "r.html", "-q") == 1
    assert "is not a folder" in capsys.readouterr().err
    assert run(source, "--report", "r.txt") == 2
    assert "reports are HTML files" in capsys.readouterr().err
    program = polytile.compile(source)
    with pytest.raises(UserError, match="would overwrite the input"):
        program.report(source)
    with pytest.raises(UserError, match="would overwrite the input"):
        program.scops[0].report(source)
    with pytest.raises(UserError, match="a folder has that name"):
        program.report(tmp_path)
    assert source.read_text() == SCALE_AND_SCAN
    assert program.report(tmp_path / "new" / "r.html").read_text().startswith("<!DOCTYPE html>")
    assert sorted(os.listdir(tmp_path)) == ["new", "why.html"]


@pytest.mark.slow(but="lu")
@pytest.mark.parametrize("name", ["jacobi-1d", "lu", "bicg"])
def test_programs_of_the_suite(name: str) -> None:
    program = polytile.compile(ROOT / f"polybench/polybench/{name}.c")
    shown = checked(program.page(draw_seconds=0))
    assert all(kernel.name.rpartition("_")[2] in shown.words for kernel in program.facts.scops[0].kernels)
    assert len(program._repr_html_()) < 150_000
