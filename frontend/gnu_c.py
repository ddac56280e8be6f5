"""What GNU C and C23 have beyond C99, in words that the parser reads and that mean no more than it does.

before: int y = x ?: 5;                      after: int y = x ? __polytile_condition : 5;
before: case 0 ... 9:                        after: case __polytile_range(0 , 9):
before: int t[8] = { [1 ... 5] = 9 };        after: int t[8] = { [__polytile_range(1 , 5)] = 9 };
before: typeof(x) y = x;                     after: enum { __polytile_typeof = sizeof (x) } y = x;
before: asm volatile ("..." : "+r"(x));      after: __asm__(&(x));
before: int g(void) asm("g2");               after: int g(void) ;
before: __real__ z                           after: *(__polytile_part *)&z
before: 2.0i                                 after: (2.0 * __polytile_imaginary_unit)
before: int a<:4:>;                          after: int a[4];

`gnu_nodes.py` makes of these what they are. All else that the parser cannot read stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import field, replace

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.external_declarations import without_directives, words_in
from polytile.frontend.preprocess import IMAGINARY_UNIT, Preprocessed
from polytile.frontend.tokens import DIGRAPHS, Token

CONDITION, RANGE, TYPEOF, AUTO_TYPE = (f"__polytile_{w}" for w in ("condition", "range", "typeof", "auto_type"))
ASSEMBLY = "__asm__"
_PART = "__polytile_part"
# Types that compilers know without a declaration, and that kernels do not compute with.
COMPILER_TYPES = (
    "_Float16", "_Float32", "_Float64", "_Float128", "_Float32x", "_Float64x", "_Float64x", "__float80", "__float128",
    "__ibm128", "__fp16", "__bf16", "_Decimal32", "_Decimal64", "_Decimal128", "__int128_t", "__uint128_t",
    "__builtin_va_list", _PART,
)  # fmt: skip
_IMAGINARY = r"((?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][-+]?\d+)?)([fF]?)[ijIJ]([fF]?)"
_ASM = ("asm", "__asm", "__asm__")
_TYPEOF = ("typeof", "__typeof", "__typeof__", "typeof_unqual", "__typeof_unqual__")
_PARTS = ("__real__", "__real", "__imag__", "__imag")
_COMPATIBLE = "__builtin_types_compatible_p"
# Words that the parser may take for others: a text with one of them is rewritten before it is parsed.
WORDS = frozenset((*_ASM, *_TYPEOF, *_PARTS, "__auto_type", _COMPATIBLE))
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_QUALIFIERS = ("volatile", "inline", "__inline__", "__inline")
_BEFORE_STATEMENTS = ("", ";", "{", "}", ":", "else", "do")
_SPECIFIERS = ("extern", "static", "const", "volatile", "register", "restrict", "_Thread_local", "typedef")


@dataclass(frozen=True, slots=True)
class PlainC:
    """A text in other words; `mentioned` are the words in strings of inline assembly, `labelled` are names that the
    assembler knows by another one, so that they may stand for the same thing as others."""

    source: Preprocessed
    mentioned: frozenset[str] = frozenset()
    labelled: frozenset[str] = frozenset()


def plain_c(source: Preprocessed, first: int = 0) -> PlainC:
    """Rewrite a preprocessed text from the line behind the `first` ones on; lines stay lines."""
    lines = source.lines.lines
    text = "\n".join(lines[first:])
    rewriting = _Rewriting(list(without_directives(text)))
    rewriting.run()
    if not rewriting.edits:
        return PlainC(source)
    made = (*lines[:first], *_edited(text, rewriting.edits).split("\n"))
    plain = replace(source, text="\n".join(made), lines=source.lines.with_lines(made))
    return PlainC(plain, frozenset(rewriting.mentioned), frozenset(rewriting.labelled))


def _edited(text: str, edits: list[tuple[int, int, str]]) -> str:
    """The text with stretches replaced; the ends of lines in them stay."""
    made: list[str] = []
    at = 0
    for start, end, new in sorted(edits):
        made += (text[at:start], new, "\n" * text.count("\n", start, end))
        at = end
    return "".join((*made, text[at:]))


def stands_for(node: c_ast.Node) -> str:
    """The word in whose place an enumeration stands: `TYPEOF`, `AUTO_TYPE`, or nothing."""
    first = node.values.enumerators[0] if isinstance(node, c_ast.Enum) and node.values else None
    name = str(first.name) if isinstance(first, c_ast.Enumerator) else ""
    return name if name in (TYPEOF, AUTO_TYPE) else ""


@dataclass(slots=True)
class _Rewriting:
    tokens: list[Token]
    edits: list[tuple[int, int, str]] = field(default_factory=list)
    mentioned: set[str] = field(default_factory=set)
    labelled: set[str] = field(default_factory=set)
    partner: dict[int, int] = field(default_factory=dict)  # of brackets, both ways
    blocks: list[int] = field(default_factory=list)  # braces that are open at the token at hand

    def run(self) -> None:
        if not self._match():
            return
        rules: dict[str, Callable[[int], int]] = {
            **dict.fromkeys(_ASM, self._assembly),
            **dict.fromkeys(_TYPEOF, self._typeof),
            **dict.fromkeys(_PARTS, self._part),
            "__auto_type": self._auto_type,
            _COMPATIBLE: self._compatible,
            "?": self._condition,
            "case": self._case,
            "[": self._bracket,
        }
        at = 0
        while at < len(self.tokens):
            word = self._word(at)
            if self.tokens[at].text in DIGRAPHS:
                self._replace(at, at, word)
            if imaginary := re.fullmatch(_IMAGINARY, word):
                self._replace(at, at, f"({imaginary[1]}{imaginary[2]}{imaginary[3]} * {IMAGINARY_UNIT})")
            if word == "{":
                self.blocks.append(at)
            elif word == "}":
                self.blocks.pop()
            at = rules[word](at) if word in rules and self.tokens[at].kind != "string" else at + 1

    def _match(self) -> bool:
        opened: list[int] = []
        for at in range(len(self.tokens)):
            word = self._word(at)
            if word in _CLOSING:
                opened.append(at)
            elif word in (")", "]", "}"):
                if not opened or _CLOSING[self._word(opened[-1])] != word:
                    return False
                other = opened.pop()
                self.partner[at], self.partner[other] = other, at
        return not opened

    def _word(self, at: int) -> str:
        text = self.tokens[at].text if 0 <= at < len(self.tokens) else ""
        return DIGRAPHS.get(text, text)

    def _end(self, at: int) -> int:
        return self.tokens[at].offset + len(self.tokens[at].text)

    def _replace(self, first: int, last: int, new: str) -> None:
        self.edits.append((self.tokens[first].offset, self._end(last), new))

    def _insert(self, at: int, new: str) -> None:
        """Put a text in front of a token."""
        self.edits.append((self.tokens[at].offset, self.tokens[at].offset, new))

    # Expressions and types ------------------------------------------------------------------------------------------
    def _condition(self, at: int) -> int:
        if self._word(at + 1) == ":":
            self._insert(at + 1, f" {CONDITION} ")
        return at + 1

    def _case(self, at: int) -> int:
        end = at + 1
        while self._word(end) not in (":", ";", "}", ")", "]", ""):
            end = self.partner.get(end, end) + 1
        self._range(at + 1, end)
        return at + 1

    def _range(self, first: int, end: int) -> None:
        """before: 0 ... 9    after: __polytile_range(0 , 9)"""
        dots = [k for k in range(first, end) if self.tokens[k].text == "..."]
        if len(dots) == 1 and first < dots[0] < end - 1:
            self._insert(first, f"{RANGE}(")
            self._replace(dots[0], dots[0], ",")
            self._insert(end, ")")

    def _bracket(self, at: int) -> int:
        end = self.partner[at]
        self._range(at + 1, end)
        return at + 1

    def _typeof(self, at: int) -> int:
        if self._word(at + 1) == "(":
            self._replace(at, at, f"enum {{ {TYPEOF} = sizeof ")
            end = self.partner[at + 1]
            self._replace(end, end, ") }")
        return at + 1

    def _auto_type(self, at: int) -> int:
        self._replace(at, at, f"enum {{ {AUTO_TYPE} }}")
        return at + 1

    def _part(self, at: int) -> int:
        self._replace(at, at, f"*({_PART} *)&")
        return at + 1

    def _compatible(self, at: int) -> int:
        """before: __builtin_types_compatible_p(int, long)
        after:  __builtin_types_compatible_p(sizeof(int), sizeof(long))
        """
        if self._word(at + 1) != "(":
            return at + 1
        for first, end in self._split(at + 2, self.partner[at + 1], ","):
            if first < end:
                self._insert(first, "sizeof(")
                self._insert(end, ")")
        return at + 2

    def _split(self, first: int, end: int, mark: str) -> list[tuple[int, int]]:
        """The parts between two tokens, by the marks that stand in no bracket there."""
        parts: list[tuple[int, int]] = []
        at = start = first
        while at < end:
            if self._word(at) == mark:
                parts.append((start, at))
                start = at + 1
            at = self.partner.get(at, at) + 1
        return [*parts, (start, end)]

    # Inline assembly ------------------------------------------------------------------------------------------------
    def _assembly(self, at: int) -> int:
        """A statement of inline assembly, a declaration of it, or the assembler's name of a declarator."""
        opening = at + 1
        while self._word(opening) in _QUALIFIERS:
            opening += 1
        if self._word(opening) != "(" or self.tokens[opening + 1].kind != "string":
            return at + 1
        end = self.partner[opening]
        done = self._statement(at, opening, end) if self._is_statement(at) else self._label(at, end)
        if done:
            self.mentioned |= {w for k in range(opening, end) for w in self._strings(k)}
        return end + 1 if done else at + 1

    def _strings(self, at: int) -> frozenset[str]:
        return words_in(self.tokens[at].text) if self.tokens[at].kind == "string" else frozenset()

    def _is_statement(self, at: int) -> bool:
        before = self._word(at - 1)
        if before != ")":
            return before in _BEFORE_STATEMENTS
        return self._word(self.partner[at - 1] - 1) in ("if", "for", "while", "switch")

    def _statement(self, at: int, opening: int, end: int) -> bool:
        """A call that gets the addresses of what is written, and the values of what is read."""
        if not self.blocks:
            self._replace(at, end, "")
            return True
        _, *lists = self._split(opening + 1, end, ":")
        operands: list[tuple[str, int, int]] = []
        for sign, (first, last) in zip(("&", ""), lists, strict=False):
            for operand in self._split(first, last, ",") if first < last else ():
                start = next((k for k in range(*operand) if self._word(k) == "("), -1)
                if start < 0 or self.partner[start] != operand[1] - 1:
                    return False
                operands.append((sign, start, operand[1] - 1))
        self._as_call(at, end, operands)
        return True

    def _as_call(self, at: int, end: int, operands: list[tuple[str, int, int]]) -> None:
        """Replace all but the operands."""
        last, text = at, f"{ASSEMBLY}("
        for number, (sign, first, final) in enumerate(operands):
            made = f"{text}{', ' * (number > 0)}{sign}"
            self.edits.append((self.tokens[last].offset, self.tokens[first].offset, made))
            last, text = final + 1, ""
        self.edits.append((self.tokens[last].offset, self._end(end), f"{text})"))

    def _label(self, at: int, end: int) -> bool:
        """Drop the name for the assembler; one of a block's variable that may be elsewhere stays, and is not read."""
        start = at - 1
        while start >= 0 and self._word(start) not in (";", "{", "}"):
            start = self.partner[start] - 1 if self._word(start) in (")", "]") else start - 1
        if not self.blocks:
            self.labelled.add(self._declared_before(at))
        elif self._word(start + 1) != "register":
            return False
        self._replace(at, end, "")
        return True

    def _declared_before(self, at: int) -> str:
        """What a declarator declares: the last name outside of brackets, or that in `T (name)`, `(*name)(int)`."""
        at -= 1
        inner = ""
        while self._word(at) in (")", "]"):
            opening = self.partner[at]
            names = [t.text for t in self.tokens[opening + 1 : at] if t.kind == "name"]
            inner = names[0] if names and self._word(at) == ")" else inner
            at = opening - 1
        plain = self._word(at - 1) == "*" or (self._is_name(at - 1) and self._word(at - 1) not in _SPECIFIERS)
        return self._word(at) if self._is_name(at) and (plain or not inner) else inner

    def _is_name(self, at: int) -> bool:
        return at >= 0 and self.tokens[at].kind == "name"
