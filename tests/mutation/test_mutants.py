"""Errors planted in otherwise correct compilations: at least one safety net catches each, and which ones is a table.

`pytest tests/mutation --update-golden` writes the table anew, docs/safety-nets.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import islpy as isl
import pytest

from polytile.compilation import Compilation
from polytile.ir.expr import Access, Assign, Binary, Declare, Expr, For, If, Literal, Scope, Stmt
from polytile.ir.expr_trees import rewrite, walk
from polytile.ir.gpu_ops import Store
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Barrier, Kernel, Launch
from polytile.ir.memory import Space, Storage
from polytile.ir.placed_storage import Homes
from polytile.ir.scop import AccessKind
from polytile.scheduling.analysis.dependences import ArrayDependences
from polytile.scheduling.promotion.placements import kernel_plans
from polytile.stages.analysis import find_dependences
from tests.kernel_storage import copies_of, homes_of

Change = Callable[[Compilation], Compilation]
HERE = Path(__file__).parent
TABLE = Path(__file__).resolve().parents[2] / "docs" / "safety-nets.md"

# Ways to change a compilation -----------------------------------------------------------------------------------------
def same(state: Compilation) -> Compilation:
    return state


def kernels(change: Callable[[Kernel], Kernel]) -> Change:
    """Change every kernel."""

    def apply(state: Compilation) -> Compilation:
        assert state.program is not None
        changed = tuple(change(k) for k in state.program.kernels)
        assert changed != state.program.kernels, "nothing was planted"
        return replace(state, program=replace(state.program, kernels=changed))

    return apply


def nodes(change: Callable[[Any], Any], first_only: bool = True) -> Change:
    """Change the first node of a kernel's body that `change` does not leave alone (or all)."""
    left = [1]

    def once(node: Any) -> Any:
        changed = change(node)
        if changed == node or (first_only and left[0] == 0):
            return node
        left[0] -= 1
        return changed

    def kernel(k: Kernel) -> Kernel:
        return replace(k, body=tuple(rewrite(s, once) for s in k.body))

    def apply(state: Compilation) -> Compilation:
        left[0] = 1
        return kernels(kernel)(state)

    return apply


def without(matches: Callable[[Any], bool]) -> Change:
    """Drop the first statement that matches."""
    return nodes(lambda node: Scope(()) if isinstance(node, Stmt) and matches(node) else node)


def host(change: Callable[[HostProgram], HostProgram]) -> Change:
    def apply(state: Compilation) -> Compilation:
        assert state.program is not None
        changed = change(state.program)
        assert changed != state.program, "nothing was planted"
        return replace(state, program=changed)

    return apply


def plus(value: Expr, by: int) -> Expr:
    return Binary("+", value, Literal(str(by)))


def read_elsewhere(array: str, dim: int, by: int) -> Change:
    """The first read of an array in a kernel looks `by` elements further along one dimension."""

    def shift(access: Access) -> Access:
        subscripts = (*access.subscripts[:dim], plus(access.subscripts[dim], by), *access.subscripts[dim + 1 :])
        return replace(access, subscripts=subscripts)

    def change(node: Any) -> Any:
        if isinstance(node, Assign):
            reads = [n for n in walk(node.value) if isinstance(n, Access) and n.array == array]
            if reads:
                return replace(node, value=rewrite(node.value, lambda n: shift(n) if n == reads[0] else n))
        return node

    return nodes(change)


def write_elsewhere(array: str, dim: int, by: int) -> Change:
    def change(node: Any) -> Any:
        if isinstance(node, Assign) and isinstance(node.target, Access) and node.target.array == array:
            subscripts = list(node.target.subscripts)
            subscripts[dim] = plus(subscripts[dim], by)
            return replace(node, target=replace(node.target, subscripts=tuple(subscripts)))
        return node

    return nodes(change)


