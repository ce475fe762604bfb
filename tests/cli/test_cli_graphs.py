"""--graph at the command line: full, chain, and edges between labels."""

from __future__ import annotations

import numpy as np
import pytest

from pairrank import OrderGraph
from pairrank.cli._graphs import graph_of, read_graph
from pairrank.exceptions import PairrankError


def test_edges_become_a_graph_of_the_labels_kind():
    numbers, words = np.array([0.0, 1.0]), np.array(["0", "1"])
    assert graph_of(read_graph("0<1<2,0<5"), numbers) == OrderGraph([(0, 1), (1, 2), (0, 5)])
    assert graph_of(read_graph(" -1 < 1e1 "), numbers) == OrderGraph([(-1, 10)])
    assert graph_of(read_graph("0<1"), words) == OrderGraph([("0", "1")])
    assert graph_of(read_graph("so so<é"), words) == OrderGraph([("so so", "é")])
    assert graph_of(read_graph("chain"), numbers) == "chain"
    with pytest.raises(PairrankError, match="'x', but the labels are numbers"):
        graph_of(read_graph("0<x"), numbers)
    with pytest.raises(PairrankError, match="which is not a label"):
        graph_of(read_graph("0<nan"), numbers)
