"""Expected reciprocal rank: where a user stops who reads a ranked list from its top."""

from __future__ import annotations

from typing import Any, Unpack

from numpy.typing import ArrayLike

from pairrank._docstrings import entries
from pairrank._protocols import FloatArray
from pairrank._validation import check_number
from pairrank.exceptions import PairrankError
from pairrank.metrics._inputs import metric
from pairrank.metrics._queries import OF_QUERIES, Lists, QueryArguments, mean_of_lists
from pairrank.metrics.ndcg import NO_NEGATIVE, scaled_gains

_DESCRIBED = entries("""
y_true : array-like of shape (n_rows,)
    Labels, not negative; 0 is irrelevant. They need not be whole numbers.
""")


@metric(OF_QUERIES, _DESCRIBED, like=mean_of_lists)
def expected_reciprocal_rank(
    y_true: ArrayLike,
    scores: ArrayLike,
    *,
    k: int | None = None,
    max_label: float | None = None,
    **how: Unpack[QueryArguments],
) -> Any:
    r"""Return the mean over queries of the expected reciprocal rank, ERR.

    .. math:: \sum_i \frac{R_i}{i} \prod_{j < i} (1 - R_j), \quad R = (2^y - 1) / 2^{y_{\max}},

    over the positions i <= k. A user reads from the top, and the row at position i satisfies with
    probability R_i; the value is the mean of 1/(position where the user stops). Tied scores get the
    expected value over their orders.

    Parameters
    ----------
    max_label : float, optional
        The highest label of the scale, such as 4 for LETOR's 0 to 4; None: the highest of y_true,
        so name it to compare values of different rows.

    Notes
    -----
    Costs O(m log m) for m rows without ties. A group of n tied rows, r of them relevant, costs
    about r min(n, k, 40/mean) steps, where `mean` is the mean of R over the group: linear in n if
    the R of relevant rows are not tiny. The probability that j tied rows in random order do not
    satisfy is the mean product of j of their 1 - R, which is built up row by row.

    References
    ----------
    Chapelle, Metlzer, Zhang & Grinspan 2009, "Expected reciprocal rank for graded relevance".

    Examples
    --------
    >>> round(expected_reciprocal_rank([2, 0, 1], [3, 2, 1]), 4)  # 3/4 + (1 - 3/4) (1/4) / 3
    0.7708
    """
    if max_label is not None:
        check_number(max_label, "max_label", inclusive=True)

    def value(lists: Lists) -> FloatArray:
        from pairrank.compiled.ranked_lists import cascades

        highest = lists.labels.max(initial=0.0)
        top = highest if max_label is None else float(max_label)
        if highest > top:
            raise PairrankError(
                f"y_true holds the label {highest:g}, but max_label is {top:g}: give the highest "
                "label of the scale"
            )
        cutoff = lists.longest if k is None else min(int(k), lists.longest)
        return cascades(lists.keys, scaled_gains(lists.labels, top), lists.starts, cutoff)

    return mean_of_lists(value, y_true, scores, k, NO_NEGATIVE, **how)
