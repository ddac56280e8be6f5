"""The kernel that sums up the partial results of a group's blocks, and what else it can do in passing.

before: kernel { y = 0 }  kernel { partial results of y }  kernel { y += partial results }  kernel { y += z }
after:  kernel { partial results of y }  kernel { y = 0; y += partial results; y += z }

Where lanes add up the chunks, the loop over these comes first, and a barrier behind it.

Statements are taken along that stand alone in their kernels, run once for each result, and touch of the results only
their own; those from before the partial results also have to mind nothing that is read or written meanwhile. A single
result takes along what one thread runs, of any arrays:

before: kernel { s = 0 }  kernel { partial results of s }  kernel { s += partial results }  kernel { o[0] = s / n }
after:  kernel { partial results of s }  kernel { s = 0; s += partial results; o[0] = s / n }
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.digraph import connected
from polytile.ir.scop import AccessKind, Statement
from polytile.scheduling.strategies.superposed.kernel_formation import FormedKernel, Host, Serial
from polytile.scheduling.strategies.superposed.loop_tree import Loop, Tree, statements_of
from polytile.scheduling.strategies.superposed.loop_tree import Sequence as InTurn
from polytile.scheduling.strategies.superposed.reduction_statements import Part, Parts
from polytile.scheduling.strategies.superposed.thread_mapping import nests_of

READS = (AccessKind.READ,)
WRITES = (AccessKind.WRITE, AccessKind.MAY_WRITE)


@dataclass(frozen=True, slots=True)
class Tail:
    """Statements of one kernel behind a group, in order, which all run through the same iterators first."""

    parts: tuple[Part, ...]
    rank: int


@dataclass(frozen=True, slots=True)
class Tailed:
    """A group with the kernels behind it."""

    group: FormedKernel
    tails: tuple[Tail, ...]


Found = list[Host | Tailed | None]  # None: taken along


def with_tails(parts: Parts, children: Sequence[Host]) -> list[Host | Tailed]:
    """Add the second stages of their sums to the kernels of a sequence.

    What second stages do besides is left out of the sequence.
    """
    found: Found = [tailed(parts, child) if isinstance(child, FormedKernel) else child for child in children]
    for i in range(len(found)):
        host = found[i]
        if isinstance(host, Tailed) and host.tails:
            found[i] = _behind(parts, _before(parts, host, found, i), found, i)
    return [host for host in found if host is not None]


def tailed(parts: Parts, group: FormedKernel) -> Tailed:
    """Return a group with a second-stage kernel for the sums of each rank."""
    sums = [part for name in group.statements for part in parts.sums(name)]
    ranks = sorted({_rank(part) for part in sums})
    return Tailed(group, tuple(Tail(tuple(p for p in sums if _rank(p) == rank), rank) for rank in ranks))


def apart(tail: Tail) -> list[list[Part]]:
    """Split a second stage into groups that share no array which is written: blocks can run them side by side."""
    parts = {part.statement: part for part in tail.parts}
    meets = [(a, b) for a in parts for b in parts if a < b and _conflict([parts[a]], [parts[b]])]
    return [[part for name, part in parts.items() if name in group] for group in connected(parts, meets)]


def _rank(part: Part) -> int:
    """Count the iterators that index results."""
    return len(part.made.group if part.made else part.scop.statement(part.statement).iterators)


def _before(parts: Parts, host: Tailed, found: Found, i: int) -> Tailed:
    """Add the starts that can wait to the host's second stage; they are taken out of `found`."""
    meanwhile = [part for name in host.group.statements for part in parts.inside(name)]
    for j in reversed(range(i)):
        other = found[j]
        if other is None:
            continue
        alone = _alone(parts, other)
        if alone and not _conflict(alone, meanwhile):
            grown = _joined(host, alone, first=True)
            if grown is not None:
                host, found[j] = grown, None
                continue
        if not isinstance(other, Tailed):
            if not alone:
                break
            meanwhile += alone
            continue
        meanwhile += [part for name in other.group.statements for part in parts.inside(name)]
        meanwhile += [part for tail in other.tails for part in tail.parts]
    return host


def _behind(parts: Parts, host: Tailed, found: Found, i: int) -> Tailed:
    """Add the kernels directly after the host to its second stage where that can run them as well."""
    for j in range(i + 1, len(found)):
        alone = _alone(parts, found[j])
        grown = _joined(host, alone, first=False) if alone else None
        if grown is None:
            break
        host, found[j] = grown, None
    return host


def _alone(parts: Parts, host: Host | Tailed | None) -> list[Part]:
    """Return the statements of a kernel that run once for each result, or once; none where a kernel has other ones."""
    names: tuple[str, ...] = ()
    if isinstance(host, Tailed) and not host.tails and _elementwise(host.group):
        names = host.group.statements
    elif isinstance(host, Serial) and not _loops(host.tree):
        names = statements_of(host.tree)
    return [Part(parts.scop, name) for name in names]


def _elementwise(group: FormedKernel) -> bool:
    """Return whether every statement runs in parallel over all its iterators."""
    nests = list(nests_of(group.inside))
    return bool(group.blocks) and all(all(n.parallel for n in nest.loops) and not _loops(nest.body) for nest in nests)


def _loops(tree: Tree) -> bool:
    return isinstance(tree, Loop) or (isinstance(tree, InTurn) and any(_loops(child) for child in tree.children))


def _joined(host: Tailed, alone: list[Part], *, first: bool) -> Tailed | None:
    """Add statements to the second stage of their rank, where one iteration touches all that both touch; else None."""
    for k, tail in enumerate(host.tails):
        together = [*tail.parts, *alone]
        if all(_rank(part) == tail.rank for part in alone) and _on_their_own(together, tail.rank):
            parts = (*alone, *tail.parts) if first else (*tail.parts, *alone)
            others = [p for n, t in enumerate(host.tails) if n != k for p in t.parts]
            made = Tail(parts, tail.rank)
            if any(_conflict([part], others) for part in alone) or (not tail.rank and len(apart(made)) > 1):
                return None  # lanes of several blocks add up single results: none of them may wait for a thread
            return Tailed(host.group, (*host.tails[:k], made, *host.tails[k + 1 :]))
    return None


def _on_their_own(parts: Sequence[Part], rank: int) -> bool:
    """Return whether different iterations touch different elements of all arrays that some of the statements write."""
    if not rank:
        return True  # one thread runs them
    statements = [part.scop.statement(part.statement) for part in parts]
    written = {a.array for s in statements for a in s.relations(*WRITES)}
    return all(
        a.relation.dim(isl.dim_type.out) == rank and _is_plain(a.relation, rank)
        for s in statements
        for a in s.relations(*READS, *WRITES)
        if a.array in written
    )


def _is_plain(relation: isl.Map, rank: int) -> bool:
    """Return whether an access has the first iterators as its subscripts, `{ S[i, c] -> x[i] }`."""
    plain = isl.Map.universe(relation.get_space())
    for i in range(rank):
        plain = plain.equate(isl.dim_type.in_, i, isl.dim_type.out, i)
    return bool(relation.is_subset(plain))


def _conflict(some: Iterable[Part], others: Iterable[Part]) -> bool:
    """Return whether one of two groups of statements writes an array that the other touches."""
    one, two = ([part.scop.statement(part.statement) for part in parts] for parts in (some, others))
    return bool(_arrays(one, *WRITES) & _arrays(two, *READS, *WRITES) or _arrays(two, *WRITES) & _arrays(one, *READS))


def _arrays(statements: Iterable[Statement], *kinds: AccessKind) -> set[str]:
    return {a.array for s in statements for a in s.relations(*kinds)}
