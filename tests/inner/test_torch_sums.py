"""Sums by torch against the double loop, RankNet's batches against the sum, and its files."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from definitions import Sums
from loss_table import LOSSES, ROUNDING, assert_within, random_problem
from strategies import Problem, problems, problems_with_roles
from sum_table import double_loop, levels_of

pytestmark = pytest.mark.extras
pytest.importorskip("torch.nn", reason="needs torch: make test-extras")

import torch  # noqa: E402

from pairrank import RankNet, load_model  # noqa: E402
from pairrank.exceptions import FileFormatError  # noqa: E402
from pairrank.io.model_file import read_model, write_model  # noqa: E402
from pairrank.losses import Logistic, Square, Tube  # noqa: E402
from pairrank.pair_sums import bind  # noqa: E402
from pairrank.preferences import Differences  # noqa: E402
from pairrank.torch import sums  # noqa: E402
from pairrank.torch.rank_net_training import shuffled  # noqa: E402
from pairrank.torch.sums import tiled_sum  # noqa: E402

KNOWN = [name for name in LOSSES if name != "no family"]
SEVERAL_TERMS = ("modified_huber", "huberised_hinge")


def summed(loss, preferences, scores, v, *, device="cpu") -> tuple:
    """Return value, gradient and Hessian product of the sum by torch."""
    evaluate = tiled_sum(loss, preferences, 1.0, torch.device(device))
    found = evaluate(torch.tensor(scores, dtype=torch.float64, device=device))
    product = found.product(torch.tensor(v, dtype=torch.float64, device=device))
    return float(found.value), found.gradient.cpu().numpy(), product.cpu().numpy()


def sizes_of(name: str, problem: Problem, wanted: Sums) -> Sums:
    """Return the sums with the sizes that errors of a loss of several terms are relative to.

    Its terms nearly cancel where a pair is far in the wrong order, so it rounds like each of them.
    """
    if name not in SEVERAL_TERMS:
        return wanted
    terms = double_loop(problem, LOSSES["squared_hinge"].definition, levels_of(problem))
    return wanted._replace(
        value_size=wanted.value_size + 4.0 * terms.value_size,
        gradient_size=wanted.gradient_size + 4.0 * terms.gradient_size,
        product_size=wanted.product_size + 4.0 * terms.product_size,
    )


def assert_is_definition(name: str, problem: Problem, *, device="cpu") -> None:
    levels = levels_of(problem)
    loss = LOSSES[name].loss
    wanted = sizes_of(name, problem, double_loop(problem, LOSSES[name].definition, levels))
    value, gradient, product = summed(loss, levels, problem.scores, problem.v, device=device)
    if wanted.value > 1e290:
        assert value > 1e289
        return
    spread = min(float(np.ptp(problem.scores)), 1500.0)
    few = ROUNDING * (1.0 + LOSSES[name].far * spread)
    eps = LOSSES[name].floor * few
    assert_within(value, wanted.value, few * wanted.value_size + eps * wanted.pair_weight)
    allowed = few * wanted.gradient_size + eps * wanted.row_weight
    assert_within(gradient, wanted.gradient, allowed)
    allowed = few * wanted.product_size + eps * wanted.span
    assert_within(product, wanted.product if loss.smooth else 0.0, allowed)


@pytest.mark.parametrize("name", KNOWN)
@given(problem=st.one_of(problems(), problems_with_roles()))
def test_small_tiles_hold_every_pair(name, problem):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sums, "TILE", 4)
        assert_is_definition(name, problem)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU with CUDA")
@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("queries", [1, 7])
def test_many_rows_on_a_gpu(name, queries):
    problem = random_problem(300, 5, queries=queries, weighted=True)
    assert_is_definition(name, problem, device="cuda")


@pytest.mark.parametrize("loss", [Square(), Tube(0.1), Tube(0.3, 2), Tube(0.0, 1)], ids=repr)
@pytest.mark.parametrize("queries", [1, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_differences_are_those_of_the_double_loop(loss, queries, weighted):
    problem = random_problem(60, 4, queries=queries, weighted=weighted)
    differences = Differences.build(problem.y, problem.qid, sample_weight=problem.weight)
    found = summed(loss, differences, problem.scores, problem.v)
    weight = np.ones(60) if problem.weight is None else problem.weight
    qid = np.zeros(60) if problem.qid is None else problem.qid
    total = np.array([weight[qid == each].sum() for each in qid])
    pairs = (qid[:, None] == qid) * weight[:, None] * weight / (2.0 * total[:, None])
    d, wanted = (np.subtract.outer(each, each) for each in (problem.scores, problem.y))
    value, slope, curvature = (pairs * loss.phi(d, wanted, order) for order in (0, 1, 2))
    change = curvature * np.subtract.outer(problem.v, problem.v)
    np.testing.assert_allclose(found[0], value.sum(), rtol=1e-12)
    np.testing.assert_allclose(found[1], slope.sum(1) - slope.sum(0), rtol=1e-11, atol=1e-12)
    product = (change.sum(1) - change.sum(0)) if loss.smooth else np.zeros(60)
    np.testing.assert_allclose(found[2], product, rtol=1e-11, atol=1e-11)


def batch_sum(batch, scores):
    """Return the logistic sum of a batch at the scores of all rows."""
    rows, preferences = batch
    if not preferences.n_pairs:
        return 0.0
    bound = bind(Logistic(), preferences, pair_sum="direct")
    return bound.at(np.ascontiguousarray(scores[rows])).value


@given(problem=problems_with_roles())
def test_the_batches_of_an_epoch_add_up_to_every_pair(problem):
    scores = np.random.default_rng(0).normal(size=problem.y.size)
    for reduction in ("sum", "query"):
        levels = levels_of(problem, reduction)
        if not levels.n_pairs:
            return
        wanted = bind(Logistic(), levels, pair_sum="direct").at(scores).value
        generator = np.random.default_rng(1)
        epochs = shuffled(levels, max(1, levels.n_queries // 3), generator)
        for _ in range(2):
            batches = list(next(epochs))
            total = sum(batch_sum(batch, scores) for batch in batches) / len(batches)
            assert total == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"parameters_": np.zeros(3)}, "the network has 70 parameters, but parameters_ 3"),
        ({"parameters_": None}, "network_ is missing"),
        ({"feature_scale_": None}, "feature_scale_ is missing or not greater than 0"),
        ({"feature_scale_": np.zeros(5)}, "feature_scale_ is missing or not greater than 0"),
        ({"feature_mean_": np.zeros(4)}, "feature_mean_ is float64 of shape"),
        ({"hidden_layer_sizes": [10**9, 10**9]}, "the network has 10000000"),
    ],
)
def test_damaged_files_of_networks_are_refused(tmp_path, change, message):
    X, y = np.random.default_rng(0).normal(size=(30, 5)), np.arange(30) % 3
    RankNet(solver="adam", max_iter=1).fit(X, y).save(tmp_path / "model")
    record = read_model(tmp_path / "model")
    arrays = {name: change.get(name, array) for name, array in record.arrays.items()}
    arrays = {name: array for name, array in arrays.items() if array is not None}
    params = {name: change.get(name, value) for name, value in record.params.items()}
    write_model(tmp_path / "model", record._replace(arrays=arrays, params=params))
    with pytest.raises(FileFormatError, match=message):
        load_model(tmp_path / "model")
