"""Certificates: those of right programs are accepted, and those that were tampered with are rejected."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import polytile
from polytile.check.checker import problems
from polytile.cli.main import main
from polytile.ir.isl_util import budget

Scop = Placed = dict[str, Any]
MOST_OPERATIONS = 10_000_000  # of isl
POLYBENCH = Path(__file__).resolve().parents[3] / "polybench" / "polybench"


ROW_SUMS = """void f(int n, double A[n][n], double B[n])
{
    double t;
#pragma scop
    for (int i = 0; i < n; i++) {
        t = 0;
        for (int k = 0; k < n; k++)
            t += A[i][k];
        B[i] = t;
    }
#pragma endscop
}
"""


def certificate(source: Path | str) -> Scop:
    found: Scop = json.loads(polytile.compile(source, schedule="classic").certificate)["scops"][0]
    return found


@pytest.fixture(scope="module")
def genuine() -> dict[str, Scop]:
    found = {name: certificate(POLYBENCH / f"{name}.c") for name in ("jacobi-2d", "lu", "doitgen")}
    return {**found, "row sums": certificate(ROW_SUMS)}


def replace_text(path: tuple[str, ...], old: str, new: str) -> Callable[[Scop], None]:
    def change(scop: Scop) -> None:
        at = scop
        for key in path[:-1]:
            at = at[key]
        assert old in at[path[-1]], at[path[-1]]
        at[path[-1]] = at[path[-1]].replace(old, new, 1)

    return change


def put(path: tuple[str, ...], value: Any) -> Callable[[Scop], None]:
    def change(scop: Scop) -> None:
        at = scop
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = value

    return change


def reverse_host_loop(scop: Scop) -> None:
    """The first serial band, t, runs backwards."""
    scop["mapped"] = scop["mapped"].replace("[(t)]", "[(-t)]")


def run_blocks_over_time(scop: Scop) -> None:
    scop["mapped"] = """domain: "[tsteps, n] -> { S0[t, i, j] : 0 <= t < tsteps and 0 < i < n - 1 and 0 < j < n - 1; \
S1[t, i, j] : 0 <= t < tsteps and 0 < i < n - 1 and 0 < j < n - 1 }"
child:
  mark: "kernel"
  child:
    mark: "block"
    child:
      schedule: "[{ S0[t, i, j] -> [(t)]; S1[t, i, j] -> [(t)] }]"
      child:
        sequence:
        - filter: "{ S0[t, i, j] }"
        - filter: "{ S1[t, i, j] }"
