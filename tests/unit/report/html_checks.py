"""What holds of every report: well-formed HTML whose anchors exist once and are found, and which loads nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "br", "hr", "img", "input", "link", "wbr"}
PHRASING_ONLY = {"p", "h1", "h2", "summary", "caption", "pre", "span", "code", "a", "dt", "strong", "i"}
BLOCKS = {"p", "div", "ul", "ol", "li", "table", "tr", "td", "th", "pre", "section", "article", "details", "dl", "h2"}
CHILDREN = {"ul": {"li"}, "ol": {"li"}, "tr": {"td", "th"}, "tbody": {"tr"}, "thead": {"tr"}, "dl": {"div"}}
STYLED = {"style", "fill", "stroke", "clip-path", "mask", "filter", "marker-end", "marker-start"}
LOADING = {"script", "link", "iframe", "object", "embed", "base", "form", "video", "audio", "source"}


@dataclass
class Html(HTMLParser):
    """Reads a text and keeps what is wrong with it."""

    text: str
    open_tags: list[str] = field(default_factory=list)
    identifiers: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    styles: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.feed(self.text)
        self.close()
        self.problems += [f"{tag} is not closed" for tag in self.open_tags]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._place(tag)
        for name, value in attrs:
            self._attribute(tag, name, value or "")
        if len({name for name, _ in attrs}) != len(attrs):
            self.problems.append(f"an attribute of {tag} stands twice")
        if tag not in VOID:
            self.open_tags.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if "svg" not in self.open_tags:
            self.problems.append(f"{tag} closes itself")
        for name, value in attrs:
            self._attribute(tag, name, value or "")

    def _place(self, tag: str) -> None:
        parent = self.open_tags[-1] if self.open_tags else ""
        if "svg" in self.open_tags:
            return
        if tag in BLOCKS and parent in PHRASING_ONLY:
            self.problems.append(f"{tag} in {parent}")
        if parent in CHILDREN and tag not in CHILDREN[parent]:
            self.problems.append(f"{tag} in {parent}")
        if tag in LOADING:
            self.problems.append(f"{tag} loads or runs something")

    def _attribute(self, tag: str, name: str, value: str) -> None:
        if name in STYLED:
            self.styles.append(value)
        if name == "id":
            self.identifiers.append(value)
        if name == "href" and value.startswith("#"):
            self.targets.append(value[1:])
        elif name in ("href", "src", "xlink:href", "action", "srcset") and not value.startswith("data:image/"):
            self.problems.append(f"{tag} {name}={value}")
        if name.startswith("on"):
            self.problems.append(f"{tag} runs {name}")

    def handle_endtag(self, tag: str) -> None:
        if not self.open_tags or self.open_tags[-1] != tag:
            self.problems.append(f"</{tag}> closes {self.open_tags[-1:]}")
            return
        self.open_tags.pop()

    def handle_data(self, data: str) -> None:
        (self.styles if "style" in self.open_tags else self.shown).append(data)

    def unknown_decl(self, data: str) -> None:
        self.problems.append(f"a declaration: {data}")

    @property
    def words(self) -> str:
        """All that is shown."""
        return "".join(self.shown)


def checked(text: str) -> Html:
    """A page that is as it must be."""
    page = Html(text)
    page.problems += [f"#{name} is nowhere" for name in page.targets if name not in set(page.identifiers)]
    twice = {name for name in page.identifiers if page.identifiers.count(name) > 1} if page.identifiers else set()
    assert not page.problems and not twice, (page.problems[:5], sorted(twice)[:5])
    assert not any(re.search(r"@import|\burl\(\s*[\"']?(?!#)", style) for style in page.styles), "styles load nothing"
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]", text), "characters that no page has"
    text.encode()
    return page
