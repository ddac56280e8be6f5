"""What surrounds the text of a SCoP so that a C compiler takes it as a function, behind the end of the user's file.

The text stays as it is, and so do the file's functions, types, macros and global variables. Only what the function
around the SCoP declares is declared again, in the user's words (`real (*A)[COLUMNS]`): nothing here asks what polytile
has made of the region, its loops, or its statements.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field, replace
from typing import Any

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.assemble import FileContext
from polytile.frontend.builtin_functions import NO_OPERATIONS
from polytile.frontend.callees import called_name, names_in_callees
from polytile.frontend.find_scops import ScopPlace
from polytile.frontend.math_functions import INDEX_HELPERS
from polytile.frontend.normalise import spelt
from polytile.frontend.parse import nodes_below
from polytile.frontend.scop_region import Region, Symbol
from polytile.frontend.scope import Binding
from polytile.frontend.trees import copied, text_of, variables_in
from polytile.ir.name_supply import fresh
from polytile.ir.scop import Array, Scop
from polytile.ir.source_region import Sized, SourceRegion, VerbatimArgument

_TAGGED = (c_ast.Struct, c_ast.Union, c_ast.Enum)


def verbatim_region(context: FileContext, place: ScopPlace, region: Region, scop: Scop) -> SourceRegion:
    """The region in its user's own words; with an `obstacle` where it cannot stand alone."""
    source = context.file.source
    made = SourceRegion(region.name, source.path, source.raw, region.span, source.include_dirs, source.defines)
    writer = _Writer(context, place, region, scop)
    try:
        head, tail = writer.text()
    except _CannotStandAloneError as reason:
        return replace(made, obstacle=str(reason))
    return replace(made, arguments=tuple(writer.arguments.values()), head=head, tail=tail)


class _CannotStandAloneError(Exception):
    """Why the text of a region cannot be compiled as a function."""


