"""What the displays share."""

from __future__ import annotations

from typing import Any

from pairrank._extras import require

STRENGTHS = ("alpha", "C", "nu")
"""The parameters that set how strongly a ranker is regularised; each ranker has one."""


def pyplot_of() -> Any:
    """Return matplotlib's pyplot, or say how to install it."""
    return require("matplotlib.pyplot", "plot", "plots")
