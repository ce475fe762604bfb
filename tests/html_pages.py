"""Checks of HTML for tests: balanced tags, unique ids, labelled pictures, nothing loaded."""

from __future__ import annotations

import re
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "hr", "img", "input"}
LOADING = {"src", "href", "srcset", "data", "action", "poster", "xlink:href"}


class Page(HTMLParser):
    """Reads a page and collects what the checks ask for."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.faults: list[str] = []
        self.ids: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()
        self.faults += [f"<{tag}> is not closed" for tag in self.open]
        self.faults += [f"id {one} is repeated" for one in self.ids if self.ids.count(one) > 1]

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.tags.append((tag, found))
        if "id" in found:
            self.ids.append(found["id"])
        if tag == "th" and found.get("scope") not in ("row", "col"):
            self.faults.append("<th> has no scope")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> closes another element")

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.text.append(data)

    def named(self, tag: str) -> list[dict[str, str | None]]:
        """Return the attributes of all elements with a tag."""
        return [attributes for name, attributes in self.tags if name == tag]

    @property
    def shown(self) -> str:
        """The text of the page, with single spaces."""
        return " ".join(" ".join(self.text).split())


def loaded_from_elsewhere(text: str) -> list[str]:
    """Return what a browser would fetch: addresses in attributes and styles, and scripts."""
    page = Page(text)
    found = [
        value
        for _, attributes in page.tags
        for name, value in attributes.items()
        if name in LOADING and value and not value.startswith(("data:", "#"))
    ]
    found += re.findall(r"url\([^)]*\)|@import[^;]*", text)
    return found + ["script" for _ in page.named("script")]
