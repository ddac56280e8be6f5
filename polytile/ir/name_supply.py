"""Identifiers of generated code: from the source's names, and never in the way of another."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from dataclasses import field

from polytile.dataclass import dataclass
from polytile.ir.expr import Declare, For
from polytile.ir.expr_trees import statements
from polytile.ir.reserved_names import is_free
from polytile.ir.scop import Scop

C_KEYWORDS = frozenset(
    (
        "auto",
        "break",
        "case",
        "char",
        "const",
        "continue",
        "default",
        "do",
        "double",
        "else",
        "enum",
        "extern",
        "float",
        "for",
        "goto",
        "if",
        "inline",
        "int",
        "long",
        "register",
        "restrict",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "struct",
        "switch",
        "typedef",
        "union",
        "unsigned",
        "void",
        "volatile",
        "while",
    )
)
RESERVED = C_KEYWORDS | {"min", "max"}


def fresh(wanted: str, taken: Iterable[str]) -> str:
    """Return `wanted`, with underscores appended until it is none of `taken`."""
    names = frozenset(taken)
    while wanted in names:
        wanted += "_"
    return wanted


def coordinates(wanted: str, count: int, taken: Iterable[str]) -> tuple[str, ...]:
    """Return x0, x1, .., with underscores behind the x until none of `taken` is such: isl takes coordinates that are
    called like parameters for these."""
    names = frozenset(taken)
    while any(name.startswith(wanted) and name[len(wanted) :].isdigit() for name in names):
        wanted += "_"
    return tuple(f"{wanted}{k}" for k in range(count))


def names_of_scop(scop: Scop) -> set[str]:
    """Return the names of arrays, parameters and iterators."""
    names = {a.name for a in scop.arrays} | {p.name for p in scop.parameters}
    return names.union(*(s.iterators for s in scop.statements))


@dataclass
class Names:
    """Hands out identifiers that nothing else in a Scop uses."""

    taken: set[str] = field(default_factory=set)
    _shared: dict[Hashable, str] = field(default_factory=dict)

    @classmethod
    def of(cls, scop: Scop) -> Names:
        taken = set(RESERVED) | {p.name for p in scop.parameters} | {a.name for a in scop.arrays}
        for statement in scop.statements:
            taken.update(statement.iterators)
            for stmt in statements(*statement.body):
                if isinstance(stmt, Declare):
                    taken.add(stmt.name)
                elif isinstance(stmt, For):
                    taken.add(stmt.iterator)
        return cls(taken | _types(scop) | {f.name for f in scop.external})

    def copy(self) -> Names:
        """Return an independent supply that has handed out the same names so far."""
        return Names(set(self.taken), dict(self._shared))

    def fresh(self, wanted: str) -> str:
        """Return `wanted`, or the first of wanted_2, wanted_3, ... that is free."""
        name, number = wanted, 1
        if not is_free(wanted) and not is_free(f"{wanted}_2"):  # a name like a macro's, with any number behind it
            name = wanted = f"v{wanted}"
        while name in self.taken or not is_free(name):
            number += 1
            name = f"{wanted}_{number}"
        self.taken.add(name)
        return name

    def shared(self, wanted: str) -> str:
        """Return a name as `fresh` does, but the same one each time: for coordinates of several kernels."""
        return self._once(wanted, wanted)

    def numbered(self, array: str, number: int, suffix: str) -> str:
        """Return the same identifier each time for what holds one of an array's elements: A_at, A1_at, ...

        The first of an array A1 has another one.
        """
        return self._once((array, number, suffix), f"{array}{number or ''}{suffix}")

    def _once(self, key: Hashable, wanted: str) -> str:
        if key not in self._shared:
            self._shared[key] = self.fresh(wanted)
        return self._shared[key]

    def prefix(self, wanted: str) -> str:
        """Return a prefix such that prefix0, prefix1, ... are all free."""
        name = wanted
        while any(t.startswith(name) and t[len(name) :].isdigit() for t in self.taken):
            name += "_"
        return name


def _types(scop: Scop) -> set[str]:
    """Return the words of the struct types that the Scop declares and uses, which a variable would hide."""
    return set(re.findall(r"[A-Za-z_$][\w$]*", scop.definitions))
