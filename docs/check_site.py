"""Checks a built site: no link is broken, and no page asks another host for anything.

Run `python docs/check_site.py docs/_build/html`.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {
    "audio": "src", "embed": "src", "iframe": "src", "img": "src", "input": "src", "object": "data",
    "script": "src", "source": "src", "track": "src", "video": "src",
}  # fmt: skip
LOADED_LINKS = {
    "stylesheet",
    "icon",
    "preload",
    "prefetch",
    "preconnect",
    "dns-prefetch",
    "manifest",
}
_STYLE_URL = re.compile(r"""(?:url\(\s*['"]?|@import\s+['"])\s*((?:https?:)?//[^'")\s]+)""")


class Page(HTMLParser):
    """What one page loads, what it links to, and the identifiers that can be linked to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.identifiers: set[str] = set()
        self.feed(text)
        self.loads += _STYLE_URL.findall(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the addresses and identifiers of a tag."""
        has = {name: value or "" for name, value in attrs}
        self.identifiers |= {has[name] for name in ("id", "name") if name in has}
        if has.get(LOADED.get(tag, "")):
            self.loads.append(has[LOADED[tag]])
        self.loads += [part.split()[0] for part in has.get("srcset", "").split(",") if part.strip()]
        if tag == "link" and LOADED_LINKS & set(has.get("rel", "").split()):
            self.loads.append(has.get("href", ""))
        if tag == "a" and "href" in has:
            self.links.append(has["href"])


def is_foreign(address: str) -> bool:
    """Whether an address is on another host."""
    return bool(urlsplit(address).netloc)


def foreign_loads(text: str) -> list[str]:
    """Return the addresses on other hosts that a page, or a style sheet, asks for."""
    return [address for address in Page(text).loads if is_foreign(address)]


def broken_links(pages: dict[Path, Page], page: Path) -> list[str]:
    """Return the addresses of a page to files or places that do not exist."""
    found = []
    for address in {*pages[page].links, *pages[page].loads}:
        parts = urlsplit(address)
        if parts.scheme or parts.netloc:
            continue
        target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
        place = unquote(parts.fragment)
        missing = not target.exists()
        if not missing and place and target in pages:
            missing = place not in pages[target].identifiers
        if missing:
            found.append(address)
    return found


def complaints(folder: Path) -> list[str]:
    """Return what is wrong with a built site, a line each."""
    paths = [path for path in folder.rglob("*.html") if "_static" not in path.parts]
    pages = {path.resolve(): Page(path.read_text(encoding="utf-8")) for path in paths}
    found = [] if pages else [f"{folder}: there are no pages"]
    for path, page in sorted(pages.items()):
        asked = [address for address in page.loads if is_foreign(address)]
        found += [f"{path.name} asks another host for {address}" for address in asked]
        found += [f"{path.name} has a broken link: {each}" for each in broken_links(pages, path)]
    for path in sorted(folder.rglob("*.css")):
        text = path.read_text(encoding="utf-8")
        asked = [each for each in _STYLE_URL.findall(text) if is_foreign(each)]
        found += [f"{path.name} asks another host for {address}" for address in asked]
    return found


if __name__ == "__main__":
    wrong = complaints(Path(sys.argv[1]))
    print("\n".join(wrong) or "docs: no broken link, and no page asks another host for anything")
    sys.exit(bool(wrong))
