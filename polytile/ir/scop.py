"""The static control part: what the frontend (or another compiler) hands to the scheduler.

Invariants, checked when a Scop is built: every statement's domain is named after it; the access relations map from
that domain to arrays of the Scop with one dimension per subscript (plus a trailing field number for arrays of structs);
the schedule covers exactly the domains.
"""

from __future__ import annotations

import copyreg
from collections.abc import Iterator
from dataclasses import field, replace
from enum import Enum

import islpy as isl

from polytile.dataclass import dataclass
from polytile.diagnostics import NOWHERE, InternalError, Location
from polytile.ir.access_boxes import KnownFunctions, united
from polytile.ir.alias_checks import AliasCheck
from polytile.ir.expr import Access, CType, Expr, Stmt
from polytile.ir.external_functions import ExternalFunction
from polytile.ir.found_extents import AllocatedExtent, ReachedExtent
from polytile.ir.isl_util import readable_schedule, union_of
from polytile.ir.partial_results import Combination, Privatised, Reordered
from polytile.ir.pointer_rotation import PointerRotation
from polytile.ir.source_region import SourceRegion
from polytile.ir.source_span import Span

MANY_PIECES = 32  # of a relation: of accesses under conditions on iterators, one for each element and condition


def _read_schedule(text: str) -> isl.Schedule:
    return isl.Schedule(text)


# Without this, no Scop could be copied or pickled: islpy pickles no schedules, and no sets and maps with one name for
# two dimensions, which isl prints as `{ S[i] -> A[i'] }` and reads.
copyreg.pickle(isl.Schedule, lambda schedule: (_read_schedule, (readable_schedule(schedule),)))
for _kind in (isl.BasicSet, isl.Set, isl.BasicMap, isl.Map):
    copyreg.pickle(_kind, lambda points: (type(points), (str(points),)))


class AccessKind(Enum):
    READ = "read"
    WRITE = "write"  # happens whenever the instance runs
    MAY_WRITE = "may-write"  # under a data-dependent condition
    KILL = "kill"  # the value is dead afterwards: the declaration of a local variable


class Origin(Enum):
    EXTERNAL = "external"  # the user's, visible outside the SCoP
    LOCAL = "local"  # declared inside the SCoP, or proven dead around it
    TEMPORARY = "temporary"  # made by polytile


@dataclass(frozen=True, slots=True)
class AccessRelation:
    """`{ S[i, j] -> A[i, j + 1] }` with its kind and the place in the source."""

    array: str
    kind: AccessKind
    relation: isl.Map = field(compare=False)
    location: Location = NOWHERE

    @property
    def writes(self) -> bool:
        return self.kind in (AccessKind.WRITE, AccessKind.MAY_WRITE)


@dataclass(frozen=True, slots=True)
class Reduction:
    """`x op= e`: op is "+", "*", "min", "max", "&", "|" or "^"; `array` is what is accumulated into."""

    op: str
    array: str


