"""The accesses of a statement as affine forms: what the subscripts are, as plain numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field as _field
from dataclasses import replace
from fractions import Fraction

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.access_boxes import taken_apart
from polytile.ir.field_layout import NumbersInside, numbers_inside
from polytile.ir.scop import AccessKind, AccessRelation, Array, Scop, Statement

Number = int | Fraction  # whole numbers are int, which is faster


def magnitude(value: Number) -> Number:
    return value if value >= 0 else -value


@dataclass(frozen=True, slots=True)
class Floor:
    """`factor * floor(inside)`, a term of a form."""

    factor: Number
    inside: Form


@dataclass(frozen=True, slots=True)
class Form:
    """`constant + sum(coefficient * iterator) + sum(coefficient * parameter) + floors`."""

    coefficients: tuple[Number, ...]
    constant: Number = 0
    parameters: tuple[tuple[str, Number], ...] = ()
    floors: tuple[Floor, ...] = ()
    _along: dict[tuple[int, ...], Number] = _field(default_factory=dict, init=False, repr=False, compare=False)
    _moved: dict[tuple[int, ...], bool] = _field(default_factory=dict, init=False, repr=False, compare=False)

    def value(self, point: Sequence[int], parameters: Mapping[str, int]) -> Number:
        """Return the value at a point of the iterators; parameters without a value count as 0."""
        total = self.constant
        for c, x in zip(self.coefficients, point, strict=True):
            if c and x:
                total += c * x
        for name, c in self.parameters:
            total += c * parameters.get(name, 0)
        for term in self.floors:
            total += term.factor * (term.inside.value(point, parameters) // 1)
        return total

    @property
    def slopes(self) -> tuple[Number, ...]:
        """Return how fast the value grows with each iterator, on average.

        Where a remainder does not grow (j mod 8), the slope within one period, so that what is derived from it is a
        bound.
        """
        if not self.floors:
            return self.coefficients
        slopes = list(self.coefficients)
        for term in self.floors:
            for i, inside in enumerate(term.inside.slopes):
                slopes[i] += term.factor * inside
        involved = self.involves()
        pairs = enumerate(zip(slopes, self.coefficients, strict=True))
        return tuple(slope or direct or int(involved[i]) for i, (slope, direct) in pairs)

    def along(self, step: Sequence[int]) -> Number:
        """Return how much the value grows, on average, when the iterators take a step."""
        key = tuple(step)
        if key not in self._along:
            growth: Number = 0
            for slope, x in zip(self.slopes, key, strict=True):
                growth += slope * x
            self._along[key] = growth
        return self._along[key]

    def moved_by(self, step: Sequence[int]) -> bool:
        """Return whether the value changes when the iterators take a step, leaving aside where a quotient turns over.
        """
        if not self.floors:
            return self.along(step) != 0
        key = tuple(step)
        if key not in self._moved:
            points = [tuple(start * x for x in key) for start in range(3)]
            self._moved[key] = len({self.value(point, {}) for point in points}) > 1
        return self._moved[key]

    def involves(self) -> tuple[bool, ...]:
        """Return which iterators the value depends on."""
        found = [c != 0 for c in self.coefficients]
        for term in self.floors:
            found = [a or b for a, b in zip(found, term.inside.involves(), strict=True)]
        return tuple(found)


@dataclass(frozen=True, slots=True, eq=False)
class LinearPart:
    """The forms of subscripts without the whole constants that are added to them. References that differ by these
    alone, as in a stencil, have the same one: what depends on nothing else is found once."""

    forms: tuple[Form | None, ...]


@dataclass(frozen=True, slots=True)
class Reference:
    """An access and its subscripts, outermost first; None where a subscript is no function of the iterators (it
    depends on data, or differs from one part of the domain to another). `field` is the field of a struct's element,
    the first one that a way leads to which has subscripts inside the struct; what these move by is then a last
    subscript more, in elements of the field's size. The `constants` are those of the subscripts that are known."""

    access: AccessRelation
    array: Array
    subscripts: tuple[Form | None, ...]
    field: int | None
    linear: LinearPart = _field(repr=False, compare=False)
    constants: tuple[Number, ...] = _field(repr=False, compare=False)

    @property
    def exact(self) -> bool:
        return len(self.constants) == len(self.subscripts)

    @property
    def moves_inside(self) -> bool:
        """Return whether subscripts inside a struct choose the number, which are one subscript here."""
        return len(self.subscripts) > self.array.rank

    @property
    def base(self) -> tuple[str, int | None]:
        """Return what the subscripts count from: the array, and the field where they move inside a struct."""
        return self.array.name, self.field if self.moves_inside else None

    def moved_by(self, step: Sequence[int]) -> bool:
        """Return whether the address changes when the iterators take a step; it may, where that is unknown."""
        return any(form is None or form.moved_by(step) for form in self.subscripts)

    def involves(self, iterators: int) -> tuple[bool, ...]:
        """Return which of the statement's iterators the address depends on; all, where that is unknown."""
        found = [False] * iterators
        for form in self.subscripts:
            here = (True,) * iterators if form is None else form.involves()
            found = [a or b for a, b in zip(found, here, strict=True)]
        return tuple(found)


@dataclass(slots=True)
class _Known:
    """References by the identity of their statement, which is kept alive so that no other takes its place: statements
    that compare equal may differ in their relations."""

    found: dict[int, tuple[Statement, Scop, tuple[Reference, ...]]] = _field(default_factory=dict)
    forms: dict[Form, Form] = _field(default_factory=dict)  # equal ones are one, which remembers how it moves
    linear: dict[tuple[Form | None, ...], LinearPart] = _field(default_factory=dict)

    def form(self, form: Form | None) -> Form | None:
        """Return the one shared object for all forms equal to this one."""
        return None if form is None else self.forms.setdefault(form, form)

    def without_constants(self, forms: Sequence[Form | None]) -> LinearPart:
        """Return the one shared object for all linear parts equal to this one."""
        plain = tuple(map(_without_constant, forms))
        return self.linear.setdefault(plain, LinearPart(plain))

    def clear(self) -> None:
        self.found.clear()
        self.forms.clear()
        self.linear.clear()


