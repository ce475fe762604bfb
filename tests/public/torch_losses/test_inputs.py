"""Inputs of losses for torch: shapes, masks, types, levels, reductions, and what is refused."""

from __future__ import annotations

import weakref

import numpy as np
import pandas
import pytest

pytestmark = pytest.mark.extras
pytest.importorskip("torch.nn", reason="needs torch: make test-extras")

import torch  # noqa: E402

from loss_table import NAMED  # noqa: E402
from pairrank import MPRank, OrderGraph, Pairs, RankNCG  # noqa: E402
from pairrank.exceptions import PairrankError, PairrankWarning  # noqa: E402
from pairrank.losses import Square  # noqa: E402
from pairrank.torch import AllPairsLoss, all_pairs_loss  # noqa: E402

BACKENDS = ("compiled", "torch")
GENERATOR = np.random.default_rng(0)
SCORES = torch.tensor(GENERATOR.normal(size=40))
LABELS = torch.tensor(GENERATOR.integers(0, 4, 40))
QID = torch.tensor(GENERATOR.integers(0, 5, 40))


def gradient_of(scores: torch.Tensor, *args, **options) -> torch.Tensor:
    scores = scores.detach().clone().requires_grad_()
    (gradient,) = torch.autograd.grad(all_pairs_loss(scores, *args, **options), scores)
    return gradient


@pytest.mark.parametrize("reduction", ["mean", "query_mean", "rows", "query", "sum"])
@pytest.mark.parametrize("loss", ["logistic", "square"])
def test_reductions_weigh_the_double_loop(loss, reduction):
    phi = (NAMED[loss]() if loss in NAMED else Square()).phi
    s, y, qid = SCORES.numpy(), LABELS.numpy(), QID.numpy()
    weight = np.where(qid == 2, 0.0, GENERATOR.random(40))
    values, weights = [], []
    for query in np.unique(qid[weight > 0]):
        value = total = 0.0
        for i in np.flatnonzero(qid == query):
            for j in np.flatnonzero(qid == query):
                if loss == "square" or y[i] > y[j]:
                    w = weight[i] * weight[j]
                    value += w * float(phi(np.array([s[i] - s[j]]), y[i] - y[j])[0])
                    total += w
        values.append(value)
        weights.append(total)
    means = np.divide(values, weights, out=np.zeros(len(values)), where=np.array(weights) > 0)
    wanted = {
        "mean": sum(values) / sum(weights),
        "query_mean": means.mean(),
        "rows": weight.sum() * sum(values) / sum(weights),
        "query": weight.sum() * means.mean(),
        "sum": sum(values),
    }[reduction]
    found = all_pairs_loss(
        SCORES, LABELS, QID, loss=loss, reduction=reduction, sample_weight=weight, eps=1e-12
    )
    np.testing.assert_allclose(float(found), wanted, rtol=1e-10)


def test_rankers_minimise_this_loss():
    """At a ranker's weights the loss and its penalty have a gradient of 0."""
    X = GENERATOR.normal(size=(40, 3))
    w = torch.tensor(RankNCG(tol=1e-9).fit(X, LABELS, qid=QID).coef_, requires_grad=True)
    loss = all_pairs_loss(torch.tensor(X) @ w, LABELS, QID, reduction="rows")
    (loss + 0.5 * w.square().sum()).backward()
    assert w.grad.abs().max() < 1e-5
    w = torch.tensor(MPRank(C=3.0, tol=1e-12).fit(X, LABELS).coef_, requires_grad=True)
    loss = all_pairs_loss(torch.tensor(X) @ w, LABELS, loss="square")
    (3.0 * loss + w.square().sum()).backward()
    assert w.grad.abs().max() < 1e-8


