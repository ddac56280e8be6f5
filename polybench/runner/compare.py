"""Comparing results with older ones: which figures got worse beyond their bound."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from polybench.runner.errors import RunnerError
from polybench.runner.rows import Key, Row, failed, latest
from polytile.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Bound:
    """How much a figure may grow: by a factor, and by an amount besides."""

    factor: float = 1.0
    amount: float = 0.0

    def allows(self, old: float, new: float) -> bool:
        return new <= old * self.factor + self.amount

    def __str__(self) -> str:
        percent = f"+{self.factor - 1:.0%}" if self.factor != 1.0 else ""
        amount = f"+{self.amount:g}" if self.amount else ""
        return " ".join(filter(None, [percent, amount])) or "exact"


EXACT = Bound()
BOUNDS: Mapping[str, Bound] = {
    "kernels": EXACT,
    "launches": EXACT,
    "barriers": EXACT,
    "shared_bytes": EXACT,
    "device_bytes": EXACT,
    "lines": Bound(1.1),
    "compile_cpu_s": Bound(2.0, 2.0),  # machines differ
    "spill_bytes": EXACT,
    "registers": Bound(1.1),
}
PTXAS = frozenset({"registers", "spill_bytes"})  # mean something only between equal releases of nvcc
TIME_SLACK = 0.05


@dataclass(frozen=True, slots=True)
class Worse:
    """One figure of one program that got worse."""

    row: Key
    figure: str
    old: str
    new: str
    bound: str

    @property
    def line(self) -> str:
        program, dtype, schedule, dataset, _ = self.row
        what = f"{program} {dtype} {schedule} {dataset}"
        return f"{what:<48} {self.figure:<14} {self.old:>12} -> {self.new:<12} (allowed: {self.bound})"


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a comparison found; `shared` is how many rows both sides have."""

    shared: int
    worse: tuple[Worse, ...]
    better: int

    @property
    def lines(self) -> list[str]:
        count = f"{len(self.worse)} got worse" if self.worse else "nothing got worse"
        better = f", {self.better} got better" if self.better else ""
        return [*(w.line for w in self.worse), f"compared {self.shared} rows: {count}{better}"]


def compare(old: Iterable[Row], new: Iterable[Row]) -> Comparison:
    """Compare the rows that both have; raises RunnerError when there are none."""
    before, now = latest(old), latest(new)
    shared = [k for k in now if k in before]
    if not shared:
        raise RunnerError("the old results have no row of these programs, types, schedules, data set and place")
    worse = [w for k in shared for w in _row(k, before[k], now[k])]
    return Comparison(len(shared), tuple(worse), sum(_better(before[k], now[k]) for k in shared))


def _row(about: Key, old: Row, new: Row) -> Iterator[Worse]:
    if failed(new):
        if not failed(old):
            yield Worse(about, "result", "passed", "failed", "no failure")
        return
    for figure in _comparable(old, new):
        if not BOUNDS[figure].allows(old[figure], new[figure]):
            yield Worse(about, figure, f"{old[figure]:g}", f"{new[figure]:g}", str(BOUNDS[figure]))
    if new["on"] == "gpu" and "median_ms" in old and "median_ms" in new:
        bound = Bound(1.0 + TIME_SLACK + max(old.get("spread", 0.0), new.get("spread", 0.0)))
        if not bound.allows(old["median_ms"], new["median_ms"]):
            yield Worse(about, "median_ms", f"{old['median_ms']:.4g}", f"{new['median_ms']:.4g}", str(bound))


def _comparable(old: Row, new: Row) -> Sequence[str]:
    """Return the figures that both rows have and that can be compared."""
    same = old.get("nvcc_release") == new.get("nvcc_release")
    both = [f for f in BOUNDS if _number(old.get(f)) and _number(new.get(f))]
    return [f for f in both if same or f not in PTXAS]


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _better(old: Row, new: Row) -> int:
    if failed(old) or failed(new):
        return int(failed(old) and not failed(new))
    return sum(new[f] < old[f] for f in _comparable(old, new) if f != "compile_cpu_s")
