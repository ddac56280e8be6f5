"""Who is who in a SCoP: every identifier is bound to a variable or to an iterator, with C's scopes."""

from __future__ import annotations

from dataclasses import field

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.diagnostics import Location, OpaqueCallError, UserError
from polytile.frontend.access_summaries import written_by
from polytile.frontend.c_types import declared_type, where
from polytile.frontend.parse import nodes_below
from polytile.frontend.scop_region import Region, Symbol
from polytile.frontend.trees import copied, possible_bases
from polytile.ir.def_use import mentioned_names
from polytile.ir.expr import CType, Expr, IteratorValue

# What isl's notation reads as something else than a name, however its letters are written.
_ISL_WORDS = frozenset(
    (
        "and", "ceil", "ceild", "exists", "false", "floor", "floord", "implies", "infinity", "infty", "max", "min",
        "mod", "nan", "not", "or", "rat", "true",
    )
)  # fmt: skip


def isl_reads(name: str) -> bool:
    """Whether isl's notation takes `name` for a name: `Min` is a function there, and `$` no letter."""
    return name.lower() not in _ISL_WORDS and "$" not in name


@dataclass(eq=False, slots=True)
class Variable:
    """An array or a scalar. `name` is unique in the SCoP, `source` is what the user wrote."""

    source: str
    type: CType
    extents: tuple[c_ast.Node | None, ...]
    fields: tuple[tuple[str, CType], ...]
    location: Location
    symbol: Symbol | None = None  # None: declared inside the SCoP
    name: str = ""
    assignments: list[Location] = field(default_factory=list)  # not counting an initialiser
    iterates: bool = False  # some loop uses it as its iterator
    value: Expr | None = None  # an affine local that never changes stands for this
    is_name: bool = False  # declared inside the body of a statement

    @property
    def written(self) -> bool:
        return bool(self.assignments)


@dataclass(eq=False, slots=True)
class Iterator:
    """The iterator of one loop, inside the loops `parents`."""

    source: str
    type: CType
    location: Location
    parents: tuple[Iterator, ...]
    variable: Variable | None  # where it is declared outside its loop
    name: str = ""
    value: IteratorValue | None = None  # where the name is the number of the iteration


def loop_iterator(node: c_ast.For) -> c_ast.ID | c_ast.Decl | None:
    """What `for (i = ...` or `for (int i = ...` counts, or None for another kind of loop."""
    init = node.init
    if isinstance(init, c_ast.DeclList) and len(init.decls) == 1:
        return init.decls[0]
    if isinstance(init, c_ast.Assignment) and init.op == "=" and isinstance(init.lvalue, c_ast.ID):
        return init.lvalue
    return None


