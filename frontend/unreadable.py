"""What of a file cannot be read: functions and declarations that are lost to polytile, not to the host compiler."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.diagnostics import Location, UserError


class Unreadable(c_ast.Node):  # type: ignore[misc]
    """A node of a file that stands for a declaration that cannot be read. What it is of `names` nobody knows, but those
    that other declarations say, unless it is `certain` that these say too little."""

    __slots__ = ("certain", "coord", "names", "reason")
    attr_names = ()

    def __init__(self, names: frozenset[str], reason: str, coord: Any = None, *, certain: bool = False) -> None:
        self.names = names
        self.reason = reason
        self.coord = coord
        self.certain = certain

    def children(self) -> tuple[()]:
        return ()

    def __iter__(self) -> Iterator[Any]:
        return iter(())


@dataclass(frozen=True, slots=True)
class Unread:
    """A function (by its `name`) or a declaration of the user's file that is lost, and why, with the place; `marks` are
    the pragmas of SCoPs in it."""

    error: UserError
    name: str
    start: Location
    marks: tuple[Location, ...] = ()
    loops: bool = False

    @property
    def remark(self) -> UserError:
        """What the user is told of it, where no SCoP is marked in it."""
        what = "this function cannot be read, and its loops stay C" if self.name else "this declaration cannot be read"
        return UserError(f"{what}: {self.error.message}", location=self.error.location, hint=self.error.hint)
