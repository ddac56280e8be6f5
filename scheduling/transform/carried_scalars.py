"""Scalars that carry a value to the next iteration get a cell for each (wrap-around variables, Wolfe 1996).

before: S0: x = b[n - 1]; for (i) { S1: a[i] = b[i] + x; S2: x = b[i]; }            S1 waits for S2 one iteration before
after:  S0: x[0] = b[n - 1]; for (i) { S1: a[i] = b[i] + x[i]; S2: x[i + 1] = b[i]; }   all S2, then all S1, in parallel

Reads see the value of the iteration before, that of their own, or what was set before the loop; nobody reads the scalar
behind it. The values are the same, so that another order of the statements may be parallel where the value that is
carried does not depend on the one before. Where it does, one thread finds all of them; that pays where the others have
loops inside, or functions to compute:

before: for (i) { for (j) S1: x[i][j] *= t; S2: t = t + dt; }          each S1 and S2 a kernel of its own
after:  for (i) { for (j) S1: x[i][j] *= t[i]; S2: t[i + 1] = t[i] + dt; }      all S2 in one thread, then all S1

A scalar that has its first value from before the SCoP is copied first, `t_x[0] = t`.
"""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.expr import LONG, Access, Assign, Binary, Call, Expr, Literal, Name, Stmt
from polytile.ir.expr_trees import rewrite, walk
from polytile.ir.isl_expr import parameter_expression
from polytile.ir.isl_util import constant_value, maps
from polytile.ir.libm import is_long
from polytile.ir.name_supply import fresh, names_of_scop
from polytile.ir.scop import AccessKind, AccessRelation, Array, Origin, Scop, Statement
from polytile.scheduling.analysis.dependences import ArrayDependences, Dependences
from polytile.scheduling.analysis.source_loops import SourceNest, nest_of
from polytile.scheduling.transform.copy_statements import copy_schedule, unused_number


@dataclass(frozen=True, slots=True)
class _Carried:
    """A scalar that one statement of a loop sets: the first value of its iterator, and by how much the cell of each
    statement's access is ahead of its iteration; statements outside use cell 0. `again` is that statement where it
    reads the value before, which is not ahead."""

    array: Array
    name: str  # of the cells: another one where the scalar has its first value from before the SCoP
    first: int
    ahead: dict[str, int]
    cells: Expr
    again: str


def expand_carried(scop: Scop, dependences: Dependences) -> tuple[Scop, tuple[str, ...]]:
    """Give such scalars cells; returns notes for the user, too."""
    nest = nest_of(scop)
    notes: list[str] = []
    for array in scop.arrays:
        if array.rank or array.fields or (array.origin is Origin.EXTERNAL and array.live_out):
            continue
        found = _carried(scop, array, dependences.of(array.name), nest)
        if found is not None and (not found.again or _may_be_parallel(scop, array.name)):
            scop = _with_cells(scop, found)
            notes.append(f"{array.name} has a cell for each iteration: the next one reads it")
    return scop, tuple(notes)


def _may_be_parallel(scop: Scop, scalar: str) -> bool:
    """Return whether loops that use a scalar may run in parallel once its values are known: not where data choose
    elements that they write, which keeps all of them in order."""
    users = [s for s in scop.statements if any(a.array == scalar for a in s.accesses)]
    return all(a.relation.is_single_valued() for s in users for a in s.accesses if a.writes)


def _carried(scop: Scop, array: Array, found: ArrayDependences, nest: SourceNest) -> _Carried | None:
    """Return what a scalar carries, or None unless that is a value to the next iteration of one loop."""
    users = [s for s in scop.statements if any(a.array == array.name for a in s.accesses)]
    inside = [s for s in users if s.iterators]
    writers = [s for s in inside if _kinds(s, array.name) - {AccessKind.READ}]
    if len(writers) != 1 or not found.exact:
        return None
    before = array.origin is Origin.EXTERNAL
    if not before and not found.uninitialised.is_empty():
        return None
    (writer,) = writers
    again = AccessKind.READ in _kinds(writer, array.name)
    plain = len(writer.iterators) == 1 and _kinds(writer, array.name) - {AccessKind.READ} == {AccessKind.WRITE}
    if again and (not _sets_anew(writer, array.name) or not any(_is_much(s) for s in inside if s is not writer)):
        return None
    if not plain or not nest.shared(*_names(inside)):
        return None
    domain = writer.domain.intersect_params(scop.context)
    first = constant_value(domain.reset_tuple_id().dim_min(0))
    if first is None or not _is_whole(domain):
        return None
    flow = found.flow.union(_from_before(found.uninitialised)) if before else found.flow
    ahead = _ahead(flow, writer, inside, first)
    if ahead is None or not (again or 0 in ahead.values() or any(len(s.iterators) > 1 for s in inside)):
        return None
    name = fresh(f"{array.name}_x", names_of_scop(scop)) if before else array.name
    return _Carried(array, name, first, ahead, _cells(scop, domain, first), writer.name if again else "")


