"""Host programs built by hand, small enough to check the text and the results of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import islpy as isl
import pytest

from polytile.codegen.targets.c.host_file import host_file
from polytile.diagnostics import Location
from polytile.ir.expr import (
    BOOL,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    Access,
    Assign,
    Binary,
    Call,
    CType,
    Expr,
    For,
    If,
    Literal,
    Name,
    Stmt,
)
from polytile.ir.gpu_ops import BlockIndex, ThreadIndex
from polytile.ir.host import Buffer, CopiedBack, HostProgram
from polytile.ir.kernel import Barrier, Comment, Coordinate, Kernel, KernelParameter, Launch
from polytile.ir.memory import Space, Storage
from polytile.ir.scop import Array, Origin, Parameter, Scop
from polytile.ir.source_span import Span

ONE = Literal("1")
N, M, T = Name("n"), Name("m"), Name("t")


def lit(value: int) -> Literal:
    return Literal(str(value))


def add(a: Expr, b: Expr, ctype: CType = INT) -> Binary:
    return Binary("+", a, b, ctype)


def sub(a: Expr, b: Expr, ctype: CType = INT) -> Binary:
    return Binary("-", a, b, ctype)


def mul(a: Expr, b: Expr, ctype: CType = INT) -> Binary:
    return Binary("*", a, b, ctype)


def at_most(a: Expr, b: Expr) -> Binary:
    return Binary("<=", a, b)


def blocks(size: Expr, by: int) -> Expr:
    return Call("floord", (add(size, lit(by - 1)), lit(by)), INT)


def buffer(array: Array, *, copy_in: bool = True, copy_out: bool = False) -> Buffer:
    elements: Expr = ONE
    for extent in array.extents:
        assert extent is not None
        elements = extent if elements is ONE else mul(elements, extent)
    return Buffer(array, lit(0), elements, copy_in, copy_out, CopiedBack(lit(0), elements))


def home(array: Array, *, read_only: bool = False) -> Storage:
    return Storage(array.name, Space.GLOBAL, array.element, array.extents, array.name, read_only=read_only)


def pointer(array: Array, *, const: bool = False) -> KernelParameter:
    return KernelParameter(array.name, array.element, array.name, const)


def integers(*names: str) -> tuple[KernelParameter, ...]:
    return tuple(KernelParameter(n, INT) for n in names)


X = Coordinate("bx", BlockIndex("x"))
Y = Coordinate("by", BlockIndex("y"))
TX = Coordinate("tx", ThreadIndex("x"))
TY = Coordinate("ty", ThreadIndex("y"))


def at(array: Array, *subscripts: Expr) -> Access:
    return Access(array.name, subscripts, array.element)


def vector_add() -> HostProgram:
    """z[i] = x[i] + a * y[i]."""
    z, x, y = (Array(name, DOUBLE, (N,), may_alias=True) for name in "zxy")
    a = Array("a", DOUBLE)
    i = Name("i")
    element = add(mul(lit(128), Name("bx")), Name("tx"))
    statement = Assign(at(z, i), "", add(at(x, i), mul(at(a), at(y, i), DOUBLE), DOUBLE), Location("axpy.c", 7, 9))
    kernel = Kernel(
        "kernel_axpy_0",
        (*integers("n"), KernelParameter("a", DOUBLE), pointer(z), pointer(x, const=True), pointer(y, const=True)),
        (128, 1, 1),
        (X, Coordinate("unused", BlockIndex("z")), TX),
        (home(z), home(x, read_only=True), home(y, read_only=True), Storage("a", Space.VALUE, DOUBLE, (), "a")),
        (For("i", element, at_most(i, sub(N, ONE)), 128 * 4096, (statement,)),),
        ("axpy.c:5-8, classic schedule", "i -> blockIdx.x, threadIdx.x"),
    )
    return HostProgram(
        "polytile_axpy",
        (Parameter("n", INT),),
        (z, x, y, a),
        frozenset({"a"}),
        (buffer(z, copy_in=False, copy_out=True), buffer(x), buffer(y)),
        (kernel,),
        (Launch("kernel_axpy_0", (Call("min", (blocks(N, 128), lit(4096)), INT), ONE, ONE)),),
        summary=("axpy.c:5-8: classic schedule, one kernel",),
        location="axpy.c:5",
    )


def jacobi() -> HostProgram:
    """A 2-D five-point stencil with a second grid that only the device sees, and the time loop on the host."""
    grid = Array("A", DOUBLE, (N, M))
    copy = Array("B", DOUBLE, (N, M), Origin.LOCAL)
    i, j = Name("i"), Name("j")
    i0, j0 = add(mul(lit(8), Name("by")), Name("ty")), add(mul(lit(32), Name("bx")), Name("tx"))

    def kernel(name: str, target: Array, source: Array, value: Expr, line: int) -> Kernel:
        body: tuple[Stmt, ...] = (
            If(
                Binary("&&", at_most(i, sub(N, lit(2))), at_most(j, sub(M, lit(2)))),
                (Assign(at(target, i, j), "", value, Location("jacobi.c", line, 5)),),
            ),
        )
        loop = For("j", add(j0, ONE), at_most(j, sub(M, lit(2))), 32 * 1024, body)
        return Kernel(
            name,
            (*integers("n", "m"), pointer(target), pointer(source, const=True)),
            (32, 8, 1),
            (Y, X, TY, TX),
            (home(target), home(source, read_only=True)),
            (For("i", add(i0, ONE), at_most(i, sub(N, lit(2))), 8 * 65535, (loop,)),),
            (f"jacobi.c:{line}",),
        )

    near = (at(grid, i, j), at(grid, i, sub(j, ONE)), at(grid, i, add(j, ONE)), at(grid, add(i, ONE), j))
    total: Expr = at(grid, sub(i, ONE), j)
    for term in near:
        total = add(total, term, DOUBLE)
    first = kernel("jacobi_0", copy, grid, mul(Literal("0.2", DOUBLE), total, DOUBLE), 4)
    second = kernel("jacobi_1", grid, copy, at(copy, i, j), 7)
    size = (blocks(sub(M, lit(2)), 32), blocks(sub(N, lit(2)), 8), ONE)
    launches = (
        Launch("jacobi_0", size),
        Comment("A is read by jacobi_0 and written by jacobi_1"),
        Launch("jacobi_1", size),
    )
    return HostProgram(
        "polytile_jacobi",
        (Parameter("t", INT), Parameter("n", INT), Parameter("m", INT)),
        (grid,),
        frozenset(),
        (buffer(grid, copy_out=True), buffer(copy, copy_in=False)),
        (first, second),
        (For("c0", lit(0), at_most(Name("c0"), sub(T, ONE)), 1, launches),),
        summary=("jacobi.c:2-9: classic schedule, the time loop runs on the host",),
        location="jacobi.c:2",
    )


def reduction(*, extra_shared: int = 0) -> HostProgram:
    """s += x[i] with a shared-memory tree; `extra_shared` doubles more push it beyond static shared memory."""
    s, x = Array("s", DOUBLE), Array("x", DOUBLE, (N,))
    tx, i = Name("tx"), Name("i")
    partial = Array("partial", DOUBLE, (lit(128),), Origin.TEMPORARY)
    private = Array("sum", DOUBLE, (), Origin.TEMPORARY)
    padding = Array("padding", DOUBLE, (lit(extra_shared),), Origin.TEMPORARY)
    storage = [
        home(s),
        home(x, read_only=True),
        Storage("partial", Space.SHARED, DOUBLE, partial.extents, "s_partial"),
        Storage("sum", Space.PRIVATE, DOUBLE, (), "sum", keeps=()),
    ]
    body: list[Stmt] = [
        Assign(at(private, i), "", Literal("0.0", DOUBLE)),
        For("i", tx, at_most(i, sub(N, ONE)), 128, (Assign(at(private, i), "+", at(x, i), Location("sum.c", 3)),)),
        Assign(at(partial, tx), "", at(private, lit(0))),
        Barrier("all of partial[] is written"),
        If(
            Binary("==", tx, lit(0)),
            (
                For(
                    "k",
                    lit(0),
                    at_most(Name("k"), lit(127)),
                    1,
                    (Assign(at(s), "+", at(partial, Name("k")), Location("sum.c", 3)),),
                ),
            ),
        ),
    ]
    if extra_shared:
        storage.append(Storage("padding", Space.SHARED, DOUBLE, padding.extents, "s_padding"))
        body.insert(0, Assign(at(padding, add(tx, lit(extra_shared - 128))), "", Literal("1.0", DOUBLE)))
    name = "dynamic_sum" if extra_shared else "sum"
    parameters = (*integers("n"), pointer(s), pointer(x, const=True))
    kernel = Kernel(f"{name}_0", parameters, (128, 1, 1), (TX,), tuple(storage), tuple(body))
    return HostProgram(
        f"polytile_{name}",
        (Parameter("n", INT),),
        (s, x),
        frozenset(),
        (buffer(s, copy_out=True), buffer(x)),
        (kernel,),
        (Launch(f"{name}_0", (ONE, ONE, ONE)),),
    )


POINT = CType("struct point", "struct", 24)


def structs() -> HostProgram:
    """p[i].new += o.x for an array of structs, an offset struct that is only read, and a field named like a keyword."""
    p = Array("p", POINT, (N,), fields=(("x", DOUBLE), ("new", DOUBLE)))
    o = Array("o", POINT, (), fields=(("x", DOUBLE), ("new", DOUBLE)))
    i = add(mul(lit(64), Name("bx")), Name("tx"))
    update = Assign(Access("p", (i,), DOUBLE, "new"), "+", Access("o", (), DOUBLE, "x"))
    kernel = Kernel(
        "structs_0",
        (*integers("n"), pointer(p), KernelParameter("o", POINT)),
        (64, 1, 1),
        (X, TX),
        (home(p), Storage("o", Space.VALUE, POINT, (), "o")),
        (If(Binary("<", i, N), (update,)),),
    )
    return HostProgram(
        "polytile_structs",
        (Parameter("n", INT),),
        (p, o),
        frozenset({"o"}),
        (buffer(p, copy_out=True),),
        (kernel,),
        (Launch("structs_0", (blocks(N, 64), ONE, ONE)),),
        definitions="struct point { double x; _Bool flag; double new; };",
    )


def float_math() -> HostProgram:
    """y[i] = sqrt(x[i]) + fabsf(x[i]) in float arrays: sqrt is double arithmetic in C."""
    new, x = Array("new", FLOAT, (N,)), Array("x", FLOAT, (N,))
    i = add(mul(lit(32), Name("bx")), Name("tx"))
    root = Call("sqrt", (at(x, i),), DOUBLE)
    value = add(root, Call("fabsf", (at(x, i),), FLOAT), DOUBLE)
    body = (If(Binary("<", i, N), (Assign(at(new, i), "", value, Location("f.c", 3)),)),)
    kernel = Kernel(
        "float_math_0",
        (*integers("n"), pointer(new), pointer(x, const=True)),
        (32, 1, 1),
        (X, TX),
        (home(new), home(x)),
        body,
    )
    return HostProgram(
        "polytile_float_math",
        (Parameter("n", INT),),
        (new, x),
        frozenset(),
        (buffer(new, copy_in=False, copy_out=True), buffer(x)),
        (kernel,),
        (Launch("float_math_0", (blocks(N, 32), ONE, ONE)),),
    )


def boolean() -> HostProgram:
    """Counts in c the i with x[i] > 0 and on: a _Bool by value, and a count in 64 bits."""
    c, x = Array("c", LONG), Array("x", DOUBLE, (N,), may_alias=True)
    on = Array("on", BOOL)
    i = Name("i")
    test = Binary("&&", Binary(">", at(x, i), lit(0)), at(on))
    count = Assign(at(c), "+", ONE, Location("count.c", 4))
    body = (For("i", lit(0), at_most(i, sub(N, ONE)), 1, (If(test, (count,)),)),)
    kernel = Kernel(
        "count_0",
        (*integers("n"), pointer(c), pointer(x, const=True), KernelParameter("on", BOOL)),
        (1, 1, 1),
        (),
        (home(c), home(x), Storage("on", Space.VALUE, BOOL, (), "on")),
        body,
        index_type="long long",
    )
    return HostProgram(
        "polytile_count",
        (Parameter("n", LONG),),
        (c, x, on),
        frozenset({"on"}),
        (buffer(c, copy_out=True), buffer(x)),
        (kernel,),
        (Launch("count_0", (ONE, ONE, ONE)),),
    )


def window() -> HostProgram:
    """x[i] += 1 for n <= i < n + 10: only the part of x that is touched is copied."""
    x = Array("x", DOUBLE, (None,))
    update = Assign(at(x, add(N, Name("tx"))), "+", Literal("1.0", DOUBLE), Location("window.c", 3))
    kernel = Kernel("window_0", (*integers("n"), pointer(x)), (10, 1, 1), (TX,), (home(x),), (update,))
    return HostProgram(
        "polytile_window",
        (Parameter("n", INT),),
        (x,),
        frozenset(),
        (Buffer(x, N, lit(10), True, True, CopiedBack(N, lit(10))),),
        (kernel,),
        (Launch("window_0", (ONE, ONE, ONE)),),
    )


SOURCE = """\
#include <stdio.h>

