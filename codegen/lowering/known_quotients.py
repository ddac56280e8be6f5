"""Quotients that are the coordinates of a launch and a block.

before: [c, b] -> { S[t, i] : floor(t/3) = c and floor(i/22) = b and 22 floor(i/22) >= 2t + i - 6 floor(t/3) - 15 }
after:  [c, b] -> { S[t, i] : 3c <= t <= 3c + 2 and 22b <= i <= 22b + 21 and 22b >= 2t + i - 6c - 15 }

isl does not see that a quotient of a domain is one of a band above whose value a parameter is: loops would divide, and
isl looks for long what each combination of remainders leaves. Only a quotient of the same number by the same number is
replaced. The result has the same points: isl itself eliminates the quotient by an equation that holds of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import islpy as isl

from polytile.dataclass import dataclass
from polytile.diagnostics import InternalError
from polytile.ir.copy_tree import with_properties
from polytile.ir.isl_util import band_members, mark_name, sets
from polytile.ir.schedule import BLOCK

PARAM, SET, IN, DIV = isl.dim_type.param, isl.dim_type.set, isl.dim_type.in_, isl.dim_type.div

Form = tuple[str, frozenset[tuple[object, str]]]  # a constant, and the coefficients of parameters, iterators, quotients


@dataclass(frozen=True, slots=True)
class Coordinates:
    """Parameters that have the values of band members: those of the host's loops, and of the block."""

    names: tuple[str, ...]
    members: tuple[isl.UnionPwAff, ...]

    def occur(self, points: isl.UnionSet) -> bool:
        """Return whether a quotient of a member is one of these instances."""
        return any(
            not _quotients(piece.value).isdisjoint(_quotients(part))
            for own in sets(points)
            for member in self.members
            for piece in _pieces(member, own)
            for part in own.get_basic_sets()
        )

    def fixed(self, points: isl.UnionSet) -> isl.UnionSet:
        """Return the instances at which the members have the values of the parameters, without the quotients."""
        total = isl.UnionSet.empty(points.get_space())
        for own in sets(points):
            total = total.union(isl.UnionSet.from_set(self._fixed(own)))
        return total

    def _fixed(self, points: isl.Set) -> isl.Set:
        found = isl.Set.empty(points.get_space())
        for pieces in product(*(_pieces(member, points) for member in self.members)):
            here = points
            for piece, name in zip(pieces, self.names, strict=True):
                here = piece.fixed(here, name)
            named = list(zip(pieces, self.names, strict=True))
            for part in here.compute_divs().get_basic_sets():
                found = found.union(_without_quotients(part, named))
        return found.coalesce()

    def bands(self, first: int, count: int, domain: isl.UnionSet) -> isl.MultiUnionPwAff:
        """Return `count` members of a band, from the one at `first`, as the parameters."""
        space = domain.get_space().set_from_params().add_dims(SET, count)
        universe = domain.universe()
        members = isl.UnionPwAffList.alloc(isl.DEFAULT_CONTEXT, count)
        for name in self.names[first : first + count]:
            members = members.add(isl.UnionPwAff.param_on_domain_id(universe, _parameter(name)))
        return isl.MultiUnionPwAff.from_union_pw_aff_list(space, members)


@dataclass(frozen=True, slots=True)
class _Piece:
    """A member's value, and where it is that; everywhere, if `where` is none."""

    value: isl.Aff
    where: isl.Set | None

    def fixed(self, points: isl.Set, name: str) -> isl.Set:
        """Return those of the points where the value is that of a parameter."""
        if self.where is not None:
            points = points.intersect(self.where)
        equal = isl.PwAff.from_aff(self.value).as_map().intersect_range(isl.Set(f"[{name}] -> {{ [{name}] }}"))
        return points.intersect(equal.domain())


def _pieces(member: isl.UnionPwAff, points: isl.Set) -> list[_Piece]:
    found: list[isl.PwAff] = []
    member.foreach_pw_aff(found.append)
    return [
        piece
        for value in found
        if _same_space(value.get_domain_space(), points.get_space())
        for piece in _pieces_of(value)
    ]


