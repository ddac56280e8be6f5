"""Which declarations of a file have types that the table of x86-64 may be wrong about, and which bear attributes that
nothing is known of: seen before the places of the tree are moved to the user's file, in the text with annotations."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import field, replace
from typing import Any

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.diagnostics import Location
from polytile.frontend.attributes import Attribute, LayoutPragma
from polytile.frontend.declaration_spans import DeclarationSpans
from polytile.frontend.host_layouts import compiler_of
from polytile.frontend.preprocess import Preprocessed
from polytile.frontend.trees import statements_below
from polytile.frontend.type_facts import DeclaredText, Entity, TypeFacts, key_of

_WIDE_ENUM = re.compile(
    r"\benum\b[^;{}()]*\{[^}]*(?:\b\d{10}|\b0[xX][0-9a-fA-F]{8}|<<|~|\d[uU]?[lL]|-\s*\d{10}|\bsizeof\b)"
)
_SUMMARY = r"#[ \t]*pragma[ \t]+polytile[ \t]+access[ \t]*\([ \t]*(\w+)"
_LOOPS = frozenset(("for", "while", "do"))
_TAGGED = (c_ast.Struct, c_ast.Union, c_ast.Enum)


@dataclass(slots=True)
class Doubts:
    """What is found in trees whose places are those of the preprocessed text. `parsed` are the declarations of the text
    that the parser reads, which may have other words in the same lines than the preprocessed text."""

    source: Preprocessed
    head: int
    spans: DeclarationSpans
    parsed: DeclarationSpans
    entities: list[tuple[c_ast.Node, Entity]] = field(default_factory=list)
    declared: list[tuple[int, c_ast.Node, bool]] = field(default_factory=list)  # span, node, of the declaration itself
    done: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, source: Preprocessed, head: int) -> Doubts | None:
        """Those of a file whose first `head` lines are of polytile's own headers; None where no type is in doubt."""
        certain = compiler_of(source.compiler, source.cflags).plain
        if certain and not source.annotations.telling and not _WIDE_ENUM.search(source.text):
            return None
        annotated = [(a.line, a.column) for a in source.annotations.attributes]
        spans = DeclarationSpans.of(source.lines.lines, head, annotated)
        return cls(source, head, spans, spans)

    def noting(
        self, place: Callable[[c_ast.FileAST, Preprocessed], None]
    ) -> Callable[[c_ast.FileAST, Preprocessed], None]:
        """What notes the declarations of a tree before `place` moves its nodes to the user's file."""

        def noted(tree: c_ast.FileAST, source: Preprocessed) -> None:
            self._note(tree, source)
            place(tree, source)

        return noted

    def _note(self, tree: c_ast.FileAST, source: Preprocessed) -> None:
        if source is not self.source and self.parsed is self.spans:
            parsed = DeclarationSpans.of(source.lines.lines, self.head)
            self.parsed = parsed if len(parsed.found) == len(self.spans.found) else self.spans
        for node in statements_below(tree):
            if isinstance(node, c_ast.FuncDef):
                self._declare(node.decl, "")
            elif isinstance(node, c_ast.Decl | c_ast.Typedef):
                typedef = isinstance(node, c_ast.Typedef)
                self._declare(node, f"(*({node.name} *)0)" if typedef else str(node.name or ""))

    def facts(self) -> TypeFacts:
        """The facts, by the places that the nodes have now."""
        compiler = compiler_of(self.source.compiler, self.source.cflags)
        text = DeclaredText(self.source, self.spans, self.head, self._names())
        doubtful = self._doubtful_spans(compiler.plain)
        entities = {
            key_of(node): replace(entity, doubtful=entity.span in doubtful) for node, entity in self._asked_of()
        }
        refused, names, weak, inside = self._refusals()
        touching = self._touching(doubtful)
        asks = any(spans.local for spans in map(self.spans.found.__getitem__, doubtful)) or self._used(touching)
        return TypeFacts(compiler, entities, refused, names, weak, inside, asks, text)

    def _asked_of(self) -> Iterator[tuple[c_ast.Node, Entity]]:
        """What there is to ask about: of scalar types where `mode` stands, of alignments where a `typedef` has them."""
        placed = tuple(self._placed_attributes())
        with_mode = {s for s, a in placed if a.name == "mode"}
        wanted = {"scalar": with_mode, "alignment": {s for s, a in placed if a.name == "aligned"} - with_mode}
        yield from ((n, e) for n, e in self.entities if e.kind not in wanted or e.span in wanted[e.kind])

    # The tree ---------------------------------------------------------------------------------------------------------
    def _declare(self, node: Any, lvalue: str, *, inside: bool = False) -> None:
        """Note a declaration, or a member, and what its type defines."""
        if id(node) in self.done:
            return
        self.done.add(id(node))
        span = self._span(node)
        base = node.type
        while isinstance(base, c_ast.ArrayDecl | c_ast.PtrDecl | c_ast.TypeDecl | c_ast.FuncDecl):
            lvalue = "" if isinstance(base, c_ast.FuncDecl) else lvalue
            lvalue += "[0]" if lvalue and not isinstance(base, c_ast.TypeDecl) else ""
            base = base.type
        if span is None:
            return
        self.declared.append((span, node, not inside))
        if isinstance(base, _TAGGED):
            self._define(base, lvalue, span)
        elif lvalue and getattr(node, "bitsize", None) is None:
            self.entities.append((node, Entity("scalar", lvalue, span)))
        if lvalue and isinstance(node, c_ast.Typedef):
            self.entities.append((node, Entity("alignment", lvalue, span)))

    def _define(self, base: Any, lvalue: str, span: int) -> None:
        members = base.values if isinstance(base, c_ast.Enum) else base.decls
        if members is None or id(base) in self.done:
            return
        self.done.add(id(base))
        self.declared.append((span, base, False))
        word = type(base).__name__.lower()
        lvalue = f"(*({word} {base.name} *)0)" if base.name else lvalue
        if isinstance(base, c_ast.Enum):
            names = tuple(e.name for e in base.values.enumerators if isinstance(e, c_ast.Enumerator))
            self.entities.append((base, Entity("enum", lvalue, span, names)))
            return
        for member in members:
            if isinstance(member, c_ast.Decl):
                self._declare(member, f"{lvalue}.{member.name}" if lvalue and member.name else "", inside=True)
        if isinstance(base, c_ast.Struct) and lvalue:
            own = (m for m in members if isinstance(m, c_ast.Decl) and m.name and m.bitsize is None)
            self.entities.append((base, Entity("struct", lvalue, span, tuple(str(m.name) for m in own))))

    def _span(self, node: c_ast.Node) -> int | None:
        coord = node.coord or getattr(node.type, "coord", None)
        return None if coord is None else self.parsed.at(self.parsed.offset(coord.line, coord.column or 1))

    # The text ---------------------------------------------------------------------------------------------------------
    def _names(self) -> dict[str, list[int]]:
        """The declarations of each name, of a type, a variable or a function."""
        found: dict[str, list[int]] = {}
        for span, node, own in self.declared:
            names = [node.name] if own or isinstance(node, _TAGGED) else []
            if isinstance(node, c_ast.Enum):
                names += [e.name for e in node.values.enumerators if isinstance(e, c_ast.Enumerator)]
            for name in filter(None, names):
                found.setdefault(str(name), []).append(span)
        return found

    def _placed_attributes(self) -> Iterator[tuple[int, Attribute]]:
        for attribute in self.source.annotations.attributes:
            span = self.spans.at(self.spans.offset(attribute.line, attribute.column))
            if span is not None:
                yield span, attribute

    def _doubtful_spans(self, certain: bool) -> set[int]:
        """Declarations of types with an attribute or under a pragma of layout, and of types that have such in them."""
        defining = {s for s, node, _ in self.declared if isinstance(node, (*_TAGGED, c_ast.Typedef))}
        bodies = {s for s, node, _ in self.declared if isinstance(node, _TAGGED)}
        found = {s for s, a in self._placed_attributes() if a.of_layout} & defining
        found |= {s for s in bodies if not certain or self._packed(s)}
        names: dict[int, list[str]] = {}
        for span, node, _ in self.declared:
            if isinstance(node, (*_TAGGED, c_ast.Typedef)) and node.name:
                names.setdefault(span, []).append(str(node.name))
        tainted: set[str] = set()
        for span in sorted(defining):
            if span in found or not tainted.isdisjoint(self.spans.names(span)):
                found.add(span)
                tainted.update(names.get(span, ()))
        return found

    def _packed(self, number: int) -> bool:
        """Whether a pragma bounds the alignments in a declaration."""
        span, held, now = self.spans.found[number], list[str](), ""
        for pragma in self.source.annotations.pragmas:
            at = self.spans.offset(pragma.line, 1)
            if at >= span.end:
                break
            if pragma.word == "pack":
                now = _packing(pragma, held, now)
            if at >= span.start or pragma.word == "ms_struct":
                return True
        return now != ""

    def _touching(self, doubtful: set[int]) -> set[str]:
        """The names of doubtful types and of what is declared with them."""
        names = self._names()
        by_span: dict[int, list[str]] = {}
        for name, spans in names.items():
            for span in spans:
                by_span.setdefault(span, []).append(name)
        found = {name for span in doubtful for name in by_span.get(span, ())}
        for span in sorted(by_span):
            if not found.isdisjoint(self.spans.names(span)):
                found.update(by_span[span])
        return found

    def _used(self, names: set[str]) -> bool:
        """Whether functions use one of the names, and have loops."""
        if not names:
            return False
        used = looped = False
        for number, span in enumerate(self.spans.found):
            if span.body_end is not None:
                words = self.spans.words_of_function(number)
                used |= not names.isdisjoint(words)
                looped |= not _LOOPS.isdisjoint(words)
        return used and looped

    # What is refused --------------------------------------------------------------------------------------------------
    def _refusals(self) -> tuple[dict[Any, Any], dict[str, Any], frozenset[str], tuple[Any, ...]]:
        nodes: dict[Any, tuple[Attribute, Location]] = {}
        names: dict[str, tuple[Attribute, Location]] = {}
        weak: set[str] = set()
        inside: list[tuple[Attribute, Location]] = []
        by_span: dict[int, list[tuple[c_ast.Node, bool]]] = {}
        for span, node, own in self.declared:
            by_span.setdefault(span, []).append((node, own))
        for span, attribute in self._placed_attributes():
            if attribute.meaningless or attribute.of_layout:
                continue
            place = self._place(attribute)
            if self.spans.found[span].local:
                inside.append((attribute, place))
            for node, own in by_span.get(span, ()):
                if attribute.name in ("weak", "weak_import"):
                    weak.update([str(node.name)] if own and node.name else [])
                    continue
                nodes[key_of(node)] = attribute, place
                if own and node.name and not self.spans.found[span].local:
                    names[str(node.name)] = attribute, place
        for pragma in self.source.annotations.pragmas:
            self._pragma(pragma, nodes, names, weak)
        said = {found[1] for found in re.finditer(_SUMMARY, self.source.text)}
        return nodes, {n: mark for n, mark in names.items() if n not in said}, frozenset(weak - said), tuple(inside)

    def _place(self, attribute: Attribute) -> Location:
        """The place in the user's file, whose columns no token of the preprocessed text tells."""
        place = self.source.lines.location(attribute.line, attribute.column)
        raw = self.source.lines.raw_line((place.file, place.line))
        return Location(place.file, place.line, max(raw.find(attribute.text), 0) + 1)

    def _pragma(self, pragma: LayoutPragma, nodes: dict[Any, Any], names: dict[str, Any], weak: set[str]) -> None:
        """Refuse what a pragma says something of: `weak y = x`, `redefine_extname x y`, another order of bytes."""
        words = re.findall(r"[\w$]+", pragma.text)
        said = Attribute(pragma.word, f"#pragma {pragma.word} {pragma.text}".strip(), pragma.line, 1)
        mark = said, self.source.lines.location(pragma.line, 1)
        behind = self.spans.offset(pragma.line, 1)
        if pragma.word == "weak" and len(words) == 1:
            weak.add(words[0])
        elif pragma.word in ("weak", "redefine_extname"):
            names.update(dict.fromkeys(words, mark))
        elif pragma.word == "scalar_storage_order" and words[:1] not in (["default"], ["little"]):
            ends = (p for p in self.source.annotations.pragmas if p.word == pragma.word and p.line > pragma.line)
            end = next((self.spans.offset(p.line, 1) for p in ends), len(self.spans.text))
            within = ((s, n) for s, n, _ in self.declared if behind <= self.spans.found[s].start < end)
            nodes.update({key_of(n): mark for _, n in within if isinstance(n, c_ast.Struct)})
        elif pragma.word == "optimize" and not Attribute("optimize", f"optimize{pragma.text}", 0, 0).meaningless:
            functions = ((s, n) for s, n, own in self.declared if own and self.spans.found[s].body_end is not None)
            names.update({str(n.name): mark for s, n in functions if self.spans.found[s].start >= behind})


def _packing(pragma: LayoutPragma, held: list[str], now: str) -> str:
    """The bound behind `#pragma pack(...)`; "" for none."""
    words = [w.strip() for w in pragma.text.strip().removeprefix("(").removesuffix(")").split(",") if w.strip()]
    if words[:1] == ["pop"]:
        now = held.pop() if held else ""
    elif words[:1] == ["push"]:
        held.append(now)
    sizes = [w for w in words if w not in ("push", "pop") and not w.isidentifier()]
    return sizes[-1] if sizes else now if words else ""