@pytest.mark.parametrize("backend", BACKENDS)
def test_lists_are_queries_and_padding_is_ignored(backend):
    mask = torch.rand(8, 5) < 0.7
    scores, labels = SCORES.reshape(8, 5).clone(), LABELS.reshape(8, 5).double()
    weight = torch.rand(8, 5, dtype=torch.float64)
    scores[~mask], labels[~mask], weight[~mask] = torch.nan, torch.nan, torch.nan
    options = {"backend": backend, "reduction": "sum"}
    found = gradient_of(scores, labels, mask=mask, sample_weight=weight, **options)
    rows = mask.nonzero()[:, 0]
    wanted = gradient_of(scores[mask], labels[mask], rows, sample_weight=weight[mask], **options)
    torch.testing.assert_close(found[mask], wanted)
    assert not found[~mask].any()


@pytest.mark.parametrize("of", [list, lambda labels: pandas.Series(labels, index=[2, 1, 0])])
def test_a_mask_selects_rows_by_their_position(of):
    scores, mask = torch.tensor([0.0, 1.0, 3.0]), [True, True, False]
    found = all_pairs_loss(scores, of([0, 1, 2]), of([7, 7, 8]), mask=mask)
    assert found == all_pairs_loss(scores[:2], [0, 1])


@pytest.mark.parametrize("reduction", ["mean", "query_mean", "rows", "query", "sum"])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("loss", ["logistic", "square", "hinge"])
def test_without_a_pair_loss_and_gradient_are_zero(backend, loss, reduction):
    options = {"loss": loss, "backend": backend, "reduction": reduction}
    for labels, mask in (([[2, 2]], None), ([[0, 1]], [[False, False]])):
        scores = torch.zeros(1, 2, requires_grad=True)
        value = all_pairs_loss(scores, labels, mask=mask, **options)
        value.backward()
        assert value == 0.0
        assert not scores.grad.any()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_sums_do_not_take_the_precision_of_the_scores(backend, dtype):
    scores = SCORES.to(dtype)
    options = {"reduction": "sum", "backend": backend, "loss": "squared_hinge"}
    value = all_pairs_loss(scores, LABELS, QID, **options)
    assert value.dtype == torch.promote_types(dtype, torch.float32)
    exact = all_pairs_loss(scores.double(), LABELS, QID, **options)
    assert value == exact.to(value.dtype)
    found = gradient_of(scores, LABELS, QID, **options)
    assert found.dtype == dtype
    assert torch.equal(found, gradient_of(scores.double(), LABELS, QID, **options).to(dtype))