def row_again(node: Any) -> Any:
    """The second row of a tile is the first one once more."""
    if isinstance(node, Assign) and isinstance(node.value, Access) and getattr(node.target, "array", "") == "A1_at":
        row, *rest = node.value.subscripts
        return replace(node, value=replace(node.value, subscripts=(plus(row, -1), *rest)))
    return node


def stored_elsewhere(node: Any) -> Any:
    """A vector goes to the place of its neighbour."""
    if isinstance(node, Store):
        *rows, last = node.target.subscripts
        return replace(node, target=replace(node.target, subscripts=(*rows, plus(last, len(node.values)))))
    return node


def shorter_loop(iterator: str) -> Change:
    def change(node: Any) -> Any:
        if isinstance(node, For) and node.iterator == iterator and isinstance(node.condition, Binary):
            return replace(node, condition=replace(node.condition, right=plus(node.condition.right, -1)))
        return node

    return nodes(change)


def unguarded(node: Any) -> Any:
    return Scope(node.then) if isinstance(node, If) and not node.otherwise else node


def fewer_blocks(program: HostProgram) -> HostProgram:
    def change(node: Any) -> Any:
        if isinstance(node, Launch):
            return replace(node, grid=(plus(node.grid[0], -1), *node.grid[1:]))
        return node

    return replace(program, body=tuple(rewrite(s, change) for s in program.body))


def swapped_launches(program: HostProgram) -> HostProgram:
    names = [k.name for k in program.kernels]
    swap = dict(zip(names, reversed(names), strict=True))

    def change(node: Any) -> Any:
        return replace(node, kernel=swap[node.kernel]) if isinstance(node, Launch) else node

    return replace(program, body=tuple(rewrite(s, change) for s in program.body))


def fewer_steps(program: HostProgram) -> HostProgram:
    def change(node: Any) -> Any:
        if isinstance(node, For) and isinstance(node.condition, Binary):
            return replace(node, condition=replace(node.condition, right=plus(node.condition.right, -1)))
        return node

    return replace(program, body=tuple(rewrite(s, change) for s in program.body))


def smaller_buffers(program: HostProgram) -> HostProgram:
    return replace(program, buffers=tuple(replace(b, elements=plus(b.elements, -1)) for b in program.buffers))


def placing(state: Compilation, **change: Any) -> Compilation:
    """Data live elsewhere."""
    assert state.plans is not None
    return replace(state, plans=replace(state.plans, **change))


def stored(state: Compilation, homes: Homes | None = None, copies: Homes | None = None) -> Compilation:
    """Arrays of kernels live elsewhere."""
    homes, copies = homes_of(state) if homes is None else homes, copies_of(state) if copies is None else copies
    return placing(state, kernels=kernel_plans(state.run, homes, copies))


def transfer(array: str, **change: bool) -> Change:
    def apply(state: Compilation) -> Compilation:
        found = tuple(replace(t, **change) if t.array.name == array else t for t in state.transfers)
        assert found != state.transfers
        return placing(state, transfers=found)

    return apply


def home(array: str, **change: Any) -> Change:
    def apply(state: Compilation) -> Compilation:
        ((kernel, homes),) = homes_of(state).items()
        return stored(state, homes={kernel: {**homes, array: replace(homes[array], **change)}})

    return apply


def copied(array: str, **change: Any) -> Change:
    def apply(state: Compilation) -> Compilation:
        ((kernel, found),) = copies_of(state).items()
        return stored(state, copies={kernel: {**found, array: replace(found[array], **change)}})

    return apply


def in_register(array: str) -> Change:
    def apply(state: Compilation) -> Compilation:
        found = state.scop.array(array)
        return stored(state, homes={0: {array: Storage(array, Space.PRIVATE, found.element, (), array, ())}})

    return apply


def no_dependences(through: str) -> Change:
    """The analysis misses everything that goes through one array."""

    def apply(state: Compilation) -> Compilation:
        assert state.dependences is not None
        none = isl.UnionMap("{ }")

        def blind(d: ArrayDependences) -> ArrayDependences:
            return replace(d, flow=none, anti=none, output=none) if d.array == through else d

        found = replace(state.dependences, by_array=tuple(blind(d) for d in state.dependences.by_array))
        return replace(state, dependences=found)

    return apply


