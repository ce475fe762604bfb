"""The content of a page: its numbers and pictures, before the template sets them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.metrics.comparison import Comparison
from pairrank.preferences import Levels, Pairs
from pairrank.report import pictures
from pairrank.report.calibration import (
    MOST_PAIRS,
    PairCalibration,
    calibrate,
    preferences_of,
)
from pairrank.report.drawing import Picture
from pairrank.report.measures import Measure, compared, measure, worst_and_best
from pairrank.report.pair_sample import Drawn, draw_pairs
from pairrank.report.pictures import MOST_POINTS
from pairrank.report.ranked_rows import Queries, ShownQuery, queries_of, shown_queries
from pairrank.report.score_levels import Levels as ScoreLevels
from pairrank.report.score_levels import score_levels
from pairrank.report.subject import Subject
from pairrank.report.weights import Weight, largest_weights

MOST_QUERIES = 5
"""The queries shown of the worst, of the best, and of those that differ most."""

_LONGEST_VALUE = 80


class Material(NamedTuple):
    """What a page is made from, checked; `names` are those of the two models."""

    subject: Subject
    y: Any
    layout: dict[str, Any]
    graph: Any
    metrics: list[str]
    other: Subject | None
    names: tuple[str, str]
    seed: int


class Line(NamedTuple):
    """A metric: of one model, and of the other one if there is one."""

    measure: Measure
    other: Measure | None
    comparison: Comparison | None


class ChangedQuery(NamedTuple):
    """A query whose value differs between the models."""

    name: str
    n_rows: int
    value: float
    other_value: float

    @property
    def difference(self) -> float:
        """How much larger the first model's value is."""
        return self.value - self.other_value


class Sample(NamedTuple):
    """How many of the pairs a section shows."""

    n_shown: int
    n_pairs: int
    is_sample: bool


class Content(NamedTuple):
    """The sections of a page; None where there is nothing to show."""

    names: tuple[str, str]
    facts: list[tuple[str, Any]]
    parameters: list[tuple[str, str]]
    lines: list[Line]
    by_query: Picture | None
    both: Picture | None
    n_points: int
    changed: list[ChangedQuery]
    worst: list[ShownQuery]
    best: list[ShownQuery]
    levels: ScoreLevels | None
    level_picture: Picture | None
    margins: Picture | None
    weights: list[Weight]
    weight_picture: Picture | None
    n_features: int
    is_linear: bool
    calibration: PairCalibration | None
    calibration_picture: Picture | None
    pairs: Sample

    @property
    def main(self) -> Measure:
        """The metric by which queries are sorted."""
        return self.lines[0].measure

    @property
    def has_other(self) -> bool:
        """Whether there are two models."""
        return self.lines[0].other is not None

    @property
    def has_intervals(self) -> bool:
        """Whether weights have intervals."""
        return any(weight.low is not None for weight in self.weights)

    @property
    def has_other_weights(self) -> bool:
        """Whether the other model has weights of the same features."""
        return any(weight.other is not None for weight in self.weights)


def content_of(material: Material) -> Content:
    """Compute all sections of a page; raise a PairrankError if there is no preference."""
    subject, other, y = material.subject, material.other, material.y
    n_rows, qid = subject.X.shape[0], material.layout.get("qid")
    preferences = preferences_of(y, n_rows, material.layout, material.graph)
    scores = subject.scores()
    other_scores = None if other is None else other.scores()
    lines = [_line(name, material, scores, other_scores) for name in material.metrics]
    main, rival = lines[0].measure, lines[0].other
    queries = queries_of(qid, n_rows)
    values = np.where(_has_preference(preferences, queries), main.by_query, np.nan)
    worst, best = worst_and_best(
        values, queries.sizes, greater_is_better=main.greater_is_better, most=MOST_QUERIES
    )
    shown = [
        shown_queries(
            subject, y, preferences, scores, queries, places.tolist(), main.by_query, other_scores
        )
        for places in (worst, best)
    ]  # fmt: skip
    drawn = draw_pairs(preferences, MOST_PAIRS, np.random.default_rng(material.seed))
    calibration = calibrate(subject, scores, drawn) if subject.gives_probabilities else None
    weights = largest_weights(subject, other) if subject.is_linear else []
    levels = None
    if not isinstance(y, Pairs):
        levels = score_levels(y, scores, None if qid is None else queries.query_of)
    both, n_points = _both(main, rival, material)
    return Content(
        names=material.names,
        facts=_facts(subject, y, preferences, queries),
        parameters=_parameters(subject),
        lines=lines,
        by_query=_by_query(main, rival, material.names),
        both=both,
        n_points=n_points,
        changed=_changed(main, rival, queries),
        worst=shown[0],
        best=shown[1],
        levels=levels,
        level_picture=_level_picture(levels),
        margins=_margins(y, scores, drawn),
        weights=weights,
        weight_picture=_weight_picture(weights),
        n_features=subject.X.shape[1],
        is_linear=subject.is_linear,
        calibration=calibration,
        calibration_picture=_calibration_picture(calibration),
        pairs=Sample(drawn.winner.size, int(preferences.n_pairs), drawn.is_sample),
    )


