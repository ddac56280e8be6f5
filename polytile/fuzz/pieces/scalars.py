"""Scalars that are set again under conditions, conditional and chained sums, counts, searches, carried values."""

from __future__ import annotations

from dataclasses import replace

from polytile.fuzz.expressions import Context
from polytile.fuzz.forms import LITERALS, SUMMANDS
from polytile.fuzz.pieces.places import Statements, free_iterators, inside
from polytile.fuzz.statements import StatementWriter
from polytile.fuzz.structs import kind
from polytile.fuzz.tree import (
    Apply,
    Assign,
    Condition,
    DataCompare,
    Declare,
    Element,
    If,
    Index,
    Literal,
    Loop,
    Name,
    Num,
    Position,
    Remainder,
    Statement,
    Update,
    Value,
)


def outer_scalar(writer: StatementWriter, kinds: str) -> tuple[Element, str] | None:
    """Draw a scalar of one of these kinds that is declared before the SCoP and written in it; return it with its
    kind."""
    found = [a for a in writer.arrays if not a.rank and a.written and kind(a.type) in kinds]
    if not found:
        return None
    chosen = writer.draw.one_of(found)
    return Element(chosen.name), kind(chosen.type)


def set_again(writer: StatementWriter, at: Context, depth: int) -> Statements:
    """Draw `s = A[i]; if (s < 0) s = -s;`, declared there or before the SCoP."""
    if not at.iterators:
        return ()
    draw, outside = writer.draw, outer_scalar(writer, "fi")
    if outside is not None and draw.chance(2):
        target, wanted = outside
        first: Statement = Assign((target,), writer.leaf(at, wanted))
        inner = at
    else:
        wanted, name = draw.pick("f", "f", "i"), writer.fresh("s")
        target, ctype = Element(name), {"f": "double", "i": "int"}[wanted]
        first = Declare(name, ctype, writer.leaf(at, wanted))
        inner = replace(at, scalars=(*at.scalars, (name, ctype)))
    again = Assign((target,), Apply({"f": "(-{0})", "i": "-({0} % 100)"}[wanted], (target,)))
    test = DataCompare(target, draw.pick("<", ">"), Literal(draw.one_of(LITERALS[wanted][:3])))
    condition: Condition = writer.affine(at, 0) if draw.chance(4) else test
    return first, If(condition, (again,)), *writer.block(inner, 0)


def exact_condition(writer: StatementWriter, at: Context) -> Condition:
    """Draw a condition on integers or on inputs, which rounding does not change."""
    wanted = writer.draw.pick("i", "u", "f")
    left = writer.read(at, wanted, lambda a: not a.written) or writer.leaf(at, "i")
    right = Literal({"i": "2", "u": "3u", "f": "0.25f"}[wanted])
    return DataCompare(left, writer.draw.pick("<", ">", "!="), right)


def conditional_sum(writer: StatementWriter, at: Context, depth: int) -> Statements:
    """Draw `if (A[i] > 0) s += e;`, with a scalar or an element that all iterations of a loop share; also extremes."""
    if not at.iterators:
        return ()
    found = outer_scalar(writer, "fiu")
    target, wanted = found if found and writer.draw.chance(2) else writer.target(at)
    if target.subscripts:
        target = replace(target, subscripts=tuple(writer.outer_index(at) for _ in target.subscripts))
    writer.left -= 1
    op = writer.draw.one_of("+++<>")
    if op == "+" and wanted != "f" and writer.draw.chance(2):
        update = Update(target, "+", Literal("1"), "step")  # cnt[i]++
    else:
        update = Update(target, op, writer.operand(at, target, wanted, op), writer.spelling(wanted, op))
    otherwise = (update,) if writer.draw.chance(6) else ()
    return (If(exact_condition(writer, at), (update,), otherwise),)


def several_updates(writer: StatementWriter, at: Context, depth: int) -> Statements:
    """Draw `s += a; A[i] = e; if (c) s -= b;`, with a scalar or an element that all iterations of a loop share."""
    if not at.iterators:
        return ()
    draw, found = writer.draw, outer_scalar(writer, "fiu")
    target, wanted = found if found and draw.chance(2) else writer.target(at)
    if target.subscripts:
        target = replace(target, subscripts=tuple(writer.outer_index(at) for _ in target.subscripts))
    op = draw.one_of({"f": "++++*<>", "i": "++++*<>&^", "u": "++++*<>^"}[wanted])
    body: list[Statement] = []
    for _ in range(draw.between(2, 3)):
        writer.left -= 1
        one = draw.pick("+", "-") if op == "+" else op
        update = Update(target, one, writer.operand(at, target, wanted, one), writer.spelling(wanted, one))
        body.append(If(exact_condition(writer, at), (update,)) if draw.chance(4) else update)
        if draw.chance(4):
            body.append(writer.assign(at))
    return tuple(body)


