"""Random iterated stencils on ranks, against C: `mpirun -n 8 python -m tests.ranks.random_programs FIRST END`.

Sweeps over one array from another, over planes that take turns, and in place; offsets up to 2 in any direction, more on
one side than on the other.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from random import Random

from tests.ranks.programs import MODES, RANKS, Case, Program, run_all

FAR = 2


class Text:
    """The C of one program."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.rank = self.random.choice((1, 2, 2, 3))
        self.iterators = "ijk"[: self.rank]
        self.sizes = tuple(f"n{x}" for x in self.iterators)
        self.form = self.random.choice(("turns", "planes", "in place", "three"))

    def c(self) -> str:
        """The function."""
        extents = "".join(f"[{n}]" for n in self.sizes)
        planes = "[2]" if self.form == "planes" else ""
        names = {"turns": "AB", "planes": "AK", "in place": "AB", "three": "ABCK"}[self.form]
        arrays = ", ".join(f"double {name}{planes if name == 'A' else ''}{extents}" for name in names)
        sizes = ", ".join(f"int {n}" for n in self.sizes)
        body = "\n".join(self.sweep(*each) for each in self.sweeps())
        return (
            f"void f(int steps, {sizes}, {arrays})\n{{\n#pragma scop\n"
            f"for (int t = 0; t < steps; t++) {{\n{body}\n}}\n#pragma endscop\n}}\n"
        )

    def sweeps(self) -> list[tuple[str, str]]:
        """What is assigned, and the sums that are."""
        match self.form:
            case "planes":
                return [("A[(t + 1) % 2]@ =", f"{self.terms('A[t % 2]')} + K@ * A[t % 2]@")]
            case "turns":
                return [("B@ =", self.terms("A")), ("A@ =", self.terms("B"))]
            case "in place":
                return [("A@ +=", self.terms("B")), ("B@ -=", self.terms("A"))]
            case _:
                return [
                    ("C@ =", f"{self.terms('A')} + K@"),
                    ("B@ =", f"0.5 * C@ + {self.terms('C')}"),
                    ("A@ =", f"A@ + {self.terms('B')} - 0.1 * C@"),
                ]

    def terms(self, array: str) -> str:
        """A sum of elements around the own one."""
        straight = self.random.random() < 0.5
        found = []
        for _ in range(self.random.randint(2, 4)):
            offsets = [self.random.randint(-FAR, FAR) for _ in self.iterators]
            if straight:
                kept = self.random.randrange(self.rank)
                offsets = [o if k == kept else 0 for k, o in enumerate(offsets)]
            subscripts = "".join(f"[{x} + {o}]" for x, o in zip(self.iterators, offsets, strict=True))
            found.append(f"0.{self.random.randint(1, 3)} * {array}{subscripts}")
        return " + ".join(found)

    def sweep(self, target: str, value: str) -> str:
        """The loops around an assignment; `@` are the subscripts of the own element."""
        loops = "".join(
            f"for (int {x} = {FAR + self.random.randint(0, 1)}; {x} < {n} - {FAR}; {x}++)\n"
            for x, n in zip(self.iterators, self.sizes, strict=True)
        )
        own = "".join(f"[{x}]" for x in self.iterators)
        return f"{loops}{target} {value};".replace("@", own)


def case(seed: int) -> tuple[Program, Case]:
    """A program, and how it runs."""
    text = Text(seed)
    program = Program(f"random {seed}", text.c(), text.sizes, "steps")
    random = Random(-seed)
    chosen = Case(
        program.name,
        random.choice(RANKS[1:]),
        random.randint(1, text.rank),
        random.randint(1, 3),
        random.choice(MODES),
        random.random() < 0.5,
    )
    return program, chosen


def main(arguments: Sequence[str]) -> None:
    """Run the programs from the first seed to the one in front of the end."""
    run_all([case(seed) for seed in range(*map(int, arguments))])


if __name__ == "__main__":
    main(sys.argv[1:])
