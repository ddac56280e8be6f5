"""How many planes of a stream a tile owns where `at_once` tiles run beside one another, which the host finds when it
knows how many there are: those with which all tiles pass in the fewest planes.

before: 200 tiles of 512 planes, 132 at once: 2 turns of 512 + 6 planes
after:  600 tiles of 171 planes: 5 turns of 171 + 6 planes
"""

from __future__ import annotations

FUNCTION = "chunk_length"  # of index expressions: polytile_chunk_length in templates/helpers.cu.j2 computes the same
TURNS = 6  # in which tiles may run one after another, that are looked at
MORE_TURNS = 19, 20  # of the planes that pass: for less, tiles run in fewer turns


def chunk_length(planes: int, across: int, at_once: int, latest: int, least: int) -> int:
    """Return the planes that each of the tiles owns, `least` or more: there are `across` tiles beside one another, and
    `latest` planes pass before the first that a tile owns is made."""
    across = max(across, 1)
    owned = fewest = -1
    first = _up(across, at_once)
    for turns in range(first, first + TURNS):
        length = max(_up(planes, max(turns * at_once // across, 1)), least)
        passed = _up(across * _up(planes, length), at_once) * (min(length, planes) + latest)
        if fewest < 0 or passed * MORE_TURNS[1] < fewest * MORE_TURNS[0]:
            owned, fewest = length, passed
    return owned


def _up(value: int, by: int) -> int:
    """Divide and round up; 0 for what is negative."""
    return max(value + by - 1, 0) // by