struct point { double x; _Bool flag; double new; };

static double weight(int k) { return 1.0 / (k + 1); }

static void axpy(int n, double z[n], const double *x, const double *y, double a)
{
    int i;
    if (n > 0) {
#pragma scop
        for (i = 0; i < n; i++)
            z[i] = x[i] + a * y[i];
#pragma endscop
    }
}

static double total(int n, double *x)
{
    double s = 0, w[10];
    #pragma scop
    for (int k = 0; k < 10; k++) w[k] = weight(k);
    for (int i = 0; i < n; i++) s += x[i] * w[0];
    #pragma endscop
    return s;
}

static void shift(int n, struct point *p, struct point o)
{
    for (int i = 0; i < n; i++) p[i].new += o.x;
}

int main(void)
{
    double z[8], x[8] = {1, 2}, y[8] = {3};
    struct point p[2] = {{0, 0, 0}, {0, 0, 0}}, o = {0.5, 0, 0};
    axpy(8, z, x, y, 2.0); shift(2, p, o);
    printf("%g %g line %d\\n", total(8, z), p[1].new, __LINE__); return 0;
}
"""


def scop(text: str, first: str, last: str) -> Scop:
    """A SCoP that takes `text` from the start of `first` to the end of `last`."""
    start = text.index(first)
    end = text.index(last, start) + len(last)
    lines = text.count("\n", 0, start) + 1, text.count("\n", 0, end) + 1
    schedule = isl.Schedule.from_domain(isl.UnionSet("{ }"))
    return Scop("scop", (), isl.Set("{ : }"), (), (), schedule, Span(start, end, *lines))


def replaced(text: str = SOURCE) -> str:
    """The host file of a user's file with three SCoPs."""
    axpy = scop(text, "#pragma scop", "#pragma endscop")
    total = scop(text, "    #pragma scop", "#pragma endscop")
    shift = scop(text, "for (int i = 0; i < n; i++) p[i]", "o.x;")
    chosen = [(shift, structs()), (total, reduction()), (axpy, vector_add())]
    return host_file(text, "folder/user.c", chosen)


