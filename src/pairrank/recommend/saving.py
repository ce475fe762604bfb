"""Save all users' rankers to one file, and load them; no code is stored."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from pairrank.estimators.model_files import (
    USER_RANKERS,
    record_of,
    saved_of,
    unfitted_from,
    unfitted_of,
)
from pairrank.exceptions import FileFormatError, PairrankError
from pairrank.io.model_file import ModelRecord, pack_model, read_model, unpack_model, write_model
from pairrank.recommend.item_means import ItemMeans
from pairrank.recommend.personal import Setting, UserFit
from pairrank.recommend.references import References
from pairrank.recommend.sharing import SharedFeatures
from pairrank.recommend.table import RatingsTable

_TABLE = ("user_ids", "item_ids", "start", "item", "rating")
_REFERENCES = ("users", "matrix", "support", "draws")


def save_rankers(setting: Setting, fits: Iterable[UserFit], path: str | os.PathLike[str]) -> None:
    """Write ratings, references and users' rankers to a file; see `UserRankers.save`."""
    table, shared, fits = setting.table, setting.shared, list(fits)
    arrays = {f"table_{name}": getattr(table, name) for name in _TABLE}
    for name in ("table_user_ids", "table_item_ids"):
        if arrays[name].dtype.kind == "O":
            if not all(isinstance(each, str) for each in arrays[name]):
                raise PairrankError(
                    "a file of rankers holds names that are text or numbers; rename users and items"
                )
            arrays[name] = arrays[name].astype(str)
    for name in _REFERENCES:
        if getattr(shared.references, name) is not None:
            arrays[f"references_{name}"] = getattr(shared.references, name)
    models = [b"" if fit.ranker is None else pack_model(record_of(fit.ranker)) for fit in fits]
    arrays["models"] = np.frombuffer(b"".join(models), dtype=np.uint8)
    arrays["model_sizes"] = np.array([len(model) for model in models], dtype=np.int64)
    arrays["users"] = np.array([fit.user for fit in fits], dtype=np.int64)
    arrays["lines"] = np.array([(fit.centre, fit.slope) for fit in fits]).reshape(-1, 2)
    arrays["converged"] = np.array([fit.converged for fit in fits], dtype=bool)
    name, params = unfitted_of(shared.given)
    info = {
        "ranker": name,
        "baseline": setting.means is not None,
        "products": shared.products is not None,
    }
    write_model(path, ModelRecord(USER_RANKERS, params, arrays, info))


def load_rankers(path: str | os.PathLike[str]) -> tuple[Setting, list[UserFit]]:
    """Return the setting and the fits in a file, in one order; see `UserRankers.load`."""
    record = read_model(path)
    if record.estimator != USER_RANKERS:
        raise FileFormatError(
            f"{path}: the model is a {record.estimator}, not rankers by user; use load_model"
        )
    try:
        return _restored(record, path)
    except FileFormatError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise FileFormatError(
            f"{path}: the rankers are damaged ({error}); fit them again"
        ) from None


def _restored(record: ModelRecord, path: Any) -> tuple[Setting, list[UserFit]]:
    """Return the parts of a record; raise any error if they are inconsistent."""
    arrays, info = record.arrays, record.info
    table = RatingsTable(**{name: arrays[f"table_{name}"] for name in _TABLE})
    _check(table.start.shape == (table.n_users + 1,) and table.start[0] == 0, "start")
    _check(bool((table.counts > 0).all()) and table.start[-1] == table.n_ratings, "start")
    _check(table.item.shape == table.rating.shape, "item")
    _check_indices(table.item, table.n_items, "item")
    references = References(
        arrays["references_users"],
        arrays["references_matrix"],
        arrays["references_support"],
        arrays.get("references_draws"),
    )
    users, matrix, draws = references.users, references.matrix, references.draws
    _check_indices(users, table.n_users, "references")
    _check(matrix.shape == (table.n_items, users.size), "references")
    _check(references.support.shape == (table.n_items,), "references")
    _check(draws is None or draws.shape == matrix.shape, "references")
    ranker = unfitted_from(info["ranker"], record.params, path)
    n_products = table.n_items**2 if info["products"] is True else 0
    shared = SharedFeatures(references, ranker, n_products)
    means = ItemMeans.build(table) if info["baseline"] is True else None
    fits = _fits_of(arrays, path)
    _check_indices(arrays["users"], table.n_users, "users")
    return Setting(table, arrays["users"], shared, means), fits


def _fits_of(arrays: dict[str, Any], path: Any) -> list[UserFit]:
    """Return every user's fit."""
    ends = np.cumsum(arrays["model_sizes"])
    _check(bool((arrays["model_sizes"] >= 0).all()), "model_sizes")
    _check(arrays["models"].dtype == np.uint8, "models")
    _check((int(ends[-1]) if ends.size else 0) == arrays["models"].size, "model_sizes")
    _check(bool(np.isfinite(arrays["lines"]).all()), "lines")
    data = arrays["models"].tobytes()
    fits = []
    columns = arrays["users"], ends, arrays["model_sizes"], arrays["converged"], arrays["lines"]
    for user, end, size, converged, (centre, slope) in zip(*columns, strict=True):
        model = data[end - size : end]
        ranker = saved_of(unpack_model(model, str(path)), path).estimator if model else None
        fits.append(UserFit(int(user), ranker, bool(converged), float(centre), float(slope)))
    return fits


def _check_indices(indices: Any, size: int, name: str) -> None:
    inside = indices.dtype.kind == "i" and indices.ndim == 1
    _check(inside and (not indices.size or 0 <= indices.min() <= indices.max() < size), name)


def _check(fits: Any, name: str) -> None:
    if not fits:
        raise ValueError(f"{name} does not fit")