def body_of(statement: str, change: Callable[[Any], Any]) -> Change:
    """Change what a statement does, not what is known of its accesses."""

    def apply(state: Compilation) -> Compilation:
        found = tuple(
            replace(s, body=tuple(rewrite(b, change) for b in s.body)) if s.name == statement else s
            for s in state.scop.statements
        )
        return replace(state, scop=replace(state.scop, statements=found))

    return apply


def relation_of(statement: str, array: str, shift: str) -> Change:
    """Change a read, in the body and in its relation alike, as a wrong storage mapping would."""

    def apply(state: Compilation) -> Compilation:
        def moved(a: Any) -> Any:
            wrong = a.array == array and a.kind is AccessKind.READ
            return replace(a, relation=a.relation.apply_range(isl.Map(shift))) if wrong else a

        def body(node: Any) -> Any:
            if isinstance(node, Access) and node.array == array:
                return replace(node, subscripts=(plus(node.subscripts[0], -1), *node.subscripts[1:]))
            return node

        found = tuple(
            replace(
                s,
                accesses=tuple(moved(a) for a in s.accesses),
                body=tuple(replace(b, value=rewrite(b.value, body)) if isinstance(b, Assign) else b for b in s.body),
            )
            if s.name == statement
            else s
            for s in state.scop.statements
        )
        return find_dependences(replace(state, scop=replace(state.scop, statements=found)))

    return apply


def no_epilogue(state: Compilation) -> Compilation:
    kept = tuple(s for s in state.scop.statements if s.name not in state.scop.epilogue)
    rest = isl.UnionSet.empty(state.scop.context.get_space().params())
    for statement in kept:
        rest = rest.union(isl.UnionSet.from_set(statement.domain))
    order = state.scop.schedule.intersect_domain(rest)
    return find_dependences(
        replace(state, scop=replace(state.scop, statements=kept, epilogue=(), schedule=order))
    )


def doubled(node: Any) -> Any:
    return Scope((node, node)) if isinstance(node, Assign) and node.op == "+" else node


def subtracted(node: Any) -> Any:
    return replace(node, op="-") if isinstance(node, Assign) and node.op == "+" else node


def unloaded(node: Any) -> Any:
    return replace(node, value=None) if isinstance(node, Declare) and node.name.endswith("_acc") else node


def partly_loaded(node: Any) -> Any:
    """All threads but the last fill their element of the tile."""
    if isinstance(node, Assign) and isinstance(node.target, Access) and node.target.array == "t":
        return If(Binary("<", node.target.subscripts[-1], Literal("7")), (node,))
    return node


def transposed(node: Any) -> Any:
    if isinstance(node, Access) and node.array == "B":
        return replace(node, subscripts=tuple(reversed(node.subscripts)))
    return node


def is_barrier(node: Any) -> bool:
    return isinstance(node, Barrier)


def stores(array: str) -> Callable[[Any], bool]:
    return lambda n: isinstance(n, Assign) and isinstance(n.target, Access) and n.target.array == array


# The mutants ---------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Mutant:
    """An error in `program`, under the schedule of that name where there is one.

    It is planted behind the stage `after`, or, with `text`, by replacing text in the schedule.
    """

    what: str
    program: str
    after: str = "schedule"
    change: Change = same
    text: tuple[tuple[str, str], ...] = ()

    @property
    def source(self) -> str:
        return (HERE / "programs" / f"{self.program.split('_')[0]}.c").read_text()

    @property
    def schedule(self) -> str | None:
        file = HERE / "programs" / f"{self.program}.yaml"
        found = file.read_text() if file.exists() else None
        for old, new in self.text:
            assert found is not None and old in found, old
            found = found.replace(old, new, 1)
        return found


