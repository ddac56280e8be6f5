"""What stands for the parameters of a function when its body replaces a call."""

from __future__ import annotations

from collections.abc import Mapping, Set

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.address_arguments import address_of_one
from polytile.frontend.callees import Callee, effects_below, only_pure_calls
from polytile.frontend.conversions import cast_to, declared
from polytile.frontend.parse import nodes_below
from polytile.frontend.scope import Binding, Scope
from polytile.frontend.trees import (
    WRITING,
    address_taken,
    copied,
    possible_bases,
    substituted,
    text_of,
    variables_in,
    written_name,
)
from polytile.frontend.type_shapes import Shape, is_complex


@dataclass(frozen=True, slots=True)
class Arguments:
    """`values` replace parameters by name; `copies` declare the parameters that need storage of their own."""

    values: Mapping[str, c_ast.Node]
    copies: tuple[c_ast.Decl, ...] = ()


def bind_arguments(
    callee: Callee, call: c_ast.FuncCall, scope: Scope, *, only_values: bool, quiet: bool = False
) -> Arguments | None:
    """Match the arguments of a call with the parameters, or None where that would change the program.

    An argument takes the parameter's place when that gives the same value: it has no effect, and nothing that it
    reads changes in the function, which changes nothing but its own variables if it is `quiet`. Otherwise the parameter
    becomes a variable (not with `only_values`).
    """
    given = list(call.args.exprs) if call.args is not None else []
    if len(given) != len(callee.parameters) or any(True for a in given for _ in effects_below(a)):
        return None
    pairs = list(zip(callee.parameters, given, strict=True))
    values: dict[str, c_ast.Node] = {}
    copies: list[c_ast.Decl] = []
    pointed = {base for a in given if (base := address_taken(a)) is not None}
    for name, argument in pairs:
        shape = callee.scope.names[name].shape
        if shape.layers:
            continue
        if quiet and _is_place(argument) and _only_by_fields(name, callee) and _leads_on(shape):
            values[name] = argument
        elif _keeps_its_value(name, argument, callee, scope, pointed) or (
            quiet and _is_size(shape, argument) and not callee.writes(name)
        ):
            value = _scalar_value(argument, shape, scope)
            if value is None:
                return None
            values[name] = value
        elif only_values or shape.base is None:
            return None
        else:
            copies.append(declared(name, argument, shape, argument.coord))
    for name, argument in pairs:
        if callee.scope.names[name].shape.layers:
            place = _pointer(argument)
            fits = _same_array(callee.scope.names[name], place, scope, values) and not callee.writes(name)
            if not fits:
                place = address_of_one(name, argument, callee, scope)
            if place is None or not _subscripts_stay(place, callee, scope, pointed):
                return None
            values[name] = place
    return Arguments(values, tuple(copies))


def _leads_on(shape: Shape) -> bool:
    """Whether a type is a struct with pointers, of which variables of the SCoP's own are no use."""
    return shape.struct is not None and any(layer.pointer for m in shape.struct.members for layer in m.shape.layers)


def _is_size(shape: Shape, argument: c_ast.Node) -> bool:
    """Whether an argument may bound loops: an integer in a struct."""
    whole = shape.base is not None and shape.base.kind == "int" and isinstance(argument, c_ast.StructRef)
    while isinstance(argument, c_ast.StructRef):
        argument = argument.name
    return whole and isinstance(argument, c_ast.ID)


def _is_place(argument: c_ast.Node) -> bool:
    """Whether an argument is a struct in memory, or a variable."""
    star = isinstance(argument, c_ast.UnaryOp) and argument.op == "*"
    return star or isinstance(argument, c_ast.ID | c_ast.ArrayRef | c_ast.StructRef)


def _only_by_fields(name: str, callee: Callee) -> bool:
    """Whether a function only reads fields of a parameter."""
    parts = [*(callee.steps or ()), *([] if callee.value is None else [callee.value])]
    nodes = [n for part in parts for n in nodes_below(part)]
    fields = [n for n in nodes if isinstance(n, c_ast.StructRef) and n.type == "."]
    known = {id(n.name) for n in fields}
    changed = {id(base) for n in nodes for base in _changed_bases(n)}
    uses = [use for part in parts for use in variables_in(part) if use.name == name]
    return all(id(use) in known and id(use) not in changed for use in uses)


def _changed_bases(node: c_ast.Node) -> list[c_ast.ID]:
    """The variables of which a node changes a part, or takes the address."""
    if isinstance(node, c_ast.Assignment):
        return possible_bases(node.lvalue)
    changing = isinstance(node, c_ast.UnaryOp) and (node.op in WRITING or node.op == "&")
    return possible_bases(node.expr) if changing else []


