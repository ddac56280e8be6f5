"""The static tables of a plan: arrays, phases, exchanges and legs, as initialisers of C."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from polytile.codegen.targets.line_wrap import wrapped
from polytile.distribution.boxes import Reach
from polytile.distribution.c_program.distributed import Distributed, sole_writer
from polytile.distribution.c_program.legs import Leg, legs
from polytile.distribution.plan import DistributedArray, HaloExchange
from polytile.ir.c_text import c_string


def tables(made: Distributed) -> str:
    """Return the tables in front of the functions of a SCoP."""
    plan, name = made.plan, made.name
    lines = [*_list("Array", f"{name}_arrays", (_array(made, a) for a in plan.arrays))]
    for number, phase in enumerate(plan.phases):
        rows = (_reaches(growth) for growth in phase.growth)
        lines += ["", *wrapped(f"static const Reach {name}_growth_{number}[][AXES] = {{", rows, "};")]
    runs = (f"{{{name}_growth_{k}, {int(not plan.is_cut(p))}}}" for k, p in enumerate(plan.phases))
    lines += ["", *_list("Phase", f"{name}_phases", runs)]
    for which, exchanges in (("before", plan.before), ("between", plan.between)):
        lines += _exchanges(made, f"{name}_{which}", exchanges)
    return "\n".join(lines)


def program(made: Distributed, digest: int) -> str:
    """Return the table that names all others."""
    plan, name = made.plan, made.name
    shape = made.wish.shape or tuple(0 for _ in plan.axes)
    parts = [
        c_string(name),
        f"{digest}ull",
        str(len(plan.axes)),
        f"{{{', '.join(c_string(a.name) for a in plan.axes)}}}",
        _reaches(plan.halo),
        _reaches(plan.boundary),
        f"{{{', '.join(map(str, shape))}}}",
        made.wish.mode.name,
        *(str(n) for n in (plan.steps, len(plan.arrays), len(plan.phases), plan.split_phase)),
        str(len(plan.scop.parameters)),
        str(int(made.lead is not None)),
        _reaches(plan.margin or [(0, 0) for _ in plan.axes]),
        *(f"{name}_{what}" for what in ("arrays", "phases")),
        *(f"&{name}_{what}" for what in ("before", "between")),
        *(f"{name}_{what}" for what in ("extents", "time", "place", "run", "copy")),
        str(len(plan.reductions)),
        *(f"{name}_{what}" for what in ("reduction", "neutral", "combine", "result")),
    ]
    return "\n".join(wrapped(f"static const Program {name}_program = {{", parts, "};"))


def _array(made: Distributed, array: DistributedArray) -> str:
    copies = {c.array: c for c in made.plan.copies}
    plane = plane_of(made, array.name) if array.name in copies else -1
    given = array.name in {a.name for a in made.given}
    sole = array.written and sole_writer(made.plan, array) is not None
    axes = [-1 if axis is None else axis for axis in array.axes] or [-1]
    size = array.element.size if made.lives_here(array) else 0
    numbers = f"{{{', '.join(map(str, axes))}}}, {plane}, {int(given)}, {int(array.written)}, {int(sole)}"
    return f"{{{c_string(array.name)}, {size}, {len(array.axes)}, {numbers}}}"


def plane_of(made: Distributed, array: str) -> int:
    """Return the dimension of an array of which copies take one index; -1 for none."""
    copy = next(c for c in made.plan.copies if c.array == array)
    planes = (e.plane for e in made.plan.between if e.array == array and e.plane is not None)
    return next(planes, -1) if copy.plane else -1


def _exchanges(made: Distributed, name: str, exchanges: Sequence[HaloExchange]) -> Iterator[str]:
    axes = len(made.plan.axes)
    for number, exchange in enumerate(exchanges):
        if exchange.plane is not None:
            rows = (f"{{{len(p)}, {{{', '.join(map(str, p)) or '0'}}}}}" for p in exchange.planes)
            yield from ("", *wrapped(f"static const Planes {name}_planes_{number}[] = {{", rows, "};"))
    each = (_exchange(made, f"{name}_planes_{k}", e) for k, e in enumerate(exchanges))
    yield from ("", *_list("Exchange", f"{name}_exchanges", each))
    counts = []
    for way in (0, 1):
        found = legs(exchanges, axes, at_once=bool(way))
        counts.append(len(found))
        for number, leg in enumerate(found):
            pieces = (f"{{{p.exchange}, {{{', '.join(f'{{{a}, {b}}}' for a, b in p.span)}}}}}" for p in leg.pieces)
            yield from _list("Piece", f"{name}_pieces_{way}_{number}", pieces)
        each = (_leg(f"{name}_pieces_{way}_{k}", one) for k, one in enumerate(found))
        yield from _list("Leg", f"{name}_legs_{way}", each)
    both = f"{{{counts[0]}, {counts[1]}}}"
    parts = [str(len(exchanges)), both, f"{name}_exchanges", f"{{{name}_legs_0, {name}_legs_1}}"]
    yield from wrapped(f"static const Exchanges {name} = {{", parts, "};")


def _exchange(made: Distributed, planes: str, exchange: HaloExchange) -> str:
    array = made.number(exchange.array)
    some = f"{len(exchange.planes)}, {planes}" if exchange.plane is not None else "0, NULL"
    return f"{{{array}, {_reaches(exchange.reach)}, {some}}}"


def _leg(pieces: str, leg: Leg) -> str:
    return f"{{{leg.round}, {{{', '.join(map(str, leg.direction))}}}, {len(leg.pieces)}, {pieces}}}"


def _reaches(reach: Iterable[Reach]) -> str:
    return f"{{{', '.join(f'{{{below}, {above}}}' for below, above in reach)}}}"


def _list(kind: str, name: str, entries: Iterable[str]) -> list[str]:
    """Print a table; one without entries has an unused one, as C wants."""
    return wrapped(f"static const {kind} {name}[] = {{", list(entries) or ["{0}"], "};")
