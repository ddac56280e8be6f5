"""Rotating names: who stands for what, and the moves where renaming cannot say it.

before: Rotate(("a", "b")); x = a[0];
after:  x = b[0];
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import pairwise, product
from typing import Any

from polytile.dataclass import dataclass
from polytile.diagnostics import InternalError
from polytile.ir.expr import Access, Assign, CType, Declare, Literal, Name, Scope, Stmt
from polytile.ir.expr_trees import rewrite, walk
from polytile.ir.gpu_ops import Advance, PrivateArray
from polytile.ir.memory import Space, Storage
from polytile.ir.substitute import Body


@dataclass(frozen=True, slots=True)
class Roles:
    """What each name stands for at a point of the program; itself, where it is not listed."""

    of: Mapping[str, str]

    def __getitem__(self, name: str) -> str:
        return self.of.get(name, name)

    def rotated(self, names: tuple[str, ...]) -> Roles:
        """Return the roles after a `Rotate` of these names."""
        following = (*names[1:], names[0])
        return _roles({**self.of, **{name: self[after] for name, after in zip(names, following, strict=True)}})

    def without(self, names: Iterable[str]) -> Roles:
        """Return the roles after the end of the scope that declares `names`."""
        gone = frozenset(names)
        return _roles({name: storage for name, storage in self.of.items() if name not in gone})


START = Roles({})


def _roles(of: Mapping[str, str]) -> Roles:
    return Roles({name: storage for name, storage in of.items() if name != storage})


def renamed(node: Any, roles: Roles) -> Any:
    """Rename what a node mentions to what its names stand for."""

    def change(n: Any) -> Any:
        match n:
            case Access(array=name) if name in roles.of:
                return replace(n, array=roles[name])
            case Name(name=name) if name in roles.of:
                return replace(n, name=roles[name])
            case Advance(pointer=name) if name in roles.of:
                return replace(n, pointer=roles[name])
        return n

    return rewrite(node, change) if roles.of else node


@dataclass(frozen=True, slots=True)
class Movable:
    """A private array or a scalar (no extents)."""

    type: CType
    extents: tuple[int, ...] = ()


def movables(body: Iterable[Stmt], storage: Iterable[Storage] = ()) -> dict[str, Movable]:
    """Return what can be moved, by name: declared in the body, or private in the kernel."""
    found = {s.array: _private(s) for s in storage if s.space is Space.PRIVATE}
    for node in walk(*body):
        match node:
            case PrivateArray(name=name, type=ctype, extents=extents):
                found[name] = Movable(ctype, extents)
            case Declare(name=name, type=ctype):
                found[name] = Movable(ctype)
    return found


def _private(storage: Storage) -> Movable:
    return Movable(storage.element, tuple(int(e.text) for e in storage.extents if isinstance(e, Literal)))


def moves(now: Roles, wanted: Roles, known: Mapping[str, Movable], temporary: str) -> Body:
    """Build statements after which every name is where `wanted` says, instead of where `now` does.

    before: a is in b, b in a; wanted where they are called
    after:  { double t = a; a = b; b = t; }
    """
    source = {wanted[name]: now[name] for name in {**now.of, **wanted.of} if wanted[name] != now[name]}
    out: list[Stmt] = []
    while source:
        first = min(source)
        cycle = [first]
        while (following := source.pop(cycle[-1])) != first:
            cycle.append(following)
        out += _turned(cycle, known, temporary)
    return tuple(out)


def _turned(cycle: list[str], known: Mapping[str, Movable], temporary: str) -> list[Stmt]:
    """Build the moves in which every place of the cycle takes what the next one holds."""
    missing = [name for name in cycle if name not in known]
    if missing or len({known[name] for name in cycle}) > 1:
        raise InternalError(f"these cannot change places by moves: {', '.join(cycle)}")
    kind = known[cycle[0]]
    return [Scope(_element(cycle, kind, at, temporary)) for at in product(*map(range, kind.extents))]


def _element(cycle: list[str], kind: Movable, at: tuple[int, ...], temporary: str) -> Body:
    places = [_place(name, kind, at) for name in cycle]
    copies = [Assign(to, "", value) for to, value in pairwise(places)]
    last = Assign(places[-1], "", Name(temporary, kind.type))
    return (Declare(temporary, kind.type, places[0]), *copies, last)


def _place(name: str, kind: Movable, at: tuple[int, ...]) -> Access | Name:
    if not kind.extents:
        return Name(name, kind.type)
    return Access(name, tuple(Literal(str(k)) for k in at), kind.type)
