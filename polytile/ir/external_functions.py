"""Functions that are defined elsewhere, of which the user says what they access."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from polytile.dataclass import dataclass
from polytile.diagnostics import NOWHERE, Location
from polytile.ir.expr import Address
from polytile.ir.expr_trees import walk
from polytile.ir.identity_key import remembered

if TYPE_CHECKING:
    from polytile.ir.scop import Statement


@dataclass(frozen=True, slots=True)
class ExternalFunction:
    """A function with its `prototype` in C, without a semicolon, and the clauses of its access summary, as they are in
    the source: `reads(a[0:n]) writes(b[0])`."""

    name: str
    prototype: str
    summary: str
    location: Location = NOWHERE


def addressed_arrays(statements: Iterable[Statement]) -> frozenset[str]:
    """Return the arrays whose addresses external functions get: they stay in device memory, laid out as in C."""
    return frozenset[str]().union(*map(_addressed, statements))


@remembered
def _addressed(statement: Statement) -> frozenset[str]:
    return frozenset(node.target.array for node in walk(*statement.body) if isinstance(node, Address))
