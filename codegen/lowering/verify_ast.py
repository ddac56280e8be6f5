"""Whether the loops that isl generates run the instances of their tree: all of them, and no other.

tree:   { S[i] : 0 <= i < n }, band [i mod 7]
loops:  for (c = 0; c <= min(n - 1, 6); c += 1) S(c + 7 * b);
check:  S[i] runs where i = c + 7 b, at c = i mod 7: every S[i] of the tree is there, no other, and none twice

The proof of legality is about the tree. isl has left out instances of statements with different strides in one tile, so
what it makes of the tree is looked at as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import islpy as isl

from polytile.codegen.lowering.isl_ast import Instance, Marked
from polytile.dataclass import dataclass
from polytile.diagnostics import InternalError
from polytile.ir.expr import Binary, Call, Expr, For, If, Literal, Name, Stmt, Ternary, Unary
from polytile.ir.isl_util import OverBudgetError, band_members, budget, sets

_VALUES = {
    "+": isl.PwAff.add,
    "-": isl.PwAff.sub,
    "*": isl.PwAff.mul,
    "min": isl.PwAff.min,
    "max": isl.PwAff.max,
}
_CONDITIONS = {
    "<=": isl.PwAff.le_set,
    "<": isl.PwAff.lt_set,
    ">=": isl.PwAff.ge_set,
    ">": isl.PwAff.gt_set,
    "==": isl.PwAff.eq_set,
}
OPERATIONS = 400_000  # of isl; loops that take more are taken as they are


class UnfaithfulLoopsError(InternalError):
    """Loops that do not run what their tree says."""


@dataclass(frozen=True, slots=True)
class _Run:
    """An instance in loops: where it runs, over the parameters and the loops around it, which are parameters here."""

    instance: Instance
    where: isl.Set
    loops: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Leaf:
    """Instances of one statement in a tree, with the members of the bands around them."""

    instances: isl.Set
    times: tuple[isl.UnionPwAff, ...]


def require_faithful(
    tree: isl.Schedule, context: isl.Set, iterator: str, body: tuple[Stmt, ...], left_out: int = 0
) -> None:
    """Raise UnfaithfulLoopsError where `body` does not run all instances of a tree.

    Its loops are named `iterator`0, `iterator`1, ... by depth, below so many members that were `left_out` of the tree.
    Instances that an extension adds, those of barriers, are not looked at.
    """
    try:
        with budget(OPERATIONS):
            _require(tree, context, iterator, body, left_out)
    except OverBudgetError:
        return


def _require(tree: isl.Schedule, context: isl.Set, iterator: str, body: tuple[Stmt, ...], left_out: int) -> None:
    leaves: dict[str, list[_Leaf]] = {}
    for leaf in _leaves(tree.get_root(), isl.UnionSet.empty(context.get_space()), ()):
        leaves.setdefault(leaf.instances.get_tuple_name(), []).append(leaf)
    runs: dict[str, list[_Run]] = {name: [] for name in leaves}
    for run in _runs(body, isl.Set("{ [] }"), ()):
        if run.instance.statement in leaves:
            runs[run.instance.statement].append(run)
    for name, own in leaves.items():
        expected = isl.Set.empty(own[0].instances.get_space())
        for leaf in own:
            expected = expected.union(leaf.instances.intersect_params(context))
        found = [_executed(run, expected).intersect_params(context) for run in runs[name]]
        done = [_without(one, run.loops) for one, run in zip(found, runs[name], strict=True)]
        times = (_at_its_time(own, run.loops, iterator, left_out) for run in runs[name])
        # isl moves statements of different strides that share a loop: what runs is found without their times then.
        moved = not all(one.is_subset(there) for one, there in zip(found, times, strict=True))
        _require_all(name, expected, done, moved=moved)


def _require_all(name: str, expected: isl.Set, done: Sequence[isl.Set], *, moved: bool) -> None:
    """Raise UnfaithfulLoopsError unless the instances are those that run."""
    total = isl.Set.empty(expected.get_space())
    for own in done:
        if not moved and not own.is_disjoint(total):
            raise UnfaithfulLoopsError(f"loops run instances of {name} twice")
        total = total.union(own)
    if not expected.is_subset(total):
        raise UnfaithfulLoopsError(f"loops leave out instances of {name}")
    if moved and not total.is_subset(expected):
        raise UnfaithfulLoopsError(f"loops run instances of {name} that are not there")


def _leaves(node: isl.ScheduleNode, instances: isl.UnionSet, times: tuple[isl.UnionPwAff, ...]) -> Iterator[_Leaf]:
    kind, types = node.get_type(), isl.schedule_node_type
    if kind == types.leaf:
        yield from (_Leaf(one, times) for one in sets(instances) if not one.is_empty())
        return
    if kind == types.domain:
        instances = node.domain_get_domain()
    elif kind == types.filter:
        instances = instances.intersect(node.filter_get_filter())
    elif kind == types.band:
        times = (*times, *band_members(node))
    for i in range(node.n_children()):
        yield from _leaves(node.child(i), instances, times)


def _runs(body: Sequence[Stmt], where: isl.Set, loops: tuple[str, ...]) -> Iterator[_Run]:
    for stmt in body:
        match stmt:
            case For(iterator=name, lower=lower, step=int(step)):
                first, own = _value(lower), _value(Name(name, stmt.type))
                bounds = own.ge_set(first).intersect(_holds(stmt.condition))
                strided = own.sub(first).mod_val(isl.Val(step)).zero_set()
                yield from _runs(stmt.body, where.intersect(bounds).intersect(strided), (*loops, name))
            case If():
                holds = _holds(stmt.condition)
                yield from _runs(stmt.then, where.intersect(holds), loops)
                if stmt.otherwise:
                    yield from _runs(stmt.otherwise, where.subtract(holds), loops)
            case Marked():
                yield from _runs(stmt.body, where, loops)
            case Instance():
                yield _Run(stmt, where, loops)
            case _:
                raise InternalError(f"unexpected in generated loops: {stmt}")


def _executed(run: _Run, like: isl.Set) -> isl.Set:
    """Return the instances that are run, over the iterators of the loops as parameters."""
    found = isl.Map("{ [] -> [] }").intersect_domain(run.where)
    for value in run.instance.values:
        found = found.flat_range_product(_value(value).as_map())
    return found.range().set_tuple_id(like.get_tuple_id())


def _at_its_time(leaves: Sequence[_Leaf], loops: Sequence[str], iterator: str, left_out: int) -> isl.Set:
    """Return the instances, each where the loops' iterators are its time.

    Some of a statement may be below fewer bands than others: those are in no loop of a band that they do not have.
    """
    found = isl.Set.empty(leaves[0].instances.get_space())
    depths = {name: int(name.removeprefix(iterator)) - left_out for name in loops}
    for leaf in (one for one in leaves if all(depth < len(one.times) for depth in depths.values())):
        own = leaf.instances
        for name, depth in depths.items():
            if own.is_empty():
                break
            time = _piece(leaf.times[depth], own)
            own = own.intersect(time.as_map().intersect_range(isl.Set(f"[{name}] -> {{ [{name}] }}")).domain())
        found = found.union(own)
    return found


def _piece(member: isl.UnionPwAff, instances: isl.Set) -> isl.PwAff:
    """Return the member of a band, for these instances alone."""
    found: list[isl.PwAff] = []
    member.intersect_domain(isl.UnionSet.from_set(instances)).foreach_pw_aff(found.append)
    (piece,) = found
    return piece


def _without(found: isl.Set, loops: Sequence[str]) -> isl.Set:
    """Project the loops' iterators out of instances: they have one value for each."""
    for name in loops:
        found = found.project_out(isl.dim_type.param, found.find_dim_by_name(isl.dim_type.param, name), 1)
    return found


