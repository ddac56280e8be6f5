"""The plot of a report: for each program, how many times faster polytile is than the fastest other system.

And of two runs: how many times faster the second is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from polybench.runner.errors import EXIT_MACHINE, RunnerError

if TYPE_CHECKING:
    from polybench.runner.report import Line

COLOURS = ("#0b5fa5", "#e08214", "#008837", "#7b3294", "#b2182b", "#666666", "#35978f", "#8c510a")  # types, schedules
FASTER, SLOWER = "#eaf3fa", "#fbf1e6"  # the two sides of 1
ROW_INCHES = 0.23


def draw(lines: Sequence[Line], path: Path, winner: str = "polytile") -> None:
    """Write the plot as .png or .svg; `winner` is whose times the lines have.

    Raises RunnerError without matplotlib, or where no other system has a figure.
    """
    if path.suffix not in (".png", ".svg"):
        raise RunnerError(f"{path}: a plot is a .png or a .svg")
    panels = _panels([x for x in lines if x.best_other])
    if not panels:
        raise RunnerError("no other system has a figure for any of these rows")
    plt = _pyplot()
    names = _series_names([x for lines in panels for x in lines])
    figure, axes = plt.subplots(1, len(panels), figsize=_size(panels), squeeze=False, layout="constrained")
    for axis, panel in zip(axes.flat, panels, strict=True):
        _draw_panel(axis, panel, names)
        axis.set_xlabel(f"right of 1 {winner} is faster", fontsize=9)
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper right", ncols=len(labels), frameon=False)
    try:
        figure.savefig(path, dpi=130, metadata={"Date": None} if path.suffix == ".svg" else None)
    except OSError as error:
        raise RunnerError(f"{path}: {error.strerror}") from error
    finally:
        plt.close(figure)


def _pyplot() -> Any:
    try:
        matplotlib = import_module("matplotlib")
        matplotlib.use("Agg")
        matplotlib.rcParams["svg.hashsalt"] = "polytile"
        return import_module("matplotlib.pyplot")
    except ImportError as error:
        hint = "install it (pip install 'polytile[report]') or leave out --plot"
        raise RunnerError(f"--plot needs matplotlib: {hint}", status=EXIT_MACHINE) from error


def _panels(lines: Sequence[Line]) -> list[list[Line]]:
    """Split the systems into those that were measured on the same programs, and those whose rates are known."""
    sides = [[x for x in lines if x.by_rate == rate] for rate in (False, True)]
    return [side for side in sides if side]


def _series_names(lines: Sequence[Line]) -> list[str]:
    return list(dict.fromkeys(_series(x) for x in sorted(lines, key=_series)))


def _series(line: Line) -> str:
    asked = line.row["schedule"]
    return str(line.row["dtype"]) if asked == "auto" else f"{line.row['dtype']}, {asked}"


def _size(panels: Sequence[Sequence[Line]]) -> tuple[float, float]:
    most = max(len({_label(x) for x in panel}) for panel in panels)
    return 5.4 * len(panels), 1.3 + ROW_INCHES * most


def _label(line: Line) -> str:
    return line.label if line.row["dataset"] in ("large", "extralarge") else f"{line.label} ({line.row['dataset']})"


def _ratio(line: Line) -> float:
    assert line.best_other is not None
    return line.best_other[1] / line.ms


def _draw_panel(axis: Any, lines: Sequence[Line], names: Sequence[str]) -> None:
    rows: dict[tuple[str, str], list[Line]] = {}
    for line in lines:
        rows.setdefault((line.family, _label(line)), []).append(line)
    order = sorted(rows, key=lambda about: (about[0], -_mean(rows[about])))
    for height, about in enumerate(order):
        ratios = [1.0, *map(_ratio, rows[about])]
        axis.plot([min(ratios), max(ratios)], [height, height], color="#c8c8c8", linewidth=1.2, zorder=1)
    for name, colour in zip(names, COLOURS, strict=False):
        points = [(_ratio(x), h) for h, about in enumerate(order) for x in rows[about] if _series(x) == name]
        axis.scatter(*zip(*points, strict=True) if points else ([], []), s=26, color=colour, label=name, zorder=2)
    _decorate(axis, lines, [label for _, label in order])
    _separate(axis, [family for family, _ in order])


def _mean(lines: Sequence[Line]) -> float:
    return math.prod(map(_ratio, lines)) ** (1 / len(lines))


def _separate(axis: Any, families: Sequence[str]) -> None:
    """Draw lines between families, and their names, where there are several."""
    starts = [h for h, family in enumerate(families) if h == 0 or families[h - 1] != family]
    for height in starts if len(starts) > 1 else ():
        if height > 0:
            axis.axhline(height - 0.5, color="white", linewidth=3)
        place = {"transform": axis.get_yaxis_transform(), "ha": "right", "va": "center", "fontsize": 8}
        axis.text(0.985, height, families[height], style="italic", color="#555555", **place)


def _decorate(axis: Any, lines: Sequence[Line], labels: Sequence[str]) -> None:
    ratios = [*map(_ratio, lines), 1 / 1.5, 1.5]
    left, right = min(ratios) / 1.3, max(ratios) * 1.3
    axis.set_xscale("log")
    axis.axvspan(left, 1, color=SLOWER, zorder=0)
    axis.axvspan(1, right, color=FASTER, zorder=0)
    axis.axvline(1, color="#555555", linewidth=1, zorder=1)
    axis.set_xlim(left, right)
    ticks = [t for t in (0.01, 0.03, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 100, 300, 1000) if left <= t <= right]
    axis.set_xticks(ticks, [f"{t:g}" for t in ticks])
    axis.minorticks_off()
    axis.set_yticks(range(len(labels)), labels, fontsize=8)
    axis.set_ylim(len(labels) - 0.4, -0.6)
    systems = list(dict.fromkeys(x.best_other[0] for x in lines if x.best_other))
    axis.set_title("\n".join(wrap(f"times faster than {_listed(systems)}", 60)), fontsize=10, loc="left")
    axis.grid(axis="x", color="white", linewidth=0.8)
    axis.set_axisbelow(True)
    for side in ("top", "right", "left", "bottom"):
        axis.spines[side].set_visible(False)
    axis.tick_params(length=0)


def _listed(systems: Sequence[str]) -> str:
    """Print a list, such as `PPCG best`, `the fastest of AN5D and EBISU`."""
    return systems[0] if len(systems) == 1 else f"the fastest of {', '.join(systems[:-1])} and {systems[-1]}"