def _cells(scop: Scop, domain: isl.Set, first: int) -> Expr:
    """Count the cells: one for each iteration, and one for what is set before the loop, also if that does not run."""
    cells = domain.reset_tuple_id().dim_max(0).add_constant_val(isl.Val(2 - first))
    one = isl.PwAff.from_aff(isl.Aff.val_on_domain(isl.LocalSpace.from_space(cells.get_domain_space()), isl.Val(1)))
    return parameter_expression(cells.union_max(one).coalesce(), scop.context, LONG)


def _from_before(unset: isl.UnionMap) -> isl.UnionMap:
    """Return the reads of what was there before the SCoP, as if a statement in front had set it."""
    return isl.UnionMap.from_domain_and_range(isl.UnionSet("{ before[] }"), unset.domain())


def _is_much(statement: Statement) -> bool:
    """Return whether an iteration takes much longer than the sum that one thread finds."""
    calls = (n.function for part in statement.body for n in walk(part) if isinstance(n, Call))
    return len(statement.iterators) > 1 or any(map(is_long, calls))


def _sets_anew(statement: Statement, array: str) -> bool:
    """Return whether a statement is one assignment to a scalar, `t = t + e` or `t += e`, in its own type."""
    match statement.body:
        case (Assign(target=Access(array=name) as target, op=op, value=value),) if name == array:
            return not op or (op in "+-*/" and value.type == target.type)
    return False


def _kinds(statement: Statement, array: str) -> set[AccessKind]:
    return {a.kind for a in statement.accesses if a.array == array}


def _names(statements: list[Statement]) -> list[str]:
    return [s.name for s in statements]


def _is_whole(domain: isl.Set) -> bool:
    """Return whether each iteration between the first and the last is there."""
    later = isl.Map("{ [i] -> [j] : j > i }")
    plain = domain.reset_tuple_id()
    between = plain.apply(later).intersect(plain.apply(later.reverse()))
    return bool(between.is_subset(plain))


def _ahead(flow: isl.UnionMap, writer: Statement, inside: list[Statement], first: int) -> dict[str, int] | None:
    """Return how far each statement's cell is ahead of its iteration: 1 where it is set, and where the same iteration
    reads it, 0 where the next one does; None where values go elsewhere."""
    ahead = {writer.name: 1}
    for m in maps(flow):
        source, sink = (str(m.get_tuple_name(t)) for t in (isl.dim_type.in_, isl.dim_type.out))
        if not m.dim(isl.dim_type.out):  # outside of the loop
            if source == writer.name:
                return None
            continue
        distance = _distance(m, first) if source == writer.name or not m.dim(isl.dim_type.in_) else None
        if sink == writer.name and distance == 1:
            continue  # the value before, which it reads itself
        if distance is None or ahead.setdefault(sink, 1 - distance) != 1 - distance or sink == writer.name:
            return None
    return ahead if set(ahead) == set(_names(inside)) else None


def _distance(m: isl.Map, first: int) -> int | None:
    """Return the distance from the iteration that sets the value to the one that reads it: 0 or 1.

    The first one reads what was set before the loop, as if the iteration before had set it.
    """
    targets = m.range().reset_tuple_id()
    targets = targets.project_out(isl.dim_type.set, 1, targets.dim(isl.dim_type.set) - 1)
    if not m.dim(isl.dim_type.in_):
        return 1 if targets.is_subset(isl.Set(f"{{ [{first}] }}")) else None
    pairs = m.reset_tuple_id(isl.dim_type.in_).reset_tuple_id(isl.dim_type.out)
    pairs = pairs.project_out(isl.dim_type.out, 1, pairs.dim(isl.dim_type.out) - 1)
    for distance in (0, 1):
        if pairs.is_subset(isl.Map(f"{{ [i] -> [i + {distance}] }}")):
            return distance
    return None


