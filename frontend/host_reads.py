"""Which places in memory the host reads before a SCoP: kernels get their values, whatever pointers change meanwhile.

before: for (i = 0; i < p->n; i++) { *q += 1; a[i] = g; }
after:  p->n, through a pointer, and g, where another file or a pointer may know it
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.escape_analysis import Escapes
from polytile.frontend.find_scops import ScopPlace
from polytile.frontend.must_reads import pointer_of, shape_of
from polytile.frontend.pointers import Ownership, ownership
from polytile.frontend.scop_region import HostRead, Symbol
from polytile.frontend.scope import Binding
from polytile.frontend.trees import possible_bases, text_of
from polytile.frontend.type_shapes import is_complex
from polytile.ir.expr import CHAR


@dataclass(frozen=True, slots=True)
class HostReads:
    """The places by the symbols that are read from them; and the symbols which pointers may lead to, or to what those
    point to."""

    places: Mapping[str, tuple[HostRead, ...]] = field(default_factory=dict)
    reachable: frozenset[str] = frozenset()


def host_reads(
    place: ScopPlace, escapes: Escapes, symbols: Mapping[str, Symbol], values: Mapping[str, c_ast.Node]
) -> HostReads:
    """What is read for each symbol; `values` is what the host computes some of them from."""
    aliasing = any(s.pointer and not s.restrict for s in symbols.values())

    def has_pointers(binding: Binding) -> bool:
        return escapes.has_pointers(binding, place.function)

    reads = _Reads(place, has_pointers if aliasing else lambda _: False)
    found = {name: tuple(reads.of(values.get(name, c_ast.ID(name)), "")) for name in symbols}
    if not any(read.indirect for each in found.values() for read in each):
        return HostReads(found)
    bindings = ((name, symbol, place.scope.lookup(name)) for name, symbol in symbols.items())
    reachable = (
        name
        for name, symbol, b in bindings
        if b is not None and (not is_alone(b, place) if symbol.pointer else has_pointers(b))
    )
    return HostReads(found, frozenset(reachable))


def is_alone(binding: Binding, place: ScopPlace) -> bool:
    """Whether nothing else leads to what a pointer points to."""
    declared = bool(binding.shape.layers) and binding.shape.layers[0].restrict
    return declared or ownership(binding, place) is Ownership.OWNED


@dataclass(frozen=True, slots=True)
class _Reads:
    place: ScopPlace
    has_pointers: Callable[[Binding], bool]

    def of(self, node: c_ast.Node, guard: str) -> Iterator[HostRead]:
        """The places that an expression reads where `guard` holds."""
        match node:
            case c_ast.ID():
                yield from self._variable(node, guard)
            case c_ast.ArrayRef() | c_ast.StructRef() | c_ast.UnaryOp(op="*"):
                yield from self._load(node, guard)
            case c_ast.TernaryOp(cond=condition, iftrue=first, iffalse=second):
                yield from self.of(condition, guard)
                yield from self.of(first, _both(guard, text_of(condition)))
                yield from self.of(second, _both(guard, f"!({text_of(condition)})"))
            case c_ast.BinaryOp(op="&&" | "||" as op, left=left, right=right):
                yield from self.of(left, guard)
                yield from self.of(right, _both(guard, text_of(left) if op == "&&" else f"!({text_of(left)})"))
            case c_ast.Typename() | c_ast.UnaryOp(op="sizeof"):
                return
            case _:
                yield from self._all(node, guard)

    def _all(self, nodes: Iterable[c_ast.Node], guard: str) -> Iterator[HostRead]:
        for node in nodes:
            yield from self.of(node, guard)

    def _variable(self, node: c_ast.ID, guard: str) -> Iterator[HostRead]:
        """A number, a struct of numbers, or a pointer."""
        binding = self.place.scope.lookup(node.name)
        if binding is None or not self.has_pointers(binding):
            return
        shape = binding.shape
        if shape.layers and not (shape.layers[0].pointer or binding.kind == "parameter"):
            return  # an array, whose elements are read or not
        whole = is_complex(shape) and shape.struct is not None
        number = shape.struct.members[0].shape if whole and shape.struct is not None else shape
        parts = shape.struct is not None and not whole and not shape.layers
        yield HostRead(str(node.name), None if shape.layers else number.base, guard, parts=parts)

    def _load(self, node: c_ast.Node, guard: str) -> Iterator[HostRead]:
        """An element or a field, and the pointers on the way."""
        yield from self._all(_subscripts(node), guard)
        pointer, base = self._way(node)
        shape = shape_of(node, self.place.scope)
        read = CHAR if shape is None else None if shape.layers else shape.base  # characters may be of any type
        if pointer is None:
            if base is not None and self.has_pointers(base):
                yield HostRead(text_of(node), read, guard, indirect=shape is None)
            return
        name = str(pointer.name) if isinstance(pointer, c_ast.ID) else ""
        owner = self.place.scope.lookup(name) if name else None
        if owner is None or not is_alone(owner, self.place):
            yield HostRead(text_of(node), read, guard, indirect=True, owner=name)
        yield from self.of(pointer, guard)

    def _way(self, node: c_ast.Node) -> tuple[c_ast.Node | None, Binding | None]:
        """The pointer that a place is reached through, if any, and else the variable that it is a part of."""
        pointer = pointer_of(node, self.place.scope)
        names = possible_bases(node)
        base = self.place.scope.lookup(str(names[0].name)) if names else None
        if pointer is None and base is not None and base.kind == "parameter" and base.shape.layers:
            return names[0], None  # an array, which C passes as a pointer
        return pointer, base


def _subscripts(node: c_ast.Node) -> Iterator[c_ast.Node]:
    """Those on the way to a place, up to the first pointer that is followed by `*`."""
    while isinstance(node, c_ast.ArrayRef | c_ast.StructRef):
        if isinstance(node, c_ast.ArrayRef):
            yield node.subscript
        node = node.name


def _both(one: str, other: str) -> str:
    return f"{one} && ({other})" if one else f"({other})"