@dataclass(slots=True)
class _Writer:
    """`passed` are the names of the function's arguments, by what they bring."""

    context: FileContext
    place: ScopPlace
    region: Region
    scop: Scop
    arguments: dict[str, VerbatimArgument] = field(default_factory=dict)
    passed: dict[str, str] = field(default_factory=dict)
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    tags: set[int] = field(default_factory=set)  # the nodes of types that are defined already
    bytes: str = ""
    empty: list[str] = field(default_factory=list)  # functions without a body that do nothing
    _used_by_callees: frozenset[str] | None = None  # found when first asked for

    def text(self) -> tuple[str, str]:
        """The function up to the region and behind it."""
        taken = set(self.context.file.names)
        names = [*(p.name for p in self.scop.parameters), *(a.name for a in self.scop.external_arrays)]
        self.passed = {name: fresh(f"polytile_{number}", taken) for number, name in enumerate(names)}
        self.bytes = fresh("polytile_bytes", taken)
        for array in self.scop.external_arrays:
            self.arguments[array.name] = VerbatimArgument(array.name, self._sized(array))
        self._check_sizeof()
        self._check_functions()
        self._loads()
        for symbol in self.region.symbols.values():
            if symbol.scope == "global":
                self._global(symbol)
        for node in surrounding_declarations(self.place):
            self._declaration(node)
        self._set_counted()
        signature = [f"{p.type} {self.passed[p.name]}" for p in self.scop.parameters]
        signature += [f"void *{self.passed[a.name]}" for a in self.scop.external_arrays]
        signature += [f"const long long *{self.bytes}"]
        start = f'__attribute__((visibility("default")))\nint {self.region.name}_verbatim({", ".join(signature)})\n{{\n'
        start = "".join(f'__asm__(".weak {n}\\n{n}:\\nret");\n' for n in self.empty) + start
        return start + "".join(f"{line}\n" for line in self.before), "".join(f"{line}\n" for line in self.after)

    # Variables ------------------------------------------------------------------------------------------------------
    def _sized(self, array: Array) -> Sized:
        symbol = self.region.symbols[array.name]
        if len(symbol.extents) != array.rank or symbol.table:
            return Sized.UNKNOWN
        whole = not array.rank or (self._in_place(symbol) and not symbol.pointer)
        return Sized.WHOLE if whole else Sized.ROW

    def _in_place(self, symbol: Symbol) -> bool:
        """Whether the SCoP runs on the file's own global variable: it is defined there, and can be written."""
        if symbol.scope != "global" or (symbol.const and not symbol.pointer) or symbol.name in self.region.tables:
            return False
        if symbol.extents and symbol.extents[0] is None and not symbol.pointer:
            return False
        declared = (n for n in self.context.file.tree.ext if isinstance(n, c_ast.Decl) and n.name == symbol.name)
        return any("extern" not in n.storage or n.init is not None for n in declared)

    def _global(self, symbol: Symbol) -> None:
        passed, name = self.passed.get(symbol.name), symbol.name
        if passed is None:
            return
        if not self._in_place(symbol):
            self._check_callees(symbol)
            self._outer(symbol, self._node(name))
        elif name not in self.arguments:  # a parameter
            self.before.append(f"{name} = {passed};")
            self._check_unchanged(name)
        elif symbol.pointer:
            self.before.append(f"{name} = {passed};")
            self._check_size(name, f"*{name}")
        else:
            self._check_size(name, name)
            size = f"(sizeof {name} < {self._size(name)} ? sizeof {name} : {self._size(name)})"
            self.before.append(f"__builtin_memcpy(&{name}, {passed}, {size});")
            self.after.append(f"__builtin_memcpy({passed}, &{name}, {size});")

    def _loads(self) -> None:
        """Set what scalars of the SCoP are read from, in variables of the file's own."""
        for table in self.region.tables.values():
            if table.field:
                raise _CannotStandAloneError(f"it reads `{re.sub('{.*?}', '', table.row)}` in structs")
        for value in self.region.pointers.values():
            load = value.iftrue if isinstance(value, c_ast.TernaryOp) else value
            raise _CannotStandAloneError(f"it reads `{_printed(load)}` from a variable of the function")
        for name, load in self.region.loads.items():
            if name in self.region.products or isinstance(load, c_ast.ID):
                continue  # the text computes it, or finds it in a variable of the function
            bases = {str(use.name) for use in variables_in(load)}
            if any(self._product(base) for base in bases):
                continue  # that variable is declared as what it is a product of
            if isinstance(load, c_ast.TernaryOp):
                raise _CannotStandAloneError(f"it reads `{_printed(load.iftrue)}` from a variable of the function")
            if isinstance(load, c_ast.BinaryOp):
                raise _CannotStandAloneError(f"it tests {_printed(load)}")
            if not isinstance(load, c_ast.ArrayRef | c_ast.StructRef):
                raise _CannotStandAloneError(f"it runs a loop {_printed(load)} times")
            binding = self.place.scope.lookup(next(iter(bases)))
            if binding is None or binding.level != "global" or not _is_own_memory(binding):
                raise _CannotStandAloneError(f"it reads `{_printed(load)}` from a variable of the function")
            if name in self.passed:
                self.before.append(f"{_printed(load)} = {self.passed[name]};")

    def _product(self, name: str) -> str:
        """What a variable of the function is the product of, among the arguments; "" for others."""
        product, binding = self.region.products.get(name), self.place.scope.lookup(name)
        if product is None or binding is None or binding.level == "global":
            return ""
        return " * ".join(self.passed[n] for n in product.names) if self.passed.keys() >= set(product.names) else ""

    def _node(self, name: str) -> c_ast.Node:
        binding = self.place.scope.lookup(name)
        assert binding is not None
        return binding.node

    def _declaration(self, node: c_ast.Node) -> None:
        """What a declaration around the SCoP means inside it."""
        types = self.context.file.types
        if types.doubts(_base(node)) or types.scalar(node) is not None:
            raise _CannotStandAloneError(f"`{node.name or _base(node).name}` is declared in it with attributes")
        self._define_tag(node)
        binding = self.place.scope.lookup(node.name) if node.name else None
        if binding is None or binding.node is not node:
            return
        if isinstance(node, c_ast.Typedef) or binding.kind == "function" or binding.constant is not None:
            self.before.append(f"{_printed(self._tagless(node))};")
        elif node.name not in self.passed and self._product(node.name):
            made = self._tagless(node)
            made.storage, made.funcspec, made.align, made.init = [], [], [], None
            self.before.append(f"{_printed(made)} = {self._product(node.name)};")
        elif node.name in self.region.symbols:
            self._outer(self.region.symbols[node.name], node)
        elif node.name in self.region.counted:
            self._uncounted(node)
        elif node.name in self.region.known:
            made = self._tagless(node)
            made.storage, made.funcspec, made.init = [], [], self.region.known[node.name]
            self.before.append(f"{_printed(made)};")

    def _uncounted(self, node: c_ast.Node) -> None:
        """Declare a variable that only the user's text has: its value does not cross the border."""
        made = self._tagless(node)
        made.storage, made.funcspec, made.init = [], [], None
        self.before += [f"{_printed(made)};", f"__builtin_memset(&{node.name}, -1, sizeof {node.name});"]

    def _set_counted(self) -> None:
        """Give variables that stand for what they count the values that the function sets before the region."""
        for name, value in self.region.initial.items():
            if all(use.name in self.region.symbols for use in variables_in(value)):
                self.before.append(f"{name} = {_printed(value)};")
        for name, variable in self._first_values():
            if name in self.passed:
                self.before.append(f"{variable} = {self.passed[name]};")

    def _first_values(self) -> Iterator[tuple[str, str]]:
        """The symbols for what iterators have when the region starts, and these iterators."""
        for name, load in self.region.loads.items():
            if isinstance(load, c_ast.ID):
                yield name, str(load.name)

    def _define_tag(self, node: c_ast.Node) -> None:
        """Define the struct or enumeration that a declaration defines along with what it declares."""
        base = _base(node)
        if not isinstance(base, _TAGGED) or id(base) in self.tags:
            return
        inside = base.values if isinstance(base, c_ast.Enum) else base.decls
        if inside is not None and base.name:
            self.before.append(f"{_printed(base)};")
        elif inside is not None and node.name is None:
            self.before.append(f"{_printed(node)};")
        self.tags.add(id(base))

    def _tagless(self, node: c_ast.Node) -> Any:
        """A declaration that names a type which is defined apart."""
        made = copied(node)
        base = _base(made)
        if isinstance(base, c_ast.Enum) and base.name:
            base.values = None
        elif isinstance(base, c_ast.Struct | c_ast.Union) and base.name:
            base.decls = None
        return made

    def _outer(self, symbol: Symbol, node: c_ast.Node) -> None:
        """Declare a variable of the surroundings: with the value that is passed, or with one that is none."""
        name, passed = symbol.name, self.passed.get(symbol.name)
        if name in self.region.tables and passed is not None:
            self._table(symbol, passed)
            return
        made = self._tagless(node)
        made.storage, made.funcspec, made.align, made.init, made.bitsize = [], [], [], None, None
        if symbol.extents:
            made.type = self._pointer(symbol, made)
            value = passed if passed is not None else self._own_memory(symbol, node)
            self.before.append(f"{_printed(made)} = {value};")
            if passed is not None:
                self._check_size(name, f"*{name}")
            elif value != "0":
                self.after.append(f"__builtin_free((void *){name});")
        elif passed is None:
            self.before += [f"{_printed(made)};", f"__builtin_memset((void *)&{name}, -1, sizeof {name});"]
        elif name in self.arguments:
            self.before.append(f"{_printed(made)} = *(__typeof__({name}) *){passed};")
            self._check_size(name, name)
            if not symbol.const:
                self.after.append(f"*(__typeof__({name}) *){passed} = {name};")
        else:
            self.before.append(f"{_printed(made)} = {passed};")
            self._check_unchanged(name)

    def _table(self, symbol: Symbol, passed: str) -> None:
        """Declare pointers to rows, with as many in front of the first one: C may count from below it."""
        *planes, pitch = (self.passed[e] for e in self.region.tables[symbol.name].extents)
        inside = " * ".join(["1LL", *planes])
        row = f"({inside} * {pitch} * (long long)sizeof({symbol.type}))"
        count, rows = (f"{passed}_{what}" for what in ("count", "rows_0"))
        self.before.append(f"long long {count} = {row} > 0 ? {self._size(symbol.name)} / {row} : 0;")
        value = f"({symbol.type} *){passed} + (at - {count} * {inside}) * {pitch}"
        for level, extents in enumerate([planes[:k] for k in range(len(planes), -1, -1)]):
            rows, number = f"{passed}_rows_{level}", " * ".join([f"2 * {count}", *extents])
            kind = f"{symbol.type} *{'*' * level}"
            self.before.append(f"{kind}*{rows} = __builtin_malloc({number} * sizeof *{rows} + 1);")
            self.before.append(f"for (long long at = 0; at < {number}; at++) {rows}[at] = {value};")
            self.after.append(f"__builtin_free({rows});")
            value = f"{rows} + at * {extents[-1]}" if extents else ""
        self.before.append(f"__typeof__({rows}) {symbol.name} = {rows} + {count};")

    def _pointer(self, symbol: Symbol, node: c_ast.Node) -> c_ast.Node:
        """The declarator of an array as that of a pointer to its rows: `double (*A)[m]` for `double A[n][m]`."""
        declarator = node.type
        if not isinstance(declarator, c_ast.PtrDecl | c_ast.ArrayDecl):  # a typedef
            binding = self.place.scope.lookup(symbol.name)
            assert binding is not None
            declarator = spelt(node.type, binding.shape, symbol.name)
        return declarator if isinstance(declarator, c_ast.PtrDecl) else c_ast.PtrDecl([], declarator.type)

    def _own_memory(self, symbol: Symbol, node: c_ast.Node) -> str:
        """The memory of an array whose values do not cross the border of the SCoP; no number is in it."""
        if symbol.extents[0] is None:
            return "0"
        made = self._tagless(node)
        _without_name(made)
        size = f"sizeof({_printed(c_ast.Typename(None, [], None, made.type))})"
        return f"__builtin_memset(__builtin_malloc({size} + 1), -1, {size})"

    # Checks ---------------------------------------------------------------------------------------------------------
    def _size(self, name: str) -> str:
        """The bytes of an array, passed as they are known only when it runs."""
        return f"{self.bytes}[{list(self.arguments).index(name)}]"

    def _check_size(self, name: str, place: str) -> None:
        if self.arguments[name].sized is not Sized.UNKNOWN:
            number = list(self.arguments).index(name) + 1
            self.before.append(f"if ((long long)sizeof({place}) != {self._size(name)}) return {number};")

    def _check_unchanged(self, name: str) -> None:
        if name in self.region.counted:
            return
        number = [p.name for p in self.scop.parameters].index(name) + 1
        self.after.append(f"if ({name} != {self.passed[name]}) return {-number};")

    def _check_sizeof(self) -> None:
        """Refuse `sizeof` of arrays that stand as pointers in the function."""
        for node in (n for item in self.place.items for n in nodes_below(item)):
            if isinstance(node, c_ast.UnaryOp) and node.op == "sizeof" and isinstance(node.expr, c_ast.ID):
                symbol = self.region.symbols.get(node.expr.name)
                binding = self.place.scope.lookup(node.expr.name)
                array = symbol.extents if symbol else binding.shape.layers if binding else ()
                if array and not (symbol and (symbol.pointer or self._in_place(symbol))):
                    raise _CannotStandAloneError(f"it takes the size of `{node.expr.name}`")

    def _check_functions(self) -> None:
        """Refuse calls of functions that polytile knows by their names, but the file does not define."""
        names = {called_name(n) for item in self.place.items for n in nodes_below(item)} - {""}
        missing = sorted(n for n in names if n in INDEX_HELPERS and n not in self.context.functions)
        if missing:
            raise _CannotStandAloneError(f"it calls `{missing[0]}`, which is defined elsewhere")
        elsewhere = sorted(names & set(self.region.summaries))
        if elsewhere:
            raise _CannotStandAloneError(f"it calls `{elsewhere[0]}`, which is defined elsewhere")
        self.empty = sorted(n for n in names if n in NO_OPERATIONS and n not in self.context.functions)

    def _check_callees(self, symbol: Symbol) -> None:
        """Refuse a global variable that another takes the place of where called functions use it too."""
        if self._used_by_callees is None:
            self._used_by_callees = names_in_callees(self.place.items, self.context.functions)
        if symbol.name in self._used_by_callees:
            reason = f"functions that it calls use `{symbol.name}`, which cannot be set from here"
            raise _CannotStandAloneError(reason)


