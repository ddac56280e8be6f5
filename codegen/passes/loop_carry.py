"""Recurrences: a value that the next iteration of a serial loop reads back from memory is carried in a register.

before: for (j = 1; j < n; ++j) p[i][j] = c / (a * p[i][j - 1] + b);
after:  if (1 < n) { double p_last = p[i][0];
            for (j = 1; j < n; ++j) { p_last = c / (a * p_last + b); p[i][j] = p_last; } }

The chain of a recurrence then runs through arithmetic alone, not through memory. It holds for an array that the loop's
body writes once, unconditionally, and reads where the iteration before wrote. Between that write and this read no other
thread touches the element, as nothing orders it with this loop. The first value is loaded where the loop runs at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from polytile.codegen.passes.plan import Context, LoweredPlan, kept_arrays
from polytile.codegen.passes.register_prefetch import load_ahead
from polytile.codegen.passes.scalar_replacement import guarded
from polytile.dataclass import dataclass
from polytile.ir.expr import Access, Assign, Declare, For, If, Name, Node, Scope, Stmt
from polytile.ir.expr_trees import statements, walk
from polytile.ir.kernel import Barrier, Kernel
from polytile.ir.linear_access import (
    Element,
    Known,
    Step,
    at,
    branches,
    element,
    evaluated,
    steps,
    with_registers,
)
from polytile.ir.name_supply import Names
from polytile.ir.polynomial import Linear
from polytile.tuning import LoadTuning


def loop_carry(kernel: Kernel, plan: LoweredPlan, context: Context) -> Kernel:
    """Keep values that the next iteration of a loop reads back from memory in registers."""
    tuning = context.machine.tuning.loads
    body = carry(kernel.body, kept_arrays(kernel), context.names, tuning, few=plan.prefetch)
    return replace(kernel, body=body)


def carry(
    body: tuple[Stmt, ...], homes: frozenset[str], names: Names, tuning: LoadTuning, *, few: bool = False
) -> tuple[Stmt, ...]:
    """Carry values from iteration to iteration in all loops of a kernel's body, of arrays not in `homes`.

    `few`: the kernel has too few threads for some to run while others wait for memory.
    """
    targets = (stmt.target for stmt in statements(*body) if isinstance(stmt, Assign))
    written = frozenset(t.array for t in targets if isinstance(t, Access))
    return _carried(body, _Kernel(homes, written | homes, names, tuning, few))


@dataclass(frozen=True, slots=True)
class _Kernel:
    """The arrays that live inside a kernel; those and all others that it changes."""

    homes: frozenset[str]
    changing: frozenset[str]
    names: Names
    tuning: LoadTuning
    few: bool


def _carried(body: tuple[Stmt, ...], kernel: _Kernel) -> tuple[Stmt, ...]:
    found: list[Stmt] = []
    for stmt in body:
        match stmt:
            case For():
                found.append(_loop(replace(stmt, body=_carried(stmt.body, kernel)), kernel))
            case If():
                then, otherwise = _carried(stmt.then, kernel), _carried(stmt.otherwise, kernel)
                found.append(replace(stmt, then=then, otherwise=otherwise))
            case Scope():
                found.append(Scope(_carried(stmt.body, kernel)))
            case _:
                found.append(stmt)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Recurrence:
    """`write` stores the element that the next iteration reads; the first one finds it at `first`."""

    write: Assign
    element: Element  # read, over the loop's iterator
    first: Access
    read_behind: bool  # whether the loop's body reads it behind the write, too


def _loop(loop: For, kernel: _Kernel) -> Stmt:
    if not isinstance(loop.step, int) or any(isinstance(s, Barrier) for s in statements(*loop.body)):
        return loop
    run = list(steps(loop.body, {}))
    if any(_sets_an_index(s.stmt) for s in run):
        return loop
    elsewhere = {n.array for s in branches(loop.body) for n in walk(s) if isinstance(n, Access)} | kernel.homes
    writes = [s for s in run if isinstance(s.stmt, Assign) and isinstance(s.stmt.target, Access)]
    before: list[Stmt] = []
    body = loop.body
    for array in dict.fromkeys(_written(s) for s in writes):
        own = [s for s in writes if _written(s) == array]
        found = _recurrence(loop, loop.step, run, own[0]) if len(own) == 1 and array not in elsewhere else None
        if found is not None:
            last = Name(kernel.names.shared(f"{array}_last"), found.first.type)
            following = Name(kernel.names.shared(f"{array}_next"), found.first.type)
            before.append(Declare(last.name, last.type, found.first, found.write.location))
            body = _handed_on(body, found, last, following)
    if not before:
        return loop
    loop = replace(loop, body=body)
    loads: tuple[Declare, ...] = ()
    if kernel.few:
        loads, loop = load_ahead(loop, kernel.changing, kernel.names, kernel.tuning)
    return guarded(loop, (*before, *loads, loop))


def _written(step: Step) -> str:
    assert isinstance(step.stmt, Assign) and isinstance(step.stmt.target, Access)
    return step.stmt.target.array


def _sets_an_index(stmt: Stmt) -> bool:
    """Return whether a statement changes a local that subscripts may mention."""
    return isinstance(stmt, Assign) and isinstance(stmt.target, Name) and stmt.target.type.kind == "int"


def _recurrence(loop: For, step: int, run: list[Step], written: Step) -> _Recurrence | None:
    write = written.stmt
    assert isinstance(write, Assign) and isinstance(write.target, Access)
    target = element(write.target, written.known)
    if target is None or not any(form.get(loop.iterator) for form in target):
        return None
    earlier = tuple(_moved(form, loop.iterator, -step) for form in target)
    reading = [s for s in run if s.stmt.value is not None and _reads(walk(s.stmt.value), s.known, write, earlier)]
    for s in reading:
        assert s.stmt.value is not None
        certain = _reads(evaluated(s.stmt.value), s.known, write, earlier)
        if certain:
            first = at(certain[0], s.known, loop.iterator, loop.lower)
            late = any(run.index(other) > run.index(written) for other in reading)
            return _Recurrence(write, earlier, first, late)
    return None


def _moved(form: Linear, iterator: str, by: int) -> Linear:
    moved = {**form, "": form.get("", 0) + by * form.get(iterator, 0)}
    return {name: factor for name, factor in moved.items() if factor}


def _reads(nodes: Iterable[Node], known: Known, write: Assign, earlier: Element) -> list[Access]:
    """Return the reads of an element of the array that is written."""
    assert isinstance(write.target, Access)
    array = write.target.array
    return [n for n in nodes if isinstance(n, Access) and n.array == array and element(n, known) == earlier]


def _handed_on(body: tuple[Stmt, ...], found: _Recurrence, last: Name, following: Name) -> tuple[Stmt, ...]:
    """Replace the reads in a loop's body by `last`, which ends as the value that this iteration wrote."""
    body = with_registers(body, {}, {found.first.array: [(found.element, last)]})
    if not found.read_behind and found.write.op == "":
        return tuple(_stored(body, found.write.target, last))
    stored = _stored(body, found.write.target, following)
    return (Declare(following.name, following.type, None), *stored, Assign(last, "", following))


def _stored(body: tuple[Stmt, ...], target: Access | Name, register: Name) -> Iterator[Stmt]:
    """Yield the statements of a body that computes the value of `target` in a register."""
    for stmt in body:
        if isinstance(stmt, Scope):
            yield Scope(tuple(_stored(stmt.body, target, register)))
        elif isinstance(stmt, Assign) and stmt.target == target:
            if stmt.op != "":
                yield Assign(register, "", target, stmt.location)
            yield Assign(register, stmt.op, stmt.value, stmt.location)
            yield Assign(target, "", register, stmt.location)
        else:
            yield stmt