def _pieces_of(value: isl.PwAff) -> list[_Piece]:
    pieces: list[_Piece] = []
    value.foreach_piece(lambda where, aff: pieces.append(_Piece(aff, where)))
    return pieces if len(pieces) > 1 else [_Piece(pieces[0].value, None)]


def _parameter(name: str) -> isl.Id:
    """Return the id of a parameter as isl itself reads it: an `isl.Id` made here is never the same."""
    return isl.Set(f"[{name}] -> {{ : }}").get_dim_id(PARAM, 0)


def _same_space(one: isl.Space, other: isl.Space) -> bool:
    names = [s.get_tuple_name(SET) if s.has_tuple_name(SET) else "" for s in (one, other)]
    return names[0] == names[1] and one.dim(SET) == other.dim(SET)


def _without_quotients(part: isl.BasicSet, named: Sequence[tuple[_Piece, str]]) -> isl.BasicSet:
    """Replace quotients in a basic set by the parameters that have the values of their pieces."""
    quotients = [_form(part.get_div(i)) for i in range(part.dim(DIV))]
    lifted = part.lift().unwrap()  # { S[i] -> [quotients] }
    found = []
    for piece, name in named:
        own = [i for i in range(piece.value.dim(DIV)) if not piece.value.get_coefficient_val(DIV, i).is_zero()]
        if len(own) == 1 and _form(piece.value.get_div(own[0])) in quotients:
            at = quotients.index(_form(piece.value.get_div(own[0])))
            lifted = lifted.add_constraint(_equation(lifted, piece.value, own[0], at, name))
            found.append(at)
    return lifted.domain() if found else part


def _equation(lifted: isl.BasicMap, value: isl.Aff, quotient: int, at: int, name: str) -> isl.Constraint:
    """Build the constraint `value = name`, with a dimension of the range in place of the value's quotient."""
    space = lifted.get_local_space()
    found = isl.Constraint.equality_alloc(space).set_constant_val(value.get_constant_val())
    coefficients: dict[str, isl.Val] = {name: isl.Val(-1)}
    for i in range(value.dim(PARAM)):
        other = str(value.get_dim_name(PARAM, i))
        coefficients[other] = value.get_coefficient_val(PARAM, i).add(coefficients.get(other, isl.Val(0)))
    for other, factor in coefficients.items():
        if not factor.is_zero():
            found = found.set_coefficient_val(PARAM, lifted.find_dim_by_name(PARAM, other), factor)
    for i in range(value.dim(IN)):
        found = found.set_coefficient_val(IN, i, value.get_coefficient_val(IN, i))
    return found.set_coefficient_val(isl.dim_type.out, at, value.get_coefficient_val(DIV, quotient))


def _quotients(of: isl.Aff | isl.BasicSet) -> set[Form]:
    return {_form(of.get_div(i)) for i in range(of.dim(DIV))}


def _form(value: isl.Aff) -> Form:
    """Return a key that two formulas share exactly if they are written alike; parameters count by name."""
    terms: list[tuple[object, isl.Val]] = [
        (value.get_dim_name(PARAM, i), value.get_coefficient_val(PARAM, i)) for i in range(value.dim(PARAM))
    ]
    terms += [(i, value.get_coefficient_val(IN, i)) for i in range(value.dim(IN))]
    terms += [
        (_form(value.get_div(i)), factor)
        for i in range(value.dim(DIV))
        if not (factor := value.get_coefficient_val(DIV, i)).is_zero()
    ]
    return str(value.get_constant_val()), frozenset((of, str(factor)) for of, factor in terms if not factor.is_zero())


def coordinates_around(
    mark: isl.ScheduleNode, block_mark: isl.ScheduleNode | None, names: tuple[str, ...]
) -> Coordinates:
    """Collect the host's loops around a kernel, and its block coordinates."""
    members: list[isl.UnionPwAff] = []
    node = mark
    while node.has_parent():
        node = node.parent()
        if node.get_type() == isl.schedule_node_type.band:
            members = band_members(node) + members
    members += band_members(block_mark.child(0)) if block_mark is not None else []
    return Coordinates(names, tuple(members))


