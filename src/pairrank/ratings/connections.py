"""Whether comparisons determine scores: parts of items, and ties that no loss contradicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from pairrank.exceptions import PairrankError
from pairrank.preferences.names import shown
from pairrank.ratings.margins import LOSS, TIE, WIN, Margins

_PARTS_SHOWN, _NAMES_SHOWN = 6, 4


def beaten(margins: Margins, *, ties: bool) -> sparse.csr_array:
    """Return the graph with an edge from each winner to each loser, and both ways for ties."""
    has = margins.weight > 0.0
    down, up = has[WIN] | (ties & has[TIE]), has[LOSS] | (ties & has[TIE])
    heads = np.concatenate((margins.first[down], margins.second[up]))
    tails = np.concatenate((margins.second[down], margins.first[up]))
    shape = (margins.n_items, margins.n_items)
    return sparse.coo_array((np.ones(heads.size), (heads, tails)), shape=shape).tocsr()


def parts_of(margins: Margins, *, strong: bool) -> NDArray[np.int32]:
    """Return the connected component of each item.

    In a strong component each item has beaten each other one through a chain of wins and ties.
    """
    kind = "strong" if strong else "weak"
    graph = beaten(margins, ties=True)
    found: NDArray[np.int32] = csgraph.connected_components(graph, connection=kind)[1]
    return found


def described_parts(items: NDArray[Any], part: NDArray[np.int32]) -> str:
    """Return a list of components for a message, the largest first."""
    _, first, sizes = np.unique(part, return_index=True, return_counts=True)
    largest = np.lexsort((first, -sizes))[:_PARTS_SHOWN]
    listed = [_named(items[part == each]) for each in largest]
    more = sizes.size - len(listed)
    return "; ".join(listed) + (f"; and {more} more" if more else "")


def check_finite_scores(margins: Margins, items: NDArray[Any], *, parameter: bool) -> None:
    """Raise a PairrankError if the maximum of the likelihood of scores is at infinity.

    Halves have finite scores exactly if all items are one strong component (Ford 1957). With a tie
    `parameter` a chain of items that leads back to its start must also have more wins than ties:
    otherwise all scores can grow with the parameter, and all comparisons stay likely.
    """
    part = parts_of(margins, strong=True)
    if part.max(initial=0) > 0:
        raise PairrankError(
            f"the scores would be infinite: the items fall into {part.max() + 1} parts, and "
            "between two parts one never wins against the other, or they never met: "
            f"{described_parts(items, part)}. Set alpha (such as alpha=0.1), a penalty that "
            "keeps scores finite, or drop the items"
        )
    if parameter and margins.weight[TIE].any() and not _has_more_wins_than_ties(margins):
        raise PairrankError(
            "the scores would be infinite: no chain of comparisons that leads back to its first "
            "item has more wins than ties, so ever larger scores and ties fit ever better. Set "
            'alpha (such as alpha=0.1), or ties="half"'
        )


def _has_more_wins_than_ties(margins: Margins) -> bool:
    """Whether a cycle has more wins than ties; O(items + margins) if wins alone have a cycle."""
    wins = beaten(margins, ties=False)
    n_parts, _ = csgraph.connected_components(wins, connection="strong")
    if n_parts < margins.n_items:
        return True
    edges, won = beaten(margins, ties=True), wins.tocoo()
    edges.data[:] = 1.0
    won.data[:] = -2.0
    lengths = edges + won.tocsr()  # 1 for a tie, -1 for a win
    try:
        csgraph.bellman_ford(lengths, indices=0)
    except csgraph.NegativeCycleError:
        return True
    return False


def _named(names: Sequence[Any] | NDArray[Any]) -> str:
    listed = ", ".join(shown(name) for name in names[:_NAMES_SHOWN])
    more = len(names) - _NAMES_SHOWN
    return f"{{{listed}{f' and {more} more' if more > 0 else ''}}}"