HOST, BLOCK, SHARED, HALO = "stencil_on_host", "stencil_in_one_block", "reverse_in_shared", "halo_in_shared"
HANDED, TILED, TILE = "handed_in_shared", "tiled_sums", "product_in_registers"
TIME = '    mark: "sync"\n    child:\n      schedule'
BETWEEN = '        mark: "sync"\n        child:\n          sequence'
UPDATES = '              - filter: "[n, m] -> { S0_update[a, b, i, j] }"'
FORWARD = "S0[t, i] -> [t]; S1[t, i] -> [t]"
MUTANTS = (
    # the schedule
    Mutant("a time loop runs backwards", HOST, text=((FORWARD, "S0[t, i] -> [-t]; S1[t, i] -> [-t]"),)),
    Mutant("a statement runs a time step early", HOST, text=((FORWARD, "S0[t, i] -> [t]; S1[t, i] -> [t - 1]"),)),
    Mutant("a time loop becomes blocks", BLOCK, text=((TIME, TIME.replace("sync", "block")),)),
    Mutant("a serial loop moves into the kernel", "scan_on_host", text=(
        ('schedule: "[{ S0[i, j] -> [i] }]"', 'mark: "kernel"'),
        ('    mark: "kernel"', '    schedule: "[{ S0[i, j] -> [i] }]"'),
        ('      mark: "block"\n      child:\n        schedule: "[{ S0[i, j] -> [floor(j/8)] }]"\n        child:\n', ""),
        ("[j mod 8]", "[j]"),
    )),
    Mutant("two rows are swapped", "scan_on_host", text=(
        ("[{ S0[i, j] -> [i] }]", "[{ S0[i, j] -> [j] }]"),
        ("[floor(j/8)]", "[floor(i/8)]"),
        ("[j mod 8]", "[i mod 8]"),
    )),
    Mutant("blocks take over what is stored at offsets by data", "offsets_on_host", text=(
        ("[{ S0[k, i] -> [k] }]", "[{ S0[k, i] -> [i] }]"),
        ("[floor(i/8)]", "[floor(k/8)]"),
        ("[i mod 8]", "[k mod 8]"),
    )),
    Mutant("a barrier between statements is dropped", BLOCK, text=((BETWEEN, "          sequence"),)),
    Mutant("the barrier of a time loop is dropped", BLOCK, text=((TIME, "      schedule"),)),
    Mutant("the last instance of a statement is lost", HOST, text=(("0 < i < n - 1 }", "0 < i < n - 2 }"),)),
    Mutant("a tile of a sum ends before its chunk", TILED, text=(("floor((j)/32)", "floor((j)/16)"),)),
    Mutant("a chunk of a sum is added before it is there", TILED, text=(
        ('              - filter: "[n, m] -> { S0_finish[a, b, j_chunk] }"\n', ""),
        (UPDATES, UPDATES.replace("S0_update[a, b, i, j] }\"", "S0_finish[a, b, j_chunk] }\"\n") + UPDATES),
    )),
    Mutant("a halo is one element short", HALO, text=(("0 <= j < 10;", "0 <= j < 9;"),)),
    # analysis and storage
    Mutant("the analysis misses an array", "product", "dependences", no_dependences("C")),
    Mutant("the analysis takes all offsets by data for different", "offsets", "dependences", no_dependences("Y")),
    Mutant("an expanded array is read in another iteration", "rows", "expansion", relation_of(
        "S2", "sum_x", "{ sum_x[i, j] -> sum_x[i - 1, j] }"
    )),
    Mutant("last values are not restored", "rows", "expansion", no_epilogue),
    Mutant("an array keeps one element for a row", SHARED, "storage", home(
        "t", space=Space.PRIVATE, extents=(), keeps=()
    )),
    Mutant("what threads share is in registers", SHARED, "storage", home("t", space=Space.PRIVATE)),
    Mutant("a result is in a register", SHARED, "storage", in_register("B")),
    Mutant("a copy is shorter than what a block uses", HANDED, "storage", copied(
        "w", extents=(Literal("8"),), moduli=(8,)
    )),
    Mutant("an input is not copied in", "product", "storage", transfer("A", copy_in=False)),
    Mutant("the ends of the second buffer are lost", HOST, "storage", transfer("B", copy_in=False)),
    Mutant("a result is not copied out", "product", "storage", transfer("C", copy_out=False)),
    Mutant("a statement reads something else than was analysed", "product", "expansion", body_of("S1", transposed)),
    # kernels
    Mutant("a barrier is missing in the kernel", BLOCK, "ast", without(is_barrier)),
    Mutant("an index into shared memory is shifted", SHARED, "ast", read_elsewhere("t", -1, 1)),
    Mutant("an element of a tile is not loaded", SHARED, "ast", nodes(partly_loaded)),
    Mutant("a value is not stored to its copy", HANDED, "ast", without(stores("w_here"))),
    Mutant("a read looks one element behind the array", HOST, "ast", read_elsewhere("A", 0, 3)),
    Mutant("a read looks one element before the array", HOST, "ast", read_elsewhere("A", 0, -1)),
    Mutant("a write goes to the neighbour", HOST, "ast", write_elsewhere("B", 0, 1)),
    Mutant("all threads write one element", HOST, "ast", nodes(
        lambda n: replace(n, target=replace(n.target, subscripts=(Literal("1"),))) if stores("B")(n) else n
    )),
    Mutant("guards are missing", "product", "ast", nodes(unguarded, first_only=False)),
    Mutant("a loop ends one iteration early", "product", "ast", shorter_loop("k")),
    Mutant("an update runs twice", "product", "ast", nodes(doubled)),
    Mutant("an update subtracts", "product", "ast", nodes(subtracted)),
    Mutant("an accumulator starts with nothing", "product", "ast", nodes(unloaded)),
    Mutant("an accumulator is not stored", "product", "ast", without(stores("C"))),
    Mutant("a row of a tile is loaded twice", TILE, "ast", nodes(row_again)),
    Mutant("a vector is stored to its neighbour's place", TILE, "ast", nodes(stored_elsewhere)),
    # the host program
    Mutant("a block is missing in the grid", HOST, "ast", host(fewer_blocks)),
    Mutant("two launches are swapped", HOST, "ast", host(swapped_launches)),
    Mutant("a time step is missing", HOST, "ast", host(fewer_steps)),
    Mutant("device buffers are one element short", HOST, "ast", host(smaller_buffers)),
)


