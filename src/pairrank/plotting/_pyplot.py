"""matplotlib's pyplot, imported when something is drawn."""

from __future__ import annotations

from typing import Any


def pyplot_or_remedy() -> Any:
    """Return matplotlib's pyplot, or say how to install it."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            "plots need matplotlib, which is not installed: pip install 'pairrank[plot]'"
        ) from error
    return pyplot