def _pointer(argument: c_ast.Node) -> c_ast.Node:
    """before: &a[i], &A[i][j], a + i - 1    after: a + i, A[i] + j, a + (i - 1)"""
    match argument:
        case c_ast.UnaryOp(op="&", expr=c_ast.ArrayRef(name=array, subscript=subscript)):
            return _pointer(c_ast.BinaryOp("+", array, subscript, argument.coord))
        case c_ast.BinaryOp(op="+" | "-" as op, left=c_ast.BinaryOp(op="+" | "-" as first, left=base, right=offset)):
            offset = offset if first == "+" else c_ast.UnaryOp("-", offset, offset.coord)
            moved = c_ast.BinaryOp(op, offset, argument.right, argument.coord)
            return _pointer(c_ast.BinaryOp("+", base, moved, argument.coord))
    return argument


def _scalar_value(argument: c_ast.Node, shape: Shape, scope: Scope) -> c_ast.Node | None:
    if shape.base is None or not only_pure_calls(argument, scope):
        return None
    if shape.base.kind == "struct" and not is_complex(shape):
        return argument if isinstance(argument, c_ast.ID) else None
    return cast_to(shape, argument, scope)


def _keeps_its_value(
    name: str, argument: c_ast.Node, callee: Callee, scope: Scope, pointed: Set[str] = frozenset()
) -> bool:
    """Whether the argument means the same wherever the function mentions the parameter; the call passes addresses of
    the variables `pointed`."""
    if not callee.steps:
        return True
    if any(map(_reads_memory, nodes_below(argument))) or callee.writes(name):
        return False
    nodes = [n for step in callee.steps for n in nodes_below(step)]
    own = {*callee.locals, *callee.parameters}
    changed = {w for n in nodes if (w := written_name(n)) is not None and w not in own}
    calls = any(isinstance(n, c_ast.FuncCall) for n in nodes)
    uses = {str(use.name) for use in variables_in(argument)}
    return not (uses & (changed | pointed)) and not (calls and any(_is_global(u, scope) for u in uses))


def _reads_memory(node: c_ast.Node) -> bool:
    memory = isinstance(node, c_ast.ArrayRef | c_ast.StructRef | c_ast.FuncCall)
    return memory or (isinstance(node, c_ast.UnaryOp) and node.op == "*")


def _is_global(name: str, scope: Scope) -> bool:
    known = scope.lookup(name)
    return known is None or known.level == "global"


def _same_array(parameter: Binding, argument: c_ast.Node, scope: Scope, values: Mapping[str, c_ast.Node]) -> bool:
    """Whether an argument, `A`, a row `A[i]` or a pointer into one, `A[i] + j`, has the element type, rank and row
    lengths of the parameter."""
    base, depth = _base_and_depth(argument.left if _is_sum(argument) else argument)
    given = scope.lookup(base.name) if isinstance(base, c_ast.ID) else None
    if given is None or given.shape.base != parameter.shape.base or parameter.shape.base is None:
        return False
    wanted, found = parameter.shape.layers, given.shape.layers[depth:]
    if len(wanted) != len(found) or any(layer.pointer for layer in (*wanted[1:], *given.shape.layers[1:])):
        return False
    return all(
        a.extent is not None
        and b.extent is not None
        and _spelling(substituted(copied(a.extent), values), scope) == _spelling(b.extent, scope)
        for a, b in zip(wanted[1:], found[1:], strict=True)
    )


def _is_sum(argument: c_ast.Node) -> bool:
    return isinstance(argument, c_ast.BinaryOp) and argument.op in ("+", "-")


def _base_and_depth(node: c_ast.Node) -> tuple[c_ast.Node, int]:
    depth = 0
    while isinstance(node, c_ast.ArrayRef):
        node, depth = node.name, depth + 1
    return node, depth


def _subscripts_stay(argument: c_ast.Node, callee: Callee, scope: Scope, pointed: Set[str]) -> bool:
    """Whether an array, or the element or field behind `&`, is the same one all through the function."""
    if isinstance(argument, c_ast.UnaryOp) and argument.op == "&":
        argument = argument.expr
    if _is_sum(argument):
        if not _keeps_its_value("", argument.right, callee, scope, pointed):
            return False
        argument = argument.left
    while isinstance(argument, c_ast.ArrayRef | c_ast.StructRef):
        if isinstance(argument, c_ast.ArrayRef):
            stays = _keeps_its_value("", argument.subscript, callee, scope, pointed)
        else:
            stays = argument.type == "." or _keeps_its_value("", argument.name, callee, scope, pointed)
        if not stays:
            return False
        argument = argument.name
    return True


def _spelling(extent: c_ast.Node, scope: Scope) -> str:
    constant = scope.constant(extent)
    if constant is not None:
        return str(constant.value)
    while isinstance(extent, c_ast.Cast):
        extent = extent.expr
    return text_of(extent)
