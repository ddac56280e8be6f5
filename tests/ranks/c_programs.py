"""C programs that call entries for ranks: a main for each, which runs many cases and compares with the C."""

from __future__ import annotations

import contextlib
import io
import subprocess
from collections.abc import Sequence
from pathlib import Path

from polytile.cli.main import main
from polytile.dataclass import dataclass
from tests.ranks.mpirun import launcher

COEFFICIENTS = ("a0", "a1", "a2", "a3", "b0", "b1", "b2", "c0", "c1", "c2", "wrk1", "bnd")
SOURCES = Path(__file__).parent / "c_entry"
HIMENO = Path(__file__).parents[2] / "docs" / "examples" / "himeno.c"


@dataclass(frozen=True, slots=True)
class Entry:
    """A function of `c_entry/`: its integers, and its other arguments in their order, each array with the elements that
    it has, each scalar with its value. `beside` is C of another entry that a case may call, `library`."""

    name: str
    element: str
    integers: tuple[str, ...]
    others: tuple[tuple[str, str], ...]
    scalars: tuple[str, ...] = ()
    beside: str = ""
    within: str = ""  # of the C's results, where sums have other bits; a case then also says which


@dataclass(frozen=True, slots=True)
class Case:
    """One run of an entry: on so many ranks, in this grid; `kind` is `entry`, `differ` (sizes differ) or `library`."""

    ranks: int
    mode: str
    grid: str
    integers: tuple[int, ...]
    kind: str = "entry"

    @property
    def words(self) -> list[str]:
        """The arguments of the program."""
        return [self.kind, str(self.ranks), self.mode, self.grid, *map(str, self.integers)]


ENTRIES = (
    Entry("jacobi", "double", ("steps", "n", "m"), (("A", "n * m"), ("B", "n * m")), beside="jacobi_library.c"),
    Entry("heat", "double", ("steps", "n", "m", "l"), (("A", "2 * n * m * l"),)),
    Entry(
        "fdtd",
        "double",
        ("steps", "n", "m"),
        (("ex", "n * m"), ("ey", "n * m"), ("hz", "n * m"), ("fict", "steps")),
    ),
    Entry(
        "himeno",
        "float",
        ("tsteps", "nx", "ny", "nz"),
        (("omega", "0.8f"), ("p", "2 * nx * ny * nz"), *((name, "nx * ny * nz") for name in COEFFICIENTS)),
        ("omega",),
    ),
    Entry(
        "wave",
        "double",
        ("steps", "nx", "ny", "sx", "sy", "rx", "ry"),
        (("c", "0.37"), ("u", "3 * nx * ny"), ("v", "nx * ny"), ("src", "steps"), ("rec", "steps")),
        ("c",),
    ),
    Entry(
        "receivers",
        "double",
        ("steps", "n", "m", "rx", "ry"),
        (("A", "2 * n * m"), ("seen", "2 * steps"), ("line", "n"), ("last", "1")),
    ),
    Entry(
        "cells",
        "int",
        ("steps", "n", "m"),
        (("A", "2 * n * m"), ("alive", "steps"), ("total", "1"), ("most", "2")),
    ),
    Entry(
        "residual",
        "double",
        ("steps", "n", "m"),
        (("A", "n * m"), ("B", "n * m"), ("e", "steps"), ("range", "2")),
        within="1e-13",
    ),
    Entry("poles", "double", ("n", "m"), (("A", "n * m"), ("s", "2")), within="1e-13"),
    Entry(
        "beyond",
        "double",
        ("steps", "n", "m"),
        (("A", "n * m"), ("c", "1"), ("rec", "n"), ("D", "n * m"), ("E", "n * m")),
    ),
)
BY_NAME = {entry.name: entry for entry in ENTRIES}

_MAIN = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "{name}_mpi.h"
#define {name} {name}_in_c
#include "{name}.c"
#undef {name}
{beside}
static {element} *filled(long long count, int number)
{{
    {element} *made = malloc(sizeof *made * (size_t)count + 1);
    for (long long e = 0; e < count; ++e) made[e] = ({element})((e * 7919 + number * 31) % 1009) / {divisor};
    return made;
}}

/* Whether elements are not equal to the C's: bit for bit, or up to a part of these; `bits` becomes a hash of them. */
static int differ_from(const {element} *found, const {element} *wanted, long long count, unsigned *bits)
{{
    int differs = 0;
    for (size_t k = 0; k < sizeof *found * (size_t)count; ++k)
        *bits = (*bits ^ ((const unsigned char *)found)[k]) * 16777619u;
    for (long long e = 0; e < count; ++e) {{
        const double far = (double)found[e] - (double)wanted[e], size = wanted[e] < 0 ? -wanted[e] : wanted[e];
        differs |= memcmp(&found[e], &wanted[e], sizeof *found)
            && !({within} + 0.0 > 0 && far <= {within} * size && -far <= {within} * size);
    }}
    return differs;
}}

