"""RankNet inside: batches of an epoch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

pytestmark = pytest.mark.extras
pytest.importorskip("torch.nn", reason="needs torch: make test-extras")

from pairrank.losses import Logistic  # noqa: E402
from pairrank.pair_sums import bind  # noqa: E402
from pairrank.torch.rank_net_training import shuffled, whole  # noqa: E402
from strategies import problems_with_roles  # noqa: E402
from sum_table import levels_of  # noqa: E402


def summed(batch, scores):
    """Return the factor times the logistic sum of a batch at the scores of all rows."""
    if not batch.preferences.n_pairs:
        return 0.0
    own = scores if batch.rows is None else scores[batch.rows]
    bound = bind(Logistic(), batch.preferences, pair_sum="direct")
    return batch.factor * bound.at(np.ascontiguousarray(own)).value


@given(problem=problems_with_roles())
def test_the_batches_of_an_epoch_add_up_to_every_pair(problem):
    scores = np.random.default_rng(0).normal(size=problem.y.size)
    for reduction in ("sum", "query"):
        levels = levels_of(problem, reduction)
        if not levels.n_pairs:
            return
        wanted = bind(Logistic(), levels, pair_sum="direct").at(scores).value
        assert summed(whole(levels), scores) == pytest.approx(wanted, rel=1e-12)
        generator = np.random.default_rng(1)
        epochs = shuffled(levels, max(1, levels.n_queries // 3), generator)
        for _ in range(2):
            batches = list(next(epochs))
            factors = {batch.factor for batch in batches}
            assert factors == {float(len(batches))}
            total = sum(summed(batch, scores) for batch in batches) / len(batches)
            assert total == pytest.approx(wanted, rel=1e-12)
