"""What the driver computes from parameters, and how it calls the kernels' entry points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from polytile.codegen.targets.cuda.entry import arguments
from polytile.codegen.targets.expressions import Printer
from polytile.codegen.targets.line_wrap import broken, wrapped
from polytile.diagnostics import InternalError
from polytile.distribution.c_program.distributed import Distributed, extents_of, sole_writer
from polytile.distribution.copies import HaloCopy
from polytile.distribution.plan import DistributionPlan
from polytile.ir.expr import LLONG, Access, Expr, Name
from polytile.ir.expr_trees import with_children
from polytile.ir.host import HostProgram


def extents(made: Distributed) -> list[str]:
    """Return statements that set the extents of axes and arrays."""
    plan = made.plan
    values = values_of(plan)
    lines = ["(void)values, (void)shape;"]
    for number, axis in enumerate(plan.axes):
        lines += broken(f"extents[{number}] = {_text(axis.extent, values)};")
    for number, array in enumerate(plan.arrays):
        for d, extent in enumerate(extents_of(plan, array)):
            lines += broken(f"shape[{number}][{d}] = {_text(extent, values)};")
    return lines


def time(plan: DistributionPlan) -> list[str]:
    """Return statements that set the first step and the one behind the last."""
    values = values_of(plan)
    first, end = (_text(e, values) for e in (plan.time.first, plan.time.end))
    return ["(void)values;", *broken(f"*first = {first};"), *broken(f"*end = {end};")]


def places(plan: DistributionPlan) -> list[str]:
    """Return statements that return where an array's sole writer is along axes that do not cut it."""
    values = values_of(plan)
    lines: list[str] = []
    for number, array in enumerate(plan.arrays):
        for axis, at in enumerate(sole_writer(plan, array) or ()):
            if at is not None:
                lines += broken(f"if (array == {number} && axis == {axis}) return {_text(at, values)};")
    return lines


def phases(made: Distributed) -> Iterator[tuple[str, list[str]]]:
    """Yield the number of each phase with its call, many steps at once among them."""
    plan = made.plan
    known = values_of(plan)
    for axis, box in enumerate(plan.boxes):
        known[box.first] = f"box->along[{axis}].first - state->stored.along[{axis}].first"
        known[box.end] = f"box->along[{axis}].end - state->stored.along[{axis}].first"
        known[box.offset] = f"state->stored.along[{axis}].first"
        known[box.extent] = extent_of(axis)
    if plan.step:
        known |= {plan.step: "step", plan.count: "count"}
    memory = {a.name: f"memory[{k}]" for k, a in enumerate(plan.arrays)}
    memory |= {a.name: f"own->v_{a.name}" for a in made.scalars}
    memory |= {r.result: f"own->v_{r.result}" for r in plan.reductions}
    for number, program in enumerate(made.phases):
        yield str(number), call(program, known, memory)
    if made.lead is not None:
        yield "LEAD", call(made.lead, known, memory)


def copies(made: Distributed) -> Iterator[tuple[int, list[str], list[str]]]:
    """Yield the number of each array that is exchanged, with the calls that pack and unpack a box of it."""
    for copy in made.plan.copies:
        pack, unpack = made.copies[copy.array]
        known = _copied(made.plan, copy)
        here = f"memory[{made.number(copy.array)}]"
        memory = {a.array.name: "buffer" if a.array.name == copy.buffer else here for a in arguments(pack)}
        yield made.number(copy.array), call(pack, known, memory), call(unpack, known, memory)


def _copied(plan: DistributionPlan, copy: HaloCopy) -> dict[str, str]:
    known = values_of(plan)
    for axis, box in enumerate(plan.boxes):
        known[box.extent] = extent_of(axis)
    for cut, first, count in zip(plan.array(copy.array).axes, copy.first, copy.count, strict=True):
        if cut is not None:
            known[first] = f"box->along[{cut}].first - state->stored.along[{cut}].first"
            known[count] = f"box->along[{cut}].end - box->along[{cut}].first"
    if copy.plane:
        known[copy.plane] = "plane"
    return known


def extent_of(axis: int) -> str:
    """Return how many positions a rank stores along an axis."""
    return f"state->stored.along[{axis}].end - state->stored.along[{axis}].first"


def call(program: HostProgram, known: Mapping[str, str], memory: Mapping[str, str]) -> list[str]:
    """Print the call of an entry point; `known` has the values of parameters, `memory` arrays and scalars."""
    passed = [f"({p.type.name})({known[p.name]})" for p in program.parameters]
    for argument in arguments(program):
        kind = "" if argument.value else f"({argument.type_text(cpp=False)})"
        passed.append(f"{kind}{memory[argument.array.name]}")
    return wrapped(f"return {program.name}(", passed, ");")


def values_of(plan: DistributionPlan) -> dict[str, str]:
    """Return the expressions of the SCoP's parameters in the table of their values."""
    return {p.name: f"values[{k}]" for k, p in enumerate(plan.scop.parameters)}


def _text(expr: Expr, values: Mapping[str, str]) -> str:
    """Print C for an expression over the parameters, in 64 bits."""

    def spelt(node: Any) -> Any:
        return Name(values[node.name], LLONG) if isinstance(node, Name) else with_children(node, spelt)

    return Printer(_no_element, cpp=False)(spelt(expr))


def _no_element(access: Access, _: Printer) -> str:
    raise InternalError(f"an extent reads memory: {access}")
