"""From the C of one region to its static control part."""

from __future__ import annotations

from dataclasses import field, replace

import islpy as isl
from pycparser import c_ast

from polytile.c_flags import wraps
from polytile.dataclass import dataclass
from polytile.diagnostics import Location, NothingRunsError, UserError
from polytile.frontend.accesses import Collector, bad_bound
from polytile.frontend.affine import Evaluator
from polytile.frontend.affine_scalars import assigned_once, is_affine, known_value
from polytile.frontend.build_scop import finish
from polytile.frontend.c_types import where
from polytile.frontend.conditional_subscripts import with_chosen_elements
from polytile.frontend.dead_code_elimination import without_dead_code
from polytile.frontend.delinearised_statements import Draft
from polytile.frontend.domain_complexity import are_few
from polytile.frontend.domain_exclusions import is_thin, with_same_elements
from polytile.frontend.expressions import Translator
from polytile.frontend.jump_elimination import has_break
from polytile.frontend.loops import Header, domain, header, numbered
from polytile.frontend.macro_statements import assignments, changed_names, has_loop_or_call, holds_data, runs
from polytile.frontend.name_binding import Names, Variable, isl_reads
from polytile.frontend.not_affine import NotAffineError
from polytile.frontend.order import Leaf, Loop, Order, only
from polytile.frontend.parse import nodes_below
from polytile.frontend.reduction_statements import reduced_variable
from polytile.frontend.scop_region import Region
from polytile.frontend.shapes import Shapes
from polytile.frontend.statement_locals import with_body_locals
from polytile.frontend.statements import (
    IGNORED,
    Branches,
    assignment,
    has_effect,
    initialisation,
    parts,
    refuse,
    statement_text,
)
from polytile.frontend.trees import block_items, conjuncts
from polytile.ir.def_use import written_arrays
from polytile.ir.expr import Access, CType, Declare, Expr, If, Invoke, Name, Stmt
from polytile.ir.expr_trees import walk
from polytile.ir.reductions import accumulation
from polytile.ir.scop import Scop

_REFUSED_LEAVES = (
    c_ast.Switch,
    c_ast.Break,
    c_ast.Continue,
    c_ast.Return,
    c_ast.Goto,
    c_ast.Label,
)


def extract(region: Region, *, merging: bool = True) -> Scop:
    """The SCoP of a region, in which many statements of a loop body are one where `merging`; raises `UserError` at the
    first construct that it cannot represent."""
    return _Extractor.of(region, merging=merging).run()


@dataclass(frozen=True, slots=True)
class _Here:
    """Where the walk stands: the iterations that reach this place, and the loops around it."""

    points: isl.Set = field(compare=False)
    iterators: tuple[str, ...] = ()
    loops: tuple[Location, ...] = ()


