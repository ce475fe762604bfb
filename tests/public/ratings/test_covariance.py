"""Covariances: equal to sums over comparisons and groups of gradients, and to bootstraps."""

from __future__ import annotations

import numpy as np

from pairrank import BradleyTerry
from ratings_definition import arguments, make_votes


def test_the_default_follows_from_groups_and_ties():
    votes = make_votes(21)
    given = arguments(votes) | {"tie": None}
    group = np.arange(80) % 11
    halves = arguments(votes)
    for params, fit, kind in (
        ({}, given, "hessian"),
        ({}, halves, "robust"),
        ({"ties": "davidson"}, halves, "hessian"),
        ({}, given | {"groups": group}, "clusters"),
    ):
        found = BradleyTerry(**params).fit(**fit)
        wanted = BradleyTerry(**params, covariance=kind).fit(**fit)
        np.testing.assert_array_equal(found.covariance_, wanted.covariance_)


def test_votes_that_are_all_ties_have_the_errors_of_the_hessian():
    """Every gradient is 0 there, and so is every sandwich; the Hessian is not."""
    votes = (["a", "b", "c"], ["b", "c", "a"])
    found = BradleyTerry().fit(*votes, tie=[1, 1, 1])
    wanted = BradleyTerry(covariance="hessian").fit(*votes, tie=[1, 1, 1])
    assert (found.standard_errors_ > 0.5).all()
    np.testing.assert_allclose(found.standard_errors_, wanted.standard_errors_)
