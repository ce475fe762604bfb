"""Cortes, Mohri & Rastogi 2007: magnitude-preserving ranking of films, jokes and books."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from reproduction.papers.cortes2007.judging import (
    BOOST,
    CONSTANT,
    KERNEL_RIDGE,
    MP,
    RIDGE,
    SV,
    books,
    judge,
)
from reproduction.papers.cortes2007.printed import (
    BOOKS,
    GROUPS,
    M1D,
    MISRANKING,
    MSD,
    PAPERS,
    SETS,
    beside,
)
from reproduction.papers.cortes2007.reasons import REASONS
from reproduction.study import (
    ANY,
    Cell,
    Claim,
    NotRun,
    Quantity,
    Study,
    Table,
    Verdict,
)

METHODS = (*PAPERS, RIDGE, KERNEL_RIDGE, CONSTANT)
BOOKS_RULE = {"min_user_ratings": 20, "min_item_ratings": 3}


def _cells(methods: tuple[str, ...], rows: tuple[str, ...]) -> Iterator[Cell]:
    for name, dataset in SETS.items():
        for group, bounds in GROUPS.items():
            if f"{name} {group}" in rows:
                for method in methods:
                    config = {"dataset": dataset, "group": list(bounds), "method": method}
                    yield Cell(f"{name} {group}", method, judge, config, seconds=600.0)
    if BOOKS in rows:
        for method in methods:
            of_books = {"dataset": "book_crossing_partial", "method": method, "rule": BOOKS_RULE}
            yield Cell(BOOKS, method, books, of_books, seconds=300.0)


PART = (
    "The paper has the whole Book-Crossing, here is a part: reviewers with 20 ratings, books "
    "with 3."
)
_NOT_COMPARED = {(BOOKS, ANY): PART}

MAGNITUDES = Table(
    name="1",
    title="mean squared and mean absolute difference",
    cells=tuple(_cells(METHODS, tuple(MSD))),
    quantities=(
        Quantity(
            "msd",
            "mean squared difference",
            beside(MSD, PAPERS),
            form=".2f",
            tolerance=0.01,
            reasons=REASONS,
            not_compared=_NOT_COMPARED,
        ),
        Quantity(
            "m1d",
            "mean 1-norm difference",
            beside(M1D, PAPERS),
            form=".2f",
            tolerance=0.01,
            reasons=REASONS,
            not_compared=_NOT_COMPARED,
        ),
        Quantity("chosen", "parameters"),
    ),
    note="Ten draws of 300 test reviewers and 300 reference reviewers; the paper draws references "
    "anew for every test reviewer. Parameters are chosen on 60 held-out reviewers, by MSD (SVRank: "
    "M1D, RankBoost: misranking), who then leave the data. Books: mean and standard deviation over "
    "the reviewers.",
    row_title="data",
)
ORDERS = Table(
    name="2",
    title="pairwise misrankings",
    cells=tuple(_cells((MP, BOOST, SV, RIDGE, KERNEL_RIDGE), tuple(MISRANKING))),
    quantities=(
        Quantity(
            "misranking",
            "share of pairs in the wrong order; tied scores are wrong",
            beside(MISRANKING, (MP, BOOST)),
            reasons=REASONS,
            tolerance=0.01,
        ),
    ),
    row_title="data",
)


def _gains(study: Study, other: str, metric: str, table: str = "1") -> list[float]:
    """Return MPRank's relative gain in a metric against another method, by row."""
    return [1.0 - ours / theirs for _, ours, theirs in study.pairs(table, MP, other, metric)]


def _best_in_msd(study: Study) -> Verdict:
    gains = {other: _gains(study, other, "msd") for other in (SV, BOOST)}
    figure = ", ".join(
        f"{100 * min(each):+.1f} to {100 * max(each):+.1f} % less than {other}"
        for other, each in gains.items()
    )
    return Verdict(all(min(each) >= -0.005 for each in gains.values()), f"MSD {figure}")


def _alike(other: str, metric: str, table: str, within: float) -> Callable[[Study], Verdict]:
    def check(study: Study) -> Verdict:
        found = [ours - theirs for _, ours, theirs in study.pairs(table, MP, other, metric)]
        relative = _gains(study, other, metric, table)
        figure = f"{metric} {min(found):+.3f} to {max(found):+.3f} against {other}"
        return Verdict(max(abs(each) for each in relative) <= within, figure)

    return check


def _boost_keeps_no_size(study: Study) -> Verdict:
    ratios = [theirs / ours for _, ours, theirs in study.pairs("1", MP, BOOST, "msd")]
    return Verdict(min(ratios) > 1.0, f"MSD {min(ratios):.2f} to {max(ratios):.1f} times MPRank's")


def _beats_ridge(study: Study) -> Verdict:
    parts, holds = [], True
    for metric, table in (("msd", "1"), ("misranking", "2")):
        gains = _gains(study, RIDGE, metric, table)
        if not gains:
            raise NotRun(RIDGE)
        holds &= float(np.mean(gains)) > 0.0
        parts.append(f"{metric} {100 * min(gains):+.1f} to {100 * max(gains):+.1f} % less")
    return Verdict(holds, ", ".join(parts))


STUDY = Study(
    name="cortes2007",
    title="Cortes et al. 2007",
    citation="C. Cortes, M. Mohri and A. Rastogi, *Magnitude-preserving ranking algorithms*, "
    "technical report TR2007-887, Courant Institute, 2007.",
    tables=(MAGNITUDES, ORDERS),
    claims=(
        Claim(
            "MPRank is the best in mean squared difference.",
            _best_in_msd,
            "SVRank is better on Books, of which a part is here, and on Jester 60-80, by less than "
            "a tenth of a standard deviation.",
        ),
        Claim(
            "MPRank and SVRank are about equal in mean 1-norm difference.",
            _alike(SV, "m1d", "1", 0.05),
        ),
        Claim(
            "MPRank is comparable to RankBoost in misrankings.",
            _alike(BOOST, "misranking", "2", 0.1),
            "MPRank is better throughout, as in the paper, by more than there.",
        ),
        Claim("RankBoost does not keep magnitudes.", _boost_keeps_no_size),
        Claim(
            "Beyond the paper: MPRank beats ridge regression with the same features.", _beats_ridge
        ),
    ),
    note="MovieLens 1M lacks five ratings here; Jester is the first third of its users.",
)
