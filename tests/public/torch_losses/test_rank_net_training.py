"""RankNet's training: batches, early stopping, interrupts."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

pytestmark = pytest.mark.extras
pytest.importorskip("torch.nn", reason="needs torch: make test-extras")

import torch  # noqa: E402
from scipy import sparse  # noqa: E402
from sklearn.exceptions import ConvergenceWarning  # noqa: E402

from pairrank import RankNet  # noqa: E402
from pairrank.metrics import ndcg_score, pairwise_accuracy  # noqa: E402


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 12))
    y = np.digitize(X[:, 0] - X[:, 1] ** 2 + rng.normal(size=300), [-2.0, -0.5, 0.5]).astype(float)
    return X, y, np.repeat(np.arange(30), 10)


@pytest.fixture(scope="module")
def split(rows):
    X, y, qid = rows
    train = {"X": X[:200], "y": y[:200], "qid": qid[:200]}
    return train, {"X_val": X[200:], "y_val": y[200:], "qid_val": qid[200:]}


def test_a_batch_without_a_preference_is_left_out():
    X = np.arange(8.0)[:, None]
    y, qid = np.array([0, 0, 1, 1, 0, 1, 0, 0]), np.array([0, 0, 1, 1, 2, 2, 3, 3])
    net = RankNet((), batch_size=1, max_iter=3).fit(X, y, qid=qid)
    assert net.coef_[0] > 0


@pytest.mark.parametrize(
    "options", [{}, {"solver": "adam"}, {"batch_size": 5, "learning_rate": 0.05}], ids=str
)
@pytest.mark.parametrize("metric", ["ndcg@5", None])
def test_the_best_network_on_validation_rows_is_kept(split, options, metric):
    train, held = split
    states = []
    net = RankNet(
        (20,), alpha=1e-4, patience=4, max_iter=200, validation_metric=metric, **options
    ).fit(**train, **held, callback=lambda step: states.append(step.coef.copy()) and False)
    judge = {"ndcg@5": lambda *rows, qid: ndcg_score(*rows, qid=qid, k=5), None: pairwise_accuracy}
    score = judge[metric](held["y_val"], net.predict(held["X_val"]), qid=held["qid_val"])
    assert net.validation_scores_[net.best_iteration_] == pytest.approx(score)
    assert net.validation_scores_.max() == pytest.approx(score)
    assert len(net.validation_scores_) == net.n_iter_ + 1 == len(states)
    assert net.status_ == "validated"
    assert net.n_iter_ == net.best_iteration_ + 4
    np.testing.assert_array_equal(net.parameters_, states[net.best_iteration_])


def test_validation_rows_are_drawn_by_whole_queries(split):
    train, _ = split
    net = RankNet((20,), alpha=1e-4, patience=3, validation_fraction=0.25).fit(**train)
    assert net.n_queries_ == 15
    assert net.n_rows_ == 150
    assert net.status_ == "validated"
    as_sparse = {**train, "X": sparse.csr_array(train["X"])}
    assert RankNet(patience=3).fit(**as_sparse).status_ == "validated"


@pytest.mark.parametrize("options", [{}, {"solver": "adam"}, {"batch_size": 5}], ids=str)
@pytest.mark.parametrize("patience", [None, 10])
def test_ctrl_c_keeps_the_best_weights_so_far(split, options, patience):
    train, held = split
    states = []

    def interrupt(step):
        states.append(step.coef.copy())
        if step.n_iter == 4:
            raise KeyboardInterrupt

    net = RankNet((5,), patience=patience, **options)
    with pytest.warns(ConvergenceWarning, match="interrupted; these are the best weights so far"):
        net.fit(**train, **held, callback=interrupt)
    assert net.status_ == "interrupted"
    kept = 4 if patience is None else int(np.argmax(net.validation_scores_))
    np.testing.assert_array_equal(net.parameters_, states[kept])


def test_an_interrupt_within_a_step_restores_the_last_whole_iteration(split, monkeypatch):
    train, _ = split
    states = []
    net = RankNet((5,), solver="sgd", batch_size=5)
    steps = torch.optim.SGD.step

    def step(self, *arguments):
        steps(self, *arguments)
        if len(states) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(torch.optim.SGD, "step", step)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        net.fit(**train, callback=lambda each: states.append(each.coef.copy()) and False)
    np.testing.assert_array_equal(net.parameters_, states[-1])


def test_progress_is_one_line_per_iteration(split, capsys):
    train, _ = split
    RankNet(verbose=1, solver="adam", max_iter=2).fit(**train)
    RankNet(verbose=1, batch_size=5, max_iter=2).fit(**train)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 6
    assert all(line.startswith("iteration") for line in lines)
    assert ["gradient" in line for line in lines] == [True] * 3 + [False] * 3


def test_lbfgs_that_runs_out_of_iterations_says_so(split):
    train, _ = split
    with pytest.warns(ConvergenceWarning, match="reached max_iter"):
        net = RankNet(max_iter=3).fit(**train)
    assert (net.status_, net.n_iter_) == ("max_iter", 3)
    with pytest.warns(ConvergenceWarning, match="No step lowers"):
        RankNet((), tol=1e-300).fit(**train)


def test_threads_of_torch_are_as_before(split):
    before = torch.get_num_threads()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        RankNet(max_iter=2).fit(**split[0])
    assert torch.get_num_threads() == before
