"""What `polytile cc` does with single command lines: what it hands on, makes, refuses and leaves."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from polytile.cc.link import DRIVERS
from tests.cc.conftest import COMPILER, Compile, needs_nvcc, run, succeed

SCALE = """\
#include "scale.h"
static void apply(int n, double *a, const double *b)
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] = FACTOR * b[i] + 1;
#pragma endscop
}
void NAME(int n, double *a, const double *b) { apply(n, a, b); }
"""
MAIN = """\
#include <stdio.h>
void twice(int n, double *a, const double *b);
void thrice(int n, double *a, const double *b);
int main(void)
{
    double a[300], b[300];
    for (int i = 0; i < 300; i++)
        b[i] = i * i;
    twice(300, a, b);
    thrice(300, b, a);
    for (int i = 0; i < 300; i += 13)
        printf("%g %g\\n", a[i], b[i]);
    return 0;
}
"""
REFUSED = """\
void clear(int n, double *a)
{
#pragma scop
    for (int i = 0; i < n; i++) {
        double *element = i ? a + i : a;
        *element = 0;
    }
#pragma endscop
}
"""
TWICE, THRICE = ("-DNAME=twice", "-DFACTOR=2"), ("-DNAME=thrice", "-DFACTOR=3")


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """twice.c and thrice.c, which differ by macros alone, main.c, and a header in a folder of its own."""
    (tmp_path / "include").mkdir()
    (tmp_path / "include/scale.h").write_text("#ifndef FACTOR\n#error no FACTOR\n#endif\n")
    for name, text in (("twice", SCALE), ("thrice", SCALE), ("main", MAIN), ("refused", REFUSED)):
        (tmp_path / f"{name}.c").write_text(text)
    return tmp_path


def reference(folder: Path) -> str:
    for name, macros in (("twice", TWICE), ("thrice", THRICE)):
        run("gcc", "-Iinclude", *macros, "-c", f"{name}.c", "-o", f"{name}.ref", folder=folder)
    assert run("gcc", "main.c", "twice.ref", "thrice.ref", "-o", "reference", folder=folder).returncode == 0
    return run("./reference", folder=folder).stdout


def defined(made: Path) -> list[str]:
    """The names that an object or library shows to others, without those that many may define."""
    listed = subprocess.run(["nm", "-g", "--defined-only", made], capture_output=True, text=True, check=True).stdout
    return sorted(line.split()[2] for line in listed.splitlines() if line.split()[1] in "TDB")


def failed(done: subprocess.CompletedProcess[str], status: int, *texts: str) -> None:
    assert done.returncode == status, done.stderr
    for text in texts:
        assert text in done.stderr


@pytest.fixture
def echo(tmp_path: Path) -> str:
    """A host compiler that says what it is called with, one word in a line."""
    script = tmp_path / "echo"
    script.write_text('#!/bin/sh\nfor word; do printf "%s\\n" "$word"; done\n')
    script.chmod(0o755)
    return str(script)


@pytest.mark.slow(but=4)
@pytest.mark.parametrize(
    "words",
    [
        ["-E", "twice.c"],
        ["-S", "twice.c", "-o", "-"],
        ["-M", "twice.c"],
        ["-MM", "-MT", "a b", "twice.c"],
        ["-fsyntax-only", "twice.c"],
        ["-c", "main.c", "-o", "main.o", "-D", 'TEXT="a b"', "-DX=-c", ""],
        ["main.c", "-Wl,-rpath,$ORIGIN", "-Xlinker", "twice.c", "-lm", "-o", "a"],
        ["--version"],
        ["-print-prog-name=ld"],
        ["-x", "c++", "-c", "twice.c"],
        ["-x", "c", "-"],
        ["-c", "nowhere.c"],
        [],
    ],
    ids=" ".join,
)
def test_what_has_no_scop_goes_to_the_host_compiler_as_it_came(
    words: list[str], cc: Compile, sources: Path, echo: str
) -> None:
    done = cc(*words, "--polytile-tile=32", "-Werror=polytile", POLYTILE_CC=echo)
    assert done.stdout == "".join(f"{word}\n" for word in words)
    assert done.stderr == "" and done.returncode == 0


def test_response_files(cc: Compile, sources: Path, echo: str) -> None:
    (sources / "plain").write_text("-c main.c")
    (sources / "own").write_text("@plain '-DA=x y'\n--polytile-tile=32 -DB=\\\"b\\\"")
    assert cc("@plain", "-g", POLYTILE_CC=echo).stdout == "@plain\n-g\n"
    assert cc("@own", "@none", POLYTILE_CC=echo).stdout == '-c\nmain.c\n-DA=x y\n-DB="b"\n@none\n'
    (sources / "scops").write_text("-Iinclude -DNAME=twice -DFACTOR=2 -c twice.c -o 'an object.o'")
    assert cc("@scops").returncode == 0
    assert defined(sources / "an object.o") == ["twice"]
    (sources / "endless").write_text("@endless")
    failed(cc("@endless"), 2, "response files name each other without end")


@pytest.mark.slow
def test_objects_with_equal_names_are_linked(cc: Compile, sources: Path) -> None:
    flags = ["-O2", "-g", "-fPIC", "-Wall", "-Wextra", "-pedantic", "-std=c99", "-Wno-unknown-pragmas", "-Werror"]
    warnings = ["-Wshadow", "-Wnested-externs", "-Wredundant-decls", "-Wstrict-prototypes", "-Wno-missing-prototypes"]
    for name, macros in (("twice", TWICE), ("thrice", THRICE)):
        done = cc(*flags, *warnings, "-Iinclude", *macros, "-c", f"{name}.c")
        assert done.returncode == 0 and done.stderr == "" and done.stdout == ""
        assert defined(sources / f"{name}.o") == [name]
    assert cc("main.c", "twice.o", "thrice.o", "-o", "program").returncode == 0
    assert run("./program", folder=sources).stdout == reference(sources)
    assert {p.suffix for p in sources.iterdir()} <= {".c", ".o", ".ref", ""}  # nothing else is left


@pytest.mark.slow
def test_archives_and_shared_libraries(cc: Compile, sources: Path) -> None:
    for name, macros in (("twice", TWICE), ("thrice", THRICE)):
        assert cc("-fPIC", "-Iinclude", *macros, "-c", f"{name}.c").returncode == 0
    run("ar", "rcs", "libtwice.a", "twice.o", folder=sources)
    assert cc("-shared", "thrice.o", "-o", "libthrice.so").returncode == 0
    (sources / "twice.o").unlink()
    linked = cc("main.c", "-L.", "-ltwice", "-lthrice", "-Wl,-rpath,.", "-o", "program")
    assert linked.returncode == 0, linked.stderr
    assert run("./program", folder=sources).stdout == reference(sources)


@pytest.mark.slow
def test_compiling_and_linking_at_once(cc: Compile, sources: Path) -> None:
    (sources / "thrice.h").write_text("#define NAME thrice\n#undef FACTOR\n#define FACTOR 3\n")
    (sources / "thrice.c").write_text('#include "thrice.h"\n' + SCALE)
    macros = ["-DUNUSED", "-DNAME=wrong", "-UNAME", "-DNAME=twice", "-DFACTOR=2"]
    run("gcc", "-w", "-Iinclude", *macros, "main.c", "twice.c", "thrice.c", "-o", "reference", folder=sources)
    done = cc("-w", "-x", "c", "-Iinclude", *macros, "twice.c", "thrice.c", "main.c", "-o", "program")
    assert done.returncode == 0, done.stderr
    assert run("./program", folder=sources).stdout == run("./reference", folder=sources).stdout != ""
    assert not list(sources.glob("*.o"))


@pytest.mark.slow
def test_several_sources_make_objects(cc: Compile, sources: Path) -> None:
    done = cc("-Iinclude", *TWICE, "-c", "twice.c", "main.c", "refused.c")
    assert done.returncode == 0 and "[-Wpolytile]" in done.stderr
    assert {p.name for p in sources.glob("*.o")} == {"twice.o", "main.o", "refused.o"}
    failed(cc("-Iinclude", *TWICE, "-c", "twice.c", "refused.c", "-o", "x.o"), 2, "-o names one object")


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ["-include", "forced.h", "-isystem", "include"],
        ["-imacros", "forced.h", "-iquote", "include"],
        ["-includeforced.h", "-I", "include"],
        ["-idirafter", "include", "-std=gnu11", "-D", "NAME=twice", "-DFACTOR=5", "-U", "FACTOR", "-D", "FACTOR=2"],
    ],
    ids=" ".join,
)
def test_polytile_sees_what_the_host_compiler_sees(words: list[str], cc: Compile, sources: Path) -> None:
    (sources / "forced.h").write_text("#define NAME twice\n#define FACTOR 2\n")
    assert cc(*words, "-c", "twice.c").returncode == 0
    assert cc("-Iinclude", *THRICE, "-c", "thrice.c").returncode == 0
    assert defined(sources / "twice.o") == ["twice"]
    assert b"polytile cc: kernels run in the emulator" in (sources / "twice.o").read_bytes()
    assert cc("main.c", "twice.o", "thrice.o", "-o", "program").returncode == 0
    assert run("./program", folder=sources).stdout == reference(sources)


@pytest.mark.slow
def test_the_source_keeps_its_name_and_its_lines(cc: Compile, tmp_path: Path) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    (folder / "own.h").write_text("#define HERE __FILE__\n")
    lines = ["\ufeff#include <stdio.h>", '#include "own.h"', "int main(void)", "{", "    double a[64];"]
    lines += ["#pragma scop", "    for (int i = 0; i < 64; i++)", "        a[i] = i;", "#pragma endscop"]
    lines += ['    printf("%s %d %g\\n", HERE, __LINE__, a[63]);', "    int unused;", "}", ""]
    (folder / "main.c").write_bytes("\r\n".join(lines).encode())
    done = cc("-Wall", "-Wno-unknown-pragmas", "-g", "a folder/main.c", "-o", "program")
    assert done.returncode == 0
    assert "a folder/main.c:11:9: warning: unused variable" in done.stderr
    assert run("./program", folder=tmp_path).stdout == "a folder/main.c 10 63\n"
    assert b"polytile-cc-" not in (tmp_path / "program").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ["-MD"],
        ["-MMD", "-MP"],
        ["-MMD", "-MF", "rules", "-MT", "one", "-MQ", "a$two"],
        ["-MD", "-MFrules", "-o", "made.here.o"],
    ],
    ids=" ".join,
)
def test_rules_for_make_are_those_of_gcc(words: list[str], cc: Compile, sources: Path) -> None:
    def rules() -> dict[str, str]:
        return {p.name: p.read_text() for p in (*sources.glob("*.d"), *sources.glob("rules"))}

    run("gcc", "-Iinclude", *TWICE, *words, "-c", "twice.c", folder=sources)
    expected = rules()
    for name in expected:
        (sources / name).unlink()
    assert cc("-Iinclude", *TWICE, *words, "-c", "twice.c").returncode == 0
    assert rules() == expected != {}


@pytest.mark.slow
def test_objects_depend_on_their_schedules(cc: Compile, sources: Path) -> None:
    saved = "a schedule"
    assert cc("-Iinclude", *TWICE, "-c", "twice.c", f"--polytile-save-schedule={saved}").returncode == 0
    done = cc("-Iinclude", *TWICE, "-MMD", "-c", "twice.c", f"--polytile-load-schedule={saved}")
    assert done.returncode == 0, done.stderr
    assert (sources / "twice.d").read_text() == "twice.o: a\\ schedule twice.c include/scale.h\n"


@pytest.mark.slow
def test_objects_depend_on_their_tuned_schedules(cc: Compile, sources: Path) -> None:
    (sources / "f.json").write_text('{"polytile_tuned": 1, "machine": {"arch": "sm_90"}, "scops": []}')
    done = cc("-Iinclude", *TWICE, "-MMD", "-c", "twice.c", "--polytile-tuned=f.json", "--polytile-verbose")
    assert done.returncode == 0, done.stderr
    assert "the schedule is the compiler's own choice: f.json does not have it" in done.stderr
    assert (sources / "twice.d").read_text() == "twice.o: f.json twice.c include/scale.h\n"
    (sources / "f.json").write_text("{}")
    done = cc("-Iinclude", *TWICE, "-c", "twice.c", "--polytile-tuned=f.json")
    assert done.returncode != 0 and "f.json has no tuned schedules" in done.stderr


@pytest.mark.slow
def test_tuned_schedules_that_are_stale_are_a_note(cc: Compile, sources: Path) -> None:
    """What the command says as a remark, once more from the cache, and not with -w; of SCoPs that the file does not
    have nothing is said."""
    entry = {"name": "apply_scop0", "source": "0", "sizes": {"n": 300}, "options": {}, "schedule": []}
    content = {"polytile_tuned": 1, "machine": {"arch": "sm_90"}, "scops": [entry]}
    (sources / "f.json").write_text(json.dumps(content))
    (sources / "twice.c").write_text(SCALE.replace("static void apply", "void apply"))
    words = ("-Iinclude", *TWICE, "-c", "twice.c", "--polytile-tuned=f.json")
    why = "apply_scop0: the schedule is the compiler's own choice: it has changed since f.json was written"
    for _ in range(2):
        done = cc(*words)
        assert done.returncode == 0
        assert f"twice.c:4:9: note: {why}\n    4 | #pragma scop\n" in done.stderr
    assert cc(*words, "-w").stderr == ""
    (sources / "f.json").write_text(json.dumps({**content, "scops": [{**entry, "name": "other_scop0"}]}))
    assert cc(*words).stderr == ""


@pytest.mark.slow
def test_a_refusal_in_gcc_s_words(cc: Compile, sources: Path) -> None:
    done = cc("-c", "refused.c")
    assert done.returncode == 0
    assert done.stderr == (
        "refused.c:5:16: warning: pointers and functions cannot be declared inside a SCoP [-Wpolytile]\n"
        "    5 |         double *element = i ? a + i : a;\n"
        "      |                ^\n"
        "refused.c:5:16: note: use subscripts of the array, or a pointer that is set once, to an array and an offset\n"
    )
    assert cc("-c", "refused.c", "-Wno-polytile").stderr == ""
    assert cc("-c", "refused.c", "-w").stderr == ""
    assert cc("-c", "refused.c", "-Werror", "-Wno-error=polytile").returncode == 0
    for words in (["-Werror=polytile"], ["-Werror"], ["-w", "-Werror=polytile"]):
        for _ in range(2):
            failed(cc("-c", "refused.c", *words), 1, "error: pointers and", "[-Werror=polytile]")
            assert not (sources / "refused.o").exists()


@pytest.mark.slow
def test_what_polytile_cannot_read_is_compiled_by_the_host_compiler(cc: Compile, sources: Path) -> None:
    text = REFUSED.replace("double *element = i ? a + i : a;\n        *element = 0;", "a[i] = 0;")
    text = text.replace("{", "{ void *at = &&here; here: (void)at;", 1)
    (sources / "gnu.c").write_text("int f(int x) { return x; }\n" + text)
    done = cc("-c", "gnu.c")
    assert done.returncode == 0 and "gnu.c:" in done.stderr and "[-Wpolytile]" in done.stderr
    assert defined(sources / "gnu.o") == ["clear", "f"]
    failed(cc("-c", "gnu.c", "-Werror=polytile"), 1, "[-Werror=polytile]")
    (sources / "none.c").write_text(f"#if 0\n{REFUSED}#endif\nint x;\n")
    assert cc("-c", "none.c", "-Werror=polytile").stderr == ""
    for option in ("--coverage", "-save-temps", "-gsplit-dwarf"):
        done = cc("-c", "gnu.c", option)
        assert done.returncode == 0 and f"warning: {option}: the SCoPs of gnu.c stay C" in done.stderr


@pytest.mark.slow
def test_a_failing_command_leaves_no_output(cc: Compile, sources: Path) -> None:
    (sources / "wrong.c").write_text(SCALE.replace("apply(n, a, b);", "apply(n, a, b, undeclared);"))
    for made in ("twice.o", "wrong.o", "wrong.d", "program"):
        (sources / made).write_text("from before")
    failed(cc("-Iinclude", *TWICE, "-MD", "-c", "twice.c", "wrong.c"), 1, "wrong.c:9:", "undeclared")
    failed(cc("-Iinclude", *TWICE, "twice.c", "wrong.c", "-o", "program"), 1)
    assert not any((sources / made).exists() for made in ("twice.o", "wrong.o", "wrong.d", "program"))
    failed(cc("-Iinclude", *TWICE, "twice.c", "-o", "program"), 1, "undefined reference to `main'")
    assert not (sources / "program").exists()


@pytest.mark.slow
def test_inputs_and_devices_stay(cc: Compile, sources: Path) -> None:
    before = (sources / "twice.c").read_text()
    failed(cc("-Iinclude", *TWICE, "-c", "twice.c", "-o", "twice.c"), 2, "the output twice.c is an input, too")
    failed(cc("-Iinclude", *TWICE, "-c", "twice.c", "-MD", "-MF", "./twice.c"), 2, "is an input, too")
    assert (sources / "twice.c").read_text() == before
    assert cc("-Iinclude", *TWICE, "-c", "twice.c", "-o", "/dev/null").returncode == 0
    failed(cc("-Iinclude", "-c", "twice.c", "-o", "/dev/null"), 1, "no FACTOR")
    assert Path("/dev/null").is_char_device()


@pytest.mark.slow
def test_without_nvcc(cc: Compile, sources: Path) -> None:
    words = ("-Iinclude", *TWICE, "-c", "twice.c")
    for flags in ("", "--on=gpu", "--polytile-on=gpu"):
        failed(cc(*words, POLYTILE_FLAGS=flags, NVCC="no-such-nvcc"), 4, "nvcc was not found", "--polytile-on=emulator")
        assert not (sources / "twice.o").exists()
    done = cc(*words, POLYTILE_FLAGS="--on=auto", NVCC="no-such-nvcc")
    assert done.returncode == 0 and done.stderr.startswith("polytile: note: nvcc was not found: the kernels are for")
    assert b"polytile cc: kernels run in the emulator" in (sources / "twice.o").read_bytes()


@needs_nvcc
@pytest.mark.slow
def test_kernels_for_a_gpu(cc: Compile, sources: Path) -> None:
    for name, macros in (("twice", TWICE), ("thrice", THRICE)):
        assert cc("-Iinclude", *macros, "-c", f"{name}.c", POLYTILE_FLAGS="").returncode == 0
        assert defined(sources / f"{name}.o") == [name]
    linked = cc("main.c", "twice.o", "thrice.o", "-o", "program", POLYTILE_FLAGS="")
    assert linked.returncode == 0
    assert ("note: this machine has no GPU" in linked.stderr) != any(driver.exists() for driver in DRIVERS)
    assert b"polytile cc: kernels run with CUDA" in (sources / "program").read_bytes()
    assert cc("-Iinclude", *THRICE, "-c", "thrice.c").returncode == 0
    message = "thrice.o was compiled for the emulator and twice.o for a GPU"
    failed(cc("main.c", "twice.o", "thrice.o", "-o", "program"), 1, message, "--polytile-on=emulator")


@pytest.mark.slow
def test_wrong_options(cc: Compile, sources: Path) -> None:
    words = ("-Iinclude", *TWICE, "-c", "twice.c")
    failed(cc(*words, "--on=emulator"), 1, "--on=emulator goes to the host compiler; polytile's is --polytile-on=emul")
    assert "polytile" not in cc(*words, "--param", "max-inline-insns-single=9").stderr
    failed(cc(*words, "--polytile-tyle=8"), 2, "unknown option --polytile-tyle", "did you mean --polytile-tile?")
    failed(cc(*words, "--polytile-tile=x"), 2, "--polytile-tile: 'x' is not an integer", "write --polytile-tile=32")
    failed(cc(*words, "--polytile-tile"), 2, "--polytile-tile: expected one argument", "polytile cc --polytile-help")
    failed(cc(*words, "--polytile-on=moon"), 2, "there is no place 'moon'", "gpu, emulator, auto")
    failed(cc(*words, POLYTILE_FLAGS="-O3"), 2, "POLYTILE_FLAGS: '-O3' is no option")
    failed(cc(*words, "--polytile-block=4096"), 2, "--polytile-block: 4096", "is larger than a GPU's block")
    assert not (sources / "twice.o").exists()
    listed = cc("--polytile-help")
    assert listed.returncode == 0 and "--polytile-on=gpu|emulator|auto" in listed.stdout
    assert "  --polytile-tile\n" in listed.stdout


@pytest.mark.slow
def test_options_reach_the_compiler(cc: Compile, sources: Path) -> None:
    words = ("-Iinclude", *TWICE, "-c", "twice.c", "--polytile-explain", "--polytile-validate", "--polytile-seed=3")
    flags = "--on=emulator --block=64 --tile=64"
    done = cc(*words, "--polytile-block=32", POLYTILE_FLAGS=flags)
    assert done.returncode == 0 and "thread[32]" in done.stdout and "thread[64]" not in done.stdout


@pytest.mark.slow
def test_loops_are_found_without_pragmas(cc: Compile, sources: Path) -> None:
    source = sources / "twice.c"
    source.write_text("".join(line for line in SCALE.splitlines(keepends=True) if not line.startswith("#pragma")))
    for flags, found in (([], False), (["--polytile-autodetect"], True)):
        assert cc("-Iinclude", *TWICE, "-c", "twice.c", *flags).returncode == 0
        assert (b"kernels run in the emulator" in (sources / "twice.o").read_bytes()) == found


@pytest.mark.slow
def test_the_host_compiler(cc: Compile, sources: Path) -> None:
    failed(cc("-c", "main.c", POLYTILE_CC=COMPILER), 2, "the host compiler is polytile itself")
    failed(cc("-c", "main.c", POLYTILE_CC="no-such-cc"), 4, "'no-such-cc' was not found")
    assert cc("-Iinclude", *TWICE, "-c", "twice.c", CC=COMPILER).returncode == 0
    assert cc("-c", "main.c", "--polytile-cc=gcc -g", POLYTILE_CC="no-such-cc").returncode == 0
    if shutil.which("clang"):
        assert cc("-Iinclude", *TWICE, "-c", "twice.c", POLYTILE_CC="clang").returncode == 0


def test_the_help_of_the_command_names_it() -> None:
    told = subprocess.run([sys.executable, "-m", "polytile", "--help"], capture_output=True, text=True, check=True)
    assert 'make CC="polytile cc"' in " ".join(told.stdout.split())


@pytest.mark.slow
def test_functions_that_are_defined_for_the_device(cc: Compile, tmp_path: Path) -> None:
    (tmp_path / "half.cu").write_text("__device__ double half(double x) { return 0.5 * x; }\n")
    (tmp_path / "half.c").write_text("double half(double x) { return 0.5 * x; }\n")
    text = (
        "#include <stdio.h>\n#pragma polytile access(half)\ndouble half(double x);\nint main(void)\n{\n"
        "    double a[9];\n#pragma scop\n    for (int i = 0; i < 9; i++) a[i] = half(i);\n#pragma endscop\n"
        '    printf("%g\\n", a[7]);\n    return 0;\n}\n'
    )
    (tmp_path / "main.c").write_text(text)
    made = cc("--polytile-device-source=half.cu", "-MMD", "-c", "main.c")
    assert made.returncode == 0 and not made.stderr
    assert (tmp_path / "main.d").read_text().split() == ["main.o:", "half.cu", "main.c"]
    assert cc("main.o", "half.c", "-o", "program").returncode == 0
    assert run(tmp_path / "program", folder=tmp_path).stdout == "3.5\n"
    assert "warning: main_scop0: kernels call `half`, whose definition is not known" in cc("-c", "main.c").stderr


@pytest.mark.slow
def test_flags_that_change_what_c_means(cc: Compile, tmp_path: Path) -> None:
    """A later flag counts, and SCoPs stay C with flags that kernels cannot follow."""
    (tmp_path / "f.c").write_text(
        "#include <stdio.h>\nchar c[9] = {200}; int r[9];\nint main(void)\n{\n#pragma scop\n"
        "    for (int i = 0; i < 9; i++) r[i] = c[i] / 2;\n#pragma endscop\n"
        '    printf("%d\\n", r[0]);\n    return 0;\n}\n'
    )
    for flags, expected in ((["-funsigned-char"], "100\n"), (["-funsigned-char", "-fsigned-char"], "-28\n")):
        assert cc("-Wall", "-Werror", "-Wno-unknown-pragmas", *flags, "f.c", "-o", "f").stderr == ""
        assert succeed("./f", folder=tmp_path).stdout == expected
        assert b"kernels run in the emulator" in (tmp_path / "f").read_bytes()
    done = cc("-ftrapv", "f.c", "-o", "f")
    assert "-ftrapv: the SCoPs of f.c stay C with this option" in done.stderr
    assert b"kernels run in the emulator" not in (tmp_path / "f").read_bytes()
