"""The variables of a SCoP that are declared outside it, as `Symbol`s with extents and types resolved."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from pycparser import c_ast

from polytile.diagnostics import UserError
from polytile.frontend.find_scops import ScopPlace
from polytile.frontend.liveness import Liveness
from polytile.frontend.node_index import NodeIndex
from polytile.frontend.normalise import normalised
from polytile.frontend.parse import location_of
from polytile.frontend.pointers import Ownership, ownership
from polytile.frontend.row_tables import extent_symbols, is_row_table, table_of_variable
from polytile.frontend.scop_region import PointerTable, Symbol
from polytile.frontend.scope import VOLATILE, Binding, Scope
from polytile.frontend.trees import variables_in
from polytile.frontend.type_shapes import Shape, layout, natural_layout
from polytile.ir.expr import ULONG, CType

_MOST_ELEMENTS = 1000  # of an array in a struct


def symbols_of(
    place: ScopPlace, used: Iterable[c_ast.ID], liveness: Liveness, fields: Mapping[str, PointerTable]
) -> tuple[dict[str, Symbol], dict[str, PointerTable]]:
    """A symbol for each name in `used`, and for each name in the extents of one; the tables of pointers to rows, of
    which `fields` are those in structs."""
    symbols: dict[str, Symbol] = {}
    waiting = list(used)
    while waiting:
        use = waiting.pop(0)
        name = str(use.name)
        if name in symbols:
            continue
        binding = place.scope.lookup(name)
        if binding is None:
            continue
        symbols[name] = _symbol(binding, use, place, liveness)
        for extent in symbols[name].extents:
            waiting.extend(variables_in(extent))
    symbols, tables = _with_tables(symbols, place, fields)
    return _with_owners(symbols, tables, place), tables


def _with_tables(
    symbols: dict[str, Symbol], place: ScopPlace, fields: Mapping[str, PointerTable]
) -> tuple[dict[str, Symbol], dict[str, PointerTable]]:
    """Tables of pointers to rows have extents that the host finds when it runs; what they point to may alias."""
    taken = {*NodeIndex.of(place.items).names, *(b.name for b in place.scope.bindings())}
    tables: dict[str, PointerTable] = {}
    made: dict[str, Symbol] = {}
    for name, symbol in symbols.items():
        binding = place.scope.lookup(name)
        if binding is not None and is_row_table(binding.shape):
            inner = extent_symbols(name, len(binding.shape.layers) - 1, taken, symbol)
            made.update({extent.name: extent for extent in inner})
            table = fields.get(name) or table_of_variable(binding)
            tables[name] = replace(table, extents=tuple(extent.name for extent in inner))
            extents = (*symbol.extents[:1], *(c_ast.ID(extent.name) for extent in inner))
            symbol = replace(symbol, extents=extents, table=True, pointer=True, restrict=False)
            symbol = replace(symbol, live_before=True, live_after=True)
        made[name] = symbol
    return made, tables


def _with_owners(symbols: dict[str, Symbol], tables: Collection[str], place: ScopPlace) -> dict[str, Symbol]:
    """Mark the pointers that cannot alias: those that own their memory.

    One that was passed to a function may have been copied there, which matters only when the SCoP uses a pointer
    whose origin is unknown. Nobody knows where the rows of `tables` come from.
    """
    pointers = (name for name, symbol in symbols.items() if symbol.pointer)
    owners = {name: ownership(b, place) for name in pointers if (b := place.scope.lookup(name)) is not None}
    owners |= dict.fromkeys(tables, Ownership.SHARED)
    unknown = any(owner is Ownership.SHARED and not symbols[name].restrict for name, owner in owners.items())
    alone = {Ownership.OWNED} if unknown else {Ownership.OWNED, Ownership.PASSED}
    return {
        n: replace(s, restrict=True) if owners.get(n) in alone else replace(s, may_interleave=s.restrict)
        for n, s in symbols.items()
    }


def _symbol(binding: Binding, use: c_ast.ID, place: ScopPlace, liveness: Liveness) -> Symbol:
    shape = binding.shape
    if unsupported(binding):
        raise unusable(binding, use)
    pointer = bool(shape.layers) and (shape.layers[0].pointer or binding.kind == "parameter")
    live_before, live_after = (True, True) if pointer or binding.static else liveness.of(binding)
    assert shape.base is not None
    return Symbol(
        binding.name,
        shape.base,
        _extents(binding, use, place, liveness.body),
        scalar_fields(shape),
        binding.level,
        pointer,
        restrict=pointer and shape.layers[0].restrict,
        const=shape.const,
        live_before=live_before,
        read_first=live_before or liveness.reads_first(binding),
        live_after=live_after,
        location=binding.location,
        members=all_fields(shape),
        offsets=field_offsets(shape),
        varies=shape.varies,
    )


def unusable(binding: Binding, use: c_ast.ID) -> UserError:
    """What to say of the use of a variable that has no place in a SCoP."""
    message = f"'{binding.name}' cannot be used in a SCoP: {unsupported(binding)}"
    return UserError(message, location=location_of(use), hint=_advice(binding.shape))


def unsupported(binding: Binding) -> str:
    """Why a variable has no place in a SCoP, or an empty string."""
    shape = binding.shape
    if binding.kind == "function" or shape.function:
        return "it is a function"
    if any(layer.pointer for layer in shape.layers[1:]) and not is_row_table(shape):
        first = "a pointer to pointers" if shape.layers[0].pointer else "an array of pointers"
        return f"it is {first} to arrays"
    return "" if shape.base is not None else shape.reason


def _advice(shape: Shape) -> str:
    if shape.reason == VOLATILE:
        return "copy its value to a variable before the SCoP, if no other thread and no device changes it"
    if shape.alignment and shape.refused:
        return "copy the elements to an array of the type without `aligned`, or make them members of a packed struct"
    if len(shape.layers) > 1:
        return "use an array with rows of one length: `double (*A)[m]`, `double A[n][m]` or `A[i * m + j]`"
    if shape.refused:
        return "use a variable of a type without it, or leave the loop as it is"
    if shape.reason.startswith("its type is long double"):
        return "use double: GPUs have no wider type"
    return "use C's integer types, float, double, or a struct of these"


def scalar_fields(shape: Shape) -> tuple[tuple[str, CType], ...]:
    """The numbers of a struct that a SCoP may use, in order, those of arrays and structs inside it too."""
    return tuple((way, kind) for way, kind, _ in _fields(shape, pointers=False))


def all_fields(shape: Shape) -> tuple[tuple[str, CType], ...]:
    """The same with its pointers, as integers; () where it has none."""
    found = tuple((way, kind) for way, kind, _ in _fields(shape, pointers=True))
    return found if found != scalar_fields(shape) else ()


def field_offsets(shape: Shape) -> tuple[int, ...]:
    """Where the numbers and pointers of a struct lie, in bytes."""
    return tuple(at for _, _, at in _fields(shape, pointers=True))


_Number = tuple[str, CType, int]  # the way to a number, its type, and its offset


def _fields(shape: Shape, *, pointers: bool) -> list[_Number]:
    if shape.struct is None:
        return []
    known = shape.struct.layout or natural_layout(shape.struct)
    places = {} if known is None else known.offsets
    named = ((m.name, m.shape) for m in shape.struct.members if m.name is not None and m.name in places)
    return [
        (way, kind, places[name] + at)
        for name, inner in named
        for way, kind, at in _numbers(name, inner, pointers=pointers)
    ]


def _numbers(way: str, shape: Shape, *, pointers: bool) -> list[_Number]:
    """before: "v", double[2]    after: ("v[0]", double, 0), ("v[1]", double, 8)"""
    if pointers and shape.layers and shape.layers[0].pointer:
        return [(way, ULONG, 0)]
    if not pointers and (shape.base is None or any(layer.pointer for layer in shape.layers)):
        return []
    if shape.layers:
        size = Scope().constant(shape.layers[0].extent) if shape.layers[0].extent is not None else None
        inner = replace(shape, layers=shape.layers[1:])
        each = [] if size is None or size.value > _MOST_ELEMENTS else _numbers("", inner, pointers=pointers)
        if size is None or len(each) * size.value > _MOST_ELEMENTS:
            return []
        pitch = layout(inner)[0]
        return [(f"{way}[{k}]{name}", kind, k * pitch + at) for k in range(size.value) for name, kind, at in each]
    if shape.struct is not None:
        return [(f"{way}.{name}", kind, at) for name, kind, at in _fields(shape, pointers=pointers)]
    return [] if shape.base is None else [(way, shape.base, 0)]


def _extents(binding: Binding, use: c_ast.ID, place: ScopPlace, body: NodeIndex) -> tuple[c_ast.Node | None, ...]:
    layers = binding.shape.layers
    extents: list[c_ast.Node | None] = []
    for k, layer in enumerate(layers):
        changed = None if layer.extent is None else _changed_name(layer.extent, binding, place, body)
        outermost_of_pointer = k == 0 and binding.kind == "parameter"
        if outermost_of_pointer and layer.least and place.scope.constant(layer.extent) is not None:
            extents.append(None)  # `double a[static 1]` has one element at least
            continue
        if changed is not None and not outermost_of_pointer:
            raise UserError(
                f"the size of '{binding.name}' depends on '{changed}', which changes after that declaration",
                location=location_of(use),
                hint=f"declare '{binding.name}' with a variable that keeps its value",
            )
        keep = layer.extent is not None and changed is None
        extents.append(normalised((layer.extent,), place.scope)[0] if keep else None)
    return tuple(extents)


def _changed_name(extent: c_ast.Node, binding: Binding, place: ScopPlace, body: NodeIndex) -> str | None:
    """A variable of the extent that does not have its old value in the SCoP, or is not the same variable there."""
    names = {str(i.name) for i in variables_in(extent)}
    if not names:
        return None
    for name in sorted(names):
        known = place.scope.lookup(name)
        if known is None or _declared_after(known, binding):
            return name
    start = body.order.get(id(binding.node), 0)  # of a parameter there is no place
    return next((name for at, name in body.changes if at >= start and name in names), None)


def _declared_after(inner: Binding, outer: Binding) -> bool:
    order = {"global": 0, "parameter": 1, "local": 2}
    if order[inner.level] != order[outer.level]:
        return order[inner.level] > order[outer.level]
    return inner.level == "local" and inner.location > outer.location