@dataclass(slots=True)
class _Extractor:
    region: Region
    names: Names
    translator: Translator
    evaluator: Evaluator
    shapes: Shapes
    merging: bool
    drafts: list[Draft] = field(default_factory=list)
    declared: dict[int, tuple[str, ...]] = field(default_factory=dict)  # the loops around variables without a value

    @classmethod
    def of(cls, region: Region, *, merging: bool) -> _Extractor:
        names = Names.of(region)
        evaluator = Evaluator(lambda name: eligible(name, names.variable(name)), products=region.products)
        evaluator.signed_wraps = wraps(region.cflags)
        translator = Translator(names)
        return cls(region, names, translator, evaluator, Shapes(names, translator, evaluator), merging)

    def run(self) -> Scop:
        self._assume()
        self.shapes.add_outer()
        orders = self._block(self.names.body, _Here(isl.Set("{ : }")))
        if not self.drafts:
            raise NothingRunsError(
                "the SCoP contains no statement",
                location=self.region.location,
                hint="put `#pragma scop` and `#pragma endscop` around loops that compute something",
            )
        self.drafts = with_body_locals(without_dead_code(self.drafts, self.shapes), self.shapes)
        orders = list(only(orders, {d.name for d in self.drafts}))
        return finish(self.region, self.drafts, orders, self.evaluator, self.shapes)

    def _assume(self) -> None:
        for node in self.names.assumptions:
            known = self.evaluator.context
            try:
                holds = self.evaluator.condition(self.translator.value(node), known)
            except NotAffineError as problem:
                raise UserError(
                    f"the assumption is not affine: {problem.reason}",
                    location=where(node),
                    hint="assume comparisons of sums of sizes, such as n >= 4 && m <= n",
                ) from None
            self.evaluator.context = self.evaluator.context.intersect(holds)
        self.evaluator.parameters.clear()
        for node in self.names.asked:
            holds = self.evaluator.condition(self.translator.value(node), self.evaluator.context)
            if not self.evaluator.ask(holds):
                raise UserError(
                    "the loop's step, or the length of its rows, is below 1 for all sizes",
                    location=where(node),
                    hint="correct the sizes that are known, or the assumptions",
                )

    # Walking --------------------------------------------------------------------------------------------------------
    def _block(self, nodes: tuple[c_ast.Node, ...] | list[c_ast.Node] | None, here: _Here) -> list[Order]:
        found: list[Order] = []
        for group, together in runs(list(nodes or ()), self._is_plain):
            if together and self.merging:
                for node in filter(self._is_array, group):
                    self._declaration(node, here)
                group = [node for node in group if not self._is_array(node)]
                body = Branches(self.translator, self.evaluator).many(c_ast.Compound(group), here.points)
                merged = tuple(where(node) for node in assignments(group))
                found += self._emit(body, c_ast.Compound(group, group[0].coord), here, merged)
            else:
                found += [order for node in group for order in self._statement(node, here)]
        return found

    def _is_plain(self, node: c_ast.Node) -> bool:
        """Whether a statement may become a part of one."""
        if has_loop_or_call(node, lambda name: name in self.region.summaries):
            return False
        if self._is_array(node):
            return True
        changed = [(n, self.names.declared.get(id(n)) or self.names.uses.get(id(n))) for n in changed_names(node)]
        return all(isinstance(v, Variable) and self._is_number(v, str(n.name), node) for n, v in changed)

    def _is_array(self, node: c_ast.Node) -> bool:
        """Whether it declares an array of numbers without values."""
        if not isinstance(node, c_ast.Decl) or node.init is not None:
            return False
        variable = self.names.declared[id(node)]
        return bool(variable.extents) and variable.type.kind == "float"

    def _is_number(self, variable: Variable, name: str, node: c_ast.Node) -> bool:
        """Whether no subscript or bound knows the value of a scalar that a statement sets."""
        return not variable.extents and (variable.type.kind == "float" or holds_data(node, name))

    def _statement(self, node: c_ast.Node | None, here: _Here) -> list[Order]:
        match node:
            case None:
                return []
            case c_ast.Compound():
                return self._block(node.block_items, here)
            case c_ast.For() if has_break(node):
                return self._data_loop(node, here)
            case c_ast.For():
                return self._loop(node, here)
            case c_ast.While() | c_ast.DoWhile():
                return self._data_loop(node, here)
            case c_ast.If():
                return self._conditional(node, here)
            case c_ast.DeclList():
                return self._block(node.decls, here)
            case c_ast.Decl():
                return self._declaration(node, here)
        if isinstance(node, IGNORED):
            return []
        if isinstance(node, _REFUSED_LEAVES):
            raise refuse(node)
        effects = [p for p in parts(node) if has_effect(p)]
        return [o for p in effects for o in self._assignment(p, here)]

    def _assignment(self, node: c_ast.Node, here: _Here) -> list[Order]:
        made = assignment(node, self.translator)
        if isinstance(made, Invoke):
            return self._emit((made,), node, here)
        variable = assigned_once(node, self.names, self.declared, here.iterators)
        if variable is not None and self._stands_for(variable, made.value, here):
            return []
        return self._emit((made,), node, here)

    def _loop(self, node: c_ast.For, here: _Here) -> list[Order]:
        head = header(node, self.translator, self.evaluator, here.points)
        try:
            head, points = self._counted(node, head, here)
        except NotAffineError as problem:
            if problem.data or head.location in self.region.whiles:
                return self._data_loop(node, here)
            raise bad_bound(problem, head, self.translator) from None
        inside = _Here(points, (*here.iterators, head.iterator), (*here.loops, head.location))
        body, called = tuple(self._statement(node.stmt, inside)), self.names.loops[id(node)].source
        return [Loop(len(here.iterators), head.descending, body, called, head.location, head.by_number)]

    def _counted(self, node: c_ast.For, head: Header, here: _Here) -> tuple[Header, isl.Set]:
        """A loop, with the numbers of its iterations in place of its iterator's values where that is better, and the
        values that it counts."""
        state, compared = self.evaluator.state(), len(self.evaluator.compared)
        points = domain(head, self.evaluator, here.points)
        iterator = self.names.loops[id(node)]
        used = any(self.names.uses.get(id(inner)) is iterator for inner in nodes_below(node.stmt))
        iterator.value = numbered(head, points, self.evaluator, here.points, is_used=used)
        if iterator.value is None:
            return head, points
        self.evaluator.restore(state)
        del self.evaluator.compared[compared:]
        head = header(node, self.translator, self.evaluator, here.points)
        return head, domain(head, self.evaluator, here.points)

    def _data_loop(self, node: c_ast.Node, here: _Here) -> list[Order]:
        """A loop that runs as often as data say: one statement, with all that is inside as its body."""
        return self._emit(Branches(self.translator, self.evaluator).many(node, here.points), node, here)

    def _conditional(self, node: c_ast.If, here: _Here) -> list[Order]:
        try:
            holds = self._holds(node.cond, here.points)
        except NotAffineError:
            return self._data_dependent(node, here)
        points = here.points.intersect(holds).coalesce()
        rest = points if node.iffalse is None else here.points.subtract(holds).coalesce()
        if not are_few(points, here.points) or not are_few(rest, here.points):
            return self._in_statements(node, here)
        sums = self._sums(node, points, here)
        if sums:
            return [o for part, body, around in sums for o in self._emit((body,), part, replace(here, points=around))]
        then = self._statement(node.iftrue, replace(here, points=points))
        return then + self._statement(node.iffalse, replace(here, points=rest))

    def _sums(self, node: c_ast.If, points: isl.Set, here: _Here) -> list[tuple[c_ast.If, If, isl.Set]]:
        """The sums and extremes under a condition that splits their points, but leaves few of them out, each with more
        points that are one piece (domain_exclusions.py)."""
        if node.iffalse is not None or points.n_basic_set() <= here.points.n_basic_set():
            return []
        without = (here.points.subtract(self._holds(test, here.points)) for test in conjuncts(node.cond))
        if not all(is_thin(left_out, here.points) for left_out in without):
            return []
        if any(reduced_variable(item) is None for item in block_items(node.iftrue)):
            return []
        found: list[tuple[c_ast.If, If, isl.Set]] = []
        for part, body in self._apart(node, here):
            update, known = accumulation(body), (points, here.points, here.iterators, self.evaluator)
            around = None if update is None else with_same_elements(update.target, *known)
            if around is None or around.n_basic_set() >= points.n_basic_set():
                return []
            found.append((part, body, around))
        return found

    def _holds(self, condition: c_ast.Node, points: isl.Set) -> isl.Set:
        """Where a condition holds; nothing is asked of sizes for one that is not affine."""
        before = self.evaluator.state()
        try:
            with self.evaluator.asking_for_periods(False):
                return self.evaluator.condition(self.translator.value(condition), points)
        except NotAffineError:
            self.evaluator.restore(before)
            raise

    def _data_dependent(self, node: c_ast.If, here: _Here) -> list[Order]:
        """before: if (i > 0 && A[i] > x) S;   after: S' = { if (A[i] > x) S; } where i > 0"""
        tests, everywhere = conjuncts(node.cond), here
        while node.iffalse is None and len(tests) > 1:
            try:
                holds = self._holds(tests[0], here.points)
            except NotAffineError:
                break
            here = replace(here, points=here.points.intersect(holds))
            tests = tests[1:]
            if not are_few(here.points, everywhere.points):
                return self._in_statements(node, everywhere)
        condition = tests[0]
        for other in tests[1:]:
            condition = c_ast.BinaryOp("&&", condition, other, condition.coord)
        return self._in_statements(c_ast.If(condition, node.iftrue, node.iffalse, node.coord), here)

    def _in_statements(self, node: c_ast.If, here: _Here) -> list[Order]:
        """A condition with what stands under it, at all points."""
        return [order for part, body in self._apart(node, here) for order in self._emit((body,), part, here)]

    def _apart(self, node: c_ast.If, here: _Here) -> list[tuple[c_ast.If, If]]:
        """A statement for each of several assignments under one condition, where one of them is a reduction, and none
        changes what the condition reads.

        before: if (A[i] > 0) { s += A[i]; n++; }    after: if (A[i] > 0) s += A[i]; if (A[i] > 0) n++;
        """

        def translated(part: c_ast.If) -> If:
            return Branches(self.translator, self.evaluator).conditional(part, here.points)

        whole, items = translated(node), block_items(node.iftrue)
        if node.iffalse is not None or len(items) < 2 or len(whole.then) != len(items):
            return [(node, whole)]
        parts = [c_ast.If(node.cond, item, None, item.coord) for item in items]
        bodies = [translated(part) for part in parts]
        read = {n.array for n in walk(whole.condition) if isinstance(n, Access)}
        written = written_arrays(whole)
        plain = not any(isinstance(n, Declare | Name) and n.name in self._body_names() for n in walk(whole))
        if read & written or not plain or not any(accumulation(body) for body in bodies):
            return [(node, whole)]
        return list(zip(parts, bodies, strict=True))

    def _body_names(self) -> set[str]:
        """The names of variables that are declared inside the bodies of statements."""
        return {variable.name for variable in self.names.variables() if variable.is_name}

    def _declaration(self, node: c_ast.Decl, here: _Here) -> list[Order]:
        variable = self.names.declared[id(node)]
        if variable.iterates:
            return []
        self.shapes.add_local(variable)
        if node.init is None:
            self.declared[id(variable)] = here.iterators
            return []
        assign = initialisation(node, variable, self.translator)
        if not variable.written and self._stands_for(variable, assign.value, here):
            return []
        return self._emit((assign,), node, here)

    def _stands_for(self, variable: Variable, value: Expr, here: _Here) -> bool:
        """Whether a scalar is its value from here on."""
        found = known_value(variable, value, self.evaluator, here.points)
        if found is None:
            return False
        variable.value = found
        self.shapes.forget(variable)
        return True

    # Statements -----------------------------------------------------------------------------------------------------
    def _emit(
        self, body: tuple[Stmt, ...], node: c_ast.Node, here: _Here, merged: tuple[Location, ...] = ()
    ) -> list[Order]:
        collector = Collector(self.evaluator, self.translator, self.shapes.sources(), self.shapes.only_read())
        body = tuple(with_chosen_elements(s, lambda value: is_affine(value, self.evaluator, here.points)) for s in body)
        collector.body(body, here.points)
        if here.points.intersect(self.evaluator.context).is_empty():
            return []
        name = f"{self._prefix()}{len(self.drafts)}"
        self.drafts.append(
            Draft(
                name,
                here.iterators,
                here.points,
                body,
                tuple(collector.found),
                where(node),
                statement_text(node),
                here.loops,
                merged,
            )
        )
        return [Leaf(name)]

    def _prefix(self) -> str:
        """What statement names start with: S, or more when the user has an array called S3."""
        prefix = "S"
        while any(v.name[len(prefix) :].isdigit() for v in self.names.variables() if v.name.startswith(prefix)):
            prefix += "_"
        return prefix


def eligible(name: str, variable: Variable | None) -> CType | str:
    """The type of a scalar that may be a parameter, or why it may not."""
    if variable is None or variable.symbol is None or variable.is_name:
        return f"`{variable.source if variable else name}` is computed inside the SCoP"
    if variable.iterates:
        return f"`{name}` is an iterator of the SCoP"
    if variable.written:
        return f"`{name}` is assigned inside the SCoP (line {variable.assignments[0].line})"
    if variable.type.kind != "int":
        return f"`{name}` is not an integer"
    if not isl_reads(name):
        raise UserError(
            f"`{name}` cannot be the name of a size or bound",
            location=variable.location,
            hint=f"rename it: the notation for integer sets reads `{name}` as something else than a name",
        )
    return variable.type
