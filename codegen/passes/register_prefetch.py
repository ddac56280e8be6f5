"""Loads ahead: what a recurrence reads from memory is loaded some iterations before it is needed.

before: for (j = 1; j < n; ++j) { p_last = u[j] / (a * p_last + b); p[j] = p_last; }
after:  double u_now = u[1], u_in1 = u[2], u_in2 = u[3], u_in3 = u[4];                      none of them beyond u[n - 1]
        for (j = 1; j < n; ++j) {
            double u_in4 = u[j < n - 4 ? j + 4 : n - 1];
            p_last = u_now / (a * p_last + b); p[j] = p_last;
            u_now = u_in1; u_in1 = u_in2; u_in2 = u_in3; u_in3 = u_in4; }

Compilers do so by themselves, by unrolling, where the body is straight code. A division or a call of the math library
has branches, across which no load is moved: each iteration would wait for its own loads.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from polytile.dataclass import dataclass
from polytile.ir.expr import Access, Assign, Binary, Call, Declare, Expr, For, Literal, Name, Node, Stmt, Ternary
from polytile.ir.expr_trees import walk
from polytile.ir.fold import folded
from polytile.ir.linear_access import Element, at, element, evaluated, steps, with_registers
from polytile.ir.name_supply import Names
from polytile.ir.trip_count import consecutive
from polytile.tuning import LoadTuning


@dataclass(frozen=True, slots=True)
class _Load:
    """One element that each iteration reads, in terms of names outside the loop and of its iterator."""

    access: Access
    form: Element


def load_ahead(
    loop: For, changing: frozenset[str], names: Names, tuning: LoadTuning
) -> tuple[tuple[Declare, ...], For]:
    """Load elements of later iterations ahead; return declarations to precede the loop, and the loop.

    The declarations go in front of a loop that runs at least once; `changing` are the arrays that the kernel writes or
    keeps for itself.
    """
    condition = consecutive(loop)
    loads = _loads(loop, changing)
    if condition is None or not _has_branches(loop) or not 0 < len(loads) <= tuning.max_prefetched_elements:
        return (), loop
    ahead = tuning.prefetch_iterations
    before: list[Declare] = []
    start: list[Stmt] = []
    end: list[Stmt] = []
    registers: dict[str, list[tuple[Element, Name]]] = {}
    for load in loads:
        number = len(registers.setdefault(load.access.array, []))
        held = [_register(load, number, distance, names) for distance in range(ahead + 1)]
        registers[load.access.array].append((load.form, held[0]))
        for distance, name in enumerate(held[:-1]):
            before.append(_declared(name, load, loop, _iteration(condition, loop.lower, distance)))
        following = _iteration(condition, Name(loop.iterator, loop.type), ahead)
        start.append(_declared(held[-1], load, loop, following))
        end += [Assign(name, "", later) for name, later in pairwise(held)]
    body = (*start, *with_registers(loop.body, {}, registers), *end)
    return tuple(before), replace(loop, body=body)


def _loads(loop: For, changing: frozenset[str]) -> list[_Load]:
    """Return the elements of arrays that do not change which every iteration reads, each another one."""
    found: list[_Load] = []
    for step in steps(loop.body, {}):
        for node in () if step.stmt.value is None else evaluated(step.stmt.value):
            if not isinstance(node, Access) or node.array in changing:
                continue
            form = element(node, step.known)
            if form is None or not any(f.get(loop.iterator) for f in form):
                continue
            if not any(f.access.array == node.array and f.form == form for f in found):
                found.append(_Load(at(node, step.known, loop.iterator, Name(loop.iterator, loop.type)), form))
    return found


def _has_branches(loop: For) -> bool:
    """Return whether the body computes what takes branches on a GPU."""
    return any(_takes_branches(node) for stmt in loop.body for node in walk(stmt))


def _takes_branches(node: Node) -> bool:
    match node:
        case Binary(op="/") | Call():
            return node.type.kind == "float"
        case Assign(op="/"):
            return True
    return False


def _iteration(condition: Binary, start: Expr, distance: int) -> Expr:
    """Return the iteration `distance` after `start`, or the last one."""
    if distance == 0:
        return start
    bound = condition.right
    later = Binary("+", start, Literal(str(distance)), bound.type)
    last = bound if condition.op == "<=" else Binary("-", bound, Literal("1"), bound.type)
    room = Binary(condition.op, start, folded(Binary("-", bound, Literal(str(distance)), bound.type)))
    return Ternary(room, folded(later), folded(last), bound.type)


def _register(load: _Load, number: int, distance: int, names: Names) -> Name:
    return Name(names.numbered(load.access.array, number, f"_in{distance}" if distance else "_now"), load.access.type)


def _declared(name: Name, load: _Load, loop: For, iteration: Expr) -> Declare:
    access = at(load.access, {}, loop.iterator, iteration)
    return Declare(name.name, name.type, access, load.access.location)
