"""Flags of the C compiler: what each means for kernels, and which one of several counts."""

import shutil
import subprocess

import pytest

import polytile
from polytile.c_flags import Effect, effect, host_only, of_values, only_optimises, single_constants, wraps
from polytile.diagnostics import UsageError

# What builds pass every day: of CMake, Debian's hardening, Fedora's, autotools, the kernel of Linux.
EVERYDAY = """
-O0 -O2 -O3 -Ofast -Os -g -g3 -ggdb -gdwarf-4 -Wall -Wextra -Werror=format-security -Wno-unused -w -pipe
-pedantic -std=gnu11 -std=c99 -ansi -pthread -fopenmp -fopenmp-simd -fPIC -fpic -fPIE -fpie -fno-pie -fno-plt
-fno-common -fstack-protector-strong -fstack-protector-all -fstack-clash-protection -fcf-protection
-fcf-protection=full -ffile-prefix-map=/a=. -fmacro-prefix-map=/a=. -fdebug-prefix-map=/a=.
-fvisibility=hidden -ffunction-sections -fdata-sections -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer
-fomit-frame-pointer -fexceptions -fno-rtti -fasynchronous-unwind-tables -fno-asynchronous-unwind-tables
-fdiagnostics-color=always -fcolor-diagnostics -fno-semantic-interposition -fno-math-errno -ffast-math
-funroll-loops -ftree-vectorize -fno-tree-vectorize -fstrict-aliasing -fno-builtin -fno-builtin-memset
-ffreestanding -fno-strict-overflow -fwrapv -fwrapv-pointer -fno-delete-null-pointer-checks -flto -flto=auto
-ffat-lto-objects -fuse-linker-plugin -fuse-ld=gold -march=native -march=x86-64-v3 -mtune=generic -mavx2
-mavx512f -mfma -msse4.2 -mno-avx -mno-red-zone -mcmodel=medium -m64 -mpreferred-stack-boundary=3
-mindirect-branch=thunk-extern -mfunction-return=thunk-extern -falign-functions=32
-ftrivial-auto-var-init=zero -fzero-call-used-regs=used-gpr -fno-stack-protector -finline-functions
-fno-inline -fgnu89-inline -fno-ident -frecord-gcc-switches -fmax-errors=5 -fmessage-length=0
-fno-trapping-math -fexcess-precision=standard -ffp-contract=off -fno-sanitize=all -mfpmath=sse
-fvect-cost-model=dynamic
"""
REFUSED = """
-ftrapv -m32 -mx32 -fsanitize=undefined -fsanitize=address -frounding-math -fsignaling-nans -mfpmath=387
-mabi=ms -fexec-charset=IBM1047 -fplugin=x.so -fnever-heard-of -mnever-heard-of -fsso-struct=big-endian
"""
TYPES = """
-funsigned-char -fsigned-char -fno-signed-char -fshort-enums -fpack-struct -fpack-struct=2 -fshort-wchar
-funsigned-bitfields -mlong-double-64 -mms-bitfields
"""


@pytest.mark.parametrize("word", EVERYDAY.split())
def test_everyday_flags_keep_kernels(word):
    assert host_only([word]) is None, word


@pytest.mark.parametrize("word", REFUSED.split())
def test_flags_that_kernels_cannot_follow(word):
    assert host_only(["-O2", word, "-g"]) == word
    with pytest.raises(UsageError, match=r"is not known|kernels cannot"):
        polytile.compile("", cflags=[word])


@pytest.mark.parametrize("word", TYPES.split())
def test_flags_of_types(word):
    assert effect(word) is Effect.TYPES and of_values(["-O2", word]) == (word,)


@pytest.mark.parametrize(
    ("words", "is_wrapping"),
    [
        ("", False),
        ("-fwrapv", True),
        ("-fno-strict-overflow", True),
        ("-fwrapv -fno-wrapv", False),
        ("-fno-strict-overflow -fstrict-overflow", False),
        ("-fno-wrapv -O2 -fno-strict-overflow", True),
        ("-ftrapv -fwrapv", True),  # they override each other
    ],
)
def test_wrapping(words, is_wrapping):
    assert wraps(words.split()) is is_wrapping
    assert host_only(words.split()) is None


def test_later_flags_count():
    assert host_only(["-fwrapv", "-ftrapv"]) == "-ftrapv"
    assert host_only(["-ftrapv", "-fno-trapv", "-m32", "-m64"]) is None
    assert host_only(["-fsanitize=address", "-fno-sanitize=all"]) is None
    assert host_only(["-fsanitize=address", "-fno-sanitize=undefined"]) == "-fsanitize=address"
    assert of_values(["-funsigned-char", "-O2", "-fsigned-char"]) == ("-fsigned-char",)
    assert single_constants(["-fsingle-precision-constant"])
    assert not single_constants(["-fsingle-precision-constant", "-fno-single-precision-constant"])


@pytest.mark.parametrize(
    ("text", "nothing"),
    [
        ('optimize("O3,unroll-loops")', True),
        ('optimize(3, "no-inline")', True),
        ('optimize ("Ofast", "-fno-math-errno")', True),
        ('optimize("wrapv")', False),
        ('optimize("O2", "-fno-strict-aliasing")', False),
        ('optimize("never-heard-of")', False),
    ],
)
def test_attributes_and_pragmas_that_set_flags(text, nothing):
    assert only_optimises(text) is nothing


def test_words_that_say_nothing_of_c():
    with pytest.raises(UsageError, match="cflags: -DN=3 does not say what C means"):
        polytile.compile("", cflags="-O2 -DN=3")


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc lists its optimisations")
def test_every_optimisation_of_gcc_is_known():
    """A new one is to be looked at: does it change values?"""
    said = subprocess.run(["gcc", "-Q", "--help=optimizers"], capture_output=True, text=True, check=True).stdout
    words = [line.split()[0] for line in said.splitlines() if line.strip().startswith("-f")]
    names = {word.partition("=")[0] for word in words} - {"-fnon-call-exceptions", "-fhandle-exceptions"}
    names |= {"-funreachable-traps", "-fext-dce", "-flate-combine-instructions"}  # of gcc 13 to 16
    names |= {"-favoid-store-forwarding", "-fmalloc-dce", "-fspeculatively-call-stored-functions"}
    assert len(names) > 100
    assert not [name for name in names if effect(name) is None]