def chosen(kernel: isl.ScheduleNode) -> isl.UnionSet:
    """Return the instances that the filters around a kernel let pass.

    Quotients that are in the kernel's domain alone are of iterations that no colour of tiles is made of: tiles that are
    padded, or strides of the program.
    """
    found = kernel.get_domain().universe()
    node = kernel
    while node.has_parent():
        node = node.parent()
        if node.get_type() == isl.schedule_node_type.filter:
            found = found.intersect(node.filter_get_filter())
    return found


def with_coordinates(kernel: isl.ScheduleNode, coordinates: Coordinates) -> isl.ScheduleNode:
    """Return the kernel's mark in a tree with its instances alone, where quotients are replaced by coordinates.

    The instances, the filters and the bands have no quotients of the coordinates, and all nodes below the mark stand
    where they did.

    before: band [floor(t/3)] { sequence { filter { kernel { block { band [floor(i/22)] { rest } } } } .. } }
    after:  band [c] { kernel { block { band [b] { rest } } } }
    """
    domain = coordinates.fixed(kernel.get_domain())
    hosts = int(kernel.get_schedule_depth())
    node = isl.Schedule.from_domain(domain).get_root().child(0)
    if hosts:
        node = node.insert_partial_schedule(coordinates.bands(0, hosts, domain)).child(0)
    blocks = len(coordinates.names) - hosts
    node = _Subtree(coordinates, domain, hosts, blocks).copy(node, kernel)
    return node


@dataclass(frozen=True, slots=True)
class _Subtree:
    """A subtree that is built anew over other forms of its instances."""

    coordinates: Coordinates
    domain: isl.UnionSet
    hosts: int
    blocks: int

    def copy(self, new: isl.ScheduleNode, old: isl.ScheduleNode, block: bool = False) -> isl.ScheduleNode:
        """Replace the leaf `new` by the subtree at `old`; return the node at the same position."""
        kind, types = old.get_type(), isl.schedule_node_type
        if kind == types.leaf:
            return new
        if kind in (types.sequence, types.set):
            return self._children(new, old)
        if kind == types.mark:
            new = new.insert_mark(old.mark_get_id())
        elif kind == types.band and block:
            new = new.insert_partial_schedule(self.coordinates.bands(self.hosts, self.blocks, self.domain))
        elif kind == types.band:
            new = with_properties(new.insert_partial_schedule(self._band(old)), old)
        elif kind == types.filter:
            new = new.insert_filter(self._filter(old))
        else:
            raise InternalError(f"a kernel has a node of a kind that is not lowered: {kind}")
        return self.copy(new.child(0), old.child(0), mark_name(old) == BLOCK).parent()

    def _children(self, new: isl.ScheduleNode, old: isl.ScheduleNode) -> isl.ScheduleNode:
        filters = isl.UnionSetList.alloc(isl.DEFAULT_CONTEXT, old.n_children())
        for i in range(old.n_children()):
            filters = filters.add(self._filter(old.child(i)))
        ordered = old.get_type() == isl.schedule_node_type.sequence
        new = new.insert_sequence(filters) if ordered else new.insert_set(filters)
        for i in range(old.n_children()):
            new = self.copy(new.child(i).child(0), old.child(i).child(0)).parent().parent()
        return new

    def _filter(self, old: isl.ScheduleNode) -> isl.UnionSet:
        """Return the instances that pass a filter: all of a statement, where its instances all do."""
        total = isl.UnionSet.empty(self.domain.get_space())
        for given in sets(old.filter_get_filter()):
            for own in sets(self.domain.intersect(isl.UnionSet.from_set(given).universe())):
                known = self.coordinates.fixed(isl.UnionSet.from_set(own.intersect(given)))
                all_pass = own.is_subset(known.extract_set(own.get_space()))
                total = total.union(known.universe() if all_pass else known)
        return total

    def _band(self, old: isl.ScheduleNode) -> isl.MultiUnionPwAff:
        found = old.band_get_partial_schedule()
        return found.reset_tuple_id(SET) if found.has_tuple_id(SET) else found
