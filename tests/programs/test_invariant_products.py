"""Products of sizes in bounds and conditions: sizes that the host computes before the SCoP."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

import polytile
from polytile.diagnostics import UsageError, UserError
from polytile.runtime.emulator.instrument import CHECKS
from tests.every_schedule import same_in_every_schedule

STRUCT = "typedef struct { int h, w, c, batch; float *output, *delta; } Layer;\n"
PROGRAMS: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "two sizes": ("int w, int h, float a[w * h]", "for (int i = 0; i < w * h; i++) a[i] *= 2;", ("w_h",)),
    "of sums": (
        "int w, int h, double *a",
        "for (int i = 0; i < (w + 1) * (h + 2) - 1; i++) a[i] = i;",
        ("w_h",),
    ),
    "of three, and a square": (
        "int w, int h, int c, double *a, double *b",
        "for (int i = 0; i < w * h * c; i++) { a[i] = i; if (i < w * w) b[i] = i; }",
        ("w_h_c", "w_w"),
    ),
    "rows as long as a product": (
        "int batch, int c, int h, int w, const float *in, float *out",
        "for (int b = 0; b < batch; b++) for (int k = 0; k < c; k++) { float s = 0;"
        " for (int i = 0; i < h * w; i++) s += in[i + h * w * (k + b * c)]; out[k + b * c] = s; }",
        ("h_w",),
    ),
    "by rows, and as a whole": (
        "int h, int w, double a[h][w], double *b",
        "for (int y = 0; y < h; y++) for (int x = 0; x < w; x++) a[y][x] += 1;"
        " for (int i = 0; i < w * h; i++) b[i] = i;",
        ("w_h",),
    ),
    "unsigned long": (
        "unsigned long n, unsigned long m, double *a",
        "for (unsigned long i = 0; i < n * m; i++) a[i] = 1;",
        ("n_m",),
    ),
    "a cast": ("int n, int m, double *a", "for (long i = 0; i < (long)n * m; i++) a[i] = 1;", ("n_m",)),
    "lower ends": ("int n, int m, double *a", "for (int i = n * m; i < n * m + 9; i++) a[i - n * m] += i;", ("n_m",)),
    "a step": ("int n, int m, int s, double *a", "for (int i = 0; i < n * m; i += 3) a[i] = s;", ("n_m",)),
    "inner loops": (
        "int n, int m, int k, double *a",
        "for (int j = 0; j < k; j++) for (int i = 0; i < n * m; i++) a[j * n * m + i] = j + i;",
        ("n_m",),
    ),
}
SIZES = (0, 1, 2, 5)


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name: str) -> None:
    arguments, body, made = PROGRAMS[name]
    text = f"void f({arguments})\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
    (scop,) = polytile.compile(text, name="f.c", strict=True).scops
    parameters = [p.name for p in scop.scop.parameters]
    assert set(made) <= set(parameters)
    sizes = []
    for number, size in enumerate(SIZES):
        values = {p: size + (number + k) % 2 for k, p in enumerate(parameters) if p not in made}
        values |= {p: size for p in made if p not in dict(scop.scop.products)}
        sizes.append(values)
    assert not same_in_every_schedule(text, sizes)


@pytest.mark.usefixtures("emulator")
def test_fields_of_structs() -> None:
    text = STRUCT + (
        "void f(Layer l, float s)\n{\nint i;\n#pragma scop\n"
        "for (i = 0; i < l.h*l.w*l.c*l.batch; ++i) l.output[i] += s * l.delta[i];\n#pragma endscop\n}\n"
    )
    (scop,) = polytile.compile(text, name="f.c").scops
    assert dict(scop.scop.passed)["l_h_l_w_l_c_l_batch"] == "(((l.h * l.w) * l.c) * l.batch)"
    for size in (0, 1, 5):
        given = {"l_h": size, "l_w": 2, "l_c": 3, "l_batch": size}
        (found,) = scop.validate(on="emulator", parameters=given, sanitize=CHECKS)
        assert found.values["l_h_l_w_l_c_l_batch"] == 6 * size * size
    with pytest.raises(UsageError, match="w_l_c_l_batch=7 is not the product of l_h=2 l_w=2 l_c=3 l_batch=2"):
        polytile.compile(text, name="f.c", parameters={**given, "l_h": 2, "l_batch": 2, "l_h_l_w_l_c_l_batch": 7})


@pytest.mark.usefixtures("emulator")
def test_calls_need_no_products() -> None:
    """Products of sizes that a call gives, or that follow from its arrays, need not be given."""
    text = (
        "void f(int h, int w, double a[h][w], double b[h * w])\n{\n#pragma scop\n"
        "for (int y = 0; y < h; y++) for (int x = 0; x < w; x++) a[y][x] += 1;\n"
        "for (int i = 0; i < h * w; i++) b[i] = i;\n#pragma endscop\n}\n"
    )
    program = polytile.compile(text, name="f.c", parameters={"h": 4, "w": 5}, specialize=True)
    assert program.scops[0].compilation.options.parameters == {"h": 4, "w": 5, "h_w": 20}
    (scop,) = polytile.compile(text, name="f.c").scops
    (found,) = scop.validate(on="emulator")
    assert found.values["h_w"] == found.values["h"] * found.values["w"]
    a, b = np.zeros((3, 4)), np.zeros(12)
    scop(a=a, b=b, on="emulator")
    assert a.sum() == 12 and b[11] == 11


@pytest.mark.quick
@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("for (int i = 0; i < n; i++) for (int j = 0; j < i * n; j++) a[j] = i;", "multiplies `i` by `n`"),
        ("for (int i = 0; i < n; i++) { int k = a[i]; for (int j = 0; j < k * n; j++) a[j] = i; }", "k"),
    ],
)
def test_products_that_change_are_none(body: str, message: str) -> None:
    text = f"void f(int n, int *a)\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
    try:
        (scop,) = polytile.compile(text, name="f.c").scops
        assert not scop.scop.passed
    except UserError as error:
        assert message in str(error)
