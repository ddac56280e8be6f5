"""Calls of small functions of the same file, replaced by what they do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Any

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.access_summaries import Summaries
from polytile.frontend.address_arguments import without_addresses
from polytile.frontend.arguments import Arguments, bind_arguments
from polytile.frontend.callees import Callee, Library, called_name
from polytile.frontend.conversions import cast_to, declared
from polytile.frontend.node_index import NodeIndex
from polytile.frontend.parse import nodes_below
from polytile.frontend.scope import Scope
from polytile.frontend.trees import copied, map_children, substituted
from polytile.frontend.type_shapes import Shape

_LARGEST = 4000  # nodes of a SCoP after which calls stay calls


@dataclass(frozen=True, slots=True)
class Inlined:
    """Statements after inlining, and the functions of the file that they still call."""

    body: tuple[c_ast.Node, ...]
    functions: Mapping[str, c_ast.FuncDef] = field(default_factory=dict)


def inlined(
    body: tuple[c_ast.Node, ...],
    scope: Scope,
    functions: Mapping[str, tuple[c_ast.FuncDef, Scope]],
    summaries: Summaries | None = None,
) -> Inlined:
    """Replace calls in the normalised statements of a SCoP; those that cannot be replaced stay. Functions with access
    summaries become statements of their own where they take arrays.

    before: static double sq(double x) { return x * x; }      y[i] = sq(a[i]);
    after:                                                    y[i] = a[i] * a[i];
    """
    index = NodeIndex.of(body)
    if not index.all(c_ast.FuncCall):
        return Inlined(body)
    library = Library(functions)
    done = tuple(_Inliner(scope.child(), library, set(index.names), summaries or {}).items(list(body)))
    left: dict[str, c_ast.FuncDef] = {}
    for node in done:
        _collect_left(node, library, left)
    return Inlined(done, left)


def _names(nodes: Iterable[c_ast.Node]) -> set[str]:
    return {str(n.name) for item in nodes for n in nodes_below(item) if isinstance(n, c_ast.ID | c_ast.Decl)}


def _collect_left(node: c_ast.Node, library: Library, left: dict[str, c_ast.FuncDef]) -> None:
    """Functions still called, each after those it calls."""
    for inner in nodes_below(node):
        callee = library.get(called_name(inner))
        if callee is not None and callee.name not in left:
            left[callee.name] = callee.definition
            _collect_left(callee.definition.body, library, left)
            left[callee.name] = left.pop(callee.name)


@dataclass(slots=True)
class _Inliner:
    scope: Scope
    library: Library
    taken: set[str]
    summaries: Summaries
    size: int = 0
    hoisted: list[c_ast.Node] | None = None  # what must run before the statement at hand; None: nothing can

    def items(self, nodes: list[c_ast.Node]) -> list[c_ast.Node]:
        return [made for node in nodes for made in self._item(node)]

    def _item(self, node: c_ast.Node) -> list[c_ast.Node]:
        """A statement of a block; inlining may turn one into several."""
        if isinstance(node, c_ast.Decl):
            made = self._declared_by_call(node)
            return self._with_hoisted(node) if made is None else made
        return [self._substatement(node)]

    def visit(self, node: Any) -> Any:
        match node:
            case c_ast.Compound():
                return self._inside(node, self._compound)
            case c_ast.For() | c_ast.If() | c_ast.While() | c_ast.DoWhile() | c_ast.Switch():
                return self._inside(node, self._control)
            case c_ast.Decl():
                map_children(node, self.visit)
                self.scope.bind(node)
                return node
            case c_ast.StructRef():
                node.name = self.visit(node.name)
                return node
            case c_ast.FuncCall():
                return self._value_call(node)
            case c_ast.TernaryOp(cond=first) | c_ast.BinaryOp(op="&&" | "||", left=first):
                return self._conditional(node, first)
            case c_ast.FuncDef() | c_ast.Typename() | c_ast.Pragma():
                return node
        return map_children(node, self.visit)

    def _inside(self, node: Any, work: Any) -> Any:
        self.scope = self.scope.child()
        result = work(node)
        self.scope = self.scope.parent or self.scope
        return result

    def _compound(self, node: c_ast.Compound) -> c_ast.Compound:
        node.block_items = self.items(node.block_items or [])
        return node

    def _control(self, node: Any) -> Any:
        """A statement with statements below it: headers are visited in C's order, so that iterators are bound."""
        for slot in ("init", "cond", "next"):
            part = getattr(node, slot, None)
            if part is not None:
                setattr(node, slot, self.visit(part))
        for slot in ("stmt", "iftrue", "iffalse"):
            part = getattr(node, slot, None)
            if part is not None:
                setattr(node, slot, self._substatement(part))
        return node

    def _substatement(self, node: c_ast.Node) -> c_ast.Node:
        made = self._statement_call(node)
        if made is None and isinstance(node, c_ast.Assignment):
            made = self._with_hoisted(node)
            return node if len(made) == 1 else c_ast.Compound(made, node.coord)
        return self.visit(node) if made is None else c_ast.Compound(made, node.coord)

    def _with_hoisted(self, node: c_ast.Decl | c_ast.Assignment) -> list[c_ast.Node]:
        """before: y = 2 * f(x);    after: double f_value; { ...; f_value = v; } y = 2 * f_value;"""
        if isinstance(node, c_ast.Assignment):
            node.lvalue = self.visit(node.lvalue)
        self.hoisted = []
        if isinstance(node, c_ast.Assignment) and node.op == "=" and self._takes_arrays(node.rvalue):
            node.rvalue.args = self.visit(node.rvalue.args)
        elif isinstance(node, c_ast.Assignment):
            node.rvalue = self.visit(node.rvalue)
        elif node.init is not None and not isinstance(node.init, c_ast.InitList):
            node.init = self.visit(node.init)
        hoisted, self.hoisted = self.hoisted, None
        return [*hoisted, self.visit(node) if isinstance(node, c_ast.Decl) else node]

    def _conditional(self, node: Any, first: c_ast.Node) -> Any:
        """Only the first operand of `?:`, `&&` and `||` surely runs, so nothing of the others is hoisted."""
        condition = self.visit(first)
        hoisted, self.hoisted = self.hoisted, None
        map_children(node, lambda child: condition if child is first else self.visit(child))
        self.hoisted = hoisted
        return node

    # Calls ----------------------------------------------------------------------------------------------------------
    def _callee(self, call: c_ast.FuncCall) -> Callee | None:
        name = called_name(call)
        if self.size > _LARGEST or self.library.recursive(name):
            return None
        callee = self.library.get(name)
        return callee if callee is not None and callee.globals_visible_in(self.scope) else None

    def _value_call(self, call: c_ast.FuncCall) -> c_ast.Node:
        """A call inside an expression: the function's value takes its place when it is one expression."""
        if call.args is not None:
            call.args = self.visit(call.args)
        if self._takes_arrays(call):
            result = self.summaries[called_name(call)].result
            return call if result is None else self._value_before(call, Shape(result), lambda node: [node])
        callee = self._callee(call)
        if callee is None or callee.value is None or callee.result is None:
            return call
        if callee.steps or self.library.value_needs_steps(callee.name):
            return self._hoist(callee, call)
        quiet = self.library.without_effects(callee.name)
        bound = bind_arguments(callee, call, self.scope, only_values=True, quiet=quiet)
        if bound is None:
            return call
        value = self._nested(callee, lambda inner: inner.converted_value(callee))
        self.size += sum(1 for _ in nodes_below(value))
        return without_addresses(substituted(value, bound.values))

    def _hoist(self, callee: Callee, call: c_ast.FuncCall) -> c_ast.Node:
        """Run the steps of a function without outside effects before the statement that uses its value."""
        if self.hoisted is None or callee.result is None or not self.library.without_effects(callee.name):
            return call
        bound = bind_arguments(callee, call, self.scope, only_values=False, quiet=True)
        if bound is None:
            return call
        return self._value_before(call, callee.result, lambda node: self._spliced(callee, bound, node))

    def _value_before(
        self, call: c_ast.FuncCall, kind: Shape, steps: Callable[[c_ast.Node], list[c_ast.Node]]
    ) -> c_ast.Node:
        """The variable that has the value of a call, which `steps` set before the statement at hand."""
        if self.hoisted is None:
            return call
        target = c_ast.ID(self._fresh(f"{called_name(call)}_value", numbered=False), call.coord)
        declaration = declared(target.name, None, kind, call.coord)
        made = steps(c_ast.Assignment("=", target, call, call.coord))
        self.scope.bind(declaration)
        self.hoisted += [declaration, c_ast.Compound(made, call.coord)]
        return copied(target)

    def _takes_arrays(self, node: c_ast.Node) -> bool:
        """Whether it is the call of a function that is defined elsewhere, and gets addresses."""
        summary = self.summaries.get(called_name(node))
        return summary is not None and not summary.pure

    def converted_value(self, callee: Callee) -> Any:
        """What the callee returns, converted to its result type, in the callee's own names."""
        value = self.visit(copied(callee.value))
        return value if callee.result is None else cast_to(callee.result, value, self.scope)

    def _nested(self, callee: Callee, work: Any) -> Any:
        names = {*_names([callee.definition.body]), *callee.parameters}
        return work(_Inliner(callee.scope.child(), self.library, names, self.summaries, self.size))

    def _declared_by_call(self, node: c_ast.Decl) -> list[c_ast.Node] | None:
        """before: double t = dot(n, x, y);    after: double t; { ...; t = s; }"""
        if not isinstance(node.init, c_ast.FuncCall) or "const" in (node.quals or []):
            return None
        target = c_ast.ID(node.name, node.coord)
        plain = copied(node)
        plain.init = None
        outer, self.scope = self.scope, self.scope.child()
        self.scope.bind(plain)
        made = self._statement_call(c_ast.Assignment("=", target, node.init, node.coord))
        self.scope = outer
        if made is None:
            return None
        self.scope.bind(plain)
        return [plain, c_ast.Compound(made, node.coord)]

    def _statement_call(self, node: c_ast.Node) -> list[c_ast.Node] | None:
        """`f(...);` or `x op= f(...);` as the statements of f, or None when the call is not replaced this way."""
        call = node.rvalue if isinstance(node, c_ast.Assignment) else node
        if not isinstance(call, c_ast.FuncCall):
            return None
        callee = self._callee(call)
        if callee is None or callee.steps is None or (callee.value is not None and not callee.steps):
            return None
        if isinstance(node, c_ast.Assignment) and callee.value is None:
            return None
        if call.args is not None:
            call.args = self.visit(call.args)
        quiet = self.library.without_effects(callee.name)
        bound = bind_arguments(callee, call, self.scope, only_values=False, quiet=quiet)
        return None if bound is None else self._spliced(callee, bound, node)

    def _spliced(self, callee: Callee, bound: Arguments, node: c_ast.Node) -> list[c_ast.Node]:
        def work(inner: _Inliner) -> tuple[list[c_ast.Node], c_ast.Node | None]:
            steps = inner.items([copied(s) for s in callee.steps or ()])
            inner.hoisted = []
            value = None if callee.value is None else inner.converted_value(callee)
            return [*steps, *inner.hoisted], value

        steps, value = self._nested(callee, work)
        if isinstance(node, c_ast.Assignment) and value is not None and callee.result is not None:
            result = c_ast.Assignment(node.op, c_ast.ID("", node.coord), value, node.coord)
            steps = [*steps, result]
        renamed = self._fresh_names(steps, bound)
        spliced = [without_addresses(substituted(s, {**bound.values, **renamed})) for s in steps]
        if isinstance(node, c_ast.Assignment) and callee.result is not None:
            hoisted, self.hoisted = self.hoisted, None
            spliced[-1].lvalue = self.visit(node.lvalue)
            self.hoisted = hoisted
        copies = [self._copy_in(c, renamed) for c in bound.copies]
        self.size += sum(1 for s in spliced for _ in nodes_below(s))
        return [*copies, *spliced]

    def _copy_in(self, copy: c_ast.Decl, renamed: Mapping[str, c_ast.Node]) -> c_ast.Decl:
        name = renamed.get(copy.name)
        if isinstance(name, c_ast.ID):
            copy.name = copy.type.declname = name.name
        return copy

    def _fresh_names(self, steps: list[c_ast.Node], bound: Arguments) -> dict[str, c_ast.Node]:
        """New names for the callee's locals that the SCoP already uses."""
        declared = [str(n.name) for s in steps for n in nodes_below(s) if isinstance(n, c_ast.Decl) and n.name]
        declared += [str(c.name) for c in bound.copies]
        renamed: dict[str, c_ast.Node] = {}
        for name in dict.fromkeys(declared):
            if name in self.taken or self.scope.lookup(name) is not None:
                renamed[name] = c_ast.ID(self._fresh(name), None)
            self.taken.add(name)
        return renamed

    def _fresh(self, name: str, *, numbered: bool = True) -> str:
        candidate, count = f"{name}_1" if numbered else name, 1
        while candidate in self.taken or self.scope.lookup(candidate) is not None:
            count += 1
            candidate = f"{name}_{count}"
        self.taken.add(candidate)
        return candidate
