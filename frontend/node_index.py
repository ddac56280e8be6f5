"""The nodes of statements, found in one walk: most questions concern one class of them, or the names of variables."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.parse import nodes_below
from polytile.frontend.trees import address_taken, written_name


@dataclass(frozen=True, eq=False)
class NodeIndex:
    """All nodes, parents first, in source order, as they are when the index is made."""

    nodes: Sequence[c_ast.Node]
    by_class: Mapping[type, Sequence[Any]]

    @classmethod
    def of(cls, statements: Iterable[c_ast.Node]) -> NodeIndex:
        nodes = [n for item in statements for n in nodes_below(item)]
        by_class: dict[type, list[Any]] = defaultdict(list)
        for node in nodes:
            by_class[type(node)].append(node)
        return cls(nodes, by_class)

    def all(self, *classes: type) -> list[Any]:
        """The nodes of these classes, one class behind the other."""
        return [node for kind in classes if kind in self.by_class for node in self.by_class[kind]]

    @cached_property
    def order(self) -> Mapping[int, int]:
        """The place of each node, by id."""
        return {id(node): place for place, node in enumerate(self.nodes)}

    def span(self, node: c_ast.Node) -> tuple[int, int]:
        """The places of the first and the last node of a statement, which is one of these."""
        return self.order[id(node)], max(self.order[id(n)] for n in nodes_below(node))

    @cached_property
    def changes(self) -> Sequence[tuple[int, str]]:
        """The variables that are assigned as a whole or whose address is taken, each with the place where."""
        found = ((n, written_name(n) or address_taken(n)) for n in self.all(c_ast.Assignment, c_ast.UnaryOp))
        return sorted((self.order[id(node)], name) for node, name in found if name is not None)

    @cached_property
    def written(self) -> frozenset[str]:
        """The variables that are assigned as a whole."""
        return frozenset(filter(None, map(written_name, self.all(c_ast.Assignment, c_ast.UnaryOp))))

    @cached_property
    def addressed(self) -> frozenset[str]:
        """The variables whose address is taken."""
        return frozenset(filter(None, map(address_taken, self.all(c_ast.UnaryOp))))

    @cached_property
    def declared(self) -> Mapping[str, int]:
        """How often each name is declared."""
        return Counter(str(n.name) for n in self.all(c_ast.Decl) if n.name)

    @property
    def changed(self) -> set[str]:
        """The variables that the statements set, declare or hand out the address of."""
        return {*self.written, *self.addressed, *self.declared}

    @cached_property
    def names(self) -> frozenset[str]:
        """The names that are used or declared."""
        return frozenset(str(n.name) for n in self.all(c_ast.ID)).union(self.declared)
