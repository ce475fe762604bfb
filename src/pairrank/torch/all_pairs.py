"""The loss over all pairs of scores, as a function and as a module."""

from __future__ import annotations

from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from pairrank import _validation as validation
from pairrank._docstrings import described_by, parameters_of
from pairrank._protocols import Generic, MarginCost, PairLoss
from pairrank.exceptions import PairrankError
from pairrank.losses import LOSSES, Square, Tube, as_loss
from pairrank.pair_sums import check_eps
from pairrank.preferences import Graph, as_graph
from pairrank.torch.rows import REDUCTIONS, WEIGHTS, Rows, compared, rows_of
from pairrank.torch.sums import Evaluation, compiled_sum, differentiable, tiled_sum

PAIRS_PER_ROW = 1000
"""Of more pairs per row compiled sums, in time linear in the rows, pay for copies to the CPU."""
_NAMED = LOSSES | {"square": Square, "tube": Tube}
Backend = Literal["auto", "compiled", "torch"]
Reduction = Literal["mean", "query_mean", "rows", "query", "sum"]
Loss = (
    Literal[
        "squared_hinge",
        "hinge",
        "logistic",
        "probit",
        "raykar",
        "exponential",
        "modified_huber",
        "huberised_hinge",
        "square",
        "tube",
    ]
    | MarginCost
)


def all_pairs_loss(
    scores: Tensor,
    labels: Any,
    qid: Any = None,
    *,
    loss: Loss = "logistic",
    graph: Graph = "full",
    levels: Any = None,
    sample_weight: Any = None,
    winner_weight: Any = None,
    loser_weight: Any = None,
    mask: Any = None,
    reduction: Reduction = "mean",
    backend: Backend = "auto",
    eps: float = 1e-6,
) -> Tensor:
    r"""Return a loss summed or averaged over all pairs of scores, without listing them.

    .. math:: a \sum_{(i, j)} u_i v_j \, \varphi(s_i - s_j)

    over all preferences (i, j): rows of one query, of which `graph` prefers i to j by their labels.
    The factor a is that of the reduction; u and v are the weights of winners and losers. "square"
    and "tube" are summed over all ordered pairs of rows of a query, ties and each row with itself
    included, and compare s_i - s_j with the difference of the labels.

    Parameters
    ----------
    scores : Tensor of shape (n_rows,) or (batch, list length)
        Floating point numbers on any device. Higher is better.
    labels : Tensor or array-like of shape (n_rows,) or (batch, list length), or Pairs
        Any finite numbers; higher is better. Text, if `graph` is an OrderGraph. With two dimensions
        each row of the batch is a query. Or explicit comparisons of the rows.
    qid : Tensor or array-like of shape (n_rows,), optional
        Queries; rows are compared within a query only. None: all rows are one query.
    loss : str or object, default "logistic"
        A name in `pairrank.losses.LOSSES`, "square" or "tube", or an object with `phi`, such as
        ``pairrank.losses.Hinge(margin=0.5)``. A loss of no known family is summed pair by pair.
    graph : "full", "chain" or OrderGraph, default "full"
        Which labels are preferred to which: every higher one, the next higher one present in the
        query, or explicit edges (low, high).
    levels : array-like, optional
        All labels that exist, of which a batch may lack some. With them "chain" joins neighbours
        in this list, also where a query lacks the label between two others; and the labels of an
        OrderGraph must be among them, not in the batch.
    sample_weight : Tensor or array-like, optional
        Row weights; a pair's weight is the product of its rows' weights. Rows that weigh 0 in every
        pair are left out, and so are queries of such rows.
    winner_weight, loser_weight : Tensor or array-like, optional
        Further factors of the pairs that a row wins, and of those that it loses.
    mask : Tensor or array-like of bool, optional
        True for rows, False for padding, in the shape of the labels. What stands at padding is
        ignored, and its gradient is 0.
    reduction : "mean", "query_mean", "rows", "query" or "sum", default "mean"
        "mean" is the weighted mean over all pairs, "query_mean" the mean over queries of their
        weighted means, where queries without a pair count as 0. "rows", "query" and "sum" are those
        of the rankers: W times "mean", W times "query_mean" (W is the total row weight), and the
        plain sum. Without a pair the loss is 0.
    backend : "auto", "compiled" or "torch", default "auto"
        "compiled" sums on the CPU in float64, and copies scores that are elsewhere. "torch" sums by
        torch's operations on the device of the scores, pair by pair, in float64 (float32 on devices
        without it). "auto" is "compiled" for scores on the CPU, for losses of no known family, and
        for more than 1,000 pairs per row; otherwise "torch".
    eps : float, default 1e-6
        Between 0 and 1, for logistic, probit and raykar: a row's gradient may be off by eps times
        the weight of its pairs, the sum by eps times the weight of all. Small queries are exact,
        of some hundred rows or fewer.

    Returns
    -------
    Tensor
        A scalar of the type of the scores, or float32 for float16 and bfloat16. It can be
        differentiated twice by the scores.

    Raises
    ------
    PairrankError
        If shapes differ, a label or weight is not finite, or an option is out of range.

    Notes
    -----
    Compiled sums of m rows cost O(m) for logistic, probit, raykar, exponential and square; O(m) or
    O(m log m) for hinges and tubes; O(pairs) for losses of no known family and for sigmoids of
    small queries. The torch backend costs O(pairs). Memory is O(m): pairs exist in tiles only. The
    gradient is computed with the value; a second derivative costs about as much as the value.

    Of compiled sums, hinges and tubes of queries of 4,000 rows and more are summed in cells of a
    256th of the margin: the value is off by about 1e-8 of itself, the gradient by about 2e-6 (of
    the hinge 3e-3). The torch backend sums every loss exactly.

    Labels, queries and weights are laid out on the CPU. Scores that are not finite give an infinite
    loss and a gradient of NaN. Sums are in float64, under autocast too.

    Examples
    --------
    >>> import torch
    >>> from pairrank.torch import all_pairs_loss
    >>> scores = torch.tensor([0.0, 1.0, 3.0], requires_grad=True)
    >>> all_pairs_loss(scores, [0, 2, 1], loss="squared_hinge", reduction="sum").backward()
    >>> scores.grad
    tensor([ 0., -6.,  6.])
    """
    weights = dict(zip(WEIGHTS, (sample_weight, winner_weight, loser_weight), strict=True))
    rows = rows_of(labels, qid, mask, weights)
    return loss_of_rows(
        rows.flat(scores), rows, loss, graph, levels, reduction=reduction, backend=backend, eps=eps
    )


