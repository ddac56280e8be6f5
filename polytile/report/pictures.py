"""Pictures inside a page: SVG files as elements of HTML, whose identifiers meet none of another picture's.

before: <svg xmlns="..." width="40" height="30"><clipPath id="tile">..</clipPath><path clip-path="url(#tile)"/></svg>
after:  <svg viewBox="0 0 40 30" ..><clipPath id="p1-tile">..</clipPath><path clip-path="url(#p1-tile)"/></svg>

One with a style sheet, which would hold of the whole page, becomes an image.
"""

from __future__ import annotations

import re
from base64 import b64encode

from markupsafe import Markup

MOST_CHARACTERS = 400_000  # of a picture
_NAMESPACE = re.compile(r'\s+xmlns(?::\w+)?="[^"]*"')
_PROLOGUE = re.compile(r"^\s*(?:<\?xml.*?\?>|<!DOCTYPE[^>]*>|<!--.*?-->|\s)*", re.DOTALL)
_IDENTIFIER = re.compile(r"""(\s(?:id|aria-labelledby|aria-describedby)=["'])([^"']+)(["'])""")
_TARGET = re.compile(r"""(\s(?:xlink:)?href=["']|url\(["']?)#""")
_ROOT = re.compile(r"<svg\b[^>]*>")
_SIZE = re.compile(r'\s(width|height)="([0-9.]+)(?:px)?"')
_STYLE = re.compile(r"<style\b")


def inlined(svg: str, name: str) -> Markup:
    """Return the SVG element, whose identifiers begin with `name`; empty where there is no picture, or one that is too
    large."""
    text = _PROLOGUE.sub("", svg, count=1).strip()
    if not text.startswith("<svg") or len(text) > MOST_CHARACTERS:
        return Markup("")
    if _STYLE.search(text):
        data = b64encode(text.encode()).decode()
        return Markup(f'<img src="data:image/svg+xml;base64,{data}" alt="the iteration space and its tiles">')
    text = _NAMESPACE.sub("", text)
    text = _IDENTIFIER.sub(lambda found: f"{found[1]}{_renamed(found[2], name)}{found[3]}", text)
    text = _TARGET.sub(rf"\1#p{name}-", text)
    return Markup(_ROOT.sub(_scaled, text, count=1))


def _renamed(names: str, prefix: str) -> str:
    return " ".join(f"p{prefix}-{name}" for name in names.split())


def _scaled(root: re.Match[str]) -> str:
    """Rewrite a root without a size but with proportions: it is as wide as there is room, and no wider than it was
    drawn."""
    sizes = {found[1]: found[2] for found in _SIZE.finditer(root[0])}
    if len(sizes) < 2:
        return root[0]
    box = "" if "viewBox" in root[0] else f' viewBox="0 0 {sizes["width"]} {sizes["height"]}"'
    return f'{_SIZE.sub("", root[0])[:-1]}{box} style="max-width:{sizes["width"]}px">'