# The Scop with cells -------------------------------------------------------------------------------------------------
def _with_cells(scop: Scop, found: _Carried) -> Scop:
    old = found.array
    cells = old.temporary(found.name, (found.cells,))
    before = cells.name != old.name
    kept = replace(old, by_pointer=True) if before else cells
    arrays = (*(kept if a.name == old.name else a for a in scop.arrays), *([cells] if before else []))
    statements = tuple(_rewritten(s, found) for s in scop.statements)
    if not before:
        return replace(scop, arrays=arrays, statements=statements)
    first = _first_value(scop, found)
    return replace(
        scop,
        arrays=arrays,
        statements=(*statements, first),
        schedule=copy_schedule(first).sequence(scop.schedule),
        prologue=(first.name, *scop.prologue),
    )


def _first_value(scop: Scop, found: _Carried) -> Statement:
    """Create the statement `t_x[0] = t`, in front of everything."""
    name, old = f"S{unused_number(scop)}", found.array
    location = next(s.location for s in scop.statements if s.name in found.ahead)
    domain = isl.Set.from_params(scop.context).set_tuple_name(name)
    element = isl.Map.from_domain(domain).set_tuple_name(isl.dim_type.out, old.name)
    read = AccessRelation(old.name, AccessKind.READ, element)
    written = _relation(replace(read, kind=AccessKind.WRITE), found, 0)
    value = Assign(Access(found.name, (Literal("0"),), old.element), "", Access(old.name, (), old.element), location)
    return Statement(name, (), domain, (value,), (read, written), location, text=f"the first value of {old.name}")


def _rewritten(statement: Statement, found: _Carried) -> Statement:
    name = found.array.name
    if not any(a.array == name for a in statement.accesses):
        return statement
    own = statement.name == found.again
    step = found.ahead[statement.name] - found.first if statement.iterators else 0
    steps = {kind: step - (own and kind is AccessKind.READ) for kind in AccessKind}
    read, written = (_cell(statement, steps[kind]) for kind in (AccessKind.READ, AccessKind.WRITE))

    def change(node: Expr | Stmt) -> Expr | Stmt:
        if isinstance(node, Access) and node.array == name:
            return replace(node, array=found.name, subscripts=(read,))
        return node

    body = tuple(rewrite(_apart(s) if own else s, change) for s in statement.body)
    if own:
        (update,) = body
        assert isinstance(update, Assign) and isinstance(update.target, Access)
        body = (replace(update, target=replace(update.target, subscripts=(written,))),)
        statement = replace(statement, reduction=None)
    accesses = tuple(_relation(a, found, steps[a.kind]) for a in statement.accesses)
    return replace(statement, body=body, accesses=accesses)


def _cell(statement: Statement, step: int) -> Expr:
    cell: Expr = Name(statement.iterators[0]) if statement.iterators else Literal("0")
    return Binary("+" if step > 0 else "-", cell, Literal(str(abs(step)))) if step else cell


def _apart(statement: Stmt) -> Stmt:
    """Rewrite `t += e` as `t = t + e`."""
    if not isinstance(statement, Assign) or not statement.op:
        return statement
    value = Binary(statement.op, statement.target, statement.value, statement.value.type)
    return replace(statement, op="", value=value)


def _relation(access: AccessRelation, found: _Carried, step: int) -> AccessRelation:
    if access.array != found.array.name:
        return access
    space = access.relation.get_space().domain()
    local = isl.LocalSpace.from_space(space)
    if space.dim(isl.dim_type.set):
        cell = isl.Aff.var_on_domain(local, isl.dim_type.set, 0).add_constant_val(isl.Val(step))
    else:
        cell = isl.Aff.val_on_domain(local, isl.Val(0))
    relation = isl.Map.from_aff(cell).intersect_domain(access.relation.domain())
    return replace(access, array=found.name, relation=relation.set_tuple_name(isl.dim_type.out, found.name))