def _value(expr: Expr) -> isl.PwAff:
    """Convert an expression to `[n, c] -> { [] -> [expr] }`.

    isl divides exactly, or what is not negative, so that quotients are floors.
    """
    match expr:
        case Literal(text=text):
            return _read(f"{{ [] -> [{text}] }}")
        case Name(name=name):
            return _read(f"[{name}] -> {{ [] -> [{name}] }}")
        case Unary(op="-", operand=operand):
            return _value(operand).neg()
        case Binary(op="/", left=left, right=right) | Call(function="floord", arguments=(left, right)):
            return _value(left).div(_value(right)).floor()
        case Binary(op="%", left=left, right=right):
            value, by = _value(left), _value(right)
            return value.sub(value.div(by).floor().mul(by))
        case Ternary(condition=condition, then=then, otherwise=otherwise):
            holds = _holds(condition)
            return _value(then).intersect_domain(holds).union_add(_value(otherwise).subtract_domain(holds))
        case Binary(op=op, left=left, right=right) if op in _VALUES:
            return _VALUES[op](_value(left), _value(right))
        case Call(function=name, arguments=(left, right)) if name in _VALUES:
            return _VALUES[name](_value(left), _value(right))
    raise InternalError(f"unexpected in generated loops: {expr}")


@lru_cache(maxsize=256)
def _read(text: str) -> isl.PwAff:
    """Read a function, from a cache: isl takes as long to read a name as to compute with it, and loops have few."""
    return isl.PwAff(text)


def _holds(expr: Expr) -> isl.Set:
    """Return the set where a condition holds."""
    match expr:
        case Binary(op="&&", left=left, right=right):
            return _holds(left).intersect(_holds(right))
        case Binary(op="||", left=left, right=right):
            return _holds(left).union(_holds(right))
        case Binary(op=op, left=left, right=right) if op in _CONDITIONS:
            return _CONDITIONS[op](_value(left), _value(right))
    return _value(expr).non_zero_set()
