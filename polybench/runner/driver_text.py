"""The text of one exported driver: the sizes, the arrays, and the calls of the reference and of the entry point."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from polybench.runner.errors import RunnerError
from polybench.runner.figures import values_of
from polytile.api import CompiledScop, Program
from polytile.codegen.targets.cuda.entry import arguments, declarator
from polytile.codegen.targets.expressions import type_name
from polytile.ir.expr import CType
from polytile.ir.scop import Array
from polytile.runtime.expectation import chain_length
from polytile.runtime.layout import Layout, element_dtype, layouts
from polytile.runtime.reference import widen

SEED = 1
UNITS = {4: 1.1920928955078125e-07, 8: 2.220446049250313e-16}


def references(program: Program) -> tuple[str, str]:
    """Print the sequential C of all SCoPs, and the same in long double, each function under a name of its own."""
    narrow, wide = [], []
    for number, scop in enumerate(program.scops):
        text, name = scop._sequential(), f"{scop.name}_reference"
        narrow.append(text.replace(name, _reference(number)))
        wide.append(widen(text).replace(name, _wide(number)))
    return "\n".join(narrow), "\n".join(wide)


def driver(program: Program, sizes: Mapping[str, int], runs: int, data: Mapping[str, str] | None = None) -> str:
    """Print the C++ file that checks and times a program: it includes the generated .cu.

    `data` says how the elements of an array are drawn, as a formula over a random number x of [0.5, 1.5) and the
    indices i0, i1, and so on. Raises RunnerError for one that names anything else.
    """
    formulas = data or {}
    known = {a.name for scop in program.scops for a in scop.scop.arrays}
    if unknown := sorted(set(formulas) - known):
        raise RunnerError(f"the table says how {unknown[0]} is drawn, which is no array of the program")
    parts = [_scop(number, scop, values_of(scop, sizes), formulas) for number, scop in enumerate(program.scops)]
    calls = [f"    scop_{number}(times);" for number in range(len(parts))]
    return "\n".join(
        [
            '#include "driver.h"',
            f'#include "{program.stem}_kernel.cu"',
            "",
            f"constexpr int runs = {runs};",
            "",
            *parts,
            "int main()",
            "{",
            "    bench::Times times;",
            "    bench::start();",
            *calls,
            "    bench::print(times, runs);",
            "}",
            "",
        ]
    )


def _reference(number: int) -> str:
    return f"polytile_reference_{number}"


def _wide(number: int) -> str:
    return f"polytile_wide_{number}"


def _scop(number: int, scop: CompiledScop, values: Mapping[str, int], data: Mapping[str, str]) -> str:
    """Print the declarations of the references and the function that runs one SCoP."""
    assert scop.program is not None
    shapes = layouts(scop.scop, values)
    arrays = list(shapes.values())
    names = [f"v{i}" for i in range(len(arrays))]
    parameters = [type_name(p.type, cpp=True) for p in scop.scop.parameters]
    types = [_scalar(a.array) for a in arrays]
    value = [scop.scop.by_value(a.array) for a in arrays]
    for layout, by_value in zip(arrays, value, strict=True):
        if by_value and layout.array.fields:
            raise RunnerError(f"{layout.array.name} is a struct that is passed by value, which export cannot do")
    narrow = [_argument(t, v) for t, v in zip(types, value, strict=True)]
    wide = [f"bench::Wide<{t}>{'' if v else ' *'}" for t, v in zip(types, value, strict=True)]
    numbers = [f"({t}){values[p.name]}" for t, p in zip(parameters, scop.scop.parameters, strict=True)]
    device = numbers + [_passed(n, a.array.name, scop) for n, a in zip(names, arrays, strict=True)]
    host = numbers + [f"{n}.value()" if v else f"{n}.host()" for n, v in zip(names, value, strict=True)]
    exact = numbers + [f"{n}.wide_value()" if v else f"{n}.wide()" for n, v in zip(names, value, strict=True)]
    return "\n".join(
        [
            f'extern "C" void {_reference(number)}({", ".join(parameters + narrow)});',
            f'extern "C" __attribute__((weak)) void {_wide(number)}({", ".join(parameters + wide)});',
            "",
            f"static void scop_{number}(bench::Times &times)",
            "{",
            *(f"    {_array(n, a, t, scop)}" for n, a, t in zip(names, arrays, types, strict=True)),
            *(f"    {n}.draw = {_draw(a, data)};" for n, a in zip(names, arrays, strict=True) if a.array.name in data),
            f"    bench::Scop scop{{{json.dumps(scop.name)}, {chain_length(scop.scop, values)!r}, {_unit(scop)!r}}};",
            f"    scop.arrays = {{{', '.join('&' + n for n in names)}}};",
            f"    scop.sequential = [&] {{ {_reference(number)}({', '.join(host)}); }};",
            f"    if ({_wide(number)} != nullptr) scop.wide = [&] {{ {_wide(number)}({', '.join(exact)}); }};",
            f"    scop.device = [&] {{ return {scop.program.name}({', '.join(device)}); }};",
            f"    bench::run(scop, {SEED}, runs, times);",
            "}",
            "",
        ]
    )


def _array(variable: str, layout: Layout, scalar: str, scop: CompiledScop) -> str:
    """Print `bench::Array<double> v0("C", {20, 25}, 0, 1, {true, true, true, false});`, for example."""
    array = layout.array
    flags = (array.live_in, array.live_out, scop.scop.written(array.name), scop.scop.by_value(array))
    use = ", ".join(str(bool(f)).lower() for f in flags)
    extents = ", ".join(map(str, layout.shape))
    members = max(1, len(array.fields))
    return f'bench::Array<{scalar}> {variable}("{array.name}", {{{extents}}}, {layout.lead}, {members}, {{{use}}});'


def _draw(layout: Layout, data: Mapping[str, str]) -> str:
    """Print `x + 4*(i0 == 2)` as `[](double x, const long long *at) -> double { return x + 4*(at[0] == 2); }`."""
    name, formula = layout.array.name, data[layout.array.name]
    indices = {f"i{d}": f"at[{d}]" for d in range(len(layout.shape))}
    if unknown := [w for w in re.findall(r"[^\W\d]\w*", formula) if w != "x" and w not in indices]:
        raise RunnerError(f"the table draws {name} from {unknown[0]}, which is neither x nor one of its indices")
    text = re.sub(r"\bi\d+\b", lambda found: indices[found[0]], formula)
    return f"[](double x, const long long *at) -> double {{ return {text}; }}"


def _scalar(array: Array) -> str:
    """Return the C++ type of an element, or of all members of a struct."""
    if array.element.kind != "struct":
        return type_name(array.element, cpp=True)
    kinds = {t for _, t in array.fields}
    if len(kinds) != 1 or element_dtype(array).itemsize != len(array.fields) * next(iter(kinds)).size:
        raise RunnerError(f"{array.name} is a struct of different types, which export cannot do")
    return type_name(next(iter(kinds)), cpp=True)


def _argument(scalar: str, by_value: bool) -> str:
    return declarator(scalar if by_value else f"{scalar} *", "").rstrip()


def _passed(variable: str, name: str, scop: CompiledScop) -> str:
    """Print the argument of the entry point for one array: structs as pointers to void."""
    assert scop.program is not None
    found = next(a for a in arguments(scop.program) if a.array.name == name)
    if found.value and not found.opaque:
        return f"{variable}.value()"
    return f"({found.type_text(cpp=True)}){variable}.device()"


def _unit(scop: CompiledScop) -> float:
    """Return the unit of rounding of the narrowest floating type that the SCoP stores."""
    types: Sequence[CType] = [t for a in scop.scop.arrays for t in ([t for _, t in a.fields] or [a.element])]
    return UNITS[4] if any(t.kind == "float" and t.size == 4 for t in types) else UNITS[8]
