"""SVG as text: elements in the order in which they are painted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from xml.sax.saxutils import escape, quoteattr

from polytile.dataclass import dataclass

SPACE = "http://www.w3.org/2000/svg"
FONT = "Helvetica, Arial, sans-serif"
CHARACTER = 0.56  # the mean width of a character, in font sizes


def number(value: float) -> str:
    """Print at most two decimals, and none that are 0."""
    return f"{round(value + 0.0, 2):.2f}".rstrip("0").rstrip(".")


@dataclass(slots=True)
class Svg:
    """A picture: collects elements."""

    title: str
    description: str
    width: float = 0.0
    height: float = 0.0
    elements: list[str] = field(default_factory=list)

    def add(self, name: str, **attributes: object) -> None:
        """Add an element; `_` in the names of attributes stands for `-`."""
        self.elements.append(f"<{name} {_spelt(attributes)}/>")

    def begin(self, name: str, **attributes: object) -> None:
        """Begin an element around those that follow, up to its `end`."""
        self.elements.append(f"<{name} {_spelt(attributes)}>")

    def end(self, name: str) -> None:
        self.elements.append(f"</{name}>")

    def tip(self, text: str) -> None:
        """Set what a browser shows where a mouse is over the element that was begun."""
        self.elements.append(f"<title>{escape(text)}</title>")

    def path(self, data: str, **attributes: object) -> None:
        if data:
            self.elements.append(f"<path {_spelt({'d': data, **attributes})}/>")

    def label(self, x: float, y: float, text: str, **attributes: object) -> None:
        place = _spelt({"x": x, "y": y, **attributes})
        self.elements.append(f"<text {place}>{escape(text)}</text>")

    def lines(self, y: float = 0.0) -> list[str]:
        """Return the element of the whole picture, line by line; `y` is where it stands in another."""
        size = f'width="{number(self.width)}" height="{number(self.height)}"'
        place = f' y="{number(y)}"' if y else ""
        box = f'viewBox="0 0 {number(self.width)} {number(self.height)}"'
        head = f'<svg xmlns="{SPACE}"{place} {size} {box} font-family="{FONT}" font-size="11" role="img">'
        words = [f"<title>{escape(self.title)}</title>", f"<desc>{escape(self.description)}</desc>"]
        return [head, *words, *self.elements, "</svg>"]


def document(pictures: Sequence[Svg]) -> str:
    """Return the text of a file: pictures beneath each other."""
    if len(pictures) == 1:
        return "\n".join([*pictures[0].lines(), ""])
    width, height = max(p.width for p in pictures), sum(p.height for p in pictures)
    lines = [f'<svg xmlns="{SPACE}" width="{number(width)}" height="{number(height)}">']
    y = 0.0
    for picture in pictures:
        lines += picture.lines(y)
        y += picture.height
    return "\n".join([*lines, "</svg>", ""])


def _spelt(attributes: Mapping[str, object]) -> str:
    return " ".join(f"{key.replace('_', '-')}={quoteattr(_value(value))}" for key, value in attributes.items())


def _value(value: object) -> str:
    return number(value) if isinstance(value, int | float) else str(value)


def width_of(text: str, size: float = 11) -> float:
    """Estimate how wide a text is."""
    return len(text) * size * CHARACTER
