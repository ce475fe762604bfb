"""The page of a comparison: one HTML file with tables and pictures, which loads nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pairrank.comparison import pictures
from pairrank.comparison.significance import Difference
from pairrank.comparison.tables import Table, table_of
from pairrank.metrics._names import metric_named
from pairrank.report.drawing import Picture
from pairrank.report.page import environment

if TYPE_CHECKING:
    from pairrank.comparison.results import ComparisonResults

MOST_PICTURES = 4
"""The metrics whose values per fold are drawn."""

_UNITS = {"queries": "query", "folds": "fold"}


class Against(NamedTuple):
    """A metric of all models against one: tests, and pictures of differences per unit.

    `counts` are the units in which the reference is larger, equal and smaller, by model.
    """

    metric: str
    differences: list[Difference]
    counts: list[tuple[int, int, int]]
    picture: Picture | None


class Content(NamedTuple):
    """The sections of a page."""

    facts: list[tuple[str, Any]]
    table: Table
    metrics: list[str]
    reference: str | None
    unit: str
    units: str
    folds: list[Picture]
    against: list[Against]
    time: Picture | None
    all_pairs: list[Difference]
    tried: list[tuple[str, str]]
    cells: list[list[Any]]


def page_of(results: ComparisonResults) -> str:
    """Return the page as HTML."""
    template = template_of_page()
    title = f"Comparison of {len(results.models)} models"
    return str(template.render(title=title, page=content_of(results)))


def template_of_page() -> Any:
    """Return the template of the page; an error says if jinja2 is missing."""
    return environment("pairrank.comparison", "pairrank.report").get_template("comparison.html")


def content_of(results: ComparisonResults) -> Content:
    """Return the sections of a page, models best first."""
    names = [results.models[at] for at in results.order()]
    done = results.settings
    facts = [
        ("Rows", done["n_rows"]), ("Features", done["n_features"]), ("Queries", done["n_queries"]),
        ("Pairs", done["n_pairs"]), ("Models", len(names)),
        ("Folds", done["n_folds"] * done["n_repeats"]), ("Seed", done["seed"]),
    ]  # fmt: skip
    table = results.differences
    every = [
        Difference(*(table[name][at].item() for name in Difference._fields))
        for at in range(table["metric"].size)
    ]
    drawn = results.metrics[:MOST_PICTURES]
    return Content(
        facts=facts,
        table=table_of(results),
        metrics=results.metrics,
        reference=results.reference,
        unit=_UNITS[done["units"]],
        units=done["units"],
        folds=[each for each in (_folds(results, names, metric) for metric in drawn) if each],
        against=[
            each for each in (_against(results, names, name) for name in results.metrics) if each
        ],
        time=_time(results, names),
        all_pairs=every,
        tried=[(name, text) for name, text in done["tried"].items() if text],
        cells=_cells(results),
    )


def _folds(results: ComparisonResults, names: list[str], metric: str) -> Picture | None:
    """Return the picture of a metric per fold; None if no model has a value."""
    of, values = results.scores["model"], results.scores[metric]
    known = {name: values[(of == name) & np.isfinite(values)] for name in names}
    known = {name: own for name, own in known.items() if own.size}
    if not known:
        return None
    title = f"{metric} of each fold, with a line at the mean"
    return pictures.fold_dots(known, metric, title)


def _against(results: ComparisonResults, names: list[str], metric: str) -> Against | None:
    """Return the tests of a metric against the reference; None if there is none."""
    reference = results.reference
    others = [name for name in names if name != reference]
    if reference is None:
        return None
    found = [results.between(metric, reference, name) for name in others]
    tested = [each for each in found if each is not None]
    if not tested:
        return None
    values = results.units[metric]
    with np.errstate(invalid="ignore"):
        gains = {each.other: values[reference] - values[each.other] for each in tested}
    gains = {name: gain[np.isfinite(gain)] for name, gain in gains.items()}
    counts = [
        (int((gain > 0).sum()), int((gain == 0).sum()), int((gain < 0).sum()))
        for gain in gains.values()
    ]
    drawn = {name: gain for name, gain in gains.items() if gain.any()}
    units = results.settings["units"]
    picture = None
    if drawn:
        most = max(float(np.abs(gain).max()) for gain in drawn.values())
        title = (
            f"{metric} of {reference} less that of each other model, {units} in falling order of "
            f"the difference; a lane goes from {most:.2g} to {-most:.2g}"
        )
        picture = pictures.difference_bars(drawn, f"% of {units}", title)
    return Against(metric, tested, counts, picture)


def _time(results: ComparisonResults, names: list[str]) -> Picture | None:
    """Return the picture of time against the first metric; None if no model has both."""
    metric, summary = results.metrics[0], results.summary
    places = [results.models.index(name) for name in names]
    timed = [
        pictures.Timed(
            results.models[at], float(summary["fit_seconds"][at]), float(summary[metric][at])
        )
        for at in places
        if np.isfinite(summary["fit_seconds"][at] + summary[metric][at])
    ]
    if not timed:
        return None
    label = metric if metric_named(metric).greater_is_better else f"{metric}, lower is better"
    return pictures.time_scatter(timed, label, f"{metric} against the median seconds of a fit")


def _cells(results: ComparisonResults) -> list[list[Any]]:
    """Return a row per model and fold: model, repeat, fold, strength, seconds, values."""
    names = ["model", "repeat", "fold", "params", "fit_seconds", *results.metrics]
    columns = [results.scores[name].tolist() for name in names]
    return [list(row) for row in zip(*columns, strict=True)]
