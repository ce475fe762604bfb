"""One pass over blocks: scores of a model, labels, and the scales of features."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from pairrank._protocols import FloatArray
from pairrank.blocks._contracts import RowBlock
from pairrank.blocks.checking import Checks
from pairrank.blocks.kept import KeptRows
from pairrank.blocks.local_passes import ReadingHook, reported
from pairrank.blocks.sources import Source
from pairrank.exceptions import PairrankError


def scored(
    source: Source, ranker: Any, report: ReadingHook | None, *, labelled: bool
) -> tuple[FloatArray, RowBlock]:
    """Return the scores of all rows, (n_rows,) or (n_rows, n_targets), and all rows without X.

    Only if `labelled`, the rows have labels, queries and weights. `ranker` is fitted.
    """
    checks = Checks(source, int(ranker.n_features_in_))
    parts: list[FloatArray] = []
    kept: list[KeptRows] = []
    for rows in reported(_read(checks, labelled=labelled), report):
        if not parts:
            check_names(checks.feature_names, ranker)
        parts.append(ranker._scores(rows.X))
        if labelled:
            kept.append(KeptRows(rows))
        del rows
    if not parts:
        raise PairrankError(f"{source.name} has no rows: there is nothing to score")
    return np.concatenate(parts), joined(kept)


def labels_of(source: Source, report: ReadingHook | None) -> RowBlock:
    """Return labels, queries and weights of all rows."""
    return joined([KeptRows(rows) for rows in reported(_read(Checks(source)), report)])


def scaler_of(source: Source, report: ReadingHook | None) -> StandardScaler:
    """Return means and standard deviations of the features, of sparse X the latter only."""
    scaler: Any = None
    for rows in reported(_read(Checks(source), labelled=False), report):
        scaler = scaler or StandardScaler(with_mean=not sparse.issparse(rows.X))
        scaler.partial_fit(rows.X)
        del rows
    if scaler is None:
        raise PairrankError(f"{source.name} has no rows: there is nothing to standardise")
    return scaler


def _read(checks: Checks, *, labelled: bool = True) -> Iterator[RowBlock]:
    """Yield the checked blocks of one pass."""
    with contextlib.closing(checks.read(labelled=labelled)) as blocks:
        for _, rows in blocks:
            yield rows
            del rows


def joined(kept: list[KeptRows]) -> RowBlock:
    """Return the rows of all blocks together, without X."""
    blocks = [each.rows() for each in kept]
    columns = list(zip(*blocks, strict=True))[1:] if blocks else []
    parts: list[Any] = [None if column[0] is None else np.concatenate(column) for column in columns]
    return RowBlock(None, *parts)


def check_names(names: Sequence[str] | None, ranker: Any) -> None:
    """Raise a PairrankError where names of features, if known, are not those of the fit."""
    known = getattr(ranker, "feature_names_in_", None)
    if names is None or known is None or list(names) == list(map(str, known)):
        return
    wrong = next((pair for pair in zip(names, known, strict=False) if pair[0] != pair[1]), None)
    shown = "" if wrong is None else f": {wrong[0]!r} stands where {wrong[1]!r} was"
    raise PairrankError(
        f"the features have other names, or another order, than in the fit{shown}; name them with "
        "features="
    )
