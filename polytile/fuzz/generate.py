"""Draws random programs: random nests, stencils in time and reductions, over arrays of random types and forms."""

from __future__ import annotations

from dataclasses import replace

from polytile.fuzz.draw import Draw
from polytile.fuzz.expressions import OUTSIDE, plus
from polytile.fuzz.pieces import FAMILIES
from polytile.fuzz.pieces.indirect import INDIRECT
from polytile.fuzz.pieces.jumps import DATA_LOOPS
from polytile.fuzz.pieces.subscripts import SUBSCRIPTS
from polytile.fuzz.statements import StatementWriter
from polytile.fuzz.stencils import stencil
from polytile.fuzz.tree import (
    SIZES,
    Array,
    Compare,
    Condition,
    Function,
    Let,
    Name,
    Num,
    Program,
    Statement,
)
from polytile.fuzz.walking import Path, positions, replaced
from polytile.fuzz.wellformed import well_formed

ARRAY_NAMES = ("A", "B", "C", "D", "x", "y")
SCALAR_NAMES = ("r", "total")
INTEGERS = ("int", "int", "long", "short", "signed char", "_Bool", "long long")
UNSIGNEDS = ("unsigned", "unsigned", "unsigned char", "unsigned short", "unsigned long long")


def program(draw: Draw) -> Program:
    """Draw a random program; the same choices give the same program."""
    arrays = _arrays(draw)
    return _program(draw, StatementWriter(draw, arrays, jumps=draw.chance(2)))


def with_pieces(draw: Draw) -> Program:
    """Draw a random program with pieces of one to three families among its statements."""
    families = [draw.one_of(FAMILIES) for _ in range(draw.pick(1, 1, 2, 2, 3))]
    arrays = _arrays(draw)
    if SUBSCRIPTS in families and draw.chance(2):
        arrays.append(Array("flat", draw.pick("double", "float", "int"), 2, "flat", written=not draw.chance(3)))
    arrays += [Array(name, draw.pick("int", "int", "double", "long"), 0, "local") for name in ("last", "best")]
    if draw.chance(4):
        arrays.append(Array("grid", "struct site", draw.pick(1, 1, 2), "vla"))
    if INDIRECT in families:
        arrays.append(Array("h", draw.pick("int", "unsigned", "long", "int"), draw.pick(1, 1, 2), "vla"))
    if INDIRECT in families or DATA_LOOPS in families:
        arrays += [Array("idx", "int", draw.pick(1, 1, 1, 2), "vla", False, "index")]
        arrays += [Array("row", draw.pick("int", "int", "long"), 1, "vla", False, "row")]
    writer = StatementWriter(draw, arrays, jumps=draw.chance(3), inner_rows=True)
    writer.pieces = [piece for family in families for piece in family]
    found = replace(_program(draw, writer), signs=draw.chance(2))
    knowing = replace(found, functions=tuple(_knowing(draw, f) for f in found.functions))
    return knowing if draw.chance(3) and well_formed(knowing) else found


def _knowing(draw: Draw, function: Function) -> Function:
    """Replace some numbers in a function's SCoPs by variables that are set before."""
    lets = (
        Let("reach", Num(draw.pick(1, 2, 3))),
        Let("end", plus(Name(draw.one_of(SIZES)), draw.pick(0, -1, 2))),
        Let("less", Name("n"), True, ">", Name("m")),
    )
    used = tuple(let for let in lets if draw.chance(2))
    parts = function.parts
    for let in used:
        sites = [path for path, node in positions(parts) if node == let.value and _replaceable(path)]
        for path in sites:
            parts = replaced(parts, path, Name(let.name)) if draw.chance(2) else parts
    return replace(function, parts=parts, known=used)


def _replaceable(path: Path) -> bool:
    """Return whether a number stands in a subscript or bounds a loop."""
    return path[-1] in ("low", "high") or path[-1] == "right"


def _program(draw: Draw, writer: StatementWriter) -> Program:
    arrays = writer.arrays
    writer.left = draw.pick(2, 3, 4, 5, 8) if not writer.pieces else draw.pick(2, 3, 3, 4)
    functions = [Function("f", tuple(_part(writer) for _ in range(draw.pick(1, 1, 1, 1, 2))))]
    if draw.chance(8):
        writer.left = 2
        functions.append(Function("g", (_part(writer),)))
    fixed = tuple((s, draw.pick(1, 4, 7, 13)) for s in draw.pick(("n",), ("n", "m"))) if draw.chance(8) else ()
    return Program(
        tuple(arrays),
        tuple(functions),
        fixed,
        (_assumption(draw),) if draw.chance(6) and not fixed else (),
        autodetect=draw.chance(12),
        size_type=draw.pick("int", "int", "int", "int", "long"),
    )


def over_time(draw: Draw) -> Program:
    """Draw a random time loop over stencils, and nothing else."""
    rank, kind = draw.pick(1, 1, 2, 2, 3), draw.pick("double", "float")
    arrays = tuple(Array(name, kind, rank, "vla") for name in ARRAY_NAMES[: draw.pick(1, 2, 2, 2)])
    found = stencil(StatementWriter(draw, list(arrays), jumps=False))
    assert found is not None  # such arrays have one
    return Program(arrays, (Function("f", ((found,),)),))


def _arrays(draw: Draw) -> list[Array]:
    arrays = [_array(draw, name) for name in ARRAY_NAMES[: draw.between(2, 5)]]
    arrays += [_scalar(draw, name) for name in SCALAR_NAMES if draw.chance(2)]
    if not any(a.written for a in arrays):
        arrays.append(Array("out", "double", 2, "vla"))
    return arrays


def _array(draw: Draw, name: str) -> Array:
    ctype = draw.pick(*("double",) * 6, *("float",) * 3, draw.one_of(INTEGERS), draw.one_of(UNSIGNEDS), "struct cell")
    rank = draw.pick(1, 1, 2, 2, 2, 3)
    if rank == 1:
        form = draw.pick("vla", "vla", "pointer", "restrict", "restrict", "static", "own")
    else:
        form = draw.pick("vla", "vla", "vla", "pointer", "flat" if rank == 2 else "vla", "static", "own")
    if form == "own" and ctype == "struct cell":
        form = "vla"
    return Array(name, ctype, rank, form, written=not draw.chance(3))


def _scalar(draw: Draw, name: str) -> Array:
    ctype = draw.pick("double", "double", "float", "int", "unsigned")
    return Array(name, ctype, 0, draw.pick("parameter", "local", "local", "dead", "static"), written=not draw.chance(4))


def _part(writer: StatementWriter) -> tuple[Statement, ...]:
    """Draw the body of one SCoP: one to three nests."""
    body: list[Statement] = []
    for _ in range(writer.draw.pick(1, 1, 1, 2, 2, 3)):
        if body and writer.left <= 0:
            break
        found = stencil(writer) if writer.draw.chance(5) else None
        deepest = (1, 2, 2, 3, 3, 4) if not writer.pieces else (1, 2, 2, 3)
        depth = writer.draw.one_of(deepest) if found is None else 0
        body += ((found,) if found else writer.piece(OUTSIDE, depth)) or (writer.loop(OUTSIDE, depth),)
    return tuple(body)


def _assumption(draw: Draw) -> Condition:
    return draw.pick(
        Compare(Name("n"), ">=", Num(draw.pick(1, 2, 4))),
        Compare(Name("m"), "<=", Name("n")),
        Compare(Name("n"), "==", Name("m")),
        Compare(Name("m"), ">", Num(0)),
    )
