"""Names that stand for something else in the generated program: what replaces a SCoP declares `int polytile_status`
around the C, which runs where kernels do not, and calls `exit`."""

from __future__ import annotations

import re

from pycparser import c_ast

from polytile.diagnostics import UserError
from polytile.frontend.find_scops import ScopPlace
from polytile.frontend.parse import location_of, nodes_below
from polytile.frontend.scope import Binding, Scope
from polytile.frontend.type_shapes import Shape
from polytile.ir.expr import INT

# What the host file declares around the C of a SCoP, and where it looks at subscripts, rows and addresses.
_HOST = re.compile(
    r"polytile_(status|asked|apart|instances|visit|at|here|left|moved|by|k|l|row|count|inner|range|part"
    r"|(own|least|most|column|rows|base|step|first|last|extent|elements|from|to)_\w+)(_\d+)?"
)


def check_names(place: ScopPlace) -> None:
    """Refuse a SCoP that uses names of the host file's own, and a file whose `exit` is not C's, which the program calls
    when a kernel fails; raises UserError. Names of kernels' own, such as `polytile_min`, are spelt otherwise there."""
    hint = "give it another name: those that begin with 'polytile_' are for generated code"
    for node in (n for item in place.items for n in nodes_below(item)):
        for own in _names(node):
            if _HOST.fullmatch(own):
                message = f"'{own}' in a SCoP would be hidden by what the generated program declares"
                raise UserError(message, location=location_of(node), hint=hint)
    _check_exit(_of_file(place.scope))


def _names(node: c_ast.Node) -> list[str]:
    """Return the names of variables, functions and types that a node itself uses."""
    match node:
        case c_ast.ID(name=name):
            return [str(name)]
        case c_ast.IdentifierType(names=names):
            return [str(name) for name in names]
    return []


def _of_file(scope: Scope) -> Scope:
    while scope.parent is not None:
        scope = scope.parent
    return scope


def _check_exit(scope: Scope) -> None:
    binding = scope.names.get("exit")
    if binding is not None and not _is_exit(binding, scope):
        raise UserError(
            "this `exit` hides the function of C's library, which the generated program calls",
            location=binding.location,
            hint="give it another name",
        )


def _is_exit(binding: Binding, scope: Scope) -> bool:
    node = binding.node.decl if isinstance(binding.node, c_ast.FuncDef) else binding.node
    declarator = getattr(node, "type", None)
    if not isinstance(declarator, c_ast.FuncDecl):
        return False
    parameters = declarator.args.params if declarator.args is not None else None
    takes_int = parameters is None or (len(parameters) == 1 and _is_int(scope.shape(parameters[0].type)))
    return takes_int and scope.shape(declarator.type).void


def _is_int(shape: Shape) -> bool:
    return shape.base == INT and not shape.layers
