"""Sums that have parts in common, as sums of these parts [Rawat et al., SC 2018].

before: x = 0.5 * (a[0] + a[2]) + a[1]; y = 0.25 * (a[0] + a[2]) + b[1]
after:  s = a[0] + a[2]; x = 0.5 * s + a[1]; y = 0.25 * s + b[1]

Labels whose factors have the same ratio in all sums are one value, then pairs of labels whose factors have it in
several sums, those of most sums first: n sums with a pair take n operations less and one more. What is left of
constants is distributed: a label is one multiply-add in each sum.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from fractions import Fraction

from polytile.dataclass import dataclass

MOST_PAIRS = 300_000  # of labels in sums, that are looked at in about a second
Ratio = tuple[int, str]  # a sign, and digits
_Pair = tuple[int, int, Ratio]


@dataclass(slots=True)
class SharedSums:
    """Sums by name, and those that are parts of others: forms of labels. Parts have negative numbers, in an order in
    which they can be computed."""

    sums: dict[int, dict[int, Fraction]] = field(default_factory=dict)
    parts: dict[int, dict[int, Fraction]] = field(default_factory=dict)
    factors: dict[Fraction, Fraction] = field(default_factory=dict)  # equal ones are one

    def factor(self, value: Fraction) -> Fraction:
        return self.factors.setdefault(value, value)

    def new_part(self, form: Mapping[int, Fraction]) -> int:
        number = -1 - len(self.parts)
        self.parts[number] = {label: self.factor(value) for label, value in form.items()}
        return number

    def put(self, name: int, part: int, labels: Iterable[int], factor: Fraction) -> None:
        """Replace labels of a sum by a part."""
        for label in labels:
            del self.sums[name][label]
        self.sums[name][part] = self.factor(factor)


def apart(forms: Mapping[int, Mapping[int, Fraction]]) -> SharedSums:
    """Return the sums without common parts."""
    found = SharedSums()
    for name, form in forms.items():
        found.sums[name] = {label: found.factor(value) for label, value in form.items()}
    return found


def share(forms: Mapping[int, Mapping[int, Fraction]], places: Mapping[int, int], *, pairs: bool) -> SharedSums:
    """Return the sums with common parts.

    `places` say where labels are, so that near ones go together; with `pairs`, labels of some sums do, too.
    """
    shared = apart(forms)
    _join_columns(shared)
    if pairs:
        _Pairs(shared, dict(places)).join()
    return shared


def _ratio(a: Fraction, b: Fraction) -> Ratio:
    value = float(a / b)
    return (1 if value > 0 else -1), f"{abs(value):.14e}"


# All sums ----------------------------------------------------------------------------------------
def _join_columns(shared: SharedSums) -> None:
    """Merge labels that have the same factors in all sums, but for one factor of each label."""
    columns: dict[int, list[tuple[int, Fraction]]] = {}
    for name, form in shared.sums.items():
        for label, factor in form.items():
            columns.setdefault(label, []).append((name, factor))
    alike: dict[object, list[int]] = {}
    for label, column in columns.items():
        first = column[0][1]
        alike.setdefault(tuple((name, _ratio(f, first)) for name, f in column), []).append(label)
    for labels in alike.values():
        column = columns[labels[0]]
        if len(labels) < 2 or len(column) < 2:
            continue
        base = _base([columns[label][0][1] for label in labels])
        part = shared.new_part({label: columns[label][0][1] / base for label in labels})
        scale = base / columns[labels[0]][0][1]
        for name, factor in column:
            shared.put(name, part, labels, factor * scale)


def _base(factors: Sequence[Fraction]) -> Fraction:
    """Return what most factors are multiples by 1 and -1 of, or else the largest."""
    sizes = [abs(f) for f in factors]
    common = max(sizes, key=lambda f: (sizes.count(f), f))
    return next(f for f in factors if abs(f) == common)


# Pairs -------------------------------------------------------------------------------------------
@dataclass(slots=True)
class _Pairs:
    """Pairs of labels with the sums that have them in one ratio."""

    shared: SharedSums
    places: dict[int, int]
    sums: dict[_Pair, set[int]] = field(default_factory=dict)
    heap: list[tuple[int, bool, int, _Pair]] = field(default_factory=list)
    ratios: dict[tuple[int, int], Ratio] = field(default_factory=dict)  # by the identities of factors, which are kept

    def join(self) -> None:
        """Replace pairs by labels, until none is in two sums."""
        if sum(len(form) ** 2 // 2 for form in self.shared.sums.values()) > MOST_PAIRS:
            return
        for number, form in self.shared.parts.items():
            self.places[number] = max(self.places[label] for label in form)
        for name, form in self.shared.sums.items():
            labels = list(form)
            for at, label in enumerate(labels):
                self._count(name, label, labels[:at])
        while (pair := self._next()) is not None:
            self._replace(pair)

    def _count(self, name: int, label: int, others: Iterable[int]) -> None:
        sums = self.sums
        for pair in self._pairs(name, label, others):
            found = sums.get(pair)
            if found is None:
                sums[pair] = {name}
                continue
            found.add(name)
            if len(found) > 1:
                self._push(pair, len(found))

    def _pairs(self, name: int, label: int, others: Iterable[int]) -> list[_Pair]:
        form, places, ratios = self.shared.sums[name], self.places, self.ratios
        own, place = form[label], (places[label], label)
        found: list[_Pair] = []
        for other in others:  # hundreds of thousands
            factor = form[other]
            behind = (places[other], other) > place
            one, two, key = (label, other, (id(factor), id(own))) if behind else (other, label, (id(own), id(factor)))
            ratio = ratios.get(key)
            if ratio is None:
                ratio = ratios[key] = _ratio(form[two], form[one])
            found.append((one, two, ratio))
        return found

    def _push(self, pair: _Pair, count: int) -> None:
        apart = abs(self.places[pair[1]] - self.places[pair[0]])
        heapq.heappush(self.heap, (-count, not _is_one(pair[2]), apart, pair))

    def _next(self) -> _Pair | None:
        """Return the pair of most sums, or None; what the heap knew before has changed."""
        while self.heap:
            count, _, _, pair = heapq.heappop(self.heap)
            now = len(self.sums.get(pair, ()))
            if now == -count:
                return pair
        return None

    def _replace(self, pair: _Pair) -> None:
        one, two, _ = pair
        names = sorted(self.sums.pop(pair))
        form = self.shared.sums[names[0]]
        part = self.shared.new_part({one: Fraction(1), two: form[two] / form[one]})
        self.places[part] = max(self.places[one], self.places[two])
        for name in names:
            form = self.shared.sums[name]
            rest = [label for label in form if label not in (one, two)]
            for label in (one, two):
                self._forget(name, label, rest)
            self.shared.put(name, part, (one, two), form[one])
            self._count(name, part, rest)

    def _forget(self, name: int, label: int, others: Iterable[int]) -> None:
        for pair in self._pairs(name, label, others):
            found = self.sums[pair]
            found.discard(name)
            if len(found) > 1:
                self._push(pair, len(found))


def _is_one(ratio: Ratio) -> bool:
    return float(ratio[1]) == 1.0
