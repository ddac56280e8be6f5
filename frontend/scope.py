"""What each name means at a place of the program: C's scopes, types and integer constants."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.diagnostics import Location
from polytile.frontend.constants import Constant, Meanings, constant_node, convert, evaluate, fits
from polytile.frontend.gnu_c import stands_for
from polytile.frontend.parse import location_of
from polytile.frontend.type_facts import EnumFacts, TypeFacts
from polytile.frontend.type_shapes import (
    Field,
    Layer,
    Shape,
    StructType,
    complex_type,
    layout,
    loaded_whole,
    natural_layout,
    struct_shape,
    with_alignment,
    without_layer,
)
from polytile.frontend.unreadable import Unreadable
from polytile.ir.expr import (
    BOOL,
    CHAR,
    DOUBLE,
    FLOAT,
    INT,
    LLONG,
    LONG,
    SCHAR,
    SHORT,
    UCHAR,
    UINT,
    ULLONG,
    ULONG,
    USHORT,
    CType,
)

_INTEGERS = {
    ("char",): CHAR, ("signed", "char"): SCHAR, ("unsigned", "char"): UCHAR, ("_Bool",): BOOL,
    ("short",): SHORT, ("unsigned", "short"): USHORT, ("int",): INT, ("signed",): INT, ("unsigned",): UINT,
    ("long",): LONG, ("unsigned", "long"): ULONG, ("long", "long"): LLONG, ("unsigned", "long", "long"): ULLONG,
    ("float",): FLOAT, ("double",): DOUBLE,
}  # fmt: skip
UNREADABLE = "unreadable"
VOLATILE = "it is volatile or atomic"
_BASIC = {tuple(sorted(names)): t for names, t in _INTEGERS.items()}


@dataclass(frozen=True, slots=True)
class Binding:
    """What a name stands for. `kind` is "variable", "parameter", "enumerator", "typedef", "function", or "unreadable",
    where the declarations that can be read say too little."""

    kind: str
    name: str
    node: c_ast.Node
    shape: Shape
    level: str = "global"  # "global", "parameter" or "local"
    constant: Constant | None = None

    @property
    def static(self) -> bool:
        """Whether the variable outlives the function."""
        storage = getattr(self.node, "storage", None) or []
        return self.level == "global" or "static" in storage or "extern" in storage

    @property
    def location(self) -> Location:
        return location_of(self.node)


@dataclass(slots=True)
class Scope:
    """A chain of declarations, innermost first."""

    parent: Scope | None = None
    level: str = "global"
    facts: TypeFacts = field(default_factory=TypeFacts)
    names: dict[str, Binding] = field(default_factory=dict)
    tags: dict[str, StructType | c_ast.Node] = field(default_factory=dict)

    def child(self, level: str = "local") -> Scope:
        return Scope(self, level, self.facts)

    def lookup(self, name: str) -> Binding | None:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.parent
        return None

    def lookup_tag(self, tag: str) -> StructType | c_ast.Node | None:
        scope: Scope | None = self
        while scope is not None:
            if tag in scope.tags:
                return scope.tags[tag]
            scope = scope.parent
        return None

    def frozen(self) -> Scope:
        """A copy that later declarations do not change."""
        parent = None if self.parent is None else self.parent.frozen()
        return Scope(parent, self.level, self.facts, dict(self.names), dict(self.tags))

    def bindings(self) -> Iterator[Binding]:
        """All visible bindings, innermost first."""
        seen: set[str] = set()
        scope: Scope | None = self
        while scope is not None:
            for name, binding in scope.names.items():
                if name not in seen:
                    seen.add(name)
                    yield binding
            scope = scope.parent

    def bind(self, node: c_ast.Node) -> None:
        """Enter what a declaration, a definition or a parameter declares."""
        match node:
            case c_ast.DeclList(decls=decls):
                for decl in decls:
                    self.bind(decl)
            case c_ast.FuncDef(decl=decl):
                self.bind(decl)
            case c_ast.Typedef(name=name):
                shape = self._declared(node)
                self.names[name] = Binding("typedef", name, node, shape, self.level)
            case c_ast.Decl():
                self._bind_variable(node)
            case Unreadable(names=names, reason=reason, certain=certain):
                kind = UNREADABLE if certain else "variable"
                for name in sorted(names if certain else names - self.names.keys()):
                    self.names[name] = Binding(kind, name, node, Shape(None, reason=reason), self.level)

    def _declared(self, node: c_ast.Node) -> Shape:
        """The type that a declaration gives to what it declares."""
        shape = self.shape(node.type, node.name)
        if self.facts.text is None:  # no type of the file is in doubt
            return shape
        reason = self.facts.refusal(node, node.name if self.level == "global" else None)
        if shape.function and node.name in self.facts.weak:
            reason = reason or "it is weak: another file may define it"
        kind = self.facts.scalar(node)
        if reason or isinstance(kind, str):
            return replace(shape, base=None, struct=None, reason=reason or str(kind), refused=True)
        shape = shape if kind is None else replace(shape, base=kind, varies=True)
        return with_alignment(shape, self.facts.alignment(node))

    def _bind_variable(self, node: c_ast.Decl) -> None:
        shape = self._declared(node)
        if node.name is None or (node.name in self.names and self.names[node.name].kind == UNREADABLE):
            return
        kind = "function" if shape.function and not shape.layers else "variable"
        if shape.layers and not shape.layers[0].pointer and shape.layers[0].extent is None:
            shape = _sized_by_initialiser(shape, node.init)
            if shape.layers[0].extent is None and node.name in self.names:
                return  # `extern double a[];` says less than the declaration before it
        constant = None
        weak = node.name in self.facts.weak
        if (
            shape.const
            and not weak
            and not shape.layers
            and shape.base is not None
            and shape.base.kind == "int"
            and node.init
        ):
            constant = self.constant(node.init)
            constant = None if constant is None else convert(constant.value, shape.base)
        self.names[node.name] = Binding(kind, node.name, node, shape, self.level, constant)

    def bind_parameter(self, node: c_ast.Node) -> None:
        """Enter a parameter; an array type is adjusted to a pointer that keeps its extent."""
        if isinstance(node, c_ast.Decl) and node.name is not None:
            shape = loaded_whole(self._declared(node))
            self.names[node.name] = Binding("parameter", node.name, node, shape, "parameter")

    def shape(self, node: c_ast.Node, declared: str | None = None) -> Shape:
        """Resolve a type node; a struct without a tag takes that of what is `declared` with it."""
        match node:
            case c_ast.ArrayDecl(type=inner, dim=dim, dim_quals=quals):
                words = quals or []
                layer = Layer(False, self._extent(dim), "restrict" in words, "static" in words)
                return _around(layer, self.shape(inner, declared))
            case c_ast.PtrDecl(type=inner, quals=quals):
                return _around(Layer(True, None, "restrict" in (quals or [])), self.shape(inner, declared))
            case c_ast.FuncDecl():
                self.shape(node.type)
                return Shape(None, function=True, reason="it is a function")
            case c_ast.TypeDecl(type=inner, quals=quals) | c_ast.Typename(type=inner, quals=quals):
                shape = self.shape(inner, declared)
                return _qualified(shape, quals or [])
            case c_ast.IdentifierType(names=names):
                return self._named(names)
            case c_ast.Struct():
                return self._struct(node, declared)
            case c_ast.Enum():
                return self._enum(node)
            case c_ast.Union():
                return Shape(None, reason="it is a union")
        return Shape(None, reason="its type is not supported")

    def _extent(self, dim: c_ast.Node | None) -> c_ast.Node | None:
        if dim is None or (isinstance(dim, c_ast.ID) and dim.name == "*"):
            return None
        value = self.constant(dim)
        return dim if value is None or isinstance(dim, c_ast.Constant) else constant_node(value, dim.coord)

    def _named(self, names: list[str]) -> Shape:
        if len(names) == 1 and (binding := self.lookup(names[0])) is not None and binding.kind == "typedef":
            shape = binding.shape  # `typedef struct s t; struct s { ... };` completes t
            return self.shape(binding.node.type, names[0]) if shape.incomplete else shape
        if names == ["void"]:
            return Shape(None, void=True, reason="its type is void")
        if "_Complex" in names:
            kind = tuple(sorted(n for n in names if n != "_Complex")) or ("double",)
            part = _BASIC.get(kind)
            return struct_shape(complex_type(part)) if part in (FLOAT, DOUBLE) else Shape(None, reason=_reason(names))
        plain = list(names)
        if "int" in plain and len(plain) > 1:
            plain.remove("int")
        if "signed" in plain and len(plain) > 1 and "char" not in plain:
            plain.remove("signed")
        base = _BASIC.get(tuple(sorted(plain)))
        if base == CHAR:
            return Shape(UCHAR if self.facts.compiler.unsigned_char else CHAR, varies=True)
        return Shape(base, reason="" if base else _reason(names))

    def _struct(self, node: c_ast.Struct, declared: str | None) -> Shape:
        tag = node.name or declared
        name = f"struct {tag}" if tag else ""
        if node.decls is None:
            known = self.lookup_tag(node.name)
            if isinstance(known, StructType):
                return struct_shape(known)
            return Shape(None, reason=f"{name} is not defined", incomplete=True)
        members = tuple(
            Field(d.name, self._declared(d) if d.bitsize is None else Shape(None, reason="it is a bit-field"))
            for d in node.decls
            if isinstance(d, c_ast.Decl)
        )
        layout, reason = self.facts.struct(node), self.facts.refusal(node)
        if reason or isinstance(layout, str):
            struct = StructType(name, members, node, reason=reason or f"its layout is not known: {layout}")
        else:
            struct = StructType(name, members, node, layout)
        if node.name:
            self.tags[node.name] = struct
        return struct_shape(struct)

    def _enum(self, node: c_ast.Enum) -> Shape:
        if stands_for(node):
            return Shape(None, reason="its type is that of an expression")
        if node.values is None:
            known = self.lookup_tag(node.name)
            return self._enum(known) if isinstance(known, c_ast.Enum) else Shape(INT)
        if node.name:
            self.tags[node.name] = node
        reason = self.facts.refusal(node)
        known = self._bind_enumerators(node)
        if known is not None and not reason and not self.facts.doubts(node):
            return Shape(known, varies=True)
        found = self.facts.enum(node)
        if reason or not isinstance(found, EnumFacts):
            return Shape(None, reason=reason or f"its size is not known: {found or 'its values are no constants'}")
        for name, (value, kind) in found.enumerators.items():
            known_name = self.names[name]
            self.names[name] = replace(known_name, shape=Shape(kind), constant=Constant(value, kind))
        return Shape(found.type, varies=True, reason="" if found.type else "its size is that of no integer of C")

    def _bind_enumerators(self, node: c_ast.Enum) -> CType | None:
        """Enter the enumerators as `int`; the type that gcc and clang choose on every target that CUDA has, where the
        values are known and of 32 bits."""
        following: int | None = 0
        values: list[int | None] = []
        for item in node.values.enumerators:
            if not isinstance(item, c_ast.Enumerator):
                continue
            if item.value is not None:
                constant = self.constant(item.value)
                following = None if constant is None else constant.value
            kind = INT if following is None or fits(following, INT) else UINT
            value = None if following is None else Constant(following, kind)
            self.names[item.name] = Binding("enumerator", item.name, item, Shape(kind), self.level, value)
            values.append(following)
            following = None if following is None else following + 1
        known = [v for v in values if v is not None]
        kind = INT if any(v < 0 for v in known) else UINT
        return kind if len(known) == len(values) and all(fits(v, kind) for v in known) else None

    def constant(self, node: c_ast.Node) -> Constant | None:
        """The value of an integer constant expression, or None."""
        known = self._constant_name, self.size, self._scalar_type, self._alignment, self._offset
        return evaluate(node, Meanings(*known))

    def _constant_name(self, name: str) -> Constant | None:
        binding = self.lookup(name)
        return None if binding is None else binding.constant

    def _scalar_type(self, node: c_ast.Node) -> CType | None:
        shape = self.shape(node)
        return None if shape.layers else shape.base

    def size(self, node: c_ast.Node) -> int | None:
        """What `sizeof` gives for a type or an lvalue, when it is a constant."""
        shape = self.shape(node) if isinstance(node, c_ast.Typename) else self._operand(node)
        return None if shape is None else layout(shape)[0] or None

    def _alignment(self, node: c_ast.Node) -> int | None:
        """What `_Alignof` gives for a type, where no attribute may say more of it."""
        shape = self.shape(node)
        size, alignment = layout(shape)
        own = shape.alignment if not any(layer.pointer for layer in shape.layers) else 0
        return (own or alignment) if size and not shape.varies else None

    def _offset(self, kind: c_ast.Node, member: c_ast.Node) -> int | None:
        """What `offsetof` gives for a member, or a part of one."""
        way: list[c_ast.Node] = []
        while not isinstance(member, c_ast.ID):
            way.insert(0, member)
            member = member.name
        shape: Shape | None = self.shape(kind)
        offset = 0
        for part in (member, *way):
            if isinstance(part, c_ast.ArrayRef):
                number, shape = self.constant(part.subscript), without_layer(shape)
                step = None if number is None or shape is None else number.value * layout(shape)[0]
            else:
                name = str(part.name if isinstance(part, c_ast.ID) else part.field.name)
                step, shape = _member(shape, name)
            if step is None or shape is None:
                return None
            offset += step
        return offset

    def _operand(self, node: c_ast.Node) -> Shape | None:
        """The type of an lvalue; None for what is not known."""
        match node:
            case c_ast.ID(name=name):
                binding = self.lookup(name)
                known = binding is not None and (binding.kind == "variable" or not binding.shape.layers)
                return binding.shape if binding is not None and known and binding.kind != "typedef" else None
            case c_ast.ArrayRef(name=inner) | c_ast.UnaryOp(op="*", expr=inner):
                return without_layer(self._element(inner))
            case c_ast.StructRef(name=inner, type=op, field=c_ast.ID(name=name)):
                shape = self._operand(inner) if op == "." else without_layer(self._element(inner))
                return _member(shape, name)[1]
        return None

    def _element(self, node: c_ast.Node) -> Shape | None:
        """The type of a pointer or an array, of parameters, too."""
        binding = self.lookup(node.name) if isinstance(node, c_ast.ID) else None
        return binding.shape if binding is not None and binding.kind == "parameter" else self._operand(node)


def _member(shape: Shape | None, name: str) -> tuple[int | None, Shape | None]:
    """Offset and type of a member of a struct."""
    if shape is None or shape.struct is None or shape.layers:
        return None, None
    known = shape.struct.layout or natural_layout(shape.struct)
    found = next((m.shape for m in shape.struct.members if m.name == name), None)
    return (None if known is None else known.offsets.get(name)), found


def _reason(names: list[str]) -> str:
    return f"its type is {' '.join(names)}"


def _around(layer: Layer, shape: Shape) -> Shape:
    return replace(shape, layers=(layer, *shape.layers))


def _qualified(shape: Shape, quals: list[str]) -> Shape:
    if "volatile" in quals or "_Atomic" in quals:
        return Shape(None, shape.layers, shape.const, reason=VOLATILE)
    if "const" in quals and not shape.const:
        return replace(shape, const=True)
    return shape


def _sized_by_initialiser(shape: Shape, init: c_ast.Node | None) -> Shape:
    """`double a[] = {1, 2, 3}` has three elements; designators are left as an unknown extent."""
    if isinstance(init, c_ast.InitList) and not any(isinstance(e, c_ast.NamedInitializer) for e in init.exprs):
        extent = c_ast.Constant("int", str(len(init.exprs)), init.coord)
        return replace(shape, layers=(Layer(False, extent), *shape.layers[1:]))
    return shape
