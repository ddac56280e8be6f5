"""The text of kernels: golden CUDA and HIP, what nvcc says to it, and single nodes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from polytile.cli.dump import kernel_lines
from polytile.codegen.targets.cuda.cuda import print_kernel, print_kernels
from polytile.codegen.targets.cuda.device_functions import require_machine
from polytile.codegen.targets.dialects import HIP
from polytile.diagnostics import InternalError, Location, UsageError
from polytile.ir.arith import add, compare, lift, sub
from polytile.ir.expr import CHAR, DOUBLE, FLOAT, INT, Access, Assign, Expr, For, Literal, Name, Node, Stmt
from polytile.ir.expr_trees import children, rewrite
from polytile.ir.gpu_ops import (
    Atomic,
    BlockIndex,
    GridExtent,
    Load,
    MultiplyAccumulate,
    Pointer,
    PrivateArray,
    Shuffle,
    Store,
    ThreadIndex,
    WarpReduce,
)
from polytile.ir.kernel import Coordinate, Kernel, KernelParameter
from polytile.ir.memory import Space, Storage
from polytile.machine import machine_of

from .build import ROUND, SUM, M, T, copies, everything, kernel, loop, names, portable, program, ref, row, tensor

Golden = Callable[[str, str], None]


def body_text(*stmts: Stmt, **shape: object) -> str:
    return print_kernel(kernel(*names(), *stmts, **shape))  # type: ignore[arg-type]


def test_cuda(golden: Golden) -> None:
    golden("codegen/everything.cu", print_kernels(program(everything())))


def test_kernels_name_no_type_that_a_header_declares() -> None:
    """NVRTC compiles kernels without the headers of C."""
    text = print_kernels(program(everything()))
    assert set(re.findall(r"\b[a-z]\w*_t\b", text)) <= {"size_t"}


def test_hip(golden: Golden) -> None:
    golden("codegen/portable.hip.cpp", print_kernels(program(portable()), HIP))


def test_dumps_are_in_the_spelling_of_c(golden: Golden) -> None:
    lines = list(kernel_lines(everything()))
    golden("codegen/everything.dump.txt", "\n".join(lines) + "\n")
    classes = "|".join(kind.__name__ for kind in (*_subclasses(Stmt), *_subclasses(Expr)))
    assert not [line for line in lines if re.search(rf"\b({classes})\b|\w=\S", line)]


def _subclasses(kind: type) -> set[type]:
    return {kind}.union(*(_subclasses(k) for k in kind.__subclasses__()))


def test_every_node_has_text_and_is_in_the_golden_kernel() -> None:
    import polytile.ir.gpu_ops as device
    from polytile.ir.expr import Expr

    nodes = {
        name
        for name, c in vars(device).items()
        if isinstance(c, type) and issubclass(c, Stmt | Expr) and c.__module__ == device.__name__
    }
    used: set[str] = set()
    stack: list[object] = [*everything().body, *(c.source for c in everything().coordinates)]
    while stack:
        node = stack.pop()
        used.add(type(node).__name__)
        stack += children(node)  # type: ignore[arg-type]
    # Kernels that wait for launches have a test of their own, as grids have.
    assert nodes - used == {"AwaitLaunches", "BuiltIn", "GridExtent"}


def test_places_in_the_grid() -> None:
    body = (Assign(ref("C", ThreadIndex("z")), "", Name("i")),)
    built = kernel(For("i", BlockIndex("y"), compare("<", Name("i"), Name("n")), GridExtent("y"), body))
    last = sub(sub(GridExtent("x"), 1), BlockIndex("x"))
    built = replace(built, coordinates=(*built.coordinates[:1], Coordinate("b", last)))
    text = print_kernel(replace(built, body=(*built.body, Assign(ref("C", Name("b")), "", lift(0)))))
    assert "for (int i = blockIdx.y; i < n; i += gridDim.y) {" in text and "C[threadIdx.z] = " in text
    assert "const int b = gridDim.x - 1 - blockIdx.x;" in text


@pytest.mark.slow
def test_nvcc_has_nothing_to_say(compiles: Callable[..., str]) -> None:
    assert compiles(print_kernels(program(everything()))) == ""
    capped = replace(everything(), min_blocks=0, max_registers=64)
    assert compiles(print_kernels(program(capped))) == ""


def test_nvcc_says_what_a_machine_lacks(compiles: Callable[..., str]) -> None:
    text = print_kernels(program(kernel(*names(), *tensor())))
    assert "matrix products of doubles of this shape need sm_90 or later" in compiles(text, "sm_80")


def test_functions_come_with_their_uses_alone() -> None:
    assert "polytile" not in print_kernels(program(kernel(name="empty")))
    text = print_kernels(program(kernel(*names(), *copies(), name="copies")))
    assert "polytile_copy_async" in text and "polytile_mma" not in text and "polytile_warp" not in text


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ({}, "__launch_bounds__(256)"),
        ({"min_blocks": 2}, "__launch_bounds__(256, 2)"),
        ({"max_registers": 128}, "__maxnreg__(128)"),
    ],
)
def test_launch_shape(shape: dict[str, int], expected: str) -> None:
    assert f"__global__ void {expected} k(" in body_text(**shape)


def test_restrict_only_where_nothing_aliases() -> None:
    alone = kernel(Pointer("q", ref("B", T)), Store(ref("q", 1), (Literal("0.0", DOUBLE),)))
    assert "double *__restrict__ q = &B[t];" in print_kernel(alone)
    both = kernel(*alone.body, Store(ref("B", T), (Literal("0.0", DOUBLE),)))
    assert "double *q = &B[t];" in print_kernel(both)
    two = kernel(Pointer("r", ref("B", 0)), *alone.body, Store(ref("r", 1), (Literal("0.0", DOUBLE),)))
    assert "double *q = &B[t];" in print_kernel(two)
    read = kernel(*names()[9:10], Pointer("a", ref("A", 0, 0), const=True), loop(Load((ref("x", 0),), ref("p", ROUND))))
    read = replace(read, body=(PrivateArray("x", DOUBLE, (1,)), *read.body))
    assert "const double *__restrict__ p = &A[(long long)(t * 4) * m];" in print_kernel(read)
    may = tuple(replace(p, restrict=False) for p in alone.parameters)
    assert "double *q = &B[t];" in print_kernel(replace(alone, parameters=may))


def test_names_of_vectors_are_new() -> None:
    v0 = PrivateArray("v0", DOUBLE, (2,))
    text = print_kernel(kernel(v0, Load(row("v0", 2), ref("B", 0)), Store(ref("B", 2), row("v0", 2))))
    assert "const double2 v0_ = *(const double2 *)&B[0];" in text
    assert "v0[0] = v0_.x; v0[1] = v0_.y;" in text


@pytest.mark.parametrize(
    ("stmt", "expected"),
    [
        (Load((SUM,), ref("B", 0), guard=compare("<", T, M)), "sum = t < m ? B[0] : 0.0;"),
        (Load((SUM,), ref("A", 0, 1), "read-only"), "sum = __ldg(&A[1]);"),
        (Store(ref("B", T), (SUM,), "streaming"), "__stcs(&B[t], sum);"),
        (Store(ref("B", T), (SUM,), "l2", compare("<", T, M)), "if (t < m) __stcg(&B[t], sum);"),
        (Assign(SUM, "", Shuffle("down", SUM, lift(2), 8)), "sum = __shfl_down_sync(0xffffffffu, sum, 2, 8);"),
        (Assign(SUM, "", WarpReduce("+", SUM)), "sum = polytile_warp_sum(sum);"),
        (Assign(SUM, "", WarpReduce("+", SUM, more=(ref("B", 0),))), "sum = polytile_each_sum(sum, B[0]);"),
        (Assign(SUM, "", WarpReduce("fmax", SUM, 8)), "sum = polytile_segment_fmax<8>(sum);"),
        (Atomic("+", ref("B", 0), SUM), "atomicAdd(&B[0], sum);"),
        (Atomic("^", ref("C", 0, ctype=INT), T), "atomicXor(&C[0], t);"),
    ],
)
def test_nodes(stmt: Stmt, expected: str) -> None:
    assert f"    {expected}\n" in body_text(stmt)


def test_predicates_stay_bitwise() -> None:
    text = body_text(Store(ref("B", 0), (SUM,), guard=everything().body[1].value))  # type: ignore[attr-defined]
    assert "if ((t < n) & (t - 1 >= 0)) B[0] = sum;" in text


def test_pragmas_of_loops() -> None:
    empty = Assign(SUM, "+", ref("B", ROUND))
    text = body_text(loop(empty), loop(empty, unroll=0), loop(empty, unroll=1), loop(empty, unroll=4))
    found = re.findall(r"(?:#pragma (.*)\n *)?for ", text)
    assert found == ["", "unroll", "unroll 1", "unroll 4"]


def test_long_statements_are_broken() -> None:
    value = SUM
    for k in range(12):
        value = add(value, ref("A", T, k))  # type: ignore[assignment]
    lines = body_text(Store(ref("B", 0), (value,)), Store(ref("B", 1), (value,), guard=compare("<", T, M))).split("\n")
    assert max(map(len, lines)) < 120


def test_lines_of_the_source_are_named() -> None:
    line = Location("heat.c", 12, 3)
    text = body_text(Load(row("x", 2, 0), ref("B", 0), location=line), Store(ref("B", 2), (SUM,), location=line))
    assert text.count("// heat.c:12") == 1


def shared_kernel(elements: int, *body: Stmt) -> str:
    small = Storage("s", Space.SHARED, DOUBLE, (Literal(str(elements)),), "s")
    parameters = (KernelParameter("A", DOUBLE, "A", const=True),)
    home = Storage("A", Space.GLOBAL, DOUBLE, (None,), "A")
    return print_kernel(Kernel("k", parameters, (32, 1, 1), (), (home, small), body))


def test_shared_arrays_are_aligned_for_wide_accesses() -> None:
    x = PrivateArray("x", DOUBLE, (2,))
    assert "    __shared__ double s[64];" in shared_kernel(64, x, Load((ref("x", 0),), ref("s", 0)))
    assert "    __shared__ __align__(16) double s[64];" in shared_kernel(64, x, Load(row("x", 2), ref("s", 0)))
    text = shared_kernel(8191, x, Load(row("x", 2), ref("s", 0)))
    assert "double (&s)[8191] = *(double (*)[8191])(polytile_shared + 0);" in text


@pytest.mark.parametrize(
    ("stmt", "message"),
    [
        (Load(row("c", 8, ctype=CHAR), ref("C", 0, ctype=CHAR)), "no vector of 8 x char"),
        (Atomic("min", ref("B", 0), SUM), "no atomic min of double"),
        (Atomic("+", Access("C", (lift(0),), CHAR), T), r"no atomic \+ of char"),
    ],
)
def test_what_cuda_has_no_words_for(stmt: Stmt, message: str) -> None:
    with pytest.raises(InternalError, match=message):
        body_text(PrivateArray("c", CHAR, (8,)), stmt)


def test_hip_refuses_what_it_lacks() -> None:
    with pytest.raises(UsageError, match="kernel everything uses split barriers, which HIP does not have"):
        print_kernels(program(everything()), HIP)


@pytest.mark.parametrize(
    ("built", "arch", "least"),
    [
        (kernel(*names(), *copies()), "sm_75", "sm_80"),
        (kernel(*names(), *tensor()), "sm_86", "sm_90"),
    ],
)
def test_machines_that_lack_what_a_kernel_uses(built: Kernel, arch: str, least: str) -> None:
    with pytest.raises(UsageError) as error:
        require_machine(built, machine_of(arch))
    assert arch in error.value.message and least in (error.value.hint or "")
    require_machine(built, machine_of(least))


def test_floats_have_their_zero() -> None:
    load = Load(row("f", 2, ctype=FLOAT), ref("F", 0, ctype=FLOAT), guard=compare("<", T, M))
    assert "t < m ? *(const float2 *)&F[0] : make_float2(0.0f, 0.0f);" in body_text(load)


def test_one_node_in_two_places_is_two_accesses() -> None:
    target = ref("B", T)
    both = kernel(Pointer("q", target), Store(ref("q", 1), (ref("q", 2),)), Store(target, (ref("q", 0),)))
    assert "double *q = &B[t];" in print_kernel(both)


@pytest.mark.slow
def test_copies_and_split_barriers_on_ampere(compiles: Callable[..., str]) -> None:
    def plainly(node: Node) -> Node:
        return Assign(node.d[0], "+", node.a[0]) if isinstance(node, MultiplyAccumulate) else node

    built = everything()
    text = print_kernels(program(replace(built, body=tuple(rewrite(s, plainly) for s in built.body))))
    assert "mma" not in text and compiles(text, "sm_80") == ""
