"""Who is preferred to whom: Levels and OrderGraph against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from pairrank import OrderGraph
from pairrank.exceptions import PairrankError


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([(0, 1), (1, 2), (2, 0)], "cycle: 0 < 1 < 2 < 0"),
        ([(0, 1), (1, 0)], "cycle"),
        ([(1, 1)], "joins 1 with itself"),
        ([], "at least one edge"),
        ([(0, 1, 2)], "a pair"),
        (["ab"], "a pair"),
        (3, "made of edges"),
        ("ab", "made of edges"),
        ([(float("nan"), 1)], r"nan, 1\).*not a label"),
        ([(1, np.float64("nan"))], "not a label"),
        ([(0, [1])], r"ends in \[1\].*not a label"),
        ([(0, np.array([1, 2]))], "not a label"),
        ([({}, 1)], "not a label"),
        ([(0, (1, []))], "not a label"),
    ],
)
def test_a_graph_that_is_none_is_refused(edges, message):
    with pytest.raises(PairrankError, match=message):
        OrderGraph(edges)
