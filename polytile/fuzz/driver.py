"""A `main` for a random program: fills its arrays, runs its functions for each size, and prints a hash of the results.

It is how a program is checked for undefined behaviour, and how whole programs are compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from polytile.fuzz.extents import Extents, extents
from polytile.fuzz.large_sizes import LARGE
from polytile.fuzz.printing import FIXED_NAMES, NO_ARGUMENTS, c_text, large_sizes, parameters, used_arrays
from polytile.fuzz.printing_expressions import linear_text
from polytile.fuzz.structs import Field, fields_of, kind
from polytile.fuzz.tree import Array, Function, Program

Sizes = Mapping[str, int]

_HASH = """
#include <stdio.h>
#include <stdlib.h>
static unsigned long long hashed = 14695981039346656037ull;
static void enter(const void *data, size_t bytes)
{
    for (size_t b = 0; b < bytes; b++)
        hashed = (hashed ^ ((const unsigned char *)data)[b]) * 1099511628211ull;
}
static unsigned int state = 1;
static double next(void)
{
    state = state * 1103515245 + 12345;
    return ((state >> 16) % 4001) / 2000.0 - 1.0;
}
"""


def driver_text(program: Program, sizes: Sequence[Sizes]) -> str:
    """Return the program followed by a `main` that runs it at all these sizes."""
    needed = extents(program)
    runs = [_run(program, f, needed, number) for number, f in enumerate(program.functions)]
    calls = [
        f"    run{number}({', '.join(str(s[p]) for p in ('n', 'm', 'k'))});"
        for s in sizes
        for number in range(len(program.functions))
    ]
    lines = ["int main(void)", "{", *calls, '    printf("%llx\\n", hashed);', "    return 0;", "}"]
    return c_text(program) + _HASH + "\n".join([*runs, *lines]) + "\n"


def _run(program: Program, function: Function, needed: Extents, number: int) -> str:
    spelt = {s: FIXED_NAMES[s] for s, _ in program.fixed}
    arrays = [a for a in used_arrays(program, [function]) if a.form not in NO_ARGUMENTS]
    held = [a for a in arrays if a.rank > 0]
    lines = [f"static void run{number}(long n, long m, long k)", "{", "    (void)n, (void)m, (void)k;"]
    for a in held:
        shape = "".join(f"[{linear_text(e, spelt)}]" for e in needed[a.name])
        lines += [f"    {a.type} (*{a.name}){shape} = malloc(sizeof *{a.name});", *_fill(a)]
    arguments = [
        *parameters(program, function),
        "0.75",
        *(LARGE[s].text for s in large_sizes(function)),
        *(_argument(a) for a in arrays),
    ]
    lines += [f"    double result = {function.name}({', '.join(arguments)});", "    enter(&result, sizeof result);"]
    for a in held:
        lines += [*_hash(a), f"    free({a.name});"]
    return "\n".join([*lines, "}"])


def _argument(array: Array) -> str:
    """Return what is passed for an array that `main` points to, or for a scalar."""
    if array.rank == 0:
        return "1"
    flat = array.form in ("flat", "restrict") or array.rank == 1
    return f"({array.type} *){array.name}" if flat else f"*{array.name}"


def _each(array: Array, body: Sequence[str]) -> list[str]:
    return [
        f"    for (size_t e = 0; e < sizeof *{array.name} / sizeof({array.type}); e++) {{",
        f"        {array.type} *here = ({array.type} *){array.name} + e;",
        *(f"        {line}" for line in body),
        "    }",
    ]


def _members(array: Array) -> list[tuple[str, str]]:
    """Return the numbers in one element, with their types."""
    return [(f"here->{f.name}{at}" if f.name else "*here", f.type) for f in fields_of(array.type) for at in _places(f)]


def _places(field: Field) -> list[str]:
    return ["".join(f"[{k}]" for k in at) for at in product(*map(range, field.shape))]


def _fill(array: Array) -> list[str]:
    values = {"f": "next()", "i": "(int)(8 * next())", "u": "(unsigned)(8 + 8 * next())"}
    if array.holds:
        return _each(array, ["*here = e == 0 ? 0 : (here[-1] + (int)(2 + 2 * next())) % (n + 1);"])
    return _each(array, [f"{place} = {values[kind(t)]};" for place, t in _members(array)])


def _hash(array: Array) -> list[str]:
    return _each(array, [f"enter(&{place}, sizeof {place});" for place, _ in _members(array)])
