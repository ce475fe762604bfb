"""The lines of "Which ranker?": a situation, the ranker to take, and what was measured."""

from __future__ import annotations

from typing import NamedTuple

from measures import (
    Measure,
    beside,
    claimed,
    gain_of_pairs,
    mean_gain,
    paired,
    several,
    timed,
)
from reproduced import Found

from reproduction.study import NotRun

NOT_YET = "Not measured yet."


class Line(NamedTuple):
    """A line of the table; `measured` are shown if their cells have run."""

    situation: str
    take: str
    measured: tuple[Measure, ...]


def reasons(line: Line, found: Found) -> list[str]:
    """Return the sentences of a line whose cells have run, or that none has."""
    shown = []
    for measure in line.measured:
        try:
            shown.append(measure(found))
        except NotRun:
            continue
    return shown or [NOT_YET]


_MANY = ("Beside LogisticRegression", "", 0)
_LIKELIHOOD = ("Beside LogisticRegression", "", 1)
_SIGMOIDS = ("Logistic and probit sums", "", 0)
_TREES = ("LightGBM and XGBoost", "", 0)
_SVM, _NCG, _ACCURACY = "RankSVM", "RankNCG", "generated, pairs in the right order"


def _condition(row: str, *columns: str) -> Measure:
    return beside("beyond", "conditions", row, "accuracy", _ACCURACY, *columns)