@dataclass(slots=True)
class Names:
    """The bindings of one SCoP. Nodes are keyed by identity: the region's nodes are copied so that none is shared."""

    region: Region
    uses: dict[int, Variable | Iterator] = field(default_factory=dict)
    declared: dict[int, Variable] = field(default_factory=dict)
    loops: dict[int, Iterator] = field(default_factory=dict)
    outer: dict[str, Variable] = field(default_factory=dict)
    body: tuple[c_ast.Node, ...] = ()
    assumptions: tuple[c_ast.Node, ...] = ()
    asked: tuple[c_ast.Node, ...] = ()
    _scopes: list[dict[str, Variable | Iterator]] = field(default_factory=lambda: [{}])
    _nest: tuple[Iterator, ...] = ()

    @classmethod
    def of(cls, region: Region) -> Names:
        """Bind every identifier of the region."""
        names = cls(region)
        names.body = tuple(copied(n) for n in region.body)
        names.assumptions = tuple(copied(n) for n in region.assumptions)
        names.asked = tuple(copied(n) for n in region.asked)
        for node in names.body:
            names._visit(node)
        names._bind_surroundings()
        names._check_iterators()
        names._choose_names()
        return names

    def bind_outer(self, node: c_ast.Node) -> None:
        """Bind the identifiers of an expression that stands outside the SCoP: an extent, an assumption."""
        for inner in nodes_below(node):
            if isinstance(inner, c_ast.ID) and id(inner) not in self.uses:
                self.uses[id(inner)] = self._symbol(inner)

    def _bind_surroundings(self) -> None:
        """Bind what the assumptions, products of sizes and extents of outer arrays name, the extents of those, and so
        on."""
        for node in (*self.assumptions, *self.asked):
            self.bind_outer(node)
        for name, product in self.region.products.items():
            for factor in mentioned_names(product.value) if name in self.outer else ():
                self._symbol(c_ast.ID(factor))
        done: set[str] = set()
        while waiting := [v for name, v in self.outer.items() if name not in done]:
            for variable in waiting:
                done.add(variable.source)
                width = None if variable.symbol is None else variable.symbol.width
                for extent in (*variable.extents, width):
                    if extent is not None:
                        self.bind_outer(extent)

    def variables(self) -> list[Variable]:
        return [*self.outer.values(), *self.declared.values()]

    def variable(self, name: str) -> Variable | None:
        """The variable with this (unique) name."""
        return next((v for v in self.variables() if v.name == name), None)

    # Scopes ---------------------------------------------------------------------------------------------------------
    def _visit(self, node: c_ast.Node) -> None:
        match node:
            case c_ast.BinaryOp(left=first, right=second) | c_ast.ArrayRef(name=first, subscript=second):
                self._visit(first)  # most nodes
                self._visit(second)
            case c_ast.ID():
                self.uses[id(node)] = self._find(node)
            case c_ast.Constant():
                pass
            case c_ast.For():
                self._visit_for(node)
            case c_ast.Compound() | c_ast.If() | c_ast.While() | c_ast.DoWhile() | c_ast.Switch():
                self._scopes.append({})
                self._visit_children(node)
                self._scopes.pop()
            case c_ast.Decl():
                self._declare(node)
            case c_ast.Assignment():
                self._visit_children(node)
                self._note_assignment(node.lvalue)
            case c_ast.UnaryOp(op="++" | "--" | "p++" | "p--"):
                self._visit(node.expr)
                self._note_assignment(node.expr)
            case c_ast.StructRef():
                self._visit(node.name)
            case c_ast.FuncCall():
                if node.args is not None:
                    self._visit(node.args)
                for argument in written_by(node, self.region.summaries):
                    self._note_assignment(argument)
            case c_ast.Typename() | c_ast.Goto() | c_ast.Pragma():
                pass
            case _:
                self._visit_children(node)

    def _visit_children(self, node: c_ast.Node) -> None:
        for _, child in node.children():
            self._visit(child)

    def _visit_for(self, node: c_ast.For) -> None:
        self._scopes.append({})
        counter = loop_iterator(node)
        nest = self._nest
        if counter is None:
            self._visit_children(node)
        else:
            start = counter.init if isinstance(counter, c_ast.Decl) else node.init.rvalue
            if start is not None:
                self._visit(start)
            iterator = self._iterator(counter)
            self.loops[id(node)] = iterator
            self._nest = (*nest, iterator)
            self._scopes[-1][iterator.source] = iterator
            self._visit_header(node, iterator)
            self._visit(node.stmt)
        self._nest = nest
        self._scopes.pop()

    def _visit_header(self, node: c_ast.For, iterator: Iterator) -> None:
        if node.cond is not None:
            self._visit(node.cond)
        step = node.next
        if isinstance(step, c_ast.Assignment) and _is_id(step.lvalue, iterator.source):
            self.uses[id(step.lvalue)] = iterator
            self._visit(step.rvalue)
        elif isinstance(step, c_ast.UnaryOp) and _is_id(step.expr, iterator.source):
            self.uses[id(step.expr)] = iterator
        elif step is not None:
            self._visit(step)

    def _iterator(self, counter: c_ast.ID | c_ast.Decl) -> Iterator:
        location = where(counter)
        if isinstance(counter, c_ast.Decl):
            ctype, extents = declared_type(counter.type, self.region.types)
            if extents:
                raise UserError("a loop cannot count an array", location=location, hint="use an integer iterator")
            return Iterator(counter.name, ctype, location, self._nest, None)
        found = self._find(counter)
        if isinstance(found, Iterator):
            raise _modified(found, location)
        found.iterates = True
        return Iterator(counter.name, found.type, location, self._nest, found)

    def _declare(self, node: c_ast.Decl) -> None:
        if isinstance(node.type, c_ast.PtrDecl):
            _check_not_called(node)
        if node.init is not None:
            self._visit(node.init)
        ctype, extents = declared_type(node.type, self.region.types)
        for extent in extents:
            if extent is not None:
                self._visit(extent)
        variable = Variable(node.name, ctype, extents, self.region.fields.get(ctype.name, ()), where(node))
        self.declared[id(node)] = variable
        self._scopes[-1][node.name] = variable

    def _find(self, node: c_ast.ID) -> Variable | Iterator:
        for scope in reversed(self._scopes):
            if node.name in scope:
                return scope[node.name]
        return self._symbol(node)

    def _symbol(self, node: c_ast.ID) -> Variable:
        if node.name not in self.outer:
            symbol = self.region.symbols.get(node.name)
            if symbol is None:
                raise UserError(
                    f"`{node.name}` is used but not declared",
                    location=where(node),
                    hint=f"declare `{node.name}` before the SCoP, or include the header that does",
                )
            self.outer[node.name] = Variable(
                symbol.name, symbol.type, symbol.extents, symbol.fields, symbol.location, symbol, symbol.name
            )
        return self.outer[node.name]

    def _note_assignment(self, target: c_ast.Node) -> None:
        for base in possible_bases(target):
            found = self.uses[id(base)]
            if isinstance(found, Variable) and (found.extents or base is target or not _offsets(target)):
                found.assignments.append(where(target))
            elif isinstance(found, Iterator) and base is target:
                raise _modified(found, where(target))

    # Iterators ------------------------------------------------------------------------------------------------------
    def _check_iterators(self) -> None:
        for node in self.body:
            for inner in nodes_below(node):
                found = self.uses.get(id(inner))
                if isinstance(found, Variable) and found.iterates:
                    raise UserError(
                        f"the iterator `{found.source}` is used outside its loop",
                        location=where(inner),
                        hint=f"use another variable here, or declare it in its loop: for (int {found.source} = ...",
                    )
        for iterator in self.loops.values():
            symbol = iterator.variable.symbol if iterator.variable else None
            if symbol is not None and symbol.live_after:
                raise UserError(
                    f"the iterator `{iterator.source}` may be read after the SCoP",
                    location=iterator.location,
                    hint=f"declare it in the loop: for (int {iterator.source} = ...",
                )

    def _choose_names(self) -> None:
        taken = {v.name for v in self.outer.values() if not v.iterates}
        for variable in self.declared.values():
            if not variable.iterates:
                variable.name = _unique(variable.source, taken)
                taken.add(variable.name)
        for iterator in self.loops.values():
            busy = taken | {p.name for p in iterator.parents}
            iterator.name = _unique(iterator.source, busy)


