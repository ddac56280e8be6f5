"""Values that threads hand to one another through shared memory, of arrays that stay in device memory."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from polytile.certificate import certificate
from polytile.check.checker import problems
from polytile.codegen.passes.shared_forwarding import forward
from polytile.ir.expr import DOUBLE, Access, Literal, Name
from polytile.ir.gpu_ops import Load
from polytile.ir.memory import Space, Storage
from polytile.ir.name_supply import Names
from polytile.scheduling.proof.storage import wrong_forwarding
from tests.kernel_storage import copies_of

AGAIN = (
    "int n, int m, double A[n][m], double x[m], double t[n], double y[m]",
    "for (int j = 0; j < m; j++) y[j] = 0;"
    "for (int i = 0; i < n; i++) { t[i] = 0;"
    " for (int j = 0; j < m; j++) t[i] += A[i][j] * x[j];"
    " for (int j = 0; j < m; j++) y[j] += A[i][j] * t[i]; }",
)


def tree(rows: int = 1, columns: int = 16, statements: tuple[str, ...] = ("S0", "S1")) -> str:
    """Blocks of rows, of which threads run the columns of the statements, with barriers between these."""
    domain = "; ".join(f"{s}[i, k] : 0 <= i < n and 0 <= k < {columns}" for s in statements)
    blocks = "; ".join(f"{s}[i, k] -> [(floor(i/{rows}))]" for s in statements)
    text = f"""domain: "[n] -> {{ {domain} }}"
child:
  mark: "kernel"
  child:
    mark: "block"
    child:
      schedule: "[n] -> [{{ {blocks} }}]"
      child:
        mark: "sync"
        child:
          sequence:
"""
    for name in statements:
        text += f"""          - filter: "[n] -> {{ {name}[i, k] }}"
            child:
              mark: "thread[{rows}, {columns}]"
              child:
                schedule: "[n] -> [{{ {name}[i, k] -> [(i mod {rows})] }}, {{ {name}[i, k] -> [(k)] }}]"
"""
    return text


def turned(first: str, second: str, columns: int = 16) -> tuple[str, str]:
    """Two statements for each row and column, and what they use."""
    arguments = f"int n, double A[n][{columns}], double B[n][{columns}], double w[n][{columns}]"
    loop = f"for (int k = 0; k < {columns}; k++)"
    return arguments, f"for (int i = 0; i < n; i++) {{ {loop} {first} {loop} {second} }}"


REVERSED = turned("w[i][k] = A[i][k] * k;", "B[i][k] = w[i][15 - k];")


def copies(scop: Any) -> dict[str, tuple[int, ...]]:
    return {name: copy.moduli for kernel in copies_of(scop.compilation).values() for name, copy in kernel.items()}


@pytest.mark.slow
@pytest.mark.parametrize("element", ["double", "float", "short", "long"])
def test_sums_of_rows(emulator: None, compiled: Callable[..., Any], element: str) -> None:
    found = compiled(*(part.replace("double", element) for part in AGAIN), schedule="superposed")
    assert copies(found) == {"t": (16,)}
    assert "t_here[i & 15] = t_held;" in found.cuda and "t_at1 = t_here[(i + 1) & 15];" in found.cuda
    assert "t_at1 = t[" not in found.cuda and "t[i] = t_held;" in found.cuda
    for n, m in ((0, 3), (1, 1), (5, 40), (15, 9), (16, 70), (17, 70), (33, 513)):
        found.validate(on="emulator", parameters={"n": n, "m": m}, seed=1, sanitize=("address", "undefined", "race"))


def test_rows_of_a_block(validated: Callable[..., Any]) -> None:
    """A block's row is one: only the column counts."""
    found = validated(REVERSED, *({"n": n} for n in (0, 1, 5, 33)), load_schedule=tree())
    assert copies(found) == {"w": (16,)}
    assert "__shared__ double w_here[16];" in found.cuda and "w_here[k & 15] = w_new;" in found.cuda
    assert "= w_here[15 - k & 15];" in found.cuda or "= w_here[(15 - k) & 15];" in found.cuda


