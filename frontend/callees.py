"""What a function of the file is, seen from a call: its steps, and its value when that is one expression."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from pathlib import Path

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.diagnostics import UserError
from polytile.frontend.assumptions import is_assumption
from polytile.frontend.conversions import cast_to
from polytile.frontend.early_returns import with_one_value
from polytile.frontend.normalise import normalised, spelt
from polytile.frontend.parse import nodes_below
from polytile.frontend.preprocess import is_shipped
from polytile.frontend.scope import Scope
from polytile.frontend.switch_elimination import without_switch
from polytile.frontend.trees import (
    WRITING,
    address_taken,
    block_items,
    copied,
    substituted,
    variables_in,
    written_name,
)
from polytile.frontend.type_shapes import Shape

_JUMPS = (c_ast.Return, c_ast.Goto, c_ast.Label, c_ast.Switch, c_ast.While, c_ast.DoWhile)


@dataclass(frozen=True, slots=True)
class Callee:
    """A function, normalised.

    `value` is what it returns; `steps` are the statements before that, None when they cannot stand in the caller.
    A function without effects whose locals are all initialised constants has no steps left.
    """

    name: str
    definition: c_ast.FuncDef
    scope: Scope
    parameters: tuple[str, ...]
    result: Shape | None
    value: c_ast.Node | None
    steps: tuple[c_ast.Node, ...] | None

    @property
    def locals(self) -> set[str]:
        return _declared(self.definition.body)

    def globals_visible_in(self, scope: Scope) -> bool:
        """Whether the names that the function takes from outside mean the same in `scope`."""
        own = {*self.parameters, *self.locals}
        return all(
            (known := scope.lookup(use.name)) is not None and known.level == "global"
            for use in variables_in(self.definition.body)
            if use.name not in own
        )

    @property
    def shadows(self) -> bool:
        """Whether a local hides a parameter or a global, which substitution by name would confuse."""
        known = [self.scope.lookup(name) for name in self.locals]
        return any(b is not None and b.kind in ("variable", "parameter") for b in known)

    def writes(self, name: str) -> bool:
        return any(name in (written_name(n), address_taken(n)) for step in self.steps or () for n in nodes_below(step))


@dataclass(frozen=True, slots=True)
class Library:
    """The functions of a file, each read when it is first asked for."""

    functions: Mapping[str, tuple[c_ast.FuncDef, Scope]]
    _read: dict[str, Callee] = field(default_factory=dict)

    def get(self, name: str) -> Callee | None:
        if name in self.functions and name not in self._read:
            self._read[name] = read_callee(*self.functions[name])
        return self._read.get(name)

    def without_effects(self, name: str) -> bool:
        """Whether calling a function changes nothing but its own variables."""
        callee = self.get(name)
        if callee is None or callee.steps is None or self.recursive(name):
            return False
        own = {*callee.locals, *(p for p in callee.parameters if not callee.scope.names[p].shape.layers)}
        nodes = list(nodes_below(callee.definition.body))
        changed = {_base_name(n) for n in nodes if _changes_something(n)}
        calls = [n for n in nodes if isinstance(n, c_ast.FuncCall)]
        return changed <= own and all(self.without_effects(called_name(c)) or _is_pure(c, callee.scope) for c in calls)

    def value_needs_steps(self, name: str) -> bool:
        """Whether the value of a function calls, directly or not, a function that has steps."""
        callee = self.get(name)
        if callee is None or callee.value is None or self.recursive(name):
            return False
        called = [c for n in nodes_below(callee.value) if (c := self.get(called_name(n))) is not None]
        return any(bool(c.steps) or self.value_needs_steps(c.name) for c in called)

    def recursive(self, name: str) -> bool:
        """Whether a function may call itself, directly or through others of the file."""
        seen: set[str] = set()
        waiting = [name]
        while waiting:
            function = self.functions.get(waiting.pop())
            called = {called_name(n) for n in nodes_below(function[0].body)} if function else set()
            waiting += called - seen
            seen |= called
        return name in seen


def _base_name(node: c_ast.Node) -> str:
    """The variable that an assignment or increment changes, wholly or in part."""
    target = node.lvalue if isinstance(node, c_ast.Assignment) else node.expr
    while isinstance(target, c_ast.ArrayRef | c_ast.StructRef):
        target = target.name
    return str(target.name) if isinstance(target, c_ast.ID) else ""


def called_name(node: c_ast.Node) -> str:
    """The function that a call names, or an empty string."""
    return str(node.name.name) if isinstance(node, c_ast.FuncCall) and isinstance(node.name, c_ast.ID) else ""


def names_in_callees(
    nodes: Iterable[c_ast.Node], functions: Mapping[str, tuple[c_ast.FuncDef, Scope]]
) -> frozenset[str]:
    """The names of variables in the functions that are called, and in those that these call."""
    waiting = list(nodes)
    seen: set[str] = set()
    while waiting:
        for node in nodes_below(waiting.pop()):
            name = called_name(node)
            if name in functions and name not in seen:
                seen.add(name)
                waiting.append(functions[name][0])
    return frozenset(n.name for name in seen for n in nodes_below(functions[name][0]) if isinstance(n, c_ast.ID))


def only_pure_calls(node: c_ast.Node, scope: Scope) -> bool:
    """Whether all calls below an expression are of C's mathematical functions, which may run any number of times."""
    return all(_is_pure(n, scope) for n in nodes_below(node) if isinstance(n, c_ast.FuncCall))


