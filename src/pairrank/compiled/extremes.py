"""The least and the greatest of some scores, eight at once."""

from __future__ import annotations

from pairrank.compiled._jit import compiled
from pairrank.compiled._lane_series import LANES, ends_by_lane


@compiled
def ends(scores, lanes):
    """Return the least and the greatest score; there are some whole vectors.

    lanes (2 * LANES,) is scratch memory.
    """
    ends_by_lane(scores, len(scores), lanes)
    least, greatest = lanes[0], lanes[LANES]
    for lane in range(1, LANES):
        least, greatest = min(least, lanes[lane]), max(greatest, lanes[LANES + lane])
    return least, greatest
