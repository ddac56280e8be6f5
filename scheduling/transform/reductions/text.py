"""Partial results in schedule files: which reductions were split before the tree was made, a line each.

    # partial results of S2: chunks of i by 64, lanes of i by 8, tiles of j by 64 x 2, added up by 8 x 32 threads
    domain: "{ S2_update[i, j] : ... }"

Tiles of 64 with tiles of 2 within them are 64 x 2, and 32 lanes of 2 neighbours each are lanes by 32 x 2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from polytile.diagnostics import UserError
from polytile.ir.partial_results import Privatised, Split
from polytile.ir.scop import Scop
from polytile.scheduling.analysis.dependences import Dependences
from polytile.scheduling.transform.reductions.privatise import privatised

_LINE = r"(?m)^# partial results of (\w+): ([^\n]*)$"
_PART = r"(chunks|lanes|tiles) of (\w+) by (\d+(?: x \d+)*)"
_ADDERS = r", added up by (\d+(?: x \d+)*) threads$"
_HINT = "for example `# partial results of S2: chunks of i by 64, lanes of i by 8`"


def with_partials(scop: Scop, tree: str) -> str:
    """The text of a tree behind a line for each reduction of the Scop that was split."""
    return "".join(f"{_line(scop, made)}\n" for made in scop.privatised) + tree


def _line(scop: Scop, made: Privatised) -> str:
    names = scop.statement(made.update).iterators
    parts = [f"{'lanes' if s.lanes else 'chunks'} of {names[s.iterator]} by {_size(s)}" for s in made.splits]
    parts += [f"tiles of {names[iterator]} by {' x '.join(map(str, tiles))}" for iterator, tiles in made.blocked]
    if made.gathering:
        parts.append(f"added up by {' x '.join(map(str, made.gathering.threads))} threads")
    return f"# partial results of {made.statement}: {', '.join(parts)}"


def _size(split: Split) -> str:
    return f"{split.size} x {split.unit}" if split.unit > 1 else f"{split.size}"


def split_as_in(scop: Scop, dependences: Dependences, text: str) -> tuple[Scop, Dependences, str]:
    """The Scop with reductions split as a schedule's text says, and the text of the tree.

    Raises UserError where a line is not one, or a reduction cannot be split so.
    """
    for name, parts, threads in _lines(scop, text):
        statement = next((s for s in scop.statements if s.name == name), None)
        if statement is None:
            raise _refused(scop, f"there is no statement {name} with partial results", "use the statements' names")
        splits: list[Split] = []
        blocked: dict[int, tuple[int, ...]] = {}
        for kind, iterator, sizes in parts:
            if iterator not in statement.iterators or not _fits(kind, sizes):
                raise _refused(scop, f"{name} has no {kind} of {iterator} by {' x '.join(map(str, sizes))}", _HINT)
            position = statement.iterators.index(iterator)
            if kind == "tiles":
                blocked[position] = sizes
            else:
                splits.append(Split(position, sizes[0], kind == "lanes", *sizes[1:]))
        adders = {len(threads) - 1: threads} if threads and min(threads) > 0 else {}
        result = privatised(scop, dependences, name, splits, blocked, adders)
        if result is None:
            raise _refused(scop, f"{name} has no such partial results", "only reductions over whole loops can be split")
        scop, dependences = result
    return scop, dependences, re.sub(_LINE, "", text).lstrip("\n")


def _fits(kind: str, sizes: tuple[int, ...]) -> bool:
    """Whether chunks have a size, lanes one and perhaps that of their neighbours, and tiles divide one another."""
    most = {"chunks": 1, "lanes": 2, "tiles": len(sizes)}[kind]
    whole = all(size and not before % size for before, size in pairwise(sizes))
    return min(sizes) > 0 and len(sizes) <= most and (kind != "tiles" or whole)


def _lines(scop: Scop, text: str) -> Iterator[tuple[str, list[tuple[str, str, tuple[int, ...]]], tuple[int, ...]]]:
    """The statement of each line, the parts of its splits, and the threads that add up chunks."""
    for match in re.finditer(_LINE, text):
        adders = re.search(_ADDERS, match[2])
        threads = _sizes(adders[1]) if adders else ()
        words = [re.fullmatch(_PART, word) for word in re.sub(_ADDERS, "", match[2]).split(", ")]
        if None in words:
            raise _refused(scop, f"cannot read {match[0]!r}", _HINT)
        yield match[1], [(word[1], word[2], _sizes(word[3])) for word in words if word], threads


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(size[:9]) for size in text.split(" x "))


def _refused(scop: Scop, message: str, hint: str) -> UserError:
    return UserError(f"the schedule of {scop.name}: {message}", location=scop.location, hint=hint)