@described_by(parameters_of(all_pairs_loss))
class AllPairsLoss(nn.Module):
    """`all_pairs_loss` as a module, with the options that do not depend on the batch.

    Parameters
    ----------
    loss, graph, levels, reduction, backend, eps
        As for `all_pairs_loss`.
    **others : Any
        Refused: what differs from batch to batch, such as weights, is given with the scores.

    Examples
    --------
    >>> import torch
    >>> from pairrank.torch import AllPairsLoss
    >>> criterion = AllPairsLoss(loss="hinge")
    >>> criterion(torch.tensor([0.5, 0.0]), [1, 0])
    tensor(0.5000)
    """

    def __init__(
        self,
        *,
        loss: Loss = "logistic",
        graph: Graph = "full",
        levels: Any = None,
        reduction: Reduction = "mean",
        backend: Backend = "auto",
        eps: float = 1e-6,
        **others: Any,
    ) -> None:
        super().__init__()
        for name in others:
            if name in (*WEIGHTS, "mask"):
                raise PairrankError(f"{name} differs from batch to batch: give it with the scores")
            raise TypeError(f"AllPairsLoss has no option {name!r}")
        as_graph(graph)
        _checked(loss, reduction, backend, eps)
        self.options: dict[str, Any] = {"loss": loss, "graph": graph, "levels": levels}
        self.options |= {"reduction": reduction, "backend": backend, "eps": eps}

    def forward(self, scores: Tensor, labels: Any, qid: Any = None, **of_batch: Any) -> Tensor:
        """Return the loss of a batch.

        Parameters
        ----------
        scores : Tensor
        labels : Tensor or array-like
        qid : Tensor or array-like, optional
        **of_batch
            `sample_weight`, `winner_weight`, `loser_weight` and `mask`.

        Returns
        -------
        Tensor
        """
        return all_pairs_loss(scores, labels, qid, **self.options, **of_batch)

    def extra_repr(self) -> str:
        """Return the options that are not defaults, as a module shows itself."""
        defaults = AllPairsLoss.__init__.__kwdefaults__ or {}
        changed = (each for each in self.options.items() if each[1] is not defaults[each[0]])
        return ", ".join(f"{name}={value!r}" for name, value in changed)


def loss_of_rows(
    scores: Tensor,
    rows: Rows,
    loss: Loss,
    graph: Graph = "full",
    levels: Any = None,
    *,
    reduction: str,
    backend: str,
    eps: float,
) -> Tensor:
    """Return the loss at the scores of checked rows, (n_rows,)."""
    known = _checked(loss, reduction, backend, eps)
    preferences, factor = compared(rows, known.family, graph, levels, reduction)
    if not preferences.n_pairs or not factor:
        return differentiable(scores, _nothing)
    if backend == "auto":
        has_many = preferences.n_pairs > PAIRS_PER_ROW * preferences.n_rows
        on_cpu = scores.device.type == "cpu"
        is_compiled = on_cpu or has_many or isinstance(known.family, Generic)
        backend = "compiled" if is_compiled else "torch"
    if backend == "compiled":
        return differentiable(scores, compiled_sum(known, preferences, factor, eps))
    return differentiable(scores, tiled_sum(known, preferences, factor, scores.device))


def known_loss(loss: Any) -> PairLoss:
    """Return the loss of a name, or of any object that has `phi`."""
    if isinstance(loss, str) and loss not in _NAMED:
        names = ", ".join(map(repr, _NAMED))
        raise PairrankError(f"loss must be one of {names}, or an object with phi (got {loss!r})")
    return as_loss(_NAMED[loss]() if isinstance(loss, str) else loss)


def _checked(loss: Loss, reduction: str, backend: str, eps: float) -> PairLoss:
    """Return the loss of a name, or raise a PairrankError if an option is wrong."""
    validation.check_choice(reduction, "reduction", tuple(REDUCTIONS))
    validation.check_choice(backend, "backend", get_args(Backend))
    check_eps(eps)
    return known_loss(loss)


def _nothing(scores: Tensor) -> Evaluation:
    """Return the evaluation of a sum over no pairs: 0 with a gradient of 0."""
    return Evaluation(scores.new_zeros(()), torch.zeros_like(scores), torch.zeros_like)
