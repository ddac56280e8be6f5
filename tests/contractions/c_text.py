"""The C text of a program of tensors."""

from __future__ import annotations

from collections.abc import Sequence

from .program import OPPOSITE, Access, Product, Program, Relation, Step, Subscript

INDENT = "    "


def c_text(program: Program) -> str:
    shapes = program.shapes
    arrays = [f"T {name}[restrict {dims[0]}]{_brackets(dims[1:])}" for name, dims in shapes.items()]
    parameters = [*(f"int {n}" for n in program.parameters), *(f"T {s}" for s in program.scalars), *arrays]
    lines = [line for step in program.steps for line in _step(program, step)]
    body = "\n".join(INDENT + line for line in lines)
    head = f"#define T {program.ctype}\nvoid f({', '.join(parameters)})"
    return f"{head}\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"


def _brackets(dims: Sequence[str]) -> str:
    return "".join(f"[{dim}]" for dim in dims)


def _step(program: Program, step: Step) -> list[str]:
    target = _element(step.target)
    start = {"": [], "0": [f"{target} = 0;"]}.get(step.init, [f"{target} = {step.init} * {target};"])
    add = [_added(program, step, target)] if step.products else []
    outer = [index for index in step.order if index in step.target.indices]
    inner = [index for index in step.order if index not in outer]
    if step.form == "split" or not step.products:
        before = _nest(program, step, outer, start) if start else []
        return before + (_nest(program, step, step.order, add) if add else [])
    if step.form == "scalar":
        old = {"": f"{target} + ", "0": ""}.get(step.init, f"{step.init} * {target} + ")
        body = ["T s = 0;", *_nest(program, step, inner, [_added(program, step, "s")], outer), f"{target} = {old}s;"]
    else:
        body = [*start, *_nest(program, step, inner, add, outer)]
    return _nest(program, step, outer, body)


def _added(program: Program, step: Step, to: str) -> str:
    first, *rest = step.products
    if first.negative and not rest:
        return f"{to} -= {_product(program, first)};"
    words = [("-" if first.negative else "") + _product(program, first)]
    words += [f"{'-' if p.negative else '+'} {_product(program, p)}" for p in rest]
    return f"{to} += {' '.join(words)};"


def _product(program: Program, product: Product) -> str:
    suffix = "f" if program.ctype == "float" else ""
    scalars = [s if s.isalpha() else s + suffix for s in product.scalars]
    return " * ".join([*scalars, *map(_element, product.factors)])


def _element(access: Access) -> str:
    return access.array + _brackets([_subscript(s) for s in access.subscripts])


def _subscript(subscript: Subscript) -> str:
    words = [name if factor == 1 else f"{factor} * {name}" for factor, name in subscript.terms]
    return " + ".join([*words, *([str(subscript.offset)] if subscript.offset or not words else [])])


def _nest(
    program: Program, step: Step, order: Sequence[str], body: list[str], around: Sequence[str] = ()
) -> list[str]:
    """The loops over `order`, within those of `around`, with the relations as bounds or as conditions."""
    if not order:
        return body
    index, *rest = order
    low, high, conditions = _bounds(program, step, index, around)
    inner = _nest(program, step, rest, body, (*around, index))
    if conditions:
        inner = [f"if ({' && '.join(conditions)}) {{", *(INDENT + line for line in inner), "}"]
    if index in step.down:
        head = f"for (int {index} = {high} - 1; {index} >= {low}; {index}--) {{"
    else:
        head = f"for (int {index} = {low}; {index} < {high}; {index}++) {{"
    return [head, *(INDENT + line for line in inner), "}"]


def _bounds(program: Program, step: Step, index: str, around: Sequence[str]) -> tuple[str, str, list[str]]:
    low, high, conditions = [], [], []
    for left, op, right in _relations(step.relations, index, around):
        match op:
            case "<":
                high.append(right)
            case "<=":
                high.append(f"{right} + 1")
            case ">":
                low.append(f"{right} + 1")
            case _:
                low.append(right)
        if len(low) > 1 or len(high) > 1:
            conditions.append(f"{left} {op} {right}")
    return (low or ["0"])[0], (high or [str(program.extents[index])])[0], conditions


def _relations(relations: Sequence[Relation], index: str, around: Sequence[str]) -> list[tuple[str, str, str]]:
    """Those between this index and one of an outer loop, this index on the left."""
    found = [(r.left, r.op, r.right) for r in relations if r.left == index and r.right in around]
    return found + [(index, OPPOSITE[r.op], r.left) for r in relations if r.right == index and r.left in around]
