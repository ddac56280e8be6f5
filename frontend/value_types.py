"""Types of the scalars, elements and amounts that statements compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.ast_builders import PURE, base_of, type_of
from polytile.frontend.parse import nodes_below
from polytile.frontend.scope import Scope


@dataclass(frozen=True, slots=True)
class ValueTypes:
    """Types of the variables that statements declare ("" where there are several of a name), and of those around."""

    declared: Mapping[str, str]
    scope: Scope

    @classmethod
    def of(cls, body: Sequence[c_ast.Node], scope: Scope) -> ValueTypes:
        """Collect the declarations of the statements of a SCoP."""
        types: dict[str, str] = {}
        for node in (n for item in body for n in nodes_below(item) if isinstance(n, c_ast.Decl) and n.name):
            own = type_of(node)
            types[str(node.name)] = own if types.get(str(node.name), own) == own else ""
        return cls(types, scope)

    def of_scalar(self, name: str) -> str:
        """Return the type of a scalar, or ""."""
        return self.declared[name] if name in self.declared else base_of(name, self.scope, arrays=False)

    def of_value(self, node: c_ast.Node) -> str:
        """Return the type of an element, or of the result of a pure function of it that has the same type, or ""."""
        called = str(node.name.name) if isinstance(node, c_ast.FuncCall) else ""
        if called:
            node = node.args.exprs[0] if node.args is not None and len(node.args.exprs) == 1 else node
        while isinstance(node, c_ast.ArrayRef):
            node = node.name
        element = base_of(str(node.name), self.scope, arrays=True) if isinstance(node, c_ast.ID) else ""
        return element if not called or PURE[called] == element else ""
