"""RankNet inside: batches of an epoch, sampled pairs, options of the command line."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

pytestmark = pytest.mark.extras
pytest.importorskip("torch.nn", reason="needs torch: make test-extras")

from pairrank.exceptions import PairrankError  # noqa: E402
from pairrank.losses import Logistic  # noqa: E402
from pairrank.pair_sums import bind  # noqa: E402
from pairrank.preferences import Levels  # noqa: E402
from pairrank.torch.rank_net_training import sampled, shuffled, whole  # noqa: E402
from strategies import problems_with_roles  # noqa: E402


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 12))
    y = np.digitize(X[:, 0] - X[:, 1] ** 2 + rng.normal(size=300), [-2.0, -0.5, 0.5]).astype(float)
    return X, y, np.repeat(np.arange(30), 10)


def summed(batch, scores):
    """Return the factor times the logistic sum of a batch at the scores of all rows."""
    if not batch.preferences.n_pairs:
        return 0.0
    own = scores if batch.rows is None else scores[batch.rows]
    bound = bind(Logistic(), batch.preferences, pair_sum="direct")
    return batch.factor * bound.at(np.ascontiguousarray(own)).value


def preferences_of(problem, reduction):
    levels = Levels.build(
        problem.y,
        problem.qid,
        graph=problem.graph,
        sample_weight=problem.weight,
        winner_weight=problem.winner,
        loser_weight=problem.loser,
    )
    return levels.reduced(reduction) if levels.n_pairs else None


@given(problem=problems_with_roles())
@pytest.mark.filterwarnings("ignore:the order graph names labels")
def test_the_batches_of_an_epoch_add_up_to_every_pair(problem):
    scores = np.random.default_rng(0).normal(size=problem.y.size)
    for reduction in ("sum", "query"):
        try:
            levels = preferences_of(problem, reduction)
        except PairrankError:
            return
        if levels is None:
            return
        wanted = bind(Logistic(), levels, pair_sum="direct").at(scores).value
        assert summed(whole(levels), scores) == pytest.approx(wanted, rel=1e-12)
        generator = np.random.default_rng(1)
        epochs = shuffled(levels, 3, generator)
        for _ in range(2):
            batches = list(next(epochs))
            factors = {batch.factor for batch in batches}
            assert factors == {float(len(batches))}
            total = sum(summed(batch, scores) for batch in batches) / len(batches)
            assert total == pytest.approx(wanted, rel=1e-12)


def test_sampled_pairs_estimate_the_sum_over_every_pair(rows):
    _, y, qid = rows
    rng = np.random.default_rng(0)
    levels = Levels.build(y, qid, sample_weight=rng.uniform(0.5, 2.0, y.size)).reduced("query")
    scores = rng.normal(size=y.size)
    wanted = bind(Logistic(), levels).at(scores).value
    batches = list(next(sampled(levels, 50, np.random.default_rng(1), 300)))
    assert [batch.preferences.n_pairs for batch in batches] == [50] * 6
    epochs = sampled(levels, 5000, np.random.default_rng(2), 5000)
    estimates = [summed(next(next(epochs)), scores) for _ in range(20)]
    # The mean of 20 estimates is within 5 standard errors of the sum but once in a million times.
    error = np.std(estimates, ddof=1) / np.sqrt(20)
    assert abs(np.mean(estimates) - wanted) < 6 * error
