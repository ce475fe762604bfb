"""Partial AUC: pairs of every winner with the highest-scored losers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytestmark = pytest.mark.extras
pytest.importorskip("torch.nn", reason="needs torch: make test-extras")

import torch  # noqa: E402
from sklearn.metrics import auc, roc_curve  # noqa: E402

from pairrank import Pairs  # noqa: E402
from pairrank.exceptions import PairrankError  # noqa: E402
from pairrank.losses import Logistic  # noqa: E402
from pairrank.torch import all_pairs_loss, partial_auc_loss  # noqa: E402


def slow_mean(scores, labels, qid, weight, winner, loser, max_fpr) -> tuple[float, float]:
    """Return the sum over counted pairs of their weighted costs, and of their weights."""
    total = weighed = 0.0
    for query in np.unique(qid):
        here = np.flatnonzero(qid == query)
        levels = np.unique(labels[here][(weight * np.maximum(winner, loser))[here] > 0.0])
        if levels.size < 2:
            continue
        low = [row for row in here if labels[row] == levels[0]]
        high = [row for row in here if labels[row] == levels[1]]
        left = max_fpr * sum(weight[row] * loser[row] for row in low)
        for j in sorted(low, key=lambda row: -scores[row]):
            part = min(left, weight[j] * loser[j])
            left -= part
            for i in high:
                cost = float(Logistic().phi(np.array([scores[i] - scores[j]]))[0])
                total += weight[i] * winner[i] * part * cost
                weighed += weight[i] * winner[i] * part
    return total, weighed


@pytest.mark.parametrize("backend", ["compiled", "torch"])
@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(1, 30),
    max_fpr=st.sampled_from((0.05, 0.3, 0.5, 1.0)),
    weighted=st.booleans(),
)
def test_value_is_that_of_the_double_loop(backend, seed, n_rows, max_fpr, weighted):
    generator = np.random.default_rng(seed)
    scores, labels = generator.normal(size=n_rows), generator.integers(0, 2, n_rows)
    qid = generator.integers(0, 3, n_rows)
    weights = np.ones((3, n_rows))
    if weighted:
        weights = generator.exponential(size=(3, n_rows)) * (generator.random((3, n_rows)) < 0.9)
    total, weighed = slow_mean(scores, labels, qid, *weights, max_fpr)
    names = ("sample_weight", "winner_weight", "loser_weight")
    found = partial_auc_loss(
        torch.tensor(scores), labels, qid, max_fpr=max_fpr, backend=backend, eps=1e-12,
        **dict(zip(names, weights, strict=True)),
    )  # fmt: skip
    wanted = total / weighed if weighed else 0.0
    np.testing.assert_allclose(float(found), wanted, rtol=1e-9, atol=1e-11)


class Wrong:
    """1 for a pair in the wrong order, one half for a tie."""

    smooth = False

    def phi(self, d, magnitude=0.0, order=0):
        return (d < 0) + 0.5 * (d == 0) if order == 0 else np.zeros_like(d)


@pytest.mark.parametrize("max_fpr", [0.13, 0.5, 1.0])
def test_the_mean_of_wrong_pairs_is_the_area_under_the_curve(max_fpr):
    generator = np.random.default_rng(0)
    scores, labels = generator.normal(size=200), generator.integers(0, 2, 200)
    found = partial_auc_loss(torch.tensor(scores), labels, max_fpr=max_fpr, loss=Wrong())
    fpr, tpr, _ = roc_curve(labels, scores, drop_intermediate=False)
    inside = fpr < max_fpr
    area = auc([*fpr[inside], max_fpr], [*tpr[inside], tpr[inside][-1]])
    if max_fpr == 1.0:
        area = auc(fpr, tpr)
    np.testing.assert_allclose(1.0 - float(found), area / max_fpr, rtol=1e-12)


def test_all_losers_give_the_loss_over_all_pairs():
    scores, labels = torch.randn(20, dtype=torch.float64), torch.arange(20) % 2
    found = partial_auc_loss(scores, labels, max_fpr=1.0)
    torch.testing.assert_close(found, all_pairs_loss(scores, labels))


def test_padding_is_no_loser():
    scores = torch.tensor([[1.0, 2.0, 9.0], [0.5, 0.0, 1.0]])
    labels, mask = [[1, 0, 0], [1, 0, 0]], [[True, True, False], [True, True, True]]
    found = partial_auc_loss(scores, labels, mask=mask, max_fpr=0.5, loss="hinge")
    torch.testing.assert_close(found, torch.tensor((0.5 * 2.0 + 1.5) / 1.5))


def test_scores_that_are_not_finite_give_an_infinite_loss():
    scores = torch.tensor([1.0, torch.nan, 0.0])
    assert partial_auc_loss(scores, [1, 0, 0], max_fpr=0.5).isinf()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_fpr": 0.0}, "max_fpr must be greater than 0"),
        ({"max_fpr": 1.5}, "max_fpr must be at most 1"),
        ({"max_fpr": 0.5, "loss": "square"}, "no row is a loser"),
        ({"max_fpr": 0.5, "labels": [0, 1, 2]}, "at most two labels per query"),
        ({"max_fpr": 0.5, "labels": Pairs([0], [2])}, "Pairs have no rate"),
        ({"max_fpr": 0.5, "labels": ["bad", "good", "good"]}, "must be numbers, of which"),
    ],
)
def test_what_has_no_partial_auc_is_refused(options, message):
    with pytest.raises(PairrankError, match=message):
        partial_auc_loss(torch.zeros(3), **{"labels": [0, 1, 1], **options})
