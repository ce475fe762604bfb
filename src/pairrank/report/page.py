"""report: one self-contained HTML page on how a ranker ranks some rows."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Unpack

from numpy.typing import ArrayLike

from pairrank import _validation as validation
from pairrank._extras import require
from pairrank.exceptions import PairrankError
from pairrank.io._streams import AnyPath, atomic_write
from pairrank.metrics._inputs import RowArguments, metric
from pairrank.plotting.svg import matplotlib_of
from pairrank.preferences import Pairs
from pairrank.report.content import content_of
from pairrank.report.measures import chosen_metrics
from pairrank.report.subject import judged_rows, subject_of


@dataclass(frozen=True)
class Report:
    """An HTML page; a notebook shows it in a frame.

    Attributes
    ----------
    html : str
        The page, with its style and its pictures. It has no script and loads nothing.
    """

    html: str

    def save(self, path: AnyPath) -> None:
        """Write the page to a file, whole or not at all; "-" is standard output."""
        with atomic_write(path) as file:
            file.write(self.html.encode())

    def _repr_html_(self) -> str:
        page = html.escape(self.html)
        style = "border: 1px solid gray; height: 40em; width: 100%"
        return f'<iframe title="pairrank report" style="{style}" srcdoc="{page}"></iframe>'


@metric(roles=True)
def report(
    model: Any,
    X: Any,
    y: ArrayLike | Pairs,
    *,
    other: Any = None,
    X_other: Any = None,
    metrics: str | Sequence[str] | None = None,
    graph: Any = None,
    title: str | None = None,
    names: tuple[str, str] | None = None,
    random_state: int = 0,
    **rows: Unpack[RowArguments],
) -> Report:
    """Return a page that shows how a ranker ranks rows, and how it differs from another ranker.

    It shows metrics with their spread over queries, the worst and the best queries with their rows
    in order and the contributions of features, the weights, the scores of each label, and of
    RankNCG the calibration of its pair probabilities.

    Parameters
    ----------
    model : estimator
        A fitted ranker of one target, or a Pipeline or search that ends with one.
    X : array-like, CSR matrix or frame of shape (n_rows, n_features)
        Rows to judge by, best others than the training rows.
    y : array-like of shape (n_rows,), or Pairs
        Labels, or explicit comparisons.
    other : estimator, optional
        Another ranker, shown beside the first.
    X_other : array-like, CSR matrix or frame of shape (n_rows, n_features_of_other), optional
        The rows as `other` takes them; None: X.
    metrics : str or sequence of str, optional
        Names as in `pairrank.model_selection.get_query_scorer`; queries are sorted by the first.
        None: those that suit the labels.
    graph : "full", "chain" or OrderGraph, optional
        Which labels are preferred to which; None: the graph of `model`.
    title : str, optional
        The heading of the page.
    names : (str, str), optional
        What the page calls `model` and `other`; None: their classes.
    random_state : int
        The seed of the samples and of the comparison.

    Returns
    -------
    Report
        Its `save` writes the page to a file.

    Raises
    ------
    PairrankError
        If input is wrong, there is no preference, or a metric cannot judge the labels.
    ImportError
        If jinja2 or matplotlib is not installed.

    Notes
    -----
    Costs the metrics and O(n_rows n_features). The size of the page is limited: it shows up to 10
    queries with 10 rows each, 25 weights, 12 labels and 1,000 points, and says what is left out.

    Examples
    --------
    >>> from pairrank import RankRLS
    >>> from pairrank.datasets import make_queries
    >>> data = make_queries(5, 10, 3, random_state=0)
    >>> page = report(RankRLS().fit(data.X, data.y, qid=data.qid), data.X, data.y, qid=data.qid)
    >>> page.html[:15]
    '<!doctype html>'
    """
    template = page_template()
    subjects = [subject_of(model, X)]
    n_rows = subjects[0].X.shape[0]
    judged, layout = judged_rows(y, n_rows, rows)
    validation.check_number(random_state, "random_state", inclusive=True, integer=True)
    if other is not None:
        subjects.append(subject_of(other, X if X_other is None else X_other))
        n_others = subjects[1].X.shape[0]
        if n_others != n_rows:
            raise PairrankError(f"X_other has {n_others} rows, but X {n_rows}: give the same rows")
    probabilities = all(each.gives_probabilities for each in subjects)
    page = content_of(
        subjects,
        judged,
        layout,
        graph=graph if graph is not None else getattr(subjects[0].ranker, "graph", "full"),
        metrics=chosen_metrics(metrics, judged, layout, probabilities=probabilities),
        names=_distinct(names or [type(each.ranker).__name__ for each in subjects]),
        seed=random_state,
    )
    heading = f"Report on {page['names'][0]}" if title is None else title
    return Report(template.render(title=heading, page=page))


def _distinct(names: Sequence[str]) -> Sequence[str]:
    """Return the names of one or two models, told apart if they are equal."""
    is_twice = len(set(names)) < len(names)
    return [f"{names[0]} (first)", f"{names[1]} (second)"] if is_twice else names


def page_template() -> Any:
    """Return the template of the page; an error says if a library is missing."""
    matplotlib_of()
    return template_named("page.html")


def template_named(name: str) -> Any:
    """Return a template of this room; an error says if jinja2 is missing."""
    jinja2 = require("jinja2", "report", "pages")
    found = jinja2.Environment(
        loader=jinja2.PackageLoader("pairrank.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters["number"] = number_text
    return found.get_template(name)


NONE = "–"


def number_text(value: Any) -> str:
    """Return a number as text of four digits, whole numbers with separators; "–" for none."""
    if value is None or value != value:
        return NONE
    if isinstance(value, int) or (1e4 <= abs(value) < 1e12 and float(value).is_integer()):
        return f"{int(value):,}"
    return f"{value:.4g}"
