"""Random programs of tensors: contractions, triangles, products in place, chains, convolutions and stencils."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from polytile.fuzz.draw import Draw

from .program import Access, Product, Program, Relation, Sizes, Step, Subscript

CONSTANTS = (1, 2, 17, 33, 61, 67, 97)
MOST_CONSTANT = 300_000  # iterations over the indices of constant extents
LETTERS = "ijklmn"
FILTER = "pqr"  # indices within a filter
OPERANDS = "ABDE"


def draw_program(draw: Draw) -> Program:
    while True:
        kind = draw.one_of(KINDS)
        program = kind(draw)
        if prod(e for e in program.extents.values() if isinstance(e, int)) <= MOST_CONSTANT:
            return program


def program_of(seed: int, index: int) -> Program:
    """Program number `index` of a seed, the same on every machine."""
    return draw_program(Draw(random.Random(f"contractions {seed} {index}")))


# ---- Parts ---------------------------------------------------------------------------------------


def plain(array: str, indices: Sequence[str]) -> Access:
    return Access(array, tuple(Subscript(((1, index),)) for index in indices))


def shuffled(draw: Draw, items: Sequence[str]) -> tuple[str, ...]:
    left = list(items)
    return tuple(left.pop(draw.between(0, len(left) - 1)) for _ in range(len(left)))


def extents_of(draw: Draw, indices: Sequence[str], square: Sequence[str] = ()) -> dict[str, str | int]:
    """A parameter or a constant for each index, one and the same for those of `square`."""
    found: dict[str, str | int] = {i: draw.one_of(CONSTANTS) if draw.chance(5) else f"n{i}" for i in indices}
    return {**found, **dict.fromkeys(square, found[square[0]])} if square else found


def some_scalars(draw: Draw) -> tuple[str, ...]:
    return draw.pick((), (), ("alpha",), ("alpha",), ("0.5",), ("alpha", "1.25"))


@dataclass(frozen=True, slots=True)
class Writing:
    """Draws how a step is written: its start, its nests and the order and directions of the loops."""

    draw: Draw

    def step(self, target: Access, sums: Sequence[str], products: Sequence[Product], forms: Sequence[str]) -> Step:
        draw = self.draw
        init, form = draw.pick("", "0", "0", "beta", "beta"), draw.one_of(forms)
        outer, inner = shuffled(draw, target.indices), shuffled(draw, sums)
        order = shuffled(draw, (*outer, *inner)) if form == "split" else (*outer, *inner)
        down = frozenset(index for index in order if draw.chance(10))
        return Step(target, tuple(sums), tuple(products), order, init, form, (), down)


FORMS = ("fused", "fused", "split", "split", "scalar")


# ---- Kinds of programs ---------------------------------------------------------------------------


def dealt(draw: Draw, outputs: Sequence[str], sums: Sequence[str], count: int) -> list[list[str]]:
    """Indices of `count` factors: an index that is summed over in most of them, one of the target in one or in all."""
    factors: list[list[str]] = [[] for _ in range(count)]
    for number, index in enumerate(outputs):
        batch = draw.chance(6)
        for k, factor in enumerate(factors):
            if batch or k == number % count:
                factor.append(index)
    for index in sums:
        left_out = draw.between(0, count - 1) if count > 2 or draw.chance(5) else -1
        for k, factor in enumerate(factors):
            if k != left_out:
                factor.append(index)
    return [list(shuffled(draw, f or [draw.one_of([*outputs, *sums])])) for f in factors]


def one_product(draw: Draw, outputs: Sequence[str], sums: Sequence[str], arrays: Sequence[str]) -> Product:
    factors = dealt(draw, outputs, sums, len(arrays))
    accesses = tuple(plain(array, indices) for array, indices in zip(arrays, factors, strict=True))
    return Product(accesses, some_scalars(draw), draw.chance(8))


def contraction(draw: Draw) -> Program:
    outputs = LETTERS[: draw.pick(1, 2, 2, 2, 2, 3, 3, 3, 4)]
    sums = LETTERS[len(outputs) :][: draw.pick(1, 1, 1, 2, 2 if len(outputs) < 4 else 1)]
    indices = outputs + sums
    products = [one_product(draw, outputs, sums, "AB" if not draw.chance(4) else "ABD")]
    if draw.chance(5):
        products.append(one_product(draw, outputs, sums, draw.pick("EF", "F")))
    target = plain("C", shuffled(draw, outputs))
    step = Writing(draw).step(target, sums, products, FORMS)
    return Program(draw.pick("double", "float"), extents_of(draw, indices), (step,))


def triangle(draw: Draw) -> Program:
    """syrk, syr2k, products with triangular operands: two or three indices are related."""
    relations = [Relation("j", draw.pick("<=", ">=", "<"), "i")] if not draw.chance(3) else []
    if not relations or draw.chance(3):
        relations.append(Relation("k", draw.pick("<=", "<", ">", ">="), draw.pick("i", "j")))
    square = "ij" if len(relations) == 1 and relations[0].left == "j" else "ijk"
    batch = "l" if draw.chance(5) else ""
    flip = draw.chance(2)  # the operands' layout
    left, right = (plain(a, (*batch, *("ki" if flip else "ik"))) for a in "AB")
    left2, right2 = (plain(a, (*batch, *("kj" if flip else "jk"))) for a in "AB")
    form = draw.pick("one", "two", "two products")
    products = {
        "one": [Product((left, left2), some_scalars(draw))],
        "two": [Product((left, right2), some_scalars(draw))],
        "two products": [Product((left, right2), some_scalars(draw)), Product((right, left2), some_scalars(draw))],
    }[form]
    target = plain("C", (*batch, *shuffled(draw, "ij")))
    step = replace(Writing(draw).step(target, "k", products, FORMS), relations=tuple(relations))
    return Program(draw.pick("double", "float"), extents_of(draw, (*batch, *"ijk"), square), (step,))


def in_place(draw: Draw) -> Program:
    """trmm: rows that are yet to be overwritten are added to each row, from the first row on or from the last."""
    forward, rows = draw.chance(2), draw.chance(2)
    op = ">" if forward else "<"
    target = plain("B", "ij" if rows else "ji")
    source = plain("B", "kj" if rows else "jk")
    weights = plain("A", shuffled(draw, "ik"))
    form, init = draw.pick("fused", "split"), draw.pick("", "beta")
    free = draw.pick("ijk", "ikj", "jik", "kij")
    order = free if form == "split" else free.replace("k", "") + "k"
    down = frozenset() if forward else frozenset("ik")
    product = Product((weights, source), some_scalars(draw), draw.chance(6))
    relations = (Relation("k", op, "i"),)
    step = Step(target, ("k",), (product,), tuple(order), init, form, relations, down)
    steps = [replace(step, init="")]
    if init and form == "split":  # the products find what the first nest made
        steps.insert(0, Step(target, (), (), tuple(order.replace("k", "")), init, "split"))
    else:
        steps = [step]
    return Program(draw.pick("double", "float"), extents_of(draw, "ijk", "ik"), tuple(steps))


def chain(draw: Draw) -> Program:
    """Products of matrices, the second of which reads what the first makes."""
    writing = Writing(draw)
    batch = "m" if draw.chance(4) else ""
    between = shuffled(draw, (*batch, *"il"))
    first_product = Product((plain("A", (*batch, *"ik")), plain("B", shuffled(draw, "kl"))), some_scalars(draw))
    first = writing.step(plain("X", between), "k", [first_product], FORMS)
    second_product = Product((plain("X", between), plain("D", shuffled(draw, "lj"))), some_scalars(draw))
    second = writing.step(plain("C", (*batch, *shuffled(draw, "ij"))), "l", [second_product], FORMS)
    return Program(draw.pick("double", "float"), extents_of(draw, (*batch, *"ijkl")), (first, second))


def convolution(draw: Draw) -> Program:
    """One to three dimensions, strides and dilation, with channels or without, of constant or parametric filters."""
    rank = draw.pick(1, 2, 2, 2, 3)
    space, window = LETTERS[:rank], FILTER[:rank]
    features, channels, batch = draw.pick("", "l"), draw.pick("", "m"), draw.pick("", "", "n")
    moved = tuple(
        Subscript(((draw.pick(1, 1, 1, 2), i), (draw.pick(1, 1, 1, 2), p))) for i, p in zip(space, window, strict=True)
    )
    image = Access("A", (*plain("A", (*batch, *channels)).subscripts, *moved))
    weights = plain("W", (*features, *channels, *(shuffled(draw, window))))
    target = plain("C", (*batch, *features, *space))
    sums = (*channels, *window)
    product = Product(shuffled_factors(draw, image, weights), some_scalars(draw))
    step = Writing(draw).step(target, sums, [product], FORMS)
    extents = extents_of(draw, (*batch, *features, *channels, *space))
    filters: dict[str, str | int] = {p: f"n{p}" if draw.chance(8) else draw.pick(1, 2, 3, 3, 5) for p in window}
    return Program(draw.pick("double", "float"), {**extents, **filters}, (step,))


def shuffled_factors(draw: Draw, first: Access, second: Access) -> tuple[Access, ...]:
    return (first, second) if draw.chance(2) else (second, first)


def stencil(draw: Draw) -> Program:
    """One step over a neighbourhood in one to three dimensions, into another array."""
    rank = draw.pick(1, 2, 2, 3)
    space, radius = LETTERS[:rank], draw.pick(1, 1, 2)
    offsets = {(radius,) * rank}
    for dimension in range(rank):
        offsets |= {tuple(o if d == dimension else radius for d in range(rank)) for o in range(2 * radius + 1)}
    if draw.chance(3):
        offsets |= {tuple(draw.between(0, 2 * radius) for _ in range(rank)) for _ in range(4)}
    products = [
        Product(
            (Access("A", tuple(Subscript(((1, i),), o) for i, o in zip(space, at, strict=True))),),
            (draw.pick("0.5", "0.125", "alpha", "1.75"),),
            draw.chance(4),
        )
        for at in sorted(offsets)
    ]
    step = replace(Writing(draw).step(plain("C", space), (), products, ("fused", "split")), init=draw.pick("0", "beta"))
    return Program(draw.pick("double", "float"), extents_of(draw, space), (step,))


KINDS = (*[contraction] * 6, *[triangle] * 3, *[in_place] * 2, *[chain] * 2, *[convolution] * 4, stencil)


# ---- Sizes ---------------------------------------------------------------------------------------

SPANS = {"zero": (2, 9), "one": (1, 1), "small": (2, 9), "odd": (17, 71), "large": (131, 211)}


def sizes_of(program: Program, draw: Draw, most: int) -> list[dict[str, int]]:
    """Nothing to do, one of each, less than a tile, no multiple of tiles, and more than two tiles of some extents,
    within `most` iterations."""
    if not program.parameters:
        return [{}]
    found: list[dict[str, int]] = []
    for kind, (low, high) in SPANS.items():
        sizes = within(program, draw, {n: draw.between(low, high) for n in program.parameters}, most)
        if kind == "zero":
            sizes[draw.one_of(program.parameters)] = 0
        if sizes not in found:
            found.append(sizes)
    return found


def within(program: Program, draw: Draw, sizes: dict[str, int], most: int) -> dict[str, int]:
    """Smaller sizes for one parameter after the other, until the work suffices; the last ones keep theirs."""
    for name in shuffled(draw, program.parameters):
        if program.work(sizes) > most:
            sizes[name] = draw.between(1, 6)
    return sizes


__all__ = ["Program", "Sizes", "draw_program", "program_of", "sizes_of"]
