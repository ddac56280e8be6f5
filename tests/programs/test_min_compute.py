"""`--min-compute`: programs run the C where a SCoP has fewer statement instances, and the kernels elsewhere."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

import polytile
from polytile.cli.main import main
from polytile.diagnostics import EXIT_USAGE, UsageError

FUNCTIONS: Mapping[str, tuple[str, str, str, str]] = {  # declarations, parameters, body, arguments for a size s
    "one loop": ("", "int n, double *a", "for (int i = 0; i < n; i++) a[i] += 1;", "s, d"),
    "a nest": (
        "",
        "int n, int m, double *a",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) a[i * m + j] += 1;",
        "s / 4, 4, d",
    ),
    "two statements": (
        "",
        "int n, double *a, double *restrict b",
        "for (int i = 0; i < n; i++) a[i] += 1; for (int i = 0; i < n; i += 2) b[i] = i;",
        "(s + 2) / 3 * 2, d, d + 2000",
    ),
    "a triangle counts as its box": (
        "",
        "int n, double *a",
        "for (int i = 0; i < n; i++) for (int j = 0; j <= i; j++) a[i * n + j] += 1;",
        "s / 8, d",
    ),
    "a part of a loop": (
        "",
        "int low, int high, int n, double *a",
        "for (int i = low; i < high; i++) if (i < n) a[i] += 1;",
        "7, s + 100, s + 7, d",
    ),
    "a field, and a product": (
        "struct grid { int h, w; };",
        "const struct grid *g, double *a",
        "for (int i = 0; i < g->h * g->w; i++) a[i] += 1;",
        "(&(struct grid){s, 1}), d",
    ),
}
LEAST = 100


def _program(name: str) -> str:
    declared, parameters, body, arguments = FUNCTIONS[name]
    return f"""#include <stdio.h>
{declared}
void f({parameters})
{{
#pragma scop
    {body}
#pragma endscop
}}
int main(int count, char **words)
{{
    static double d[4000];
    int s;
    sscanf(words[count - 1], "%d", &s);
    f({arguments});
    double sum = 0;
    for (int i = 0; i < 4000; i++) sum += d[i] * (i + 1);
    printf("%g\\n", sum);
    return 0;
}}
"""


def _output(command: list[str | Path]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_host_decides(name: str, tmp_path: Path) -> None:
    """Linked with an entry point that only says that it was called."""
    program = polytile.compile(_program(name), name="f.c", min_compute=LEAST)
    (tmp_path / "host.c").write_text(program.host)
    (tmp_path / "entry.c").write_text('#include <stdio.h>\nint polytile_f_scop0() { puts("kernels"); return 0; }\n')
    (tmp_path / "plain.c").write_text(_program(name))
    for files, built in ((("host.c", "entry.c"), "host"), (("plain.c",), "plain")):
        subprocess.run(["gcc", "-std=gnu99", "-w", "-o", built, *files], check=True, cwd=tmp_path)
    for size in ("-3", "0", "1", "60"):
        assert _output([tmp_path / "host", size]) == _output([tmp_path / "plain", size]), size
    for size in ("100", "204", "1000"):
        assert "kernels" in _output([tmp_path / "host", size]), size


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("name", ["a nest", "a field, and a product"])
def test_built_programs_compute_the_same(name: str, tmp_path: Path) -> None:
    program = polytile.compile(_program(name), name="f.c", min_compute=LEAST)
    (tmp_path / "plain.c").write_text(_program(name))
    subprocess.run(["gcc", "-std=gnu99", "-w", "-o", tmp_path / "plain", tmp_path / "plain.c"], check=True)
    program.build(tmp_path / "built", on="emulator")
    for size in ("0", "99", "101", "333"):
        assert _output([tmp_path / "built", size]) == _output([tmp_path / "plain", size])


def test_loops_that_data_end_have_enough() -> None:
    text = """void f(int n, const int *row, const double *x, double *y)
{
#pragma scop
    for (int i = 0; i < n; i++) { y[i] = 0; for (int j = row[i]; j < row[i + 1]; j++) y[i] += x[j]; }
#pragma endscop
}
"""
    host = polytile.compile(text, name="f.c", min_compute=12345).host
    assert "polytile_instances += 1.0 * (12345);" in host


def test_kernels_run_always_by_default() -> None:
    assert "polytile_instances" not in polytile.compile(_program("one loop"), name="f.c").host


@pytest.mark.quick
def test_numbers_below_0_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="min_compute is at least 0"):
        polytile.compile(_program("one loop"), min_compute=-1)
    file = tmp_path / "f.c"
    file.write_text(_program("one loop"))
    assert main([str(file), "--target", "cuda", "--min-compute", "many"]) == EXIT_USAGE


def test_explanations_say_when_the_c_runs() -> None:
    text = "void f(int n, double *a)\n{\n#pragma scop\nfor (int i = 0; i < n; i++) a[i] += 1;\n#pragma endscop\n}\n"
    told = "for 100 statement instances or more: the program counts them, and runs the C for fewer"
    assert told in polytile.compile(text, name="f.c", min_compute=100).explain()
    assert "instances or more" not in polytile.compile(text, name="f.c").explain()
    serial = text.replace("+= 1", "+= a[i - 1]").replace("i = 0", "i = 1")
    assert "instances or more" not in polytile.compile(serial, name="f.c", min_compute=100).explain()
