"""Accesses that repeat an earlier one of their statement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field

import islpy as isl

from polytile.dataclass import dataclass
from polytile.frontend.accesses import RawAccess
from polytile.frontend.polynomial import Monomial
from polytile.ir.scop import AccessKind


def distinct(raws: Sequence[RawAccess], maps: Sequence[isl.Map]) -> list[tuple[RawAccess, isl.Map]]:
    """Drop accesses that repeat an earlier one of the statement."""

    def same_paths(a: RawAccess, b: RawAccess) -> bool:
        return a.kind is AccessKind.READ or a.path == b.path

    kept: list[tuple[RawAccess, isl.Map]] = []
    forms: dict[tuple[AccessKind, str], _Forms] = {}
    for raw, m in zip(raws, maps, strict=True):
        form = None if raw.inner or None in raw.subscripts or m.is_empty() else _form(raw)
        alike = forms.setdefault((raw.kind, raw.access.array), _Forms())
        if not any(same_paths(raw, kept[k][0]) and m.is_equal(kept[k][1]) for k in alike.not_apart(form)):
            alike.add(form, len(kept))
            kept.append((raw, m))
    return kept


_Form = tuple[tuple[frozenset[tuple[Monomial, int]], int], ...]


def _form(raw: RawAccess) -> _Form:
    """Each subscript as what depends on iterators and parameters, and a constant."""
    affine = [p for p in raw.subscripts if p is not None]
    return tuple((frozenset((m, c) for m, c in p.terms.items() if m), p.terms.get((), 0)) for p in affine)


@dataclass(frozen=True, slots=True)
class _Forms:
    """Accesses of one array, by number, to find those that may be the same element as another one."""

    _by_shape: dict[object, dict[_Form | None, list[int]]] = field(default_factory=dict)

    def not_apart(self, form: _Form | None) -> Iterator[int]:
        """All but those that never meet this one, as a subscript differs by a constant: a stencil has many."""
        own = _shape(form)
        for shape, members in self._by_shape.items():
            near = {form: members.get(form, [])} if shape == own else members
            yield from (k for other, found in near.items() if not _apart(form, other) for k in found)

    def add(self, form: _Form | None, number: int) -> None:
        self._by_shape.setdefault(_shape(form), {}).setdefault(form, []).append(number)


def _shape(form: _Form | None) -> object:
    """What subscripts have in common that may differ by constants."""
    return None if form is None else tuple(linear for linear, _ in form)


def _apart(one: _Form | None, other: _Form | None) -> bool:
    """Whether two accesses that run never meet, as a subscript differs by a constant: faster than isl for stencils."""
    if one is None or other is None:
        return False
    return any(a == b and c != d for (a, c), (b, d) in zip(one, other, strict=False))
