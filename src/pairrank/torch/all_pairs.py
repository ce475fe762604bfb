"""The loss over all pairs of scores: a function, a module, and a loss bound to its labels."""

from __future__ import annotations

from typing import Any, Literal, TypedDict, Unpack

import torch
from torch import Tensor, nn

from pairrank import _validation as validation
from pairrank._docstrings import described_by, keywords_of, parameters_of, showing
from pairrank._protocols import Generic, MarginCost, PairLoss
from pairrank.exceptions import PairrankError
from pairrank.pair_sums import bind, check_eps
from pairrank.preferences import Graph, as_graph
from pairrank.torch.autograd import Evaluate, Evaluation, differentiable
from pairrank.torch.compiled_sums import compiled_sum
from pairrank.torch.distributed import gather_rows, gathered
from pairrank.torch.families import loss_of
from pairrank.torch.preferences import REDUCTIONS, compared
from pairrank.torch.rows import WEIGHTS, check_scores, rows_of
from pairrank.torch.torch_sums import torch_sum

BACKENDS = ("auto", "compiled", "torch")
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


class BatchOptions(TypedDict, total=False):
    """The keywords of a loss that differ from batch to batch."""

    sample_weight: Any
    winner_weight: Any
    loser_weight: Any
    mask: Any


class LossOptions(TypedDict, total=False):
    """The keywords of a loss that are the same for every batch."""

    loss: Loss
    graph: Graph
    levels: Any
    reduction: Reduction
    backend: Backend
    eps: float
    gather: bool


class Options(BatchOptions, LossOptions, total=False):
    """The keywords of a loss over all pairs."""


