"""What statements do first to a variable: read it, or set it; and so whether it may be read behind a statement.

By name, for a variable whose name no other one has.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from typing import Any

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.parse import nodes_below
from polytile.frontend.scope import Scope
from polytile.frontend.trees import address_taken, block_items, written_name
from polytile.frontend.type_shapes import Shape

Live = Callable[[], bool]
JUMPS = (c_ast.Break, c_ast.Continue, c_ast.Goto, c_ast.Return, c_ast.Label)


class Effect(Enum):
    """Say what a statement does first to a variable."""

    READS = "may read it"
    SETS = "sets it in any case"
    NEITHER = "does not read it before it sets it"


def first_effect(nodes: Sequence[c_ast.Node], name: str) -> Effect:
    """Find what statements that follow one another do first to a variable."""
    may_leave = False
    for node in nodes:
        effect = effect_of(node, name)
        if effect is not Effect.NEITHER:
            return Effect.NEITHER if may_leave and effect is Effect.SETS else effect
        may_leave = may_leave or any(isinstance(n, JUMPS) for n in nodes_below(node))
    return Effect.NEITHER


def effect_of(node: Any, name: str) -> Effect:
    """Find what one statement does first to a variable."""
    if not is_used(node, name):
        return Effect.NEITHER
    match node:
        case c_ast.Compound():
            return first_effect(node.block_items or [], name)
        case c_ast.Assignment(op="=") if written_name(node) == name:
            return Effect.READS if is_used(node.rvalue, name) else Effect.SETS
        case c_ast.Decl() if node.name == name:
            return Effect.READS if is_used(node.init, name) else Effect.SETS
        case c_ast.If() if not is_used(node.cond, name):
            ends = {first_effect(block_items(branch), name) for branch in (node.iftrue, node.iffalse)}
            if Effect.READS in ends:
                return Effect.READS
            return Effect.NEITHER if Effect.NEITHER in ends else Effect.SETS
        case c_ast.For() if node.init is not None and effect_of(node.init, name) is Effect.SETS:
            return Effect.SETS
        case c_ast.For() | c_ast.While():
            around = any(is_used(getattr(node, slot, None), name) for slot in ("init", "cond", "next"))
            inside = first_effect(block_items(node.stmt), name)
            return Effect.READS if around or inside is Effect.READS else Effect.NEITHER
        case c_ast.DoWhile():
            inside = first_effect(block_items(node.stmt), name)
            if inside is Effect.NEITHER and is_used(node.cond, name):
                return Effect.READS
            return inside
    return Effect.READS


def is_used(node: c_ast.Node | None, name: str) -> bool:
    """Whether a statement mentions or declares a variable."""
    return node is not None and any(isinstance(n, c_ast.ID | c_ast.Decl) and n.name == name for n in nodes_below(node))


def one_scalar(name: str, nodes: Sequence[c_ast.Node], scope: Scope) -> Shape | None:
    """The type of the one variable of a name, an automatic number that no pointer leads to; else None."""
    own = [n for n in nodes if isinstance(n, c_ast.Decl) and n.name == name]
    binding = scope.lookup(name)
    if len(own) + (binding is not None) != 1 or any(address_taken(n) == name for n in nodes):
        return None
    if binding is not None and (binding.level == "global" or binding.static or binding.kind == "function"):
        return None
    shape = binding.shape if binding is not None else scope.shape(own[0].type)
    plain = not shape.layers and not shape.const and shape.base is not None and shape.base.kind in ("int", "float")
    return shape if plain and not (own and own[0].storage) else None


@dataclass(slots=True)
class LiveRangeWalk(ABC):
    """Go through statements with, for each, whether the variable may be read behind it."""

    name: str

    def block(self, nodes: Sequence[c_ast.Node], live: Live) -> list[c_ast.Node]:
        """Change the statements of a block in place; `live` says whether the variable may be read behind it."""
        result: list[c_ast.Node] = []
        for k, node in enumerate(nodes):
            behind = partial(self._is_read, nodes[k + 1 :], live)
            made = self.changed(node, behind)
            result += self._statement(node, behind) if made is None else made
        return result

    @abstractmethod
    def changed(self, node: Any, live: Live) -> list[c_ast.Node] | None:
        """Return what a statement becomes; None where only what is inside may change."""

    def _is_read(self, rest: Sequence[c_ast.Node], live: Live) -> bool:
        effect = first_effect(rest, self.name)
        return effect is Effect.READS or (effect is Effect.NEITHER and live())

    def _statement(self, node: Any, live: Live) -> list[c_ast.Node]:
        match node:
            case c_ast.Compound():
                node.block_items = self.block(node.block_items or [], live)
            case c_ast.If():
                for slot in ("iftrue", "iffalse"):
                    self._inside(node, slot, live)
            case c_ast.For() | c_ast.While() | c_ast.DoWhile():
                again = any(is_used(getattr(node, slot, None), self.name) for slot in ("cond", "next"))
                again = again or first_effect(block_items(node.stmt), self.name) is Effect.READS
                self._inside(node, "stmt", lambda: again or live())
        return [node]

    def _inside(self, node: Any, slot: str, live: Live) -> None:
        inner = getattr(node, slot)
        if inner is not None:
            made = self.block(block_items(inner), live)
            if made != block_items(inner):
                setattr(node, slot, c_ast.Compound(made, inner.coord))
