"""Elements of small arrays at 32-bit offsets from one place, computed where they are used.

before: double v0 = A[((long long)(k + 1) * m + j) * n + i + 2];       a pointer for each row that is used again
after:  const unsigned at = ((unsigned)k * m + j) * n + i;
        double v0 = A[polytile_offset(at, m * n) + 2];                 one register, and a sum at each use

With strides that are known when the kernel runs, the rows of a large body take more registers than its values: two for
each row of each array. The kernel is made twice, and the host takes the one with offsets where all of its arrays have
so few elements that 32 bits hold each index.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import reduce
from typing import Any

from polytile.codegen.passes.basic_blocks import AUTO_SHARE, Body, each_block, is_short_of_registers, large_graphs
from polytile.codegen.passes.plan import LoweredPlan
from polytile.codegen.passes.prune_signature import pruned
from polytile.dataclass import dataclass
from polytile.ir.arith import add, compare, known, lift, mul, sub
from polytile.ir.expr import BOOL, INT, LLONG, UINT, Access, Binary, Cast, CType, Declare, Expr, If, Name, Stmt
from polytile.ir.expr_trees import rewrite, statements, walk
from polytile.ir.fold import folded
from polytile.ir.gpu_ops import BuiltIn, Offset
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Comment, Kernel, Launch
from polytile.ir.memory import Space
from polytile.ir.name_supply import fresh
from polytile.ir.polynomial import Polynomial, index_polynomial
from polytile.ir.ranges import INT_MOST
from polytile.machine import MAX_THREAD_REGISTERS, Machine

BOUNDED_SHARE = 0.5  # of a bound on registers that values and pointers may take before there are offsets
MOST_CONSTANT = 1 << 16  # elements that constants in subscripts move by
MOST_ELEMENTS = INT_MOST - MOST_CONSTANT  # of an array whose offsets 32 bits hold, before and behind its ends
NEAR = 2  # statements between uses of a row of few arrays, between which its offset stays in a register
MANY_ARRAYS = 6  # that are only read, from which on each access has an offset of its own
_Base = tuple[tuple[tuple[str, ...], int], ...]


def offset_addressing(program: HostProgram, plans: Sequence[LoweredPlan], _: Machine) -> HostProgram:
    """Use 32-bit offsets in large bodies where the host finds that all their arrays are small enough."""
    kernels: list[Kernel] = []
    wide: list[Kernel] = []
    tests: dict[str, Expr] = {}
    bounded = {kernel.name for kernel, plan in zip(program.kernels, plans, strict=False) if plan.bounded}
    for kernel in program.kernels:
        narrow = _narrowed(kernel, bounded=kernel.name in bounded)
        test = None if narrow is kernel else _are_small(program, kernel, narrow)
        kernels.append(kernel if test is None else narrow)
        if test is not None and known(test) != 1:
            other = replace(kernel, name=f"{kernel.name}_wide")
            wide.append(other)
            tests[kernel.name] = test
    body = tuple(rewrite(stmt, lambda node: _launched(node, tests)) for stmt in program.body)
    return replace(program, kernels=(*kernels, *wide), body=body)


def _launched(node: Any, tests: Mapping[str, Expr]) -> Any:
    """Let a launch choose one version or the other by its test."""
    test = tests.get(node.kernel) if isinstance(node, Launch) else None
    if test is None:
        return node
    return If(test, (node,), (replace(node, kernel=f"{node.kernel}_wide"),))


# Where it pays ------------------------------------------------------------------------------------
def _narrowed(kernel: Kernel, *, bounded: bool) -> Kernel:
    """Use offsets in a kernel that needs them, and below a requested bound where it reads many arrays.

    Up to a bound ptxas loads as early as it can, the addresses of all arrays among that (hypterm of polybench/reorder,
    float, 64 registers: 60 bytes are spilled where values and addresses take 23 registers in turn; none with offsets).
    """
    if needs_offsets(kernel):
        return with_offsets(kernel, bounded=bounded)
    many = len(_read_arrays(kernel)) >= MANY_ARRAYS
    return with_offsets(kernel) if bounded and many and large_graphs(kernel) else kernel


def _read_arrays(kernel: Kernel) -> frozenset[str]:
    """Return the arrays that a kernel only reads."""
    return frozenset(p.buffer for p in kernel.parameters if p.const and p.buffer is not None)


def needs_offsets(kernel: Kernel) -> bool:
    """Return whether a large body's values with a pointer for each live row take more registers than there are.

    The values alone have to fit better.
    """
    share = BOUNDED_SHARE * kernel.max_registers if kernel.max_registers else AUTO_SHARE * MAX_THREAD_REGISTERS
    return is_short_of_registers(kernel, int(share))


def _are_small(program: HostProgram, kernel: Kernel, narrow: Kernel) -> Expr | None:
    """Build the test that the host makes before it launches the version with offsets.

    It is 1 where sizes are known, None where an array is too large or its size unknown.
    """
    changed = [s.array for s in kernel.storage if s.array in narrow_arrays(kernel, narrow)]
    tests: list[Expr] = []
    for array in changed:
        buffer = program.buffer(array)
        if buffer is None or known(buffer.first) != 0:
            return None
        tests += _at_most(folded(buffer.elements), MOST_ELEMENTS)
    if any(known(test) == 0 for test in tests):
        return None
    open_tests = [test for test in dict.fromkeys(tests) if known(test) is None]
    return reduce(lambda a, b: Binary("&&", a, b, BOOL), open_tests) if open_tests else lift(1)


def _at_most(elements: Expr, most: int) -> Iterator[Expr]:
    """Yield conditions under which a product is at most `most`, in an order in which no part overflows."""
    product: Expr | None = None
    for factor in _factors(elements):
        yield compare("<=", factor, most)
        if product is not None:
            product = mul(product, factor)
            yield compare("<=", product, most)
        product = factor if product is None else product


def _factors(expr: Expr) -> Iterator[Expr]:
    if isinstance(expr, Binary) and expr.op == "*":
        yield from _factors(expr.left)
        yield from _factors(expr.right)
    else:
        yield expr


def narrow_arrays(kernel: Kernel, narrow: Kernel) -> frozenset[str]:
    """Return the arrays whose elements two versions of a kernel address differently."""
    return frozenset(s.array for s in kernel.storage if s not in narrow.storage)


# How ----------------------------------------------------------------------------------------------
def with_offsets(kernel: Kernel, *, bounded: bool = False) -> Kernel:
    """Use offsets to the elements of all arrays that a kernel only uses in blocks without branches.

    Returns the same kernel where there are none with rows at a distance that is known when it runs. `bounded`: with few
    registers, as was asked for, which takes more instructions (derivative of polybench/reorder, double: 2.80 ms without
    a bound, 3.45 in this way).
    """
    if kernel.index_type != "int" or kernel.ranges:
        return kernel
    places = _Places(kernel)
    arrays = places.arrays()
    if not arrays:
        return kernel
    rewriter = _Rewriter(kernel, places, arrays, set(kernel.names), bounded)
    body = each_block(kernel.body, rewriter.block)
    storage = tuple(replace(s, extents=(None,), keeps=None) if s.array in arrays else s for s in kernel.storage)
    return pruned(replace(kernel, body=body, storage=storage))


@dataclass(frozen=True, slots=True)
class _Place:
    """An index in three parts: of names that differ between threads, of parameters, and a constant."""

    base: Polynomial
    row: Polynomial
    constant: int


class _Places:
    """The parts of the indices of a kernel's accesses, and which arrays have them everywhere."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.types = {n.name: n.type for n in kernel.nodes if isinstance(n, Name) and not isinstance(n, BuiltIn)}
        self.uniform = {p.name for p in kernel.parameters if p.buffer is None} - kernel.changing
        self._known: dict[Access, _Place | None] = {}

    def arrays(self) -> frozenset[str]:
        """Return the arrays with all accesses in blocks, at places of three parts.

        One of these places begins where rows of some array do, at distances that are known at run time.
        """
        everywhere = Counter(n.array for n in self.kernel.nodes if isinstance(n, Access))
        found: dict[str, list[_Place]] = {}

        def look(run: Body, _: Body) -> Body:
            declared = _declared(run)
            for access in _accesses(run[len(_leading(run)) :]):
                place = self.of(access)
                if place is not None and not declared & {n for key in place.base for n in key}:
                    found.setdefault(access.array, []).append(place)
            return run

        each_block(self.kernel.body, look)
        whole = {a for a, places in found.items() if len(places) == everywhere[a]}
        begun = {frozenset(place.base.items()) for a in whole for place in found[a] if place.row}
        return frozenset(a for a in whole if any(frozenset(p.base.items()) in begun for p in found[a]))

    def of(self, access: Access) -> _Place | None:
        """Return the parts of the place of an element; None where it has others."""
        if access not in self._known:
            self._known[access] = self._parts(access)
        return self._known[access]

    def _parts(self, access: Access) -> _Place | None:
        storage = self.kernel.storage_of(access.array)
        if storage.space is not Space.GLOBAL or storage.moduli or storage.strides:
            return None
        index = index_polynomial(self.kernel, access)
        if index is None or any(self.types.get(n) != INT for key in index for n in key):
            return None
        row = {key: factor for key, factor in index.items() if key and self.uniform.issuperset(key)}
        base = {key: factor for key, factor in index.items() if not self.uniform.issuperset(key)}
        constant = index.get((), 0)
        fits = all(abs(factor) <= MOST_CONSTANT for factor in index.values())
        return _Place(base, row, constant) if base and fits else None


