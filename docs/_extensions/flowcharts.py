"""Flowcharts in Mermaid's notation as inline SVG, drawn when the site is built: no script and no network.

A forge draws the same blocks by itself. The subset is what our pages use: `A[text] -->|text| B[text]` lines under
`flowchart`. Boxes stand in layers from top to bottom, whatever the direction asked for: pages are narrow.
Layers are longest paths [Sugiyama, Tagawa, Toda 1981], and within one boxes follow the mean place of what leads to
them; an edge over several layers passes through a place of its own in each.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise

import networkx as nx
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

EDGE = re.compile(r"(\w+)(?:\[([^\]]*)\])?\s*-->(?:\|([^|]*)\|)?\s*(\w+)(?:\[([^\]]*)\])?")
CHARACTER, LINE, BOX, GAP, LAYER = 7.2, 18, 30, 36, 62  # pixels; a layer's arrows have their texts beside them


@dataclass
class Flowchart:
    """Boxes with texts, and edges with texts between them."""

    graph: nx.DiGraph = field(default_factory=nx.DiGraph)

    @classmethod
    def parse(cls, lines: list[str]) -> Flowchart:
        """Raises ValueError for a line that is none of the notation."""
        chart = cls()
        head, *edges = [line.strip() for line in lines if line.strip()]
        if not head.startswith(("flowchart", "graph")):
            raise ValueError(f"a flowchart is expected, not {head!r}")
        for line in edges:
            found = EDGE.fullmatch(line)
            if not found:
                raise ValueError(f"no edge of a flowchart: {line!r}")
            start, start_text, text, end, end_text = found.groups()
            for box, label in ((start, start_text), (end, end_text)):
                chart.graph.add_node(box)
                if label or "text" not in chart.graph.nodes[box]:
                    chart.graph.nodes[box]["text"] = label or box
            chart.graph.add_edge(start, end, text=text or "")
        return chart

    def layers(self) -> dict[str, int]:
        """The layer of each box: behind all that lead to it, and sources as late as they can be."""
        found: dict[str, int] = {}
        for box in nx.topological_sort(self.graph):
            found[box] = max((found[b] + 1 for b in self.graph.predecessors(box)), default=0)
        for box in found:
            if not self.graph.in_degree(box):
                found[box] = min((found[b] for b in self.graph.successors(box)), default=1) - 1
        return found


def rows_of(chart: Flowchart) -> tuple[list[list[str]], list[list[str]]]:
    """The boxes of each layer from left to right, with places of edges that pass through (`a>b@2`), and the edges as
    the chains of these."""
    layer = chart.layers()
    rows: list[list[str]] = [[] for _ in range(max(layer.values()) + 1)]
    for box in chart.graph.nodes:
        rows[layer[box]].append(box)
    chains = []
    for start, end in chart.graph.edges:
        between = [f"{start}>{end}@{level}" for level in range(layer[start] + 1, layer[end])]
        for level, place in enumerate(between, layer[start] + 1):
            rows[level].append(place)
        chains.append([start, *between, end])
    before: dict[str, list[str]] = {}
    for chain in chains:
        for one, other in pairwise(chain):
            before.setdefault(other, []).append(one)
    for upper, row in pairwise(rows):
        row.sort(key=lambda box: sum(map(upper.index, before.get(box, ()))) / max(1, len(before.get(box, ()))))
    return rows, chains


def svg(chart: Flowchart) -> str:
    """The picture, in the colour of the text around it."""
    rows, chains = rows_of(chart)
    texts = {box: data["text"] for box, data in chart.graph.nodes(data=True)}
    wide = {box: len(texts[box]) * CHARACTER + 24 if box in texts else 8.0 for row in rows for box in row}
    labels = {b: len(chart.graph.edges[a, b]["text"]) * CHARACTER for a, b in chart.graph.edges}
    room = {box: max(wide[box], 2 * labels.get(box, 0) / max(1, len(rows[0]))) for row in rows for box in row}
    width = max(sum(room[box] + GAP for box in row) for row in rows) + max(labels.values(), default=0) / 2
    place: dict[str, tuple[float, float]] = {}
    for level, row in enumerate(rows):
        left = (width - sum(room[box] + GAP for box in row) + GAP) / 2
        for box in row:
            place[box] = left + room[box] / 2, 20 + level * (BOX + LAYER)
            left += room[box] + GAP
    height = 40 + BOX + (len(rows) - 1) * (BOX + LAYER) - 10
    parts = [arrow(chain, place, chart.graph.edges[chain[0], chain[-1]]["text"]) for chain in chains]
    parts += [drawn_box(*place[box], wide[box], text) for box, text in texts.items()]
    said = "; ".join(f"{texts[a]} to {texts[b]}: {d['text']}" for a, b, d in chart.graph.edges(data=True))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(said)}" width="{width:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="sans-serif" font-size="13" '
        f'fill="currentColor" text-anchor="middle">{"".join(parts)}</svg>'
    )


def drawn_box(x: float, y: float, wide: float, text: str) -> str:
    return (
        f'<rect x="{x - wide / 2:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{BOX}" rx="6" fill="none" '
        f'stroke="currentColor"/><text x="{x:.1f}" y="{y + BOX / 2 + 5:.1f}">{escape(text)}</text>'
    )


def arrow(chain: list[str], place: dict[str, tuple[float, float]], text: str) -> str:
    """A line through the places of a chain, with a head, and its text beside the last part."""
    points = []
    for number, box in enumerate(chain):
        x, y = place[box]
        points += [(x, y)] if number else []
        points += [(x, y + BOX)] if number < len(chain) - 1 else []
    (x, y), (above, top) = points[-1], points[-2]
    line = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
    head = f"{x:.1f},{y:.1f} {x - 4:.1f},{y - 8:.1f} {x + 4:.1f},{y - 8:.1f}"
    middle, level = (x + above) / 2 + 8, (y + top) / 2 + 4
    label = f'<text x="{middle:.1f}" y="{level:.1f}" font-size="12" text-anchor="start">{escape(text)}</text>'
    return (
        f'<polyline points="{line}" fill="none" stroke="currentColor" stroke-opacity="0.7"/>'
        f'<polygon points="{head}" stroke="none"/>{label if text else ""}'
    )


class Mermaid(SphinxDirective):
    """A fenced block whose language is mermaid."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        try:
            picture = svg(Flowchart.parse(list(self.content)))
        except ValueError as error:
            raise self.error(str(error)) from None
        return [nodes.raw("", f'<div class="flowchart">{picture}</div>', format="html")]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("mermaid", Mermaid)
    return {"parallel_read_safe": True}