def _without_constant(form: Form | None) -> Form | None:
    whole = form is not None and isinstance(form.constant, int) and form.constant != 0
    return replace(form, constant=0) if form is not None and whole else form


_KNOWN = _Known()
_MOST_KNOWN = 1000  # statements


def references(scop: Scop, statement: Statement) -> tuple[Reference, ...]:
    """Return what a statement reads and writes in memory. Scalars that travel by value need no reference."""
    known = _KNOWN.found.get(id(statement))
    if known is not None and known[1] is scop:
        return known[2]
    if len(_KNOWN.found) >= _MOST_KNOWN:
        _KNOWN.clear()
    kinds = (AccessKind.READ, AccessKind.WRITE, AccessKind.MAY_WRITE)
    functions: dict[str, _Function] = {}
    accesses = [a for a in statement.relations(*kinds) if not scop.by_value(scop.array(a.array))]
    result = tuple(_reference(scop, statement, access, functions) for access in accesses)
    _KNOWN.found[id(statement)] = (statement, scop, result)
    return result


_Function = tuple[Sequence[Form | None], LinearPart, tuple[int, ...]]  # of the first access that is one


def _reference(
    scop: Scop, statement: Statement, access: AccessRelation, functions: dict[str, _Function]
) -> Reference:
    array = scop.array(access.array)
    forms, linear = _forms(array, access.relation, functions)
    number: Form | None = None
    if array.fields:
        *forms, number = forms
        if number is not None and (any(number.involves()) or number.parameters):
            inside = _inside(array, access.relation.intersect_domain(statement.domain).intersect_params(scop.context))
            forms.append(None if inside is None else _KNOWN.form(_in_elements(number, inside)))
            number = None if inside is None else Form((), inside.first)
        linear = _KNOWN.without_constants(forms)
    constants = tuple(form.constant for form in forms if form is not None)
    field_number = None if number is None else int(number.constant)
    return Reference(access, array, tuple(forms), field_number, linear, constants)


def _inside(array: Array, relation: isl.Map) -> NumbersInside | None:
    """Return the numbers inside a struct's element that an access may be of, or None if unbounded or absent."""
    last = relation.dim(isl.dim_type.out) - 1
    numbers = relation.range().project_out(isl.dim_type.set, 0, last)
    least = None if numbers.is_empty() else numbers.dim_min_val(0)
    return numbers_inside(array, int(least.to_python())) if least is not None and least.is_int() else None


def _in_elements(number: Form, inside: NumbersInside) -> Form:
    """Return which number of a struct an access is of, as the number of elements after the first one of its way."""
    at = inside.elements
    return Form(
        tuple(at(c) for c in number.coefficients),
        at(number.constant - inside.first),
        tuple((name, at(c)) for name, c in number.parameters),
        tuple(Floor(at(term.factor), term.inside) for term in number.floors),
    )


def _forms(
    array: Array, relation: isl.Map, functions: dict[str, _Function]
) -> tuple[Sequence[Form | None], LinearPart]:
    """Return the subscripts of an access, with and without constants.

    Each affine function is analysed once: hundreds of accesses may be the same one with other constants.
    """
    text, constants = taken_apart(relation) or ("", ())
    if text not in functions:
        found = [_KNOWN.form(_subscript(relation, i)) for i in range(array.access_rank)]
        linear = _KNOWN.without_constants(found)
        if text and all(form is not None for form in found):
            functions[text] = found, linear, constants
        return found, linear
    first, linear, before = functions[text]
    forms: list[Form | None] = []
    for form, behind, c in zip(first, constants, before, strict=True):
        assert form is not None
        forms.append(form if behind == c else _KNOWN.form(replace(form, constant=form.constant + behind - c)))
    return forms, linear


def _subscript(relation: isl.Map, position: int) -> Form | None:
    out = isl.dim_type.out
    rest = relation.dim(out) - position - 1
    alone = relation.project_out(out, position + 1, rest).project_out(out, 0, position)
    if not alone.is_single_valued():
        return None
    pieces: list[isl.Aff] = []
    alone.as_pw_multi_aff().foreach_piece(lambda _domain, value: pieces.append(value.get_at(0)))
    forms = {affine_form(piece) for piece in pieces}
    return forms.pop() if len(forms) == 1 else None


def affine_form(aff: isl.Aff) -> Form:
    """Convert an isl expression into plain numbers."""
    kinds = isl.dim_type
    iterators = tuple(_number(aff.get_coefficient_val(kinds.in_, i)) for i in range(aff.dim(kinds.in_)))
    parameters = (
        (str(aff.get_dim_name(kinds.param, i)), _number(aff.get_coefficient_val(kinds.param, i)))
        for i in range(aff.dim(kinds.param))
    )
    floors = []
    for i in range(aff.dim(kinds.div)):
        factor = _number(aff.get_coefficient_val(kinds.div, i))
        if factor:
            floors.append(Floor(factor, affine_form(aff.get_div(i))))
    constant = _number(aff.get_constant_val())
    return Form(iterators, constant, tuple((n, c) for n, c in parameters if c), tuple(floors))


def _number(value: isl.Val) -> Number:
    return int(value.to_python()) if value.is_int() else Fraction(str(value))
