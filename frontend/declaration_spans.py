"""Where the declarations of a file start and end, in text without attributes: those of the file and of blocks."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import field

from polytile.dataclass import dataclass
from polytile.frontend.tokens import Token, name_tokens, tokenize

_CLOSING = {"(": ")", "[": "]", "{": "}"}
_TAGGED = ("struct", "union", "enum")


@dataclass(frozen=True, slots=True)
class DeclarationSpan:
    """Offsets of a declaration, or of a statement; `visible` are the earlier ones of the blocks around it. `body_end`
    is behind the body of a function, of which it is the head."""

    start: int
    end: int
    visible: tuple[int, ...] = ()
    local: bool = False
    body_end: int | None = None


@dataclass(slots=True)
class DeclarationSpans:
    """The declarations of a text, in their order."""

    text: str
    found: list[DeclarationSpan] = field(default_factory=list)
    _tokens: list[Token] = field(default_factory=list)
    _lines: list[int] = field(default_factory=list)
    _starts: list[int] = field(default_factory=list)
    _annotated: list[int] = field(default_factory=list)

    @classmethod
    def of(
        cls, lines: Sequence[str], first: int = 0, annotated: Sequence[tuple[int, int]] = ()
    ) -> DeclarationSpans:
        """Those of the lines behind `first`; directives are none. What stands at the places `annotated` belongs to the
        declaration that it is in, or in front of."""
        plain = [
            " " * len(line) if k < first or line.lstrip().startswith("#") else line for k, line in enumerate(lines)
        ]
        made = cls("\n".join(plain))
        made._tokens = list(tokenize(made.text))
        offset = 0
        for line in plain:
            made._lines.append(offset)
            offset += len(line) + 1
        made._annotated = [made.offset(*place) for place in annotated]
        made._block(0, (), local=False)
        made.found.sort(key=lambda s: s.start)
        made._starts = [s.start for s in made.found]
        return made

    def offset(self, line: int, column: int) -> int:
        """The offset of a place, whose line and column count from 1."""
        return self._lines[line - 1] + column - 1

    def at(self, offset: int) -> int | None:
        """The number of the declaration that a place is in."""
        k = bisect_right(self._starts, offset) - 1
        return k if k >= 0 and offset < self.found[k].end else None

    def names(self, number: int) -> Iterator[str]:
        span = self.found[number]
        return name_tokens(self.text[span.start : span.end])

    def words_of_function(self, number: int) -> frozenset[str]:
        """The names in a function, its head and its body."""
        span = self.found[number]
        return frozenset(name_tokens(self.text[span.start : span.body_end]))

    def _block(self, k: int, visible: tuple[int, ...], *, local: bool) -> int:
        """Find the declarations from token `k` to the end of the block; the position behind that."""
        tokens, first = self._tokens, k
        while k < len(tokens):
            text = tokens[k].text
            if text == ";":
                visible = self._add(first, k, visible, local)
                first = k + 1
            elif text == "}":
                return k + 1
            elif text == "{" and not self._of_type_or_value(first, k):
                head = None if local else self._add_head(first, k)
                k = self._block(k + 1, visible, local=True)
                if head is not None:
                    end = tokens[k - 1].offset + 1
                    self.found[head] = DeclarationSpan(self.found[head].start, self.found[head].end, (), False, end)
                first = k
                continue
            elif text in _CLOSING:
                k = self._behind(k) - 1
            k += 1
        return k

    def _add(self, first: int, last: int, visible: tuple[int, ...], local: bool) -> tuple[int, ...]:
        """Note a declaration; with it, what is visible behind it."""
        start = self._start(first)
        self.found.append(DeclarationSpan(start, self._tokens[last].offset + 1, visible, local))
        return (*visible, start) if local else ()

    def _add_head(self, first: int, brace: int) -> int:
        self.found.append(DeclarationSpan(self._start(first), self._tokens[brace].offset))
        return len(self.found) - 1

    def _start(self, first: int) -> int:
        """The offset of a token, or of the first annotation in front of it."""
        start = self._tokens[first].offset
        before = self._tokens[first - 1].offset if first else -1
        return next((at for at in self._annotated if before < at < start), start)

    def _of_type_or_value(self, first: int, brace: int) -> bool:
        """Whether a brace opens members or values, and no block."""
        tokens = self._tokens
        before = [t.text for t in tokens[max(first, brace - 2) : brace]]
        if before and (before[-1] in _TAGGED or (len(before) > 1 and before[-2] in _TAGGED)):
            return True
        return any(t.text == "=" for t in tokens[first:brace]) and not self._is_loop(first)

    def _is_loop(self, first: int) -> bool:
        return self._tokens[first].text in ("for", "while", "if", "switch", "else", "do")

    def _behind(self, k: int) -> int:
        """The position behind the bracket that closes the one at token `k`."""
        depth = 0
        for j in range(k, len(self._tokens)):
            text = self._tokens[j].text
            depth += (text in _CLOSING) - (text in _CLOSING.values())
            if depth == 0:
                return j + 1
        return len(self._tokens)
