"""Scops from a few lines of C, and what schedules look like on one line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import islpy as isl
import pytest

import polytile
from polytile.diagnostics import DeviceError
from polytile.frontend.program import read_program
from polytile.ir.isl_util import band_members, mark_name
from polytile.ir.schedule import thread_sizes
from polytile.ir.scop import Scop
from polytile.runtime.emulator import host_compiler
from polytile.scheduling.dependences import Dependences, analyse

NODE = isl.schedule_node_type


def c_text(arguments: str, body: str, before: str = "") -> str:
    """A C file whose only function runs `body` as a SCoP."""
    return f"void f({arguments})\n{{\n{before}\n#pragma scop\n{body}\n#pragma endscop\n}}\n"


def read(arguments: str, body: str, before: str = "") -> Scop:
    found = read_program("test.c", c_text(arguments, body, before))
    assert not found.refusals, found.refusals[0].error
    return found.scops[0]


def structure(tree: isl.Schedule) -> str:
    """A mapped or unmapped tree as nested words, e.g. `kernel(block[i,j] thread[8,32] serial[k] S0)`.

    Bands are named after the members' iterators, with a star where a member is coincident and unclaimed by a mark.
    """
    return _words(tree.get_root().child(0))


def _words(node: isl.ScheduleNode) -> str:
    kind, name = node.get_type(), mark_name(node)
    if kind == NODE.leaf:
        names = sorted(s.get_tuple_name() for s in _sets(node.get_domain()))
        return "+".join(names)
    if kind in (NODE.sequence, NODE.set):
        parts = [_words(node.child(i).child(0)) for i in range(node.n_children())]
        return f"{'seq' if kind == NODE.sequence else 'set'}({', '.join(parts)})"
    if kind == NODE.band:
        return f"serial[{_members(node, stars=True)}] {_words(node.child(0))}"
    if name == "kernel":
        return f"kernel({_words(node.child(0))})"
    if name == "block":
        return f"block[{_members(node.child(0), stars=False)}] {_words(node.child(0).child(0))}"
    if thread_sizes(node):
        return f"{name} {_words(node.child(0).child(0))}"
    if name is not None:
        return f"{name} {_words(node.child(0))}"
    return _words(node.child(0))


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
    return lambda *parts, **settings: polytile.compile(c_text(*parts), name="test.c", **settings).scops[0]


@pytest.fixture(scope="session")
def shape() -> Callable[[isl.Schedule], str]:
    return structure


@pytest.fixture(scope="session")
def emulator() -> None:
    """Skips a test where no host compiler is installed."""
    try:
        host_compiler()
    except DeviceError as error:
        pytest.skip(f"needs a host compiler: {error.message}")
