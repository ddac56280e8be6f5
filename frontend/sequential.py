"""The SCoP as C that stands on its own: what the generated code is validated against.

It is printed from the parsed C, not from polytile's own representation, so that an error in the latter shows.
"""

from __future__ import annotations

from collections.abc import Mapping

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.callees import called_name
from polytile.frontend.parse import nodes_below
from polytile.frontend.scop_region import Region, Symbol
from polytile.frontend.trees import copied, text_of
from polytile.ir.name_supply import fresh
from polytile.ir.scop import Array, Scop

_INTEGER_FUNCTIONS = frozenset({"abs", "labs", "llabs"})
_CUDA_WORDS = ("__device__", "__host__", "__forceinline__", "__noinline__")
_KNOWN_TO_CUDA = ("math.h", "stdbool.h", "stddef.h")
_LESS, _GREATER = "((a) < (b) ? (a) : (b))", "((a) > (b) ? (a) : (b))"
_HELPERS = {  # functions that need no declaration, by what they do
    **{name: f"#define {name}(a, b) {_LESS}" for name in ("min", "MIN")},
    **{name: f"#define {name}(a, b) {_GREATER}" for name in ("max", "MAX")},
    "imin": f"static int imin(int a, int b) {{ return {_LESS}; }}",
    "imax": f"static int imax(int a, int b) {{ return {_GREATER}; }}",
    "umin": f"static unsigned umin(unsigned a, unsigned b) {{ return {_LESS}; }}",
    "umax": f"static unsigned umax(unsigned a, unsigned b) {{ return {_GREATER}; }}",
    "floord": "#define floord(a, b) ((a) / (b) - ((a) % (b) != 0 && ((a) % (b) < 0) != ((b) < 0)))",
    "ceild": "#define ceild(a, b) ((a) / (b) + ((a) % (b) != 0 && ((a) % (b) < 0) == ((b) < 0)))",
}


def sequential_source(region: Region, scop: Scop) -> str:
    """C99 text that defines `void NAME_reference(parameters, external arrays)`.

    Arrays arrive as pointers to their first element, numbers by value when the SCoP only reads them, else as pointers,
    as structs do.
    """
    renamed = {name: f"{region.name}_{name}" for name in region.functions}
    taken = _names(region)
    arguments = [_Argument.of(scop, a, region.symbols.get(a.name), taken) for a in scop.external_arrays]
    passed = {p.name for p in scop.parameters} | {a.array.name for a in arguments}
    locals_ = [_Local(s) for n, s in region.symbols.items() if n not in passed]
    signature = [f"{p.type} {p.name}" for p in scop.parameters] + [a.declaration for a in arguments]
    lines = [f"void {region.name}_reference({', '.join(signature) or 'void'})", "{"]
    lines += [f"  {line}" for a in arguments for line in a.before] + [f"  {line}" for s in locals_ for line in s.before]
    lines += _indented(_printed(c_ast.Compound(_renamed(list(region.body), renamed))))
    lines += [f"  {line}" for a in arguments for line in a.after] + [f"  {line}" for s in locals_ for line in s.after]
    lines.append("}")
    helpers = [_printed(f) for f in _renamed(list(region.functions.values()), renamed)]
    headers = _headers(region, allocates=any(s.allocated for s in locals_))
    prototypes = (f"static {function.prototype};" for function in scop.external)
    parts = [headers, region.definitions, *prototypes, *helpers]
    return "\n".join([*filter(None, parts), *lines, *_device_functions(scop)]) + "\n"


def _device_functions(scop: Scop) -> list[str]:
    """The text that defines functions for the device, as C; behind all else, as it may define macros."""
    head = [*(f"#include <{name}>" for name in _KNOWN_TO_CUDA), *(f"#define {word}" for word in _CUDA_WORDS)]
    return [*head, scop.device_source] if scop.device_source else []


def _printed(node: c_ast.Node) -> str:
    return text_of(node).rstrip("\n")


def _indented(text: str) -> list[str]:
    return [f"  {line}".rstrip() for line in text.split("\n") if line.strip()]


def _names(region: Region) -> set[str]:
    nodes = [n for part in (*region.body, *region.functions.values()) for n in nodes_below(part)]
    return {str(n.name) for n in nodes if isinstance(n, c_ast.ID | c_ast.Decl)} | set(region.symbols)


def _renamed(nodes: list[c_ast.Node], names: Mapping[str, str]) -> list[c_ast.Node]:
    """Copies whose calls and definitions of the file's functions carry names that no header has."""
    if not names:
        return nodes
    result = [copied(node) for node in nodes]
    for node in (n for part in result for n in nodes_below(part)):
        if called_name(node) in names:
            node.name = c_ast.ID(names[called_name(node)], node.name.coord)
        elif isinstance(node, c_ast.FuncDef) and node.decl.name in names:
            declarator = node.decl.type
            while not isinstance(declarator, c_ast.TypeDecl):
                declarator = declarator.type
            node.decl.name = declarator.declname = names[node.decl.name]
    return result


def _headers(region: Region, *, allocates: bool) -> str:
    nodes = [n for part in (*region.body, *region.functions.values()) for n in nodes_below(part)]
    outside = {called_name(n) for n in nodes} - set(region.functions) - {""}
    lines = ["#include <math.h>"] if outside - _INTEGER_FUNCTIONS else []
    lines += ["#include <stdlib.h>"] if outside & _INTEGER_FUNCTIONS or allocates else []
    lines += [_HELPERS[name] for name in _HELPERS if name in outside]
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class _Argument:
    """An external array or scalar: how it is passed, and its name and type inside the function."""

    array: Array
    declaration: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    @classmethod
    def of(cls, scop: Scop, array: Array, symbol: Symbol | None, taken: set[str]) -> _Argument:
        name, element = array.name, array.element
        if scop.by_value(array) and not array.fields:
            return cls(array, f"{element} {name}")
        passed = fresh(f"{name}_arg", taken)
        extents = symbol.extents if symbol is not None else array.extents
        if not extents:
            return cls(array, f"{element} *{passed}", (f"{element} {name} = *{passed};",), (f"*{passed} = {name};",))
        rows = _rows(extents)
        cast = f"({element} (*){rows}) " if rows else ""
        return cls(array, f"{element} *{passed}", (f"{_pointer(str(element), name, rows)} = {cast}{passed};",))


def _rows(extents: tuple[object, ...]) -> str:
    return "".join(f"[{text_of(e)}]" for e in extents[1:])


def _pointer(element: str, name: str, rows: str) -> str:
    return f"{element} (*{name}){rows}" if rows else f"{element} *{name}"


@dataclass(frozen=True, slots=True)
class _Local:
    """A variable that is declared outside the SCoP but whose value does not cross its border."""

    symbol: Symbol

    @property
    def allocated(self) -> bool:
        return bool(self.symbol.extents) and self.symbol.extents[0] is not None

    @property
    def before(self) -> tuple[str, ...]:
        s = self.symbol
        if not s.extents:
            return (f"{s.type} {s.name};",)
        if not self.allocated:  # only code that never runs mentions it
            return (f"{_pointer(str(s.type), s.name, _rows(s.extents))} = 0;",)
        # On the heap: the original may be static or larger than the stack of the process that validates.
        first, rows = text_of(s.extents[0]), _rows(s.extents)
        return (f"{_pointer(str(s.type), s.name, rows)} = malloc(sizeof({s.type}{rows}) * ({first}));",)

    @property
    def after(self) -> tuple[str, ...]:
        return (f"free({self.symbol.name});",) if self.allocated else ()
