"""Losses for torch: their gradients and second derivatives are those of their values."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.extras
pytest.importorskip("torch.nn", reason="needs torch: make test-extras")

import torch  # noqa: E402
from torch.autograd import gradcheck, gradgradcheck  # noqa: E402

from loss_table import NAMED  # noqa: E402
from pairrank import OrderGraph, Pairs  # noqa: E402
from pairrank.losses import Hinge, SquaredHinge, Tube  # noqa: E402
from pairrank.torch import all_pairs_loss, partial_auc_loss  # noqa: E402

CONSISTENT = sorted({*NAMED, "square", "tube"} - {"raykar"})
"""The losses whose gradient is that of their value: raykar's is that of probit."""
BACKENDS = ("compiled", "torch")


def drawn(n_rows: int = 12, n_levels: int = 3) -> tuple:
    """Return scores that need a gradient, labels and queries; no margin is at a kink."""
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(n_rows, dtype=torch.float64, generator=generator, requires_grad=True)
    labels = torch.randint(0, n_levels, (n_rows,), generator=generator)
    return scores, labels, torch.arange(n_rows) % 2


RISING = torch.arange(12.0)
PAIRS = Pairs([0, 3, 5, 7], [1, 2, 4, 11], weight=[1, 2, 1, 0.5], n_rows=12)
OPTIONS = [
    *({"loss": loss} for loss in CONSISTENT),
    *({"reduction": reduction} for reduction in ("query_mean", "rows", "query", "sum")),
    {"loss": Hinge(margin=0.3)},
    {"loss": SquaredHinge(margin=0.0)},
    {"graph": "chain"},
    {"loss": "probit", "graph": OrderGraph([(0, 2), (1, 2)])},
    {"loss": "squared_hinge", "sample_weight": RISING},
    {"loss": "exponential", "winner_weight": RISING, "loser_weight": [0.5] * 12},
    {"loss": Tube(epsilon=0.2, n=2), "sample_weight": RISING},
    *({"loss": loss, "labels": PAIRS} for loss in ("probit", "squared_hinge", "square", "tube")),
    *({"loss": loss, "max_fpr": 0.4} for loss in ("logistic", "hinge")),
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_derivatives_are_those_of_the_value(options, backend):
    scores, labels, qid = drawn(n_levels=2 if "max_fpr" in options else 3)
    given = {"labels": labels, "qid": qid, "backend": backend, **options}
    if options.get("labels") is PAIRS:
        del given["qid"]
    loss = partial_auc_loss if "max_fpr" in options else all_pairs_loss
    assert gradcheck(lambda scores: loss(scores, **given), scores)
    assert gradgradcheck(lambda scores: loss(scores, **given), scores)


def test_a_loss_of_its_own_gradient_follows_probit():
    scores, labels, qid = drawn()
    raykar, probit = (
        torch.autograd.grad(all_pairs_loss(scores, labels, qid, loss=loss), scores)[0]
        for loss in ("raykar", "probit")
    )
    assert torch.equal(raykar, probit)


def test_a_third_derivative_is_refused():
    scores, labels, qid = drawn()
    value = all_pairs_loss(scores, labels, qid)
    (gradient,) = torch.autograd.grad(value, scores, create_graph=True)
    (second,) = torch.autograd.grad(gradient.square().sum(), scores, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        second.sum().backward()


def test_scores_changed_before_backward_are_refused():
    scores, labels, qid = drawn()
    own = scores * 1.0
    value = all_pairs_loss(own, labels, qid)
    with torch.no_grad():
        own.add_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        value.backward()


class Cubic:
    """A loss of no known family, whose phi takes numpy arrays, without a second derivative."""

    smooth = False

    def phi(self, d, magnitude=0.0, order=0):
        over = (2.0 - d).clip(min=0.0)
        return over**3 if order == 0 else -3.0 * over**2


def test_a_loss_of_no_family_has_the_gradient_of_its_phi_and_no_second_derivative():
    scores, labels, qid = drawn()
    assert gradcheck(lambda scores: all_pairs_loss(scores, labels, qid, loss=Cubic()), scores)
    value = all_pairs_loss(scores, labels, qid, loss=Cubic())
    (gradient,) = torch.autograd.grad(value, scores, create_graph=True)
    with pytest.raises(ValueError, match="has no second derivative"):
        gradient.sum().backward()
    with pytest.raises(ValueError, match="whose phi takes numpy arrays"):
        all_pairs_loss(scores, labels, qid, loss=Cubic(), backend="torch")
