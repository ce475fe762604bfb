"""Input checks: array-likes, frames and sparse matrices become canonical arrays."""

from __future__ import annotations

import functools
import itertools
import numbers
import types
import typing
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from pairrank._arrays import (
    as_array,
    as_float_array,
    fits_a_float,
    from_sequence,
    is_hashable,
    is_missing,
    refuse_hidden,
    refuse_kinds,
    refuse_merged,
    shown,
)
from pairrank._protocols import FloatArray
from pairrank.exceptions import InputTypeError, PairrankError

_EXACT_BELOW = 2.0**53
"""Whole numbers below this are exact in float64."""
_IF_MISSING = "fill it, as SimpleImputer does in a Pipeline, or use HistGradientBoostingRegressor"
_NO_ROWS = (str, bytes, Mapping, Set)


def check_features(estimator: Any, X: Any, *, reset: bool, missing: bool = False) -> Any:
    """Return X as a dense or CSR matrix of float64 or float32, copied only where it must be.

    Sets or checks `n_features_in_` and `feature_names_in_` on the estimator, as scikit-learn does.
    Raises a PairrankError for values that are not finite (it names the first row and feature),
    except NaN if `missing`, and for complex numbers, dates, masked values and frames that are not
    computed yet.
    """
    refuse_hidden(X, "X")
    try:
        X = np.asarray(X) if isinstance(X, (list, tuple)) else X
        refuse_kinds(X, "X")
        _check_indices(X)
        X = validate_data(
            estimator,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=(np.float64, np.float32),
            ensure_all_finite=False,
        )
    except PairrankError:
        raise
    except TypeError as error:
        raise InputTypeError(f"X must hold numbers: {error}") from error
    except OverflowError as error:
        raise PairrankError(f"X holds a number beyond the largest float: {error}") from error
    except ValueError as error:
        raise PairrankError(str(error)) from error
    check_finite_matrix(X, missing=missing)
    return X