@pytest.fixture(scope="session")
def user_source() -> str:
    """A user's program with three SCoPs."""
    return SOURCE


@pytest.fixture(scope="session")
def host_text() -> Callable[[str], str]:
    """Its host file, from its text: line ends may differ."""
    return replaced


@pytest.fixture(scope="session")
def scop_at() -> Callable[[str, str, str], Scop]:
    """A SCoP that is nothing but a place in a text."""
    return scop


def renamed(program: HostProgram, name: str, *, elements: Expr) -> HostProgram:
    """The counting program under another name, with 32-bit indices and other sizes."""
    kernel = replace(program.kernels[0], name=f"{name}_0", index_type="int")
    c, x = program.buffers
    buffers = (c, replace(x, elements=elements))
    launch = Launch(kernel.name, (ONE, ONE, ONE))
    return replace(program, name=f"polytile_{name}", buffers=buffers, kernels=(kernel,), body=(launch,))


PROGRAMS: dict[str, Callable[[], HostProgram]] = {
    "axpy": vector_add,
    "jacobi": jacobi,
    "sum": reduction,
    "dynamic_sum": lambda: reduction(extra_shared=8000),
    "structs": structs,
    "float_math": float_math,
    "count": boolean,
    "window": window,
}


OVERSIZED = {
    "huge": lambda: renamed(boolean(), "huge", elements=mul(mul(N, N), N)),
    "wide": lambda: renamed(boolean(), "wide", elements=ONE),
}


@pytest.fixture(scope="session")
def oversized() -> Mapping[str, Callable[[], HostProgram]]:
    """Programs to be run with sizes that do not fit: `huge` needs n * n * n elements, `wide` one."""
    return OVERSIZED


@pytest.fixture(scope="session")
def programs() -> Mapping[str, Callable[[], HostProgram]]:
    """The host programs above, by name."""
    return PROGRAMS
