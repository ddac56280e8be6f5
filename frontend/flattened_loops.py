"""Loops over two or more dimensions that count both in one, as a loop for each.

before: for (k = 0; k < n * m; k++) A[k / m][k % m] = x[k];
after:  for (q = 0; q < n; q++) for (r = 0; r < m; r++) A[q][r] = x[q * m + r];      where m >= 1, which the host asks

Quotients and remainders by a size are sums for few periods only; these have as many as the loop has rows. Sizes may
change with the loops around where their headers say that none is below 0. Where the number of iterations is another
size, the host asks whether it is whole rows:

before: for (k = 0; k < all; k++) A[k / m][k % m] = x[k];
after:  for (q = 0; q < k_rows; q++) for (r = 0; r < m; r++) ...      where k_rows = all / m and all % m == 0


before: for (o = 0; o < n - 16; o += 16) for (k = 0; k < (n - o) / 16 * ((n - o) / 16); k++) ... k / ((n - o) / 16) ...
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.ast_builders import base_of, declared, integer, unused
from polytile.frontend.counted_rows import CountedRows
from polytile.frontend.induction_variables import outside_own_loops
from polytile.frontend.invariant_loads import ConstantLoads
from polytile.frontend.jump_elimination import jumps
from polytile.frontend.loop_facts import is_never_negative
from polytile.frontend.name_binding import loop_iterator
from polytile.frontend.node_index import NodeIndex
from polytile.frontend.parse import nodes_below
from polytile.frontend.reduction_statements import changed_variables, target
from polytile.frontend.scop_region import SizeProduct, Symbol
from polytile.frontend.scope import Scope
from polytile.frontend.size_factors import Factors, are_many, common_factors, factor_texts, product_of, without_factors
from polytile.frontend.trees import (
    copied,
    map_children,
    map_statements,
    substituted,
    text_of,
    variables_in,
    written_name,
)
from polytile.frontend.type_shapes import Shape
from polytile.ir.expr import CType


@dataclass(frozen=True, slots=True)
class Unflattened:
    """The statements, the conditions that the host asks, and the variables of the function that nothing uses now;
    symbols, what the host computes them from, and the variables of the C that are products of them where it may run."""

    body: tuple[c_ast.Node, ...]
    asked: tuple[c_ast.Node, ...] = ()
    replaced: frozenset[str] = frozenset()
    symbols: Mapping[str, Symbol] = field(default_factory=dict)
    values: Mapping[str, c_ast.Node] = field(default_factory=dict)
    products: Mapping[str, SizeProduct] = field(default_factory=dict)


def without_flattened_loops(
    loads: ConstantLoads,
    scope: Scope,
    products: Mapping[str, c_ast.Node],
    live_after: Callable[[str], bool],
    *,
    varying: bool = False,
) -> Unflattened:
    """Replace such loops in the statements of `loads`, in place; `products` are variables that the function sets to
    products of others before, `live_after` says whether a variable may be read after the statements. With `varying` the
    sizes of dimensions may be sums of iterators."""
    index = NodeIndex.of(loads.body)
    divides = any(n.op in ("/", "%") for n in index.all(c_ast.BinaryOp))
    if not divides:
        return Unflattened(loads.body)
    own = {str(n.name) for n in index.all(c_ast.Decl)}
    taken = {*index.names, *(b.name for b in scope.bindings()), *loads.symbols}
    made = _Loops(loads, scope, products, live_after, {*index.changed, *own}, taken, varying, index)
    body = tuple(made.block(loads.body))
    found = made.counted
    return Unflattened(
        body, tuple(made.asked.values()), frozenset(made.replaced), found.symbols, found.values, found.products
    )


@dataclass(slots=True)
class _Loops:
    loads: ConstantLoads
    scope: Scope
    products: Mapping[str, c_ast.Node]
    live_after: Callable[[str], bool]
    changed: set[str]
    taken: set[str]
    varying: bool
    index: NodeIndex  # of the statements as they were
    around: list[c_ast.For] = field(default_factory=list)  # what is visited
    values: dict[str, c_ast.Node] = field(default_factory=dict)  # of variables that are set once, there
    asked: dict[str, c_ast.Node] = field(default_factory=dict)
    replaced: set[str] = field(default_factory=set)
    counted: CountedRows = field(default_factory=CountedRows)
    split: bool = False  # whether the statements are others now
    _set: Counter[str] = field(default_factory=Counter)  # how often statements set each variable, as they were

    def visit(self, node: Any) -> Any:
        if isinstance(node, c_ast.Compound):
            before = dict(self.values)
            node.block_items = self.block(node.block_items or ())
            self.values = before
            return node
        if not isinstance(node, c_ast.For):
            return map_statements(node, self.visit)
        self.around.append(node)
        map_statements(node, self.visit)
        self.around.pop()
        return self._split(node)

    def block(self, items: Sequence[c_ast.Node]) -> list[c_ast.Node]:
        """Statements that run one after the other."""
        done = []
        for item in items:
            done.append(self.visit(item))
            match item:
                case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=name), rvalue=value):
                    self._note(name, value)
                case c_ast.Decl(name=name, type=c_ast.TypeDecl(), init=value) if value is not None:
                    self._note(name, value)
        return done

    def _note(self, name: str, value: c_ast.Node) -> None:
        """Remember what a signed integer is set to, if that is all that happens to it."""
        kind = self._signed(name)
        if not self.varying or kind is None or self._times_set(name) != 1:
            return
        found = substituted(copied(value), self.values)
        parts = [self._signed(str(use.name)) for use in variables_in(found)]
        if self.factors(found) is not None and all(part is not None and part.size <= kind.size for part in parts):
            self.values[name] = found

    def _times_set(self, name: str) -> int:
        """How often statements set a variable, or give away its address."""
        if self.split:
            return sum(name in _set_by(n) for item in self.loads.body for n in nodes_below(item))
        if not self._set:
            self._set.update(name for n in self.index.nodes for name in _set_by(n))
        return self._set[name]

    def _split(self, loop: c_ast.For) -> c_ast.Node:
        head = self._header(loop)
        if head is None:
            return loop
        iterator, kind, end = head
        divisors = [f for n in nodes_below(loop.stmt) if (f := self._divisor(n, iterator)) is not None]
        columns = common_factors(divisors)
        rows = without_factors(end, columns)
        if rows is None or not columns:
            columns, rows = self._whole_rows(loop, iterator, kind, end)
        if not columns or not rows or not are_many(rows):
            return loop
        sizes = [factor for factor in columns if not isinstance(factor, c_ast.Constant)]
        asked = [factor for factor in sizes if all(self._is_size(str(use.name)) for use in variables_in(factor))]
        if not all(is_never_negative(s, self.around, self._is_size) for s in sizes if s not in asked):
            return loop
        at = loop.coord
        row, column = (self._fresh(f"{iterator}_{part}") for part in ("quotient", "remainder"))
        for factor in asked:
            self.asked[text_of(factor)] = c_ast.BinaryOp(">=", copied(factor), integer(1), at)
        self.split = True
        stmt = _Rewriting(self, iterator, row, column, columns).visit(loop.stmt)
        if isinstance(loop.init, c_ast.Assignment):
            self.replaced.add(iterator)
        inner = self._split(_loop(column, kind, product_of(columns, at), stmt, at))
        return self._split(_loop(row, kind, product_of(rows, at), inner, at))

    def _whole_rows(self, loop: c_ast.For, name: str, kind: CType, end: Factors) -> tuple[Factors, Factors]:
        """The columns and the rows of a loop up to a size of its own; none where it has no such dimensions."""
        places = [n for n in nodes_below(loop.stmt) if self._divisor(n, name) is not None]
        divisors = {op: [self.factors(n.right) or [] for n in places if n.op == op] for op in ("/", "%")}
        if self._adds_up(loop.stmt, places):  # sums of rows, or of columns, alone
            divisors = {op: found or divisors["%" if op == "/" else "/"] for op, found in divisors.items()}
        alike = all(f and all(factor_texts(g) == factor_texts(f[0]) for g in f) for f in divisors.values())
        if self.varying or not alike or len(end) != 1 or not isinstance(end[0], c_ast.ID):
            return [], []
        if self._only_reads(loop.stmt, places):
            return [], []  # any number of iterations may
        rows, columns = divisors["/"][0], divisors["%"][0]
        if factor_texts(rows) != factor_texts(columns):
            if len(rows) != 1 or len(columns) != 1:
                return [], []
            equal = c_ast.BinaryOp("==", copied(rows[0]), copied(columns[0]), loop.coord)
            self.asked[text_of(equal)] = equal
            for place in places:
                place.right = copied(columns[0])
        count = self.counted.of(name, kind, end[0], columns, self.taken, self.loads.loads)
        self.asked[count.rest] = c_ast.BinaryOp("==", c_ast.ID(count.rest), integer(0), loop.coord)
        return columns, [c_ast.ID(count.rows, loop.coord)]

    def _adds_up(self, stmt: c_ast.Node, places: Sequence[c_ast.Node]) -> bool:
        """Whether floating point numbers are added to elements that quotients and remainders choose: other orders than
        those of rows or columns may round differently in each run."""
        sums = [n.lvalue for n in nodes_below(stmt) if isinstance(n, c_ast.Assignment) and n.op in ("+=", "-=", "*=")]
        floating = [n for n in sums if base_of(str(target(n)), self.scope, arrays=True) in ("float", "double")]
        inside = {id(part) for n in floating if isinstance(n, c_ast.ArrayRef) for part in nodes_below(n)}
        return any(id(place) in inside for place in places)

    def _only_reads(self, stmt: c_ast.Node, places: Sequence[c_ast.Node]) -> bool:
        """Whether quotients and remainders are subscripts of arrays that no statement changes, and nothing else."""
        changed = {name for item in self.loads.body for name in changed_variables(item)}
        read = [n for n in nodes_below(stmt) if isinstance(n, c_ast.ArrayRef) and target(n) not in changed]
        inside = {id(part) for n in read for part in nodes_below(n.subscript)}
        return all(id(place) in inside for place in places)

    def _header(self, loop: c_ast.For) -> tuple[str, CType, Factors] | None:
        """The iterator of a loop from 0 on, its type, and the factors of its end; None for other loops."""
        match loop.init:
            case c_ast.DeclList(decls=[c_ast.Decl(name=name, type=kind, init=c_ast.Constant(value="0"))]):
                shape = self.scope.shape(kind)
            case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=name), rvalue=c_ast.Constant(value="0")):
                found = self._type(name)
                if found is None or any(outside_own_loops(n, name) for n in self.loads.body):
                    return None
                shape = found
            case _:
                return None
        match loop.cond, loop.next:
            case (
                c_ast.BinaryOp(op="<", left=c_ast.ID(name=tested), right=end),
                c_ast.UnaryOp(op="++" | "p++", expr=c_ast.ID(name=stepped)),
            ) if tested == stepped == name:
                pass
            case _:
                return None
        if any(written_name(n) == name or getattr(n, "name", "") == name for n in _changes(loop.stmt)):
            return None
        factors = self.factors(end)
        signed = shape.base is not None and not shape.layers and _is_signed(shape.base)
        if not signed or shape.base is None or factors is None or jumps(loop.stmt):
            return None
        return str(name), shape.base, factors

    def _type(self, name: str) -> Shape | None:
        """The type of an iterator that is declared before its loop, whose value nobody reads behind the SCoP."""
        own = [n for item in self.loads.body for n in nodes_below(item) if isinstance(n, c_ast.Decl) and n.name == name]
        if own:
            return self.scope.shape(own[0].type) if len(own) == 1 and own[0].init is None else None
        binding = self.scope.lookup(name)
        return None if binding is None or self.live_after(name) else binding.shape

    def factors(self, node: c_ast.Node) -> Factors | None:
        """What a number that no statement changes is the product of: constants and sums of signed integers."""
        match node:
            case c_ast.ID(name=name) if name in self.products and name not in self.changed:
                return self.factors(self.products[name])
            case c_ast.ID(name=name) if name in self.values:
                return self.factors(self.values[name])
            case c_ast.BinaryOp(op="*", left=left, right=right):
                one, other = self.factors(left), self.factors(right)
                return None if one is None or other is None else one + other
        return [node] if self._is_linear(node) else None

    def _is_linear(self, node: c_ast.Node) -> bool:
        """Whether an expression is a sum of sizes, and of what else is known here."""
        parts = list(nodes_below(node))
        sums = (self._is_sum(n) for n in parts if isinstance(n, c_ast.BinaryOp | c_ast.UnaryOp))
        plain = all(isinstance(n, c_ast.ID | c_ast.Constant | c_ast.BinaryOp | c_ast.UnaryOp) for n in parts)
        known = (self._is_size(str(use.name)) or self._counts_around(str(use.name)) for use in variables_in(node))
        return plain and all(sums) and all(known)

    def _is_sum(self, node: c_ast.Node) -> bool:
        if node.op in ("+", "-"):
            return True
        sides = {"*": (node.left, node.right), "/": (node.right,)} if isinstance(node, c_ast.BinaryOp) else {}
        return self.varying and any(isinstance(side, c_ast.Constant) for side in sides.get(node.op, ()))

    def _counts_around(self, name: str) -> bool:
        """Whether a loop around what is visited counts with a variable, a signed integer."""
        iterators = (loop_iterator(loop) for loop in self.around if self.varying)
        return any(i is not None and i.name == name for i in iterators) and self._signed(name) is not None

    def _signed(self, name: str) -> CType | None:
        """The type of a signed integer of at least 32 bits, of the SCoP or of the function; None for others."""
        declared = self._declarations() if self.split else self.index.all(c_ast.Decl)
        own = [n for n in declared if n.name == name]
        binding = self.scope.lookup(name)
        if name in self.loads.symbols:
            return self.loads.symbols[name].type if self._is_size(name) else None
        if len(own) > 1 or (own and binding is not None) or not (own or binding):
            return None  # several variables of one name
        shape = self.scope.shape(own[0].type) if binding is None else binding.shape
        return shape.base if not shape.layers and shape.base is not None and _is_signed(shape.base) else None

    def _declarations(self) -> list[c_ast.Decl]:
        return [n for item in self.loads.body for n in nodes_below(item) if isinstance(n, c_ast.Decl)]

    def _is_size(self, name: str) -> bool:
        if name in self.loads.symbols:
            symbol = self.loads.symbols[name]
            return not symbol.extents and not symbol.pointer and _is_signed(symbol.type)
        binding = self.scope.lookup(name)
        if name in self.changed or binding is None or binding.kind not in ("variable", "parameter"):
            return False
        return not binding.shape.layers and binding.shape.base is not None and _is_signed(binding.shape.base)

    def _divisor(self, node: c_ast.Node, iterator: str) -> Factors | None:
        match node:
            case c_ast.BinaryOp(op="/" | "%", left=c_ast.ID(name=name), right=right) if name == iterator:
                found = self.factors(right)
                return found if found is not None and any(not isinstance(f, c_ast.Constant) for f in found) else None
        return None

    def _fresh(self, name: str) -> str:
        found = unused(name, self.taken)
        self.taken.add(found)
        return found


@dataclass(frozen=True, slots=True)
class _Rewriting:
    """A body in which the iterator is `row * columns + column`."""

    loops: _Loops
    iterator: str
    row: str
    column: str
    columns: Factors

    def visit(self, node: Any) -> Any:
        match node:
            case c_ast.BinaryOp(op="/" | "%" as op, left=c_ast.BinaryOp(op="%") as inner, right=right):
                rest = self._rest(inner)
                if rest is not None and self._texts(right) == factor_texts(self.columns):
                    return c_ast.ID(self.column, node.coord) if op == "%" else self._row("%", rest, node.coord)
            case c_ast.BinaryOp(op="/" | "%" as op) if (rest := self._rest(node)) is not None:
                if op == "/":
                    return self._row("/", rest, node.coord)
                return self._whole(self._row("%", rest, node.coord), node.coord) if rest else self._end(node.coord)
            case c_ast.ID(name=name) if name == self.iterator:
                return self._whole(c_ast.ID(self.row, node.coord), node.coord)
            case c_ast.StructRef():
                node.name = self.visit(node.name)
                return node
        return map_children(node, self.visit)

    def _rest(self, node: c_ast.Node) -> Factors | None:
        """What the iterator is divided by beside the columns."""
        divisor = self.loops._divisor(node, self.iterator)
        return None if divisor is None else without_factors(divisor, self.columns)

    def _texts(self, node: c_ast.Node) -> Counter[str] | None:
        factors = self.loops.factors(node)
        return None if factors is None else factor_texts(factors)

    def _row(self, op: str, rest: Factors, at: Any) -> c_ast.Node:
        row = c_ast.ID(self.row, at)
        if not rest:
            return row if op == "/" else integer(0)
        return c_ast.BinaryOp(op, row, product_of(rest, at), at)

    def _end(self, at: Any) -> c_ast.Node:
        return c_ast.ID(self.column, at)

    def _whole(self, row: c_ast.Node, at: Any) -> c_ast.Node:
        return c_ast.BinaryOp("+", c_ast.BinaryOp("*", row, product_of(self.columns, at), at), self._end(at), at)


def _loop(name: str, kind: CType, end: c_ast.Node, stmt: c_ast.Node, at: Any) -> c_ast.For:
    start = declared(name, kind.name, integer(0))
    for part in nodes_below(start):
        part.coord = at
    iterator = c_ast.ID(name, at)
    step = c_ast.UnaryOp("p++", c_ast.ID(name, at), at)
    return c_ast.For(c_ast.DeclList([start], at), c_ast.BinaryOp("<", iterator, end, at), step, stmt, at)


def _changes(node: c_ast.Node) -> list[c_ast.Node]:
    """What may change a variable: assignments, increments, declarations."""
    return [n for n in nodes_below(node) if isinstance(n, c_ast.Assignment | c_ast.UnaryOp | c_ast.Decl)]


def _set_by(node: c_ast.Node) -> set[str]:
    """The variables that a node sets, or gives away the address of."""
    if isinstance(node, c_ast.Decl):
        return {str(node.name)} if node.init is not None else set()
    if isinstance(node, c_ast.UnaryOp) and node.op == "&":
        return {str(use.name) for use in variables_in(node)}
    written = written_name(node)
    return set() if written is None else {written}


def _is_signed(kind: CType) -> bool:
    return kind.kind == "int" and kind.signed and kind.size >= 4