def _is_pure(call: c_ast.FuncCall, scope: Scope) -> bool:
    name = called_name(call)
    known = scope.lookup(name)
    if known is None:
        return name.startswith("__builtin_")
    header = Path(known.location.file)
    return is_shipped(str(header)) and (header.name in ("math.h", "complex.h") or name in ("abs", "labs", "llabs"))


def _declared(node: c_ast.Node) -> set[str]:
    return {str(n.name) for n in nodes_below(node) if isinstance(n, c_ast.Decl) and n.name}


def read_callee(function: c_ast.FuncDef, scope: Scope) -> Callee:
    """Normalise a function; `scope` holds its parameters and the globals before it."""
    definition = _normalised_definition(function, scope)
    parameters = tuple(n for n, b in scope.names.items() if b.kind == "parameter")
    result = scope.shape(function.decl.type.type)
    callee = Callee(str(function.decl.name), definition, scope, parameters, None, None, None)
    items = [without_switch(i) for i in block_items(definition.body) if not is_assumption(i)]
    value = None
    own = list(items)
    if items and isinstance(items[-1], c_ast.Return):
        value = items.pop().expr
    if any(isinstance(n, c_ast.Return) for item in items for n in nodes_below(item)):
        items, value = with_one_value(own, callee.name, scope, result)
    # An old-style definition may declare its parameters in another order than it takes them.
    if function.param_decls or result.void == (value is not None) or callee.shadows or not _inlinable(items, value):
        return callee
    callee = replace(callee, result=None if result.void else result, value=value, steps=tuple(items))
    return _as_expression(callee)


def _normalised_definition(function: c_ast.FuncDef, scope: Scope) -> c_ast.FuncDef:
    """The function with types spelt out and constants folded, `static`, and nothing that only promises."""
    definition = copied(function)
    try:
        definition.body.block_items = list(normalised(tuple(block_items(function.body)), scope))
    except UserError:
        # Another part of the function is at fault; the call stays and is refused where it stands.
        return definition
    definition.decl.storage = ["static"]
    definition.decl.funcspec = []
    _spell_signature(definition.decl, scope)
    return definition


def _spell_signature(declaration: c_ast.Decl, scope: Scope) -> None:
    declarator = declaration.type
    declarator.type = spelt(declarator.type, scope.shape(declarator.type), declaration.name)
    for parameter in declarator.args.params if declarator.args is not None else ():
        if isinstance(parameter, c_ast.Decl) and parameter.name in scope.names:
            parameter.type = spelt(parameter.type, scope.names[parameter.name].shape, parameter.name)


def _inlinable(items: list[c_ast.Node], value: c_ast.Node | None) -> bool:
    nodes = [n for part in (*items, *([value] if value is not None else [])) for n in nodes_below(part)]
    static = any(isinstance(n, c_ast.Decl) and n.storage for n in nodes)
    jumps = any(isinstance(n, _JUMPS) for n in nodes)
    arguments = {id(a) for n in nodes if isinstance(n, c_ast.FuncCall) and n.args for a in n.args.exprs}
    pointers = any((address_taken(n) and id(n) not in arguments) or isinstance(n, c_ast.PtrDecl) for n in nodes)
    return not (static or jumps or pointers)


def _as_expression(callee: Callee) -> Callee:
    """Put locals that are set once, by their declaration, into the value.

    before: { double t = x + 1; return t * t; }
    after:  { return (x + 1) * (x + 1); }
    """
    if callee.value is None or callee.steps is None:
        return callee
    replaced: dict[str, c_ast.Node] = {}
    for step in callee.steps:
        if not _is_plain_local(step):
            return callee
        init = substituted(copied(step.init), replaced)
        replaced[str(step.name)] = cast_to(callee.scope.shape(step.type), init, callee.scope)
    if any(_has_effects(part) for part in (*replaced.values(), callee.value)):
        return callee
    return replace(callee, value=substituted(copied(callee.value), replaced), steps=())


def _is_plain_local(step: c_ast.Node) -> bool:
    return isinstance(step, c_ast.Decl) and _is_basic(step.type) and step.init is not None


def _is_basic(declarator: c_ast.Node) -> bool:
    return isinstance(declarator, c_ast.TypeDecl) and isinstance(declarator.type, c_ast.IdentifierType)


def _has_effects(node: c_ast.Node) -> bool:
    return any(_changes_something(n) for n in nodes_below(node))


def _changes_something(node: c_ast.Node) -> bool:
    return isinstance(node, c_ast.Assignment) or (isinstance(node, c_ast.UnaryOp) and node.op in WRITING)


def effects_below(node: c_ast.Node) -> Iterator[c_ast.Node]:
    """The assignments and increments below an expression."""
    return (n for n in nodes_below(node) if _changes_something(n))
