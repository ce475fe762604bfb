"""RankNet's training: batches, early stopping, interrupts, networks of one's own."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

pytestmark = pytest.mark.extras
pytest.importorskip("torch.nn", reason="needs torch: make test-extras")

import torch  # noqa: E402
from scipy import sparse  # noqa: E402
from sklearn.exceptions import ConvergenceWarning  # noqa: E402
from torch import nn  # noqa: E402

from pairrank import RankNet  # noqa: E402
from pairrank.exceptions import PairrankError  # noqa: E402
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
    assert RankNet(patience=3, standardize=False).fit(**as_sparse).status_ == "validated"


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


class Sum(nn.Module):
    """A network with a buffer, normalised batches and dropout."""

    def __init__(self, n_features, shape=(-1,)):
        super().__init__()
        self.norm = nn.BatchNorm1d(n_features)
        self.layer = nn.Linear(n_features, 4)
        self.drop = nn.Dropout(0.3)
        self.last = nn.Linear(4, 1)
        self.shape = shape

    def forward(self, X):
        return self.last(self.drop(torch.relu(self.layer(self.norm(X))))).reshape(self.shape)


@pytest.mark.parametrize("shape", [(-1,), (-1, 1)])
def test_a_module_of_ones_own_is_trained(split, shape):
    train, held = split
    before = torch.get_rng_state()
    net = RankNet(module=lambda n: Sum(n, shape), batch_size=8, max_iter=30, learning_rate=0.05)
    first = net.fit(**train).predict(held["X_val"])
    assert net.history_[-1].value < 0.8 * net.history_[0].value
    np.testing.assert_array_equal(net.fit(**train).predict(held["X_val"]), first)
    assert torch.equal(torch.get_rng_state(), before)
    assert not net.network_.training
    assert first.dtype == np.float64


def test_the_state_of_a_module_is_restored_with_its_buffers(split):
    train, held = split
    net = RankNet(module=Sum, batch_size=8, max_iter=40, patience=3, learning_rate=0.1)
    net.fit(**train, **held)
    score = pairwise_accuracy(held["y_val"], net.predict(held["X_val"]), qid=held["qid_val"])
    assert net.best_iteration_ < net.n_iter_
    assert net.validation_scores_[net.best_iteration_] == pytest.approx(score)


def test_a_module_is_copied_and_is_the_start(split):
    train, _ = split
    module = nn.Linear(12, 1)
    before = module.weight.detach().clone()
    net = RankNet(module=module, max_iter=2).fit(**train)
    assert torch.equal(module.weight, before)
    assert module.weight.dtype == torch.float32
    assert net.network_.weight.dtype == torch.float64
    start = net.history_[0].value
    assert RankNet(module=module, max_iter=9).fit(**train).history_[0].value == start
    with pytest.raises(PairrankError, match="a model file holds no code"):
        net.save("never")
    single = {**train, "X": sparse.csr_array(train["X"], dtype=np.float32)}
    assert RankNet(module=Sum, batch_size=9, max_iter=2).fit(**single).status_ == "finished"


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (lambda n: nn.Linear(n, 2), r"200 rows gave \(200, 2\)"),
        (lambda n: n, "returned a int"),
        (lambda n: nn.Tanh(), "no parameter to learn"),
    ],
)
def test_a_module_that_gives_no_scores_is_refused(split, module, message):
    with pytest.raises(PairrankError, match=message):
        RankNet(module=module).fit(**split[0])


def test_frozen_parameters_stay(split):
    def half_frozen(n_features):
        module = nn.Sequential(nn.Linear(n_features, 3), nn.Tanh(), nn.Linear(3, 1))
        module[0].weight.requires_grad_(False)
        return module

    nets = [RankNet(module=half_frozen, max_iter=each).fit(**split[0]) for each in (1, 9)]
    first, last = (net.network_ for net in nets)
    assert torch.equal(first[0].weight, last[0].weight)
    assert not torch.equal(first[2].weight, last[2].weight)


def test_threads_of_torch_are_as_before(split):
    before = torch.get_num_threads()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        RankNet(max_iter=2).fit(**split[0])
    assert torch.get_num_threads() == before
