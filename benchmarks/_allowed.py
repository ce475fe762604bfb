"""What a machine allows: work in the processor's cache, and work that only reads memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from pairrank import threads

_IN_CACHE, _STEPS = 4096, 1000
_NUMBERS_READ = 1 << 16


def computing(n_items: int) -> None:
    """Compute sines in the processor's cache: items for threads to share."""

    def compute(_: int) -> None:
        numbers = np.linspace(0.0, 1.0, _IN_CACHE)
        found = np.empty(_IN_CACHE)
        for _ in range(_STEPS):
            np.sin(numbers, out=found)

    threads.run(compute, range(n_items))


def reading(values: Any) -> None:
    """Find the greatest of an array's numbers, in blocks that threads share."""
    flat = values.reshape(-1)
    threads.run(lambda part: flat[part].max(), threads.blocks(flat.size, _NUMBERS_READ))
