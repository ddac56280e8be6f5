"""The SCoP of a phase as one rank runs it: on its own arrays, for a box of positions and an iteration of the time loop.

before: for (t) for (i = 1; i < n - 1; i++) B[i] = A[i - 1] + A[i + 1];
after:  for (i = first; i < end; i++) if (1 <= i + offset && i + offset < n - 1) B[i] = A[i - 1] + A[i + 1];
        where element i of a rank's arrays is element i + offset of all; first, end, offset and t are parameters
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import islpy as isl

from polytile.distribution.axes import CutAxis
from polytile.distribution.plan import BoxParameters
from polytile.distribution.time_loop import step_range
from polytile.ir.arith import add, sub
from polytile.ir.expr import Access, Binary, CType, Expr, Name, Stmt
from polytile.ir.expr_trees import walk, with_children
from polytile.ir.name_supply import coordinates, fresh
from polytile.ir.scop import AccessRelation, Array, Origin, Parameter, Scop, Statement

_PARAM, _IN, _OUT, _SET = isl.dim_type.param, isl.dim_type.in_, isl.dim_type.out, isl.dim_type.set


class LocalPositions:
    """Positions of all ranks taken to those of one rank's arrays.

    `step` is the parameter that is the iteration of the time loop, "" where there is none. With `count`, another one,
    the loop stays, over so many iterations from `step` on. `private` are arrays whose values no phase hands on.
    """

    def __init__(
        self,
        scop: Scop,
        axes: tuple[CutAxis, ...],
        boxes: tuple[BoxParameters, ...],
        step: str,
        integer: CType,
        count: str = "",
        private: frozenset[str] = frozenset(),
    ) -> None:
        self.scop, self.axes, self.boxes, self.step, self.integer = scop, axes, boxes, step, integer
        self.count, self.private = count, private
        self.fixed = int(bool(step) and not count)  # iterators that are parameters
        names = [name for b in boxes for name in (b.first, b.end, b.offset, b.extent)]
        steps = [name for name in (step, count) if name]
        self.parameters = tuple(Parameter(n, integer, scop.location) for n in (*names, *steps))
        self.names = tuple(p.name for p in (*scop.parameters, *self.parameters))
        self.known = ", ".join(self.names)

    def coordinate(self, wanted: str) -> str:
        """Return a name for a coordinate beside the parameters, which isl would take it for."""
        return fresh(wanted, self.names)

    def scop_of(self, name: str, statements: Sequence[str]) -> Scop:
        """Return the SCoP of a phase (see the top of this file)."""
        scop = self.scop
        kept = tuple(self.statement(s) for s in scop.statements if s.name in statements)
        used = {access.array for s in kept for access in s.accesses}
        return Scop(
            name,
            (*scop.parameters, *self.parameters),
            self.context(),
            tuple(self.array(a) for a in scop.arrays if a.name in used),
            kept,
            self.schedule(kept),
            location=scop.location,
            definitions=scop.definitions,
            wide=scop.wide,
            external=scop.external,
            device_source=scop.device_source,
            cflags=scop.cflags,
        )

    def context(self) -> isl.Set:
        """Return what is known of the parameters: boxes lie within the rank's arrays, steps within the time loop."""
        within = [f"0 <= {b.first} and {b.end} <= {b.extent} and 0 <= {b.offset}" for b in self.boxes]
        within += [f"{self.count} >= 1"] if self.count else []
        more = isl.Set(f"[{self.known}] -> {{ : {' and '.join(within)} }}")
        found = self.scop.context.align_params(more.get_space()).intersect(more)
        return found.intersect(self.steps_are_iterations(found)) if self.step else found

    def steps_are_iterations(self, known: isl.Set) -> isl.Set:
        """Build `[steps, t] -> { : 0 <= t < steps }`, without the conditions on whether a step computes anything."""
        steps = isl.Set.from_basic_set(step_range(self.scop))
        t = self.coordinate("t")
        run = f"{self.step} <= {t} < {self.step} + {self.count}" if self.count else f"{t} = {self.step}"
        outside = isl.Set(f"[{self.known}] -> {{ [{t}] : {run} }}").intersect_params(known).subtract(steps)
        return outside.params().complement()

    def array(self, array: Array) -> Array:
        """Give an array the extents that a rank has of it.

        What one phase writes the next one reads: arrays of the SCoP's own live as long as others do.
        """
        by_pointer = array.by_pointer or (array.rank == 0 and self.scop.written(array.name))
        kept = replace(array, origin=Origin.EXTERNAL, live_in=True, live_out=True, by_pointer=by_pointer)
        cut = {axis.dimensions[array.name]: k for k, axis in enumerate(self.axes) if array.name in axis.dimensions}
        if not cut:
            return array if array.name in self.private else kept
        extents = tuple(
            Name(self.boxes[cut[d]].extent, self.integer) if d in cut else extent
            for d, extent in enumerate(array.extents)
        )
        return replace(kept, extents=extents, rows_apart=False, elements=None, width="")

    def shift(self, statement: Statement) -> isl.MultiAff:
        """Map an instance as the rank counts to that of the source: `{ S[i, j] -> S[t, i + offset, j] }`."""
        own = statement.iterators[self.fixed :]
        counted = coordinates("x", len(own), self.names)
        back = [self.step] * self.fixed
        back += [self._of_source(statement, k + self.fixed, counted[k]) for k in range(len(own))]
        name = statement.name
        return isl.MultiAff(f"[{self.known}] -> {{ {name}[{', '.join(counted)}] -> {name}[{', '.join(back)}] }}")

    def _of_source(self, statement: Statement, iterator: int, counted: str) -> str:
        offsets = [
            self.boxes[k].offset for k, axis in enumerate(self.axes) if axis.iterators.get(statement.name) == iterator
        ]
        return " + ".join((counted, *offsets))

    def statement(self, statement: Statement) -> Statement:
        """Restrict a statement to the rank's positions, within a box."""
        shift = self.shift(statement)
        domain = statement.domain.align_params(shift.get_space().params()).preimage_multi_aff(shift)
        for axis, box in zip(self.axes, self.boxes, strict=True):
            if statement.name in axis.positions:
                position = axis.positions[statement.name].align_params(shift.get_space().params())
                p = self.coordinate("p")
                inside = isl.Set(
                    f"[{self.known}] -> {{ [{p}] : {box.first} + {box.offset} <= {p} < {box.end} + {box.offset} }}"
                )
                runs = position.intersect_range(inside).domain()
                domain = domain.intersect(runs.preimage_multi_aff(shift))
        iterators = statement.iterators[self.fixed :]
        if self.count:
            t, *rest = coordinates("x", len(iterators), self.names)
            steps, period = ", ".join([t, *rest]), f"{self.step} <= {t} < {self.step} + {self.count}"
            domain = domain.intersect(isl.Set(f"[{self.known}] -> {{ {statement.name}[{steps}] : {period} }}"))
        domain = domain.coalesce()
        for k, iterator in enumerate(iterators):
            domain = domain.set_dim_name(_SET, k, iterator)
        return replace(
            statement,
            iterators=iterators,
            domain=domain,
            body=tuple(self._body(statement, stmt) for stmt in statement.body),
            accesses=tuple(self._access(a, shift) for a in statement.accesses),
            loops=statement.loops[self.fixed :] if len(statement.loops) == len(statement.iterators) else (),
        )

    def _access(self, access: AccessRelation, shift: isl.MultiAff) -> AccessRelation:
        """Translate an access to one by the rank's instances to the rank's elements."""
        relation = access.relation.align_params(shift.get_space().params()).preimage_domain_multi_aff(shift)
        cut = {axis.dimensions[access.array]: k for k, axis in enumerate(self.axes) if access.array in axis.dimensions}
        if cut:
            counted = coordinates("e", relation.dim(_OUT), self.names)
            back = [f"{e} + {self.boxes[cut[d]].offset}" if d in cut else e for d, e in enumerate(counted)]
            names = f"{access.array}[{', '.join(counted)}] -> {access.array}[{', '.join(back)}]"
            relation = relation.preimage_range_multi_aff(isl.MultiAff(f"[{self.known}] -> {{ {names} }}"))
        return replace(access, relation=relation)

    def schedule(self, statements: Sequence[Statement]) -> isl.Schedule:
        """Return the source's order of what the phase runs."""
        domain = isl.UnionSet.empty(statements[0].domain.get_space().params())
        shifts = isl.UnionPwMultiAff.empty(domain.get_space())
        for statement in statements:
            domain = domain.union(isl.UnionSet.from_set(statement.domain))
            shift = isl.PwMultiAff.from_multi_aff(self.shift(self.scop.statement(statement.name)))
            shifts = shifts.union_add(isl.UnionPwMultiAff.from_pw_multi_aff(shift))
        names = {s.name for s in statements}
        of_source = [isl.UnionSet.from_set(s.domain) for s in self.scop.statements if s.name in names]
        source = of_source[0]
        for one in of_source[1:]:
            source = source.union(one)
        order = self.scop.schedule.intersect_domain(source).pullback_union_pw_multi_aff(shifts)
        order = order.intersect_domain(domain)
        if self.step or any(s.iterators for s in statements):
            return order
        zeros = isl.MultiUnionPwAff.multi_val_on_domain(domain, _one_zero(domain))
        return order.insert_partial_schedule(zeros)  # kernels are made of loops

    def _body(self, statement: Statement, stmt: Stmt) -> Stmt:
        """Rewrite a statement's text: iterators of cut loops become `i + offset`.

        They stay as they are where they subscript what is cut.

        before: B[t % 2][i + 1][3] = i * A[i];
        after:  B[step % 2][i + 1][3 - offset_j] = (i + offset) * A[i];
        """
        values: dict[str, Expr] = {}
        for axis, box in zip(self.axes, self.boxes, strict=True):
            if statement.name in axis.iterators:
                name = statement.iterators[axis.iterators[statement.name]]
                values[name] = add(Name(name, self.integer), Name(box.offset, self.integer))
        if self.fixed:
            values[statement.iterators[0]] = Name(self.step, self.integer)

        def localised(node: Any, kept: str = "") -> Any:
            if isinstance(node, Name):
                return values.get(node.name, node) if node.name != kept else node
            if isinstance(node, Access):
                return self._element(statement, node, localised)
            return with_children(node, lambda part: localised(part, kept))

        made: Stmt = localised(stmt)
        return made

    def _element(self, statement: Statement, access: Access, localised: Callable[..., Any]) -> Access:
        """Rewrite an access to the rank's arrays: what counts positions stays, what names one is less the offset.

        before: A[t % 2][i - 1][j + i % 2][3]
        after:  A[step % 2][i - 1][j + (i + i_offset) % 2][3 - k_offset]
        """
        cut = {axis.dimensions[access.array]: k for k, axis in enumerate(self.axes) if access.array in axis.dimensions}
        made: list[Expr] = []
        for d, subscript in enumerate(access.subscripts):
            if d not in cut:
                made.append(localised(subscript))
            elif self._counts(statement, cut[d], subscript):
                own = statement.iterators[self.axes[cut[d]].iterators[statement.name]]
                made.append(localised(subscript, own))
            else:
                made.append(sub(localised(subscript), Name(self.boxes[cut[d]].offset, self.integer)))
        return replace(access, subscripts=tuple(made), inside=tuple(localised(e) for e in access.inside))

    def _counts(self, statement: Statement, axis: int, subscript: Expr) -> bool:
        """Return whether a subscript is the iterator that counts positions of an axis plus terms without it.

        Then it counts the rank's positions as it is.
        """
        iterator = self.axes[axis].iterators.get(statement.name)
        return iterator is not None and _terms(subscript, statement.iterators[iterator]) == 1


def _one_zero(domain: isl.UnionSet) -> isl.MultiVal:
    space = domain.get_space().set_from_params().add_dims(_SET, 1)
    return isl.MultiVal.zero(space)


def _terms(subscript: Expr, name: str) -> int:
    """Count how many times a subscript adds a name; 2 or more where it does anything else with it."""
    match subscript:
        case Name(name=used):
            return int(used == name)
        case Binary(op="+", left=left, right=right):
            return _terms(left, name) + _terms(right, name)
        case Binary(op="-", left=left, right=right):
            return _terms(left, name) + 2 * _terms(right, name)
    return 2 * any(isinstance(n, Name) and n.name == name for n in walk(subscript))
