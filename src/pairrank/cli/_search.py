"""train --search: the strength that ranks the validation rows best."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pairrank.cli._metrics import METRICS, measure
from pairrank.cli._models import MODELS, grid_of
from pairrank.cli._report import Progress

if TYPE_CHECKING:
    from pairrank.io import Rows


def search_strength(
    model: str,
    ranker: Any,
    rows: Rows,
    valid_rows: Rows,
    metric: str,
    graph: Any,
    progress: Progress,
    **fit_params: Any,
) -> tuple[Any, bool]:
    """Return the best ranker of the path over a model's strength, and whether it was walked out.

    C runs from 2^-15 to 2^10, as in Lee & Lin 2014, alpha from 1e-4 to 1e5, of least squares from
    2^-10 to 2^10, as in Airola et al. 2010; best is by the metric on the validation rows, the most
    regularised of equals.

    Parameters
    ----------
    model : str
        Its name at the command line.
    ranker : estimator
        With its other parameters; it is not changed.
    rows, valid_rows : Rows
        What to learn from, and to judge by.
    metric : str
        A name in METRICS.
    graph : "full", "chain" or OrderGraph
        The pairs that the metric judges.
    progress : Progress
        Takes a line a value.
    **fit_params : Any
        Further arguments of every fit.
    """
    from pairrank.model_selection.path import regularization_path

    strength = MODELS[model].strength
    sign = -1.0 if METRICS[metric].differences else 1.0

    def judge(candidate: Any, X: Any, y: Any) -> float:
        value = measure(metric, valid_rows, candidate.predict(X), graph)
        progress.keep(
            f"{strength} {getattr(candidate, strength):<12g} {metric} {value:.5f}  "
            f"objective {candidate.objective_:.6g}  steps {candidate.n_iter_}"
        )
        return sign * value

    path = regularization_path(
        ranker,
        rows.X,
        rows.y,
        param=strength,
        values=grid_of(model),
        qid=rows.qid,
        sample_weight=rows.weight,
        X_val=valid_rows.X,
        y_val=valid_rows.y,
        scoring=judge,
        fit_params=fit_params,
    )
    progress.keep(f"best: {strength} {path.best_value:g}, {metric} {sign * path.best_score:.5f}")
    return path.best_estimator, not path.interrupted
