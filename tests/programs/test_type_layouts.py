"""Types whose layouts attributes, pragmas and flags change: kernels have those of the user's compiler."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import polytile
from polytile.cli.main import main
from tests.same_output import prints_the_same

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")
HEAD = "#include <stdio.h>\n#include <stddef.h>\n#include <stdint.h>\n#define N 40\nlong total[N];\n"
SHOW = """
static unsigned sum(const void *memory, size_t size)
{
    unsigned found = 0;
    for (const unsigned char *at = memory; size > 0; size--)
        found = 31 * found + *at++;
    return found;
}
#define SHOW(x) printf("%zu %u\\n", sizeof x, sum(x, sizeof x))
"""
# By the name of its array: the declaration, and what a loop over i does.
TYPES = {
    "before_tag": (
        "struct __attribute__((packed)) s1 { char c; int x; short h; } before_tag[N];",
        "{0}.x = i; {0}.h = -i;",
    ),
    "behind_brace": (
        "struct s2 { char c; long x; } __attribute__((__packed__)) behind_brace[N];",
        "{0}.x = i; {0}.c = i;",
    ),
    "brackets": ("struct [[gnu::packed]] s3 { char c; double x; } brackets[N];", "{0}.x = i * .5;"),
    "field": ("struct s4 { char c; int x __attribute__((packed)); double d; } field[N];", "{0}.x = i; {0}.d = i;"),
    "no_layout": (
        "__attribute__((unused)) struct s5 { char c; int x; } no_layout[N] __attribute__((aligned(64)));",
        "{0}.x = i;",
    ),
    "pushed": ("#pragma pack(push, 2)\nstruct s6 { char c; double d; } pushed[N];\n#pragma pack(pop)", "{0}.d = i;"),
    "popped": ("struct s7 { char c; double d; } popped[N];", "{0}.d = i;"),
    "nested": (
        "struct s8 { char t; struct s2 a[2]; struct { char p; int q; } __attribute__((packed)) in; short z; }"
        " nested[N];",
        "for (int k = 0; k < 2; k++) {0}.a[k].x = i + k; {0}.in.q = i; {0}.z = 3;",
    ),
    "packed_nested": (
        "struct s9 { char t; struct s7 a; float v[3][2]; } __attribute__((packed)) packed_nested[N];",
        "{0}.a.d = i; for (int k = 0; k < 3; k++) for (int m = 0; m < 2; m++) {0}.v[k][m] = i * k + m;",
    ),
    "pixels": ("typedef struct { char r, g, b; } __attribute__((aligned(4))) rgb;\nrgb pixels[N];", "{0}.g = i;"),
    "rows": ("typedef rgb row[3];\nrow rows[N];", "for (int k = 0; k < 3; k++) {0}[k].b = i + k;"),
    "wide_field": ("struct s10 { char c; int x __attribute__((aligned(32))); } wide_field[N];", "{0}.x = i;"),
    "alignas": ("struct s11 { _Alignas(16) int v; char c; } alignas[N];", "{0}.v = i; {0}.c = -i;"),
    "aligned_type": (
        "typedef int wide_int __attribute__((aligned(16)));\nstruct s12 { char c; wide_int a; } aligned_type[N];",
        "{0}.a = i;",
    ),
    "less_aligned": (
        "typedef double low __attribute__((aligned(4)));\nstruct s13 { int k; low d; } less_aligned[N];",
        "{0}.d = i / 3.;",
    ),
    "mode": ("typedef int eight __attribute__((mode(DI)));\neight mode[N];", "{0} = (eight)i << 33;"),
    "small_mode": ("typedef unsigned __attribute__((__mode__(__QI__))) one;\none small_mode[N];", "{0} = 7 * i;"),
    "small_enum": ("enum __attribute__((packed)) e1 { A1, B1 } small_enum[N];", "{0} = i % 2 ? B1 : A1;"),
    "large_enum": ("enum e2 { A2 = 3, B2 = 0x1ffffffffLL } large_enum[N];", "{0} = i % 2 ? B2 : A2;"),
    "negative_enum": ("enum e3 { A3 = -1, B3 = 0x7fffffffffLL } negative_enum[N];", "{0} = i % 2 ? B3 : A3;"),
    "enum_field": (
        "struct s14 { char c; enum e1 e; enum e2 f; } __attribute__((packed)) enum_field[N];",
        "{0}.e = B1; {0}.f = B2;",
    ),
    "with_union": (
        "union u { int a; float b; };\nstruct s15 { char c; union u u; int x; } __attribute__((packed)) with_union[N];",
        "{0}.x = i;",
    ),
}
SIZES = (
    "sizeof(struct s8) + 3 * sizeof nested[0] + 5 * sizeof(row) + 7 * sizeof(enum e1) + 11 * sizeof(B2) + sizeof pushed"
    " + 13 * offsetof(struct s9, v) + 17 * __builtin_offsetof(struct s8, in.q) + 19 * _Alignof(struct s11)"
    " + 23 * sizeof(nested[0].in) + 29 * sizeof(mode[0]) + 31 * offsetof(struct s8, a[1].x)"
)


def program() -> str:
    declared = "\n".join(declaration for declaration, _ in TYPES.values())
    functions = [
        f"void set_{name}(int n)\n{{\n    for (int i = 0; i < n; i++) {{ {body.replace('{0}', f'{name}[i]')} }}\n}}\n"
        for name, (_, body) in TYPES.items()
    ]
    functions.append(
        "void in_block(int n)\n{\n    struct __attribute__((packed)) local { char c; long x; } l[N];\n"
        "    for (int i = 0; i < n; i++) { l[i].c = i; l[i].x = i * 3; }\n"
        "    for (int i = 0; i < n; i++) total[i] += l[n - 1 - i].x + sizeof(struct local);\n}\n"
    )
    functions.append(
        f"void use(int n, const struct s6 *restrict p, struct s2 by)\n{{\n    for (int i = 1; i < n; i++)\n"
        f"        total[i] = p[i - 1].d + by.x + large_enum[i] / 2 + small_mode[i] + i * ({SIZES});\n}}\n"
    )
    calls = "".join(f"    set_{name}(N);\n    SHOW({name});\n" for name in TYPES)
    end = "    use(N, pushed, behind_brace[7]);\n    in_block(N);\n    SHOW(total);\n    return 0;\n"
    return f"{HEAD}{declared}\n{''.join(functions)}{SHOW}int main(void)\n{{\n{calls}{end}}}\n"


def test_programs_print_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = prints_the_same(program(), "", tmp_path, monkeypatch, autodetect=True)
    assert {s.name for s in compiled.scops} >= {f"set_{name}_scop0" for name in TYPES} | {"use_scop0", "in_block_scop0"}


@pytest.mark.quick
def test_kernels_are_validated(tmp_path: Path) -> None:
    path = tmp_path / "types.c"
    path.write_text(program())
    compiled = polytile.compile(path, autodetect=True, strict=True)
    for name in ("packed_nested", "enum_field"):
        compiled[f"set_{name}_scop0"].validate(on="emulator", parameters={"n": 21})


FLAGGED = """
char c[N]; enum colour { RED, GREEN, BLUE } colours[N]; struct pair { char a; enum colour b; double d; } pairs[N];
void f(int n) { for (int i = 0; i < n; i++) total[i] = c[i] / 2 + (c[i] > 100) + (char)(i + 120); }
void g(int n) { for (int i = 0; i < n; i++) { colours[i] = i % 2 ? BLUE : RED; pairs[i].a = 5 * i; pairs[i].b = GREEN;
    pairs[i].d = pairs[i].a; } }