class BoundLoss:
    """`all_pairs_loss` for known labels, as a function of the scores.

    What depends on the labels only is computed once, which saves time where the same rows are
    scored again and again.

    Parameters
    ----------
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
        torch's operations on the device of the scores, in float64 (float32 on devices without it).
        "auto" is "compiled" for scores on the CPU and for losses of no known family, otherwise
        "torch".
    eps : float, default 1e-6
        Between 0 and 1, for logistic, probit and raykar: a row's gradient may be off by eps times
        the weight of its pairs, the sum by eps times the weight of all. Small queries are exact,
        of some hundred rows or fewer.
    gather : bool, default False
        Compare the rows of all processes of the default process group, see
        `pairrank.torch.gather_rows`. Every process gets the loss over all rows.

    Raises
    ------
    PairrankError
        If an argument is wrong.

    Examples
    --------
    >>> import torch
    >>> from pairrank.torch import BoundLoss
    >>> loss = BoundLoss([0, 1, 2])
    >>> loss(torch.zeros(3))
    tensor(0.6931)
    """

    def __init__(
        self,
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
        gather: bool = False,
    ) -> None:
        self.loss = _checked(loss, reduction, backend, eps)
        self.backend, self.eps = backend, float(eps)
        weights = dict(zip(WEIGHTS, (sample_weight, winner_weight, loser_weight), strict=True))
        self._rows, self._gathers = rows_of(labels, qid, mask, weights), gather
        rows = gathered(self._rows) if gather else self._rows
        self.pairs = compared(rows, self.loss.family, graph, levels, reduction)
        self._sums: dict[str, Evaluate] = {}

    def __call__(self, scores: Tensor) -> Tensor:
        """Return the loss at the scores, a scalar that can be differentiated twice.

        Parameters
        ----------
        scores : Tensor
            Of the shape of the labels.

        Returns
        -------
        Tensor
        """
        flat = self._rows.flat(scores)
        return differentiable(
            gather_rows(flat) if self._gathers else flat, self._sum(scores.device)
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return all but the sums, which are made anew at the next call."""
        return {**self.__dict__, "_sums": {}}

    def _sum(self, device: torch.device) -> Evaluate:
        """Return the sum that the backend computes for scores on a device."""
        if not self.pairs.preferences.n_pairs or not self.pairs.factor:
            return _nothing
        backend = self.backend
        if backend == "auto":
            is_compiled = device.type == "cpu" or isinstance(self.loss.family, Generic)
            backend = "compiled" if is_compiled else "torch"
        place = backend if backend == "compiled" else str(device)
        if place not in self._sums:
            self._sums[place] = self._bind(backend, device)
        return self._sums[place]

    def _bind(self, backend: str, device: torch.device) -> Evaluate:
        preferences, factor = self.pairs
        if backend == "torch":
            return torch_sum(self.loss, preferences, factor, self.eps, device)
        return compiled_sum(self.loss, bind(self.loss, preferences, eps=self.eps), factor)


@described_by(parameters_of(BoundLoss))
@showing(keywords_of(BoundLoss))
def all_pairs_loss(
    scores: Tensor, labels: Any, qid: Any = None, **options: Unpack[Options]
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
    Cost for m rows: O(m) for logistic, probit, raykar, exponential and square; O(m) or O(m log m)
    for hinges and tubes; O(pairs) for losses of no known family and for sigmoids of small queries,
    in tiles. Memory is O(m), and no matrix of all pairs is ever formed. The gradient is computed
    with the value; a second derivative costs about as much as the value.

    Of compiled sums, hinges and tubes of queries of 20,000 rows and more are summed in cells of a
    256th of the margin: the value is off by about 1e-8 of itself, the gradient by about 2e-6 (of
    the hinge 1e-3). The torch backend sums them exactly.

    Labels, queries and weights are laid out on the CPU. `BoundLoss` does so once. Scores that are
    not finite give an infinite loss and a gradient of NaN. Sums are in float64, under autocast too.

    Examples
    --------
    >>> import torch
    >>> from pairrank.torch import all_pairs_loss
    >>> scores = torch.tensor([0.0, 1.0, 3.0], requires_grad=True)
    >>> all_pairs_loss(scores, [0, 2, 1], loss="squared_hinge", reduction="sum").backward()
    >>> scores.grad
    tensor([ 0., -6.,  6.])
    """
    check_scores(scores)
    return BoundLoss(labels, qid, **options)(scores)


@described_by(parameters_of(BoundLoss))
@showing(each for each in keywords_of(BoundLoss) if each.name not in BatchOptions.__annotations__)
class AllPairsLoss(nn.Module):
    """`all_pairs_loss` as a module, with the options that do not depend on the batch.

    Examples
    --------
    >>> import torch
    >>> from pairrank.torch import AllPairsLoss
    >>> criterion = AllPairsLoss(loss="hinge")
    >>> criterion(torch.tensor([0.5, 0.0]), [1, 0])
    tensor(0.5000)
    """

    def __init__(self, **options: Unpack[LossOptions]) -> None:
        super().__init__()
        for name in options:
            if name in BatchOptions.__annotations__:
                raise PairrankError(f"{name} differs from batch to batch: give it with the scores")
            if name not in LossOptions.__annotations__:
                raise TypeError(f"AllPairsLoss has no option {name!r}")
        as_graph(options.get("graph", "full"))
        _checked(
            options.get("loss", "logistic"),
            options.get("reduction", "mean"),
            options.get("backend", "auto"),
            options.get("eps", 1e-6),
        )
        self.options = options

    def forward(
        self, scores: Tensor, labels: Any, qid: Any = None, **of_batch: Unpack[BatchOptions]
    ) -> Tensor:
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
        options: Options = {**self.options, **of_batch}
        return all_pairs_loss(scores, labels, qid, **options)

    def extra_repr(self) -> str:
        """Return the options, as a module shows itself."""
        return ", ".join(f"{name}={value!r}" for name, value in self.options.items())


def _checked(loss: Loss, reduction: str, backend: str, eps: float) -> PairLoss:
    """Return the loss of a name, or raise a PairrankError if an option is wrong."""
    validation.check_choice(reduction, "reduction", tuple(REDUCTIONS))
    validation.check_choice(backend, "backend", BACKENDS)
    check_eps(eps)
    return loss_of(loss)


def _nothing(scores: Tensor) -> Evaluation:
    """Return the evaluation of a sum over no pairs: 0 with a gradient of 0."""
    return Evaluation(scores.new_zeros(()), torch.zeros_like(scores), torch.zeros_like)
