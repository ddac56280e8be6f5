"""Elements that data choose: `x[p[i]]`, through a variable, and updates of them."""

from __future__ import annotations

from dataclasses import replace

from polytile.fuzz.expressions import Context, plus
from polytile.fuzz.pieces.places import Statements, entry, sized
from polytile.fuzz.ranges import set_by
from polytile.fuzz.statements import StatementWriter
from polytile.fuzz.structs import kind
from polytile.fuzz.tree import Assign, Element, Extreme, If, Index, Let, Literal, Name, Position, Times, Update


def gather(writer: StatementWriter, at: Context, depth: int) -> Statements:
    """Draw `y[i] = x[p[i]];`, and as likely writes of such elements."""
    chosen = entry(writer, at, "index")
    if chosen is None or not at.iterators:
        return ()
    index: Index = Times(2, chosen) if writer.draw.chance(3) else chosen
    return writer.block(replace(at, indices=(*at.indices, index)), 0)


def variable_index(writer: StatementWriter, at: Context, depth: int) -> Statements:
    """Draw `int k = p[i]; y[i] = x[k];`."""
    chosen = entry(writer, at, "index")
    if chosen is None or not at.iterators:
        return ()
    let = Let(writer.fresh("k"), chosen, writer.draw.chance(2))
    names = {**at.names, let.name: set_by(let, at.names)}
    return (let, *writer.block(replace(at, names=names, indices=(*at.indices, Name(let.name))), 0))


def histogram(writer: StatementWriter, at: Context, depth: int) -> Statements:
    """Draw `h[p[i]] += e;` and other updates of integers."""
    array, chosen = sized(writer, "iu", written=True), entry(writer, at, "index")
    if array is None or chosen is None or not at.iterators:
        return ()
    draw, wanted = writer.draw, kind(array.type)
    rest = [writer.outer_index(at) for _ in range(array.rank - 1)]
    target = Element(array.name, (plus(chosen, draw.pick(0, 0, 1)), *rest))
    op = draw.one_of("+++-&|^<>")
    writer.left -= 1
    if op in "+-" and draw.chance(2):
        update = Update(target, op, Literal("1"), draw.pick("step", "compound"))
    else:
        update = Update(target, op, writer.operand(at, target, wanted, op), writer.spelling(wanted, op))
    if draw.chance(3):
        condition, _ = writer.condition(at)
        return (If(condition, (update,)),)
    return (update,)


def scatter(writer: StatementWriter, at: Context, depth: int) -> Statements:
    """Draw `y[p[i]] = e;`."""
    array, chosen = sized(writer, "fiu", written=True, rank=1), entry(writer, at, "index")
    if array is None or chosen is None or not at.iterators:
        return ()
    writer.left -= 1
    return (Assign((Element(array.name, (chosen,)),), writer.value(at, kind(array.type))),)


def computed_index(writer: StatementWriter, at: Context, depth: int) -> Statements:
    """Draw `perm[i] = n < i ? n : i;`: entries of an array of indices that the SCoP writes."""
    found = [a for a in writer.arrays if a.holds == "index" and a.rank == 1]
    usable = [i for i in at.iterators if at.names[i].never_negative]
    if not found or not usable:
        return ()
    array, iterator = writer.draw.one_of(found), Name(writer.draw.one_of(usable))
    value = Extreme("<", Name("n"), plus(iterator, writer.draw.pick(0, 1, 2)), writer.draw.chance(2))
    return (Assign((Element(array.name, writer.affine_subscripts(at, array)),), Position(value)),)


INDIRECT = (gather, gather, variable_index, histogram, histogram, scatter, computed_index)
