"""The loss over pairs with the highest-scored losers: a surrogate of partial AUC."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor

from pairrank import _validation as validation
from pairrank._arrays import shown
from pairrank._docstrings import described_by, parameters_of
from pairrank._protocols import FloatArray
from pairrank.exceptions import PairrankError
from pairrank.preferences import Levels, Pairs
from pairrank.torch.all_pairs import (
    Backend,
    Loss,
    Reduction,
    all_pairs_loss,
    known_loss,
    loss_of_rows,
)
from pairrank.torch.rows import WEIGHTS, Rows, is_of_differences, rows_of
from pairrank.torch.sums import as_floats


@described_by(parameters_of(all_pairs_loss))
def partial_auc_loss(
    scores: Tensor,
    labels: Any,
    qid: Any = None,
    *,
    max_fpr: float,
    loss: Loss = "logistic",
    sample_weight: Any = None,
    winner_weight: Any = None,
    loser_weight: Any = None,
    mask: Any = None,
    reduction: Reduction = "mean",
    backend: Backend = "auto",
    eps: float = 1e-6,
) -> Tensor:
    r"""Return the loss over pairs of every winner with the highest-scored losers of its query.

    Each query has at most two labels; rows of the higher one are winners. The losers are the
    highest-scored fraction `max_fpr`, by weight: the last of them counts with the part of its
    weight that makes the fraction exact. So 1 minus the mean of the 0/1 loss is the area under the
    ROC curve up to the false positive rate `max_fpr`, divided by `max_fpr`.

    Parameters
    ----------
    scores : Tensor of shape (n_rows,) or (batch, list length)
        Floating point numbers on any device. Higher is better.
    labels : Tensor or array-like
        Numbers in the shape of the scores, at most two distinct ones per query.
    max_fpr : float
        Greater than 0, at most 1; with 1 it is `all_pairs_loss`.
    loss : str or object, default "logistic"
        As for `all_pairs_loss`, but not "square" or "tube".

    Returns
    -------
    Tensor
        A scalar, as `all_pairs_loss` returns it. Derivatives take the selection of losers as fixed;
        where losers of equal scores compete for the last place, one of them is taken.

    Raises
    ------
    PairrankError
        If an argument is wrong, or a query has more than two labels.

    Notes
    -----
    Costs a sort of the losers, on the CPU, and `all_pairs_loss`. With ``reduction="mean"`` the mean
    is over the pairs that count.

    Examples
    --------
    >>> import torch
    >>> from pairrank.torch import partial_auc_loss
    >>> scores = torch.tensor([1.0, 2.0, 0.0, -5.0, -5.0])
    >>> partial_auc_loss(scores, [1, 0, 0, 0, 0], max_fpr=0.25, loss="hinge")
    tensor(2.)
    """
    validation.check_number(max_fpr, "max_fpr", most=1.0)
    if isinstance(labels, Pairs):
        raise PairrankError("partial_auc_loss needs labels: Pairs have no rate of false positives")
    if is_of_differences(known_loss(loss).family):
        raise PairrankError(
            f"the loss {loss!r} compares every two rows, so no row is a loser: take a loss of "
            "preferences, such as 'logistic'"
        )
    weights = dict(zip(WEIGHTS, (sample_weight, winner_weight, loser_weight), strict=True))
    rows = rows_of(labels, qid, mask, weights)
    if rows.labels.dtype.kind == "U":
        raise PairrankError(
            "the labels of partial_auc_loss must be numbers, of which the higher one marks the "
            f"winners (got {shown(rows.labels[0])})"
        )
    own = rows.flat(scores)
    rows.weights["loser_weight"] = _top_losers(rows, as_floats(own), float(max_fpr))
    return loss_of_rows(own, rows, loss, reduction=reduction, backend=backend, eps=eps)


def _top_losers(rows: Rows, scores: FloatArray, max_fpr: float) -> FloatArray:
    """Return the loser weights, times the part of each loser that is among the highest-scored.

    Scores that are not finite have no order; the loss is not finite then, whatever the weights.
    """
    from pairrank.compiled.sorting import sorted_segments

    given = rows.weights["loser_weight"]
    loser = np.ones(rows.n_rows) if given is None else given
    if not np.isfinite(scores).all():
        return loser
    weights = {**rows.weights, "loser_weight": loser}
    levels = Levels.build(rows.labels, rows.qid, graph="full", **weights)
    n_groups = np.diff(levels.query_group)
    if n_groups.max(initial=0) > 2:
        raise PairrankError(
            "partial_auc_loss needs at most two labels per query, one of winners and one of "
            f"losers; a query has {n_groups.max()}"
        )
    result, starts, weight = np.zeros(rows.n_rows), levels.group_start, levels.sides[1]
    if weight is None or not weight.size:
        return result
    _, places = sorted_segments(-scores[levels.row_of], starts)
    group = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    row, own = levels.row_of[places], weight[places]
    before = np.cumsum(own) - own
    before -= before[starts[:-1]][group]
    wanted = max_fpr * np.add.reduceat(own, starts[:-1])[group]
    part = np.divide(wanted - before, own, out=np.zeros(own.size), where=own > 0.0)
    counts = np.isin(group, levels.query_group[:-1][n_groups == 2])
    result[row[counts]] = (loser[row] * part.clip(0.0, 1.0))[counts]
    return result
