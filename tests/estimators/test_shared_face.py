"""What estimators share: derived constructors, filled docstrings, one fit."""

from __future__ import annotations

import pytest

from pairrank import (
    ConvexHullRanker,
    MPRank,
    PairwiseRanker,
    RankBoost,
    RankNCG,
    RankRLS,
    RankSVM,
    RankSVMCV,
    SVRank,
)
from pairrank.estimators._docstrings import completed, entries
from pairrank.estimators._fit import FittedRanker

RANKERS = [ConvexHullRanker, MPRank, PairwiseRanker, RankBoost, RankNCG, RankRLS, RankSVM, SVRank]


@pytest.mark.parametrize("ranker", RANKERS)
def test_there_is_one_fit(ranker):
    assert ranker.fit is FittedRanker.fit


def test_a_subclass_of_an_estimator_may_have_no_docstring_or_its_own_parameters():
    class Plain(RankSVMCV):
        pass

    class Longer(RankSVM):
        """A longer RankSVM.

        Parameters
        ----------
        length : int
            Its length.
        """

        def __init__(self, length=1, *, tol=3, unknown=None):
            self.length, self.tol, self.unknown = length, tol, unknown

    assert Plain([2.0]).get_params() == RankSVMCV([2.0]).get_params()
    assert Plain.__doc__ is None
    assert list(entries(Longer.__doc__.partition("-\n")[2])) == ["length", "tol"]


def test_descriptions_are_filled_in_by_name():
    doc = """Do.

    Parameters
    ----------
    b : int
        Own.

    Attributes
    ----------
    c_, d_
    e_ : int
    """
    known = entries("a : int\n    First.\nb : str\nc_ : int\n    Third.\nd_ : int")
    wanted = (
        "Do.\n\nParameters\n----------\na : int\n    First.\nb : int\n    Own.\n\n"
        "Attributes\n----------\nc_ : int\n    Third.\nd_ : int\ne_ : int"
    )
    assert completed(doc, ["a", "b"], known) == wanted
