"""What the host asks of a SCoP that may have too little to compute for a GPU: how many statement instances run.

    double polytile_instances = 0;
    if (n >= 1 && m >= 1)
        polytile_instances += 1.0 * (n) * (m);
    if (polytile_instances >= 100000) kernels else the user's C

Copying and launching take longer than a short loop does on the host. LLVM's Polly-ACC asks the same, as
-polly-acc-mincompute (Grosser and Hoefler, Polly-ACC, ICS 2016).
"""

from __future__ import annotations

from collections.abc import Callable

import islpy as isl

from polytile.codegen.targets.c.index_macros import with_index_macros
from polytile.codegen.targets.expressions import Printer
from polytile.codegen.targets.line_wrap import INDENT, broken
from polytile.diagnostics import InternalError
from polytile.ir.expr import LLONG, Access, For, While
from polytile.ir.expr_trees import statements
from polytile.ir.fold import folded
from polytile.ir.isl_expr import ast_options, expression
from polytile.ir.scop import Scop, Statement

INSTANCES = "polytile_instances"
_SET = isl.dim_type.set


def compute_checks(scop: Scop, least: int, spelt: Callable[[str], str]) -> tuple[list[str], str]:
    """Print statements that count the instances of a SCoP, and the condition that they are `least`.

    Counted are those of a box around each domain.

    A statement with loops inside, whose iterations nothing counts, has enough. `spelt` turns C over parameters into C
    over the variables of the function.
    """
    if least <= 0:
        return [], ""
    lines = [f"double {INSTANCES} = 0;"]
    for statement in scop.statements:
        lines += _counted(statement, scop.context, least, spelt)
    return with_index_macros(lines), f"{INSTANCES} >= {least}"


def _counted(statement: Statement, context: isl.Set, least: int, spelt: Callable[[str], str]) -> list[str]:
    domain = statement.domain.intersect_params(context).remove_divs()
    runs, printer = domain.params(), Printer(_no_element, cpp=False)
    if domain.is_empty():
        return []
    with ast_options():
        build = isl.AstBuild.from_context(runs)
        sizes = [domain.dim_max(k).sub(domain.dim_min(k)).add_constant_val(isl.Val(1)) for k in range(domain.dim(_SET))]
        counts = [printer(folded(expression(build.expr_from_pw_aff(size), LLONG))) for size in sizes]
        condition = _condition(runs, context, printer)
    if any(isinstance(node, For | While) for node in statements(*statement.body)):
        counts = [str(least)]
    added = [f"{INSTANCES} += {' * '.join(['1.0', *(f'({spelt(count)})' for count in counts)])};"]
    return [*broken(f"if ({spelt(condition)})"), *(INDENT + line for line in added)] if condition else added


def _condition(runs: isl.Set, context: isl.Set, printer: Printer) -> str:
    """Print the condition under which a statement runs at all, "" where it always does."""
    open_part = runs.gist(context)
    if open_part.plain_is_universe():
        return ""
    return printer(folded(expression(isl.AstBuild.from_context(context).expr_from_set(open_part), LLONG)))


def _no_element(access: Access, _: Printer) -> str:
    raise InternalError(f"the number of iterations reads {access.array}")
