"""The declarations of polytile's own headers, which most files begin with: those of functions that a file names, and
all others. They are parsed once for all files of a process that need the same.

before: parse(<math.h> and <stdio.h> and a.c), parse(<math.h> and <stdio.h> and b.c)
after:  parse(sqrt of <math.h>, types of <stdio.h>), parse(a.c), parse(b.c)
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence

from pycparser import CParser, c_ast
from pycparser.c_lexer import CLexer
from pycparser.c_parser import ParseError

from polytile.dataclass import dataclass
from polytile.frontend.preprocess import Preprocessed, identifiers, is_shipped

_KEPT = 16
_FUNCTION = re.compile(r"[\w\s*]*?(\w+)\([^{}]*\);\s*")  # a line that declares one, and nothing else
_COMPLEX = "_Complex"  # arithmetic of such numbers becomes calls (complex_numbers.py)
_Line = tuple[str, int, str]  # the file and the number of a line, and the line


@dataclass(frozen=True, slots=True)
class Head:
    """The lines that a file begins with and that are polytile's own: how many of the preprocessed ones, what they
    declare of use, with its places in the headers, and which names are types (true) or not. Files share it: nothing in
    it may be changed."""

    lines: int = 0
    nodes: tuple[c_ast.Node, ...] = ()
    names: Mapping[str, bool] | None = None


class ContinuingParser(CParser):  # type: ignore[misc]
    """A parser of text whose file has names in front of it, which are types (true) or not."""

    def __init__(self, lexer: type[CLexer], names: Mapping[str, bool]) -> None:
        super().__init__(lexer=lexer)
        self._known = names

    def _parse_translation_unit_or_empty(self) -> c_ast.FileAST:
        self._scope_stack[0].update(self._known)
        return super()._parse_translation_unit_or_empty()

    @property
    def names(self) -> dict[str, bool]:
        """The names of the file's scope, as far as it is parsed."""
        return dict(self._scope_stack[0])


_known: OrderedDict[tuple[_Line, ...], tuple[tuple[c_ast.Node, ...], Mapping[str, bool]]] = OrderedDict()


def shipped_head(source: Preprocessed, place: Callable[[c_ast.FileAST, Preprocessed], None]) -> Head:
    """The head of a file; `place` moves the places of what is parsed to the headers."""
    count = _own_lines(source)
    if not count:
        return Head()
    lines = _used(source.lines.lines, count)
    key = tuple((*place, line) for place, line in zip(source.lines.origins, lines, strict=False) if line.strip())
    found = _known.pop(key, None)
    if found is None:
        parser = ContinuingParser(CLexer, {})
        try:
            tree = parser.parse("\n".join(lines), source.path)
        except ParseError:  # a macro of the user's changes a header: the message is that of the whole file
            return Head()
        place(tree, source)
        found = tuple(tree.ext), parser.names
    _known[key] = found
    if len(_known) > _KEPT:
        _known.popitem(last=False)
    return Head(count, *found)


def _own_lines(source: Preprocessed) -> int:
    """How many lines there are up to the last one of polytile's headers before the first of another file."""
    shipped: dict[str, bool] = {}
    count = 0
    for k, (line, (file, _)) in enumerate(zip(source.lines.lines, source.lines.origins, strict=True)):
        if not line.strip():
            continue
        if file not in shipped:
            shipped[file] = is_shipped(file)
        if not shipped[file]:
            break
        count = k + 1
    return count


def _used(lines: Sequence[str], count: int) -> list[str]:
    """The first lines, with blank ones in place of functions that nothing else names."""
    functions = {k: found[1] for k, line in enumerate(lines[:count]) if (found := _FUNCTION.fullmatch(line))}
    own = identifiers("\n".join(line for k, line in enumerate(lines[:count]) if k not in functions))
    rest = identifiers("\n".join(lines[count:]))
    if _COMPLEX in rest:
        return list(lines[:count])
    unused = {k for k, name in functions.items() if name not in own and name not in rest}
    return ["" if k in unused else line for k, line in enumerate(lines[:count])]
