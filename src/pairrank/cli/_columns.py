"""Columns of a data file: named by options, remembered by a model file, or left out.

Censored times (--time and --event) are read as labels and winner weights.
"""

from __future__ import annotations

import csv
import re
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from pairrank.cli._errors import UsageError
from pairrank.cli._models import flag_of
from pairrank.cli._options import Columns
from pairrank.exceptions import FileFormatError, PairrankError, PairrankWarning
from pairrank.io.dispatch import format_of
from pairrank.io.rows import ROW_COLUMNS, Rows, listed, refuse_unnamed
from pairrank.preferences.roles import ROLES

REMEMBERED = (*ROW_COLUMNS, "time", "event")
"""The roles whose columns a model file remembers."""

_TIMES = {"time", "event"}
_TARGETS = {"label", *_TIMES}
"""Roles that say what is preferred to what; comparisons replace them."""

_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_IDENTIFIER = re.compile(r"(.*[_\-. ])?(id|docno)|(q|query|doc|item|user)id", re.IGNORECASE)


def format_in(source: str, columns: Columns) -> str:
    """Return the format of a data file by the options; that of a folder is Parquet."""
    is_folder = columns["format"] == "auto" and Path(source).is_dir()
    return "parquet" if is_folder else format_of(source, columns["format"])


def has_names(source: str, columns: Columns) -> bool:
    """Whether the columns of a data file have names: those of svmlight text have none."""
    return format_in(source, columns) != "svmlight"


def to_remember(source: str, columns: Columns) -> dict[str, str]:
    """Return the columns by role that a model file remembers of its training rows."""
    if not has_names(source, columns):
        return {}
    found = {role: columns[role] for role in REMEMBERED if columns[role]}
    return found if "time" in found else {"label": "label", **found}


def recalled(
    source: str,
    columns: Columns,
    remembered: Mapping[str, str],
    roles: Collection[str],
    *,
    pairs: bool = False,
) -> dict[str, str]:
    """Return the remembered columns of some roles that no option replaces.

    An option of the target, `label` or `time` and `event`, replaces a remembered one of either
    kind; comparisons need none.
    """
    if not remembered or not has_names(source, columns):
        return {}
    given = {role for role in REMEMBERED if columns.get(role) is not None}
    replaced = set(given)
    if pairs or given & _TARGETS:
        replaced |= _TARGETS
    if given & _TIMES:
        replaced.add("winner_weight")
    if "winner_weight" in given:
        replaced |= _TIMES
    return {role: remembered[role] for role in remembered if role in roles and role not in replaced}


@contextmanager
def explained(columns: Columns, remembered: Mapping[str, str]) -> Iterator[None]:
    """Have errors about an unknown column say how to name it.

    `columns` are those given by options, and `remembered` those that a model file gives.
    """
    try:
        yield
    except FileFormatError as error:
        for role, column in {"label": "label", **remembered}.items():
            flag = flag_of(role)
            if columns[role] is None and f"no column {column!r}" in str(error):
                why = f"the model file remembers {flag} {column}: name another column with {flag}"
                if role not in remembered:
                    why = f"name the column of labels with {flag}"
                none = "" if role in _TARGETS else f", or none with {flag} ''"
                raise FileFormatError(f"{error}; {why}{none}") from None
        raise


def require_queries(rows: Rows, wish: str, source: str, columns: Columns) -> None:
    """Refuse rows without queries, and say how to give them; a wish is such as "--run needs"."""
    if rows.qid is None:
        how = "name their column with --qid"
        if not has_names(source, columns):
            how = "write qid:NUMBER after each label"
        raise PairrankError(
            f"{wish} queries: {how}, or name the file of their sizes with --query-sizes"
        )


def arguments_of(
    source: str, columns: Columns, *, features: Sequence[str] | None = None, docids: bool = False
) -> dict[str, Any]:
    """Return arguments of `read_rows` for options of columns, `time` and `event` among them.

    An empty name means no column. With `features` columns to drop are not read anyway; with
    `docids` document identifiers must be there.
    """
    options = {name: None if value == "" else value for name, value in columns.items()}
    for name in ("stream", "memory_limit"):
        options.pop(name, None)
    if columns["label"] is None:
        options["label"] = "label"
    if not has_names(source, columns):
        options["docid"] = "docid" if docids else None
    elif docids and not options["docid"]:
        raise UsageError("document identifiers are needed: name their column with --docid.")
    options["drop"] = [] if features else split_names(columns["drop"])
    return options | {"dtype": np.dtype(columns["dtype"])}


def read_as_labels(columns: dict[str, Any], pairs: str | None) -> bool:
    """Have times read as labels and events as winner weights; return whether they are given.

    `columns` are arguments of `read_rows`, from which `time` and `event` are removed. A column of
    labels is then no feature.
    """
    time, event = columns.pop("time"), columns.pop("event")
    if time is None and event is None:
        return False
    if time is None or event is None:
        raise UsageError("--time and --event need each other: give both columns.")
    if pairs is not None or columns["winner_weight"] is not None:
        other = "--winner-weight" if pairs is None else "--pairs"
        raise UsageError(f"--time and --event say what is preferred to what: leave out {other}.")
    ignored = [columns["label"]] if columns["label"] else []
    columns |= {"label": time, "winner_weight": event, "ignore": ignored}
    return True


def with_targets(rows: Rows) -> Rows:
    """Return rows that were read by `read_as_labels` with their targets."""
    from pairrank.survival import survival_target

    event: Any = rows.winner_weight
    target: dict[str, Any] = survival_target(event, rows.y)
    return rows._replace(**target)


def weights_by_role(columns: Columns) -> str:
    """Return the options that give weights by role, for messages; "" if there are none."""
    given = (role for role in (*ROLES, "event") if columns.get(role) is not None)
    return " and ".join(map(flag_of, given))


def split_names(given: Iterable[str] | None) -> list[str]:
    """Return the names in values of an option that takes several, `a,b` or `"a,1",b`.

    Examples
    --------
    >>> split_names(["a,b", '"c,1"'])
    ['a', 'b', 'c,1']
    """
    return [name for cells in csv.reader(given or (), skipinitialspace=True) for name in cells]


def check_features(names: Sequence[str]) -> None:
    """Refuse features with the names of roles, and warn of those that look like identifiers."""
    refuse_unnamed(names)
    identifiers = [name for name in names if _IDENTIFIER.fullmatch(_HUMP.sub("_", name))]
    if identifiers:
        first = identifiers[0]
        starts = {"q": "qid", "doc": "docid"}
        role = next((starts[each] for each in starts if first.lower().startswith(each)), None)
        flag = "" if role is None else f"{flag_of(role)} {first} or "
        warnings.warn(
            f"{listed(identifiers)}: a feature now, though its name is that of an identifier; "
            f"unless it is a feature, pass {flag}--drop {','.join(identifiers[:3])}",
            PairrankWarning,
            stacklevel=2,
        )