static const char *run(MPI_Comm comm, int rank, const int *given, int differ)
{{
    int {integers};
    static char equal[32];
    unsigned bits = 2166136261u;
    int number = 0, differs = 0;
    {assigned}
    (void)number;
{made}
    {first} += differ * rank;
    const int status = {name}_mpi(comm, {passed});
    if (rank == 0 && status == 0) {{
        {name}_in_c({expected});
{compared}
    }}
{freed}
    sprintf(equal, "{equal}", bits);
    return status ? "refused" : differs ? "different" : equal;
}}

int main(int argc, char **argv)
{{
    int world;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world);
    for (char **at = argv + 1; *at; at += {words}) {{
        int given[16], rank;
        MPI_Comm comm;
        for (int k = 0; k < {count}; ++k) given[k] = atoi(at[4 + k]);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Comm_split(MPI_COMM_WORLD, world < atoi(at[1]) ? 0 : MPI_UNDEFINED, world, &comm);
        if (comm == MPI_COMM_NULL) continue;
        MPI_Comm_rank(comm, &rank);
        setenv("POLYTILE_EXCHANGE", at[2], 1);
        setenv("POLYTILE_RANKS", at[3], 1);
        const char *said = !strcmp(at[0], "library") ? {library} : run(comm, rank, given, !strcmp(at[0], "differ"));
        for (int each = 0; each < atoi(at[1]); ++each) {{
            int same = strcmp(said, "different");
            MPI_Allreduce(MPI_IN_PLACE, &same, 1, MPI_INT, MPI_LAND, comm);
            if (!same) said = "different";
        }}
        if (rank == 0) printf("%s\\n", said);
        MPI_Comm_free(&comm);
    }}
    MPI_Finalize();
    return 0;
}}
"""


def main_text(entry: Entry) -> str:
    """The text of main.c: each case of the command line prints `equal`, `different` or `refused`."""
    arrays = [(name, count) for name, count in entry.others if name not in entry.scalars]
    expected = [*entry.integers, *(n if n in entry.scalars else f"(void *)c_{n}" for n, _ in entry.others)]
    made = [f"    const {entry.element} {n} = {v};" for n, v in entry.others if n in entry.scalars]
    for name, count in arrays:
        made += [
            f"    {entry.element} *{name} = rank ? NULL : filled({count}, ++number);",
            f"    {entry.element} *c_{name} = rank ? NULL : filled({count}, number);",
        ]
    return _MAIN.format(
        name=entry.name,
        element=entry.element,
        integers=", ".join(entry.integers),
        first=entry.integers[1],
        assigned=" ".join(f"{name} = given[{k}];" for k, name in enumerate(entry.integers)),
        made="\n".join(made),
        passed=", ".join([*entry.integers, *(name for name, _ in entry.others)]),
        expected=", ".join(expected),
        compared="\n".join(f"        differs |= differ_from({n}, c_{n}, {c}, &bits);" for n, c in arrays),
        within=entry.within or "0",
        equal="equal:%x" if entry.within else "equal",
        divisor=17 if entry.element == "int" else 1009,
        freed="\n".join(f"    free({n}), free(c_{n});" for n, _ in arrays),
        count=len(entry.integers),
        words=len(entry.integers) + 4,
        beside=(SOURCES / entry.beside).read_text() if entry.beside else "",
        library="library(comm, rank, given)" if entry.beside else '"refused"',
    )


def source(entry: Entry) -> Path:
    """The file of an entry's function."""
    return HIMENO if entry.name == "himeno" else SOURCES / f"{entry.name}.c"


def built(entry: Entry, steps: int, folder: Path, on: str = "emulator", schedule: str = "auto") -> Path:
    """Build the program of an entry, with so many steps between two exchanges, by the command."""
    program, text = folder / f"{entry.name}_{steps}", folder / "main.c"
    text.write_text(main_text(entry))
    words = [str(source(entry)), *([] if entry.within else ["--fp", "strict"]), "--on", on, "-o", str(folder)]
    words += ["--ranks", "auto", "--steps-per-exchange", str(steps), "--schedule", schedule]
    words += ["--build", str(program), "--link", str(text)]
    with contextlib.redirect_stdout(io.StringIO()):
        status = main(words)
    assert status == 0
    return program


def run(program: Path, cases: Sequence[Case], **environment: str) -> subprocess.CompletedProcess[str]:
    """Run cases on as many ranks as the largest of them needs."""
    ranks = max(case.ranks for case in cases)
    command = [str(launcher()), "-n", str(ranks), *(f"-genv {n} {v}" for n, v in environment.items())]
    words = [word for one in command for word in one.split()]
    words += [str(program), *(word for case in cases for word in case.words)]
    return subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
