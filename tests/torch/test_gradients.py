"""Losses for torch: their gradients and second derivatives are those of their values."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.extras
pytest.importorskip("torch.nn", reason="needs torch: make test-extras")

import torch  # noqa: E402
from torch.autograd import gradcheck, gradgradcheck  # noqa: E402

from pairrank.losses import LOSSES  # noqa: E402
from pairrank.torch import all_pairs_loss  # noqa: E402

CONSISTENT = sorted({*LOSSES, "square", "tube"} - {"raykar"})
"""The losses whose gradient is that of their value: raykar's is that of probit."""


@pytest.mark.parametrize("reduction", ["mean", "query_mean", "rows", "query", "sum"])
@pytest.mark.parametrize("loss", CONSISTENT)
def test_derivatives_are_those_of_the_value(loss, reduction):
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(12, dtype=torch.float64, generator=generator, requires_grad=True)
    labels = torch.randint(0, 3, (12,), generator=generator)
    qid = torch.arange(12) % 2

    def of(scores):
        return all_pairs_loss(scores, labels, qid, loss=loss, reduction=reduction)

    assert gradcheck(of, scores)
    assert gradgradcheck(of, scores)
