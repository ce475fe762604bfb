"""Which column of a table is the label, the query, the weight, and which are features."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from pairrank.exceptions import FileFormatError, PairrankError
from pairrank.io.rows import Rows, check_rows


class Roles(NamedTuple):
    """Names of the columns by role."""

    label: str | None
    qid: str | None
    weight: str | None
    features: list[str]


def find_roles(
    name: str,
    header: Sequence[str],
    *,
    label: str | None,
    qid: str | None,
    weight: str | None,
    features: Sequence[str] | None,
    drop: Sequence[str],
    ignore: Sequence[str] = (),
) -> Roles:
    """Return the roles of the columns of the file `name`, or say what is wrong with them."""
    doubled = [column for column, count in Counter(header).items() if count > 1]
    if doubled:
        raise FileFormatError(
            f"{name}: the header names {_listed(doubled)} more than once; rename the columns"
        )
    named = [column for column in (label, qid, weight) if column is not None]
    asked = [*named, *(features or ()), *drop]
    unknown = [column for column in asked if column not in set(header)]
    if unknown:
        raise FileFormatError(
            f"{name}: no column {_listed(unknown)}; the columns are {_listed(list(header))}"
        )
    shared = [column for column, count in Counter([*named, *(features or ())]).items() if count > 1]
    if shared:
        raise PairrankError(f"{name}: column {_listed(shared)} is asked for in two roles; give one")
    if features is None:
        taken = {*named, *drop, *ignore}
        features = [column for column in header if column not in taken]
    if not features:
        raise FileFormatError(
            f"{name}: no column is left as a feature; the columns are {_listed(list(header))}"
        )
    return Roles(label, qid, weight, list(features))


def column_names(rows: Rows, *, label: str, qid: str, weight: str) -> list[str]:
    """Return the header of a table of `rows`: the roles that it has, then the features."""
    check_rows(rows)
    parts = ((label, rows.y), (qid, rows.qid), (weight, rows.weight))
    features = rows.feature_names or [f"x{number}" for number in range(1, rows.X.shape[1] + 1)]
    names = [name for name, part in parts if part is not None] + list(features)
    doubled = [column for column, count in Counter(names).items() if count > 1]
    if doubled:
        raise PairrankError(
            f"two columns would be named {_listed(doubled)}; pass other names for label, qid or "
            "weight"
        )
    return names


def _listed(names: list[str]) -> str:
    return ", ".join(repr(name) for name in names)