@pytest.mark.slow(
    but=(  # of the schedule, of storage, of a kernel and of the host program
        "a-time-loop-runs-backwards",
        "what-threads-share-is-in-registers",
        "a-barrier-is-missing-in-the-kernel",
        "a-block-is-missing-in-the-grid",
    )
)
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.what.replace(" ", "-"))
def test_a_net_catches_it(mutant: Mutant, hunt: Callable[..., Any], request: pytest.FixtureRequest) -> None:
    found = hunt(mutant.source, mutant.schedule, mutant.after, mutant.change)
    assert found.caught, f"nobody noticed that {mutant.what}"
    row = f"| {mutant.what} | {found} |"
    if request.config.getoption("--update-golden"):
        text = TABLE.read_text()
        old = re.compile(rf"^\| {re.escape(mutant.what)} \|.*$", re.MULTILINE)
        TABLE.write_text(old.sub(row, text) if old.search(text) else f"{text.rstrip()}\n{row}\n")
    assert row in TABLE.read_text(), f"{row}: run pytest tests/mutation --update-golden and look at the difference"


PROGRAMS = sorted({m.program for m in MUTANTS})


@pytest.mark.parametrize("program", PROGRAMS)
def test_nobody_complains_without_an_error(program: str, hunt: Callable[..., Any]) -> None:
    plain = Mutant("nothing", program)
    assert hunt(plain.source, plain.schedule, "ast", same).caught == {}
