"""What a built site must not have: lost links, outside files, pictures without a text.

A link to another site is a link that a reader chooses to follow; a script, style, font or picture
from another host would be asked for at once, and is an error.
"""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Attributes that make a browser fetch something by itself.
FETCHED = {
    ("script", "src"),
    ("img", "src"),
    ("link", "href"),
    ("iframe", "src"),
    ("source", "src"),
}
NOT_FETCHED = {"canonical", "index", "search", "next", "prev", "author"}  # rel of <link>


class PageParser(HTMLParser):
    """Collects what one page links to, fetches, shows and is headed by."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.fetches: list[str] = []
        self.ids: set[str] = set()
        self.pictures: list[dict[str, str | None]] = []
        self.headings: list[int] = []
        self.language: str | None = None
        self._in_article = False  # the theme repeats the title outside, for printing

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if values.get("id"):
            self.ids.add(str(values["id"]))
        self._in_article |= tag == "article"
        if tag == "html":
            self.language = values.get("lang")
        if tag == "a" and values.get("href"):
            self.links.append(str(values["href"]))
        if tag == "img":
            self.pictures.append(values)
        if self._in_article and len(tag) == 2 and tag[0] == "h" and tag[1].isdigit():
            self.headings.append(int(tag[1]))
        for name, value in values.items():
            rel = set((values.get("rel") or "").split())
            if (tag, name) in FETCHED and value and not (tag == "link" and rel & NOT_FETCHED):
                self.fetches.append(value)

    def handle_endtag(self, tag: str) -> None:
        if tag == "article":
            self._in_article = False


def parse(path: Path) -> PageParser:
    """Read one page."""
    parser = PageParser()
    parser.feed(path.read_text(encoding="utf-8"))
    return parser


def problems_of(site: Path) -> list[str]:
    """Everything that is wrong on the pages of a site, a line each.

    Raises:
        ValueError: if there is no page.
    """
    files = [p for p in sorted(site.rglob("*.html")) if "_static" not in p.relative_to(site).parts]
    pages = {path.resolve(): parse(path) for path in files}
    if not pages:
        raise ValueError(f"no page under {site}")
    found = []
    for path, page in pages.items():
        where = path.relative_to(site.resolve())
        lines = [*_links(path, page, pages), *_fetches(path, page)]
        lines += [] if path.name == "search.html" else _for_all(page)
        found += [f"{where}: {line}" for line in lines]
    return found


def _links(path: Path, page: PageParser, pages: dict[Path, PageParser]) -> list[str]:
    found = []
    for link in page.links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if not target.exists():
            found.append(f"a link to {link}, which is not there")
        elif parts.fragment and target in pages and parts.fragment not in pages[target].ids:
            found.append(f"a link to {link}: the page has no such place")
    return found


def _fetches(path: Path, page: PageParser) -> list[str]:
    found = []
    for address in page.fetches:
        parts = urlsplit(address)
        if parts.scheme == "data":
            continue
        if parts.scheme or parts.netloc:
            found.append(f"{address} is fetched from another host")
        elif not (path.parent / unquote(parts.path)).exists():
            found.append(f"{address} is not there")
    return found


def _for_all(page: PageParser) -> list[str]:
    """Language, one main heading, headings in order, a text for each picture."""
    found = [] if page.language else ["the page does not say its language"]
    for before, after in zip(page.headings, page.headings[1:], strict=False):
        if after > before + 1:
            found.append(f"a heading of level {after} follows one of level {before}")
    if page.headings.count(1) != 1:
        found.append(f"{page.headings.count(1)} main headings")
    for picture in page.pictures:
        alt = picture.get("alt")
        if alt is None or (not alt.strip() and picture.get("role") != "presentation"):
            found.append(f"a picture without a text: {picture.get('src', '?')[:60]}")  # type: ignore[index]
        elif "image/png" in alt or alt.endswith((".png", ".svg")):
            found.append(f"a picture with no text but its file's name: {alt}")
    return found
