"""Whose value each access reads: of which iteration, and of which cell.

before: S0[t, i, j] reads A[t % 2][i][j - 1], which S0[t - 1, i, j - 1] wrote
after:  the access reads the cell [0, -1] away of 1 iteration before

This must hold of every instance, whatever the sizes: where an instance makes that cell, the access sees its value;
where none does (a constant cell, or an iteration before the first), it sees what the element where that iteration would
have left the cell had before the SCoP. Then it holds of whatever a kernel runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.access_boxes import taken_apart, united
from polytile.ir.isl_util import maps
from polytile.ir.overlapped_tiles import OverlappedTiles, StreamRead, planes_behind, read_when
from polytile.ir.retiming import plane_terms
from polytile.ir.scop import AccessKind, Scop, Statement
from polytile.scheduling.analysis.dependences import Dependences
from polytile.scheduling.proof.time_tiles.time_loop import OUT, TimeLoop, example, require

Offset = tuple[int, ...]


def check_sums(plan: OverlappedTiles, scop: Scop) -> Iterator[str]:
    """Check that steps that are retimed are sums of terms that read a single plane each; yields which there are.

    Raises WrongTimeTileError unless they are.
    """
    names: dict[str, None] = {}
    for step in (s for s in plan.made if s.retimed):
        (name,) = step.statements
        late = {
            read.access: planes_behind(plan.steps, read, plan.streamed)
            - read_when(plan.steps, read, plan.streamed, plan.exchange)
            for read in plan.reads_of(step.index)
        }
        sums = plane_terms(scop.statement(name), late) is not None
        require(sums, f"step {step.index} is retimed, and {name} is no sum of terms that read a single plane each")
        names[name] = None
    if names:
        yield f"sums whose terms are added up in another order, as planes come: {', '.join(names)}"


@dataclass(frozen=True, slots=True)
class Group:
    """Accesses (by number, with their offsets) of a statement that read an array of so many iterations before."""

    statement: str
    array: str
    back: int
    accesses: frozenset[tuple[int, Offset]] = field(repr=False)


def check_reads(plan: OverlappedTiles, loop: TimeLoop, dependences: Dependences) -> tuple[Group, ...]:
    """Check that each step reads what the source does; returns what is read, for all iterations.

    Raises WrongTimeTileError unless it does.
    """
    found: dict[Group, None] = {}
    for step in plan.made:
        reads: dict[tuple[str, int], StreamRead] = {}
        for read in plan.reads_of(step.index):
            key = (read.statement, read.access)
            require(key not in reads, f"step {step.index}: access {read.access} of {read.statement} has two sources")
            reads[key] = read
        found.update(dict.fromkeys(_groups(plan, loop, step.index, reads)))
        require(not reads, f"step {step.index}: {', '.join(f'{s}: {k}' for s, k in reads)} read no array that changes")
    for group in found:
        _check(group, loop, dependences)
    return tuple(found)


def _groups(
    plan: OverlappedTiles, loop: TimeLoop, index: int, reads: dict[tuple[str, int], StreamRead]
) -> Iterator[Group]:
    """Group the accesses of a step by what they read; removes those that it finds from `reads`."""
    step, scop = plan.steps[index], loop.scop
    for name in step.statements:
        require(any(s.name == name for s in scop.statements), f"step {index} runs {name}, which is no statement")
    for statement in (scop.statement(name) for name in step.statements):
        alike: dict[tuple[str, int], set[tuple[int, Offset]]] = {}
        for number, access in enumerate(statement.accesses):
            if access.kind is not AccessKind.READ or not scop.written(access.array):
                if access.kind is AccessKind.READ and (statement.name, number) in reads:
                    _check_unwritten(plan, loop, statement, reads.pop((statement.name, number)))
                continue
            read = reads.pop((statement.name, number), None)
            require(read is not None, f"step {index}: no step is the source of an access of {statement.name}")
            assert read is not None
            require(0 <= read.source < len(plan.steps), f"step {index} reads step {read.source}, which is none")
            source = plan.steps[read.source]
            other = f"step {index} reads step {source.index}, which has {source.array}, for {access.array}"
            require(source.array == access.array, other)
            alike.setdefault((access.array, step.iteration - source.iteration), set()).add((number, read.offset))
        for (array, back), accesses in alike.items():
            yield Group(statement.name, array, back, frozenset(accesses))


def _check_unwritten(plan: OverlappedTiles, loop: TimeLoop, statement: Statement, read: StreamRead) -> None:
    """Check an access of an array that no statement writes.

    Its values are the same at any time: a step has them in its planes, cell by cell.
    """
    access = statement.accesses[read.access]
    require(0 <= read.source < len(plan.steps), f"step {read.step} reads step {read.source}, which is none")
    source = plan.steps[read.source]
    same = source.is_input and source.array == access.array
    require(same, f"step {read.step} reads step {source.index}, which has {source.array}, for {access.array}")
    _check_offset(statement, read.access, read.offset, loop, set())


def _check(group: Group, loop: TimeLoop, dependences: Dependences) -> None:
    statement, known = loop.scop.statement(group.statement), dependences.of(group.array)
    require(known.exact, f"the values of {group.array} are not known exactly")
    numbers = [number for number, _ in sorted(group.accesses)]
    checked: set[tuple[str, Offset]] = set()
    for number, offset in group.accesses:
        _check_offset(statement, number, offset, loop, checked)
    accesses = united([statement.accesses[n].relation for n in numbers])
    accesses = accesses.intersect_domain(statement.domain).intersect_params(loop.scop.context)
    reads, own = isl.UnionMap.from_map(accesses), isl.UnionSet.from_set(accesses.domain())
    writes = loop.scop.accesses(AccessKind.WRITE, arrays=frozenset((group.array,)))
    makers = reads.apply_range(writes.reverse()).intersect(known.flow.intersect_range(own).reverse())
    given = isl.UnionMap.from_map(_cells(accesses, loop, group))  # S[i] -> [t, x]
    made = loop.made[group.array]
    _compare(group, loop, makers, given.apply_range(made))
    constant = given.subtract_range(made.domain()).apply_range(isl.UnionMap.from_map(loop.homes[group.array]))
    _compare(group, loop, reads.intersect(known.uninitialised), constant)


def _cells(accesses: isl.Map, loop: TimeLoop, group: Group) -> isl.Map:
    """Return `{ S[i] -> [t - back, x] }`: the cells that are read, and the iteration that made them."""
    rank = accesses.dim(OUT)
    cells = accesses.reset_tuple_id(OUT).project_out(OUT, 0, rank - loop.dims)
    times = loop.at[group.statement].project_out(OUT, 1, loop.dims)
    return times.apply_range(isl.Map(f"{{ [t] -> [t - ({group.back})] }}")).flat_range_product(cells)


def _check_offset(
    statement: Statement, number: int, offset: Offset, loop: TimeLoop, checked: set[tuple[str, Offset]]
) -> None:
    """Check that the access is of the cell that far from the one that the statement writes.

    Where it is an affine function plus constants, so is each access by the same function whose constants are as far
    from its offset: `checked` has the function, and how far.
    """
    require(len(offset) == loop.dims, f"the offset {list(offset)} of {statement.name} has other dimensions")
    access = statement.accesses[number]
    key = _function_at(access.relation, offset)
    if key in checked:
        return
    relation = access.relation.intersect_domain(statement.domain).intersect_params(loop.scop.context)
    cells = relation.reset_tuple_id(OUT).project_out(OUT, 0, relation.dim(OUT) - loop.dims)
    x = [f"x{k}" for k in range(loop.dims)]
    moved = ", ".join(f"{v} + ({o})" for v, o in zip(x, offset, strict=True))
    away = isl.Map(f"{{ [t, {', '.join(x)}] -> [{moved}] }}")
    one = relation.is_single_valued() and cells.is_equal(loop.at[statement.name].apply_range(away))
    where = f"{statement.name} does not read the cell of {access.array} at {list(offset)} from the one that it writes"
    require(one, where)
    checked.update({key} if key is not None else ())


def _function_at(relation: isl.Map, offset: Offset) -> tuple[str, Offset] | None:
    """Return a relation's affine function without constants, and how far these are from an offset in space."""
    function = taken_apart(relation)
    if function is None or len(function[1]) < len(offset):
        return None
    text, constants = function
    return text, tuple(c - o for c, o in zip(constants[len(constants) - len(offset) :], offset, strict=True))


def _compare(group: Group, loop: TimeLoop, wanted: isl.UnionMap, given: isl.UnionMap) -> None:
    """Check that what the source reads is what the step gives."""
    for pairs in maps(wanted.subtract(given)):
        if not pairs.is_empty():
            which = f"{group.back} iterations before" if group.back else "the same iteration"
            what = f"{group.statement} reads other values of {group.array} than those of {which}"
            require(False, f"{what}, {example(pairs)}")


def versions_read(groups: tuple[Group, ...]) -> Mapping[str, int]:
    """Return, by array, the greatest number of iterations that a value is read after."""
    found: dict[str, int] = {}
    for group in groups:
        found[group.array] = max(found.get(group.array, 0), group.back)
    return found
