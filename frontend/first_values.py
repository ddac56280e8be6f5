"""What iterators have when the SCoP starts, as symbols that the call passes.

before: int i = g(); #pragma scop  for (; i < n; i++) S(i);
after:  for (i = i_first; i < n; i++) S(i);      with i_first = i
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.scop_region import Symbol
from polytile.frontend.scope import Scope
from polytile.frontend.trees import copied
from polytile.ir.name_supply import fresh


@dataclass(slots=True)
class FirstValues:
    """Collects the symbols; `known` are values that the C sets before the SCoP."""

    scope: Scope
    known: Mapping[str, c_ast.Node]
    taken: set[str]
    symbols: dict[str, Symbol] = field(default_factory=dict)
    values: dict[str, c_ast.Node] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)  # the variables whose known value is taken

    def __call__(self, name: str) -> c_ast.Node | None:
        """The value of an integer variable when the SCoP starts; None of what is none."""
        binding = self.scope.lookup(name)
        if binding is None or binding.kind not in ("variable", "parameter") or binding.shape.layers:
            return None
        if binding.shape.base is None or binding.shape.base.kind != "int":
            return None
        if name in self.known:
            self.used.add(name)
            return copied(self.known[name])
        symbol = fresh(f"{name}_first", self.taken)
        self.taken.add(symbol)
        self.symbols[symbol] = Symbol(symbol, binding.shape.base, live_after=False, location=binding.location)
        self.values[symbol] = c_ast.ID(name)
        return c_ast.ID(symbol)
