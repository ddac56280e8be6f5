"""Which variables pointers may lead to: those whose address the file takes, and those that other files see."""

from __future__ import annotations

from dataclasses import field, replace

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.must_reads import part_shape
from polytile.frontend.parse import nodes_below
from polytile.frontend.pointers import Chain, mentions
from polytile.frontend.scope import Binding
from polytile.frontend.trees import address_taken
from polytile.frontend.type_shapes import Shape


@dataclass(eq=False, slots=True)
class Escapes:
    """The variables of a file; what was found is kept. `mentioned` are words of what is not read: all may be addresses
    there."""

    tree: c_ast.FileAST
    mentioned: frozenset[str] = frozenset()
    _addressed: dict[int, frozenset[str]] = field(default_factory=dict)  # by the id of a part of the tree

    def has_pointers(self, binding: Binding, function: c_ast.FuncDef) -> bool:
        """Whether a pointer may lead to a variable that `function` uses, and change it: not to constants."""
        shape = binding.shape
        if binding.kind not in ("variable", "parameter") or (shape.const and not _is_pointer(shape)):
            return False
        if binding.kind == "parameter" and shape.layers:
            shape = Shape(None)  # a pointer
        storage = getattr(binding.node, "storage", None) or []
        if "extern" in storage or (binding.level == "global" and "static" not in storage):
            return True
        root = self.tree if binding.level == "global" else function
        if binding.name in self.mentioned or binding.name in self._names(root):
            return True
        uses = mentions(root, binding.name, ()) if _has_arrays(shape) else ()
        return any(_is_address(use, chain, shape) for use, chain in uses)

    def _names(self, root: c_ast.Node) -> frozenset[str]:
        if id(root) not in self._addressed:
            self._addressed[id(root)] = frozenset(filter(None, map(address_taken, nodes_below(root))))
        return self._addressed[id(root)]


def _is_pointer(shape: Shape) -> bool:
    return bool(shape.layers) and shape.layers[0].pointer


def _has_arrays(shape: Shape) -> bool:
    """Whether a variable is an array, or a struct with one inside."""
    if shape.layers:
        return not shape.layers[0].pointer
    return shape.struct is not None and any(_has_arrays(m.shape) for m in shape.struct.members)


def _is_address(use: c_ast.Node, chain: Chain, shape: Shape | None) -> bool:
    """Whether a mention of an array, or of a struct with arrays, ends as the address of a part: `a`, `s.v`, `m[1]` of
    two dimensions, which are pointers wherever they are handed on."""
    child = use
    for parent in chain:
        if not _is_part(parent, child):
            sized = isinstance(parent, c_ast.UnaryOp) and parent.op == "sizeof"
            return not sized and (shape is None or _has_arrays(replace(shape, struct=None)))
        if shape is not None and _is_pointer(shape):
            return False  # what it points to is elsewhere
        child, shape = parent, part_shape(parent, shape)
    return False


def _is_part(node: c_ast.Node, whole: c_ast.Node) -> bool:
    """Whether `node` is `whole[i]`, `*whole`, `whole.f` or `whole->f`."""
    if isinstance(node, c_ast.ArrayRef | c_ast.StructRef):
        return node.name is whole
    return isinstance(node, c_ast.UnaryOp) and node.op == "*"