def _offsets(node: c_ast.Node) -> bool:
    return len(possible_bases(node)) > 1


def _check_not_called(pointer: c_ast.Decl) -> None:
    """Refuse a pointer that a call gives, as `malloc` does: the host calls, and runs what is around it."""
    call = next((n for n in nodes_below(pointer.init) if isinstance(n, c_ast.FuncCall)), None)
    if call is not None and isinstance(call.name, c_ast.ID):
        raise OpaqueCallError(
            f"the call of `{call.name.name}` gives a pointer",
            location=where(call),
            hint="declare an array in its place, or let it point to memory before the SCoP",
        )


def _modified(iterator: Iterator, location: Location) -> UserError:
    return UserError(
        f"the iterator `{iterator.source}` is modified inside its loop",
        location=location,
        hint="let only the loop's header change its iterator",
    )


def _is_id(node: c_ast.Node, name: str) -> bool:
    return isinstance(node, c_ast.ID) and bool(node.name == name)


def _unique(name: str, taken: set[str]) -> str:
    """`name` as isl can read it, with the first number that makes it none of `taken`."""
    name = name.replace("$", "_")
    candidate, count = name, 0
    while candidate in taken or not isl_reads(candidate):
        count += 1
        candidate = f"{name}_{count}"
    return candidate
