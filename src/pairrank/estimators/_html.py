"""The table that a notebook shows of a fitted ranker."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

import numpy as np

from pairrank._protocols import Status

MOST_WEIGHTS = 8
"""The number of weights shown."""

_COUNTS = {
    "n_rows_": "Rows",
    "n_queries_": "Queries",
    "n_pairs_": "Pairs",
    "n_ties_": "Ties",
}

_STYLE = """<style>
.pairrank-fit { color: inherit; font: 13px/1.5 sans-serif; margin-bottom: 0.5em; overflow-x: auto; }
.pairrank-fit table { background: none; border-collapse: collapse; color: inherit;
  display: inline-table; margin: 0 2em 0.75em 0; vertical-align: top; }
.pairrank-fit caption { caption-side: top; color: inherit; font-weight: bold; padding: 0.25em 0.5em;
  white-space: nowrap;
  text-align: left; }
.pairrank-fit th, .pairrank-fit td { background: none; border: 0;
  border-bottom: 1px solid rgba(128, 128, 128, 0.35); color: inherit; padding: 0.15em 0.5em;
  text-align: left; }
.pairrank-fit td { font-variant-numeric: tabular-nums; overflow-wrap: anywhere; text-align: right; }
.pairrank-fit th { font-weight: normal; max-width: 18em; overflow-wrap: anywhere; }
.pairrank-fit thead th { font-style: italic; }
.pairrank-fit thead th + th { text-align: right; }
</style>"""


def fit_table(ranker: Any) -> str:
    """Return HTML tables of what a ranker learnt from, how its fit ended, and its largest weights.

    All text is escaped; there is no script. The colours are those of the page around it.
    """
    tables = _facts_table(ranker) + _weights_table(ranker)
    return f'{_STYLE}<div class="pairrank-fit">{tables}</div>'


def feature_names(ranker: Any) -> list[str]:
    """Return the names of the features that a ranker was fitted with, or else f1, f2, ..."""
    names = getattr(ranker, "feature_names_in_", None)
    if names is None:
        return [f"f{number}" for number in range(1, ranker.n_features_in_ + 1)]
    return [str(name) for name in names]


def _facts_table(ranker: Any) -> str:
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(text)}</td></tr>'
        for name, text in _facts(ranker)
    )
    title = escape(f"{type(ranker).__name__}, fitted")
    return f"<table><caption>{title}</caption><tbody>{rows}</tbody></table>"


def _facts(ranker: Any) -> Iterator[tuple[str, str]]:
    """Yield the names and values of what is known of the fit."""
    for attribute, name in _COUNTS.items():
        if hasattr(ranker, attribute):
            yield name, f"{getattr(ranker, attribute):,}"
    yield "Features", f"{ranker.n_features_in_:,}"
    if np.ndim(getattr(ranker, "coef_", 0.0)) > 1:
        yield "Targets", f"{len(ranker.coef_):,}"
    if ranker._maps_features or ranker._is_precomputed:
        kernel = getattr(ranker.kernel, "function", ranker.kernel)
        yield "Kernel", kernel if isinstance(kernel, str) else getattr(kernel, "__name__", "own")
    if hasattr(ranker, "parameters_"):
        yield "Parameters", f"{ranker.parameters_.size:,}"
    yield from _ending(ranker)


def _ending(ranker: Any) -> Iterator[tuple[str, str]]:
    """Yield how the fit ended, and the accuracies that are known."""
    if hasattr(ranker, "status_"):
        status = Status[ranker.status_.upper()]
        ended = ranker.status_.replace("_", " ")
        yield "Status", ended if status.ok else f"{ended}: {status.value}"
    if hasattr(ranker, "n_estimators_"):
        yield "Weak rankings", f"{ranker.n_estimators_:,}"
    elif hasattr(ranker, "n_iter_"):
        yield "Iterations", f"{ranker.n_iter_:,}"
    if hasattr(ranker, "objective_"):
        yield "Objective", f"{ranker.objective_:.6g}"
    if hasattr(ranker, "best_score_") and np.ndim(ranker.best_score_) == 0:
        yield "Score of the folds", f"{ranker.best_score_:.4f}"
    elif hasattr(ranker, "validation_scores_") and ranker.validation_scores_.ndim == 1:
        yield "Best validation score", f"{np.nanmax(ranker.validation_scores_):.4f}"


def _weights_table(ranker: Any) -> str:
    """Return the table of `largest_weights`; "" if there are none."""
    title, head, weights = largest_weights(ranker)
    rows = []
    for name, *numbers in weights:
        cells = "".join(f"<td>{number:.4g}</td>" for number in numbers)
        rows.append(f'<tr><th scope="row">{escape(name)}</th>{cells}</tr>')
    columns = "".join(f'<th scope="col">{name}</th>' for name in head)
    return bool(rows) * (
        f"<table><caption>{title}</caption><thead><tr>{columns}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table>"
    )


def largest_weights(ranker: Any) -> tuple[str, list[str], list[tuple[Any, ...]]]:
    """Return a title, the columns and the rows of a table of features and their weights.

    It has standard errors where they are known, importances where features have no weights, and no
    row if there are several targets, a kernel or a network.
    """
    numbers = _numbers_of_features(ranker)
    if not numbers:
        return "Weights", ["Feature"], []
    kind, first = next(iter(numbers.items()))
    noun = "Importances" if kind == "Importance" else "Weights"
    title = noun if first.size <= MOST_WEIGHTS else f"Largest {MOST_WEIGHTS} {noun.lower()}"
    names = feature_names(ranker)
    largest = np.argsort(-np.abs(first), kind="stable")[:MOST_WEIGHTS].tolist()
    rows = [(names[at], *(float(each[at]) for each in numbers.values())) for at in largest]
    return title, ["Feature", *numbers], rows


def _numbers_of_features(ranker: Any) -> dict[str, Any]:
    """Return the columns of numbers that each feature has, by their headings."""
    if hasattr(ranker, "feature_importances_"):
        return {"Importance": ranker.feature_importances_}
    is_linear = not (ranker._maps_features or ranker._is_precomputed)
    if not (is_linear and np.ndim(getattr(ranker, "coef_", 0.0)) == 1):
        return {}
    errors = getattr(ranker, "standard_errors_", None)
    return {"Weight": ranker.coef_} | ({} if errors is None else {"Standard error": errors})
