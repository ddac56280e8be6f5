"""What only the user's compiler knows of types: layouts that attributes, pragmas and flags change, and enumerations.

Declarations whose types may differ from the table of x86-64 are found in the text (`DeclarationSpans`) and in the tree;
the first one that is looked at lets the compiler be asked about all of them at once (`host_layouts.py`), in a text of
these declarations and what they need. Declarations with attributes that polytile does not know are refused where a
SCoP touches them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.diagnostics import Location
from polytile.frontend.attributes import Attribute
from polytile.frontend.declaration_spans import DeclarationSpans
from polytile.frontend.host_layouts import Compiler
from polytile.frontend.preprocess import Preprocessed
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
)  # fmt: skip

_SCALARS = (SCHAR, UCHAR, SHORT, USHORT, INT, UINT, LONG, ULONG, LLONG, ULLONG, FLOAT, DOUBLE, BOOL, CHAR)


@dataclass(frozen=True, slots=True)
class StructLayout:
    """Size, alignment and, by member, offsets in bytes."""

    size: int
    alignment: int
    offsets: Mapping[str, int]

    def agrees(self, other: StructLayout) -> bool:
        """Whether another layout of the same members is the same."""
        same = all(other.offsets.get(name) == at for name, at in self.offsets.items())
        return same and (self.size, self.alignment) == (other.size, other.alignment)


@dataclass(frozen=True, slots=True)
class EnumFacts:
    """The type of an enumeration, and value and type of each of its enumerators."""

    type: CType | None
    enumerators: Mapping[str, tuple[int, CType]]


@dataclass(frozen=True, slots=True)
class Entity:
    """What a declaration defines. `lvalue` is C of the type it defines, "" where there is none; `span` is the number
    of the declaration. With `doubtful` the table of x86-64 may be wrong about it, whatever its members say."""

    kind: str  # "struct", "enum", "scalar", or "alignment" of a `typedef` that has `aligned`
    lvalue: str
    span: int
    members: tuple[str, ...] = ()
    doubtful: bool = True

    @property
    def questions(self) -> list[str]:
        kind, lvalue = f"__typeof__({self.lvalue})", self.lvalue
        if self.kind == "struct":
            offsets = [f"__builtin_offsetof({kind}, {m})" for m in self.members]
            return [f"sizeof({lvalue})", f"_Alignof({kind})", *offsets]
        if self.kind == "scalar":
            cases = (f"{c}{t} *: {k}" for k, t in enumerate(_SCALARS, 1) for c in ("", "const "))
            return [f"_Generic(({kind} *)0, {', '.join(cases)}, default: 0)", f"_Alignof({kind})"]
        if self.kind == "alignment":
            return [f"_Alignof({kind})"]
        each = [q for m in self.members for q in (m, f"sizeof({m})", f"(__typeof__({m}))-1 < 0")]
        return ([f"sizeof({lvalue})", f"({kind})-1 < 0"] if lvalue else ["0", "0"]) + each


@dataclass(slots=True)
class TypeFacts:
    """The types of one file that the table does not know, and the attributes that it does not know either.

    `entities` and `refused` are by the nodes that they are said of (`key_of`), `refused_names` by the name of a
    variable or a function of the file; of `weak` ones another file may have the definition; those `inside` of functions
    are refused where they stand. With `asks` a function uses one of the doubtful types.
    """

    compiler: Compiler = field(default_factory=Compiler)
    entities: Mapping[tuple[Any, ...], Entity] = field(default_factory=dict)
    refused: Mapping[tuple[Any, ...], tuple[Attribute, Location]] = field(default_factory=dict)
    refused_names: Mapping[str, tuple[Attribute, Location]] = field(default_factory=dict)
    weak: frozenset[str] = frozenset()
    inside: tuple[tuple[Attribute, Location], ...] = ()
    asks: bool = False
    text: DeclaredText | None = None
    _answers: dict[tuple[Any, ...], tuple[int, ...] | str] = field(default_factory=dict)

    def struct(self, node: c_ast.Node) -> StructLayout | str | None:
        """The layout of a struct; None where the table has it, and why where it is not known."""
        if not self.doubts(node):
            return None
        entity, values = self._answer(node, "struct")
        if entity is None or isinstance(values, str):
            return None if entity is None else str(values)
        return StructLayout(values[0], values[1], dict(zip(entity.members, values[2:], strict=True)))

    def enum(self, node: c_ast.Node) -> EnumFacts | str | None:
        """The same of an enumeration."""
        entity, values = self._answer(node, "enum")
        if entity is None or isinstance(values, str):
            return None if entity is None else str(values)
        kind = _integer(values[0], bool(values[1])) if values[0] else None
        found = {}
        for k, name in enumerate(entity.members):
            value, size, signed = values[2 + 3 * k : 5 + 3 * k]
            ctype = _integer(size, bool(signed)) or INT
            found[name] = (value - (1 << 64) if signed and value >> 63 else value, ctype)
        return EnumFacts(kind, found)

    def doubts(self, node: c_ast.Node) -> bool:
        """Whether the table may be wrong about what a node defines, whatever its members say."""
        entity = self.entities.get(key_of(node)) if self.entities else None
        return entity is not None and entity.doubtful

    def scalar(self, node: c_ast.Node) -> CType | str | None:
        """The type of what a declaration or a `typedef` with `mode` declares, without its layers."""
        entity, values = self._answer(node, "scalar")
        if entity is None or isinstance(values, str):
            return None if entity is None else str(values)
        return _SCALARS[values[0] - 1] if values[0] else "its mode is of a type that kernels do not have"

    def alignment(self, node: c_ast.Node) -> int | str | None:
        """That of what a `typedef` with `aligned` declares, without its layers; None where nothing says so."""
        for kind in ("alignment", "scalar"):
            entity, values = self._answer(node, kind)
            if entity is not None:
                return values if isinstance(values, str) else values[-1]
        return None

    def refusal(self, node: c_ast.Node, name: str | None = None) -> str:
        """Why a SCoP may not use what a node declares, or ""."""
        found = self.refused.get(key_of(node)) if self.refused else None
        found = found or (self.refused_names.get(name) if name else None)
        if found is None:
            return ""
        attribute, place = found
        what = "stands under" if attribute.text.startswith("#") else "has the attribute"
        return f"it {what} `{attribute.text}` ({place.short})"

    def _answer(self, node: c_ast.Node, kind: str) -> tuple[Entity | None, tuple[int, ...] | str]:
        key = key_of(node)
        entity = self.entities.get(key) if self.entities else None
        if entity is None or entity.kind != kind:
            return None, ""
        if entity.doubtful and not self.asks:
            return entity, "no function uses it"
        if key not in self._answers:
            doubtful = [k for k, e in self.entities.items() if e.doubtful and k not in self._answers and self.asks]
            self._ask(dict.fromkeys([*doubtful, key]))
        return entity, self._answers[key]

    def _ask(self, keys: Iterable[tuple[Any, ...]]) -> None:
        """Ask all of the file's scope in one call, those of blocks in one each; one by one where a call fails."""
        assert self.text is not None
        spans = self.text.spans.found
        groups: dict[int | None, list[tuple[Any, ...]]] = {}
        for key in keys:
            span = self.entities[key].span
            groups.setdefault(span if spans[span].local else None, []).append(key)
        for inside, group in groups.items():
            found = self._asked(inside, group)
            for key in group:
                if isinstance(found, str):
                    self._answers[key] = found if len(group) == 1 else self._asked(inside, [key])
                else:
                    count = len(self.entities[key].questions)
                    self._answers[key], found = found[:count], found[count:]

    def _asked(self, span: int | None, keys: Sequence[tuple[Any, ...]]) -> tuple[int, ...] | str:
        assert self.text is not None
        entities = [self.entities[key] for key in keys]
        outer, inner = self.text.needed({e.span for e in entities}, span)
        questions = [q for e in entities for q in e.questions]
        if span is None:
            return self.compiler.answers(outer, questions)
        return self.compiler.answers_inside(outer, inner, questions)