def _has_preference(preferences: Levels | Pairs, queries: Queries) -> NDArray[np.bool_]:
    """Return whether a query has a preference, (n_queries,)."""
    wins, _ = preferences.wins_and_losses()
    return np.bincount(queries.query_of, wins, queries.sizes.size) > 0


def _line(
    name: str, material: Material, scores: FloatArray, other_scores: FloatArray | None
) -> Line:
    subject, other = material.subject, material.other
    fixed = {"y": material.y, "layout": material.layout, "graph": material.graph}
    first = measure(name, scores=scores, model=subject.ranker, **fixed)
    if other is None or other_scores is None:
        return Line(first, None, None)
    second = measure(name, scores=other_scores, model=other.ranker, **fixed)
    return Line(first, second, compared(first, second, material.seed))


def _facts(
    subject: Subject, y: Any, preferences: Levels | Pairs, queries: Queries
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
        if name in ("C", "alpha", "nu") or repr(value) != repr(usual[name])
    ]
    ended = getattr(subject.ranker, "status_", None)
    return [("class", type(subject.ranker).__name__), *changed] + (
        [("status", ended.replace("_", " "))] if ended else []
    )


def _by_query(main: Measure, rival: Measure | None, names: tuple[str, str]) -> Picture | None:
    if main.counted.size < 2:
        return None
    title = f"Histogram of {main.name} by query of {names[0]}"
    if rival is not None:
        title += f", and of {names[1]} as an outline"
    other = rival.counted if rival is not None and rival.counted.size else None
    return pictures.histogram(main.counted, main.name, title, other)


def _both(main: Measure, rival: Measure | None, material: Material) -> tuple[Picture | None, int]:
    """Return the scatter of both models over the queries, and its number of points."""
    if rival is None:
        return None, 0
    counted = np.flatnonzero(~(np.isnan(main.by_query) | np.isnan(rival.by_query)))
    if counted.size < 2:
        return None, 0
    if counted.size > MOST_POINTS:
        generator = np.random.default_rng(material.seed)
        counted = np.sort(generator.choice(counted, MOST_POINTS, replace=False))
    first, second = (f"{main.name} of {name}" for name in material.names)
    title = f"Each query's {second} across, {first} upwards, with the diagonal"
    x, y = rival.by_query[counted], main.by_query[counted]
    return pictures.scatter(x, y, second, first, title), counted.size


def _changed(main: Measure, rival: Measure | None, queries: Queries) -> list[ChangedQuery]:
    """Return the queries whose values differ most between the models, both ways."""
    if rival is None or main.by_query.size < 2:
        return []
    gain = main.by_query - rival.by_query
    lowest, highest = worst_and_best(
        np.where(gain == 0, np.nan, gain), queries.sizes, greater_is_better=True, most=MOST_QUERIES
    )
    places = [*highest.tolist(), *lowest[::-1].tolist()]
    return [
        ChangedQuery(
            str(queries.names[at]),
            int(queries.sizes[at]),
            float(main.by_query[at]),
            float(rival.by_query[at]),
        )
        for at in places
    ]


def _level_picture(levels: ScoreLevels | None) -> Picture | None:
    if levels is None:
        return None
    label = "score less the mean of its query" if levels.is_centred else "score"
    return pictures.level_curves(
        levels, label, "Histogram of the scores of each label, with a line at its median"
    )


def _margins(y: Any, scores: FloatArray, drawn: Drawn) -> Picture | None:
    """Return the histogram of the score differences of comparisons; None for labels."""
    if not isinstance(y, Pairs):
        return None
    margins = scores[drawn.winner] - scores[drawn.loser]
    title = "Histogram of the winner's score less the loser's, over the comparisons"
    return pictures.histogram(margins, "winner's score less loser's", title, ylabel="comparisons")


def _weight_picture(weights: list[Weight]) -> Picture | None:
    if not weights:
        return None
    return pictures.weight_bars(weights, "Weight times standard deviation of each feature")


def _calibration_picture(calibration: PairCalibration | None) -> Picture | None:
    if calibration is None:
        return None
    return pictures.calibration_curve(
        calibration, "Observed share of preferences against predicted probability"
    )