def _leading(run: Body) -> Body:
    """Return the declarations of integers at the start of a block."""
    for at, stmt in enumerate(run):
        if not (isinstance(stmt, Comment) or (isinstance(stmt, Declare) and stmt.type.kind == "int")):
            return run[:at]
    return run


def _declared(run: Body) -> set[str]:
    """Return the names that the rest of a block declares."""
    return {s.name for s in statements(*run[len(_leading(run)) :]) if isinstance(s, Declare)}


def _accesses(body: Body) -> Iterator[Access]:
    return (n for n in walk(*body) if isinstance(n, Access))


@dataclass(slots=True)
class _Rewriter:
    """Puts offsets into blocks; `taken` are names in use. `bounded`: registers are as few as was asked for."""

    kernel: Kernel
    places: _Places
    arrays: frozenset[str]
    taken: set[str]
    bounded: bool

    def block(self, run: Body, _: Body) -> Body:
        leading = _leading(run)
        places, bases, rest = self.places, dict[_Base, Name](), list[Stmt]()
        known: dict[Access, tuple[_Place, Offset]] = {}
        rows = None if self.bounded and self._are_many() else _Rows(self.taken)

        def offset(node: Access) -> tuple[_Place, Offset]:
            if node not in known:
                place = places.of(node)
                assert place is not None
                base = self._base(place.base, places.types, bases)
                known[node] = place, Offset(base, _unsigned(place.row, places.types))
            return known[node]

        body = run[len(leading) :]
        for at, stmt in enumerate(body):
            if rows is not None:
                rows.see(at, (offset(node)[1] for node in _accesses((stmt,)) if node.array in self.arrays))
        for at, stmt in enumerate(body):
            new: dict[Offset, Declare] = {}

            def change(node: Any, at: int = at, new: dict[Offset, Declare] = new) -> Any:
                if not isinstance(node, Access) or node.array not in self.arrays:
                    return node
                place, moved = offset(node)
                index = add(rows.at(at, moved, new), place.constant) if rows else _wide_sum(moved, place.constant)
                return replace(node, subscripts=(index,))

            changed = rewrite(stmt, change)
            rest += [*new.values(), changed]
        declared = (Declare(name.name, UINT, _unsigned(dict(base), places.types)) for base, name in bases.items())
        return (*leading, *declared, *rest)

    def _are_many(self) -> bool:
        """Return whether many arrays have the same rows: a name for an offset would live from one to another."""
        return len(self.arrays & _read_arrays(self.kernel)) >= MANY_ARRAYS

    def _base(self, base: Polynomial, types: Mapping[str, CType], names: dict[_Base, Name]) -> Name:
        """Return the name of what a place begins with; an iterator by itself has one."""
        match list(base.items()):
            case [((name,), 1)]:
                return Name(name, types[name])
        key = tuple(sorted(base.items()))
        if key not in names:
            names[key] = Name(fresh("at", self.taken), UINT)
            self.taken.add(names[key].name)
        return names[key]


