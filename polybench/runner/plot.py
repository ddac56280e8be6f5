"""The plot of a report: one line for each program, time to the right, with floors, the sequential C and the anchors."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polybench.runner.errors import EXIT_MACHINE, RunnerError

if TYPE_CHECKING:
    from polybench.runner.report import Line

OURS = "#0b5fa5"
STYLES = {  # system -> marker and colour; the others take what is left
    "sequential C": ("o", "#b0b0b0"),
    "PPCG default": ("s", "#e08214"),
    "PPCG best": ("D", "#b35806"),
    "AN5D": ("^", "#7b3294"),
    "StencilGen": ("v", "#008837"),
    "EBISU": (">", "#c51b7d"),
    "PPoPP18": ("<", "#8c510a"),
}
ROW_INCHES = 0.24


def draw(lines: Sequence[Line], path: Path) -> None:
    """Write the plot as .png or .svg; raises RunnerError without matplotlib."""
    if path.suffix not in (".png", ".svg"):
        raise RunnerError(f"{path}: a plot is a .png or a .svg")
    if not lines:
        raise RunnerError("there is no time to plot")
    plt = _pyplot()
    groups = list(dict.fromkeys(x.row["dtype"] for x in lines))
    longest = max(sum(x.row["dtype"] == group for x in lines) for group in groups)
    across, down = min(2, len(groups)), -(-len(groups) // 2)
    size = (6.5 * across, 0.6 + (1.0 + ROW_INCHES * longest) * down)
    figure, axes = plt.subplots(down, across, figsize=size, squeeze=False, layout="constrained")
    panels = list(axes.flat)
    for axis, group in zip(panels, groups, strict=False):
        _panel(axis, [x for x in lines if x.row["dtype"] == group], group)
    for axis in panels[len(groups) :]:
        axis.set_axis_off()
    entries = {label: h for a in panels for h, label in zip(*a.get_legend_handles_labels(), strict=True)}
    columns = min(8, len(entries))
    figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=columns, frameon=False)
    try:
        figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)
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


def _panel(axis: Any, lines: Sequence[Line], title: str) -> None:
    heights = range(len(lines))
    floors = [(h, x.floor, x.ms) for h, x in zip(heights, lines, strict=True) if x.floor]
    for h, floor, ms in floors:
        axis.plot([floor, ms], [h, h], color=OURS, alpha=0.25, linewidth=4, solid_capstyle="butt", zorder=1)
    axis.scatter([f for _, f, _ in floors], [h for h, _, _ in floors], marker="|", s=90, color="black", label="floor")
    for name, points in _others(lines).items():
        marker, colour = STYLES.get(name, ("x", "#555555"))
        axis.scatter(*zip(*points, strict=True), marker=marker, s=26, color=colour, label=name, zorder=2)
    axis.scatter([x.ms for x in lines], heights, s=44, color=OURS, label="polytile", zorder=3)
    axis.set_xscale("log")
    axis.set_yticks(list(heights), _labels(lines), fontsize=8)
    axis.set_ylim(len(lines) - 0.4, -0.6)
    axis.set_xlabel("milliseconds (left is faster)")
    axis.set_title(f"{title}, {_usual(lines)}", fontsize=10, loc="left")
    axis.grid(axis="x", color="#e5e5e5", linewidth=0.7)
    axis.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
    axis.tick_params(axis="y", length=0)


def _usual(lines: Sequence[Line]) -> str:
    """The size of most of the programs."""
    sizes = [str(x.row["dataset"]) for x in lines]
    return max(dict.fromkeys(sizes), key=sizes.count)


def _labels(lines: Sequence[Line]) -> list[str]:
    """The programs; those that are not at the size of most of them say so."""
    usual = _usual(lines)
    return [x.label if x.row["dataset"] == usual else f"{x.label} ({x.row['dataset']})" for x in lines]


def _others(lines: Sequence[Line]) -> dict[str, list[tuple[float, int]]]:
    """(ms, height) of every other system that has a time."""
    found: dict[str, list[tuple[float, int]]] = {}
    for height, line in enumerate(lines):
        sequential = line.sequential if line.row["on"] == "gpu" else None
        for name, ms in (("sequential C", sequential), *line.anchors):
            if ms:
                found.setdefault(name, []).append((ms, height))
    return found
