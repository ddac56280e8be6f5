"""What the pages of a built site point to: every relative link, picture, script and style, with its anchor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

RESOURCES = {"img": "src", "script": "src", "iframe": "src", "link": "href", "source": "src", "embed": "src"}


@dataclass
class Page(HTMLParser):
    """The anchors of a page, its links, and what a browser loads to show it."""

    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    resources: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if "href" in values:
            self.links.append(values["href"])
        if values.get(RESOURCES.get(tag, "")):
            self.resources.append(values[RESOURCES[tag]])


def read(file: Path) -> Page:
    page = Page()
    page.feed(file.read_text())
    return page


def broken(site: Path) -> Iterator[str]:
    """Links within the site whose file or anchor is missing, and resources from elsewhere."""
    pages = {file.resolve(): read(file) for file in sorted(site.rglob("*.html"))}
    for file, page in pages.items():
        here = file.relative_to(site.resolve())
        for link in {*page.links, *page.resources}:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in page.resources and parts.scheme != "data":
                    yield f"{here} loads {link}"
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            if not target.is_file():
                yield f"{here}: no file for {link}"
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                yield f"{here}: no anchor for {link}"
