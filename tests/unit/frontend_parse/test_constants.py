"""Integer constant expressions against what C says."""

from __future__ import annotations

import pytest
from pycparser import CParser
from pycparser.c_generator import CGenerator

from polytile.frontend.constants import Constant, constant_node
from polytile.frontend.scope import Scope

CASES = [
    ("1 + 2 * 3", 7, "int"),
    ("-7 / 2", -3, "int"),
    ("-7 % 2", -1, "int"),
    ("7 / -2", -3, "int"),
    ("0x10 + 010 + 'a'", 121, "int"),
    ("1u - 2", 4294967295, "unsigned int"),
    ("-1 < 0u", 0, "int"),
    ("1L << 40", 1 << 40, "long"),
    ("2147483648", 2147483648, "long"),
    ("0x80000000", 2147483648, "unsigned int"),
    ("1ll + 1u", 2, "long long"),
    ("~0", -1, "int"),
    ("!5", 0, "int"),
    ("3 > 2 ? 10 : 20u", 10, "unsigned int"),
    ("(unsigned char) 300", 44, "unsigned char"),
    ("(char) 65", 65, "char"),
    ("sizeof(double)", 8, "unsigned long"),
    ("sizeof(int[3][4])", 48, "unsigned long"),
    ("1 && 0 || 1", 1, "int"),
    ("N + M", 11, "int"),
    ("sizeof(struct p)", 24, "unsigned long"),
    ("sizeof a", 80, "unsigned long"),
]
NOT_CONSTANT = ["1 / 0", "2147483647 + 1", "1 << 40", "n + 1", "1.5 + 1", "f(1)", "1 << -1", "-2147483647 - 2"]
DECLARATIONS = "enum { N = 5, M }; struct p { char c; double d; int i; }; double a[N * 2]; int n; int f(int);"


def _evaluated(text: str) -> Constant | None:
    tree = CParser().parse(f"{DECLARATIONS} int x = {text};")
    scope = Scope()
    for item in tree.ext:
        scope.bind(item)
    return scope.constant(tree.ext[-1].init)


@pytest.mark.parametrize(("text", "value", "type_name"), CASES)
def test_value_and_type(text: str, value: int, type_name: str) -> None:
    constant = _evaluated(text)
    assert constant is not None
    assert (constant.value, constant.type.name) == (value, type_name)


@pytest.mark.parametrize("text", NOT_CONSTANT)
def test_what_is_not_a_constant(text: str) -> None:
    assert _evaluated(text) is None


@pytest.mark.parametrize(("text", "value", "type_name"), CASES)
def test_a_constant_is_spelt_as_itself(text: str, value: int, type_name: str) -> None:
    constant = _evaluated(text)
    assert constant is not None
    again = _evaluated(CGenerator().visit(constant_node(constant, None)))
    assert again is not None
    assert again.value == value
