"""Functions with SCoPs that signals run, amid the kernels of the same function."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import polytile

pytestmark = pytest.mark.usefixtures("emulator")

SIGNALS = """
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
static double a[256], b[256];
static volatile int handled;
void add(int n, double *restrict x)
{
#pragma scop
    for (int i = 0; i < n; i++)
        x[i] += 1;
#pragma endscop
}
static void on_alarm(int number)
{
    (void)number;
    add(256, b);
    handled++;
}
int main(void)
{
    struct sigaction action = {0};
    struct itimerval every = {{0, 500}, {0, 500}};
    int calls = 0, wrong = 0;
    action.sa_handler = on_alarm;
    add(256, a);
    sigaction(SIGALRM, &action, 0);
    setitimer(ITIMER_REAL, &every, 0);
    while (handled < 200) {
        add(256, a);
        if (calls++ % 20 == 0) {  /* forking locks what the handler's kernels need */
            pid_t child = fork();
            if (child == 0) _exit(0);
            while (waitpid(child, 0, 0) < 0) {
            }
        }
    }
    every.it_value.tv_usec = 0;
    setitimer(ITIMER_REAL, &every, 0);
    for (int i = 0; i < 256; i++)
        wrong += a[i] != calls + 1 || b[i] != handled;
    printf(wrong ? "wrong\\n" : "all right\\n");
    return 0;
}
"""


def output(source: str, folder: Path, *, autodetect: bool = False) -> str:
    (folder / "program.c").write_text(source)
    polytile.compile(folder / "program.c", autodetect=autodetect).build(folder / "program", on="emulator")
    done = subprocess.run([folder / "program"], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


def test_a_handler_amid_kernels_runs_the_c(tmp_path: Path) -> None:
    assert output(SIGNALS, tmp_path) == "all right\n"


MARKS = ("#pragma scop\n", "#pragma endscop\n")


def unmarked(source: str) -> str:
    for mark in MARKS:
        source = source.replace(mark, "")
    return source


@pytest.mark.quick
@pytest.mark.parametrize(
    "registered",
    [
        "signal(SIGALRM, on_alarm);",
        "struct sigaction action = {.sa_handler = on_alarm}; sigaction(SIGALRM, &action, 0);",
        "struct sigaction action; action.sa_handler = argc > 1 ? on_alarm : SIG_IGN; sigaction(SIGALRM, &action, 0);",
    ],
)
def test_detection_leaves_out_what_handlers_call(registered: str, tmp_path: Path) -> None:
    source = f"""
#include <signal.h>
static double b[256];
static void add(double *restrict x) {{ for (int i = 0; i < 256; i++) x[i] += 1; }}
static void on_alarm(int number) {{ (void)number; add(b); }}
static void other(double *restrict x) {{ for (int i = 0; i < 256; i++) x[i] += 2; }}
int main(int argc, char **argv) {{ (void)argv; {registered} other(b); return 0; }}
"""
    (tmp_path / "program.c").write_text(source)
    program = polytile.compile(tmp_path / "program.c", autodetect=True)
    assert [scop.name for scop in program.scops] == ["other_scop0"]
    assert any("a signal handler runs this loop, in 'add'" in error.message for error in program.left_out)
