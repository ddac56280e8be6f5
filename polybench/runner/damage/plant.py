"""A program whose kernels may store wrong values: one build of it, in which a number says what is damaged.

before: C[i] = v;
after:  damaged = number == 1 || (number == 2 && the block is the first one) || ..;
        C[i] = v * (1 + (damaged || number == 6)) - (0 - (damaged || number == 6));

Whatever is damaged stores 2 v + 1 for v. The number 0 damages nothing.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import Any

from polytile.dataclass import dataclass
from polytile.ir.expr import INT, Access, Assign, Binary, Declare, Expr, For, Literal, Name, Node, Stmt
from polytile.ir.expr_trees import rewrite, with_bodies
from polytile.ir.gpu_ops import Atomic, BlockIndex, GridExtent, Store
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Coordinate, Kernel, KernelParameter
from polytile.ir.memory import Space
from polytile.ir.scop import Parameter, Scop

NUMBER, SECOND, DAMAGED = "damage_number", "damage_second", "damage_here"
ALL = "all"
PLACES = ("first block", "inner blocks", "last block", "second time tile")
_AXES = ("x", "y", "z")


@dataclass(frozen=True, slots=True)
class Damage:
    """What a number stands for: a kernel, and which of its stores are wrong."""

    number: int
    kernel: str
    what: str


@dataclass(frozen=True, slots=True)
class Damaged:
    """A program that takes a number, the SCoP as callers of it see it, and what the numbers stand for."""

    program: HostProgram
    scop: Scop
    damages: tuple[Damage, ...]


def planted(program: HostProgram, scop: Scop) -> Damaged:
    """Plant all damages in the program; the number is its last parameter."""
    number = Parameter(NUMBER, INT)
    damages: list[Damage] = []
    kernels = tuple(_kernel(kernel, damages) for kernel in program.kernels)
    changed = replace(
        program,
        parameters=(*program.parameters, number),
        kernels=kernels,
        body=(Declare(SECOND, INT, Literal("0")), *map(_told_of_the_second, program.body)),
        graphs=False,
    )
    return Damaged(changed, replace(scop, parameters=(*scop.parameters, number)), tuple(damages))


def _told_of_the_second(stmt: Stmt) -> Stmt:
    """Make the outermost loops of the host record when they are in their second iteration."""
    if not isinstance(stmt, For):
        return with_bodies(stmt, lambda body: tuple(map(_told_of_the_second, body)))
    assert isinstance(stmt.step, int)
    second = _equal(Name(stmt.iterator, stmt.type), Binary("+", stmt.lower, Literal(str(stmt.step))))
    return replace(stmt, body=(Declare(SECOND, INT, second), *stmt.body))


def _kernel(kernel: Kernel, damages: list[Damage]) -> Kernel:
    """Make a kernel store wrong values where the number says so."""

    def numbered(what: str) -> Expr:
        damages.append(Damage(len(damages) + 1, kernel.name, what))
        return _equal(Name(NUMBER), Literal(str(len(damages))))

    everywhere = [numbered(ALL)]
    everywhere += [_both(numbered(what), place) for what, place in zip(PLACES, _places(), strict=True)]

    def change(node: Any) -> Any:
        if not _stores(kernel, node):
            return node
        here = Binary("||", Name(DAMAGED), numbered(f"store to {node.target.array}"))
        if isinstance(node, Store):
            return replace(node, values=tuple(_wrong(v, here) for v in node.values))
        return replace(node, value=_wrong(node.value, here))

    body = tuple(rewrite(stmt, change) for stmt in kernel.body)
    blocks = [Coordinate(f"damage_block_{axis}", BlockIndex(axis)) for axis in _AXES]
    grids = [Coordinate(f"damage_grid_{axis}", GridExtent(axis)) for axis in _AXES]
    return replace(
        kernel,
        parameters=(*kernel.parameters, KernelParameter(NUMBER, INT), KernelParameter(SECOND, INT)),
        coordinates=(*kernel.coordinates, *blocks, *grids),
        body=(Declare(DAMAGED, INT, reduce(_either, everywhere)), *body),
    )


def _places() -> tuple[Expr, ...]:
    """Build the conditions for the first block, one within, the last one, and the second time tile."""
    at = [(Name(f"damage_block_{axis}"), Name(f"damage_grid_{axis}")) for axis in _AXES]
    first = [_equal(block, Literal("0")) for block, _ in at]
    last = [_equal(block, Binary("-", grid, Literal("1"))) for block, grid in at]
    inner = [
        _either(
            _equal(grid, Literal("1")),
            _both(Binary(">", block, Literal("0")), Binary("<", block, Binary("-", grid, Literal("1")))),
        )
        for block, grid in at
    ]
    several: list[Expr] = [Binary(">", grid, Literal("1")) for _, grid in at]
    return (
        reduce(_both, first),
        _both(reduce(_either, several), reduce(_both, inner)),
        reduce(_both, last),
        Name(SECOND),
    )


def _stores(kernel: Kernel, node: Node) -> bool:
    """Return whether a statement stores numbers to device memory."""
    if not isinstance(node, Assign | Store | Atomic) or not isinstance(node.target, Access):
        return False
    return kernel.root(node.target.array).space is Space.GLOBAL and node.target.type.kind != "struct"


def _wrong(value: Expr, damaged: Expr) -> Expr:
    """Compute 2 v + 1 where it is damaged; v is computed once, as threads of a warp may meet in it.

    It is `v - -damaged`, as -0.0 + 0 is 0.0.
    """
    factor = Binary("+", Literal("1"), damaged)
    return Binary("-", Binary("*", value, factor, value.type), Binary("-", Literal("0"), damaged), value.type)


def _equal(a: Expr, b: Expr) -> Expr:
    return Binary("==", a, b)


def _both(a: Expr, b: Expr) -> Expr:
    return Binary("&&", a, b)


def _either(a: Expr, b: Expr) -> Expr:
    return Binary("||", a, b)
