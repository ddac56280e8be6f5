"""Whether the loops that isl generates run the instances of their tree, each once and at its time.

tree:   { S[i] : 0 <= i < n }, band [i mod 7]
loops:  for (c = 0; c <= min(n - 1, 6); c += 1) S(c + 7 * b);
check:  S[i] runs where i = c + 7 b, at c = i mod 7: every S[i] of the tree is there, no other, and none twice

The proof of legality is about the tree. isl has left out instances of statements with different strides in one tile, so
what it makes of the tree is looked at as well: at its time, each iterator of the loops has a value that is known, so
that no loop has to be solved for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import islpy as isl

from polytile.codegen.isl_ast import Instance, Marked
from polytile.diagnostics import InternalError
from polytile.ir.expr import Binary, Call, Expr, For, If, Literal, Name, Stmt, Ternary, Unary
from polytile.ir.isl_util import OverBudgetError, band_members, budget, sets

_OPERATORS = {"==": "=", "&&": "and", "||": "or", "%": "mod"}
_WORDS = {"floor", "min", "max", "mod", "and", "or", "not"}
OPERATIONS = 400_000  # of isl; loops that take more are taken as they are


class UnfaithfulLoopsError(InternalError):
    """Loops that do not run what their tree says."""


@dataclass(frozen=True, slots=True)
class _Run:
    """An instance in loops: the conditions on it, as isl writes them, and the loops around it."""

    instance: Instance
    conditions: tuple[str, ...]
    loops: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Leaf:
    """Instances of one statement in a tree, with the members of the bands around them."""

    instances: isl.Set
    times: tuple[isl.UnionPwAff, ...]


def require_faithful(tree: isl.Schedule, context: isl.Set, iterator: str, body: tuple[Stmt, ...]) -> None:
    """Raises UnfaithfulLoopsError where `body`, whose loops are named `iterator`0, `iterator`1, ... by depth, does not
    run all instances of a tree. Instances that an extension adds, those of barriers, are not looked at."""
    try:
        with budget(OPERATIONS):
            _require(tree, context, iterator, body)
    except OverBudgetError:
        return


def _require(tree: isl.Schedule, context: isl.Set, iterator: str, body: tuple[Stmt, ...]) -> None:
    leaves: dict[str, list[_Leaf]] = {}
    for leaf in _leaves(tree.get_root(), isl.UnionSet.empty(context.get_space()), ()):
        leaves.setdefault(leaf.instances.get_tuple_name(), []).append(leaf)
    done = {name: isl.Set.empty(own[0].instances.get_space()) for name, own in leaves.items()}
    for run in _runs(body, (), ()):
        name = run.instance.statement
        if name not in leaves:
            continue
        there = _at_its_time(leaves[name], run.loops, iterator)
        found = _executed(run, leaves[name][0].instances, iterator).intersect_params(context)
        if not found.is_subset(there):
            raise UnfaithfulLoopsError(f"loops run instances of {name} that are not theirs")
        own = _without(found, run.loops)
        if not own.is_disjoint(done[name]):
            raise UnfaithfulLoopsError(f"loops run instances of {name} twice")
        done[name] = done[name].union(own)
    for name, own_leaves in leaves.items():
        if not all(leaf.instances.intersect_params(context).is_subset(done[name]) for leaf in own_leaves):
            raise UnfaithfulLoopsError(f"loops leave out instances of {name}")


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


def _runs(body: Sequence[Stmt], conditions: tuple[str, ...], loops: tuple[str, ...]) -> Iterator[_Run]:
    for stmt in body:
        match stmt:
            case For(iterator=name, lower=lower, step=int(step)):
                bounds = (f"{_text(lower)} <= {name}", _text(stmt.condition))
                strided = (f"({name} - ({_text(lower)})) mod {step} = 0",) if step != 1 else ()
                yield from _runs(stmt.body, (*conditions, *bounds, *strided), (*loops, name))
            case If():
                holds = _text(stmt.condition)
                yield from _runs(stmt.then, (*conditions, holds), loops)
                yield from _runs(stmt.otherwise, (*conditions, f"not ({holds})"), loops)
            case Marked():
                yield from _runs(stmt.body, conditions, loops)
            case Instance():
                yield _Run(stmt, conditions, loops)
            case _:
                raise InternalError(f"unexpected in generated loops: {stmt}")


def _executed(run: _Run, like: isl.Set, iterator: str) -> isl.Set:
    """What is run, over the iterators of the loops as parameters."""
    rank = int(like.dim(isl.dim_type.set))
    names = [f"{iterator}at{k}" for k in range(rank)]
    values = (f"{name} = {_text(value)}" for name, value in zip(names, run.instance.values, strict=True))
    mentioned = _names(run) | set(run.loops)
    conditions = " and ".join((*run.conditions, *values)) or "true"
    text = f"[{', '.join(sorted(mentioned))}] -> {{ {run.instance.statement}[{', '.join(names)}] : {conditions} }}"
    return isl.Set(text).set_tuple_id(like.get_tuple_id())


def _names(run: _Run) -> set[str]:
    words = " ".join((*run.conditions, *map(_text, run.instance.values)))
    return set(re.findall(r"[A-Za-z_]\w*", words)) - _WORDS


def _at_its_time(leaves: Sequence[_Leaf], loops: Sequence[str], iterator: str) -> isl.Set:
    """The instances, each where the loops' iterators are its time."""
    found = isl.Set.empty(leaves[0].instances.get_space())
    for leaf in leaves:
        own = leaf.instances
        for name in loops:
            time = _piece(leaf.times[int(name.removeprefix(iterator))], own)
            own = own.intersect(time.as_map().intersect_range(isl.Set(f"[{name}] -> {{ [{name}] }}")).domain())
        found = found.union(own)
    return found


def _piece(member: isl.UnionPwAff, instances: isl.Set) -> isl.PwAff:
    """The member of a band, for these instances alone."""
    found: list[isl.PwAff] = []
    member.intersect_domain(isl.UnionSet.from_set(instances)).foreach_pw_aff(found.append)
    (piece,) = found
    return piece


def _without(found: isl.Set, loops: Sequence[str]) -> isl.Set:
    """The instances alone: the loops' iterators have one value for each."""
    for name in loops:
        found = found.project_out(isl.dim_type.param, found.find_dim_by_name(isl.dim_type.param, name), 1)
    return found


def _text(expr: Expr) -> str:
    """An expression as isl reads it. isl divides exactly or non-negative numbers, so that quotients are floors."""
    match expr:
        case Literal(text=text):
            return text
        case Name(name=name):
            return name
        case Unary(op="-", operand=operand):
            return f"(-{_text(operand)})"
        case Binary(op="/", left=left, right=right) | Call(function="floord", arguments=(left, right)):
            return f"floor(({_text(left)})/{_text(right)})"
        case Binary(op=op, left=left, right=right):
            return f"({_text(left)} {_OPERATORS.get(op, op)} {_text(right)})"
        case Call(function="min" | "max" as function, arguments=(left, right)):
            return f"{function}({_text(left)}, {_text(right)})"
        case Ternary(condition=condition, then=then, otherwise=otherwise):
            return f"({_text(condition)} ? {_text(then)} : {_text(otherwise)})"
    raise InternalError(f"unexpected in generated loops: {expr}")
