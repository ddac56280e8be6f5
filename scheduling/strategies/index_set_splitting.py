"""Index-set splitting: a statement whose dependences turn round at a hyperplane becomes one piece on each side of it
[Griebl, Feautrier, Lengauer 2000].

before: for (k) for (i) for (j) A[i][j] = f(A[i][j], A[i][k], A[k][j]), a wavefront i + j in each k
after:  for (k) { i < k, j < k; then i < k, j = k; then ...; then i > k, j > k }, each with i and j parallel

The hyperplanes are constraints that the ends of non-uniform dependences satisfy and the rest of the domain does not,
here i = k and j = k.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import islpy as isl

from polytile.ir.isl_util import is_constant, maps, sets
from polytile.ir.scop import Scop, Statement
from polytile.scheduling.analysis.source_loops import SourceNest, equal_iterators, nest_of
from polytile.scheduling.strategies.band_rewriting import members_of
from polytile.scheduling.strategies.loop_distribution import Piece, distribute

MAX_PIECES = 9  # of one statement
MAX_PIECES_IN_ALL = 32


def split_schedule(scop: Scop, pairs: isl.UnionMap, present: Sequence[isl.Schedule]) -> isl.Schedule | None:
    """Split index sets of the main statements and return a tree of bands that keeps the dependent `pairs`.

    None where it would not be less serial than the trees that are `present`.

    Splits for the dependences inside one iteration of the outermost loop, the outermost two, ... are tried; among
    equally serial trees the one of the fewest pieces is taken.
    """
    least = min(_serial_loops(scop, tree) for tree in present)
    if not any(least) or scop.privatised:  # whose order is no nest of loops
        return None
    nest = nest_of(scop)
    best: isl.Schedule | None = None
    fewest = 0
    for pieces in _splits(scop, pairs, nest):
        tree = distribute(scop, nest, pieces, pairs)
        rank = (least, fewest) if tree is None else (_serial_loops(scop, tree), len(pieces))
        if rank < (least, fewest):
            best, (least, fewest) = tree, rank
    return best


def _splits(scop: Scop, pairs: isl.UnionMap, nest: SourceNest) -> Iterator[list[Piece]]:
    """Yield ways to split the domains of the main statements."""
    for outer in range(max(map(len, nest.around.values()))):
        ends = _ends(pairs, nest, outer)
        for inequalities in (False, True):
            pieces = _split_domains(scop, ends, outer, inequalities=inequalities)
            if pieces:
                yield pieces


def _serial_loops(scop: Scop, tree: isl.Schedule) -> list[int]:
    """Count the most serial loops around each of the main statements, the largest number first.

    The time of a program grows with this power of the problem size, however many processors there are.
    """
    most = {statement.name: 0 for statement in scop.main}

    def visit(node: isl.ScheduleNode, serial: int) -> None:
        if node.get_type() == isl.schedule_node_type.band:
            serial += sum(not m.coincident and not is_constant(m.value) for m in members_of(node))
        if node.get_type() == isl.schedule_node_type.leaf:
            for name in (domain.get_tuple_name() for domain in sets(node.get_domain())):
                if name in most:
                    most[name] = max(most[name], serial)
        for i in range(node.n_children()):
            visit(node.child(i), serial)

    visit(tree.get_root(), 0)
    return sorted(most.values(), reverse=True)


def _ends(pairs: isl.UnionMap, nest: SourceNest, outer: int) -> dict[str, list[isl.Set]]:
    """Find where non-uniform dependences inside the outer loops leave or enter each statement."""
    ends: dict[str, list[isl.Set]] = {name: [] for name in nest.around}
    for m in maps(pairs):
        source, sink = m.get_tuple_name(isl.dim_type.in_), m.get_tuple_name(isl.dim_type.out)
        shared = len(nest.shared(source, sink))
        if shared <= outer:
            continue
        for piece in equal_iterators(m, outer).coalesce().get_basic_maps():
            if not _is_uniform(piece, shared):
                ends[source].append(isl.Set.from_basic_set(piece.domain()))
                ends[sink].append(isl.Set.from_basic_set(piece.range()))
    return ends


def _is_uniform(pairs: isl.BasicMap, shared: int) -> bool:
    """Return whether the iterators of the shared loops differ by constants."""
    for kind in (isl.dim_type.in_, isl.dim_type.out):
        pairs = pairs.project_out(kind, shared, pairs.dim(kind) - shared).set_tuple_name(kind, "")
    distances = isl.Set.from_basic_set(pairs.deltas())
    return all(not distances.plain_get_val_if_fixed(isl.dim_type.set, i).is_nan() for i in range(shared))


def _split_domains(scop: Scop, ends: dict[str, list[isl.Set]], outer: int, *, inequalities: bool) -> list[Piece] | None:
    """Cut the domains at the equalities of the ends, and at inequalities if asked for.

    None when nothing is cut or there are too many pieces.
    """
    pieces: list[Piece] = []
    whole = [s for s in scop.main if not s.domain.is_empty()]
    for statement in whole:
        parts = [statement.domain.intersect_params(scop.context)]
        for sides in _hyperplanes(scop, statement, ends.get(statement.name, []), outer, inequalities=inequalities):
            parts = [cut for part in parts for side in sides if not (cut := part.intersect(side)).is_empty()]
            if len(parts) > MAX_PIECES:
                return None
        pieces += [Piece(statement.name, part) for part in parts]
    return pieces if len(whole) < len(pieces) <= MAX_PIECES_IN_ALL else None


def _hyperplanes(
    scop: Scop, statement: Statement, ends: list[isl.Set], outer: int, *, inequalities: bool
) -> Iterator[tuple[isl.Set, ...]]:
    """Yield the sides of each hyperplane (below, on and above it, or the two of an inequality), equalities first."""
    domain = statement.domain.intersect_params(scop.context)
    found = [c for end in ends for c in _constraints(end.gist(domain)) if _is_inner(c, outer)]
    for constraint in sorted(found, key=lambda c: not c.is_equality()):
        if constraint.is_equality() or inequalities:
            value, on = constraint.get_aff(), isl.BasicSet.from_constraint(constraint)
            sides = [value.neg_basic_set(), on] + [value.neg().neg_basic_set()] * bool(constraint.is_equality())
            yield tuple(map(isl.Set.from_basic_set, sides))


def _constraints(end: isl.Set) -> Iterator[isl.Constraint]:
    for piece in end.get_basic_sets():
        yield from piece.get_constraints()


def _is_inner(constraint: isl.Constraint, outer: int) -> bool:
    """Return whether a constraint without divisions says something about loops inside the outer ones."""
    rank = constraint.dim(isl.dim_type.set)
    divisions = constraint.dim(isl.dim_type.div)
    inner = constraint.involves_dims(isl.dim_type.set, outer, rank - outer)
    return bool(inner) and not constraint.involves_dims(isl.dim_type.div, 0, divisions)