def chained_sum(writer: StatementWriter, at: Context, depth: int) -> Statements:
    """Draw `s = s + a - b;`, which C adds from the left."""
    found = outer_scalar(writer, "fiu")
    if found is None or not at.iterators:
        return ()
    target, wanted = found
    writer.left -= 1
    before = set(writer.forbidden)
    writer.forbidden.add(target.array)
    one, other = (writer.apply(SUMMANDS[wanted], at.without(target.array), 1) for _ in range(2))
    writer.forbidden = before
    form = writer.draw.pick("{0} + {1} + {2}", "{0} + {1} - {2}", "{1} + {0} + {2}", "{0} - {1} + {2}")
    return (Assign((target,), Apply(form, (target, one, other))),)


def row_sum(writer: StatementWriter, at: Context, depth: int) -> Statements:
    """Draw `double s = 0; for (...) s += e; y[i] = s;`, with the sum under a condition or not."""
    free = free_iterators(at)
    if not free or depth < 1:
        return ()
    name, loop = writer.fresh("s"), Loop(free[0], Num(0), writer.size())
    inner, target = inside(at, loop), Element(name)
    update: Statement = Update(target, "+", writer.summand(inner, "f"), writer.draw.pick("compound", "left"))
    if writer.draw.chance(2):
        update = If(exact_condition(writer, inner), (update,))
    stored, wanted = writer.target(at)
    writer.left -= 2
    result: Value = target if wanted == "f" else Literal(LITERALS[wanted][1])
    body = Assign((stored,), result)
    return Declare(name, "double", Literal("0.0")), replace(loop, body=(update,)), body


def place_of_extreme(writer: StatementWriter, at: Context, depth: int) -> Statements:
    """Draw `if (A[i] > x) { x = A[i]; k = i; }`, and `if (A[i] < 0) k = i;`."""
    free, place = free_iterators(at), outer_scalar(writer, "i")
    if not free or place is None or depth < 1:
        return ()
    loop = Loop(free[0], Num(writer.draw.pick(0, 0, 1)), writer.size())
    inner = inside(at, loop)
    wanted = writer.draw.pick("f", "f", "i")
    value = writer.read(inner, wanted, lambda a: not a.written)
    found = [a for a in writer.arrays if not a.rank and a.written and value and kind(a.type) == wanted]
    writer.left -= 1
    note = Assign((place[0],), Position(Name(free[0])))
    best = [a for a in found if a.name != place[0].array]
    if value is None or not best or writer.draw.chance(3):
        return (replace(loop, body=(If(exact_condition(writer, inner), (note,)),)),)
    extreme = Element(writer.draw.one_of(best).name)
    test = DataCompare(value, writer.draw.pick("<", ">"), extreme)
    return (replace(loop, body=(If(test, (Assign((extreme,), value), note)),)),)


def carried_value(writer: StatementWriter, at: Context, depth: int) -> Statements:
    """Draw `A[i] = 0.5 * (B[i] + x); x = B[i];`, and with integers that are subscripts of nothing."""
    found = outer_scalar(writer, "fi")
    if found is None or not at.iterators:
        return ()
    scalar, wanted = found
    target, other = writer.target(at)
    if target.array == scalar.array or wanted != other:
        return ()
    writer.left -= 1
    before = set(writer.forbidden)
    writer.forbidden.add(scalar.array)
    form = {"f": "0.5 * ({0} + {1})", "i": "({0} + {1}) / 2"}[wanted]
    use = Assign((target,), Apply(form, (writer.leaf(at.without(scalar.array), wanted), scalar)))
    left: Value = writer.leaf(at.without(scalar.array), wanted)
    if wanted == "i" and writer.draw.chance(2):
        index: Index = Name(writer.draw.one_of(at.iterators))
        left = Position(Remainder(index, 8))
    writer.forbidden = before
    return use, Assign((scalar,), left)


SCALARS = (
    set_again,
    set_again,
    conditional_sum,
    conditional_sum,
    conditional_sum,
    several_updates,
    several_updates,
    chained_sum,
    row_sum,
    place_of_extreme,
    carried_value,
)
