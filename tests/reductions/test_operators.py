"""All operators and all types: the results are those of the definition, bit for bit."""

from __future__ import annotations

import pytest

from .cases import FLOATS, OPERATORS, TYPES, Operator, expected, values
from .harness import Programs
from .trees import built, rows, scalar

pytestmark = pytest.mark.slow  # what they share is slow to make

# All operators over double and int; over the others, three of each whose instructions differ from theirs.
OTHERS = {
    "float": ("sum", "product", "min", "fmax"),
    "unsigned": ("difference", "product", "max"),
    "long long": ("product", "min", "xor"),
    "unsigned long long": ("sum", "max", "and"),
    "char": ("sum", "min", "or"),
    "unsigned char": ("difference", "max", "xor"),
    "short": ("product", "max", "and"),
    "unsigned short": ("sum", "min", "or"),
}
PAIRS = [
    (operator, element)
    for element in TYPES
    for operator in OPERATORS
    if operator.name in OTHERS.get(element, (operator.name,))
    and (operator.floats if element in FLOATS else operator.integers)
]


def name_of(kind: str, operator: Operator, element: str) -> str:
    return f"{kind}_{operator.name}_{element.replace(' ', '_')}"


@pytest.fixture(scope="module")
def programs(emulator: None) -> Programs:
    """Row sums by warps, and, for long, sums of one row by chunks in blocks, of each operator and type."""
    states = {}
    for operator, element in PAIRS:
        text = operator.statement("x[i]", "A[i][j]", element)
        body = f"for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) {text}"
        name = name_of("rows", operator, element)
        states[name] = built(name, f"int n, int m, {element} A[n][m], {element} x[n]", body, rows(16, 4))
    for operator in OPERATORS:
        element = "double" if operator.floats else "int"
        text = operator.statement("x[0]", "A[i]", element)
        name = name_of("scalar", operator, element)
        arguments = f"int n, {element} A[n], {element} x[1]"
        states[name] = built(name, arguments, f"for (int i = 0; i < n; i++) {text}", scalar(128, 8192))
    return Programs(states)


@pytest.mark.parametrize("length", [1, 15, 16, 33])
@pytest.mark.parametrize(("operator", "element"), PAIRS, ids=[name_of("rows", *pair) for pair in PAIRS])
def test_rows(programs: Programs, operator: Operator, element: str, length: int) -> None:
    for n in (1, 7):
        a = values(operator, element, (n, length), n + length)
        x = values(operator, element, (n,), length)
        wanted = expected(operator, x, a, 1)
        programs.run(name_of("rows", operator, element), {"n": n, "m": length}, {"A": a, "x": x}, checked=True)
        assert x.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("length", [1, 31, 1000, 1_000_003])
@pytest.mark.parametrize("operator", OPERATORS, ids=[o.name for o in OPERATORS])
def test_scalars(programs: Programs, operator: Operator, length: int) -> None:
    element = "double" if operator.floats else "int"
    a, x = values(operator, element, (length,), length), values(operator, element, (1,), 5)
    wanted = expected(operator, x, a, 0)
    name = name_of("scalar", operator, element)
    programs.run(name, {"n": length}, {"A": a, "x": x}, checked=length < 10_000)
    assert x.tobytes() == wanted.tobytes()
