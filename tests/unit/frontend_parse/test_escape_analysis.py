"""Which variables pointers may lead to, and which types of C may be used for one place."""

from __future__ import annotations

import pytest
from pycparser import c_ast

from polytile.frontend.alias_checks import may_change
from polytile.frontend.escape_analysis import Escapes
from polytile.frontend.find_scops import functions
from polytile.frontend.parse import parse
from polytile.frontend.preprocess import preprocess
from polytile.ir.expr import CHAR, DOUBLE, FLOAT, INT, LLONG, LONG, UCHAR, UINT, ULONG

FILE = """
struct s { int n; int v[4]; struct { double w[2][3]; int k; } in; struct s *next; };
int outer, other[3];
static int hidden, handed, grid[3], parts[3], matrix[2][3];
static const int fixed = 3;
static struct s whole, passed, copied;
static int *to_handed = &handed;
extern int elsewhere;
void use(int *);
void take(struct s);
int first(int *p) { return p[0] + grid[1] + sizeof grid; }
int second(void) { use(parts); use(matrix[1]); use(passed.v); take(copied); return whole.v[2] + whole.in.w[1][2]; }
void f(int n, int m, int *p, int a[4], struct s t, struct s r, struct s *d)
{
    int x = 0, y = 0, v[3] = {0}, w[3] = {0}, z[2][2] = {{0}};
    static int kept, lent;
    struct s u = t;
    register int quick = 0;
    use(&x); use(&lent); use(&m); use(w); use(z[1]); use(&r.n); use(p + v[1]); use(d->v); use(u.next->v); use(a);
    for (int i = 0; i < n; i++) y += v[i] + quick + kept;
}
"""
KNOWN = {
    "outer", "other", "handed", "parts", "matrix", "passed", "elsewhere", "x", "lent", "m", "w", "z", "r",
}  # fmt: skip
UNKNOWN = {
    "hidden", "grid", "fixed", "whole", "copied", "to_handed", "n", "p", "a", "t", "d", "y", "v", "u", "kept", "quick",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(KNOWN | UNKNOWN))
def test_variables(name: str) -> None:
    file = parse(preprocess("f.c", FILE))
    function, scope = list(functions(file))[-1]
    inner = scope.child()
    for item in function.body.block_items:
        if isinstance(item, c_ast.Decl):
            inner.bind(item)
    binding = inner.lookup(name)
    assert binding is not None
    assert Escapes(file.tree).has_pointers(binding, function) == (name in KNOWN)


def test_types() -> None:
    pairs = {
        (INT, INT, True), (INT, UINT, True), (UINT, INT, True), (ULONG, LONG, True), (LONG, LLONG, False),
        (INT, FLOAT, False), (DOUBLE, FLOAT, False), (CHAR, DOUBLE, True), (UCHAR, INT, True), (INT, CHAR, False),
    }  # fmt: skip
    for written, read, expected in pairs:
        assert may_change(written, read, declared=True) is expected, (written, read)
    assert may_change(INT, CHAR, declared=False)
    assert may_change(UCHAR, None, declared=True)
    assert not may_change(LONG, None, declared=False)
