"""export: write a linear ranker, or a Pipeline that ends with one, for another program."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from pairrank import _validation as validation
from pairrank._protocols import Array, FloatArray
from pairrank.exceptions import OrderChangeWarning, PairrankError
from pairrank.export.formats import FORMATS, Format, LinearModel, format_named
from pairrank.io._streams import AnyFile, open_target
from pairrank.io.rows import listed
from pairrank.preferences import Levels
from pairrank.preferences._codes import query_codes


class OrderCheck(NamedTuple):
    """What an export changes in the order of given rows.

    Attributes
    ----------
    n_rows, n_queries, n_pairs : int
        The rows, their queries, and the pairs of rows of a query that the ranker orders.
    n_changed : int
        The pairs of these that the export reverses or ties.
    changed_queries : list
        The identifiers of the queries with a changed pair; None for rows that are one query.
    largest_difference : float
        The largest difference of the ranker's scores within a changed pair; 0 if there is none.
    """

    n_rows: int
    n_queries: int
    n_pairs: int
    n_changed: int
    changed_queries: list[Any]
    largest_difference: float

    def __str__(self) -> str:
        if not self.n_changed:
            queries = f"{self.n_queries:,} {'query' if self.n_queries == 1 else 'queries'}"
            kept = f"the order of all {self.n_pairs:,} pairs is kept"
            return f"{kept} ({self.n_rows:,} rows, {queries})"
        text = (
            f"the order of {self.n_changed:,} of {self.n_pairs:,} pairs changes (score difference "
            f"up to {self.largest_difference:.2g})"
        )
        if self.changed_queries == [None]:
            return text
        count = f"{len(self.changed_queries):,} of {self.n_queries:,} queries"
        return f"{text}, in {count}: {listed(self.changed_queries)}"


_REMEDY = (
    "; subtract a constant from features far from 0, in training and in the engine, or use a "
    "format that is computed in float64"
)


def export(
    model: Any,
    path: AnyFile,
    format: str | None = None,
    *,
    feature_names: Sequence[str] | None = None,
    name: str | None = None,
    check: tuple[Any, Any] | None = None,
) -> OrderCheck | None:
    """Write the weights of a linear ranker for a search engine, a database or a program.

    Scalers of a Pipeline are folded into the weights, so the file takes raw features. The offset
    that they cause is the same for all rows and does not change their order; "json", "sql"
    and "onnx" keep it, the others have no place for it.

    Parameters
    ----------
    model : estimator
        A fitted linear ranker; a Pipeline of scalers (StandardScaler, MinMaxScaler, MaxAbsScaler,
        RobustScaler), feature selectors and a linear ranker; or a search that found one of them.
    path : str, path-like or binary file object
        Written atomically; "-" is standard output, and .gz, .bz2 or .xz compress.
    format : str, optional
        - "elasticsearch", "opensearch": a `model/linear` definition, the body of
          ``POST _ltr/_featureset/SET/_createmodel``; SET needs features of these names, in this
          order.
        - "solr": a LinearModel for the model store.
        - "ranklib": a Coordinate Ascent model, which numbers features from 1.
        - "onnx": a graph of operator set 13 from float32 features to scores; needs
          ``pairrank[onnx]``.
        - "json": names, weights and offset; "csv": feature and weight per line.
        - "sql": an expression over columns, with identifiers quoted as in standard SQL.

        None: by the file's suffix, where only one format has it.
    feature_names : sequence of str, optional
        One name per feature; None: the names that the model was fitted with, or else f1, f2, ...,
        as svmlight numbers features.
    name : str, optional
        The name of the model in a search engine, by default "pairrank".
    check : (X, qid), optional
        Rows on which the order of the exported scores is compared with that of the model. Search
        engines and ONNX compute in float32. qid may be None: one query.

    Returns
    -------
    OrderCheck or None
        What changes in the order of the rows in `check`; None without them.

    Raises
    ------
    PairrankError
        Before anything is written, if the model is not linear, the format is unknown or cannot
        hold it, or a name cannot be written.

    Warns
    -----
    OrderChangeWarning
        If the order of rows in `check` changes.

    Notes
    -----
    The check computes scores as the engine does, to the bit for "elasticsearch", "opensearch",
    "solr" and "ranklib"; ONNX runtimes may add in another order. It costs a prediction and
    O(m log m) for m rows.

    Examples
    --------
    >>> import io
    >>> from pairrank import RankRLS
    >>> X, file = [[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]], io.BytesIO()
    >>> export(RankRLS().fit(X, [0, 1, 2]), file, "solr", check=(X, None)).n_changed
    0
    """
    format = format_named(format, path)
    how = FORMATS[format]
    if name is not None and not how.has_title:
        raise PairrankError(f"a model has no name in format {format!r}: leave out name")
    if feature_names is not None and not how.has_names:
        raise PairrankError(f"features have numbers in format {format!r}: leave out feature_names")
    from pairrank.export.folding import linear_model  # slow to load, and FORMATS does not need it

    linear = linear_model(model, feature_names)
    if name is not None:
        linear = linear._replace(title=name)
    content = how.write(linear)
    result = None if check is None else _checked(model, linear, how, check)
    with open_target(path) as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    if result is not None and result.n_changed:
        precision = how.arithmetic.precision
        said = f"format {format!r} is computed in {precision}: {result}"
        said += _REMEDY if precision == "float32" else ""
        warnings.warn(said, OrderChangeWarning, stacklevel=2)
    return result


def _checked(model: Any, linear: LinearModel, how: Format, check: Any) -> OrderCheck:
    """Compare the order of rows by the model and by the export."""
    if not isinstance(check, tuple) or len(check) != 2:
        raise PairrankError("check must be a tuple of two, (X, qid); qid may be None")
    X = validation.check_features(BaseEstimator(), check[0], reset=True)
    if X.shape[1] != linear.weights.size:
        raise PairrankError(
            f"check: X has {X.shape[1]} features, but the model {linear.weights.size}"
        )
    qid = validation.check_query_ids(check[1], X.shape[0])
    expected = np.asarray(model.predict(check[0]), dtype=np.float64)
    return check_order(expected, how.arithmetic.scores(X, linear.weights, linear.offset), qid)


def check_order(expected: FloatArray, computed: FloatArray, qid: Array | None) -> OrderCheck:
    """Compare the order of rows by two scores, in each query; O(m log m) for m rows."""
    levels = Levels.build(expected, qid)
    counts, starts, largest = levels.concordance(computed), levels.query_start, 0.0
    changed = np.flatnonzero(counts[:, 1:].any(axis=1))
    for query in changed:
        # The lowest row that is computed at least as high as a row is the first one at which the
        # running maximum reaches it.
        rows = levels.row_of[starts[query] : starts[query + 1]]
        lowest = np.searchsorted(np.maximum.accumulate(computed[rows]), computed[rows])
        largest = max(largest, float((expected[rows] - expected[rows][lowest]).max()))
    names = [None] if qid is None else query_codes(qid)[0].tolist()
    n_changed, queries = int(counts[:, 1:].sum()), [names[query] for query in changed]
    sizes = expected.size, levels.n_queries, int(counts.sum())
    return OrderCheck(*sizes, n_changed, queries, largest)
