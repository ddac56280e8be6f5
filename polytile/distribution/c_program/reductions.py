"""What the driver is told of global reductions: a row for each, neutral numbers, and the calls that combine terms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from polytile.codegen.targets.expressions import Printer, type_name
from polytile.diagnostics import InternalError
from polytile.distribution.c_program.distributed import Distributed
from polytile.distribution.c_program.functions import call, extent_of, values_of
from polytile.ir.expr import Access, CType
from polytile.ir.reductions import identity

_OPERATIONS = {"+": "MPI_SUM", "min": "MPI_MIN", "max": "MPI_MAX"}
_INTEGERS = {1: "SIGNED_CHAR", 2: "SHORT", 4: "INT", 8: "LONG_LONG"}
_UNSIGNED = {1: "UNSIGNED_CHAR", 2: "UNSIGNED_SHORT", 4: "UNSIGNED", 8: "UNSIGNED_LONG_LONG"}


def reductions(made: Distributed) -> Iterator[dict[str, Any]]:
    """Yield the values that the template is filled with for each reduction of a plan."""
    plan = made.plan
    phase = {name: k for k, each in enumerate(plan.phases) for name in each.statements}
    rows = zip(plan.reductions, plan.combinations, made.combinations, strict=True)
    for number, (one, combination, programs) in enumerate(rows):
        result = plan.scop.array(one.result).element
        row = (
            str(phase[one.combining]),
            str(made.number(one.terms)),
            str(len(combination.bounds)),
            f"sizeof({type_name(result, cpp=False)})",
            _mpi_type(result),
            _OPERATIONS[one.op],
        )
        terms = plan.scop.array(one.terms).element
        neutral = identity(one.op, terms) if one.op != "+" else None
        yield {
            "number": number,
            "row": ", ".join(row),
            "result": one.result,
            "type": type_name(result, cpp=False),
            "neutral": Printer(_no_element, cpp=False)(neutral) if neutral is not None else "",
            "bytes": f"sizeof({type_name(terms, cpp=False)})",
            "calls": [call(program, *_arguments(made, number)) for program in programs],
        }


def _arguments(made: Distributed, number: int) -> tuple[dict[str, str], dict[str, str]]:
    """Return the texts of parameters, and of arrays and scalars, of the entry points that combine terms."""
    plan, combination = made.plan, made.plan.combinations[number]
    known, terms = values_of(plan), made.number(combination.terms)
    for axis, box in enumerate(plan.boxes):
        known[box.extent] = extent_of(axis)
    axes = plan.array(combination.terms).axes
    for d, (cut, first, count) in enumerate(zip(axes, combination.first, combination.count, strict=True)):
        known[count] = f"state->whole[{terms}][{d}]"
        if cut is not None:
            known[first] = f"box->along[{cut}].first - state->stored.along[{cut}].first"
            known[count] = f"box->along[{cut}].end - box->along[{cut}].first"
    memory = {combination.terms: f"memory[{terms}]"}
    memory |= {name: f"partial + {k}" if k else "partial" for k, name in enumerate(combination.partials)}
    return known, memory | {bound: f"bounds[{k}]" for k, bound in enumerate(combination.bounds)}


def _mpi_type(ctype: CType) -> str:
    if ctype.kind == "float":
        return "MPI_FLOAT" if ctype.size == 4 else "MPI_DOUBLE"
    return f"MPI_{(_INTEGERS if ctype.signed else _UNSIGNED)[ctype.size]}"


def _no_element(access: Access, _: Printer) -> str:
    raise InternalError(f"a neutral number reads memory: {access}")
