"""A mapped schedule tree for a reader: what stands below one another, with branches where sequences split.

before: domain: "[n] -> { S0[i] : 0 <= i < n }"       after:  domain  S0[i] : 0 <= i < n
        child:                                                mark    kernel
          mark: "kernel"                                      band    floor(i/256)
          child:
            schedule: "[n] -> [{ S0[i] -> [(floor((i)/256))] }]"
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from polytile.dataclass import dataclass

_SIZES = re.compile(r"^\[[^\]]*\] -> ")
_MEMBER = re.compile(r"\{ (.*?) \}")
_PIECE = re.compile(r"^(?P<statement>[^\[]*)\[.*?\] -> \[(?P<value>.*)\]$")
_ATOM = re.compile(r"\((\w+)\)")
_WORDS = {"schedule": "band"}
_FLAGS = ("permutable", "coincident")


@dataclass(frozen=True, slots=True)
class Step:
    """A node: its kind, and what it says, a line for each statement, filter or member."""

    kind: str
    lines: tuple[str, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Chain:
    """Nodes with one child each, and the branches below the last of them."""

    steps: tuple[Step, ...]
    branches: tuple[Chain, ...] = ()
    joined: str = ""  # sequence, or set

    @property
    def title(self) -> str:
        """The statements of a filter, in which a branch begins."""
        names = re.findall(r"(?:^|; )([A-Za-z_]\w*)\[", "; ".join(self.steps[0].lines)) if self.steps else []
        return ", ".join(sorted(set(names), key=_natural))

    @property
    def marks(self) -> str:
        """The marks on the way down."""
        return ", ".join(line for step in self.steps if step.kind == "mark" for line in step.lines)


def tree_of(text: str) -> Chain | None:
    """Parse the tree that isl wrote in block style; None where there is none."""
    lines = [(len(line) - len(line.lstrip()), line.strip()) for line in text.splitlines() if line.strip()]
    return _Reader(lines).chain(0) if lines else None


@dataclass(slots=True)
class _Reader:
    lines: list[tuple[int, str]]
    at: int = 0

    def chain(self, indent: int) -> Chain:
        """Return the node at this line, with what is below it."""
        steps: list[Step] = []
        while True:
            step, below, joined = self._node(indent)
            if step.kind:
                steps.append(step)
            if joined or below < 0:
                return Chain(tuple(steps), tuple(self._branches(below)) if joined else (), joined)
            indent = below

    def _node(self, indent: int) -> tuple[Step, int, str]:
        """Return the entries of a node; then the indentation of what is below (-1: nothing), and whether that is a
        list."""
        kind, lines, flags = "", tuple[str, ...](), list[str]()
        while self.at < len(self.lines) and self.lines[self.at][0] == indent:
            key, _, value = self.lines[self.at][1].partition(":")
            value = value.strip().strip('"')
            self.at += 1
            if not value and self.at < len(self.lines):
                return Step(kind, lines, ", ".join(flags)), self.lines[self.at][0], "" if key == "child" else key
            if key in _FLAGS:
                flags.append(_flag(key, value))
            elif key not in ("child", "mark") or value != "leaf":
                kind = kind or _WORDS.get(key, key)
                lines = lines or tuple(_spelt(key, value))
        return Step(kind, lines, ", ".join(flag for flag in flags if flag)), -1, ""

    def _branches(self, indent: int) -> Iterator[Chain]:
        while self.at < len(self.lines) and self.lines[self.at][0] == indent and self.lines[self.at][1][:2] == "- ":
            self.lines[self.at] = indent + 2, self.lines[self.at][1][2:]
            yield self.chain(indent + 2)


def _natural(text: str) -> list[tuple[int, str]]:
    """Return a key that sorts S2 before S10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", text)]


def _flag(key: str, value: str) -> str:
    if key == "permutable":
        return key if value == "1" else ""
    which = [str(k) for k, bit in enumerate(re.findall(r"[01]", value), 1) if bit == "1"]
    return f"coincident {', '.join(which)}" if which else ""


def _spelt(key: str, value: str) -> Iterator[str]:
    """Yield a value without the sizes at its beginning, and a line for each part."""
    value = _SIZES.sub("", value)
    if key == "schedule":
        for member in _MEMBER.findall(value):
            yield from _member(member)
    elif value[:1] == "{":
        yield from sorted(value.strip("{} ").split("; "), key=_natural)
    else:
        yield value


def _member(text: str) -> Iterator[str]:
    """Yield the forms of a band's member, such as `floor(i/64)`; with the statements, where these differ."""
    forms: dict[str, list[str]] = {}
    for piece in text.split("; "):
        found = _PIECE.match(piece)
        name, value = (found["statement"], found["value"]) if found else ("", piece)
        plain = _ATOM.sub(r"\1", value)
        whole = plain[1:-1] if plain[:1] == "(" and plain[-1:] == ")" and _balanced(plain[1:-1]) else plain
        forms.setdefault(whole, []).append(name)
    if len(forms) == 1:
        yield next(iter(forms))
    else:
        shown = sorted((sorted(names, key=_natural), form) for form, names in forms.items())
        yield "; ".join(f"{', '.join(names)}: {form}" for names, form in shown)


def _balanced(text: str) -> bool:
    """Return whether no parenthesis closes one that stands before this text."""
    depth = 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            return False
    return depth == 0