@contextmanager
def names_matched() -> Iterator[None]:
    """Leave out scikit-learn's warning of X without names, whose columns were matched before."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X (does not have|has) .*feature names")
        yield


def _check_indices(X: Any) -> None:
    """Raise a PairrankError where a sparse matrix points outside of its arrays: scipy crashes."""
    if not sparse.issparse(X) or X.format not in ("csr", "csc", "bsr"):
        return
    try:
        checked = X  # scipy makes arrays of another byte order native, in place
        if all(array.dtype.isnative for array in (X.data, X.indices, X.indptr)):
            checked = type(X)((X.data, X.indices, X.indptr), shape=X.shape)
        checked.check_format(full_check=True)
        if (X.indptr[1:] < X.indptr[:-1]).any():  # scipy cannot see it of unsigned integers
            raise ValueError("indptr must be a non-decreasing sequence")
    except ValueError as error:
        raise PairrankError(f"X is a damaged sparse matrix: {error}; build it again") from None


def check_finite_matrix(X: Any, *, missing: bool = False) -> None:
    """Raise a PairrankError that names the first entry of a matrix that is not finite; O(size).

    NaN is allowed if `missing`.
    """
    values = X.data if sparse.issparse(X) else X

    with np.errstate(over="ignore", invalid="ignore"):
        total = np.einsum("ij->"[2 - values.ndim :], values)  # in half the time of `sum`
    if np.isfinite(total):
        return
    finite = ~np.isinf(values) if missing else np.isfinite(values)
    if finite.all():
        return
    at = int(np.argmin(finite))
    if sparse.issparse(X):
        row, feature = np.searchsorted(X.indptr, at, side="right") - 1, X.indices[at]
    else:
        row, feature = np.unravel_index(at, finite.shape)
    value = values.ravel()[at]
    remedy = _IF_MISSING if np.isnan(value) else "replace it by a finite number"
    raise PairrankError(f"X contains {_name_of(value)} in row {row}, feature {feature}; {remedy}")


def check_labels(y: Any, n_rows: int | None = None, name: str = "y") -> NDArray[Any]:
    """Return labels as a float64 or text array of shape (n_rows,)."""
    if y is None:
        raise PairrankError("y is None: ranking requires y to be passed, but the target y is None")
    array = as_array(y, name)
    labels = _one_dimensional(array, name, n_rows)
    kind = labels.dtype.kind
    if kind in "US" and isinstance(y, np.ndarray):
        return labels
    given = list(y) if kind in "US" and array.ndim == 1 else labels
    if kind not in "USTO" or not any(isinstance(label, str) for label in given):
        return check_numbers(y, name, n_rows)
    for row, label in enumerate(given):
        if is_missing(label):
            raise PairrankError(f"{name} is missing in row {row}: drop the row, or give its label")
        if not isinstance(label, str):
            raise PairrankError(f"{name} mixes text with {label!r} in row {row}")
        if label.endswith("\0"):
            raise PairrankError(
                f"{name}[{row}] = {label!r} ends with a NUL character, which numpy drops: remove it"
            )
    return np.asarray(list(given), dtype=str)


def check_numbers(values: Any, name: str, n_rows: int | None = None) -> FloatArray:
    """Return finite numbers as a contiguous float64 array of shape (n_rows,).

    Raises a PairrankError where different numbers would become the same float64, because rows
    that differ would become ties.
    """
    given = as_array(values, name)
    array = _one_dimensional(given, name, n_rows)
    floats = _finite(array, name)
    is_listed = isinstance(values, (list, tuple)) and given.ndim == 1
    is_narrow = array.dtype.kind in "biuf" and array.dtype.itemsize <= 8
    if not (is_narrow and (np.abs(floats) < _EXACT_BELOW).all()):
        refuse_merged(list(values) if is_listed else array.tolist(), floats, name)
    return np.ascontiguousarray(floats)


def check_query_ids(qid: Any, n_rows: int | None = None) -> NDArray[Any] | None:
    """Return query identifiers as an array of numbers, text or objects, or None."""
    return None if qid is None else check_identifiers(qid, "qid", n_rows)


def check_identifiers(values: Any, name: str, n_rows: int | None = None) -> NDArray[Any]:
    """Return identifiers of any kind as an array of shape (n_rows,), unchanged."""
    refuse_hidden(values, name)
    if hasattr(values, "__array__"):
        identifiers = as_array(values, name)
        if identifiers.dtype.kind == "T":
            identifiers = identifiers.astype(object)
        if identifiers.dtype.kind == "U" and not isinstance(values, np.ndarray):
            identifiers = from_sequence(values)
    elif isinstance(values, Iterable) and not isinstance(values, _NO_ROWS):
        identifiers = from_sequence(values)
    else:
        raise PairrankError(f"{name} must hold one identifier per row, got {shown(values)}")
    identifiers = _one_dimensional(identifiers, name, n_rows)
    for row in _suspects(identifiers):
        identifier = identifiers[row]
        if is_missing(identifier):
            raise PairrankError(f"{name} is missing in row {row}; give every row an identifier")
        if not is_hashable(identifier):
            raise PairrankError(f"{name} in row {row} is not hashable: {identifier!r}")
    return identifiers


def _suspects(identifiers: NDArray[Any]) -> Iterable[int]:
    """Return the rows among which an identifier may be missing, or not hashable."""
    if identifiers.dtype.kind != "O":
        return np.flatnonzero(identifiers != identifiers).tolist()  # NaN and NaT
    try:
        is_any = any(map(is_missing, set(identifiers.tolist())))
    except TypeError:
        is_any = True
    return range(identifiers.size) if is_any else ()


def check_weights(
    weight: Any, n_rows: int, name: str = "sample_weight", *, all_zero: bool = False
) -> FloatArray | None:
    """Return row weights as float64 of shape (n_rows,), or None."""
    if weight is None:
        return None
    if isinstance(weight, numbers.Real) or getattr(weight, "ndim", None) == 0:
        weight = np.full(n_rows, as_float_array(weight, name))
    remedy = ": Sample weights must be 1D array or scalar"
    weights = _one_dimensional(as_array(weight, name), name, n_rows, remedy)
    weights = _finite(weights, name)
    if not all_zero and not weights.any():
        raise PairrankError(f"every {name} is zero: no row is left")
    check_weight_range(weights, name)
    return weights


def check_weight_range(weights: FloatArray, name: str, largest: float = 1e100) -> None:
    """Raise a PairrankError where a weight is negative, or positive but too large or too small."""
    if (weights < 0).any():
        row = int((weights < 0).argmax())
        raise PairrankError(f"{name}[{row}] = {weights[row]} is negative")
    heaviest, lightest = weights.max(initial=0.0), weights.min(initial=np.inf, where=weights > 0)
    if not 1.0 / largest <= lightest or not heaviest <= largest:
        raise PairrankError(
            f"{name} runs from {lightest:g} to {heaviest:g}: keep weights between {1 / largest:g} "
            f"and {largest:g}, so that their products are numbers"
        )


ALIGNED: dict[str, Callable[[Any, int], Any]] = {
    "qid": check_query_ids,
    "sample_weight": check_weights,
    **{
        name: functools.partial(check_weights, name=name, all_zero=True)
        for name in ("winner_weight", "loser_weight")
    },
}
"""The arguments with one element per row, and their checks: a new one is a line here, a field of
`estimators._rows.Rows`, and a line of `metrics._inputs.RowArguments`."""


def check_aligned(given: Mapping[str, Any], n_rows: int) -> dict[str, Any]:
    """Return the `ALIGNED` arguments that are given, checked; a TypeError for others."""
    for name in given.keys() - ALIGNED.keys():
        raise TypeError(f"there is no argument {name!r}")
    checked = {name: check(given.get(name), n_rows) for name, check in ALIGNED.items()}
    return {name: part for name, part in checked.items() if part is not None}


def check_length(values: Any, name: str, n_rows: int | None) -> None:
    """Raise a PairrankError where an array does not have one entry per row."""
    if n_rows is not None and len(values) != n_rows:
        raise PairrankError(
            f"{name} has {len(values)} entries for {n_rows} rows: inconsistent lengths"
        )


def check_number(
    value: Any, name: str, *, low: float = 0.0, inclusive: bool = False, integer: bool = False,
    below: float = np.inf, most: float = np.inf,
) -> None:  # fmt: skip
    """Raise a PairrankError where a parameter is not a finite number between its bounds.

    It must be greater than `low`, or (`inclusive`) at least that, less than `below` and at `most`.
    """
    kind = numbers.Integral if integer else numbers.Real
    if not isinstance(value, kind) or isinstance(value, bool) or not fits_a_float(value):
        wanted = "a whole number" if integer else "a finite number"
        raise PairrankError(f"{name} must be {wanted} (got {shown(value)})")
    if value < low or (value == low and not inclusive):
        bound = "at least" if inclusive else "greater than"
        raise PairrankError(f"{name} must be {bound} {low:g} (got {shown(value)})")
    if not (value < below and value <= most):
        bound = f"at most {most:g}" if value < below else f"less than {below:g}"
        raise PairrankError(f"{name} must be {bound} (got {shown(value)})")


def check_choice(value: Any, name: str, choices: tuple[Any, ...]) -> None:
    """Raise a PairrankError where a parameter is not one of its choices."""
    if not any(isinstance(value, (type(each), np.bool_)) and value == each for each in choices):
        listed = ", ".join(map(repr, choices))
        raise PairrankError(f"{name} must be one of {listed} (got {shown(value)})")


def check_choices(estimator: Any) -> None:
    """Raise a PairrankError if a parameter is no word of its annotation, or no truth value."""
    for name, (choices, objects) in _choices_of(estimator.__class__).items():
        value = getattr(estimator, name)
        if not isinstance(value, objects):
            check_choice(value, name, choices)


@functools.cache
def _choices_of(estimator: Any) -> dict[str, tuple[tuple[Any, ...], tuple[type, ...]]]:
    """Return the values and classes that the annotation of each parameter with words allows."""
    found = {}
    for name, hint in typing.get_type_hints(estimator.__init__).items():
        is_union = typing.get_origin(hint) in (typing.Union, types.UnionType)
        parts = typing.get_args(hint) if is_union else (hint,)
        words = [typing.get_args(part) for part in parts if typing.get_origin(part) is Literal]
        words = (
            [(False, True)] if hint is bool else [each for each in words if str in map(type, each)]
        )
        objects = tuple(
            part for part in parts if isinstance(part, type) and issubclass(part, BaseEstimator)
        )
        optional = type(None) in parts
        if words and len(parts) == len(words) + len(objects) + optional:
            found[name] = (tuple(itertools.chain(*words, [None] * optional)), objects)
    return found


def check_power(n: Any) -> None:
    """Raise a PairrankError where the power of a cost is not 1 or 2."""
    check_number(n, "n", low=1, inclusive=True, integer=True)
    check_choice(int(n), "n", (1, 2))


def _one_dimensional(
    array: NDArray[Any], name: str, n_rows: int | None, remedy: str = ""
) -> NDArray[Any]:
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise PairrankError(f"{name} must have one dimension, got shape {array.shape}{remedy}")
    check_length(array, name, n_rows)
    return array


def _finite(given: NDArray[Any], name: str) -> FloatArray:
    """Return numbers as float64; raise a PairrankError for one that is not finite."""
    floats = as_float_array(given, name)
    if given.dtype.kind not in "biu" and not np.isfinite(floats).all():
        row = int(np.argmin(np.isfinite(floats)))
        raise PairrankError(
            f"{name} contains {_name_of(floats[row])} in row {row}; remove the row or replace the "
            "value"
        )
    return floats


def _name_of(value: Any) -> str:
    return "NaN" if np.isnan(value) else "infinity (inf)"
