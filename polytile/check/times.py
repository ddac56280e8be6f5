"""When the executions of a mapped tree run, its copies included, and which of them the GPU keeps in order.

Each execution has a vector of numbers: the values of band members, the numbers of the children of sequences, and at a
loop with copies the layer: 0 fills, 1 the body, 2 drains. Where two vectors differ first, the node there says whether
the first execution ends before the second starts: on the host always, between blocks never, at a barrier for all of a
block, else for executions of one thread.

    kernel / block [bi, bj] / loop[k0] / sync / band [k0] / S1
    S1 at [bi, bj, k0, 1], A_tile_fill[bi, bj, k0] at [bi, bj, k0, 0]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

import islpy as isl

from polytile.check.copies import WHOLE, Run, band_values, layers
from polytile.check.relations import dimensions, padded, union
from polytile.check.tree import LOOP, NODE, kernels, mark, thread_of
from polytile.dataclass import dataclass

KEPT, IN_THREAD, OPEN = "kept", "in thread", "open"


@dataclass(frozen=True, slots=True)
class Times:
    """`vectors` are `{ S[i] -> [numbers] }`, of one length; `apart[d]` has for number d those executions which it keeps
    apart from all others of a block, and those from others of their thread. `threads` has no copies of blocks."""

    vectors: isl.UnionMap
    apart: tuple[dict[str, isl.UnionSet], ...]
    threads: isl.UnionMap

    def kept(self, pairs: isl.UnionMap, executions: isl.UnionMap) -> isl.UnionMap:
        """Return the pairs whose first execution surely ends before the second starts. The pairs are of what
        `executions` has as such: `{ [S[i] -> A[j]] -> S[i] }`."""
        found = isl.UnionMap.empty(pairs.get_space())
        vectors, threads = executions.apply_range(self.vectors), executions.apply_range(self.threads)
        thread = isl.MultiUnionPwAff.from_union_map(threads)
        for d, apart in enumerate(self.apart):
            if pairs.is_empty():
                break
            number = isl.MultiUnionPwAff.from_union_map(vectors.apply_range(_number(d, len(self.apart))))
            later = pairs.lex_lt_at_multi_union_pw_aff(number)
            for kind, below in apart.items():
                those = later.intersect_domain(executions.intersect_range(below).domain())
                found = found.union(those if kind == KEPT else those.eq_at_multi_union_pw_aff(thread))
            pairs = pairs.eq_at_multi_union_pw_aff(number)
        return found


def _number(d: int, rank: int) -> isl.UnionMap:
    names = ", ".join(f"t{k}" for k in range(rank))
    return isl.UnionMap(f"{{ [{names}] -> [t{d}] }}")


def times(tree: isl.Schedule, copies: Sequence[Run]) -> Times:
    """Compute the times of a tree with copies."""
    walk = _Walk(tuple(copies))
    start = _Above(isl.UnionMap.from_domain_and_range(tree.get_domain(), isl.UnionSet("{ [] }")))
    walk.visit(tree.get_root().child(0), start)
    rank = len(walk.apart)
    found = [run.into(run.thread()) for run in copies if run.owner == "thread"]
    threads = [thread_of(kernel) for kernel in kernels(tree)]
    vectors = (padded(part, rank) for part in walk.vectors)
    most = max((dimensions(part) for part in threads), default=0)
    known = (padded(part, most) for part in (*threads, *found))
    return Times(union(vectors, isl.UnionMap), tuple(walk.apart), union(known, isl.UnionMap))


@dataclass(frozen=True, slots=True)
class _Above:
    """What is above a node: the numbers of its instances, and as `texts` those of copies, by their place, of which so
    many are values of bands."""

    vectors: isl.UnionMap
    texts: tuple[str, ...] = ()
    values: int = 0
    kernel: int = -1
    role: str = ""
    label: str = ""

    def then(self, values: isl.UnionMap, texts: Sequence[str]) -> _Above:
        vectors = self.vectors.flat_range_product(values)
        return replace(self, vectors=vectors, texts=(*self.texts, *texts), role="", label="")

    def at(self, number: int) -> _Above:
        here = isl.UnionSet(f"{{ [{number}] }}")
        return self.then(isl.UnionMap.from_domain_and_range(self.vectors.domain(), here), (str(number),))

    def keeps(self, kind: int) -> str:
        if self.kernel < 0:
            return OPEN if kind == NODE.set else KEPT
        return OPEN if self.role == "block" or kind == NODE.set else KEPT if self.role == "sync" else IN_THREAD


@dataclass
class _Walk:
    """One pass over a tree; a visit returns all that runs below a node."""

    copies: tuple[Run, ...]
    kernels: int = 0
    vectors: list[isl.UnionMap] = field(default_factory=list)
    apart: list[dict[str, isl.UnionSet]] = field(default_factory=list)

    def visit(self, node: isl.ScheduleNode, above: _Above) -> isl.UnionSet:
        kind = node.get_type()
        if kind == NODE.leaf:
            self.vectors.append(above.vectors)
            return above.vectors.domain()
        if kind in (NODE.sequence, NODE.set):
            return self._children(node, above)
        if kind == NODE.mark:
            return self._mark(node, above)
        if kind == NODE.band and node.band_n_member():
            return self._band(node, above)
        if kind == NODE.filter:
            own = above.vectors.intersect_domain(node.filter_get_filter())
            above = replace(above, vectors=own)
        return self.visit(node.child(0), replace(above, role="", label=""))

    def _mark(self, node: isl.ScheduleNode, above: _Above) -> isl.UnionSet:
        name, label = mark(node), above.label
        if name == "kernel":
            above = replace(above, kernel=self.kernels)
            self.kernels += 1
            if mark(node.child(0)) != "block":
                return self._with_copies(WHOLE, node.child(0), replace(above, role="", label=""))
        if name != "sync":
            label = name[5:-1] if LOOP.fullmatch(name) else ""
        return self.visit(node.child(0), replace(above, role=name, label=label))

    def _band(self, node: isl.ScheduleNode, above: _Above) -> isl.UnionSet:
        first, members = len(above.texts), int(node.band_n_member())
        texts = [f"p{above.values + k}" for k in range(members)]
        inner = replace(above.then(band_values(node), texts), values=above.values + members)
        label = WHOLE if above.role == "block" else above.label
        below = self._with_copies(label, node.child(0), inner) if label else self.visit(node.child(0), inner)
        for k in range(members):
            self._note(first + k, above.keeps(NODE.band), below)
        return below

    def _children(self, node: isl.ScheduleNode, above: _Above) -> isl.UnionSet:
        parts = [self.visit(node.child(i), above.at(i)) for i in range(node.n_children())]
        below: isl.UnionSet = union(parts, isl.UnionSet)
        self._note(len(above.texts), above.keeps(node.get_type()), below)
        return below

    def _with_copies(self, label: str, body: isl.ScheduleNode, above: _Above) -> isl.UnionSet:
        groups = layers([run for run in self.copies if run.key == (above.kernel, label)])
        return self._layers(groups, body, above)

    def _layers(self, groups: list[list[Run]], body: isl.ScheduleNode, above: _Above) -> isl.UnionSet:
        """Visit the copies at a loop: early fills first, with no barrier but that of the loop; the fills and drains of
        a block between barriers; the landings of asynchronous copies last."""
        if not groups:
            return self.visit(body, above)
        group, first = groups[0], len(above.texts)
        early = [r for r in group if r.early and not r.lands]
        inner = above.at(1).at(1).at(0)
        below: isl.UnionSet = self._layers(groups[1:], body, inner)
        landings = [self._copy(r, (*above.texts, "1", "1", "1")) for r in group if r.lands]
        below = union([below, *landings], isl.UnionSet)
        self._note(first + 2, IN_THREAD, below)
        others = [r for r in group if not r.early]
        at_once = [self._copy(r, (*above.texts, "1", "2" if r.drains else "0")) for r in others]
        below = union([below, *at_once], isl.UnionSet)
        self._note(first + 1, KEPT if group[0].owner == "block" else IN_THREAD, below)
        below = union([below, *(self._copy(r, (*above.texts, "0")) for r in early)], isl.UnionSet)
        self._note(first, IN_THREAD, below)
        return below

    def _copy(self, run: Run, texts: tuple[str, ...]) -> isl.UnionSet:
        own = f"p{run.loop.rank - 1}"
        vector = [f"{t} - {run.early}" if run.early and t == own else t for t in texts]
        threads = run.thread() if run.of_threads else []
        found = run.into([*vector, *threads])
        self.vectors.append(found)
        for k in range(len(threads)):
            self._note(len(vector) + k, IN_THREAD, found.domain())
        return found.domain()

    def _note(self, number: int, kind: str, below: isl.UnionSet) -> None:
        while len(self.apart) <= number:
            self.apart.append({})
        if kind != OPEN:
            self.apart[number][kind] = self.apart[number].get(kind, isl.UnionSet("{ }")).union(below)
