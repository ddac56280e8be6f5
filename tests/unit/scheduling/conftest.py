"""Scops from a few lines of C, and what schedules look like on one line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import islpy as isl
import pytest

import polytile
from polytile.frontend.program import read_program
from polytile.ir.isl_util import band_members, mark_name
from polytile.ir.schedule import thread_sizes
from polytile.ir.scop import Scop
from polytile.scheduling.analysis.dependences import Dependences, analyse
from tests.reading import shared

NODE = isl.schedule_node_type


def c_text(arguments: str, body: str, before: str = "") -> str:
    """A C file whose only function runs `body` as a SCoP."""
    return f"void f({arguments})\n{{\n{before}\n#pragma scop\n{body}\n#pragma endscop\n}}\n"


def read(arguments: str, body: str, before: str = "") -> Scop:
    found = read_program("test.c", c_text(arguments, body, before))
    assert not found.refusals, found.refusals[0].error
    return found.scops[0]


def structure(tree: isl.Schedule, *, threads: bool = False) -> str:
    """A mapped or unmapped tree as nested words, e.g. `kernel(block[i,j] thread[8,32] serial[k] S0)`.

    Bands are named after the members' iterators, with a star where a member is coincident and unclaimed by a mark;
    `threads` names what threads share out, too: `thread[8,32](i,j)`.
    """
    return _words(tree.get_root().child(0), threads)


def _words(node: isl.ScheduleNode, threads: bool) -> str:
    kind, name = node.get_type(), mark_name(node)
    if kind == NODE.leaf:
        names = sorted(s.get_tuple_name() for s in _sets(node.get_domain()))
        return "+".join(names)
    if kind in (NODE.sequence, NODE.set):
        parts = [_words(node.child(i).child(0), threads) for i in range(node.n_children())]
        return f"{'seq' if kind == NODE.sequence else 'set'}({', '.join(parts)})"
    if kind == NODE.band:
        return f"serial[{_members(node, stars=True)}] {_words(node.child(0), threads)}"
    if name == "kernel":
        return f"kernel({_words(node.child(0), threads)})"
    if name == "block":
        return f"block[{_members(node.child(0), stars=False)}] {_words(node.child(0).child(0), threads)}"
    if thread_sizes(node):
        shared = f"({_members(node.child(0), stars=False)})" if threads else ""
        return f"{name}{shared} {_words(node.child(0).child(0), threads)}"
    if name is not None:
        return f"{name} {_words(node.child(0), threads)}"
    return _words(node.child(0), threads)


def _members(band: isl.ScheduleNode, *, stars: bool) -> str:
    """The expression of each member on the first statement below, without the tuple."""
    words = []
    for i, member in enumerate(band_members(band)):
        pieces: list[isl.PwAff] = []
        member.foreach_pw_aff(pieces.append)
        first = min(pieces, key=lambda p: p.get_domain_space().get_tuple_name(isl.dim_type.set))
        text = str(first).split("[(")[-1].split(")]")[0].replace("(", "").replace(")", "").replace("floor", "")
        star = "*" if stars and band.band_member_get_coincident(i) else ""
        words.append(text.replace(" ", "") + star)
    return ",".join(words)


def _sets(union: isl.UnionSet) -> list[isl.Set]:
    found: list[isl.Set] = []
    union.foreach_set(found.append)
    return found


@pytest.fixture(scope="session")
def c_file() -> Callable[..., str]:
    return c_text


@pytest.fixture(scope="session")
def scop() -> Callable[..., Scop]:
    return read


@pytest.fixture(scope="session")
def dependences() -> Callable[..., Dependences]:
    """`dependences(arguments, body, before)`: the analysis of such a program."""
    return lambda *parts: analyse(read(*parts))


@pytest.fixture(scope="session")
def compiled() -> Callable[..., Any]:
    """`compiled(arguments, body, before, **settings)`: the SCoP of such a program after the whole pipeline."""
    return shared(lambda *parts, **settings: polytile.compile(c_text(*parts), name="test.c", **settings).scops[0])


@pytest.fixture(scope="session")
def shape() -> Callable[[isl.Schedule], str]:
    return structure


# The order of two instances under a mapped tree, one point at a time ------------------------------------------------
@dataclass(frozen=True)
class Step:
    """One decision on the way down a tree: the value of a band member or the number of a sequence's child."""

    kind: str  # "host", "block" or "inside"
    value: int
    barrier: bool = False  # a barrier separates different values


@dataclass
class Trace:
    """What a mapped tree decides about one instance, and the thread that runs it."""

    steps: list[Step]
    thread: tuple[int, ...]


def trace(tree: isl.Schedule, instance: isl.UnionSet) -> Trace:
    found = Trace([], (0, 0, 0))
    node, kind, role = tree.get_root().child(0), "host", ""
    while node.get_type() != NODE.leaf:
        if node.get_type() == NODE.band:
            values = [_value(m, instance) for m in band_members(node)]
            found.steps += [Step("block" if role == "block" else kind, v, role == "sync") for v in values]
            if role.startswith("thread"):
                sizes = thread_sizes(node.parent()) or ()
                thread = tuple(v % s for v, s in zip(values, sizes, strict=True))
                found.thread = (0, 0, 0)[len(thread) :] + thread
        if node.get_type() in (NODE.sequence, NODE.set):
            children = range(node.n_children())
            i = next(i for i in children if not node.child(i).filter_get_filter().is_disjoint(instance))
            found.steps.append(Step(kind, i, role == "sync"))
            node = node.child(i)
        role = mark_name(node) or ""
        kind = "inside" if role == "kernel" else kind
        node = node.child(0)
    return found


def _value(member: isl.UnionPwAff, instance: isl.UnionSet) -> int:
    values = isl.UnionMap.from_union_pw_aff(member).intersect_domain(instance).range()
    point = isl.Set.from_union_set(values).sample_point()
    return int(point.get_coordinate_val(isl.dim_type.set, 0).to_python())


def runs_before(tree: isl.Schedule, first: isl.UnionSet, then: isl.UnionSet) -> bool:
    """Whether `first` surely ends before `then` starts: by the host's order, in one thread, or by a barrier."""
    a, b = trace(tree, first), trace(tree, then)
    for one, other in zip(a.steps, b.steps, strict=False):
        if one.value != other.value:
            if one.kind == "block":
                return False
            in_order = one.kind == "host" or one.barrier or a.thread == b.thread
            return one.value < other.value and in_order
    return False


@pytest.fixture(scope="session")
def before() -> Callable[[isl.Schedule, isl.UnionSet, isl.UnionSet], bool]:
    return runs_before
