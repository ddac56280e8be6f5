"""Programs with what GNU C has beyond C99: all loops but those of functions that cannot be read are looked at."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from tests.cc.conftest import Compile, succeed

PROGRAM = Path(__file__).parent / "gnu_c.c"
DETECT = "--polytile-autodetect"
SERIAL = """\
int i, a[9];
void f(int *p) { while (*p) p++; }
int main(void) { for (i = 0; i < 9; i++) a[i] = i; return i - 9; }
"""


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64", reason="its assembly is that of x86-64")
def test_a_program_computes_what_gcc_makes_of_it(cc: Compile, tmp_path: Path) -> None:
    options = ("-O1", "-fno-strict-aliasing", str(PROGRAM), "-lm", "-o")
    succeed("gcc", "-w", "-ffp-contract=off", *options, "plain", folder=tmp_path)
    expected = succeed("./plain", folder=tmp_path).stdout
    done = cc(DETECT, "--polytile-verbose", "--polytile-fp=strict", *options, "program")
    assert done.returncode == 0, done.stderr
    assert succeed("./program", folder=tmp_path).stdout == expected
    taken = [f"{name}_scop0: " for name in ("conditions", "globals", "types", "digraphs", "numbers")]
    assert [name for name in taken if name not in done.stderr] == []
    lost = [line for line in done.stderr.splitlines() if "this function cannot be read" in line]
    assert len(lost) == 2 and all("[-Wpolytile]" in line for line in lost)


@pytest.mark.slow
def test_what_cannot_be_read_is_said_once_and_is_no_error(cc: Compile, tmp_path: Path) -> None:
    (tmp_path / "f.c").write_text(
        "int g(void *p) { goto *p; }\nint h(void *p) { for (;;) goto *p; }\n"
        "void f(int n, int *a) { for (int i = 0; i < n; i++) a[i] = i; }\n"
    )
    done = cc(DETECT, "-c", "f.c")
    assert done.returncode == 0
    assert done.stderr.count("warning") == 1 and "f.c:2:32: warning: this function cannot be read" in done.stderr
    assert cc(DETECT, "-c", "f.c", "-Wno-polytile").stderr == ""


def test_a_file_without_scops_says_why(cc: Compile, tmp_path: Path) -> None:
    (tmp_path / "f.c").write_text(SERIAL)
    assert cc(DETECT, "-c", "f.c").stderr == ""
    said = cc(DETECT, "--polytile-verbose", "-c", "f.c").stderr
    assert "f.c:2:29: note: a pointer or a whole array is assigned to" in said
    assert "f.c:3:23: note: the iterator `i` may be read after the SCoP" in said


def test_many_loops_say_why_in_a_few_lines(cc: Compile, tmp_path: Path) -> None:
    loops = "".join(f"for (k = 0; k < {n}; k++) p = p->next; " for n in range(30))
    (tmp_path / "f.c").write_text(f"struct s {{ struct s *next; }}; int k;\nvoid f(struct s *p) {{ {loops} }}\n")
    lines = cc(DETECT, "--polytile-verbose", "-c", "f.c").stderr.splitlines()
    said = [line for line in lines if line.startswith("f.c")]
    assert 0 < len(said) <= 20 and any("more place" in line for line in said)
