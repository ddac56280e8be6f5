"""A file with many headers of C and POSIX keeps its SCoPs, and has the names of <sys/types.h>."""

from __future__ import annotations

import shutil

import pytest

import polytile
from polytile.frontend.source import read_places

HEADERS = [
    "assert", "ctype", "errno", "float", "inttypes", "iso646", "limits", "locale", "math", "setjmp", "signal",
    "stdarg", "stdbool", "stddef", "stdint", "stdio", "stdlib", "string", "time", "wchar", "wctype", "complex",
    "fenv", "unistd", "fcntl", "strings", "pthread", "sched", "semaphore", "getopt", "dirent", "dlfcn", "glob",
    "libgen", "err", "alloca", "malloc", "memory", "sys/types", "sys/stat", "sys/time", "sys/mman", "sys/wait",
    "sys/resource", "sys/times", "sys/utsname", "sys/ioctl", "sys/param",
]  # fmt: skip
SYSTEM = [
    "sys/socket", "sys/uio", "netinet/in", "arpa/inet", "poll", "netdb", "sys/select", "sys/epoll",
]  # fmt: skip
NAMES = [
    "uint", "ushort", "ulong", "u_char", "u_short", "u_int", "u_long", "u_int8_t", "u_int16_t", "u_int32_t",
    "u_int64_t", "quad_t", "u_quad_t", "loff_t", "dev_t", "ino_t", "nlink_t", "blksize_t", "blkcnt_t", "fsblkcnt_t",
    "fsfilcnt_t", "id_t", "key_t", "daddr_t", "caddr_t", "clockid_t", "timer_t", "useconds_t", "suseconds_t",
    "fsid_t", "register_t", "sigset_t", "siginfo_t", "stack_t",
]  # fmt: skip
SCOP = """
void f(uint n, u_int32_t a[n], const u_char b[n])
{
#pragma scop
    for (uint i = 0; i < n; i++)
        a[i] = (u_int32_t)b[i] + 1;
#pragma endscop
}
"""


@pytest.mark.slow(but="pcpp")
@pytest.mark.parametrize("preprocessor", ["auto", "pcpp"])
def test_a_scop_among_headers(preprocessor: str) -> None:
    system = SYSTEM if preprocessor == "auto" and shutil.which("gcc") else []
    text = "".join(f"#include <{name}.h>\n" for name in (*HEADERS, *system))
    text += "".join(f"{name} value_{name};\n" for name in NAMES)
    _, places = read_places("f.c", text + SCOP, preprocessor=preprocessor)
    assert [place.function_name for place in places] == ["f"]
    if preprocessor == "auto":
        assert len(polytile.compile(text + SCOP, raise_bugs=True).scops) == 1
