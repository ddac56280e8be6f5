"""Without a C compiler, macros and conditions mean what they mean to gcc, or the file is refused."""

from __future__ import annotations

import shutil

import pytest

from polytile.diagnostics import UserError
from polytile.frontend.preprocess import preprocess
from polytile.frontend.tokens import tokenize

CONDITIONS = (
    "-7 % 2 == -1", "-7 / 2 == -3", "7 / -2 == -3", "-1 > 0u", "-1 > 0", "(0 ? 1u : -1) > 0",
    "18446744073709551615u == -1", "9223372036854775807 + 1u > 0", "0xffffffffffffffff == -1", "1 << 63 < 0",
    "-8 >> 1 == -4", "1u << 64 - 1", "~0 == -1", "~0u > 0", "!0 + !5 == 1", "1 || 1 / 0", "0 && 1 / 0",
    "1 ? 2 : 1 / 0", "'a' == 97", r"'\n' == 10", r"'\x41' == 65", "defined A", "defined(A) && !defined B",
    "defined(A) == 1 && A - 2 == 0", "B", "0b101 == 5", "010 == 8", "2ULL - 3 > 0", "A -A", "A - -A == 4",
    "NEG -NEG == 0", "1 ? 0 : 1 ? 1 : 1", "(2 | 1) == 3 && (6 & 3) == 2 && (5 ^ 1) == 4", "1 == 1 == 1", "3 > 2 > 1",
    "2 + 3 * 4 == 14", "CALL(3) == 9", "-(-9223372036854775807 - 1) < 0", "-9223372036854775807 - 1 < 0u",
    "-5 % 3u == 2", "/* c */ 1", "defined __has_include", "__has_include(<math.h>)", "__has_include(\"absent.h\")",
    "defined(__has_include) && __has_include(HEADER)", "!__has_include(<absent.h>)",
    "A == \\\n 2",
)  # fmt: skip
TEXTS = (
    "i -SHIFT", "x+PLUS", "- NEG", "NEGATE(-1)", "NEGATE(NEG)", "AND &y", "a AND", "x <LT", "LT=", "p DIV *q",
    "MINUS>x", "CAT(a, 1)", "CAT(x, CAT2)", "STR(a  +  b)", r'STR("q\n")', "EMPTY() x EMPTY()", "REST(1, 2, 3)",
    "REST(1)", "SELF + SELF", "PING", "CALL (4)", "CALL", "A CALL(A) A", "TWO(,)", "TWO(a,)", "GNU(1)", "GNU(1, 2)",
    r"""STR(a\b '\n' "c\\d")""", "STR( a  /* c */ b )", "GLUED(7)", "1x GLUED(x)", "1e+A 0x1A 1.A .5A 1A", "OBJ",
    "SPLIT(, 1)", "SPLIT(1,)", "SPLIT(,)", "THREE(, b,)", "THREE(a,, c)", "THREE(,, c)", "THREE(a,,)", "PLUSES(, +)",
    "PLUSES(+,)", r"L'a' STR(L'\0')",
)  # fmt: skip
DEFINITIONS = """#define A 2
#define HEADER <stdio.h>
#define NEG -1
#define SHIFT -1
#define PLUS +1
#define AND &
#define LT <
#define DIV /
#define MINUS -
#define NEGATE(x) -x
#define CAT(a, b) a##b
#define STR(x) #x
#define EMPTY()
#define REST(a, ...) f(a, __VA_ARGS__)
#define GNU(a, ...) f(a, ##__VA_ARGS__)
#define SELF SELF + 1
#define PING PONG
#define PONG PING
#define CALL(x) x * 3
#define TWO(a, b) [a|b]
#define GLUED(x) 1x + 2.x - x
#define OBJ one ## two
#define SPLIT(a, b) f a##b g
#define THREE(a, b, c) <a##b##c>
#define PLUSES(a, b) +a##b+
"""


def words(text: str, preprocessor: str) -> list[str]:
    return [token.text for token in tokenize(preprocess("c.c", text, preprocessor=preprocessor).text)]


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_conditions_and_expansions_are_those_of_gcc() -> None:
    asked = [f"#if {c}\nint yes{k};\n#else\nint no{k};\n#endif\n" for k, c in enumerate(CONDITIONS)]
    text = DEFINITIONS + "".join(asked) + "".join(f"t{k}: {t} ;\n" for k, t in enumerate(TEXTS))
    assert words(text, "pcpp") == words(text, "gcc")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("#if 1 / 0\n#endif\n", 1),
        ("int a;\n#if 1 +\n#endif\n", 2),
        ("#define F(x, ...) f(x __VA_OPT__(,) __VA_ARGS__)\n", 1),
        ("#ifdef A\n#elifdef B\n#endif\n", 2),
        ("#if __has_feature(x)\n#endif\n", 1),
        ('char *s = "what??!";\n', 1),
        ("#define D defined A\n#if D\n#endif\n", 2),
    ],
)
def test_what_pcpp_cannot_do_is_refused(text: str, line: int) -> None:
    with pytest.raises(UserError) as found:
        preprocess("c.c", text, preprocessor="pcpp")
    assert found.value.location is not None and found.value.location.line == line


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
@pytest.mark.parametrize(
    "flags",
    ["-funsigned-char", "-fno-signed-char", "-funsigned-char -fsigned-char", "-fshort-wchar", "-O2", "-O2 -O0",
     "-Ofast", "-ffast-math -fno-fast-math", "-std=c11", "-std=gnu17", "-std=c11 -std=gnu99", "-fopenmp",
     "-ffreestanding"],
)  # fmt: skip
def test_macros_of_flags_are_those_of_gcc(flags: str) -> None:
    names = ("__CHAR_UNSIGNED__", "__WCHAR_TYPE__", "__WCHAR_MAX__", "__OPTIMIZE__", "__FAST_MATH__", "__STRICT_ANSI__")
    asked = "".join(f"#ifdef {name}\n{name}\n#endif\n" for name in names[:1] + names[3:])
    text = f"{asked}__STDC_VERSION__ __STDC_HOSTED__\n#ifdef _OPENMP\n_OPENMP\n#endif\n"
    text += "__WCHAR_TYPE__\n#if __WCHAR_MAX__ == 65535\nyes\n#endif\n" if "wchar" in flags else ""
    given = flags.split()
    found = [preprocess("c.c", text, preprocessor=p, cflags=given).text.replace(" int", "") for p in ("pcpp", "gcc")]
    assert sorted(found[0].replace("unsigned short", "short unsigned").split()) == sorted(found[1].split())


def test_macros_behind_digit_separators_are_refused() -> None:
    text = "#define N 3\nint a[1'000 + N + 1'000];\n"
    for preprocessor in ("pcpp", *(["gcc"] if shutil.which("gcc") else [])):
        with pytest.raises(UserError, match="digit separator") as found:
            preprocess("c.c", text, preprocessor=preprocessor)
        assert found.value.location is not None and found.value.location.line == 2
        assert "1'000" in preprocess("c.c", "int a[1'000];\n", preprocessor=preprocessor).text