@pytest.mark.parametrize("backend", BACKENDS)
def test_autocast_does_not_lower_the_precision(backend):
    layer = torch.nn.Linear(3, 1)
    X = torch.randn(40, 3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        scores = layer(X).squeeze(1)
        assert scores.dtype == torch.bfloat16
        value = all_pairs_loss(scores, LABELS, QID, backend=backend)
    value.backward()
    outside = all_pairs_loss(scores.detach().double(), LABELS, QID, backend=backend)
    assert value == outside.float()
    assert layer.weight.grad.isfinite().all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_nothing_outlives_a_loss(backend):
    """No cycle of references keeps the scores of a step in memory."""
    scores = SCORES.clone().requires_grad_()
    value = all_pairs_loss(scores, LABELS, QID, backend=backend)
    (gradient,) = torch.autograd.grad(value, scores, create_graph=True)
    kept = weakref.ref(scores)
    del scores, value, gradient
    assert kept() is None


def test_levels_that_a_batch_lacks():
    labels = [0, 2, 2, 3]
    scores = torch.tensor([0.0, 1.0, 2.0, 3.0])
    chain = {"graph": "chain", "reduction": "sum", "loss": "hinge"}
    present = all_pairs_loss(scores, labels, **chain)
    every = all_pairs_loss(scores, labels, levels=[0, 1, 2, 3], **chain)
    listed = all_pairs_loss(scores, Pairs([3, 3], [1, 2]), loss="hinge", reduction="sum")
    assert every == listed
    assert present == listed + all_pairs_loss(
        scores, Pairs([1, 2], [0, 0], n_rows=4), loss="hinge", reduction="sum"
    )
    graph = OrderGraph([(0, 2), (1, 3)])
    with pytest.warns(PairrankWarning, match="absent from y"):
        all_pairs_loss(scores, labels, graph=graph)
    all_pairs_loss(scores, labels, graph=graph, levels=[0, 1, 2, 3])


def test_a_module_is_the_function():
    options = {"loss": "probit", "graph": "chain"}
    wanted = all_pairs_loss(SCORES, LABELS, QID, **options)
    module = AllPairsLoss(**options)
    assert module(SCORES, LABELS, QID) == wanted
    assert repr(module) == "AllPairsLoss(loss='probit', graph='chain')"


def test_one_weight_may_stand_for_all():
    scores, labels = SCORES.reshape(8, 5), LABELS.reshape(8, 5)
    found = all_pairs_loss(scores, labels, sample_weight=2.0, reduction="sum")
    torch.testing.assert_close(found, 4.0 * all_pairs_loss(scores, labels, reduction="sum"))


def test_a_module_refuses_wrong_options_when_it_is_made():
    for options, error, message in (
        ({"eps": 2.0}, PairrankError, "eps must be below 1"),
        ({"sample_weight": [1.0, 2.0]}, PairrankError, "sample_weight differs from batch to batch"),
        ({"margin": 2.0}, TypeError, "no option 'margin'"),
    ):
        with pytest.raises(error, match=message):
            AllPairsLoss(**options)


def test_numpy_lists_and_text_are_taken_as_labels():
    graph = OrderGraph([("bad", "good")])
    found = all_pairs_loss(torch.tensor([0.0, 1.0]), ["bad", "good"], graph=graph)
    assert found == all_pairs_loss(torch.tensor([0.0, 1.0]), np.array([0, 1]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "hinges"}, "loss must be one of"),
        ({"loss": 3}, "loss must be one of"),
        ({"reduction": "none"}, "reduction"),
        ({"backend": "cuda"}, "backend"),
        ({"eps": 0.0}, "eps must be greater than 0"),
        ({"eps": 1.0}, "eps must be below 1"),
        ({"graph": "ful"}, "graph must be"),
        ({"levels": [0, 5]}, "the label 1.0 in row 1 is not among the levels"),
        ({"levels": [0, 1], "graph": [(0, 2)]}, "names 2, which is not among the levels"),
        ({"loss": "square", "graph": "chain"}, "compares differences of labels"),
        ({"loss": "tube", "winner_weight": [1, 1, 1]}, "winner_weight is not supported"),
        ({"labels": [0, 1]}, "scores have shape"),
        ({"labels": None}, "labels are None"),
        ({"labels": [0, 1, np.nan]}, "NaN"),
        ({"labels": [[0], [1], [1]], "scores": torch.zeros(3, 1)}, r"squeeze\(-1\)"),
        ({"scores": torch.zeros(3, 1)}, r"squeeze\(-1\)"),
        ({"scores": torch.zeros(3, dtype=torch.int64)}, "floating point"),
        ({"scores": [0.0, 1.0, 2.0]}, "torch tensor"),
        ({"labels": [[0, 1, 1]], "scores": torch.zeros(1, 3), "qid": [0, 0, 0]}, "qid cannot"),
        ({"labels": [[0, 1, 1]], "scores": torch.zeros(1, 3), "sample_weight": [1]}, "has shape"),
        ({"labels": [[0, 1], [1]]}, "lists of different lengths"),
        ({"mask": [1, 1, 0]}, "mask must hold True or False"),
        ({"mask": [True, False]}, "mask must hold True or False"),
        ({"sample_weight": torch.ones(3, requires_grad=True)}, "requires a gradient"),
        ({"sample_weight": [1.0, -1.0, 1.0]}, "negative"),
        ({"labels": Pairs([0], [2]), "graph": "chain"}, "Pairs are preferences already"),
        ({"labels": Pairs([0], [2]), "mask": [True] * 3}, "mask cannot be combined with Pairs"),
    ],
    ids=str,
)
def test_wrong_arguments_are_refused(options, message):
    given = {"scores": torch.zeros(3), "labels": [0, 1, 1], **options}
    with pytest.raises(PairrankError, match=message):
        all_pairs_loss(**given)
