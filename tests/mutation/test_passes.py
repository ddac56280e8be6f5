"""An error planted in each pass: `--verify-passes`, or a run in the emulator that is compared with C, finds it.

A pass is followed by what breaks its result in a way that is typical for it: an accumulator that is not stored, a name
that is not declared, a value that is not loaded. What waits for a strategy is in tests/kernels/test_passes.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import polytile
from polytile import pipeline
from polytile.api import CompiledScop, Settings
from polytile.codegen import passes
from polytile.codegen.passes import WAITING_FOR_A_STRATEGY
from polytile.codegen.passes.driver import LOWERING, pass_names
from polytile.diagnostics import DeviceError, InternalError, ValidationError
from polytile.ir.expr import Access, Assign, Binary, Declare, For, If, Literal, Name, Scope, Stmt, Ternary
from polytile.ir.expr_trees import rewrite, walk
from polytile.ir.gpu_ops import Atomic, AwaitLaunches, Load, Offset, Store
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Kernel
from polytile.ir.memory import Space
from polytile.machine import machine_of
from polytile.runtime.emulator.instrument import CHECKS

BEFORE, AFTER = "#pragma scop\n", "\n#pragma endscop\n}\n"
PRODUCT = f"""void f(int n, int m, double A[n][m], double B[m][m], double C[n][m]) {{
{BEFORE}for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) {{ C[i][j] *= 3;
  for (int k = 0; k < m; k++) C[i][j] += A[i][k] * B[k][j]; }}{AFTER}"""
AGAIN = f"""void f(int n, int m, double A[n][m], double x[m], double t[n], double y[m]) {{
{BEFORE}for (int j = 0; j < m; j++) y[j] = 0;
for (int i = 0; i < n; i++) {{ t[i] = 0;
  for (int j = 0; j < m; j++) t[i] += A[i][j] * x[j];
  for (int j = 0; j < m; j++) y[j] += A[i][j] * t[i]; }}{AFTER}"""
ROWS = f"""void f(int n, int m, double A[n][m], double x[m], double w[n]) {{
{BEFORE}for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) w[i] += A[i][j] * x[j];{AFTER}"""
CHANGING = f"""void f(int n, int m, double A[n][m], double u[n], double v[m], double x[n], double y[m]) {{
{BEFORE}for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) {{
  A[i][j] += u[i] * v[j]; y[j] += A[i][j] * x[i]; }}{AFTER}"""
SCAN = f"""void f(int n, int m, double A[n][m]) {{
{BEFORE}for (int i = 0; i < n; i++) for (int j = 1; j < m; j++) A[i][j] += A[i][j - 1];{AFTER}"""
STENCIL = f"""void f(int n, int m, double A[n], double B[n]) {{
{BEFORE}for (int t = 0; t < m; t++) {{
  for (int i = 1; i < n - 1; i++) B[i] = A[i - 1] + 0.5 * A[i + 1];
  for (int i = 1; i < n - 1; i++) A[i] = B[i - 1] + 0.5 * B[i + 1]; }}{AFTER}"""
MANY = f"""void f(int n, int m, double A[n + 40], double B[n], double C[n]) {{
{BEFORE}for (int i = 0; i < n; i++) {{
  B[i] = {" + ".join(f"{k}.5 * A[i + {k}]" for k in range(0, 40, 2))};
  C[i] = {" - ".join(f"{k}.5 * A[i + {k}]" for k in range(1, 40, 2))}; }}{AFTER}"""
PLANES = f"""void f(int n, int m, double A[n + 6][m + 8], double B[n][m]) {{
{BEFORE}for (int i = 0; i < n; i++) for (int j = 0; j < m; j++)
  B[i][j] = {" + ".join(f"{k + 1}.5 * A[i + {k % 6}][j + {k // 6}]" for k in range(36))};{AFTER}"""
COUNTS = f"""void f(int n, int m, int h[1], int p[m], int x[n]) {{
{BEFORE}for (int i = 0; i < m; i++) h[p[i]] += i;
for (int i = 0; i < n; i++) x[i] = i;{AFTER}"""
SPARSE = f"""void f(int n, int m, int row[n + 1], double val[20 * n], double y[n], double x[m]) {{
{BEFORE}for (int i = 0; i < n; i++) for (int j = row[i]; j < row[i + 1]; j++) y[i] += val[j];
for (int i = 0; i < m; i++) x[i] = i;{AFTER}"""
TRIANGLE = f"""void f(int n, int m, double A[n][m], double C[n][n]) {{
{BEFORE}for (int i = 0; i < n; i++) for (int j = 0; j <= i; j++) {{ C[i][j] *= 3;
  for (int k = 0; k < m; k++) C[i][j] += A[i][k] * A[j][k]; }}{AFTER}"""
GEMVER = Path(__file__).parents[2] / "polybench" / "polybench" / "gemver.c"

Break = Callable[[Kernel], Kernel]


def each(change: Callable[[Any], Any]) -> Break:
    """Every node that `change` does not leave alone is another one."""
    return lambda kernel: replace(kernel, body=tuple(rewrite(stmt, change) for stmt in kernel.body))


def dropped(matches: Callable[[Any], bool]) -> Break:
    return each(lambda node: Scope(()) if isinstance(node, Stmt) and matches(node) else node)


def stores_to(array: str) -> Callable[[Any], bool]:
    return lambda n: isinstance(n, Assign) and isinstance(n.target, Access) and n.target.array == array


def stores_accumulators(node: Any) -> bool:
    stores = isinstance(node, Assign) and isinstance(node.target, Access) and isinstance(node.value, Name)
    return stores and "_acc" in node.value.name


def alone(node: Any) -> Any:
    """Updates of several lanes are plain ones."""
    return Assign(node.target, "+", node.value) if isinstance(node, Atomic) and node.aggregated else node


def not_loaded(suffix: str) -> Break:
    """What should hold an element holds 0."""

    def change(node: Any) -> Any:
        held = isinstance(node, Declare) and node.name.endswith(suffix) and isinstance(node.value, Access | Ternary)
        return replace(node, value=Literal("0.0", node.type)) if held else node

    return each(change)


def undeclared(kernel: Kernel) -> Kernel:
    """The first declared name that is used is not declared."""
    used = {n.name for n in walk(*kernel.body) if isinstance(n, Name)}
    name = next((n.name for n in walk(*kernel.body) if isinstance(n, Declare) and n.name in used), "")
    return dropped(lambda node: isinstance(node, Declare) and node.name == name)(kernel)


def fewer_extents(kernel: Kernel) -> Kernel:
    """An array inside the kernel keeps one subscript more than it has extents."""
    homes = (replace(s, keeps=(*s.keeps, 0)) if s.keeps is not None else s for s in kernel.storage)
    return replace(kernel, storage=tuple(homes))


def read_only(kernel: Kernel) -> Kernel:
    """A load of what the kernel writes claims that nobody does."""
    places = [n.target for n in walk(*kernel.body) if isinstance(n, Assign) and isinstance(n.target, Access)]
    written = [p for p in places if p.array in {s.array for s in kernel.storage if s.space is Space.GLOBAL}]
    if not written:
        return kernel
    target = Name("loaded", written[0].type)
    first = replace(written[0], subscripts=tuple(Literal("0") for _ in written[0].subscripts))
    load = (Declare(target.name, target.type, None), Load((target,), first, "read-only"))
    return replace(kernel, body=(*load, *kernel.body))


def blocks_missed(kernel: Kernel) -> Kernel:
    """The blocks of the opposite order begin with the last but one."""
    one = Literal("1")
    turned = (
        replace(c, source=Binary("-", c.source, one, c.source.type)) if isinstance(c.source, Binary) else c
        for c in kernel.coordinates
    )
    return replace(kernel, coordinates=tuple(turned))


def longer_steps(node: Any) -> Any:
    """Every other batch is left out."""
    return replace(node, step=2 * node.step) if isinstance(node, For) and node.unroll == 1 else node


def fewer_points(node: Any) -> Any:
    """The last iteration of what is unrolled is left out."""
    last = isinstance(node, For) and node.unroll == 0 and isinstance(node.condition, Binary)
    if not last or not isinstance(node.condition.right, Literal) or node.step != 1:
        return node
    end = Literal(str(int(node.condition.right.text) - 1))
    return replace(node, condition=replace(node.condition, right=end))


def backwards(node: Any) -> Any:
    """The elements of a vector in the opposite order."""
    return replace(node, values=node.values[::-1]) if isinstance(node, Store) else node


def without_partial_tiles(node: Any) -> Any:
    return replace(node, otherwise=()) if isinstance(node, If) else node


def one_way(node: Any) -> Any:
    """What does not leave the cache is not stored at all."""
    leaves = isinstance(node, If) and isinstance(node.condition, Name) and node.condition.name.startswith("leaving")
    return replace(node, otherwise=()) if leaves else node


def in_the_first_row(node: Any) -> Any:
    """An element of another row is taken from the row of the first one."""
    return replace(node, by=Literal("0")) if isinstance(node, Offset) else node


def in_the_first_row_of_a_pair(node: Any) -> Any:
    """The row in the middle of a triangle runs again what it has run."""
    asks = isinstance(node, Declare) and node.name == "rest" and isinstance(node.value, Ternary)
    return replace(node, value=node.value.then) if asks else node


def waits_late(kernel: Kernel) -> Kernel:
    first, *rest = kernel.body
    return replace(kernel, body=(*rest, first)) if isinstance(first, AwaitLaunches) else kernel


@dataclass(frozen=True)
class Planted:
    """An error behind a pass, in kernels of a program, and what finds it."""

    name: str
    program: str | Path
    change: Break
    verified: bool = False
    schedule: str = "superposed"
    copy_bytes: int = 0
    order: str = "auto"
    registers: int = 0

    @property
    def settings(self) -> Settings:
        return {"schedule": self.schedule, "order": self.order, "registers": self.registers}


PLANTED = (
    Planted("scalar-replacement", PRODUCT, dropped(stores_accumulators)),
    Planted("place-arrays", AGAIN, fewer_extents, verified=True),
    Planted("clean-up", PRODUCT, undeclared, verified=True),
    Planted("loop-carry", SCAN, not_loaded("_last")),
    Planted("unroll-loads-first", ROWS, each(longer_steps)),
    Planted("remove-unused", PRODUCT, undeclared, verified=True),
    Planted("early-loads", ROWS, not_loaded("_held")),
    Planted("cache-hints", GEMVER, read_only, verified=True),
    Planted("flatten-scopes", AGAIN, dropped(stores_to("y_part_all"))),
    Planted("forward-shared", AGAIN, dropped(stores_to("t_here"))),
    Planted("launch-bounds", AGAIN, lambda kernel: replace(kernel, min_blocks=1000), verified=True),
    Planted("unroll-hints", PRODUCT, each(fewer_points), schedule="tiled"),
    Planted("partition-tiles", PRODUCT, each(without_partial_tiles), schedule="tiled"),
    Planted("wide-copies", PRODUCT, each(backwards), schedule="tiled", copy_bytes=16),
    Planted("reassociate-sums", MANY, undeclared, verified=True),
    Planted("order-statements", MANY, undeclared, verified=True, order="tree"),
    Planted("register-limit", MANY, lambda kernel: replace(kernel, min_blocks=1000), verified=True, registers=64),
    Planted("prune-signature", PRODUCT, lambda k: replace(k, parameters=k.parameters[1:]), verified=True),
    Planted("fold-triangular-grids", TRIANGLE, each(in_the_first_row_of_a_pair), schedule="tiled"),
    Planted("subwarp-loops", SPARSE, dropped(lambda node: isinstance(node, Assign) and "_all" in str(node.value))),
    Planted("warp-aggregation", COUNTS, each(alone)),
    Planted("privatization", COUNTS, dropped(lambda node: isinstance(node, Atomic) and isinstance(node.value, Name))),
    Planted("block-order", STENCIL, blocks_missed),
    Planted("cache-hints-across-kernels", CHANGING, each(one_way)),
    Planted("dependent-launch", STENCIL, waits_late, verified=True),
    Planted("merged-loads", STENCIL, read_only, verified=True),
    Planted("offset-addressing", PLANES, each(in_the_first_row), registers=16),
)


def plant(patch: pytest.MonkeyPatch, planted: Planted) -> list[bool]:
    """Have the error follow its pass; returns whether it has changed a kernel, once it has run."""
    changed: list[bool] = []

    def broken(kernel: Kernel) -> Kernel:
        after = planted.change(kernel)
        changed.append(after != kernel)
        return after

    def on_kernel(run: Any) -> Any:
        return lambda kernel, *rest: broken(run(kernel, *rest))

    def on_program(run: Any) -> Any:
        def all_kernels(program: HostProgram, *rest: Any) -> HostProgram:
            program = run(program, *rest)
            return replace(program, kernels=tuple(map(broken, program.kernels)))

        return all_kernels

    if planted.copy_bytes:
        machine = machine_of("sm_90")
        promotion = replace(machine.tuning.promotion, copy_bytes=planted.copy_bytes)
        machine = replace(machine, tuning=replace(machine.tuning, promotion=promotion))
        patch.setattr(pipeline, "machine_of", lambda _: machine)
    for listed, wrap in (("KERNEL_PASSES", on_kernel), ("PROGRAM_PASSES", on_program)):
        own = getattr(passes, listed)
        new = (replace(one, run=wrap(one.run)) if one.name == planted.name else one for one in own)
        patch.setattr(passes, listed, tuple(new))
    return changed


@pytest.mark.quick
def test_each_pass_has_an_error() -> None:
    planted = [one.name for one in PLANTED]
    assert planted == [n for n in pass_names() if n != LOWERING and n not in WAITING_FOR_A_STRATEGY]


@pytest.mark.quick
@pytest.mark.parametrize("planted", [one for one in PLANTED if one.verified], ids=lambda one: one.name)
def test_verification_finds_it(monkeypatch: pytest.MonkeyPatch, planted: Planted) -> None:
    changed = plant(monkeypatch, planted)
    name = {} if isinstance(planted.program, Path) else {"name": "test.c"}
    try:
        (scop,) = polytile.compile(planted.program, verify_passes=True, **planted.settings, **name).scops
        said = " ".join(remark.message for remark in scop.remarks)  # on why another schedule or no such pass is taken
    except InternalError as error:
        said = error.message
    assert any(changed)
    assert f"after {planted.name}: " in said


@pytest.mark.quick
@pytest.mark.parametrize("planted", [one for one in PLANTED if not one.verified], ids=lambda one: one.name)
def test_the_emulator_finds_it(
    checking_compiler: None, monkeypatch: pytest.MonkeyPatch, planted: Planted
) -> None:
    changed = plant(monkeypatch, planted)
    assert isinstance(planted.program, str)
    (scop,) = polytile.compile(planted.program, name="test.c", raise_bugs=True, **planted.settings).scops
    assert any(changed)
    assert any(is_found(scop, {"n": n, "m": m}) for n, m in ((150, 68), (9, 4000)))


def is_found(scop: CompiledScop, sizes: dict[str, int]) -> bool:
    try:
        scop.validate(on="emulator", parameters=sizes, seed=1, sanitize=CHECKS)
    except (ValidationError, DeviceError):
        return True
    return False
