"""Which locals hold a value before a SCoP that it may read, and which are read after it."""

from __future__ import annotations

import pytest

from polytile.frontend.source import read_regions

SCOP = "\n#pragma scop\nfor (i = 0; i < n; i++) { s = i; t[i] = s; }\n#pragma endscop\n"
HEAD = "int g; int use(int); void fill(int *);\nint f(int n, int c) { int i, s, t[10], k = 0; int *q; "

# What surrounds the SCoP, then (s before, s after, t before, t after, i after).
CASES = [
    (HEAD + SCOP + "return 0; }", (False, False, False, False, False)),
    (HEAD + SCOP + "return s; }", (False, True, False, False, False)),
    (HEAD + SCOP + "s = 1; return s; }", (False, False, False, False, False)),
    (HEAD + SCOP + "if (c) s = 1; return s; }", (False, True, False, False, False)),
    (HEAD + SCOP + "if (c) s = 1; else s = 2; return s; }", (False, False, False, False, False)),
    (HEAD + SCOP + "if (c) return 0; return i; }", (False, False, False, False, True)),
    (HEAD + SCOP + "t[0] = 1; return 0; }", (False, False, False, True, False)),
    (HEAD + SCOP + "for (i = 0; i < 3; i++) k += i; return k; }", (False, False, False, False, False)),
    (HEAD + SCOP + "while (c--) { k += s; s = 0; } return k; }", (False, True, False, False, False)),
    (HEAD + "s = 3; t[0] = 1;" + SCOP + "return 0; }", (False, False, True, False, False)),
    (HEAD + "for (k = 0; k < 3; k++) {" + SCOP + "} return 0; }", (False, False, True, True, False)),
    (HEAD + "for (k = 0; k < 3; k++) {" + SCOP + "if (k == s) break; } return 0; }", (True, True, True, True, False)),
    (HEAD + "do {" + SCOP + "} while (use(s)); return 0; }", (True, True, True, True, False)),
    (HEAD + "while (c) { c = use(i);" + SCOP + "} return 0; }", (False, False, True, True, True)),
    (HEAD + "q = &s;" + SCOP + "return 0; }", (True, True, False, False, False)),
    (HEAD + "again:" + SCOP + "if (c) goto again; return 0; }", (True, True, True, True, True)),
    (HEAD + SCOP + "{ int s = 2; k = s; } return k; }", (False, False, False, False, False)),
    (HEAD + SCOP + "{ int s; s = 2; k = s; } return s; }", (False, True, False, False, False)),
    (HEAD + SCOP + "k = (s = 4) + s; return k; }", (False, True, False, False, False)),
    (HEAD + SCOP + "c && (s = 1); return s; }", (False, True, False, False, False)),
    (HEAD + SCOP + "for (;;) { if (c) break; s = 1; } return s; }", (False, True, False, False, False)),
    (HEAD + SCOP + "for (int s = 0; s < 3; s++) k += s; return k; }", (False, False, False, False, False)),
    (HEAD + SCOP + "switch (c) { case 1: return s; } return 0; }", (False, True, False, False, False)),
    (HEAD + SCOP + "switch (c) { case 1: s = 1; break; default: s = 2; } return s; }",
     (False, False, False, False, False)),
    (HEAD + SCOP + "switch (c) { case 1: s = 1; break; case 2: s = 2; } return s; }",
     (False, True, False, False, False)),
    (HEAD + SCOP + "switch (c) { case 1: s = 1; case 2: k = s; } return k; }", (False, True, False, False, False)),
    (HEAD + SCOP + "switch (c) { case 1: s = 1; k = s; break; default: k = 0; } return k; }",
     (False, False, False, False, False)),
    (HEAD + SCOP + "switch (s) { case 1: break; } return 0; }", (False, True, False, False, False)),
    (HEAD + SCOP + "switch (c) { case 1: switch (k) { default: s = 1; break; } k = s; } return 0; }",
     (False, False, False, False, False)),
    (HEAD + SCOP + "while (c--) switch (k) { case 1: continue; default: s = 1; } return s; }",
     (False, True, False, False, False)),
    (HEAD + SCOP + "switch (c) { case 1: for (k = 0; k < 3; k++) { case 2: s = 1; } } return 0; }",
     (True, True, True, True, True)),  # a case inside a loop
    (HEAD + SCOP + "if (c) goto end; k = s; end: return k; }", (False, True, False, False, False)),
    (HEAD + SCOP + "if (c) goto end; s = 1; end: return s; }", (False, True, False, False, False)),
    (HEAD + SCOP + "if (c) goto end; s = 1; k = s; end: return k; }", (False, False, False, False, False)),
    (HEAD + SCOP + "if (c) { goto inside; } else { s = 1; inside: k = s; } return k; }",
     (False, True, False, False, False)),
    (HEAD + "for (k = 0; k < 3; k++) {" + SCOP + "if (c) goto end; } end: return s; }",
     (True, True, True, True, False)),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), CASES, ids=range(len(CASES)))
def test_liveness(text: str, expected: tuple[bool, ...]) -> None:
    (region,) = read_regions("x.c", text)
    s, t, i = (region.symbols[name] for name in "sti")
    assert (s.live_before, s.live_after, t.live_before, t.live_after, i.live_after) == expected


def test_statics_parameters_and_globals() -> None:
    text = """
    int g;
    void f(int n, int m, int *p)
    {
        static int s;
        int *q = p;
    #pragma scop
        for (int i = 0; i < n; i++) { s = i; m = i; g = i; p[i] = q[i]; }
    #pragma endscop
    }
    """
    (region,) = read_regions("x.c", text)
    live = {name: (s.live_before, s.live_after) for name, s in region.symbols.items()}
    assert live["s"] == live["g"] == live["p"] == live["q"] == (True, True)
    assert live["m"] == (False, False)


def test_a_value_that_is_assigned_first_is_not_read() -> None:
    text = """
    void f(int n, double *a)
    {
        double x = 0, y = 0, z = 0;
    #pragma scop
        for (int i = 0; i < n; i++) {
            x = a[i];
            if (x > 0) x = 1;
            if (x > 1) y = x;
            a[i] = y;
            for (int j = 0; j < i; j++) z = a[j];
            a[i] += z;
        }
    #pragma endscop
    }
    """
    (region,) = read_regions("x.c", text)
    assert [region.symbols[name].live_before for name in "xyz"] == [False, True, True]
