"""The content of a page: its numbers and pictures, before the template sets them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pairrank.metrics.tables import Comparison, compare_values
from pairrank.preferences import Pairs, Preferences
from pairrank.report import pictures
from pairrank.report.calibration import MOST_PAIRS, calibrate, draw_pairs, preferences_of
from pairrank.report.measures import (
    LEVEL,
    N_RESAMPLES,
    Measure,
    largest_weights,
    measure,
    score_levels,
    worst_and_best,
)
from pairrank.report.ranked_rows import Queries, queries_of, shown_queries
from pairrank.report.subject import Subject

_LONGEST_VALUE = 80


def content_of(
    subjects: list[Subject],
    y: Any,
    layout: dict[str, Any],
    *,
    graph: Any,
    metrics: list[str],
    names: Sequence[str],
    seed: int,
) -> dict[str, Any]:
    """Compute what the template shows of one or two models, from checked arguments.

    Raises a PairrankError if there is no preference. A section is None, or empty, where there is
    nothing to show.
    """
    subject, qid = subjects[0], layout.get("qid")
    n_rows = subject.X.shape[0]
    preferences = preferences_of(y, n_rows, layout, graph)
    scores = [each.scores() for each in subjects]
    lines = []
    for name in metrics:
        first, *others = (
            measure(name, y, own, layout, each.ranker, graph)
            for each, own in zip(subjects, scores, strict=True)
        )
        second = others[0] if others else None
        lines.append((first, second, _comparison(first, second, seed)))
    main, rival, _ = lines[0]
    queries = queries_of(qid, n_rows)
    wins, _ = preferences.wins_and_losses()
    won = np.bincount(queries.query_of, wins, queries.sizes.size)
    values = np.where(won > 0, main.by_query, np.nan)
    worst, best = (
        shown_queries(
            subject, y, preferences, scores, queries, places.tolist(), main.by_query
        )
        for places in worst_and_best(
            values, queries.sizes, greater_is_better=main.greater_is_better
        )
    )  # fmt: skip
    drawn, is_sample = draw_pairs(preferences, MOST_PAIRS, np.random.default_rng(seed))
    calibration = None
    if subject.gives_probabilities:
        calibration = calibrate(subject, scores[0], drawn, is_sample)
    weights = largest_weights(*subjects) if subject.is_linear else []
    levels, margins, level_picture = None, None, None
    of_levels = "Scores" if qid is None else "Scores less the mean of their query"
    if isinstance(y, Pairs):
        margins = pictures.histogram_of_margins(scores[0][drawn.i] - scores[0][drawn.j])
    else:
        levels = score_levels(y, scores[0], None if qid is None else queries.query_of)
        level_picture = pictures.level_intervals(levels, of_levels)
    both, n_points = pictures.scatter_of_queries(main, rival, names, seed)
    return {
        "names": names,
        "facts": _facts(subject, y, preferences, queries),
        "parameters": _parameters(subject),
        "lines": lines,
        "main": main,
        "has_other": rival is not None,
        "by_query": pictures.histogram_of_queries(main, rival, names),
        "both": both,
        "n_points": n_points,
        "changed": _changed(main, rival, queries),
        "worst": worst,
        "best": best,
        "levels": levels,
        "of_levels": of_levels,
        "level_picture": level_picture,
        "margins": margins,
        "weights": weights,
        "weight_picture": pictures.weight_bars(weights) if weights else None,
        "has_intervals": hasattr(subject.ranker, "standard_errors_"),
        "has_other_weights": any(not np.isnan(weight.other) for weight in weights),
        "n_features": subject.X.shape[1],
        "is_linear": subject.is_linear,
        "calibration": calibration,
        "calibration_picture": pictures.calibration_curve(calibration) if calibration else None,
        "is_sample": is_sample,
        "n_drawn": drawn.n_pairs,
        "n_pairs": int(preferences.n_pairs),
    }


def _comparison(first: Measure, second: Measure | None, seed: int) -> Comparison | None:
    """Return the comparison of two models over the queries; None without two of both."""
    if second is None or np.isfinite(first.by_query - second.by_query).sum() < 2:
        return None
    return compare_values(first.by_query, second.by_query, N_RESAMPLES, LEVEL, seed)


def _facts(
    subject: Subject, y: Any, preferences: Preferences, queries: Queries
) -> list[tuple[str, Any]]:
    facts: list[tuple[str, Any]] = [
        ("Rows", subject.X.shape[0]),
        ("Queries", int(queries.sizes.size)),
        ("Features", subject.X.shape[1]),
    ]
    if isinstance(y, Pairs):
        return [*facts, ("Comparisons", y.n_pairs)]
    return [*facts, ("Labels", int(np.unique(y).size)), ("Pairs", int(preferences.n_pairs))]


def _parameters(subject: Subject) -> list[tuple[str, str]]:
    """Return the parameters of the ranker that are not their defaults, and its strength."""
    given: Mapping[str, Any] = subject.ranker.get_params(deep=False)
    usual = type(subject.ranker)().get_params(deep=False)
    changed = [
        (name, str(value)[:_LONGEST_VALUE])
        for name, value in given.items()
        if name == subject.ranker._strength or repr(value) != repr(usual[name])
    ]
    ended = getattr(subject.ranker, "status_", None)
    return [("class", type(subject.ranker).__name__), *changed] + (
        [("status", ended.replace("_", " "))] if ended else []
    )


def _changed(main: Measure, rival: Measure | None, queries: Queries) -> list[tuple[Any, ...]]:
    """Return the queries whose values differ most between the models, both ways.

    Of each the name, the number of rows, both values and their difference.
    """
    if rival is None or main.by_query.size < 2:
        return []
    gain = main.by_query - rival.by_query
    lowest, highest = worst_and_best(
        np.where(gain == 0, np.nan, gain), queries.sizes, greater_is_better=True
    )
    shown = np.concatenate((highest, lowest[::-1]))
    columns = queries.names, queries.sizes, main.by_query, rival.by_query, gain
    return list(zip(*(column[shown].tolist() for column in columns), strict=True))
