"""Pictures as SVG for pages: colours of the page's style, unique ids, nothing to load."""

from __future__ import annotations

import html
import io
import re
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from pairrank._extras import require

WIDTH = 420.0
LONGEST_NAME = 22

COLOURS = {
    "first": "#2f6fb0", "second": "#c2571a", "minus": "#b4485e", "muted": "#586069",
    "text": "#1c2127",
}  # fmt: skip
"""The variables of the page's style, and what stands for each while matplotlib draws."""

_STYLE = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.family": "DejaVu Sans",
    "font.size": 10.5,
    "figure.frameon": False,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    **dict.fromkeys(("xtick.major.size", "ytick.major.size"), 0),
    **dict.fromkeys(("axes.edgecolor", "axes.labelcolor"), COLOURS["muted"]),
}
_NEEDLESS = re.compile(r"</?g\b[^>]*>|(?<=\.\d)\d+(?=[^<>]*>)")
"""What is left out: groups, whose ids other pictures have too, and further decimals in tags."""


class Picture(NamedTuple):
    """A drawing as an SVG element; `title` describes it for readers who do not see it."""

    title: str
    svg: str


def matplotlib_of() -> Any:
    """Return matplotlib with its figures, or say how to install it."""
    require("matplotlib.figure", "report", "reports")
    return require("matplotlib", "report", "reports")


def picture(name: str, title: str, height: float, draw: Callable[[Any], Any]) -> Picture:
    """Return what a function draws on axes, `WIDTH` wide; `name` is the id of its title."""
    matplotlib = matplotlib_of()
    file = io.StringIO()
    with matplotlib.rc_context({**_STYLE, "svg.hashsalt": name}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")
        size = WIDTH / 72, height / 72
        figure = matplotlib.figure.Figure(figsize=size, layout="constrained")
        axes = figure.subplots()
        draw(axes)
        axes.locator_params(axis="x", nbins=6)
        for artist in axes.findobj():
            artist.set_clip_on(False)
        metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(file, format="svg", metadata=metadata)
    drawn = _NEEDLESS.sub("", file.getvalue().partition("<svg")[2].partition(">")[2])
    for variable, colour in COLOURS.items():
        drawn = drawn.replace(f": {colour}", f": var(--{variable})")
    head = f'<svg role="img" aria-labelledby="{name}" viewBox="0 0 {WIDTH:g} {height:g}">'
    titled = f'{head}<title id="{name}">{html.escape(title)}</title>'
    return Picture(title, titled + " ".join(drawn.split()))


def short(name: str) -> str:
    """Return a name, cut where it is too long for a picture."""
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
