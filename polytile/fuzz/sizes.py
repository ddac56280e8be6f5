"""The sizes at which a program runs."""

from __future__ import annotations

from polytile.fuzz.draw import Draw
from polytile.fuzz.evaluate import holds
from polytile.fuzz.tree import OFFSET, OFFSET_RANGE, SIZES, Loop, Program

PRIMES = (3, 5, 7)
BIG = {1: (13, 19), 2: (13, 19), 3: (9, 11, 12), 4: (7, 8)}  # by the depth of the deepest nest


def draw_sizes(draw: Draw, program: Program) -> tuple[dict[str, int], ...]:
    """Draw zero, one, two, a prime and a bigger size, as far as the program's assumptions allow."""
    big = BIG[min(4, max(1, depth(program.functions)))]
    found: list[dict[str, int]] = []
    for n in (0, 1, 2, draw.one_of(PRIMES), draw.one_of(big)):
        m = draw.pick(n, n + 1, 0, 1, draw.one_of(PRIMES), draw.one_of(PRIMES), draw.one_of(big))
        sizes = {"n": n, "m": min(m, max(big)), OFFSET: draw.between(*OFFSET_RANGE), **dict(program.fixed)}
        for _ in range(8):
            if all(holds(a, sizes) for a in program.assumptions):
                break
            sizes = {**sizes, **{s: draw.between(0, max(big)) for s in SIZES if s not in dict(program.fixed)}}
        if all(holds(a, sizes) for a in program.assumptions) and sizes not in found:
            found.append(sizes)
    return tuple(found)


def depth(node: object) -> int:
    """Count the loops around the deepest statement."""
    if isinstance(node, tuple):
        return max(map(depth, node), default=0)
    inner = [getattr(node, name) for name in getattr(node, "__dataclass_fields__", ())]
    return isinstance(node, Loop) + max(map(depth, inner), default=0)
