"""What the displays share."""

from __future__ import annotations

from typing import Any

STRENGTHS = ("alpha", "C", "nu")
"""The parameters that set how strongly a ranker is regularised; each ranker has one."""


def pyplot_of() -> Any:
    """Return matplotlib's pyplot, or say how to install it."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            "plots need matplotlib, which is not installed: pip install 'pairrank[plot]'"
        ) from error
    return pyplot
