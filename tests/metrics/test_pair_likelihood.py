"""The log-loss of pairs against its definition, over labels, comparisons and probabilities."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from definitions import preferences_of
from pairrank import OrderGraph
from pairrank.exceptions import PairrankWarning
from pairrank.metrics import pairwise_log_loss

pytestmark = pytest.mark.numeric

GRAPHS = ["full", "chain", OrderGraph([(0.0, 1.0), (0.0, 3.0)])]


def drawn(seed, n_rows=30):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n_rows).astype(float)
    return y, 3.0 * rng.normal(size=n_rows), rng.integers(0, 3, n_rows), rng.integers(0, 3, n_rows)


@pytest.mark.parametrize("graph", GRAPHS, ids=["full", "chain", "edges"])
@given(
    seed=st.integers(0, 50),
    weighing=st.sampled_from([(), ("sample_weight",), ("winner_weight", "loser_weight")]),
)
def test_each_query_has_the_loss_of_its_own_preferences(graph, seed, weighing):
    y, scores, qid, _ = drawn(seed)
    rng = np.random.default_rng(seed)
    sides = {name: rng.integers(0, 3, y.size).astype(float) for name in weighing}
    own = sides.get("sample_weight", np.ones(y.size))
    wins, loses = (own * sides.get(f"{role}_weight", 1.0) for role in ("winner", "loser"))
    rows = np.flatnonzero(wins + loses)  # the others are dropped before levels are compared
    losses, weights = np.zeros((2, 3))
    for i, j in preferences_of(y[rows], qid[rows], graph):
        i, j = rows[i], rows[j]
        losses[qid[i]] += wins[i] * loses[j] * np.log1p(np.exp(scores[j] - scores[i]))
        weights[qid[i]] += wins[i] * loses[j]
    wanted = {q: losses[q] / weights[q] for q in np.flatnonzero(weights).tolist()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PairrankWarning)
        found = pairwise_log_loss(y, scores, graph=graph, qid=qid, per_query=True, **sides)
    assert found == pytest.approx(wanted, rel=1e-9)