@dataclass(frozen=True, slots=True)
class Statement:
    """One polyhedral statement: `name[iterators]` over `domain`, doing `body`.

    `body` refers to the iterators by the names in `iterators`, which are the source's.
    """

    name: str
    iterators: tuple[str, ...]
    domain: isl.Set = field(compare=False)
    body: tuple[Stmt, ...]
    accesses: tuple[AccessRelation, ...]
    location: Location = NOWHERE
    reduction: Reduction | None = None
    text: str = ""  # the C source, for comments and messages
    parts: tuple[str, ...] = ()  # the statements of the source that this one runs, in order, if not the one of its name
    combine: Combination | None = None
    loops: tuple[Location, ...] = ()  # of the source around it, outermost first, where they are known
    updates: tuple[Reduction, ...] = ()  # by one operation alone of elements that data choose (ir/atomic_updates.py)
    merged: tuple[Location, ...] = ()  # the assignments of the C that the frontend made one statement, if any
    _touched: dict[tuple[AccessKind, ...], tuple[tuple[str, AccessKind], ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _united: dict[tuple[str, AccessKind], isl.Map] = field(default_factory=dict, init=False, repr=False, compare=False)
    known_numbers: dict[Access, tuple[int, ...]] = field(default_factory=dict, init=False, repr=False, compare=False)
    known_functions: dict[str, KnownFunctions | None] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    known_elements: dict[str, list[int]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def renamed_updates(self, old: str, new: str) -> tuple[Reduction, ...]:
        """Return `updates`, with those of an array `old` as updates of `new`."""
        return tuple(replace(u, array=new) if u.array == old else u for u in self.updates)

    def relations(self, *kinds: AccessKind) -> Iterator[AccessRelation]:
        return (a for a in self.accesses if a.kind in kinds)

    def united(self, *kinds: AccessKind, arrays: frozenset[str] | None = None) -> Iterator[tuple[str, isl.Map]]:
        """Yield the arrays (or those of `arrays`) that it accesses in these ways, with the elements of each.

        There is one relation for each way, restricted to the domain, with few pieces where there are many accesses.
        """
        if kinds not in self._touched:
            self._touched[kinds] = tuple(dict.fromkeys((a.array, a.kind) for a in self.relations(*kinds)))
        for key in self._touched[kinds]:
            if arrays is not None and key[0] not in arrays:
                continue
            if key not in self._united:
                own = [a.relation for a in self.accesses if (a.array, a.kind) == key]
                found = united(own).intersect_domain(self.domain)
                self._united[key] = found.coalesce() if found.n_basic_map() > MANY_PIECES else found
            yield key[0], self._united[key]


@dataclass(frozen=True, slots=True)
class Array:
    """An array (or scalar: no extents) that the SCoP touches.

    `extents`, outermost first, are expressions over the parameters; the outermost is None where C does not say
    (`double *A`, `double A[][m]`). They give the memory layout: row-major with the inner extents as pitches.
    `fields` are the scalar fields of a struct element as (name, type); accesses then carry a trailing field number.
    """

    name: str
    element: CType
    extents: tuple[Expr | None, ...] = ()
    origin: Origin = Origin.EXTERNAL
    live_in: bool = True  # may hold a value that was written before the SCoP
    live_out: bool = True  # may be read after the SCoP
    may_alias: bool = False  # a plain pointer parameter: disjointness is checked when the program runs
    fields: tuple[tuple[str, CType], ...] = ()
    location: Location = NOWHERE
    rows_apart: bool = False  # what lies between its rows, which are extents[-1] elements long, is not its own
    holds: str = ""  # the source's array whose values this one holds, where a transformation made it
    elements: Expr | None = None  # how many it has in C, where the product of its extents is not known to be that
    width: str = ""  # the parameter that says how much of its rows is used, where data choose that
    members: tuple[tuple[str, CType], ...] = ()  # `fields` and, as integers, the pointers among them, where it has such
    offsets: tuple[int, ...] = ()  # in bytes, of `members` or `fields` in an element; () as C puts these
    may_interleave: bool = False  # a `restrict` pointer: elements of others may lie between its own
    by_pointer: bool = False  # a scalar that the SCoP only reads where the source writes it, too

    @property
    def root(self) -> str:
        """Return the array of the source whose values this one holds."""
        return self.holds or self.name

    @property
    def rank(self) -> int:
        return len(self.extents)

    @property
    def access_rank(self) -> int:
        """Return the number of dimensions of the access relations."""
        return self.rank + bool(self.fields)

    def temporary(self, name: str, extents: tuple[Expr | None, ...]) -> Array:
        """Return an array of kernels alone, of this name and these extents, that holds values of this one."""
        own = replace(self, name=name, holds=self.root, extents=extents, origin=Origin.TEMPORARY)
        return replace(own, live_in=False, live_out=False, may_alias=False)


@dataclass(frozen=True, slots=True)
class Parameter:
    """An integer that does not change in the SCoP: a size, a bound."""

    name: str
    type: CType
    location: Location = NOWHERE


@dataclass(frozen=True, slots=True)
class SourceLoop:
    """A loop of the source, around `statements`, whose iterator number `level` counts it. `iterator` is what the user
    calls that; it has this `value` where the statements' iterator is the number of the iteration."""

    iterator: str
    level: int
    statements: tuple[str, ...]
    location: Location = NOWHERE
    value: Expr | None = None


@dataclass(frozen=True, slots=True)
class RowTable:
    """An array that is a table of pointers to rows in C: its rows lie at equal distances, which the host asks when it
    runs. `row` is C for the pointer to a row, with `{0}`, `{1}` and so on for its subscripts, and `followed` for the
    pointers on the way to it, which may be null: "w[{0}][{1}]" follows "w" and "w[{0}]". `extents` are the parameters
    that say how many rows each dimension but the outermost has, the last one how many elements of `size` bytes lie from
    one row to the next. `loops` is C that runs `polytile_visit(row, ...);` for each row that the SCoP uses."""

    array: str
    row: str
    followed: tuple[str, ...]
    element: str
    size: int
    extents: tuple[str, ...]
    loops: str


@dataclass(frozen=True, slots=True)
class Scop:
    """A static control part.

    `context` holds what is known of the parameters; `schedule` is the original execution order, a schedule tree;
    `definitions` is C text that the generated code needs first (struct definitions); `source` is the SCoP as plain,
    preprocessed C (for the sequential reference), and `verbatim` the user's own text, which the reference is held
    against, both None when it did not come from C; `wide` says that 32 bits do not hold its iterators; `arguments` are
    the parameters of the C function around it, in their order, or None when it did not come from C; `passed` are the C
    expressions that the call passes for scalars which the C does not have: ("grid_2", "grid[2]"), and `pointers` those
    that pointers are set to which the C does not have: ("p_data", "p->data"), of which those that are `needed` must not
    be null, or the user's C runs; `products` are the parameters that are
    products of other ones, in every call: w_h = w * h; `optional` are parameters that are 0 where a pointer is null,
    with its array, and else 1; `checked` is the part of the context, in C, that the host checks when it runs: where it
    does not hold the user's C runs, and so where the rows of one of `tables` do not lie at equal distances, one of
    `reached` ends within a row, one of `allocated` is in memory of the host, or one of `alias_checks` finds a value
    inside an array; `loops` are those of the C,
    outer ones first, as they were before any transformation; `independent` are (array, loop) of which the user promises
    that no two iterations of the loop use one element of the array, if one writes it ("" is all arrays that come from
    outside); `external` are the functions it calls that are defined elsewhere, in `device_source` where that is known;
    `set_before` are parameters and scalars that the C sets to numbers before it: others are right, too, but need not
    fit its arrays; `rotations` is what becomes of pointers behind it; `layouts` is what was taken for granted of the
    types of variables, conditions in C that its compiler can answer; `cflags` are the flags of the C compiler that its
    texts are read with.
    """

    name: str
    parameters: tuple[Parameter, ...]
    context: isl.Set = field(compare=False)
    arrays: tuple[Array, ...]
    statements: tuple[Statement, ...]
    schedule: isl.Schedule = field(compare=False)
    span: Span | None = None
    location: Location = NOWHERE
    definitions: str = ""
    source: str | None = None
    epilogue: tuple[str, ...] = ()  # statements that run behind all others, each in a tree of its own
    prologue: tuple[str, ...] = ()  # the same in front of all others
    wide: bool = False
    privatised: tuple[Privatised, ...] = ()
    backwards: tuple[Reordered, ...] = ()  # reductions in another order than the source's
    arguments: tuple[str, ...] | None = None
    verbatim: SourceRegion | None = None
    passed: tuple[tuple[str, str], ...] = ()
    pointers: tuple[tuple[str, str], ...] = ()
    needed: tuple[str, ...] = ()
    checked: str = ""
    independent: tuple[tuple[str, Location], ...] = ()
    loops: tuple[SourceLoop, ...] = ()
    tables: tuple[RowTable, ...] = ()
    reached: tuple[ReachedExtent, ...] = ()
    allocated: tuple[AllocatedExtent, ...] = ()
    external: tuple[ExternalFunction, ...] = ()
    device_source: str = ""
    set_before: tuple[tuple[str, int], ...] = ()
    products: tuple[tuple[str, Expr], ...] = ()
    optional: tuple[tuple[str, str], ...] = ()
    alias_checks: tuple[AliasCheck, ...] = ()
    rotations: tuple[PointerRotation, ...] = ()
    layouts: tuple[str, ...] = ()
    cflags: tuple[str, ...] = ()
    _written: set[str] = field(default_factory=set, init=False, repr=False, compare=False)
    _users: dict[str, list[int]] = field(default_factory=dict, init=False, repr=False, compare=False)
    _named: dict[str, Statement] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names = {a.name for a in self.arrays}
        self._written.update(a.array for s in self.statements for a in s.accesses if a.writes)
        self._named.update((s.name, s) for s in reversed(self.statements))
        for s in self.statements:
            if s.domain.get_tuple_name() != s.name or s.domain.dim(isl.dim_type.set) != len(s.iterators):
                raise InternalError(f"statement {s.name} and its domain do not fit: {s.domain}")
            for a in s.accesses:
                if a.array not in names or a.relation.get_tuple_name(isl.dim_type.out) != a.array:
                    raise InternalError(f"statement {s.name} accesses an unknown array: {a.relation}")
                if a.relation.dim(isl.dim_type.out) != self.array(a.array).access_rank:
                    raise InternalError(f"access of the wrong rank in {s.name}: {a.relation}")

    def array(self, name: str) -> Array:
        return next(a for a in self.arrays if a.name == name)

    def statement(self, name: str) -> Statement:
        return self._named[name]

    @property
    def main(self) -> tuple[Statement, ...]:
        """Return the statements but those of the prologue and of the epilogue."""
        apart = (*self.prologue, *self.epilogue)
        return tuple(s for s in self.statements if s.name not in apart)

    def written(self, array: str) -> bool:
        """Return whether some statement writes `array`."""
        return array in self._written

    @property
    def found_sizes(self) -> tuple[tuple[str, str], ...]:
        """Return the arrays of the C whose sizes the host finds when it runs, with the parameters that these are."""
        return (*((r.source, r.extent) for r in self.reached), *((a.source, a.extent) for a in self.allocated))

    @property
    def domain(self) -> isl.UnionSet:
        domain = isl.UnionSet.empty(self.context.get_space().params())
        for s in self.statements:
            domain = domain.union(isl.UnionSet.from_set(s.domain))
        return domain

    def accesses(self, *kinds: AccessKind, arrays: frozenset[str] | None = None) -> isl.UnionMap:
        """Return the union of the access relations of these kinds, restricted to the domains (and to `arrays`)."""
        users = self.statements if arrays is None else self.accessing(*arrays)
        found = (isl.UnionMap.from_map(m) for s in users for _, m in s.united(*kinds, arrays=arrays))
        return union_of(found, self.context.get_space())

    def accessing(self, *arrays: str) -> list[Statement]:
        """Return the statements that access any of these arrays, in their order."""
        if not self._users:
            for k, s in enumerate(self.statements):
                for name in dict.fromkeys(a.array for a in s.accesses):
                    self._users.setdefault(name, []).append(k)
        numbers = sorted({k for name in arrays for k in self._users.get(name, ())})
        return [self.statements[k] for k in numbers]

    # The calling convention of the generated entry point, shared by host, header, reference and device runtime.
    @property
    def external_arrays(self) -> tuple[Array, ...]:
        """Return the arrays that the entry point takes after the parameters.

        Arrays are pointers to their first element; a scalar goes by value when the SCoP does not write it, else as a
        pointer.
        """
        return tuple(a for a in self.arrays if a.origin is Origin.EXTERNAL)

    @property
    def positional(self) -> tuple[str, ...]:
        """Return the names that a call gives by position: those that the C function takes, in its order, or all."""
        names = *(p.name for p in self.parameters), *(a.name for a in self.external_arrays)
        return names if self.arguments is None else tuple(name for name in self.arguments if name in names)

    def by_value(self, array: Array) -> bool:
        """Return whether `array` is a scalar that the source only reads, and so travels by value."""
        own = array.rank == 0 and array.origin is Origin.EXTERNAL
        return own and not array.by_pointer and not self.written(array.name)
