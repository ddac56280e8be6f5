"""Messages that name statements say their text."""

from __future__ import annotations

import polytile
from polytile.ir.statement_names import in_source_words

TEXT = """void f(int n, double A[n], double B[n])
{
#pragma scop
    for (int i = 1; i < n; i++) {
        A[i] = A[i - 1] + 1;
        B[i] = A[i] * A[i] * A[i] * A[i] + A[i - 1] * A[i - 1] * A[i - 1] * A[i - 1] / 3;
    }
#pragma endscop
}
"""


def test_names_become_text() -> None:
    (scop,) = polytile.compile(TEXT, name="f.c").scops
    source = scop.compilation.source
    said = in_source_words("S1 depends on S0 and on S10, S0_fold stays", source)
    first, second = "`A[i] = A[i - 1] + 1`", "`B[i] = A[i] * A[i] * A[i] * A[i] + A[i - 1] * A[i - 1] * ...`"
    assert said == f"{second} depends on {first} and on S10, S0_fold stays"
    assert f"    S0 is f.c:5: {first}" in scop.explain()


def test_statements_without_text_keep_their_names() -> None:
    scop = polytile.scop_from_isl(
        "ones",
        domain="[n] -> { S0[i] : 0 <= i < n }",
        schedule="[n] -> { S0[i] -> [i] }",
        reads="{}",
        writes="[n] -> { S0[i] -> A[i] }",
        bodies={"S0": "A[i] = 1;"},
        arrays=[polytile.Array("A", "double", ("n",))],
    )
    assert in_source_words("S0 depends on itself", scop) == "S0 depends on itself"
