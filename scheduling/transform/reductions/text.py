"""Reductions in schedule files: which ones were split, or turned round, before the tree was made, a line each.

    # S1 runs backwards through j
    # S3 begins with { S3[i, j, k] : ... }
    # partial results of S2: chunks of i by 64, lanes of i by 8, tiles of j by 64 x 2, added up by 8 x 32 threads
    domain: "{ S1[i, j] : ...; S2_update[i, j] : ... }"

Tiles of 64 with tiles of 2 within them are 64 x 2, and 32 lanes of 2 neighbours each are lanes by 32 x 2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import islpy as isl

from polytile.diagnostics import UserError
from polytile.ir.partial_results import EarlyTerms, Privatised, Reordered, Reversed, Split
from polytile.ir.scop import Scop, Statement
from polytile.options import MAX_OPERATIONS
from polytile.scheduling.analysis.dependences import Dependences, analyse
from polytile.scheduling.transform.reductions.early_terms import accumulating, with_early_terms
from polytile.scheduling.transform.reductions.exact import is_exact
from polytile.scheduling.transform.reductions.loop_reversal import turned, upwards
from polytile.scheduling.transform.reductions.privatise import privatised
from polytile.scheduling.transform.reductions.term_order import reversible

_LINE = r"(?m)^# partial results of (\w+): ([^\n]*)$"
_BACKWARDS = r"(?m)^# (\w+) runs backwards through (\w+(?:, \w+)*)$"
_EARLY = r"(?m)^# (\w+) begins with ([^\n]*)$"
_PART = r"(chunks|lanes|tiles) of (\w+) by (\d+(?: x \d+)*)"
_ADDERS = r", added up by (\d+(?: x \d+)*) threads$"
_WHOLE = "only loops can that carry nothing but sums"
_HINT = "for example `# partial results of S2: chunks of i by 64, lanes of i by 8`"


def with_reductions(scop: Scop, tree: str) -> str:
    """Format a tree after a line for each reduction of the Scop that was split or reversed."""
    turned = (_order(scop, made) for made in scop.backwards)
    split = (_line(scop, made) for made in scop.privatised)
    return "".join(f"{line}\n" for line in (*turned, *split)) + tree


def _order(scop: Scop, made: Reordered) -> str:
    if isinstance(made, EarlyTerms):
        return f"# {made.update} begins with {made.first}"
    loops = ", ".join(scop.statement(made.update).iterators[k] for k in made.loops)
    return f"# {made.update} runs backwards through {loops}"


def _line(scop: Scop, made: Privatised) -> str:
    names = scop.statement(made.update).iterators
    parts = [f"{'lanes' if s.lanes else 'chunks'} of {names[s.iterator]} by {_size(s)}" for s in made.splits]
    parts += [f"tiles of {names[iterator]} by {' x '.join(map(str, tiles))}" for iterator, tiles in made.blocked]
    if made.gathering:
        parts.append(f"added up by {' x '.join(map(str, made.gathering.threads))} threads")
    return f"# partial results of {made.statement}: {', '.join(parts)}"


def _size(split: Split) -> str:
    return f"{split.size} x {split.unit}" if split.unit > 1 else f"{split.size}"


def rounds_otherwise(scop: Scop, text: str) -> bool:
    """Return whether a schedule's text changes the order of a reduction of the Scop whose result depends on it."""
    names = {match[1] for line in (_LINE, _BACKWARDS) for match in re.finditer(line, text)}
    early = {match[1] for match in re.finditer(_EARLY, text)}
    known = {made.update for made in accumulating(scop)} if early else set()
    exact = {made.update for made in accumulating(scop, strict=True)} if early else set()
    return bool(early & known - exact) or any(s.name in names and not is_exact(s) for s in scop.statements)


def with_reductions_of(scop: Scop, dependences: Dependences, text: str) -> tuple[Scop, Dependences, str]:
    """Split and reverse reductions of the Scop as a schedule's text says; also returns the text of the tree.

    Raises UserError where a line is not one, or a reduction cannot be split so.
    """
    turned = _with_early_terms_of(_turned_as_in(scop, dependences, text), text)
    if turned is not scop:
        scop, dependences = turned, analyse(turned, MAX_OPERATIONS, (scop, dependences))
    lines = list(_lines(scop, text))
    scop = upwards(scop, dependences, [_statement(scop, name, "with partial results").name for name, _, _ in lines])
    for name, parts, threads in lines:
        statement = scop.statement(name)
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
    return scop, dependences, re.sub(f"{_LINE}|{_BACKWARDS[4:]}|{_EARLY[4:]}", "", text).lstrip("\n")


def _turned_as_in(scop: Scop, dependences: Dependences, text: str) -> Scop:
    """Reverse the reductions of the Scop that a schedule's text names."""
    wanted: list[Reversed] = []
    for match in re.finditer(_BACKWARDS, text):
        statement = _statement(scop, match[1], "that could run backwards")
        made = reversible(scop, dependences, statement)
        names = match[2].split(", ")
        if made is None or not {statement.iterators[k] for k in made.loops}.issuperset(names):
            raise _refused(scop, f"{match[1]} cannot run backwards through {match[2]}", _WHOLE)
        wanted.append(replace(made, loops=tuple(k for k in made.loops if statement.iterators[k] in names)))
    found = turned(scop, dependences, wanted) if wanted else scop
    if found is None or found.backwards != (*scop.backwards, *wanted):
        raise _refused(scop, "a loop that is to run backwards carries more than sums", _WHOLE)
    return found


def _with_early_terms_of(scop: Scop, text: str) -> Scop:
    """Let reductions begin with the steps that a schedule's text names."""
    for match in re.finditer(_EARLY, text):
        made = next((one for one in accumulating(scop) if one.update == match[1]), None)
        try:
            known = isl.UnionSet(match[2]).is_subset(scop.domain)
        except isl.Error:
            known = False
        if made is None or not known:
            raise _refused(scop, f"{match[1]} cannot begin with {match[2]}", "only steps of reductions can come first")
        scop = with_early_terms(scop, replace(made, first=match[2]))
    return scop


def _statement(scop: Scop, name: str, what: str) -> Statement:
    found = next((s for s in scop.statements if s.name == name), None)
    if found is None:
        raise _refused(scop, f"there is no statement {name} {what}", "use the statements' names")
    return found


def _fits(kind: str, sizes: tuple[int, ...]) -> bool:
    """Return whether chunks have a size, lanes one and perhaps that of their neighbours, and tiles divide one another.
    """
    most = {"chunks": 1, "lanes": 2, "tiles": len(sizes)}[kind]
    whole = all(size and not before % size for before, size in pairwise(sizes))
    return min(sizes) > 0 and len(sizes) <= most and (kind != "tiles" or whole)


def _lines(scop: Scop, text: str) -> Iterator[tuple[str, list[tuple[str, str, tuple[int, ...]]], tuple[int, ...]]]:
    """Parse the statement of each line, the parts of its splits, and the threads that add up chunks."""
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
