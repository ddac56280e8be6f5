"""Functions that get addresses of variables, elements and fields are inlined, and name these themselves."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

import polytile
from polytile.diagnostics import OpaqueCallError
from polytile.runtime.emulator.instrument import CHECKS

HEAD = """
#include <math.h>
struct vec { double x, y; };
struct body { struct vec at, v; double mass, charge; int kind[2]; };
static double scale = 2;
static void add(struct vec *a, const struct vec *b) { a->x += b->x; a->y += b->y; }
static double square(const struct vec *a) { return a->x * a->x + a->y * a->y; }
static void unit(struct vec *a, double *length) { double s = square(a); *length = sqrt(s) + 1; a->x /= *length; }
static void twice(struct vec *a) { struct vec t = *a; add(a, &t); }
static void swap(double *a, double *b) { double t = *a; *a = b[0]; b[0] = t; }
static void plus(double x, double *s) { *s = *s + x; *s = *s + x; }
static void grow(struct vec *a, struct vec b) { a->x += b.y; a->y += b.x; }
static void again(double *s) { plus(*s, s); plus(s[0] + *s, s); }
static void both(struct vec *a) { grow(a, *a); plus(a->x, &(*a).x); }
static void next(int *k) { *k += 1; }
static double larger(const double *a, const double *b) { return *a > *b ? *a : *b; }
static void scaled(double *a) { *a *= scale; }
static double half(double *a) { *a = *a / 2; return *a + 1; }
static void given(const double *a, int *k) { *k = a != 0; }
static void moved(double *a) { a++; }
static void choose(int *k, double *a) { *k = 1; *a = 2; }
static void first(int n, double *a) { for (int i = 0; i < n; i++) a[i] = i; }
"""
PROGRAMS: Mapping[str, str] = {
    "variables": "double s = out[i], t; t = 2 * s; swap(&s, &t); out[i] = s - 3 * t;",
    "one twice": "double s = out[i]; swap(&s, &s); out[i] += s;",
    "its own value": "double s = i; plus(s, &s); out[i] += s;",
    "a field's own value": "plus(b[i].mass, &b[i].mass); plus(b[i].at.x, &b[i].at.y);",
    "handed on with its own value": "double s = i; again(&s); again(&b[i].mass); both(&b[i].at); out[i] += s;",
    "structs": "struct vec t = b[i].v; double l; unit(&t, &l); out[i] = l + t.x + square(&b[i].at);",
    "fields of elements": "add(&b[i].at, &b[i].v); swap(&b[i].mass, &b[i].charge); twice(&b[i].v);",
    "a struct of the caller": "add(&b[i].at, &c->at); if (i == 0) add(&b[i].v, &c->v);",
    "elements": "swap(&out[i], &b[i].mass); out[i] += larger(&b[i].mass, &b[i].charge);",
    "a value": "double s = half(&b[i].mass); out[i] = half(&s);",
    "globals": "scaled(&out[i]); scaled(&b[i].v.y);",
    "integers": "int k = i; next(&k); out[i] = k; next(&b[i].kind[1]);",
    "under conditions": "double s = i; if (out[i] > 0) { plus(1, &s); } else if (i > 2) plus(out[i], &s); out[i] = s;",
    "numbers of the call": "out[i] = larger(&d, &b[i].mass);",
}
HOST = {
    "compared": ("int k; given(&b[i].mass, &k); out[i] = k;", "the call of `given` passes an address"),
    "indexed": ("double s = 1; first(1, &s); out[i] = s;", "the call of `first` passes an address"),
    "moved": ("double s = 1; moved(&s); out[i] = s;", "the call of `moved` passes an address"),
    "of another type": ("double s = 1; next((int *)&s); out[i] = s;", "the call of `next` may do anything"),
    "inside an expression": ("double s = 1; out[i] = half(&s) + s;", "the call of `half` could not be inlined"),
    "an element that it chooses": ("int k = 0; choose(&k, &out[k]);", "the call of `choose` passes an address"),
}


def text(body: str) -> str:
    head = "void f(int n, double d, struct body *restrict b, struct body *restrict c, double *restrict out)"
    return f"{HEAD}{head}\n{{\n#pragma scop\nfor (int i = 0; i < n; i++) {{ {body} }}\n#pragma endscop\n}}\n"


@pytest.mark.quick
@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("name", PROGRAMS)
def test_they_are_inlined(name: str) -> None:
    (scop,) = polytile.compile(text(PROGRAMS[name]), name="f.c").scops
    assert scop.program is not None
    for n in (0, 1, 7, 300):
        assert scop.validate(on="emulator", parameters={"n": n}, sanitize=CHECKS, seed=n)


@pytest.mark.parametrize("name", HOST)
def test_others_stay_calls(name: str) -> None:
    with pytest.raises(OpaqueCallError, match=HOST[name][1]):
        polytile.compile(text(HOST[name][0]), name="f.c")
