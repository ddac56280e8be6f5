"""Preprocessed C to pycparser's tree, with every coordinate in the user's file.

Functions of headers that nothing of a file leads to: most of the thousands of <immintrin.h>.

before: static inline int used(int x) { return x; } static inline int unused(int x) { return x; }    in x.h
after:  static inline int used(int x) { return x; }
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.diagnostics import NOWHERE, Location, UserError
from polytile.frontend.compiler_dependent_types import Doubts
from polytile.frontend.external_declarations import ExternalDeclaration, external_declarations, words_in
from polytile.frontend.gnu_c import COMPILER_TYPES, WORDS
from polytile.frontend.implicit_int import declare_listed_parameters
from polytile.frontend.preprocess import Preprocessed, identifiers
from polytile.frontend.shipped_declarations import Head, shipped_head
from polytile.frontend.syntax import Piece, read_piece
from polytile.frontend.tokens import name_tokens
from polytile.frontend.type_facts import TypeFacts
from polytile.frontend.unreadable import Unread


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """A translation unit. `names` are all identifiers of the text, preprocessed or not, for making fresh ones; `unread`
    is what of the user's file cannot be read, and `mentioned` are words of all that is not read, which may be names of
    variables; `types` are those that only the user's compiler knows; `reworded` says that the tree may have words of
    `gnu_c.py`."""

    source: Preprocessed
    tree: c_ast.FileAST
    names: frozenset[str]
    unread: tuple[Unread, ...] = ()
    mentioned: frozenset[str] = frozenset()
    types: TypeFacts = field(default_factory=TypeFacts)
    reworded: bool = False


def parse(source: Preprocessed) -> ParsedFile:
    """Parse preprocessed text. Where there is a syntax error, or what C99 has not, declarations are read one by one,
    and what cannot be read is left out; where they cannot be told apart, the error becomes a located `UserError`."""
    head = shipped_head(source, _place)
    words = identifiers(source.text)
    plain = words.isdisjoint(WORDS)
    read, unused = (source, frozenset[str]()) if plain else _used(source, head)
    doubts = Doubts.of(read, head.lines)
    file = _read(read, head, _place if doubts is None else doubts.noting(_place), plain=plain)
    names = words | identifiers(source.raw) | source.macros
    file = replace(file, source=source, names=names, mentioned=file.mentioned | unused)
    return file if doubts is None else replace(file, types=doubts.facts())


def _used(source: Preprocessed, head: Head) -> tuple[Preprocessed, frozenset[str]]:
    from polytile.frontend.parse import without_unused_functions  # files in C99 have no need of it

    return without_unused_functions(source, head.lines)


_Place = Callable[[c_ast.FileAST, Preprocessed], None]


def _read(source: Preprocessed, head: Head, place: _Place, *, plain: bool) -> ParsedFile:
    """The file but for its names; as a whole where its words are `plain` and nothing is wrong."""
    known = {**dict.fromkeys(COMPILER_TYPES, True), **(head.names or {})}
    error = None
    if plain:
        try:
            return ParsedFile(source, _read_whole(source, head, known, place), frozenset())
        except UserError as found:
            error = found
    from polytile.frontend.separate_declarations import read_separately  # the same

    apart = read_separately(source, head.lines, known, place)
    if apart is None:
        if error is not None:
            raise error
        return ParsedFile(source, _read_whole(source, head, known, place), frozenset())
    tree = _with_head(c_ast.FileAST(apart.nodes), head)
    tree.ext[:0] = apart.hidden  # in front of all that is declared of these names
    return ParsedFile(source, tree, frozenset(), apart.unread, apart.mentioned, reworded=True)


def _read_whole(source: Preprocessed, head: Head, known: dict[str, bool], place: _Place) -> c_ast.FileAST:
    rest = "\n".join(source.lines.lines[head.lines :])
    nodes, _ = read_piece(source, Piece(rest, head.lines + 1), known)
    tree = c_ast.FileAST(nodes)
    place(tree, source)
    return _with_head(tree, head)


def _with_head(tree: c_ast.FileAST, head: Head) -> c_ast.FileAST:
    declare_listed_parameters(tree)
    tree.ext[:0] = head.nodes
    return tree


def location_of(node: c_ast.Node | None) -> Location:
    """The place of a node in the user's file."""
    coord = getattr(node, "coord", None)
    return NOWHERE if coord is None else Location(str(coord.file), int(coord.line), int(coord.column or 0))


_LEAVES = frozenset((c_ast.ID, c_ast.Constant, c_ast.IdentifierType))  # most nodes, which need not be asked


def nodes_below(node: c_ast.Node | None) -> Iterator[c_ast.Node]:
    """The node and all below it, parents first, in source order."""
    stack = [] if node is None else [node]
    while stack:
        top = stack.pop()
        yield top
        kind = type(top)
        if kind is c_ast.BinaryOp:
            stack += (top.right, top.left)
        elif kind is c_ast.ArrayRef:
            stack += (top.subscript, top.name)
        elif kind not in _LEAVES:
            stack += list(top)[::-1]


def _place(tree: c_ast.FileAST, source: Preprocessed) -> None:
    """Move every coordinate from the preprocessed text to the user's file; nodes may share one."""
    done: set[int] = set()
    for node in nodes_below(tree):
        coord = node.coord
        if coord is None or id(coord) in done:
            continue
        done.add(id(coord))
        place = source.lines.location(coord.line, coord.column)
        coord.file, coord.line, coord.column = place.file, place.line, place.column


def without_unused_functions(source: Preprocessed, first: int) -> tuple[Preprocessed, frozenset[str]]:
    """The text with blanks in place of these behind the `first` lines, and the words in them, which may be addresses of
    variables; the text as it is where brackets do not tell declarations apart."""
    lines = source.lines.lines
    text = "\n".join(lines[first:])
    found = external_declarations(text) if len({file for file, _ in source.lines.origins}) > 1 else None
    if found is None:
        return source, frozenset()
    unused = _unused(text, _of_headers(source, first, text, found), found)
    made, at, words = [], 0, set[str]()
    for one in unused:
        body = text[one.start : one.end]
        words |= words_in(body)
        made += [text[at : one.start], re.sub(r"[^\n]", " ", body)]
        at = one.end
    kept = (*lines[:first], *"".join((*made, text[at:])).split("\n"))
    return replace(source, text="\n".join(kept), lines=source.lines.with_lines(kept)), frozenset(words)


def _of_headers(
    source: Preprocessed, first: int, text: str, found: Sequence[ExternalDeclaration]
) -> list[ExternalDeclaration]:
    """The functions that other files define than the one that is compiled."""
    line, at, made = first, 0, []
    for one in found:
        line += text.count("\n", at, one.start)
        at = one.start
        if one.name and source.lines.origins[line][0] != source.path:
            made.append(one)
    return made


def _unused(
    text: str, functions: Sequence[ExternalDeclaration], found: Sequence[ExternalDeclaration]
) -> list[ExternalDeclaration]:
    """Return the functions that neither the text outside of all of them names, nor one that is named itself."""
    by_name: dict[str, list[ExternalDeclaration]] = {}
    for one in functions:
        by_name.setdefault(one.name, []).append(one)
    starts = {one.start for one in functions}
    waiting = [one for one in found if one.start not in starts]
    names: set[str] = set()
    while waiting:
        one = waiting.pop()
        new = set(name_tokens(text[one.before : one.end])) - names
        names |= new
        waiting += [each for name in new for each in by_name.get(name, ())]
    return [one for one in functions if one.name not in names]