def test_powers_of_two(validated: Callable[..., Any]) -> None:
    """Three rows of 20 columns: rows differ by 4, columns by 32."""
    program = turned("w[i][k] = A[i][k] * k;", "B[i][k] = w[i][19 - k];", 20)
    found = validated(program, *({"n": n} for n in (0, 1, 3, 4, 32)), load_schedule=tree(3, 20))
    assert copies(found) == {"w": (4, 32)} and "double w_here[4][32];" in found.cuda


def test_updates(validated: Callable[..., Any]) -> None:
    program = turned("w[i][k] = A[i][k]; for (int k = 0; k < 16; k++) w[i][k] *= k + 2;", "B[i][k] = w[i][15 - k];")
    text = tree(statements=("S0", "S1", "S2"))
    found = validated(program, *({"n": n} for n in (0, 1, 5)), load_schedule=text)
    assert copies(found) == {"w": (16,)} and "w_here[k & 15] = w[" in found.cuda


def test_one_element_of_a_block(validated: Callable[..., Any]) -> None:
    """Thread 0 leaves it to all others."""
    text = tree().replace("S0[i, k] : 0 <= i < n and 0 <= k < 16", "S0[i] : 0 <= i < n").replace("S0[i, k]", "S0[i]")
    text = text.replace("S0[i] -> [(k)]", "S0[i] -> [(0)]")
    arguments = "int n, double A[n][16], double B[n][16], double w[n]"
    body = "for (int i = 0; i < n; i++) { w[i] = A[i][3] * 2; for (int k = 0; k < 16; k++) B[i][k] = A[i][k] + w[i]; }"
    found = validated((arguments, body), *({"n": n} for n in (0, 1, 9)), load_schedule=text)
    assert copies(found) == {"w": (1,)} and "w_here[0] = w_new;" in found.cuda


LEFT = {
    "values of the thread's own": (turned("w[i][k] = A[i][k];", "B[i][k] = w[i][k];"), 16),
    "values from before": (turned("w[i][k] += A[i][k];", "B[i][k] = w[i][15 - k];"), 16),
    "values of some elements from before": (
        turned("if (k < 12) w[i][k] = A[i][k];", "B[i][k] = w[i][15 - k];"),
        16,
    ),
    "too many elements": (turned("w[i][k] = A[i][k];", "B[i][k] = w[i][514 - k];", 515), 515),
}


@pytest.mark.slow(but="too-many-elements")
@pytest.mark.parametrize("case", LEFT, ids=lambda case: case.replace(" ", "-"))
def test_what_stays_in_device_memory_alone(validated: Callable[..., Any], case: str) -> None:
    program, columns = LEFT[case]
    text = tree(1, columns)
    if "if" in program[1]:
        text = text.replace("S0[i, k] : 0 <= i < n and 0 <= k < 16", "S0[i, k] : 0 <= i < n and 0 <= k < 12")
    found = validated(program, {"n": 0}, {"n": 5}, load_schedule=text)
    assert copies(found) == {} and "_here" not in found.cuda


@pytest.mark.slow
def test_other_blocks_and_other_kernels(compiled: Callable[..., Any]) -> None:
    arguments, body = AGAIN
    other = body.replace(" for (int j = 0; j < m; j++) y[j] += A[i][j] * t[i]; }", " }") + (
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) y[j] += A[i][j] * t[n - 1 - i];"
    )
    assert copies(compiled(arguments, other, schedule="superposed")) == {}


@pytest.mark.slow
def test_partial_results_have_no_copies(compiled: Callable[..., Any]) -> None:
    """Their strategy has chosen how threads share them."""
    few = AGAIN[0], "\n#pragma polytile assume(n <= 8)\n" + AGAIN[1]
    assert all("part" not in name and "sums" not in name for name in copies(compiled(*few, schedule="superposed")))


def test_no_shared_memory(compiled: Callable[..., Any]) -> None:
    assert copies(compiled(*REVERSED, load_schedule=tree(), max_shared_memory=127)) == {}
    assert copies(compiled(*REVERSED, load_schedule=tree(), max_shared_memory=128)) == {"w": (16,)}


def test_a_name_that_is_taken(validated: Callable[..., Any]) -> None:
    program = tuple(part.replace("B", "w_here") for part in REVERSED)
    found = validated(program, {"n": 5}, load_schedule=tree())
    assert "double w_here_2[16];" in found.cuda


