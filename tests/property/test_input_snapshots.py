"""Products in place against C, under every strategy: reads of first values, in part, of several arrays, either way."""

from __future__ import annotations

import json
import random
from itertools import cycle

import pytest

import polytile
from polytile.check.checker import problems
from polytile.options import STRATEGIES
from polytile.stages import select_schedule
from tests.every_schedule import code
from tests.random_examples import examples

SEEDS = examples(30) // 2

ROWS = "for (int i = 0; i < m; i++) for (int j = 0; j < n; j++)"
ROWS_UP = "for (int i = m - 1; i >= 0; i--) for (int j = 0; j < n; j++)"
RIGHT, BELOW = "for (int k = j + 1; k < n; k++)", "for (int k = i + 1; k < m; k++)"
PROGRAMS = {
    "lower left": f"{ROWS} {{ {BELOW} B[i][j] += A[k][i] * B[k][j]; B[i][j] = alpha * B[i][j]; }}",
    "lower left, backwards": f"{ROWS} for (int k = m - 1; k > i; k--) B[i][j] += A[k][i] * B[k][j];",
    "upper left": f"{ROWS_UP} {{ B[i][j] *= A[i][i]; for (int k = 0; k < i; k++) B[i][j] += A[i][k] * B[k][j]; }}",
    "upper right": f"{ROWS} {RIGHT} B[i][j] += B[i][k] * D[k][j];",
    "lower right": """for (int i = 0; i < m; i++) for (int j = n - 1; j >= 0; j--) for (int k = 0; k < j; k++)
        B[i][j] += B[i][k] * D[j][k];""",
    "columns first": f"for (int j = 0; j < n; j++) for (int i = 0; i < m; i++) {BELOW} B[i][j] -= A[i][k] * B[k][j];",
    "every other row": f"{ROWS} for (int k = i + 2; k < m; k += 2) B[i][j] += A[i][k] * B[k][j];",
    "with a sum of its own": f"{ROWS} {{ T s = 0; {BELOW} s += A[i][k] * B[k][j]; B[i][j] += alpha * s; }}",
    "two arrays": f"{ROWS} {BELOW} {{ B[i][j] += A[i][k] * C[k][j]; C[i][j] += A[k][i] * B[k][j]; }}",
    "one array of two": f"{ROWS} {BELOW} {{ B[i][j] += A[i][k] * B[k][j]; C[i][j] = C[i][j] / 2 + B[i][j]; }}",
    "one read of two": f"{ROWS} {BELOW} B[i][j] += A[i][k] * B[k][j] * (k > i + 1 ? C[i][j] : B[i][j]);",
    "one read of two that find values of other rows": f"{ROWS} {BELOW} B[i][j] += B[k][j] + (i > 0 ? B[i - 1][j] : 0);",
    "under a condition": f"{ROWS} {BELOW} if (A[i][k] > alpha) B[i][j] += A[i][k] * B[k][j];",
    "what a condition reads": f"{ROWS} {BELOW} if (B[k][j] > 0) B[i][j] += A[i][k];",
    "values of the rows above": f"{ROWS} for (int k = 0; k < i; k++) B[i][j] -= A[i][k] * B[k][j];",
    "a vector": "for (int i = 0; i < m; i++) for (int k = i + 1; k < m; k++) x[i] += A[i][k] * x[k];",
}
UNCHANGED = ("one read of two that find values of other rows", "values of the rows above")
SIZES = ((0, 0), (0, 3), (3, 0), (1, 1), (2, 5), (7, 4), (13, 18))


def source(body: str, ctype: str) -> str:
    arrays = "A[restrict m][m], T B[restrict m][n], T C[restrict m][n], T D[restrict n][n], T x[restrict m]"
    text = f"void f(int m, int n, T alpha, T {arrays})\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
    return f"#define T {ctype}\n{text}"


pytestmark = pytest.mark.usefixtures("emulator")


