"""The command: what it prints and writes when all is well."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from polytile import __version__
from polytile.cli.arguments import parse
from polytile.cli.main import main
from polytile.diagnostics import UsageError
from polytile.schedule_file import join_schedules, split_schedules

SOURCE = """#include <stdio.h>
#ifndef N
#define N 40
#endif
static double A[N][N], B[N][N];
void smooth(int n)
{
#pragma scop
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            B[i][j] = 0.25 * (A[i - 1][j] + A[i + 1][j] + A[i][j - 1] + A[i][j + 1]);
#pragma endscop
}
void sum(int n, double total[1])
{
    double s = 0;
#pragma scop
    for (int i = 0; i < n; i++)
        s = s * 0.5 + B[i][i];
#pragma endscop
    total[0] = s;
}
int main(void)
{
    double total[1];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            A[i][j] = i * 3 + j;
    smooth(N);
    sum(N, total);
    printf("%.17g\\n", total[0]);
    return 0;
}
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "smooth.c"
    path.write_text(SOURCE)
    return path


def run(*arguments: object) -> int:
    return main([str(a) for a in arguments])


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--version") == 0
    assert capsys.readouterr().out == f"polytile {__version__}\n"


def test_help_lists_exit_statuses(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--help") == 0
    assert "3 validation failed" in capsys.readouterr().out


def test_wrong_usage_imports_nothing_heavy() -> None:
    code = (
        "import sys; from polytile.cli.main import main; main(['--version']); main(['x.c', '--tile', 'x']); "
        "print([m for m in ('islpy', 'numpy', 'pycparser', 'jinja2', 'rich', 'polytile.api') if m in sys.modules])"
    )
    command = [sys.executable, "-c", code]
    out = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    assert out.splitlines()[-1] == "[]"


def test_compiling_imports_nothing_that_only_runs_code(tmp_path: Path) -> None:
    source = tmp_path / "f.c"
    source.write_text(
        "void f(int n, double A[n]) {\n#pragma scop\nfor (int i = 0; i < n; i++) A[i] = 1;\n#pragma endscop\n}\n"
    )
    code = (
        "import sys; from polytile.cli.main import main; "
        f"main([{str(source)!r}, '--target', 'cuda', '-o', {str(tmp_path)!r}]); "
        "unused = ('numpy', 'cupy', 'rich', 'networkx', 'pcpp', 'pygments', 'matplotlib', 'polytile.execution', "
        "'polytile.runtime.engine', 'polytile.runtime.validate', 'polytile.runtime.emulator', 'polytile.drawing', "
        "'polytile.facts', 'polytile.report', 'polytile.check', 'polytile.fuzz', 'polytile.cc', "
        "'polytile.frontend.isl_text', 'polytile.codegen.passes.unroll_loads_first', "
        "'platform', 'hmac'); "
        "print([m for m in unused if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True).stdout
    assert (tmp_path / "f_kernel.cu").exists() and out.splitlines()[-1] == "[]"


def test_a_call_of_the_compiler_without_scops_imports_nothing_heavy(tmp_path: Path) -> None:
    source = tmp_path / "f.c"
    source.write_text("int f(void) { return 1; }\n")
    heavy = "('islpy', 'numpy', 'pycparser', 'jinja2', 'rich', 'polytile.api', 'polytile.frontend', 'polytile.runtime')"
    code = (
        "import sys; from polytile.cc import command; "
        f"command.become = lambda words: sys.exit(str([m for m in {heavy} if m in sys.modules])); "
        f"command.main(['--polytile-cc=false', '-c', {str(source)!r}])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stderr == "[]\n"


def test_every_option_is_understood() -> None:
    words = (
        "in.c --target cuda -o out -I a -I b -DN=4 -D M --param n=0x10 --param m=-3 --arch sm_80 --schedule classic "
        "--tile 64,64,16 --block 16,16 --fp strict --validate --on emulator --build exe --link a.c --link -lm "
        "--graphs --explain --keep-going --autodetect --dump scop --dump ast --save-schedule s --json -v --seed 7"
    )
    request = parse(words.split())
    assert request.include_dirs == ("a", "b") and request.defines == ("N=4", "M")
    assert request.parameters == {"n": 16, "m": -3}
    assert (request.choices.tile, request.choices.block) == ((64, 64, 16), (16, 16))
    assert request.strict and request.choices.graphs and request.link == ("a.c", "-lm") and request.seed == 7


def test_three_files_are_written(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(source, "--target", "cuda", "-o", tmp_path) == 0
    assert {p.name for p in tmp_path.iterdir()} == {
        "smooth.c",
        "smooth_host.c",
        "smooth_kernel.cu",
        "smooth_kernel.h",
    }
    out = capsys.readouterr().out.splitlines()
    assert any(line.startswith(f"{source}:8: smooth_scop0: ") for line in out)
    assert any("sum_scop" in line for line in out)
    assert out[-1].startswith("wrote ")


@pytest.mark.slow
def test_validation_says_on_what(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = (source, "-o", tmp_path, "--validate", "--on", "emulator", "--seed", "5", "--param", "n=9")
    assert run(*arguments) == 0
    out = capsys.readouterr().out
    assert "smooth_scop0: validated on the emulator (n=9; B: max error " in out
    assert "--seed 5" in out
    assert run(*arguments, "--fp", "strict") == 0
    assert "(n=9; B: bitwise equal" in capsys.readouterr().out


def test_json(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(source, "-o", tmp_path, "--validate", "--on", "emulator", "--json", "--explain", "--dump", "scop") == 0
    result = json.loads(capsys.readouterr().out)
    assert result["exit_status"] == 0 and result["polytile"] == __version__
    assert result["scops"][0]["name"] == "smooth_scop0" and result["scops"][0]["status"] == "compiled"
    assert result["validations"][0]["agreed"] and result["seed"] == result["validations"][0]["seed"]
    assert len(result["files"]) == 3 and "scop" in result["dumps"]["smooth_scop0"]


def test_json_reports_errors_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("nowhere.c", "--json") == 1
    assert json.loads(capsys.readouterr().out)["diagnostics"][0]["severity"] == "error"
    assert run("nowhere.c", "--json", "--tile", "x") == 2
    assert json.loads(capsys.readouterr().out)["exit_status"] == 2


def test_quiet_prints_nothing(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(source, "-o", tmp_path, "-q") == 0
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err == ""


def test_verbose_says_what_takes_how_long(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(source, "-o", tmp_path, "-v") == 0
    said = [line.split(": ") for line in capsys.readouterr().err.splitlines()]
    parts = [words[2:] for words in said if words[:2] == ["polytile", "compile"] and len(words) > 3]
    seconds = [float(words[-1].removesuffix(" s")) for words in parts]
    assert seconds == sorted(seconds, reverse=True)
    names = [": ".join(words[:-1]) for words in parts]
    assert {"preprocess", "smooth_scop0: extract", "smooth_scop0: schedule: superposed"} <= {*names}
    assert "smooth_scop0: ast: classic (fused)" in names and len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("stage", "content"),
    [("scop", "domain: "), ("dependences", "flow: "), ("schedule", "domain: "), ("ast", "kernel ")],
)
def test_dumps(stage: str, content: str, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(source, "-o", tmp_path, "-q", "--dump", stage) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"# smooth_scop0: {stage}\n") and content in out
    assert "YOU ARE HERE" not in out, "isl's mark of the node that it prints from"


def test_kernels_are_dumped_in_the_spelling_of_c(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "scale.c"
    loops = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) A[i][j] = 2 * A[i][j];"
    file.write_text(f"void scale(int n, double A[n][n]) {{\n#pragma scop\n{loops}\n#pragma endscop\n}}\n")
    assert run(file, "-o", tmp_path, "-q", "--dump", "prune-signature") == 0
    out = capsys.readouterr().out
    assert " step grid.y\n" in out and "CType(" not in out


def test_plans_say_where_arrays_live(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "swap.c"
    loop = "for (int i = 0; i < n; i++) { double t = A[i]; A[i] = B[i]; B[i] = t; }"
    file.write_text(f"void swap(int n, double A[n], double B[n]) {{\n#pragma scop\n{loop}\n#pragma endscop\n}}\n")
    line = "t: t in registers of a thread, 1, { [[p0, p1] -> t[a0]] -> [] }"
    assert run(file, "-o", tmp_path, "-q", "--dump", "plan") == 0
    assert capsys.readouterr().out.startswith(f"# swap_scop0: plan\nkernel 0:\n  {line}\n")
    assert run(file, "-o", tmp_path, "-q", "--explain") == 0
    assert f"  plans:\n    kernel 0:\n      {line}\n" in capsys.readouterr().out
    assert run(file, "-o", tmp_path, "--json") == 0
    ((placement,),) = (p["placements"] for p in json.loads(capsys.readouterr().out)["scops"][0]["plans"])
    assert placement["array"] == "t" and placement["memory"] == "private" and placement["extents"] == []


def test_explain(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(source, "-o", tmp_path, "-q", "--explain") == 0
    out = capsys.readouterr().out
    assert "smooth_scop0" in out and re.search(r"smooth_scop0_k0: \d+ threads, \d+ registers, .*\(estimate\)\n", out)


def test_a_saved_schedule_can_be_loaded(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = tmp_path / "saved.yaml"
    assert run(source, "-o", tmp_path, "--save-schedule", saved, "--tile", "8") == 0
    first = (tmp_path / "smooth_kernel.cu").read_text()
    assert "# schedule of smooth_scop0\n" in saved.read_text()
    assert run(source, "-o", tmp_path, "--load-schedule", saved, "--validate", "--on", "emulator") == 0
    assert first.count("__global__") == (tmp_path / "smooth_kernel.cu").read_text().count("__global__")


def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(SOURCE.encode())))
    assert run("-", "-o", tmp_path) == 0
    assert {p.name for p in tmp_path.iterdir()} == {"stdin_host.c", "stdin_kernel.cu", "stdin_kernel.h"}


def test_the_whole_program_gives_the_same_result(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain, built = tmp_path / "plain", tmp_path / "built"
    subprocess.run(["cc", "-O1", str(source), "-o", str(plain), "-lm"], check=True, timeout=60)
    assert run(source, "-o", tmp_path, "--build", built, "--on", "emulator", "-D", "N=50") == 0
    assert f"built {built} for the emulator, which runs the kernels on this machine's CPU" in capsys.readouterr().out
    subprocess.run(["cc", "-O1", "-DN=50", str(source), "-o", str(plain), "-lm"], check=True, timeout=60)
    outputs = [subprocess.run([str(p)], capture_output=True, check=True, timeout=60).stdout for p in (plain, built)]
    assert outputs[0] == outputs[1]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
def test_build_takes_nvcc_without_a_gpu(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(source, "-o", tmp_path, "--build", tmp_path / "built") == 0
    assert f"built {tmp_path / 'built'} with nvcc, for sm_90" in capsys.readouterr().out
    assert b"cudaLaunchKernelExC" in (tmp_path / "built").read_bytes()


def test_build_says_that_it_takes_the_emulator_without_nvcc(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NVCC", "no-such-nvcc")
    assert run(source, "-o", tmp_path, "--build", tmp_path / "built") == 0
    assert "for the emulator, which runs the kernels on this machine's CPU, slowly: nvcc" in capsys.readouterr().out
    assert run(source, "-o", tmp_path / "out", "--build", tmp_path / "other", "--on", "gpu") == 4
    assert "build with --on emulator" in capsys.readouterr().err
    assert not (tmp_path / "other").exists() and not (tmp_path / "out").exists()


def test_schedule_files() -> None:
    text = join_schedules({"a_scop0": "domain: 1\n", "b_scop0": "domain: 2"})
    names = ["a_scop0", "b_scop0"]
    assert {n: t.strip() for n, t in split_schedules(text, names, "f").items()} == {
        "a_scop0": "domain: 1",
        "b_scop0": "domain: 2",
    }
    assert split_schedules("domain: 3", ["only"], "f") == {"only": "domain: 3"}
    with pytest.raises(UsageError, match="which of the 2 SCoPs"):
        split_schedules("domain: 3", names, "f")
    with pytest.raises(UsageError, match="a schedule of a_scop0, which is not here"):
        split_schedules(text, ["b_scop0"], "f")


def test_the_module_runs() -> None:
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    command = [sys.executable, "-m", "polytile", "--version"]
    out = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=True).stdout
    assert out == f"polytile {__version__}\n"


def test_a_refused_scop_that_is_marked_is_an_error_beside_detected_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "f.c"
    body = "    for (int i = 0; i < n; i++) return;"
    marked = f"void g(int);\nvoid f(int n)\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
    loops = "void h(int n, double a[n])\n{\n    for (int i = 0; i < n; i++) a[i] = 1;\n}\n"
    source.write_text(marked + loops)
    assert run(source, "--target", "cuda", "--autodetect", "-o", tmp_path / "out") == 1
    assert "f.c:5:33: error: `return` is not allowed in a SCoP" in capsys.readouterr().err
    assert run(source, "--target", "cuda", "--autodetect", "--keep-going", "-o", tmp_path / "out") == 0
    assert "warning: `return` is not allowed in a SCoP" in capsys.readouterr().err


def test_calls_that_may_do_anything_stay_on_the_host_and_are_no_fault(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "f.c"
    source.write_text(
        "void g(int);\nvoid f(int n, double a[n])\n{\n#pragma scop\n    for (int i = 0; i < n; i++) a[i] = 1;\n"
        "    for (int i = 0; i < n; i++) g(i);\n#pragma endscop\n}\n"
    )
    assert run(source, "--target", "cuda", "--json", "-o", tmp_path / "out") == 0
    said = json.loads(capsys.readouterr().out)
    assert [s["status"] for s in said["scops"]] == ["compiled"]
    assert said["refusals"] == []
    assert [c["line"] for c in said["calls"]] == [6]
    assert run(source, "--target", "cuda", "-o", tmp_path / "out") == 0
    warning = "f.c:6:33: warning: the call of `g` may do anything: it stays on the host, with the loops around it"
    assert warning in capsys.readouterr().err


@pytest.mark.parametrize("failing", ["polytile.cli.json_facts.scop_facts", "polytile.cli.dump.dump"])
def test_facts_and_dumps_that_fail_cost_no_kernels(
    failing: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> str:
        raise TypeError("on purpose")

    monkeypatch.setattr(failing, fail)
    source = tmp_path / "f.c"
    loop = "for (int i = 0; i < n; i++) x[i] = i;"
    source.write_text(f"void f(int n, int x[n])\n{{\n#pragma scop\n{loop}\n#pragma endscop\n}}\n")
    assert main([str(source), "-o", str(tmp_path), "--json", "--dump", "scop", "--dump", "ast"]) == 0
    found = capsys.readouterr()
    said = json.loads(found.out)
    assert said["scops"][0]["status"] == "compiled" and (tmp_path / "f_kernel.cu").exists()
    assert found.err.count("internal error: TypeError: on purpose") == (1 if "facts" in failing else 2)


def test_a_remark_says_that_no_compiler_was_asked_about_types(tmp_path: Path) -> None:
    loops = "".join(
        f"void f{k}(int n, {c} x[n])\n{{\n#pragma scop\nfor (int i = 0; i < n; i++) x[i] = {v};\n#pragma endscop\n}}\n"
        for k, (c, v) in enumerate([("int", "1"), ("char", "i"), ("long", r"'\xff'")])
    )
    (tmp_path / "f.c").write_text(loops)
    command = [sys.executable, "-m", "polytile", "f.c", "--target", "cuda", "--cflags=-fwrapv"]
    environment = {**os.environ, "PATH": "/nowhere"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("no C compiler was asked") == 1 and "f.c:9:" in done.stderr
    assert "x[i] = -1;" in (tmp_path / "f_kernel.cu").read_text()
    command[-1] = "--cflags=-funsigned-char"
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and "x[i] = 255;" in (tmp_path / "f_kernel.cu").read_text(), done.stderr


def test_a_command_ends_with_what_is_to_be_done_at_its_end() -> None:
    """Its process ends without taking modules apart, and loses nothing of what is said."""
    code = "import atexit, sys; atexit.register(print, 'at the end'); sys.argv = ['polytile', '--version']; "
    code += "from polytile.__main__ import main; main(); print('never')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, f"polytile {__version__}\nat the end\n")