"""
CALLS = "for (int i = 0; i < N; i++) c[i] = 6 * i; f(N); g(N); SHOW(total); SHOW(colours); SHOW(pairs);"


@pytest.mark.parametrize("flags", ["-funsigned-char", "-fshort-enums -fpack-struct", "-fpack-struct=2 -fsigned-char"])
def test_flags_change_types(flags: str, tmp_path: Path) -> None:
    path = tmp_path / "flagged.c"
    path.write_text(f"{HEAD}{FLAGGED}{SHOW}int main(void) {{ {CALLS} return 0; }}\n")
    subprocess.run(["gcc", "-w", *flags.split(), path, "-o", tmp_path / "before"], check=True)
    compiled = polytile.compile(path, autodetect=True, strict=True, cflags=flags)
    compiled.build(tmp_path / "after", on="emulator")
    assert {"f_scop0", "g_scop0"} <= {s.name for s in compiled.scops}
    printed = [subprocess.run([tmp_path / p], capture_output=True, check=True).stdout for p in ("before", "after")]
    assert printed[0] == printed[1]


def test_another_compiler_must_refuse_the_host_file(tmp_path: Path) -> None:
    path = tmp_path / "flagged.c"
    path.write_text(f"{HEAD}{FLAGGED}")
    assert main([str(path), "--autodetect", "-o", str(tmp_path), "--certificate", str(tmp_path / "proof.json")]) == 0
    host = tmp_path / "flagged_host.c"
    for flags, refused in (("", False), ("-funsigned-char", True), ("-fpack-struct", True), ("-fshort-enums", True)):
        done = subprocess.run(
            ["gcc", "-w", "-pedantic-errors", *flags.split(), "-c", host, "-o", tmp_path / "host.o"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode != 0, "made the kernels for other types" in done.stderr) == (refused, refused)
    content = json.loads((tmp_path / "proof.json").read_text())
    assert "sizeof(pairs[0]) == 16" in content["scops"][1]["layouts"]
    assert main(["check", str(tmp_path / "proof.json"), "--source", str(path)]) == 0
    content["scops"][1]["layouts"].append("sizeof(pairs[0]) == 13")
    (tmp_path / "proof.json").write_text(json.dumps(content))
    assert main(["check", str(tmp_path / "proof.json"), "--source", str(path)]) != 0


def test_calls_from_python_take_packed_structs(tmp_path: Path) -> None:
    path = tmp_path / "packed.c"
    path.write_text(
        "struct __attribute__((packed)) r { char t; double x; int v[2]; };\n"
        "void f(int n, struct r a[n]) {\n#pragma scop\n"
        "for (int i = 0; i < n; i++) a[i].x = a[i].v[1] + a[i].t;\n#pragma endscop\n}\n"
    )
    packed = np.dtype([("t", "i1"), ("x", "f8"), ("v", "i4", (2,))])
    a = np.zeros(5, packed)
    a["v"][:, 1] = range(5)
    a["t"] = 3
    polytile.compile(path)["f_scop0"](n=5, a=a, on="emulator")
    assert packed.itemsize == 17 and list(a["x"]) == [3, 4, 5, 6, 7]