"""


def drop_the_copy_back(scop: Scop) -> None:
    statements = scop["program"]["statements"]
    (copied,) = [name for name, s in statements.items() if not s["parts"]]
    array = next(a["array"] for a in statements[copied]["accesses"] if a["kind"] == "write")
    statements[copied]["accesses"] = [a for a in statements[copied]["accesses"] if a["array"] != array]


def share_a_register(scop: Scop) -> None:
    ((home,),) = (plan["placements"] for plan in scop["plans"])
    block = home["cell"].replace("p0, p1", "p0")
    assert block != home["cell"]
    home.update(memory="shared", owner="block", cell=block)


def placed(**change: Any) -> Callable[[Scop], None]:
    """The only placement, changed."""

    def apply(scop: Scop) -> None:
        ((home,),) = (plan["placements"] for plan in scop["plans"])
        home.update(change)

    return apply


def in_registers(array: str, rank: int) -> Placed:
    """A placement of all of an array."""
    subscripts = ", ".join(f"a{k}" for k in range(rank))
    cell = f"{{ [[b, t, u] -> {array}[{subscripts}]] -> [{subscripts}] }}"
    where = {"memory": "private", "owner": "thread", "uses": [], "level": "kernel"}
    return {"name": array, "array": array, "cell": cell, **where}


TAMPERED = {
    "time runs backwards": ("jacobi-2d", reverse_host_loop, "not ordered"),
    "time in blocks": ("jacobi-2d", run_blocks_over_time, "not ordered"),
    "a mapped schedule that loses instances": (
        "jacobi-2d",
        replace_text(("mapped",), "0 < i <= -2 + n", "1 < i <= -2 + n"),
        "other instances",
    ),
    "a larger domain": (
        "lu",
        replace_text(("program", "statements", "S0", "domain"), "< n", "<= n"),
        "other instances",
    ),
    "an access that looks elsewhere": (
        "jacobi-2d",
        replace_text(("program", "statements", "S0", "accesses", 1, "relation"), "A[", "A[1 + "),
        "does not pass on",
    ),
    "a dependence less": ("lu", put(("dependences", "A", "flow"), "{ }"), "claimed flow"),
    "an anti dependence less": ("lu", put(("dependences", "A", "false"), "{ }"), "claimed anti and output"),
    "values of expanded storage that are not restored": ("doitgen", drop_the_copy_back, "does not pass on"),
    "registers that are said to be shared": ("row sums", share_a_register, "not ordered"),
    "what the user sees, in registers": (
        "lu",
        put(("plans",), [{"kernel": 0, "placements": [in_registers("A", 2)]}]),
        "lives inside a kernel",
    ),
    "an array in two homes": (
        "lu",
        put(("plans",), [{"kernel": k, "placements": [in_registers("A", 2)]} for k in (0, 1)]),
        "lives in more than one place",
    ),
    "cells of fewer coordinates": ("row sums", placed(cell="{ [[b] -> t[a0]] -> [] }"), "have no cell"),
    "cells of some threads": ("row sums", placed(cell="{ [[b, t] -> t[a0]] -> [] : t > 0 }"), "have no cell"),
    "a copy that is left out": ("lu", put(("transfers", "A", "copy_in"), False), "not copied in"),
    "a result that is not copied out": ("lu", put(("transfers", "A", "copy_out"), False), "not copied out"),
    "a violation that is admitted": ("lu", put(("violations", "order"), "{ S0[i] -> S0[i + 1] }"), "not empty"),
    "a kernel inside a kernel": ("lu", replace_text(("mapped",), 'mark: "block"', 'mark: "kernel"'), "mark stands"),
}


@pytest.mark.slow
def test_genuine_certificates_are_accepted(genuine: dict[str, Scop]) -> None:
    for name, scop in genuine.items():
        assert list(problems(scop)) == [], name


@pytest.mark.slow(but="a-kernel-inside-a-kernel")
@pytest.mark.parametrize("case", TAMPERED, ids=lambda case: case.replace(" ", "-"))
def test_tampered_certificates_are_rejected(genuine: dict[str, Scop], case: str) -> None:
    program, change, expected = TAMPERED[case]
    scop = copy.deepcopy(genuine[program])
    change(scop)
    assert scop != genuine[program]
    assert expected in " / ".join(problems(scop))


# The command ---------------------------------------------------------------------------------------------------------
@pytest.fixture
def written(tmp_path: Path) -> Path:
    file = tmp_path / "lu.json"
    source = str(POLYBENCH / "lu.c")
    assert main([source, "-q", "-o", str(tmp_path), "--certificate", str(file)]) == 0
    return file


def test_the_command_checks_a_certificate_and_its_source(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(written), "--source", str(POLYBENCH / "lu.c")]) == 0
    first, second, limits = capsys.readouterr().out.splitlines()
    assert (first, second) == (f"{written} holds", f"{written}: kernel_lu_scop0 holds")
    assert limits.startswith(f"{written}: kernel_lu_scop0: kernels run where n <= ")


def test_a_certificate_of_another_program(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = written.parent / "lu.c"
    other.write_text((POLYBENCH / "lu.c").read_text().replace("A[i][j] -= A[i][k]", "A[i][j] -= A[k][i]"))
    command = ["check", str(written), "--source", str(other), "-I", str(POLYBENCH), "-I", str(POLYBENCH.parent)]
    assert main(command) == 1
    assert "has other instances or accesses in the C" in capsys.readouterr().out


def test_a_rejected_certificate_has_exit_status_1(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = json.loads(written.read_text())
    content["scops"][0]["dependences"]["A"]["flow"] = "{ }"
    written.write_text(json.dumps(content))
    assert main(["check", str(written)]) == 1
    assert "the claimed flow through A is not that of the accesses" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it is not JSON"),
        ("[]", "is not a certificate"),
        ('{"format": "polytile certificate", "version": 1, "scops": []}', "version 1, known are 2, 3"),
        ('{"format": "polytile certificate", "version": 3, "scops": [{}]}', "KeyError"),
        ('{"format": "polytile certificate", "version": 3, "scops": [3]}', "is not a certificate"),
        ('{"format": "polytile certificate", "version": 2, "scops": [{"split": {}}]}', "tiles as before version 3"),
    ],
)
def test_what_is_no_certificate(
    tmp_path: Path, text: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "broken.json"
    file.write_text(text)
    assert main(["check", str(file)]) == 1
    found = capsys.readouterr().err
    assert message in found
    assert "note: write" in found


def test_a_relation_that_isl_cannot_read(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = json.loads(written.read_text())
    content["scops"][0]["context"] = "{ : nonsense"
    written.write_text(json.dumps(content))
    assert main(["check", str(written)]) == 1
    assert "isl cannot read" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("scops", "message"),
    [
        ([], "kernel_lu_scop0 of"),
        ([{}], "is not a certificate"),
        ([{"name": "kernel_lu_scop0"}], "is not a certificate"),
    ],
)
def test_a_certificate_that_leaves_out_what_the_source_has(
    tmp_path: Path, scops: list[Scop], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "less.json"
    content = {"format": "polytile certificate", "version": 3, "defines": [], "on_host": [], "scops": scops}
    file.write_text(json.dumps(content))
    assert main(["check", str(file), "--source", str(POLYBENCH / "lu.c")]) == 1
    found = capsys.readouterr()
    assert message in found.out + found.err
    del content["defines"]
    file.write_text(json.dumps(content))
    assert main(["check", str(file), "--source", str(POLYBENCH / "lu.c")]) == 1
    assert "is not a certificate: KeyError: 'defines'" in capsys.readouterr().err


def test_a_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path / "none.json")]) == 1
    assert "cannot read" in capsys.readouterr().err


def test_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check"]) == 2
    assert "CERTIFICATE" in capsys.readouterr().err


@pytest.mark.slow
def test_boxes_of_many_reads_are_checked_in_a_moment() -> None:
    reads = " + ".join(f"A[i + {a}][j + {b}][k + {c}]" for a in range(4) for b in range(4) for c in range(4))
    text = f"""void f(int n, double A[n][n][n], double B[n][n][n])
{{
#pragma scop
    for (int i = 0; i < n - 4; i++) for (int j = 0; j < n - 4; j++) for (int k = 0; k < n - 4; k++)
        B[i][j][k] = {reads};
#pragma endscop
}}
"""
    genuine = certificate(text)
    with budget(MOST_OPERATIONS):
        assert not list(problems(genuine))
