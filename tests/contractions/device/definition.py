"""What a random program of tensors computes, by NumPy alone, from its description (not from its C).

Each step is evaluated in double as one sum of products over full index spaces, masked where indices are related.
Beside each value goes its magnitude: the sum of the absolute values of all terms that made it, and how many roundings
were on the way; so the difference that rounding explains is known for each element.
"""

from __future__ import annotations

import math
import operator

import numpy as np

OPERATORS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


class Known:
    """Values of an array, their magnitudes, and roundings on the way to them."""

    def __init__(self, values):
        self.values = np.array(values, dtype=np.float64)
        self.magnitudes = abs(self.values)
        self.roundings = 0


def shapes_of(program, sizes):
    return {name: tuple(eval(d, {}, dict(sizes)) for d in dims) for name, dims in program["shapes"].items()}


def inputs_of(program, sizes, seed):
    """Random arrays and scalars of either sign, of the program's type."""
    generator = np.random.default_rng(seed)
    dtype = np.dtype("float64" if program["type"] == "double" else "float32")
    draw = lambda shape: (generator.uniform(0.5, 1.5, shape) * generator.choice([-1, 1], shape)).astype(dtype)  # noqa: E731
    arrays = {name: draw(shape) for name, shape in shapes_of(program, sizes).items()}
    return arrays, {name: dtype.type(draw(())) for name in program["scalars"]}


def evaluate(program, sizes, arrays, scalars):
    """The arrays after the program, as Known; the inputs stay as they are."""
    known = {name: Known(values) for name, values in arrays.items()}
    extents = {i: sizes[e] if isinstance(e, str) else e for i, e in program["extents"].items()}
    for step in program["steps"]:
        _run(step, extents, known, scalars)
    return known


def tolerance(known, dtype):
    return 2 * (known.roundings + 8) * np.finfo(dtype).eps * known.magnitudes


def differences(program, sizes, arrays, scalars, results):
    """(array, largest difference, its tolerance, elements beyond it) for each array that is written."""
    known = evaluate(program, sizes, arrays, scalars)
    found = []
    for name in program["written"]:
        actual, wanted = results[name].astype(np.float64), known[name]
        off, allowed = abs(actual - wanted.values), tolerance(wanted, results[name].dtype)
        wrong = int(np.count_nonzero(~(off <= allowed)))
        found.append((name, float(np.max(off, initial=0)), float(np.max(allowed, initial=0)), wrong))
    return found


def _run(step, extents, known, scalars):
    outputs = step["outputs"]
    target = known[step["target"]]
    region = tuple(slice(extents[i]) for i in outputs)
    factor = {"": 1.0, "0": 0.0}.get(step["init"])
    factor = float(scalars[step["init"]]) if factor is None else factor
    sums = [_product(step, product, extents, known, scalars) for product in step["products"]]
    value = factor * target.values[region] + sum(s[0] for s in sums)
    magnitude = abs(factor) * target.magnitudes[region] + sum(s[1] for s in sums)
    mask = np.ones([extents[i] for i in outputs], bool)
    for left, op, right in step["relations"]:
        if left in outputs and right in outputs:
            mask &= np.einsum(_related(extents, left, op, right), [0, 1], *_spread(outputs, left, right, extents)) > 0
    target.values[region] = np.where(mask, value, target.values[region])
    target.magnitudes[region] = np.where(mask, magnitude, target.magnitudes[region])
    terms = math.prod(extents[i] for i in step["sums"])
    target.roundings += (terms + 4) * max(1, len(sums)) + max([s[2] for s in sums], default=0)


def _spread(outputs, left, right, extents):
    """Operands that make einsum spread a matrix by (left, right) over all outputs."""
    numbers = {left: 0, right: 1}
    operands = []
    for index in outputs:
        if index not in numbers:
            numbers[index] = len(numbers)
            operands += [np.ones(extents[index]), [numbers[index]]]
    return [*operands, [numbers[i] for i in outputs]]


def _related(extents, left, op, right):
    found = OPERATORS[op](np.arange(extents[left])[:, None], np.arange(extents[right])[None, :])
    return found.astype(np.float64)


def _product(step, product, extents, known, scalars):
    """Its value, its magnitude and the roundings of its operands, by the outputs."""
    numbers = {index: n for n, index in enumerate([*step["outputs"], *step["sums"]])}
    masks = []
    for left, op, right in step["relations"]:
        masks += [_related(extents, left, op, right), [numbers[left], numbers[right]]]
    values, magnitudes, roundings = [], [], len(product["factors"]) + len(product["scalars"])
    for factor in product["factors"]:
        operand = known[factor["array"]]
        place, labels = _place(factor["subscripts"], extents)
        values += [operand.values[place], [numbers[i] for i in labels]]
        magnitudes += [operand.magnitudes[place], [numbers[i] for i in labels]]
        roundings += operand.roundings
    for index in set(numbers) - {name for f in product["factors"] for terms, _ in f["subscripts"] for _, name in terms}:
        masks += [np.ones(extents[index]), [numbers[index]]]  # a product without an index of the sum is added each time
    scale = math.prod(float(scalars[s]) if s in scalars else float(s) for s in product["scalars"])
    out = [numbers[i] for i in step["outputs"]]
    value = scale * np.einsum(*values, *masks, out, optimize=True)
    magnitude = abs(scale) * np.einsum(*magnitudes, *masks, out, optimize=True)
    return (-value if product["negative"] else value), magnitude, roundings


def _place(subscripts, extents):
    """NumPy's index of the elements, with a dimension for each index of the program, and these indices."""
    labels = list(dict.fromkeys(name for terms, _ in subscripts for _, name in terms))
    plain = all(len(terms) == 1 and terms[0][0] == 1 and offset == 0 for terms, offset in subscripts)
    if plain and len(labels) == len(subscripts):
        return tuple(slice(extents[name]) for name in labels), labels
    place = []
    for terms, offset in subscripts:
        dimension = np.full([1] * len(labels), offset)
        for factor, name in terms:
            shape = [-1 if label == name else 1 for label in labels]
            dimension = dimension + factor * np.arange(extents[name]).reshape(shape)
        place.append(dimension)
    return tuple(np.broadcast_arrays(*place)), labels