@pytest.mark.parametrize(("name", "ctype"), list(zip(PROGRAMS, cycle(("double", "float")), strict=False)))
def test_products_in_place_are_the_same_as_in_c(name: str, ctype: str) -> None:
    seen: set[str] = set()  # a strategy that finds no schedule makes what another one made
    for schedule in ("auto", *STRATEGIES):
        result = polytile.compile(source(PROGRAMS[name], ctype), schedule=schedule)
        (found,) = result.scops
        if code(result.cuda) in seen:
            continue
        seen.add(code(result.cuda))
        for m, n in SIZES:
            known = {p.name for p in found.compilation.scop.parameters}
            sizes = {k: v for k, v in (("m", m), ("n", n)) if k in known}
            found.validate(on="emulator", parameters=sizes, seed=1)


@pytest.mark.quick
@pytest.mark.parametrize("name", PROGRAMS)
def test_which_programs_copy_their_inputs(name: str) -> None:
    found = polytile.compile(source(PROGRAMS[name], "double"), schedule="superposed").scops[0].compilation
    assert bool(found.scop.prologue) == (name not in UNCHANGED)


@pytest.mark.parametrize("name", ["lower left", "upper right", "two arrays", "under a condition"])
def test_their_kernels_pass_all_checks(name: str) -> None:
    (found,) = polytile.compile(source(PROGRAMS[name], "double"), schedule="superposed").scops
    found.validate(on="emulator", parameters={"m": 7, "n": 5}, seed=1, sanitize="all")


# Random updates in place --------------------------------------------------------------------------------------------
def updates(draw: random.Random) -> str:
    """Three loops in either direction around updates of B and C, which also read other elements of these."""
    pick = draw.choice

    def loop(name: str, low: str, high: str) -> str:
        up = f"int {name} = {low}; {name} < {high}; {name}++"
        down = f"int {name} = {high} - 1; {name} >= {low}; {name}--"
        return f"for ({pick((up, up, down))}) "

    def element(array: str) -> str:
        return f"{array}[{pick(('i', 'k', 'k + 1', 'i + 1', 'm - i'))}][{pick(('j', 'j', 'j + 1', 'k'))}]"

    def statement() -> str:
        terms = (f"A[i][k] * {element(pick('BBC'))}", element(pick("BC")), f"(i > 2 ? {element('B')} : alpha)")
        value = " + ".join(draw.sample(terms, pick((1, 1, 2))))
        guard = pick(("", "", "", "if (k > 2) ", "if (A[i][k] > 0) "))
        return f"{guard}{pick('BBC')}[i][j] {pick(('+=', '+=', '='))} {value};"

    inner = pick((("i + 1", "m"), ("i + 1", "m"), ("0", "i"), ("j", "n"), ("i", "m")))
    before, behind = pick(("", "", "B[i][j] = B[i][j] / 2; ")), pick(("", "", "C[i][j] += B[i][j];"))
    body = " ".join(statement() for _ in range(pick((1, 1, 2))))
    return f"{loop('i', '0', 'm')}{loop('j', '0', 'n')}{{ {before}{loop('k', *inner)}{{ {body} }} {behind} }}"


def random_source(draw: random.Random) -> str:
    text = source(updates(draw), draw.choice(("double", "float")))
    wide = "restrict m + n + 2][m + n + 2]"
    return text.replace("restrict m][m]", wide).replace("restrict m][n]", wide)


@pytest.mark.parametrize("number", range(SEEDS))
def test_random_updates_in_place(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies are taken wherever they are possible, also where they do not pay."""
    monkeypatch.setattr(select_schedule, "is_better", lambda candidate, best: candidate.estimate is not None)
    draw = random.Random(f"in place {number}")
    text = random_source(draw)
    note = f"\n{text}"
    (found,) = polytile.compile(text, schedule=draw.choice(list(STRATEGIES))).scops
    certified = json.loads(polytile.compile(text, schedule="classic").certificate)["scops"]
    assert [line for scop in certified for line in problems(scop)] == [], note
    for m, n in ((0, 1), (1, 1), (4, 3), (6, 7)):
        found.validate(on="emulator", parameters={"m": m, "n": n}, seed=1)
