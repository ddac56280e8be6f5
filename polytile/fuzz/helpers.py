"""Small functions that random programs call, to be inlined: none makes a value larger than its arguments."""

from __future__ import annotations

import re

SCALAR_FUNCTIONS = {
    "mix": "static double mix(double a, double b) { return 0.5 * (a + b); }",
    "bend": """static double bend(double a)
{
    double b = a;
    if (a < 0)
        b = -0.5 * b;
    return b;
}""",
    "half": "static inline float half(float a) { return a * 0.5f; }",
    "nested": "static double nested(double a) { return half((float)a) + mix(a, 0.25) / 2; }",
    "wrap": "static int wrap(int a) { return a % 5; }",
    "clamped": """static int clamped(int a, int low, int high)
{
    if (a < low)
        return low;
    if (a > high)
        return high;
    return a;
}""",
}
# Of the first `count` elements of a row of doubles.
ROW_FUNCTIONS = {
    "largest": """static double largest(int count, const double *v)
{
    double s = 0;
    for (int q = 0; q < count; q++)
        s = fmax(s, fabs(v[q]));
    return s;
}""",
    "decay": """static double decay(int count, const double v[count])
{
    double s = 0, c = 0.5;
    for (int q = 0; q < count; q++) {
        s += c * v[q];
        c *= 0.5;
    }
    return s;
}""",
}
SWEEP_FUNCTIONS = {
    "damp": """static void damp(int count, double *v)
{
    for (int q = 0; q < count; q++)
        v[q] *= 0.5;
}""",
    "smooth": """static void smooth(int count, double v[count])
{
    for (int q = 1; q < count - 1; q++) {
        double left = v[q - 1];
        v[q] = 0.25 * left + 0.5 * v[q] + 0.25 * v[q + 1];
    }
}""",
}
_ALL = {**SCALAR_FUNCTIONS, **ROW_FUNCTIONS, **SWEEP_FUNCTIONS}


def needed_definitions(text: str) -> list[str]:
    """Return the functions that a text calls, and those that they call, callees first."""
    called = {name for name in _ALL if re.search(rf"\b{name}\(", text)}
    if "nested" in called:
        called |= {"half", "mix"}
    return [definition for name, definition in _ALL.items() if name in called]
