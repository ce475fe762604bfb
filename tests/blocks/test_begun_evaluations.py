"""Evaluations that other machines begin while this process solves the sample and makes models."""

from __future__ import annotations

import numpy as np
import pytest

from memory_passes import MemoryPasses, cut_rows
from pairrank import RankNCG, RankSVM, SVRank
from pairrank.estimators import _block_descent
from pairrank.estimators._blocks import fit_on_passes
from pairrank.objective.models import SampledModel

RANKERS = {
    "squared": RankSVM(),
    "linear": RankSVM(loss="hinge", tol=1e-3),
    "logistic": RankNCG(),
    "tubes": SVRank(),
}


class Working(MemoryPasses):
    """Blocks of other machines, which keep X; `log` has what happens in order."""

    is_remote = works_meanwhile = True

    def __init__(self, blocks):
        super().__init__(blocks)
        self.log = []

    def begin(self, task, shared, merge, second=None):
        wait = super().begin(task, shared, merge, second)
        points = [bool(w.any()) for w in shared.coefs]
        self.log.append(("begin", points))

        def result():
            self.log.append(("wait", points))
            return wait()

        return result


def rows():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(3000, 4))
    signal = X @ np.arange(4.0) + generator.normal(size=3000)
    return X, np.digitize(signal, [-2.0, 0.0, 2.0]).astype(float)


def fitted(ranker, monkeypatch):
    passes = Working(cut_rows(*rows(), [400, 1500]).blocks)
    minimize, matrix = _block_descent.minimize, SampledModel.matrix

    def solve(*arguments):
        passes.log.append(("solve", None))
        return minimize(*arguments)

    def factorise(model, w):
        if passes.log[-1] != ("matrix", None):
            passes.log.append(("matrix", None))
        return matrix(model, w)

    monkeypatch.setattr(_block_descent, "minimize", solve)
    monkeypatch.setattr(SampledModel, "matrix", factorise)
    return fit_on_passes(ranker, passes), passes


@pytest.mark.parametrize("name", RANKERS)
def test_weights_are_those_of_evaluations_one_after_the_other(name, monkeypatch):
    wanted = fit_on_passes(RANKERS[name], cut_rows(*rows(), [400, 1500]))
    wanted = wanted.coef_, wanted.n_iter_
    found = fitted(RANKERS[name], monkeypatch)[0]
    np.testing.assert_allclose(found.coef_, wanted[0], rtol=1e-9, atol=1e-12)
    assert found.n_iter_ == wanted[1]


def test_zero_is_evaluated_while_the_sample_is_solved_and_the_start_with_the_model(monkeypatch):
    log = fitted(RankNCG(), monkeypatch)[1].log
    own = [entry for entry in log if entry[1] is not None or entry[0] == "solve"]
    assert own[:5] == [
        ("begin", [False]),
        ("solve", None),
        ("begin", [True]),
        ("wait", [True]),
        ("wait", [False]),
    ]
    begun, awaited = log.index(("begin", [True])), log.index(("wait", [True]))
    assert ("matrix", None) in log[begun:awaited]


def test_sums_that_only_this_process_can_finish_are_evaluated_together(monkeypatch):
    """Few rows of squared hinges travel themselves."""
    log = fitted(RankSVM(), monkeypatch)[1].log
    begun = [points for what, points in log if what == "begin"]
    assert sorted(begun[0]) == [False, True]
    assert log[0] == ("solve", None)


def test_a_given_start_is_evaluated_with_zero(monkeypatch):
    ranker = RankNCG(warm_start=True)
    ranker.coef_ = np.ones(4)
    log = fitted(ranker, monkeypatch)[1].log
    assert log[0] == ("begin", [False, True])
    assert ("solve", None) not in log