LINES = (
    Line(
        "Many rows, binary or ordinal labels",
        "`RankSVM`",
        (
            timed(
                "performance",
                "A fit of 1,000,000 rows takes {} times as long as ``LogisticRegression``",
                _MANY,
                ("float64 / 1 / 1 ", "ratio (bar 0.6)"),
            ),
            timed(
                "performance",
                "`RankNCG` takes {} times as long",
                _LIKELIHOOD,
                ("float64 / 1 / logistic", "ratio (bar 0.55)"),
            ),
        ),
    ),
    Line(
        "Queries: judged documents",
        "`RankSVM`, with ``qid``",
        (
            gain_of_pairs("MQ2008", "ClueWeb09, 61 queries", "MSLR, 54 queries"),
            beside("lee2014", "5", "MQ2008", "ndcg", "test NDCG", "L2-loss RankSVM", "L2-loss SVR"),
            beside(
                *("lee2014", "5", "MQ2008", "accuracy", "test pairwise accuracy"),
                *("L2-loss RankSVM", "L2-loss SVR"),
            ),
        ),
    ),
    Line(
        "Queries that are not on one scale: judges differ in severity",
        "`RankSVM` or `RankNCG`, with ``qid``",
        (gain_of_pairs("generated: queries differ in severity"),),
    ),
    Line(
        "One query, two classes or a linear utility with plain noise",
        "A pointwise fit orders as well; `RankSVM` costs no more",
        (
            gain_of_pairs("a9a", "generated: one query, linear"),
            _condition("2 levels", _SVM, _NCG, "ridge", "logistic regression"),
        ),
    ),
    Line(
        "One query, few rows",
        "Either; `compare` decides for your rows",
        (
            gain_of_pairs("pyrimidines", "breast cancer", "housing", "abalone"),
            claimed("beyond", "All pairs are never clearly worse than a pointwise fit."),
        ),
    ),
    Line(
        "Labels on a scale that means nothing, or with outliers",
        "`RankSVM` or `RankNCG`",
        (
            _condition("labels on an exponential scale", _SVM, _NCG, "ridge"),
            _condition("labels with Cauchy noise", _SVM, _NCG, "ridge"),
        ),
    ),
    Line(
        "Wrong labels",
        "`RankSVM`; choose its strength on held-out rows (`RankSVMCV`) before you change the loss",
        (
            _condition("10 % wrong labels", "RankSVM, hinge", _SVM, _NCG, "ridge", "RankBoost"),
            _condition("30 % wrong labels", "RankSVM, hinge", _SVM, _NCG, "ridge", "RankBoost"),
            paired("30 % wrong labels", "RankSVM, hinge", _SVM),
        ),
    ),
    Line(
        "Many levels",
        "`RankNCG`: its cost does not depend on them",
        (
            timed(
                "performance",
                "Sums of `RankNCG` cost {} sigmoids per row at 5 levels, {} with as many levels as "
                "rows",
                _SIGMOIDS,
                ("5 levels, 1,000,000", "logistic"),
                ("as many levels", "logistic"),
            ),
            timed(
                "performance",
                "Those of `RankSVM` cost {} and {} times one sigmoid per row",
                ("Squared hinge", "", 0),
                ("5 /", "cells / expit"),
                ("10000000 /", "cells / expit"),
            ),
            _condition("as many levels as rows", _NCG, _SVM, "ridge"),
        ),
    ),
    Line(
        "Few ordered classes, and limits between them",
        "`ConvexHullRanker`, chain or full graph",
        (
            mean_gain("fung2006", "fig3", "wmw", "WMW", "hull, chain", "hull, full"),
            mean_gain(
                *("fung2006", "fig3", "wmw", "WMW", "hull, chain", "RankSVM (ours), all pairs")
            ),
            claimed(
                "fung2006", "The chain graph is at least as accurate as the full graph, on average."
            ),
            claimed("fung2006", "The hull is about as accurate as SVM and Gaussian process."),
        ),
    ),
    Line(
        "Sparse rows, very many features",
        "`RankSVM`, on a CSR matrix",
        (
            _condition("5,000 sparse rows, 5,000 features", _SVM, _NCG, "ridge"),
            claimed(
                "lee2014", "Forests on sparse data are no better, and thousands of times slower."
            ),
        ),
    ),
    Line(
        "Ratings whose size counts",
        "`MPRank`; `SVRank` if absolute errors count",
        (
            beside(
                *("cortes2007", "1", "MovieLens 20-40", "msd", "mean squared difference"),
                *("MPRank", "SVRank", "ridge", "one score for all", "RankBoost"),
            ),
            beside(
                *("cortes2007", "1", "MovieLens 20-40", "m1d", "mean 1-norm difference"),
                *("SVRank", "MPRank", "ridge", "one score for all", "RankBoost"),
            ),
            beside(
                *("cortes2007", "1", "Jester 20-40", "msd", "mean squared difference"),
                *("MPRank", "SVRank", "ridge", "one score for all", "RankBoost"),
            ),
        ),
    ),
    Line(
        "Probabilities that one row is preferred",
        "`RankNCG`; from real labels a pointwise fit is as good",
        (
            beside(
                *("beyond", "probabilities", "votes on two rows", "calibration"),
                *(
                    "generated, calibration error",
                    _NCG,
                    "logistic regression of listed differences",
                ),
            ),
            beside(
                *("beyond", "probabilities", "labelled rows, all pairs", "calibration"),
                *("generated, calibration error", _NCG, "ridge, normal errors"),
            ),
        ),
    ),
    Line(
        "Comparisons only: named items and votes",
        "`BradleyTerry`; with features `RankNCG` from `Pairs`",
        (
            several(
                *("beyond", "comparisons", "LLMFAO, language models", "voters as groups"),
                *("accuracy", "by wins", "log loss", "agree"),
            ),
            claimed(
                "beyond", "95 % intervals by voters hold 88 % or more of the differences of halves."
            ),
        ),
    ),
    Line(
        "Censored times",
        "`RankNCG` with `survival_target`",
        (
            mean_gain(
                *("beyond", "survival", "concordance", "concordance", _NCG, "Cox regression"),
            ),
            mean_gain(
                *("beyond", "survival", "concordance", "concordance", _NCG),
                "ridge on log times of events",
            ),
        ),
    ),
    Line(
        "Some hundred rows, effects that are not linear",
        '``kernel="rbf"`` of `RankSVM` or another ranker',
        (
            _condition(
                *("200 rows, curved utility", "RankSVM, rbf kernel", "kernel ridge, rbf"),
                *("RankBoost", _SVM),
            ),
        ),
    ),
    Line(
        "Many rows, effects that are not linear",
        "LightGBM or XGBoost with `AllPairsObjective <pairrank.boosting.AllPairsObjective>`, "
        "or `RankNet`",
        (
            timed(
                "performance",
                "AUC of trees of all pairs less that of pointwise trees, one query of 1e6 rows: "
                "LightGBM {}, XGBoost {}; of drawn pairs (XGBoost) {}",
                _TREES,
                ("LightGBM, AllPairsObjective", "difference to pointwise"),
                ("XGBoost, AllPairsObjective", "difference to pointwise"),
                ("XGBoost rank:pairwise", "difference to pointwise"),
            ),
        ),
    ),
    Line(
        "Thresholds, missing values, features of any scale",
        "`RankBoost`",
        (mean_gain("raykar2007", "4", "wmw", "WMW", "RankBoost", "RankNCG fast"),),
    ),
    Line(
        "Real labels, and no time to choose a strength",
        '``RankRLS(regularization="iteration")``',
        (
            claimed(
                "airola2010",
                "Regularisation by iteration is about as good as Tikhonov's at a fraction of the "
                "selection time.",
            ),
        ),
    ),
    Line(
        "Rows beyond memory",
        "`RankSVM` or `RankNCG` on `RowBlocks`",
        (
            timed(
                "guides/large_data",
                "1e8 rows on disk, 5 levels: {} s and {} GB for `RankSVM`, {} s and {} GB "
                "for `RankNCG`",
                ("Rows on disk", "", 0),
                ("RankSVM, 5 levels", "seconds"),
                ("RankSVM, 5 levels", "peak GB"),
                ("RankNCG, 5 levels", "seconds"),
                ("RankNCG, 5 levels", "peak GB"),
            ),
        ),
    ),
)
SHOWN = (
    ("beyond", "pairs"), ("beyond", "conditions"), ("beyond", "probabilities"),
    ("beyond", "comparisons"), ("beyond", "survival"), ("lee2014", "5"), ("lee2014", "9"),
    ("fung2006", "fig3"), ("cortes2007", "1"), ("raykar2007", "4"), ("airola2010", "1"),
)  # fmt: skip
"""The tables of the page of measurements, to which the lines link."""