def _wide_sum(offset: Offset, constant: int) -> Expr:
    """Add a constant to an offset in 64 bits: an access adds it to its address by itself.

    before: A[polytile_offset(at, n) + 2]               32 bits hold the sum, and no other access has its address
    after:  A[(long long)polytile_offset(at, n) + 2]    the address of A[polytile_offset(at, n)], and 16 bytes
    """
    return add(Cast(LLONG, offset), constant) if constant else offset


@dataclass(slots=True)
class _Rows:
    """Rows of few arrays whose elements are used by statements close to one another, which have a name for a while.

    before: v0 = A[polytile_offset(at, n) - 1]; v1 = A[polytile_offset(at, n)];
    after:  const int row = polytile_offset(at, n); v0 = A[row - 1]; v1 = A[row];
    """

    taken: set[str]
    uses: dict[Offset, list[int]] = field(default_factory=dict)  # statements, in their order
    names: dict[Offset, tuple[Name, int]] = field(default_factory=dict)  # with the last statement for which they hold

    def see(self, at: int, offsets: Iterable[Offset]) -> None:
        for offset in offsets:
            self.uses.setdefault(offset, []).append(at)

    def at(self, statement: int, offset: Offset, new: dict[Offset, Declare]) -> Expr:
        """Return an offset for one statement; names that begin there are `new`."""
        name, until = self.names.get(offset, (None, -1))
        if name is not None and statement <= until:
            return name
        last, count = statement, 0
        for use in self.uses[offset]:
            if statement <= use <= last + NEAR:
                last, count = use, count + 1
        if count < 2:
            return offset
        found = Name(fresh(f"row{len(self.names)}", self.taken), INT)
        self.taken.add(found.name)
        self.names[offset] = found, last
        new[offset] = Declare(found.name, INT, offset)
        return found


def _unsigned(a: Polynomial, types: Mapping[str, CType]) -> Expr:
    """Build a polynomial modulo 2^32: each product begins with an unsigned integer."""
    total: Expr = lift(0)
    for key, factor in sorted(a.items(), key=lambda item: (item[1] < 0, item[0])):
        product: Expr = Cast(UINT, Name(key[0], types[key[0]])) if key else lift(1)
        for name in key[1:]:
            product = mul(product, Name(name, types[name]))
        product = mul(product, abs(factor))
        total = add(total, product) if factor > 0 else sub(total, product)
    return total
