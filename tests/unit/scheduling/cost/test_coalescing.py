"""Sectors per warp request, against the addresses of the lanes one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import islpy as isl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polytile.frontend.program import read_program
from polytile.ir.scop import AccessKind, Scop
from polytile.scheduling.cost import Lane, Request, predict
from polytile.scheduling.cost.addresses import Lanes

OUTER, INNER = 0, 1


def reads(scop: Callable[..., Scop], access: str, *lanes: Lane, element: str = "double", **parameters: int) -> Request:
    body = f"for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) x[0] = x[0] + {access};"
    arguments = f"int n, int m, {element} A[4 * n][m], {element} N[n][2], {element} v[8 * n], {element} x[1]"
    program = scop(arguments, body)
    found = predict(program, program.statements[0].name, lanes, parameters)
    return next(r for r in found if r.access.array != "x" and r.access.kind is AccessKind.READ)


# Access, iterator along x, sectors (doubles), whether ideal.
CASES = [
    ("A[i][j]", INNER, 8.0, True),
    ("A[i][j]", OUTER, 32.0, False),
    ("A[j][i]", OUTER, 8.0, True),
    ("A[i][j + 1]", INNER, 9.0, True),
    ("A[i][j + 4]", INNER, 8.0, True),
    ("A[i + 1][j]", INNER, 8.0, True),
    ("A[i][2 * j]", INNER, 16.0, False),
    ("A[i][4 * j]", INNER, 32.0, False),
    ("A[i][j / 2]", INNER, 4.0, True),
    ("A[i][j % 8]", INNER, 2.0, True),
    ("A[j][j]", INNER, 32.0, False),
    ("A[j][j]", OUTER, 1.0, True),
    ("A[i + j][i]", INNER, 32.0, False),
    ("v[i + j]", INNER, 8.75, True),
    ("v[i]", INNER, 1.0, True),
    ("v[3]", OUTER, 1.0, True),
    ("v[4 * i + j]", INNER, 8.0, True),
    ("v[2 * i + j]", INNER, 8.5, True),
    ("N[i][1]", OUTER, 16.0, False),
    ("N[j][0]", INNER, 16.0, False),
]


@pytest.mark.parametrize(("access", "along", "sectors", "ideal"), CASES)
def test_doubles(scop: Callable[..., Scop], access: str, along: int, sectors: float, ideal: bool) -> None:
    found = reads(scop, access, Lane(along))
    assert (found.sectors, found.ideal, found.exact) == (sectors, ideal, True)


@pytest.mark.parametrize(("element", "sectors"), [("float", 4.0), ("double", 8.0), ("char", 1.0), ("short", 2.0)])
def test_sizes_of_elements(scop: Callable[..., Scop], element: str, sectors: float) -> None:
    assert reads(scop, "v[j]", Lane(INNER), element=element).sectors == sectors
    assert reads(scop, "A[j][i]", Lane(INNER), element=element).sectors == 32


def test_backwards(scop: Callable[..., Scop]) -> None:
    """Lane 0 is at a multiple of the warp, the other lanes below it: one sector more."""
    assert reads(scop, "A[i][j]", Lane(INNER, sign=-1)).sectors == 9


@pytest.mark.parametrize(
    ("x", "sectors"),
    [(32, 8.0), (16, 8.0), (8, 8.0), (4, 8.0), (1, 32.0)],
)
def test_blocks_narrower_than_a_warp(scop: Callable[..., Scop], x: int, sectors: float) -> None:
    """A warp takes several rows, 32 / x, of x columns each."""
    assert reads(scop, "A[i][j]", Lane(INNER, x), Lane(OUTER, 64)).sectors == sectors
    assert reads(scop, "v[i]", Lane(INNER, x), Lane(OUTER, 64)).sectors == max(1, 32 // x // 4)


def test_a_block_of_fewer_threads_than_a_warp(scop: Callable[..., Scop]) -> None:
    assert reads(scop, "A[i][j]", Lane(INNER, 8)).sectors == 2
    assert reads(scop, "A[i][j]", Lane(INNER, 4), Lane(OUTER, 2)).sectors == 2


@pytest.mark.parametrize(("m", "sectors"), [(64, 8.0), (65, 8.75), (66, 8.5), (3, 8.75)])
def test_rows_of_known_length(scop: Callable[..., Scop], m: int, sectors: float) -> None:
    """The start of a row shifts with i, unless rows are whole sectors."""
    assert reads(scop, "A[i][j]", Lane(INNER), m=m).sectors == sectors


@pytest.mark.parametrize("m", [1, 2, 3, 5, 64])
@pytest.mark.parametrize("access", ["A[j][i]", "A[i][j]", "A[j][2 * i]", "A[2 * j + 1][0]"])
def test_against_addresses(scop: Callable[..., Scop], access: str, m: int) -> None:
    """The mean over many i of the sectors that 32 lanes along j touch."""
    subscripts = {
        "A[j][i]": lambda i, j: (j, i),
        "A[i][j]": lambda i, j: (i, j),
        "A[j][2 * i]": lambda i, j: (j, 2 * i),
        "A[2 * j + 1][0]": lambda i, j: (2 * j + 1, 0),
    }[access]

    def sectors(i: int) -> int:
        elements = (subscripts(i, j) for j in range(32))
        return len({8 * (row * m + column) // 32 for row, column in elements})

    mean = sum(map(sectors, range(64))) / 64
    assert reads(scop, access, Lane(INNER), m=m).sectors == pytest.approx(mean)



@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    row=st.tuples(st.integers(0, 3), st.integers(0, 3)),
    column=st.tuples(st.integers(0, 4), st.integers(-2, 4)),
    constant=st.integers(0, 9),
    m=st.integers(1, 40),
    x=st.sampled_from([4, 8, 16, 32]),
)
def test_any_affine_access(
    row: tuple[int, int], column: tuple[int, int], constant: int, m: int, x: int
) -> None:
    """The mean over the requests of many warps, with x lanes along j and the other lanes of the warp along i."""
    access = f"A[{row[0]} * k + {row[1]} * j][{column[0]} * k + {column[1]} * j + i + {constant}]"
    text = (
        f"void f(int n, int m, double A[n][m], double x[1]) {{\n#pragma scop\n"
        f"for (int k = 0; k < n; k++) for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) x[0] += {access};\n"
        f"#pragma endscop\n}}\n"
    )
    (program,) = read_program("test.c", text).scops
    found = predict(program, program.statements[0].name, (Lane(2, x), Lane(1, 64)), {"m": m})
    predicted = next(r for r in found if r.access.array == "A").sectors

    def sectors(k: int, first_i: int, first_j: int) -> int:
        lanes = ((32 // x * first_i + lane // x, x * first_j + lane % x) for lane in range(32))
        elements = ((row[0] * k + row[1] * j) * m + column[0] * k + column[1] * j + i + constant for i, j in lanes)
        return len({8 * element // 32 for element in elements})

    warps = [sectors(*where) for where in product(range(4), repeat=3)]  # alignments repeat after four elements
    assert predicted == pytest.approx(sum(warps) / len(warps))


def test_fields_of_structs() -> None:
    """One field of neighbouring structs of 24 bytes: 32 elements in 24 sectors, of which 8 would do."""
    text = (
        "struct P { double x, y; float z; };\n"
        "void f(int n, struct P p[n], double a[n]) {\n#pragma scop\n"
        "for (int i = 0; i < n; i++) a[i] = p[i].y + p[i].z;\n#pragma endscop\n}\n"
    )
    (program,) = read_program("test.c", text).scops
    found = predict(program, program.statements[0].name, (Lane(0),))
    fields = [r for r in found if r.access.array == "p"]
    assert [r.sectors for r in fields] == [
        len({(24 * i + offset) // 32 for i in range(32)}) for offset in (8, 16)
    ]
    assert [r.least for r in fields] == [8, 4]
    assert not any(r.ideal for r in fields)


@pytest.mark.parametrize(("access", "along"), [("t.k[i][j]", INNER), ("t.k[i][j]", OUTER), ("t.k[j][i]", OUTER)])
def test_arrays_inside_structs(access: str, along: int) -> None:
    """Behind a whole line, they have the requests of the same array by itself."""
    loops = "for (int i = 0; i < 6; i++) for (int j = 0; j < 30; j++)"
    text = (
        "struct table { double d[16]; float k[30][32]; };\n"
        "void f(const struct table *t, const float k[30][32], float x[6][32], float y[6][32]) {\n#pragma scop\n"
        f"{loops} x[i][j] = {access.replace('t.', 't->')};\n{loops} y[i][j] = {access.replace('t.', '')};\n"
        "#pragma endscop\n}\n"
    )
    (program,) = read_program("test.c", text).scops
    inside, alone = (predict(program, s.name, (Lane(along),))[0] for s in program.statements)
    assert inside.access.array == "t" and alone.access.array == "k"
    assert inside.exact and (inside.sectors, inside.lines) == (alone.sectors, alone.lines)


def test_neighbours_are_vectors(scop: Callable[..., Scop]) -> None:
    """Where they are next to each other in memory, that many fit, and the array moves with them."""
    tile = Lane(INNER, unit=2, inner=2)
    assert reads(scop, "A[i][j]", tile).sectors == 16 and reads(scop, "A[i][j]", tile).ideal
    apart = reads(scop, "A[i][j]", Lane(INNER, unit=2))
    assert apart.sectors == 16 and not apart.ideal
    assert reads(scop, "A[j][i]", tile).sectors == 32 and reads(scop, "v[i]", tile).sectors == 1
    assert reads(scop, "A[i][j]", Lane(INNER, unit=8, inner=8)).sectors == 32  # 64 bytes are no vector
    assert reads(scop, "A[i][j]", Lane(INNER, unit=4, inner=4), element="float").sectors == 16
    assert reads(scop, "A[i][j]", Lane(INNER, 8), Lane(OUTER, 4, unit=4)).sectors == 8


def test_unknown_subscripts_are_bounded() -> None:
    """An access that may go anywhere takes a sector for each lane."""
    text = (
        "void f(int n, double A[n], double x[n]) {\n#pragma scop\n"
        "for (int i = 0; i < n; i++) A[i] = x[i];\n#pragma endscop\n}\n"
    )
    (program,) = read_program("test.c", text).scops
    (statement,) = program.statements
    name = statement.name
    anywhere = isl.Map(f"[n] -> {{ {name}[i] -> A[a] : 0 <= a < n }}")
    accesses = tuple(replace(a, relation=anywhere) if a.array == "A" else a for a in statement.accesses)
    program = replace(program, statements=(replace(statement, accesses=accesses),))
    found = {r.access.array: r for r in predict(program, name, (Lane(0),))}
    assert (found["A"].sectors, found["A"].exact, found["A"].ideal) == (32, False, False)
    assert (found["x"].sectors, found["x"].exact) == (8, True)


@pytest.mark.parametrize("size", [4, 8, 64])
@pytest.mark.parametrize("shift", [0, 8, 24, 120])
def test_shifts_by_an_alignment_touch_the_same(size: int, shift: int) -> None:
    cells = ({(0,): {0, 8, 16, 248}, (1,): {40}},)
    for further in (8, 16, 104):
        one, other = (Lanes(cells, 8, 8).touch(size, s) for s in (shift, shift + further))
        assert one == other
    apart = [Lanes(cells, 32, 128).touch(size, s) for s in (0, 120)]
    assert apart[0] != apart[1]
