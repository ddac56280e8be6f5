"""Loops read off mapped trees: what launches, blocks, threads and serial loops take of each."""

from __future__ import annotations

from collections.abc import Callable

import islpy as isl
import pytest

from polytile.ir.scop import Scop
from polytile.scheduling.cost.mapped_loops import Role, kernels, statements
from polytile.scheduling.cost.statement_cost import Work

BAND = '{pad}schedule: "[n] -> [{members}]"\n{pad}child:\n'
MARK = '{pad}mark: "{mark}"\n{pad}child:\n'


def work(program: Scop, *layers: str, n: int = 1024) -> Work:
    """The one statement of a program below marks and bands, outermost first: a band is its members, by `;`."""
    (statement,) = program.statements
    text = f'domain: "{statement.domain}"\nchild:\n'
    iterators = ", ".join(statement.iterators)
    for depth, layer in enumerate(layers, 1):
        pad = "  " * depth
        if layer == "kernel" or layer == "block" or layer == "sync" or layer.startswith("thread["):
            text += MARK.format(pad=pad, mark=layer)
        else:
            members = ", ".join(f"{{ {statement.name}[{iterators}] -> [{m}] }}" for m in layer.split(";"))
            text += BAND.format(pad=pad, members=members)
    (kernel,) = kernels(isl.Schedule(text + "  " * (len(layers) + 1) + '"leaf"'))
    (mapped,) = statements(kernel)
    return Work(program, mapped, {"n": n})


@pytest.fixture
def plane(scop: Callable[..., Scop]) -> Scop:
    body = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) y[j] += A[i][j];"
    return scop("int n, double A[n][n], double y[n]", body)


def test_tiles_and_points_are_one_loop(plane: Scop) -> None:
    found = work(
        plane, "kernel", "block", "floor(i/8);floor(j/32)", "thread[8,32]", "i - 8*floor(i/8);j - 32*floor(j/32)"
    )
    assert [loop.form for loop in found.mapped.loops] == [(1, 0), (0, 1)]
    assert (found.launches, found.blocks, found.serial) == (1, 128 * 32, 1)
    assert (found.lanes, found.warps) == (32, pytest.approx(1024**2 / 32))


def test_a_serial_loop_inside_threads(plane: Scop) -> None:
    found = work(plane, "kernel", "block", "floor(j/32)", "thread[32]", "j", "i")
    assert (found.blocks, found.serial) == (32, pytest.approx(1024))
    assert found.serial_loops == (1,)
    assert [found.mapped.loops[k].form for k in (0, 1)] == [(0, 1), (1, 0)]


def test_threads_that_share_a_row_out(plane: Scop) -> None:
    """Lanes take every 32nd element of a row."""
    found = work(plane, "kernel", "block", "floor(i/8)", "thread[8,32]", "i;j")
    assert (found.blocks, found.serial) == (128, pytest.approx(32))
    (loop,) = found.serial_loops
    assert found.thread_step(loop) == (0, 32)


def test_chunks_of_a_reduction(plane: Scop) -> None:
    """Column sums in chunks of 64 rows, of which 8 threads take 8 each."""
    found = work(plane, "kernel", "block", "floor(i/64);floor(j/32)", "thread[8,32]", "i;j")
    assert (found.blocks, found.serial) == (16 * 32, pytest.approx(8))


def test_several_points_of_a_thread(plane: Scop) -> None:
    """Four neighbouring columns for each thread: neighbouring lanes are four elements apart."""
    found = work(plane, "kernel", "block", "i", "thread[32]", "floor(j/4)")
    (x,) = found.dimensions
    assert (x.step, x.points) == ((0, 4), pytest.approx(256))
    assert found.serial == pytest.approx(8 * 4)
    assert next(r for r in map(found.request, found.references) if r.access.array == "A").sectors == 32


def test_a_wavefront(plane: Scop) -> None:
    """One launch for each i + j; the step along x keeps the sum."""
    found = work(plane, "i + j", "kernel", "block", "floor(j/32)", "thread[32]", "j")
    host, x = found.mapped.loops
    assert (host.form, host.part(Role.HOST) is not None) == ((1, 1), True)
    assert x.step == (-1, 1)
    assert found.launches == 2047


def test_barriers(plane: Scop) -> None:
    found = work(plane, "kernel", "sync", "i", "thread[32]", "j")
    assert found.barriers() == pytest.approx(1024)
    assert work(plane, "kernel", "block", "i", "thread[32]", "j").barriers() == 0


def test_few_threads(plane: Scop) -> None:
    """A block of which one thread works: one lane of a warp."""
    found = work(plane, "kernel", "i;j")
    assert (found.blocks, found.lanes, found.serial) == (1, 1, pytest.approx(1024**2))
    assert work(plane, "kernel", "block", "i", "thread[8,32]", "j;0").lanes == 1
