"""Integer and character constants have the values and types that C gives them, in every spelling."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import polytile
from polytile.diagnostics import UserError
from polytile.frontend.constants import Meanings, evaluate
from polytile.frontend.parse import parse
from polytile.frontend.preprocess import preprocess
from polytile.ir.expr import USHORT
from polytile.ir.integer_constants import character_value, integer_value

INTEGERS = (
    "0", "0u", "7", "017", "0x1F", "0X1fuL", "0b101", "0B11u", "10LL", "2147483648", "0xffffffff", "037777777777",
    "18446744073709551615u",
)  # fmt: skip
CHARACTERS = (
    "'a'", "' '", "'\"'", r"'\n'", r"'\0'", r"'\''", r"'\\'", r"'\?'", r"'\a'", r"'\v'", r"'\e'", r"'\x41'", r"'\101'",
    r"'\7'", r"'\12'", r"'\xff'", r"'\377'", r"'\x80'", "'ab'", r"'\xff\xff'", r"'a\n'", "'abc'", r"'\xf0\1\2\3'",
    "L'a'", r"L'\x3b1'", r"L'\u00e9'", r"L'\xffffffff'", "u'a'", r"u'\xffff'", "U'a'", r"U'\U0001F600'",
)  # fmt: skip

MEANINGS = Meanings(lambda _: None, lambda _: None, lambda _: USHORT)


@pytest.mark.parametrize("flag", ["-fsigned-char", "-funsigned-char"])
def test_constants_are_those_of_the_compiler(flag: str, tmp_path: Path) -> None:
    gcc = shutil.which("gcc")
    if gcc is None:
        pytest.skip("needs a C compiler")
    wanted = [f'printf("%lld %d\\n", (long long)({text}), (int)sizeof({text}));' for text in CHARACTERS + INTEGERS]
    source = tmp_path / "c.c"
    source.write_text("#include <stdio.h>\nint main(void) {\n" + "\n".join(wanted) + "\nreturn 0; }\n")
    subprocess.run([gcc, flag, "-std=gnu11", "-w", source, "-o", tmp_path / "c"], check=True)
    printed = subprocess.run([tmp_path / "c"], check=True, capture_output=True, text=True).stdout.split("\n")
    text = "".join(f"long long k{k} = {text};\n" for k, text in enumerate(CHARACTERS + INTEGERS))
    found = [evaluate(node.init, MEANINGS) for node in parse(preprocess("c.c", text, cflags=[flag])).tree.ext]
    values = [(c.value, c.type.size) for c in found if c is not None]
    assert [f"{(value + 2**63) % 2**64 - 2**63} {size}" for value, size in values] == printed[:-1]


def test_integers() -> None:
    spelt = ("10", "0x1fUL", "017", "0", "5LL", "1'000", "0b1'1")
    assert [integer_value(text) for text in spelt] == [10, 31, 15, 0, 5, 1000, 3]
    assert [integer_value(t) for t in ("1.5", "1e3", "0x1p3", "09", "'a'", "1.f", "")] == [None] * 7


@pytest.mark.parametrize("text", ["'é'", r"'\u00e9'", r"'\x100'", "''", "'abcde'", "u'ab'", "1'0", r"'\q'"])
def test_what_compilers_do_not_agree_on_has_no_value(text: str) -> None:
    assert character_value(text) is None


def test_such_a_constant_is_refused_with_its_place() -> None:
    text = "int b[64];\nvoid f(int n) {\n#pragma scop\nfor (int i = 0; i < n; i++) b[i] = 'é';\n#pragma endscop\n}\n"
    with pytest.raises(UserError, match="the constant 'é' cannot be used in a SCoP") as found:
        raise polytile.compile(text).refusals[0]
    assert found.value.location and found.value.location.line == 4


TEXT = """
enum letters { FIRST = 'a', LAST = 'z' };
int b[64], c['z' - 'a' + 1];
void f(int n, const int *restrict s, const char *restrict t)
{
#pragma scop
    for (int i = 'a'; i <= 'z'; i++)
        b[i - 'a'] = s[i];
    for (int i = FIRST; i <= LAST; i++)
        if (i != L'q')
            c[i - FIRST] = -'\\xff' + s[i - u'a'];
    for (int i = 0; i < n; i++)
        switch (t[i]) {
        case 'a': b[26] += 1; break;
        case '\\n': b[27] += 1; break;
        default: b[28] += '0';
        }
#pragma endscop
}
"""


def test_characters_in_bounds_subscripts_and_cases_are_validated() -> None:
    (scop,) = polytile.compile(TEXT, raise_bugs=True, strict=True).scops
    (found,) = scop.validate(on="emulator", seed=1)
    assert not found.note
