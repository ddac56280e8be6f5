"""From an annotated schedule tree to one statement tree: the host's loops around kernels, their code inside."""

from __future__ import annotations

import islpy as isl

from polytile.codegen.annotate import Annotation, BlockCoordinate
from polytile.codegen.isl_ast import GridRange, statements
from polytile.ir.expr import CType, Stmt
from polytile.ir.isl_expr import ast_options
from polytile.ir.isl_expr import expression as to_expr
from polytile.ir.isl_util import CONTEXT, reduce_quotients
from polytile.ir.schedule import KERNEL


class _GridRanges:
    """isl's callback at kernel marks. An exception in it would be printed and lost, so it is kept and raised later."""

    def __init__(self, annotation: Annotation, integer: CType) -> None:
        self.annotation = annotation
        self.integer = integer
        self.found: dict[str, tuple[GridRange, ...]] = {}
        self.error: Exception | None = None

    def __call__(self, node: isl.AstNode, build: isl.AstBuild) -> isl.AstNode:
        try:
            name = str(node.mark_get_id().get_name())
            if not name.startswith(f"{KERNEL}:"):
                return node
            shape = self.annotation.kernels[int(name.partition(":")[2])]
            tag = f"launch{len(self.found)}"
            self.found[tag] = tuple(self._range(build, b) for b in shape.blocks)
            return node.set_annotation(isl.Id(tag))
        except Exception as error:
            self.error = error
            raise

    def _range(self, build: isl.AstBuild, block: BlockCoordinate) -> GridRange:
        here = _flatten(build.get_schedule_space())
        count = block.last.sub(block.first).add_constant_val(isl.Val(1))
        count = reduce_quotients(count)
        bounds = (b.align_params(here.get_space()).pullback_multi_aff(here) for b in (block.first, block.last, count))
        return GridRange(*(to_expr(build.expr_from_pw_aff(bound), self.integer) for bound in bounds))


def _flatten(space: isl.Space) -> isl.MultiAff:
    """From the nested space that isl uses inside a context node to one dimension after the other.

    before: [[] -> [t]]
    after:  [t]
    """
    n = space.dim(isl.dim_type.set)
    local = isl.LocalSpace.from_space(space)
    target = isl.Space.set_alloc(CONTEXT, 0, n).align_params(space)
    flat = isl.MultiAff.zero(isl.Space.map_from_domain_and_range(space, target))
    for i in range(n):
        flat = flat.set_at(i, isl.Aff.var_on_domain(local, isl.dim_type.set, i))
    return flat


def generate(
    annotation: Annotation, tree: isl.Schedule, context: isl.Set, iterator: str, integer: CType
) -> tuple[Stmt, ...]:
    """The statement tree (For, If, Instance, Marked `kernel:N`) of an annotated schedule tree.

    Loops are named `iterator`0, `iterator`1, ... by their depth.
    """
    depth = max_depth(tree)
    ids = isl.IdList.alloc(CONTEXT, depth)
    for i in range(depth):
        ids = ids.add(isl.Id(f"{iterator}{i}"))
    ranges = _GridRanges(annotation, integer)
    with ast_options():
        # islpy gives the build and a handle that must outlive it.
        build, _handle = isl.AstBuild.from_context(context).set_iterators(ids).set_after_each_mark(ranges)
        try:
            node = build.node_from_schedule(tree)
        except isl.Error:
            if ranges.error is not None:
                raise ranges.error from None
            raise
    return statements(node, ranges.found, integer)


def max_depth(tree: isl.Schedule) -> int:
    """The largest number of band members above a leaf."""
    deepest = 0
    stack = [tree.get_root()]
    while stack:
        node = stack.pop()
        deepest = max(deepest, int(node.get_schedule_depth()))
        stack.extend(node.child(i) for i in range(node.n_children()))
    return deepest + 1
