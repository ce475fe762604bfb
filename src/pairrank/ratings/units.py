"""Units of scores: what they are multiplied by, and where they are anchored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank import _validation as validation
from pairrank.exceptions import PairrankError
from pairrank.preferences.names import shown

_ELO_SCALE, _ELO_ANCHOR = 400.0 / float(np.log(10.0)), 1000.0


class Units(NamedTuple):
    """The factor of scores; the score of an item, or (place None) the mean of all."""

    scale: float
    anchor: float
    place: int | None


def units_of(scale: Any, anchor: Any, items: NDArray[Any]) -> Units:
    """Return checked units: `scale` a number or "elo", `anchor` None, a number or {item: number}.

    "elo" is 400/log 10, about 1000.
    """
    is_elo = isinstance(scale, str) and scale == "elo"
    if isinstance(scale, str) and not is_elo:
        raise PairrankError(f'scale must be a number or "elo" (got {scale!r})')
    if not is_elo:
        validation.check_number(scale, "scale")
    factor = _ELO_SCALE if is_elo else float(scale)
    if anchor is None:
        return Units(factor, _ELO_ANCHOR if is_elo else 0.0, None)
    if not isinstance(anchor, Mapping):
        validation.check_number(anchor, "anchor", low=-np.inf)
        return Units(factor, float(anchor), None)
    if len(anchor) != 1:
        raise PairrankError(f"anchor must name one item (got {dict(anchor)!r})")
    ((name, value),) = anchor.items()
    validation.check_number(value, "anchor", low=-np.inf)
    places = [place for place, item in enumerate(items.tolist()) if item == name]
    if not places:
        raise PairrankError(f"anchor names {shown(name)}, which no comparison names")
    return Units(factor, float(value), places[0])
