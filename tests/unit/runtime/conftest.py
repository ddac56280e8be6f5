"""A SCoP with its kernels, both made by hand: `y[i][j] += a * x[j]`, and sums into `total`."""

from __future__ import annotations

from dataclasses import dataclass, replace

import islpy as isl
import pytest

from polytile.ir.expr import DOUBLE, INT, Access, Assign, Binary, Call, CType, Expr, For, Literal, Name
from polytile.ir.gpu_ops import BlockIndex, ThreadIndex
from polytile.ir.host import Buffer, HostProgram
from polytile.ir.kernel import Coordinate, Kernel, KernelParameter, Launch
from polytile.ir.memory import Space, Storage
from polytile.ir.scop import AccessKind, AccessRelation, Array, Parameter, Scop, Statement

N, M, ROW, J = Name("n"), Name("m"), Name("i"), Name("j")
ONE, ZERO = Literal("1"), Literal("0")

SOURCE = """
void update_scop0_reference(int n, int m, double *y_, const double *x, double a)
{
    double (*y)[m] = (double (*)[m]) y_;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            y[i][j] += a * x[j];
}
"""


@dataclass(frozen=True)
class Sample:
    """A Scop and the host program that a code generator would make of it."""

    scop: Scop
    program: HostProgram

    def mutated(self, value: Expr) -> HostProgram:
        """The program with another right-hand side."""
        kernel = self.program.kernels[0]
        loop = kernel.body[0]
        assert isinstance(loop, For) and isinstance(loop.body[0], For)
        inner = loop.body[0]
        assign = inner.body[0]
        assert isinstance(assign, Assign)
        body = (replace(loop, body=(replace(inner, body=(replace(assign, value=value),)),)),)
        return replace(self.program, kernels=(replace(kernel, body=body),))


def product(ctype: CType) -> Expr:
    return Binary("*", Access("a", (), ctype), Access("x", (J,), ctype), ctype)


def make_scop(ctype: CType, source: str) -> Scop:
    body = (Assign(Access("y", (ROW, J), ctype), "+", product(ctype)),)
    domain = isl.Set("[n, m] -> { S0[i, j] : 0 <= i < n and 0 <= j < m }")
    accesses = tuple(
        AccessRelation(array, kind, isl.Map(f"{{ S0[i, j] -> {target} }}"))
        for array, kind, target in (
            ("y", AccessKind.WRITE, "y[i, j]"),
            ("y", AccessKind.READ, "y[i, j]"),
            ("x", AccessKind.READ, "x[j]"),
            ("a", AccessKind.READ, "a[]"),
        )
    )
    arrays = (Array("y", ctype, (None, M)), Array("x", ctype, (M,)), Array("a", ctype))
    schedule = isl.Schedule.from_domain(isl.UnionSet.from_set(domain)).insert_partial_schedule(
        isl.MultiUnionPwAff("[n, m] -> [{ S0[i, j] -> [(i)] }, { S0[i, j] -> [(j)] }]")
    )
    statement = Statement("S0", ("i", "j"), domain, body, accesses)
    parameters = (Parameter("n", INT), Parameter("m", INT))
    context = isl.Set("[n, m] -> { : n >= 0 and m >= 0 }")
    return Scop("update_scop0", parameters, context, arrays, (statement,), schedule, source=source)


def make_program(scop: Scop) -> HostProgram:
    y, x, _ = scop.arrays
    ctype = y.element
    inner = For("j", Name("tx"), Binary("<", J, M), 32, scop.statements[0].body)
    kernel = Kernel(
        "update_kernel0",
        (
            KernelParameter("n", INT),
            KernelParameter("m", INT),
            KernelParameter("a", ctype),
            KernelParameter("y", ctype, "y"),
            KernelParameter("x", ctype, "x", const=True),
        ),
        (32, 1, 1),
        (Coordinate("bx", BlockIndex("x")), Coordinate("tx", ThreadIndex("x"))),
        (
            Storage("y", Space.GLOBAL, ctype, y.extents, "y"),
            Storage("x", Space.GLOBAL, ctype, x.extents, "x", read_only=True),
            Storage("a", Space.VALUE, ctype, (), "a"),
        ),
        (For("i", Name("bx"), Binary("<", ROW, N), 64, (inner,)),),
    )
    return HostProgram(
        "polytile_update_scop0",
        scop.parameters,
        scop.arrays,
        frozenset({"a"}),
        (Buffer(y, ZERO, Binary("*", N, M), True, True), Buffer(x, ZERO, M, True, False)),
        (kernel,),
        (Launch("update_kernel0", (Call("min", (N, Literal("64")), INT), ONE, ONE)),),
    )


def make_sample(ctype: CType = DOUBLE) -> Sample:
    scop = make_scop(ctype, SOURCE.replace("double", ctype.name))
    return Sample(scop, make_program(scop))


@pytest.fixture
def sample() -> Sample:
    return make_sample()


@pytest.fixture
def sample_of() -> object:
    return make_sample
