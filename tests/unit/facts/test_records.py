"""The records as a whole: what they say of kernels, transfers, arrays and refusals, and where they are printed."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

import polytile
from polytile.cli.main import main
from polytile.facts import LoopKind, Where

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


def run(*arguments: object) -> int:
    return main([str(a) for a in arguments])


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file as a user names it, from the folder that it lies in."""
    monkeypatch.chdir(tmp_path)
    path = Path("why.c")
    path.write_text(SCALE_AND_SCAN)
    return path


def test_facts_hold_what_a_report_needs() -> None:
    program = polytile.compile(SCALE_AND_SCAN, name="why.c", parameters={})
    facts = program.facts
    assert (facts.path, facts.source, facts.host) == ("why.c", SCALE_AND_SCAN, program.host)
    scale, scan = facts.scops
    assert [(a.name, a.type, a.extents, a.live_in, a.live_out) for a in scale.arrays] == [
        ("b", "double", ("n", "n"), True, True),
        ("s", "float", (), True, False),
    ]
    assert [(t.array, t.copy_in, t.copy_out) for t in scale.transfers] == [("b", True, True)]
    (kernel,) = scale.kernels
    assert kernel.grid == ("(n - 1) / 32 + 1", "(n - 1) / 8 + 1", "1") and kernel.block == (32, 8, 1)
    assert kernel.launches == 1 and kernel.microseconds and kernel.microseconds == scale.microseconds
    assert {a.array for a in kernel.accesses} == {"b"} and all(a.coalesced for a in kernel.accesses)
    assert (scale.sizes, scale.assumed) == ((("n", 2000),), ("n",))
    assert (scale.first_line, scale.last_line, scan.first_line, scan.last_line) == (3, 7, 8, 11)
    assert "legality: proven" in scale.proof[0] and 'mark: "kernel"' in scale.schedule
    assert "__global__" in scale.cuda
    assert (scan.kernels, scan.cuda, scan.strategy, scan.proof) == ((), "", "", ())
    assert [(loop.kind, loop.where) for loop in scan.loops] == [(LoopKind.SERIAL, (Where.HOST,))]


def test_given_sizes_are_not_assumed() -> None:
    scop = polytile.compile(SCALE_AND_SCAN, name="why.c", parameters={"n": 64}).scops[0]
    assert (scop.facts.sizes, scop.facts.assumed) == ((("n", 64),), ())


def test_facts_are_plain_data() -> None:
    facts = polytile.compile(SCALE_AND_SCAN, name="why.c").facts
    read = json.loads(json.dumps(asdict(facts)))
    assert read["scops"][1]["loops"][0]["witness"]["sink"]["iteration"] == [["i", 2]]
    assert facts == polytile.compile(SCALE_AND_SCAN, name="why.c").facts, "and equal where nothing differs"


