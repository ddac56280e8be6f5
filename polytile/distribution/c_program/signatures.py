"""The declarations of the C functions for ranks: what a user calls."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from polytile.codegen.targets.expressions import Printer, type_name
from polytile.codegen.targets.line_wrap import wrapped
from polytile.dataclass import dataclass
from polytile.diagnostics import InternalError
from polytile.distribution.c_program.distributed import Distributed
from polytile.ir.c_text import in_comment
from polytile.ir.expr import Access
from polytile.ir.name_supply import fresh
from polytile.ir.reserved_names import identifier
from polytile.ir.scop import Array, Parameter


@dataclass(frozen=True, slots=True)
class Function:
    """A function: its declaration for the header, and its beginning in the driver, where names begin with `given_` or
    `our_`."""

    declaration: str
    definition: str


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument: its type, with a space or a star at the end, and its name; `ours` is none of the C function's."""

    type: str
    name: str
    ours: bool = False


_COMM = Argument("MPI_Comm ", "comm", ours=True)


def whole(made: Distributed) -> Function:
    """Return the function that does everything: `int himeno_mpi(MPI_Comm comm, int n, void *p)`."""
    return _function(made, "", [_COMM, *arguments(made)])


def init(made: Distributed) -> Function:
    """Return the function that makes a state for some sizes."""
    state = Argument(f"struct {made.name}_state **", "state", ours=True)
    return _function(made, "_init", [state, _COMM, *_numbers(made.sizes)])


def iterate(made: Distributed) -> Function:
    """Return the function that runs all iterations of the time loop."""
    state = Argument(f"struct {made.name}_state *", "state", ours=True)
    scalars = [_argument(made, a) for a in made.scalars]
    return _function(made, "_iterate", [state, *_numbers(made.others), *scalars])


def arguments(made: Distributed) -> list[Argument]:
    """Return the arguments of the C function that the SCoP uses, in its order, and behind them what it uses besides."""
    scop = made.plan.scop
    each = {p.name: Argument(f"{type_name(p.type, cpp=False)} ", p.name) for p in scop.parameters}
    each |= {a.name: _argument(made, a) for a in scop.external_arrays}
    first = [each.pop(name) for name in scop.positional]
    return [*first, *each.values()]


def _numbers(parameters: Iterable[Parameter]) -> list[Argument]:
    return [Argument(f"{type_name(p.type, cpp=False)} ", p.name) for p in parameters]


def _argument(made: Distributed, array: Array) -> Argument:
    """Pass numbers by value; arrays of several dimensions as pointers to void, so that they are passed as they are."""
    if made.plan.scop.by_value(array):
        return Argument(f"{type_name(array.element, cpp=False)} ", array.name)
    const = "" if made.plan.scop.written(array.name) else "const "
    opaque = array.rank > 1 or array.element.kind == "struct"
    return Argument(f"{const}{'void' if opaque else type_name(array.element, cpp=False)} *", array.name)


def _function(made: Distributed, ending: str, given: list[Argument]) -> Function:
    """Print a function; generated names give way to the user's."""
    start = f"int {made.name}{ending}("
    own = {p.name for p in made.plan.scop.parameters} | {a.name for a in made.plan.scop.external_arrays}
    names = [fresh(a.name, own) if a.ours else identifier(a.name) for a in given]
    declared = wrapped(start, [f"{a.type}{name}" for a, name in zip(given, names, strict=True)], ");")
    defined = wrapped(start, [f"{a.type}{'our' if a.ours else 'given'}_{a.name}" for a in given], ")")
    return Function("\n".join(declared), "\n".join(defined))


def about(made: Distributed) -> list[str]:
    """Return the comment above the functions: what an array is, and what is done with it."""
    scop, plan = made.plan.scop, made.plan
    each = [f"{a.name}: {described(made, a)}" for a in made.given]
    axes = ", ".join(a.name for a in plan.axes)
    steps = f"{plan.steps} step{'s' * (plan.steps != 1)} between two exchanges"
    texts = [
        f"{scop.name} of {Path(scop.location.file).name}:{scop.location.line} on all ranks, which cut {axes}; {steps}.",
        "Arrays are rank 0's whole ones; others may pass NULL. Numbers are the same on all ranks.",
        *(f"{text}." for text in each),
    ]
    return [f"{'/*' if k == 0 else '  '} {in_comment(t)}" for k, t in enumerate(texts[:-1])] + [
        f"   {in_comment(texts[-1])} */"
    ]


def described(made: Distributed, array: Array) -> str:
    """Return `double[n][m], read and written`."""
    printer = Printer(_no_element, cpp=False)
    shape = "".join("[]" if e is None else f"[{printer(e)}]" for e in array.extents)
    written = made.plan.scop.written(array.name)
    return f"{array.element}{shape or ', one element'}, {'read and written' if written else 'read'}"


def _no_element(access: Access, _: Printer) -> str:
    raise InternalError(f"an extent reads memory: {access}")