def _is_own_memory(binding: Binding) -> bool:
    """Whether the file has the memory of a global variable, and may write it."""
    pointer = any(layer.pointer for layer in binding.shape.layers)
    return not pointer and not binding.shape.const and "extern" not in (binding.node.storage or [])


def surrounding_declarations(place: ScopPlace) -> Iterator[c_ast.Node]:
    """The declarations of the function that come before a SCoP in the blocks around it, outermost first."""
    declarator = place.function.decl.type
    while isinstance(declarator, c_ast.PtrDecl | c_ast.ArrayDecl):
        declarator = declarator.type
    parameters = declarator.args.params if declarator.args is not None else ()
    yield from (p for p in (*parameters, *(place.function.param_decls or ())) if isinstance(p, c_ast.Decl))
    for outer, inner in zip(place.path, (*place.path[1:], place.items[0]), strict=True):
        for item in _items(outer):
            if isinstance(item, c_ast.Decl | c_ast.Typedef):
                yield item
            elif any(n is inner for n in nodes_below(item)):
                break


def _items(block: c_ast.Node) -> list[c_ast.Node]:
    match block:
        case c_ast.Compound():
            return list(block.block_items or [])
        case c_ast.Case() | c_ast.Default():
            return list(block.stmts or [])
        case c_ast.For(init=c_ast.DeclList(decls=declarations)):
            return list(declarations)
    return []


def _base(node: c_ast.Node) -> c_ast.Node:
    """The type specifier at the end of a declarator."""
    inner = node.type
    while isinstance(inner, c_ast.PtrDecl | c_ast.ArrayDecl | c_ast.TypeDecl):
        inner = inner.type
    return inner


def _without_name(node: c_ast.Node) -> None:
    """Make an abstract declarator of a copied declarator, in place."""
    inner = node.type
    while isinstance(inner, c_ast.PtrDecl | c_ast.ArrayDecl):
        inner = inner.type
    inner.declname = None


def _printed(node: c_ast.Node) -> str:
    return text_of(node).rstrip("\n")