def test_explain_opens_with_the_marked_source(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(source, "-o", tmp_path, "-q", "--explain") == 0
    out = capsys.readouterr().out
    assert out.startswith(
        "why.c:3: f_scop0\n"
        "    3 |                       | #pragma scop\n"
        "    4 | parallel: grid, block |     for (int i = 0; i < n; i++)\n"
        "    5 | parallel: grid, block |         for (int j = 0; j < n; j++)\n"
        "    6 |                       |             b[i][j] *= s;\n"
        "    7 |                       | #pragma endscop\n"
        "where loops run:\n"
        "  line 4, loop i in f_scop0_k0: grid (tiles of 8), block\n"
        "  line 5, loop j in f_scop0_k0: grid (tiles of 32), block\n"
        "\nf_scop0\n  legality: proven"
    )
    assert (
        "\nwhy.c:8: f_scop1\n"
        "    8 |              | #pragma scop\n"
        "    9 | serial: host |     for (int i = 1; i < n; i++)\n"
        "   10 |              |         a[i] += a[i-1];\n"
        "   11 |              | #pragma endscop\n"
        "why.c:9: loop i is serial: a[i] written at i=1 is read at i=2\n"
    ) in out


def test_a_scop_that_stays_on_the_host_says_why(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(source, "-o", tmp_path) == 0
    assert (
        "why.c:8: f_scop1 stays on the host: no loop of it is parallel\n"
        "why.c:9: loop i is serial: a[i] written at i=1 is read at i=2\n"
    ) in capsys.readouterr().out
    (remark,) = polytile.compile(SCALE_AND_SCAN, name="why.c").scops[1].remarks
    assert remark.hint == "why.c:9: loop i is serial: a[i] written at i=1 is read at i=2"


def test_messages_keep_the_path_as_it_was_given(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("./why.c", "-o", "./out/.", "--save-schedule", ".//saved", "--explain") == 0
    out = capsys.readouterr().out
    assert out.startswith("./why.c:3: f_scop0: ") and "\n./why.c:9: loop i is serial" in out
    wrote = "./out/./why_host.c, ./out/./why_kernel.cu, ./out/./why_kernel.h, .//saved"
    assert out.endswith(f"\nwrote {wrote}\n") and (tmp_path / "out" / "why_host.c").exists()


def test_json_has_loops_arrays_and_kernels(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(source, "-o", tmp_path, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["format"] == 2
    scale, scan = found["scops"]
    assert [(a["name"], a["type"], a["extents"]) for a in scale["arrays"]] == [
        ("b", "double", ["n", "n"]),
        ("s", "float", []),
    ]
    assert [(loop["line"], loop["kind"], loop["where"]) for loop in scale["loops"]] == [
        (4, "parallel", ["grid", "block"]),
        (5, "parallel", ["grid", "block"]),
    ]
    (kernel,) = scale["kernels"]
    assert kernel["grid"][2] == "1" and kernel["microseconds"] > 0 and kernel["block"] == [32, 8, 1]
    assert scan["loops"][0]["witness"]["kind"] == "flow" and scan["status"] == "sequential"


AUTODETECTED = """void g(int n, double *p, double a[n], int idx[n])
{
    while (p[0] > 0) {
        for (int i = 0; i < n; i++)
            a[i] = 2;
        p[0] -= 1;
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            p[j * j] = a[j];
    for (int i = 0; i < n; i++)
        a[i] = a[i] + 1;
    do a[0] = a[0] / 2; while (a[0] > 1);
}
"""


def test_detection_remarks_on_each_outermost_loop_that_it_leaves_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "auto.c"
    file.write_text(AUTODETECTED)
    assert run(file, "-o", tmp_path, "--autodetect", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [scop["line"] for scop in found["scops"]] == [4, 11]
    remarks = [d for d in found["diagnostics"] if d["severity"] == "remark" and "schedule" not in d["message"]]
    assert [(d["line"], d["message"].split(":")[0]) for d in remarks] == [
        (3, "when this loop ends is only known as it runs"),
        (10, "the subscript `j * j` of `p` is not affine"),
        (13, "when this loop ends is only known as it runs"),
    ]
    program = polytile.compile(AUTODETECTED, name="auto.c", autodetect=True)
    assert [(r.line, r.left_out) for r in program.facts.refusals] == [(3, True), (10, True), (13, True)]


def test_refused_scops_are_facts() -> None:
    loop = "for (int i = 0; i < n; i++) a[i * i] = 0;"
    refused = f"void h(int n, double *a, int *p) {{\n#pragma scop\n{loop}\n#pragma endscop\n}}\n"
    facts = polytile.compile(SCALE_AND_SCAN + refused, name="why.c").facts
    (one,) = facts.refusals
    assert (one.file, one.line, one.left_out) == ("why.c", 15, False)
    assert "not affine" in one.message and one.hint


def test_compiling_finds_no_facts(tmp_path: Path) -> None:
    """Who does not ask pays nothing."""
    source = tmp_path / "f.c"
    source.write_text(
        "void f(int n, double A[n]) {\n#pragma scop\nfor (int i = 0; i < n; i++) A[i] = 1;\n#pragma endscop\n}\n"
    )
    code = (
        "import sys; from polytile.cli.main import main; "
        f"main([{str(source)!r}, '-o', {str(tmp_path)!r}]); "
        "print([m for m in sys.modules if m.startswith('polytile.facts')])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True).stdout
    assert out.splitlines()[-1] == "[]"
