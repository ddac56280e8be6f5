"""Trees with tiles as wide as a warp along the rows of what threads read in columns."""

from __future__ import annotations

import pytest

import polytile
from polytile.diagnostics import UserError
from polytile.ir.placed_storage import tile_plans
from polytile.scheduling.proof.legality import Proof
from polytile.scheduling.proof.prove import Claim
from polytile.stages import place_data
from tests.unit.scheduling.conftest import c_text, structure

ROWS = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++)"
SPACE = f"{ROWS} for (int k = 0; k < n; k++)"
TREES = {
    f"{ROWS} B[i][j] = A[j][i];": (
        "kernel(block[i/32,j/32] thread[8,32](imod8,jmod32) loop[points] serial[i/8-4*i/32*] S0)"
    ),
    f"{ROWS} B[j][i] = A[i][j];": (
        "kernel(block[j/32,i/32] thread[8,32](jmod8,imod32) loop[points] serial[j/8-4*j/32*] S0)"
    ),
    f"{ROWS} B[i][j] = A[i][j];": "kernel(block[i/8,j/32] thread[8,32](imod8,jmod32) S0)",
    f"{SPACE} V[i][j][k] = U[i][k][j];": (
        "kernel(block[i,j/32,k/32] thread[1,8,32](0,jmod8,kmod32) loop[points] serial[j/8-4*j/32*] S0)"
    ),
    f"{SPACE} V[i][j][k] = U[k][j][i];": (
        "kernel(block[i/32,j,k/32] thread[8,1,32](imod8,0,kmod32) loop[points] serial[i/8-4*i/32*] S0)"
    ),
}


@pytest.mark.parametrize("body", TREES)
def test_trees(body: str) -> None:
    arguments = "int n, double A[n][n], double B[n][n], double U[n][n][n], double V[n][n][n]"
    (scop,) = polytile.compile(c_text(arguments, body), schedule="classic").scops
    schedule = scop.compilation.schedule
    assert schedule is not None and structure(schedule.tree, threads=True) == TREES[body]


def test_the_tree_without_tiles_is_left_where_these_are_not_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    prove = place_data.prove_all

    def unless_there_are_tiles(claim: Claim, operations: int) -> Proof:
        if tile_plans(claim.plans):
            raise UserError("not proven within the budget")
        return prove(claim, operations)

    monkeypatch.setattr(place_data, "prove_all", unless_there_are_tiles)
    body = f"{ROWS} B[i][j] = A[j][i];"
    (scop,) = polytile.compile(c_text("int n, double A[n][n], double B[n][n]", body)).scops
    schedule = scop.compilation.schedule
    assert schedule is not None and structure(schedule.tree) == "kernel(block[i/8,j/32] thread[8,32] S0)"
    assert any("its proof fails" in remark.message for remark in scop.remarks)