def test_vectors_have_no_copy() -> None:
    where = Access("w", (Name("i"),), DOUBLE)
    body = (Load((Name("a", DOUBLE), Name("b", DOUBLE)), where),)
    home = Storage("w", Space.SHARED, DOUBLE, (), "w", (0,), moduli=(16,))
    assert forward(body, {"w": home}, Names()) == (body, ())


# Proofs --------------------------------------------------------------------------------------------------------------
def of(modulus: int) -> dict[str, Any]:
    """A copy of so many elements."""
    return {"extents": (Literal(str(modulus)),), "moduli": (modulus,)}


def failures(scop: Any, **change: Any) -> list[str]:
    state = scop.compilation
    ((kernel, found),) = copies_of(state).items()
    copies = {kernel: {name: replace(copy, **change) for name, copy in found.items()}}
    return [f.why for f in wrong_forwarding(state.run, copies)]


@pytest.mark.slow
def test_copies_are_proven(compiled: Callable[..., Any]) -> None:
    for found in (compiled(*REVERSED, load_schedule=tree()), compiled(*AGAIN, schedule="superposed")):
        assert failures(found) == [] and failures(found, **of(32)) == []
        assert "another value arrives" in failures(found, **of(8))
        shape = ["its copy has no element for each remainder"]
        wrong = [{"space": Space.PRIVATE}, {"keeps": None}, {"keeps": ()}, {"moduli": (32,)}, of(17), of(24), of(0)]
        for change in wrong:
            assert failures(found, **change) == shape
        assert any("forwarded through shared memory of kernel 0" in fact for fact in found.compilation.proof.facts)


@pytest.mark.slow
def test_copies_of_what_another_kernel_writes(compiled: Callable[..., Any]) -> None:
    state = compiled(*AGAIN, schedule="superposed").compilation
    copy = copies_of(state)[0]["t"]
    for kernel, name in ((0, "x"), (1, "y_part_all")):
        claimed = {kernel: {name: replace(copy, array=name)}}
        assert [f.why for f in wrong_forwarding(state.run, claimed)] == ["not all that is read is from the block"]


def test_certificates(compiled: Callable[..., Any]) -> None:
    state = compiled(*REVERSED, load_schedule=tree()).compilation
    (scop,) = json.loads(certificate("test.c", "", (), [state]))["scops"]
    assert list(problems(scop)) == []
    ((copy,),) = (plan["placements"] for plan in scop["plans"])
    for change, why in (
        ({"cell": copy["cell"].replace("16", "8")}, "mixes up the values of w"),
        ({"cell": copy["cell"].replace("(a1) mod", "1 + (a1) mod")}, "outside of its extents [16]"),
        ({"cell": copy["cell"].replace("(a1) mod 16", "0")}, "mixes up the values of w"),
        ({"cell": copy["cell"].replace("p0", "p0, p1", 1)}, "elements of w have no cell"),
        ({"cell": copy["cell"].replace("}", ": a0 > 3 }")}, "elements of w have no cell"),
        ({"cell": copy["cell"].replace("w[", "A[")}, "elements of w have no cell"),
        ({"cell": "{ [[p0] -> w[a0, a1]] -> [o] : 0 <= o <= 1 }"}, "several cells"),
        ({"extents": [8]}, "outside of its extents [8]"),
        ({"through": False}, "values of it come from outside or are seen there"),
        ({"memory": "private"}, "private memory of a block"),
        ({"owner": "thread"}, "shared memory of a thread"),
        ({"array": "A"}, "reads values of A that it has not written"),
        ({"array": "nosuch"}, "no array nosuch"),
        ({"level": "k"}, "which is there 0 times"),
        ({"fill": {"elements": "{ [p0] -> w[a0] }", "at": "kernel"}}, "what is copied has no cell in w_here"),
    ):
        plans = [{"kernel": 0, "placements": [{**copy, **change}]}]
        assert any(why in line for line in problems({**scop, "plans": plans})), change
    for kernel in (1, -1):
        plans = [{"kernel": kernel, "placements": [copy]}]
        assert any("which is not there" in line for line in problems({**scop, "plans": plans}))
    assert list(problems({**scop, "plans": []})) == []
