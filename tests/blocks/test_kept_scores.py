"""Scores that a pass keeps with its block for the next pass, and layouts that lose them."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

from memory_passes import MemoryPasses, cut_rows
from pairrank import RankNCG, RankRLS, RankSVM
from pairrank.blocks.layouts import BlockLayout
from pairrank.design import Design
from pairrank.estimators._blocks import fit_on_passes

BORDERS = [400, 1500]
RANKERS = {"squared": RankSVM(), "logistic": RankNCG(), "exact": RankNCG(solver="tron")}


class Remote(MemoryPasses):
    """Blocks of another machine; with `loses`, each pass finds layouts as if made anew."""

    is_remote = True
    loses = False

    def reduce(self, *arguments):
        if self.loses:
            self.states = [replace(state) for state in self.states]
        return super().reduce(*arguments)


def rows():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(3000, 4))
    signal = X @ np.arange(4.0) + generator.normal(size=3000)
    return X, np.digitize(signal, [-2.0, 0.0, 2.0]).astype(float)


def fitted(ranker, monkeypatch, *, loses):
    """Return the weights, the products of a block's X with weights, and the passes."""
    passes = Remote(cut_rows(*rows(), BORDERS).blocks)
    passes.loses = loses
    n_products = 0
    scores, own = Design.scores, {id(block.X) for block in passes.blocks}

    def counted(design, w):
        nonlocal n_products
        n_products += id(design.X) in own
        return scores(design, w)

    with monkeypatch.context() as patch:
        patch.setattr(Design, "scores", counted)
        coef = fit_on_passes(ranker, passes).coef_
    return coef, n_products, passes.n_reduced


@pytest.mark.parametrize("name", ["squared", "logistic"])
def test_the_two_passes_of_an_evaluation_multiply_a_block_once(name, monkeypatch):
    _, n_products, n_passes = fitted(RANKERS[name], monkeypatch, loses=False)
    assert 0 < n_products <= (len(BORDERS) + 1) * n_passes // 2


@pytest.mark.parametrize("name", RANKERS)
def test_scores_that_were_lost_are_computed_again_to_the_bit(name, monkeypatch):
    wanted, n_products, n_passes = fitted(RANKERS[name], monkeypatch, loses=False)
    found, n_more, same_passes = fitted(RANKERS[name], monkeypatch, loses=True)
    assert n_more > n_products
    assert same_passes == n_passes
    np.testing.assert_array_equal(found, wanted)


def test_blocks_of_this_machine_keep_no_scores():
    passes = cut_rows(*rows(), BORDERS)
    fit_on_passes(RankNCG(), passes)
    assert not any(layout.kept_scores for layout in passes.states)


def test_an_evaluation_at_zero_keeps_the_scores_of_another_one(monkeypatch):
    """Both may have begun, in any order."""
    passes = Remote(cut_rows(*rows(), BORDERS).blocks)
    begin, given = passes.begin, []

    def first(task, shared, merge, second):
        given.append((task, shared._replace(coefs=np.array([[1.0, 2.0, 3.0, 4.0]])), merge))
        return begin(task, shared, merge, second)

    monkeypatch.setattr(passes, "begin", first)
    fit_on_passes(RankNCG(), passes)
    task, asked, merge = given[0]
    for coefs in (asked.coefs, np.zeros((1, 4))):
        passes.reduce(task, asked._replace(coefs=coefs), merge)
        for block, layout in zip(passes.blocks, passes.states, strict=True):
            ((weights, scores),) = layout.kept_scores.items()
            assert weights == asked.coefs.tobytes()
            np.testing.assert_array_equal(scores, Design(block.X).scores(asked.coefs[0]))


@pytest.mark.parametrize("ranker", [RankSVM(), RankRLS()])
def test_kept_scores_do_not_travel(ranker):
    passes = Remote(cut_rows(*rows(), BORDERS).blocks)
    fit_on_passes(ranker, passes)
    layout = passes.states[0]
    layout.kept_scores[b"w"] = np.zeros(layout.n_rows)
    copy = pickle.loads(pickle.dumps(layout))
    assert type(copy) is type(layout)
    assert isinstance(copy, BlockLayout)
    assert not copy.kept_scores
    np.testing.assert_array_equal(copy.rows, layout.rows)
