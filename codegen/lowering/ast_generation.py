"""From an annotated schedule to one statement tree: the host's loops around kernels, their code inside."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import islpy as isl

from polytile.codegen.lowering.cyclic_distribution import distribute_to_threads
from polytile.codegen.lowering.grouped_statements import Grouped, grouped_statements
from polytile.codegen.lowering.isl_ast import Detail, GridRange, Instance, Marked, statements, substitute
from polytile.codegen.lowering.outline_kernels import Annotation, KernelShape, LabelledBand
from polytile.codegen.lowering.placed_accesses import Placed
from polytile.codegen.lowering.register_tiles import full_tile, in_loops, point_by_point
from polytile.codegen.lowering.verify_ast import require_faithful
from polytile.ir.expr import CType, Expr, For, If, Name, Stmt
from polytile.ir.expr_trees import rewrite
from polytile.ir.isl_expr import ast_options, expression
from polytile.ir.isl_util import CONTEXT, band_members, mark_name, reduce_quotients, sets
from polytile.ir.schedule import KERNEL, nodes


def generate_host(annotation: Annotation, tree: isl.Schedule, integer: CType, placed: Placed) -> tuple[Stmt, ...]:
    """Generate the statement tree of the host's schedule tree, with the kernels inside.

    Its nodes are For, If, Instance and Marked `kernel:N`.
    """
    kernels = {k.launch: k for k in annotation.kernels}
    host = generate(tree, annotation.scop.context, annotation.iterator, integer)
    known: Known = {}
    bodies = {k.launch: _kernel(annotation, k, integer, placed, known) for k in annotation.kernels}

    def fill(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(fill_one(stmt) for stmt in body)

    def fill_one(stmt: Stmt) -> Stmt:
        match stmt:
            case For():
                return replace(stmt, body=fill(stmt.body))
            case If():
                return If(stmt.condition, fill(stmt.then), fill(stmt.otherwise))
            case Instance():
                return _launched(stmt, kernels[stmt.statement], bodies[stmt.statement])
        return stmt

    return fill(host)


def _launched(instance: Instance, kernel: KernelShape, body: Marked) -> Stmt:
    """Substitute the host iterators that have known values at a launch in the body of its kernel."""
    stmt: Stmt = body
    for name, value in zip(kernel.host, instance.values, strict=True):
        if not (isinstance(value, Name) and value.name == name):
            stmt = substitute(stmt, name, value)
    return stmt


Known = dict[tuple[object, ...], tuple[str, tuple[Stmt, ...]]]  # loops of one statement, and its name, by all else


def _kernel(annotation: Annotation, kernel: KernelShape, integer: CType, placed: Placed, known: Known) -> Marked:
    context = kernel.context.intersect_params(annotation.scop.context)
    describe: Describe | None = None
    if kernel.number in placed.kernels:
        context = placed.context(kernel.number, _plain(context))

        def describe(build: isl.AstBuild) -> Detail:
            return placed.detail(annotation.scop, kernel.number, build, integer)

    inner = annotation.names.prefix("c")
    iterator = inner if inner != annotation.iterator else annotation.names.prefix(f"{inner}_")
    body = _loops(kernel, context, iterator, integer, describe, known)
    body = distribute_to_threads(body, kernel.threads, kernel.block, integer)
    return Marked(f"{KERNEL}:{kernel.number}", _grid(annotation, kernel, integer), body)


def _loops(
    kernel: KernelShape, context: isl.Set, iterator: str, integer: CType, describe: Describe | None, known: Known
) -> tuple[Stmt, ...]:
    """Generate the loops of a kernel.

    Kernels that differ in the name of their one statement alone, as those of time steps to an array and back, share one
    AST from isl.

    before: for (t = ..) { launch0: S0[t, i] : 1 <= i < n - 1; launch1: S1[t, i] : 1 <= i < n - 1 }
    after:  the loops of launch0 in both, with S1 in place of S0 in the second
    """
    if describe is not None or len(kernel.statements) != 1:
        return _with_full_tiles(kernel, context, iterator, integer, describe)
    (own,) = kernel.statements
    key = str(kernel.tree).replace(f" {own}[", " S["), str(context), iterator, integer, kernel.loops
    name, body = known.get(key, ("", ()))
    if not name:
        name, body = known[key] = own, _with_full_tiles(kernel, context, iterator, integer, describe)

    def renamed(node: Any) -> Any:
        return replace(node, statement=own) if isinstance(node, Instance) else node

    return body if name == own else tuple(rewrite(stmt, renamed) for stmt in body)


def _with_full_tiles(
    kernel: KernelShape, context: isl.Set, iterator: str, integer: CType, describe: Describe | None
) -> tuple[Stmt, ...]:
    """Generate the loops of a kernel, with the points of a thread unrolled into one block of code in full tiles."""
    full = full_tile(kernel.tree)
    if full is None:
        return generate(kernel.tree, context, iterator, integer, kernel.loops, describe, kernel.left_out)
    partial = generate(in_loops(kernel.tree), context, iterator, integer, kernel.loops, describe, kernel.left_out)
    where = full.where.intersect(context)
    if where.is_empty():
        return partial
    with ast_options():
        build = isl.AstBuild.from_context(context)
        condition = expression(build.expr_from_set(full.where.gist(context)), integer)
    whole = generate(full.tree, where, iterator, integer, kernel.loops, describe, kernel.left_out)
    return (If(condition, whole, point_by_point(partial)),)


def _plain(context: isl.Set) -> isl.Set:
    """Return a context, or its simple hull if it has quotients, whose cases isl takes long to distinguish."""
    if not any(part.dim(isl.dim_type.div) for part in context.get_basic_sets()):
        return context
    return isl.Set.from_basic_set(context.remove_divs().simple_hull())


def _grid(annotation: Annotation, kernel: KernelShape, integer: CType) -> tuple[GridRange, ...]:
    build = isl.AstBuild.from_context(kernel.where.intersect_params(annotation.scop.context))
    host = isl.MultiId(f"{{ [{', '.join(kernel.host)}] }}")
    ranges = []
    for block in kernel.blocks:
        count = reduce_quotients(block.last.sub(block.first).add_constant_val(isl.Val(1)))
        bounds = (bound.bind_domain(host) for bound in (block.first, block.last, count))
        with ast_options():
            ranges.append(GridRange(*(expression(build.expr_from_pw_aff(bound), integer) for bound in bounds)))
    return tuple(ranges)


Describe = Callable[[isl.AstBuild], Detail]


def generate(
    tree: isl.Schedule,
    context: isl.Set,
    iterator: str,
    integer: CType,
    bands: Sequence[LabelledBand] = (),
    describe: Describe | None = None,
    left_out: int = 0,
) -> tuple[Stmt, ...]:
    """Generate the statement tree of a schedule tree.

    Loops are named `iterator`0, `iterator`1, ... by depth, below so many members that were `left_out`, and have the
    labels of their bands. `describe` is asked for the details of each instance. Raises UnfaithfulLoopsError where the
    loops do not run the tree's instances.
    """
    ids = isl.IdList.alloc(CONTEXT, 0)
    # Where members do not tell instances apart in a way that isl sees, it makes further loops, over what is left.
    left = max((int(s.dim(isl.dim_type.set)) for s in sets(tree.get_domain())), default=0)
    for i in range(max_depth(tree) + left):
        ids = ids.add(isl.Id(f"{iterator}{left_out + i}"))
    grouped = Grouped(tree) if describe is not None else grouped_statements(tree)  # each has details of its own
    labels = {b.mark: {f"{iterator}{b.depth + i}": label for i, label in enumerate(b.labels)} for b in bands}
    with ast_options():
        build = isl.AstBuild.from_context(context).set_iterators(ids)
        details: dict[str, Detail] = {}
        errors: list[Exception] = []
        cyclic = _cyclic_members(tree, bands, iterator)
        kept: dict[str, Mapping[str, Expr]] = {}

        def look(name: str, build: isl.AstBuild) -> None:
            if describe is not None:
                details[name] = describe(build)
            if cyclic:
                kept[name] = _values(build, cyclic, integer)

        if describe is not None or cyclic:
            build, _keep = build.set_at_each_domain(_annotate(look, errors))
        node = build.node_from_schedule(grouped.tree)
        if errors:
            raise errors[0]
        found = statements(node, integer, labels, details, kept, grouped.groups)
    require_faithful(tree, context, iterator, found, left_out)
    return found


def _annotate(
    look: Callable[[str, isl.AstBuild], None], errors: list[Exception]
) -> Callable[[isl.AstNode, isl.AstBuild], isl.AstNode]:
    """Make the callback that isl calls for each instance.

    What `look` sees there is kept under the name of an annotation. No exception may pass through isl: the first one is
    kept in `errors`.
    """
    numbers = count()

    def annotate(node: isl.AstNode, build: isl.AstBuild) -> isl.AstNode:
        name = f"detail{next(numbers)}"
        try:
            if not errors:
                look(name, build)
        except Exception as error:
            errors.append(error)
        return node.set_annotation(isl.Id(name))

    return annotate


def _cyclic_members(
    tree: isl.Schedule, bands: Sequence[LabelledBand], iterator: str
) -> list[tuple[str, isl.UnionPwAff]]:
    """Return the iterators of the loops of thread bands, innermost first, each with its band member."""
    depths = {b.mark: b.depth for b in bands if b.cyclic}
    found: list[tuple[str, isl.UnionPwAff]] = []
    for node in nodes(tree) if depths else ():
        if (depth := depths.get(mark_name(node) or "")) is not None:
            domain = node.get_domain()
            members = (m.intersect_domain(domain) for m in band_members(node.child(0)))
            found += [(f"{iterator}{depth + i}", member) for i, member in enumerate(members)]
    return found[::-1]


def _values(build: isl.AstBuild, cyclic: Sequence[tuple[str, isl.UnionPwAff]], integer: CType) -> dict[str, Expr]:
    """Return the values of the thread band's members at an instance.

    isl makes no loop over those that have one value only.
    """
    instance = isl.PwMultiAff.from_map(isl.Map.from_union_map(build.get_schedule()).reverse())
    name = instance.get_tuple_name(isl.dim_type.out)
    values = {}
    for iterator, member in cyclic:
        found: list[isl.PwAff] = []
        member.foreach_pw_aff(found.append)
        for own in found:
            if own.get_domain_space().get_tuple_name(isl.dim_type.set) == name:
                values[iterator] = expression(build.expr_from_pw_aff(own.pullback_pw_multi_aff(instance)), integer)
    return values


def max_depth(tree: isl.Schedule) -> int:
    """Return the largest number of band members above a leaf."""
    deepest = 0
    stack = [tree.get_root()]
    while stack:
        node = stack.pop()
        deepest = max(deepest, int(node.get_schedule_depth()))
        stack.extend(node.child(i) for i in range(node.n_children()))
    return deepest + 1