def _integer(size: int, signed: bool) -> CType | None:
    kinds = {1: (UCHAR, SCHAR), 2: (USHORT, SHORT), 4: (UINT, INT), 8: (ULONG, LONG)}
    return kinds[size][signed] if size in kinds else None


def key_of(node: c_ast.Node) -> tuple[Any, ...]:
    """A node by its kind, its name and its place, which copies of it keep."""
    coord = node.coord
    place = () if coord is None else (coord.file, coord.line, coord.column)
    return type(node).__name__, getattr(node, "name", None), *place


@dataclass(slots=True)
class DeclaredText:
    """The declarations of a file as text with annotations, and which of them declares a name."""

    source: Preprocessed
    spans: DeclarationSpans
    head: int = 0  # lines of polytile's own headers, which are needed whole
    declared: dict[str, list[int]] = field(default_factory=dict)

    def needed(self, wanted: Iterable[int], inside: int | None) -> tuple[str, str]:
        """Declarations of the file and of a block that `wanted` ones need, in their order, with pragmas between."""
        local = set()
        if inside is not None:
            local = {self.spans.at(at) for at in self.spans.found[inside].visible} | {inside}
        waiting, found = list(wanted), set(wanted)
        while waiting:
            for name in self.spans.names(waiting.pop()):
                for other in self.declared.get(name, ()):
                    if other not in found and (not self.spans.found[other].local or other in local):
                        found.add(other)
                        waiting.append(other)
        outer = [k for k in found if not self.spans.found[k].local]
        head = "\n".join(self.source.lines.lines[: self.head])
        return f"{head}\n{self._written(outer)}", self._written(k for k in found if self.spans.found[k].local)

    def _written(self, numbers: Iterable[int]) -> str:
        whole, spans = "\n".join(self.source.annotations.lines), self.spans.found
        parts = []
        for k in numbers:
            span = spans[k]
            parts.append((span.start, whole[span.start : span.end] + (";" if span.body_end is not None else "")))
        if parts:
            last = max(start for start, _ in parts)
            pragmas = ((self.spans.offset(p.line, 1), p) for p in self.source.annotations.pragmas)
            parts += [(at, whole.split("\n")[p.line - 1]) for at, p in pragmas if at < last and p.word != "optimize"]
        return "\n".join(text for _, text in sorted(parts))
