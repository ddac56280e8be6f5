"""Shapes of values, by kind: none makes magnitudes grow, so that programs stay finite however they iterate.

A form is a template and the kinds of its arguments: `f` floating, `i` signed and `u` unsigned integers. Signed values
stay within a few thousand; unsigned ones wrap around, as C defines.
"""

from __future__ import annotations

Form = tuple[str, str]

# Continuous in their arguments: rounding errors stay rounding errors.
SMOOTH: tuple[Form, ...] = (
    ("0.5 * ({0} + {1})", "ff"),
    ("0.5 * ({0} + {1})", "ff"),
    ("(0.75 * {0} - 0.25 * {1})", "ff"),
    ("(0.25 * {0} + 0.5 * {1} - 0.25 * {2})", "fff"),
    ("fmax({0}, fabs({1}))", "ff"),
    ("fmin({0}, 0.5 * {1})", "ff"),
    ("{0} / (2 + fabs({1}))", "ff"),
    ("sqrt(fabs({0}))", "f"),
    ("cos({0}) * {1}", "ff"),
    ("exp(-fabs({0}))", "f"),
    ("fmaf(0.5f, (float){0}, 0.25f)", "f"),
    ("fma(0.5, {0}, 0.25 * {1})", "ff"),
    ("(-{0})", "f"),
    ("(float){0}", "f"),
    ("mix({0}, {1})", "ff"),
    ("half({0})", "f"),
    ("nested({0})", "f"),
    ("0.125 * ({0} % 64)", "i"),
    ("0.25f * (float)({0} % 32)", "u"),
    ("(double)({0} & 15) / 8", "i"),
)
# With jumps, across which a rounding error becomes a difference.
JUMPING: tuple[Form, ...] = (
    ("({0} > {1} ? {0} : 0.5 * {1})", "ff"),
    ("({0} < 0 && {1} > 0 ? {1} : 0.5 * {0})", "ff"),
    ("0.5 * floor({0})", "f"),
    ("copysign({0}, {1})", "ff"),
    ("{0} * ({1} >= 0.25)", "ff"),
    ("0.125 * (int)fmin(fmax(8 * {0}, -64), 64)", "f"),
    ("({0} == {1} || !({0} < {1}) ? 0.5 : -0.5)", "ff"),
)
SIGNED: tuple[Form, ...] = (
    ("({0} + {1}) / 2", "ii"),
    ("({0} + {1}) / 2", "ii"),
    ("{0} % 7", "i"),
    ("({0} > {1} ? {0} : {1})", "ii"),
    ("({0} & 63)", "i"),
    ("({0} ^ {1})", "ii"),
    ("~{0}", "i"),
    ("abs({0} % 1000)", "i"),
    ("({0} % 16) * ({1} % 16)", "ii"),
    ("({0} == {1})", "ii"),
    ("(!{0} + {1} % 100)", "ii"),
    ("(({0} & 255) >> 2)", "i"),
    ("(({0} & 15) << 3)", "i"),
    ("(short)({0} % 300)", "i"),
    ("wrap({0})", "i"),
    ("MIN({0}, {1})", "ii"),
    ("(int)({0} % 50)", "u"),
)
JUMPING_SIGNED: tuple[Form, ...] = (("(int)fmin(fmax(4 * {0}, -99), 99)", "f"), ("({0} < {1})", "ff"))
UNSIGNED: tuple[Form, ...] = (
    ("(1u * {0} + 3u * {1})", "uu"),
    ("(1u * {0} - {1})", "uu"),
    ("(1u * {0} << 3)", "u"),
    ("({0} >> 2)", "u"),
    ("(1u * {0} * {1})", "uu"),
    ("({0} ^ {1})", "uu"),
    ("({0} & 0xffu)", "u"),
    ("~{0}", "u"),
    ("({0} > {1} ? {0} : {1})", "uu"),
    ("{0} % 13", "u"),
    ("{0} / 3", "u"),
    ("(unsigned){0}", "i"),
)
FORMS = {"f": SMOOTH, "i": SIGNED, "u": UNSIGNED}
JUMPS = {"f": JUMPING, "i": JUMPING_SIGNED, "u": ()}
JUMPING_TEXTS = frozenset(text for forms in JUMPS.values() for text, _ in forms)

# Calls of functions with several statements, which polytile inlines where they are always evaluated.
WHOLE_CALLS: tuple[Form, ...] = (("bend({0})", "f"), ("0.5 * bend({0})", "f"))

# What may be added to a running sum: bounded whatever the argument, if it is not an input.
SUMMANDS = {
    "f": (("sin({0})", "f"), ("{0} / (1 + fabs({0}))", "f"), ("0.125 * cos({0} - {1})", "ff")),
    "i": (("{0} % 9", "i"), ("({0} & 3) - ({1} & 1)", "ii")),
    "u": UNSIGNED,
}
# And where every argument is an input that the program never writes.
INPUT_SUMMANDS = {
    "f": (("{0}", "f"), ("{0} * {1}", "ff"), ("0.5 * {0} * {1}", "ff"), ("{0} * {0}", "f")),
    "i": (("{0} % 100", "i"), ("({0} % 16) * ({1} % 16)", "ii")),
    "u": UNSIGNED,
}
# What a running product may be multiplied with.
FACTORS = {
    "f": (("cos({0})", "f"), ("(1 - 0.25 / (1 + fabs({0})))", "f")),
    "i": (("({0} % 2)", "i"),),
    "u": (("(2u * {0} + 1)", "u"),),
}
LITERALS = {
    "f": ("0.0", "1.5", "0.25f", "(-1)", "0.1", "alpha"),
    "i": ("0", "1", "5", "(-3)"),
    "u": ("0", "1u", "7u", "255"),
}
